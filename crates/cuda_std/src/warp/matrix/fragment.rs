//! Fragments, and the operations of a warp on them.

use super::element::{AccumulatorElement, MatrixElement, Registers, packed, splat};
use super::ops::{
    LoadMatrixA, LoadMatrixAShared, LoadMatrixB, LoadMatrixBShared, LoadMatrixC, MmaWithShapeAndLayout,
    StoreMatrixD,
};
use super::shape::dims::Shape;
use super::shape::{Layout, SharedMemoryLoadable, TensorCoreShape, WmmaShape};
use super::stride::{StrideValidator, ValidStride};
use core::marker::PhantomData;
use half::{bf16, f16};

/// A lane's share of A, the left operand.
#[derive(Debug, Clone, Copy)]
pub struct MatrixA<T: MatrixElement, S: TensorCoreShape, L: Layout> {
    pub(super) registers: Registers,
    is: PhantomData<(T, S, L)>,
}

/// A lane's share of B, the right operand.
#[derive(Debug, Clone, Copy)]
pub struct MatrixB<T: MatrixElement, S: TensorCoreShape, L: Layout> {
    pub(super) registers: Registers,
    is: PhantomData<(T, S, L)>,
}

/// A lane's share of the accumulator, C and D.
#[derive(Debug, Clone, Copy)]
pub struct Accumulator<T: AccumulatorElement, S: TensorCoreShape> {
    pub(super) registers: Registers,
    is: PhantomData<(T, S)>,
}

/// Fragments from a lane's own values.
pub trait MatrixExt<T, const N: usize>: Sized {
    /// From the elements that this lane holds, in register order.
    fn from_array(values: [T; N]) -> Self;

    /// With the same element everywhere.
    fn splat(value: T) -> Self;
}

macro_rules! operand {
    ($name:ident, $load:ident, $shared:ident) => {
        impl<T: MatrixElement, S: TensorCoreShape, L: Layout> $name<T, S, L> {
            /// Zeros.
            #[inline(always)]
            pub fn new() -> Self {
                Self::of(Registers::default())
            }

            #[inline(always)]
            pub(super) fn of(registers: Registers) -> Self {
                Self { registers, is: PhantomData }
            }

            /// Loads it from memory with `STRIDE` elements between the starts of consecutive rows (or columns,
            /// depending on `L`).
            ///
            /// # Safety
            ///
            /// The matrix starts at `ptr`, which must be a multiple of 32 bytes; all lanes of the warp must call this
            /// with the same `ptr`.
            #[inline(always)]
            pub unsafe fn load<const STRIDE: usize>(&mut self, ptr: *const T)
            where
                S: WmmaShape,
                T: $load<S, L>,
                StrideValidator<T, STRIDE>: ValidStride,
            {
                let () = <StrideValidator<T, STRIDE> as ValidStride>::CHECKED;
                // SAFETY: the caller's promise.
                self.registers = unsafe { T::load(ptr, STRIDE as u32) };
            }

            /// Loads it from shared memory.
            ///
            /// # Safety
            ///
            /// As for [`Self::load`], and `ptr` must be in shared memory.
            #[inline(always)]
            pub unsafe fn load_from_shared<const STRIDE: usize>(&mut self, ptr: *const T)
            where
                S: SharedMemoryLoadable,
                T: $shared<S, L>,
                StrideValidator<T, STRIDE>: ValidStride,
            {
                let () = <StrideValidator<T, STRIDE> as ValidStride>::CHECKED;
                // SAFETY: the caller's promise.
                self.registers = unsafe { T::load_shared(ptr, STRIDE as u32) };
            }
        }

        impl<T: MatrixElement, S: TensorCoreShape, L: Layout> Default for $name<T, S, L> {
            #[inline(always)]
            fn default() -> Self {
                Self::new()
            }
        }
    };
}

operand!(MatrixA, LoadMatrixA, LoadMatrixAShared);
operand!(MatrixB, LoadMatrixB, LoadMatrixBShared);

impl<T: AccumulatorElement, S: TensorCoreShape> Accumulator<T, S> {
    /// Zeros.
    #[inline(always)]
    pub fn new() -> Self {
        Self::of(Registers::default())
    }

    #[inline(always)]
    pub(super) fn of(registers: Registers) -> Self {
        Self { registers, is: PhantomData }
    }

    /// Loads it from memory.
    ///
    /// # Safety
    ///
    /// The matrix lies at `ptr`, which is a multiple of 32 bytes; all lanes of the warp are here, with the same `ptr`.
    #[inline(always)]
    pub unsafe fn load<L: Layout, const STRIDE: usize>(&mut self, ptr: *const T)
    where
        S: WmmaShape,
        T: LoadMatrixC<S, L>,
        StrideValidator<T, STRIDE>: ValidStride,
    {
        let () = <StrideValidator<T, STRIDE> as ValidStride>::CHECKED;
        // SAFETY: the caller's promise.
        self.registers = unsafe { T::load(ptr, STRIDE as u32) };
    }

    /// Sets all elements.
    #[inline(always)]
    pub fn fill(&mut self, value: T) {
        self.registers = splat(value);
    }

    /// Stores it to memory.
    ///
    /// # Safety
    ///
    /// As for [`Self::load`], and nothing else may read or write the matrix at the same time.
    #[inline(always)]
    pub unsafe fn store<L: Layout, const STRIDE: usize>(&self, ptr: *mut T)
    where
        S: WmmaShape,
        T: StoreMatrixD<S, L>,
        StrideValidator<T, STRIDE>: ValidStride,
    {
        let () = <StrideValidator<T, STRIDE> as ValidStride>::CHECKED;
        // SAFETY: the caller's promise.
        unsafe { T::store(ptr, &self.registers, STRIDE as u32) };
    }

    /// `a` · `b` + `self`. All lanes of the warp must call this.
    #[inline(always)]
    pub fn mma<E, LA, LB>(self, a: &MatrixA<E, S, LA>, b: &MatrixB<E, S, LB>) -> Self
    where
        E: MatrixElement,
        LA: Layout,
        LB: Layout,
        T: MmaWithShapeAndLayout<E, E, T, S, LA, LB, Output = T>,
    {
        T::mma(a, b, &self)
    }

    /// `self` = `a` · `b` + `self`. All lanes of the warp must call this.
    #[inline(always)]
    pub fn mma_inplace<E, LA, LB>(&mut self, a: &MatrixA<E, S, LA>, b: &MatrixB<E, S, LB>)
    where
        E: MatrixElement,
        LA: Layout,
        LB: Layout,
        T: MmaWithShapeAndLayout<E, E, T, S, LA, LB, Output = T>,
    {
        *self = T::mma(a, b, self);
    }
}

impl<T: AccumulatorElement, S: TensorCoreShape> Default for Accumulator<T, S> {
    #[inline(always)]
    fn default() -> Self {
        Self::new()
    }
}

macro_rules! from_values {
    ($($type:ty, $m:literal $n:literal $k:literal: $($matrix:ident $count:literal)*;)*) => {
        $($(from_values!(@ $matrix, $type, Shape<$m, $n, $k>, $count);)*)*
    };
    (@ Accumulator, $type:ty, $shape:ty, $count:literal) => {
        from_values!(@ [] Accumulator<$type, $shape>, $type, $count);
    };
    (@ $matrix:ident, $type:ty, $shape:ty, $count:literal) => {
        from_values!(@ [L: Layout] $matrix<$type, $shape, L>, $type, $count);
    };
    (@ [$($generics:tt)*] $fragment:ty, $type:ty, $count:literal) => {
        impl<$($generics)*> MatrixExt<$type, $count> for $fragment {
            #[inline(always)]
            fn from_array(values: [$type; $count]) -> Self {
                Self::of(packed(&values))
            }

            #[inline(always)]
            fn splat(value: $type) -> Self {
                Self::of(splat(value))
            }
        }
    };
}

from_values! {
    f16, 16 16 16: MatrixA 16 MatrixB 16 Accumulator 8;
    bf16, 16 16 16: MatrixA 16 MatrixB 16;
    i8, 16 16 16: MatrixA 16 MatrixB 16;
    u8, 16 16 16: MatrixA 16 MatrixB 16;
    f32, 16 16 16: Accumulator 8;
    i32, 16 16 16: Accumulator 8;
    f16, 16 8 16: MatrixA 8 MatrixB 8 Accumulator 4;
    bf16, 16 8 16: MatrixA 8 MatrixB 8;
    i8, 16 8 16: MatrixA 8 MatrixB 8;
    u8, 16 8 16: MatrixA 8 MatrixB 8;
    f32, 16 8 16: Accumulator 4;
    i32, 16 8 16: Accumulator 4;
    f16, 32 8 16: MatrixA 16 MatrixB 8 Accumulator 8;
    bf16, 32 8 16: MatrixA 16 MatrixB 8;
    f32, 32 8 16: Accumulator 8;
    f16, 8 32 16: MatrixA 8 MatrixB 16 Accumulator 8;
    bf16, 8 32 16: MatrixA 8 MatrixB 16;
    f32, 8 32 16: Accumulator 8;
    f32, 16 16 8: MatrixA 8 MatrixB 8 Accumulator 8;
    f64, 8 8 4: MatrixA 4 MatrixB 4 Accumulator 4;
}

/// The starting point of a product: the type of its elements, and its shape.
#[derive(Debug, Clone, Copy, Default)]
pub struct TensorCore<T: MatrixElement, S: TensorCoreShape>(PhantomData<(T, S)>);

impl<T: MatrixElement, S: TensorCoreShape> TensorCore<T, S> {
    /// A product of these elements in this shape.
    pub const fn new() -> Self {
        Self(PhantomData)
    }

    /// An A of zeros.
    #[inline(always)]
    pub fn matrix_a<L: Layout>(&self) -> MatrixA<T, S, L> {
        MatrixA::new()
    }

    /// A B of zeros.
    #[inline(always)]
    pub fn matrix_b<L: Layout>(&self) -> MatrixB<T, S, L> {
        MatrixB::new()
    }

    /// An accumulator of zeros.
    #[inline(always)]
    pub fn accumulator(&self) -> Accumulator<T::Accumulator, S> {
        Accumulator::new()
    }
}

impl<S: TensorCoreShape> TensorCore<f16, S> {
    /// An accumulator of zeros with half the bits.
    #[inline(always)]
    pub fn accumulator_f16(&self) -> Accumulator<f16, S> {
        Accumulator::new()
    }
}
