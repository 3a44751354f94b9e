//! Planted races between devices, each with its right twin, under `WARPSMITH_CHECK`.

use crate::driver::*;
use crate::machine::{Gpu, Machine};

/// A program, and what the check must say of it: nothing, if it is right.
pub struct Checked {
    pub name: &'static str,
    pub run: fn(&Machine),
    pub says: &'static [&'static str],
}

pub const CASES: &[Checked] = &[
    Checked {
        name: "kernels_of_two_devices_write_one_place",
        run: |machine| unordered(machine, false),
        says: &[
            "race between devices",
            "kernel `add` on the default stream of device 1 writes",
            "kernel `add` on the default stream of device 0 writes",
        ],
    },
    Checked { name: "an_event_orders_the_two", run: |machine| unordered(machine, true), says: &[] },
    Checked {
        name: "a_copy_overtakes_the_peers_kernel",
        run: |machine| copied(machine, false),
        says: &["race between devices", "a copy on stream 0x", "of device 0", "kernel `add`", "of device 1"],
    },
    Checked { name: "the_copy_waits_for_the_kernel", run: |machine| copied(machine, true), says: &[] },
    Checked {
        name: "atomics_of_the_device_are_used_between_devices",
        run: |machine| counted(machine, c"count_here"),
        says: &["race between devices", "both atomically for their own device only", ".sys"],
    },
    Checked {
        name: "atomics_of_the_system_are_used_between_devices",
        run: |machine| counted(machine, c"count"),
        says: &[],
    },
    Checked {
        name: "a_mapping_is_written_from_two_devices",
        run: |machine| mapped(machine, false),
        says: &["race between devices", "kernel `add`", "of device 0", "of device 1"],
    },
    Checked { name: "the_host_waits_between_the_two", run: |machine| mapped(machine, true), says: &[] },
    Checked { name: "devices_take_turns_at_a_word", run: |machine| turns(machine, c"turn"), says: &[] },
    Checked {
        name: "devices_take_turns_with_fences_of_the_device",
        run: |machine| turns(machine, c"turn_here"),
        says: &["race between devices", "no fence for all devices", "fence.acq_rel.sys"],
    },
];

fn two(machine: &Machine) -> (&Gpu, &Gpu) {
    machine.befriend();
    (&machine.gpus[0], &machine.gpus[1])
}

fn all(machine: &Machine) {
    machine.gpus.iter().for_each(|gpu| ok(gpu.finish()));
}

fn unordered(machine: &Machine, ordered: bool) {
    let (first, second) = two(machine);
    let (sum, ones, twos) = (first.zeros(64), first.words(&[1; 64]), second.words(&[2; 64]));
    first.launch(c"add", 1, 0, sum, ones, 64);
    if ordered {
        let event = first.event();
        // SAFETY: no pointer is passed.
        unsafe {
            ok(cuEventRecord(event, 0));
            second.enter();
            ok(cuStreamWaitEvent(0, event, 0));
        }
    }
    second.launch(c"add", 1, 0, sum, twos, 64);
    all(machine);
}

fn copied(machine: &Machine, ordered: bool) {
    let (first, second) = two(machine);
    let (sum, ones, target) = (second.zeros(64), second.words(&[1; 64]), first.zeros(64));
    let (there, here) = (second.stream(), first.stream());
    second.launch(c"add", 1, there, sum, ones, 64);
    if ordered {
        let event = second.event();
        // SAFETY: no pointer is passed.
        unsafe {
            ok(cuEventRecord(event, there));
            ok(cuStreamWaitEvent(here, event, 0));
        }
    }
    // SAFETY: no pointer of the host's is passed.
    unsafe { ok(cuMemcpyPeerAsync(target, first.context, sum, second.context, 256, here)) };
    all(machine);
}

fn counted(machine: &Machine, kernel: &std::ffi::CStr) {
    let (first, _) = two(machine);
    let counter = first.zeros(1);
    machine.gpus.iter().for_each(|gpu| gpu.launch(kernel, 1, 0, counter, 0, 3));
    all(machine);
}

fn mapped(machine: &Machine, ordered: bool) {
    let (first, second) = two(machine);
    let address = crate::shared::mapped_for_all(machine);
    let (ones, twos) = (first.words(&[1; 64]), second.words(&[2; 64]));
    first.launch(c"add", 1, 0, address, ones, 64);
    if ordered {
        ok(first.finish());
    }
    second.launch(c"add", 1, 0, address, twos, 64);
    all(machine);
}

/// Kernels that hand a word on while all of them run: they order themselves.
fn turns(machine: &Machine, kernel: &std::ffi::CStr) {
    let (first, _) = two(machine);
    let word = first.zeros(32);
    let streams: Vec<usize> = machine.gpus.iter().map(|gpu| gpu.stream()).collect();
    for (gpu, &stream) in machine.gpus.iter().zip(&streams).rev() {
        gpu.launch(kernel, 0, stream, word, 0, gpu.number as u32);
    }
    all(machine);
    assert_eq!(first.read(word, 1), [machine.count() as u32]);
}
