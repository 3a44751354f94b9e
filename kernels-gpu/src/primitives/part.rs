//! A thread's part of a tile: 64 bytes, by accesses of 16.
//!
//! A warp's part is contiguous: each of its loads is 512 bytes, of which a lane has 16. Tiles begin where accesses of 16 bytes are aligned, so
//! the first may begin before the elements.

use core::mem::size_of;

use cuda_std::thread;
use tile::{VECTOR_BYTES, Vector};

use super::block::lane;
use super::walk::per_load;

/// Elements of a thread, at most.
pub const ITEMS: usize = 16;

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

/// Elements of the first tile that lie before a result at this address.
pub const fn skipped<V>(to: usize) -> usize {
    if per_load::<V>() == 1 { 0 } else { to % VECTOR_BYTES / size_of::<V>() }
}

/// A thread's part of a tile: where its loads begin, and which elements exist.
#[derive(Clone, Copy)]
pub struct Part {
    /// The index of the first element: it wraps where a tile begins before the elements.
    pub first: usize,
    /// The first element that exists, and the first behind the last one, by distance from `first`.
    exist: (i32, i32),
    is_full: bool,
}

impl Part {
    /// A thread's part of a tile of `tile` elements. As many as `skipped` lie before the elements of the first.
    #[inline(always)]
    pub fn new<V>(number: usize, tile: usize, skipped: usize, len: usize) -> Self {
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
    pub fn distance(i: usize, per: usize) -> usize {
        i / per * 32 * per + i % per
    }

    /// Tells whether the element at a distance from the first exists.
    #[inline(always)]
    pub fn exists(&self, distance: usize) -> bool {
        self.exist.0 <= distance as i32 && (distance as i32) < self.exist.1
    }

    /// All elements by a function, and `outside` in place of the others.
    ///
    /// # Safety
    /// `from` has the elements.
    #[inline(always)]
    pub unsafe fn load<T: Copy, V: Copy>(
        &self,
        from: *const T,
        outside: V,
        value: impl Fn(T, u64) -> V,
    ) -> [V; ITEMS] {
        let per = per_load::<V>();
        let mut values = [outside; ITEMS];
        let from = from.wrapping_add(self.first);
        let is_vector = per > 1 && size_of::<T>() == size_of::<V>();
        // SAFETY: the caller's promise; vectors are as many elements as loads have, and aligned.
        unsafe {
            if self.is_full && is_vector && from.addr().is_multiple_of(VECTOR_BYTES) {
                let mut loaded = [Vector::default(); ITEMS];
                for load in 0..items::<V>() / per {
                    cuda_std::unroll!(full);
                    loaded[load] = Vector::load(from.add(load * 32 * per));
                }
                for i in 0..items::<V>() {
                    cuda_std::unroll!(full);
                    let element = (&raw const loaded[i / per]).cast::<T>().add(i % per).read();
                    let index = self.first.wrapping_add(Self::distance(i, per));
                    values[i] = value(element, index as u64);
                }
            } else {
                for i in 0..items::<V>() {
                    cuda_std::unroll!(full);
                    let distance = Self::distance(i, per);
                    if self.exists(distance) {
                        let index = self.first.wrapping_add(distance);
                        values[i] = value(*from.wrapping_add(distance), index as u64);
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
    pub unsafe fn store<V: Copy>(&self, to: *mut V, values: &[V; ITEMS]) {
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
