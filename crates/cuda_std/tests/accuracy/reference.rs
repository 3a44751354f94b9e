//! Elementary functions to some 190 bits, by arbitrary-precision arithmetic.

use astro_float_num::{BigFloat, Consts, RoundingMode};

/// Bits of every intermediate result.
pub const BITS: usize = 192;
const ROUND: RoundingMode = RoundingMode::None;
/// Below 2^-TINY, the first term of every odd function here gives more digits than are compared.
const TINY: i32 = -90;

/// A multi-precision number with operators.
#[derive(Clone, Debug)]
pub struct Big(pub BigFloat);

macro_rules! operator {
    ($($trait:ident $method:ident;)*) => {$(
        impl std::ops::$trait for Big {
            type Output = Big;
            fn $method(self, other: Big) -> Big {
                Big(BigFloat::$method(&self.0, &other.0, BITS, ROUND))
            }
        }
        impl std::ops::$trait<f64> for Big {
            type Output = Big;
            fn $method(self, other: f64) -> Big {
                std::ops::$trait::$method(self, big(other))
            }
        }
    )*};
}
operator! { Add add; Sub sub; Mul mul; Div div; }

/// The exact value of a float. (The library misreads subnormals: scale them up, and back.)
pub fn big(x: f64) -> Big {
    const UP: f64 = 18014398509481984.0; // 2^54
    let exact = |x: f64| BigFloat::from_f64(x, BITS);
    if x.is_subnormal() { Big(exact(x * UP).div(&exact(UP), BITS, ROUND)) } else { Big(exact(x)) }
}

impl Big {
    pub fn sqrt(&self) -> Big {
        Big(self.0.sqrt(BITS, ROUND))
    }
    pub fn neg(&self) -> Big {
        Big(self.0.neg())
    }
    pub fn abs(&self) -> Big {
        Big(self.0.abs())
    }
    pub fn square(&self) -> Big {
        self.clone() * self.clone()
    }
    /// Zero if `self` is no more than the rounding errors of its own computation.
    pub fn or_zero(self) -> Big {
        if self.exponent() < -150 { big(0.0) } else { self }
    }
    /// The binary exponent of |self| in [2^(e-1), 2^e); very low for zero.
    pub fn exponent(&self) -> i32 {
        if self.0.is_zero() { i32::MIN / 2 } else { self.0.exponent().unwrap_or(i32::MAX / 2) }
    }
}

/// The functions, with the constants computed so far.
pub struct Reference(Consts);

impl Reference {
    pub fn new() -> Self {
        Reference(Consts::new().expect("memory for constants"))
    }

    pub fn pi(&mut self) -> Big {
        Big(self.0.pi(BITS, ROUND))
    }
    pub fn exp(&mut self, x: &Big) -> Big {
        Big(x.0.exp(BITS, ROUND, &mut self.0))
    }
    pub fn ln(&mut self, x: &Big) -> Big {
        Big(x.0.ln(BITS, ROUND, &mut self.0))
    }
    pub fn sin(&mut self, x: &Big) -> Big {
        if x.exponent() < TINY { x.clone() } else { Big(x.0.sin(BITS, ROUND, &mut self.0)) }
    }
    pub fn cos(&mut self, x: &Big) -> Big {
        Big(x.0.cos(BITS, ROUND, &mut self.0))
    }
    pub fn atan(&mut self, x: &Big) -> Big {
        if x.exponent() < TINY { x.clone() } else { Big(x.0.atan(BITS, ROUND, &mut self.0)) }
    }

    /// e^x - 1 by its series near zero.
    pub fn exp_m1(&mut self, x: &Big) -> Big {
        if x.exponent() > -8 {
            return self.exp(x) - 1.0;
        }
        let (mut term, mut sum) = (x.clone(), x.clone());
        for n in 2..24 {
            term = term * x.clone() / f64::from(n);
            sum = sum + term.clone();
        }
        sum
    }

    /// ln(1 + x) by its series near zero.
    pub fn ln_1p(&mut self, x: &Big) -> Big {
        if x.exponent() > -8 {
            return self.ln(&(x.clone() + 1.0));
        }
        let (mut power, mut sum) = (x.clone(), x.clone());
        for n in 2..24 {
            power = power * x.neg();
            sum = sum + power.clone() / f64::from(n);
        }
        sum
    }

    pub fn pow(&mut self, x: &Big, y: &Big) -> Big {
        let ln = self.ln(x);
        self.exp(&(ln * y.clone()))
    }

    pub fn asin(&mut self, x: &Big) -> Big {
        // atan(x / √((1 - x)(1 + x))), the factors exact.
        let root = ((big(1.0) - x.clone()) * (x.clone() + 1.0)).sqrt();
        if root.0.is_zero() {
            let right = self.pi() / 2.0;
            return if x.0.is_negative() { right.neg() } else { right };
        }
        self.atan(&(x.clone() / root))
    }

    pub fn acos(&mut self, x: &Big) -> Big {
        // 2·atan(√((1 - x) / (1 + x)))
        let below = x.clone() + 1.0;
        if below.0.is_zero() {
            return self.pi();
        }
        let root = ((big(1.0) - x.clone()) / below).sqrt();
        self.atan(&root) * 2.0
    }

    pub fn atan2(&mut self, y: &Big, x: &Big) -> Big {
        let angle = if x.0.is_zero() { self.pi() / 2.0 } else { self.atan(&(y.abs() / x.abs())) };
        let angle = if x.0.is_negative() { self.pi() - angle } else { angle };
        if y.0.is_negative() { angle.neg() } else { angle }
    }

    pub fn sinh(&mut self, x: &Big) -> Big {
        let grown = self.exp_m1(x);
        let shrunk = self.exp_m1(&x.neg());
        (grown - shrunk) / 2.0
    }

    pub fn cosh(&mut self, x: &Big) -> Big {
        (self.exp(x) + self.exp(&x.neg())) / 2.0
    }

    pub fn tanh(&mut self, x: &Big) -> Big {
        if x.exponent() > 9 {
            return big(if x.0.is_negative() { -1.0 } else { 1.0 });
        }
        let grown = self.exp_m1(&(x.clone() * 2.0));
        grown.clone() / (grown + 2.0)
    }

    pub fn asinh(&mut self, x: &Big) -> Big {
        // ln(1 + (a + a² / (1 + √(1 + a²))))
        let a = x.abs();
        let square = a.square();
        let over_one = a + square.clone() / ((square + 1.0).sqrt() + 1.0);
        let result = self.ln_1p(&over_one);
        if x.0.is_negative() { result.neg() } else { result }
    }

    pub fn acosh(&mut self, x: &Big) -> Big {
        let t = x.clone() - 1.0;
        let over_one = t.clone() + (t.square() + t * 2.0).sqrt();
        self.ln_1p(&over_one)
    }

    pub fn atanh(&mut self, x: &Big) -> Big {
        let difference = self.ln_1p(x) - self.ln_1p(&x.neg());
        difference / 2.0
    }

    pub fn cbrt(&mut self, x: &Big) -> Big {
        let root = Big(x.abs().0.cbrt(BITS, ROUND));
        if x.0.is_negative() { root.neg() } else { root }
    }

    /// π·x with x reduced modulo 2, exactly.
    pub fn half_turns(&mut self, x: f64) -> Big {
        self.pi() * big(x % 2.0)
    }
}

/// The distance of `got` from `want` in units of the last place of a format with `digits` bits whose least positive
/// number is 2^least, at `want`. Overflow counts as the first power of two beyond the format, 2^most.
pub fn ulps(got: f64, want: &Big, digits: i32, least: i32, most: i32) -> f64 {
    if got.is_nan() || want.0.is_nan() {
        return if got.is_nan() && want.0.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if want.0.is_inf() {
        return if got == if want.0.is_negative() { -f64::INFINITY } else { f64::INFINITY } {
            0.0
        } else {
            f64::INFINITY
        };
    }
    let exponent = want.exponent();
    if got.is_infinite() {
        // Right if the exact value rounds to 2^most, or nearly does.
        let limit = big(2.0_f64.powi(most - 1)) * 2.0;
        let short = (limit - want.abs()) / 2.0_f64.powi(most - 1 - digits);
        let same_sign = got.is_sign_negative() == want.0.is_negative();
        return if !same_sign { f64::INFINITY } else { value(&short).max(0.0) };
    }
    let unit = (exponent - digits).max(least);
    let error = (big(got) - want.clone()).abs();
    // In two steps, since 2^unit may be subnormal.
    value(&(error / 2.0_f64.powi(unit / 2) / 2.0_f64.powi(unit - unit / 2)))
}

/// The nearest float, nearly.
pub fn value(x: &Big) -> f64 {
    let Some((words, _, sign, exponent, _)) = x.0.as_raw_parts() else { return f64::INFINITY };
    let Some(&top) = words.last() else { return 0.0 };
    let size = top as f64 * 2.0_f64.powi(-64) * 2.0_f64.powi(exponent.clamp(-1000, 1000));
    if sign == astro_float_num::Sign::Neg { -size } else { size }
}
