//! Bit fields, counts, permutations and shifts.

/// `bfind.u64`: position of the most significant one, all ones if there is none.
#[inline]
pub fn bfind_u64(a: u64) -> u32 {
    63u32.wrapping_sub(a.leading_zeros())
}

#[inline]
pub fn bfind_u32(a: u32) -> u32 {
    31u32.wrapping_sub(a.leading_zeros())
}

/// `bfind.s32`: position of the most significant bit that differs from the sign.
#[inline]
pub fn bfind_s32(a: i32) -> u32 {
    bfind_u32((a ^ (a >> 31)) as u32)
}

#[inline]
pub fn bfind_s64(a: i64) -> u32 {
    bfind_u64((a ^ (a >> 63)) as u64)
}

/// `bfind.shiftamt`: the left shift that brings the found bit to the top, from a plain `bfind`'s result.
#[inline]
pub fn shiftamt(found: u32, width: u32) -> u32 {
    if found == u32::MAX { u32::MAX } else { width - 1 - found }
}

#[inline]
fn low_ones(n: u32) -> u64 {
    if n >= 64 { !0 } else { (1 << n) - 1 }
}

/// `bfe`, for a `width` of 32 or 64: `len` bits from `pos` on, sign-filled in the signed form also beyond the top. Of
/// `pos` and `len` the 32-bit form uses the low byte, the 64-bit form all bits.
#[inline]
fn bfe(a: u64, pos: u32, len: u32, width: u32, signed: bool) -> u64 {
    let (pos, len) = if width == 32 { (pos & 0xff, len & 0xff) } else { (pos.min(64), len.min(64)) };
    let sign_at = (pos + len).wrapping_sub(1).min(width - 1);
    let sign = signed && len != 0 && (a >> sign_at) & 1 != 0;
    let kept = len.min(width.saturating_sub(pos));
    let field = if pos >= width { 0 } else { (a >> pos) & low_ones(kept) };
    if sign { field | !low_ones(kept) } else { field }
}

#[inline]
pub fn bfe_u32(a: u32, pos: u32, len: u32) -> u32 {
    bfe(a as u64, pos, len, 32, false) as u32
}

#[inline]
pub fn bfe_s32(a: u32, pos: u32, len: u32) -> u32 {
    bfe(a as u64, pos, len, 32, true) as u32
}

#[inline]
pub fn bfe_u64(a: u64, pos: u32, len: u32) -> u64 {
    bfe(a, pos, len, 64, false)
}

#[inline]
pub fn bfe_s64(a: u64, pos: u32, len: u32) -> u64 {
    bfe(a, pos, len, 64, true)
}

/// `bfi.b64 f, a, b, pos, len`: the low bits of `a` over the field of `b`. All bits of `pos` and `len` count.
#[inline]
pub fn bfi_b64(a: u64, b: u64, pos: u32, len: u32) -> u64 {
    if pos > 63 {
        return b;
    }
    let mask = low_ones(len) << pos;
    (b & !mask) | ((a << pos) & mask)
}

/// `bfi.b32`. The low bytes of `pos` and `len` count.
#[inline]
pub fn bfi_b32(a: u32, b: u32, pos: u32, len: u32) -> u32 {
    let (pos, len) = (pos & 0xff, len & 0xff);
    if pos > 31 { b } else { bfi_b64(a as u64, b as u64, pos, len) as u32 }
}

/// `bmsk.clamp.b32` and `bmsk.wrap.b32`: `len` ones from `pos` on.
#[inline]
pub fn bmsk(pos: u32, len: u32, wrap: bool) -> u32 {
    let (pos, len) = if wrap { (pos & 31, len & 31) } else { (pos.min(32), len.min(32)) };
    (low_ones(len) << pos) as u32
}

/// `szext.clamp/.wrap.u32`: keeps the low `n` bits.
#[inline]
pub fn szext_u32(a: u32, n: u32, wrap: bool) -> u32 {
    let n = if wrap { n & 31 } else { n.min(32) };
    a & low_ones(n) as u32
}

/// `szext.clamp/.wrap.s32`: keeps the low `n` bits, sign-extended; none kept gives 0.
#[inline]
pub fn szext_s32(a: u32, n: u32, wrap: bool) -> u32 {
    let n = if wrap { n & 31 } else { n.min(32) };
    if n == 0 { 0 } else { ((a << (32 - n)) as i32 >> (32 - n)) as u32 }
}

/// `lop3.b32` with its look-up table.
#[inline]
pub fn lop3(a: u32, b: u32, c: u32, table: u8) -> u32 {
    let bit = |i: u32| if table >> i & 1 != 0 { !0u32 } else { 0 };
    let when = |x: u32, on: u32, off: u32| (x & on) | (!x & off);
    let of_bc = |i: u32| when(b, when(c, bit(i + 3), bit(i + 2)), when(c, bit(i + 1), bit(i)));
    when(a, of_bc(4), of_bc(0))
}

#[inline]
pub fn shl_b16(a: u16, n: u32) -> u16 {
    if n > 15 { 0 } else { a << n }
}

#[inline]
pub fn shl_b32(a: u32, n: u32) -> u32 {
    if n > 31 { 0 } else { a << n }
}

#[inline]
pub fn shl_b64(a: u64, n: u32) -> u64 {
    if n > 63 { 0 } else { a << n }
}

/// `shr.u16` and `shr.b16`.
#[inline]
pub fn shr_u16(a: u16, n: u32) -> u16 {
    if n > 15 { 0 } else { a >> n }
}

/// `shr.u32` and `shr.b32`.
#[inline]
pub fn shr_u32(a: u32, n: u32) -> u32 {
    if n > 31 { 0 } else { a >> n }
}

/// `shr.u64` and `shr.b64`.
#[inline]
pub fn shr_u64(a: u64, n: u32) -> u64 {
    if n > 63 { 0 } else { a >> n }
}

/// `shr.s16`: counts of the width or more leave the sign.
#[inline]
pub fn shr_s16(a: i16, n: u32) -> i16 {
    a >> n.min(15)
}

#[inline]
pub fn shr_s32(a: i32, n: u32) -> i32 {
    a >> n.min(31)
}

#[inline]
pub fn shr_s64(a: i64, n: u32) -> i64 {
    a >> n.min(63)
}

/// The count of `shf` in its clamping or wrapping mode, 0 to 32.
#[inline]
fn shf_count(c: u32, wrap: bool) -> u32 {
    if wrap { c & 31 } else { c.min(32) }
}

/// `shf.l.clamp/.wrap.b32 d, a, b, c`: the high word of `{b, a} << c`.
#[inline]
pub fn shf_l(a: u32, b: u32, c: u32, wrap: bool) -> u32 {
    let pair = (b as u64) << 32 | a as u64;
    ((pair << shf_count(c, wrap)) >> 32) as u32
}

/// `shf.r.clamp/.wrap.b32 d, a, b, c`: the low word of `{b, a} >> c`.
#[inline]
pub fn shf_r(a: u32, b: u32, c: u32, wrap: bool) -> u32 {
    let pair = (b as u64) << 32 | a as u64;
    (pair >> shf_count(c, wrap)) as u32
}

/// The modes of `prmt.b32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum PrmtMode {
    /// No modifier: each nibble of the selector takes a byte, its top bit replicates that byte's sign.
    #[default]
    Generic,
    /// `.f4e`: four bytes forward from the selected one.
    F4e,
    /// `.b4e`: four bytes backward.
    B4e,
    /// `.rc8`: one byte, four times.
    Rc8,
    /// `.ecl`: edge clamp left.
    Ecl,
    /// `.ecr`: edge clamp right.
    Ecr,
    /// `.rc16`: one half, twice.
    Rc16,
}

/// `prmt.b32 d, a, b, selector`: bytes 0 to 3 are those of `a`, 4 to 7 of `b`.
#[inline]
pub fn prmt(a: u32, b: u32, selector: u32, mode: PrmtMode) -> u32 {
    let bytes = (b as u64) << 32 | a as u64;
    let c = selector & 3;
    let nibbles = match mode {
        PrmtMode::Generic => selector & 0xffff,
        PrmtMode::F4e => [0x3210, 0x4321, 0x5432, 0x6543][c as usize],
        PrmtMode::B4e => [0x5670, 0x6701, 0x7012, 0x0123][c as usize],
        PrmtMode::Rc8 => c * 0x1111,
        PrmtMode::Ecl => [0x3210, 0x3211, 0x3222, 0x3333][c as usize],
        PrmtMode::Ecr => [0x0000, 0x1110, 0x2210, 0x3210][c as usize],
        PrmtMode::Rc16 => [0x1010, 0x3232, 0x1010, 0x3232][c as usize],
    };
    (0..4).fold(0, |word, i| {
        let nibble = nibbles >> (4 * i) & 0xf;
        let byte = (bytes >> (8 * (nibble & 7))) as u8;
        let byte = if nibble & 8 == 0 { byte } else { ((byte as i8) >> 7) as u8 };
        word | (byte as u32) << (8 * i)
    })
}

/// `fns.b32 d, mask, base, offset`: the position of the `offset`th one of `mask`, counted from bit `base` (upwards if
/// positive, downwards if negative; 0 asks for `base` itself), all ones if there is none.
#[inline]
pub fn fns(mask: u32, base: u32, offset: i32) -> u32 {
    if base > 31 {
        return u32::MAX;
    }
    let bit = |i: u32| mask >> i & 1 != 0;
    let found = match offset {
        0 => bit(base).then_some(base),
        1.. => (base..32).filter(|&i| bit(i)).nth(offset as usize - 1),
        _ => (0..=base).rev().filter(|&i| bit(i)).nth(offset.unsigned_abs() as usize - 1),
    };
    found.unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alu::samples::Samples;

    /// `bfe` bit by bit, as the PTX manual writes it but for the 64-bit form's wider operands.
    fn bfe_by_bits(a: u64, pos: u32, len: u32, msb: u32, signed: bool) -> u64 {
        let (pos, len) = if msb == 31 { (pos & 0xff, len & 0xff) } else { (pos, len) };
        let sign = if !signed || len == 0 { 0 } else { a >> (pos + len - 1).min(msb) & 1 };
        let bit = |i: u32| if i < len && pos + i <= msb { a >> (pos + i) & 1 } else { sign };
        (0..=msb).fold(0, |d, i| d | bit(i) << i)
    }

    fn bfi_by_bits(a: u64, b: u64, pos: u32, len: u32, msb: u32) -> u64 {
        let (pos, len) = if msb == 31 { (pos & 0xff, len & 0xff) } else { (pos, len) };
        (0..len).filter(|i| pos + i <= msb).fold(b, |d, i| d & !(1 << (pos + i)) | (a >> i & 1) << (pos + i))
    }

    #[test]
    fn fields_agree_with_the_manual_bit_by_bit() {
        let mut samples = Samples(20);
        for pos in 0..80 {
            for len in (0..80).chain([255, 256, 300]) {
                let (a, b) = (samples.bits(), samples.bits());
                let (a32, b32) = (a as u32, b as u32);
                for pos in [pos, pos + 180] {
                    assert_eq!(bfe_u32(a32, pos, len) as u64, bfe_by_bits(a32 as u64, pos, len, 31, false));
                    assert_eq!(bfe_s32(a32, pos, len) as u64, bfe_by_bits(a32 as u64, pos, len, 31, true));
                    assert_eq!(bfe_u64(a, pos, len), bfe_by_bits(a, pos, len, 63, false));
                    assert_eq!(bfe_s64(a, pos, len), bfe_by_bits(a, pos, len, 63, true));
                    assert_eq!(bfi_b32(a32, b32, pos, len) as u64, bfi_by_bits(a, b32 as u64, pos, len, 31));
                    assert_eq!(bfi_b64(a, b, pos, len), bfi_by_bits(a, b, pos, len, 63));
                }
            }
        }
    }

    #[test]
    fn found_bits() {
        assert_eq!(bfind_u32(0), u32::MAX);
        assert_eq!(bfind_s32(-1), u32::MAX);
        assert_eq!(bfind_s32(-2), 0);
        assert_eq!(bfind_s32(i32::MIN), 30);
        assert_eq!(bfind_u64(1 << 40), 40);
        assert_eq!(bfind_s64(-256), 7);
        assert_eq!(shiftamt(bfind_u32(1), 32), 31);
        assert_eq!(shiftamt(bfind_u32(0), 32), u32::MAX);
    }

    #[test]
    fn lop3_agrees_bit_by_bit() {
        let mut samples = Samples(21);
        for table in 0..=255u8 {
            let (a, b, c) = (samples.bits() as u32, samples.bits() as u32, samples.bits() as u32);
            let want = (0..32).fold(0u32, |d, i| {
                let index = (a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1;
                d | ((table >> index & 1) as u32) << i
            });
            assert_eq!(lop3(a, b, c, table), want);
        }
        assert_eq!(lop3(0xf0, 0xcc, 0xaa, 0x1a) & 0xff, 0x1a);
    }

    #[test]
    fn shifts_clamp() {
        assert_eq!(shl_b32(1, 32), 0);
        assert_eq!(shl_b16(1, 15), 0x8000);
        assert_eq!(shl_b64(1, u32::MAX), 0);
        assert_eq!(shr_s32(-8, 40), -1);
        assert_eq!(shr_u16(0x8000, 16), 0);
        assert_eq!(shr_s64(i64::MIN, 64), -1);
        assert_eq!(shf_l(0x8000_0000, 1, 1, false), 3);
        assert_eq!(shf_l(7, 9, 32, false), 7);
        assert_eq!(shf_l(7, 9, 32, true), 9);
        assert_eq!(shf_r(7, 9, 40, false), 9);
        assert_eq!(shf_r(0, 1, 4, true), 0x1000_0000);
    }

    #[test]
    fn byte_permutations() {
        let (a, b) = (0x8322_1100, 0x7766_5544);
        assert_eq!(prmt(a, b, 0x7531, PrmtMode::Generic), 0x7755_8311);
        assert_eq!(prmt(a, b, 0xb8fc, PrmtMode::Generic), 0xff00_0000);
        assert_eq!(prmt(a, b, 1, PrmtMode::F4e), 0x4483_2211);
        assert_eq!(prmt(a, b, 5, PrmtMode::B4e), 0x6677_0011);
        assert_eq!(prmt(a, b, 2, PrmtMode::Rc8), 0x2222_2222);
        assert_eq!(prmt(a, b, 1, PrmtMode::Ecl), 0x8322_1111);
        assert_eq!(prmt(a, b, 1, PrmtMode::Ecr), 0x1111_1100);
        assert_eq!(prmt(a, b, 1, PrmtMode::Rc16), 0x8322_8322);
    }

    #[test]
    fn masks_and_the_nth_one() {
        assert_eq!(bmsk(4, 8, false), 0xff0);
        assert_eq!(bmsk(0, 32, false), u32::MAX);
        assert_eq!(bmsk(0, 32, true), 0);
        assert_eq!(bmsk(32, 5, false), 0);
        assert_eq!(bmsk(30, 5, true), 0xc000_0000);
        assert_eq!(szext_u32(0xffff_ffff, 8, false), 0xff);
        assert_eq!(szext_s32(0x80, 8, false), 0xffff_ff80);
        assert_eq!(szext_s32(0x80, 40, false), 0x80);
        assert_eq!(szext_u32(0x80, 0, false), 0);
        assert_eq!(fns(0b1011_0000, 4, 2), 5);
        assert_eq!(fns(0b1011_0000, 7, -2), 5);
        assert_eq!(fns(0b1011_0000, 6, 0), u32::MAX);
        assert_eq!(fns(0b1011_0000, 0, 4), u32::MAX);
    }
}
