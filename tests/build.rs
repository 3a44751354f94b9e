//! Compiles the kernels that only tests run: those with planted mistakes, and those of one building block each.

use std::path::PathBuf;

use cuda_builder::{CudaBuilder, NvvmArch};

fn main() {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    for (folder, arch) in [
        ("mistakes", NvvmArch::Compute75),
        ("blocks", NvvmArch::Compute90a),
        ("planted", NvvmArch::Compute90a),
    ] {
        let built = CudaBuilder::new(folder).arch(arch).copy_to(out.join(format!("{folder}.ptx"))).build();
        if let Err(error) = built {
            eprintln!("error: the kernels of `{folder}` did not become PTX: {error}");
            std::process::exit(1);
        }
    }
}
