//! Layer norm and RMS norm, with what is added before them.

use cuda_std::float::GpuFloat;

use crate::real::Real;

use super::{Row, load, place, store};

/// The body of the kernels.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Norm {
    /// Rows of the matrix.
    pub rows: u32,
    /// Its columns.
    pub cols: u32,
    /// 1 for layer norm, which takes the mean off; 0 for RMS norm.
    pub is_centred: u32,
    /// Summand of the mean square.
    pub epsilon: f32,
}

// SAFETY: plain numbers.
#[cfg(feature = "host")]
unsafe impl cust_core::DeviceCopy for Norm {}

/// The signature of all norms: the matrix, what is added to it, where their sum goes, weights, biases, and where the result goes.
/// All but the first and the last may be null.
pub type Signature<T> = fn(Norm, *const T, *const T, *mut T, *const T, *const T, *mut T);

/// An element of a line that may not be there.
#[inline(always)]
unsafe fn or<T: Real, const PER: usize>(line: *const T, col: usize, default: f32) -> [f32; PER] {
    if line.is_null() {
        return [default; PER];
    }
    // SAFETY: the caller's promise.
    unsafe { load::<T, PER>(line.add(col)) }.map(T::to_f32)
}

/// (x - mean) · weight / √(mean square + ε) + bias of this thread's row, where x = from + residual.
///
/// # Safety
/// As the kernels'; `of_warps` is shared memory for twice as many numbers as a row has warps.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub unsafe fn norm<T: Real, const PER: usize, const THREADS: usize, const KEPT: usize>(
    norm: Norm,
    from: *const T,
    residual: *const T,
    sum: *mut T,
    weight: *const T,
    bias: *const T,
    to: *mut T,
    of_warps: *mut f32,
) {
    let (number, thread) = place::<THREADS>();
    if number >= norm.rows as usize {
        return;
    }
    let cols = norm.cols as usize;
    let begin = number * cols;
    // SAFETY: the row is inside of all matrices, its columns of the lines; all threads of a row go the same way, and use other
    // shared memory for the second reduction than for the first.
    unsafe {
        let mut row = Row::<T, PER, THREADS, KEPT>::load(from.add(begin), cols, thread, of_warps);
        if !residual.is_null() {
            let (residual, sum) = (residual.add(begin), sum.add(begin));
            row.visit(|col, x| {
                let other = load::<T, PER>(residual.add(col));
                *x = core::array::from_fn(|i| T::of_f32(x[i].to_f32() + other[i].to_f32()));
                store::<T, PER>(sum.add(col), *x);
            });
            // A thread that keeps nothing reads what it wrote.
            row.first = sum;
        }
        let (add, count) = (|a: f32, b: f32| a + b, cols as f32);
        let mut mean = 0.0;
        if norm.is_centred != 0 {
            let own = row.fold(0.0, |sum, x| sum + x);
            mean = row.reduce(own, add) / count;
            row.of_warps = of_warps.add(THREADS / 32);
        }
        let own = row.fold(0.0, |sum, x| sum + (x - mean) * (x - mean));
        let scale = 1.0 / GpuFloat::sqrt(row.reduce(own, add) / count + norm.epsilon);
        let to = to.add(begin);
        row.visit(|col, x| {
            let (weight, bias) = (or::<T, PER>(weight, col, 1.0), or::<T, PER>(bias, col, 0.0));
            let of = |i: usize| T::of_f32((x[i].to_f32() - mean) * scale * weight[i] + bias[i]);
            store::<T, PER>(to.add(col), core::array::from_fn(of));
        });
    }
}
