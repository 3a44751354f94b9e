//! Softmax and norms of rows of every length and alignment, against sums of f64.

use host::data::Random;
use host::verify::TensorOutput;
use warpsmith_kernels::rows::{Element, Norm, log_softmax, softmax};
use warpsmith_launch::{Bf16, Device, F16};

use crate::Case;

/// Rows by columns: none, less than a warp, at the edge of each form, longer than a block keeps.
const SHAPES: [(usize, usize); 15] = [
    (0, 5),
    (5, 0),
    (1, 1),
    (3, 31),
    (9, 32),
    (2, 33),
    (17, 256),
    (2, 257),
    (9, 1024),
    (3, 1025),
    (2, 4100),
    (1, 16_384),
    (1, 16_388),
    (1, 33_000),
    (2, 40_001),
];

/// The cases.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for shape in SHAPES {
        let name = |verb| format!("rows::{verb}::{}x{}", shape.0, shape.1);
        cases.push(Case::new(name("softmax"), move |device| {
            every_type(device, shape, [check_softmax::<f32>, check_softmax::<F16>, check_softmax::<Bf16>])
        }));
        cases.push(Case::new(name("norm"), move |device| {
            every_type(device, shape, [check_norm::<f32>, check_norm::<F16>, check_norm::<Bf16>])
        }));
    }
    cases.push(Case::new("rows::what_does_not_fit_is_refused", |device| {
        let (x, mut y) = (device.upload(&[0.0f32; 11])?, device.zeroed::<f32>(12)?);
        let refused = softmax(device, (3, 4), &x, &mut y).unwrap_err().to_string();
        anyhow::ensure!(
            refused.contains("the matrix needs 12 elements") && refused.contains("has 11"),
            "{refused}"
        );
        let mut norm = Norm::layer(1e-5).weight(x.slice(..3));
        let refused = norm.apply(device, (2, 4), &x, &mut y).unwrap_err().to_string();
        anyhow::ensure!(refused.contains("the weights needs 4 elements"), "{refused}");
        Ok(())
    }));
    cases.push(Case::new("rows::infinities_and_large_numbers", |device| {
        let x = [f32::NEG_INFINITY, 3e38, -3e38, f32::NEG_INFINITY];
        for cols in [4, 40_000] {
            let mut row = vec![f32::NEG_INFINITY; cols];
            row[cols - 4..].copy_from_slice(&x);
            let mut y = device.zeroed::<f32>(cols)?;
            softmax(device, (1, cols), &device.upload(&row)?, &mut y)?;
            let got = device.download(&y)?;
            anyhow::ensure!(
                got[cols - 3] == 1.0 && got.iter().sum::<f32>() == 1.0,
                "{cols}: {:?}",
                &got[cols - 4..]
            );
        }
        Ok(())
    }));
    cases
}

/// A number that both sides can have.
trait Number: Element + TensorOutput {
    /// How far a result may be from the exact one, relative to the greatest of the row.
    const ERROR: f64;
}
impl Number for f32 {
    const ERROR: f64 = 2e-6;
}
impl Number for F16 {
    const ERROR: f64 = 6e-4;
}
impl Number for Bf16 {
    const ERROR: f64 = 5e-3;
}

/// A matrix in a buffer that begins `begin` elements before it.
fn matrix<T: Number>(len: usize, begin: usize, seed: u64) -> Vec<T> {
    Random::new(seed).units(begin + len).into_iter().map(|x| T::of(f64::from(4.0 * x - 1.0))).collect()
}

/// A check of one type, in buffers of which so many elements come before.
type Check = fn(&Device, (usize, usize), usize) -> anyhow::Result<()>;

fn every_type(device: &Device, shape: (usize, usize), checks: [Check; 3]) -> anyhow::Result<()> {
    [0, 1].into_iter().try_for_each(|begin| checks.iter().try_for_each(|check| check(device, shape, begin)))
}

/// Compares each row with what `expected` makes of it in f64.
fn compare<T: Number>(
    (rows, cols): (usize, usize),
    got: &[T],
    expected: impl Fn(usize) -> Vec<f64>,
) -> anyhow::Result<()> {
    for row in 0..rows {
        let expected = expected(row);
        let most = expected.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        for (col, (got, expected)) in got[row * cols..][..cols].iter().zip(&expected).enumerate() {
            let error = (got.value() - expected).abs();
            anyhow::ensure!(
                error <= T::ERROR * most,
                "{rows} × {cols}, row {row}, column {col}: {} for {expected}",
                got.value()
            );
        }
    }
    Ok(())
}

fn check_softmax<T: Number>(device: &Device, shape: (usize, usize), begin: usize) -> anyhow::Result<()> {
    let (len, cols) = (shape.0 * shape.1, shape.1);
    let x: Vec<T> = matrix(len, begin, 3);
    let from = device.upload(&x)?;
    let mut to = device.upload(&vec![T::of(77.0); begin + len + 1])?;
    let rows = |row: usize| x[begin + row * cols..][..cols].iter().map(|x| x.value());
    softmax(device, shape, from.slice(begin..), to.slice_mut(begin..))?;
    let got = device.download(&to)?;
    anyhow::ensure!(got[begin + len].value() == 77.0, "behind the result");
    compare(shape, &got[begin..], |row| {
        let sum: f64 = rows(row).map(f64::exp).sum();
        rows(row).map(|x| x.exp() / sum).collect()
    })?;
    log_softmax(device, shape, from.slice(begin..), to.slice_mut(begin..))?;
    compare(shape, &device.download(&to)?[begin..], |row| {
        let sum: f64 = rows(row).map(f64::exp).sum();
        rows(row).map(|x| x - sum.ln()).collect()
    })
}

fn check_norm<T: Number>(device: &Device, shape: (usize, usize), begin: usize) -> anyhow::Result<()> {
    let (len, cols) = (shape.0 * shape.1, shape.1);
    let x: Vec<T> = matrix(len, begin, 4);
    let [residual, weight, bias]: [Vec<T>; 3] =
        [matrix(len, begin, 5), matrix(cols, begin, 6), matrix(cols, begin, 7)];
    let from = device.upload(&x)?;
    let mut to = device.upload(&vec![T::of(77.0); begin + len + 1])?;
    let mean = |row: &[f64]| row.iter().sum::<f64>() / cols as f64;
    let square = |row: &[f64]| row.iter().map(|x| x * x).sum::<f64>() / cols as f64;

    Norm::layer(1e-5).apply(device, shape, from.slice(begin..), to.slice_mut(begin..))?;
    let got = device.download(&to)?;
    anyhow::ensure!(got[begin + len].value() == 77.0, "behind the result");
    compare(shape, &got[begin..], |row| {
        let row: Vec<f64> = x[begin + row * cols..][..cols].iter().map(|x| x.value()).collect();
        let centred: Vec<f64> = row.iter().map(|x| x - mean(&row)).collect();
        centred.iter().map(|x| x / (square(&centred) + 1e-5).sqrt()).collect()
    })?;

    let (other, weights, biases) =
        (device.upload(&residual)?, device.upload(&weight)?, device.upload(&bias)?);
    let mut sum = device.upload(&vec![T::of(77.0); begin + len + 1])?;
    Norm::rms(1e-3)
        .weight(weights.slice(begin..))
        .bias(biases.slice(begin..))
        .residual(other.slice(begin..), sum.slice_mut(begin..))
        .apply(device, shape, from.slice(begin..), to.slice_mut(begin..))?;
    let sums = device.download(&sum)?;
    anyhow::ensure!(sums[begin + len].value() == 77.0, "behind the sum");
    for i in begin..begin + len {
        let exact = T::of(f64::from((x[i].value() + residual[i].value()) as f32)).value();
        anyhow::ensure!(sums[i].value() == exact, "sum {i}: {} for {exact}", sums[i].value());
    }
    compare(shape, &device.download(&to)?[begin..], |row| {
        let row: Vec<f64> = sums[begin + row * cols..][..cols].iter().map(|x| x.value()).collect();
        let scale = 1.0 / (square(&row) + f64::from(1e-3f32)).sqrt();
        (0..cols)
            .map(|col| row[col] * scale * weight[begin + col].value() + bias[begin + col].value())
            .collect()
    })
}
