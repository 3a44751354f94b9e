//! A matrix copied to lines with another pitch: to lines that begin at multiples of 16 bytes, which the fast products need,
//! and back.
//!
//! Either side may begin at any element, so elements are moved one by one, neighbours by neighbouring lanes: a warp's
//! access is then as many bytes in a row as an element has, times 32. Each thread loads [`EACH`] of them before it
//! stores the first.

use cuda_std::prelude::*;

pub const THREADS: u32 = 256;
/// Elements of a thread.
pub const EACH: u32 = 8;
/// Elements of a line that a block copies.
pub const PIECE: u32 = THREADS * EACH;

/// Source and target of a copy, in elements.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "host", derive(cust_core::DeviceCopy))]
pub struct Lines {
    /// Lines of the source.
    pub lines: u32,
    /// Elements of one.
    pub len: u32,
    /// From one to the next.
    pub pitch: u32,
    /// Elements of a line of the result; those beyond the source's become zero, and so do whole lines.
    pub to_len: u32,
    /// From one to the next.
    pub to_pitch: u32,
    /// Blocks for each line: of [`PIECE`] elements of the result.
    pub pieces: u32,
}

#[inline(always)]
unsafe fn copy<T: Copy + Default>(p: Lines, from: *const T, to: *mut T) {
    let block = thread::block_idx_x();
    // At least 1: a division by zero would be checked for.
    let (line, piece) = (block / p.pieces.max(1), block % p.pieces.max(1));
    let first = piece * PIECE + thread::thread_idx_x();
    let from = from.wrapping_add(line as usize * p.pitch as usize);
    let to = to.wrapping_add(line as usize * p.to_pitch as usize);
    let mut elements = [T::default(); EACH as usize];
    for i in 0..EACH {
        cuda_std::unroll!(full);
        let at = first + i * THREADS;
        if line < p.lines && at < p.len {
            // SAFETY: inside the source.
            elements[i as usize] = unsafe { *from.add(at as usize) };
        }
    }
    for i in 0..EACH {
        cuda_std::unroll!(full);
        let at = first + i * THREADS;
        if at < p.to_len {
            // SAFETY: inside the result, which the caller promised.
            unsafe { *to.add(at as usize) = elements[i as usize] };
        }
    }
}

macro_rules! kernels {
    ($($name:ident: $t:ty;)*) => { listed! { $($name)* } $(
        /// Copies lines of elements of this size.
        ///
        /// # Safety
        /// Source and result are as `p` says and do not overlap; `p.pieces` blocks for each line of the result.
        #[kernel]
        #[block_dim(256, 1, 1)]
        pub unsafe fn $name(p: Lines, from: *const $t, to: *mut $t) {
            // SAFETY: the kernel's own contract.
            unsafe { copy(p, from, to) }
        }
    )*};
}
kernels! {
    lines_1_byte: u8;
    lines_2_bytes: u16;
    lines_4_bytes: u32;
}
