//! Global memory: what a warp asks for at once, and how many 32-byte sectors answer it.
//!
//! Every kernel moves `n` elements, one a thread, and writes contiguously; only the pattern of its reads (or the shape
//! of its elements) differs. 32 lanes of 4 bytes are 4 sectors if they are aligned and contiguous.

use cuda_std::prelude::*;
use cuda_std::shared_array;

listed! {
   copy_shifted copy_strided copy_scattered copy_some_lanes copy_4_bytes copy_8_bytes copy_16_bytes
   stretch_structs stretch_padded_structs stretch_arrays stretch_staged_structs stretch_in_place stretch_staged_in_place
}

pub const BLOCK: u32 = 256;

/// A lane's 8 bytes.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "host", derive(cust_core::DeviceCopy, bytemuck::AnyBitPattern))]
pub struct Pair(pub [f32; 2]);

/// A lane's 16 bytes.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "host", derive(cust_core::DeviceCopy, bytemuck::Pod, bytemuck::Zeroable))]
pub struct Quad(pub [f32; 4]);

/// 12 bytes: no load is 12 bytes wide, so each field is loaded on its own, 12 bytes from its neighbour's.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "host", derive(cust_core::DeviceCopy, bytemuck::Pod, bytemuck::Zeroable))]
pub struct Point {
    /// First coordinate.
    pub x: f32,
    /// Second coordinate.
    pub y: f32,
    /// Third coordinate.
    pub z: f32,
}

impl Point {
    /// Each coordinate times its own factor, so that a mixed-up coordinate shows.
    #[inline(always)]
    pub fn stretched(self, by: f32) -> Self {
        Self { x: self.x * by, y: self.y * (by + 1.0), z: self.z * (by + 2.0) }
    }
}

/// [`Point`] padded to 16 bytes: one 16-byte access a lane.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "host", derive(cust_core::DeviceCopy, bytemuck::AnyBitPattern))]
pub struct PaddedPoint {
    /// The three coordinates.
    pub point: Point,
    /// Nothing; it makes the whole 16 bytes.
    pub pad: f32,
}

#[inline(always)]
fn index() -> usize {
    thread::index_1d() as usize
}

/// `to[i] = from[i + shift]`: a warp that starts off its sector's edge touches one sector more.
///
/// # Safety
/// `from` holds n + shift elements, `to` holds n.
#[kernel]
pub unsafe fn copy_shifted(n: u32, shift: u32, from: &[f32], to: *mut f32) {
    let i = index();
    if i < n as usize {
        // SAFETY: i < n.
        unsafe { *to.add(i) = *from.get_unchecked(i + shift as usize) };
    }
}

/// `to[i] = from[i * stride]`: of every 32-byte sector 32 / stride bytes are used, at least 4.
///
/// # Safety
/// `from` holds n × stride elements, `to` holds n.
#[kernel]
pub unsafe fn copy_strided(n: u32, stride: u32, from: &[f32], to: *mut f32) {
    let i = index();
    if i < n as usize {
        // SAFETY: i < n.
        unsafe { *to.add(i) = *from.get_unchecked(i * stride as usize) };
    }
}

/// `to[i] = from[order[i]]`: the sectors are as many as the order's neighbours are scattered.
///
/// # Safety
/// `order` and `to` hold n elements; every element of `order` is an index of `from`.
#[kernel]
pub unsafe fn copy_scattered(n: u32, order: &[u32], from: &[f32], to: *mut f32) {
    let i = index();
    if i < n as usize {
        // SAFETY: i < n, and the order is as the contract says.
        unsafe { *to.add(i) = *from.get_unchecked(*order.get_unchecked(i) as usize) };
    }
}

/// `to[i] = from[i]` for the lanes whose bit in `lanes` is set: lanes left out make no request wider or longer.
///
/// # Safety
/// `from` and `to` hold n elements.
#[kernel]
pub unsafe fn copy_some_lanes(n: u32, lanes: u32, from: &[f32], to: *mut f32) {
    // In 64 bits: places then come by shifts, which take a parameter where it lies; a wide multiplication would have it fetched into
    // a register first, which takes 2 % longer here.
    let i = thread::block_idx_x() as usize * thread::block_dim_x() as usize + thread::thread_idx_x() as usize;
    // Both tests before the only branch: parameters are then fetched side by side, not one after the other.
    if (i < n as usize) & (lanes & 1u32.rotate_left(i as u32) != 0) {
        // SAFETY: i < n.
        unsafe { *to.add(i) = *from.get_unchecked(i) };
    }
}

macro_rules! copies {
    ($($doc:literal $name:ident: $element:ty;)*) => {$(
        #[doc = $doc]
        ///
        /// # Safety
        /// `from` and `to` hold n elements.
        #[kernel]
        pub unsafe fn $name(n: u32, from: &[$element], to: *mut $element) {
            let i = index();
            if i < n as usize {
                // SAFETY: i < n.
                unsafe { *to.add(i) = *from.get_unchecked(i) };
            }
        }
    )*};
}
copies! {
    "4 bytes a lane: 4 sectors a request." copy_4_bytes: f32;
    "8 bytes a lane: 8 sectors a request, half as many requests." copy_8_bytes: Pair;
    "16 bytes a lane: 16 sectors a request, a quarter of the requests." copy_16_bytes: Quad;
}

/// 12-byte structs read and written as they lie: each of the three accesses touches 12 sectors to use 128 bytes.
///
/// # Safety
/// `from` and `to` hold n elements.
#[kernel]
pub unsafe fn stretch_structs(n: u32, by: f32, from: &[Point], to: *mut Point) {
    let i = index();
    if i < n as usize {
        // SAFETY: i < n.
        unsafe { *to.add(i) = from.get_unchecked(i).stretched(by) };
    }
}

/// Remedy 1, structs padded to 16 bytes: one access, a quarter of it wasted.
///
/// # Safety
/// `from` and `to` hold n elements.
#[kernel]
pub unsafe fn stretch_padded_structs(n: u32, by: f32, from: &[PaddedPoint], to: *mut PaddedPoint) {
    let i = index();
    if i < n as usize {
        // SAFETY: i < n.
        unsafe {
            let PaddedPoint { point, pad } = *from.get_unchecked(i);
            *to.add(i) = PaddedPoint { point: point.stretched(by), pad };
        }
    }
}

/// Remedy 2, a structure of arrays: all x, then all y, then all z, each contiguous.
///
/// # Safety
/// `from` and `to` hold 3 n elements.
#[kernel]
pub unsafe fn stretch_arrays(n: u32, by: f32, from: &[f32], to: *mut f32) {
    let (i, n) = (index(), n as usize);
    if i < n {
        // SAFETY: i < n, so all three are below 3 n.
        unsafe {
            let [x, y, z] = [0, n, 2 * n].map(|array| *from.get_unchecked(array + i));
            let point = Point { x, y, z }.stretched(by);
            *to.add(i) = point.x;
            *to.add(n + i) = point.y;
            *to.add(2 * n + i) = point.z;
        }
    }
}

/// Remedy 3, staged through shared memory: the block moves its 3 × 256 floats contiguously, and each thread picks its
/// struct out of shared memory. The stride of 3 words is odd, so no two lanes meet in a bank.
///
/// # Safety
/// `from` and `to` hold n elements; blocks have 256 threads.
#[kernel]
#[block_dim(256)]
pub unsafe fn stretch_staged_structs(n: u32, by: f32, from: &[Point], to: *mut Point) {
    // SAFETY: as the contract says.
    unsafe { staged(n as usize, by, from.as_ptr().cast(), to.cast()) }
}

/// The same update where the structs lie: each thread reads and writes its own.
///
/// # Safety
/// `points` holds n elements.
#[kernel]
pub unsafe fn stretch_in_place(n: u32, by: f32, points: *mut Point) {
    let i = index();
    if i < n as usize {
        // SAFETY: i < n, and only this thread touches the element.
        unsafe { *points.add(i) = (*points.add(i)).stretched(by) };
    }
}

/// In place and staged: a block's floats are all in shared memory before the first is written back.
///
/// # Safety
/// `points` holds n elements; blocks have 256 threads.
#[kernel]
#[block_dim(256)]
pub unsafe fn stretch_staged_in_place(n: u32, by: f32, points: *mut Point) {
    // SAFETY: as the contract says; a block reads and writes only its own elements.
    unsafe { staged(n as usize, by, points.cast(), points.cast()) }
}

/// Loads the block's floats contiguously, changes each struct in shared memory, stores them contiguously.
#[inline(always)]
unsafe fn staged(n: usize, by: f32, from: *const f32, to: *mut f32) {
    const FLOATS: usize = 3 * BLOCK as usize;
    let stage = shared_array![f32; FLOATS];
    let thread = thread::thread_idx_x() as usize;
    let first = thread::block_idx_x() as usize * FLOATS;
    // SAFETY: every index is below 3 n or inside the stage; barriers part the three steps.
    unsafe {
        for part in 0..3 {
            let i = part * BLOCK as usize + thread;
            if first + i < 3 * n {
                *stage.add(i) = *from.add(first + i);
            }
        }
        thread::sync_threads();
        if index() < n {
            let own = stage.add(3 * thread).cast::<Point>();
            *own = (*own).stretched(by);
        }
        thread::sync_threads();
        for part in 0..3 {
            let i = part * BLOCK as usize + thread;
            if first + i < 3 * n {
                *to.add(first + i) = *stage.add(i);
            }
        }
    }
}
