//! Each option of the builder makes the difference that its name says.

use crate::compile::{build, builder, count, function, kernels, scratch, texts, with};
use cuda_builder::DebugInfo;
use cuda_builder::NvvmArch::{Compute75, Compute80, Compute90a};

pub fn fma_contraction() {
    assert_eq!(count(&kernels(Compute75), "multiply_add", "fma.rn.f32"), 1);
    let apart = with("no-fma", Compute75, |b| b.fma_contraction(false));
    assert_eq!(count(&apart, "multiply_add", "fma.rn.f32"), 0);
    assert_eq!(count(&apart, "multiply_add", "mul.rn.f32"), 1, "the `.rn` keeps ptxas from fusing");
}

pub fn fast_division_and_square_root() {
    let exact = kernels(Compute75);
    assert_eq!(count(&exact, "divide_floats", "div.rn.f32"), 1);
    let fast = with("fast", Compute75, |b| b.fast_div(true).fast_sqrt(true));
    assert_eq!(count(&fast, "divide_floats", "div.approx.f32"), 1, "{:#?}", function(&fast, "divide_floats"));
    for root in ["length", "square_root"] {
        assert_eq!(count(&fast, root, "sqrt.approx.f32"), 1, "{:#?}", function(&fast, root));
    }
}

pub fn flush_to_zero() {
    let ftz = with("ftz", Compute75, |b| b.ftz(true));
    assert_eq!(count(&ftz, "multiply_add", "fma.rn.ftz.f32"), 1, "{:#?}", function(&ftz, "multiply_add"));
}

pub fn line_info() {
    assert!(kernels(Compute75).contains(".loc\t"));
    let without = with("no-lines", Compute75, |b| b.generate_line_info(false));
    assert!(!without.contains(".loc\t") && !without.contains(".debug_str"));
    let debug = with("debug-lines", Compute75, |b| b.generate_line_info(false).debug(DebugInfo::LineTables));
    assert!(debug.contains(".loc\t"));
}

pub fn optimisation() {
    let plain = with("no-opts", Compute75, |b| b.nvvm_opts(false));
    assert!(plain.len() > kernels(Compute75).len(), "nothing was folded");
    assert!(plain.contains("\n\t.local "));
}

pub fn other_outputs() {
    let path = scratch().join("outputs.ptx");
    let module = scratch().join("outputs-module.ll");
    let built = builder("kernels", Compute75)
        .copy_to(&path)
        .emit_llvm_bitcode(true)
        .final_module_path(&module)
        .build();
    assert_eq!(built.expect("it compiles"), path);
    let bitcode = std::fs::read(path.with_extension("bc")).expect("bitcode");
    assert!(bitcode.starts_with(b"BC\xC0\xDE"));
    let text = std::fs::read_to_string(module).expect("the module");
    assert!(text.contains("define ptx_kernel void @bounded"));
    let functions = scratch().join("outputs-functions.ll");
    let llvm =
        builder("kernels", Compute75).copy_to(&path).emit_llvm_ir(true).llvm_functions_path(&functions);
    llvm.build().expect("it compiles");
    let functions = std::fs::read_to_string(functions).expect("the functions");
    assert_eq!(functions.matches("define ptx_kernel void @bounded(").count(), 1);
    assert!(!functions.contains("!dbg") && !functions.contains("\ndeclare "));
    assert!(
        std::fs::read_to_string(path.with_extension("ll")).expect("text").contains("nvptx64-nvidia-cuda")
    );
}

pub fn constant_statics() {
    let constant = with("constant", Compute75, |b| b.use_constant_memory_space(true));
    assert_eq!(count(&constant, "plain_static", "ld.const"), 1, "{:#?}", function(&constant, "plain_static"));
}

pub fn override_libm() {
    let own = with("libm", Compute75, |b| b.override_libm(false));
    assert_eq!(count(&own, "length", "sqrt.rn.f32"), 0, "libm's own square root is integer arithmetic");
}

pub fn gates() {
    let gated = |arch| build("gates", "gates", arch, |b| b).unwrap_or_else(|error| panic!("{error}"));
    let (old, new) = (gated(Compute75), gated(Compute90a));
    let has = |ptx: &str, kernel: &str| ptx.contains(&format!(".entry {kernel}("));
    assert!(has(&old, "always") && has(&old, "from_75") && !has(&old, "from_80") && !has(&old, "only_90a"));
    assert!(has(&new, "always") && has(&new, "from_75") && has(&new, "from_80") && has(&new, "only_90a"));
    assert!(!has(&old, "host_only") && !has(&new, "host_only"));
    assert!(old.contains(".target sm_75") && new.contains(".target sm_90a"));
}

pub fn optix() {
    let ptx = build("optix", "gates", Compute75, |b| b.optix(true)).unwrap_or_else(|error| panic!("{error}"));
    assert!(ptx.contains(".entry for_optix("));
}

pub fn build_args() {
    let with_feature = build("feature", "gates", Compute75, |b| b.build_args(&["--features", "extra"]));
    assert!(with_feature.unwrap_or_else(|error| panic!("{error}")).contains(".entry with_feature("));
}

/// What a tile's element costs in a release build: the same instructions as by a pointer. A debug build tests its place.
pub fn tested_bounds_cost_nothing_in_release() {
    let built = |label, release| {
        build(label, "blockwise", Compute80, |b| b.release(release)).unwrap_or_else(|error| panic!("{error}"))
    };
    let opcodes = |ptx: &str, name: &str| -> Vec<String> {
        let lines = function(ptx, name).into_iter().filter(|line| line.ends_with(';'));
        lines.filter_map(|line| Some(line.split_whitespace().next()?.to_owned())).collect()
    };
    let release = built("accepted", true);
    let of_tile = opcodes(&release, "element_of_a_tile");
    assert!(of_tile.iter().any(|opcode| opcode == "bar.sync"), "{of_tile:?}");
    assert_eq!(of_tile, opcodes(&release, "element_by_pointer"));
    let says = |ptx: &str| texts(ptx).iter().any(|text| text.contains("is outside of a tile of"));
    assert!(says(&built("accepted-debug", false)) && !says(&release));
}

pub fn debug_profile() {
    let ptx =
        build("debug", "gates", Compute75, |b| b.release(false)).unwrap_or_else(|error| panic!("{error}"));
    assert!(ptx.contains(".entry checks_overflow("));
    assert!(count(&ptx, "checks_overflow", "call") > 0, "the profile `dev` checks overflow");
}
