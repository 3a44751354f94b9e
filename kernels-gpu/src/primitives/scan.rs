//! Scans in one launch.
//!
//! A tile is 64 bytes of each thread, read once and written once. A warp's part is contiguous: each of its loads is 512 bytes, of
//! which a lane has 16. Lanes scan their 16 bytes, the warp its lanes by shuffles, all loads side by side, and the first warp the warps. It
//! then [looks back](super::look_back) for the value of all tiles before. Nothing but the warps' values goes through shared memory.
//!
//! Tiles begin where stores of 16 bytes are aligned, so the first may begin before the elements: what is outside is the identity.

use core::mem::size_of;

use cuda_std::thread;
use tile::{VECTOR_BYTES, Vector};

use super::block::{lane, of_lane, of_lane_before, scan_warp};
use super::look_back::Chain;
use super::operation::Operation;
use super::walk::per_load;

/// Threads of a block.
pub const BLOCK: u32 = 512;
/// Elements of a thread, at most.
const ITEMS: usize = 16;

/// Elements of a thread: 64 bytes of values.
pub const fn items<V>() -> usize {
    let fit = 64 / if size_of::<V>() == 0 { 64 } else { size_of::<V>() };
    if fit > ITEMS {
        ITEMS
    } else if fit == 0 {
        1
    } else {
        fit
    }
}

/// Elements of a tile.
pub const fn tile<V>(threads: usize) -> usize {
    threads * items::<V>()
}

/// The signature of all scans: the elements, where the result goes, whether a value leaves out its own element, and [`Chain`]'s memory.
pub type Signature<T, V> = fn(&'static [T], *mut V, u32, *mut u64, *mut V);

/// Elements of the first tile that lie before a result at this address.
pub const fn skipped<V>(to: usize) -> usize {
    if per_load::<V>() == 1 { 0 } else { to % VECTOR_BYTES / size_of::<V>() }
}

/// A thread's part of a tile: where its loads begin, and which elements exist.
struct Part {
    first: usize,
    /// The first element that exists, and the first behind the last one, by distance from `first`.
    exist: (i32, i32),
    is_full: bool,
}

impl Part {
    /// A thread's part of a tile of `tile` elements. As many as `skipped` lie before the elements of the first.
    #[inline(always)]
    fn new<V>(number: usize, tile: usize, skipped: usize, len: usize) -> Self {
        let begin = number * tile;
        let of_warps = thread::thread_idx_x() as usize / 32 * 32 * items::<V>();
        let own = of_warps + lane() as usize * per_load::<V>();
        let first = (begin + own).wrapping_sub(skipped);
        // A tile is short: whatever lies further away than that does not count.
        let until = (len + skipped - begin).min(tile) as i32 - own as i32;
        let from = if begin == 0 { skipped as i32 - own as i32 } else { 0 };
        Self { first, exist: (from, until), is_full: begin >= skipped && begin + tile <= len + skipped }
    }

    /// The distance of an element from the first one.
    #[inline(always)]
    fn distance(i: usize, per: usize) -> usize {
        i / per * 32 * per + i % per
    }

    #[inline(always)]
    fn exists(&self, distance: usize) -> bool {
        self.exist.0 <= distance as i32 && (distance as i32) < self.exist.1
    }

    /// The values of all elements.
    ///
    /// # Safety
    /// `from` has the elements.
    #[inline(always)]
    unsafe fn load<T: Copy, O: Operation<T>>(&self, from: *const T) -> [O::Value; ITEMS] {
        let per = per_load::<O::Value>();
        let mut values = [O::identity(); ITEMS];
        let from = from.wrapping_add(self.first);
        let is_vector = per > 1 && size_of::<T>() == size_of::<O::Value>();
        // SAFETY: the caller's promise; vectors are as many elements as loads have, and aligned.
        unsafe {
            if self.is_full && is_vector && from.addr().is_multiple_of(VECTOR_BYTES) {
                let mut loaded = [Vector::default(); ITEMS];
                for load in 0..items::<O::Value>() / per {
                    cuda_std::unroll!(full);
                    loaded[load] = Vector::load(from.add(load * 32 * per));
                }
                for i in 0..items::<O::Value>() {
                    cuda_std::unroll!(full);
                    let element = (&raw const loaded[i / per]).cast::<T>().add(i % per).read();
                    let index = self.first.wrapping_add(Self::distance(i, per));
                    values[i] = O::value(element, index as u64);
                }
            } else {
                for i in 0..items::<O::Value>() {
                    cuda_std::unroll!(full);
                    let distance = Self::distance(i, per);
                    if self.exists(distance) {
                        let index = self.first.wrapping_add(distance);
                        values[i] = O::value(*from.wrapping_add(distance), index as u64);
                    }
                }
            }
        }
        values
    }

    /// Stores all values that exist.
    ///
    /// # Safety
    /// `to` has room for them, and tiles begin at a multiple of 16 bytes.
    #[inline(always)]
    unsafe fn store<V: Copy>(&self, to: *mut V, values: &[V; ITEMS]) {
        let (to, per) = (to.wrapping_add(self.first), per_load::<V>());
        // SAFETY: the caller's promise.
        unsafe {
            if self.is_full && per > 1 {
                for load in 0..items::<V>() / per {
                    cuda_std::unroll!(full);
                    let mut vector = Vector::default();
                    for of_load in 0..per {
                        cuda_std::unroll!(full);
                        (&raw mut vector).cast::<V>().add(of_load).write(values[load * per + of_load]);
                    }
                    vector.store(to.add(load * 32 * per));
                }
            } else {
                for i in 0..items::<V>() {
                    cuda_std::unroll!(full);
                    let distance = Self::distance(i, per);
                    if self.exists(distance) {
                        *to.wrapping_add(distance) = values[i];
                    }
                }
            }
        }
    }
}

/// The body of a kernel made by [`scan!`](crate::scan).
///
/// # Safety
/// As the kernel's; `shared` is shared memory for a value of each warp, and `drawn` for a word.
#[inline(always)]
pub unsafe fn scan<T: Copy, O: Operation<T>, const THREADS: usize>(
    from: &[T],
    to: *mut O::Value,
    is_exclusive: u32,
    words: *mut u64,
    larger: *mut O::Value,
    shared: *mut O::Value,
    drawn: *mut u64,
) {
    let per = per_load::<O::Value>();
    let loads = items::<O::Value>() / per;
    // SAFETY: all threads come by; the rest is the caller's promise.
    unsafe {
        let chain = Chain::draw(words, drawn, 1);
        let skipped = skipped::<O::Value>(to.addr());
        let part = Part::new::<O::Value>(chain.tile, tile::<O::Value>(THREADS), skipped, from.len());
        let mut values = part.load::<T, O>(from.as_ptr());
        let mut of_lanes = [O::identity(); ITEMS];
        for load in 0..loads {
            cuda_std::unroll!(full);
            for i in load * per + 1..(load + 1) * per {
                cuda_std::unroll!(full);
                values[i] = O::combine(values[i - 1], values[i]);
            }
            of_lanes[load] = values[(load + 1) * per - 1];
        }
        scan_warp(&mut of_lanes, loads, O::combine);
        // The value of what lies before a lane's load in the warp's part.
        let mut of_warp = O::identity();
        for load in 0..loads {
            cuda_std::unroll!(full);
            let (before, all) = (of_lane_before(of_lanes[load], 1), of_lane(of_lanes[load], 31));
            let before = if lane() == 0 { O::identity() } else { before };
            of_lanes[load] = O::combine(of_warp, before);
            of_warp = O::combine(of_warp, all);
        }
        let before = before_warp::<T, O, THREADS>(&chain, of_warp, larger, shared);
        for load in 0..loads {
            cuda_std::unroll!(full);
            let before = O::combine(before, of_lanes[load]);
            let mut last = before;
            for i in load * per..(load + 1) * per {
                cuda_std::unroll!(full);
                let value = O::combine(before, values[i]);
                values[i] = if is_exclusive == 0 { value } else { last };
                last = value;
            }
        }
        part.store(to, &values);
    }
}

/// The value of all elements before this warp's part.
///
/// # Safety
/// As of [`scan`].
#[inline(always)]
unsafe fn before_warp<T: Copy, O: Operation<T>, const THREADS: usize>(
    chain: &Chain,
    of_warp: O::Value,
    larger: *mut O::Value,
    shared: *mut O::Value,
) -> O::Value {
    let (warps, warp) = (THREADS / 32, thread::thread_idx_x() as usize / 32);
    // SAFETY: the caller's promise; barriers part what warps write from what others read.
    unsafe {
        if lane() == 31 {
            *shared.add(warp) = of_warp;
        }
        thread::sync_threads();
        if warp == 0 {
            let is_warp = (lane() as usize) < warps;
            let mut of_warps = [if is_warp { *shared.add(lane() as usize) } else { O::identity() }];
            scan_warp(&mut of_warps, 1, O::combine);
            let own = of_lane(of_warps[0], warps as u32 - 1);
            let before_tile = chain.before(own, O::identity(), larger, O::combine);
            let before = of_lane_before(of_warps[0], 1);
            if is_warp {
                let before = if lane() == 0 { O::identity() } else { before };
                *shared.add(lane() as usize) = O::combine(before_tile, before);
            }
        }
        thread::sync_threads();
        *shared.add(warp)
    }
}

/// Kernels that scan elements of a type by an operation, in the crate that calls this; see [`reduction!`](crate::reduction).
///
/// ```
/// use cuda_std::prelude::*;
/// use kernels_gpu::primitives::operation::Max;
///
/// kernels_gpu::scan! {
///     /// The greatest of all numbers so far.
///     greatest_so_far: u32 as u32, by Max;
/// }
/// ```
#[macro_export]
macro_rules! scan {
    ($($(#[$doc:meta])* $name:ident: $element:ty as $value:ty, by $operation:ty;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// `to` has room for a value of each element, and `words` and `larger` are a look-back's for each block of the grid.
        #[kernel]
        #[block_dim(512)]
        #[launch_bounds(min_blocks = 2)]
        pub unsafe fn $name(from: &[$element], to: *mut $value, is_exclusive: u32, words: *mut u64, larger: *mut $value) {
            let shared = cuda_std::shared_array![$value; 16];
            let drawn = cuda_std::shared_array![u64; 1];
            // SAFETY: as the contract says.
            unsafe {
                $crate::primitives::scan::scan::<$element, $operation, 512>(
                    from, to, is_exclusive, words, larger, shared, drawn)
            }
        }
    )*};
}
