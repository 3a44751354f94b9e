//! A kernel crate is an ordinary crate on the host: kernels describe themselves, device code type-checks.
// What is compiled here only for its types is never run.
#![allow(unused_variables, missing_docs, clippy::undocumented_unsafe_blocks, clippy::type_complexity)]

use cuda_std::prelude::*;
use cuda_std::{Kernel, LaunchBounds, ParamKind, ptx, shared_array};

#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub struct Quad([f32; 4]);

#[derive(Clone, Copy)]
pub struct Nothing;

type Real = f64;
type Numbers<'a> = &'a [u16];

#[kernel]
#[launch_bounds(max_threads = 2 * 128, min_blocks = 2)]
pub unsafe fn everything<'a>(
    a: f32,
    xs: &'a [f32],
    ys: *mut f32,
    q: Quad,
    none: Nothing,
    r: Real,
    n: Numbers<'a>,
    flag: bool,
    one: &u8,
    many: [u8; 3],
) {
    let tile = shared_array![f32; 16 * 17];
    unsafe { *tile = a };
    thread::sync_threads();
}

#[cluster_dim(2)]
#[block_dim(16, 8)]
#[kernel]
pub unsafe extern "C" fn shaped() {}

#[test]
fn a_kernel_tells_name_and_parameters() {
    assert_eq!(everything::NAME, "everything");
    assert!(everything::FILE.ends_with("host_build.rs"));
    let kinds: Vec<_> = everything::PARAMS.iter().map(|p| (p.name, p.kind, p.size, p.align)).collect();
    use ParamKind::*;
    assert_eq!(
        kinds,
        [
            ("a", Scalar, 4, 4),
            ("xs", Slice, 16, 8),
            ("ys", Pointer, 8, 8),
            ("q", Bytes, 16, 16),
            ("none", Bytes, 0, 1),
            ("r", Scalar, 8, 8),
            ("n", Slice, 16, 8),
            ("flag", Scalar, 1, 1),
            ("one", Pointer, 8, 8),
            ("many", Bytes, 3, 1),
        ]
    );
    let types: Vec<_> = everything::PARAMS.iter().map(|p| p.rust_type).collect();
    assert_eq!(
        types,
        [
            "f32",
            "&[f32]",
            "*mut f32",
            "Quad",
            "Nothing",
            "Real",
            "Numbers<'static>",
            "bool",
            "&u8",
            "[u8; 3]"
        ]
    );
    let ptx: Vec<_> = everything::ptx_params().map(|p| (p.name, p.part, p.size)).collect();
    assert_eq!(ptx.len(), 11, "two slices are four, nothing is none: {ptx:?}");
    let _: fn(f32, &'static [f32], *mut f32, Quad, Nothing, f64, &'static [u16], bool, &'static u8, [u8; 3]) =
        |a, xs, ys, q, none, r, n, flag, one, many| {
            let same: <everything as Kernel>::Signature = |_, _, _, _, _, _, _, _, _, _| {};
            same(a, xs, ys, q, none, r, n, flag, one, many);
        };
}

#[derive(Clone, Copy)]
pub struct World<'a> {
    pub spheres: &'a [Quad],
}

#[kernel]
pub unsafe fn trace(world: &World, worlds: &[World], kept: Option<World>, image: *mut f32) {}

#[test]
fn lifetimes_may_be_left_out() {
    let takes: <trace as Kernel>::Signature = |world, worlds, kept, _| {
        let _: (&World<'_>, &[World<'_>], Option<World<'_>>) = (world, worlds, kept);
    };
    let _ = takes;
    let sizes: Vec<_> = trace::ptx_params().map(|p| p.size).collect();
    assert_eq!(sizes, [8, 8, 8, 16, 8]);
}

mod blur {
    use cuda_std::kernel;

    #[kernel]
    pub unsafe fn blur(x: f32) {}
}

pub use blur::blur;

mod sharpen {}

#[kernel]
pub unsafe fn sharpen(x: f32) {}

#[test]
fn kernels_may_be_named_like_modules() {
    let _: [unsafe fn(f32); 2] = [blur, sharpen];
}

#[test]
fn launch_bounds_are_constant_expressions() {
    assert_eq!(
        everything::LAUNCH_BOUNDS,
        LaunchBounds { max_threads: Some(256), min_blocks: Some(2), ..LaunchBounds::default() }
    );
    assert_eq!(shaped::LAUNCH_BOUNDS.block_dim, Some([16, 8, 1]));
    assert_eq!(shaped::LAUNCH_BOUNDS.cluster_dim, Some([2, 1, 1]));
}

/// Type-checks every form of operand, including a generic constant.
fn inline_ptx<const N: u32>(p: *mut f32, x: half::f16) -> (u32, half::f16) {
    let d: u32;
    let mut y = x;
    let mut q = p;
    unsafe {
        ptx!("mad.lo.u32 {d}, {a}, {b}, {n};", d = out(u32) d, a = in(u32) 1, b = in(u32) 2, n = imm(N); options(pure, nomem));
        ptx!("{{ .reg .pred p; }}", concat!("add.", "f16", " {0}, {0}, {0};"), inout(f16) y);
        ptx!("add.u64 {q}, {q}, 4;", q = inout(ptr) q, options(convergent));
        ptx!("bar.sync 0;"; options(convergent));
    }
    (d, y)
}

#[test]
#[should_panic(expected = "inline PTX runs only on the GPU")]
fn inline_ptx_panics_on_the_host() {
    inline_ptx::<3>(core::ptr::null_mut(), half::f16::from_bits(0));
}

#[cuda_std::gpu_only]
fn device_only(mut x: u32) -> u32 {
    x += 1;
    x
}

#[test]
#[should_panic(expected = "`device_only` runs only on the GPU")]
fn gpu_only_functions_panic_on_the_host() {
    device_only(1);
}

#[cuda_std::address_space(shared)]
static mut TILE: core::mem::MaybeUninit<[f32; 4]> = core::mem::MaybeUninit::uninit();

#[test]
#[should_panic(expected = "runs only on the GPU")]
fn special_registers_panic_on_the_host() {
    let _ = &raw mut TILE;
    thread::index_1d();
}
