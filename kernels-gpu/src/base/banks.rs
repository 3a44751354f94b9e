//! Shared memory: 32 banks of 4 bytes, each giving one word in a wavefront.
//!
//! One warp fills an array contiguously, then each lane reads the element that the host chose for it: a stride, one
//! element for all, a column of a matrix. How many wavefronts that read takes is the whole lesson: the number of
//! different words wanted from the fullest bank, group by group (32 lanes of up to 4 bytes, 16 lanes of 8, 8 of 16).

use cuda_std::prelude::*;
use cuda_std::{misc, ptx, shared_array};

/// Elements of the array: enough for 32 lanes with stride 33, and for a 32 × 33 matrix.
pub const LEN: usize = 32 * 33;

/// 16 bytes, moved by one access.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "host", derive(cust_core::DeviceCopy, bytemuck::AnyBitPattern))]
pub struct Wide(pub [u32; 4]);

/// Content of an element of the array, so that a wrong read shows.
pub trait Element: Copy {
    /// The content of element `i`.
    fn numbered(i: u32) -> Self;

    /// Writes an element.
    ///
    /// # Safety
    /// As for any write.
    #[inline(always)]
    unsafe fn write(at: *mut Self, value: Self) {
        // SAFETY: the caller's promise.
        unsafe { at.write_volatile(value) }
    }

    /// Reads an element by one access that is never merged, moved or forgotten.
    ///
    /// # Safety
    /// As for any read; the element is in shared memory.
    #[inline(always)]
    unsafe fn read(at: *const Self) -> Self {
        // SAFETY: the caller's promise.
        unsafe { at.read_volatile() }
    }
}

impl Element for Wide {
    #[inline(always)]
    fn numbered(i: u32) -> Self {
        Self([i, !i, i << 8, i ^ 0x5555])
    }

    /// A volatile write of a struct goes through a copy of it in local memory.
    #[inline(always)]
    unsafe fn write(at: *mut Self, value: Self) {
        // SAFETY: the caller's promise.
        unsafe { at.write(value) }
    }

    /// A volatile read of a struct is one of each field: only the instruction itself is 16 bytes wide.
    #[inline(always)]
    unsafe fn read(at: *const Self) -> Self {
        let (a, b, c, d): (u32, u32, u32, u32);
        // SAFETY: the caller's promise.
        unsafe {
            ptx!("{{ .reg .u64 shared; cvta.to.shared.u64 shared, {at};",
                "ld.volatile.shared.v4.u32 {{{a}, {b}, {c}, {d}}}, [shared]; }}",
                a = out(u32) a, b = out(u32) b, c = out(u32) c, d = out(u32) d, at = in(ptr) at);
        }
        Self([a, b, c, d])
    }
}

macro_rules! elements {
    ($($element:ty: |$i:ident| $value:expr;)*) => {$(
        impl Element for $element {
            #[inline(always)]
            fn numbered($i: u32) -> Self {
                $value
            }
        }
    )*};
}
elements! {
    u8: |i| (i ^ i >> 8) as u8;
    u16: |i| i as u16;
    u32: |i| i;
    u64: |i| u64::from(i) << 32 | u64::from(!i);
}

#[inline(always)]
unsafe fn read<T: Element>(array: *mut T, rounds: u32, index: &[u32], out: *mut T, cycles: *mut u64) {
    let lane = thread::thread_idx_x() as usize;
    // SAFETY: one warp of 32 lanes; the contract keeps each index below LEN.
    unsafe {
        let mut i = lane;
        while i < LEN {
            T::write(array.add(i), T::numbered(i as u32));
            i += 32;
        }
        let chosen = array.add(*index.get_unchecked(lane) as usize);
        thread::sync_threads();
        let start = misc::clock();
        let mut value = T::read(chosen);
        for _ in 1..rounds {
            value = T::read(chosen);
        }
        thread::sync_threads();
        let end = misc::clock();
        *out.add(lane) = value;
        if lane == 0 {
            *cycles = end - start;
        }
    }
}

macro_rules! kernels {
    ($($name:ident $element:ty;)*) => { listed! { $($name)* } $(
        /// Each lane reads the array's element `index[lane]`, `rounds` times, and writes it to `out[lane]`.
        ///
        /// # Safety
        /// One block of 32 threads; `index` and `out` hold 32 elements, each index below [`LEN`].
        #[kernel]
        #[block_dim(32)]
        pub unsafe fn $name(rounds: u32, index: &[u32], out: *mut $element, cycles: *mut u64) {
            // SAFETY: as the contract says.
            unsafe { read(shared_array![$element; LEN], rounds, index, out, cycles) }
        }
    )*};
}
kernels! {
    banks_1_byte u8;
    banks_2_bytes u16;
    banks_4_bytes u32;
    banks_8_bytes u64;
    banks_16_bytes Wide;
}
