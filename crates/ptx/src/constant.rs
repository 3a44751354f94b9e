//! Constants and initialisers.

use crate::name::Name;

/// A constant after evaluation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Constant {
    /// 64 bits; `unsigned` as the rules of constant expressions found it (`U` suffix, too large for `.s64` …).
    Integer {
        bits: u64,
        /// `.u64` rather than `.s64`.
        unsigned: bool,
    },
    /// `0fXXXXXXXX`: exactly these bits.
    Single(u32),
    /// `0dXXXXXXXXXXXXXXXX`, a decimal, or an expression of them.
    Double(f64),
}

impl Constant {
    /// Bits of the constant as an operand of a 32-bit float type. A double is rounded to nearest even.
    pub fn to_f32_bits(self) -> u32 {
        match self {
            Self::Single(bits) => bits,
            Self::Double(value) => (value as f32).to_bits(),
            Self::Integer { bits, unsigned: true } => (bits as f32).to_bits(),
            Self::Integer { bits, unsigned: false } => (bits as i64 as f32).to_bits(),
        }
    }

    /// Bits of the constant as an operand of `.f64`.
    pub fn to_f64_bits(self) -> u64 {
        match self {
            Self::Single(bits) => f64::from(f32::from_bits(bits)).to_bits(),
            Self::Double(value) => value.to_bits(),
            Self::Integer { bits, unsigned: true } => (bits as f64).to_bits(),
            Self::Integer { bits, unsigned: false } => (bits as i64 as f64).to_bits(),
        }
    }

    /// The 64 bits of an integer constant.
    pub fn integer(self) -> Option<u64> {
        match self {
            Self::Integer { bits, .. } => Some(bits),
            _ => None,
        }
    }
}

/// What a variable starts with.
#[derive(Debug, Clone, PartialEq)]
pub enum Initializer {
    /// A number.
    Value(Constant),
    /// `{ … }`, one dimension of an array or the components of a vector. Fewer items than the array has: zeros follow.
    List(Vec<Initializer>),
    /// The address of a variable or function.
    Address(SymbolAddress),
    /// `0xFF00(address)`: the masked byte of an address, shifted down.
    MaskedAddress {
        /// `0xFF` times a power of 256.
        mask: u64,
        /// What is masked.
        address: SymbolAddress,
    },
    /// `{ addr_mode_0 = wrap, filter_mode = nearest }` of opaque references: names and the text of their values.
    Fields(Vec<(Name, Name)>),
}

impl Initializer {
    /// Items of the outermost list; 1 for what is no list.
    pub fn len(&self) -> u64 {
        match self {
            Self::List(items) => items.len() as u64,
            _ => 1,
        }
    }

    /// True of `{}`.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// `name{+offset}`, or `generic(name){+offset}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SymbolAddress {
    /// The variable, function or label.
    pub name: Name,
    /// Bytes past it.
    pub offset: i64,
    /// `generic(…)`: the generic address rather than that within the variable's space.
    pub generic: bool,
}
