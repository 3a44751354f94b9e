//! The building blocks of products on tensor cores, word by word: copies through a ring, fragments, products.

use blocks::tensor::*;
use cust::memory::{CopyDestination, DeviceBuffer, DeviceCopy};
use warpsmith_launch::{Device, F16, Level, Levels, Shape};

use crate::{Case, Needs};

/// The module of `tests/blocks`.
pub static LEVELS: Levels = Levels::new(&[Level::new(include_str!(concat!(env!("OUT_DIR"), "/blocks.ptx")))]);

/// Extent and depth in elements: a whole tile, several stages, and ends within a line, a chunk and a tile.
const SIZES: [(usize, usize); 5] = [(64, 64), (64, 200), (50, 33), (3, 7), (63, 129)];

/// The cases.
pub fn cases() -> Vec<Case> {
    macro_rules! read {
        ($name:literal, $kernel:ident, $size:literal, $along:literal, |$i:ident| $element:expr) => {
            Case::new(concat!("blocks::", $name), |device| {
                for size in SIZES {
                    for columns in [false, true] {
                        let operand = Operand::new(size, $size, $along);
                        let elements: Vec<_> = (0..operand.len()).map(|$i| $element).collect();
                        let bytes = elements.iter().flat_map(|e| Bytes::bytes(*e)).collect();
                        let launch = |from: &DeviceBuffer<_>, words: &mut DeviceBuffer<u32>| {
                            let shape = Shape { grid: [1, 1, 1], block: [64, 1, 1], shared: SHARED_BYTES };
                            let (pitch, extent, depth) =
                                (operand.pitch as u32, operand.extent as u32, operand.depth as u32);
                            let arguments = (pitch, extent, depth, u32::from(columns), from, words);
                            // SAFETY: the operand is as long as its extents say, and there is room for all words.
                            unsafe { device.kernel::<$kernel>(&LEVELS)?.launch(shape, arguments) }
                        };
                        operand.check(device, &elements, bytes, columns, launch)?;
                    }
                }
                Ok(())
            })
        };
    }
    // Every element differs from its neighbours in both directions; bytes have no room for more than 251 values.
    let cases = vec![
        read!("f16_along_k", blocks_read_f16_along, 2, true, |i| F16(half::f16::from_bits(i as u16))),
        read!("f16_across_k", blocks_read_f16_across, 2, false, |i| F16(half::f16::from_bits(i as u16))),
        read!("tf32_along_k", blocks_read_tf32_along, 4, true, |i| f32::from_bits(i as u32 * 77)),
        read!("tf32_across_k", blocks_read_tf32_across, 4, false, |i| f32::from_bits(i as u32 * 77)),
        read!("s8_along_k", blocks_read_s8_along, 1, true, |i| (i % 251) as u8 as i8),
        Case::new("blocks::multiply_f16", |device| {
            let bits = |x: f64| u32::from(half::f16::from_f64(x).to_bits());
            multiply(
                device,
                2,
                bits,
                |word| f64::from(f32::from_bits(word)),
                |a, b, c| {
                    // SAFETY: as long as the kernel asks for.
                    unsafe {
                        device.kernel::<blocks_multiply_f16>(&LEVELS)?.launch(Shape::line(32, 32), (a, b, c))
                    }
                },
            )
        }),
        Case::new("blocks::multiply_bf16", |device| {
            let bits = |x: f64| u32::from(half::bf16::from_f64(x).to_bits());
            multiply(
                device,
                2,
                bits,
                |word| f64::from(f32::from_bits(word)),
                |a, b, c| {
                    // SAFETY: as above.
                    unsafe {
                        device.kernel::<blocks_multiply_bf16>(&LEVELS)?.launch(Shape::line(32, 32), (a, b, c))
                    }
                },
            )
        }),
        Case::new("blocks::multiply_tf32", |device| {
            multiply(
                device,
                4,
                |x| (x as f32).to_bits(),
                |word| f64::from(f32::from_bits(word)),
                |a, b, c| {
                    // SAFETY: as above.
                    unsafe {
                        device.kernel::<blocks_multiply_tf32>(&LEVELS)?.launch(Shape::line(32, 32), (a, b, c))
                    }
                },
            )
        }),
        Case::new("blocks::multiply_s8", |device| {
            multiply(
                device,
                1,
                |x| u32::from(x as i8 as u8),
                |word| f64::from(word as i32),
                |a, b, c| {
                    // SAFETY: as above.
                    unsafe {
                        device.kernel::<blocks_multiply_s8>(&LEVELS)?.launch(Shape::line(32, 32), (a, b, c))
                    }
                },
            )
        }),
    ];
    // One module, which the driver compiles for this capability only.
    cases.into_iter().map(|case| case.needs(Needs::Exactly((9, 0)))).collect()
}

/// An element's bytes in memory.
trait Bytes: DeviceCopy {
    fn bytes(self) -> Vec<u8>;
}

impl Bytes for F16 {
    fn bytes(self) -> Vec<u8> {
        self.0.to_bits().to_le_bytes().to_vec()
    }
}

impl Bytes for f32 {
    fn bytes(self) -> Vec<u8> {
        self.to_bits().to_le_bytes().to_vec()
    }
}

impl Bytes for i8 {
    fn bytes(self) -> Vec<u8> {
        vec![self as u8]
    }
}

/// An operand in global memory.
struct Operand {
    extent: usize,
    depth: usize,
    pitch: usize,
    size: usize,
    along: bool,
}

impl Operand {
    fn new((extent, depth): (usize, usize), size: usize, along: bool) -> Self {
        let line = if along { depth } else { extent };
        Self { extent, depth, pitch: line.next_multiple_of(16 / size), size, along }
    }

    fn len(&self) -> usize {
        self.pitch * if self.along { self.extent } else { self.depth }
    }

    /// The byte of row (or column) `at` that is `byte` bytes along K; zero beyond the matrix.
    fn byte(&self, bytes: &[u8], at: usize, byte: usize) -> u8 {
        let k = byte / self.size;
        if at >= self.extent || k >= self.depth {
            return 0;
        }
        let element = if self.along { at * self.pitch + k } else { k * self.pitch + at };
        bytes[element * self.size + byte % self.size]
    }

    fn check<T: Bytes>(
        &self,
        device: &Device,
        elements: &[T],
        bytes: Vec<u8>,
        columns: bool,
        launch: impl FnOnce(&DeviceBuffer<T>, &mut DeviceBuffer<u32>) -> Result<(), warpsmith_launch::Error>,
    ) -> anyhow::Result<()> {
        let stages = (self.depth * self.size).div_ceil(DEPTH);
        let from = DeviceBuffer::from_slice(elements)?;
        let mut words = DeviceBuffer::from_slice(&vec![u32::MAX; stages * 1024])?;
        launch(&from, &mut words)?;
        device.synchronize()?;
        let mut got = vec![0; words.len()];
        words.copy_to(&mut got)?;
        for (i, &got) in got.iter().enumerate() {
            let (word, lane, block, step) = (i % 4, i / 4 % 32, i / 128 % 4, i / 512);
            // The tables of PTX's manual: of A the second eight rows come before the second half of K, of B after it.
            let (eight, half) = if columns { (word / 2, word % 2) } else { (word % 2, word / 2) };
            let at = block * 16 + eight * 8 + lane / 4;
            let first = step * 32 + half * 16 + lane % 4 * 4;
            let expected = u32::from_le_bytes([0, 1, 2, 3].map(|byte| self.byte(&bytes, at, first + byte)));
            anyhow::ensure!(
                got == expected,
                "{} x {}, step {step}, block {block}, lane {lane}, word {word}: {got:#x}, not {expected:#x}",
                self.extent,
                self.depth
            );
        }
        Ok(())
    }
}

/// Twice a 16 × 8 product of small integers, against the sum of integers.
fn multiply(
    device: &Device,
    size: usize,
    bits: impl Fn(f64) -> u32,
    value: impl Fn(u32) -> f64,
    launch: impl FnOnce(
        &DeviceBuffer<u32>,
        &DeviceBuffer<u32>,
        &mut DeviceBuffer<u32>,
    ) -> Result<(), warpsmith_launch::Error>,
) -> anyhow::Result<()> {
    let depth = 32 / size;
    let a = |row: usize, k: usize| ((row * 5 + k * 3) % 17) as f64 - 8.0;
    let b = |k: usize, col: usize| ((k * 7 + col * 2) % 13) as f64 - 6.0;
    // The elements of a word, the first in the lowest bits.
    let word = |element: &dyn Fn(usize) -> f64, byte: usize| {
        (0..4 / size)
            .map(|i| bits(element(byte / size + i)) << (8 * size * i))
            .fold(0, |word, bits| word | bits)
    };
    let lanes = |count: usize| (0..32 * count).map(move |i| (i / count, i % count));
    let words_a: Vec<u32> = lanes(4)
        .map(|(lane, i)| {
            let row = lane / 4 + i % 2 * 8;
            word(&|k| a(row, k), i / 2 * 16 + lane % 4 * 4)
        })
        .collect();
    let words_b: Vec<u32> =
        lanes(2).map(|(lane, i)| word(&|k| b(k, lane / 4), i * 16 + lane % 4 * 4)).collect();
    let (on_a, on_b) = (DeviceBuffer::from_slice(&words_a)?, DeviceBuffer::from_slice(&words_b)?);
    let mut on_c = DeviceBuffer::from_slice(&[u32::MAX; 128])?;
    launch(&on_a, &on_b, &mut on_c)?;
    device.synchronize()?;
    for ((lane, i), got) in lanes(4).zip(on_c.as_host_vec()?) {
        let (row, col) = (lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2);
        let expected: f64 = (0..depth).map(|k| 2.0 * a(row, k) * b(k, col)).sum();
        anyhow::ensure!(value(got) == expected, "({row}, {col}) is {}, not {expected}", value(got));
    }
    Ok(())
}
