//! The heap behind `malloc` and `free` in kernels. It persists across launches, like a context.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Allocation, AllocationKind, Memory};

/// Sizes are rounded up to this, which bounds how many small pieces a kernel can create.
const GRAIN: u64 = 16;

/// The heap of one context's kernels.
#[derive(Debug)]
pub struct Heap {
    limit: AtomicU64,
    used: AtomicU64,
}

impl Heap {
    /// An empty heap of at most `limit` bytes (`CU_LIMIT_MALLOC_HEAP_SIZE`).
    pub fn new(limit: u64) -> Self {
        Heap { limit: AtomicU64::new(limit), used: AtomicU64::new(0) }
    }

    /// Changes its size. Existing allocations stay.
    pub fn set_limit(&self, limit: u64) {
        self.limit.store(limit, Ordering::Relaxed);
    }

    fn take(&self, bytes: u64) -> Option<Share<'_>> {
        let bytes = bytes.checked_next_multiple_of(GRAIN)?;
        let limit = self.limit.load(Ordering::Relaxed);
        let more = |used: u64| used.checked_add(bytes).filter(|&used| used <= limit);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(Share { heap: self, bytes })
    }

    pub(super) fn give_back(&self, bytes: u64) {
        self.used.fetch_sub(bytes.next_multiple_of(GRAIN), Ordering::Relaxed);
    }
}

/// Bytes reserved until an allocation takes them over.
struct Share<'a> {
    heap: &'a Heap,
    bytes: u64,
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        self.heap.give_back(self.bytes);
    }
}

impl Memory {
    /// `malloc` in a kernel: the address of zeroed bytes, if the heap and the device have room.
    pub(crate) fn alloc_heap(&self, heap: &Arc<Heap>, bytes: u64) -> Option<u64> {
        let share = heap.take(bytes)?;
        let label = Some("malloc in a kernel");
        let address = self
            .alloc_with(bytes, AllocationKind::Heap, label, |allocation| allocation.of_heap(heap.clone()))
            .ok()?;
        std::mem::forget(share);
        Some(address)
    }

    /// `free` in a kernel. False if the address does not come from `malloc`, or was already freed.
    pub(crate) fn free_heap(&self, address: u64) -> bool {
        self.take_out_if(address, |allocation| allocation.kind() == AllocationKind::Heap).is_ok()
    }

    /// Frees everything left in a heap.
    pub fn clear_heap(&self, heap: &Arc<Heap>) {
        let of_heap = |a: &&Arc<Allocation>| a.heap().is_some_and(|of| Arc::ptr_eq(of, heap));
        let left: Vec<u64> = self.state().allocations.values().filter(of_heap).map(|a| a.address()).collect();
        for address in left {
            // A kernel may have freed it first.
            self.free_heap(address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_holds_and_what_is_freed_can_be_taken_again() {
        let memory = Memory::new(1 << 30);
        let heap = Arc::new(Heap::new(100));
        let a = memory.alloc_heap(&heap, 50).unwrap();
        assert!(memory.alloc_heap(&heap, 50).is_none() && memory.alloc_heap(&heap, u64::MAX).is_none());
        let b = memory.alloc_heap(&heap, 20).unwrap();
        assert!(memory.alloc_heap(&heap, 1).is_none());
        assert!(memory.free_heap(a) && !memory.free_heap(a) && !memory.free_heap(b + 8));
        assert!(memory.alloc_heap(&heap, 64).is_some());
        let other = Arc::new(Heap::new(100));
        let kept = memory.alloc_heap(&other, 100 - GRAIN + 4).unwrap();
        memory.clear_heap(&heap);
        assert!(memory.find(b).is_none() && memory.find(kept).is_some());
        heap.set_limit(200);
        assert!(memory.alloc_heap(&heap, 200 - 8).is_some());
        // The heap must not give what the device does not have.
        heap.set_limit(u64::MAX);
        assert!(memory.alloc_heap(&heap, 1 << 31).is_none() && memory.alloc_heap(&heap, 1 << 28).is_some());
    }
}
