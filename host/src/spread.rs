//! Matrices that are spread over devices: every rank makes the same ones, takes its part, and checks its own rows in float64.

use std::ops::Range;

use warpsmith_collectives::Element;
use warpsmith_kernels::gemm::{Input, Layout, Output, Problem};
use warpsmith_launch::Bf16;

use crate::data::{Random, transposed};
use crate::verify::{Product, TensorInput, TensorOutput, TensorProduct, Verdict};

/// A and B of a product.
pub struct Matrices<I> {
    pub extents: (usize, usize, usize),
    /// A, row by row.
    a: Vec<I>,
    /// B, column by column.
    b: Vec<I>,
}

impl<I: Spread> Matrices<I> {
    /// Random ones, the same for the same extents.
    pub fn random((m, n, k): (usize, usize, usize)) -> Self {
        let a = Random::new(11).many(m * k, I::random);
        let b = Random::new(12).many(n * k, I::random);
        Self { extents: (m, n, k), a, b }
    }

    /// Rows of A.
    pub fn rows(&self, rows: Range<usize>) -> Vec<I> {
        let k = self.extents.2;
        self.a[rows.start * k..rows.end * k].to_vec()
    }

    /// Columns of B, one behind the other.
    pub fn columns(&self, columns: Range<usize>) -> Vec<I> {
        let k = self.extents.2;
        self.b[columns.start * k..columns.end * k].to_vec()
    }

    /// A part of K of A, row by row.
    pub fn part_of_a(&self, part: Range<usize>) -> Vec<I> {
        part_of(&self.a, self.extents.2, part)
    }

    /// A part of K of B, column by column.
    pub fn part_of_b(&self, part: Range<usize>) -> Vec<I> {
        part_of(&self.b, self.extents.2, part)
    }

    /// Checks rows of C.
    pub fn check<O: TensorOutput>(&self, rows: Range<usize>, c: &[O]) -> Verdict {
        let (_, n, k) = self.extents;
        if c.len() == rows.len() * n && c.is_empty() {
            let how = "rows that are none".into();
            return Verdict { ok: true, max_error: 0.0, tolerance: 0.0, how, wrong: None };
        }
        I::check((rows.len(), n, k), &self.a[rows.start * k..rows.end * k], &self.b, c)
    }
}

fn part_of<I: Copy>(lines: &[I], k: usize, part: Range<usize>) -> Vec<I> {
    lines.chunks_exact(k.max(1)).flat_map(|line| line[part.clone()].iter().copied()).collect()
}

/// An element whose products are spread.
pub trait Spread: TensorInput + Element {
    const INPUT: Input;
    /// Its part of C.
    type C: TensorOutput;
    const OUTPUT: Output;

    /// Checks C of these rows of A and columns of B.
    fn check<O: TensorOutput>(extents: (usize, usize, usize), a: &[Self], b: &[Self], c: &[O]) -> Verdict;
}

impl Spread for f32 {
    const INPUT: Input = Input::F32;
    type C = f32;
    const OUTPUT: Output = Output::F32;

    fn check<O: TensorOutput>((m, n, k): (usize, usize, usize), a: &[f32], b: &[f32], c: &[O]) -> Verdict {
        let b = transposed(b, n, k);
        let c: Vec<f32> = c.iter().map(|&c| c.value() as f32).collect();
        Product { shape: (m, n, k), a, b: &b, before: &[], alpha: 1.0, beta: 0.0 }.check(&c)
    }
}

impl Spread for Bf16 {
    const INPUT: Input = Input::Bf16;
    type C = Bf16;
    const OUTPUT: Output = Output::Bf16;

    fn check<O: TensorOutput>(extents: (usize, usize, usize), a: &[Bf16], b: &[Bf16], c: &[O]) -> Verdict {
        let problem = Problem::new(extents, Input::Bf16, O::TYPE, Layout::Nt);
        TensorProduct { problem: &problem, a, b, before: &[] }.check(c)
    }
}

/// The worse of two verdicts, of parts of the same matrix.
pub fn worse(one: Verdict, other: Verdict) -> Verdict {
    let share = |verdict: &Verdict| verdict.max_error / verdict.tolerance.max(f64::MIN_POSITIVE);
    match (one.ok, other.ok) {
        (false, true) => one,
        (true, false) => other,
        _ if share(&other) > share(&one) => other,
        _ => one,
    }
}

/// The verdict of all parts: the worst of theirs.
pub fn all_of(parts: impl IntoIterator<Item = Verdict>) -> Verdict {
    let nothing = Verdict {
        ok: false,
        max_error: 0.0,
        tolerance: 0.0,
        how: "nothing".into(),
        wrong: Some("no device has a result".into()),
    };
    let mut parts = parts.into_iter().peekable();
    let verdict = parts.next().unwrap_or(nothing);
    if parts.peek().is_none() {
        return verdict;
    }
    let worst = parts.fold(verdict, worse);
    Verdict { how: format!("of each device {}", worst.how), ..worst }
}
