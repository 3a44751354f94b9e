//! Each instance of generic kernels, with and without `unsafe`.

use std::fmt::Debug;

use blockwise::BlockwiseKernel;
use blockwise_kernels::generic::{Add, Larger, NARROW, safe_columns, safe_shifted};
use warpsmith_launch::Device;
use warpsmith_launch::Kernel;

use super::{levels, numbers};

pub fn columns_of_each_type_operation_and_edge_are_folded(device: &Device) {
    macro_rules! folded {
        ($($ty:ty, $operation:ty, $edge:literal, $fold:expr;)*) => {$(
            let x: Vec<$ty> = numbers(3 * $edge * $edge, $edge).into_iter().map(|x| (x + 8.0) as $ty).collect();
            let (from, mut to) = (device.upload(&x).unwrap(), device.zeroed::<$ty>(3 * $edge).unwrap());
            let kernel = device.kernel::<safe_columns<$ty, $operation, $edge>>(levels()).unwrap();
            device.scope(|scope| scope.launch(&kernel, (7 as $ty, &from, &mut to))).unwrap();
            for (i, got) in device.download(&to).unwrap().into_iter().enumerate() {
                let column = x[i / $edge * $edge * $edge + i % $edge..].iter().copied().step_by($edge).take($edge);
                assert_eq!(got, column.fold(7 as $ty, $fold), "{}, {i}", std::any::type_name::<safe_columns<$ty, $operation, $edge>>());
            }
        )*};
    }
    folded! {
        f32, Add, 16, |a, b| a + b;
        f32, Add, 32, |a, b| a + b;
        f32, Larger, 16, f32::max;
        f32, Larger, 32, f32::max;
        u64, Add, 16, |a, b| a + b;
        u64, Add, 32, |a, b| a + b;
        u64, Larger, 16, u64::max;
        u64, Larger, 32, u64::max;
    }
    assert_eq!(safe_columns::<u64, Larger, 32>::NAME, "safe_columns$u64$Larger$32");
    let too_short = device.upload(&[1.0f32; 15]).unwrap();
    let mut to = device.zeroed::<f32>(1).unwrap();
    let kernel = device.kernel::<safe_columns<f32, Add, 16>>(levels()).unwrap();
    let refused = device.scope(|scope| scope.launch(&kernel, (0.0f32, &too_short, &mut to))).unwrap_err();
    let said = refused.to_string();
    assert!(
        said.starts_with("cannot launch `safe_columns::<f32, Add, 16>`") && said.contains("16"),
        "{said}"
    );
}

/// Host code may be generic, too: it asks for the instance as for any bound.
fn shifted<P, S, const BY: isize, const THREADS: usize>(device: &Device, x: &[P], rest: S) -> Vec<S>
where
    P: blockwise_kernels::generic::Pixel<Sample = S> + warpsmith_launch::cust::memory::DeviceCopy,
    S: blockwise::DeviceCopy + warpsmith_launch::cust::memory::DeviceCopy,
    safe_shifted<P, BY, THREADS>: BlockwiseKernel<Signature = fn(&'static [P], S, blockwise::SliceMut<S>)>,
{
    let (from, mut to) = (device.upload(x).unwrap(), device.upload(&vec![rest; x.len()]).unwrap());
    let kernel = device.kernel::<safe_shifted<P, BY, THREADS>>(levels()).unwrap();
    device.scope(|scope| scope.launch(&kernel, (&from, rest, &mut to))).unwrap();
    device.download(&to).unwrap()
}

pub fn lists_of_pairs_and_negative_constants_make_instances(device: &Device) {
    fn same<S: PartialEq + Debug>(one: Vec<S>, other: Vec<S>) {
        assert_eq!(one, other);
    }
    let bytes: Vec<u8> = (0..100).collect();
    let expected: Vec<f32> = (0..100u8).map(|i| i.checked_sub(1).map_or(-5.0, f32::from)).collect();
    same(shifted::<u8, f32, -1, NARROW>(device, &bytes, -5.0), expected.clone());
    same(shifted::<u8, f32, -1, 64>(device, &bytes, -5.0), expected);
    let pairs: Vec<[u16; 2]> = (0..100).map(|i| [i, 3]).collect();
    let expected: Vec<u32> = (2..102u32).map(|i| if i < 100 { i << 16 | 3 } else { 9 }).collect();
    same(shifted::<[u16; 2], u32, 2, 32>(device, &pairs, 9), expected.clone());
    same(shifted::<[u16; 2], u32, 2, 64>(device, &pairs, 9), expected);
    assert_eq!(safe_shifted::<u8, -1, NARROW>::NAME, "safe_shifted$u8$_1$NARROW");
    assert_eq!(safe_shifted::<[u16; 2], 2, 64>::NAME, "safe_shifted$u16_2$2$64");
}
