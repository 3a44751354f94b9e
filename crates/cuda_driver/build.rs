//! Sets the driver's name inside the stand-in library, because the loader compares it.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
        // Our threads may still be running when a program closes the library.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
