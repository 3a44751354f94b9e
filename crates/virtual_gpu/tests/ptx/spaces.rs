use virtual_gpu::Launch;

use crate::device::Device;

fn device() -> Device {
    Device::new(include_str!("spaces.ptx"))
}

#[test]
fn initialisers() {
    let device = device();
    let out = device.zeros::<u32>(12);
    device.launch("initialised", Launch::new(1, 1), &[out.arg()]);
    let want = [3, 3, 0xffff, 0x3333, 0x1111, 0x3fc0_0000, 0x4020_0000, 0xbf80_0000, u32::MAX, 65, 0, 0];
    assert_eq!(device.download::<u32>(out), want);
}

#[test]
fn windows_of_the_generic_space() {
    let device = device();
    let out = device.zeros::<u32>(32);
    device.launch("windows", Launch::new(1, 32), &[out.arg()]);
    let want: Vec<u32> =
        (0..32).map(|t| t * 10_000 + t * 100 + 15 + 0x1000_0000 + 0x4000_0000 + 0x8000_0000).collect();
    assert_eq!(device.download::<u32>(out), want);
}

#[test]
fn a_generic_address_is_asked_for_its_space() {
    let device = device();
    let out = device.zeros::<u32>(5);
    device.launch("asked", Launch::new(1, 1), &[out.arg()]);
    // The parameter window is within the global one.
    assert_eq!(device.download::<u32>(out), [1, 2, 4, 2, 0]);
}

#[test]
fn special_registers() {
    let device = device();
    let threads = 7 * 3 * 2;
    let out = device.zeros::<u32>(threads as usize * 12);
    device.launch("specials", Launch::new((2, 1, 3), (7, 3, 2)).dynamic_shared(64), &[out.arg()]);
    let got = device.download::<u32>(out);
    for id in 0..threads {
        let lane = id % 32;
        let mut got: [u32; 12] = got[id as usize * 12..][..12].try_into().unwrap();
        // Dynamic shared memory begins somewhere after the twenty bytes of the static array, aligned as declared.
        assert!(got[8] >= 20 && got[8].is_multiple_of(8), "{}", got[8]);
        got[8] = 0;
        let want = [id, lane, (1 << lane) - 1, u32::MAX << lane, 0, 2, 64, 32, 0, 1 << lane, 2, 3];
        assert_eq!(got, want, "thread {id}");
    }
}

#[test]
fn atomics_of_sixteen_bytes() {
    let device = device();
    let cells: Vec<u64> = (0..32).flat_map(|t| [t, if t % 2 == 0 { 7 } else { 8 }]).collect();
    let (array, out) = (device.upload(&cells), device.zeros::<u64>(128));
    device.launch("wide_atomics", Launch::new(1, 32), &[array.arg(), out.arg()]);
    let (after, out) = (device.download::<u64>(array), device.download::<u64>(out));
    for t in 0..32 {
        let before = [t as u64, if t % 2 == 0 { 7 } else { 8 }];
        let swapped = if t % 2 == 0 { [100, 200] } else { before };
        assert_eq!(out[t * 4..][..4], [before[0], before[1], swapped[0], swapped[1]], "thread {t}");
        assert_eq!(after[t * 2..][..2], [before[1], before[0]], "thread {t}");
    }
}

#[test]
fn shared_memory_that_the_system_keeps() {
    let device = device();
    let out = device.zeros::<u32>(64);
    device.launch("reserved", Launch::new(2, 32), &[out.arg()]);
    assert_eq!(device.download::<u32>(out), (0..64).map(|i| 3200 + i % 32).collect::<Vec<u32>>());
}

#[test]
fn narrow_reads_of_special_registers_and_addresses() {
    let device = device();
    let out = device.upload(&[9u32; 8]);
    device.launch("narrow_reads", Launch::new(1, 1), &[out.arg()]);
    assert_eq!(device.download::<u32>(out), [1, 0, 1, 1, 0, 0, 0, 0]);
}
