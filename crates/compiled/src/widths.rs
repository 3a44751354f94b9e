//! Uniform and affine registers are computed once.
//!
//! All lanes of a register that is uniform, or affine in each half of the warp, follow from one lane, or from one of each half. It is
//! computed for these alone, and for all where it is combined with a varying register.

use crate::blocks::Shape;
use crate::values::type_of;
use crate::writer::Writer;

/// The lanes of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Width {
    /// The first lane, whose value all others have.
    One,
    /// The first lane of each half, 16 lanes.
    Two,
    All,
}

/// The names of types of one width.
#[derive(Debug)]
pub struct Types {
    pub lanes: u32,
    pub bits: &'static str,
    pub halves: &'static str,
    pub words: &'static str,
    pub longs: &'static str,
    pub floats: &'static str,
    pub doubles: &'static str,
}

macro_rules! types {
    ($lanes:literal) => {
        Types {
            lanes: $lanes,
            bits: concat!("<", $lanes, " x i1>"),
            halves: concat!("<", $lanes, " x i16>"),
            words: concat!("<", $lanes, " x i32>"),
            longs: concat!("<", $lanes, " x i64>"),
            floats: concat!("<", $lanes, " x float>"),
            doubles: concat!("<", $lanes, " x double>"),
        }
    };
}

impl Width {
    pub const fn types(self) -> &'static Types {
        const TYPES: [Types; 3] = [types!(1), types!(2), types!(32)];
        &TYPES[self as usize]
    }

    /// Which lanes these are.
    pub fn lanes(self) -> &'static [u32] {
        match self {
            Width::One => &[0],
            Width::Two => &[0, 16],
            Width::All => &[
                0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25,
                26, 27, 28, 29, 30, 31,
            ],
        }
    }
}

impl Writer<'_> {
    /// The lanes of one width made of those of another.
    pub fn resize(&mut self, shape: Shape, bits: &str, (from, to): (Width, Width), stride: i64) -> String {
        let lane = |lane: &u32| match from {
            Width::One => 0,
            Width::Two => lane / 16,
            Width::All => *lane,
        };
        let numbers: Vec<String> = to.lanes().iter().map(|of| format!("i32 {}", lane(of))).collect();
        let (ty, numbers, count) = (type_of(shape, from), numbers.join(", "), numbers.len());
        let value =
            self.set(format_args!("shufflevector {ty} {bits}, {ty} poison, <{count} x i32> <{numbers}>"));
        if stride == 0 || to != Width::All {
            return value;
        }
        let distance = |lane: &u32| match shape {
            Shape::Pair => format!("i64 {}", stride.wrapping_mul((lane % 16).into())),
            _ => format!("i32 {}", stride.wrapping_mul((lane % 16).into()) as i32),
        };
        let distances: Vec<String> = to.lanes().iter().map(distance).collect();
        self.set(format_args!("add {} {value}, <{}>", type_of(shape, to), distances.join(", ")))
    }

    /// A vector of values of one type.
    pub fn vector_of(&mut self, one: &str, values: &[String]) -> String {
        let mut whole = "poison".to_owned();
        for (i, value) in values.iter().enumerate() {
            let count = values.len();
            whole = self.set(format_args!("insertelement <{count} x {one}> {whole}, {one} {value}, i32 {i}"));
        }
        whole
    }

    /// The mask of the lanes for which the current operation's condition is true.
    pub fn mask_of(&mut self, condition: &str) -> String {
        let bits = self.types().bits;
        match self.width {
            Width::One => {
                let one = self.set(format_args!("bitcast {bits} {condition} to i1"));
                self.set(format_args!("sext i1 {one} to i32"))
            }
            Width::Two => {
                let halves = self.set(format_args!("sext {bits} {condition} to <2 x i16>"));
                self.set(format_args!("bitcast <2 x i16> {halves} to i32"))
            }
            Width::All => self.set(format_args!("bitcast {bits} {condition} to i32")),
        }
    }

    /// The bits of a mask in the lanes that the current operation computes.
    pub fn bits_of(&mut self, mask: &str) -> String {
        let bits = self.types().bits;
        match self.width {
            Width::One => {
                let one = self.set(format_args!("trunc i32 {mask} to i1"));
                self.set(format_args!("bitcast i1 {one} to {bits}"))
            }
            Width::Two => {
                let halves = self.set(format_args!("bitcast i32 {mask} to <2 x i16>"));
                self.set(format_args!("trunc <2 x i16> {halves} to {bits}"))
            }
            Width::All => self.set(format_args!("bitcast i32 {mask} to {bits}")),
        }
    }
}
