//! Floats of fewer than eight bits, and special registers as vectors.

use gpu_model::chips::B200;
use virtual_gpu::{Gpu, Launch, Options};

fn run<const N: usize>(kernel: &str, launch: Launch, input: &[f32]) -> [u32; N] {
    let gpu = Gpu::with_options(&B200, Options { threads: 1, ..Options::default() });
    let module = gpu.load(include_str!("narrow.ptx")).unwrap_or_else(|e| panic!("{e}"));
    let buffer = |bytes: u64| gpu.memory().alloc(bytes).unwrap();
    let (values, out) = (buffer(1024), buffer(4 * N as u64));
    gpu.memory().write(values, bytemuck::cast_slice(input)).unwrap();
    let kernel = module.kernel(kernel).unwrap();
    let mut params = Vec::new();
    if kernel.param_bytes() == 16 {
        params.extend(values.to_le_bytes());
    }
    params.extend(out.to_le_bytes());
    gpu.launch(&kernel, &launch, &params, &mut ()).unwrap_or_else(|e| panic!("{e}"));
    let mut result = [0; N];
    gpu.memory().read(out, bytemuck::cast_slice_mut(&mut result)).unwrap();
    result
}

/// The patterns are those of the Microscaling specification's tables; the first of a pair lies in the low half.
#[test]
fn floats_of_fewer_than_eight_bits() {
    let got: [u32; 21] = run("narrow", Launch::new(1, 3), &[1.5, -4.0, 0.0625, 100.0, f32::NAN, -0.0]);
    // 1.5 is 0 01 1 in e2m1, 0 01 100 in e2m3, 0 011 10 in e3m2; -4.0 is 1 11 0, 1 11 000 and with `.relu` nothing.
    assert_eq!(
        got[..7],
        [0xe3, 0xc400_3e00, 0x000e_380c, 0xc400_3e00, 0x0000_3e00, 0x8180_817f, 0x4080_3f80]
    );
    // 1/16 is too small for e2m1 and to even nothing in e2m3; in e3m2 it is the least. 100 becomes the largest.
    assert_eq!(
        got[7..14],
        [0x70, 0x4600_0000, 0x1f01_1f00, 0x4780_0000, 0x4f00_2c00, 0x867b_857b, 0x4280_3d80]
    );
    // No NaN but in the powers; zero's power is the least.
    assert_eq!(
        got[14..],
        [0x87, 0x8000_4600, 0x001f_201f, 0x8000_4780, 0x0000_4f00, 0x00ff_00ff, 0x0040_7fff]
    );
}

/// A value is rounded up if its random bits and those cut off carry.
#[test]
fn random_bits_round() {
    // 1 + 2^-4 + 2^-11: what is cut off is 0x1000 of 13 bits for f16, and of 16 bits 0x1000 for bf16, 0x8100 for e4m3 and
    // e2m3, 0x4080 for e5m2 and e3m2, 0x2040 for e2m1. The first and third of four take their bits in reverse.
    let x = 1.0 + 2f32.powi(-4) + 2f32.powi(-11);
    let bits = f32::from_bits;
    // 65519 lies 15/32 from f16's largest to infinity and 239/256 from one bf16 to the next; 2^-26 is a quarter of the
    // least f16.
    let special = [f32::NAN, f32::INFINITY, 65519.0, -2f32.powi(-26)];
    let [a, b, e, f] = special;
    let input = [
        [x, x, x, x, bits(0x7f00_00fe)],
        [-x, -x, -x, -x, bits(0xf000_efff)],
        [a, b, e, f, bits(0x1100_1800)],
        [a, b, e, f, bits(0x10ff_17ff)],
    ];
    let got: [u32; 40] = run("random", Launch::new(1, 4), input.as_flattened());
    assert_eq!(got[..5], [0x3c41_3c40, 0x3c41_3c40, 0x3c41_3c40, 0x3f88_3f88, 0x3f88_3f88]);
    assert_eq!(got[5..10], [0x3839_3938, 0x3c3c_3c3c, 0x0809_0908, 0x0c0c_0c0c, 0x2222]);
    assert_eq!(got[10..15], [0xbc41_bc40, 0xbc41_bc40, 0xbc41_bc40, 0xbf89_bf88, 0]);
    assert_eq!(got[15..20], [0xb8b9_b9b9, 0, 0x2829_2929, 0x2c2d_2d2d, 0xbbba]);
    assert_eq!(got[20..25], [0x7fff_7c00, 0x7c00_8001, 0x7bff_8001, 0x7fff_7f80, 0x4780_0000]);
    assert_eq!(got[25..30], [0x7f7e_7e80, 0x7f7b_7b00, 0x1f1f_1f20, 0x1f1f_1f20, 0x7778]);
    assert_eq!(got[30..35], [0x7fff_7c00, 0x7bff_8000, 0x7bff_8000, 0x7fff_7f80, 0x477f_0000]);
}

#[test]
fn special_registers_are_vectors_of_four() {
    let got: [u32; 64] = run("vectors", Launch::new(1, (4, 2, 2)), &[]);
    for (thread, values) in got[..32].chunks(4).enumerate() {
        // Both layers write to one location; the last value written stays.
        assert_eq!(values[0] % 100, 0, "the fourth part is zero");
        assert_eq!(values[1..3], [42, 0]);
        assert_eq!(values[3], u32::from(thread % 4 != 2));
    }
}

/// 1 + 2^-10 and 2^-24 lie half a step from the next number; (1 + 2^-10)² + 2^-30 is 1 + 2^-9 + 2^-20 and a rest.
#[test]
fn sums_of_two_widths_round_once() {
    let got: [u32; 8] = run("mixed", Launch::new(1, 1), &[]);
    assert_eq!(got[..4], [0x3f80_2000, 0x3f80_2001, 0xbf7f_ffff, 0], "{got:x?}");
    assert_eq!(got[4..], [0x3f82_0200, 0x3f80_4008, 0x3f80_4009, 0x7fff_ffff], "{got:x?}");
}

#[test]
fn comparisons_of_pairs_join_a_predicate() {
    let got: [u32; 4] = run("packed_set", Launch::new(1, 1), &[]);
    assert_eq!(got, [0x0000_ffff, 0, 0x3c00_0000, 0x3f80_0000], "{got:x?}");
}
