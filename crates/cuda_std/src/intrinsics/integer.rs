//! Integers.

libdevice! {
    /// |x|, wrapping.
    fn abs(x: i32) -> i32 = x.wrapping_abs();
    /// |x|, wrapping.
    fn llabs(x: i64) -> i64 = x.wrapping_abs();
    /// The bits in reverse order.
    fn brev(x: i32) -> i32 = x.reverse_bits();
    /// The bits in reverse order.
    fn brevll(x: i64) -> i64 = x.reverse_bits();
    /// Four of the eight bytes of x (0 to 3) and y (4 to 7), chosen by the lowest three bits of each of z's four lowest
    /// nibbles.
    fn byte_perm(x: i32, y: i32, z: i32) -> i32 = byte_permute(x as u32, y as u32, z as u32) as i32;
    /// The number of leading zero bits.
    fn clz(x: i32) -> i32 = x.leading_zeros() as i32;
    /// The number of zero bits above the highest one.
    fn clzll(x: i64) -> i32 = x.leading_zeros() as i32;
    /// The position of the lowest set bit, counted from 1; 0 if there is none.
    fn ffs(x: i32) -> i32 = if x == 0 { 0 } else { x.trailing_zeros() as i32 + 1 };
    /// The place of the lowest one, counted from 1; 0 if there is none.
    fn ffsll(x: i64) -> i32 = if x == 0 { 0 } else { x.trailing_zeros() as i32 + 1 };
    /// The number of ones.
    fn popc(x: i32) -> i32 = x.count_ones() as i32;
    /// The number of ones.
    fn popcll(x: i64) -> i32 = x.count_ones() as i32;
    /// The average of two signed integers, rounded down.
    fn hadd(x: i32, y: i32) -> i32 = ((i64::from(x) + i64::from(y)) >> 1) as i32;
    /// The average of two signed integers, rounded up.
    fn rhadd(x: i32, y: i32) -> i32 = ((i64::from(x) + i64::from(y) + 1) >> 1) as i32;
    /// The average of two unsigned integers, rounded down.
    fn uhadd(x: i32, y: i32) -> i32 = ((u64::from(x as u32) + u64::from(y as u32)) >> 1) as i32;
    /// The average of two unsigned integers, rounded up.
    fn urhadd(x: i32, y: i32) -> i32 = ((u64::from(x as u32) + u64::from(y as u32) + 1) >> 1) as i32;
    /// The greater of two signed integers.
    fn max(x: i32, y: i32) -> i32 = x.max(y);
    /// The smaller of two signed integers.
    fn min(x: i32, y: i32) -> i32 = x.min(y);
    /// The greater of two unsigned integers.
    fn umax(x: i32, y: i32) -> i32 = (x as u32).max(y as u32) as i32;
    /// The smaller of two unsigned integers.
    fn umin(x: i32, y: i32) -> i32 = (x as u32).min(y as u32) as i32;
    /// The greater of two signed integers.
    fn llmax(x: i64, y: i64) -> i64 = x.max(y);
    /// The smaller of two signed integers.
    fn llmin(x: i64, y: i64) -> i64 = x.min(y);
    /// The greater of two unsigned integers.
    fn ullmax(x: i64, y: i64) -> i64 = (x as u64).max(y as u64) as i64;
    /// The smaller of two unsigned integers.
    fn ullmin(x: i64, y: i64) -> i64 = (x as u64).min(y as u64) as i64;
    /// The low 32 bits of the product of the two signed low 24 bits.
    fn mul24(x: i32, y: i32) -> i32 = (x << 8 >> 8).wrapping_mul(y << 8 >> 8);
    /// The low 32 bits of the product of the two unsigned low 24 bits.
    fn umul24(x: i32, y: i32) -> i32 = (x & 0xff_ffff).wrapping_mul(y & 0xff_ffff);
    /// The high half of the signed product.
    fn mulhi(x: i32, y: i32) -> i32 = ((i64::from(x) * i64::from(y)) >> 32) as i32;
    /// The high half of the unsigned product.
    fn umulhi(x: i32, y: i32) -> i32 = ((u64::from(x as u32) * u64::from(y as u32)) >> 32) as i32;
    /// The high half of the signed product.
    fn mul64hi(x: i64, y: i64) -> i64 = ((i128::from(x) * i128::from(y)) >> 64) as i64;
    /// The high half of the unsigned product.
    fn umul64hi(x: i64, y: i64) -> i64 = ((u128::from(x as u64) * u128::from(y as u64)) >> 64) as i64;
    /// |x - y| + z, signed.
    fn sad(x: i32, y: i32, z: i32) -> i32 = x.abs_diff(y).wrapping_add(z as u32) as i32;
    /// |x - y| + z, unsigned.
    fn usad(x: i32, y: i32, z: i32) -> i32 = (x as u32).abs_diff(y as u32).wrapping_add(z as u32) as i32;
}

#[inline(always)]
fn byte_permute(x: u32, y: u32, selector: u32) -> u32 {
    let bytes = u64::from(y) << 32 | u64::from(x);
    let byte = |n: u32| ((bytes >> (8 * (selector >> (4 * n) & 7))) as u32 & 0xff) << (8 * n);
    byte(0) | byte(1) | byte(2) | byte(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SAFETY of all calls: these functions have no requirements.
    macro_rules! check {
        ($($call:expr => $expected:expr;)*) => {$(
            // SAFETY: see above.
            core::assert_eq!(unsafe { $call }, $expected, stringify!($call));
        )*};
    }

    #[test]
    fn values_from_the_definitions() {
        check! {
            byte_perm(0x33221100, 0x77665544, 0x0527) => 0x0055_2277;
            byte_perm(0x33221100, 0x77665544, 0xfedc_3210_u32 as i32) => 0x3322_1100;
            abs(i32::MIN) => i32::MIN;
            llabs(-5) => 5;
            brev(1) => i32::MIN;
            brevll(2) => 1 << 62;
            clz(0) => 32;
            clzll(1) => 63;
            ffs(0) => 0;
            ffs(i32::MIN) => 32;
            ffsll(8) => 4;
            popc(-1) => 32;
            popcll(-1) => 64;
            hadd(-3, 0) => -2;
            hadd(i32::MAX, i32::MAX) => i32::MAX;
            rhadd(-3, 0) => -1;
            uhadd(-1, -1) => -1;
            urhadd(0, -1) => i32::MIN;
            umax(-1, 1) => -1;
            umin(-1, 1) => 1;
            ullmax(-1, 1) => -1;
            ullmin(-1, 1) => 1;
            mul24(0x0180_0000, 2) => -0x0100_0000;
            umul24(0x0180_0000, 2) => 0x0100_0000;
            mulhi(-1, 1) => -1;
            umulhi(-1, -1) => -2;
            mul64hi(i64::MIN, 2) => -1;
            umul64hi(i64::MIN, 2) => 1;
            sad(-5, 5, 1) => 11;
            usad(-1, 0, 1) => 0;
        }
    }
}
