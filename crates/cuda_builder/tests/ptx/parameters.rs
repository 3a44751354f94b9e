//! Upstream's rules for parameters.

use crate::compile::{count, function, kernels, parameters};
use cuda_builder::NvvmArch::Compute75;

pub fn scalars_are_scalars() {
    let ptx = kernels(Compute75);
    let expected = [".u8", ".u16", ".u8", ".u32", ".f64", ".align 16 .b8[16]", ".u64", ".u64 .ptr .align 1"];
    assert_eq!(parameters(&ptx, "scalars"), expected);
}

pub fn slices_are_two() {
    let ptx = kernels(Compute75);
    let expected = [".u64 .ptr .align 4", ".u64", ".f32", ".u64 .ptr .align 2", ".u64", ".u64 .ptr .align 1"];
    assert_eq!(parameters(&ptx, "slices"), expected);
}

pub fn types_go_by_value_with_their_layout() {
    let ptx = kernels(Compute75);
    let expected = [
        ".align 4 .b8[12]",  // three floats
        ".align 16 .b8[16]", // align(16)
        ".align 4 .b8[8]",   // an enum with a u32
        ".align 8 .b8[8]",   // a union
        ".align 4 .b8[8]",   // Option<u32>
        ".align 2 .b8[10]",  // [u16; 5]
        ".align 8 .b8[16]",  // (u8, u64)
        ".align 8 .b8[8]",   // a newtype of f64
        ".u64 .ptr .align 1",
    ];
    assert_eq!(parameters(&ptx, "by_value"), expected);
    assert_eq!(count(&ptx, "by_value", "ld.local"), 0, "reading a parameter needs no copy of it");
}

pub fn nothing_vanishes() {
    let ptx = kernels(Compute75);
    assert_eq!(parameters(&ptx, "nothing"), [".u32", ".u64 .ptr .align 1"]);
}

pub fn aliases_are_seen_through() {
    let ptx = kernels(Compute75);
    let kinds: Vec<_> =
        parameters(&ptx, "aliases").iter().map(|p| p.split(' ').next().unwrap().to_owned()).collect();
    assert_eq!(kinds, [".f32", ".u64", ".u64", ".u64"]);
}

pub fn dynamic_indices_stay_in_parameter_space() {
    let ptx = kernels(Compute75);
    assert_eq!(count(&ptx, "dynamic_index", ".local"), 0);
    assert!(
        function(&ptx, "dynamic_index")
            .iter()
            .any(|line| line.starts_with("ld.param.b32") && line.contains("[%rd"))
    );
}

pub fn launch_bounds_become_directives() {
    let ptx = kernels(Compute75);
    let bounded = function(&ptx, "bounded");
    for directive in [".maxntid 128", ".minnctapersm 4", ".maxnreg 64"] {
        assert!(bounded.contains(&directive), "{directive}: {bounded:?}");
    }
    assert!(function(&ptx, "shaped").contains(&".reqntid 16, 8, 1"));
}

pub fn visible_functions_stay() {
    let ptx = kernels(Compute75);
    assert!(function(&ptx, "linkable")[0].starts_with(".visible .func"));
    assert!(
        !ptx.contains(".visible .func  (.param .b32 func_retval0) __nv_"),
        "the library's own are internal"
    );
}
