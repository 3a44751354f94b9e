//! Attention in one pass: a block has one query, and keeps its sums right by what the largest score so far was.

use warpsmith::prelude::*;

#[warpsmith::device]
mod kernels {
    use warpsmith::kernel::*;

    /// softmax(q · kᵀ / √64) · v for a head of 64.
    #[kernel]
    #[rustfmt::skip]
    pub fn attention(
        block: Block<64>, #[shared] mut scratch: Scratch<f32>, #[shared] mut keys: Tile<f32, 64, 64, Padded<1>>,
        #[shared] mut weights: Tile<f32, 1, 64>, q: Matrix<f32>, k: Matrix<f32>, v: Matrix<f32>, mut out: MatrixMut<f32, Rows>,
    ) {
        let (row, mut most, mut sum) = (block.x(), f32::NEG_INFINITY, 0.0);
        let mut result = block.each(|_| 0.0f32);
        for first in (0..k.rows()).step_by(64) {
            let tile = block.share(keys.fill(&block, |_, (y, x)| k.get_or(first + y, x, 0.0)));
            let score = block.each(|t| {
                let score = (0..64).fold(0.0, |sum, i| sum + q.get_or(row, i, 0.0) * tile.at(t.index(), i));
                if first + t.index() < k.rows() { score / 8.0 } else { f32::NEG_INFINITY }
            });
            let most_now = most.max(block.reduce(&mut scratch, &score, f32::max));
            let weight = block.each(|t| GpuFloat::exp(score.of(t) - most_now));
            let sum_here = block.reduce(&mut scratch, &weight, |a, b| a + b);
            let before = GpuFloat::exp(most - most_now);
            let shared = block.share(weights.fill(&block, |t, _| weight.of(t)));
            result.update(&block, |t, result| {
                let here = (0..64).fold(0.0, |sum, key| sum + shared.at(0, key) * v.get_or(first + key, t.index(), 0.0));
                *result = *result * before + here;
            });
            (most, sum) = (most_now, sum * before + sum_here);
            (keys, weights) = block.reuse((tile, shared));
        }
        out.write(&block, |t, _| result.of(t) / sum);
    }
}

fn main() -> warpsmith::Result<()> {
    let (queries, tokens) = (5, 100);
    let matrix =
        |rows: usize, step: usize| (0..rows * 64).map(|i| (i * step % 17) as f32 / 8.0 - 1.0).collect();
    let (q, k, v): (Vec<f32>, Vec<f32>, Vec<f32>) =
        (matrix(queries, 3), matrix(tokens, 5), matrix(tokens, 7));
    let device = Device::from_environment()?;
    let upload = |x: &[f32]| device.upload_matrix(x, x.len() / 64, 64);
    let (on_q, on_k, on_v, mut out) = (upload(&q)?, upload(&k)?, upload(&v)?, upload(&q)?);
    device.scope(|scope| scope.launch(kernels::attention, (&on_q, &on_k, &on_v, &mut out)))?;
    let result = device.download(&out)?;
    for (q, result) in q.chunks(64).zip(result.chunks(64)) {
        let dot = |k: &[f32]| q.iter().zip(k).map(|(q, k)| f64::from(q * k)).sum::<f64>();
        let weights: Vec<f64> = k.chunks(64).map(|k| (dot(k) / 8.0).exp()).collect();
        let mean = weights.iter().zip(v.chunks(64)).map(|(weight, v)| weight * f64::from(v[0])).sum::<f64>()
            / weights.iter().sum::<f64>();
        assert!((mean - f64::from(result[0])).abs() < 1e-5);
    }
    println!("{:?} …", &result[..3]);
    Ok(())
}
