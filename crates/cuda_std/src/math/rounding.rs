//! Arithmetic rounded in a given direction, for the host: the nearest result and the sign of its error. On the device it is
//! one PTX instruction.

use super::real::Real;
use super::remainder::next_after;
use core::cmp::Ordering;

/// Where to round to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Down,
    Up,
    Zero,
}

/// `nearest`, or its neighbour, for an exact value that is less than, equal to or greater than `nearest`.
#[inline(always)]
pub(crate) fn towards<T: Real>(direction: Direction, nearest: T, exact: Ordering) -> T {
    let down = exact == Ordering::Less
        && (direction == Direction::Down || direction == Direction::Zero && nearest > T::ZERO);
    let up = exact == Ordering::Greater
        && (direction == Direction::Up || direction == Direction::Zero && nearest < T::ZERO);
    if down {
        next_after(nearest, -T::INFINITY)
    } else if up {
        next_after(nearest, T::INFINITY)
    } else {
        nearest
    }
}

pub(crate) mod host {
    use super::*;
    use crate::math::dd::two_sum;

    /// The sign of an error term.
    fn sign<T: Real>(error: T) -> Ordering {
        error.partial_cmp(&T::ZERO).unwrap_or(Ordering::Equal)
    }

    /// Rounds by the sign of `error`, unless the result came from an infinity or a NaN.
    fn by_error<T: Real>(direction: Direction, nearest: T, error: Ordering, from_finite: bool) -> T {
        if !from_finite || nearest.is_nan() {
            nearest
        } else if !nearest.is_finite() {
            towards(direction, nearest, if nearest > T::ZERO { Ordering::Less } else { Ordering::Greater })
        } else {
            towards(direction, nearest, error)
        }
    }

    /// A power of two that scales tiny operands up so that no error term underflows.
    fn lift<T: Real>(result: T) -> T {
        if result.stored_exponent() < T::BIAS / 2 { T::power_of_two(T::BIAS / 2) } else { T::ONE }
    }

    pub(crate) fn add<T: Real>(a: T, b: T, direction: Direction) -> T {
        let sum = two_sum(a, b);
        // An exact sum of zero is -0 when rounding down, unless both were +0.
        let both_positive = !a.is_negative() && !b.is_negative();
        if sum.hi == T::ZERO && direction == Direction::Down && !both_positive {
            return -T::ZERO;
        }
        by_error(direction, sum.hi, sign(sum.lo), a.is_finite() && b.is_finite())
    }

    pub(crate) fn mul<T: Real>(a: T, b: T, direction: Direction) -> T {
        let nearest = a * b;
        let (less, greater) = if a.magnitude() < b.magnitude() { (a, b) } else { (b, a) };
        let lift = lift(nearest);
        // Twice, since the product of two scaled parts may still be tiny.
        let error = (less * lift * lift).fma(greater, -(nearest * lift * lift));
        by_error(direction, nearest, sign(error), a.is_finite() && b.is_finite())
    }

    pub(crate) fn div<T: Real>(a: T, b: T, direction: Direction) -> T {
        let nearest = a / b;
        let lift = lift(a);
        let error = (-(nearest * lift)).fma(b, a * lift);
        let error = if b.is_negative() { -error } else { error };
        by_error(direction, nearest, sign(error), a.is_finite() && b.is_finite() && b != T::ZERO)
    }

    pub(crate) fn sqrt<T: Real>(a: T, direction: Direction) -> T {
        let nearest = a.root();
        let lift = lift(a);
        let error = (-(nearest * lift)).fma(nearest, a * lift);
        by_error(direction, nearest, sign(error), a.is_finite())
    }

    pub(crate) fn fma<T: Real>(a: T, b: T, c: T, direction: Direction) -> T {
        let nearest = a.fma(b, c);
        let finite = a.is_finite() && b.is_finite() && c.is_finite();
        let product = a * b;
        let error_of_product = a.fma(b, -product);
        let sum = two_sum(product, c);
        let rest = two_sum(sum.lo, error_of_product);
        let error = (sum.hi - nearest) + rest.hi;
        let error = if error == T::ZERO { rest.lo } else { error };
        if nearest == T::ZERO && sign(error) == Ordering::Equal && direction == Direction::Down {
            let both_positive = (a.is_negative() == b.is_negative()) && !c.is_negative();
            return if both_positive { T::ZERO } else { -T::ZERO };
        }
        by_error(direction, nearest, sign(error), finite)
    }
}
