//! Arithmetic of `.f32` and `.f64` in all rounding directions.
//!
//! To nearest is the processor's own; the directed roundings go through [`Exact`]. `.f32` results that are NaN are the one
//! pattern that the hardware makes; `.f64` results keep the payload of a NaN operand, made quiet.

use super::Round;
use super::exact::{Exact, Format};

/// The NaN that `.f32` operations return.
pub const NAN_F32: f32 = f32::from_bits(0x7fff_ffff);
/// The NaN of an invalid `.f64` operation.
pub const NAN_F64: f64 = f64::from_bits(0xfff8_0000_0000_0000);

/// The modifiers of an `.f32` operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Mode {
    /// `.rn`, `.rz`, `.rm`, `.rp`
    pub round: Round,
    /// `.ftz`: subnormal operands and results become zeros of their sign.
    pub ftz: bool,
    /// `.sat`: clamps to 0..=1, NaN becomes +0.
    pub sat: bool,
}

impl Mode {
    /// `.rn` and nothing else.
    pub const RN: Self = Self { round: Round::Nearest, ftz: false, sat: false };

    #[inline]
    fn operand(self, a: f32) -> f32 {
        flush_f32(a, self.ftz)
    }

    /// Makes NaN canonical, flushes and saturates. `tiny` tells whether the exact result, rounded to 24 bits whatever its
    /// exponent, lies below the smallest normal number: such results are flushed even where rounding to a multiple of
    /// 2^-149 would reach that number. It is only asked there.
    #[inline]
    fn result(self, a: f32, tiny: impl FnOnce() -> bool) -> f32 {
        let a = canonical(a);
        let flushed = self.ftz && {
            let magnitude = a.to_bits() & 0x7fff_ffff;
            magnitude < 0x0080_0000 || (magnitude == 0x0080_0000 && tiny())
        };
        let a = if flushed { f32::from_bits(a.to_bits() & 0x8000_0000) } else { a };
        if self.sat { saturate_f32(a) } else { a }
    }
}

/// Magnitudes that round to 24 bits below 2^-126, to nearest, are below this.
pub(super) const TINY: f64 = f64::from_bits(0x380f_ffff_f000_0000);

/// Whether a value rounded to 24 bits, whatever its exponent, lies below the smallest normal `f32`.
#[cold]
pub(super) fn tiny_f32(exact: Exact, round: Round) -> bool {
    const WIDE: Format = Format { fraction: 23, bias: 191, largest: u64::MAX >> 2 };
    let magnitude = exact.round(WIDE, round) & (u64::MAX >> 2);
    magnitude < (191 - 126) << 23
}

/// `.ftz`: a subnormal becomes a zero of its sign.
#[inline]
pub fn flush_f32(a: f32, ftz: bool) -> f32 {
    if ftz && a.to_bits() & 0x7f80_0000 == 0 { f32::from_bits(a.to_bits() & 0x8000_0000) } else { a }
}

/// `.sat`: clamps to 0..=1; NaN and minus zero become +0.
#[inline]
pub fn saturate_f32(a: f32) -> f32 {
    if a > 0.0 { if a < 1.0 { a } else { 1.0 } } else { 0.0 }
}

/// `.sat` of `.f64` (conversions only).
#[inline]
pub fn saturate_f64(a: f64) -> f64 {
    if a > 0.0 { if a < 1.0 { a } else { 1.0 } } else { 0.0 }
}

/// Replaces any NaN by the hardware's.
///
/// In integers: which NaN a floating-point operation makes is open to the optimiser, which is therefore free to drop a
/// choice between one NaN and another (it did, after a square root).
#[inline]
pub fn canonical(a: f32) -> f32 {
    let bits = a.to_bits();
    f32::from_bits(if bits & 0x7fff_ffff > 0x7f80_0000 { NAN_F32.to_bits() } else { bits })
}

/// Makes a NaN quiet.
#[inline]
pub fn quiet_f64(a: f64) -> f64 {
    f64::from_bits(a.to_bits() | 1 << 51)
}

/// The NaN of an `.f64` operation: that of the first of these operands which is one. The callers list them in the order
/// in which the hardware prefers them.
#[cold]
fn nan_f64(operands: &[f64]) -> f64 {
    operands.iter().find(|a| a.is_nan()).map_or(NAN_F64, |&a| quiet_f64(a))
}

fn round_f32(exact: Exact, round: Round) -> f32 {
    f32::from_bits(exact.round(Format::F32, round) as u32)
}

fn round_f64(exact: Exact, round: Round) -> f64 {
    f64::from_bits(exact.round(Format::F64, round))
}

fn wide(a: f32) -> Exact {
    Exact::from_f64(a as f64)
}

#[inline]
pub fn add_f32(a: f32, b: f32, mode: Mode) -> f32 {
    let (a, b) = (mode.operand(a), mode.operand(b));
    let sum = if mode.round == Round::Nearest || !a.is_finite() || !b.is_finite() {
        a + b
    } else {
        round_f32(wide(a).plus(wide(b), mode.round), mode.round)
    };
    // Sums of multiples of 2^-149 that small are exact.
    mode.result(sum, || false)
}

#[inline]
pub fn sub_f32(a: f32, b: f32, mode: Mode) -> f32 {
    add_f32(a, -b, mode)
}

#[inline]
pub fn mul_f32(a: f32, b: f32, mode: Mode) -> f32 {
    let (a, b) = (mode.operand(a), mode.operand(b));
    let product = if mode.round == Round::Nearest || !a.is_finite() || !b.is_finite() {
        a * b
    } else {
        round_f32(wide(a).times(wide(b)), mode.round)
    };
    mode.result(product, || match mode.round {
        Round::Nearest => (a as f64 * b as f64).abs() < TINY,
        round => tiny_f32(wide(a).times(wide(b)), round),
    })
}

/// `fma.f32` and `mad.f32`.
#[inline]
pub fn fma_f32(a: f32, b: f32, c: f32, mode: Mode) -> f32 {
    let (a, b, c) = (mode.operand(a), mode.operand(b), mode.operand(c));
    let finite = a.is_finite() && b.is_finite() && c.is_finite();
    let sum = if mode.round == Round::Nearest || !finite {
        a.mul_add(b, c)
    } else {
        round_f32(wide(a).times(wide(b)).plus(wide(c), mode.round), mode.round)
    };
    mode.result(sum, || match mode.round {
        Round::Nearest => {
            let (product, c) = (a as f64 * b as f64, c as f64);
            let sum = product + c;
            let (big, small) = if product.abs() >= c.abs() { (product, c) } else { (c, product) };
            let lacks = small - (sum - big);
            sum.abs() < TINY || (sum.abs() == TINY && lacks != 0.0 && (lacks < 0.0) == (sum > 0.0))
        }
        round => tiny_f32(wide(a).times(wide(b)).plus(wide(c), round), round),
    })
}

/// `div.rn/.rz/.rm/.rp.f32`.
#[inline]
pub fn div_f32(a: f32, b: f32, mode: Mode) -> f32 {
    let (a, b) = (mode.operand(a), mode.operand(b));
    let exact = a.is_finite() && b.is_finite() && b != 0.0;
    let quotient = if mode.round == Round::Nearest || !exact {
        a / b
    } else {
        round_f32(wide(a).over(wide(b)), mode.round)
    };
    mode.result(quotient, || tiny_f32(wide(a).over(wide(b)), mode.round))
}

/// `rcp.rn/.rz/.rm/.rp.f32`.
#[inline]
pub fn rcp_f32(a: f32, mode: Mode) -> f32 {
    div_f32(1.0, a, mode)
}

/// `sqrt.rn/.rz/.rm/.rp.f32`.
#[inline]
pub fn sqrt_f32(a: f32, mode: Mode) -> f32 {
    let a = mode.operand(a);
    let root = if mode.round == Round::Nearest || !(a >= 0.0 && a.is_finite()) {
        a.sqrt()
    } else {
        round_f32(wide(a).sqrt(), mode.round)
    };
    mode.result(root, || false)
}

#[inline]
pub fn add_f64(a: f64, b: f64, round: Round) -> f64 {
    let nearest = a + b;
    if nearest.is_nan() {
        nan_f64(&[b, a])
    } else if round == Round::Nearest || !a.is_finite() || !b.is_finite() {
        nearest
    } else {
        round_f64(Exact::from_f64(a).plus(Exact::from_f64(b), round), round)
    }
}

#[inline]
pub fn sub_f64(a: f64, b: f64, round: Round) -> f64 {
    if b.is_nan() { quiet_f64(b) } else { add_f64(a, -b, round) }
}

#[inline]
pub fn mul_f64(a: f64, b: f64, round: Round) -> f64 {
    let nearest = a * b;
    if nearest.is_nan() {
        nan_f64(&[b, a])
    } else if round == Round::Nearest || !a.is_finite() || !b.is_finite() {
        nearest
    } else {
        round_f64(Exact::from_f64(a).times(Exact::from_f64(b)), round)
    }
}

/// `fma.f64` and `mad.f64`.
#[inline]
pub fn fma_f64(a: f64, b: f64, c: f64, round: Round) -> f64 {
    let nearest = a.mul_add(b, c);
    if nearest.is_nan() {
        nan_f64(&[b, c, a])
    } else if round == Round::Nearest || !a.is_finite() || !b.is_finite() || !c.is_finite() {
        nearest
    } else {
        let product = Exact::from_f64(a).times(Exact::from_f64(b));
        round_f64(product.plus(Exact::from_f64(c), round), round)
    }
}

/// `div.rn/.rz/.rm/.rp.f64`.
#[inline]
pub fn div_f64(a: f64, b: f64, round: Round) -> f64 {
    let nearest = a / b;
    if nearest.is_nan() {
        nan_f64(&[a, b])
    } else if round == Round::Nearest || !a.is_finite() || !b.is_finite() || b == 0.0 {
        nearest
    } else {
        round_f64(Exact::from_f64(a).over(Exact::from_f64(b)), round)
    }
}

/// `rcp.rn/.rz/.rm/.rp.f64`.
#[inline]
pub fn rcp_f64(a: f64, round: Round) -> f64 {
    div_f64(1.0, a, round)
}

/// `sqrt.rn/.rz/.rm/.rp.f64`.
#[inline]
pub fn sqrt_f64(a: f64, round: Round) -> f64 {
    let nearest = a.sqrt();
    if nearest.is_nan() {
        nan_f64(&[a])
    } else if round == Round::Nearest || !a.is_finite() {
        nearest
    } else {
        round_f64(Exact::from_f64(a).sqrt(), round)
    }
}

/// `abs.f32`. It is an addition on the hardware (`FADD |a|, -0`), so NaN becomes the canonical one.
#[inline]
pub fn abs_f32(a: f32, ftz: bool) -> f32 {
    canonical(flush_f32(f32::from_bits(a.to_bits() & 0x7fff_ffff), ftz))
}

/// `neg.f32`. It is an addition on the hardware (`FADD -a, -0`), so NaN becomes the canonical one.
#[inline]
pub fn neg_f32(a: f32, ftz: bool) -> f32 {
    canonical(flush_f32(f32::from_bits(a.to_bits() ^ 0x8000_0000), ftz))
}

/// `abs.f64`: an addition, which keeps a NaN's sign and makes it quiet.
#[inline]
pub fn abs_f64(a: f64) -> f64 {
    if a.is_nan() { quiet_f64(a) } else { f64::from_bits(a.to_bits() & !(1 << 63)) }
}

/// `neg.f64`: an addition, which keeps a NaN's sign and makes it quiet.
#[inline]
pub fn neg_f64(a: f64) -> f64 {
    if a.is_nan() { quiet_f64(a) } else { f64::from_bits(a.to_bits() ^ 1 << 63) }
}

/// `copysign.f32 d, a, b`: the sign of `a` on the magnitude of `b`.
#[inline]
pub fn copysign_f32(a: f32, b: f32) -> f32 {
    f32::from_bits(a.to_bits() & 0x8000_0000 | b.to_bits() & 0x7fff_ffff)
}

/// `copysign.f64 d, a, b`: the sign of `a` on the magnitude of `b`.
#[inline]
pub fn copysign_f64(a: f64, b: f64) -> f64 {
    f64::from_bits(a.to_bits() & 1 << 63 | b.to_bits() & !(1 << 63))
}

/// The modifiers of `min` and `max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct MinMax {
    /// `max`, else `min`.
    pub max: bool,
    pub ftz: bool,
    /// `.NaN`: a NaN operand makes the result NaN.
    pub nan: bool,
    /// `.xorsign.abs`: compares magnitudes; the sign is that of the product.
    pub xorsign: bool,
}

/// `min.f32` and `max.f32`. A NaN operand loses to a number unless `.NaN`; -0 is below +0.
#[inline]
pub fn min_max_f32(a: f32, b: f32, mode: MinMax) -> f32 {
    let (a, b) = (flush_f32(a, mode.ftz), flush_f32(b, mode.ftz));
    let sign = (a.to_bits() ^ b.to_bits()) & 0x8000_0000;
    let (a, b) = if mode.xorsign { (abs_f32(a, false), abs_f32(b, false)) } else { (a, b) };
    let either = a.is_nan() || b.is_nan();
    if either && (mode.nan || (a.is_nan() && b.is_nan())) {
        return NAN_F32;
    }
    let first = if either {
        b.is_nan()
    } else {
        // Sign-magnitude order, in which -0 precedes +0.
        (a.total_cmp(&b).is_lt()) ^ mode.max
    };
    let chosen = if first { a } else { b };
    if mode.xorsign { f32::from_bits(chosen.to_bits() | sign) } else { chosen }
}

#[inline]
pub fn min_max_f64(a: f64, b: f64, max: bool) -> f64 {
    match (a.is_nan(), b.is_nan()) {
        // ptxas makes `min` of a compare and a select that falls to the second.
        (true, true) => quiet_f64(b),
        (true, false) => b,
        (false, true) => a,
        (false, false) => {
            if a.total_cmp(&b).is_lt() ^ max {
                a
            } else {
                b
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alu::samples::Samples;

    const DIRECTED: [Round; 3] = [Round::Zero, Round::Down, Round::Up];

    /// Corrects a nearest result by the sign of what it lacks (exact minus result).
    fn direct(nearest: f64, lacks: f64, round: Round) -> f64 {
        let outward = nearest.is_sign_positive() == (lacks > 0.0);
        let step = |by_one_outward: bool| {
            f64::from_bits(if by_one_outward { nearest.to_bits() + 1 } else { nearest.to_bits() - 1 })
        };
        match round {
            Round::Zero if lacks != 0.0 && !outward => step(false),
            Round::Down if lacks < 0.0 => step(outward),
            Round::Up if lacks > 0.0 => step(outward),
            _ => nearest,
        }
    }

    /// The same for an `f64` that is to become an `f32`, where the exact value is `near` plus something of sign `lacks`.
    fn direct_f32(near: f64, lacks: f64, round: Round) -> f32 {
        let nearest = near as f32;
        if nearest.is_infinite() {
            let keep = match round {
                Round::Zero => true,
                Round::Down => nearest > 0.0,
                _ => nearest < 0.0,
            };
            return if keep { f32::MAX.copysign(nearest) } else { nearest };
        }
        let beyond = near - nearest as f64;
        let lacks = if beyond == 0.0 { lacks } else { beyond };
        let down = |x: f32| x.next_down();
        let up = |x: f32| x.next_up();
        match round {
            Round::Zero if lacks < 0.0 && (nearest > 0.0) => down(nearest),
            Round::Zero if lacks > 0.0 && (nearest < 0.0) => up(nearest),
            Round::Down if lacks < 0.0 => down(nearest),
            Round::Up if lacks > 0.0 => {
                if nearest == 0.0 && near < 0.0 {
                    -0.0
                } else {
                    up(nearest)
                }
            }
            _ => nearest,
        }
    }

    #[test]
    fn directed_f64_agrees_with_error_terms() {
        let mut samples = Samples(3);
        let mut tried = 0;
        while tried < 100_000 {
            let (a, b) = (samples.f64(), samples.f64());
            // Error terms of products, quotients and roots are exact only well away from underflow and overflow.
            let tame = |x: f64| x.abs() > 1e-120 && x.abs() < 1e120;
            if !tame(a) || !tame(b) {
                continue;
            }
            tried += 1;
            for round in DIRECTED {
                let sum = a + b;
                if sum != 0.0 {
                    let (big, small) = if a.abs() >= b.abs() { (a, b) } else { (b, a) };
                    let lacks = small - (sum - big);
                    assert_eq!(add_f64(a, b, round).to_bits(), direct(sum, lacks, round).to_bits());
                }
                let product = a * b;
                let lacks = a.mul_add(b, -product);
                assert_eq!(mul_f64(a, b, round).to_bits(), direct(product, lacks, round).to_bits());
                assert_eq!(fma_f64(a, b, 0.0, round).to_bits(), direct(product, lacks, round).to_bits());
                let quotient = a / b;
                let lacks = (-quotient).mul_add(b, a) * b.signum();
                assert_eq!(div_f64(a, b, round).to_bits(), direct(quotient, lacks, round).to_bits());
                let root = a.abs().sqrt();
                let lacks = (-root).mul_add(root, a.abs());
                assert_eq!(sqrt_f64(a.abs(), round).to_bits(), direct(root, lacks, round).to_bits());
            }
        }
    }

    #[test]
    fn directed_f32_agrees_with_error_terms_in_f64() {
        let mut samples = Samples(4);
        for _ in 0..200_000 {
            let (a, b, c) = (samples.f32(), samples.f32(), samples.f32());
            if !(a.is_finite() && b.is_finite() && c.is_finite()) {
                continue;
            }
            let (wa, wb, wc) = (a as f64, b as f64, c as f64);
            for round in DIRECTED {
                let mode = Mode { round, ..Mode::RN };
                let two_sum = |x: f64, y: f64| {
                    let s = x + y;
                    let (big, small) = if x.abs() >= y.abs() { (x, y) } else { (y, x) };
                    (s, small - (s - big))
                };
                let (sum, lacks) = two_sum(wa, wb);
                if sum != 0.0 {
                    assert_eq!(
                        add_f32(a, b, mode).to_bits(),
                        direct_f32(sum, lacks, round).to_bits(),
                        "{a:e} {b:e}"
                    );
                }
                let product = wa * wb;
                assert_eq!(
                    mul_f32(a, b, mode).to_bits(),
                    direct_f32(product, 0.0, round).to_bits(),
                    "{a:e} {b:e}"
                );
                let (fused, lacks) = two_sum(product, wc);
                if fused != 0.0 {
                    let want = direct_f32(fused, lacks, round);
                    assert_eq!(
                        fma_f32(a, b, c, mode).to_bits(),
                        want.to_bits(),
                        "{a:e} {b:e} {c:e} {round:?}"
                    );
                }
                if b != 0.0 {
                    let quotient = wa / wb;
                    let lacks = (-quotient).mul_add(wb, wa) * wb.signum();
                    assert_eq!(div_f32(a, b, mode).to_bits(), direct_f32(quotient, lacks, round).to_bits());
                }
                let root = wa.abs().sqrt();
                let lacks = (-root).mul_add(root, wa.abs());
                assert_eq!(sqrt_f32(a.abs(), mode).to_bits(), direct_f32(root, lacks, round).to_bits());
            }
        }
    }

    #[test]
    fn zeros_of_cancellation_follow_the_direction() {
        for (round, sign) in
            [(Round::Nearest, false), (Round::Zero, false), (Round::Up, false), (Round::Down, true)]
        {
            let mode = Mode { round, ..Mode::RN };
            assert_eq!(add_f32(1.0, -1.0, mode).is_sign_negative(), sign);
            assert_eq!(sub_f64(1.5, 1.5, round).is_sign_negative(), sign);
            assert_eq!(fma_f32(2.0, 0.5, -1.0, mode).is_sign_negative(), sign);
            assert!(add_f32(-0.0, -0.0, mode).is_sign_negative());
            assert_eq!(add_f32(-0.0, 0.0, mode).is_sign_negative(), sign);
        }
    }

    #[test]
    fn nan_patterns() {
        let nan = f32::from_bits(0xff80_0001);
        assert_eq!(add_f32(nan, 1.0, Mode::RN).to_bits(), 0x7fff_ffff);
        assert_eq!(mul_f32(0.0, f32::INFINITY, Mode::RN).to_bits(), 0x7fff_ffff);
        assert_eq!(sqrt_f32(-1.0, Mode::RN).to_bits(), 0x7fff_ffff);
        assert_eq!(neg_f32(nan, true).to_bits(), 0x7fff_ffff);
        assert_eq!(fma_f32(nan, 1.0, 1.0, Mode { sat: true, ..Mode::RN }).to_bits(), 0);
    }

    #[test]
    fn flush_and_saturate() {
        let ftz = Mode { ftz: true, ..Mode::RN };
        let tiny = f32::from_bits(0x8000_0001);
        assert_eq!(add_f32(tiny, tiny, ftz).to_bits(), 0x8000_0000);
        assert_eq!(mul_f32(-f32::MIN_POSITIVE, 0.5, ftz).to_bits(), 0x8000_0000);
        // As ptxas folds them: 1 - 2^-24 of the smallest normal number is flushed although it would round up to it,
        // 1 - 2^-46 of it rounds up also with an exponent to spare.
        assert_eq!(mul_f32(f32::from_bits(0x00ff_ffff), 0.5, ftz).to_bits(), 0);
        assert_eq!(
            mul_f32(f32::from_bits(0x3f7f_fffe), f32::from_bits(0x0080_0001), ftz).to_bits(),
            0x0080_0000
        );
        assert_eq!(fma_f32(f32::from_bits(0x00ff_ffff), 0.5, 0.0, ftz).to_bits(), 0);
        let up = Mode { round: Round::Up, ..ftz };
        assert_eq!(mul_f32(f32::from_bits(0x00ff_ffff), 0.5, up).to_bits(), 0);
        assert_eq!(mul_f32(f32::from_bits(0x3f7f_ffff), f32::from_bits(0x0080_0000), up).to_bits(), 0);
        assert_eq!(
            mul_f32(f32::from_bits(0x3f7f_fffe), f32::from_bits(0x0080_0001), up).to_bits(),
            0x0080_0000
        );
        let sat = Mode { sat: true, ..Mode::RN };
        assert_eq!(add_f32(0.75, 0.5, sat), 1.0);
        assert_eq!(add_f32(-0.75, 0.5, sat).to_bits(), 0);
    }

    #[test]
    fn minimum_and_maximum() {
        let (min, max) = (MinMax::default(), MinMax { max: true, ..MinMax::default() });
        let nan = f32::NAN;
        assert_eq!(min_max_f32(0.0, -0.0, min).to_bits(), 0x8000_0000);
        assert_eq!(min_max_f32(-0.0, 0.0, max).to_bits(), 0);
        assert_eq!(min_max_f32(nan, 2.0, min), 2.0);
        assert_eq!(min_max_f32(2.0, nan, max), 2.0);
        assert_eq!(min_max_f32(nan, nan, max).to_bits(), 0x7fff_ffff);
        assert_eq!(min_max_f32(nan, 2.0, MinMax { nan: true, ..min }).to_bits(), 0x7fff_ffff);
        assert_eq!(min_max_f32(-3.0, 2.0, MinMax { xorsign: true, ..max }), -3.0);
        assert_eq!(min_max_f32(-3.0, -2.0, MinMax { xorsign: true, ..min }), 2.0);
        assert_eq!(min_max_f64(-0.0, 0.0, true).to_bits(), 0);
        assert_eq!(min_max_f64(f64::NAN, 2.0, false), 2.0);
    }
}
