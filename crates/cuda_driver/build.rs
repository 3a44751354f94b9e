//! Gives the stand-in library the driver's name inside, which is what the loader compares.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
        // Threads of ours may still run when a program closes the library.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
