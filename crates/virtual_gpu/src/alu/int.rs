//! Integer arithmetic. Results wrap unless the name says otherwise.

/// The integer types of PTX (`.u16` … `.s64`), with the operations that exist for all of them.
pub trait Int: Copy + Ord + Default {
    /// Wrapping sum.
    fn add(self, b: Self) -> Self;
    /// Wrapping difference.
    fn sub(self, b: Self) -> Self;
    /// Wrapping negation.
    fn neg(self) -> Self;
    /// Absolute value; the most negative value stays itself.
    fn abs(self) -> Self;
    /// Low half of the product.
    fn mul_lo(self, b: Self) -> Self;
    /// High half of the product.
    fn mul_hi(self, b: Self) -> Self;
    /// Quotient, truncated. A zero divisor gives all ones, the most negative value over -1 wraps.
    fn div(self, b: Self) -> Self;
    /// Remainder with the sign of the dividend. A zero divisor gives all ones, as `ptxas` makes it.
    fn rem(self, b: Self) -> Self;
    fn sad(self, b: Self, c: Self) -> Self;
    /// `a * b + c`, low half of the product.
    #[inline]
    fn mad_lo(self, b: Self, c: Self) -> Self {
        self.mul_lo(b).add(c)
    }
    /// `a * b + c`, high half of the product.
    #[inline]
    fn mad_hi(self, b: Self, c: Self) -> Self {
        self.mul_hi(b).add(c)
    }
    /// `min.relu`: never below zero.
    #[inline]
    fn min_relu(self, b: Self) -> Self {
        self.min(b).max(Self::default())
    }
    /// `max.relu`: never below zero.
    #[inline]
    fn max_relu(self, b: Self) -> Self {
        self.max(b).max(Self::default())
    }
}

macro_rules! int {
    ($($t:ty, $wide:ty, $bits:literal, $abs:expr;)*) => {$(
        impl Int for $t {
            #[inline]
            fn add(self, b: Self) -> Self {
                self.wrapping_add(b)
            }
            #[inline]
            fn sub(self, b: Self) -> Self {
                self.wrapping_sub(b)
            }
            #[inline]
            fn neg(self) -> Self {
                self.wrapping_neg()
            }
            #[inline]
            fn abs(self) -> Self {
                let abs: fn($t) -> $t = $abs;
                abs(self)
            }
            #[inline]
            fn mul_lo(self, b: Self) -> Self {
                self.wrapping_mul(b)
            }
            #[inline]
            fn mul_hi(self, b: Self) -> Self {
                ((self as $wide * b as $wide) >> $bits) as $t
            }
            #[inline]
            fn div(self, b: Self) -> Self {
                if b == 0 { !0 } else { self.wrapping_div(b) }
            }
            #[inline]
            fn rem(self, b: Self) -> Self {
                if b == 0 { !0 } else { self.wrapping_rem(b) }
            }
            #[inline]
            fn sad(self, b: Self, c: Self) -> Self {
                let distance = if self > b { self.wrapping_sub(b) } else { b.wrapping_sub(self) };
                distance.wrapping_add(c)
            }
        }
    )*};
}

int! {
    u16, u32, 16, |a| a;
    i16, i32, 16, i16::wrapping_abs;
    u32, u64, 32, |a| a;
    i32, i64, 32, i32::wrapping_abs;
    u64, u128, 64, |a| a;
    i64, i128, 64, i64::wrapping_abs;
}

/// `add.sat.s32`.
#[inline]
pub fn add_sat(a: i32, b: i32) -> i32 {
    a.saturating_add(b)
}

/// `sub.sat.s32`.
#[inline]
pub fn sub_sat(a: i32, b: i32) -> i32 {
    a.saturating_sub(b)
}

/// `mad.hi.sat.s32`.
#[inline]
pub fn mad_hi_sat(a: i32, b: i32, c: i32) -> i32 {
    a.mul_hi(b).saturating_add(c)
}

/// `mul.wide.u16`, `mad.wide` adds to it.
#[inline]
pub fn mul_wide_u16(a: u16, b: u16) -> u32 {
    a as u32 * b as u32
}

#[inline]
pub fn mul_wide_s16(a: i16, b: i16) -> i32 {
    a as i32 * b as i32
}

#[inline]
pub fn mul_wide_u32(a: u32, b: u32) -> u64 {
    a as u64 * b as u64
}

#[inline]
pub fn mul_wide_s32(a: i32, b: i32) -> i64 {
    a as i64 * b as i64
}

/// The 48-bit product of the low 24 bits of both.
#[inline]
fn product24_u(a: u32, b: u32) -> u64 {
    (a & 0xff_ffff) as u64 * (b & 0xff_ffff) as u64
}

/// The 48-bit product of the low 24 bits of both, taken as signed.
#[inline]
fn product24_s(a: i32, b: i32) -> i64 {
    (a << 8 >> 8) as i64 * (b << 8 >> 8) as i64
}

/// `mul24.lo.u32`: bits 31..0 of the 48-bit product.
#[inline]
pub fn mul24_lo_u32(a: u32, b: u32) -> u32 {
    product24_u(a, b) as u32
}

/// `mul24.hi.u32`: bits 47..16 of the 48-bit product.
#[inline]
pub fn mul24_hi_u32(a: u32, b: u32) -> u32 {
    (product24_u(a, b) >> 16) as u32
}

#[inline]
pub fn mul24_lo_s32(a: i32, b: i32) -> i32 {
    product24_s(a, b) as i32
}

#[inline]
pub fn mul24_hi_s32(a: i32, b: i32) -> i32 {
    (product24_s(a, b) >> 16) as i32
}

/// `mad24.hi.sat.s32`.
#[inline]
pub fn mad24_hi_sat(a: i32, b: i32, c: i32) -> i32 {
    mul24_hi_s32(a, b).saturating_add(c)
}

/// `addc.cc`: sum and carry out, 32 bits.
#[inline]
pub fn add_carry_u32(a: u32, b: u32, carry: bool) -> (u32, bool) {
    let sum = a as u64 + b as u64 + carry as u64;
    (sum as u32, sum >> 32 != 0)
}

/// `addc.cc`, 64 bits.
#[inline]
pub fn add_carry_u64(a: u64, b: u64, carry: bool) -> (u64, bool) {
    let sum = a as u128 + b as u128 + carry as u128;
    (sum as u64, sum >> 64 != 0)
}

/// `subc.cc`, 32 bits. CC.CF is the carry of `a + !b + CF`, that is, no borrow: the manual speaks of a borrow, but code that
/// follows `sub.cc` by `addc` (nvcc's 128-bit division) sees that the hardware keeps a carry.
#[inline]
pub fn sub_carry_u32(a: u32, b: u32, carry: bool) -> (u32, bool) {
    add_carry_u32(a, !b, carry)
}

/// `subc.cc`, 64 bits.
#[inline]
pub fn sub_carry_u64(a: u64, b: u64, carry: bool) -> (u64, bool) {
    add_carry_u64(a, !b, carry)
}

#[inline]
fn byte(word: u32, index: u32, signed: bool) -> i32 {
    let byte = (word >> (8 * index)) as u8;
    if signed { byte as i8 as i32 } else { byte as i32 }
}

/// `dp4a.atype.btype d, a, b, c`: four byte products, summed onto `c`.
#[inline]
pub fn dp4a(a: u32, a_signed: bool, b: u32, b_signed: bool, c: u32) -> u32 {
    (0..4).fold(c, |sum, i| sum.wrapping_add((byte(a, i, a_signed) * byte(b, i, b_signed)) as u32))
}

/// `dp2a.lo/.hi.atype.btype d, a, b, c`: the halves of `a` times the two low or high bytes of `b`, summed onto `c`.
#[inline]
pub fn dp2a(a: u32, a_signed: bool, b: u32, b_signed: bool, c: u32, high: bool) -> u32 {
    (0..2).fold(c, |sum, i| {
        let half = (a >> (16 * i)) as u16;
        let half = if a_signed { half as i16 as i32 } else { half as i32 };
        sum.wrapping_add(half.wrapping_mul(byte(b, i + 2 * high as u32, b_signed)) as u32)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alu::samples::Samples;

    #[test]
    fn high_products_and_sums() {
        let mut samples = Samples(10);
        for _ in 0..20_000 {
            let (a, b) = (samples.bits(), samples.bits());
            assert_eq!(a.mul_hi(b), ((a as u128 * b as u128) >> 64) as u64);
            assert_eq!((a as i64).mul_hi(b as i64), ((a as i64 as i128 * b as i64 as i128) >> 64) as i64);
            assert_eq!((a as u16).mul_hi(b as u16), (mul_wide_u16(a as u16, b as u16) >> 16) as u16);
            assert_eq!((a as i32).mul_hi(b as i32), (mul_wide_s32(a as i32, b as i32) >> 32) as i32);
            let whole = a as u128 + b as u128;
            let (low, carry) = add_carry_u32(a as u32, b as u32, false);
            let (high, carry) = add_carry_u32((a >> 32) as u32, (b >> 32) as u32, carry);
            assert_eq!((carry as u128) << 64 | (high as u128) << 32 | low as u128, whole);
            let (low, carry) = sub_carry_u32(a as u32, b as u32, true);
            let (high, carry) = sub_carry_u32((a >> 32) as u32, (b >> 32) as u32, carry);
            assert_eq!(((high as u64) << 32 | low as u64, !carry), a.overflowing_sub(b));
            assert_eq!(sub_carry_u64(a, b, false).0, a.wrapping_sub(b).wrapping_sub(1));
        }
        assert_eq!(sub_carry_u32(5, u32::MAX, false), (5, false));
        assert_eq!(add_carry_u64(u64::MAX, u64::MAX, true), (u64::MAX, true));
    }

    #[test]
    fn division_never_traps() {
        assert_eq!(7u32.div(0), u32::MAX);
        assert_eq!(7i64.rem(0), -1);
        assert_eq!(i32::MIN.div(-1), i32::MIN);
        assert_eq!(i16::MIN.rem(-1), 0);
        assert_eq!((-7i32).div(2), -3);
        assert_eq!((-7i32).rem(2), -1);
        assert_eq!(Int::abs(i32::MIN), i32::MIN);
        assert_eq!(Int::neg(i64::MIN), i64::MIN);
    }

    #[test]
    fn saturation_and_distance() {
        assert_eq!(add_sat(i32::MAX, 1), i32::MAX);
        assert_eq!(sub_sat(i32::MIN, 1), i32::MIN);
        assert_eq!(mad_hi_sat(1 << 30, 4, i32::MAX), i32::MAX);
        assert_eq!((-5i32).sad(7, 1), 13);
        assert_eq!(5u32.sad(7, 1), 3);
        assert_eq!(i32::MIN.sad(i32::MAX, 0), -1);
        assert_eq!((-3i16).max_relu(-2), 0);
        assert_eq!((-3i16).min_relu(2), 0);
    }

    #[test]
    fn products_of_24_bits() {
        assert_eq!(mul24_lo_u32(0xff00_0003, 5), 15);
        assert_eq!(mul24_hi_u32(0x00ff_ffff, 0x00ff_ffff), 0xffff_fe00);
        assert_eq!(mul24_lo_s32(0x00ff_ffff, 7), -7);
        assert_eq!(mul24_hi_s32(0x0080_0000, 0x0080_0000), 0x4000_0000);
        assert_eq!(mul24_hi_s32(0x00ff_ffff, 1), -1);
    }

    #[test]
    fn dot_products() {
        let (a, b) = (0x80ff_7f01, 0x0203_0405);
        assert_eq!(dp4a(a, false, b, false, 10), 10 + 5 + 0x7f * 4 + 0xff * 3 + 0x80 * 2);
        assert_eq!(dp4a(a, true, b, false, 10) as i32, 10 + 5 + 0x7f * 4 - 3 - 128 * 2);
        assert_eq!(dp2a(0xffff_0002, true, b, false, 0, false) as i32, 2 * 5 - 4);
        assert_eq!(dp2a(0xffff_0002, false, b, false, 0, true), 2 * 3 + 0xffff * 2);
    }
}
