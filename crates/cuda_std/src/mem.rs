//! The device heap, and the sizes of shared memory.

use alloc::alloc::{GlobalAlloc, Layout};
use core::ffi::c_void;

unsafe extern "C" {
    /// Allocates `size` bytes on the device heap, aligned to 16; null when the heap is full.
    ///
    /// The heap is global memory of a fixed size (8 MiB unless the host sets `CU_LIMIT_MALLOC_HEAP_SIZE`) and slow. On
    /// the host this is C's `malloc`.
    ///
    /// # Safety
    ///
    /// The block must be freed exactly once, with [`free`] on the same side.
    pub fn malloc(size: usize) -> *mut c_void;

    /// Frees a block from [`malloc`].
    ///
    /// # Safety
    ///
    /// `ptr` must be null or come from [`malloc`], and must not have been freed yet.
    pub fn free(ptr: *mut c_void);
}

/// The alignment that [`malloc`] guarantees, on the device as on 64-bit hosts.
const MALLOC_ALIGN: usize = 16;

/// The device heap as Rust's allocator, used by `Box`, `Vec` and `String` in a kernel.
#[derive(Debug, Clone, Copy, Default)]
pub struct CUDAAllocator;

// SAFETY: blocks come from `malloc`, which never hands out memory twice; alignments above its own are met within a
// larger block whose start is kept just before the aligned address.
unsafe impl GlobalAlloc for CUDAAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() <= MALLOC_ALIGN {
            // SAFETY: `malloc` accepts any size.
            return unsafe { malloc(layout.size()) }.cast();
        }
        let Some(size) = layout.size().checked_add(layout.align()) else { return core::ptr::null_mut() };
        // SAFETY: any size may be asked for.
        let start: *mut u8 = unsafe { malloc(size) }.cast();
        if start.is_null() {
            return start;
        }
        // At least 16 bytes in, since `start` is a multiple of 16 and the alignment is a larger power of two.
        let aligned = start.wrapping_add(layout.align() - start.addr() % layout.align());
        // SAFETY: the 8 bytes before `aligned` lie in the block (see above) and are aligned for a pointer.
        unsafe { aligned.cast::<*mut u8>().sub(1).write(start) };
        aligned
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        let start = if layout.align() <= MALLOC_ALIGN {
            ptr
        } else {
            // SAFETY: `alloc` wrote the block's start there.
            unsafe { ptr.cast::<*mut u8>().sub(1).read() }
        };
        // SAFETY: `start` is what `malloc` returned for this block.
        unsafe { free(start.cast()) }
    }
}

/// The allocator of device code.
#[cfg(target_os = "cuda")]
#[global_allocator]
pub static GLOBAL_ALLOCATOR: CUDAAllocator = CUDAAllocator;

/// The bytes of dynamic shared memory per block of this launch.
#[inline(always)]
pub fn dynamic_smem_size() -> u32 {
    let bytes: u32;
    // SAFETY: reading a special register has no precondition.
    unsafe {
        crate::__blockwise_ptx!("mov.u32 {bytes}, %dynamic_smem_size;", bytes = out(u32) bytes; options(pure, nomem))
    };
    bytes
}

/// The bytes of shared memory per block, static and dynamic, rounded up to the hardware's allocation unit.
#[inline(always)]
pub fn total_smem_size() -> u32 {
    let bytes: u32;
    // SAFETY: reading a special register has no precondition.
    unsafe {
        crate::__blockwise_ptx!("mov.u32 {bytes}, %total_smem_size;", bytes = out(u32) bytes; options(pure, nomem))
    };
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_keep_the_alignment_and_size_asked_for() {
        for align in [1, 8, 16, 32, 128, 4096] {
            for size in [1, 7, 64, 1000] {
                let layout = Layout::from_size_align(size, align).unwrap();
                // SAFETY: the layout is not empty; the block is written within its size and given back with its layout.
                unsafe {
                    let blocks: [*mut u8; 4] = core::array::from_fn(|_| CUDAAllocator.alloc(layout));
                    for (i, block) in blocks.iter().enumerate() {
                        assert!(!block.is_null() && block.addr() % align == 0);
                        block.write_bytes(i as u8, size);
                    }
                    for (i, block) in blocks.iter().enumerate() {
                        assert!((0..size).all(|byte| block.add(byte).read() == i as u8));
                        CUDAAllocator.dealloc(*block, layout);
                    }
                }
            }
        }
    }
}
