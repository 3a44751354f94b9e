//! Barriers in unusual places.

use blockwise_kernels::unusual::*;
use warpsmith_launch::Device;

use super::{LENGTHS, levels};

fn numbers(len: usize) -> Vec<u32> {
    (0..len as u32).map(|i| i * 37 % 101).collect()
}

/// Element i of the part of 256 that element `of` is in, around its end; beyond the slice there is zero.
fn in_part(x: &[u32], of: usize, i: usize) -> u32 {
    x.get(of / 256 * 256 + i % 256).copied().unwrap_or(0)
}

macro_rules! results {
    ($($test:ident $kernel:ident ($($number:expr)?) |$x:ident, $i:ident| $expected:expr;)*) => {$(
        pub fn $test(device: &Device) {
            let kernel = device.kernel::<$kernel>(levels()).unwrap();
            for len in LENGTHS {
                let $x = numbers(len);
                let (from, mut to) =
                    (device.upload(&$x).unwrap(), device.upload(&vec![7; len]).unwrap());
                device.scope(|scope| scope.launch(&kernel, ($($number,)? &from, &mut to))).unwrap();
                let expected: Vec<u32> = (0..len).map(|$i| $expected).collect();
                assert_eq!(device.download(&to).unwrap(), expected, "{len}");
            }
        }
    )*};
}
results! {
    futures_wait_for_all safe_future () |x, i| in_part(&x, i, 255 - i % 256);
    iterators_wait_for_all safe_steps (3) |x, i| (1..4).map(|step| in_part(&x, i, i + step)).sum();
    functions_that_call_themselves_wait_for_all safe_recursion (3) |x, i| in_part(&x, i, i + 2 + 4 + 8);
}

pub fn what_is_dropped_waits_for_all(device: &Device) {
    let kernel = device.kernel::<safe_drop>(levels()).unwrap();
    for len in LENGTHS {
        let x = numbers(len);
        let (from, mut sums) =
            (device.upload(&x).unwrap(), device.upload(&vec![7; len.div_ceil(256)]).unwrap());
        device.scope(|scope| scope.launch(&kernel, (&from, &mut sums))).unwrap();
        let sum = |part: &[u32]| part.iter().sum::<u32>() * if part[0] % 2 == 1 { 1 } else { 2 };
        let expected: Vec<u32> = x.chunks(256).map(sum).collect();
        assert_eq!(device.download(&sums).unwrap(), expected, "{len}");
    }
}
