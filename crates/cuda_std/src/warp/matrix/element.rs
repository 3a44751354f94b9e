//! Elements of matrices.

use super::sealed::Sealed;
use half::{bf16, f16};

/// A lane's share of a matrix: 32-bit registers, of which a shape uses the first ones.
pub(super) type Registers = [u32; 8];

/// An element that fits into registers.
pub trait Element: Sealed + Copy + 'static {
    /// Its bits, as stored in registers.
    #[doc(hidden)]
    fn bits(self) -> u64;
}

/// Consecutive elements, as many as there are.
#[inline(always)]
pub(super) fn packed<T: Element>(values: &[T]) -> Registers {
    let mut registers = Registers::default();
    let size = size_of::<T>();
    let mut i = 0;
    while i < values.len() {
        let (bits, at) = (values[i].bits(), i * size);
        registers[at / 4] |= (bits as u32) << (at % 4 * 8);
        if size == 8 {
            registers[at / 4 + 1] = (bits >> 32) as u32;
        }
        i += 1;
    }
    registers
}

/// The same element everywhere.
#[inline(always)]
pub(super) fn splat<T: Element>(value: T) -> Registers {
    let (bits, low) = (value.bits(), value.bits() as u32);
    match size_of::<T>() {
        1 => [low * 0x0101_0101; 8],
        2 => [low * 0x0001_0001; 8],
        4 => [low; 8],
        _ => {
            let high = (bits >> 32) as u32;
            [low, high, low, high, low, high, low, high]
        }
    }
}

/// An element of A or B.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be used as a tensor core matrix element",
    note = "the elements are f16, bf16, f32 (as TF32), f64, i8, u8, i32 and bool"
)]
pub trait MatrixElement: Element {
    /// The type of the sums.
    type Accumulator: AccumulatorElement;
    /// The type in which a lane stores it.
    type Storage: Copy;
    /// How many a lane holds at most.
    const ELEMENTS_PER_THREAD: usize;
}

/// An element of C or D.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be used as a tensor core accumulator",
    note = "the accumulators are f32, f16, i32 and f64"
)]
pub trait AccumulatorElement: Element {
    /// A lane's registers of it.
    type Storage: Copy;
    /// How many a lane holds at most.
    const ELEMENTS_PER_THREAD: usize;
}

macro_rules! elements {
    ($($type:ty: $value:ident => $bits:expr;)*) => { $(
        impl Sealed for $type {}
        impl Element for $type {
            #[inline(always)]
            fn bits(self) -> u64 {
                let $value = self;
                $bits
            }
        }
    )* };
}

elements! {
    f16: x => u64::from(x.to_bits());
    bf16: x => u64::from(x.to_bits());
    f32: x => u64::from(x.to_bits());
    f64: x => x.to_bits();
    i8: x => u64::from(x as u8);
    u8: x => u64::from(x);
    i32: x => u64::from(x as u32);
    bool: x => u64::from(x);
}

macro_rules! kinds {
    (operands: $($type:ty, $sum:ty, $kept:ty, $count:literal),*; accumulators: $($c:ty, $held:literal;)*) => {
        $(impl MatrixElement for $type {
            type Accumulator = $sum;
            type Storage = $kept;
            const ELEMENTS_PER_THREAD: usize = $count;
        })*
        $(impl AccumulatorElement for $c {
            type Storage = $c;
            const ELEMENTS_PER_THREAD: usize = $held;
        })*
    };
}

kinds! {
    operands:
    f16, f32, f16, 16, bf16, f32, bf16, 16, f32, f32, f32, 8, f64, f64, f64, 2,
    i8, i32, i32, 4, u8, i32, i32, 4, i32, i32, i32, 4, bool, i32, u8, 4;
    accumulators: f32, 8; f16, 8; i32, 8; f64, 2;
}
