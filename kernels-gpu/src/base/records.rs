//! An array of structs becomes a structure of arrays, and back, at the speed of a copy.
//!
//! Structs of 12 bytes cannot be loaded by one access, and loaded field by field each access of a warp touches three
//! times the sectors that it uses. So no thread loads a struct: a block moves 16-byte vectors, contiguous on both sides,
//! whatever field they hold. What belongs together meets in shared memory: there a thread finds four structs, which
//! are as many vectors as a struct has fields, and the same four structs are one vector of each field's array.
//!
//! | side | a thread's vectors | shared memory, chunks of 16 bytes |
//! | --- | --- | --- |
//! | structs | every 256th of the block's | written and read in order: 8 lanes, 8 neighbours |
//! | arrays | one of each array | lane *t* has chunks *F t* to *F t + F - 1*: 8 lanes, *F* apart |
//!
//! *F* apart is free of conflicts if *F* is odd. If it is a power of two, one chunk in nine stays unused, and chunks that
//! would meet are moved apart by it.

use cuda_std::prelude::*;
use cuda_std::shared_array;
use tile::Vector;

use super::coalescing::{Point, Quad};

pub const BLOCK: usize = 256;
/// Structs that a block moves: four a thread, so that each array gets a whole vector.
pub const STRUCTS: usize = 4 * BLOCK;

/// Where chunk `chunk` of a block's stage lies.
#[inline(always)]
const fn place<const F: usize>(chunk: usize) -> usize {
    if F.is_multiple_of(2) { chunk + chunk / 8 } else { chunk }
}

/// Chunks of a stage, with those that stay unused.
const fn stage_len<const F: usize>() -> usize {
    place::<F>(F * BLOCK)
}

/// Which structs are this block's, whether all of them exist, and whether vectors can be moved: then every array begins
/// at a multiple of 16 bytes.
#[inline(always)]
fn block(n: u32, pitch: u32, structs: usize, arrays: usize) -> (usize, bool) {
    let first = thread::block_idx_x() as usize * STRUCTS;
    (first, first + STRUCTS <= n as usize && pitch.is_multiple_of(4) && (structs | arrays).is_multiple_of(16))
}

/// Structs of `F` fields to arrays.
///
/// # Safety
/// `from` holds n structs, `to` has room for `F` arrays, each `pitch` ≥ n after the one before; the stage is as long as
/// [`stage_len`] says.
#[inline(always)]
unsafe fn to_arrays<const F: usize>(n: u32, pitch: u32, from: *const f32, to: *mut f32, stage: *mut Vector) {
    let thread = thread::thread_idx_x() as usize;
    let (first, whole) = block(n, pitch, from.addr(), to.addr());
    let (n, pitch) = (n as usize, pitch as usize);
    // SAFETY: a whole block's structs exist; others are guarded one by one; a barrier parts the stage's stores from its
    // loads.
    unsafe {
        if !whole {
            for part in 0..4 {
                let i = first + part * BLOCK + thread;
                if i < n {
                    for field in 0..F {
                        *to.add(field * pitch + i) = *from.add(F * i + field);
                    }
                }
            }
            return;
        }
        let from = from.add(F * first + 4 * thread);
        let loaded: [Vector; F] = core::array::from_fn(|part| Vector::load(from.add(4 * BLOCK * part)));
        for part in 0..F {
            *stage.add(place::<F>(part * BLOCK + thread)) = loaded[part];
        }
        thread::sync_threads();
        let own: [[u32; 4]; F] =
            core::array::from_fn(|part| (*stage.add(place::<F>(F * thread + part))).words());
        for field in 0..F {
            let words = [0, 1, 2, 3].map(|of: usize| own[(F * of + field) / 4][(F * of + field) % 4]);
            Vector::of_words(words).store(to.add(field * pitch + first + 4 * thread));
        }
    }
}

/// Arrays to structs of `F` fields.
///
/// # Safety
/// As for [`to_arrays`], the other way round.
#[inline(always)]
unsafe fn to_structs<const F: usize>(n: u32, pitch: u32, from: *const f32, to: *mut f32, stage: *mut Vector) {
    let thread = thread::thread_idx_x() as usize;
    let (first, whole) = block(n, pitch, to.addr(), from.addr());
    let (n, pitch) = (n as usize, pitch as usize);
    // SAFETY: as in `to_arrays`.
    unsafe {
        if !whole {
            for part in 0..4 {
                let i = first + part * BLOCK + thread;
                if i < n {
                    for field in 0..F {
                        *to.add(F * i + field) = *from.add(field * pitch + i);
                    }
                }
            }
            return;
        }
        let from = from.add(first + 4 * thread);
        let loaded: [[u32; 4]; F] =
            core::array::from_fn(|field| Vector::load(from.add(field * pitch)).words());
        for part in 0..F {
            let words = [0, 1, 2, 3].map(|i: usize| loaded[(4 * part + i) % F][(4 * part + i) / F]);
            *stage.add(place::<F>(F * thread + part)) = Vector::of_words(words);
        }
        thread::sync_threads();
        let to = to.add(F * first + 4 * thread);
        for part in 0..F {
            (*stage.add(place::<F>(part * BLOCK + thread))).store(to.add(4 * BLOCK * part));
        }
    }
}

macro_rules! kernels {
    ($($fields:literal $struct:ty: $to_arrays:ident $to_structs:ident;)*) => { listed! { $($to_arrays $to_structs)* } $(
        #[doc = concat!("Structs of ", $fields, " floats become ", $fields, " arrays; array k begins at `to + k * pitch`.")]
        ///
        /// # Safety
        #[doc = concat!("`from` holds n structs, `to` ", $fields, " × pitch floats, pitch is at least n; blocks have 256 threads,")]
        /// one for each [`STRUCTS`] structs.
        #[kernel]
        #[block_dim(256)]
        pub unsafe fn $to_arrays(n: u32, pitch: u32, from: &[$struct], to: *mut f32) {
            let stage = shared_array![Vector; stage_len::<$fields>()];
            // SAFETY: as the contract says.
            unsafe { to_arrays::<$fields>(n, pitch, from.as_ptr().cast(), to, stage) }
        }

        #[doc = concat!($fields, " arrays become structs of ", $fields, " floats; array k begins at `from + k * pitch`.")]
        ///
        /// # Safety
        #[doc = concat!("`from` holds ", $fields, " × pitch floats, `to` n structs, pitch is at least n; blocks have 256 threads,")]
        /// one for each [`STRUCTS`] structs.
        #[kernel]
        #[block_dim(256)]
        pub unsafe fn $to_structs(n: u32, pitch: u32, from: &[f32], to: *mut $struct) {
            let stage = shared_array![Vector; stage_len::<$fields>()];
            // SAFETY: as the contract says.
            unsafe { to_structs::<$fields>(n, pitch, from.as_ptr(), to.cast(), stage) }
        }
    )*};
}
kernels! {
    3 Point: points_to_arrays arrays_to_points;
    4 Quad: quads_to_arrays arrays_to_quads;
}
