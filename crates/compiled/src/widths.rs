//! How many of a register's lanes a value has.
//!
//! Of what is the same in all lanes, or rises by the same from lane to lane, one lane of the warp or of each half tells all
//! others. So it is computed for these alone, and for all where it meets a register that has no such form.

/// The lanes of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Width {
    /// The first lane, whose value all others have.
    One,
    /// The first lane of each half, 16 lanes.
    Two,
    All,
}

/// The names of types with so many lanes.
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
