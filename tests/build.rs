//! Compiles the kernels with planted mistakes to PTX.

use std::path::PathBuf;

use cuda_builder::{CudaBuilder, NvvmArch};

fn main() {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let built =
        CudaBuilder::new("mistakes").arch(NvvmArch::Compute75).copy_to(out.join("mistakes.ptx")).build();
    if let Err(error) = built {
        eprintln!("error: the kernels did not become PTX: {error}");
        std::process::exit(1);
    }
}
