//! Definedness that bulk copies carry from their source to their target.

use std::ops::Range;

use virtual_gpu::observer::At;
use virtual_gpu::tensor_map::Swizzle;

use crate::written::Written;

/// A part of what a copy moves.
#[derive(Debug)]
pub struct Part {
    /// Its first byte in memory.
    pub address: u64,
    /// How many.
    pub bytes: u32,
    /// Where in the copy they lie, before a swizzle.
    pub within: u32,
    /// How they trade places in memory.
    pub swizzle: Swizzle,
}

impl Part {
    /// From an address in memory to the byte of the part that lies there, and back: two bytes trade places.
    fn swizzled(&self, address: u64) -> u64 {
        let low = address as u32;
        address ^ u64::from(low ^ self.swizzle.place(low))
    }

    /// A range of addresses in runs that stay together.
    fn runs(&self, start: u64, end: u64) -> impl Iterator<Item = Range<u64>> + use<> {
        let together = if self.swizzle == Swizzle::None { u64::MAX } else { 16 };
        let mut at = start;
        std::iter::from_fn(move || {
            let next = end.min((at / together + 1).saturating_mul(together));
            (at < end).then(|| std::mem::replace(&mut at, next)..next)
        })
    }
}

/// The copy that an instruction makes: it is told of its reads first, then of its writes.
#[derive(Debug, Default)]
pub struct Carried {
    /// Instruction, warp and lane.
    by: (u32, u32, u32),
    /// Pieces of the copy that were never written at the source.
    missing: Vec<Range<u32>>,
    /// Whether a write of it was told: another read is the next copy's.
    writes: bool,
}

impl Carried {
    /// A read from memory of which `source` was written.
    pub fn read(&mut self, at: At, source: &mut Written, part: &Part) {
        let by = (at.pc, at.warp, at.lanes);
        if self.by != by || self.writes {
            self.by = by;
            self.missing.clear();
            self.writes = false;
        }
        let end = part.address.saturating_add(part.bytes.into());
        let mut from = part.address;
        while let Some(start) = source.first_missing(from, end.saturating_sub(from)) {
            from = start + 1;
            while from < end && source.missing(from, 1) != 0 {
                from += 1;
            }
            for run in part.runs(start, from) {
                let first = part.within + (part.swizzled(run.start) - part.address) as u32;
                self.missing.push(first..first + (run.end - run.start) as u32);
            }
        }
    }

    /// A write to memory of which `target` was written. Whether it changes what is there and one of the two was not.
    pub fn write(&mut self, at: At, target: &mut Written, part: &Part, reduces: bool) -> bool {
        self.writes = true;
        let here = part.within..part.within + part.bytes;
        let of_this = self.by == (at.pc, at.warp, at.lanes);
        let missing = self.missing.iter().filter(|_| of_this).filter_map(|piece| {
            let (start, end) = (piece.start.max(here.start), piece.end.min(here.end));
            let at = |within: u32| part.address + u64::from(within - here.start);
            (start < end).then(|| part.runs(at(start), at(end)))
        });
        let missing: Vec<(u64, u64)> =
            missing.flatten().map(|run| (part.swizzled(run.start), run.end - run.start)).collect();
        let decides = reduces
            && (!missing.is_empty() || target.first_missing(part.address, part.bytes.into()).is_some());
        target.set(part.address, part.bytes.into(), true);
        if !reduces {
            missing.into_iter().for_each(|(address, bytes)| target.set(address, bytes, false));
        }
        decides
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(pc: u32) -> At {
        At { pc, warp: 0, lanes: 1 }
    }

    fn part(address: u64, bytes: u32, within: u32) -> Part {
        Part { address, bytes, within, swizzle: Swizzle::None }
    }

    #[test]
    fn what_was_never_written_stays_so_where_it_comes_to() {
        let (mut source, mut target, mut copy) = (Written::default(), Written::default(), Carried::default());
        source.set(0, 64, true);
        source.set(20, 4, false);
        copy.read(at(1), &mut source, &part(0, 32, 0));
        copy.read(at(1), &mut source, &part(32, 40, 32));
        assert!(!copy.write(at(1), &mut target, &part(128, 72, 0), false));
        assert_eq!(target.missing(128 + 16, 16), 0xF0);
        assert_eq!(target.first_missing(128 + 24, 48), Some(128 + 64));
        // The second row of a box by itself.
        copy.write(at(1), &mut target, &part(0, 32, 16), false);
        assert_eq!(target.missing(0, 16), 0xF0);
        // Another instruction's data is not that.
        copy.write(at(2), &mut target, &part(0, 32, 16), false);
        assert_eq!(target.first_missing(0, 32), None);
        // Nor is the next copy of the same instruction.
        copy.read(at(1), &mut source, &part(0, 16, 0));
        copy.write(at(1), &mut target, &part(0, 32, 0), false);
        assert_eq!(target.first_missing(0, 32), None);
    }

    #[test]
    fn what_a_swizzle_moves_goes_along() {
        let (mut source, mut target, mut copy) = (Written::default(), Written::default(), Carried::default());
        source.set(0, 1024, true);
        // Of the box's line 3, pieces 1 and half of 2.
        source.set(3 * 128 + 16, 24, false);
        let swizzled = |address| Part { address, bytes: 1024, within: 0, swizzle: Swizzle::B128 };
        copy.read(at(1), &mut source, &part(0, 1024, 0));
        copy.write(at(1), &mut target, &swizzled(4096), false);
        // Pieces 1 and 2 of line 3 lie in places 2 and 1.
        assert_eq!(target.missing(4096 + 3 * 128 + 16, 32), 0xFFFF_00FF);
        assert_eq!((0..1024).filter(|&byte| target.missing(4096 + byte, 1) != 0).count(), 24);
        // And back.
        let mut back = Written::default();
        copy.read(at(2), &mut target, &swizzled(4096));
        copy.write(at(2), &mut back, &part(0, 1024, 0), false);
        assert_eq!(back.missing(3 * 128 + 16, 32), 0x00FF_FFFF);
        assert_eq!((0..1024).filter(|&byte| back.missing(byte, 1) != 0).count(), 24);
    }

    #[test]
    fn a_reduction_needs_both_sides() {
        let (mut source, mut target, mut copy) = (Written::default(), Written::default(), Carried::default());
        source.set(0, 16, true);
        copy.read(at(1), &mut source, &part(0, 16, 0));
        assert!(copy.write(at(1), &mut target, &part(0, 16, 0), true), "nothing was there");
        assert!(!copy.write(at(1), &mut target, &part(0, 16, 0), true));
        copy.read(at(1), &mut source, &part(8, 16, 0));
        assert!(copy.write(at(1), &mut target, &part(0, 16, 0), true), "half of the source");
    }
}
