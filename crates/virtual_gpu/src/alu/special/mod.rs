//! The special function unit (`MUFU`): bit for bit as an H100 computes.
//!
//! The leading bits of the fraction select three coefficients, and a quadratic in the remaining ones gives the result in
//! fixed point (Oberman and Siu, "A High-Performance Area-Efficient Multifunction Interpolator", ARITH 2005). The square
//! is a sum of rows each cut on its own, the sum is cut once more to the fraction of the result. Subnormal operands count
//! as zeros, subnormal results become zeros: what PTX promises of subnormal numbers, [`super::approx`] adds by scaling.
//! Without branches, which a lookup in a table must not follow if loops are to become vectors.

mod tables;

use std::hint::select_unpredictable as select;

use super::float::NAN_F32;

/// Constant, linear and quadratic coefficient, in units of the last bit of the sum.
type Segment = (i64, i32, i32);

const FRACTION: u32 = 0x007f_ffff;
const INFINITY: u32 = 0x7f80_0000;

/// The product of 7 bits and 7 bits over 2^6, without what stands right of that in its columns.
#[inline(always)]
fn cut_product(a: u32, b: u32) -> u32 {
    let mut sum = 0;
    for bit in 0..7 {
        sum += (a >> bit & 1) * (b >> (6 - bit));
    }
    sum
}

/// The square of 17 bits over 2^19. The unit adds rows `x >> (18 - i)` for the bits i of x, each cut on its own, and halves
/// the sum; with the upper eight bits apart from the lower nine that is a plain square and twice a product so cut.
#[inline(always)]
fn square(x: u32) -> u32 {
    let (high, low) = (x >> 9, x & 0x1ff);
    ((high * high) >> 1) + cut_product(high >> 1 & 0x7f, low >> 2)
}

/// A segment's quadratic at the bits that remain; `squared` is the square of those bits, moved to the top.
#[inline(always)]
fn interpolate((constant, linear, quadratic): Segment, x: u32, squared: u32) -> i64 {
    constant + i64::from(linear) * i64::from(x) + i64::from(quadratic) * i64::from(squared)
}

/// The number with 24 bits of which the first may have been carried, at this biased exponent; zero where that underflows.
#[inline(always)]
fn pack(exponent: i32, significand: u32) -> u32 {
    let bits = ((exponent - 1) << 23).wrapping_add(significand as i32);
    select(bits < 0x0080_0000, 0, bits.min(INFINITY as i32) as u32)
}

/// The number of a fixed-point magnitude below 2^52 with this many bits after the point, cut to 24 bits.
#[inline(always)]
fn normalize(magnitude: u64, point: i32) -> u32 {
    // As a fraction of 2^52, whose bits then are cut and scaled.
    let whole = f64::from_bits(magnitude | 0x4330_0000_0000_0000) - f64::from_bits(0x4330_0000_0000_0000);
    let cut = f64::from_bits(whole.to_bits() & (!0 << 29));
    let unit = f64::from_bits(((1023 - point) as u64) << 52);
    ((cut * unit) as f32).to_bits()
}

#[inline(always)]
fn is_zero(bits: u32) -> bool {
    bits & INFINITY == 0
}

#[inline(always)]
fn is_nan(bits: u32) -> bool {
    bits & 0x7fff_ffff > INFINITY
}

/// `MUFU.RCP`
#[inline(always)]
pub fn reciprocal(a: f32) -> f32 {
    let bits = a.to_bits();
    let sign = bits & 0x8000_0000;
    let x = bits & 0xffff;
    let sum = interpolate(tables::RECIPROCAL[(bits >> 16 & 0x7f) as usize], x, square(x << 1));
    let number = pack(253 - (bits >> 23 & 0xff) as i32, (sum >> 15) as u32);
    let finite = select(is_zero(bits), INFINITY, number);
    let magnitude = select(bits & INFINITY == INFINITY, 0, finite);
    select(is_nan(bits), NAN_F32, f32::from_bits(sign | magnitude))
}

/// Half of the exponent, rounded down, and the significand in [1, 4) without its first bit.
#[inline(always)]
fn halve(bits: u32) -> (i32, u32) {
    let exponent = (bits >> 23 & 0xff) as i32 - 127;
    (exponent >> 1, bits & FRACTION | (exponent as u32 & 1) << 23)
}

/// `MUFU.RSQ`
#[inline(always)]
pub fn reciprocal_root(a: f32) -> f32 {
    let bits = a.to_bits();
    let (exponent, fraction) = halve(bits);
    let x = fraction & 0x1ffff;
    let sum = interpolate(tables::RECIPROCAL_ROOT[(fraction >> 17) as usize], x, square(x));
    let significand = select(fraction == 0, 1 << 24, (sum >> 16) as u32);
    let number = f32::from_bits(pack(126 - exponent, significand));
    let positive = select(bits == INFINITY, 0.0, number);
    let defined = select(bits > INFINITY, NAN_F32, positive);
    select(is_zero(bits), f32::from_bits(bits & 0x8000_0000 | INFINITY), defined)
}

/// `MUFU.SQRT`
#[inline(always)]
pub fn root(a: f32) -> f32 {
    let bits = a.to_bits();
    let (exponent, fraction) = halve(bits);
    let x = fraction & 0x1ffff;
    let sum = interpolate(tables::ROOT[(fraction >> 17) as usize], x, square(x));
    let significand = (sum >> (17 - (fraction >> 23))) as u32;
    let number = f32::from_bits(pack(127 + exponent, significand));
    let positive = select(bits == INFINITY, a, number);
    let defined = select(bits > INFINITY, NAN_F32, positive);
    select(is_zero(bits), f32::from_bits(bits & 0x8000_0000), defined)
}

/// `MUFU.EX2`
#[inline(always)]
pub fn exp2(a: f32) -> f32 {
    let bits = a.to_bits();
    let exponent = (bits >> 23 & 0xff) as i32 - 127;
    // 23 bits after the point.
    let significand = bits & FRACTION | 1 << 23;
    let magnitude = (significand << exponent.clamp(0, 6) >> (-exponent).clamp(0, 31)) as i32;
    // The complement of a fraction is to one, not to two.
    let complement = !magnitude + i32::from(magnitude as u32 & FRACTION == 0);
    let fixed = select(bits >> 31 == 0, magnitude, complement);
    let fraction = fixed as u32 & FRACTION;
    let x = fraction & 0x1ffff;
    let sum = interpolate(tables::EXP2[(fraction >> 17) as usize], x, square(x));
    let number = f32::from_bits(pack(127 + (fixed >> 23), (sum >> 15) as u32));
    let beyond = select(bits >> 31 == 0, f32::INFINITY, 0.0);
    let defined = select(exponent >= 7, beyond, number);
    select(is_nan(bits), NAN_F32, defined)
}

/// `MUFU.LG2`
#[inline(always)]
pub fn log2(a: f32) -> f32 {
    let bits = a.to_bits();
    let fraction = bits & FRACTION;
    let x = fraction & 0x1ffff;
    let sum = interpolate(tables::LOG2[(fraction >> 17) as usize], x, square(x)) >> 2;
    let whole = i64::from(bits >> 23 & 0xff) - 127;
    let fixed = (whole << 36) + select(bits == 1.0f32.to_bits(), 0, sum);
    let negative = fixed < 0;
    let magnitude = normalize(select(negative, !fixed, fixed) as u64, 36);
    let number = f32::from_bits(magnitude | u32::from(negative) << 31);
    let positive = select(bits == INFINITY, a, number);
    let defined = select(bits > INFINITY, NAN_F32, positive);
    select(is_zero(bits), f32::NEG_INFINITY, defined)
}

/// The sine of turns, from this quarter on.
#[inline(always)]
fn sine_of_turns(turns: f32, quarter: u32) -> f32 {
    let bits = turns.to_bits();
    // A quarter of a turn has 23 bits after the point.
    let exponent = (bits >> 23 & 0xff) as i32 - 125;
    let significand = bits & FRACTION | 1 << 23;
    let shifted = significand << exponent.clamp(0, 31) >> (-exponent).clamp(0, 31);
    let fixed = select(exponent > 31, 0, shifted);
    let quarters = (fixed >> 23) + quarter;
    let fraction = select(quarters & 1 != 0, !fixed, fixed) & FRACTION;
    let x = fraction & 0x1ffff;
    let sum = interpolate(tables::SINE[(fraction >> 17) as usize], x, square(x));
    let sign = (quarters >> 1 & 1) << 31 ^ select(quarter == 0, bits & 0x8000_0000, 0);
    let number = f32::from_bits(normalize(sum as u64, 37) | sign);
    select(bits & INFINITY == INFINITY, NAN_F32, number)
}

/// `MUFU.SIN`: of turns.
#[inline(always)]
pub fn sine(turns: f32) -> f32 {
    sine_of_turns(turns, 0)
}

/// `MUFU.COS`: of turns.
#[inline(always)]
pub fn cosine(turns: f32) -> f32 {
    sine_of_turns(turns, 1)
}

/// `MUFU.TANH`: the operand itself below 2^-8, one from 8 on.
#[inline]
pub fn tanh(a: f32) -> f32 {
    /// Where the segments of a power of two begin, and the bits that select them.
    const POWERS: [(u32, u32); 11] =
        [(0, 0), (1, 0), (2, 0), (3, 1), (5, 1), (7, 2), (11, 2), (15, 2), (19, 3), (27, 4), (43, 3)];
    let bits = a.to_bits();
    let sign = bits & 0x8000_0000;
    if is_nan(bits) {
        return NAN_F32;
    }
    let power = (bits >> 23 & 0xff) as i32 - (127 - 8);
    if power < 0 {
        return a;
    }
    let Some(&(first, selecting)) = POWERS.get(power as usize) else {
        return f32::from_bits(sign | 1.0f32.to_bits());
    };
    let fraction = bits & FRACTION;
    let x = fraction >> (6 - selecting) & 0x1ffff;
    let sum = interpolate(tables::TANH[(first + (fraction >> (23 - selecting))) as usize], x, square(x));
    f32::from_bits(sign | normalize(sum as u64, 39))
}

/// The fraction of a high word, in 23 bits.
#[inline(always)]
fn fraction_of_high(high: u32) -> u32 {
    (high & 0x000f_ffff) << 3
}

const INFINITY_HIGH: u32 = 0x7ff0_0000;
const NAN_HIGH: u32 = 0x7fff_ffff;

/// The high word with this biased exponent and a significand of 24 bits, cut to 21.
#[inline(always)]
fn pack_high(exponent: i32, significand: u32) -> u32 {
    let bits = ((exponent - 1) << 20).wrapping_add((significand >> 3) as i32);
    if bits < 0x0010_0000 { 0 } else { bits as u32 }
}

/// `MUFU.RCP64H`: of high words.
#[inline]
pub fn reciprocal_high(high: u32) -> u32 {
    let sign = high & 0x8000_0000;
    match high & INFINITY_HIGH {
        0 => return sign | INFINITY_HIGH,
        INFINITY_HIGH => return if high & 0x000f_ffff == 0 { sign } else { NAN_HIGH },
        _ => {}
    }
    let fraction = fraction_of_high(high);
    let x = fraction & 0xffff;
    let sum = interpolate(tables::RECIPROCAL[(fraction >> 16) as usize], x, square(x << 1));
    sign | pack_high(2045 - (high >> 20 & 0x7ff) as i32, (sum >> 15) as u32)
}

/// `MUFU.RSQ64H`: of high words.
#[inline]
pub fn reciprocal_root_high(high: u32) -> u32 {
    if high & INFINITY_HIGH == 0 {
        return high & 0x8000_0000 | INFINITY_HIGH;
    } else if high >= INFINITY_HIGH {
        return if high == INFINITY_HIGH { 0 } else { NAN_HIGH };
    }
    let exponent = (high >> 20) as i32 - 1023;
    let fraction = fraction_of_high(high) | (exponent as u32 & 1) << 23;
    let x = fraction & 0x1ffff;
    let sum = interpolate(tables::RECIPROCAL_ROOT[(fraction >> 17) as usize], x, square(x));
    let significand = if fraction == 0 { 1 << 24 } else { (sum >> 16) as u32 };
    pack_high(1022 - (exponent >> 1), significand)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_are_sums_of_rows_each_cut() {
        for x in 0..1 << 17 {
            let rows: u32 = (0..17).filter(|bit| x >> bit & 1 != 0).map(|bit| x >> (18 - bit)).sum();
            assert_eq!(square(x), rows >> 1, "{x:#x}");
        }
    }
}
