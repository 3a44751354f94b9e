//! Attention in one pass for a head of 64: a block has one query, walks over keys and values by tiles of 64, and keeps its sums
//! right by what the largest score so far was.
#![forbid(unsafe_code)]

use blockwise::prelude::*;

/// softmax(q · kᵀ · scale) · v
#[kernel]
pub fn safe_attention(
    block: Block<64>,
    #[shared] mut scratch: Scratch<f32>,
    #[shared] mut keys: Tile<f32, 64, 64, Padded<1>>,
    #[shared] mut weights: Tile<f32, 1, 64>,
    scale: f32,
    q: Matrix<f32>,
    k: Matrix<f32>,
    v: Matrix<f32>,
    mut out: MatrixMut<f32, Rows>,
) {
    let row = block.x();
    let (mut most, mut sum) = (f32::NEG_INFINITY, 0.0);
    let mut result = block.each(|_| 0.0f32);
    for first in (0..k.rows()).step_by(64) {
        let tile = block.share(keys.fill(&block, |_, (y, x)| k.get_or(first + y, x, 0.0)));
        let score = block.each(|t| {
            let key = t.index();
            let mut score = 0.0;
            for i in 0..64 {
                score += q.get_or(row, i, 0.0) * tile.at(key, i);
            }
            if first + key < k.rows() { score * scale } else { f32::NEG_INFINITY }
        });
        let most_here = block.reduce(&mut scratch, &score, f32::max);
        let most_now = most.max(most_here);
        let weight = block.each(|t| GpuFloat::exp(score.of(t) - most_now));
        let sum_here = block.reduce(&mut scratch, &weight, |a, b| a + b);
        let before = GpuFloat::exp(most - most_now);
        let shared = block.share(weights.fill(&block, |t, _| weight.of(t)));
        result.update(&block, |t, result| {
            *result *= before;
            for key in 0..64 {
                *result += shared.at(0, key) * v.get_or(first + key, t.index(), 0.0);
            }
        });
        (most, sum) = (most_now, sum * before + sum_here);
        (keys, weights) = block.reuse((tile, shared));
    }
    out.write(&block, |t, _| result.of(t) / sum);
}
