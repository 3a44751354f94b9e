//! Exact intermediate results and their single rounding to any binary format.
//!
//! Directed rounding without touching the processor's rounding mode: an operation is carried out on integers wide enough
//! to hold the exact result (or enough of it, with a sticky bit for the rest), which is then rounded once.

use super::Round;

/// A binary floating-point format, by the layout of its magnitude bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Explicit fraction bits.
    pub fraction: u32,
    /// Exponent bias.
    pub bias: i32,
    /// Magnitude bits of the largest finite value; the next pattern is infinity (or NaN where there is none).
    pub largest: u64,
}

impl Format {
    /// IEEE binary64.
    pub const F64: Self = Self::ieee(52, 11);
    /// IEEE binary32.
    pub const F32: Self = Self::ieee(23, 8);
    /// IEEE binary16.
    pub const F16: Self = Self::ieee(10, 5);
    /// The upper half of binary32.
    pub const BF16: Self = Self::ieee(7, 8);
    /// Binary32 with ten fraction bits, right-aligned.
    pub const TF32: Self = Self::ieee(10, 8);
    /// 8 bits, five of exponent, with infinity.
    pub const E5M2: Self = Self::ieee(2, 5);
    /// 8 bits, four of exponent, no infinity: the top exponent counts, and only its last pattern is NaN.
    pub const E4M3: Self = Self { fraction: 3, bias: 7, largest: 0x7e };

    /// Six bits, two of exponent; all are numbers.
    pub const E2M3: Self = Self { fraction: 3, bias: 1, largest: 0x1f };
    /// Six bits, three of exponent; all are numbers.
    pub const E3M2: Self = Self { fraction: 2, bias: 3, largest: 0x1f };
    /// Four bits; all are numbers.
    pub const E2M1: Self = Self { fraction: 1, bias: 1, largest: 7 };

    /// Whether every pattern is a number.
    pub fn only_numbers(self) -> bool {
        (self.largest + 1).is_power_of_two()
    }

    const fn ieee(fraction: u32, exponent_bits: u32) -> Self {
        let largest = (((1u64 << exponent_bits) - 1) << fraction) - 1;
        Self { fraction, bias: (1 << (exponent_bits - 1)) - 1, largest }
    }
}

/// `(-1)^negative * significand * 2^exponent`. Bit 0 of the significand may stand for "and something below".
#[derive(Clone, Copy, Debug)]
pub struct Exact {
    negative: bool,
    exponent: i32,
    significand: u128,
}

impl Exact {
    /// The value of a finite `f64`. Narrower floats are widened first.
    pub fn from_f64(a: f64) -> Self {
        let bits = a.to_bits();
        let (field, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
        let significand = if field == 0 { fraction } else { fraction | 1 << 52 };
        Self {
            negative: a.is_sign_negative(),
            exponent: field.max(1) - 1075,
            significand: significand as u128,
        }
    }

    /// The value of an integer.
    pub fn from_int(negative: bool, magnitude: u64) -> Self {
        Self { negative, exponent: 0, significand: magnitude as u128 }
    }

    pub fn new(negative: bool, significand: u128, exponent: i32) -> Self {
        Self { negative, exponent, significand }
    }

    /// The same value with the most significant one at bit `top`; only grows the significand, except for a sticky shift.
    fn aligned(self, top: u32) -> Self {
        let lead = 127 - self.significand.leading_zeros();
        if lead <= top {
            let by = top - lead;
            Self { significand: self.significand << by, exponent: self.exponent - by as i32, ..self }
        } else {
            let by = lead - top;
            Self {
                significand: shift_sticky(self.significand, by),
                exponent: self.exponent + by as i32,
                ..self
            }
        }
    }

    /// Product of two values of at most 64 significant bits.
    pub fn times(self, b: Self) -> Self {
        Self {
            negative: self.negative ^ b.negative,
            exponent: self.exponent + b.exponent,
            significand: self.significand * b.significand,
        }
    }

    /// Sum. `round` decides the sign of a zero that comes of cancellation.
    ///
    /// Both are aligned to bit 125, where values of at most 106 bits keep 20 spare bits: operands whose exponents differ
    /// by little lose nothing, and where the smaller is cut to a sticky bit at most one leading bit can cancel.
    pub fn plus(self, b: Self, round: Round) -> Self {
        if self.significand == 0 && b.significand == 0 {
            let negative = if self.negative == b.negative { self.negative } else { round == Round::Down };
            return Self { negative, ..self };
        }
        if self.significand == 0 {
            return b;
        }
        if b.significand == 0 {
            return self;
        }
        let (a, b) = (self.aligned(125), b.aligned(125));
        let (big, small) = if a.exponent >= b.exponent { (a, b) } else { (b, a) };
        let cut = shift_sticky(small.significand, (big.exponent - small.exponent) as u32);
        if big.negative == small.negative {
            return Self { significand: big.significand + cut, ..big };
        }
        let negative = match big.significand.cmp(&cut) {
            std::cmp::Ordering::Greater => big.negative,
            std::cmp::Ordering::Less => small.negative,
            std::cmp::Ordering::Equal => round == Round::Down,
        };
        Self { negative, significand: big.significand.abs_diff(cut), ..big }
    }

    /// Quotient by a nonzero value of at most 64 significant bits, cut to at least 63 bits and a sticky one.
    pub fn over(self, b: Self) -> Self {
        let negative = self.negative ^ b.negative;
        if self.significand == 0 {
            return Self { negative, ..self };
        }
        let a = self.aligned(127);
        let (quotient, rest) = (a.significand / b.significand, a.significand % b.significand);
        Self { negative, exponent: a.exponent - b.exponent, significand: quotient | (rest != 0) as u128 }
    }

    /// Square root of a nonnegative value (or minus zero), cut to 63 bits and a sticky one.
    pub fn sqrt(self) -> Self {
        if self.significand == 0 {
            return self;
        }
        let mut a = self.aligned(127);
        if a.exponent & 1 != 0 {
            a = a.aligned(126);
        }
        let root = a.significand.isqrt();
        let inexact = root * root != a.significand;
        Self { negative: false, exponent: a.exponent / 2 - 1, significand: root << 1 | inexact as u128 }
    }

    /// The exponent of the leading bit in `format`; of the first bit that it may have, if the value is subnormal there.
    fn lead(self, format: Format) -> i32 {
        (self.exponent + 127 - self.significand.leading_zeros() as i32).max(1 - format.bias)
    }

    /// How many bits of the significand lie below the last that `format` keeps.
    fn below(self, format: Format) -> i32 {
        self.lead(format) - format.fraction as i32 - self.exponent
    }

    /// Rounds to `format` away from zero if the carry out of `random`, a number of `bits` bits, and the uppermost bits that are cut
    /// off says so, else towards zero. Too large a magnitude becomes the pattern after the largest finite one.
    pub fn round_randomly(self, format: Format, random: u32, bits: u32) -> u64 {
        let below = self.below(format);
        let kept = match below {
            ..=0 => self,
            // A value of at most 53 bits has no bit as far up as the random ones.
            100.. => Self { significand: 0, ..self },
            _ => {
                let shift = below - bits as i32;
                let random = random as u128;
                let random = if shift < 0 { random >> -shift } else { random << shift };
                Self {
                    significand: (self.significand + random) >> below,
                    exponent: self.exponent + below,
                    ..self
                }
            }
        };
        // A carry into another binade leaves a power of two: nothing is left to be rounded.
        kept.round(format, Round::Nearest)
    }

    /// Rounds to `format`; the sign bit stands just above its magnitude bits. Too large a magnitude becomes the pattern
    /// after the largest finite one, or stays the largest where the direction forbids leaving it.
    pub fn round(self, format: Format, round: Round) -> u64 {
        let sign = (self.negative as u64) << (64 - format.largest.leading_zeros());
        if self.significand == 0 {
            return sign;
        }
        let Self { negative, significand, .. } = self;
        let lead = self.lead(format);
        let below = self.below(format);
        let (kept, half, rest) = if below <= 0 {
            (significand << -below, false, false)
        } else if below > 128 {
            (0, false, true)
        } else {
            let kept = significand.checked_shr(below as u32).unwrap_or(0);
            let half_bit = 1u128 << (below - 1);
            (kept, significand & half_bit != 0, significand & (half_bit - 1) != 0)
        };
        let up = match round {
            Round::Nearest => half && (rest || kept & 1 != 0),
            Round::Away => half,
            Round::Zero => false,
            Round::Down => negative && (half || rest),
            Round::Up => !negative && (half || rest),
        };
        // The hidden bit of a normal number carries into the exponent field, as does a rounding carry.
        let field = (lead + format.bias - 1) as u64;
        let magnitude = (field << format.fraction).saturating_add(kept as u64 + up as u64);
        let outward = match round {
            Round::Nearest | Round::Away => true,
            Round::Zero => false,
            Round::Down => negative,
            Round::Up => !negative,
        };
        sign | if magnitude <= format.largest { magnitude } else { format.largest + outward as u64 }
    }
}

/// Shifts right; what falls out is remembered in bit 0.
fn shift_sticky(a: u128, by: u32) -> u128 {
    match by {
        0 => a,
        1..=127 => a >> by | (a << (128 - by) != 0) as u128,
        _ => (a != 0) as u128,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alu::samples::Samples;

    const ROUNDS: [Round; 5] = [Round::Nearest, Round::Zero, Round::Down, Round::Up, Round::Away];

    /// The value of a positive pattern, by the definition of the format.
    fn value(format: Format, pattern: u64) -> f64 {
        let (field, fraction) = (pattern >> format.fraction, pattern & ((1 << format.fraction) - 1));
        let significand = if field == 0 { fraction } else { fraction + (1 << format.fraction) };
        significand as f64 * 2f64.powi(field.max(1) as i32 - format.bias - format.fraction as i32)
    }

    /// Finds the neighbours by search through all patterns, and chooses as the direction asks.
    fn by_search(format: Format, a: f64, round: Round) -> u64 {
        let magnitude = a.abs();
        // The patterns are in value order; the one after the largest stands for what would come next.
        let mut low = 0;
        for step in (0..16).rev() {
            if low + (1 << step) <= format.largest + 1 && value(format, low + (1 << step)) <= magnitude {
                low += 1 << step;
            }
        }
        if low > format.largest {
            let outward = match round {
                Round::Nearest | Round::Away => true,
                Round::Zero => false,
                Round::Down => a < 0.0,
                Round::Up => a > 0.0,
            };
            return if outward { format.largest + 1 } else { format.largest };
        }
        let (below, above) = (value(format, low), value(format, low + 1));
        if below == magnitude {
            return low;
        }
        let middle = (below + above) / 2.0;
        let up = match round {
            Round::Nearest => magnitude > middle || (magnitude == middle && low & 1 == 1),
            Round::Away => magnitude >= middle,
            Round::Zero => false,
            Round::Down => a < 0.0,
            Round::Up => a > 0.0,
        };
        low + up as u64
    }

    #[test]
    fn rounding_agrees_with_a_search_through_all_patterns() {
        let mut samples = Samples(1);
        for format in [Format::F16, Format::BF16, Format::E5M2, Format::E4M3] {
            let bits = 64 - format.largest.leading_zeros();
            for _ in 0..40_000 {
                // Around a pattern's value: exactly, halfway to the next, or a little beside.
                let pattern = samples.bits() % (format.largest + 1);
                let (at, next) = (value(format, pattern), value(format, pattern + 1));
                let a = match samples.bits() % 4 {
                    0 => at,
                    1 => (at + next) / 2.0,
                    2 => f64::from_bits(((at + next) / 2.0).to_bits() + samples.bits() % 3 - 1),
                    _ => at + (next - at) * (samples.bits() % 1000) as f64 / 1000.0,
                };
                let a = if samples.bits() & 1 == 0 { a } else { -a };
                for round in ROUNDS {
                    let got = Exact::from_f64(a).round(format, round);
                    let want = by_search(format, a, round) | (a.is_sign_negative() as u64) << bits;
                    assert_eq!(got, want, "{a:e} {format:?} {round:?}");
                }
            }
        }
    }

    /// A value's distance from the pattern below it, in 256ths of the distance of the two beside it, is how many of 256
    /// random numbers make it the one above.
    #[test]
    fn as_many_random_numbers_round_up_as_the_value_is_far() {
        let mut samples = Samples(3);
        for format in [Format::F16, Format::BF16, Format::E5M2, Format::E4M3, Format::E2M1] {
            for _ in 0..200 {
                let pattern = samples.bits() % format.largest;
                let far = samples.bits() % 256;
                let (at, next) = (value(format, pattern), value(format, pattern + 1));
                let a = Exact::from_f64(at + (next - at) * far as f64 / 256.0);
                let rounded = |random| a.round_randomly(format, random, 8);
                assert!((0..256).all(|random| rounded(random) == pattern || rounded(random) == pattern + 1));
                let up = (0..256).filter(|&random| rounded(random) != pattern).count();
                assert_eq!(up as u64, far, "{format:?} {pattern:x}");
            }
        }
    }

    #[test]
    fn nearest_agrees_with_the_processor() {
        let mut samples = Samples(2);
        for _ in 0..400_000 {
            let (a, b, c) = (samples.f64(), samples.f64(), samples.f64());
            let (x, y, z) = (Exact::from_f64(a), Exact::from_f64(b), Exact::from_f64(c));
            let nearest = |e: Exact| e.round(Format::F64, Round::Nearest);
            if a.is_finite() && b.is_finite() && c.is_finite() {
                assert_eq!(nearest(x.plus(y, Round::Nearest)), (a + b).to_bits(), "{a:e} + {b:e}");
                assert_eq!(nearest(x.times(y)), (a * b).to_bits(), "{a:e} * {b:e}");
                let fused = x.times(y).plus(z, Round::Nearest);
                assert_eq!(nearest(fused), a.mul_add(b, c).to_bits(), "{a:e} * {b:e} + {c:e}");
                if b != 0.0 {
                    assert_eq!(nearest(x.over(y)), (a / b).to_bits(), "{a:e} / {b:e}");
                }
                if a >= 0.0 {
                    assert_eq!(nearest(x.sqrt()), a.sqrt().to_bits(), "sqrt {a:e}");
                }
                assert_eq!(x.round(Format::F32, Round::Nearest) as u32, (a as f32).to_bits(), "{a:e}");
            }
        }
    }
}
