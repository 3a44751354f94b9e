//! Memory that is freed in use, allocated in kernels, mapped in pieces, or never touched.

mod harness;

use gpu_model::chips::H200;
use harness::{Arg, Device};
use virtual_gpu::memory::Rights;
use virtual_gpu::tensor_map::{DataType, Swizzle, TensorMap};
use virtual_gpu::texture::{ChannelFormat, Image, Sampler, Texture};
use virtual_gpu::{Error, FaultKind, Gpu, Launch, Options};

const PAGE: u64 = 2 << 20;

/// A kernel with this body and two parameters, for the newest PTX of an H200.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.3\n.target sm_90a\n.address_size 64\n\
         .extern .func (.param .b64 r) malloc(.param .b64 n);\n.extern .func free(.param .b64 p);\n\
         .visible .entry k(.param .u64 a, .param .u64 b)\n{{\n\
         .reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .f32 %f<8>;\n\
         ld.param.u64 %rd0, [a]; ld.param.u64 %rd1, [b]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x;\n\
         {body}\n}}\n"
    )
}

fn malloc(bytes: &str, to: &str) -> String {
    format!(
        "{{ .param .b64 n; .param .b64 m; st.param.b64 [n], {bytes}; call (m), malloc, (n); ld.param.b64 {to}, [m]; }}\n"
    )
}

fn free(pointer: &str) -> String {
    format!("{{ .param .b64 n; st.param.b64 [n], {pointer}; call free, (n); }}\n")
}

/// Blocks that replace memory with new memory and free the old, while others store to what they find there. The program
/// is wrong, and mostly ends with a fault; whatever happens, the host's own memory is not touched.
#[test]
fn a_store_to_what_another_block_frees_does_no_harm() {
    let body = format!(
        "and.b32 %r2, %r1, 1; setp.eq.u32 %p0, %r2, 1; mov.u32 %r3, 0;\n\
         again:\n\
         mad.lo.u32 %r4, %r3, 7, %r0; add.u32 %r4, %r4, %r1; and.b32 %r4, %r4, 63;\n\
         mad.wide.u32 %rd2, %r4, 8, %rd0;\n\
         @%p0 bra poke;\n\
         {}\
         setp.eq.u64 %p1, %rd3, 0; @%p1 bra next;\n\
         atom.global.exch.b64 %rd4, [%rd2], %rd3;\n\
         setp.eq.u64 %p1, %rd4, 0; @%p1 bra next;\n\
         {}\
         bra next;\n\
         poke:\n\
         ld.volatile.global.u64 %rd3, [%rd2]; setp.eq.u64 %p1, %rd3, 0; @%p1 bra next;\n\
         st.global.u32 [%rd3+40000], %r0;\n\
         next:\n\
         add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 40; @%p1 bra again;\n ret;",
        malloc("65536", "%rd3"),
        free("%rd4"),
    );
    let options = Options { threads: 4, heap_limit: 1 << 30, ..Options::default() };
    let device = Device::with(&kernel(&body), options);
    for _ in 0..20 {
        let slots = device.upload(&[0u64; 64]);
        let ended = device.try_launch("k", Launch::new(16, 64), &[Arg::Pointer(slots), Arg::Long(0)]);
        let gone =
            |e: &Error| matches!(e, Error::Fault(f) if matches!(f.kind, FaultKind::IllegalAddress { .. }));
        assert!(ended.as_ref().err().is_none_or(gone), "{ended:?}");
    }
}

/// Allocates `b` bytes and stores their address at `a`; with none, frees the address stored there.
fn heap_device(options: Options) -> Device {
    let body = format!(
        "setp.eq.u64 %p0, %rd1, 0; @%p0 bra back;\n{}st.global.u64 [%rd0], %rd3; ret;\n\
         back: ld.global.u64 %rd3, [%rd0];\n{}ret;",
        malloc("%rd1", "%rd3"),
        free("%rd3"),
    );
    Device::with(&kernel(&body), options)
}

#[test]
fn the_heap_lasts_from_launch_to_launch() {
    let device = heap_device(Options { threads: 1, ..Options::default() });
    let place = device.upload(&[0u64]);
    let one = |bytes: i64| {
        device.launch("k", Launch::new(1, 1), &[Arg::Pointer(place), Arg::Long(bytes)]);
        device.download::<u64>(place, 1)[0]
    };
    for round in 0..50 {
        let address = one(5 << 20);
        assert_ne!(address, 0, "round {round}");
        // The limit of 8 MiB spans all launches.
        assert_eq!(one(5 << 20), 0, "round {round}");
        device.gpu.memory().write(place, &address.to_le_bytes()).unwrap();
        one(0);
    }
    let quota = device.gpu.new_quota();
    quota.set_heap_limit(64 << 20);
    let kernel = device.module.kernel("k").unwrap();
    let mut params = place.to_le_bytes().to_vec();
    params.extend((60u64 << 20).to_le_bytes());
    let free = device.gpu.memory().info().0;
    device.gpu.launch_within(&quota, &kernel, &Launch::new(1, 1), &params, &mut ()).unwrap();
    assert_ne!(device.download::<u64>(place, 1)[0], 0);
    quota.clear();
    assert_eq!(device.gpu.memory().info().0, free);
}

/// Bytes of this process that are in memory.
#[cfg(target_os = "linux")]
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[cfg(target_os = "linux")]
#[test]
fn what_nobody_touches_costs_nothing() {
    let gpu = Gpu::new(&H200);
    // So that the allocator has memory it would have to clear.
    drop((0..200).map(|_| vec![1u8; 1 << 20]).collect::<Vec<_>>());
    let before = resident();
    for (count, bytes) in [(200, 8 << 20), (100, 1 << 20), (2000, 64 << 10), (5000, 8 << 10), (4, 20 << 30)] {
        (0..count).for_each(|_| assert_ne!(gpu.memory().alloc(bytes).unwrap(), 0));
    }
    // Tests running at the same time use some, too.
    let grown = resident().saturating_sub(before);
    assert!(grown < 200 << 20, "{} MiB", grown >> 20);
}

/// A format that produces nothing from much text takes as long as many operations, so that the watchdog ends it.
#[test]
fn printing_counts_for_the_watchdog() {
    let text: String = "%.0s".repeat(10_000);
    let bytes: Vec<String> = text.bytes().chain([0]).map(|byte| byte.to_string()).collect();
    let module = format!(
        ".version 7.0\n.target sm_75\n.address_size 64\n\
         .extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 v);\n\
         .global .b8 text[{}] = {{{}}};\n.global .align 8 .b8 values[80000];\n\
         .visible .entry k(.param .u64 a)\n{{\n.reg .b32 %r<4>; .reg .b64 %rd<4>;\n\
         ld.param.u64 %rd0, [a]; mov.u64 %rd1, text; cvta.global.u64 %rd1, %rd1;\n\
         mov.u64 %rd2, values; cvta.global.u64 %rd2, %rd2;\n\
         again:\n red.global.add.u32 [%rd0], 1;\n\
         {{ .param .b64 f; .param .b64 v; .param .b32 r; st.param.b64 [f], %rd1; st.param.b64 [v], %rd2;\n\
         call (r), vprintf, (f, v); }}\n bra again;\n}}\n",
        bytes.len(),
        bytes.join(", "),
    );
    let options = Options { threads: 1, watchdog: Some(1_000_000), ..Options::default() };
    let device = Device::with(&module, options);
    let count = device.upload(&[0u32]);
    let ended = device.try_launch("k", Launch::new(1, 32), &[Arg::Pointer(count)]);
    assert!(
        matches!(&ended, Err(Error::Fault(f)) if matches!(f.kind, FaultKind::Timeout { .. })),
        "{ended:?}"
    );
    let turns = device.download::<u32>(count, 1)[0] / 32;
    assert!(turns < 100, "{turns} times");
}

#[test]
fn shared_memory_ends_where_its_last_piece_ends() {
    let access = |offset: u32| {
        let body = format!(
            ".shared .align 4 .b8 s[132]; mov.u32 %r2, s; st.shared.u32 [%r2+{offset}], 7;\n\
             ld.shared.u32 %r3, [%r2+{offset}]; st.global.u32 [%rd0], %r3; ret;"
        );
        let device = Device::new(&kernel(&body));
        let out = device.upload(&[0u32]);
        device.try_launch("k", Launch::new(1, 1), &[Arg::Pointer(out), Arg::Long(0)])?;
        Ok::<u32, Error>(device.download(out, 1)[0])
    };
    assert_eq!([128, 132, 252].map(|offset| access(offset).unwrap()), [7; 3]);
    assert_eq!(access(256).unwrap_err().cuda_code(), 700);
}

/// The addresses of two adjacent mappings with this many pages each, followed by a hole.
fn two_mappings(gpu: &Gpu, pages: [u64; 2]) -> u64 {
    let memory = gpu.memory();
    let at = memory.reserve((pages[0] + pages[1] + 1) * PAGE, PAGE).unwrap();
    let mut start = at;
    for pages in pages {
        let physical = memory.physical(pages * PAGE).unwrap();
        memory.map(start, &physical, 0, pages * PAGE, &Rights::all()).unwrap();
        start += pages * PAGE;
    }
    at
}

#[test]
fn a_texture_lies_in_two_mappings_of_more_than_4_gib() {
    let body = "mul.wide.u32 %rd3, %r0, 8; add.u64 %rd3, %rd1, %rd3; ld.global.v2.u32 {%r2, %r3}, [%rd3];\n\
                tex.2d.v4.u32.s32 {%r4, %r5, %r6, %r7}, [%rd0, {%r2, %r3}];\n\
                st.global.v2.u32 [%rd3], {%r4, %r5}; ret;";
    let device = Device::new(&kernel(body));
    let gpu = &device.gpu;
    let at = two_mappings(gpu, [1025, 1100]);
    let (pitch, width) = (1u64 << 20, 1u32 << 17);
    let height = (2125 * PAGE / pitch) as u32;
    let places = [[0, 0], [width - 1, 2049], [0, 2050], [5, 4099], [width - 1, height - 1]];
    for [x, y] in places {
        let value = u64::from(x + 1) << 32 | u64::from(y + 3);
        let address = at + u64::from(y) * pitch + u64::from(x) * 8;
        gpu.memory().write(address, &value.to_le_bytes()).unwrap();
    }
    let image = Image {
        address: at,
        format: ChannelFormat::U32,
        channels: 2,
        width,
        height,
        depth: 0,
        layers: 0,
        row_pitch: pitch,
        linear: false,
    };
    let handle = gpu.textures().reserve();
    let bind = |image: Image| {
        let sampler = Sampler { as_integer: true, ..Sampler::default() };
        gpu.textures().bind(handle, Texture { levels: vec![image], sampler });
    };
    let fetch = |places: &[[u32; 2]]| {
        let buffer = device.upload(places);
        let args = [Arg::Long(handle as i64), Arg::Pointer(buffer)];
        device.try_launch("k", Launch::new(1, places.len() as u32), &args)?;
        Ok::<_, Error>(device.download::<[u32; 2]>(buffer, places.len()))
    };
    bind(image);
    assert_eq!(fetch(&places).unwrap(), places.map(|[x, y]| [y + 3, x + 1]));
    // What is no longer mapped, and what never was, is missing when it is read; the rest is there.
    bind(Image { height: height + 1, ..image });
    assert_eq!(fetch(&places[..4]).unwrap()[3], [4102, 6]);
    assert_eq!(fetch(&[[0, height]]).unwrap_err().cuda_code(), 700);
    gpu.memory().unmap(at + 1025 * PAGE).unwrap();
    assert_eq!(fetch(&places[..2]).unwrap()[1], [2052, width]);
    assert_eq!(fetch(&places[2..3]).unwrap_err().cuda_code(), 700);
}

#[test]
fn bulk_copies_cross_the_seam_of_two_mappings() {
    // 64 bytes come in, are added to themselves in place, and go out to `b`.
    let body = "setp.ne.u32 %p0, %r0, 0; @%p0 ret;\n\
                .shared .align 128 .b8 s[128]; .shared .align 8 .b64 bar; mov.u32 %r2, s; mov.u32 %r3, bar;\n\
                mbarrier.init.shared::cta.b64 [%r3], 1;\n\
                mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 64;\n\
                cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd0], 64, [%r3];\n\
                wait: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r3], 0; @!%p1 bra wait;\n\
                fence.proxy.async;\n\
                cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd0], [%r2], 64;\n\
                cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 64;\n\
                cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret;";
    let device = Device::new(&kernel(body));
    let memory = device.gpu.memory();
    let seam = two_mappings(&device.gpu, [1, 1]) + PAGE;
    let numbers: Vec<u32> = (1..17).collect();
    let bytes = |numbers: &[u32]| numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>();
    memory.write(seam - 16, &bytes(&numbers)).unwrap();
    let args = [Arg::Pointer(seam - 16), Arg::Pointer(seam - PAGE / 2)];
    device.launch("k", Launch::new(1, 32), &args);
    assert_eq!(device.download::<u32>(seam - PAGE / 2, 16), numbers);
    let doubled: Vec<u32> = numbers.iter().map(|n| 2 * n).collect();
    assert_eq!(device.download::<u32>(seam - 16, 16), doubled);
    let args = [Arg::Pointer(seam), Arg::Pointer(seam - 32)];
    device.launch("k", Launch::new(1, 32), &args);
    assert_eq!(device.download::<u32>(seam - 32, 4), doubled[4..8]);
    for args in [[seam + PAGE - 16, seam], [seam, seam + PAGE - 48]] {
        let ended = device.try_launch("k", Launch::new(1, 32), &args.map(Arg::Pointer));
        assert_eq!(ended.unwrap_err().cuda_code(), 700);
    }
}

#[test]
fn tensor_copies_cross_the_seam_of_two_mappings() {
    // A box of 4 rows of 64 bytes at (0, 0) comes in and goes out to the box at (0, 4).
    let module = ".version 8.3\n.target sm_90a\n.address_size 64\n\
        .visible .entry k(.param .align 64 .b8 map[128])\n{\n.reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %rd<3>;\n\
        .shared .align 128 .b8 s[256]; .shared .align 8 .b64 bar;\n\
        mov.b64 %rd1, map; cvta.param.u64 %rd1, %rd1; mov.u32 %r2, s; mov.u32 %r3, bar; mov.u32 %r4, 0; mov.u32 %r5, 4;\n\
        mbarrier.init.shared::cta.b64 [%r3], 1;\n\
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 256;\n\
        cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1, {%r4, %r4}], [%r3];\n\
        wait: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r3], 0; @!%p1 bra wait;\n\
        cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1, {%r4, %r5}], [%r2];\n\
        cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret;\n}\n";
    let device = Device::new(module);
    let seam = two_mappings(&device.gpu, [1, 1]) + PAGE;
    for start in [seam - 144, seam - 320] {
        let map = TensorMap {
            data_type: DataType::U32,
            rank: 2,
            address: start,
            dims: [16, 8, 1, 1, 1],
            strides: [64, 0, 0, 0],
            box_dims: [16, 4, 1, 1, 1],
            element_strides: [1; 5],
            swizzle: Swizzle::None,
            nan_fill: false,
            im2col: None,
        };
        let bytes: Vec<u8> = (0..256).map(|i| (i * 37 % 251) as u8).collect();
        device.gpu.memory().write(start, &bytes).unwrap();
        let kernel = device.module.kernel("k").unwrap();
        device.gpu.launch(&kernel, &Launch::new(1, 1), &map.to_bytes(), &mut ()).unwrap();
        assert_eq!(device.download::<u8>(start + 256, 256), bytes);
    }
}
