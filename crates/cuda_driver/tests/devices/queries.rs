//! What devices there are, and what is said of them.

use std::collections::HashSet;

use warpsmith_cuda::abi::{CUresult, CUuuid};

use crate::Case;
use crate::driver::*;
use crate::machine::Machine;

pub const CASES: &[Case] = &[
    Case::new("devices_differ_in_number_bus_and_uuid", differ),
    Case::new("what_is_no_device_is_refused", refused),
    Case::new("each_context_has_its_device", contexts),
    Case::new("addresses_are_those_of_one_device", addresses),
    Case::new("memory_is_counted_for_each_device", memory),
    Case::virtual_only("there_are_as_many_as_asked_for", asked),
];

fn asked(machine: &Machine) {
    let asked = std::env::var("WARPSMITH_DEVICES").unwrap().parse();
    assert_eq!(Ok(machine.count()), asked);
}

fn differ(machine: &Machine) {
    let (mut uuids, mut names) = (HashSet::new(), HashSet::new());
    for gpu in &machine.gpus {
        let (mut uuid, mut device, mut found) = (CUuuid { bytes: [0; 16] }, -1, -1);
        let mut name = [0; 32];
        // SAFETY: places are valid and of the sizes told.
        unsafe {
            ok(cuDeviceGet(out(&mut device), gpu.number));
            ok(cuDeviceGetUuid(out(&mut uuid), device));
            ok(cuDeviceGetPCIBusId(out(&mut name[0]), 32, device));
            ok(cuDeviceGetByPCIBusId(out(&mut found), Text::new(name.as_ptr())));
        }
        assert_eq!((device, found), (gpu.number, gpu.number));
        uuids.insert(uuid.bytes);
        names.insert(name);
    }
    // The number of the bus alone may be the same: two H100s were at one number in two domains.
    assert_eq!((uuids.len(), names.len()), (machine.count(), machine.count()));
}

fn refused(machine: &Machine) {
    let beyond = machine.count() as i32;
    for wrong in [-1, beyond, i32::MAX] {
        let (mut number, mut handle) = (0, 0);
        // SAFETY: places are valid.
        unsafe {
            let answers = [
                cuDeviceGet(out(&mut number), wrong),
                cuDeviceGetAttribute(out(&mut number), 1, wrong),
                cuCtxCreate_v2(out(&mut handle), 0, wrong),
                cuDevicePrimaryCtxRetain(out(&mut handle), wrong),
                cuDeviceCanAccessPeer(out(&mut number), 0, wrong),
                cuDeviceGetP2PAttribute(out(&mut number), 2, wrong, 0),
            ];
            assert_eq!(answers, [CUresult::INVALID_DEVICE; 6], "device {wrong}");
        }
    }
    let mut value = 7;
    // SAFETY: places are valid.
    unsafe {
        ok(cuDeviceCanAccessPeer(out(&mut value), 0, 0));
        assert_eq!(value, 0, "a device is no peer of itself");
        assert_eq!(cuDeviceGetP2PAttribute(out(&mut value), 2, 0, 0), CUresult::INVALID_DEVICE);
    }
    for (own, peer) in machine.pairs() {
        let mut can = -1;
        // SAFETY: places are valid.
        unsafe {
            ok(cuDeviceCanAccessPeer(out(&mut can), own.number, peer.number));
            ok(cuDeviceGetP2PAttribute(out(&mut value), 2, own.number, peer.number));
            assert_eq!(can, value);
            let unknown = cuDeviceGetP2PAttribute(out(&mut value), 99, own.number, peer.number);
            assert_eq!(unknown, CUresult::INVALID_VALUE);
        }
    }
}

fn contexts(machine: &Machine) {
    for gpu in &machine.gpus {
        let (mut device, mut own, mut stream) = (-1, 0, 0);
        gpu.enter();
        // SAFETY: places are valid.
        unsafe {
            ok(cuCtxGetDevice(out(&mut device)));
            assert_eq!(device, gpu.number);
            ok(cuCtxCreate_v2(out(&mut own), 0, gpu.number));
            assert!(machine.gpus.iter().all(|gpu| gpu.context != own));
            ok(cuStreamCreate(out(&mut stream), 0));
            ok(cuCtxSetCurrent(0));
            // The stream brings its context.
            let mut context = 0;
            ok(cuStreamGetCtx(stream, out(&mut context)));
            assert_eq!(context, own);
            ok(cuCtxDestroy_v2(own));
        }
    }
    // Each device's primary context lives and ends by itself.
    let states = || -> Vec<i32> {
        let active = |gpu: &crate::machine::Gpu| {
            let (mut flags, mut active) = (0, -1);
            // SAFETY: places are valid.
            unsafe { ok(cuDevicePrimaryCtxGetState(gpu.number, out(&mut flags), out(&mut active))) };
            active
        };
        machine.gpus.iter().map(active).collect()
    };
    let mut expected = vec![1; machine.count()];
    for gpu in machine.gpus.iter().rev() {
        assert_eq!(states(), expected);
        // SAFETY: no pointer is passed.
        unsafe { ok(cuDevicePrimaryCtxRelease_v2(gpu.number)) };
        expected[gpu.number as usize] = 0;
    }
    assert_eq!(states(), expected);
}

fn addresses(machine: &Machine) {
    let mut all = HashSet::new();
    for gpu in &machine.gpus {
        for count in [1, 7, 300_000] {
            let address = gpu.zeros(count);
            assert!(all.insert(address));
            let (mut ordinal, mut context, mut kind) = (-1i32, 0usize, 0u32);
            // SAFETY: places are of the attributes' widths.
            unsafe {
                ok(cuPointerGetAttribute((&raw mut ordinal).cast(), 9, address + 3));
                ok(cuPointerGetAttribute((&raw mut context).cast(), 1, address));
                ok(cuPointerGetAttribute((&raw mut kind).cast(), 2, address));
            }
            assert_eq!((ordinal, context, kind), (gpu.number, gpu.context, 2));
        }
        // A variable of the module that was loaded into its context.
        let (mut address, mut bytes, mut ordinal) = (0, 0, -1i32);
        // SAFETY: places are of the attributes' widths.
        unsafe {
            ok(cuModuleGetGlobal_v2(out(&mut address), out(&mut bytes), gpu.module, text(c"own")));
            ok(cuPointerGetAttribute((&raw mut ordinal).cast(), 9, address));
        }
        assert!(all.insert(address));
        assert_eq!((bytes, ordinal), (4, gpu.number));
    }
}

fn memory(machine: &Machine) {
    const BYTES: usize = 64 << 20;
    let left = |gpu: &crate::machine::Gpu| {
        gpu.enter();
        let (mut free, mut total) = (0, 0);
        // SAFETY: places are valid.
        unsafe { ok(cuMemGetInfo_v2(out(&mut free), out(&mut total))) };
        free
    };
    let before: Vec<usize> = machine.gpus.iter().map(left).collect();
    let last = machine.gpus.last().unwrap();
    last.enter();
    let mut address = 0;
    // SAFETY: the place is valid.
    unsafe { ok(cuMemAlloc_v2(out(&mut address), BYTES)) };
    for gpu in &machine.gpus {
        let taken = before[gpu.number as usize].saturating_sub(left(gpu));
        assert_eq!(taken >= BYTES, gpu.number == last.number, "device {} misses {taken} bytes", gpu.number);
    }
    // Whichever context is current, it is given back to its device.
    machine.gpus[0].free(address);
    assert_eq!(left(last), before[last.number as usize]);
}
