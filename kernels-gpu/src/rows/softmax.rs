//! Softmax and its logarithm.

use cuda_std::float::GpuFloat;
use cuda_std::intrinsics::fast_expf;

use crate::real::Real;

use super::{Row, place};

/// The signature of all softmaxes: rows, columns, whether the logarithm is meant, the matrix, and where the result goes.
pub type Signature<T> = fn(u32, u32, u32, *const T, *mut T);

/// e^x, as exact as the element can tell.
#[inline(always)]
fn exp<T: Real>(x: f32) -> f32 {
    if T::IS_SHORT {
        // SAFETY: arithmetic has no precondition.
        return unsafe { fast_expf(x) };
    }
    GpuFloat::exp(x)
}

/// The greatest element so far, and the sum of all exponentials below it.
#[derive(Clone, Copy)]
struct Running {
    most: f32,
    sum: f32,
}

impl Running {
    /// Both of one pass: the sum shrinks when a greater element comes (Milakov and Gimelshein, 2018).
    #[inline(always)]
    fn take<T: Real>(self, x: f32) -> Self {
        let most = self.most.max(x);
        // Where all so far is -inf, there is nothing to shrink, and inf - inf would be NaN.
        let below = if most == f32::NEG_INFINITY { 0.0 } else { most };
        Self { most, sum: self.sum * exp::<T>(self.most - below) + exp::<T>(x - below) }
    }
}

/// exp(x - max) / Σ exp(x - max) of this thread's row, or x - max - ln Σ exp(x - max).
///
/// # Safety
/// As the kernels'; `of_warps` is shared memory for twice as many numbers as a row has warps.
#[inline(always)]
pub unsafe fn softmax<T: Real, const PER: usize, const THREADS: usize, const KEPT: usize>(
    (rows, cols): (u32, u32),
    is_logarithm: u32,
    from: *const T,
    to: *mut T,
    of_warps: *mut f32,
) {
    let (number, thread) = place::<THREADS>();
    if number >= rows as usize {
        return;
    }
    let begin = number * cols as usize;
    // SAFETY: the row is inside of both matrices; all threads of a row go the same way, and use other shared memory for the second
    // reduction than for the first.
    unsafe {
        let mut row = Row::<T, PER, THREADS, KEPT>::load(from.add(begin), cols as usize, thread, of_warps);
        let add = |a: f32, b: f32| a + b;
        let (most, sum);
        if KEPT > 0 {
            let own = row.fold(f32::NEG_INFINITY, |most, x| most.max(x));
            most = row.reduce(own, f32::max);
            let own = row.fold(0.0, |sum, x| sum + exp::<T>(x - most));
            row.of_warps = of_warps.add(THREADS / 32);
            sum = row.reduce(own, add);
        } else {
            let own = row.fold(Running { most: f32::NEG_INFINITY, sum: 0.0 }, Running::take::<T>);
            most = row.reduce(own.most, f32::max);
            row.of_warps = of_warps.add(THREADS / 32);
            let own = if own.sum == 0.0 { 0.0 } else { own.sum * exp::<T>(own.most - most) };
            sum = row.reduce(own, add);
        }
        let to = to.add(begin);
        if is_logarithm != 0 {
            let below = most + GpuFloat::ln(sum);
            row.write(to, |_, x| x - below);
        } else {
            let scale = 1.0 / sum;
            row.write(to, |_, x| exp::<T>(x - most) * scale);
        }
    }
}
