//! One allocation: its addresses and the host bytes behind them.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::backing::Backing;
use super::heap::Heap;
use super::physical::Physical;
use super::reach::Rights;
use super::store::Share;

/// Unit in which the hardware maps device memory that the host allocates, and the least alignment of an allocation. (`cuMemAlloc`
/// promises 256; drivers give 512.)
pub(super) const GRANULE: u64 = 512;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllocationKind {
    /// Made by the host.
    Buffer,
    /// Host memory made visible to kernels.
    Host,
    /// A `.global` variable of a module.
    Global,
    /// A `.global` variable with `.attribute(.managed)`: the host reaches it at the same address.
    Managed,
    /// A `.const` variable of a module: kernels may not write it.
    Const,
    /// Made by `malloc` in a kernel.
    Heap,
}

/// A range of device addresses and the host bytes behind it.
///
/// The bytes are accessed only through raw pointers, never through references: kernels on several threads and the host
/// may touch them at the same time, as on a GPU.
#[derive(Debug)]
pub struct Allocation {
    address: u64,
    size: u64,
    /// Bytes up to the end of its last granule, which the hardware maps whole: an access there is a mistake, and no fault.
    extent: u64,
    /// Bytes that an access can reach: the extent, or none once it is freed.
    reach: AtomicU64,
    kind: AllocationKind,
    label: Option<Box<str>>,
    bytes: NonNull<u8>,
    /// Owner of the bytes; none if the host lends them.
    backing: Option<Backing>,
    /// The same for mapped memory, which may also be mapped elsewhere.
    physical: Option<Arc<Physical>>,
    /// The heap it was taken from.
    heap: Option<Arc<Heap>>,
    /// Its share of the device's memory; none for what the host lends, and for a mapping, whose memory has its own
    /// share.
    share: Mutex<Option<Share>>,
    /// The device whose memory it is.
    device: u32,
    /// The context that made it.
    context: u64,
    /// Which devices can access it, if the program says so for the allocation itself.
    rights: Option<Arc<Rights>>,
}

// SAFETY: the pointer is to memory that this value owns or that `lent`'s caller keeps alive, and every access goes
// through raw pointers or atomics.
unsafe impl Send for Allocation {}
// SAFETY: as above; no access makes a reference to the bytes.
unsafe impl Sync for Allocation {}

impl Allocation {
    fn new(address: u64, size: u64, kind: AllocationKind, bytes: NonNull<u8>) -> Self {
        Allocation {
            address,
            size,
            extent: size,
            reach: AtomicU64::new(size),
            kind,
            label: None,
            bytes,
            backing: None,
            physical: None,
            heap: None,
            share: Mutex::new(None),
            device: 0,
            context: 0,
            rights: None,
        }
    }

    pub(super) fn zeroed(address: u64, size: u64, kind: AllocationKind, label: Option<&str>) -> Option<Self> {
        let extent = size.checked_next_multiple_of(GRANULE)?;
        let backing = Backing::zeroed(usize::try_from(extent).ok()?)?;
        let whole = Self::new(address, size, kind, backing.bytes());
        let (label, reach) = (label.map(Into::into), AtomicU64::new(extent));
        Some(Allocation { label, backing: Some(backing), extent, reach, ..whole })
    }

    /// Zeroed bytes in separate pages, whose device address is their host address.
    pub(super) fn at_host(size: u64, kind: AllocationKind, label: Option<&str>) -> Option<Self> {
        let backing = Backing::pages(usize::try_from(size).ok()?)?;
        let whole = Self::new(backing.bytes().as_ptr() as u64, size, kind, backing.bytes());
        Some(Allocation { label: label.map(Into::into), backing: Some(backing), ..whole })
    }

    /// # Safety
    /// `host` must be valid for `size` bytes for as long as the value lives, and not null.
    pub(super) unsafe fn lent(host: *mut u8, size: u64) -> Self {
        // SAFETY: not null, by this function's contract.
        let bytes = unsafe { NonNull::new_unchecked(host) };
        Self::new(host as u64, size, AllocationKind::Host, bytes)
    }

    /// `size` bytes of physical memory starting at `offset`; `None` if there are fewer.
    pub(super) fn mapped(
        address: u64,
        physical: &Arc<Physical>,
        offset: u64,
        size: u64,
        rights: &Arc<Rights>,
    ) -> Option<Self> {
        let end = offset.checked_add(size)?;
        if size == 0 || end > physical.size() {
            return None;
        }
        // SAFETY: inside the physical memory.
        let bytes = unsafe { physical.bytes().add(offset as usize) };
        let (device, rights) = (physical.device(), Some(rights.clone()));
        let whole = Self::new(address, size, AllocationKind::Buffer, bytes);
        Some(Allocation { physical: Some(physical.clone()), device, rights, ..whole })
    }

    /// First device address.
    #[inline]
    pub fn address(&self) -> u64 {
        self.address
    }

    #[inline]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The address one past its end.
    #[inline]
    pub fn end(&self) -> u64 {
        self.address + self.size
    }

    /// Bytes up to the end of its last granule.
    #[inline]
    pub(crate) fn extent(&self) -> u64 {
        self.extent
    }

    /// Whether an access at `address` finds it: it contains the address, and is not freed.
    #[inline]
    pub(crate) fn reaches(&self, address: u64) -> bool {
        address.wrapping_sub(self.address) < self.reach.load(Ordering::Relaxed)
    }

    /// No access finds it from now on, on any thread.
    pub(super) fn end_reach(&self) {
        self.reach.store(0, Ordering::Relaxed);
    }

    /// The same, owned by a context, with its share of the device's memory.
    pub(super) fn of(self, context: u64, share: Share) -> Self {
        Allocation { device: share.device(), context, share: Mutex::new(Some(share)), ..self }
    }

    /// Returns its share of the device's memory. The bytes may exist for a moment longer.
    pub(super) fn uncount(&self) {
        self.share.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// The same, taken from a heap.
    pub(super) fn of_heap(self, heap: Arc<Heap>) -> Self {
        Allocation { heap: Some(heap), ..self }
    }

    /// The same, with its own access rights.
    pub(super) fn under(self, rights: Arc<Rights>) -> Self {
        Allocation { rights: Some(rights), ..self }
    }

    /// Whether it is host memory, which all devices can access.
    pub(super) fn is_hosts(&self) -> bool {
        matches!(self.kind, AllocationKind::Host | AllocationKind::Managed)
    }

    /// Tells whether it owns its bytes, in pages that hold nothing else.
    pub fn has_own_pages(&self) -> bool {
        self.backing.as_ref().is_some_and(Backing::has_own_pages)
    }

    pub(super) fn context(&self) -> u64 {
        self.context
    }

    /// Which devices can access it, if the program says so for this allocation.
    pub fn rights(&self) -> Option<&Rights> {
        self.rights.as_deref()
    }

    /// Whether kernels of a device may read and may write it, where that does not depend on the context.
    pub fn access_of(&self, device: u32) -> (bool, bool) {
        match &self.rights {
            Some(rights) => rights.of(device),
            None => (true, self.kind != AllocationKind::Const),
        }
    }

    /// The number of the device whose memory it is; `None` for host memory.
    pub fn device(&self) -> Option<u32> {
        (!self.is_hosts()).then_some(self.device)
    }

    pub(super) fn heap(&self) -> Option<&Arc<Heap>> {
        self.heap.as_ref()
    }

    /// Whether its bytes are lent by the program.
    pub(super) fn is_lent(&self) -> bool {
        self.backing.is_none() && self.physical.is_none()
    }

    #[inline]
    pub fn kind(&self) -> AllocationKind {
        self.kind
    }

    /// The variable's name, for variables.
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    /// The host bytes behind the allocation. A running kernel may change them at any time.
    #[inline]
    pub fn as_ptr(&self) -> *mut u8 {
        self.bytes.as_ptr()
    }

    pub(super) fn at(&self, offset: u64, bytes: u64) -> *mut u8 {
        assert!(offset <= self.extent && bytes <= self.extent - offset);
        // SAFETY: within the allocation, by the assertion.
        unsafe { self.bytes.as_ptr().add(offset as usize) }
    }

    pub(super) fn read(&self, offset: u64, to: &mut [u8]) {
        let from = self.at(offset, to.len() as u64);
        // SAFETY: `at` checked the range. If a kernel writes these bytes at the same time, that is a race in the user's
        // program; the read then returns a mixture of old and new bytes, all of which are valid for u8.
        unsafe { std::ptr::copy(from, to.as_mut_ptr(), to.len()) }
    }

    pub(super) fn write(&self, offset: u64, from: &[u8]) {
        let to = self.at(offset, from.len() as u64);
        // SAFETY: as in `read`.
        unsafe { std::ptr::copy(from.as_ptr(), to, from.len()) }
    }

    pub(super) fn copy_from(&self, offset: u64, source: &Allocation, from: u64, bytes: u64) {
        let (to, from) = (self.at(offset, bytes), source.at(from, bytes));
        // SAFETY: both ranges were checked; `copy` allows overlap.
        unsafe { std::ptr::copy(from, to, bytes as usize) }
    }

    pub(super) fn fill(&self, offset: u64, pattern: &[u8], bytes: u64) {
        let to = self.at(offset, bytes);
        if pattern.iter().all(|&b| b == pattern[0]) {
            // SAFETY: the range was checked.
            unsafe { std::ptr::write_bytes(to, pattern[0], bytes as usize) }
            return;
        }
        for i in 0..bytes as usize {
            // SAFETY: the range was checked and `i` is in it.
            unsafe { to.add(i).write(pattern[i % pattern.len()]) }
        }
    }
}
