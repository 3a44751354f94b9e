//! Compiles the kernels to PTX, one module for each feature level that the host chooses from.

use cuda_builder::{CudaBuilder, NvvmArch};
use std::path::{Path, PathBuf};

fn main() {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let ladder = std::env::var_os("CARGO_FEATURE_LADDER").is_some();
    let features: &'static [&'static str] = if ladder { &["--features", "ladder"] } else { &[] };
    // Side by side: rustc compiles for one level while the level before is lowered to PTX.
    let builds = [NvvmArch::Compute75, NvvmArch::Compute80, NvvmArch::Compute90a].map(|arch| {
        let ptx = out.join(format!("kernels_{arch}.ptx"));
        // For `warpsmith inspect --llvm`.
        let functions = out.join(format!("kernels_{arch}.ll"));
        let builder = CudaBuilder::new("../kernels-gpu")
            .arch(arch)
            .build_args(features)
            .copy_to(ptx)
            .llvm_functions_path(&functions);
        std::thread::spawn(move || (arch, builder.build().map(|_| functions)))
    });
    for build in builds {
        let (arch, result) = build.join().expect("the builder does not panic");
        let packed = match result {
            Ok(functions) => pack(&functions).map_err(|error| format!("{}: {error}", functions.display())),
            Err(error) => Err(error.to_string()),
        };
        if let Err(error) = packed {
            eprintln!("error: the kernels did not become PTX for {arch}: {error}");
            std::process::exit(1);
        }
    }
}

/// Packs a file: the text is of use to few, and is 22 MB in all.
fn pack(file: &Path) -> std::io::Result<()> {
    let text = std::fs::read(file)?;
    std::fs::write(file.with_extension("ll.lz4"), lz4_flex::block::compress_prepend_size(&text))
}
