//! Memory whose program says for each device who reaches it: mappings, and pools.

use warpsmith_cuda::abi::{
    CUDA_MEM_ALLOC_NODE_PARAMS, CUmemAccessDesc, CUmemAllocationProp, CUmemLocation, CUmemPoolProps, CUresult,
};

use crate::Case;
use crate::driver::*;
use crate::machine::{Gpu, Machine};

pub const CASES: &[Case] = &[
    Case::new("mappings_reach_the_devices_that_were_let", mappings),
    Case::new("one_memory_is_mapped_in_a_row_with_another_devices", in_a_row),
    Case::new("a_device_that_was_not_let_does_not_reach_a_mapping", not_let),
    Case::new("a_device_that_may_read_may_not_write", only_reads),
    Case::new("pools_are_of_one_device", pools),
    Case::new("pools_reach_the_devices_that_were_let", pools_let),
    Case::new("peer_access_of_contexts_says_nothing_of_pools", pools_not_let),
    Case::new("copies_reach_no_pool_that_their_device_was_not_let", copies_not_let),
    // A real graph's memory is there only while the graph runs.
    Case::virtual_only("a_graphs_memory_is_of_the_device_that_it_names", graph_memory),
];

const PAGE: usize = 2 << 20;
const DEVICE: u32 = 1;
const PINNED: u32 = 1;
const READ: u32 = 1;
const READ_WRITE: u32 = 3;

fn at(gpu: &Gpu) -> CUmemLocation {
    CUmemLocation { r#type: DEVICE, id: gpu.number }
}

fn on(gpu: &Gpu) -> CUmemAllocationProp {
    // SAFETY: numbers and pointers, of which zero is a value.
    let mut properties: CUmemAllocationProp = unsafe { std::mem::zeroed() };
    (properties.r#type, properties.location) = (PINNED, at(gpu));
    properties
}

fn create(gpu: &Gpu) -> u64 {
    gpu.enter();
    let mut handle = 0;
    // SAFETY: place and properties are valid.
    unsafe { ok(cuMemCreate(out(&mut handle), PAGE, given(&on(gpu)), 0)) };
    handle
}

fn reserve(bytes: usize) -> u64 {
    let mut address = 0;
    // SAFETY: the place is valid.
    unsafe { ok(cuMemAddressReserve(out(&mut address), bytes, 0, 0, 0)) };
    address
}

fn access(address: u64, bytes: usize, gpu: &Gpu, flags: u32) -> CUresult {
    let description = CUmemAccessDesc { location: at(gpu), flags };
    // SAFETY: the description is valid.
    unsafe { cuMemSetAccess(address, bytes, given(&description), 1) }
}

/// What a device may do at an address.
fn may(address: u64, gpu: &Gpu) -> u64 {
    let mut flags = 99;
    // SAFETY: place and location are valid.
    unsafe { ok(cuMemGetAccess(out(&mut flags), given(&at(gpu)), address)) };
    flags
}

fn mapped(gpu: &Gpu) -> u64 {
    let (memory, address) = (create(gpu), reserve(PAGE));
    // SAFETY: no pointer is passed.
    unsafe {
        ok(cuMemMap(address, PAGE, 0, memory, 0));
        ok(cuMemRelease(memory));
    }
    address
}

/// A page of the first device's memory that all devices may read and write.
pub fn mapped_for_all(machine: &Machine) -> u64 {
    let address = mapped(&machine.gpus[0]);
    machine.gpus.iter().for_each(|gpu| ok(access(address, PAGE, gpu, READ_WRITE)));
    address
}

fn mappings(machine: &Machine) {
    for owner in &machine.gpus {
        let address = mapped(owner);
        for gpu in &machine.gpus {
            assert_eq!(may(address, gpu), 0);
            ok(access(address, PAGE, gpu, READ_WRITE));
            assert_eq!(may(address, gpu), u64::from(READ_WRITE));
        }
        for gpu in &machine.gpus {
            let ones = gpu.words(&[1; 64]);
            gpu.launch(c"add", 1, 0, address + 1024, ones, 64);
            ok(gpu.finish());
        }
        assert_eq!(owner.read(address + 1024, 64), vec![machine.count() as u32; 64]);
        // SAFETY: no pointer is passed.
        unsafe {
            ok(cuMemUnmap(address, PAGE));
            ok(cuMemAddressFree(address, PAGE));
        }
    }
    let mut properties = on(&machine.gpus[0]);
    properties.location.id = machine.count() as i32;
    let mut handle = 0;
    // SAFETY: place and properties are valid.
    let beyond = unsafe { cuMemCreate(out(&mut handle), PAGE, given(&properties), 0) };
    assert_eq!(beyond, CUresult::INVALID_DEVICE);
}

fn in_a_row(machine: &Machine) {
    let bytes = PAGE * machine.count();
    machine.gpus[0].enter();
    let start = reserve(bytes);
    for (gpu, place) in machine.gpus.iter().zip(0..) {
        let memory = create(gpu);
        // SAFETY: no pointer is passed.
        unsafe {
            ok(cuMemMap(start + place * PAGE as u64, PAGE, 0, memory, 0));
            let mut properties = on(&machine.gpus[0]);
            ok(cuMemGetAllocationPropertiesFromHandle(out(&mut properties), memory));
            assert_eq!(properties.location.id, gpu.number);
        }
    }
    machine.gpus.iter().for_each(|gpu| ok(access(start, bytes, gpu, READ_WRITE)));
    // A kernel of the last device over all of them.
    let last = machine.gpus.last().unwrap();
    let words = (bytes / 4) as u32;
    let from = last.words(&[7; 64]);
    for place in 0..machine.count() as u64 {
        last.launch(c"add", 1, 0, start + place * PAGE as u64, from, 64);
    }
    ok(last.finish());
    let seam = last.read(start, words as usize);
    for place in 0..machine.count() {
        let first = place * PAGE / 4;
        assert_eq!(seam[first..first + 65], [&[7; 64][..], &[0]].concat());
    }
}

fn not_let(machine: &Machine) {
    let [first, .., last] = machine.gpus.as_slice() else { return };
    // Access of contexts is about ordinary memory only.
    first.befriend(last);
    let address = mapped(last);
    ok(access(address, PAGE, last, READ_WRITE));
    let own = first.zeros(64);
    first.launch(c"add", 1, 0, own, address, 64);
    assert_eq!(first.finish(), CUresult::ILLEGAL_ADDRESS);
}

fn only_reads(machine: &Machine) {
    let [first, .., last] = machine.gpus.as_slice() else { return };
    let address = mapped(last);
    ok(access(address, PAGE, last, READ_WRITE));
    ok(access(address, PAGE, first, READ));
    assert_eq!((may(address, first), may(address, last)), (u64::from(READ), u64::from(READ_WRITE)));
    let (own, theirs) = (first.zeros(64), last.words(&[3; 64]));
    last.launch(c"add", 1, 0, address, theirs, 64);
    ok(last.finish());
    first.launch(c"add", 1, 0, own, address, 64);
    ok(first.finish());
    assert_eq!(first.read(own, 64), [3; 64]);
    first.launch(c"add", 1, 0, address, own, 64);
    assert_eq!(first.finish(), CUresult::ILLEGAL_ADDRESS);
}

fn pool(gpu: &Gpu) -> usize {
    // SAFETY: numbers and pointers, of which zero is a value.
    let mut properties: CUmemPoolProps = unsafe { std::mem::zeroed() };
    (properties.allocType, properties.location) = (PINNED, at(gpu));
    let mut pool = 0;
    // SAFETY: place and properties are valid.
    unsafe { ok(cuMemPoolCreate(out(&mut pool), given(&properties))) };
    pool
}

fn pool_access(pool: usize, gpu: &Gpu, flags: u32) -> CUresult {
    let description = CUmemAccessDesc { location: at(gpu), flags };
    // SAFETY: the description is valid.
    unsafe { cuMemPoolSetAccess(pool, given(&description), 1) }
}

/// Words out of a pool, on a device's default stream.
fn from_pool(pool: usize, gpu: &Gpu) -> u64 {
    gpu.enter();
    let mut address = 0;
    // SAFETY: the place is valid.
    unsafe {
        ok(cuMemAllocFromPoolAsync(out(&mut address), 256, pool, 0));
        ok(cuMemsetD8Async(address, 0, 256, 0));
    }
    ok(gpu.finish());
    address
}

fn pools(machine: &Machine) {
    let mut defaults = std::collections::HashSet::new();
    for gpu in &machine.gpus {
        let (mut default, mut present, own) = (0, 0, pool(gpu));
        // SAFETY: places are valid.
        unsafe {
            ok(cuDeviceGetDefaultMemPool(out(&mut default), gpu.number));
            assert!(defaults.insert(default));
            ok(cuDeviceSetMemPool(gpu.number, own));
            ok(cuDeviceGetMemPool(out(&mut present), gpu.number));
            assert_eq!(present, own);
            gpu.enter();
            let (mut address, mut ordinal, mut of) = (0, -1i32, 0usize);
            ok(cuMemAllocAsync(out(&mut address), 256, 0));
            ok(gpu.finish());
            ok(cuPointerGetAttribute((&raw mut ordinal).cast(), 9, address));
            ok(cuPointerGetAttribute((&raw mut of).cast(), 17, address));
            assert_eq!((ordinal, of), (gpu.number, own));
        }
        for (other, gpu) in machine.pairs().filter(|(_, pool_of)| pool_of.number == gpu.number) {
            // SAFETY: no pointer is passed.
            let wrong = unsafe { cuDeviceSetMemPool(other.number, own) };
            assert_eq!(wrong, CUresult::INVALID_VALUE, "pool of {} for {}", gpu.number, other.number);
        }
        let mut flags = 0;
        // SAFETY: places are valid.
        unsafe { ok(cuMemPoolGetAccess(out(&mut flags), own, out(&mut at(gpu)))) };
        assert_eq!(flags, READ_WRITE);
    }
}

fn pools_let(machine: &Machine) {
    for (own, peer) in machine.pairs() {
        let pool = pool(own);
        let before = from_pool(pool, own);
        ok(pool_access(pool, peer, READ_WRITE));
        let after = from_pool(pool, own);
        let mut flags = 0;
        // SAFETY: places are valid.
        unsafe { ok(cuMemPoolGetAccess(out(&mut flags), pool, out(&mut at(peer)))) };
        assert_eq!(flags, READ_WRITE);
        // What it gave before, and what it gives from now on.
        for address in [before, after] {
            let ones = peer.words(&[1; 64]);
            peer.launch(c"add", 1, 0, address, ones, 64);
            ok(peer.finish());
            assert_eq!(own.read(address, 64), [1; 64]);
        }
        own.enter();
        // SAFETY: no pointer is passed.
        unsafe { ok(cuMemFreeAsync(before, 0)) };
        ok(own.finish());
    }
}

fn pools_not_let(machine: &Machine) {
    let [first, .., last] = machine.gpus.as_slice() else { return };
    first.befriend(last);
    let theirs = from_pool(pool(last), last);
    let own = first.zeros(64);
    first.launch(c"add", 1, 0, own, theirs, 64);
    assert_eq!(first.finish(), CUresult::ILLEGAL_ADDRESS);
}

fn graph_memory(machine: &Machine) {
    let used = |gpu: &Gpu| {
        const USED_NOW: u32 = 0;
        let mut bytes = 0u64;
        // SAFETY: the place has 64 bits.
        unsafe { ok(cuDeviceGetGraphMemAttribute(gpu.number, USED_NOW, (&raw mut bytes).cast())) };
        bytes
    };
    for (asking, owner) in machine.pairs() {
        asking.enter();
        let access = CUmemAccessDesc { location: at(asking), flags: READ_WRITE };
        // SAFETY: numbers and pointers, of which zero is a value.
        let mut node: CUDA_MEM_ALLOC_NODE_PARAMS = unsafe { std::mem::zeroed() };
        (node.poolProps.allocType, node.poolProps.location) = (PINNED, at(owner));
        (node.accessDescs, node.accessDescCount, node.bytesize) = (&access, 1, 256);
        let (mut graph, mut handle, mut ordinal, before) = (0, 0, -1i32, used(owner));
        // SAFETY: places and parameters are valid.
        unsafe {
            ok(cuGraphCreate(out(&mut graph), 0));
            ok(cuGraphAddMemAllocNode(out(&mut handle), graph, nothing(), 0, out(&mut node)));
            ok(cuPointerGetAttribute((&raw mut ordinal).cast(), 9, node.dptr));
        }
        assert_eq!((ordinal, used(owner) - before), (owner.number, 256));
        let ones = asking.words(&[1; 64]);
        asking.launch(c"add", 1, 0, node.dptr, ones, 64);
        ok(asking.finish());
        assert_eq!(asking.read(node.dptr, 64), [1; 64]);
        // SAFETY: no pointer is passed.
        unsafe { ok(cuGraphDestroy(graph)) };
    }
}

/// The answers are two H200s' (CUDA 13).
fn copies_not_let(machine: &Machine) {
    const REFUSED: CUresult = CUresult::INVALID_VALUE;
    for (own, peer) in machine.pairs() {
        let pool = pool(own);
        let (theirs, ours) = (from_pool(pool, own), peer.words(&[7; 64]));
        let mut words = [0u32; 64];
        let host: *mut std::ffi::c_void = words.as_mut_ptr().cast();
        let answers = || {
            // SAFETY: the words are valid; all copies are done when the calls return or the context is synchronous.
            unsafe {
                let all = [
                    cuMemcpy(ours, theirs, 256),
                    cuMemcpyDtoD_v2(ours, theirs, 256),
                    cuMemcpyDtoH_v2(host, theirs, 256),
                    cuMemcpyHtoD_v2(theirs, host, 256),
                    cuMemsetD8_v2(theirs, 1, 256),
                    cuMemcpyDtoDAsync_v2(ours, theirs, 256, 0),
                    cuMemsetD8Async(theirs, 1, 256, 0),
                ];
                ok(cuCtxSynchronize());
                all
            }
        };
        peer.enter();
        assert_eq!(answers(), [REFUSED; 7]);
        // A copy between contexts needs no access, and the pool's own device has it.
        // SAFETY: no pointer of the host's is passed.
        unsafe { ok(cuMemcpyPeer(ours, peer.context, theirs, own.context, 256)) };
        own.enter();
        assert_eq!(answers(), [OK; 7]);
        ok(pool_access(pool, peer, READ_WRITE));
        peer.enter();
        assert_eq!(answers(), [OK; 7]);
    }
}
