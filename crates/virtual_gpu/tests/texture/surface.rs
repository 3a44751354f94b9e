//! Surfaces, levels and volumes, with values worked out by hand.

use virtual_gpu::texture::{AddressMode, ChannelFormat, Filter, Image, Sampler, Texture};
use virtual_gpu::{Error, FaultKind, Gpu, Launch};

use super::{device, fetch};

/// An image of `f32` or `u32` words.
fn image(gpu: &Gpu, format: ChannelFormat, [width, height, depth]: [u32; 3], words: &[u32]) -> Image {
    let address = gpu.memory().alloc(4 * words.len() as u64).unwrap();
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    gpu.memory().write(address, &bytes).unwrap();
    let row_pitch = u64::from(4 * width);
    Image { address, format, channels: 1, width, height, depth, layers: 0, row_pitch, linear: false }
}

fn run(gpu: &Gpu, body: &str, params: &[u64]) -> Result<(), Error> {
    let names = ["a", "b"];
    let list: Vec<_> = names[..params.len()].iter().map(|name| format!(".param .u64 {name}")).collect();
    let loads: Vec<_> =
        (0..params.len()).map(|i| format!("ld.param.u64 %rd{}, [{}];", i + 1, names[i])).collect();
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k({}) {{\n\
         .reg .b32 %r<16>; .reg .b16 %h<4>; .reg .b64 %rd<8>; .reg .f32 %f<8>;\n{}\nmov.u32 %r1, %tid.x;\n{body}\nret; }}\n",
        list.join(", "),
        loads.join(" ")
    );
    let module = gpu.load(&text).unwrap_or_else(|e| panic!("{e}"));
    let params: Vec<u8> = params.iter().flat_map(|p| p.to_le_bytes()).collect();
    gpu.launch(&module.kernel("k").unwrap(), &Launch::new(1, 8), &params, &mut ())
}

fn words(gpu: &Gpu, address: u64, count: usize) -> Vec<u32> {
    let mut bytes = vec![0; 4 * count];
    gpu.memory().read(address, &mut bytes).unwrap();
    bytes.chunks(4).map(|chunk| u32::from_le_bytes(chunk.try_into().unwrap())).collect()
}

#[test]
fn surfaces_are_written_and_read() {
    let gpu = device();
    let surface = image(&gpu, ChannelFormat::U32, [4, 2, 0], &[0; 8]);
    let handle = gpu.textures().reserve();
    gpu.textures().bind_surface(handle, surface);
    // Thread i writes 10 + i to (i % 4, i / 4), and reads its neighbour to the right, or zero.
    let body = "and.b32 %r2, %r1, 3; shr.u32 %r3, %r1, 2; shl.b32 %r2, %r2, 2; add.u32 %r4, %r1, 10;\n\
                sust.b.2d.b32.trap [%rd1, {%r2, %r3}], %r4;\n\
                bar.warp.sync 0xff; add.u32 %r2, %r2, 4;\n\
                suld.b.2d.b32.zero %r5, [%rd1, {%r2, %r3}];\n\
                mad.wide.u32 %rd2, %r1, 4, %rd2; st.global.u32 [%rd2], %r5;";
    let out = gpu.memory().alloc(32).unwrap();
    run(&gpu, body, &[handle, out]).unwrap();
    assert_eq!(words(&gpu, surface.address, 8), [10, 11, 12, 13, 14, 15, 16, 17]);
    assert_eq!(words(&gpu, out, 8), [11, 12, 13, 0, 15, 16, 17, 0]);
    // All eight add to one element.
    run(&gpu, "mov.u32 %r2, 4; mov.u32 %r3, 1; sured.b.add.2d.u32.trap [%rd1, {%r2, %r3}], %r1;", &[handle])
        .unwrap();
    assert_eq!(words(&gpu, surface.address, 8)[5], 15 + 28);
}

#[test]
fn what_is_no_image_or_outside_it_is_a_fault() {
    let gpu = device();
    let surface = image(&gpu, ChannelFormat::U32, [4, 2, 0], &[0; 8]);
    let handle = gpu.textures().reserve();
    gpu.textures().bind_surface(handle, surface);
    let fault = |body: &str, handle: u64| match run(&gpu, body, &[handle]) {
        Err(Error::Fault(fault)) => fault,
        other => panic!("{body}: {other:?}"),
    };
    let outside = fault("mov.u32 %r2, 16; suld.b.1d.b32.trap %r3, [%rd1, {%r2}];", handle);
    assert!(matches!(outside.kind, FaultKind::IllegalAddress { .. }), "{outside}");
    assert!(outside.to_string().contains("outside the surface of 16 bytes by 2 rows"), "{outside}");
    let misaligned = fault("mov.u32 %r2, 2; suld.b.1d.b32.trap %r3, [%rd1, {%r2}];", handle);
    assert!(matches!(misaligned.kind, FaultKind::MisalignedAddress { .. }), "{misaligned}");
    let fetch = "mov.f32 %f1, 0f00000000; tex.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd1, {%f1, %f1}];";
    for strange in [0, 1, handle, u64::MAX] {
        let fault = fault(fetch, strange);
        assert!(fault.to_string().contains("which is not a texture"), "{fault}");
    }
    // An image whose memory has been freed.
    let texture = gpu.textures().reserve();
    gpu.textures().bind(texture, Texture { levels: vec![surface], sampler: Sampler::default() });
    run(&gpu, fetch, &[texture]).unwrap();
    gpu.memory().free(surface.address).unwrap();
    assert!(matches!(fault(fetch, texture).kind, FaultKind::IllegalAddress { .. }));
}

#[test]
fn references_of_modules_are_bound_by_name() {
    let gpu = device();
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n.global .texref image;\n\
                .visible .entry k(.param .u64 out) { .reg .f32 %f<8>; .reg .b64 %rd<4>;\n\
                ld.param.u64 %rd1, [out]; mov.f32 %f1, 0f3fc00000;\n\
                tex.1d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [image, {%f1}]; st.global.f32 [%rd1], %f2; ret; }";
    let module = gpu.load(text).unwrap();
    assert_eq!(module.reference("other"), None);
    let line = [1.0f32, 2.5, 4.0].map(f32::to_bits);
    let levels = vec![image(&gpu, ChannelFormat::F32, [3, 0, 0], &line)];
    gpu.textures().bind(module.reference("image").unwrap(), Texture { levels, sampler: Sampler::default() });
    let out = gpu.memory().alloc(4).unwrap();
    gpu.launch(&module.kernel("k").unwrap(), &Launch::new(1, 1), &out.to_le_bytes(), &mut ()).unwrap();
    assert_eq!(words(&gpu, out, 1), [2.5f32.to_bits()]);
}

#[test]
fn levels_and_volumes_are_interpolated() {
    let gpu = device();
    let level = |sizes: [u32; 3], value: f32| {
        let count = sizes.iter().map(|&size| size.max(1)).product::<u32>();
        image(&gpu, ChannelFormat::F32, sizes, &vec![value.to_bits(); count as usize])
    };
    let sampler = Sampler {
        address: [AddressMode::Clamp; 3],
        filter: Filter::Linear,
        level_filter: Filter::Linear,
        max_level: 10.0,
        ..Sampler::default()
    };
    let levels = vec![level([4, 4, 0], 0.0), level([2, 2, 0], 8.0), level([1, 1, 0], 16.0)];
    let mipmap = gpu.textures().reserve();
    gpu.textures().bind(mipmap, Texture { levels, sampler });
    // The kernel of `fetch` gives coordinates only, so the level is a constant.
    for (asked, expected) in
        [("0f00000000", 0.0f32), ("0f3f000000", 4.0), ("0f3fc00000", 12.0), ("0f41200000", 16.0)]
    {
        let out = gpu.memory().alloc(4).unwrap();
        let body = format!(
            "mov.f32 %f1, 0f3f800000; tex.level.2d.v4.f32.f32 {{%f2, %f3, %f4, %f5}}, [%rd1, {{%f1, %f1}}], {asked};\n\
             st.global.f32 [%rd2], %f2;"
        );
        run(&gpu, &body, &[mipmap, out]).unwrap();
        assert_eq!(f32::from_bits(words(&gpu, out, 1)[0]), expected, "{asked}");
    }
    // 0 … 7 in the corners of a cube: their mean in the middle.
    let corners: Vec<u32> = (0..8).map(|i| (i as f32).to_bits()).collect();
    let volume = gpu.textures().reserve();
    let levels = vec![image(&gpu, ChannelFormat::F32, [2, 2, 2], &corners)];
    gpu.textures().bind(volume, Texture { levels, sampler });
    let at = |x: f32, y: f32, z: f32| [x.to_bits(), y.to_bits(), z.to_bits(), 0, 0];
    let places = [at(1.0, 1.0, 1.0), at(0.5, 0.5, 1.5), at(1.0, 0.5, 0.5), at(9.0, 9.0, 9.0)];
    let values = fetch(&gpu, "tex.3d.v4.f32.f32", volume, &places);
    assert_eq!(values.iter().map(|v| f32::from_bits(v[0])).collect::<Vec<_>>(), [3.5, 4.0, 0.5, 7.0]);
}

/// Offsets count elements of the level, before the address mode; the filter's weights remain those of the coordinates.
#[test]
fn offsets_count_elements() {
    let gpu = device();
    let values: Vec<u32> = (0..16).map(|i| (i as f32).to_bits()).collect();
    let base = image(&gpu, ChannelFormat::F32, [4, 4, 0], &values);
    let smaller = image(&gpu, ChannelFormat::F32, [2, 2, 0], &values);
    let bind = |filter, mode| {
        let handle = gpu.textures().reserve();
        let sampler = Sampler { filter, address: [mode; 3], max_level: 1.0, ..Sampler::default() };
        gpu.textures().bind(handle, Texture { levels: vec![base, smaller], sampler });
        handle
    };
    let one = |handle, instruction: &str, rest: &str, words: usize| {
        let out = gpu.memory().alloc(16).unwrap();
        let body = format!(
            "mov.b32 %f1, 0f3fc00000; mov.b32 %f2, 0f3f400000; mov.b32 %f0, 0f00000000; mov.u32 %r2, 1; mov.u32 %r3, -1;\n\
             {instruction} {{%r4, %r5, %r6, %r7}}, {rest}; st.global.v4.u32 [%rd2], {{%r4, %r5, %r6, %r7}};"
        );
        run(&gpu, &body, &[handle, out]).unwrap();
        words_of(&gpu, out, words)
    };
    let (clamp, border) = (bind(Filter::Point, AddressMode::Clamp), bind(Filter::Point, AddressMode::Border));
    // (1.5, 0.75) lies in element (1, 0).
    let near = "[%rd1, {%f1, %f2}]";
    assert_eq!(one(clamp, "tex.2d.v4.f32.f32", &format!("{near}, {{%r2, 3}}"), 1), [14.0]);
    assert_eq!(one(clamp, "tex.2d.v4.f32.f32", &format!("{near}, {{7, -8}}"), 1), [3.0]);
    assert_eq!(one(border, "tex.2d.v4.f32.f32", &format!("{near}, {{0, %r3}}"), 1), [0.0]);
    assert_eq!(one(clamp, "tex.2d.v4.f32.s32", "[%rd1, {%r2, %r2}], {-1, 1, 0, 0}", 1), [8.0]);
    // In the second level, which differs from the elements after (1.5, 0.75) of the first.
    assert_eq!(one(clamp, "tex.level.2d.v4.f32.f32", "[%rd1, {%f0, %f0}], 1.0, {1, 1}", 1), [3.0]);
    assert_eq!(one(clamp, "tex.level.2d.v4.f32.s32", "[%rd1, {0, 1}], 1, {1, 0}", 1), [3.0]);
    // Halfway between elements (1, 0) and (1, 1), a quarter of the way to the second; all two to the right.
    let linear = bind(Filter::Linear, AddressMode::Clamp);
    assert_eq!(one(linear, "tex.2d.v4.f32.f32", &format!("{near}, {{2, 0}}"), 1), [3.0 + 4.0 * 0.25]);
    // Gathers begin with the lower left.
    assert_eq!(one(clamp, "tld4.r.2d.v4.f32.f32", &format!("{near}, {{0, 1}}"), 4), [9.0, 10.0, 6.0, 5.0]);
    let out = gpu.memory().alloc(16).unwrap();
    let far = "tex.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd1, {%f1, %f2}], {8, 0};";
    let error = run(&gpu, far, &[clamp, out]).unwrap_err().to_string();
    assert!(error.contains("between -8 and 7, not 8"), "{error}");
}

/// From the face that the direction hits, in the order of a plane.
#[test]
fn cubes_are_gathered_from() {
    let gpu = device();
    let values: Vec<u32> = (0..24).map(|i| (i as f32).to_bits()).collect();
    let faces = Image { depth: 0, layers: 6, ..image(&gpu, ChannelFormat::F32, [2, 2, 6], &values) };
    let handle = gpu.textures().reserve();
    let sampler = Sampler { normalized: true, address: [AddressMode::Clamp; 3], ..Sampler::default() };
    gpu.textures().bind(handle, Texture { levels: vec![faces], sampler });
    let directions = [[1.0f32, 0.0, 0.0], [0.0, 0.0, -2.0]];
    let places = directions.map(|[x, y, z]| [x.to_bits(), y.to_bits(), z.to_bits(), 0, 0]);
    let got = fetch(&gpu, "tld4.r.cube.v4.f32.f32", handle, &places);
    assert_eq!(got[0].map(f32::from_bits), [2.0, 3.0, 1.0, 0.0]);
    assert_eq!(got[1].map(f32::from_bits), [22.0, 23.0, 21.0, 20.0]);
}

fn words_of(gpu: &Gpu, address: u64, count: usize) -> Vec<f32> {
    words(gpu, address, count).into_iter().map(f32::from_bits).collect()
}
