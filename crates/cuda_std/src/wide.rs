//! Conversions between floats and 128-bit integers, as Rust's `as` defines them.
//!
//! NVPTX has no instructions for them and LLVM no library code: the builder calls these instead (its `mathematics.rs`).

/// The bits of the float nearest to `x`, ties to even, for a float whose fraction has `fraction` bits and whose exponent
/// is stored with this bias. From half a unit above the greatest float on, that is infinity's.
#[inline(always)]
fn nearest(x: u128, fraction: u32, bias: u64) -> u64 {
    if x == 0 {
        return 0;
    }
    let zeros = x.leading_zeros();
    let normal = x << zeros;
    let significand = (normal >> (127 - fraction)) as u64;
    // The bits that do not fit, from the highest down: above, at or below one half.
    let rest = normal << (fraction + 1);
    let half = 1 << 127;
    let up = rest > half || rest == half && significand & 1 == 1;
    // The significand's leading one adds one to the exponent, and so does a carry out of it.
    let exponent = u64::from(127 - zeros) + bias - 1;
    (exponent << fraction) + significand + u64::from(up)
}

/// The integer part of |x|, for |x| < 2^128.
#[inline(always)]
fn truncated(x: f64) -> u128 {
    let bits = x.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32 - 1023;
    let significand = u128::from(bits & ((1 << 52) - 1) | 1 << 52);
    if exponent < 0 {
        0
    } else if exponent < 52 {
        significand >> (52 - exponent)
    } else {
        significand << (exponent - 52)
    }
}

#[inline(always)]
fn to_unsigned(x: f64) -> u128 {
    // 2^128; a NaN is not at least 1.
    if x >= 340282366920938463463374607431768211456.0 {
        u128::MAX
    } else if x >= 1.0 {
        truncated(x)
    } else {
        0
    }
}

#[inline(always)]
fn to_signed(x: f64) -> i128 {
    const LIMIT: f64 = 170141183460469231731687303715884105728.0; // 2^127
    if x >= LIMIT {
        i128::MAX
    } else if x < -LIMIT {
        i128::MIN
    } else if x.abs() >= 1.0 {
        let size = truncated(x) as i128;
        if x < 0.0 { size.wrapping_neg() } else { size }
    } else {
        0
    }
}

macro_rules! exported {
    ($($name:ident($x:ident: $from:ident) -> $to:ident = $value:expr;)*) => {$(
        #[cfg_attr(target_os = "cuda", unsafe(export_name = concat!("__warpsmith_", stringify!($name))))]
        #[cfg_attr(not(any(target_os = "cuda", test)), expect(dead_code, reason = "the host has its own"))]
        extern "C" fn $name($x: $from) -> $to {
            $value
        }
    )*};
}

exported! {
    u128_to_f32(x: u128) -> f32 = f32::from_bits(nearest(x, 23, 127) as u32);
    u128_to_f64(x: u128) -> f64 = f64::from_bits(nearest(x, 52, 1023));
    i128_to_f32(x: i128) -> f32 = {
        f32::from_bits(nearest(x.unsigned_abs(), 23, 127) as u32 | u32::from(x < 0) << 31)
    };
    i128_to_f64(x: i128) -> f64 = {
        f64::from_bits(nearest(x.unsigned_abs(), 52, 1023) | u64::from(x < 0) << 63)
    };
    f32_to_u128(x: f32) -> u128 = to_unsigned(f64::from(x));
    f64_to_u128(x: f64) -> u128 = to_unsigned(x);
    f32_to_i128(x: f32) -> i128 = to_signed(f64::from(x));
    f64_to_i128(x: f64) -> i128 = to_signed(x);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Edge cases of every magnitude, and numbers in between.
    fn integers() -> impl Iterator<Item = u128> {
        let edges = (0..128).flat_map(|shift| {
            let power = 1_u128 << shift;
            [
                power,
                power - 1,
                power + 1,
                power | power >> 1,
                power | power >> 24,
                power | power >> 25,
                !power,
            ]
        });
        let mut state = 1_u128;
        let seeded = (0..20_000).map(move |_| {
            state = state
                .wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645)
                .wrapping_add(0x9e37_79b9_7f4a_7c15);
            state >> (state >> 64 & 127)
        });
        edges.chain(seeded).chain([0, u128::MAX, i128::MAX as u128, i128::MIN as u128])
    }

    #[test]
    fn integers_become_the_nearest_float() {
        for x in integers() {
            assert_eq!(u128_to_f32(x), x as f32, "{x}");
            assert_eq!(u128_to_f64(x), x as f64, "{x}");
            assert_eq!(i128_to_f32(x as i128), x as i128 as f32, "{x}");
            assert_eq!(i128_to_f64(x as i128), x as i128 as f64, "{x}");
        }
    }

    #[test]
    fn floats_are_cut_and_saturate() {
        let wide = integers().flat_map(|x| [x as f64, x as i128 as f64, x as f64 * 0.37]);
        for x in wide.chain([-0.0, 0.5, -0.999, f64::NAN, f64::INFINITY, -f64::INFINITY, f64::MAX, 5e-324]) {
            assert_eq!(f64_to_u128(x), x as u128, "{x}");
            assert_eq!(f64_to_i128(x), x as i128, "{x}");
            assert_eq!(f32_to_u128(x as f32), x as f32 as u128, "{x}");
            assert_eq!(f32_to_i128(x as f32), x as f32 as i128, "{x}");
        }
    }
}
