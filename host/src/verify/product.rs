//! C = alpha · A · B + beta · C₀, checked in float64.
//!
//! A product of m × n × k costs 2 m n k operations. Up to [`WHOLE_LIMIT`] of them the CPU computes it all. Above, it
//! tests it all by Freivalds' method, C · x against A · (B · x) for seeded vectors x of ±1, and computes 4,096 seeded
//! elements, the corners and the borders of tiles.

use crate::terminal::grouped;
use approx::AbsDiffEq;
use rayon::prelude::*;

use super::Verdict;
use crate::data::Random;

/// The most operations that are recomputed on the CPU.
pub const WHOLE_LIMIT: f64 = 2e9;
/// How many elements are recomputed of a larger product, beside corners and borders.
const SAMPLES: usize = 4096;
/// How many vectors a larger product is multiplied with. One wrong element escapes none of them: a vector of ±1 has
/// no zero that could hide it.
const VECTORS: u64 = 3;

/// A product's result and operands.
pub struct Product<'a> {
    /// Extents: rows of C, columns of C, length of the sums.
    pub shape: (usize, usize, usize),
    /// A, m × k, elements in [-1, 1].
    pub a: &'a [f32],
    /// B, k × n, elements in [-1, 1].
    pub b: &'a [f32],
    /// C before, m × n, elements in [-1, 1]. Not looked at if `beta` is zero.
    pub before: &'a [f32],
    /// Factor of the product.
    pub alpha: f32,
    /// Factor of C before.
    pub beta: f32,
}

impl Product<'_> {
    /// Checks `c`, the way its size asks for.
    pub fn check(&self, c: &[f32]) -> Verdict {
        let (m, n, k) = self.shape;
        if c.len() != m * n {
            let wrong = Some(format!("{} elements, and there should be {}", c.len(), m * n));
            return Verdict {
                ok: false,
                max_error: f64::INFINITY,
                tolerance: 0.0,
                how: "the length".into(),
                wrong,
            };
        }
        if 2.0 * m as f64 * n as f64 * k as f64 <= WHOLE_LIMIT { self.whole(c) } else { self.sampled(c) }
    }

    /// The difference that rounding in f32 may make in one element.
    ///
    /// Partial sums of k products of numbers in [-1, 1] grow like √(k/9), and each addition rounds by half an ε of
    /// that: ε k / 8.5 in all, as a random walk. Eight times that is beyond chance; the last term is for alpha, beta
    /// and the store.
    fn tolerance(&self) -> f64 {
        let k = self.shape.2 as f64;
        let (alpha, beta) = (f64::from(self.alpha).abs(), f64::from(self.beta).abs());
        f64::from(f32::EPSILON) * (alpha * (k + 4.0 * k.sqrt()) + beta + 1.0)
    }

    /// Compares every element with its float64 value.
    pub fn whole(&self, c: &[f32]) -> Verdict {
        let (m, n, k) = self.shape;
        let tolerance = self.tolerance();
        let worst = (0..m)
            .into_par_iter()
            .map(|row| {
                let mut sums = vec![0.0f64; n];
                for i in 0..k {
                    let a = f64::from(self.a[row * k + i]);
                    for (sum, &b) in sums.iter_mut().zip(&self.b[i * n..(i + 1) * n]) {
                        *sum += a * f64::from(b);
                    }
                }
                let errors = sums.into_iter().enumerate().map(|(col, sum)| {
                    let expected = self.finish(row, col, sum);
                    Compared::new(row, col, c[row * n + col], expected)
                });
                errors.fold(Compared::NONE, Compared::worse)
            })
            .reduce(|| Compared::NONE, Compared::worse);
        worst.verdict(tolerance, format!("{} against float64", super::all(m * n)))
    }

    /// Freivalds' test of the whole, and a sample of elements recomputed.
    pub fn sampled(&self, c: &[f32]) -> Verdict {
        let (m, n, _) = self.shape;
        let tolerance = self.tolerance();
        let elements = self.elements();
        let worst = elements
            .par_iter()
            .map(|&(row, col)| Compared::new(row, col, c[row * n + col], self.element(row, col)))
            .reduce(|| Compared::NONE, Compared::worse);
        let how = format!(
            "{} by Freivalds' test with {VECTORS} vectors, {} of them against float64",
            super::all(m * n),
            grouped(elements.len() as u64)
        );
        let mut verdict = worst.verdict(tolerance, how);
        // The errors of a row of n elements add up as a random walk; each is an eighth of the tolerance or less.
        let row_tolerance = tolerance * (n as f64).sqrt();
        for seed in 0..VECTORS {
            if let Some((row, error)) = self.freivalds(c, seed, row_tolerance) {
                verdict.ok = false;
                verdict.max_error = verdict.max_error.max(error);
                verdict.wrong.get_or_insert(format!(
                    "row {row}: C · x differs from A · (B · x) by {error:.3e} (at most {row_tolerance:.3e})"
                ));
            }
        }
        verdict
    }

    /// The first row in which C · x and alpha · A · (B · x) + beta · C₀ · x differ by more than `tolerance`.
    fn freivalds(&self, c: &[f32], seed: u64, tolerance: f64) -> Option<(usize, f64)> {
        let (m, n, k) = self.shape;
        let mut random = Random::new(seed ^ 0x5eed_f4ee);
        let x: Vec<f64> = (0..n).map(|_| if random.bits() & 1 == 0 { 1.0 } else { -1.0 }).collect();
        let times = |matrix: &[f32], cols: usize, row: usize, x: &[f64]| -> f64 {
            matrix[row * cols..(row + 1) * cols].iter().zip(x).map(|(&e, x)| f64::from(e) * x).sum()
        };
        let bx: Vec<f64> = (0..k).into_par_iter().map(|row| times(self.b, n, row, &x)).collect();
        (0..m).into_par_iter().find_map_first(|row| {
            let before = if self.beta == 0.0 { 0.0 } else { times(self.before, n, row, &x) };
            let expected = f64::from(self.alpha) * times(self.a, k, row, &bx) + f64::from(self.beta) * before;
            let error = (times(c, n, row, &x) - expected).abs();
            (error > tolerance || error.is_nan()).then_some((row, error))
        })
    }

    /// Corners, both sides of every tile border near them, and seeded elements.
    fn elements(&self) -> Vec<(usize, usize)> {
        let (m, n, _) = self.shape;
        let borders = |extent: usize| {
            let near = [0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 127, 128, 255, 256];
            let mut all: Vec<usize> = near.iter().copied().filter(|&i| i < extent).collect();
            all.extend(near.iter().filter_map(|&i| extent.checked_sub(i + 1)));
            all.sort_unstable();
            all.dedup();
            all
        };
        let (rows, cols) = (borders(m), borders(n));
        let mut elements: Vec<_> =
            rows.iter().flat_map(|&row| cols.iter().map(move |&col| (row, col))).collect();
        let mut random = Random::new(0x0005_a3b1_e5ed);
        elements.extend((0..SAMPLES).map(|_| (random.below(m), random.below(n))));
        elements
    }

    fn element(&self, row: usize, col: usize) -> f64 {
        let (_, n, k) = self.shape;
        let sum = (0..k).map(|i| f64::from(self.a[row * k + i]) * f64::from(self.b[i * n + col])).sum();
        self.finish(row, col, sum)
    }

    fn finish(&self, row: usize, col: usize, sum: f64) -> f64 {
        let before = if self.beta == 0.0 { 0.0 } else { f64::from(self.before[row * self.shape.1 + col]) };
        f64::from(self.alpha) * sum + f64::from(self.beta) * before
    }
}

/// One element and how far it is off.
#[derive(Clone, Copy)]
struct Compared {
    error: f64,
    at: Option<(usize, usize, f64, f64)>,
}

impl Compared {
    const NONE: Self = Self { error: 0.0, at: None };

    fn new(row: usize, col: usize, result: f32, expected: f64) -> Self {
        let result = f64::from(result);
        let error = (result - expected).abs();
        // A NaN must lose every comparison, so it is the worst there is.
        let error = if error.is_nan() { f64::INFINITY } else { error };
        Self { error, at: Some((row, col, result, expected)) }
    }

    fn worse(self, other: Self) -> Self {
        if other.error > self.error { other } else { self }
    }

    fn verdict(self, tolerance: f64, how: String) -> Verdict {
        let right =
            |(_, _, result, expected): (usize, usize, f64, f64)| result.abs_diff_eq(&expected, tolerance);
        let wrong = self.at.filter(|&at| !right(at)).map(|(row, col, result, expected)| {
            format!("element ({row}, {col}) is {result} and should be {expected} within {tolerance:.1e}")
        });
        Verdict { ok: wrong.is_none(), max_error: self.error, tolerance, how, wrong }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Case {
        shape: (usize, usize, usize),
        a: Vec<f32>,
        b: Vec<f32>,
        before: Vec<f32>,
        c: Vec<f32>,
    }

    /// A product computed in f32, in the order of a simple kernel.
    fn case(m: usize, n: usize, k: usize, alpha: f32, beta: f32) -> Case {
        let mut random = Random::new((m * n + k) as u64);
        let (a, b, before) = (random.units(m * k), random.units(k * n), random.units(m * n));
        let mut c = vec![0.0; m * n];
        for (i, c) in c.iter_mut().enumerate() {
            let (row, col) = (i / n, i % n);
            let sum = (0..k).fold(0.0f32, |sum, i| a[row * k + i].mul_add(b[i * n + col], sum));
            *c = alpha * sum + beta * before[i];
        }
        Case { shape: (m, n, k), a, b, before, c }
    }

    impl Case {
        fn product(&self, alpha: f32, beta: f32) -> Product<'_> {
            Product { shape: self.shape, a: &self.a, b: &self.b, before: &self.before, alpha, beta }
        }
    }

    #[test]
    fn right_products_pass_both_ways() {
        for (alpha, beta) in [(1.0, 0.0), (0.5, -2.0)] {
            let case = case(67, 45, 300, alpha, beta);
            let product = case.product(alpha, beta);
            for verdict in [product.whole(&case.c), product.sampled(&case.c)] {
                assert!(verdict.ok, "{verdict:?}");
                // The tolerance is no wall far away: the real error is within two orders of it.
                assert!(verdict.max_error > verdict.tolerance / 100.0, "{verdict:?}");
            }
        }
    }

    #[test]
    fn a_single_flipped_element_is_found_wherever_it_is() {
        let case = case(130, 70, 200, 1.0, 0.0);
        let product = case.product(1.0, 0.0);
        let mut random = Random::new(7);
        for _ in 0..50 {
            let i = random.below(case.c.len());
            let mut c = case.c.clone();
            c[i] = -c[i];
            let (row, col) = (i / 70, i % 70);
            let whole = product.whole(&c);
            assert!(whole.wrong.is_some_and(|text| text.contains(&format!("({row}, {col})"))));
            // The sample alone would miss most of them: Freivalds' test has to find it.
            let by_vectors = (0..VECTORS).any(|seed| {
                let tolerance = product.tolerance() * 70f64.sqrt();
                product.freivalds(&c, seed, tolerance).is_some_and(|(at, _)| at == row)
            });
            assert!(by_vectors || c[i].abs() * 2.0 < 0.01, "element {i}, {}", c[i]);
        }
    }

    #[test]
    fn nothing_and_nan_are_not_right() {
        let case = case(8, 8, 8, 1.0, 0.0);
        let product = case.product(1.0, 0.0);
        let mut c = case.c.clone();
        c[63] = f32::NAN;
        assert!(!product.whole(&c).ok);
        assert!(!product.sampled(&c).ok);
        assert!(!product.check(&vec![0.0; 64]).ok);
        assert!(!product.check(&case.c[..63]).ok);
    }
}
