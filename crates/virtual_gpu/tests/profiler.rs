//! The profiler's counts against closed forms and against counts measured on an H200.

use virtual_gpu::profiler::{
    BySpace, Counters, Distinct, GlobalCounters, LaunchProfile, Profiler, SharedCounters,
};
use virtual_gpu::{Gpu, Launch, Options};

/// Transpose of an n × n matrix of f32 through a 32×32 tile, rows `PITCH` words apart, 32×8 threads.
const TRANSPOSE: &str = r#"
.version 7.0
.target sm_75
.address_size 64
.file 1 "transpose.rs"
.shared .align 4 .b8 tile[4224];
.visible .entry transpose(.param .u64 from, .param .u64 to, .param .u32 n)
{
    .reg .b32 %r<24>; .reg .b64 %d<12>; .reg .f32 %f<3>; .reg .pred %p;
    ld.param.u64 %d1, [from]; ld.param.u64 %d2, [to]; ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x; mov.u32 %r3, %tid.y; mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ctaid.y;
    mov.u32 %r20, tile;
    // Load row (by * 32 + ty + i), column (bx * 32 + tx).
    mov.u32 %r6, 0;
load:
    add.u32 %r7, %r3, %r6;
    mad.lo.u32 %r8, %r5, 32, %r7;
    mad.lo.u32 %r9, %r4, 32, %r2;
    mad.lo.u32 %r10, %r8, %r1, %r9;
    mul.wide.u32 %d3, %r10, 4; add.u64 %d4, %d1, %d3;
    .loc 1 10 5
    ld.global.f32 %f1, [%d4];
    mad.lo.u32 %r11, %r7, PITCH, %r2;
    shl.b32 %r12, %r11, 2; add.u32 %r13, %r20, %r12;
    .loc 1 11 5
    st.shared.f32 [%r13], %f1;
    add.u32 %r6, %r6, 8;
    setp.lt.u32 %p, %r6, 32;
    @%p bra load;
    bar.sync 0;
    mov.u32 %r6, 0;
store:
    add.u32 %r7, %r3, %r6;
    mad.lo.u32 %r11, %r2, PITCH, %r7;
    shl.b32 %r12, %r11, 2; add.u32 %r13, %r20, %r12;
    .loc 1 15 5
    ld.shared.f32 %f1, [%r13];
    fma.rn.f32 %f1, %f1, 0f40000000, %f1;
    mad.lo.u32 %r8, %r4, 32, %r7;
    mad.lo.u32 %r9, %r5, 32, %r2;
    mad.lo.u32 %r10, %r8, %r1, %r9;
    mul.wide.u32 %d3, %r10, 4; add.u64 %d4, %d2, %d3;
    .loc 1 16 5
    st.global.f32 [%d4], %f1;
    add.u32 %r6, %r6, 8;
    setp.lt.u32 %p, %r6, 32;
    @%p bra store;
    ret;
}
"#;

fn profile(pitch: u32, n: u32, threads: usize) -> LaunchProfile {
    let gpu = Gpu::with_options(&gpu_model::chips::H200, Options { threads, ..Options::default() });
    let module = gpu.load(&TRANSPOSE.replace("PITCH", &pitch.to_string())).unwrap();
    let kernel = module.kernel("transpose").unwrap();
    let bytes = u64::from(n) * u64::from(n) * 4;
    let (from, to) = (gpu.memory().alloc(bytes).unwrap(), gpu.memory().alloc(bytes).unwrap());
    let mut params = Vec::new();
    params.extend(from.to_le_bytes());
    params.extend(to.to_le_bytes());
    params.extend(n.to_le_bytes());
    let mut profiler = Profiler::new();
    gpu.launch(&kernel, &Launch::new((n / 32, n / 32), (32, 8)), &params, &mut profiler).unwrap();
    profiler.finish()
}

/// Measured on an H200 with Nsight Compute: 1024², 32×32 tile, 32×8 threads. Unpadded: 1,048,576 wavefronts of shared
/// loads, 1,015,808 of them conflicts; padded to 33: 32,768 and none; both 131,072 sectors each way.
#[test]
fn transpose_counts_are_the_measured_ones() {
    let plain = profile(32, 1024, 2);
    let load = plain.counters.shared_load;
    assert_eq!((load.instructions, load.wavefronts, load.bank_conflicts), (32_768, 1_048_576, 1_015_808));
    assert_eq!(plain.counters.shared_store.bank_conflicts, 0);
    assert_eq!(plain.counters.global_load.sectors, 131_072);
    assert_eq!(plain.counters.global_store.sectors, 131_072);

    let padded = profile(33, 1024, 2);
    let load = padded.counters.shared_load;
    assert_eq!((load.instructions, load.wavefronts, load.bank_conflicts), (32_768, 32_768, 0));
    assert_eq!(padded.counters.global_load.bytes, 1024 * 1024 * 4);
}

#[test]
fn lines_carry_the_counts_of_their_instructions() {
    let profile = profile(32, 64, 1);
    let lines: Vec<u32> = profile.lines.iter().map(|line| line.line).collect();
    assert_eq!(lines, [10, 11, 15, 16]);
    assert!(profile.lines.iter().all(|line| line.file.ends_with("transpose.rs")));
    assert_eq!(profile.lines[2].work.counters.shared_load, profile.counters.shared_load);
    assert_eq!(profile.lines[2].work.counters.global_load, Default::default());
    // Rows of 32 words: in a column, lanes are 128 bytes apart.
    assert_eq!(profile.lines[2].work.shared_strides.only(), Some(128));
    assert_eq!(profile.lines[0].work.distinct, Distinct { by_block: 64 * 64 * 4, by_launch: 64 * 64 * 4 });
    // One multiply-add for each of 64² elements.
    assert_eq!(profile.operations.f32, 2 * 64 * 64);
    assert_eq!((profile.grid, profile.block, profile.shared_bytes), ([2, 2, 1], [32, 8, 1], 4224));
    // Four blocks of eight warps: 9 instructions, 4 rounds of 14, 2 between, 4 rounds of 15, 1 at the end.
    assert_eq!(profile.warp_instructions, 4 * 8 * (9 + 4 * 14 + 2 + 4 * 15 + 1));
    assert_eq!(profile.lane_instructions, 32 * profile.warp_instructions);
    // What comes before the first line counts for it, what follows a line's start for that line.
    let by_line: Vec<u64> = profile.lines.iter().map(|line| line.work.warp_instructions / (4 * 8)).collect();
    assert_eq!(by_line, [9 + 4 * 10, 4 * 4 + 2 + 4 * 4, 4 * 7, 4 * 4 + 1]);
}

/// Three blocks of two warps: each thread reads data shared by the whole launch, then its block's own part twice, all
/// from one line; half of the lanes read once more, from the next line.
#[test]
fn what_is_read_again_is_told_from_what_is_distinct() {
    let gpu = Gpu::with_options(&gpu_model::chips::H200, Options { threads: 2, ..Options::default() });
    let module = gpu
        .load(
            ".version 7.0 .target sm_75 .address_size 64
            .file 1 \"again.rs\"
            .visible .entry again(.param .u64 p) {
                .reg .b64 %d<4>; .reg .b32 %r<4>; .reg .pred %p;
                .loc 1 3 1
                ld.param.u64 %d0, [p];
                ld.global.u32 %r0, [%d0];
                mov.u32 %r1, %ctaid.x; shl.b32 %r1, %r1, 8;
                mov.u32 %r2, %tid.x; shl.b32 %r3, %r2, 2; add.u32 %r3, %r3, %r1;
                cvt.u64.u32 %d1, %r3; add.u64 %d1, %d1, %d0;
                ld.global.u32 %r0, [%d1+256]; ld.global.u32 %r0, [%d1+256];
                and.b32 %r2, %r2, 1; setp.eq.u32 %p, %r2, 0;
                .loc 1 4 1
                @%p ld.global.u32 %r0, [%d1+256];
                ret;
            }",
        )
        .unwrap();
    let memory = gpu.memory().alloc(1024).unwrap();
    let mut profiler = Profiler::new();
    let kernel = module.kernel("again").unwrap();
    gpu.launch(&kernel, &Launch::new(3, 64), &memory.to_le_bytes(), &mut profiler).unwrap();
    let profile = profiler.finish();
    let [first, second] = &profile.lines[..] else { panic!("{:?}", profile.lines) };
    assert_eq!(first.work.distinct, Distinct { by_block: 3 * (4 + 256), by_launch: 4 + 3 * 256 });
    assert_eq!(second.work.distinct, Distinct { by_block: 3 * 128, by_launch: 3 * 128 });
    // Both lines read the same.
    assert_eq!(profile.distinct, first.work.distinct);
    assert_eq!(first.work.active_lanes(), Some(32.0));
    // A load by every second lane, and the end for all of them.
    assert_eq!(second.work.active_lanes(), Some(24.0));
    // The first reads 1 + 4 + 4 sectors of 32 bytes in each warp.
    assert_eq!(first.work.fetches(), Some((6 * 9 * 32) as f64 / 780.0));
}

/// What the compiler moved has line 0, and what it took from a library whole only that library's lines.
#[test]
fn what_has_no_line_of_the_kernel_belongs_to_the_line_before() {
    let gpu = Gpu::new(&gpu_model::chips::H200);
    let module = gpu
        .load(
            ".version 7.0 .target sm_75 .address_size 64
            .file 1 \"own.rs\"
            .file 2 \"/rustc/1234/library/core/src/bool.rs\"
            .visible .entry mixed() {
                .reg .b32 %r<5>;
                .loc 2 9 1
                mov.u32 %r0, %tid.x;
                .loc 1 3 1
                add.u32 %r1, %r0, 1;
                .loc 2 0 0
                add.u32 %r2, %r1, 1;
                .loc 1 0 0
                add.u32 %r3, %r2, 1;
                .loc 1 4 1
                add.u32 %r4, %r3, 1;
                ret;
            }",
        )
        .unwrap();
    let mut profiler = Profiler::new();
    gpu.launch(&module.kernel("mixed").unwrap(), &Launch::new(1, 32), &[], &mut profiler).unwrap();
    let profile = profiler.finish();
    let lines: Vec<_> =
        profile.lines.iter().map(|l| (l.file.as_str(), l.line, l.work.warp_instructions)).collect();
    assert_eq!(lines, [("own.rs", 3, 4), ("own.rs", 4, 2)]);
}

#[test]
fn instructions_are_counted_by_the_memory_that_they_reach() {
    let gpu = Gpu::new(&gpu_model::chips::H200);
    let module = gpu
        .load(
            ".version 7.0 .target sm_75 .address_size 64
            .const .align 16 .b8 table[16]; .shared .align 4 .b8 tile[128];
            .visible .entry reach(.param .u64 p, .param .u32 n) {
                .local .align 4 .b8 own[8];
                .reg .b64 %d<3>; .reg .b32 %r<6>;
                ld.param.u64 %d0, [p]; ld.param.u32 %r0, [n];
                ld.const.v2.u32 {%r1, %r2}, [table];
                st.local.u32 [own], %r1;
                cvta.local.u64 %d1, own;
                ld.u32 %r3, [%d1];
                st.shared.u32 [tile], %r3; ld.shared.u32 %r4, [tile]; atom.shared.add.u32 %r5, [tile], 1;
                st.global.u32 [%d0], %r4;
                ret;
            }",
        )
        .unwrap();
    let memory = gpu.memory().alloc(4).unwrap();
    let mut params = memory.to_le_bytes().to_vec();
    params.extend(7u32.to_le_bytes());
    let mut profiler = Profiler::new();
    let kernel = module.kernel("reach").unwrap();
    gpu.launch(&kernel, &Launch::new(3, 64), &params, &mut profiler).unwrap();
    // Three blocks of two warps each. A load of two words is one instruction; one that names no space reached the
    // stack.
    let expected = BySpace { parameter: 12, local: 12, shared: 18, global: 6, constant: 6 };
    assert_eq!(profiler.finish().memory_instructions, expected);
}

#[test]
fn the_number_of_threads_changes_nothing() {
    assert_eq!(profile(32, 128, 1), profile(32, 128, 4));
}

#[test]
fn what_has_no_rule_is_listed() {
    let gpu = Gpu::new(&gpu_model::chips::H200);
    let module = gpu
        .load(
            ".version 7.0 .target sm_75 .address_size 64
            .visible .entry touch(.param .u64 p) {
                .reg .b64 %d, %a; .reg .b32 %r; .reg .b16 %h;
                ld.param.u64 %d, [p];
                ld.b32 %r, [%d];
                red.global.add.u32 [%d], 1;
                red.global.add.noftz.f16 [%d], %h;
                // Every second word: 8 sectors instead of 4.
                mov.u32 %r, %laneid; mul.lo.u32 %r, %r, 8; cvt.u64.u32 %a, %r; add.u64 %a, %a, %d;
                red.global.add.u32 [%a], 1;
                atom.global.cas.b64 %d, [%d], 0, 1;
                ret;
            }",
        )
        .unwrap();
    let memory = gpu.memory().alloc(256).unwrap();
    let mut profiler = Profiler::new();
    let kernel = module.kernel("touch").unwrap();
    gpu.launch(&kernel, &Launch::new(1, 64), &memory.to_le_bytes(), &mut profiler).unwrap();
    let profile = profiler.finish();
    let listed: Vec<(&str, u64)> =
        profile.not_counted.iter().map(|one| (one.family.as_str(), one.instructions)).collect();
    let swaps = "sectors of global compare-and-swaps of 8 bytes, which may be one more or fewer";
    assert_eq!(listed, [("global atomics of 2 or more than 16 bytes", 2), (swaps, 2)]);
    // The load names no space; it reached one sector of global memory.
    let global_load = GlobalCounters { requests: 2, sectors: 2, bytes: 2 * 32 * 4, ..Default::default() };
    // All lanes add to one word, one after the other; then to 8 sectors; then they swap one.
    let global_atomic = GlobalCounters {
        requests: 6,
        sectors: 64 + 16 + 64,
        bytes: 4 * 32 * 4 + 2 * 32 * 8,
        ..Default::default()
    };
    assert_eq!(profile.counters, Counters { global_load, global_atomic, ..Counters::default() });
}

#[test]
fn each_family_of_shared_memory_has_its_rule() {
    let gpu = Gpu::new(&gpu_model::chips::H200);
    let counters = |body: &str| {
        let text = format!(
            ".version 8.0 .target sm_90 .address_size 64
            .visible .entry touch(.param .u64 p) {{
                .shared .align 128 .b8 tile[8192];
                .reg .b32 %r<8>; .reg .b64 %d<8>; .reg .pred %p;
                mov.u32 %r0, %tid.x;
                mov.u32 %r1, tile;
                shl.b32 %r2, %r0, 7;
                add.u32 %r2, %r1, %r2; // A row of 128 bytes for each lane: all in bank 0.
                shl.b32 %r3, %r0, 4;
                add.u32 %r3, %r1, %r3; // 16 bytes each, side by side.
                ld.param.u64 %d0, [p];
                mul.wide.u32 %d1, %r0, 16;
                add.u64 %d1, %d0, %d1;
                {body}
                ret;
            }}"
        );
        let module = gpu.load(&text).unwrap();
        let memory = gpu.memory().alloc(4096).unwrap();
        let mut profiler = Profiler::new();
        let kernel = module.kernel("touch").unwrap();
        gpu.launch(&kernel, &Launch::new(1, 32), &memory.to_le_bytes(), &mut profiler).unwrap();
        profiler.finish().counters
    };
    let shared = |c: SharedCounters| (c.wavefronts, c.ideal_wavefronts, c.bank_conflicts);
    // Lanes that add to one word are serialised, unless the chip only has to count them.
    let atomic = |text: &str| shared(counters(text).shared_atomic);
    assert_eq!(atomic("atom.shared.add.u32 %r4, [%r1], %r0;"), (32, 1, 31));
    assert_eq!(atomic("red.shared.add.u32 [%r1], %r0;"), (32, 1, 31));
    assert_eq!(atomic("red.shared.add.u32 [%r1], 2;"), (32, 1, 31));
    assert_eq!(atomic("red.shared.add.u32 [%r1], 1;"), (1, 1, 0));
    assert_eq!(atomic("atom.shared.add.u32 %r4, [%r1], 1;"), (1, 1, 0));
    assert_eq!(atomic("atom.shared.add.u32 %r4, [%r1], 1; st.shared.u32 [%r3], %r4;"), (32, 1, 31));
    assert_eq!(atomic("atom.shared.cas.b32 %r4, [%r1], %r0, 1;"), (64, 2, 31));
    // Four matrices, a wavefront each if their rows lie side by side.
    let load = |text: &str| shared(counters(text).shared_load);
    let matrix = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4, %r5, %r6, %r7}";
    assert_eq!(load(&format!("{matrix}, [%r3];")), (4, 4, 0));
    assert_eq!(load(&format!("{matrix}, [%r2];")), (32, 4, 28));
    // An instruction without a space counts where it goes: here the lower lanes to shared, the upper to global memory.
    let both = counters(
        "cvt.u64.u32 %d2, %r3; cvta.shared.u64 %d2, %d2; setp.lt.u32 %p, %r0, 16; selp.b64 %d3, %d2, %d1, %p;
        ld.b32 %r4, [%d3];",
    );
    assert_eq!(shared(both.shared_load), (2, 1, 1));
    assert_eq!((both.global_load.requests, both.global_load.sectors), (1, 8));
    // Lanes that share their 16 bytes are served by halves of the warp, or by quarters if no space is named.
    assert_eq!(load("ld.shared.v4.b32 {%r4, %r5, %r6, %r7}, [%r1];"), (2, 2, 0));
    let generic = "cvt.u64.u32 %d2, %r1; cvta.shared.u64 %d2, %d2; ld.v4.b32 {%r4, %r5, %r6, %r7}, [%d2];";
    assert_eq!(load(generic), (4, 4, 0));
    // An asynchronous copy reads like a load.
    let copy = counters("cp.async.ca.shared.global [%r3], [%d1], 16; cp.async.wait_all;");
    assert_eq!((copy.global_load.requests, copy.global_load.sectors, copy.global_load.bytes), (1, 16, 512));
    // It counts as one, however many of its 16 bytes each lane reads; lanes that read nothing take no part.
    let copy =
        counters("and.b32 %r4, %r0, 12; cp.async.ca.shared.global [%r3], [%d1], 16, %r4; cp.async.wait_all;");
    assert_eq!(
        (copy.global_load.requests, copy.global_load.sectors, copy.global_load.bytes),
        (1, 12, 24 * 16)
    );
}

#[test]
fn a_launch_that_faults_is_profiled_up_to_there() {
    let gpu = Gpu::new(&gpu_model::chips::H200);
    let module = gpu
        .load(
            ".version 7.0 .target sm_75 .address_size 64
            .visible .entry wild$f32() {
                .reg .b64 %d; .reg .b32 %r;
                mov.u64 %d, 8;
                ld.global.b32 %r, [%d];
                ret;
            }",
        )
        .unwrap();
    let mut profiler = Profiler::new();
    let kernel = module.kernel("wild$f32").unwrap();
    assert!(gpu.launch(&kernel, &Launch::new(1, 32), &[], &mut profiler).is_err());
    let profile = profiler.finish();
    assert_eq!(profile.kernel, "wild::<f32>");
    assert_eq!(profile.counters.global_load.requests, 1);
    assert!(profile.fault.is_some_and(|fault| fault.contains("wild::<f32>")));
}
