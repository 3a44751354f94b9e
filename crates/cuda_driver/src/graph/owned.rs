//! Ownership of graphs: memory allocated by nodes, and the program's objects that graphs keep alive.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use virtual_gpu::memory::Rights;

use super::{GRAPHS, NODES, add};
use crate::abi::{
    Answer, CUDA_MEM_ALLOC_NODE_PARAMS, CUdevice, CUdeviceptr, CUgraph, CUgraphNode, CUgraphNodeType,
    CUhostFn, CUmemAccess_flags, CUmemAllocationType, CUmemLocationType, CUresult, Handle, In, Out,
};
use crate::objects::allocation::{
    Origin, PoolMemory, allocate_from_pool, owner_of, release as release_memory,
};
use crate::objects::context::{Context, current};
use crate::objects::device::{Device, accessor, device, devices, initialised};
use crate::objects::registry::Registry;
use crate::objects::work::Work;

/// How many bytes of a device's memory graphs use.
#[derive(Default)]
struct Use {
    now: AtomicU64,
    most: AtomicU64,
}

fn used(device: &Device) -> &'static Use {
    static USED: OnceLock<Vec<Use>> = OnceLock::new();
    &USED.get_or_init(|| devices().iter().map(|_| Use::default()).collect())[device.number as usize]
}

/// Memory that a node allocates: one address for all launches, there from the node's making until the last graph or
/// launch that has the node is gone.
pub struct GraphMemory {
    pub address: CUdeviceptr,
    pub params: CUDA_MEM_ALLOC_NODE_PARAMS,
    device: &'static Device,
}

// SAFETY: the pointers among the parameters are only handed back to the program, never followed.
unsafe impl Send for GraphMemory {}
// SAFETY: as above.
unsafe impl Sync for GraphMemory {}

impl Drop for GraphMemory {
    fn drop(&mut self) {
        used(self.device).now.fetch_sub(self.params.bytesize as u64, Ordering::Relaxed);
        // If its context was destroyed, that has freed it.
        if let Some((_, Origin::Graph { .. })) = owner_of(self.address) {
            release_memory(self.address);
        }
    }
}

impl Work for GraphMemory {
    fn kind(&self) -> CUgraphNodeType {
        CUgraphNodeType::MEM_ALLOC
    }

    fn perform(&self, _context: &Context) -> Answer {
        Ok(())
    }
}

/// Frees a graph's memory, which stays for its next launch.
struct Release(CUdeviceptr);

impl Work for Release {
    fn kind(&self) -> CUgraphNodeType {
        CUgraphNodeType::MEM_FREE
    }

    fn perform(&self, _context: &Context) -> Answer {
        Ok(())
    }
}

/// The step that allocates; the memory already exists.
pub fn allocation_of(mut params: CUDA_MEM_ALLOC_NODE_PARAMS) -> Answer<Arc<GraphMemory>> {
    let memory = match params.poolProps.allocType.try_into()? {
        CUmemAllocationType::PINNED => PoolMemory::Device,
        CUmemAllocationType::MANAGED => PoolMemory::Managed,
        CUmemAllocationType::INVALID => return Err(CUresult::INVALID_VALUE),
    };
    match params.poolProps.location.r#type.try_into()? {
        CUmemLocationType::DEVICE if params.poolProps.handleTypes == 0 => {}
        CUmemLocationType::HOST_NUMA_CURRENT => return Err(CUresult::INVALID_VALUE),
        _ => return Err(CUresult::NOT_SUPPORTED),
    }
    let device = device(params.poolProps.location.id)?;
    let rights = Rights::none();
    rights.set(device.number as u32, true, true);
    // SAFETY: the program vouches for its array of descriptions.
    let accesses = unsafe { In::new(params.accessDescs) }.array(params.accessDescCount)?;
    for access in accesses {
        let accessor = accessor(access.location, device)?;
        let flags = CUmemAccess_flags::try_from(access.flags)?;
        rights.set(accessor.number as u32, flags.reads(), flags.writes());
    }
    let context = current()?;
    let address = allocate_from_pool(&context, device, params.bytesize, &rights, Origin::Graph { memory })?;
    params.dptr = address;
    let (used, bytes) = (used(device), params.bytesize as u64);
    let now = used.now.fetch_add(bytes, Ordering::Relaxed) + bytes;
    used.most.fetch_max(now, Ordering::Relaxed);
    Ok(Arc::new(GraphMemory { address, params, device }))
}

/// The same for an allocation of `bytes` in a device's stream under capture.
pub fn captured_allocation(device: &Device, bytes: usize) -> Answer<Arc<GraphMemory>> {
    // SAFETY: all of it may be zero.
    let mut params: CUDA_MEM_ALLOC_NODE_PARAMS = unsafe { std::mem::zeroed() };
    params.poolProps.allocType = CUmemAllocationType::PINNED as u32;
    params.poolProps.location.r#type = CUmemLocationType::DEVICE as u32;
    params.poolProps.location.id = device.number;
    params.bytesize = bytes;
    allocation_of(params)
}

/// The step that frees another node's allocation. The memory stays in place for the next launch.
pub fn free_of(address: CUdeviceptr) -> Answer<Arc<dyn Work>> {
    match owner_of(address) {
        Some((_, Origin::Graph { .. })) => Ok(Arc::new(Release(address))),
        _ => Err(CUresult::INVALID_VALUE),
    }
}

pub fn cuGraphAddMemAllocNode(
    place: Out<CUgraphNode>,
    graph: CUgraph,
    after: In<CUgraphNode>,
    count: usize,
    params: Out<CUDA_MEM_ALLOC_NODE_PARAMS>,
) -> Answer {
    place.required()?;
    GRAPHS.get(graph)?;
    let mut given = params.get()?;
    let memory = allocation_of(given)?;
    given.dptr = memory.address;
    add(place, graph, after, count, memory)?;
    params.set(given)
}

pub fn cuGraphMemAllocNodeGetParams(node: CUgraphNode, params: Out<CUDA_MEM_ALLOC_NODE_PARAMS>) -> Answer {
    params.required()?;
    let work = NODES.get(node)?.work().clone();
    params.set(work.as_kind::<GraphMemory>().ok_or(CUresult::INVALID_VALUE)?.params)
}

pub fn cuGraphAddMemFreeNode(
    place: Out<CUgraphNode>,
    graph: CUgraph,
    after: In<CUgraphNode>,
    count: usize,
    address: CUdeviceptr,
) -> Answer {
    add(place, graph, after, count, free_of(address)?)
}

pub fn cuGraphMemFreeNodeGetParams(node: CUgraphNode, address: Out<CUdeviceptr>) -> Answer {
    address.required()?;
    let work = NODES.get(node)?.work().clone();
    address.set(work.as_kind::<Release>().ok_or(CUresult::INVALID_VALUE)?.0)
}

/// `CUgraphMem_attribute`: used and reserved, now and at most. Exactly the used memory is reserved.
const MOST: u32 = 1;
const NUMBERS: u32 = 4;

pub fn cuDeviceGetGraphMemAttribute(dev: CUdevice, number: u32, value: *mut c_void) -> Answer {
    let used = used(device(dev)?);
    if number >= NUMBERS {
        return Err(CUresult::INVALID_VALUE);
    }
    let count = if number & MOST != 0 { &used.most } else { &used.now };
    // SAFETY: the caller vouches for 64 bits.
    unsafe { Out::<u64>::new(value.cast()) }.set(count.load(Ordering::Relaxed))
}

pub fn cuDeviceSetGraphMemAttribute(dev: CUdevice, number: u32, value: *mut c_void) -> Answer {
    let used = used(device(dev)?);
    // SAFETY: the caller vouches for 64 bits.
    let value = unsafe { In::<u64>::new(value.cast_const().cast()) }.get()?;
    // Only the maximum can be reset; nothing else can be set.
    if number >= NUMBERS || number & MOST == 0 || value != 0 {
        return Err(CUresult::INVALID_VALUE);
    }
    used.most.store(used.now.load(Ordering::Relaxed), Ordering::Relaxed);
    Ok(())
}

static OBJECTS: Registry<UserObject> = Registry::new(CUresult::INVALID_VALUE);

/// One of the program's objects, destroyed by its own function when the last reference is gone.
struct UserObject {
    data: usize,
    destroy: unsafe extern "C" fn(*mut c_void),
    references: Mutex<u32>,
}

impl UserObject {
    fn references(&self) -> std::sync::MutexGuard<'_, u32> {
        // A number is consistent even after a panic elsewhere.
        self.references.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn retain(&self, count: u32) -> Answer {
        let mut references = self.references();
        *references = references.checked_add(count).ok_or(CUresult::INVALID_VALUE)?;
        Ok(())
    }
}

fn release(handle: Handle, count: u32) -> Answer {
    let object = OBJECTS.get(handle)?;
    let left = {
        let mut references = object.references();
        *references = references.checked_sub(count).ok_or(CUresult::INVALID_VALUE)?;
        *references
    };
    if left == 0 {
        OBJECTS.remove(handle)?;
        // SAFETY: the program gave this function to be called with this argument when the last reference is gone.
        unsafe { (object.destroy)(object.data as *mut c_void) };
    }
    Ok(())
}

/// References held by a graph, released with it.
pub struct Kept {
    object: Handle,
    count: u32,
}

impl Kept {
    fn another(&self) -> Option<Self> {
        OBJECTS.get(self.object).and_then(|object| object.retain(self.count)).ok()?;
        Some(Self { object: self.object, count: self.count })
    }

    /// References for a copy of the graph that holds `all`.
    pub fn copy(all: &[Self]) -> Vec<Self> {
        all.iter().filter_map(Self::another).collect()
    }

    /// References for executable graphs and their launches, which share them.
    pub fn shared(all: &[Self]) -> Arc<Vec<Self>> {
        Arc::new(Self::copy(all))
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // The program may have released more than it held; then the object is gone.
        let _ = release(self.object, self.count);
    }
}

pub fn cuUserObjectCreate(
    place: Out<Handle>,
    data: *mut c_void,
    destroy: CUhostFn,
    references: u32,
    flags: u32,
) -> Answer {
    const NO_DESTRUCTOR_SYNC: u32 = 1;
    initialised()?;
    place.required()?;
    let destroy = destroy.ok_or(CUresult::INVALID_VALUE)?;
    if flags != NO_DESTRUCTOR_SYNC || references == 0 {
        return Err(CUresult::INVALID_VALUE);
    }
    let references = Mutex::new(references);
    place.set(OBJECTS.insert(UserObject { data: data as usize, destroy, references }))
}

pub fn cuUserObjectRetain(object: Handle, count: u32) -> Answer {
    OBJECTS.get(object)?.retain(positive(count)?)
}

pub fn cuUserObjectRelease(object: Handle, count: u32) -> Answer {
    release(object, positive(count)?)
}

fn positive(count: u32) -> Answer<u32> {
    if count == 0 || count > i32::MAX as u32 { Err(CUresult::INVALID_VALUE) } else { Ok(count) }
}

pub fn cuGraphRetainUserObject(graph: CUgraph, object: Handle, count: u32, flags: u32) -> Answer {
    const MOVE: u32 = 1;
    let graph = GRAPHS.get(graph)?;
    let found = OBJECTS.get(object)?;
    let count = positive(count)?;
    if flags & !MOVE != 0 {
        return Err(CUresult::INVALID_VALUE);
    }
    // Moved references belonged to the program, and now belong to the graph.
    if flags & MOVE == 0 {
        found.retain(count)?;
    }
    graph.kept().push(Kept { object, count });
    Ok(())
}

pub fn cuGraphReleaseUserObject(graph: CUgraph, object: Handle, count: u32) -> Answer {
    let graph = GRAPHS.get(graph)?;
    OBJECTS.get(object)?;
    let count = positive(count)?;
    let given_back = {
        let mut kept = graph.kept();
        let held = kept.iter().filter(|kept| kept.object == object).map(|kept| kept.count).sum::<u32>();
        if held < count {
            return Err(CUresult::INVALID_VALUE);
        }
        let (ours, others) = std::mem::take(&mut *kept).into_iter().partition(|kept| kept.object == object);
        *kept = others;
        if held > count {
            kept.push(Kept { object, count: held - count });
        }
        let ours: Vec<Kept> = ours;
        // They are counted anew: forget each one without releasing it.
        ours.into_iter().for_each(std::mem::forget);
        count
    };
    release(object, given_back)
}
