//! Graphs of kernels without `unsafe`.

use blockwise_kernels::transpose::safe_transpose_tile;
use blockwise_kernels::vecadd::{safe_sum_of_numbers, safe_vecadd};
use warpsmith_launch::Device;

use super::{levels, numbers};

pub fn chains_are_replayed_with_other_buffers(device: &Device) {
    let add = device.kernel::<safe_vecadd>(levels()).unwrap();
    let (a, b) = (numbers(1000, 1), numbers(1000, 2));
    let (on_a, on_b) = (device.upload(&a).unwrap(), device.upload(&b).unwrap());
    let [mut x, mut y, mut z] = [0, 0, 0].map(|_| device.zeroed::<f32>(1000).unwrap());
    // The graph keeps the borrow of b, which is no argument.
    let mut graph = device
        .capture((&on_a, &mut x, &mut y), |scope, (a, mut x, mut y)| {
            scope.launch(&add, (a, &on_b, &mut x))?;
            for _ in 0..9 {
                scope.launch(&add, (&x, &on_b, &mut y))?;
                scope.launch(&add, (&y, a, &mut x))?;
            }
            scope.copy(&x, &mut y)
        })
        .unwrap();
    for _ in 0..3 {
        graph.launch((&on_a, &mut x, &mut y)).unwrap();
        graph.launch((&on_b, &mut z, &mut x)).unwrap();
    }
    // Whole numbers: the sums are exact.
    let expected = |of: &[f32]| -> Vec<f32> { of.iter().zip(&b).map(|(a, b)| 10.0 * (a + b)).collect() };
    assert_eq!(device.download(&y).unwrap(), expected(&a));
    assert_eq!(device.download(&z).unwrap(), expected(&b));
    assert_eq!(device.download(&x).unwrap(), expected(&b));
}

pub fn matrices_are_arguments_of_graphs(device: &Device) {
    let turn = device.kernel::<safe_transpose_tile>(levels()).unwrap();
    let (rows, cols) = (33, 70);
    let elements = numbers(rows * cols, 1);
    let from = device.upload_matrix(&elements, rows, cols).unwrap();
    let [mut turned, mut other] =
        [0, 0].map(|_| device.upload_matrix(&[f32::NAN; 33 * 70], cols, rows).unwrap());
    let mut back = device.upload_matrix(&[f32::NAN; 33 * 70], rows, cols).unwrap();
    let mut graph = device
        .capture((&from, &mut turned, &mut back), |scope, (from, mut turned, back)| {
            scope.launch(&turn, (from, &mut turned))?;
            scope.launch(&turn, (&turned, back))
        })
        .unwrap();
    graph.launch((&from, &mut other, &mut back)).unwrap();
    assert_eq!(device.download(&back).unwrap(), elements);
    for (i, got) in device.download(&other).unwrap().into_iter().enumerate() {
        assert_eq!(got, elements[i % rows * cols + i / rows], "{i}");
    }
    assert!(device.download(&turned).unwrap().iter().all(|element| element.is_nan()));
}

pub fn values_that_a_kernel_requires_something_of_are_compared_at_each_launch(device: &Device) {
    let kernel = device.kernel::<safe_sum_of_numbers>(levels()).unwrap();
    let mut to = device.zeroed::<f32>(100).unwrap();
    let mut graph =
        device.capture((5usize, &mut to), |scope, (number, to)| scope.launch(&kernel, (number, to))).unwrap();
    let refused = graph.launch((900, &mut to)).unwrap_err().to_string();
    assert!(refused.contains("to.len() + number < 1000") && refused.contains("1000 and 1000"), "{refused}");
    graph.launch((7, &mut to)).unwrap();
    assert_eq!(device.download(&to).unwrap()[..3], [7.0, 8.0, 9.0]);
}
