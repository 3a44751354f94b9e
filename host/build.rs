//! Compiles the kernels to PTX, one module for each feature level that the host chooses from.

use cuda_builder::{CudaBuilder, NvvmArch};
use std::path::PathBuf;

fn main() {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let ladder = std::env::var_os("CARGO_FEATURE_LADDER").is_some();
    let features: &'static [&'static str] = if ladder { &["--features", "ladder"] } else { &[] };
    // Side by side: rustc compiles for one level while the level before is lowered to PTX.
    let builds = [NvvmArch::Compute75, NvvmArch::Compute80, NvvmArch::Compute90a].map(|arch| {
        let ptx = out.join(format!("kernels_{arch}.ptx"));
        // The LLVM module is for `warpsmith inspect --llvm`.
        let module = out.join(format!("kernels_{arch}.ll"));
        let builder = CudaBuilder::new("../kernels-gpu")
            .arch(arch)
            .build_args(features)
            .copy_to(ptx)
            .final_module_path(module);
        std::thread::spawn(move || (arch, builder.build()))
    });
    for build in builds {
        let (arch, result) = build.join().expect("the builder does not panic");
        if let Err(error) = result {
            eprintln!("error: the kernels did not become PTX for {arch}: {error}");
            std::process::exit(1);
        }
    }
}
