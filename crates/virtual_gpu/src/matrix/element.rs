//! Formats of matrix elements.

use super::product::TensorCore;
use crate::alu::half::{F16, Half};

/// Format of an element of A or B.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Element {
    F16,
    Bf16,
    Tf32,
    E4m3,
    E5m2,
    F64,
    S8,
    U8,
    S4,
    U4,
    B1,
}

/// The arithmetic used for elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// Exact products, summed as [`TensorCore`] says.
    Float,
    Double,
    Integer,
    Bits,
}

impl Element {
    /// The format that a modifier names, without its dot.
    pub fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "f16" => Self::F16,
            "bf16" => Self::Bf16,
            "tf32" => Self::Tf32,
            "e4m3" => Self::E4m3,
            "e5m2" => Self::E5m2,
            "f64" => Self::F64,
            "s8" => Self::S8,
            "u8" => Self::U8,
            "s4" => Self::S4,
            "u4" => Self::U4,
            "b1" => Self::B1,
            _ => return None,
        })
    }

    pub fn bits(self) -> u32 {
        match self {
            Self::F64 => 64,
            Self::Tf32 => 32,
            Self::F16 | Self::Bf16 => 16,
            Self::E4m3 | Self::E5m2 | Self::S8 | Self::U8 => 8,
            Self::S4 | Self::U4 => 4,
            Self::B1 => 1,
        }
    }

    /// Bits of an element as registers and memory store them: whole words for `b1`.
    pub fn stored_bits(self) -> u32 {
        if self == Self::B1 { 32 } else { self.bits() }
    }

    #[inline]
    pub fn family(self) -> Family {
        match self {
            Self::F64 => Family::Double,
            Self::F16 | Self::Bf16 | Self::Tf32 | Self::E4m3 | Self::E5m2 => Family::Float,
            Self::S8 | Self::U8 | Self::S4 | Self::U4 => Family::Integer,
            Self::B1 => Family::Bits,
        }
    }

    /// The value of a floating-point element, given in the low bits.
    #[inline(always)]
    pub fn float(self, bits: u32) -> f32 {
        match self {
            Self::F16 => F16::to_f32(bits as u16),
            Self::Bf16 => f32::from_bits(bits << 16),
            // The hardware reads 19 bits of the register.
            Self::Tf32 => f32::from_bits(bits & 0xFFFF_E000),
            Self::E4m3 => e4m3(bits as u8),
            Self::E5m2 => F16::to_f32((bits as u16) << 8),
            _ => 0.0,
        }
    }

    /// The exponent of the smallest normal number of a floating-point format.
    #[inline(always)]
    pub fn smallest(self) -> i16 {
        match self {
            Self::F16 | Self::E5m2 => -14,
            Self::E4m3 => -6,
            _ => -126,
        }
    }

    /// How products of `mma` with such an A are added; `sparse` says whether half of A is stored.
    pub fn core(self, sparse: bool) -> TensorCore {
        match self {
            Self::E4m3 | Self::E5m2 => TensorCore::Converted { run: if sparse { 4 } else { 2 } },
            _ => TensorCore::Wide,
        }
    }

    /// The value of an integer element, given in the low bits.
    #[inline(always)]
    pub fn integer(self, bits: u32) -> i32 {
        match self {
            Self::S8 => i32::from(bits as u8 as i8),
            Self::U8 => i32::from(bits as u8),
            Self::S4 => (bits << 28) as i32 >> 28,
            Self::U4 => (bits & 15) as i32,
            _ => 0,
        }
    }
}

/// Without branches, for loops that become vectors.
#[inline(always)]
fn e4m3(bits: u8) -> f32 {
    let magnitude = u32::from(bits & 0x7F);
    let normal = (magnitude << 20) + ((127 - 7) << 23);
    let subnormal = (magnitude as f32 * f32::from_bits((127 - 9) << 23)).to_bits();
    let number = if magnitude < 8 { subnormal } else { normal };
    let value = if magnitude == 0x7F { f32::NAN.to_bits() } else { number };
    f32::from_bits(value | u32::from(bits & 0x80) << 24)
}

/// Format of C and D.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Accumulator {
    F16,
    F32,
    F64,
    S32,
}

impl Accumulator {
    /// The format that a modifier names, without its dot.
    pub fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "f16" => Self::F16,
            "f32" => Self::F32,
            "f64" => Self::F64,
            "s32" => Self::S32,
            _ => return None,
        })
    }

    pub fn bits(self) -> u32 {
        match self {
            Self::F16 => 16,
            Self::F32 | Self::S32 => 32,
            Self::F64 => 64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alu::convert;
    use crate::alu::exact::Format;

    /// Every value of 16 bits and less, by other means.
    #[test]
    fn values_of_floats() {
        let same = |element: Element, bits: u32, expected: f32| {
            let value = element.float(bits);
            let both_nan = value.is_nan() && expected.is_nan();
            assert!(both_nan || value.to_bits() == expected.to_bits(), "{element:?} {bits:#x}: {value}");
        };
        for bits in 0..=u16::MAX {
            same(Element::F16, bits.into(), half::f16::from_bits(bits).to_f32());
            same(Element::Bf16, bits.into(), half::bf16::from_bits(bits).to_f32());
        }
        for bits in 0..=u8::MAX {
            let of = |format| half::f16::from_bits(convert::tiny_to_f16(bits, format)).to_f32();
            same(Element::E4m3, bits.into(), of(Format::E4M3));
            same(Element::E5m2, bits.into(), of(Format::E5M2));
        }
    }
}
