//! What is to be multiplied: types, layouts, extents and pitches.

use bytemuck::AnyBitPattern;
use cust::memory::DeviceCopy;
use warpsmith_launch::{Bf16, F16};

use crate::data::Random;
use crate::error::Error;

/// The type of A and B.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, clap::ValueEnum)]
pub enum Input {
    /// binary16
    F16,
    /// bfloat16
    Bf16,
    /// f32, of which the tensor core reads sign, exponent and 10 bits of the fraction
    Tf32,
    /// 8-bit integers
    S8,
}

/// The type of C. Sums are f32, of integers i32, whatever C is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, clap::ValueEnum)]
pub enum Output {
    /// binary16
    F16,
    /// bfloat16
    Bf16,
    /// f32
    F32,
    /// 32-bit integers
    S32,
}

/// Which elements of a matrix follow each other in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Those of a row.
    Rows,
    /// Those of a column.
    Columns,
}

/// How A (m × k) and B (k × n) are stored; C is always stored row by row.
///
/// In two letters, `n` for row by row and `t` for column by column, so that `nt` is what `a @ b.T` means in NumPy: both
/// operands contiguous along K.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, clap::ValueEnum)]
pub enum Layout {
    /// A row by row, B row by row
    Nn,
    /// A row by row, B column by column: K is contiguous in both
    Nt,
    /// A column by column, B row by row
    Tn,
    /// A column by column, B column by column
    Tt,
}

impl Input {
    /// All types.
    pub const ALL: [Self; 4] = [Self::F16, Self::Bf16, Self::Tf32, Self::S8];

    /// Bytes of an element.
    pub fn size(self) -> usize {
        match self {
            Self::F16 | Self::Bf16 => 2,
            Self::Tf32 => 4,
            Self::S8 => 1,
        }
    }

    /// The type's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::Tf32 => "tf32",
            Self::S8 => "s8",
        }
    }

    /// The types that C may have, the usual one first.
    pub fn outputs(self) -> &'static [Output] {
        match self {
            Self::F16 => &[Output::F16, Output::F32],
            Self::Bf16 => &[Output::Bf16, Output::F32],
            Self::Tf32 => &[Output::F32],
            Self::S8 => &[Output::S32],
        }
    }
}

impl Output {
    /// Bytes of an element.
    pub fn size(self) -> usize {
        if matches!(self, Self::F16 | Self::Bf16) { 2 } else { 4 }
    }

    /// The type's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::F32 => "f32",
            Self::S32 => "s32",
        }
    }
}

impl Layout {
    /// All layouts.
    pub const ALL: [Self; 4] = [Self::Nn, Self::Nt, Self::Tn, Self::Tt];

    /// How A is stored.
    pub fn a(self) -> Order {
        if matches!(self, Self::Nn | Self::Nt) { Order::Rows } else { Order::Columns }
    }

    /// How B is stored.
    pub fn b(self) -> Order {
        if matches!(self, Self::Nn | Self::Tn) { Order::Rows } else { Order::Columns }
    }

    /// Whether A and B are stored as their transposes.
    pub fn transposed(self) -> (bool, bool) {
        (self.a() == Order::Columns, self.b() == Order::Columns)
    }

    /// Its two letters.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nn => "nn",
            Self::Nt => "nt",
            Self::Tn => "tn",
            Self::Tt => "tt",
        }
    }
}

/// C = alpha · A · B + beta · C.
///
/// ```
/// use host::tensor::{Input, Layout, Output, Problem};
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
    /// The type of A and B.
    pub input: Input,
    /// The type of C.
    pub output: Output,
    /// How A and B are stored.
    pub layout: Layout,
    /// Elements from one row of A to the next, or from one column to the next.
    pub lda: usize,
    /// The same for B.
    pub ldb: usize,
    /// Elements from one row of C to the next.
    pub ldc: usize,
    /// Factor of the product; a whole number if the elements are.
    pub alpha: f32,
    /// Factor of what C held before, likewise; C is not read if this is zero.
    pub beta: f32,
}

/// The largest extent or pitch: byte offsets along one stay below 2³¹.
const LARGEST: usize = 1 << 28;

impl Problem {
    /// A · B itself, of matrices without gaps.
    pub fn new((m, n, k): (usize, usize, usize), input: Input, output: Output, layout: Layout) -> Self {
        let lda = if layout.a() == Order::Rows { k } else { m };
        let ldb = if layout.b() == Order::Rows { n } else { k };
        Self { m, n, k, input, output, layout, lda, ldb, ldc: n, alpha: 1.0, beta: 0.0 }
    }

    /// Each matrix: its name, how many lines it has, how many elements a line has, and the pitch.
    pub fn matrices(&self) -> [(&'static str, usize, usize, usize); 3] {
        let lines = |order, rows, cols| if order == Order::Rows { (rows, cols) } else { (cols, rows) };
        let (a_lines, a_len) = lines(self.layout.a(), self.m, self.k);
        let (b_lines, b_len) = lines(self.layout.b(), self.k, self.n);
        [("A", a_lines, a_len, self.lda), ("B", b_lines, b_len, self.ldb), ("C", self.m, self.n, self.ldc)]
    }

    /// How many elements lie from the first to the last of A, B and C.
    pub fn lengths(&self) -> [usize; 3] {
        self.matrices().map(
            |(_, lines, len, pitch)| {
                if lines == 0 || len == 0 { 0 } else { (lines - 1) * pitch + len }
            },
        )
    }

    /// Multiplications and additions.
    pub fn operations(&self) -> f64 {
        2.0 * self.m as f64 * self.n as f64 * self.k as f64
    }

    /// Says what is wrong with the description, if anything is.
    pub fn check(&self) -> Result<(), Error> {
        let refuse = |reason: String| Err(Error::Product(reason));
        if !self.input.outputs().contains(&self.output) {
            let admitted: Vec<_> = self.input.outputs().iter().map(|output| output.name()).collect();
            let (input, output) = (self.input.name(), self.output.name());
            return refuse(format!(
                "a product of {input} is stored as {}, not {output}",
                admitted.join(" or ")
            ));
        }
        for (name, lines, len, pitch) in self.matrices() {
            let line = match (name, self.layout.a(), self.layout.b()) {
                ("A", Order::Columns, _) | ("B", _, Order::Columns) => "columns",
                _ => "rows",
            };
            if lines > 1 && pitch < len {
                return refuse(format!("{name}'s {line} have {len} elements, and begin only {pitch} apart"));
            }
            if lines > LARGEST || len > LARGEST || pitch > LARGEST {
                return refuse(format!(
                    "{name} has {lines} {line} of {len} elements at a pitch of {pitch}; at most {LARGEST} are taken"
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

/// An element of A or B, as buffers on the device hold it.
pub trait InputElement: DeviceCopy + Default + Send + Sync {
    /// Its type.
    const INPUT: Input;

    /// Its value, as the tensor core reads it.
    fn value(self) -> f64;

    /// The nearest element.
    fn of(value: f64) -> Self;

    /// A random element: of integers any, of others one in [-1, 1).
    fn random(random: &mut Random) -> Self;
}

/// An element of C.
pub trait OutputElement: DeviceCopy + AnyBitPattern + Sync {
    /// Its type.
    const OUTPUT: Output;
    /// The largest relative error of rounding to this type; 0 where sums are exact.
    const ROUNDING: f64;

    /// Its value.
    fn value(self) -> f64;

    /// The nearest element; integers wrap.
    fn of(value: f64) -> Self;
}

macro_rules! inputs {
    ($($element:ty: $input:ident, |$x:ident| $value:expr, |$v:ident| $of:expr, |$random:ident| $made:expr;)*) => {$(
        impl InputElement for $element {
            const INPUT: Input = Input::$input;

            fn value(self) -> f64 {
                let $x = self;
                $value
            }

            fn of($v: f64) -> Self {
                $of
            }

            fn random($random: &mut Random) -> Self {
                $made
            }
        }
    )*};
}
inputs! {
    F16: F16, |x| x.0.to_f64(), |v| Self(half::f16::from_f64(v)), |random| Self(half::f16::from_f32(random.unit()));
    Bf16: Bf16, |x| x.0.to_f64(), |v| Self(half::bf16::from_f64(v)), |random| Self(half::bf16::from_f32(random.unit()));
    f32: Tf32, |x| f64::from(f32::from_bits(x.to_bits() & 0xffff_e000)), |v| v as f32, |random| random.unit();
    i8: S8, |x| f64::from(x), |v| v as i8, |random| random.bits() as i8;
}

macro_rules! outputs {
    ($($element:ty: $output:ident, $rounding:expr, |$x:ident| $value:expr, |$v:ident| $of:expr;)*) => {$(
        impl OutputElement for $element {
            const OUTPUT: Output = Output::$output;
            const ROUNDING: f64 = $rounding;

            fn value(self) -> f64 {
                let $x = self;
                $value
            }

            fn of($v: f64) -> Self {
                $of
            }
        }
    )*};
}
// Half a unit in the last place: 11, 8 and 24 bits of precision.
outputs! {
    F16: F16, 1.0 / 2048.0, |x| x.0.to_f64(), |v| Self(half::f16::from_f64(v));
    Bf16: Bf16, 1.0 / 256.0, |x| x.0.to_f64(), |v| Self(half::bf16::from_f64(v));
    f32: F32, 1.0 / 16_777_216.0, |x| f64::from(x), |v| v as f32;
    i32: S32, 0.0, |x| f64::from(x), |v| v as i64 as i32;
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
    }

    #[test]
    fn tf32_is_read_without_its_last_bits() {
        assert_eq!(InputElement::value(1.0f32 + f32::EPSILON), 1.0);
        assert_eq!(InputElement::value(1.0f32 + 1.0 / 1024.0), 1.0 + 1.0 / 1024.0);
    }
}
