//! Qualifiers of an arithmetic operation besides its opcode: types, rounding, saturation, and others of its kind.

use ptx::ScalarType;

use crate::alu::Round;
use crate::alu::bits::PrmtMode;
use crate::alu::compare::{BoolOp, FloatCmp, IntCmp, Testp};
use crate::alu::convert::Narrow;
use crate::alu::exact::Format;
use crate::alu::float::{self, MinMax};
use crate::alu::half;
use crate::alu::video::{Mad, Packed, Part, Secondary};

/// The qualifiers of an operation, by its kind.
#[derive(Debug, Clone, Copy)]
pub enum Qualifiers {
    /// Only a type. `mov` of several registers packs, unpacks or copies, depending on how many there are on each side.
    Type(ScalarType),
    /// Logic on predicates: which sources are negated.
    Predicates {
        inverted: [bool; 2],
    },
    Integer {
        ty: ScalarType,
        half: Option<ProductHalf>,
        saturate: bool,
        relu: bool,
    },
    /// The flag is the last target and the last source.
    Carry {
        ty: ScalarType,
        /// For a product.
        high: bool,
        reads: bool,
        writes: bool,
    },
    /// `bfind`
    FindBit {
        ty: ScalarType,
        shift_amount: bool,
    },
    /// `bmsk`, `szext`: whether amounts wrap around or are clamped to the width.
    Amount {
        ty: ScalarType,
        wrap: bool,
    },
    FunnelShift {
        left: bool,
        wrap: bool,
    },
    Permute(PrmtMode),
    DotProduct {
        signed: [bool; 2],
        /// For `dp2a`: which half of the second source.
        high: bool,
    },
    /// `lop3`. With a join, the second target is whether the result, joined with a predicate, is not zero.
    Table {
        table: u8,
        join: Option<BoolOp>,
        inverted: bool,
    },
    Float {
        ty: ScalarType,
        mode: float::Mode,
        accuracy: Accuracy,
    },
    Extremum {
        ty: ScalarType,
        ends: MinMax,
        /// On magnitudes.
        abs: bool,
    },
    /// `testp`
    Property {
        ty: ScalarType,
        question: Testp,
    },
    Half {
        ty: ScalarType,
        mode: half::Mode,
        ends: MinMax,
        /// A factor may be the NaN that means "out of bounds".
        oob: bool,
    },
    /// 16-bit factors, a 32-bit sum.
    Mixed {
        narrow: ScalarType,
        mode: float::Mode,
    },
    Compare(Compare),
    /// `slct`: a value of type `ty`, selected by the sign of one of type `by`.
    BySign {
        ty: ScalarType,
        by: ScalarType,
        ftz: bool,
    },
    Convert(Convert),
    /// `cvt.pack`: two integers saturated to the given number of bits, above the previous contents.
    ConvertPack {
        width: u32,
        signed: bool,
    },
    /// `cvt.rs`: two or four values, rounded with the bits of the last source.
    ConvertRandomly {
        format: Format,
        mode: Narrow,
    },
    /// `cvta`: to or from the generic address of a window's space; `None`: of a space whose addresses are generic
    /// already.
    Address {
        window: Option<u64>,
        back: bool,
    },
    /// `isspacep`
    IsSpace {
        wide: bool,
        space: Region,
    },
    /// `mapa`
    MapAddress {
        ty: ScalarType,
        generic: bool,
    },
    Video(Video),
    VideoMad {
        parts: [(Part, bool); 2],
        mode: Mad,
    },
    VideoPacked(Packed),
}

/// Which part of a product to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProductHalf {
    Low,
    High,
    Wide,
}

/// How close to the exact result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accuracy {
    /// Rounded once.
    Rounded,
    Approximate,
    /// `.full`
    Full,
}

/// `setp`, `set`. For pairs of halves each gives a result; otherwise a second target receives the opposite.
#[derive(Debug, Clone, Copy)]
pub struct Compare {
    pub ty: ScalarType,
    pub relation: Relation,
    pub ftz: bool,
    /// The last source is a predicate joined with the result.
    pub join: Option<BoolOp>,
    /// That predicate is negated.
    pub inverted: bool,
    /// The form of the result: a predicate, or zero and the type's one or all ones.
    pub result: ScalarType,
}

#[derive(Debug, Clone, Copy)]
pub enum Relation {
    Integer(IntCmp),
    Float(FloatCmp),
}

/// `cvt`
#[derive(Debug, Clone, Copy)]
pub struct Convert {
    pub to: Converted,
    pub from: Converted,
    pub round: Option<Round>,
    /// `.rni` and the like.
    pub integer: Option<Round>,
    pub ftz: bool,
    pub sat: bool,
    pub relu: bool,
    pub satfinite: bool,
}

/// A type that `cvt` converts from or to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Converted {
    /// A type, and that of the register, which may be wider.
    Scalar(ScalarType, ScalarType),
    /// Two 16-bit values.
    Pair(ScalarType),
    /// Two values of a format with at most eight bits.
    Tiny(Tiny),
}

/// A format that `cvt` produces in pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tiny {
    /// Eight bits, or six of eight.
    Byte(Format),
    /// Four bits: both in one byte.
    Nibble(Format),
    /// `ue8m0`: an exponent.
    Power,
}

/// The space `isspacep` tests for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Region {
    Global,
    Constant,
    /// The block's own shared memory.
    OwnShared,
    /// A window of the generic address space.
    Window(u64),
}

/// `vadd` and the like, `vshl`, `vshr`, `vset`.
#[derive(Debug, Clone, Copy)]
pub struct Video {
    /// Which part of each source is selected, and whether it is signed.
    pub parts: [(Part, bool); 2],
    /// Where the result goes, and whether it is signed.
    pub to: (Part, bool),
    pub saturate: bool,
    /// For shifts: amounts wrap around instead of being clamped to the width.
    pub wrap: Option<bool>,
    pub compare: Option<IntCmp>,
    pub second: Option<Secondary>,
}
