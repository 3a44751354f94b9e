//! Unevaluated sums of two floats: about twice the precision, from error-free transformations.

use super::real::Real;

/// hi + lo, where |lo| is at most about half a unit in the last place of hi.
#[derive(Clone, Copy)]
pub(crate) struct Dd<T> {
    pub hi: T,
    pub lo: T,
}

/// a + b, exactly.
#[inline(always)]
pub(crate) fn two_sum<T: Real>(a: T, b: T) -> Dd<T> {
    let hi = a + b;
    let of_b = hi - a;
    Dd { hi, lo: (a - (hi - of_b)) + (b - of_b) }
}

/// a + b, exactly, for |a| >= |b| or a = 0.
#[inline(always)]
pub(crate) fn quick_two_sum<T: Real>(a: T, b: T) -> Dd<T> {
    let hi = a + b;
    Dd { hi, lo: b - (hi - a) }
}

/// a · b, exactly.
#[inline(always)]
pub(crate) fn two_product<T: Real>(a: T, b: T) -> Dd<T> {
    let hi = a.times(b);
    Dd { hi, lo: a.fma(b, -hi) }
}

impl<T: Real> Dd<T> {
    #[inline(always)]
    pub fn of([hi, lo]: [T; 2]) -> Self {
        Dd { hi, lo }
    }

    /// The nearest float.
    #[inline(always)]
    pub fn rounded(self) -> T {
        self.hi + self.lo
    }

    #[inline(always)]
    pub fn plus(self, b: T) -> Self {
        let s = two_sum(self.hi, b);
        quick_two_sum(s.hi, s.lo + self.lo)
    }

    #[inline(always)]
    pub fn plus_dd(self, b: Self) -> Self {
        let s = two_sum(self.hi, b.hi);
        quick_two_sum(s.hi, s.lo + (self.lo + b.lo))
    }

    #[inline(always)]
    pub fn times(self, b: T) -> Self {
        let p = two_product(self.hi, b);
        quick_two_sum(p.hi, self.lo.fma(b, p.lo))
    }

    #[inline(always)]
    pub fn times_dd(self, b: Self) -> Self {
        let p = two_product(self.hi, b.hi);
        quick_two_sum(p.hi, self.hi.fma(b.lo, self.lo.fma(b.hi, p.lo)))
    }

    #[inline(always)]
    pub fn square(self) -> Self {
        self.times_dd(self)
    }

    /// One reciprocal, and a correction by the remainder that makes up for its error. `d` must not be near the ends of
    /// the range.
    #[inline(always)]
    pub fn over(self, d: Self) -> Self {
        let inverse = d.hi.near_reciprocal();
        let q = self.hi.times(inverse);
        let remainder = (-q).fma(d.hi, self.hi) + ((-q).fma(d.lo, self.lo));
        quick_two_sum(q, remainder * inverse)
    }

    /// The square root of a positive number, not near the ends of the range, corrected by its remainder.
    #[inline(always)]
    pub fn sqrt(self) -> Self {
        let root = self.hi.inner_root();
        let remainder = (-root).fma(root, self.hi) + self.lo;
        quick_two_sum(root, remainder * (root + root).near_reciprocal())
    }

    /// Both parts times a power of two.
    #[inline(always)]
    pub fn scaled(self, power: T) -> Self {
        Dd { hi: self.hi * power, lo: self.lo * power }
    }

    #[inline(always)]
    pub fn negated(self) -> Self {
        Dd { hi: -self.hi, lo: -self.lo }
    }
}
