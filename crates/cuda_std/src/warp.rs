//! Operations of the 32 threads of a warp: barrier, vote, match, reduce, shuffle.
//!
//! A warp runs one instruction for its 32 lanes while they agree on the way, so these exchanges need no shared memory
//! and no block barrier. Every operation but [`lane_id`] and [`activemask`] names its lanes in `mask` (bit `i` is lane `i`;
//! usually [`u32::MAX`]): each named lane that has not exited must come to the same call with the same mask.

pub mod matrix;
mod shuffle;

pub use shuffle::*;

use crate::ptx;

/// Waits until all lanes of `mask` arrive, and makes their memory accesses visible to each other.
///
/// # Safety
///
/// The calling lane must be in `mask`, and every lane of `mask` that has not exited must make this call with the same
/// mask.
#[inline(always)]
pub unsafe fn sync_warp(mask: u32) {
    // SAFETY: the caller's promise is the instruction's own.
    unsafe { ptx!("bar.warp.sync {mask};", mask = in(u32) mask; options(convergent)) };
}

/// This thread's lane within its warp, `0..32`.
#[inline(always)]
pub fn lane_id() -> u32 {
    let lane: u32;
    // SAFETY: reading a special register has no precondition.
    unsafe { ptx!("mov.u32 {lane}, %laneid;", lane = out(u32) lane; options(pure, nomem)) };
    lane
}

/// The lanes that execute this call together.
///
/// The scheduler decides which lanes are converged here: use it only for opportunistic work, never as the mask of lanes
/// that *should* be here.
#[inline(always)]
pub fn activemask() -> u32 {
    let mask: u32;
    // SAFETY: the instruction has no precondition.
    unsafe { ptx!("activemask.b32 {mask};", mask = out(u32) mask; options(nomem, convergent)) };
    mask
}

/// The operation of [`warp_reduce`].
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarpReductionOp {
    /// The sum, wrapping.
    Add,
    /// The smallest value.
    Min,
    /// The largest value.
    Max,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
}

/// Combines `value` over the lanes of `mask` with `op`; each of them gets the result.
///
/// One instruction (`redux.sync`), from `compute_80` on.
///
/// # Safety
///
/// As [`sync_warp`].
#[inline(always)]
pub unsafe fn warp_reduce<T: WarpReduceValue>(mask: u32, value: T, op: WarpReductionOp) -> T {
    // SAFETY: the caller's promise is the one asked for.
    unsafe { T::reduce(mask, value, op) }
}

/// A value that [`warp_reduce`] can combine: `i32` and `u32`.
pub trait WarpReduceValue: Sized {
    /// The operation of [`warp_reduce`].
    ///
    /// # Safety
    ///
    /// As [`sync_warp`].
    unsafe fn reduce(mask: u32, value: Self, op: WarpReductionOp) -> Self;
}

macro_rules! redux {
    ($instruction:literal, $type:ident, $value:ident, $mask:ident) => {{
        let result: $type;
        // SAFETY: the caller's promise is the instruction's own.
        unsafe { ptx!(concat!("redux.sync.", $instruction, " {result}, {value}, {mask};"),
            result = out($type) result, value = in($type) $value, mask = in(u32) $mask; options(nomem, convergent)) };
        result
    }};
}

impl WarpReduceValue for u32 {
    #[inline(always)]
    unsafe fn reduce(mask: u32, value: Self, op: WarpReductionOp) -> Self {
        match op {
            WarpReductionOp::Add => redux!("add.u32", u32, value, mask),
            WarpReductionOp::Min => redux!("min.u32", u32, value, mask),
            WarpReductionOp::Max => redux!("max.u32", u32, value, mask),
            WarpReductionOp::And => redux!("and.b32", u32, value, mask),
            WarpReductionOp::Or => redux!("or.b32", u32, value, mask),
            WarpReductionOp::Xor => redux!("xor.b32", u32, value, mask),
        }
    }
}

impl WarpReduceValue for i32 {
    #[inline(always)]
    unsafe fn reduce(mask: u32, value: Self, op: WarpReductionOp) -> Self {
        match op {
            WarpReductionOp::Add => redux!("add.s32", i32, value, mask),
            WarpReductionOp::Min => redux!("min.s32", i32, value, mask),
            WarpReductionOp::Max => redux!("max.s32", i32, value, mask),
            WarpReductionOp::And => redux!("and.b32", i32, value, mask),
            WarpReductionOp::Or => redux!("or.b32", i32, value, mask),
            WarpReductionOp::Xor => redux!("xor.b32", i32, value, mask),
        }
    }
}

/// The lanes of `mask` whose `value` equals the caller's, bit for bit.
///
/// From `compute_70` on. Floats are compared by their bits: `0.0` and `-0.0` differ, a NaN matches its own pattern.
///
/// # Safety
///
/// As [`sync_warp`].
#[inline(always)]
pub unsafe fn warp_match_any<T: WarpMatchValue>(mask: u32, value: T) -> u32 {
    // SAFETY: the caller's promise is the one asked for.
    unsafe { T::match_any(mask, value) }
}

/// `Some(mask)` if `value` is the same, bit for bit, in all lanes of `mask`.
///
/// From `compute_70` on.
///
/// # Safety
///
/// As [`sync_warp`].
#[inline(always)]
pub unsafe fn warp_match_all<T: WarpMatchValue>(mask: u32, value: T) -> Option<u32> {
    // SAFETY: the caller's promise is the one asked for.
    unsafe { T::match_all(mask, value) }
}

/// A value that lanes can compare: 32-bit and 64-bit integers and floats.
pub trait WarpMatchValue: Sized {
    /// Implements [`warp_match_any`].
    ///
    /// # Safety
    ///
    /// As [`sync_warp`].
    unsafe fn match_any(mask: u32, value: Self) -> u32;

    /// Implements [`warp_match_all`].
    ///
    /// # Safety
    ///
    /// As [`sync_warp`].
    unsafe fn match_all(mask: u32, value: Self) -> Option<u32>;
}

macro_rules! match_value {
    ($type:ident, $bits:ident, $width:literal, $to_bits:expr) => {
        impl WarpMatchValue for $type {
            #[inline(always)]
            unsafe fn match_any(mask: u32, value: Self) -> u32 {
                let bits: $bits = $to_bits(value);
                let lanes: u32;
                // SAFETY: the caller's promise is the instruction's own.
                unsafe { ptx!(concat!("match.any.sync.", $width, " {lanes}, {bits}, {mask};"),
                    lanes = out(u32) lanes, bits = in($bits) bits, mask = in(u32) mask; options(nomem, convergent)) };
                lanes
            }

            #[inline(always)]
            unsafe fn match_all(mask: u32, value: Self) -> Option<u32> {
                let bits: $bits = $to_bits(value);
                let lanes: u32;
                let all: u32;
                // SAFETY: the caller's promise is the instruction's own.
                unsafe { ptx!(
                    "{{",
                    ".reg .pred all;",
                    concat!("match.all.sync.", $width, " {lanes}|all, {bits}, {mask};"),
                    "selp.u32 {all}, 1, 0, all;",
                    "}}",
                    lanes = out(u32) lanes, all = out(u32) all, bits = in($bits) bits, mask = in(u32) mask;
                    options(nomem, convergent)) };
                (all != 0).then_some(lanes)
            }
        }
    };
}

match_value!(u32, u32, "b32", |value| value);
match_value!(i32, u32, "b32", |value: i32| value as u32);
match_value!(f32, u32, "b32", f32::to_bits);
match_value!(u64, u64, "b64", |value| value);
match_value!(i64, u64, "b64", |value: i64| value as u64);
match_value!(f64, u64, "b64", f64::to_bits);

macro_rules! vote {
    ($mode:literal, $mask:ident, $predicate:ident) => {{
        let result: u32;
        // SAFETY: the caller's promise is the instruction's own.
        unsafe { ptx!(
            "{{",
            ".reg .pred mine, ours;",
            "setp.ne.u32 mine, {predicate}, 0;",
            concat!("vote.sync.", $mode, ".pred ours, mine, {mask};"),
            "selp.u32 {result}, 1, 0, ours;",
            "}}",
            result = out(u32) result, predicate = in(u32) $predicate as u32, mask = in(u32) $mask;
            options(nomem, convergent)) };
        result != 0
    }};
}

/// Whether `predicate` is true in every lane of `mask`.
///
/// # Safety
///
/// As [`sync_warp`].
#[inline(always)]
pub unsafe fn warp_vote_all(mask: u32, predicate: bool) -> bool {
    vote!("all", mask, predicate)
}

/// Whether `predicate` is true in at least one lane of `mask`.
///
/// # Safety
///
/// As [`sync_warp`].
#[inline(always)]
pub unsafe fn warp_vote_any(mask: u32, predicate: bool) -> bool {
    vote!("any", mask, predicate)
}

/// The lanes of `mask` in which `predicate` is true, as bits.
///
/// # Safety
///
/// As [`sync_warp`].
#[inline(always)]
pub unsafe fn warp_vote_ballot(mask: u32, predicate: bool) -> u32 {
    let lanes: u32;
    // SAFETY: the caller's promise is the instruction's own.
    unsafe {
        ptx!(
        "{{",
        ".reg .pred mine;",
        "setp.ne.u32 mine, {predicate}, 0;",
        "vote.sync.ballot.b32 {lanes}, mine, {mask};",
        "}}",
        lanes = out(u32) lanes, predicate = in(u32) predicate as u32, mask = in(u32) mask;
        options(nomem, convergent))
    };
    lanes
}
