use virtual_gpu::Launch;

use crate::device::{Device, Plain};
use crate::numbers;

fn device() -> Device {
    crate::device(include_bytes!("integer.ptx.gz"))
}

#[test]
fn sha256() {
    let device = device();
    let digests = device.zeros::<u32>(128 * 8);
    device.launch("sha256", Launch::new(2, 64), &[digests.arg()]);
    let digests: Vec<u32> = device.download(digests);
    // Digests of the little-endian bytes of 0, 1 and 127, from a command-line tool.
    let known = [
        (
            0,
            [
                0xdf3f6198u32,
                0x04a92fdb,
                0x4057192d,
                0xc43dd748,
                0xea778adc,
                0x52bc498c,
                0xe80524c0,
                0x14b81119,
            ],
        ),
        (1, [0x67abdd72, 0x1024f0ff, 0x4e0b3f4c, 0x2fc13bc5, 0xbad42d0b, 0x7851d456, 0xd88d203d, 0x15aaa450]),
        (
            127,
            [0x8d12d9fc, 0xf1bb74eb, 0x413e34f2, 0x8b96439b, 0x1260da90, 0x0a2c70af, 0x2440c5c7, 0xdbb43c03],
        ),
    ];
    for (thread, digest) in known {
        assert_eq!(digests[thread * 8..][..8], digest, "thread {thread}");
    }
}

#[test]
fn crc32() {
    let device = device();
    let bytes: Vec<u8> = numbers(1).take(200).map(|n| n as u8).collect();
    let lengths: Vec<u32> = (0..64).map(|t| t * 2).collect();
    let (b, l, sums) = (device.upload(&bytes), device.upload(&lengths), device.zeros::<u32>(64));
    device.launch("crc32", Launch::new(1, 64), &[b.arg(), l.arg(), sums.arg()]);
    // Division of polynomials, a bit at a time.
    let reference = |bytes: &[u8]| {
        let mut rest = !0u32;
        for bit in bytes.iter().flat_map(|&b| (0..8).map(move |i| b >> i & 1)) {
            rest = if (rest ^ bit as u32) & 1 != 0 { rest >> 1 ^ 0xedb8_8320 } else { rest >> 1 };
        }
        !rest
    };
    let want: Vec<u32> = (0..64).map(|t| reference(&bytes[t..3 * t])).collect();
    assert_eq!(device.download::<u32>(sums), want);
    assert_eq!(reference(b"123456789"), 0xcbf4_3926);
}

#[test]
fn powers_by_128_bit_products() {
    let device = device();
    let a: Vec<u64> = numbers(2).take(64).collect();
    let e: Vec<u64> = numbers(3).take(64).enumerate().map(|(i, n)| n >> (i % 64)).collect();
    let m: Vec<u64> = numbers(4).take(64).enumerate().map(|(i, n)| (n >> (i % 50)) | 1).collect();
    let args = [device.upload(&a), device.upload(&e), device.upload(&m), device.zeros::<u64>(64)];
    device.launch("powmod", Launch::new(1, 64), &args.map(|x| x.arg()));
    let got = device.download::<u64>(args[3]);
    for t in 0..64 {
        let m = m[t] as u128;
        let (mut r, mut base, mut n) = (1u128, a[t] as u128 % m, e[t]);
        while n > 0 {
            if n & 1 == 1 {
                r = r * base % m;
            }
            base = base * base % m;
            n >>= 1;
        }
        assert_eq!(got[t] as u128, r, "{} ^ {} mod {m}", a[t], e[t]);
    }
}

#[test]
fn division_of_all_widths() {
    let device = device();
    let edges = [1, -1, i64::MAX, i64::MIN + 1, 7, -3, 1 << 32, u32::MAX as i64];
    let draw = |seed| numbers(seed).enumerate().map(move |(i, n)| (n as i64) >> (i * 7 % 63));
    let a: Vec<i64> = edges.into_iter().chain(draw(5)).take(96).collect();
    let b: Vec<i64> = draw(6).map(|n| if n == 0 { 3 } else { n }).take(96).collect();
    let out = device.zeros::<i64>(96 * 12);
    device.launch(
        "divide",
        Launch::new(1, 96),
        &[device.upload(&a).arg(), device.upload(&b).arg(), out.arg()],
    );
    let got = device.download::<i64>(out);
    for t in 0..96 {
        let (x, y) = (a[t], b[t]);
        let want = [
            x.wrapping_div(y),
            x.wrapping_rem(y),
            (x as u64 / y as u64) as i64,
            (x as u64 % y as u64) as i64,
            (x as i32).wrapping_div(y as i32 | 1) as i64,
            (x as i32).wrapping_rem(y as i32 | 1) as i64,
            (x as u32 / (y as u32 | 1)) as i64,
            // C computes narrow types in int.
            (x as i16 as i32 / (y as i16 | 1) as i32) as i64,
            (x as i8 as i32 % (y as i8 | 1) as i32) as i64,
            ((x as u64 as u128 * y as u64 as u128) >> 64) as i64,
            x / 7 + x % 1_000_003,
            ((x as i128 * y as i128) >> 64) as i64,
        ];
        assert_eq!(got[t * 12..][..12], want, "{x} {y}");
    }
}

#[test]
fn edit_distances() {
    let device = device();
    let words = ["kitten", "sitting", "", "saturday", "sunday", "warp", "wrap", "synchronisation!"];
    let mut bytes = vec![0u8; words.len() * 16];
    for (i, word) in words.iter().enumerate() {
        bytes[i * 16..][..word.len()].copy_from_slice(word.as_bytes());
    }
    let n = words.len();
    let (b, out) = (device.upload(&bytes), device.zeros::<u32>(n * n));
    device.launch("levenshtein", Launch::new(n as u32, n as u32), &[b.arg(), out.arg()]);
    fn distance(a: &[u8], b: &[u8]) -> u32 {
        let mut table = vec![vec![0u32; b.len() + 1]; a.len() + 1];
        for i in 0..=a.len() {
            for j in 0..=b.len() {
                table[i][j] = if i == 0 || j == 0 {
                    (i + j) as u32
                } else {
                    let change = table[i - 1][j - 1] + (a[i - 1] != b[j - 1]) as u32;
                    change.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1)
                };
            }
        }
        table[a.len()][b.len()]
    }
    let want: Vec<u32> =
        words.iter().flat_map(|a| words.iter().map(|b| distance(a.as_bytes(), b.as_bytes()))).collect();
    assert_eq!(device.download::<u32>(out), want);
}

#[test]
fn bit_intrinsics() {
    let device = device();
    let a: Vec<u32> =
        [0, 1, u32::MAX, 1 << 31].into_iter().chain(numbers(7).map(|n| n as u32)).take(64).collect();
    let b: Vec<u32> = numbers(8).map(|n| n as u32).take(64).collect();
    let out = device.zeros::<u32>(64 * 16);
    device.launch("bits", Launch::new(1, 64), &[device.upload(&a).arg(), device.upload(&b).arg(), out.arg()]);
    let got = device.download::<u32>(out);
    for t in 0..64 {
        let (x, y) = (a[t], b[t]);
        let (xb, yb) = (x.bytes(), y.bytes());
        let pair = (y as u64) << 32 | x as u64;
        let bytewise = |f: fn(u8, u8) -> u8| u32::from_le_bytes(std::array::from_fn(|i| f(xb[i], yb[i])));
        let max_halves = |shift: u32| ((x >> shift) as i16).max((y >> shift) as i16) as u16 as u32;
        let dot = (0..4).fold(5i32, |s, i| s + xb[i] as i8 as i32 * yb[i] as i8 as i32);
        let first_one = |v: u64| if v == 0 { 0 } else { v.trailing_zeros() + 1 };
        let want = [
            x.count_ones(),
            x.leading_zeros(),
            first_one(x as u64),
            x.reverse_bits(),
            u32::from_le_bytes([xb[0], yb[0], xb[2], yb[2]]),
            ((pair << (y & 31)) >> 32) as u32,
            (pair >> (y & 63).min(32)) as u32,
            ((x as u64 * y as u64) >> 32) as u32,
            ((x as i32 as i64 * y as i32 as i64) >> 32) as u32,
            x.abs_diff(y).wrapping_add(7),
            dot as u32,
            bytewise(u8::saturating_add),
            bytewise(u8::abs_diff),
            max_halves(0) | max_halves(16) << 16,
            ((x as u64 + y as u64) >> 1) as u32,
            ((x as u64) << 20 | y as u64).count_ones()
                + (y as u64).leading_zeros()
                + first_one((x as u64) << 9),
        ];
        assert_eq!(got[t * 16..][..16], want, "{x:#x} {y:#x}");
    }
}
