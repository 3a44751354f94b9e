//! Textures against what an H200 answered: `h200.txt` was recorded on one (driver 580.159.04, 2026-11-22) by kernels of
//! one fetch each; every bit must agree.
//!
//! A line `image` has number, format, channels, width, height, depth or layers, kind, row pitch and bytes; a line
//! `texture` has image, instruction, three address modes, filter, flags (1: integers, 2: normalised, 16: sRGB) and the
//! border; each other line has five words (four coordinates and a layer) and the four results.

use std::fmt::Write as _;

use gpu_model::chips::H200;
use virtual_gpu::texture::{AddressMode, ChannelFormat, Filter, Image, Sampler, Texture};
use virtual_gpu::{Gpu, Launch, Options};

mod surface;

const RECORDING: &str = include_str!("h200.txt");

pub(crate) fn device() -> Gpu {
    Gpu::with_options(&H200, Options { threads: 1, watchdog: Some(1_000_000), ..Options::default() })
}

fn format(name: &str) -> ChannelFormat {
    match name {
        "u8" => ChannelFormat::U8,
        "u16" => ChannelFormat::U16,
        "u32" => ChannelFormat::U32,
        "s8" => ChannelFormat::S8,
        "s16" => ChannelFormat::S16,
        "s32" => ChannelFormat::S32,
        "f16" => ChannelFormat::F16,
        "f32" => ChannelFormat::F32,
        other => panic!("no format {other}"),
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect()
}

fn image(gpu: &Gpu, words: &[&str]) -> Image {
    let [form, channels, width, height, depth, kind, pitch, hex] = words else { panic!("{words:?}") };
    let data = bytes(hex);
    let address = gpu.memory().alloc(data.len() as u64).unwrap();
    gpu.memory().write(address, &data).unwrap();
    let number = |text: &str| text.parse::<u32>().unwrap();
    let layered = matches!(*kind, "layers" | "cube");
    let depth = number(depth);
    Image {
        address,
        format: format(form),
        channels: number(channels),
        width: number(width),
        height: number(height),
        depth: if layered { 0 } else { depth },
        layers: if layered { depth } else { 0 },
        row_pitch: number(pitch).into(),
        linear: *kind == "linear",
    }
}

fn sampler(words: &[&str]) -> Sampler {
    let mode = |word: &str| match word {
        "0" => AddressMode::Wrap,
        "1" => AddressMode::Clamp,
        "2" => AddressMode::Mirror,
        _ => AddressMode::Border,
    };
    let flags: u32 = words[4].parse().unwrap();
    Sampler {
        address: [mode(words[0]), mode(words[1]), mode(words[2])],
        filter: if words[3] == "1" { Filter::Linear } else { Filter::Point },
        as_integer: flags & 1 != 0,
        normalized: flags & 2 != 0,
        srgb: flags & 16 != 0,
        border: std::array::from_fn(|i| f32::from_bits(u32::from_str_radix(words[5 + i], 16).unwrap())),
        ..Sampler::default()
    }
}

/// A kernel with one fetch per thread: five words in, four out.
fn kernel(instruction: &str) -> String {
    let geometry = instruction
        .split('.')
        .find(|word| matches!(*word, "1d" | "2d" | "3d" | "a1d" | "a2d" | "cube" | "acube"));
    let register = if instruction.ends_with(".s32") { "%i" } else { "%f" };
    let coordinates = match geometry.unwrap() {
        "1d" => format!("{register}0"),
        "2d" => format!("{register}0, {register}1"),
        "a1d" => format!("%i4, {register}0"),
        "a2d" => format!("%i4, {register}0, {register}1, {register}1"),
        "acube" => format!("%i4, {register}0, {register}1, {register}2"),
        _ => format!("{register}0, {register}1, {register}2, {register}3"),
    };
    let mut text = String::from(
        ".version 8.0\n.target sm_90\n.address_size 64\n\
         .visible .entry k(.param .u64 t, .param .u64 in, .param .u64 out) {\n\
         .reg .b32 %i<5>, %r<8>; .reg .f32 %f<5>; .reg .b64 %rd<8>;\n\
         mov.u32 %r0, %tid.x; ld.param.u64 %rd0, [t]; ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];\n\
         mad.wide.u32 %rd1, %r0, 20, %rd1; mad.wide.u32 %rd2, %r0, 16, %rd2;\n",
    );
    for i in 0..5 {
        writeln!(text, "ld.global.u32 %i{i}, [%rd1+{}]; mov.b32 %f{i}, %i{i};", 4 * i).unwrap();
    }
    writeln!(text, "{instruction} {{%r1, %r2, %r3, %r4}}, [%rd0, {{{coordinates}}}];").unwrap();
    text + "st.global.v4.u32 [%rd2], {%r1, %r2, %r3, %r4}; ret; }\n"
}

/// Runs a fetch for several threads.
pub(crate) fn fetch(gpu: &Gpu, instruction: &str, handle: u64, places: &[[u32; 5]]) -> Vec<[u32; 4]> {
    let module = gpu.load(&kernel(instruction)).unwrap_or_else(|e| panic!("{instruction}: {e}"));
    let input: Vec<u8> = places.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
    let from = gpu.memory().alloc(input.len() as u64).unwrap();
    let to = gpu.memory().alloc(16 * places.len() as u64).unwrap();
    gpu.memory().write(from, &input).unwrap();
    let params: Vec<u8> = [handle, from, to].into_iter().flat_map(u64::to_le_bytes).collect();
    let launch = Launch::new(1, places.len() as u32);
    gpu.launch(&module.kernel("k").unwrap(), &launch, &params, &mut ()).unwrap_or_else(|e| panic!("{e}"));
    let mut output = vec![0; 16 * places.len()];
    gpu.memory().read(to, &mut output).unwrap();
    let word = |chunk: &[u8], i: usize| u32::from_le_bytes(chunk[4 * i..4 * i + 4].try_into().unwrap());
    output.chunks(16).map(|chunk| std::array::from_fn(|i| word(chunk, i))).collect()
}

#[test]
fn fetches_agree_with_the_hardware_in_every_bit() {
    let gpu = device();
    let mut images = Vec::new();
    let mut lines = RECORDING.lines().peekable();
    let (mut textures, mut fetches) = (0, 0);
    while let Some(line) = lines.next() {
        let words: Vec<&str> = line.split(' ').collect();
        if words[0] == "image" {
            images.push(image(&gpu, &words[2..]));
            continue;
        }
        assert_eq!(words[0], "texture");
        let handle = gpu.textures().reserve();
        let levels = vec![images[words[1].parse::<usize>().unwrap()]];
        gpu.textures().bind(handle, Texture { levels, sampler: sampler(&words[3..]) });
        let (mut places, mut expected) = (Vec::new(), Vec::new());
        while let Some(case) = lines.next_if(|line| line.contains('>')) {
            let (place, result) = case.split_once(" > ").unwrap();
            let words = |text: &str| -> Vec<u32> {
                text.split(' ').map(|word| u32::from_str_radix(word, 16).unwrap()).collect()
            };
            places.push(<[u32; 5]>::try_from(words(place)).unwrap());
            expected.push(<[u32; 4]>::try_from(words(result)).unwrap());
        }
        let results = fetch(&gpu, words[2], handle, &places);
        for ((place, result), expected) in places.iter().zip(&results).zip(&expected) {
            assert_eq!(result, expected, "{line} at {:?}", place.map(f32::from_bits));
        }
        textures += 1;
        fetches += places.len();
    }
    assert!(textures >= 60 && fetches >= 800, "{textures} textures, {fetches} fetches");
}
