//! Kernels without `unsafe`, and their twins in raw pointers.

pub mod pairs;

use std::sync::OnceLock;

use cuda_builder::{CudaBuilder, NvvmArch};

/// The PTX of the kernels without `unsafe`, and of their twins.
pub fn modules() -> &'static [String; 2] {
    static MODULES: OnceLock<[String; 2]> = OnceLock::new();
    MODULES.get_or_init(|| {
        let here = env!("CARGO_MANIFEST_DIR");
        let raw = CudaBuilder::new(format!("{here}/../../kernels-gpu"))
            .arch(NvvmArch::Compute75)
            .build_args(&["--no-default-features", "--features", "base,ladder"]);
        let safe = CudaBuilder::new(here).arch(NvvmArch::Compute75);
        [safe, raw].map(|builder| std::fs::read_to_string(builder.build().unwrap()).unwrap())
    })
}
