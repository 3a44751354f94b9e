//! Element types and layouts of matrices.

use cust::memory::DeviceCopy;
use warpsmith_launch::{Bf16, F16};

/// The element type of A and B, and with it the units that multiply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// f32, by the CUDA cores: every multiply-add is rounded to f32, as cuBLAS's SGEMM does it.
    F32,
    /// binary16, by the tensor cores.
    F16,
    /// bfloat16, by the tensor cores.
    Bf16,
    /// f32, of which the tensor cores read sign, exponent and 10 bits of the fraction.
    Tf32,
    /// 8-bit integers, by the tensor cores.
    S8,
}

/// The element type of C. Sums are f32, of integers i32, whatever C is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Output {
    /// binary16
    F16,
    /// bfloat16
    Bf16,
    /// f32
    F32,
    /// 32-bit integers
    S32,
}

/// The order of a matrix's elements in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "row-major")]
#[doc(alias = "column-major")]
pub enum Order {
    /// Row by row.
    Rows,
    /// Column by column.
    Columns,
}

/// The orders of A (m × k) and B (k × n); C is always stored row by row.
///
/// In two letters, `n` for row by row and `t` for column by column, so that `nt` is what `a @ b.T` means in NumPy: both
/// operands contiguous along K.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "transa")]
#[doc(alias = "transb")]
pub enum Layout {
    /// A row by row, B row by row
    Nn,
    /// A row by row, B column by column: K is contiguous in both
    Nt,
    /// A column by column, B row by row
    Tn,
    /// A column by column, B column by column
    Tt,
}

impl Input {
    /// The types that the tensor cores multiply.
    pub const ON_TENSOR_CORES: [Self; 4] = [Self::F16, Self::Bf16, Self::Tf32, Self::S8];

    /// Bytes of an element.
    pub fn size(self) -> usize {
        match self {
            Self::F16 | Self::Bf16 => 2,
            Self::F32 | Self::Tf32 => 4,
            Self::S8 => 1,
        }
    }

    /// The type's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::Tf32 => "tf32",
            Self::S8 => "s8",
        }
    }

    /// The types that C may have, the usual one first.
    pub fn outputs(self) -> &'static [Output] {
        match self {
            Self::F16 => &[Output::F16, Output::F32],
            Self::Bf16 => &[Output::Bf16, Output::F32],
            Self::F32 | Self::Tf32 => &[Output::F32],
            Self::S8 => &[Output::S32],
        }
    }

    /// Whether the tensor cores of Hopper multiply it along K only; others lie either way.
    pub(super) fn along_k_only(self) -> bool {
        matches!(self, Self::Tf32 | Self::S8)
    }
}

impl Output {
    /// All types.
    pub const ALL: [Self; 4] = [Self::F16, Self::Bf16, Self::F32, Self::S32];

    /// Bytes of an element.
    pub fn size(self) -> usize {
        if matches!(self, Self::F16 | Self::Bf16) { 2 } else { 4 }
    }

    /// The type's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::F32 => "f32",
            Self::S32 => "s32",
        }
    }
}

impl Layout {
    /// All layouts.
    pub const ALL: [Self; 4] = [Self::Nn, Self::Nt, Self::Tn, Self::Tt];

    /// The layout of matrices that are stored so.
    pub fn of(a: Order, b: Order) -> Self {
        match (a, b) {
            (Order::Rows, Order::Rows) => Self::Nn,
            (Order::Rows, Order::Columns) => Self::Nt,
            (Order::Columns, Order::Rows) => Self::Tn,
            (Order::Columns, Order::Columns) => Self::Tt,
        }
    }

    /// The order of A.
    pub fn a(self) -> Order {
        if matches!(self, Self::Nn | Self::Nt) { Order::Rows } else { Order::Columns }
    }

    /// The order of B.
    pub fn b(self) -> Order {
        if matches!(self, Self::Nn | Self::Tn) { Order::Rows } else { Order::Columns }
    }

    /// Whether A and B are stored column by column, as kernels are chosen by.
    pub(super) fn transposed(self) -> (bool, bool) {
        (self.a() == Order::Columns, self.b() == Order::Columns)
    }

    /// Its two letters.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nn => "nn",
            Self::Nt => "nt",
            Self::Tn => "tn",
            Self::Tt => "tt",
        }
    }
}

mod sealed {
    pub trait Sealed {}
}

/// An element of A or B, as buffers on the device hold it.
///
/// Kernels read a buffer's bytes as the problem says, because this trait says that they may: it is sealed.
///
/// ```compile_fail,E0277
/// use warpsmith_kernels::gemm::{Input, InputElement};
///
/// #[derive(Clone, Copy)]
/// struct Byte(u8);
/// unsafe impl cust::memory::DeviceCopy for Byte {}
/// impl InputElement for Byte {
///     const TYPES: &'static [Input] = &[Input::F32]; // four bytes where one is
/// }
/// ```
pub trait InputElement: DeviceCopy + sealed::Sealed {
    /// The inputs as which a matrix of it can be multiplied.
    const TYPES: &'static [Input];
}

/// An element of C. It is sealed, as [`InputElement`] is.
///
/// ```compile_fail,E0277
/// use warpsmith_kernels::gemm::{Output, OutputElement};
///
/// #[derive(Clone, Copy)]
/// struct Byte(u8);
/// unsafe impl cust::memory::DeviceCopy for Byte {}
/// impl OutputElement for Byte {
///     const TYPE: Output = Output::F32;
/// }
/// ```
pub trait OutputElement: DeviceCopy + sealed::Sealed {
    /// Its type.
    const TYPE: Output;
}

macro_rules! elements {
    ($($element:ty: [$($input:ident),*] $($output:ident)?;)*) => {$(
        impl sealed::Sealed for $element {}
        elements!(@input $element: $($input),*);
        $(impl OutputElement for $element {
            const TYPE: Output = Output::$output;
        })?
    )*};
    (@input $element:ty:) => {};
    (@input $element:ty: $($input:ident),+) => {
        impl InputElement for $element {
            const TYPES: &'static [Input] = &[$(Input::$input),+];
        }
    };
}
elements! {
    f32: [F32, Tf32] F32;
    F16: [F16] F16;
    Bf16: [Bf16] Bf16;
    i8: [S8];
    i32: [] S32;
}
