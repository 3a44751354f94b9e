//! Random data that is the same in every run (SplitMix64 from a seed), and how a matrix lies in memory.

use rayon::prelude::*;

/// Increment of the state.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is not zero.
    pub fn below(&mut self, end: usize) -> usize {
        // The bias is below 2⁻³² for every length that fits a device.
        ((u128::from(self.bits()) * end as u128) >> 64) as usize
    }

    /// A multiple of 2⁻²³ in [-1, 1): exact in f32.
    pub fn unit(&mut self) -> f32 {
        let steps = (self.bits() >> 40) as i32 - (1 << 23);
        steps as f32 / (1 << 23) as f32
    }

    /// `len` such numbers.
    pub fn units(&mut self, len: usize) -> Vec<f32> {
        self.many(len, Self::unit)
    }

    /// `len` values, each made from one draw: side by side on all cores, for the state is a count of steps.
    pub fn many<T: Copy + Default + Send>(
        &mut self,
        len: usize,
        draw: impl Fn(&mut Self) -> T + Sync,
    ) -> Vec<T> {
        const PIECE: usize = 1 << 16;
        let after = |steps: usize| Self { state: self.state.wrapping_add(STEP.wrapping_mul(steps as u64)) };
        let mut values = vec![T::default(); len];
        values.par_chunks_mut(PIECE).enumerate().for_each(|(piece, values)| {
            let mut random = after(piece * PIECE);
            values.iter_mut().for_each(|value| *value = draw(&mut random));
        });
        *self = after(len);
        values
    }

    /// The numbers below `len` in random order.
    pub fn permutation(&mut self, len: u32) -> Vec<u32> {
        let mut order: Vec<u32> = (0..len).collect();
        for last in (1..order.len()).rev() {
            let other = self.below(last + 1);
            order.swap(last, other);
        }
        order
    }
}

/// A matrix of `rows` by `cols`, row by row, as it lies column by column: tile by tile, for in a large matrix a
/// column's stride misses every cache, and bands of columns on all cores.
pub fn transposed<T: Copy + Send + Sync>(matrix: &[T], rows: usize, cols: usize) -> Vec<T> {
    const TILE: usize = 32;
    assert_eq!(matrix.len(), rows * cols, "the matrix has rows × cols elements");
    let mut to = matrix.to_vec();
    to.par_chunks_mut((TILE * rows).max(1)).enumerate().for_each(|(band, to)| {
        let col0 = band * TILE;
        for row0 in (0..rows).step_by(TILE) {
            for (col, to) in to.chunks_exact_mut(rows).enumerate() {
                for row in row0..(row0 + TILE).min(rows) {
                    to[row] = matrix[row * cols + col0 + col];
                }
            }
        }
    });
    to
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_first_numbers_of_seed_zero() {
        let mut random = Random::new(0);
        assert_eq!([random.bits(), random.bits()], [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]);
    }

    #[test]
    fn units_fill_the_interval() {
        let units = Random::new(1).units(100_000);
        assert!(units.iter().all(|x| (-1.0..1.0).contains(x)));
        let mean = units.iter().map(|&x| f64::from(x)).sum::<f64>() / units.len() as f64;
        assert!(mean.abs() < 0.01, "{mean}");
    }

    #[test]
    fn numbers_drawn_together_are_those_drawn_one_by_one() {
        let (mut together, mut alone) = (Random::new(3), Random::new(3));
        let units = together.units(150_000);
        assert!(units.iter().all(|&unit| unit == alone.unit()));
        assert_eq!(together.bits(), alone.bits());
    }

    #[test]
    fn a_transposed_matrix_has_its_columns_in_order() {
        assert_eq!(transposed(&[1, 2, 3, 4, 5, 6], 2, 3), [1, 4, 2, 5, 3, 6]);
        assert!(transposed::<u8>(&[], 0, 3).is_empty() && transposed::<u8>(&[], 3, 0).is_empty());
        let (rows, cols) = (70, 45);
        let from: Vec<usize> = (0..rows * cols).collect();
        let to = transposed(&from, rows, cols);
        assert!((0..to.len()).all(|i| to[i] == i % rows * cols + i / rows));
    }

    #[test]
    fn a_permutation_has_every_number_once() {
        let mut order = Random::new(2).permutation(1000);
        assert_ne!(order[..5], [0, 1, 2, 3, 4]);
        order.sort_unstable();
        assert!(order.into_iter().eq(0..1000));
    }
}
