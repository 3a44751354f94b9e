//! Copies, and addresses: `mov`, `cvta`, `isspacep`, `mapa`, `getctarank`.

use ptx::ScalarType;

use super::lanewise::{each2, map1, map2, test1};
use super::{Evaluate, Unknown, rows};
use crate::form::arithmetic::Arithmetic;
use crate::form::qualifiers::{Qualifiers, Region};
use crate::form::registers::{NONE, Regs, Slot, lanes_of};
use crate::memory::window;

/// `mov`: one register, several into one, one into several, or several side by side.
pub(super) fn copy(o: &Arithmetic, ty: ScalarType) -> Result<Evaluate, Unknown> {
    match (&o.targets[..], &o.sources[..]) {
        (&[t], &[a]) => Ok(copy_one(t, a, rows(ty))),
        _ if ty == ScalarType::Pred => Err(Unknown::ty(ty)),
        (&[t], parts @ [_, _, ..]) => Ok(pack(t, parts.into(), ty)),
        (parts @ [_, _, ..], &[a]) => Ok(unpack(parts.into(), a, ty)),
        (targets, sources) if targets.len() == sources.len() && targets.len() <= MOST => {
            Ok(copy_parts(targets.into(), sources.into(), rows(ty)))
        }
        _ => Err(Unknown::form()),
    }
}

fn copy_one(t: Slot, a: Slot, rows: u32) -> Evaluate {
    match rows {
        0 => Box::new(move |r, mask| {
            // SAFETY: decoding found both to be predicates.
            unsafe { r.set_predicate(t, r.predicate(a), mask) }
        }),
        1 => map1(t, a, |a: u32| a),
        2 => map1(t, a, |a: u64| a),
        _ => map1(t, a, |a: u128| a),
    }
}

/// A lane's value of a register of `rows` rows.
///
/// # Safety
/// `slot` must be a register of `rows` rows of the frame's function.
unsafe fn read(r: Regs, slot: Slot, rows: u32, lane: usize) -> u128 {
    // SAFETY: this function's contract.
    unsafe {
        match rows {
            1 => r.get::<u32>(slot, lane).into(),
            2 => r.get::<u64>(slot, lane).into(),
            _ => r.get::<u128>(slot, lane),
        }
    }
}

/// # Safety
/// As [`read`].
unsafe fn write(r: Regs, slot: Slot, rows: u32, lane: usize, value: u128) {
    // SAFETY: this function's contract.
    unsafe {
        match rows {
            1 => r.set(slot, lane, value as u32),
            2 => r.set(slot, lane, value as u64),
            _ => r.set(slot, lane, value),
        }
    }
}

/// Parts of a `mov.v4`.
const MOST: usize = 4;

/// All are read before any is written.
fn copy_parts(targets: Box<[Slot]>, sources: Box<[Slot]>, rows: u32) -> Evaluate {
    Box::new(move |r, mask| {
        for i in lanes_of(mask) {
            let mut values = [0; MOST];
            // SAFETY: decoding gave the registers their widths.
            unsafe {
                for (value, &source) in values.iter_mut().zip(&sources) {
                    *value = read(r, source, rows, i);
                }
                for (&value, &target) in values.iter().zip(&targets) {
                    write(r, target, rows, i, value);
                }
            }
        }
    })
}

/// Bits of each part of a type, and their rows.
fn part(ty: ScalarType, count: usize) -> (u32, u32) {
    let bits = ty.size() as u32 * 8 / count as u32;
    (bits, (bits / 32).max(1))
}

/// `mov.b64 d, {a, b}`
fn pack(t: Slot, parts: Box<[Slot]>, ty: ScalarType) -> Evaluate {
    let rows = rows(ty);
    let (bits, part_rows) = part(ty, parts.len());
    if let (&[low, high], 2, 1) = (&parts[..], rows, part_rows) {
        return map2(t, low, high, |low: u32, high: u32| u64::from(high) << 32 | u64::from(low));
    }
    Box::new(move |r, mask| {
        for i in lanes_of(mask) {
            // SAFETY: decoding gave the registers their widths.
            unsafe {
                let whole = (0..).zip(&parts).fold(0, |whole, (k, &slot)| {
                    whole | (read(r, slot, part_rows, i) & ((1 << bits) - 1)) << (k * bits)
                });
                write(r, t, rows, i, whole);
            }
        }
    })
}

/// `mov.b64 {a, b}, d`
fn unpack(parts: Box<[Slot]>, a: Slot, ty: ScalarType) -> Evaluate {
    let rows = rows(ty);
    let (bits, part_rows) = part(ty, parts.len());
    Box::new(move |r, mask| {
        for i in lanes_of(mask) {
            // SAFETY: decoding gave the registers their widths.
            unsafe {
                let whole = read(r, a, rows, i);
                for (k, &slot) in (0..).zip(&parts) {
                    if slot != NONE {
                        write(r, slot, part_rows, i, whole >> (k * bits) & ((1 << bits) - 1));
                    }
                }
            }
        }
    })
}

/// `cvta`, `isspacep`, `mapa`
pub(super) fn address(o: &Arithmetic) -> Result<Evaluate, Unknown> {
    let t = o.target();
    match o.qualifiers {
        Qualifiers::Address { window, back } => {
            let [a] = o.sources()?;
            Ok(match (window, back) {
                (None, _) => copy_one(t, a, 2),
                (Some(start), false) => map1(t, a, move |a: u64| a.wrapping_add(start)),
                (Some(start), true) => map1(t, a, move |a: u64| a.wrapping_sub(start)),
            })
        }
        Qualifiers::IsSpace { wide, space } => {
            let [a] = o.sources()?;
            let within = move |a: u64| lies_in(space, a);
            Ok(match wide {
                false => test1(t, a, move |a: u32| within(a.into())),
                true => test1(t, a, within),
            })
        }
        Qualifiers::MapAddress { ty, generic } => {
            let [a, rank] = o.sources()?;
            let start = if generic { window::SHARED } else { 0 };
            let low = (1u64 << window::SHARED_OFFSET_BITS) - 1;
            let map = move |a: u64, rank: u32| {
                let offset = a.wrapping_sub(start) & low;
                start
                    .wrapping_add(u64::from(rank.wrapping_add(1) & 0xff) << window::SHARED_OFFSET_BITS)
                    .wrapping_add(offset)
            };
            Ok(match rows(ty) {
                1 => each2(t, a, rank, move |a: u32, rank: u32| map(a.into(), rank) as u32),
                _ => each2(t, a, rank, map),
            })
        }
        _ => Err(Unknown::form()),
    }
}

fn lies_in(space: Region, a: u64) -> bool {
    match space {
        Region::OwnShared => {
            window::holds(window::SHARED, a) && (a - window::SHARED) >> window::SHARED_OFFSET_BITS == 0
        }
        Region::Window(start) => window::holds(start, a),
        Region::Constant => (window::CONSTANTS..window::FIRST).contains(&a),
        // The parameters' window counts as global memory.
        Region::Global => (a != 0 && a < window::CONSTANTS) || window::holds(window::PARAM, a),
    }
}

/// `getctarank d, a`: which block of the cluster an address belongs to. The second source is the rank of the own block.
pub(super) fn cta_rank(o: &Arithmetic, ty: ScalarType) -> Result<Evaluate, Unknown> {
    let (t, [a, own]) = (o.target(), o.sources()?);
    let rank = |a: u64, own: u32| match (a >> window::SHARED_OFFSET_BITS) as u32 & 0xff {
        0 => own,
        rank => rank - 1,
    };
    Ok(match rows(ty) {
        1 => each2(t, a, own, move |a: u32, own: u32| rank(a.into(), own)),
        _ => each2(t, a, own, rank),
    })
}
