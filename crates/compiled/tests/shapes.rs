//! Blocks of all shapes: compiled against interpreted, results and counters.

mod trials;

use std::sync::Arc;

use gpu_model::chips::H200;
use virtual_gpu::jit::Compiler;
use virtual_gpu::profiler::{LaunchProfile, Profiler};
use virtual_gpu::{Gpu, Launch, Options};

/// Shared and global memory by `%tid.x`, alone and in the block.
const PTX: &str = ".version 8.3 .target sm_90 .address_size 64
    .visible .entry shapes(.param .u64 in, .param .u64 out)
    {
        .shared .align 4 .b32 kept[1024];
        .reg .b32 %x, %y, %z, %nx, %ny, %nz, %at, %all, %n, %v, %w, %s; .reg .b64 %in, %out, %a; .reg .pred %p;
        ld.param.u64 %in, [in];
        ld.param.u64 %out, [out];
        mov.u32 %x, %tid.x;
        mov.u32 %y, %tid.y;
        mov.u32 %z, %tid.z;
        mov.u32 %nx, %ntid.x;
        mov.u32 %ny, %ntid.y;
        mov.u32 %nz, %ntid.z;
        mad.lo.u32 %at, %z, %ny, %y;
        mad.lo.u32 %at, %at, %nx, %x;
        mul.lo.u32 %n, %nx, %ny;
        mul.lo.u32 %n, %n, %nz;
        mul.wide.u32 %a, %x, 4;
        add.u64 %a, %in, %a;
        ld.global.u32 %v, [%a];
        mov.u32 %s, kept;
        mad.lo.u32 %w, %at, 4, %s;
        st.shared.u32 [%w], %v;
        bar.sync 0;
        mad.lo.u32 %w, %x, 4, %s;
        ld.shared.u32 %w, [%w];
        mad.lo.u32 %v, %w, 31, %v;
        bar.sync 0;
        sub.u32 %w, %n, %at;
        mad.lo.u32 %w, %w, 4, %s;
        ld.shared.u32 %w, [%w+-4];
        mad.lo.u32 %v, %w, 31, %v;
        mov.u32 %all, %ctaid.x;
        mad.lo.u32 %all, %all, %n, %at;
        mul.wide.u32 %a, %all, 4;
        add.u64 %a, %out, %a;
        st.global.u32 [%a], %v;
        ret;
    }";

const BLOCKS: u32 = 37;

/// What a launch leaves, without and with counters, and these.
fn run(compiler: Option<Arc<dyn Compiler>>, block: (u32, u32, u32)) -> (Vec<u8>, Vec<u8>, LaunchProfile) {
    let is_compiled = compiler.is_some();
    let gpu = Gpu::with_options(&H200, Options { threads: 1, compiler, ..Options::default() });
    let kernel = gpu.load(PTX).unwrap().kernel("shapes").unwrap();
    let input: Vec<u8> = (0..1024u32).flat_map(|i| i.wrapping_mul(0x9e37_79b9).to_le_bytes()).collect();
    let bytes = u64::from(4 * BLOCKS * block.0 * block.1 * block.2);
    let [from, to] = [4096, bytes].map(|bytes| gpu.memory().alloc(bytes).unwrap());
    gpu.memory().write(from, &input).unwrap();
    let params = [from.to_le_bytes(), to.to_le_bytes()].concat();
    let launch = Launch::new(BLOCKS, block);
    let left = || {
        let mut left = vec![0; bytes as usize];
        gpu.memory().read(to, &mut left).unwrap();
        left
    };
    gpu.launch(&kernel, &launch, &params, &mut ()).unwrap();
    let plain = left();
    gpu.memory().write(to, &vec![0; bytes as usize]).unwrap();
    let mut profiler = Profiler::new();
    gpu.launch(&kernel, &launch, &params, &mut profiler).unwrap();
    assert_eq!(kernel.is_compiled(), is_compiled);
    (plain, left(), profiler.finish())
}

fn blocks_of_all_shapes_give_the_interpreters_results_and_counters() {
    let rows = [1, 5, 31, 33, 40, 48, 64, 100, 257].map(|x| (x, 1, 1));
    let others =
        [(24, 2, 1), (10, 10, 1), (5, 1, 7), (16, 3, 2), (1, 40, 1), (1, 1, 40), (8, 8, 3), (32, 2, 2)];
    for block in rows.into_iter().chain(others) {
        let expected = run(None, block);
        assert_eq!(expected.0, expected.1);
        let found = run(Some(compiled::compiler(true, compiled::Kept::Not)), block);
        assert!(expected == found, "blocks of {block:?}");
    }
}

trials! {
    fn blocks_of_all_shapes_give_the_interpreters_results_and_counters;
}
