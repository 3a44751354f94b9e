//! Constants and initialisers.

use crate::name::Name;

/// An evaluated constant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Constant {
    /// 64 bits; `unsigned` follows the rules of constant expressions (`U` suffix, too large for `.s64` …).
    Integer {
        bits: u64,
        /// `.u64` rather than `.s64`.
        unsigned: bool,
    },
    /// `0fXXXXXXXX`: exactly these bits.
    Single(u32),
    /// `0dXXXXXXXXXXXXXXXX`, a decimal number, or an expression of such.
    Double(f64),
}

impl Constant {
    /// The bits for an operand of a 32-bit float type. A double is rounded to nearest even.
    pub fn to_f32_bits(self) -> u32 {
        match self {
            Self::Single(bits) => bits,
            Self::Double(value) => (value as f32).to_bits(),
            Self::Integer { bits, unsigned: true } => (bits as f32).to_bits(),
            Self::Integer { bits, unsigned: false } => (bits as i64 as f32).to_bits(),
        }
    }

    /// The bits for an `.f64` operand.
    pub fn to_f64_bits(self) -> u64 {
        match self {
            Self::Single(bits) => f64::from(f32::from_bits(bits)).to_bits(),
            Self::Double(value) => value.to_bits(),
            Self::Integer { bits, unsigned: true } => (bits as f64).to_bits(),
            Self::Integer { bits, unsigned: false } => (bits as i64 as f64).to_bits(),
        }
    }

    pub fn integer(self) -> Option<u64> {
        match self {
            Self::Integer { bits, .. } => Some(bits),
            _ => None,
        }
    }
}

/// A variable's initial value.
#[derive(Debug, Clone, PartialEq)]
pub enum Initializer {
    Value(Constant),
    /// `{ … }`, one dimension of an array or the components of a vector. Missing items are zero.
    List(Vec<Initializer>),
    /// The address of a variable or function.
    Address(SymbolAddress),
    /// `0xFF00(address)`: one byte of an address, selected by the mask and shifted down.
    MaskedAddress {
        /// `0xFF` times a power of 256.
        mask: u64,
        address: SymbolAddress,
    },
    /// `{ addr_mode_0 = wrap, filter_mode = nearest }` of an opaque reference: names and their values as text.
    Fields(Vec<(Name, Name)>),
}

impl Initializer {
    /// Items in the outermost list; 1 if it is not a list.
    pub fn len(&self) -> u64 {
        match self {
            Self::List(items) => items.len() as u64,
            _ => 1,
        }
    }

    /// True for `{}`.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// `name{+offset}`, or `generic(name){+offset}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SymbolAddress {
    pub name: Name,
    pub offset: i64,
    /// `generic(…)`: the generic address instead of the one within the variable's space.
    pub generic: bool,
}
