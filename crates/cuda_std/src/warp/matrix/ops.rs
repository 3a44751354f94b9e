//! Which elements, shapes and layouts have instructions.

use super::element::{AccumulatorElement, MatrixElement, Registers};
use super::fragment::{Accumulator, MatrixA, MatrixB};
use super::shape::dims::Shape;
use super::shape::layout::{Col, Row};
use super::shape::{Layout, TensorCoreShape};
use crate::ptx;
use half::{bf16, f16};

/// Elements of an A that can be loaded from memory in this shape and layout.
#[diagnostic::on_unimplemented(
    message = "no matrix A of `{Self}` is loaded in the shape `{S}` and the layout `{L}`"
)]
pub trait LoadMatrixA<S: TensorCoreShape, L: Layout>: MatrixElement {
    #[doc(hidden)]
    #[allow(clippy::missing_safety_doc)]
    unsafe fn load(ptr: *const Self, stride: u32) -> Registers;
}

/// Elements of a B that can be loaded from memory in this shape and layout.
#[diagnostic::on_unimplemented(
    message = "no matrix B of `{Self}` is loaded in the shape `{S}` and the layout `{L}`"
)]
pub trait LoadMatrixB<S: TensorCoreShape, L: Layout>: MatrixElement {
    #[doc(hidden)]
    #[allow(clippy::missing_safety_doc)]
    unsafe fn load(ptr: *const Self, stride: u32) -> Registers;
}

/// Elements of an accumulator that can be loaded in this shape and layout.
#[diagnostic::on_unimplemented(
    message = "no accumulator of `{Self}` is loaded in the shape `{S}` and the layout `{L}`"
)]
pub trait LoadMatrixC<S: TensorCoreShape, L: Layout>: AccumulatorElement {
    #[doc(hidden)]
    #[allow(clippy::missing_safety_doc)]
    unsafe fn load(ptr: *const Self, stride: u32) -> Registers;
}

/// Elements of an accumulator that can be stored in this shape and layout.
#[diagnostic::on_unimplemented(
    message = "no accumulator of `{Self}` is stored in the shape `{S}` and the layout `{L}`"
)]
pub trait StoreMatrixD<S: TensorCoreShape, L: Layout>: AccumulatorElement {
    #[doc(hidden)]
    #[allow(clippy::missing_safety_doc)]
    unsafe fn store(ptr: *mut Self, registers: &Registers, stride: u32);
}

/// Elements of an A that can be loaded from shared memory in this shape and layout.
#[diagnostic::on_unimplemented(
    message = "no matrix A of `{Self}` is loaded from shared memory in the shape `{S}` and the layout `{L}`"
)]
pub trait LoadMatrixAShared<S: TensorCoreShape, L: Layout>: MatrixElement {
    #[doc(hidden)]
    #[allow(clippy::missing_safety_doc)]
    unsafe fn load_shared(ptr: *const Self, stride: u32) -> Registers;
}

/// Elements of a B that can be loaded from shared memory in this shape and layout.
#[diagnostic::on_unimplemented(
    message = "no matrix B of `{Self}` is loaded from shared memory in the shape `{S}` and the layout `{L}`"
)]
pub trait LoadMatrixBShared<S: TensorCoreShape, L: Layout>: MatrixElement {
    #[doc(hidden)]
    #[allow(clippy::missing_safety_doc)]
    unsafe fn load_shared(ptr: *const Self, stride: u32) -> Registers;
}

/// Sums of products of these elements, in this shape and these layouts.
#[diagnostic::on_unimplemented(
    message = "tensor cores do not multiply `{A}` by `{B}` into `{C}` in the shape `{S}` and the layouts `{LA}` and `{LB}`"
)]
pub trait MmaWithShapeAndLayout<A, B, C, S, LA, LB>: super::sealed::Sealed
where
    A: MatrixElement,
    B: MatrixElement,
    C: AccumulatorElement,
    S: TensorCoreShape,
    LA: Layout,
    LB: Layout,
{
    /// The result.
    type Output: AccumulatorElement;

    /// `a` · `b` + `c`. All lanes of the warp must call this.
    fn mma(
        a: &MatrixA<A, S, LA>,
        b: &MatrixB<B, S, LB>,
        c: &Accumulator<C, S>,
    ) -> Accumulator<Self::Output, S>;
}

/// Loads one matrix of a shape, in both layouts: by `wmma.load`, which takes any memory, including shared memory.
macro_rules! loads {
    ($($trait:ident :: $method:ident $matrix:literal: $type:ty, $ptx:literal, $shape:ty, $word:literal, $count:literal;)*) => { $(
        loads!(@ $trait, $method, $matrix, $type, $ptx, $shape, $word, $count, Row, ".row");
        loads!(@ $trait, $method, $matrix, $type, $ptx, $shape, $word, $count, Col, ".col");
    )* };
    (@ $trait:ident, $method:ident, $matrix:literal, $type:ty, $ptx:literal, $shape:ty, $word:literal, $count:literal, $layout:ty, $by:literal) => {
        impl $trait<$shape, $layout> for $type {
            #[inline(always)]
            unsafe fn $method(ptr: *const Self, stride: u32) -> Registers {
                let mut registers = Registers::default();
                // SAFETY: the caller's promise.
                unsafe {
                    ptx!(concat!("wmma.load.", $matrix, ".sync.aligned", $by, ".", $word, ".", $ptx, " {{{r}}}, [{p}], {s};"),
                        r = out([u32; $count]) registers, p = in(ptr) ptr, s = in(u32) stride;
                        options(convergent));
                }
                registers
            }
        }
    };
}

/// Loads of A and B, and how many registers each takes.
macro_rules! operands {
    ($($type:ty, $ptx:literal, $m:literal $n:literal $k:literal $word:literal: $a:literal $b:literal;)*) => { $(
        loads! {
            LoadMatrixA::load "a": $type, $ptx, Shape<$m, $n, $k>, $word, $a;
            LoadMatrixB::load "b": $type, $ptx, Shape<$m, $n, $k>, $word, $b;
        }
    )* };
}

operands! {
    f16, "f16", 16 16 16 "m16n16k16": 8 8;
    f16, "f16", 32 8 16 "m32n8k16": 8 8;
    f16, "f16", 8 32 16 "m8n32k16": 8 8;
    bf16, "bf16", 16 16 16 "m16n16k16": 4 4;
    bf16, "bf16", 32 8 16 "m32n8k16": 8 2;
    bf16, "bf16", 8 32 16 "m8n32k16": 2 8;
    i8, "s8", 16 16 16 "m16n16k16": 2 2;
    i8, "s8", 32 8 16 "m32n8k16": 4 1;
    i8, "s8", 8 32 16 "m8n32k16": 1 4;
    u8, "u8", 16 16 16 "m16n16k16": 2 2;
    u8, "u8", 32 8 16 "m32n8k16": 4 1;
    u8, "u8", 8 32 16 "m8n32k16": 1 4;
    bool, "u8", 16 16 16 "m16n16k16": 2 2;
    bool, "u8", 32 8 16 "m32n8k16": 4 1;
    bool, "u8", 8 32 16 "m8n32k16": 1 4;
    f32, "tf32", 16 16 8 "m16n16k8": 4 4;
}

/// Loads from shared memory with the same instruction as from any other.
macro_rules! shared_as_any {
    ($($type:ty: $($m:literal $n:literal $k:literal),*;)*) => { $($(
        impl<L: Layout> LoadMatrixAShared<Shape<$m, $n, $k>, L> for $type
        where
            $type: LoadMatrixA<Shape<$m, $n, $k>, L>,
        {
            #[inline(always)]
            unsafe fn load_shared(ptr: *const Self, stride: u32) -> Registers {
                // SAFETY: the caller's promise.
                unsafe { <Self as LoadMatrixA<Shape<$m, $n, $k>, L>>::load(ptr, stride) }
            }
        }
        impl<L: Layout> LoadMatrixBShared<Shape<$m, $n, $k>, L> for $type
        where
            $type: LoadMatrixB<Shape<$m, $n, $k>, L>,
        {
            #[inline(always)]
            unsafe fn load_shared(ptr: *const Self, stride: u32) -> Registers {
                // SAFETY: the caller's promise.
                unsafe { <Self as LoadMatrixB<Shape<$m, $n, $k>, L>>::load(ptr, stride) }
            }
        }
    )*)* };
}

shared_as_any! {
    f16: 16 16 16, 32 8 16, 8 32 16;
    bf16: 16 16 16, 32 8 16, 8 32 16;
    i8: 16 16 16, 32 8 16, 8 32 16;
    u8: 16 16 16, 32 8 16, 8 32 16;
}

/// Loads and stores of accumulators with 32-bit elements or pairs of halves.
macro_rules! accumulators {
    ($($type:ty, $ptx:literal, $m:literal $n:literal $k:literal $word:literal: $count:literal;)*) => { $(
        loads! { LoadMatrixC::load "c": $type, $ptx, Shape<$m, $n, $k>, $word, $count; }
        accumulators!(@ $type, $ptx, Shape<$m, $n, $k>, $word, $count, Row, ".row");
        accumulators!(@ $type, $ptx, Shape<$m, $n, $k>, $word, $count, Col, ".col");
    )* };
    (@ $type:ty, $ptx:literal, $shape:ty, $word:literal, $count:literal, $layout:ty, $by:literal) => {
        impl StoreMatrixD<$shape, $layout> for $type {
            #[inline(always)]
            unsafe fn store(ptr: *mut Self, registers: &Registers, stride: u32) {
                // SAFETY: the caller's promise.
                unsafe {
                    ptx!(concat!("wmma.store.d.sync.aligned", $by, ".", $word, ".", $ptx, " [{p}], {{{r}}}, {s};"),
                        p = in(ptr) ptr, r = in([u32; $count]) registers, s = in(u32) stride;
                        options(convergent));
                }
            }
        }
    };
}

accumulators! {
    f32, "f32", 16 16 16 "m16n16k16": 8;
    f32, "f32", 32 8 16 "m32n8k16": 8;
    f32, "f32", 8 32 16 "m8n32k16": 8;
    f32, "f32", 16 16 8 "m16n16k8": 8;
    f16, "f16", 16 16 16 "m16n16k16": 4;
    f16, "f16", 32 8 16 "m32n8k16": 4;
    f16, "f16", 8 32 16 "m8n32k16": 4;
    i32, "s32", 16 16 16 "m16n16k16": 8;
    i32, "s32", 32 8 16 "m32n8k16": 8;
    i32, "s32", 8 32 16 "m8n32k16": 8;
}

/// Products: `$as` is the type to which registers are converted for the instruction, `$types` the types in its name.
macro_rules! products {
    ($($e:ty => $c:ty, $types:literal, $m:literal $n:literal $k:literal $word:literal: $a:literal $b:literal $count:literal $(, $as:ident)?;)*) => { $(
        products!(@ $e, $c, $types, Shape<$m, $n, $k>, $word, $a, $b, $count, Row, Row, ".row.row" $(, $as)?);
        products!(@ $e, $c, $types, Shape<$m, $n, $k>, $word, $a, $b, $count, Row, Col, ".row.col" $(, $as)?);
        products!(@ $e, $c, $types, Shape<$m, $n, $k>, $word, $a, $b, $count, Col, Row, ".col.row" $(, $as)?);
        products!(@ $e, $c, $types, Shape<$m, $n, $k>, $word, $a, $b, $count, Col, Col, ".col.col" $(, $as)?);
    )* };
    (@ $e:ty, $c:ty, $types:literal, $shape:ty, $word:literal, $a:literal, $b:literal, $count:literal, $la:ty, $lb:ty, $by:literal $(, $as:ident)?) => {
        impl MmaWithShapeAndLayout<$e, $e, $c, $shape, $la, $lb> for $c {
            type Output = $c;

            #[inline(always)]
            fn mma(
                a: &MatrixA<$e, $shape, $la>,
                b: &MatrixB<$e, $shape, $lb>,
                c: &Accumulator<$c, $shape>,
            ) -> Accumulator<$c, $shape> {
                let (a, b, mut sums) = (a.registers, b.registers, Registers::default());
                $(let (a, b) = ($as(a), $as(b));)?
                // SAFETY: registers alone; all lanes call it, as `mma` requires.
                unsafe {
                    ptx!(concat!("wmma.mma.sync.aligned", $by, ".", $word, $types, " {{{d}}}, {{{a}}}, {{{b}}}, {{{c}}};"),
                        d = out([u32; $count]) sums, a = in([u32; $a]) a, b = in([u32; $b]) b,
                        c = in([u32; $count]) c.registers;
                        options(pure, nomem, convergent));
                }
                Accumulator::of(sums)
            }
        }
    };
}

products! {
    f16 => f32, ".f32.f32", 16 16 16 "m16n16k16": 8 8 8;
    f16 => f32, ".f32.f32", 32 8 16 "m32n8k16": 8 8 8;
    f16 => f32, ".f32.f32", 8 32 16 "m8n32k16": 8 8 8;
    f16 => f16, ".f16.f16", 16 16 16 "m16n16k16": 8 8 4;
    f16 => f16, ".f16.f16", 32 8 16 "m32n8k16": 8 8 4;
    f16 => f16, ".f16.f16", 8 32 16 "m8n32k16": 8 8 4;
    bf16 => f32, ".f32.bf16.bf16.f32", 16 16 16 "m16n16k16": 4 4 8;
    bf16 => f32, ".f32.bf16.bf16.f32", 32 8 16 "m32n8k16": 8 2 8;
    bf16 => f32, ".f32.bf16.bf16.f32", 8 32 16 "m8n32k16": 2 8 8;
    i8 => i32, ".s32.s8.s8.s32", 16 16 16 "m16n16k16": 2 2 8;
    i8 => i32, ".s32.s8.s8.s32", 32 8 16 "m32n8k16": 4 1 8;
    i8 => i32, ".s32.s8.s8.s32", 8 32 16 "m8n32k16": 1 4 8;
    u8 => i32, ".s32.u8.u8.s32", 16 16 16 "m16n16k16": 2 2 8;
    u8 => i32, ".s32.u8.u8.s32", 32 8 16 "m32n8k16": 4 1 8;
    u8 => i32, ".s32.u8.u8.s32", 8 32 16 "m8n32k16": 1 4 8;
    bool => i32, ".s32.u8.u8.s32", 16 16 16 "m16n16k16": 2 2 8;
    bool => i32, ".s32.u8.u8.s32", 32 8 16 "m32n8k16": 4 1 8;
    bool => i32, ".s32.u8.u8.s32", 8 32 16 "m8n32k16": 1 4 8;
    f32 => f32, ".f32.tf32.tf32.f32", 16 16 8 "m16n16k8": 4 4 8, tf32;
}

/// `f32`s rounded to TF32, as tensor cores require.
#[inline(always)]
fn tf32(values: Registers) -> Registers {
    let mut rounded = values;
    let mut i = 0;
    while i < 4 {
        let value = f32::from_bits(values[i]);
        // SAFETY: registers alone.
        unsafe {
            crate::__blockwise_ptx!("cvt.rna.tf32.f32 {d}, {a};", d = out(u32) rounded[i], a = in(f32) value; options(pure, nomem));
        }
        i += 1;
    }
    rounded
}

/// `f64`: each takes two 32-bit registers.
#[inline(always)]
fn wide(registers: &Registers) -> [u64; 2] {
    [0, 2].map(|i| u64::from(registers[i]) | u64::from(registers[i + 1]) << 32)
}

#[inline(always)]
fn narrow([first, second]: [u64; 2]) -> Registers {
    let parts = [first, first >> 32, second, second >> 32].map(|part| part as u32);
    [parts[0], parts[1], parts[2], parts[3], 0, 0, 0, 0]
}

macro_rules! doubles {
    ($($layout:ty, $by:literal;)*) => { $(
        doubles!(@ LoadMatrixA, "a", 1, $layout, $by);
        doubles!(@ LoadMatrixB, "b", 1, $layout, $by);
        doubles!(@ LoadMatrixC, "c", 2, $layout, $by);
        impl StoreMatrixD<Shape<8, 8, 4>, $layout> for f64 {
            #[inline(always)]
            unsafe fn store(ptr: *mut Self, registers: &Registers, stride: u32) {
                let values = wide(registers).map(f64::from_bits);
                // SAFETY: the caller's promise.
                unsafe {
                    ptx!(concat!("wmma.store.d.sync.aligned", $by, ".m8n8k4.f64 [{p}], {{{r}}}, {s};"),
                        p = in(ptr) ptr, r = in([f64; 2]) values, s = in(u32) stride;
                        options(convergent));
                }
            }
        }
    )* };
    (@ $trait:ident, $matrix:literal, $count:literal, $layout:ty, $by:literal) => {
        impl $trait<Shape<8, 8, 4>, $layout> for f64 {
            #[inline(always)]
            unsafe fn load(ptr: *const Self, stride: u32) -> Registers {
                let mut values = [0.0_f64; 2];
                // SAFETY: the caller's promise.
                unsafe {
                    ptx!(concat!("wmma.load.", $matrix, ".sync.aligned", $by, ".m8n8k4.f64 {{{r}}}, [{p}], {s};"),
                        r = out([f64; $count]) values, p = in(ptr) ptr, s = in(u32) stride;
                        options(convergent));
                }
                narrow(values.map(f64::to_bits))
            }
        }
    };
    (products: $($la:ty, $lb:ty, $by:literal;)*) => { $(
        impl MmaWithShapeAndLayout<f64, f64, f64, Shape<8, 8, 4>, $la, $lb> for f64 {
            type Output = f64;

            #[inline(always)]
            fn mma(
                a: &MatrixA<f64, Shape<8, 8, 4>, $la>,
                b: &MatrixB<f64, Shape<8, 8, 4>, $lb>,
                c: &Accumulator<f64, Shape<8, 8, 4>>,
            ) -> Accumulator<f64, Shape<8, 8, 4>> {
                let [a, b, c] = [&a.registers, &b.registers, &c.registers].map(|r| wide(r).map(f64::from_bits));
                let mut sums = [0.0_f64; 2];
                // SAFETY: registers alone; all lanes call it, as `mma` requires.
                unsafe {
                    ptx!(concat!("wmma.mma.sync.aligned", $by, ".m8n8k4.f64.f64.f64.f64 {{{d}}}, {{{a}}}, {{{b}}}, {{{c}}};"),
                        d = out([f64; 2]) sums, a = in([f64; 1]) a, b = in([f64; 1]) b, c = in([f64; 2]) c;
                        options(pure, nomem, convergent));
                }
                Accumulator::of(narrow(sums.map(f64::to_bits)))
            }
        }
    )* };
}

doubles! { Row, ".row"; Col, ".col"; }
doubles! { products: Row, Row, ".row.row"; Row, Col, ".row.col"; Col, Row, ".col.row"; Col, Col, ".col.col"; }

/// Products by `mma.sync`, whose fragments have a documented place in the lanes, however memory was laid out.
macro_rules! in_registers {
    ($($e:ty => $c:ty, $types:literal: $a:literal $b:literal;)*) => { $(
        impl<LA: Layout, LB: Layout> MmaWithShapeAndLayout<$e, $e, $c, Shape<16, 8, 16>, LA, LB> for $c {
            type Output = $c;

            #[inline(always)]
            fn mma(
                a: &MatrixA<$e, Shape<16, 8, 16>, LA>,
                b: &MatrixB<$e, Shape<16, 8, 16>, LB>,
                c: &Accumulator<$c, Shape<16, 8, 16>>,
            ) -> Accumulator<$c, Shape<16, 8, 16>> {
                let mut sums = Registers::default();
                // SAFETY: registers alone; all lanes call it, as `mma` requires.
                unsafe {
                    ptx!(concat!("mma.sync.aligned.m16n8k16.row.col", $types, " {{{d}}}, {{{a}}}, {{{b}}}, {{{c}}};"),
                        d = out([u32; 4]) sums, a = in([u32; $a]) a.registers, b = in([u32; $b]) b.registers,
                        c = in([u32; 4]) c.registers;
                        options(pure, nomem, convergent));
                }
                Accumulator::of(sums)
            }
        }
    )* };
}

in_registers! {
    f16 => f32, ".f32.f16.f16.f32": 4 2;
    bf16 => f32, ".f32.bf16.bf16.f32": 4 2;
    i8 => i32, ".s32.s8.s8.s32": 2 1;
    u8 => i32, ".s32.u8.u8.s32": 2 1;
}

/// `ldmatrix` for the operands of 16×8×16: 8×8 matrices, one lane giving each row's address. If the layout differs from
/// that of the registers, the load transposes.
macro_rules! by_ldmatrix {
    ($($type:ty;)*) => { $(
        by_ldmatrix!(@ $type, LoadMatrixAShared, 4, "x4", Row, "", |lane, stride| (lane % 16) * stride + lane / 16 * 8);
        by_ldmatrix!(@ $type, LoadMatrixAShared, 4, "x4", Col, ".trans", |lane, stride| {
            (lane / 16 * 8 + lane % 8) * stride + lane / 8 % 2 * 8
        });
        by_ldmatrix!(@ $type, LoadMatrixBShared, 2, "x2", Row, ".trans", |lane, stride| (lane % 16) * stride);
        by_ldmatrix!(@ $type, LoadMatrixBShared, 2, "x2", Col, "", |lane, stride| lane % 8 * stride + lane / 8 % 2 * 8);
    )* };
    (@ $type:ty, $trait:ident, $count:literal, $number:literal, $layout:ty, $how:literal, $offset:expr) => {
        impl $trait<Shape<16, 8, 16>, $layout> for $type {
            #[inline(always)]
            unsafe fn load_shared(ptr: *const Self, stride: u32) -> Registers {
                let offset: fn(u32, u32) -> u32 = $offset;
                let row = ptr.wrapping_add(offset(crate::warp::lane_id(), stride) as usize);
                let mut registers = Registers::default();
                // SAFETY: the caller's promise.
                unsafe {
                    ptx!(concat!("ldmatrix.sync.aligned.m8n8.", $number, $how, ".b16 {{{r}}}, [{p}];"),
                        r = out([u32; $count]) registers, p = in(ptr) row;
                        options(convergent));
                }
                registers
            }
        }
    };
}

by_ldmatrix! { f16; bf16; }
