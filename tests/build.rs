//! Compiles the kernels that only tests run: those with planted mistakes, those of one building block each, and those without
//! `unsafe`.

use std::path::PathBuf;

use cuda_builder::{CudaBuilder, NvvmArch};

fn main() {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    for (folder, arch, name) in [
        ("mistakes", NvvmArch::Compute75, "mistakes"),
        ("blocks", NvvmArch::Compute90a, "blocks"),
        ("planted", NvvmArch::Compute90a, "planted"),
        ("blockwise", NvvmArch::Compute75, "blockwise_75"),
        ("blockwise", NvvmArch::Compute80, "blockwise_80"),
    ] {
        let built = CudaBuilder::new(folder).arch(arch).copy_to(out.join(format!("{name}.ptx"))).build();
        if let Err(error) = built {
            eprintln!("error: the kernels of `{folder}` did not become PTX: {error}");
            std::process::exit(1);
        }
    }
}
