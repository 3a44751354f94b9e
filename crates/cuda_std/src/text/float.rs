//! Floats as text: sign, point and exponent around the digits.

use super::digits::{Binary, Decimal, OfF32, OfF64};
use super::{Sink, Spec, Writer, flag, kind};

/// Formatting of floats behind a trait: a module that prints none need not contain the code for them.
pub(crate) trait Floats: Copy {
    /// Writes the float with these bits.
    fn write<S: Sink>(self, writer: &mut Writer<'_, S>, spec: Spec, bits: u64, kind: u8);
}

/// No floats are shown.
#[derive(Clone, Copy)]
pub(crate) struct ForNone;

impl Floats for ForNone {
    fn write<S: Sink>(self, _: &mut Writer<'_, S>, _: Spec, _: u64, _: u8) {}
}

/// Formats floats: only `f32`, or also `f64` if `WIDE`.
#[derive(Clone, Copy)]
pub(crate) struct ForFloats<const WIDE: bool>;

impl<const WIDE: bool> Floats for ForFloats<WIDE> {
    fn write<S: Sink>(self, writer: &mut Writer<'_, S>, spec: Spec, bits: u64, kind: u8) {
        let style = Style::of(kind);
        if WIDE && kind >= kind::F64 {
            let magnitude = bits & (u64::MAX >> 1);
            let class = Class { negative: bits >> 63 != 0, infinite: 0x7ff0 << 48 };
            let mut decimal = OfF64::new();
            writer.float(spec, style, class, magnitude, Binary::of(magnitude, 52, -1074), &mut decimal);
        } else {
            let magnitude = bits & u64::from(u32::MAX >> 1);
            let class = Class { negative: bits >> 31 & 1 != 0, infinite: 0x7f80 << 16 };
            let mut decimal = OfF32::new();
            writer.float(spec, style, class, magnitude, Binary::of(magnitude, 23, -149), &mut decimal);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Display,
    Debug,
    LowerExp,
    UpperExp,
}

impl Style {
    fn of(kind: u8) -> Self {
        match (kind - kind::F32) & 3 {
            0 => Self::Display,
            1 => Self::Debug,
            2 => Self::LowerExp,
            _ => Self::UpperExp,
        }
    }
}

/// A float's sign and class, without its magnitude.
#[derive(Clone, Copy)]
struct Class {
    negative: bool,
    /// The magnitude of infinity; NaNs are above it.
    infinite: u64,
}

impl<S: Sink> Writer<'_, S> {
    #[inline(never)]
    fn float<const WORDS: usize, const DIGITS: usize>(
        &mut self,
        spec: Spec,
        style: Style,
        class: Class,
        magnitude: u64,
        binary: Binary,
        decimal: &mut Decimal<WORDS, DIGITS>,
    ) {
        let nan = magnitude > class.infinite;
        let sign = match (nan, class.negative, spec.has(flag::PLUS)) {
            (true, ..) => 0,
            (_, true, _) => b'-',
            (_, _, true) => b'+',
            _ => 0,
        };
        if magnitude >= class.infinite {
            return self.padded(spec, Some((sign, 0)), |this| {
                // Not an array: each kernel's copy of this function would have its own.
                this.byte(if nan { b'N' } else { b'i' });
                this.byte(if nan { b'a' } else { b'n' });
                this.byte(if nan { b'N' } else { b'f' });
            });
        }
        let precision = spec.precision.map(|precision| precision as i32);
        let zero = magnitude == 0;
        let mut scientific = matches!(style, Style::LowerExp | Style::UpperExp);
        if zero {
            // 0 = 0.0 · 10^1: the exponent that is shown is one less.
            decimal.exponent = 1;
        } else if let Some(precision) = precision {
            decimal.exact(binary, precision, scientific);
        } else {
            decimal.shortest(binary);
        }
        // `Debug` switches to scientific form from 10^16 on and below 10^-4, unless a precision is given.
        if style == Style::Debug && precision.is_none() && !zero {
            scientific = !(-3..=16).contains(&decimal.exponent);
        }
        let (count, exponent) = (decimal.count(), decimal.exponent);
        let known_after = if scientific { count - 1 } else { count - exponent };
        let least_after = i32::from(style == Style::Debug && !scientific);
        let after = precision.unwrap_or(if zero { least_after } else { known_after.max(least_after) });
        let whole = if scientific { 1 } else { exponent };
        self.padded(spec, Some((sign, 0)), |this| {
            // Starts with the first digit before the point, which may be a zero before all the digits.
            let mut place = if whole > 0 { 0 } else { whole - 1 };
            while place < whole + after {
                crate::unroll!(none);
                if place == whole {
                    this.byte(b'.');
                }
                this.byte(decimal.digit(place));
                place += 1;
            }
            if scientific {
                this.byte(if style == Style::UpperExp { b'E' } else { b'e' });
                let shown = exponent - 1;
                if shown < 0 {
                    this.byte(b'-');
                }
                let shown = shown.unsigned_abs();
                if shown >= 100 {
                    this.byte(b'0' + (shown / 100) as u8);
                }
                if shown >= 10 {
                    this.byte(b'0' + (shown / 10 % 10) as u8);
                }
                this.byte(b'0' + (shown % 10) as u8);
            }
        });
    }
}
