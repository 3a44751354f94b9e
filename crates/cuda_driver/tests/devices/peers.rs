//! Kernels that reach a peer's memory, and those that may not.

use warpsmith_cuda::abi::CUresult;

use crate::Case;
use crate::driver::*;
use crate::machine::{Machine, launch};

pub const CASES: &[Case] = &[
    Case::new("access_is_given_once_and_one_way", given_once),
    Case::new("kernels_read_and_write_their_peers_memory", reached),
    Case::new("without_access_a_peers_memory_is_not_there", unreached),
    Case::virtual_only("a_fault_leaves_other_devices_contexts", unreached_goes_on),
    Case::new("access_that_was_taken_back_is_gone", taken_back),
    Case::new("functions_run_on_streams_of_their_own_context", own_streams),
    Case::new("variables_are_each_contexts_own", variables),
    Case::virtual_only("other_models_are_no_peers", other_models).of_models("h200,a100,h200"),
];

/// On two H200 and one A100 between them.
fn other_models(machine: &Machine) {
    assert_eq!(machine.count(), 3);
    for (own, peer) in machine.pairs() {
        let (mut can, alike) = (-1, own.number != 1 && peer.number != 1);
        // SAFETY: the place is valid.
        unsafe {
            ok(cuDeviceCanAccessPeer(out(&mut can), own.number, peer.number));
            assert_eq!(can, i32::from(alike));
            own.enter();
            let given = cuCtxEnablePeerAccess(peer.context, 0);
            assert_eq!(given, if alike { OK } else { CUresult::PEER_ACCESS_UNSUPPORTED });
        }
        let (mut major, mut minor) = (0, 0);
        // SAFETY: places are valid.
        unsafe { ok(cuDeviceComputeCapability(out(&mut major), out(&mut minor), own.number)) };
        assert_eq!(major, if own.number == 1 { 8 } else { 9 });
        // Copies need no access.
        let (from, to) = (own.words(&[3; 9]), peer.zeros(9));
        // SAFETY: no pointer of the host's is passed.
        unsafe { ok(cuMemcpyPeer(to, peer.context, from, own.context, 36)) };
        assert_eq!(peer.read(to, 9), [3; 9]);
    }
}

fn given_once(machine: &Machine) {
    let unknown = CUresult::PEER_ACCESS_NOT_ENABLED;
    for (own, peer) in machine.pairs() {
        own.enter();
        // SAFETY: no pointer is passed.
        unsafe {
            assert_eq!(cuCtxDisablePeerAccess(peer.context), unknown);
            assert_eq!(cuCtxEnablePeerAccess(peer.context, 1), CUresult::INVALID_VALUE);
            ok(cuCtxEnablePeerAccess(peer.context, 0));
            let again = cuCtxEnablePeerAccess(peer.context, 0);
            assert_eq!(again, CUresult::PEER_ACCESS_ALREADY_ENABLED);
            peer.enter();
            assert_eq!(cuCtxDisablePeerAccess(own.context), unknown, "it is one way");
            own.enter();
            ok(cuCtxDisablePeerAccess(peer.context));
            assert_eq!(cuCtxDisablePeerAccess(peer.context), unknown);
        }
    }
    let gpu = &machine.gpus[0];
    gpu.enter();
    // SAFETY: no pointer is passed.
    unsafe {
        // As an H100's driver answers.
        assert_eq!(cuCtxEnablePeerAccess(gpu.context, 0), CUresult::PEER_ACCESS_UNSUPPORTED, "its own");
        assert_eq!(cuCtxEnablePeerAccess(0, 0), CUresult::INVALID_CONTEXT);
        ok(cuCtxSetCurrent(0));
        assert_eq!(cuCtxEnablePeerAccess(gpu.context, 0), CUresult::INVALID_CONTEXT, "none is current");
    }
}

fn reached(machine: &Machine) {
    const COUNT: usize = 333;
    machine.befriend();
    let words = |gpu: &crate::machine::Gpu| vec![10 + gpu.number as u32; COUNT];
    let buffers: Vec<u64> = machine.gpus.iter().map(|gpu| gpu.words(&words(gpu))).collect();
    let sums: Vec<u64> = machine.gpus.iter().map(|gpu| gpu.zeros(COUNT)).collect();
    // Each reads from all, and writes its own sum into the next device's memory.
    for gpu in &machine.gpus {
        let sum = sums[(gpu.number as usize + 1) % machine.count()];
        buffers.iter().for_each(|&from| gpu.launch(c"add", 6, 0, sum, from, COUNT as u32));
    }
    machine.gpus.iter().for_each(|gpu| ok(gpu.finish()));
    let n = machine.count() as u32;
    for (gpu, &sum) in machine.gpus.iter().zip(&sums) {
        assert_eq!(gpu.read(sum, COUNT), vec![10 * n + n * (n - 1) / 2; COUNT]);
    }
}

/// Each case of a fault is about contexts that the fault makes unusable, and about no other.
fn unreached(machine: &Machine) {
    let [first, .., last] = machine.gpus.as_slice() else { return };
    let theirs = last.words(&[5; 64]);
    let own = first.zeros(64);
    first.launch(c"add", 1, 0, own, theirs, 64);
    assert_eq!(first.finish(), CUresult::ILLEGAL_ADDRESS);
    assert_eq!(first.finish(), CUresult::ILLEGAL_ADDRESS, "the context is lost");
}

/// With two H100s the other device's context was lost, too.
fn unreached_goes_on(machine: &Machine) {
    let [first, .., last] = machine.gpus.as_slice() else { return };
    let theirs = last.words(&[5; 64]);
    first.launch(c"add", 1, 0, first.zeros(64), theirs, 64);
    assert_eq!(first.finish(), CUresult::ILLEGAL_ADDRESS);
    ok(last.finish());
    assert_eq!(last.read(theirs, 64), [5; 64]);
}

fn taken_back(machine: &Machine) {
    let [first, .., last] = machine.gpus.as_slice() else { return };
    first.befriend(last);
    let (theirs, own) = (last.words(&[5; 64]), first.zeros(64));
    first.launch(c"add", 1, 0, own, theirs, 64);
    ok(first.finish());
    assert_eq!(first.read(own, 64), [5; 64]);
    // SAFETY: no pointer is passed.
    unsafe { ok(cuCtxDisablePeerAccess(last.context)) };
    first.launch(c"add", 1, 0, own, theirs, 64);
    assert_eq!(first.finish(), CUresult::ILLEGAL_ADDRESS);
}

fn own_streams(machine: &Machine) {
    for (own, other) in machine.pairs() {
        let (stream, buffer) = (other.stream(), own.zeros(64));
        own.enter();
        let wrong = launch(own.function(c"add"), 1, 64, stream, buffer, buffer, 64);
        assert_eq!(wrong, CUresult::INVALID_HANDLE);
        let event = own.event();
        // SAFETY: no pointer is passed.
        unsafe { assert_eq!(cuEventRecord(event, stream), CUresult::INVALID_HANDLE) };
    }
}

fn variables(machine: &Machine) {
    for gpu in &machine.gpus {
        let from = gpu.words(&[100 + gpu.number as u32]);
        gpu.launch(c"keep", 0, 0, 0, from, 1);
    }
    for gpu in &machine.gpus {
        ok(gpu.finish());
        let (mut address, mut bytes) = (0, 0);
        // SAFETY: places are valid.
        unsafe { ok(cuModuleGetGlobal_v2(out(&mut address), out(&mut bytes), gpu.module, text(c"own"))) };
        assert_eq!(gpu.read(address, 1), [100 + gpu.number as u32]);
    }
}
