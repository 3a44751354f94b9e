//! More kernels of public benchmark suites, as they fit into blocks; docs/safety.md says which do not.
#![forbid(unsafe_code)]

use blockwise::prelude::*;

/// One step of the heat of a chip: what each cell makes, and what it exchanges with its four neighbours and with the air. At an edge a
/// cell is its own neighbour (Rodinia, "hotspot").
#[kernel]
#[requires(heat.rows() == power.rows(), heat.cols() == power.cols(), heat.rows() == next.rows(), heat.cols() == next.cols())]
pub fn safe_heat_step(
    block: Block<16, 16>,
    #[shared] tile: Tile<f32, 18, 18>,
    air: f32,
    heat: Matrix<f32>,
    power: Matrix<f32>,
    mut next: MatrixMut<f32, Tiles<16, 16>>,
) {
    let (row, col) = (block.y() * 16, block.x() * 16);
    let tile = block.share(tile.fill(&block, |_, (y, x)| at_the_edge(&heat, row + y, col + x)));
    next.write(&block, |_, (y, x)| {
        let own = tile.at(y + 1, x + 1);
        let down = tile.at(y, x + 1) + tile.at(y + 2, x + 1) - 2.0 * own;
        let across = tile.at(y + 1, x) + tile.at(y + 1, x + 2) - 2.0 * own;
        own + 0.25 * (power.at(row + y, col + x) + 0.5 * down + 0.5 * across + 0.125 * (air - own))
    });
}

/// A layer of neurons: 1 / (1 + exp(-Σ w · x)), a neuron for each block (Rodinia, "backprop").
#[kernel]
#[requires(weights.cols() == x.len(), weights.rows() == y.len())]
pub fn safe_layer(
    block: Block<128>,
    #[shared] mut scratch: Scratch<f32>,
    weights: Matrix<f32>,
    x: &[f32],
    mut y: SliceMut<f32, Part<1>>,
) {
    let neuron = block.x();
    let products = block.each(|t| {
        let (mut sum, mut i) = (0.0, t.index());
        while i < x.len() {
            sum += weights.get_or(neuron, i, 0.0) * x[i];
            i += 128;
        }
        sum
    });
    let sum = block.reduce(&mut scratch, &products, |a, b| a + b);
    y.write(&block, |_, _| 1.0 / (1.0 + GpuFloat::exp(-sum)));
}

/// The prices of options to buy and to sell, after Black and Scholes (CUDA samples, "BlackScholes").
#[kernel]
#[requires(price.len() == call.len(), strike.len() == call.len(), years.len() == call.len(), put.len() == call.len())]
pub fn safe_option_prices(
    block: Block<128>,
    rate: f32,
    volatility: f32,
    price: &[f32],
    strike: &[f32],
    years: &[f32],
    mut call: SliceMut<f32>,
    mut put: SliceMut<f32>,
) {
    let prices = |i: usize| {
        let root = GpuFloat::sqrt(years[i]);
        let d = (GpuFloat::ln(price[i] / strike[i]) + (rate + 0.5 * volatility * volatility) * years[i])
            / (volatility * root);
        let (normal, later) = (normal(d), normal(d - volatility * root));
        let now = strike[i] * GpuFloat::exp(-rate * years[i]);
        (price[i] * normal - now * later, now * (1.0 - later) - price[i] * (1.0 - normal))
    };
    call.write(&block, |_, i| prices(i).0);
    put.write(&block, |_, i| prices(i).1);
}

/// How likely a number of the normal distribution is below `d`: by a polynomial of fifth degree.
#[inline(always)]
fn normal(d: f32) -> f32 {
    let k = 1.0 / (1.0 + 0.231_641_9 * d.abs());
    let polynomial =
        k * (0.319_381_53 + k * (-0.356_563_78 + k * (1.781_477_9 + k * (-1.821_255_9 + k * 1.330_274_4))));
    let beyond = 0.398_942_3 * GpuFloat::exp(-0.5 * d * d) * polynomial;
    if d > 0.0 { 1.0 - beyond } else { beyond }
}

/// y = A · x where A is sparse: the values of a row and their columns lie from `starts[row]` on, a row for each block (SHOC, "spmv").
#[kernel]
#[requires(y.len() + 1 == starts.len(), values.len() == columns.len())]
pub fn safe_sparse_rows(
    block: Block<64>,
    #[shared] mut scratch: Scratch<f32>,
    starts: &[u32],
    columns: &[u32],
    values: &[f32],
    x: &[f32],
    mut y: SliceMut<f32, Part<1>>,
) {
    let (first, end) = (starts[block.x()] as usize, starts[block.x() + 1] as usize);
    let products = block.each(|t| {
        let (mut sum, mut i) = (0.0, first + t.index());
        while i < end {
            sum += values[i] * x[columns[i] as usize];
            i += 64;
        }
        sum
    });
    let sum = block.reduce(&mut scratch, &products, |a, b| a + b);
    y.write(&block, |_, _| sum);
}

/// Merges two sorted lists: each element of the result looks for its own by halving (CUDA samples, "mergeSort").
#[kernel]
#[requires(merged.len() == a.len() + b.len())]
pub fn safe_merge(block: Block<256>, a: &[u32], b: &[u32], mut merged: SliceMut<u32>) {
    merged.write(&block, |_, i| {
        // The number of a's elements among the first i lies between `few` and `many`.
        let (mut few, mut many) = (i.saturating_sub(b.len()), i.min(a.len()));
        while few < many {
            let middle = (few + many) / 2;
            if a[middle] <= b[i - middle - 1] { few = middle + 1 } else { many = middle }
        }
        match (a.get(few), b.get(i - few)) {
            (Some(a), Some(b)) => *a.min(b),
            (Some(only), None) | (None, Some(only)) => *only,
            (None, None) => 0,
        }
    });
}

/// A step of the elimination of Gauss, from one matrix to another: the rows below the pivot lose their part of column `pivot`
/// (Rodinia, "gaussian").
#[kernel]
#[requires(pivot < from.rows(), pivot < from.cols(), from.rows() == to.rows(), from.cols() == to.cols())]
pub fn safe_eliminate(
    block: Block<32, 8>,
    pivot: u32,
    from: Matrix<f32>,
    mut to: MatrixMut<f32, Tiles<8, 32>>,
) {
    let (row, col, pivot) = (block.y() * 8, block.x() * 32, pivot as usize);
    let at_the_pivot = from.at(pivot, pivot);
    to.write(&block, |_, (y, x)| {
        let (row, col) = (row + y, col + x);
        let own = from.at(row, col);
        if row > pivot { own - from.at(row, pivot) / at_the_pivot * from.at(pivot, col) } else { own }
    });
}

/// How freely a pixel's brightness flows to its neighbours: the less, the more it differs from them (Rodinia, "srad", the first of
/// two kernels). At an edge a pixel is its own neighbour.
#[kernel]
#[requires(image.rows() == flow.rows(), image.cols() == flow.cols())]
pub fn safe_flow(
    block: Block<16, 16>,
    #[shared] tile: Tile<f32, 18, 18>,
    noise: f32,
    image: Matrix<f32>,
    mut flow: MatrixMut<f32, Tiles<16, 16>>,
) {
    let (row, col) = (block.y() * 16, block.x() * 16);
    let tile = block.share(tile.fill(&block, |_, (y, x)| at_the_edge(&image, row + y, col + x)));
    flow.write(&block, |_, (y, x)| {
        let own = tile.at(y + 1, x + 1);
        let apart = [tile.at(y, x + 1), tile.at(y + 2, x + 1), tile.at(y + 1, x), tile.at(y + 1, x + 2)]
            .map(|neighbour| neighbour - own);
        let squares = apart.iter().map(|apart| apart * apart).sum::<f32>() / (own * own);
        let sum = apart.iter().sum::<f32>() / own;
        let root = 1.0 + 0.25 * sum;
        let differs = (0.5 * squares - 0.0625 * sum * sum) / (root * root);
        (1.0 / (1.0 + (differs - noise) / (noise * (1.0 + noise)))).clamp(0.0, 1.0)
    });
}

/// The image after a step of that flow (the second kernel of "srad").
#[kernel]
#[requires(image.rows() == next.rows(), image.cols() == next.cols(), flow.rows() == next.rows(), flow.cols() == next.cols())]
pub fn safe_flow_step(
    block: Block<16, 16>,
    #[shared] tile: Tile<f32, 18, 18>,
    #[shared] flows: Tile<f32, 18, 18>,
    step: f32,
    image: Matrix<f32>,
    flow: Matrix<f32>,
    mut next: MatrixMut<f32, Tiles<16, 16>>,
) {
    let (row, col) = (block.y() * 16, block.x() * 16);
    let (tile, flows) = block.share((
        tile.fill(&block, |_, (y, x)| at_the_edge(&image, row + y, col + x)),
        flows.fill(&block, |_, (y, x)| at_the_edge(&flow, row + y, col + x)),
    ));
    next.write(&block, |_, (y, x)| {
        let (own, flow) = (tile.at(y + 1, x + 1), flows.at(y + 1, x + 1));
        let up_and_left = flow * (tile.at(y, x + 1) - own + tile.at(y + 1, x) - own);
        let down = flows.at(y + 2, x + 1) * (tile.at(y + 2, x + 1) - own);
        let right = flows.at(y + 1, x + 2) * (tile.at(y + 1, x + 2) - own);
        own + 0.25 * step * (up_and_left + down + right)
    });
}

/// The element one row above and one column to the left of a place; outside of the matrix the nearest one.
#[inline(always)]
fn at_the_edge(matrix: &Matrix<f32>, row: usize, col: usize) -> f32 {
    let last = (matrix.rows() - 1, matrix.cols() - 1);
    matrix.get_or(row.saturating_sub(1).min(last.0), col.saturating_sub(1).min(last.1), 0.0)
}

/// A step of the division of a matrix into a lower and an upper one, from one matrix to another: below the pivot the quotients are
/// kept, and right of it rows lose their part of the pivot's (Rodinia, "lud"). A block holds its part of the pivot's row and column.
#[kernel]
#[requires(pivot < from.rows(), pivot < from.cols(), from.rows() == to.rows(), from.cols() == to.cols())]
pub fn safe_divide_step(
    block: Block<16, 16>,
    #[shared] quotients: Tile<f32, 16, 1>,
    #[shared] of_pivot: Tile<f32, 1, 16>,
    pivot: u32,
    from: Matrix<f32>,
    mut to: MatrixMut<f32, Tiles<16, 16>>,
) {
    let (row, col, pivot) = (block.y() * 16, block.x() * 16, pivot as usize);
    let at_the_pivot = from.at(pivot, pivot);
    let (quotients, of_pivot) = block.share((
        quotients.fill(&block, |_, (y, _)| from.get_or(row + y, pivot, 0.0) / at_the_pivot),
        of_pivot.fill(&block, |_, (_, x)| from.get_or(pivot, col + x, 0.0)),
    ));
    to.write(&block, |_, (y, x)| {
        let own = from.at(row + y, col + x);
        if row + y <= pivot || col + x < pivot {
            own
        } else if col + x == pivot {
            quotients.at(y, 0)
        } else {
            own - quotients.at(y, 0) * of_pivot.at(0, x)
        }
    });
}
