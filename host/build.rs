//! Compiles the kernels to PTX, one module for each feature level that the host chooses from.

use cuda_builder::{CudaBuilder, NvvmArch};
use std::path::PathBuf;

fn main() {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    for arch in [NvvmArch::Compute75, NvvmArch::Compute80, NvvmArch::Compute90a] {
        let ptx = out.join(format!("kernels_{arch}.ptx"));
        let mut builder = CudaBuilder::new("../kernels-gpu").arch(arch).copy_to(ptx);
        if arch == NvvmArch::Compute75 {
            // For `warpsmith inspect --llvm`.
            builder = builder.final_module_path(out.join("kernels.ll"));
        }
        if let Err(error) = builder.build() {
            eprintln!("error: the kernels did not become PTX for {arch}: {error}");
            std::process::exit(1);
        }
    }
}
