//! D of eight columns of integers or bits, from A, B and C in the order of lanes.

use super::mma::Row;
use super::panels::{Panels, Value};
use super::vectors::{self, Work};

/// The summand of a pair of elements.
trait Arithmetic<T> {
    fn add<const FUSES: bool>(sum: T, a: T, b: T) -> T;
}

/// Exact products, so a fused product and sum is one like any other.
struct Products;

impl Arithmetic<f64> for Products {
    #[inline(always)]
    fn add<const FUSES: bool>(sum: f64, a: f64, b: f64) -> f64 {
        if FUSES { a.mul_add(b, sum) } else { sum + a * b }
    }
}

/// The bits set in both of two words, or in one.
struct Ones<const BOTH: bool>;

impl<const BOTH: bool> Arithmetic<u32> for Ones<BOTH> {
    #[inline(always)]
    fn add<const FUSES: bool>(sum: u32, a: u32, b: u32) -> u32 {
        sum + if BOTH { a & b } else { a ^ b }.count_ones()
    }
}

impl Panels<f64> {
    /// Puts D of eight columns in the place of C, or of what is not to be added.
    pub fn multiply(&self, number: usize, saturate: bool, accumulate: bool, d: &mut [Row]) {
        vectors::run(OfIntegers { panels: self, number, saturate, accumulate, d });
    }
}

impl Panels<u32> {
    /// The same with the number of bits that are set in both words, or in one of them.
    pub fn multiply(&self, number: usize, both: bool, accumulate: bool, d: &mut [Row]) {
        vectors::run(OfBits { panels: self, number, both, accumulate, d });
    }
}

/// For each eight rows those of the even columns and of the odd ones.
type Sums<T> = [[T; 32]; 4];

/// Adds the products of eight columns in the order of k.
#[inline(always)]
fn add_products<T: Value, A: Arithmetic<T>, const LANES: usize, const FUSES: bool>(
    panels: &Panels<T>,
    number: usize,
    sums: &mut Sums<T>,
) {
    let [even, odd] = panels.eight(number);
    for (rows, sums) in panels.rows.chunks_exact(panels.depth).zip(sums.as_chunks_mut::<2>().0) {
        let [of_even, of_odd] = sums.each_mut().map(|sums| sums.as_chunks_mut::<LANES>().0);
        for (part, (of_even, of_odd)) in of_even.iter_mut().zip(of_odd).enumerate() {
            let (mut even_sums, mut odd_sums) = (*of_even, *of_odd);
            for ((row, even), odd) in rows.iter().zip(even).zip(odd) {
                let row = &row.as_chunks::<LANES>().0[part];
                for lane in 0..LANES {
                    even_sums[lane] = A::add::<FUSES>(even_sums[lane], row[lane], even[lane % 4]);
                }
                for lane in 0..LANES {
                    odd_sums[lane] = A::add::<FUSES>(odd_sums[lane], row[lane], odd[lane % 4]);
                }
            }
            (*of_even, *of_odd) = (even_sums, odd_sums);
        }
    }
}

struct OfIntegers<'a> {
    panels: &'a Panels<f64>,
    number: usize,
    saturate: bool,
    accumulate: bool,
    d: &'a mut [Row],
}

impl Work for OfIntegers<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const LANES: usize, const FUSES: bool>(self) {
        let Self { panels, number, saturate, accumulate, d } = self;
        let mut sums = [[0.0; 32]; 4];
        add_products::<_, Products, LANES, FUSES>(panels, number, &mut sums);
        let values = sums.as_flattened().iter().zip(d.as_flattened_mut());
        if saturate {
            values.for_each(|(&sum, d)| {
                let c = if accumulate { *d as i32 } else { 0 };
                *d = c.saturating_add(whole(sum)) as u32;
            });
        } else {
            values.for_each(|(&sum, d)| {
                let c = if accumulate { *d as i32 } else { 0 };
                *d = c.wrapping_add(whole(sum)) as u32;
            });
        }
    }
}

/// A sum of a few hundred products of bytes, which is less than 2^31: the low bits of a number whose unit is one.
#[inline(always)]
fn whole(sum: f64) -> i32 {
    const UNIT_IS_ONE: f64 = 1.5 * (1u64 << 52) as f64;
    (sum + UNIT_IS_ONE).to_bits() as i32
}

struct OfBits<'a> {
    panels: &'a Panels<u32>,
    number: usize,
    both: bool,
    accumulate: bool,
    d: &'a mut [Row],
}

impl Work for OfBits<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const LANES: usize, const FUSES: bool>(self) {
        let Self { panels, number, both, accumulate, d } = self;
        let mut sums = [[0; 32]; 4];
        match both {
            true => add_products::<_, Ones<true>, LANES, FUSES>(panels, number, &mut sums),
            false => add_products::<_, Ones<false>, LANES, FUSES>(panels, number, &mut sums),
        }
        for (&sum, d) in sums.as_flattened().iter().zip(d.as_flattened_mut()) {
            *d = if accumulate { d.wrapping_add(sum) } else { sum };
        }
    }
}
