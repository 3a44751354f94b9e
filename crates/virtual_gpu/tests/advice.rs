//! Ten kernels whose cure is known, and one that needs none: the first advice on the dearest line names it.

use gpu_model::chips::H200;
use gpu_model::profile::{Advice, Rates, Unit, rank};
use virtual_gpu::profiler::Profiler;
use virtual_gpu::{Gpu, Launch};

/// Every kernel has its line 10, the dearest; `%i` is the thread's number in the grid, `%t` in the block, `%a` and `%b` are
/// buffers of 1 MiB.
fn first_advice(body: &str) -> Advice {
    let source = format!(
        r#"
.version 7.0
.target sm_75
.address_size 64
.file 1 "kernel.rs"
.visible .entry k(.param .u64 a, .param .u64 b)
{{
    .reg .b32 %r<32>; .reg .b64 %d<16>; .reg .f32 %f<8>; .reg .pred %p<4>; .reg .b32 %i, %t; .reg .b64 %a, %b;
    .shared .align 16 .b8 tile[16384];
    .local .align 16 .b8 own[256];
    .loc 1 1 1
    ld.param.u64 %a, [a]; ld.param.u64 %b, [b];
    mov.u32 %t, %tid.x; mov.u32 %r31, %ctaid.x; mad.lo.u32 %i, %r31, 256, %t;
{body}
    ret;
}}
"#
    );
    let gpu = Gpu::new(&H200);
    let module = gpu.load(&source).unwrap();
    let kernel = module.kernel("k").unwrap();
    let buffers = [(); 2].map(|()| gpu.memory().alloc(1 << 20).unwrap());
    let params: Vec<u8> = buffers.iter().flat_map(|buffer| buffer.to_le_bytes()).collect();
    let mut profiler = Profiler::new();
    gpu.launch(&kernel, &Launch::new((16, 1), (256, 1)), &params, &mut profiler).unwrap();
    let rates = Rates::of(&H200);
    let lines = profiler.finish().lines;
    let ranked = rank(&lines, &rates);
    assert_eq!(ranked[0].line.line, 10, "{ranked:#?}");
    ranked[0].advice(&rates)[0]
}

/// `rounds` times the body, on line 10.
fn repeated(rounds: u32, before: &str, body: &str) -> String {
    format!(
        "{before} mov.u32 %r0, 0;\nagain:\n.loc 1 10 1\n{body}\nadd.u32 %r0, %r0, 1; setp.lt.u32 %p0, %r0, {rounds}; @%p0 bra again;\n.loc 1 20 1\n"
    )
}

/// Each thread walks along a row of A and down a column of B.
#[test]
fn a_product_without_a_tile_needs_one() {
    let body = repeated(
        64,
        "shr.u32 %r1, %t, 4; and.b32 %r2, %t, 15; mov.f32 %f1, 0f00000000;",
        "mad.lo.u32 %r3, %r1, 64, %r0; mul.wide.u32 %d1, %r3, 4; add.u64 %d1, %a, %d1; ld.global.f32 %f2, [%d1];
         mad.lo.u32 %r4, %r0, 16, %r2; mul.wide.u32 %d2, %r4, 4; add.u64 %d2, %b, %d2; ld.global.f32 %f3, [%d2];
         fma.rn.f32 %f1, %f2, %f3, %f1;",
    );
    assert!(matches!(first_advice(&body), Advice::Refetched { .. }));
}

/// Nine taps of a row: neighbouring lanes read what the lane has read.
#[test]
fn a_convolution_needs_a_tile() {
    let body = repeated(
        9,
        "mov.f32 %f1, 0f00000000;",
        "add.u32 %r1, %i, %r0; mul.wide.u32 %d1, %r1, 4; add.u64 %d1, %a, %d1; ld.global.f32 %f2, [%d1];
         fma.rn.f32 %f1, %f2, 0f3f000000, %f1;",
    );
    assert!(matches!(first_advice(&body), Advice::Refetched { .. }));
}

#[test]
fn a_product_from_a_tile_needs_registers() {
    let body = repeated(
        64,
        "shr.u32 %r1, %t, 5; and.b32 %r2, %t, 31; mov.u32 %r9, tile; mov.f32 %f1, 0f00000000;",
        "mad.lo.u32 %r3, %r1, 64, %r0; shl.b32 %r3, %r3, 2; add.u32 %r3, %r9, %r3; ld.shared.f32 %f2, [%r3];
         mad.lo.u32 %r4, %r0, 32, %r2; shl.b32 %r4, %r4, 2; add.u32 %r4, %r9, %r4; ld.shared.f32 %f3, [%r4];
         fma.rn.f32 %f1, %f2, %f3, %f1;",
    );
    assert!(matches!(first_advice(&body), Advice::SharedOperands { loads: 2.0 }));
}

#[test]
fn a_column_of_a_tile_needs_padding() {
    let body = repeated(
        8,
        "and.b32 %r2, %t, 31; mov.u32 %r9, tile;",
        "shl.b32 %r4, %r2, 7; add.u32 %r4, %r9, %r4; ld.shared.f32 %f2, [%r4];",
    );
    let advice = first_advice(&body);
    assert!(
        matches!(advice, Advice::BankConflicts { degree: 32.0, .. })
            && advice.to_string().contains("pad each row")
    );
}

#[test]
fn fields_of_structs_need_arrays() {
    let body = "
        .loc 1 10 1
        mul.wide.u32 %d1, %i, 16; add.u64 %d1, %a, %d1; ld.global.f32 %f1, [%d1];";
    let advice = first_advice(body);
    assert!(matches!(advice, Advice::PartSectors { access: "loads", used: 0.125..=0.25, .. }));
    assert!(advice.to_string().contains("keep each field in an array"));
}

#[test]
fn stores_down_a_column_need_a_tile() {
    let body = "
        .loc 1 10 1
        and.b32 %r1, %t, 63; mul.wide.u32 %d1, %r1, 1024; add.u64 %d1, %a, %d1; mov.f32 %f1, 0f00000000; st.global.f32 [%d1], %f1;";
    let advice = first_advice(body);
    assert!(matches!(advice, Advice::PartSectors { access: "stores", used: 0.125, .. }));
    assert!(advice.to_string().contains("down a column"));
}

#[test]
fn one_lane_that_sums_up_needs_the_others() {
    let body = format!(
        "and.b32 %r1, %t, 31; setp.ne.u32 %p1, %r1, 0; @%p1 bra done;\n{}\ndone:",
        repeated(64, "mov.u32 %r2, 0;", "xor.b32 %r2, %r2, %r0;")
    );
    assert_eq!(first_advice(&body), Advice::OneLane);
}

#[test]
fn half_a_warp_needs_the_other_half() {
    let body = format!(
        "and.b32 %r1, %t, 31; setp.gt.u32 %p1, %r1, 15; @%p1 bra done;\n{}\ndone:",
        repeated(64, "mov.u32 %r2, 0;", "xor.b32 %r2, %r2, %r0;")
    );
    assert_eq!(first_advice(&body), Advice::Diverged { lanes: 16.0 });
}

#[test]
fn a_local_array_needs_registers() {
    let body = repeated(
        32,
        "mov.u32 %r9, own;",
        "and.b32 %r1, %r0, 15; shl.b32 %r1, %r1, 2; add.u32 %r1, %r9, %r1; st.local.u32 [%r1], %r0;",
    );
    assert_eq!(first_advice(&body), Advice::LocalMemory { accesses: 32 * 8 * 16 });
}

#[test]
fn a_histogram_in_global_memory_needs_sums_first() {
    let body = "
        .loc 1 10 1
        mov.u32 %r1, 1; and.b32 %r2, %t, 3; mul.wide.u32 %d1, %r2, 4; add.u64 %d1, %a, %d1; red.global.add.u32 [%d1], %r1;";
    assert!(matches!(first_advice(body), Advice::GlobalAtomics { .. }));
}

#[test]
fn a_copy_needs_nothing() {
    let body = "
        .loc 1 10 1
        mul.wide.u32 %d1, %i, 4; add.u64 %d2, %b, %d1; add.u64 %d1, %a, %d1; ld.global.f32 %f1, [%d1]; st.global.f32 [%d2], %f1;";
    assert_eq!(first_advice(body), Advice::Bound(Unit::Memory));
}
