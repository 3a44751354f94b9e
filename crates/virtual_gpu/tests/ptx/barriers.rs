use virtual_gpu::Launch;

use crate::device::Device;

fn device() -> Device {
    Device::new(include_str!("barriers.ptx"))
}

#[test]
fn named_barriers_with_arrivals() {
    let device = device();
    let out = device.zeros::<u32>(32);
    device.launch("named", Launch::new(1, 64), &[out.arg()]);
    let want: Vec<u32> = (0..32u32)
        .map(|lane| (0..6u32).fold(0u32, |s, i| s.wrapping_mul(7).wrapping_add(i * 1000 + lane)))
        .collect();
    assert_eq!(device.download::<u32>(out), want);
}

#[test]
fn reductions_at_a_barrier() {
    let device = device();
    let out = device.zeros::<u32>(96);
    device.launch("reductions", Launch::new(1, 96), &[out.arg()]);
    // A quarter of the threads has both bits; not all, but some.
    assert_eq!(device.download::<u32>(out), [24 + 2000; 96]);
}

#[test]
fn phases_of_a_memory_barrier() {
    let device = device();
    let out = device.zeros::<u32>(64);
    device.launch("phases", Launch::new(1, 64), &[out.arg()]);
    let round: u32 = (0..32).sum();
    let want = (1..=4).fold(0, |s, i| s * 5 + i * round);
    assert_eq!(device.download::<u32>(out), [want; 64]);
}

#[test]
fn asynchronous_copies() {
    let device = device();
    let words: Vec<u32> = (0..256).map(|i| 0x0101_0101u32.wrapping_mul(i).wrapping_add(5)).collect();
    let out = device.zeros::<u32>(256);
    device.launch("async_copies", Launch::new(1, 64), &[device.upload(&words).arg(), out.arg()]);
    let got = device.download::<u32>(out);
    for t in 0..64 {
        let bytes: Vec<u8> = words[t * 4..][..4].iter().flat_map(|w| w.to_le_bytes()).collect();
        let kept: Vec<u8> = (0..16).map(|i| if i < (t & 15) { bytes[i] } else { 0 }).collect();
        let mut want: Vec<u32> = kept.chunks(4).map(|w| u32::from_le_bytes(w.try_into().unwrap())).collect();
        want[3] = want[3].wrapping_add(words[t * 4 + 1]);
        assert_eq!(got[t * 4..][..4], want, "thread {t}");
    }
}

#[test]
fn bulk_copies() {
    let device = device();
    let words: Vec<u32> = (0..128).map(|i| i * i + 1).collect();
    let out = device.zeros::<u32>(128);
    device.launch("bulk_copies", Launch::new(1, 128), &[device.upload(&words).arg(), out.arg()]);
    let want: Vec<u32> = words.iter().zip(0..).map(|(w, t)| w + t).collect();
    assert_eq!(device.download::<u32>(out), want);
}

#[test]
fn blocks_of_a_cluster() {
    let device = Device::new(include_str!("cluster.ptx"));
    let out = device.zeros::<u32>(12);
    device.launch("neighbours", Launch { cluster: [4, 1, 1], ..Launch::new(12, 32) }, &[out.arg()]);
    // All 32 threads of a block add three.
    let want: Vec<u32> =
        (0..12).map(|b| b / 4 * 4 + (b + 1) % 4).map(|n| n * 100 + 7 + 96 * 100_000).collect();
    assert_eq!(device.download::<u32>(out), want);
}
