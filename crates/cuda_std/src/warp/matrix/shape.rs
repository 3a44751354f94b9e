//! Shapes and layouts as types.

use super::element::{AccumulatorElement, MatrixElement};
use super::sealed::Sealed;
use half::{bf16, f16};

/// Shapes.
pub mod dims {
    /// A (M×K) times B (K×N).
    #[derive(Debug, Clone, Copy)]
    pub struct Shape<const M: usize, const N: usize, const K: usize>;
}

/// Layouts.
pub mod layout {
    pub use super::Layout;

    /// Row by row.
    #[derive(Debug, Clone, Copy)]
    pub struct Row;

    /// Column by column.
    #[derive(Debug, Clone, Copy)]
    pub struct Col;
}

use dims::Shape;
use layout::{Col, Row};

/// How a matrix is laid out in memory: [`layout::Row`] or [`layout::Col`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a matrix layout",
    note = "there are `layout::Row` and `layout::Col`"
)]
pub trait Layout: Sealed + Copy {
    /// Whether it is row-major.
    const IS_ROW_MAJOR: bool;
}

impl Sealed for Row {}
impl Layout for Row {
    const IS_ROW_MAJOR: bool = true;
}
impl Sealed for Col {}
impl Layout for Col {
    const IS_ROW_MAJOR: bool = false;
}

/// A shape that tensor cores support.
#[diagnostic::on_unimplemented(message = "`{Self}` is not a tensor core shape")]
pub trait TensorCoreShape: Sealed + Copy {
    /// Rows of A and of the result.
    const M: usize;
    /// Columns of B and of the result.
    const N: usize;
    /// Columns of A, rows of B.
    const K: usize;
}

/// A shape that can be multiplied.
pub trait MmaShape: TensorCoreShape {}

/// A shape whose fragments can be loaded from memory and stored to it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not support WMMA load/store operations",
    note = "its fragments are made by `MatrixExt::from_array` and `splat`, or by `load_from_shared`"
)]
pub trait WmmaShape: MmaShape {}

/// A shape whose fragments can be loaded from shared memory with `load_from_shared`.
#[diagnostic::on_unimplemented(message = "`{Self}` does not support loading from shared memory")]
pub trait SharedMemoryLoadable: MmaShape {}

macro_rules! shapes {
    ($($m:literal $n:literal $k:literal: $($also:ident)*;)*) => { $(
        impl Sealed for Shape<$m, $n, $k> {}
        impl TensorCoreShape for Shape<$m, $n, $k> {
            const M: usize = $m;
            const N: usize = $n;
            const K: usize = $k;
        }
        impl MmaShape for Shape<$m, $n, $k> {}
        $(impl $also for Shape<$m, $n, $k> {})*
    )* };
}

shapes! {
    16 16 16: WmmaShape SharedMemoryLoadable;
    32 8 16: WmmaShape SharedMemoryLoadable;
    8 32 16: WmmaShape SharedMemoryLoadable;
    16 8 16: SharedMemoryLoadable;
    16 16 8: WmmaShape;
    8 8 32: WmmaShape SharedMemoryLoadable;
    8 8 128: WmmaShape SharedMemoryLoadable;
    8 8 4: WmmaShape;
}

/// How many elements of an operand each lane passes to `MatrixExt::from_array`.
pub trait FragmentSize<T: MatrixElement>: MmaShape {
    /// Of A.
    const A_REGISTERS: usize;
    /// Of B.
    const B_REGISTERS: usize;
}

/// How many elements of an accumulator each lane holds.
pub trait AccumulatorSize<T: AccumulatorElement>: MmaShape {
    /// Of C.
    const C_REGISTERS: usize;
}

macro_rules! sizes {
    (operands: $($type:ty, $m:literal $n:literal $k:literal: $a:literal $b:literal),*;
     accumulators: $($sum:ty, $sm:literal $sn:literal $sk:literal: $c:literal;)*) => {
        $(impl FragmentSize<$type> for Shape<$m, $n, $k> {
            const A_REGISTERS: usize = $a;
            const B_REGISTERS: usize = $b;
        })*
        $(impl AccumulatorSize<$sum> for Shape<$sm, $sn, $sk> {
            const C_REGISTERS: usize = $c;
        })*
    };
}

sizes! {
    operands:
    f16, 16 16 16: 16 16, bf16, 16 16 16: 16 16, i8, 16 16 16: 4 4, u8, 16 16 16: 4 4,
    f16, 16 8 16: 8 8, bf16, 16 8 16: 8 8, i8, 16 8 16: 2 2, u8, 16 8 16: 2 2,
    f16, 32 8 16: 16 8, bf16, 32 8 16: 16 8,
    f16, 8 32 16: 8 16, bf16, 8 32 16: 8 16,
    f32, 16 16 8: 8 8, f64, 8 8 4: 2 2;
    accumulators:
    f32, 16 16 16: 8; f16, 16 16 16: 8; i32, 16 16 16: 8;
    f32, 16 8 16: 4; i32, 16 8 16: 4;
    f32, 32 8 16: 8; f32, 8 32 16: 8;
    f32, 16 16 8: 8; f64, 8 8 4: 2;
}
