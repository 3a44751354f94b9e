//! Products on tensor cores, checked in float64; those of integers bit for bit.
//!
//! Up to [`WHOLE_LIMIT`] operations every element is computed anew. Above that, Freivalds' test of the whole, C · x
//! against A · (B · x) for seeded vectors x of ±1, and a sample of elements. C may be rounded to 8 bits, and over a row of
//! thousands these errors would hide a wrong element; so the test is made for every 512 columns by themselves.

use std::ops::Range;

use rayon::prelude::*;

use warpsmith_kernels::gemm::{Order, Problem};

use super::{TensorInput, TensorOutput, Verdict, WHOLE_LIMIT};
use crate::data::Random;
use crate::terminal::grouped;

/// Columns that a test sums up.
const SEGMENT: usize = 512;
/// Vectors of ±1 for each segment.
const VECTORS: usize = 2;
type Sums = [f64; VECTORS];
/// Lines of a matrix that are read together: where they lie across the direction of reading, 64 bytes or more are used
/// of what the cache fetches.
const PANEL: usize = 64;
/// Seeded elements that are recomputed of a larger product, beside the borders of tiles.
const SAMPLES: usize = 4096;

fn add(sums: Sums, value: f64, x: &Sums) -> Sums {
    std::array::from_fn(|v| sums[v] + value * x[v])
}

/// A product's result and operands. The elements of A, B and the C before are in [-1, 1], or are integers.
pub struct TensorProduct<'a, I, O> {
    /// The description.
    pub problem: &'a Problem,
    /// A, as it lies in memory.
    pub a: &'a [I],
    /// B, as it lies in memory.
    pub b: &'a [I],
    /// C before. Not looked at if beta is zero.
    pub before: &'a [O],
}

/// An element, and how far it is from where it should be.
#[derive(Clone, Copy)]
struct Worst {
    /// The error over the tolerance: above 1 it is wrong.
    share: f64,
    error: f64,
    tolerance: f64,
    at: (usize, usize),
    is: f64,
    should: f64,
}

impl Worst {
    const NONE: Self = Self { share: -1.0, error: 0.0, tolerance: 0.0, at: (0, 0), is: 0.0, should: 0.0 };

    fn worse(self, other: Self) -> Self {
        if other.share > self.share { other } else { self }
    }
}

impl<I: TensorInput, O: TensorOutput> TensorProduct<'_, I, O> {
    /// Checks `c`, the way its size asks for.
    pub fn check(&self, c: &[O]) -> Verdict {
        let needed = self.problem.lengths()[2];
        if c.len() < needed {
            return Verdict {
                ok: false,
                max_error: f64::INFINITY,
                tolerance: 0.0,
                how: "the length".into(),
                wrong: Some(format!("{} elements, and there should be {needed}", c.len())),
            };
        }
        if self.problem.operations() <= WHOLE_LIMIT { self.whole(c) } else { self.sampled(c) }
    }

    /// From element (row, k) of A and (k, col) of B to the next along each extent.
    fn strides(&self) -> [(usize, usize); 2] {
        let p = self.problem;
        let a = if p.layout.a() == Order::Rows { (p.lda, 1) } else { (1, p.lda) };
        let b = if p.layout.b() == Order::Rows { (p.ldb, 1) } else { (1, p.ldb) };
        [a, b]
    }

    /// Rows of A, one after the other. They are read in the order in which they lie.
    fn rows_of_a(&self, rows: Range<usize>) -> Vec<f64> {
        let ((down, along), depth) = (self.strides()[0], self.problem.k);
        let mut panel = vec![0.0; rows.len() * depth];
        let mut visit = |row: usize, k: usize| {
            panel[row * depth + k] = self.a[(rows.start + row) * down + k * along].value();
        };
        if along == 1 {
            (0..rows.len()).for_each(|row| (0..depth).for_each(|k| visit(row, k)));
        } else {
            (0..depth).for_each(|k| (0..rows.len()).for_each(|row| visit(row, k)));
        }
        panel
    }

    /// Bound of the rounding errors in f32 of one sum.
    ///
    /// A tensor core adds groups of products, aligned to the largest and cut off after 24 bits or a little more: each
    /// group loses up to one ε of the partial sum, always towards zero. Partial sums of k products of numbers in [-1, 1]
    /// stay below four times √(k/9); groups have at least 8 products. Integers lose nothing.
    fn accumulation(&self) -> f64 {
        if O::ROUNDING == 0.0 {
            return 0.0;
        }
        let (k, alpha) = (self.problem.k as f64, f64::from(self.problem.alpha).abs());
        let beta = f64::from(self.problem.beta).abs();
        f64::from(f32::EPSILON) * (alpha * (k / 8.0 + 4.0) * (4.0 * (k / 9.0).sqrt() + 1.0) + beta)
    }

    fn compare(&self, c: &[O], (row, col): (usize, usize), sum: f64) -> Worst {
        let should = self.finish(row, col, sum);
        let is = c[row * self.problem.ldc + col].value();
        // The last term is for f16's numbers below its normal range.
        let rounding =
            O::ROUNDING * should.abs() * 1.001 + if O::ROUNDING == 1.0 / 2048.0 { 3e-8 } else { 0.0 };
        let tolerance = self.accumulation() + rounding;
        let error = (is - should).abs();
        let error = if error.is_nan() { f64::INFINITY } else { error };
        let share = match (error == 0.0, tolerance == 0.0) {
            (true, _) => 0.0,
            (false, true) => f64::INFINITY,
            (false, false) => error / tolerance,
        };
        Worst { share, error, tolerance, at: (row, col), is, should }
    }

    fn finish(&self, row: usize, col: usize, sum: f64) -> f64 {
        let p = self.problem;
        let before = if p.beta == 0.0 { 0.0 } else { self.before[row * p.ldc + col].value() };
        let exact = f64::from(p.alpha) * sum + f64::from(p.beta) * before;
        // Integers wrap.
        if O::ROUNDING == 0.0 { f64::from(exact as i64 as i32) } else { exact }
    }

    /// Compares every element with its float64 value.
    pub fn whole(&self, c: &[O]) -> Verdict {
        let (p, [_, (down, along)]) = (self.problem, self.strides());
        let b: Vec<f64> = (0..p.k * p.n).map(|i| self.b[i / p.n * down + i % p.n * along].value()).collect();
        let worst = (0..p.m)
            .into_par_iter()
            .map(|row| {
                let mut sums = vec![0.0f64; p.n];
                for (k, a) in self.rows_of_a(row..row + 1).into_iter().enumerate() {
                    for (sum, b) in sums.iter_mut().zip(&b[k * p.n..(k + 1) * p.n]) {
                        *sum += a * b;
                    }
                }
                let each = sums.into_iter().enumerate().map(|(col, sum)| self.compare(c, (row, col), sum));
                each.fold(Worst::NONE, Worst::worse)
            })
            .reduce(|| Worst::NONE, Worst::worse);
        self.verdict(worst, format!("{} against float64", super::all(p.m * p.n)))
    }

    /// Freivalds' test of the whole, and a sample of elements recomputed.
    pub fn sampled(&self, c: &[O]) -> Verdict {
        let (p, elements) = (self.problem, self.elements());
        let [(a_down, a_along), (b_down, b_along)] = self.strides();
        let worst = elements
            .par_iter()
            .map(|&(row, col)| {
                let (a, b) = (&self.a[row * a_down..], &self.b[col * b_along..]);
                let sum = (0..p.k).map(|k| a[k * a_along].value() * b[k * b_down].value()).sum();
                self.compare(c, (row, col), sum)
            })
            .reduce(|| Worst::NONE, Worst::worse);
        let how = format!(
            "{} by Freivalds' test of every {SEGMENT} columns with {VECTORS} vectors, {} of them against float64",
            super::all(p.m * p.n),
            grouped(elements.len() as u64)
        );
        let mut verdict = self.verdict(worst, how);
        if let Some((row, col, error, tolerance)) = self.freivalds(c) {
            verdict.ok = false;
            verdict.max_error = verdict.max_error.max(error);
            verdict.wrong.get_or_insert(format!(
                "row {row}, columns from {col} on: C · x differs from A · (B · x) by {error:.3e} (at most \
                 {tolerance:.3e})"
            ));
        }
        verdict
    }

    /// How far C · x may be off over `width` columns: their errors are as independent as the signs in x. Six times the
    /// root of their mean square is beyond chance for millions of tests.
    fn segment_tolerance(&self, width: usize) -> f64 {
        let p = self.problem;
        let size = f64::from(p.alpha).abs() * (p.k as f64 / 9.0).sqrt() + f64::from(p.beta).abs();
        6.0 * (width as f64).sqrt() * (O::ROUNDING * size + self.accumulation())
    }

    /// The first segment of a row in which C · x and alpha · A · (B · x) + beta · C₀ · x differ by too much.
    fn freivalds(&self, c: &[O]) -> Option<(usize, usize, f64, f64)> {
        let p = self.problem;
        let mut random = Random::new(0x7e25_0c0e);
        let mut sign = || if random.bits() & 1 == 0 { 1.0 } else { -1.0 };
        let x: Vec<Sums> = (0..p.n).map(|_| [(); VECTORS].map(|()| sign())).collect();
        let segments = p.n.div_ceil(SEGMENT);
        let bx = self.b_times(&x, segments);
        let times = |matrix: &[O], row: usize, cols: Range<usize>| {
            let elements = matrix[row * p.ldc..][cols.clone()].iter();
            elements.zip(&x[cols]).fold([0.0; VECTORS], |sums, (e, x)| add(sums, e.value(), x))
        };
        (0..p.m.div_ceil(PANEL)).into_par_iter().find_map_first(|panel| {
            let rows = panel * PANEL..((panel + 1) * PANEL).min(p.m);
            let a = self.rows_of_a(rows.clone());
            rows.zip(a.chunks_exact(p.k)).find_map(|(row, a)| {
                let mut abx = vec![[0.0; VECTORS]; segments];
                for (&a, bx) in a.iter().zip(bx.chunks_exact(segments)) {
                    for (sums, bx) in abx.iter_mut().zip(bx) {
                        *sums = add(*sums, a, bx);
                    }
                }
                abx.into_iter().enumerate().find_map(|(segment, abx)| {
                    let cols = segment * SEGMENT..((segment + 1) * SEGMENT).min(p.n);
                    let tolerance = self.segment_tolerance(cols.len());
                    let is = times(c, row, cols.clone());
                    let before = match p.beta {
                        0.0 => [0.0; VECTORS],
                        _ => times(self.before, row, cols.clone()),
                    };
                    let errors = (0..VECTORS).map(|v| {
                        let should = f64::from(p.alpha) * abx[v] + f64::from(p.beta) * before[v];
                        (is[v] - should).abs()
                    });
                    let wrong = |error: &f64| *error > tolerance || error.is_nan();
                    errors.into_iter().find(wrong).map(|error| (row, cols.start, error, tolerance))
                })
            })
        })
    }

    /// B · x, k by k, with sums for each segment of columns. B is read in the order in which it lies.
    fn b_times(&self, x: &[Sums], segments: usize) -> Vec<Sums> {
        let (p, [_, (down, along)]) = (self.problem, self.strides());
        let mut bx = vec![[0.0; VECTORS]; p.k * segments];
        bx.par_chunks_mut(PANEL * segments).enumerate().for_each(|(panel, bx)| {
            let first = panel * PANEL;
            let mut visit = |k: usize, col: usize| {
                let sums = &mut bx[k * segments + col / SEGMENT];
                *sums = add(*sums, self.b[(first + k) * down + col * along].value(), &x[col]);
            };
            let depth = PANEL.min(p.k - first);
            if along == 1 {
                (0..depth).for_each(|k| (0..p.n).for_each(|col| visit(k, col)));
            } else {
                (0..p.n).for_each(|col| (0..depth).for_each(|k| visit(k, col)));
            }
        });
        bx
    }

    /// Corners, both sides of every tile border near them, and seeded elements.
    fn elements(&self) -> Vec<(usize, usize)> {
        let borders = |extent: usize| {
            let near = [0, 1, 7, 8, 15, 16, 31, 32, 63, 64, 127, 128, 191, 192, 255, 256];
            let mut all: Vec<usize> = near.into_iter().filter(|&i| i < extent).collect();
            all.extend(near.iter().filter_map(|&i| extent.checked_sub(i + 1)));
            all
        };
        let (rows, cols) = (borders(self.problem.m), borders(self.problem.n));
        let mut elements: Vec<_> =
            rows.iter().flat_map(|&row| cols.iter().map(move |&col| (row, col))).collect();
        let mut random = Random::new(0x0005_a3b1_e5ed);
        elements.extend((0..SAMPLES).map(|_| (random.below(self.problem.m), random.below(self.problem.n))));
        elements
    }

    fn verdict(&self, worst: Worst, how: String) -> Verdict {
        let Worst { share, error, tolerance, at: (row, col), is, should } = worst;
        let wrong = (share > 1.0)
            .then(|| format!("element ({row}, {col}) is {is} and should be {should} within {tolerance:.1e}"));
        Verdict { ok: wrong.is_none(), max_error: error, tolerance, how, wrong }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsmith_kernels::gemm::{Input, Layout, Output};
    use warpsmith_launch::Bf16;

    struct Case {
        problem: Problem,
        a: Vec<Bf16>,
        b: Vec<Bf16>,
        before: Vec<Bf16>,
        c: Vec<Bf16>,
    }

    fn bf16(x: f32) -> Bf16 {
        Bf16(half::bf16::from_f32(x))
    }

    /// A product added up in f32 and rounded, as the simplest program would.
    fn case(shape: (usize, usize, usize), layout: Layout, alpha: f32, beta: f32) -> Case {
        let problem = Problem { alpha, beta, ..Problem::new(shape, Input::Bf16, Output::Bf16, layout) };
        let mut random = Random::new(shape.0 as u64);
        let mut units = |len| random.units(len).into_iter().map(bf16).collect::<Vec<_>>();
        let [a, b, before] = problem.lengths().map(&mut units);
        let (m, n, k) = shape;
        let at = |order, down, along, pitch: usize| {
            if order == Order::Rows { down * pitch + along } else { along * pitch + down }
        };
        let c = (0..m * n)
            .map(|i| {
                let (row, col) = (i / n, i % n);
                let sum: f32 = (0..k)
                    .map(|k| {
                        let a = a[at(layout.a(), row, k, problem.lda)].0.to_f32();
                        a * b[at(layout.b(), k, col, problem.ldb)].0.to_f32()
                    })
                    .sum();
                bf16(alpha * sum + if beta == 0.0 { 0.0 } else { beta * before[i].0.to_f32() })
            })
            .collect();
        Case { problem, a, b, before, c }
    }

    impl Case {
        fn product(&self) -> TensorProduct<'_, Bf16, Bf16> {
            TensorProduct { problem: &self.problem, a: &self.a, b: &self.b, before: &self.before }
        }
    }

    #[test]
    fn right_products_of_all_layouts_pass_both_ways() {
        for layout in Layout::ALL {
            for (alpha, beta) in [(1.0, 0.0), (0.5, -2.0)] {
                let case = case((67, 45, 300), layout, alpha, beta);
                for verdict in [case.product().whole(&case.c), case.product().sampled(&case.c)] {
                    assert!(verdict.ok, "{verdict:?}");
                    // The tolerance is no wall far away.
                    assert!(verdict.max_error > verdict.tolerance / 3.0, "{verdict:?}");
                }
            }
        }
    }

    #[test]
    fn a_single_wrong_element_is_found() {
        let case = case((130, 600, 200), Layout::Nt, 1.0, 0.0);
        let (mut random, mut by_vectors) = (Random::new(7), 0);
        for _ in 0..20 {
            let i = random.below(case.c.len());
            let mut c = case.c.clone();
            c[i] = bf16(-c[i].0.to_f32());
            if c[i].0.to_f32().abs() < 0.01 {
                continue;
            }
            let at = format!("({}, {})", i / 600, i % 600);
            assert!(case.product().whole(&c).wrong.is_some_and(|text| text.contains(&at)));
            by_vectors += usize::from(case.product().freivalds(&c).is_some());
        }
        // The vectors see what is larger than the rounding of 512 neighbours.
        assert!(by_vectors >= 10, "{by_vectors} of 20");
        let mut c = case.c.clone();
        c[5] = bf16(f32::NAN);
        assert!(!case.product().whole(&c).ok && !case.product().sampled(&c).ok);
        assert!(!case.product().check(&case.c[1..]).ok);
    }

    #[test]
    fn integers_must_agree_to_the_last_bit() {
        let problem = Problem::new((1, 2, 2), Input::S8, Output::S32, Layout::Nn);
        let product = TensorProduct { problem: &problem, a: &[3i8, -4], b: &[1, 2, 3, 127], before: &[0i32] };
        assert!(product.whole(&[-9, -502]).ok && product.sampled(&[-9, -502]).ok);
        assert!(!product.whole(&[-9, -501]).ok && !product.sampled(&[-9, -501]).ok);
    }
}
