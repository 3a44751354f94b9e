//! Histograms of bins of one width, in one launch.
//!
//! Each block counts in shared memory, in up to 32 copies of all bins, a lane in its own: lanes that meet the same bin add to different
//! banks. Bytes are counted by their values, and only these counts go to bins. At the end a block adds each of its bins to the device's counts by one atomic operation; the last block to arrive hands the
//! counts over and clears them. More bins than shared memory has room for are counted in the L2 cache.
//!
//! The blockwise form has counters that many threads add to, but no memory of a size that the launch decides.

use core::mem::size_of;
use core::sync::atomic::Ordering::{AcqRel, Relaxed};

use cuda_std::atomic::mid::{
    atomic_fetch_add_u32_block, atomic_fetch_add_u32_device, atomic_fetch_add_u64_device,
    atomic_load_64_device,
};
use cuda_std::thread;

use super::walk::walk;

/// Threads of a block.
pub const BLOCK: u32 = 512;

/// Blocks of a multiprocessor: those of 40 registers a thread, and of 64 for elements of 8 bytes.
pub const fn blocks_a_sm<T>() -> u32 {
    if size_of::<T>() > 4 { 2 } else { 3 }
}

/// Bins in shared memory, at most.
pub const SHARED_BINS: u32 = 8192;
/// Words of shared memory that copies of few bins fill.
const COPIED: u32 = 4096;

/// The signature of all histograms: elements, bounds, what makes bins of them, bins, copies, counts, ticket, result.
pub type Signature<T, B> = fn(&'static [T], B, B, u64, u64, u32, u32, *mut u64, *mut u32, *mut u64);

/// Copies of the bins, or of the values of bytes, in a block's shared memory: a power of two, or 0 if there is no room for one.
pub const fn copies<T>(bins: u32) -> u32 {
    if size_of::<T>() == 1 {
        return 16;
    }
    if bins > SHARED_BINS {
        return 0;
    }
    let fit = COPIED / if bins == 0 { 1 } else { bins };
    if fit == 0 {
        1
    } else if fit >= 32 {
        32
    } else {
        1 << fit.ilog2()
    }
}

/// An element with a place between two bounds.
pub trait Binned: Copy + 'static {
    /// A bound: of bytes a larger number, since the upper bound is behind the last byte.
    type Bound: Copy + PartialOrd + 'static;

    /// The element, to be compared with bounds.
    fn level(self) -> Self::Bound;

    /// The element that is a byte of this value; others have none.
    fn of_byte(byte: u8) -> Option<Self>;

    /// The parameters of [`bin`](Self::bin) for `bins` bins between the bounds, of which the lower is less.
    fn scale(lower: Self::Bound, upper: Self::Bound, bins: u32) -> [u64; 2];

    /// Tells whether bounds that are in order can be divided: those of floats not if their distance is no number that divides.
    fn divides(lower: Self::Bound, upper: Self::Bound, bins: u32) -> bool;

    /// The bin of an element from the lower bound on and below the upper one.
    fn bin(self, bounds: (Self::Bound, Self::Bound), scale: [u64; 2], bins: u32) -> u32;
}

/// Whole numbers: `distance * bins / range`, rounded down, by a multiplication by `bins / range` in whole and 64 fractional bits. The
/// fraction is rounded up: the product of a distance below 2^32 is too large by less than 2^-32, which no result is away from the next
/// whole number; larger distances may come out at the next bin, which a product of 128 bits tells.
macro_rules! whole {
    ($($element:ty as $bound:ty, $unsigned:ty, $of_byte:expr;)*) => {$(
        impl Binned for $element {
            type Bound = $bound;

            #[inline(always)]
            fn of_byte(byte: u8) -> Option<Self> {
                let of_byte: fn(u8) -> Option<Self> = $of_byte;
                of_byte(byte)
            }

            #[inline(always)]
            fn level(self) -> $bound {
                self as $bound
            }

            #[inline(always)]
            fn scale(lower: $bound, upper: $bound, bins: u32) -> [u64; 2] {
                let range = u64::from(upper.wrapping_sub(lower) as $unsigned);
                let fraction = (u128::from(u64::from(bins) % range) << 64).div_ceil(u128::from(range));
                [u64::from(bins) / range, fraction as u64]
            }

            fn divides(_: $bound, _: $bound, _: u32) -> bool {
                true
            }

            #[inline(always)]
            fn bin(self, (lower, upper): ($bound, $bound), [whole, fraction]: [u64; 2], bins: u32) -> u32 {
                let distance = u64::from(self.level().wrapping_sub(lower) as $unsigned);
                let high = ((u128::from(distance) * u128::from(fraction)) >> 64) as u64;
                let bin = distance.wrapping_mul(whole).wrapping_add(high);
                if size_of::<$element>() < 8 {
                    return bin as u32;
                }
                let range = u64::from(upper.wrapping_sub(lower) as $unsigned);
                let is_next = u128::from(bin) * u128::from(range) > u128::from(distance) * u128::from(bins);
                bin as u32 - u32::from(is_next)
            }
        }
    )*};
}
whole! {
    u8 as u32, u32, Some;
    u32 as u32, u32, |_| None;
    i32 as i32, u32, |_| None;
    u64 as u64, u64, |_| None;
    i64 as i64, u64, |_| None;
}

/// Floats: `(element - lower) * (bins / (upper - lower))` in their own precision, rounded down, and never beyond the last bin.
macro_rules! float {
    ($($element:ty as $bits:ty;)*) => {$(
        impl Binned for $element {
            type Bound = $element;

            #[inline(always)]
            fn of_byte(_: u8) -> Option<Self> {
                None
            }

            #[inline(always)]
            fn level(self) -> $element {
                self
            }

            #[inline(always)]
            fn scale(lower: Self, upper: Self, bins: u32) -> [u64; 2] {
                [u64::from((bins as $element / (upper - lower)).to_bits()), 0]
            }

            fn divides(lower: Self, upper: Self, bins: u32) -> bool {
                let scale = bins as $element / (upper - lower);
                scale.is_finite() && scale > 0.0
            }

            #[inline(always)]
            fn bin(self, (lower, _): (Self, Self), [scale, _]: [u64; 2], bins: u32) -> u32 {
                let bin = (self - lower) * <$element>::from_bits(scale as $bits);
                (bin as u32).min(bins - 1)
            }
        }
    )*};
}
float! { f32 as u32; f64 as u64; }

/// Counts of one launch.
#[derive(Clone, Copy)]
pub struct Counts {
    /// Bins.
    pub bins: u32,
    /// [`copies`] of them.
    pub copies: u32,
    /// The device's counts, all 0, and left so.
    pub of_device: *mut u64,
    /// The ticket, which is 0, and is left so.
    pub ticket: *mut u32,
    /// Room for the result.
    pub to: *mut u64,
}

/// The body of the kernels.
///
/// # Safety
/// All threads of the grid come by; `counts` holds what its fields say, `shared` has a word for each copy of a bin, and `is_last` is
/// shared memory for one.
#[inline(always)]
pub unsafe fn histogram<T: Binned>(
    from: &[T],
    bounds: (T::Bound, T::Bound),
    scale: [u64; 2],
    counts: Counts,
    shared: *mut u32,
    is_last: *mut u32,
) {
    let Counts { bins, copies, of_device, ticket, to } = counts;
    let thread = thread::thread_idx_x();
    let each_of = |all: u32, work: &dyn Fn(usize)| {
        let mut i = thread;
        while i < all {
            work(i as usize);
            i += BLOCK;
        }
    };
    // SAFETY: bins are below their number; barriers part the steps of a block, the ticket parts the last block from the others.
    unsafe {
        let is_byte = size_of::<T>() == 1;
        // What is counted in shared memory: bins, or the values of bytes.
        let counted = if is_byte { 256 } else { bins };
        let bin_of = |element: T| {
            let is_inside = element.level() >= bounds.0 && element.level() < bounds.1;
            if is_inside { Some(element.bin(bounds, scale, bins)) } else { None }
        };
        each_of(counted * copies, &|i| *shared.add(i) = 0);
        thread::sync_threads();
        let copy = thread & copies.wrapping_sub(1);
        walk::<T, { BLOCK as usize }>(from, |element, _| {
            let place = if is_byte {
                Some(u32::from((&raw const element).cast::<u8>().read()))
            } else {
                bin_of(element)
            };
            let Some(place) = place else { return };
            if copies > 0 {
                atomic_fetch_add_u32_block(shared.add((place * copies + copy) as usize), Relaxed, 1);
            } else {
                atomic_fetch_add_u64_device(of_device.add(place as usize), Relaxed, 1);
            }
        });
        thread::sync_threads();
        if copies > 0 {
            each_of(counted, &|place| {
                // From another copy on in each lane, for the sake of banks.
                let of_place =
                    |i: u32| *shared.add(place * copies as usize + ((i + copy) & (copies - 1)) as usize);
                let count: u32 = (0..copies).map(of_place).sum();
                let bin = if is_byte { T::of_byte(place as u8).and_then(bin_of) } else { Some(place as u32) };
                if let Some(bin) = bin
                    && count > 0
                {
                    atomic_fetch_add_u64_device(of_device.add(bin as usize), Relaxed, u64::from(count));
                }
            });
            thread::sync_threads();
        }
        if thread == 0 {
            let arrived = atomic_fetch_add_u32_device(ticket, AcqRel, 1);
            *is_last = u32::from(arrived == thread::grid_dim_x() - 1);
        }
        thread::sync_threads();
        if *is_last == 1 {
            each_of(bins, &|bin| {
                *to.add(bin) = atomic_load_64_device(of_device.add(bin), Relaxed);
                *of_device.add(bin) = 0;
            });
            if thread == 0 {
                *ticket = 0;
            }
        }
    }
}
