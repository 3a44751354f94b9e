//! A and B of a product in the order in which lanes hold D.
//!
//! Of eight rows and eight columns of D, lane 4r + c holds row r and column 2c in one register, and column 2c + 1 in the
//! next. So with each value of A in four neighbouring lanes, and every second value of B in four, whole registers of
//! products are added to whole registers of C ([`super::sums`]).

use super::element::Element;
use super::product;
use super::stored::Stored;
use super::vectors::{self, Work};

/// Values of elements, as they are multiplied.
pub(crate) trait Value: Copy + Default {
    fn of(element: Element, bits: u32) -> Self;
    fn negative(self) -> Self;
}

/// Integers, whose products and sums are exact.
impl Value for f64 {
    #[inline(always)]
    fn of(element: Element, bits: u32) -> f64 {
        element.integer(bits).into()
    }

    #[inline(always)]
    fn negative(self) -> f64 {
        -self
    }
}

/// Floating-point numbers.
impl Value for f32 {
    #[inline(always)]
    fn of(element: Element, bits: u32) -> f32 {
        element.float(bits)
    }

    #[inline(always)]
    fn negative(self) -> f32 {
        -self
    }
}

/// 32 single bits.
impl Value for u32 {
    #[inline(always)]
    fn of(_: Element, bits: u32) -> u32 {
        bits
    }

    #[inline(always)]
    fn negative(self) -> u32 {
        self
    }
}

/// The elements of A or B.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Elements {
    pub element: Element,
    pub negative: bool,
}

impl Elements {
    pub fn of(element: Element) -> Self {
        Self { element, negative: false }
    }

    #[inline(always)]
    fn convert<T: Value>(self, bits: &[u32], values: &mut [T]) {
        // A loop of its own for each format.
        macro_rules! each {
            ($($element:ident)*) => {
                match self.element {
                    $(Element::$element => {
                        for (value, &bits) in values.iter_mut().zip(bits) {
                            *value = T::of(Element::$element, bits);
                        }
                    })*
                }
            };
        }
        each!(F16 Bf16 Tf32 E4m3 E5m2 F64 S8 U8 S4 U4 B1);
        if self.negative {
            values.iter_mut().for_each(|value| *value = value.negative());
        }
    }
}

/// 8 or 16 rows of A and the columns of B.
#[derive(Debug, Default)]
pub(crate) struct Panels<T> {
    pub(super) depth: usize,
    /// For each eight rows and each k, row r in lanes 4r to 4r + 3.
    pub(super) rows: Vec<[T; 32]>,
    /// For each eight columns, of the even ones and then of the odd ones, for each k, one of each.
    pub(super) columns: Vec<[T; 4]>,
    /// Rows before they are spread over the lanes.
    narrow: Vec<[T; 8]>,
}

impl<T: Value> Panels<T> {
    /// Sets A and B.
    pub fn set(&mut self, stored: &Stored, a: Elements, b: Elements) {
        vectors::run(Set { panels: self, stored, a, b });
    }
}

impl Panels<i16> {
    /// Sets the exponents of values.
    pub fn set_exponents(&mut self, of: &Panels<f32>, a: Element, b: Element) {
        vectors::run(SetExponents { panels: self, of, a, b });
    }
}

impl<T> Panels<T> {
    /// Of eight columns the even ones and the odd ones.
    #[inline(always)]
    pub(super) fn eight(&self, number: usize) -> [&[[T; 4]]; 2] {
        let (even, odd) = self.columns[2 * number * self.depth..][..2 * self.depth].split_at(self.depth);
        [even, odd]
    }
}

struct Set<'a, T> {
    panels: &'a mut Panels<T>,
    stored: &'a Stored,
    a: Elements,
    b: Elements,
}

impl<T: Value> Work for Set<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<const LANES: usize, const FUSES: bool>(self) {
        let Self { panels, stored, a, b } = self;
        panels.resize(stored.depth, [stored.rows.len(), stored.columns.len()]);
        a.convert(stored.rows.as_flattened(), panels.narrow.as_flattened_mut());
        b.convert(stored.columns.as_flattened(), panels.columns.as_flattened_mut());
        panels.spread();
    }
}

struct SetExponents<'a> {
    panels: &'a mut Panels<i16>,
    of: &'a Panels<f32>,
    a: Element,
    b: Element,
}

impl Work for SetExponents<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const LANES: usize, const FUSES: bool>(self) {
        let Self { panels, of, a, b } = self;
        panels.resize(of.depth, [of.narrow.len(), of.columns.len()]);
        let rows = of.narrow.as_flattened().iter().zip(panels.narrow.as_flattened_mut());
        rows.for_each(|(&value, exponent)| *exponent = product::exponent(value, a.smallest()));
        let columns = of.columns.as_flattened().iter().zip(panels.columns.as_flattened_mut());
        columns.for_each(|(&value, exponent)| *exponent = product::exponent(value, b.smallest()));
        panels.spread();
    }
}

impl<T: Copy + Default> Panels<T> {
    fn resize(&mut self, depth: usize, [rows, columns]: [usize; 2]) {
        self.depth = depth;
        self.narrow.resize(rows, [T::default(); 8]);
        self.rows.resize(rows, [T::default(); 32]);
        self.columns.resize(columns, [T::default(); 4]);
    }

    /// Repeats each row's value in four neighbouring lanes.
    #[inline(always)]
    fn spread(&mut self) {
        for (row, narrow) in self.rows.iter_mut().zip(&self.narrow) {
            for (lanes, &value) in row.as_chunks_mut::<4>().0.iter_mut().zip(narrow) {
                *lanes = [value; 4];
            }
        }
    }
}
