//! The functions of `atom` and `red`, and the reductions of `redux`.

use super::float::{self, Mode};
use super::half::{self, Half};

/// `atom.inc.u32`.
#[inline]
pub fn inc(old: u32, limit: u32) -> u32 {
    if old >= limit { 0 } else { old + 1 }
}

/// `atom.dec.u32`.
#[inline]
pub fn dec(old: u32, limit: u32) -> u32 {
    if old == 0 || old > limit { limit } else { old - 1 }
}

/// `atom.add.f32`: global memory flushes subnormals (operands and result), shared memory keeps them.
#[inline]
pub fn add_f32(old: f32, b: f32, shared: bool) -> f32 {
    float::add_f32(old, b, Mode { ftz: !shared, ..Mode::RN })
}

/// `atom.add.f64`. In global memory it leaves a NaN as it is; in shared memory it is a loop around `add`, of the new
/// value and the old.
#[inline]
pub fn add_f64(old: f64, b: f64, shared: bool) -> f64 {
    if shared {
        float::add_f64(b, old, super::Round::Nearest)
    } else if b.is_nan() {
        b
    } else if old.is_nan() {
        old
    } else {
        float::add_f64(old, b, super::Round::Nearest)
    }
}

/// `atom.add.noftz.f16` and `.bf16`; the `x2` forms with [`half::packed2`].
#[inline]
pub fn add_half<H: Half>(old: u16, b: u16) -> u16 {
    half::add::<H>(old, b, half::Mode::default())
}

/// `red.min/.max.noftz.f16` and `.bf16` (vector forms).
#[inline]
pub fn min_max_half<H: Half>(old: u16, b: u16, max: bool) -> u16 {
    half::min_max::<H>(old, b, float::MinMax { max, ..Default::default() })
}

/// The operations of `redux.sync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Redux {
    Add,
    MinU32,
    MaxU32,
    MinS32,
    MaxS32,
    /// `.and`
    And,
    /// `.or`
    Or,
    Xor,
}

/// Joins two lanes' values.
#[inline]
pub fn redux(op: Redux, a: u32, b: u32) -> u32 {
    match op {
        Redux::Add => a.wrapping_add(b),
        Redux::MinU32 => a.min(b),
        Redux::MaxU32 => a.max(b),
        Redux::MinS32 => (a as i32).min(b as i32) as u32,
        Redux::MaxS32 => (a as i32).max(b as i32) as u32,
        Redux::And => a & b,
        Redux::Or => a | b,
        Redux::Xor => a ^ b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_wrap_at_their_limit() {
        assert_eq!((inc(3, 5), inc(5, 5), inc(9, 5)), (4, 0, 0));
        assert_eq!((dec(3, 5), dec(0, 5), dec(9, 5)), (2, 5, 5));
        assert_eq!(inc(u32::MAX, u32::MAX), 0);
    }

    #[test]
    fn only_shared_memory_keeps_subnormals() {
        let tiny = f32::from_bits(1);
        assert_eq!(add_f32(tiny, tiny, false), 0.0);
        assert_eq!(add_f32(tiny, tiny, true).to_bits(), 2);
    }
}
