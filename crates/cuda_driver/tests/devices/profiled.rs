//! Counters: a device's own memory, and its peers'.

use warpsmith_cuda::profile::{LaunchProfile, record};

use crate::Case;
use crate::driver::*;
use crate::machine::{Gpu, Machine};

pub const CASES: &[Case] = &[
    Case::virtual_only("counters_tell_own_memory_from_a_peers", told_apart),
    Case::virtual_only("atomics_on_a_peers_memory_are_counted", atomics),
];

fn profile(gpu: &Gpu, run: impl FnOnce()) -> LaunchProfile {
    let (_, mut launches) = record(|| {
        run();
        ok(gpu.finish());
    });
    assert_eq!(launches.len(), 1);
    launches.remove(0)
}

/// Two blocks of 64 threads: 16 sectors of each buffer.
fn told_apart(machine: &Machine) {
    machine.befriend();
    let buffers: Vec<u64> = machine.gpus.iter().map(|gpu| gpu.zeros(128)).collect();
    for gpu in &machine.gpus {
        for (owner, &from) in machine.gpus.iter().zip(&buffers) {
            let to = gpu.zeros(128);
            let profile = profile(gpu, || gpu.launch(c"add", 2, 0, to, from, 128));
            assert_eq!(profile.device, (machine.count() > 1).then_some(gpu.number as u32));
            let (read, written) = (profile.counters.global_load, profile.counters.global_store);
            let theirs = if owner.number == gpu.number { 0 } else { 1 };
            assert_eq!((read.sectors, read.bytes), (32, 1024));
            assert_eq!((read.peer_sectors, read.peer_bytes), (16 * theirs, 512 * theirs));
            assert_eq!((written.sectors, written.peer_sectors, written.peer_bytes), (16, 0, 0));
        }
    }
    let json = serde_json::to_string(&profile(&machine.gpus[0], || {
        machine.gpus[0].launch(c"add", 2, 0, buffers[0], buffers[0], 128)
    }));
    let json = json.unwrap();
    assert!(!json.contains("peer"), "what is not there is not told: {json}");
}

fn atomics(machine: &Machine) {
    machine.befriend();
    let counter = machine.gpus[0].zeros(1);
    for gpu in &machine.gpus {
        let profile = profile(gpu, || gpu.launch(c"count", 1, 0, counter, 0, 3));
        let counted = profile.counters.global_atomic;
        let theirs = u64::from(gpu.number != 0);
        assert_eq!(counted.requests, 6);
        assert_eq!(counted.peer_sectors, counted.sectors * theirs);
        assert_eq!(counted.peer_bytes, 6 * 32 * 4 * theirs);
    }
}
