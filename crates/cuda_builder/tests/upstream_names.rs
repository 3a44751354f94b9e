//! Every name of upstream's `cuda_builder`, of all its generations: build scripts use any of them, so that none may go.

use cuda_builder::{CudaBuilder, CudaBuilderError, DebugInfo, EmitOption, NvvmArch};
use std::error::Error;
use std::path::{Path, PathBuf};

#[test]
fn architectures() {
    use NvvmArch::*;
    let all = [
        Compute35,
        Compute37,
        Compute50,
        Compute52,
        Compute53,
        Compute60,
        Compute61,
        Compute62,
        Compute70,
        Compute72,
        Compute73,
        Compute75,
        Compute80,
        Compute86,
        Compute87,
        Compute88,
        Compute89,
        Compute90,
        Compute90a,
        Compute100,
        Compute100f,
        Compute100a,
        Compute101,
        Compute101f,
        Compute101a,
        Compute103,
        Compute103f,
        Compute103a,
        Compute110,
        Compute110f,
        Compute110a,
        Compute120,
        Compute120f,
        Compute120a,
        Compute121,
        Compute121f,
        Compute121a,
    ];
    for arch in all {
        let name = arch.to_string();
        assert_eq!(name, arch.target_feature());
        assert_eq!(name.parse::<NvvmArch>().ok(), Some(arch));
        assert_eq!(arch.capability_value(), arch.major_version() * 10 + arch.minor_version());
        assert_eq!(
            [arch.is_base_variant(), arch.is_family_variant(), arch.is_architecture_variant()],
            [!name.ends_with(['f', 'a']), name.ends_with('f'), name.ends_with('a')]
        );
        let variants: Vec<NvvmArch> = arch.get_variants();
        assert_eq!(variants, NvvmArch::variants_for_capability(arch.capability_value()));
        assert!(variants.contains(&arch) && variants.contains(&arch.base_architecture()));
        assert!(arch.iter_up_to().any(|lower| lower == arch.base_architecture()));
        let features: Vec<String> = arch.all_target_features();
        assert!(features.contains(&name));
    }
    let unknown = "compute_42".parse::<NvvmArch>().expect_err("there is no such architecture");
    let text = (&unknown as &dyn Error).to_string();
    assert!(text.contains("compute_42") && text.contains("compute_90a"), "{text}");
}

#[test]
fn methods_and_fields() {
    let builder = CudaBuilder::new("crate")
        .copy_to("copy.ptx")
        .arch(NvvmArch::Compute80)
        .build_args(&["--features", "x"])
        .release(false)
        .generate_line_info(false)
        .nvvm_opts(false)
        .ftz(true)
        .fast_sqrt(true)
        .fast_div(true)
        .fma_contraction(false)
        .emit_llvm_ir(true)
        .emit_llvm_bitcode(true)
        .optix(true)
        .override_libm(false)
        .use_constant_memory_space(true)
        .debug(DebugInfo::LineTables)
        .final_module_path("module");
    let CudaBuilder { release, generate_line_info, nvvm_opts, fma_contraction, override_libm, .. } = builder;
    assert_eq!([release, generate_line_info, nvvm_opts, fma_contraction, override_libm], [false; 5]);
    let CudaBuilder { ftz, fast_sqrt, fast_div, optix, use_constant_memory_space, .. } = builder;
    assert_eq!([ftz, fast_sqrt, fast_div, optix, use_constant_memory_space], [true; 5]);
    let copy: &Option<PathBuf> = &builder.ptx_file_copy_path;
    assert_eq!(copy.as_deref(), Some(Path::new("copy.ptx")));
    assert_eq!(builder.final_module_path.as_deref(), Some(Path::new("module")));
    assert_eq!(builder.arch, NvvmArch::Compute80);
    assert!(matches!(builder.emit, Some(EmitOption::LlvmIr | EmitOption::Bitcode)));
    assert!(matches!(builder.debug, DebugInfo::LineTables));
    assert_eq!(builder.build_args, ["--features", "x"]);
    assert!(matches!(CudaBuilder::new("crate").debug, DebugInfo::None));
}

#[test]
fn errors() {
    let built: Result<PathBuf, CudaBuilderError> = CudaBuilder::new("no/such/crate").build();
    let error: Box<dyn Error> = built.expect_err("there is none").into();
    assert!(error.to_string().contains("no/such/crate"));
    let of_io = |error: std::io::Error| CudaBuilderError::FailedToCopyPtxFile(error);
    assert!(of_io(std::io::Error::other("full")).source().is_some());
    assert!(!CudaBuilderError::BuildFailed.to_string().is_empty());
    assert!(matches!(
        CudaBuilderError::CratePathDoesntExist(PathBuf::from("x")),
        CudaBuilderError::CratePathDoesntExist(_)
    ));
}
