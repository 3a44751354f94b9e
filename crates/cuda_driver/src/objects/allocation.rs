//! Memory owned by contexts: which context owns an address, and where the memory comes from.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use virtual_gpu::memory::{Allocation, AllocationKind, Rights};

use crate::abi::{Answer, CUcontext, CUdeviceptr, CUmemoryPool, CUresult};
use crate::check::{self, host_pages};
use crate::objects::context::{CONTEXTS, Context, current};
use crate::objects::device::{Device, code_of, memory};
use crate::objects::managed;
use crate::objects::process::memory_of_machine;
use crate::objects::registry::Belongings;

/// Where an allocation comes from, which decides what may free it and what is said about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// `cuMemAlloc` and its kin.
    Device,
    /// `cuMemAllocAsync`, from this pool.
    Pool {
        pool: CUmemoryPool,
        memory: PoolMemory,
    },
    /// A node of a graph, from a pool of the graph's own.
    Graph {
        memory: PoolMemory,
    },
    Managed,
    /// `cuMemAllocHost` and its kin.
    PinnedHost {
        /// `CU_MEMHOSTALLOC_…` flags.
        flags: u32,
    },
    Registered,
}

/// The kind of memory that a pool provides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolMemory {
    Device,
    Host,
    Managed,
}

impl Origin {
    fn pool_memory(self) -> Option<PoolMemory> {
        match self {
            Self::Pool { memory, .. } | Self::Graph { memory } => Some(memory),
            _ => None,
        }
    }

    pub fn on_host(self) -> bool {
        !matches!((self, self.pool_memory()), (Self::Device, _) | (_, Some(PoolMemory::Device)))
    }

    pub fn is_managed(self) -> bool {
        matches!((self, self.pool_memory()), (Self::Managed, _) | (_, Some(PoolMemory::Managed)))
    }

    /// Whether it is the host's, pinned.
    pub fn is_pinned(self) -> bool {
        self.on_host() && !self.is_managed()
    }
}

/// All allocations that contexts own, by their first address.
struct Owned(Mutex<BTreeMap<u64, Known>>);

#[derive(Clone, Copy)]
struct Known {
    context: CUcontext,
    origin: Origin,
    bytes: usize,
}

static OWNED: Owned = Owned(Mutex::new(BTreeMap::new()));

impl Owned {
    fn with<T>(&self, act: impl FnOnce(&mut BTreeMap<u64, Known>) -> T) -> T {
        // One insertion or removal each: whole after a panic elsewhere.
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The last piece of host memory that begins at or before an address.
    fn on_host_before(&self, end: u64) -> Option<(u64, Known)> {
        let (start, known) =
            self.with(|owned| owned.range(..end).next_back().map(|(&at, &known)| (at, known)))?;
        known.origin.on_host().then_some((start, known))
    }
}

impl Belongings for Owned {
    fn forget(&self, context: CUcontext) {
        let gone: Vec<_> =
            self.with(|owned| owned.extract_if(.., |_, known| known.context == context).collect());
        gone.into_iter().for_each(|(address, known)| give_back(address, known.origin));
    }
}

/// Records a context as the owner of the allocation at an address.
fn own(context: &Context, address: u64, bytes: usize, origin: Origin) {
    context.has(&OWNED);
    let known = Known { context: context.handle, origin, bytes };
    OWNED.with(|owned| owned.insert(address, known));
}

/// Fails unless the machine has as much memory as would be pinned: pinned memory is resident, touched or not.
fn check_pinned(more: usize) -> Answer {
    let pinned = |known: &&Known| known.origin.is_pinned();
    let now: usize = OWNED.with(|owned| owned.values().filter(pinned).map(|known| known.bytes).sum());
    let fits = memory_of_machine().is_none_or(|memory| now.saturating_add(more) as u64 <= memory);
    if fits { Ok(()) } else { Err(CUresult::OUT_OF_MEMORY) }
}

/// The living context that owns the allocation starting at an address, and where it comes from.
pub fn owner_of(address: u64) -> Option<(Arc<Context>, Origin)> {
    let Known { context, origin, .. } = OWNED.with(|owned| owned.get(&address).copied())?;
    Some((CONTEXTS.get(context).ok()?, origin))
}

/// Whether all of these bytes are host memory that the device can access.
pub fn is_pinned(address: usize, bytes: usize) -> bool {
    let (address, bytes) = (address as u64, bytes as u64);
    OWNED.on_host_before(address.saturating_add(1)).is_some_and(|(start, known)| {
        address.checked_add(bytes).is_some_and(|end| end <= start + known.bytes as u64)
    })
}

pub fn disown(address: u64) -> Option<Origin> {
    OWNED.with(|owned| owned.remove(&address)).map(|known| known.origin)
}

/// Takes an allocation from its context, and frees it. Work on it is done.
pub fn release(address: u64) {
    if let Some(origin) = disown(address) {
        give_back(address, origin);
    }
}

/// The owner's work on it is done. A kernel of another context that still uses it keeps its bytes, or is waited for if
/// they are the program's.
fn give_back(address: u64, origin: Origin) {
    if origin.on_host() {
        host_pages::freed(address);
    }
    // Only an address that is no allocation's could fail, and the table of owners had it.
    let _ = memory().free(address);
    if origin.on_host() {
        check::tell(|sanitizer| sanitizer.host_freed(address));
    }
}

pub fn allocate(bytes: usize, origin: Origin) -> Answer<CUdeviceptr> {
    let context = current()?;
    if bytes == 0 {
        return Err(CUresult::INVALID_VALUE);
    }
    let address = context.quota.memory().alloc(bytes as u64).map_err(|error| code_of(&error))?;
    allocated(&context, address, bytes, origin);
    Ok(address)
}

/// The same from a pool of a device, whose `rights` say which devices can access it; for a context that may be another
/// device's.
pub fn allocate_from_pool(
    context: &Context,
    device: &Device,
    bytes: usize,
    rights: &Arc<Rights>,
    origin: Origin,
) -> Answer<CUdeviceptr> {
    if bytes == 0 {
        return Err(CUresult::INVALID_VALUE);
    }
    let (size, memory) = (bytes as u64, device.gpu.memory());
    let address = match origin.pool_memory() {
        Some(PoolMemory::Host) => {
            check_pinned(bytes)?;
            memory.alloc_shared(size, AllocationKind::Host, rights)
        }
        // All devices can access it, whatever its pool says.
        Some(PoolMemory::Managed) => memory.alloc_kind(size, AllocationKind::Host, None),
        _ => memory.alloc_shared(size, AllocationKind::Buffer, rights),
    };
    let address = address.map_err(|error| code_of(&error))?;
    allocated(context, address, bytes, origin);
    Ok(address)
}

/// Records a context as the owner of an allocation.
fn allocated(context: &Context, address: u64, bytes: usize, origin: Origin) {
    own(context, address, bytes, origin);
    // The host may write its own memory at any time without being noticed.
    let label = origin.on_host().then_some(sanitizer::HOST_MEMORY);
    check::tell(|sanitizer| sanitizer.host_allocated(address, bytes as u64, label));
    if origin.is_managed() {
        managed::forget(address, bytes);
    }
}

/// Allocates page-aligned host memory that the current context owns and the device can access.
pub fn allocate_on_host(bytes: usize, origin: Origin) -> Answer<usize> {
    let context = current()?;
    if bytes == 0 {
        return Err(CUresult::INVALID_VALUE);
    }
    if origin != Origin::Managed {
        check_pinned(bytes)?;
    }
    let address = context.quota.memory().alloc_kind(bytes as u64, AllocationKind::Host, None);
    let address = address.map_err(|error| code_of(&error))?;
    allocated(&context, address, bytes, origin);
    watch(address, bytes as u64);
    Ok(address as usize)
}

/// Lets the checks follow what the host's own code does with memory that it reaches.
pub fn watch(address: u64, bytes: u64) {
    let reached = |found: &Allocation| found.device().is_none() && found.has_own_pages();
    if memory().find(address).is_some_and(|found| reached(&found)) {
        host_pages::allocated(address, bytes);
    }
}

pub fn register(address: usize, bytes: usize) -> Answer {
    let context = current()?;
    check_pinned(bytes)?;
    let (start, end) = (address as u64, address.checked_add(bytes).ok_or(CUresult::INVALID_VALUE)? as u64);
    if OWNED.on_host_before(end).is_some_and(|(before, known)| before + known.bytes as u64 > start) {
        return Err(CUresult::HOST_MEMORY_ALREADY_REGISTERED);
    }
    // SAFETY: the program keeps what it registers until it has unregistered it, as the driver API asks.
    let mapped = unsafe { context.quota.memory().map_host(address as *mut u8, bytes as u64) };
    mapped.map_err(|error| code_of(&error))?;
    allocated(&context, start, bytes, Origin::Registered);
    Ok(())
}
