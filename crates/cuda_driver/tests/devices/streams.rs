//! Streams and events across devices, and kernels of several devices that talk to each other while they run.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use warpsmith_cuda::abi::CUresult;

use crate::Case;
use crate::driver::*;
use crate::machine::{Gpu, Machine};

pub const CASES: &[Case] = &[
    Case::new("a_stream_waits_for_another_devices_event", waits),
    Case::new("waiting_for_another_devices_event_does_not_hold_up_the_host", does_not_hold_up),
    Case::new("default_streams_of_devices_do_not_wait_for_each_other", default_streams),
    Case::new("all_devices_count_in_one_place", count),
    Case::new("devices_take_turns_while_their_kernels_run", turns),
    Case::new("a_graph_has_kernels_of_all_devices", graph),
];

/// A word goes round all devices, each of which adds to it, ordered by events alone.
fn waits(machine: &Machine) {
    const ROUNDS: usize = 5;
    machine.befriend();
    let streams: Vec<usize> = machine.gpus.iter().map(|gpu| gpu.stream()).collect();
    let ones: Vec<u64> = machine.gpus.iter().map(|gpu| gpu.words(&[1; 64])).collect();
    let sum = machine.gpus[0].zeros(64);
    let mut before = 0;
    for _ in 0..ROUNDS {
        for (gpu, (&stream, &one)) in machine.gpus.iter().zip(streams.iter().zip(&ones)) {
            gpu.enter();
            if before != 0 {
                // SAFETY: no pointer is passed.
                unsafe { ok(cuStreamWaitEvent(stream, before, 0)) };
            }
            gpu.launch(c"add", 1, stream, sum, one, 64);
            before = gpu.event();
            // SAFETY: no pointer is passed.
            unsafe { ok(cuEventRecord(before, stream)) };
        }
    }
    // SAFETY: no pointer is passed.
    unsafe { ok(cuEventSynchronize(before)) };
    assert_eq!(machine.gpus[0].read(sum, 64), vec![(ROUNDS * machine.count()) as u32; 64]);
}

static OPEN: AtomicBool = AtomicBool::new(false);
static PASSED: AtomicU32 = AtomicU32::new(0);

extern "C" fn hold(_: *mut c_void) {
    while !OPEN.load(Ordering::Acquire) {
        std::thread::yield_now();
    }
}

extern "C" fn pass(_: *mut c_void) {
    PASSED.fetch_add(u32::from(OPEN.load(Ordering::Acquire)), Ordering::AcqRel);
}

fn does_not_hold_up(machine: &Machine) {
    let first = &machine.gpus[0];
    let (held, event) = (first.stream(), first.event());
    // SAFETY: the functions live as long as the process, and take nothing.
    unsafe {
        ok(cuLaunchHostFunc(held, Some(hold), std::ptr::null_mut()));
        ok(cuEventRecord(event, held));
        let mut waiting = Vec::new();
        for gpu in &machine.gpus[1..] {
            let stream = gpu.stream();
            ok(cuStreamWaitEvent(stream, event, 0));
            ok(cuLaunchHostFunc(stream, Some(pass), std::ptr::null_mut()));
            assert_eq!(cuStreamQuery(stream), CUresult::NOT_READY);
            waiting.push(stream);
        }
        // Only now that all have returned may the first go on.
        OPEN.store(true, Ordering::Release);
        waiting.iter().for_each(|&stream| ok(cuStreamSynchronize(stream)));
        ok(first.finish());
    }
    assert_eq!(PASSED.load(Ordering::Acquire) as usize, machine.count() - 1);
}

fn default_streams(machine: &Machine) {
    let [first, others @ ..] = machine.gpus.as_slice() else { return };
    first.enter();
    // SAFETY: the function lives as long as the process, and takes nothing.
    unsafe { ok(cuLaunchHostFunc(0, Some(hold), std::ptr::null_mut())) };
    for gpu in others {
        let (one, sum) = (gpu.words(&[1; 64]), gpu.zeros(64));
        gpu.launch(c"add", 1, 0, sum, one, 64);
        ok(gpu.finish());
        assert_eq!(gpu.read(sum, 64), [1; 64]);
    }
    OPEN.store(true, Ordering::Release);
    ok(first.finish());
}

fn count(machine: &Machine) {
    const TIMES: u32 = 50;
    machine.befriend();
    let counter = machine.gpus.last().unwrap().zeros(1);
    machine.gpus.iter().for_each(|gpu| gpu.launch(c"count", 2, 0, counter, 0, TIMES));
    machine.gpus.iter().for_each(|gpu| ok(gpu.finish()));
    assert_eq!(machine.gpus[0].read(counter, 1), [machine.count() as u32 * 128 * TIMES]);
}

fn turns(machine: &Machine) {
    const ROUNDS: u32 = 4;
    const REPETITIONS: u32 = 10;
    machine.befriend();
    let word = machine.gpus[0].zeros(32);
    let count = machine.count() as u32;
    // The virtual GPU's workers sleep between the repetitions, and are woken by the first launches of the next.
    let streams: Vec<usize> = (0..ROUNDS).flat_map(|_| machine.gpus.iter().map(Gpu::stream)).collect();
    let mut expected = 0u32;
    for first in (0..REPETITIONS).map(|repetition| repetition * ROUNDS * count) {
        // Issued last turn first, each on a stream of its own: they come right only if all run at once.
        for (turn, &stream) in (first..first + ROUNDS * count).zip(&streams).rev() {
            machine.gpus[(turn % count) as usize].launch(c"turn", 0, stream, word, 0, turn);
        }
        let turns = first..first + ROUNDS * count;
        turns.for_each(|turn| expected = expected.wrapping_mul(3).wrapping_add(turn));
        machine.gpus.iter().for_each(|gpu| ok(gpu.finish()));
    }
    let words = machine.gpus[0].read(word, 32);
    assert_eq!((words[0], words[16]), (REPETITIONS * ROUNDS * count, expected));
}

/// Captured on the first device's stream, which the others' leave and come back to.
fn graph(machine: &Machine) {
    const RELAXED: u32 = 2;
    machine.befriend();
    let first = &machine.gpus[0];
    let streams: Vec<usize> = machine.gpus.iter().map(|gpu| gpu.stream()).collect();
    let ones: Vec<u64> = machine.gpus.iter().map(|gpu| gpu.words(&[1; 64])).collect();
    let sums: Vec<u64> = machine.gpus.iter().map(|gpu| gpu.zeros(64)).collect();
    let (mut graph, mut launched, fork) = (0, 0, first.event());
    // SAFETY: places are valid.
    unsafe {
        ok(cuStreamBeginCapture_v2(streams[0], RELAXED));
        ok(cuEventRecord(fork, streams[0]));
        for (gpu, &stream) in machine.gpus.iter().zip(&streams) {
            let own = gpu.number as usize;
            if own != 0 {
                gpu.enter();
                ok(cuStreamWaitEvent(stream, fork, 0));
            }
            gpu.launch(c"add", 1, stream, sums[own], ones[(own + 1) % machine.count()], 64);
            if own != 0 {
                let join = gpu.event();
                ok(cuEventRecord(join, stream));
                ok(cuStreamWaitEvent(streams[0], join, 0));
            }
        }
        first.enter();
        ok(cuStreamEndCapture(streams[0], out(&mut graph)));
        ok(cuGraphInstantiateWithFlags(out(&mut launched), graph, 0));
        ok(cuGraphLaunch(launched, streams[0]));
        ok(cuGraphLaunch(launched, streams[0]));
        ok(cuStreamSynchronize(streams[0]));
    }
    for (gpu, &sum) in machine.gpus.iter().zip(&sums) {
        assert_eq!(gpu.read(sum, 64), [2; 64]);
    }
}
