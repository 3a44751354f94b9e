fn main() {
    warpsmith_build::kernels()
}
