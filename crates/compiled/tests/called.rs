//! Instructions of the interpreter that code calls, and accesses of 16 bytes: compiled against interpreted, results, faults and
//! counters.

mod trials;

use std::sync::Arc;

use gpu_model::chips::H200;
use virtual_gpu::jit::Compiler;
use virtual_gpu::profiler::{LaunchProfile, Profiler};
use virtual_gpu::{Gpu, Launch, Options};

const BLOCKS: u32 = 5;
const BYTES: usize = 1 << 16;

/// A kernel of blocks with up to 96 threads. `body` finds a thread's number in `%t`, its 16 bytes of `data` at `%a`, of 2 KB of
/// shared memory at `%s`, and leaves something in `%v`.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.3 .target sm_90 .address_size 64
        .visible .entry kernel(.param .u64 data, .param .u64 out)
        {{
            .shared .align 16 .b8 kept[2048];
            .shared .align 8 .b64 bar;
            .reg .b32 %t, %n, %w, %s, %v, %b, %m, %r<16>; .reg .b64 %a, %o, %d, %l<4>; .reg .pred %p, %q;
            ld.param.u64 %a, [data];
            ld.param.u64 %o, [out];
            mov.u32 %t, %tid.x;
            mov.u32 %n, %ntid.x;
            mov.u32 %b, bar;
            mov.u32 %w, %ctaid.x;
            mad.lo.u32 %w, %w, %n, %t;
            mul.wide.u32 %d, %w, 16;
            add.u64 %o, %o, %d;
            mul.wide.u32 %d, %t, 16;
            add.u64 %a, %a, %d;
            mov.u32 %s, kept;
            mad.lo.u32 %s, %t, 16, %s;
            mov.u32 %v, 0;
            {body}
            st.global.u32 [%o], %v;
            ret;
        }}"
    )
}

/// What a launch leaves, without and with counters, and these.
fn run(
    ptx: &str,
    compiler: Option<Arc<dyn Compiler>>,
    threads: u32,
) -> [(Vec<u8>, String, LaunchProfile); 2] {
    let is_compiled = compiler.is_some();
    [false, true].map(|counted| {
        let gpu = Gpu::with_options(
            &H200,
            Options { threads: 1, compiler: compiler.clone(), ..Options::default() },
        );
        let kernel = gpu.load(ptx).unwrap().kernel("kernel").unwrap();
        let input: Vec<u8> =
            (0..BYTES as u32 / 4).flat_map(|i| i.wrapping_mul(0x9e37_79b9).to_le_bytes()).collect();
        let [from, to] = [(); 2].map(|()| gpu.memory().alloc(BYTES as u64).unwrap());
        gpu.memory().write(from, &input).unwrap();
        gpu.memory().write(to, &[0; BYTES]).unwrap();
        let params = [from.to_le_bytes(), to.to_le_bytes()].concat();
        let launch = Launch::new(BLOCKS, threads);
        let mut profiler = Profiler::new();
        let ended = match counted {
            true => gpu.launch(&kernel, &launch, &params, &mut profiler).map(|_| ()),
            false => gpu.launch(&kernel, &launch, &params, &mut ()).map(|_| ()),
        };
        assert_eq!(kernel.is_compiled(), is_compiled);
        let mut left = vec![0; BYTES];
        gpu.memory().read(to, &mut left).unwrap();
        (left, format!("{ended:?}"), profiler.finish())
    })
}

fn is_equal(name: &str, body: &str) {
    let ptx = kernel(body);
    for threads in [96, 32, 40] {
        let expected = run(&ptx, None, threads);
        let found = run(&ptx, Some(compiled::compiler(true, compiled::Kept::Not)), threads);
        assert!(expected == found, "{name}, {threads} threads");
    }
}

fn asynchronous_copies_are_as_interpreted() {
    let turns = |copies: &str| {
        format!(
            "mov.u32 %w, 0;
            again: {copies}
            cp.async.commit_group;
            ld.shared.u32 %r1, [%s];
            mad.lo.u32 %v, %v, 31, %r1;
            cp.async.wait_group 1;
            bar.sync 0;
            ld.shared.u32 %r1, [%s+8];
            mad.lo.u32 %v, %v, 31, %r1;
            bar.sync 0;
            add.u64 %a, %a, 1536;
            add.u32 %w, %w, 1;
            setp.lt.u32 %p, %w, 6;
            @%p bra again;
            cp.async.wait_all;
            ld.shared.u32 %r1, [%s+4];
            mad.lo.u32 %v, %v, 31, %r1;"
        )
    };
    for (name, copies) in [
        ("16 bytes", "cp.async.cg.shared.global [%s], [%a], 16;"),
        (
            "some lanes",
            "and.b32 %r0, %t, 3; setp.ne.u32 %q, %r0, %w;
            @%q cp.async.ca.shared.global [%s], [%a], 4;
            cp.async.ca.shared.global [%s+8], [%a+8], 8;",
        ),
        ("a part", "and.b32 %r0, %t, 15; cp.async.cg.shared.global [%s], [%a], 16, %r0;"),
        (
            "apart",
            "setp.lt.u32 %q, %t, 9; @%q bra over;
            cp.async.ca.shared.global [%s], [%a], 4;
            cp.async.commit_group;
            over: cp.async.ca.shared.global [%s+4], [%a], 4;",
        ),
        ("far", "setp.eq.u32 %q, %w, 3; @%q add.u64 %a, %a, 99999; cp.async.ca.shared.global [%s], [%a], 4;"),
    ] {
        is_equal(name, &turns(copies));
    }
}

fn barriers_in_shared_memory_are_as_interpreted() {
    is_equal(
        "mbarrier",
        "setp.eq.u32 %p, %t, 0;
        @%p mbarrier.init.shared.b64 [%b], %n;
        bar.sync 0;
        mov.u32 %w, 0;
        again: cp.async.ca.shared.global [%s], [%a], 4;
        cp.async.mbarrier.arrive.noinc.shared.b64 [%b];
        mov.u32 %r2, %w;
        and.b32 %r2, %r2, 1;
        wait: mbarrier.try_wait.parity.shared.b64 %q, [%b], %r2;
        @!%q bra wait;
        ld.shared.u32 %r1, [%s];
        mad.lo.u32 %v, %v, 31, %r1;
        add.u64 %a, %a, 1536;
        add.u32 %w, %w, 1;
        setp.lt.u32 %p, %w, 5;
        @%p bra again;",
    );
    is_equal(
        "a phase that nothing completes",
        "setp.eq.u32 %p, %t, 0;
        add.u32 %r1, %n, 1;
        @%p mbarrier.init.shared.b64 [%b], %r1;
        bar.sync 0;
        mbarrier.arrive.shared.b64 _, [%b];
        wait: mbarrier.try_wait.parity.shared.b64 %q, [%b], 0;
        @!%q bra wait;",
    );
}

fn matrices_are_as_interpreted() {
    let load = "ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%a]; st.shared.v4.u32 [%s], {%r0, %r1, %r2, %r3}; bar.sync 0;";
    let store = "xor.b32 %v, %r0, %r1; xor.b32 %v, %v, %r5; st.global.v4.u32 [%o], {%r0, %r1, %r2, %r3};";
    for (name, body) in [
        ("ldmatrix", "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r0, %r1, %r2, %r3}, [%s];"),
        (
            "mma",
            "mov.u32 %w, 0;
            again: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r4, %r5, %r6, %r7}, {%r0, %r1, %r2, %r3}, {%r1, %r2}, {%r4, %r5, %r6, %r7};
            movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r1;
            add.u32 %w, %w, 1;
            setp.lt.u32 %p, %w, 4;
            @%p bra again;",
        ),
        (
            "apart",
            "setp.lt.u32 %q, %t, 9; @%q bra over; add.u32 %r3, %r3, %t;
            over: mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%r4, %r5, %r6, %r7}, {%r0, %r1, %r2, %r3}, {%r1, %r2}, {%r4, %r5, %r6, %r7};",
        ),
    ] {
        let whole = format!(
            "mov.u32 %r4, 0; mov.u32 %r5, 0; mov.u32 %r6, 0; mov.u32 %r7, 0; {load} {body} {store}"
        );
        let ptx = kernel(&whole);
        for threads in [32, 96] {
            let expected = run(&ptx, None, threads);
            let found = run(&ptx, Some(compiled::compiler(true, compiled::Kept::Not)), threads);
            assert!(expected == found, "{name}, {threads} threads");
        }
    }
}

fn accesses_of_16_bytes_are_as_interpreted() {
    // Where a lane goes, in 16 bytes.
    for (name, place) in [
        ("in rows of eight", "and.b32 %w, %t, 7; shr.u32 %r0, %t, 3; mad.lo.u32 %w, %r0, 40, %w;"),
        ("anywhere", "mul.lo.u32 %w, %t, 77; and.b32 %w, %w, 127;"),
        ("to one place by twos", "shr.u32 %w, %t, 1;"),
        ("too far", "mul.lo.u32 %w, %t, 77; mul.lo.u32 %w, %w, 9;"),
    ] {
        for (ty, registers) in [("v4.u32", "{%r4, %r5, %r6, %r7}"), ("v2.u64", "{%l1, %l2}")] {
            is_equal(
                &format!("{ty} {name}"),
                &format!(
                    "sub.u64 %a, %a, %d; sub.u64 %o, %o, %d; {place}
                    mul.wide.u32 %l0, %w, 16; add.u64 %a, %a, %l0; add.u64 %o, %o, %l0;
                    ld.global.{ty} {registers}, [%a+16];
                    st.shared.{ty} [%s], {registers};
                    st.global.{ty} [%o+16], {registers};
                    mov.u32 %v, %t;"
                ),
            );
        }
    }
}

trials! {
    fn asynchronous_copies_are_as_interpreted;
    fn barriers_in_shared_memory_are_as_interpreted;
    fn matrices_are_as_interpreted;
    fn accesses_of_16_bytes_are_as_interpreted;
}
