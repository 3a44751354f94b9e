//! Resources that the kernels of one context share: its memory, the heap for `malloc`, and the buffer for `printf`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::memory::{Heap, Memory};

/// A context's resources for its kernels. Its heap persists across launches.
#[derive(Debug)]
pub struct Quota {
    memory: Arc<Memory>,
    heap: Arc<Heap>,
    printf: AtomicUsize,
}

impl Quota {
    pub(crate) fn new(memory: Arc<Memory>, heap: u64, printf: usize) -> Self {
        Quota { memory, heap: Arc::new(Heap::new(heap)), printf: AtomicUsize::new(printf) }
    }

    /// The device's memory as seen by the context.
    pub fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    /// Bytes that `malloc` in kernels may take (`CU_LIMIT_MALLOC_HEAP_SIZE`).
    pub fn set_heap_limit(&self, bytes: u64) {
        self.heap.set_limit(bytes);
    }

    /// How many bytes kernels may print before the output is flushed (`CU_LIMIT_PRINTF_FIFO_SIZE`).
    pub fn set_printf_limit(&self, bytes: usize) {
        self.printf.store(bytes, Ordering::Relaxed);
    }

    /// Frees what kernels have allocated with `malloc` and not freed, like the end of a context.
    pub fn clear(&self) {
        self.memory.clear_heap(&self.heap);
    }

    pub(crate) fn heap(&self) -> &Arc<Heap> {
        &self.heap
    }

    pub(crate) fn printf_limit(&self) -> usize {
        self.printf.load(Ordering::Relaxed)
    }
}
