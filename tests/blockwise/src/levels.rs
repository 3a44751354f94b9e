//! From level to level in shared memory: each element is made of two of the level before.
#![forbid(unsafe_code)]

use blockwise::prelude::*;

/// A Fourier transform of 512 complex numbers, a row for each block (SHOC, "fft"): nine levels, from one tile to another by turns, so
/// that the result is in order. Element (q, k) of a level, with its sign, is made of elements j = q · m + k and j + 256 before it.
#[kernel]
#[requires(from.rows() == to.rows(), from.cols() == 512, to.cols() == 512)]
pub fn safe_fourier(
    block: Block<256>,
    #[shared] first: Tile<[f32; 2], 1, 512>,
    #[shared] second: Tile<[f32; 2], 1, 512>,
    from: Matrix<[f32; 2]>,
    mut to: MatrixMut<[f32; 2], Rows>,
) {
    let row = block.x();
    let mut full = block.share(first.fill(&block, |_, (_, i)| from.get_or(row, i, [0.0; 2])));
    let mut empty = second;
    for level in 0..9 {
        let m = 1 << level;
        let next = empty.fill(&block, |_, (_, i)| {
            let k = i % m;
            let j = i / (2 * m) * m + k;
            let (a, b) = (full.at(0, j), full.at(0, j + 256));
            let angle = -core::f32::consts::PI * k as f32 / m as f32;
            let (sin, cos) = (GpuFloat::sin(angle), GpuFloat::cos(angle));
            let turned = [b[0] * cos - b[1] * sin, b[0] * sin + b[1] * cos];
            let sign = if i % (2 * m) < m { 1.0 } else { -1.0 };
            [a[0] + sign * turned[0], a[1] + sign * turned[1]]
        });
        let next = block.share(next);
        (empty, full) = (block.reuse(full), next);
    }
    to.write(&block, |_, i| full.at(0, i % 512));
}

/// The Haar wavelets of each part of 512: sums of neighbours go on to the next level, differences stay (CUDA samples, "dwtHaar1D").
#[kernel]
#[requires(x.len() == wavelets.len())]
pub fn safe_wavelets(
    block: Block<256>,
    #[shared] first: Tile<f32, 1, 512>,
    #[shared] second: Tile<f32, 1, 512>,
    x: &[f32],
    mut wavelets: SliceMut<f32, Part<512>>,
) {
    let start = 512 * block.x();
    let mut full = block.share(first.fill(&block, |_, (_, i)| x.get(start + i).copied().unwrap_or(0.0)));
    let mut empty = second;
    for level in 0..9 {
        let half = 256 >> level;
        let next = empty.fill(&block, |_, (_, i)| {
            let pair = 2 * (i % half);
            if i < half {
                (full.at(0, pair) + full.at(0, pair + 1)) * core::f32::consts::FRAC_1_SQRT_2
            } else if i < 2 * half {
                (full.at(0, pair) - full.at(0, pair + 1)) * core::f32::consts::FRAC_1_SQRT_2
            } else {
                full.at(0, i)
            }
        });
        let next = block.share(next);
        (empty, full) = (block.reuse(full), next);
    }
    wavelets.write(&block, |_, i| full.at(0, i - start));
}

/// The Walsh transform of each part of 512: pairs are replaced by their sum and their difference, nearer by half each time (CUDA
/// samples, "fastWalshTransform").
#[kernel]
#[requires(x.len() == walsh.len())]
pub fn safe_walsh(
    block: Block<256>,
    #[shared] tile: Tile<f32, 1, 512>,
    x: &[f32],
    mut walsh: SliceMut<f32, Part<512>>,
) {
    let start = 512 * block.x();
    let mut filled = tile.fill(&block, |_, (_, i)| x.get(start + i).copied().unwrap_or(0.0));
    for level in 0..9 {
        filled = block.exchange(filled, 256 >> level, |_, _, (a, b)| (a + b, a - b));
    }
    let full = block.share(filled);
    walsh.write(&block, |_, i| full.at(0, i - start));
}

/// The price of an option to buy by a tree of `steps` levels, at most 255: from the leaves to the root each node is worth what its
/// two children are worth on average, discounted (CUDA samples, "binomialOptions"). A block has an option.
#[kernel]
#[requires(steps < 256, strike.len() == price.len(), worth.len() == price.len())]
pub fn safe_option_trees(
    block: Block<256>,
    #[shared] mut tile: Tile<f32, 1, 257>,
    steps: u32,
    rate_of_step: f32,
    deviation_of_step: f32,
    price: &[f32],
    strike: &[f32],
    mut worth: SliceMut<f32, Part<1>>,
) {
    let option = block.x();
    let (up, growth) = (GpuFloat::exp(deviation_of_step), GpuFloat::exp(rate_of_step));
    let chance = (growth - 1.0 / up) / (up - 1.0 / up);
    let mut value = block.each(|t| {
        let ups = 2.0 * t.x() as f32 - steps as f32;
        (price[option] * GpuFloat::exp(deviation_of_step * ups) - strike[option]).max(0.0)
    });
    for _ in 0..steps {
        let children = block.share(tile.fill(&block, |t, (_, i)| if i < 256 { value.of(t) } else { 0.0 }));
        value.update(&block, |t, value| {
            *value = (chance * children.at(0, t.x() + 1) + (1.0 - chance) * *value) / growth;
        });
        tile = block.reuse(children);
    }
    // The root is thread 0's.
    worth.write(&block, |t, _| value.of(t));
}
