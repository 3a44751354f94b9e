use virtual_gpu::Launch;

use crate::device::Device;

fn run<T: crate::device::Plain>(kernel: &str, threads: u32, results: usize) -> Vec<T> {
    let device = Device::new(include_str!("flow.ptx"));
    let out = device.zeros::<T>(results);
    device.launch(kernel, Launch::new(1, threads), &[out.arg()]);
    device.download(out)
}

#[test]
fn indexed_branch() {
    let want = |t: u32| match t % 5 {
        0 | 3 => 1000 + t,
        1 => 2990,
        2 => 999,
        _ => 0,
    };
    assert_eq!(run::<u32>("indexed_branch", 40, 40), (0..40).map(want).collect::<Vec<_>>());
}

#[test]
fn structures_by_value() {
    fn swap_add([x, y, z]: [u32; 3], depth: u32) -> [u32; 4] {
        if depth == 0 {
            return [z, 7, x, y];
        }
        let r = swap_add([y, z, x + depth], depth - 1);
        [r[0], 7, r[2], r[3]]
    }
    let want: Vec<u32> = (0..64).flat_map(|t| swap_add([t * 100, 10, 1], t & 3)).collect();
    assert_eq!(run::<u32>("by_value", 64, 256), want);
}

#[test]
fn functions_by_address() {
    let want: Vec<u32> = (0..32).map(|t| if t % 2 == 0 { 2 * t } else { t * t }).collect();
    assert_eq!(run::<u32>("indirect", 32, 32), want);
}

#[test]
fn lanes_of_a_warp_wait_for_each_other() {
    let got = run::<u32>("producer_and_consumer", 32, 32);
    assert_eq!(got[0], 10);
    assert_eq!(got[1], (1..=10).fold(0, |n, x| n * 3 + x));
    assert_eq!(got[2..], [0; 30]);
}

#[test]
fn barrier_counts_only_threads_that_stay() {
    let sum: u32 = (0..64).filter(|t| t % 2 == 1).sum();
    let want: Vec<u32> = (0..96).map(|t| if t % 2 == 1 && t < 64 { sum } else { 0 }).collect();
    assert_eq!(run::<u32>("barrier_after_exit", 96, 96), want);
}
