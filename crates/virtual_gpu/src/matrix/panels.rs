//! A and B of a product in the order in which lanes hold D.
//!
//! Of eight rows and eight columns of D, lane 4r + c holds row r and column 2c in one register, and column 2c + 1 in the
//! next. So with each value of A in four neighbouring lanes, and every second value of B in four, whole registers of
//! products are added to whole registers of C ([`super::sums`]).

use super::element::{Element, Family};
use super::stored::Stored;
use super::vectors::{self, Work};

/// What elements become before they are multiplied.
pub(crate) trait Value: Copy + Default {
    fn of(element: Element, bits: u32) -> Self;
    fn negative(self) -> Self;
}

/// Numbers, of which all are exact, and so are the products of two.
impl Value for f64 {
    #[inline(always)]
    fn of(element: Element, bits: u32) -> f64 {
        match element.family() {
            Family::Float => element.float(bits).into(),
            _ => element.integer(bits).into(),
        }
    }

    #[inline(always)]
    fn negative(self) -> f64 {
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
        panels.depth = stored.depth;
        panels.narrow.resize(stored.rows.len(), [T::default(); 8]);
        panels.rows.resize(stored.rows.len(), [T::default(); 32]);
        panels.columns.resize(stored.columns.len(), [T::default(); 4]);
        a.convert(stored.rows.as_flattened(), panels.narrow.as_flattened_mut());
        b.convert(stored.columns.as_flattened(), panels.columns.as_flattened_mut());
        for (row, narrow) in panels.rows.iter_mut().zip(&panels.narrow) {
            for (lanes, &value) in row.as_chunks_mut::<4>().0.iter_mut().zip(narrow) {
                *lanes = [value; 4];
            }
        }
    }
}
