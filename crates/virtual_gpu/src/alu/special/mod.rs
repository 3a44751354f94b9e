//! The special function unit (`MUFU`): bit for bit as an H100 computes.
//!
//! The leading bits of the fraction select three coefficients, and a quadratic in the remaining ones gives the result in
//! fixed point (Oberman and Siu, "A High-Performance Area-Efficient Multifunction Interpolator", ARITH 2005). The square
//! is a sum of rows each cut on its own, the sum is cut once more to the fraction of the result. Subnormal operands count
//! as zeros, subnormal results become zeros: what PTX promises of subnormal numbers, [`super::approx`] adds by scaling.

mod tables;

use super::float::NAN_F32;

/// Constant, linear and quadratic coefficient, in units of the last bit of the sum.
type Segment = (i64, i32, i32);

const FRACTION: u32 = 0x007f_ffff;
const INFINITY: u32 = 0x7f80_0000;

/// The product of 7 bits and 7 bits over 2^6, without what stands right of that in its columns.
const fn cut_product(a: usize, b: usize) -> u8 {
    let (mut sum, mut bit) = (0, 0);
    while bit < 7 {
        sum += (a >> bit & 1) * (b >> (6 - bit));
        bit += 1;
    }
    sum as u8
}

static CUT_PRODUCTS: [[u8; 128]; 128] = {
    let mut products = [[0; 128]; 128];
    let mut i = 0;
    while i < 128 * 128 {
        products[i / 128][i % 128] = cut_product(i / 128, i % 128);
        i += 1;
    }
    products
};

/// The square of 17 bits over 2^19. The unit adds rows `x >> (18 - i)` for the bits i of x, each cut on its own, and halves
/// the sum; with the upper eight bits apart from the lower nine that is a plain square and twice a product so cut.
#[inline(always)]
fn square(x: u32) -> u32 {
    let (high, low) = (x >> 9, x & 0x1ff);
    ((high * high) >> 1) + u32::from(CUT_PRODUCTS[(high >> 1 & 0x7f) as usize][(low >> 2) as usize])
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
    if bits < 0x0080_0000 { 0 } else { bits.min(INFINITY as i32) as u32 }
}

/// The number of a fixed-point magnitude with this many bits after the point, cut to 24 bits.
#[inline(always)]
fn normalize(magnitude: u64, point: i32) -> u32 {
    if magnitude == 0 {
        return 0;
    }
    let shift = magnitude.leading_zeros() as i32;
    pack(127 + 63 - shift - point, (magnitude << shift >> 40) as u32)
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
#[inline]
pub fn reciprocal(a: f32) -> f32 {
    let bits = a.to_bits();
    let sign = bits & 0x8000_0000;
    let x = bits & 0xffff;
    let sum = interpolate(tables::RECIPROCAL[(bits >> 16 & 0x7f) as usize], x, square(x << 1));
    let number = pack(253 - (bits >> 23 & 0xff) as i32, (sum >> 15) as u32);
    let magnitude = match bits & INFINITY {
        0 => INFINITY,
        INFINITY => 0,
        _ => number,
    };
    if is_nan(bits) { NAN_F32 } else { f32::from_bits(sign | magnitude) }
}

/// Half of the exponent, rounded down, and the significand in [1, 4) without its first bit.
#[inline(always)]
fn halve(bits: u32) -> (i32, u32) {
    let exponent = (bits >> 23 & 0xff) as i32 - 127;
    (exponent >> 1, bits & FRACTION | (exponent as u32 & 1) << 23)
}

/// `MUFU.RSQ`
#[inline]
pub fn reciprocal_root(a: f32) -> f32 {
    let bits = a.to_bits();
    let (exponent, fraction) = halve(bits);
    let x = fraction & 0x1ffff;
    let sum = interpolate(tables::RECIPROCAL_ROOT[(fraction >> 17) as usize], x, square(x));
    let significand = if fraction == 0 { 1 << 24 } else { (sum >> 16) as u32 };
    if is_zero(bits) {
        f32::from_bits(bits & 0x8000_0000 | INFINITY)
    } else if bits > INFINITY {
        NAN_F32
    } else if bits == INFINITY {
        0.0
    } else {
        f32::from_bits(pack(126 - exponent, significand))
    }
}

/// `MUFU.SQRT`
#[inline]
pub fn root(a: f32) -> f32 {
    let bits = a.to_bits();
    let (exponent, fraction) = halve(bits);
    let x = fraction & 0x1ffff;
    let sum = interpolate(tables::ROOT[(fraction >> 17) as usize], x, square(x));
    let significand = (sum >> (17 - (fraction >> 23))) as u32;
    if is_zero(bits) {
        f32::from_bits(bits & 0x8000_0000)
    } else if bits > INFINITY {
        NAN_F32
    } else if bits == INFINITY {
        a
    } else {
        f32::from_bits(pack(127 + exponent, significand))
    }
}

/// `MUFU.EX2`
#[inline]
pub fn exp2(a: f32) -> f32 {
    let bits = a.to_bits();
    let exponent = (bits >> 23 & 0xff) as i32 - 127;
    if exponent >= 7 {
        return match (is_nan(bits), bits >> 31) {
            (true, _) => NAN_F32,
            (false, 0) => f32::INFINITY,
            _ => 0.0,
        };
    }
    // 23 bits after the point.
    let significand = bits & FRACTION | 1 << 23;
    let magnitude =
        if exponent >= 0 { significand << exponent } else { significand >> (-exponent).min(31) } as i32;
    // The complement of a fraction is to one, not to two.
    let fixed = match (bits >> 31, magnitude as u32 & FRACTION) {
        (0, _) => magnitude,
        (_, 0) => -magnitude,
        _ => !magnitude,
    };
    let fraction = fixed as u32 & FRACTION;
    let x = fraction & 0x1ffff;
    let sum = interpolate(tables::EXP2[(fraction >> 17) as usize], x, square(x));
    f32::from_bits(pack(127 + (fixed >> 23), (sum >> 15) as u32))
}

/// `MUFU.LG2`
#[inline]
pub fn log2(a: f32) -> f32 {
    let bits = a.to_bits();
    if is_zero(bits) {
        return f32::NEG_INFINITY;
    } else if bits >= INFINITY {
        return if bits == INFINITY { a } else { NAN_F32 };
    }
    let fraction = bits & FRACTION;
    let x = fraction & 0x1ffff;
    let sum = interpolate(tables::LOG2[(fraction >> 17) as usize], x, square(x)) >> 2;
    let whole = i64::from(bits >> 23) - 127;
    let fixed = (whole << 36) + if bits == 1.0f32.to_bits() { 0 } else { sum };
    if fixed < 0 {
        -f32::from_bits(normalize(!fixed as u64, 36))
    } else {
        f32::from_bits(normalize(fixed as u64, 36))
    }
}

/// The sine of turns, from this quarter on.
#[inline(always)]
fn sine_of_turns(turns: f32, quarter: u32) -> f32 {
    let bits = turns.to_bits();
    if bits & INFINITY == INFINITY {
        return NAN_F32;
    }
    // A quarter of a turn has 23 bits after the point.
    let exponent = (bits >> 23 & 0xff) as i32 - 125;
    let significand = bits & FRACTION | 1 << 23;
    let fixed = match exponent {
        32.. => 0,
        0.. => significand << exponent,
        _ => significand >> (-exponent).min(31),
    };
    let quarters = (fixed >> 23) + quarter;
    let fraction = if quarters & 1 != 0 { !fixed } else { fixed } & FRACTION;
    let x = fraction & 0x1ffff;
    let sum = interpolate(tables::SINE[(fraction >> 17) as usize], x, square(x));
    let sign = (quarters >> 1 & 1) << 31 ^ if quarter == 0 { bits & 0x8000_0000 } else { 0 };
    f32::from_bits(normalize(sum as u64, 37) | sign)
}

/// `MUFU.SIN`: of turns.
#[inline]
pub fn sine(turns: f32) -> f32 {
    sine_of_turns(turns, 0)
}

/// `MUFU.COS`: of turns.
#[inline]
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
