//! Error, gamma and Bessel functions to some 150 bits, from their series.

use super::reference::{Big, Reference, big};

impl Reference {
    /// 2/√π·e^(-x²)·Σ 2ⁿ·x^(2n+1) / (2n+1)!!, all terms positive.
    pub fn erf(&mut self, x: &Big) -> Big {
        if x.exponent() > 3 {
            return big(if x.0.is_negative() { -1.0 } else { 1.0 });
        }
        let square = x.square();
        let (mut term, mut sum) = (x.clone(), x.clone());
        let mut n = 1;
        while !term.0.is_zero() && term.exponent() > sum.exponent() - 170 {
            term = term * square.clone() * 2.0 / f64::from(2 * n + 1);
            sum = sum + term.clone();
            n += 1;
        }
        let root = self.pi().sqrt();
        sum * 2.0 / root * self.exp(&square.neg())
    }

    /// e^(x²)·erfc(x) for x >= 2, by its continued fraction.
    fn erfcx_fraction(&mut self, x: &Big) -> Big {
        let mut tail = x.clone();
        for k in (1..400).rev() {
            tail = x.clone() + big(f64::from(k) / 2.0) / tail;
        }
        big(1.0) / (tail * self.pi().sqrt())
    }

    pub fn erfcx(&mut self, x: &Big) -> Big {
        if x.0.is_positive() && x.exponent() > 1 {
            return self.erfcx_fraction(x);
        }
        self.erfc(x) * self.exp(&x.square())
    }

    pub fn erfc(&mut self, x: &Big) -> Big {
        if x.0.is_positive() && x.exponent() > 1 {
            return self.erfcx_fraction(x) * self.exp(&x.square().neg());
        }
        big(1.0) - self.erf(x)
    }

    pub fn norm_cdf(&mut self, x: &Big) -> Big {
        let x = x.neg() / big(2.0).sqrt();
        self.erfc(&x) / 2.0
    }

    /// ln Γ(x) for x > 0: Stirling's series at x + n >= 50, less the logarithm of x·(x+1)·…
    pub fn ln_gamma(&mut self, x: &Big) -> Big {
        const BERNOULLI: [(f64, f64); 16] = [
            (1.0, 6.0),
            (-1.0, 30.0),
            (1.0, 42.0),
            (-1.0, 30.0),
            (5.0, 66.0),
            (-691.0, 2730.0),
            (7.0, 6.0),
            (-3617.0, 510.0),
            (43867.0, 798.0),
            (-174611.0, 330.0),
            (854513.0, 138.0),
            (-236364091.0, 2730.0),
            (8553103.0, 6.0),
            (-23749461029.0, 870.0),
            (8615841276005.0, 14322.0),
            (-7709321041217.0, 510.0),
        ];
        let (mut y, mut product) = (x.clone(), big(1.0));
        while y.exponent() < 7 {
            product = product * y.clone();
            y = y + 1.0;
        }
        let two_pi = self.pi() * 2.0;
        let mut result = (y.clone() - 0.5) * self.ln(&y) - y.clone() + self.ln(&two_pi) / 2.0;
        let square = y.square();
        let mut power = y;
        for (k, (numerator, denominator)) in (1..).zip(BERNOULLI) {
            let factor = f64::from(2 * k * (2 * k - 1));
            result = result + big(numerator) / (big(denominator) * factor * power.clone());
            power = power * square.clone();
        }
        result - self.ln(&product)
    }

    /// Γ(x), by Γ(x)·Γ(1 - x) = π / sin πx for x < 0.
    pub fn gamma(&mut self, x: f64) -> Big {
        if x > 0.0 {
            let ln = self.ln_gamma(&big(x));
            return self.exp(&ln);
        }
        if x == 0.0 {
            return big(f64::INFINITY);
        }
        if x % 1.0 == 0.0 {
            return big(f64::NAN);
        }
        let sine = self.half_turns(x);
        let sine = self.sin(&sine);
        let ln = self.ln_gamma(&(big(1.0) - big(x)));
        self.pi() / (sine * self.exp(&ln))
    }

    /// J of order n by its power series, for |x| <= 40.
    pub fn bessel_j(&mut self, n: i32, x: &Big) -> Big {
        let quarter = x.square().neg() / 4.0;
        let mut term = big(1.0);
        for k in 1..=n {
            term = term * x.clone() / f64::from(2 * k);
        }
        let mut sum = term.clone();
        for k in 1..200 {
            term = term * quarter.clone() / (f64::from(k) * f64::from(k + n));
            sum = sum + term.clone();
        }
        sum
    }

    /// I of order n, likewise.
    pub fn bessel_i(&mut self, n: i32, x: &Big) -> Big {
        let quarter = x.square() / 4.0;
        let mut term = big(1.0);
        for k in 1..=n {
            term = term * x.clone() / f64::from(2 * k);
        }
        let mut sum = term.clone();
        let mut k = 1;
        while !term.0.is_zero() && term.exponent() > sum.exponent() - 170 {
            term = term * quarter.clone() / (f64::from(k) * f64::from(k + n));
            sum = sum + term.clone();
            k += 1;
        }
        sum
    }

    /// γ, as a sum of floats.
    fn euler() -> Big {
        big(0.5772156649015329) + -4.942915152430645e-18 + -2.322111740706957e-34 + 1.7004947433810964e-50
    }

    /// Y of order 0 or 1 by its power series, for 0 < x <= 40.
    pub fn bessel_y(&mut self, n: i32, x: &Big) -> Big {
        let euler = Self::euler();
        let quarter = x.square().neg() / 4.0;
        let log = self.ln(&(x.clone() / 2.0));
        let mut term = if n == 0 { big(1.0) } else { x.clone() / 2.0 };
        // ψ(k + 1) + ψ(n + k + 1) = -2γ + H(k) + H(n + k)
        let mut harmonic = if n == 0 { big(0.0) } else { big(1.0) };
        let mut sum = term.clone() * (harmonic.clone() - euler.clone() * 2.0);
        for k in 1..200 {
            term = term * quarter.clone() / (f64::from(k) * f64::from(k + n));
            harmonic = harmonic + big(1.0) / f64::from(k) + big(1.0) / f64::from(k + n);
            sum = sum + term.clone() * (harmonic.clone() - euler.clone() * 2.0);
        }
        let j = self.bessel_j(n, x);
        let pole = if n == 0 { big(0.0) } else { big(2.0) / x.clone() };
        (log * j * 2.0 - sum - pole) / self.pi()
    }
}
