//! What bulk copies carry of definedness from their source to where they write.

use std::ops::Range;

use virtual_gpu::observer::At;

use crate::written::Written;

/// A part of what a copy moves.
#[derive(Debug)]
pub struct Part {
    /// Its first byte in memory.
    pub address: u64,
    /// How many.
    pub bytes: u32,
    /// Where in the copy they lie; `None` if that is not known.
    pub within: Option<u32>,
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
        let Some(within) = part.within else { return };
        let end = part.address.saturating_add(part.bytes.into());
        let place = |address: u64| within + (address - part.address) as u32;
        let mut from = part.address;
        while let Some(start) = source.first_missing(from, end.saturating_sub(from)) {
            from = start + 1;
            while from < end && source.missing(from, 1) != 0 {
                from += 1;
            }
            self.missing.push(place(start)..place(from));
        }
    }

    /// A write to memory of which `target` was written. Whether it changes what is there and one of the two was not.
    pub fn write(&mut self, at: At, target: &mut Written, part: &Part, reduces: bool) -> bool {
        self.writes = true;
        let here = part.within.map(|start| start..start + part.bytes);
        let of_this = self.by == (at.pc, at.warp, at.lanes);
        let missing = self.missing.iter().filter(|_| of_this).filter_map(|piece| {
            let here = here.as_ref()?;
            let (start, end) = (piece.start.max(here.start), piece.end.min(here.end));
            (start < end).then(|| (part.address + u64::from(start - here.start), u64::from(end - start)))
        });
        let missing: Vec<(u64, u64)> = missing.collect();
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

    fn part(address: u64, bytes: u32, within: Option<u32>) -> Part {
        Part { address, bytes, within }
    }

    #[test]
    fn what_was_never_written_stays_so_where_it_comes_to() {
        let (mut source, mut target, mut copy) = (Written::default(), Written::default(), Carried::default());
        source.set(0, 64, true);
        source.set(20, 4, false);
        copy.read(at(1), &mut source, &part(0, 32, Some(0)));
        copy.read(at(1), &mut source, &part(32, 40, Some(32)));
        assert!(!copy.write(at(1), &mut target, &part(128, 72, Some(0)), false));
        assert_eq!(target.missing(128 + 16, 16), 0xF0);
        assert_eq!(target.first_missing(128 + 24, 48), Some(128 + 64));
        // The second row of a box by itself.
        copy.write(at(1), &mut target, &part(0, 32, Some(16)), false);
        assert_eq!(target.missing(0, 16), 0xF0);
        // Another instruction's data is not that.
        copy.write(at(2), &mut target, &part(0, 32, Some(16)), false);
        assert_eq!(target.first_missing(0, 32), None);
        // Nor is the next copy of the same instruction.
        copy.read(at(1), &mut source, &part(0, 16, Some(0)));
        copy.write(at(1), &mut target, &part(0, 32, Some(0)), false);
        assert_eq!(target.first_missing(0, 32), None);
    }

    #[test]
    fn a_reduction_needs_both_sides() {
        let (mut source, mut target, mut copy) = (Written::default(), Written::default(), Carried::default());
        source.set(0, 16, true);
        copy.read(at(1), &mut source, &part(0, 16, Some(0)));
        assert!(copy.write(at(1), &mut target, &part(0, 16, Some(0)), true), "nothing was there");
        assert!(!copy.write(at(1), &mut target, &part(0, 16, Some(0)), true));
        copy.read(at(1), &mut source, &part(8, 16, Some(0)));
        assert!(copy.write(at(1), &mut target, &part(0, 16, Some(0)), true), "half of the source");
    }
}
