//! Compiles a crate of kernels: `cargo run -p cuda_builder --example compile -- CRATE ARCH OUT.ptx`.
use cuda_builder::{CudaBuilder, NvvmArch};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [crate_path, arch, out] = &arguments[..] else {
        return Err("usage: compile CRATE ARCH OUT.ptx".into());
    };
    let arch: NvvmArch = arch.parse()?;
    println!(
        "{}",
        CudaBuilder::new(crate_path).arch(arch).copy_to(out).emit_llvm_ir(true).build()?.display()
    );
    Ok(())
}
