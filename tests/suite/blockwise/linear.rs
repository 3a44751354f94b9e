//! Kernels with linear maps, and what is said of their banks.

use blockwise_kernels::linear::{safe_sums_by_fours, safe_transpose_by_columns};
use gpu_model::banks::{Access, shared_wavefronts};
use warpsmith_launch::Device;

use super::{LENGTHS, levels, numbers};

pub fn neighbours_are_summed(device: &Device) {
    let kernel = device.kernel::<safe_sums_by_fours>(levels()).unwrap();
    for len in LENGTHS.into_iter().chain([1024, 1025, 5000]) {
        let x: Vec<u32> = (0..len as u32).map(|i| i * 7 % 13).collect();
        let (from, mut to) = (device.upload(&x).unwrap(), device.upload(&vec![7u32; len]).unwrap());
        device.scope(|scope| scope.launch(&kernel, (&from, &mut to))).unwrap();
        let expected: Vec<u32> = (0..len).map(|i| x[i / 1024 * 1024..=i].iter().sum()).collect();
        assert_eq!(device.download(&to).unwrap(), expected, "{len}");
    }
}

pub fn columns_of_threads_turn(device: &Device) {
    let kernel = device.kernel::<safe_transpose_by_columns>(levels()).unwrap();
    for (rows, cols) in [(1, 1), (1, 31), (33, 31), (31, 257), (100, 40)] {
        let elements = numbers(rows * cols, 1);
        let from = device.upload_matrix(&elements, rows, cols).unwrap();
        let mut to = device.upload_matrix(&vec![f32::NAN; rows * cols], cols, rows).unwrap();
        device.scope(|scope| scope.launch(&kernel, (&from, &mut to))).unwrap();
        for (i, got) in device.download(&to).unwrap().into_iter().enumerate() {
            assert_eq!(got, elements[i % rows * cols + i / rows], "{rows} × {cols}, {i}");
        }
    }
}

/// The most wavefronts that a warp's store takes, as the measured model of the chips counts them.
macro_rules! compared {
    ($($ty:ty, $rows:literal, $cols:literal, $layout:ty, $w:literal, $h:literal: $x:expr, $y:expr;)*) => {$({
        use blockwise::Layout;
        type Of = blockwise::Tile<$ty, $rows, $cols, $layout>;
        const WALK: blockwise::Walk = blockwise::Walk { from: [0, 0], along_x: $x, along_y: $y };
        const SAID: usize = Of::conflict_degree::<$w, $h>(WALK);
        let mut counted = 0;
        for warp in 0..($w * $h) / 32 {
            let mut addresses = [0; 32];
            for (lane, address) in addresses.iter_mut().enumerate() {
                let (x, y) = ((32 * warp + lane) % $w, (32 * warp + lane) / $w);
                let [row, col] = [0, 1].map(|side| x * WALK.along_x[side] + y * WALK.along_y[side]);
                *address = (size_of::<$ty>() * <$layout as Layout<$rows, $cols>>::place(row, col)) as u64;
            }
            let of_warp = shared_wavefronts(Access::Store, size_of::<$ty>() as u32, u32::MAX, &addresses);
            counted = counted.max(of_warp.degree as usize);
        }
        assert_eq!(SAID, counted, "{}, {:?}", std::any::type_name::<Of>(), WALK);
    })*};
}

pub fn conflicts_are_known_before_a_kernel_runs(_: &Device) {
    use blockwise::{ColumnOrder, ColumnOrderPadded, Padded, Plain, Swizzled};
    compared! {
        f32, 32, 32, Plain, 32, 8: [1, 0], [0, 1];
        f32, 32, 32, Plain, 32, 8: [0, 1], [1, 0];
        f32, 32, 32, Plain, 32, 8: [1, 1], [0, 0];
        f32, 32, 33, Plain, 32, 8: [1, 0], [0, 2];
        f32, 32, 32, Padded<1>, 32, 8: [1, 0], [0, 1];
        f32, 32, 32, Padded<4>, 32, 8: [1, 0], [0, 1];
        f32, 32, 32, Swizzled, 32, 8: [1, 0], [0, 1];
        f32, 32, 32, Swizzled, 32, 1: [1, 1], [0, 0];
        f32, 16, 16, ColumnOrder, 16, 16: [0, 1], [1, 0];
        f32, 16, 16, ColumnOrderPadded<1>, 16, 16: [0, 1], [1, 0];
        f32, 16, 16, Plain, 16, 16: [0, 0], [1, 0];
        u8, 32, 64, Plain, 32, 8: [1, 0], [0, 1];
        u16, 32, 32, Padded<2>, 32, 8: [1, 0], [0, 1];
        f64, 32, 32, Plain, 32, 8: [1, 0], [0, 1];
        f64, 32, 32, Padded<1>, 32, 8: [1, 0], [0, 1];
        u128, 32, 8, Plain, 32, 1: [1, 0], [0, 1];
        u128, 32, 8, Padded<1>, 32, 1: [1, 0], [0, 1];
        f32, 256, 4, Plain, 256, 1: [1, 0], [0, 0];
    }
}
