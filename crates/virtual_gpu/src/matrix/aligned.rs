//! D of eight columns of floating-point products, as [`TensorCore`] adds them.
//!
//! Significands are aligned by a multiplication with a power of two and a conversion to integers, which cuts them. Sums
//! of integers are exact in any order.

use super::element::Accumulator;
use super::mma::Row;
use super::panels::{Elements, Panels};
use super::product::{self, ABSENT, INFINITE, NONE, TensorCore};
use super::stored::Stored;
use super::vectors::{self, Work};
use std::hint::black_box;

/// A and B of floating-point elements.
#[derive(Debug, Default)]
pub(crate) struct Floats {
    values: Panels<f32>,
    exponents: Panels<i16>,
    /// Whether B has infinities or NaNs, which count only where A has an element.
    skips: bool,
}

impl Floats {
    /// Sets A and B. Where products are converted, what is added first stands in the first half along k.
    pub fn set(&mut self, stored: &mut Stored, core: TensorCore, a: Elements, b: Elements) {
        if let TensorCore::Converted { run } = core {
            stored.part(run);
        }
        self.values.set(stored, a, b);
        self.exponents.set_exponents(&self.values, a.element, b.element);
        self.skips = !stored.absent.is_empty() && self.exponents.columns.as_flattened().contains(&INFINITE);
        if self.skips {
            let rows = self.exponents.rows.iter_mut().zip(&stored.absent);
            for (exponent, &is_absent) in
                rows.flat_map(|(row, absent)| row.as_chunks_mut().0.iter_mut().zip(absent))
            {
                *exponent = if is_absent { [ABSENT; 4] } else { *exponent };
            }
        }
    }

    /// Puts D of eight columns in the place of C, or of what is not to be added.
    pub fn multiply(
        &self,
        number: usize,
        core: TensorCore,
        format: Accumulator,
        accumulate: bool,
        d: &mut [Row],
    ) {
        let formats = [format; 2];
        if format == Accumulator::F16 {
            let mut registers = [[0; 32]; 4];
            if accumulate {
                for ([even, odd], row) in registers.as_chunks_mut::<2>().0.iter_mut().zip(d.iter()) {
                    (*even, *odd) = (row.map(|word| word & 0xFFFF), row.map(|word| word >> 16));
                }
            }
            vectors::run(Add { floats: self, number, core, formats, d: &mut registers });
            for ([even, odd], row) in registers.as_chunks::<2>().0.iter().zip(d) {
                *row = std::array::from_fn(|lane| even[lane] | odd[lane] << 16);
            }
        } else {
            if !accumulate {
                d.fill([0; 32]);
            }
            vectors::run(Add { floats: self, number, core, formats, d });
        }
    }

    /// Adds all products to the bits of C's elements row by row, which become those of D.
    pub fn add_rows(&self, core: TensorCore, formats: [Accumulator; 2], columns: usize, rows: &mut [u32]) {
        // Register and lane.
        let place = |row, column| (row / 8 * 2 + column % 2, row % 8 * 4 + column / 2);
        for number in 0..columns / 8 {
            let mut registers = [[0; 32]; 4];
            for (row, elements) in rows.chunks_exact(columns).enumerate() {
                for (column, &bits) in elements[8 * number..][..8].iter().enumerate() {
                    let (register, lane) = place(row, column);
                    registers[register][lane] = bits;
                }
            }
            vectors::run(Add { floats: self, number, core, formats, d: &mut registers });
            for (row, elements) in rows.chunks_exact_mut(columns).enumerate() {
                for (column, bits) in elements[8 * number..][..8].iter_mut().enumerate() {
                    let (register, lane) = place(row, column);
                    *bits = registers[register][lane];
                }
            }
        }
    }
}

/// Adds the products of eight columns to the bits of C's elements, one in a register, which become those of D.
struct Add<'a> {
    floats: &'a Floats,
    number: usize,
    core: TensorCore,
    /// Of C and of D.
    formats: [Accumulator; 2],
    d: &'a mut [Row],
}

impl Work for Add<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const LANES: usize, const FUSES: bool>(self) {
        let Self { floats, number, core, formats: [of_c, of_d], d } = self;
        let Floats { values, exponents, skips } = floats;
        let depth = values.depth;
        let rows = values.rows.chunks_exact(depth).zip(exponents.rows.chunks_exact(depth));
        let (columns, column_exponents) = (values.eight(number), exponents.eight(number));
        for ((rows, row_exponents), d) in rows.zip(d.as_chunks_mut::<2>().0) {
            for (which, d) in d.iter_mut().enumerate() {
                let sums = Sums {
                    core,
                    format: of_d,
                    values: (rows, columns[which]),
                    exponents: (row_exponents, column_exponents[which]),
                    skips: *skips,
                };
                let c = widen(d, of_c);
                *d = if let TensorCore::Converted { .. } = core {
                    sums.converted(&c)
                } else {
                    sums.of(&c, product::smallest(of_c))
                };
            }
        }
    }
}

/// The values of C's bits.
#[inline(always)]
fn widen(bits: &[u32; 32], format: Accumulator) -> [f32; 32] {
    let mut values = [0.0; 32];
    for (value, &bits) in values.iter_mut().zip(bits) {
        *value = product::widen(bits, format);
    }
    values
}

/// The sums of one register of D.
struct Sums<'a> {
    core: TensorCore,
    format: Accumulator,
    values: (&'a [[f32; 32]], &'a [[f32; 4]]),
    exponents: (&'a [[i16; 32]], &'a [[i16; 4]]),
    /// Whether some products are left out.
    skips: bool,
}

impl Sums<'_> {
    /// `c` and products, as bits. The smallest normal number of C's format has the exponent `smallest`.
    #[inline(always)]
    fn of(&self, c: &[f32; 32], smallest: i16) -> [u32; 32] {
        let largest = self.largest(c, smallest);
        let mut fit = !self.skips;
        for &exponent in &largest {
            fit &= (exponent <= 125) & !(NONE / 2..-100).contains(&exponent);
        }
        if fit && let Some(sums) = self.aligned(c, &largest) {
            return sums;
        }
        self.any(c, &largest)
    }

    /// The sums where products are converted: of the first half of them, the second half, and C.
    #[inline(always)]
    fn converted(&self, c: &[f32; 32]) -> [u32; 32] {
        let mut sums = [0.0; 32];
        for half in 0..2 {
            let part = Sums {
                core: self.core,
                format: self.format,
                values: halves(self.values, half),
                exponents: halves(self.exponents, half),
                skips: self.skips,
            };
            sums = widen(&part.of(&sums, product::smallest(self.format)), self.format);
        }
        let mut rounded = [0; 32];
        for lane in 0..32 {
            rounded[lane] = product::round((sums[lane] + c[lane]).into(), self.format);
        }
        rounded
    }

    /// The largest exponent for each lane.
    #[inline(always)]
    fn largest(&self, c: &[f32; 32], smallest: i16) -> [i16; 32] {
        let mut largest = [0; 32];
        for lane in 0..32 {
            largest[lane] = product::exponent(c[lane], smallest);
        }
        let [low, high] = largest.as_chunks_mut::<16>().0 else { return largest };
        let [mut of_low, mut of_high] = [*low, *high];
        for (rows, columns) in twos(self.exponents) {
            // Or the compiler makes vectors along k.
            black_box(());
            for (row, column) in rows.iter().zip(columns) {
                for lane in 0..16 {
                    of_low[lane] = of_low[lane].max(row[lane] + column[lane % 4]);
                }
                for lane in 0..16 {
                    of_high[lane] = of_high[lane].max(row[16 + lane] + column[lane % 4]);
                }
            }
        }
        (*low, *high) = (of_low, of_high);
        largest
    }

    /// The sums by products in `f32` and integers. They are exact where the largest exponent is from -100 to 125: no
    /// product overflows, and one that underflows is less than the last bit that is kept. No sums if one may be too
    /// large for an integer: sixteen products whose significands have 11 bits are less than 2^31, but not with C.
    #[inline(always)]
    fn aligned(&self, c: &[f32; 32], largest: &[i16; 32]) -> Option<[u32; 32]> {
        let mut scale = [0.0; 32];
        for lane in 0..32 {
            scale[lane] = power(self.core.bits() - i32::from(largest[lane].max(-100)));
        }
        let mut sums = self.sums(&scale);
        let mut most = 0;
        for lane in 0..32 {
            // SAFETY: a number is less than twice the power of its exponent.
            sums[lane] = sums[lane].wrapping_add(unsafe { cut(c[lane] * scale[lane]) });
            most = most.max(sums[lane].unsigned_abs());
        }
        if most >= (1 << 31) - (1 << 26) {
            return None;
        }
        let mut rounded = [0; 32];
        // A loop of its own for each format.
        if self.format == Accumulator::F16 {
            for lane in 0..32 {
                rounded[lane] =
                    product::round_odd_to_f16(signed(sums[lane], scale[lane], |bits, less| bits | less));
            }
        } else {
            let kept = self.core.kept();
            for lane in 0..32 {
                rounded[lane] = signed(sums[lane], scale[lane], |bits, _| bits & kept).to_bits();
            }
        }
        Some(rounded)
    }

    /// The sums of products, each multiplied with its lane's `scale`.
    #[inline(always)]
    fn sums(&self, scale: &[f32; 32]) -> [i32; 32] {
        let (mut low, mut high) = ([0; 16], [0; 16]);
        for (rows, columns) in twos(self.values) {
            black_box(());
            for (row, column) in rows.iter().zip(columns) {
                // SAFETY: a product is less than four times the power of its exponent.
                unsafe {
                    for lane in 0..16 {
                        low[lane] += cut(row[lane] * column[lane % 4] * scale[lane]);
                    }
                    for lane in 0..16 {
                        high[lane] += cut(row[16 + lane] * column[lane % 4] * scale[16 + lane]);
                    }
                }
            }
        }
        let mut sums = [0; 32];
        sums[..16].copy_from_slice(&low);
        sums[16..].copy_from_slice(&high);
        sums
    }

    /// Any sums, which may be of no numbers, by products in `f64`.
    #[cold]
    #[inline(never)]
    fn any(&self, c: &[f32; 32], largest: &[i16; 32]) -> [u32; 32] {
        vectors::run(Any { of: self, c, largest })
    }
}

struct Any<'a> {
    of: &'a Sums<'a>,
    c: &'a [f32; 32],
    largest: &'a [i16; 32],
}

impl Work for Any<'_> {
    type Output = [u32; 32];

    #[inline(always)]
    fn run<const LANES: usize, const FUSES: bool>(self) -> [u32; 32] {
        let Self {
            of: Sums { core, format, values: (rows, columns), exponents: (exponents, _), .. },
            c,
            largest,
        } = self;
        let mut bits = [0; 32];
        for (part, bits) in bits.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            let (mut unit, mut sums) = ([0.0; 8], [0.0; 8]);
            for lane in 0..8 {
                unit[lane] = core.unit(largest[8 * part + lane]);
                sums[lane] = (f64::from(c[8 * part + lane]) / unit[lane]).trunc();
            }
            for ((row, exponents), column) in rows.iter().zip(*exponents).zip(*columns) {
                let (row, exponents) = (&row.as_chunks::<8>().0[part], &exponents.as_chunks::<8>().0[part]);
                for lane in 0..8 {
                    let product = (f64::from(row[lane]) * f64::from(column[lane % 4]) / unit[lane]).trunc();
                    sums[lane] += if exponents[lane] == ABSENT { 0.0 } else { product };
                }
            }
            for lane in 0..8 {
                bits[lane] = core.round(sums[lane] * unit[lane], *format);
            }
        }
        bits
    }
}

/// Rows and columns, two of each at a time: their number is even.
#[inline(always)]
fn twos<'a, R, C>((rows, columns): (&'a [R], &'a [C])) -> impl Iterator<Item = (&'a [R; 2], &'a [C; 2])> {
    rows.as_chunks::<2>().0.iter().zip(columns.as_chunks::<2>().0)
}

/// `sum` divided by `scale`, a power of two: the next number toward zero. `keep` gets its bits without the sign, and one
/// if it is less than the sum.
#[inline(always)]
fn signed(sum: i32, scale: f32, keep: impl Fn(u32, u32) -> u32) -> f32 {
    let magnitude = sum.wrapping_abs();
    let nearest = magnitude as f32;
    // SAFETY: it is less than 2^31.
    let over = unsafe { nearest.to_int_unchecked::<i32>() } - magnitude;
    let toward_zero = nearest.to_bits() - (over > 0) as u32;
    let kept = f32::from_bits(keep(toward_zero, (over != 0) as u32));
    let unit = f32::from_bits((254 << 23) - scale.to_bits());
    f32::from_bits((kept * unit).to_bits() | sum as u32 & 1 << 31)
}

/// One half along k of rows and columns.
#[inline(always)]
fn halves<'a, R, C>((rows, columns): (&'a [R], &'a [C]), half: usize) -> (&'a [R], &'a [C]) {
    let depth = rows.len() / 2;
    (&rows[half * depth..][..depth], &columns[half * depth..][..depth])
}

/// 2^exponent.
#[inline(always)]
fn power(exponent: i32) -> f32 {
    f32::from_bits(((127 + exponent) << 23) as u32)
}

/// Cuts a number to an integer.
///
/// # Safety
///
/// It is finite, and at most 2^27 in magnitude: products are aligned to 25 bits after the point of the largest exponent.
#[inline(always)]
unsafe fn cut(number: f32) -> i32 {
    // SAFETY: the caller promises it.
    unsafe { number.to_int_unchecked() }
}
