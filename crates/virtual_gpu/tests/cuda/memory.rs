use virtual_gpu::Launch;

use crate::device::{Device, Plain};
use crate::numbers;

fn device() -> Device {
    crate::device(include_bytes!("memory.ptx.gz"))
}

/// The C structure: tag at 0, id at 2, weight at 8, bit fields at 16, bytes at 20; 24 in all.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Record {
    tag: u8,
    id: u16,
    weight: f64,
    fields: u32,
    bytes: [i8; 3],
}

impl Record {
    fn draw(n: u64) -> Self {
        let bytes = [(n >> 3) as i8, (n >> 13) as i8, (n >> 23) as i8];
        Self {
            tag: n as u8,
            id: (n >> 8) as u16,
            weight: (n >> 24) as i32 as f64,
            fields: (n >> 32) as u32,
            bytes,
        }
    }

    fn to_bytes(self) -> Vec<u8> {
        let mut out = vec![0; 24];
        out[0] = self.tag;
        out[2..4].copy_from_slice(&self.id.to_le_bytes());
        out[8..16].copy_from_slice(&self.weight.to_le_bytes());
        out[16..20].copy_from_slice(&self.fields.to_le_bytes());
        (0..3).for_each(|i| out[20 + i] = self.bytes[i] as u8);
        out
    }

    fn parse(b: &[u8]) -> Self {
        Self {
            tag: b[0],
            id: Plain::from(&b[2..4]),
            weight: Plain::from(&b[8..16]),
            fields: Plain::from(&b[16..20]),
            bytes: std::array::from_fn(|i| b[20 + i] as i8),
        }
    }
}

#[test]
fn structures() {
    let device = device();
    let records: Vec<Record> = numbers(1).take(48).map(Record::draw).collect();
    let first = Record::draw(0x1234_5678_9abc_def0);
    let bytes: Vec<u8> = records.iter().flat_map(|r| r.to_bytes()).collect();
    let out = device.zeros::<u8>(48 * 24);
    let args = [first.to_bytes(), device.upload(&bytes).arg(), out.arg(), (-1000i64).bytes()];
    device.launch("records", Launch::new(1, 48), &args);
    let got = device.download::<u8>(out);
    for t in 0..48 {
        let r = if t == 0 { first } else { records[t] };
        let (level, rest) = (r.fields >> 5 & 0x7ff, r.fields >> 16);
        let fields = level & 0x1f | ((level + 3) & 0x7ff) << 5 | rest.wrapping_sub(1) << 16;
        let want = Record {
            tag: r.tag.wrapping_add(1),
            id: r.id ^ 0x0f0f,
            weight: r.weight * 2.0 - 1000.0,
            fields,
            bytes: [r.bytes[0], r.bytes[1], r.bytes[0].wrapping_mul(r.bytes[1])],
        };
        assert_eq!(Record::parse(&got[t * 24..][..24]), want, "thread {t}");
    }
}

#[test]
fn initialised_variables() {
    let device = device();
    let (sums, weighted, letters) =
        (device.zeros::<i32>(32), device.zeros::<f32>(32), device.zeros::<i32>(32));
    device.launch("linked", Launch::new(1, 32), &[sums.arg(), weighted.arg(), letters.arg()]);
    let chains = [300, (100 * 2 + 200) * 2 + 300, 200 * 2 + 300];
    let mut want: Vec<i32> = (0..32).map(|t| chains[t % 3]).collect();
    want[1] += 42;
    assert_eq!(device.download::<i32>(sums), want);
    let weights = [0.5f32, -1.25, 3.0, 1e-3, 65536.0];
    for (t, got) in device.download::<f32>(weighted).into_iter().enumerate() {
        // The compiler contracts the product and the sum.
        let want = (0..5).fold(0f32, |w, i| weights[(i + t) % 5].mul_add((i + 1) as f32, w));
        assert_eq!(got, want, "thread {t}");
    }
    let text = b"warp\0";
    assert_eq!(device.download::<i32>(letters), (0..32).map(|t| text[t % 5] as i32).collect::<Vec<_>>());
}

#[test]
fn generic_pointers() {
    let device = device();
    let global: Vec<i32> = numbers(2).take(8).map(|n| n as i32).collect();
    let out = device.zeros::<i32>(64);
    device.launch("generic", Launch::new(1, 64), &[device.upload(&global).arg(), out.arg()]);
    let fold = |values: &[i32]| values.iter().fold(0i32, |s, &v| s.wrapping_mul(3).wrapping_add(v));
    for (t, got) in device.download::<i32>(out).into_iter().enumerate() {
        let want = match t % 3 {
            0 => fold(&global),
            1 => fold(&global.iter().map(|g| g.wrapping_add(1)).collect::<Vec<_>>()),
            _ => {
                let mut local = [0; 8];
                (0..8).for_each(|i| local[(i * 5 + t) % 8] = (i * t) as i32);
                fold(&local)
            }
        };
        assert_eq!(got, want, "thread {t}");
    }
}

#[test]
fn vectors() {
    let device = device();
    let a: Vec<f32> = numbers(3).take(128).map(|n| (n as i16) as f32 / 16.0).collect();
    let b: Vec<i16> = numbers(4).take(128).map(|n| n as i16).collect();
    let (out, bytes, wide) = (device.zeros::<f32>(128), device.zeros::<u8>(128), device.zeros::<i64>(64));
    let args = [device.upload(&a), device.upload(&b), out, bytes, wide].map(|x| x.arg());
    device.launch("vectors", Launch::new(1, 32), &args);
    let (out, bytes, wide) =
        (device.download::<f32>(out), device.download::<u8>(bytes), device.download::<i64>(wide));
    for t in 0..32 {
        let (x, y) = (&a[t * 4..][..4], &b[t * 4..][..4]);
        let f = |i: usize| y[i] as f32;
        assert_eq!(out[t * 4..][..4], [x[3] + f(0), x[2] * f(1), x[1] - f(2), x[0]]);
        assert_eq!(bytes[t * 4..][..4], [y[0] as u8, y[1] as u8, (y[2] >> 8) as u8, (y[3] >> 8) as u8]);
        let product = y[0] as i32 * y[1] as i32;
        let product = product as i64 * y[2] as i64;
        assert_eq!(wide[t * 2..][..2], [product, -(y[3] as i64)]);
    }
}

#[test]
fn tiled_product() {
    let device = device();
    let n = 64;
    let a: Vec<f32> = numbers(5).take(n * n).map(|x| x as i8 as f32).collect();
    let b: Vec<f32> = numbers(6).take(n * n).map(|x| x as i8 as f32 / 4.0).collect();
    let c = device.zeros::<f32>(n * n);
    let args = [device.upload(&a).arg(), device.upload(&b).arg(), c.arg(), (n as i32).bytes()];
    device.launch("matmul", Launch::new((4, 4), (16, 16)), &args);
    let got = device.download::<f32>(c);
    for row in 0..n {
        for col in 0..n {
            let want: f32 = (0..n).map(|k| a[row * n + k] * b[k * n + col]).sum();
            assert_eq!(got[row * n + col], want, "{row} {col}");
        }
    }
}

#[test]
fn heap_and_odd_copies() {
    let device = device();
    let input: Vec<u8> = numbers(7).take(64).map(|n| n as u8).collect();
    let out = device.zeros::<u8>(8 * 32);
    device.launch("heap", Launch::new(1, 8), &[device.upload(&input).arg(), out.arg()]);
    let got = device.download::<u8>(out);
    for t in 0..8 {
        let n = 5 + t * 3;
        let mut want = vec![0xee; n];
        want[1..n - 1].copy_from_slice(&input[t..t + n - 2]);
        want.resize(32, 0);
        assert_eq!(got[t * 32..][..32], want, "thread {t}");
    }
}
