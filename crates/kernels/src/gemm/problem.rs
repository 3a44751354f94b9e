//! The description of a product.

use super::element::{Input, Layout, Order, Output};
use crate::Error;

/// C = alpha · A · B + beta · C.
///
/// ```
/// use warpsmith_kernels::gemm::{Input, Layout, Output, Problem};
///
/// let mut problem = Problem::new((1000, 512, 768), Input::Bf16, Output::F32, Layout::Nt);
/// assert_eq!((problem.lda, problem.ldb, problem.ldc), (768, 768, 512));
/// problem.ldc = 500; // less than a row of C has
/// assert!(problem.check().unwrap_err().to_string().contains("C's rows have 512 elements"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Problem {
    /// Rows of A and C.
    pub m: usize,
    /// Columns of B and C.
    pub n: usize,
    /// Columns of A, rows of B.
    pub k: usize,
    /// The element type of A and B, and with it the units that multiply.
    pub input: Input,
    /// The element type of C.
    pub output: Output,
    /// The orders of A and B.
    pub layout: Layout,
    /// Elements from one row of A to the next, or from one column to the next.
    #[doc(alias = "leading dimension")]
    pub lda: usize,
    /// The pitch of B.
    pub ldb: usize,
    /// Elements from one row of C to the next.
    pub ldc: usize,
    /// Factor of the product; a whole number if the elements are.
    pub alpha: f32,
    /// Factor of C's former content; C is not read if this is zero.
    pub beta: f32,
}

/// A matrix as it is stored: rows, or columns if those are contiguous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// `A`, `B` or `C`.
    pub name: &'static str,
    /// The number of rows or columns.
    pub lines: usize,
    /// Elements of each.
    pub len: usize,
    /// Elements from one to the next.
    pub pitch: usize,
    /// Bytes of an element.
    pub size: usize,
}

impl Stored {
    /// Elements from the first to the last.
    pub fn span(&self) -> usize {
        if self.lines == 0 || self.len == 0 { 0 } else { (self.lines - 1) * self.pitch + self.len }
    }
}

impl Problem {
    /// A · B itself, of matrices without gaps.
    pub fn new((m, n, k): (usize, usize, usize), input: Input, output: Output, layout: Layout) -> Self {
        let lda = if layout.a() == Order::Rows { k } else { m };
        let ldb = if layout.b() == Order::Rows { n } else { k };
        Self { m, n, k, input, output, layout, lda, ldb, ldc: n, alpha: 1.0, beta: 0.0 }
    }

    /// A product of f32, row by row, by the CUDA cores.
    #[doc(alias = "sgemm")]
    pub fn f32(extents: (usize, usize, usize)) -> Self {
        Self::new(extents, Input::F32, Output::F32, Layout::Nn)
    }

    /// A, B and C as they are stored.
    pub fn matrices(&self) -> [Stored; 3] {
        let stored = |name, order, (rows, cols), pitch, size| {
            let (lines, len) = if order == Order::Rows { (rows, cols) } else { (cols, rows) };
            Stored { name, lines, len, pitch, size }
        };
        [
            stored("A", self.layout.a(), (self.m, self.k), self.lda, self.input.size()),
            stored("B", self.layout.b(), (self.k, self.n), self.ldb, self.input.size()),
            stored("C", Order::Rows, (self.m, self.n), self.ldc, self.output.size()),
        ]
    }

    /// The elements from the first to the last of A, B and C.
    pub fn lengths(&self) -> [usize; 3] {
        self.matrices().map(|matrix| matrix.span())
    }

    /// Multiplications and additions.
    pub fn operations(&self) -> f64 {
        2.0 * self.m as f64 * self.n as f64 * self.k as f64
    }

    /// Says what is wrong with the description, if anything is.
    pub fn check(&self) -> Result<(), Error> {
        let refuse = |reason: String| Err(Error::Gemm(reason));
        if !self.input.outputs().contains(&self.output) {
            let admitted: Vec<_> = self.input.outputs().iter().map(|output| output.name()).collect();
            let (input, output) = (self.input.name(), self.output.name());
            return refuse(format!(
                "a product of {input} is stored as {}, not {output}",
                admitted.join(" or ")
            ));
        }
        // The tensor cores' kernels count bytes along a line in 31 bits, those of the CUDA cores lines and elements.
        let largest = if self.input == Input::F32 { i32::MAX as usize } else { 1 << 28 };
        for Stored { name, lines, len, pitch, .. } in self.matrices() {
            let line = match (name, self.layout.a(), self.layout.b()) {
                ("A", Order::Columns, _) | ("B", _, Order::Columns) => "columns",
                _ => "rows",
            };
            if lines > 1 && pitch < len {
                return refuse(format!("{name}'s {line} have {len} elements, and begin only {pitch} apart"));
            }
            if lines > largest || len > largest || pitch > largest {
                return refuse(format!(
                    "{name} has {lines} {line} of {len} elements at a pitch of {pitch}; at most {largest} are taken"
                ));
            }
        }
        for (name, factor) in [("alpha", self.alpha), ("beta", self.beta)] {
            if self.input == Input::S8 && !(factor.fract() == 0.0 && factor.abs() <= 16_777_216.0) {
                return refuse(format!(
                    "{name} is {factor}; a product of integers takes whole numbers up to 2^24"
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pitches_follow_the_layout() {
        let pitches = |layout| {
            let p = Problem::new((3, 5, 7), Input::F16, Output::F16, layout);
            (p.lda, p.ldb, p.ldc, p.lengths())
        };
        assert_eq!(pitches(Layout::Nn), (7, 5, 5, [21, 35, 15]));
        assert_eq!(pitches(Layout::Nt), (7, 7, 5, [21, 35, 15]));
        assert_eq!(pitches(Layout::Tn), (3, 5, 5, [21, 35, 15]));
        assert_eq!(pitches(Layout::Tt), (3, 7, 5, [21, 35, 15]));
    }

    #[test]
    fn wrong_descriptions_are_refused_with_the_reason() {
        let right = Problem::new((8, 8, 8), Input::S8, Output::S32, Layout::Tn);
        assert!(right.check().is_ok());
        let says = |problem: Problem, text: &str| {
            let error = problem.check().unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        };
        says(Problem { output: Output::F32, ..right }, "a product of s8 is stored as s32, not f32");
        says(Problem { lda: 7, ..right }, "A's columns have 8 elements, and begin only 7 apart");
        says(Problem { alpha: 0.5, ..right }, "alpha is 0.5");
        says(Problem { beta: f32::NAN, ..right }, "beta is NaN");
        says(Problem { n: 1 << 29, ldc: 1 << 29, ldb: 1 << 29, ..right }, "at most");
        says(Problem { ldc: 1 << 31, ..Problem::f32((8, 8, 8)) }, "at most 2147483647");
    }
}
