//! Compiles the kernels to PTX, one module for each feature level that a device is given the best of.

use cuda_builder::{CudaBuilder, NvvmArch};
use std::path::PathBuf;

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
            #[cfg(feature = "llvm")]
            pack(&to).map_err(|error| format!("{}.ll: {error}", to.display()))?;
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

/// Packs the LLVM code: the text is of use to few, and is 22 MB in all.
#[cfg(feature = "llvm")]
fn pack(of: &std::path::Path) -> std::io::Result<()> {
    let text = std::fs::read(of.with_extension("ll"))?;
    std::fs::write(of.with_extension("ll.lz4"), lz4_flex::block::compress_prepend_size(&text))
}
