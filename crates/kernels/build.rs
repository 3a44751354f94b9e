//! Compiles the kernels to PTX, one module for each feature level that a device is given the best of.

use cuda_builder::{CudaBuilder, NvvmArch};
use std::path::{Path, PathBuf};

fn main() {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let ladder = if std::env::var_os("CARGO_FEATURE_LADDER").is_some() { ",ladder" } else { "" };
    // Side by side: rustc compiles for one level while the level before is lowered to PTX.
    let builds =
        [(NvvmArch::Compute75, "base"), (NvvmArch::Compute80, "ampere"), (NvvmArch::Compute90a, "hopper")];
    let builds = builds.map(|(arch, level)| {
        let to = out.join(format!("kernels_{arch}"));
        let builder = CudaBuilder::new("../../kernels-gpu").arch(arch);
        let builder =
            builder.build_args(&["--no-default-features", "--features", &format!("{level}{ladder}")]);
        let builder = builder.copy_to(to.with_extension("ptx"));
        #[cfg(feature = "llvm")]
        let builder = builder.llvm_functions_path(to.with_extension("ll"));
        std::thread::spawn(move || {
            builder.build().map_err(|error| format!("the kernels did not become PTX for {arch}: {error}"))?;
            for text in [
                "ptx",
                #[cfg(feature = "llvm")]
                "ll",
            ] {
                pack(&to.with_extension(text))
                    .map_err(|error| format!("{}.{text}: {error}", to.display()))?;
            }
            Ok::<_, String>(())
        })
    });
    for build in builds {
        if let Err(error) = build.join().expect("the builder does not panic") {
            eprintln!("error: {error}");
            std::process::exit(1);
        }
    }
}

/// Packs PTX and LLVM code: they are 30 MB and 36 MB in all, which each program that embeds them would take to compile, to
/// link and to keep.
fn pack(text: &Path) -> std::io::Result<()> {
    let packed = lz4_flex::block::compress_prepend_size(&std::fs::read(text)?);
    std::fs::write(text.with_added_extension("lz4"), packed)
}
