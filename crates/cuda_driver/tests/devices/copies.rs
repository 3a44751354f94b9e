//! Copies between devices.

use std::ffi::c_void;

use warpsmith_cuda::abi::{CUDA_MEMCPY3D_PEER, CUresult};

use crate::Case;
use crate::driver::*;
use crate::machine::Machine;

pub const CASES: &[Case] = &[
    Case::new("peer_copies_need_no_access", peer_copies),
    Case::new("a_ring_of_copies_comes_round", ring),
    Case::new("boxes_go_between_devices", boxes),
    // A real driver reads at the address that is given as a context.
    Case::virtual_only("boxes_of_no_context_are_refused", boxes_of_nowhere),
    Case::new("copies_between_wrong_contexts_are_refused", refused),
    Case::virtual_only("copies_that_name_anothers_context_are_refused", mistaken),
];

fn peer_copies(machine: &Machine) {
    const COUNT: usize = 1031;
    let words: Vec<u32> = (0..COUNT as u32).map(|i| i * i).collect();
    for (from, to) in machine.pairs() {
        let (source, target) = (from.words(&words), to.zeros(COUNT));
        // SAFETY: no pointer of the host's is passed.
        unsafe {
            ok(cuMemcpyPeer(target, to.context, source, from.context, 4 * COUNT - 4));
            assert!(to.read(target, COUNT)[..COUNT - 1] == words[..COUNT - 1]);
            // Addresses are unified, so that the plain copy knows where both lie.
            ok(cuMemcpy(target + 4, source + 4, 4 * COUNT - 4));
            assert!(to.read(target, COUNT) == words);
            ok(cuMemsetD8_v2(target, 0, 4 * COUNT));
            ok(to.finish());
            let stream = from.stream();
            ok(cuMemcpyPeerAsync(target, to.context, source, from.context, 4 * COUNT, stream));
            ok(cuStreamSynchronize(stream));
        }
        assert!(to.read(target, COUNT) == words);
    }
    // Within a device it is a copy like any other.
    let gpu = &machine.gpus[0];
    let (source, target) = (gpu.words(&words), gpu.zeros(COUNT));
    // SAFETY: no pointer of the host's is passed.
    unsafe { ok(cuMemcpyPeer(target, gpu.context, source, gpu.context, 4 * COUNT)) };
    assert!(gpu.read(target, COUNT) == words);
}

fn ring(machine: &Machine) {
    const COUNT: usize = 5000;
    let buffers: Vec<u64> =
        machine.gpus.iter().map(|gpu| gpu.words(&vec![gpu.number as u32; COUNT])).collect();
    let received: Vec<u64> = machine.gpus.iter().map(|gpu| gpu.zeros(COUNT)).collect();
    for (gpu, &source) in machine.gpus.iter().zip(&buffers) {
        let next = &machine.gpus[(gpu.number as usize + 1) % machine.count()];
        let target = received[next.number as usize];
        gpu.enter();
        // SAFETY: no pointer of the host's is passed.
        unsafe { ok(cuMemcpyPeerAsync(target, next.context, source, gpu.context, 4 * COUNT, 0)) };
    }
    machine.gpus.iter().for_each(|gpu| ok(gpu.finish()));
    for (gpu, &target) in machine.gpus.iter().zip(&received) {
        let before = (gpu.number as usize + machine.count() - 1) % machine.count();
        assert!(gpu.read(target, COUNT) == vec![before as u32; COUNT]);
    }
}

/// A box of 3 x 2 x 2 words out of one of 5 x 4 x 3.
fn description() -> CUDA_MEMCPY3D_PEER {
    // SAFETY: numbers and pointers, of which zero is a value.
    let mut copy: CUDA_MEMCPY3D_PEER = unsafe { std::mem::zeroed() };
    (copy.srcXInBytes, copy.srcY, copy.srcZ, copy.srcPitch, copy.srcHeight) = (4, 1, 1, 20, 4);
    (copy.dstPitch, copy.dstHeight) = (12, 2);
    (copy.WidthInBytes, copy.Height, copy.Depth) = (12, 2, 2);
    copy
}

fn boxes(machine: &Machine) {
    const DEVICE: u32 = 2;
    const HOST: u32 = 1;
    let words: Vec<u32> = (0..60).collect();
    let at = |x: u32, y: u32, z: u32| x + 5 * (y + 4 * z);
    let mut expected = Vec::new();
    (1..3).for_each(|z| (1..3).for_each(|y| (1..4).for_each(|x| expected.push(at(x, y, z)))));
    for (from, to) in machine.pairs() {
        let (source, target) = (from.words(&words), to.zeros(12));
        let mut copy = description();
        (copy.srcMemoryType, copy.srcDevice, copy.reserved0) = (DEVICE, source, from.context as *mut c_void);
        (copy.dstMemoryType, copy.dstDevice, copy.reserved1) = (DEVICE, target, to.context as *mut c_void);
        // SAFETY: the description is whole.
        unsafe {
            ok(cuMemcpy3DPeer(given(&copy)));
            assert_eq!(to.read(target, 12), expected);
            ok(cuMemsetD8_v2(target, 0, 48));
            ok(to.finish());
            let stream = to.stream();
            ok(cuMemcpy3DPeerAsync(given(&copy), stream));
            ok(cuStreamSynchronize(stream));
            assert_eq!(to.read(target, 12), expected);
        }
    }
    // From the host, whose side has no context.
    let gpu = machine.gpus.last().unwrap();
    let target = gpu.zeros(12);
    let mut copy = description();
    (copy.srcMemoryType, copy.srcHost) = (HOST, words.as_ptr().cast());
    (copy.dstMemoryType, copy.dstDevice, copy.reserved1) = (DEVICE, target, gpu.context as *mut c_void);
    // SAFETY: the description is whole.
    unsafe { ok(cuMemcpy3DPeer(given(&copy))) };
    assert_eq!(gpu.read(target, 12), expected);
}

fn boxes_of_nowhere(machine: &Machine) {
    const DEVICE: u32 = 2;
    for (from, to) in machine.pairs() {
        let mut copy = description();
        (copy.srcMemoryType, copy.srcDevice, copy.reserved0) =
            (DEVICE, from.zeros(60), 0xdead as *mut c_void);
        (copy.dstMemoryType, copy.dstDevice, copy.reserved1) =
            (DEVICE, to.zeros(12), to.context as *mut c_void);
        // SAFETY: the description is whole.
        unsafe { assert_eq!(cuMemcpy3DPeer(given(&copy)), CUresult::INVALID_CONTEXT) };
    }
}

fn refused(machine: &Machine) {
    let gpu = &machine.gpus[0];
    let last = machine.gpus.last().unwrap();
    let (source, target) = (gpu.zeros(8), last.zeros(8));
    let stale = {
        let mut own = 0;
        // SAFETY: the place is valid.
        unsafe {
            ok(cuCtxCreate_v2(out(&mut own), 0, gpu.number));
            ok(cuCtxDestroy_v2(own));
        }
        own
    };
    gpu.enter();
    // SAFETY: no pointer of the host's is passed; handles may be stale.
    unsafe {
        let invalid = CUresult::INVALID_CONTEXT;
        if warpsmith_cuda::taken().unwrap().is_virtual() {
            // The real driver follows a handle that it does not know.
            assert_eq!(cuMemcpyPeer(target, stale, source, gpu.context, 32), invalid);
            assert_eq!(cuMemcpyPeerAsync(target, last.context, source, stale, 32, 0), invalid);
        }
        let beyond = cuMemcpyPeer(target, last.context, source, gpu.context, 1 << 30);
        assert_eq!(beyond, CUresult::INVALID_VALUE);
    }
}

fn mistaken(machine: &Machine) {
    for (from, to) in machine.pairs() {
        let (source, target) = (from.zeros(8), to.zeros(8));
        // SAFETY: no pointer of the host's is passed.
        let swapped = unsafe { cuMemcpyPeer(target, from.context, source, to.context, 32) };
        assert_eq!(swapped, CUresult::INVALID_VALUE);
    }
}
