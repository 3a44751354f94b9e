//! More kernels of public benchmark suites.

use blockwise_kernels::suites::*;
use warpsmith_launch::{Buffer, Device};

use super::{LENGTHS, levels, numbers};

fn near(got: &[f32], expected: impl Iterator<Item = f64>, error: f64) {
    let mut count = 0;
    for (i, expected) in expected.enumerate() {
        assert!((f64::from(got[i]) - expected).abs() <= error, "element {i} is {}, not {expected}", got[i]);
        count += 1;
    }
    assert_eq!(count, got.len());
}

fn on_device<T: warpsmith_launch::cust::memory::DeviceCopy>(device: &Device, values: &[T]) -> Buffer<T> {
    device.upload(values).unwrap()
}

pub fn heat_spreads_and_columns_are_eliminated(device: &Device) {
    let heat_step = device.kernel::<safe_heat_step>(levels()).unwrap();
    let eliminate = device.kernel::<safe_eliminate>(levels()).unwrap();
    for (rows, cols) in [(1, 1), (1, 31), (33, 31), (31, 257), (16, 16)] {
        let (heat, power) = (numbers(rows * cols, 1), numbers(rows * cols, 2));
        let [mut next, mut to] =
            [0, 0].map(|_| device.upload_matrix(&vec![f32::NAN; rows * cols], rows, cols).unwrap());
        let (from, of_power) = (
            device.upload_matrix(&heat, rows, cols).unwrap(),
            device.upload_matrix(&power, rows, cols).unwrap(),
        );
        let pivot = rows.min(cols) / 2;
        // A pivot by which the others divide exactly.
        let mut matrix = heat.clone();
        matrix[pivot * cols + pivot] = 4.0;
        let of_matrix = device.upload_matrix(&matrix, rows, cols).unwrap();
        device
            .scope(|scope| {
                scope.launch(&heat_step, (20.0f32, &from, &of_power, &mut next))?;
                scope.launch(&eliminate, (pivot as u32, &of_matrix, &mut to))
            })
            .unwrap();
        let places = || (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col)));
        let at = |row: usize, col: usize| f64::from(heat[row * cols + col]);
        let expected = places().map(|(row, col)| {
            let (up, down) = (row.saturating_sub(1), (row + 1).min(rows - 1));
            let (left, right) = (col.saturating_sub(1), (col + 1).min(cols - 1));
            let own = at(row, col);
            let exchanged = 0.5 * (at(up, col) + at(down, col) - 2.0 * own)
                + 0.5 * (at(row, left) + at(row, right) - 2.0 * own);
            own + 0.25 * (f64::from(power[row * cols + col]) + exchanged + 0.125 * (20.0 - own))
        });
        near(&device.download(&next).unwrap(), expected, 1e-5);
        let at = |row: usize, col: usize| f64::from(matrix[row * cols + col]);
        let expected = places().map(|(row, col)| {
            let part = if row > pivot { at(row, pivot) / at(pivot, pivot) } else { 0.0 };
            at(row, col) - part * at(pivot, col)
        });
        near(&device.download(&to).unwrap(), expected, 1e-5);
    }
}

pub fn layers_and_sparse_matrices_multiply(device: &Device) {
    let layer = device.kernel::<safe_layer>(levels()).unwrap();
    let sparse = device.kernel::<safe_sparse_rows>(levels()).unwrap();
    for (rows, cols) in [(1, 1), (5, 31), (33, 255), (3, 1000)] {
        let (weights, x) = (numbers(rows * cols, 1), numbers(cols, 2));
        let weights: Vec<f32> = weights.iter().map(|weight| weight / 1024.0).collect();
        // Every third element of a row, none of some rows.
        let (mut starts, mut columns, mut values) = (vec![0u32], Vec::new(), Vec::new());
        for row in 0..rows {
            let count = if row % 4 == 3 { 0 } else { cols };
            columns.extend((0..count as u32).filter(|col| (col + row as u32).is_multiple_of(3)));
            values.extend((values.len()..columns.len()).map(|i| (i % 7) as f32));
            starts.push(columns.len() as u32);
        }
        // There is no buffer of nothing; what lies behind the last row is nobody's.
        columns.push(0);
        values.push(0.0);
        let of_weights = device.upload_matrix(&weights, rows, cols).unwrap();
        let [mut y, mut z] = [0, 0].map(|_| on_device(device, &vec![f32::NAN; rows]));
        let (of_x, of_starts) = (on_device(device, &x), on_device(device, &starts));
        let (of_columns, of_values) = (on_device(device, &columns), on_device(device, &values));
        device
            .scope(|scope| {
                scope.launch(&layer, (&of_weights, &of_x, &mut y))?;
                scope.launch(&sparse, (&of_starts, &of_columns, &of_values, &of_x, &mut z))
            })
            .unwrap();
        let expected = weights.chunks(cols).map(|row| {
            let sum: f64 = row.iter().zip(&x).map(|(w, x)| f64::from(*w) * f64::from(*x)).sum();
            1.0 / (1.0 + (-sum).exp())
        });
        near(&device.download(&y).unwrap(), expected, 1e-5);
        let expected = starts.windows(2).map(|ends| {
            let row = ends[0] as usize..ends[1] as usize;
            row.map(|i| f64::from(values[i]) * f64::from(x[columns[i] as usize])).sum()
        });
        near(&device.download(&z).unwrap(), expected, 0.0);
    }
}

pub fn options_are_priced(device: &Device) {
    let kernel = device.kernel::<safe_option_prices>(levels()).unwrap();
    for len in LENGTHS {
        let of = |seed, least: f32| -> Vec<f32> {
            numbers(len, seed).iter().map(|number| number + least).collect()
        };
        let (price, strike, years) = (of(1, 20.0), of(2, 25.0), of(3, 10.0));
        let [mut call, mut put] = [0, 0].map(|_| on_device(device, &vec![f32::NAN; len]));
        let (from, of_strike, of_years) =
            (on_device(device, &price), on_device(device, &strike), on_device(device, &years));
        let arguments = (0.02f32, 0.3f32, &from, &of_strike, &of_years, &mut call, &mut put);
        device.scope(|scope| scope.launch(&kernel, arguments)).unwrap();
        let expected = (0..len).map(|i| {
            let (price, strike, years) = (f64::from(price[i]), f64::from(strike[i]), f64::from(years[i]));
            let spread = 0.3 * years.sqrt();
            let d = ((price / strike).ln() + (0.02 + 0.045) * years) / spread;
            price * below(d) - strike * (-0.02 * years).exp() * below(d - spread)
        });
        let calls = device.download(&call).unwrap();
        near(&calls, expected, 1e-3);
        // A call and its put differ by the price and what the strike is worth now, whatever the distribution.
        let expected = (0..len).map(|i| {
            f64::from(calls[i]) - f64::from(price[i])
                + f64::from(strike[i]) * (-0.02 * f64::from(years[i])).exp()
        });
        near(&device.download(&put).unwrap(), expected, 1e-3);
    }
}

/// How likely a number of the normal distribution is below `d`: the area under the bell, by Simpson's rule.
fn below(d: f64) -> f64 {
    let (from, steps) = (-9.0, 2000);
    let step = (d - from) / f64::from(steps);
    let bell = |i: i32| {
        let x = from + step * f64::from(i);
        let weight = if i == 0 || i == steps { 1.0 } else { f64::from(2 + 2 * (i % 2)) };
        weight * (-0.5 * x * x).exp()
    };
    (0..=steps).map(bell).sum::<f64>() * step / 3.0 / std::f64::consts::TAU.sqrt()
}

pub fn sorted_lists_are_merged(device: &Device) {
    let kernel = device.kernel::<safe_merge>(levels()).unwrap();
    for (of_a, of_b) in [(1, 1), (1, 255), (31, 33), (257, 1), (1000, 999)] {
        let sorted = |len: usize, factor: u32| {
            let mut keys: Vec<u32> = (0..len as u32).map(|i| i.wrapping_mul(factor) >> 24).collect();
            keys.sort_unstable();
            keys
        };
        let (a, b) = (sorted(of_a, 2_654_435_761), sorted(of_b, 2_246_822_519));
        let (from_a, from_b) = (on_device(device, &a), on_device(device, &b));
        let mut merged = on_device(device, &vec![7u32; of_a + of_b]);
        device.scope(|scope| scope.launch(&kernel, (&from_a, &from_b, &mut merged))).unwrap();
        let mut expected = [a, b].concat();
        expected.sort_unstable();
        assert_eq!(device.download(&merged).unwrap(), expected, "{of_a} and {of_b}");
    }
}
