//! Shuffles: a lane reads another lane's register.

use crate::ptx;
use half::{bf16, f16};

/// The value of lane `lane_id - delta`, and whether that lane lies in the caller's section of `width` lanes (if not,
/// the value is the caller's own).
///
/// Values wider than 32 bits take one shuffle per 32 bits; narrower ones take a whole shuffle, so pack them.
///
/// # Panics
///
/// If `width` is not a power of two in `1..=32`.
///
/// # Safety
///
/// Every lane of `mask` that has not exited must make this call with the same mask, the caller being one of them; the
/// value read from a lane outside `mask` is unspecified.
#[inline(always)]
#[track_caller]
pub unsafe fn warp_shuffle_up<T: WarpShuffleValue>(mask: u32, value: T, delta: u32, width: u32) -> (T, bool) {
    // SAFETY: the caller's promise is the one asked for.
    unsafe { T::shuffle(WarpShuffleMode::Up, mask, value, delta, width) }
}

/// The value of lane `lane_id + delta`; else as [`warp_shuffle_up`].
///
/// # Panics
///
/// If `width` is not a power of two in `1..=32`.
///
/// # Safety
///
/// As [`warp_shuffle_up`].
#[inline(always)]
#[track_caller]
pub unsafe fn warp_shuffle_down<T: WarpShuffleValue>(
    mask: u32,
    value: T,
    delta: u32,
    width: u32,
) -> (T, bool) {
    // SAFETY: the caller's promise is the one asked for.
    unsafe { T::shuffle(WarpShuffleMode::Down, mask, value, delta, width) }
}

/// The value of lane `idx` of the caller's section of `width` lanes; else as [`warp_shuffle_up`].
///
/// # Panics
///
/// If `width` is not a power of two in `1..=32`.
///
/// # Safety
///
/// As [`warp_shuffle_up`].
#[inline(always)]
#[track_caller]
pub unsafe fn warp_shuffle_idx<T: WarpShuffleValue>(mask: u32, value: T, idx: u32, width: u32) -> (T, bool) {
    // SAFETY: the caller's promise is the one asked for.
    unsafe { T::shuffle(WarpShuffleMode::Idx, mask, value, idx, width) }
}

/// The value of lane `lane_id ^ lane_mask`; else as [`warp_shuffle_up`].
///
/// # Panics
///
/// If `width` is not a power of two in `1..=32`.
///
/// # Safety
///
/// As [`warp_shuffle_up`].
#[inline(always)]
#[track_caller]
pub unsafe fn warp_shuffle_xor<T: WarpShuffleValue>(
    mask: u32,
    value: T,
    lane_mask: u32,
    width: u32,
) -> (T, bool) {
    // SAFETY: the caller's promise is the one asked for.
    unsafe { T::shuffle(WarpShuffleMode::Xor, mask, value, lane_mask, width) }
}

/// Which lane a shuffle reads from.
#[doc(hidden)]
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarpShuffleMode {
    /// A lane given by its number.
    Idx = 0,
    /// A lower lane.
    Up = 1,
    /// A higher lane.
    Down = 2,
    /// The caller's lane number with bits flipped.
    Xor = 3,
}

/// A value that can be shuffled: integers of 8 to 128 bits and floats of 16 to 64.
pub trait WarpShuffleValue: Sized {
    /// The shuffle with this `mode`; `b` is the operand that the mode takes.
    ///
    /// # Safety
    ///
    /// As [`warp_shuffle_up`].
    #[track_caller]
    unsafe fn shuffle(mode: WarpShuffleMode, mask: u32, value: Self, b: u32, width: u32) -> (Self, bool);
}

/// The last operand of `shfl.sync`: the bits of a lane number that name its section, and the bound within it.
///
/// The bound is the last lane of a section, except upwards, where the lanes go down and it is the first. With 31 there
/// too, as upstream has it, `shfl.up` finds every source out of range.
#[track_caller]
fn clamp_and_section(mode: WarpShuffleMode, width: u32) -> u32 {
    assert!(width.is_power_of_two() && width <= 32, "shuffle width must be a power of two, at most 32");
    let bound = if mode == WarpShuffleMode::Up { 0 } else { 31 };
    bound | (32 - width) << 8
}

macro_rules! shfl {
    ($mode:literal, $mask:ident, $value:ident, $b:ident, $c:ident) => {{
        let shuffled: u32;
        let in_range: u32;
        // SAFETY: the caller's promise is the instruction's own.
        unsafe { ptx!(
            "{{",
            ".reg .pred p;",
            concat!("shfl.sync.", $mode, ".b32 {shuffled}|p, {value}, {b}, {c}, {mask};"),
            "selp.u32 {in_range}, 1, 0, p;",
            "}}",
            shuffled = out(u32) shuffled, in_range = out(u32) in_range,
            value = in(u32) $value, b = in(u32) $b, c = in(u32) $c, mask = in(u32) $mask;
            options(nomem, convergent)) };
        (shuffled, in_range != 0)
    }};
}

#[inline(always)]
#[track_caller]
unsafe fn shuffle_32(mode: WarpShuffleMode, mask: u32, value: u32, b: u32, width: u32) -> (u32, bool) {
    let c = clamp_and_section(mode, width);
    match mode {
        WarpShuffleMode::Idx => shfl!("idx", mask, value, b, c),
        WarpShuffleMode::Up => shfl!("up", mask, value, b, c),
        WarpShuffleMode::Down => shfl!("down", mask, value, b, c),
        WarpShuffleMode::Xor => shfl!("bfly", mask, value, b, c),
    }
}

impl WarpShuffleValue for u32 {
    #[inline(always)]
    #[track_caller]
    unsafe fn shuffle(mode: WarpShuffleMode, mask: u32, value: Self, b: u32, width: u32) -> (Self, bool) {
        // SAFETY: the caller's promise is the one asked for.
        unsafe { shuffle_32(mode, mask, value, b, width) }
    }
}

impl WarpShuffleValue for u64 {
    #[inline(always)]
    #[track_caller]
    unsafe fn shuffle(mode: WarpShuffleMode, mask: u32, value: Self, b: u32, width: u32) -> (Self, bool) {
        // SAFETY: the caller's promise is the one asked for, twice.
        let (low, in_range) = unsafe { shuffle_32(mode, mask, value as u32, b, width) };
        // SAFETY: as above.
        let (high, _) = unsafe { shuffle_32(mode, mask, (value >> 32) as u32, b, width) };
        (u64::from(high) << 32 | u64::from(low), in_range)
    }
}

impl WarpShuffleValue for u128 {
    #[inline(always)]
    #[track_caller]
    unsafe fn shuffle(mode: WarpShuffleMode, mask: u32, value: Self, b: u32, width: u32) -> (Self, bool) {
        // SAFETY: the caller's promise is the one asked for, twice.
        let (low, in_range) = unsafe { u64::shuffle(mode, mask, value as u64, b, width) };
        // SAFETY: as above.
        let (high, _) = unsafe { u64::shuffle(mode, mask, (value >> 64) as u64, b, width) };
        (u128::from(high) << 64 | u128::from(low), in_range)
    }
}

macro_rules! shuffle_as {
    ($($type:ident as $carrier:ident: $to:expr, $from:expr;)*) => {$(
        impl WarpShuffleValue for $type {
            #[inline(always)]
            #[track_caller]
            unsafe fn shuffle(mode: WarpShuffleMode, mask: u32, value: Self, b: u32, width: u32) -> (Self, bool) {
                // SAFETY: the caller's promise is the one asked for.
                let (bits, in_range) = unsafe { $carrier::shuffle(mode, mask, $to(value), b, width) };
                ($from(bits), in_range)
            }
        }
    )*};
}

shuffle_as! {
    u8 as u32: u32::from, |bits| bits as u8;
    u16 as u32: u32::from, |bits| bits as u16;
    i8 as u32: |value| value as u8 as u32, |bits| bits as i8;
    i16 as u32: |value| value as u16 as u32, |bits| bits as i16;
    i32 as u32: |value| value as u32, |bits| bits as i32;
    i64 as u64: |value| value as u64, |bits| bits as i64;
    i128 as u128: |value| value as u128, |bits| bits as i128;
    f32 as u32: f32::to_bits, f32::from_bits;
    f64 as u64: f64::to_bits, f64::from_bits;
    f16 as u32: |value: f16| u32::from(value.to_bits()), |bits| f16::from_bits(bits as u16);
    bf16 as u32: |value: bf16| u32::from(value.to_bits()), |bits| bf16::from_bits(bits as u16);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_operand_as_nvcc_writes_it() {
        // nvcc's code for `__shfl_up_sync(m, x, d, w)` and its siblings.
        assert_eq!(clamp_and_section(WarpShuffleMode::Up, 32), 0);
        assert_eq!(clamp_and_section(WarpShuffleMode::Up, 8), 0x1800);
        assert_eq!(clamp_and_section(WarpShuffleMode::Down, 32), 0x1f);
        assert_eq!(clamp_and_section(WarpShuffleMode::Idx, 16), 0x101f);
        assert_eq!(clamp_and_section(WarpShuffleMode::Xor, 1), 0x1f1f);
    }

    #[test]
    #[should_panic(expected = "power of two")]
    fn width_of_three_is_refused() {
        clamp_and_section(WarpShuffleMode::Xor, 3);
    }

    #[test]
    #[should_panic(expected = "power of two")]
    fn width_of_sixty_four_is_refused() {
        clamp_and_section(WarpShuffleMode::Xor, 64);
    }
}
