//! Devices that work together, and the transport of their data.

use std::ops::Range;

use cust::context::CurrentContext;
use cust::memory::{DeviceBuffer, DeviceCopy, DeviceSlice};
use warpsmith_collectives::{Communicator, parts};
use warpsmith_launch::extra::peer::{self, DeviceAddress, StreamEvent};
use warpsmith_launch::{Device, ErrorContext, Stream};

use crate::error::Error;

/// The path of data from device to device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// The copy engines; all devices belong to this process.
    CopyEngines,
    /// The collectives.
    Collectives,
}

/// The ranks of this process, each with a second stream for communication next to the device's own.
pub struct DeviceGroup<'d> {
    pub(crate) ranks: &'d [Communicator<'d>],
    pub(crate) sides: Vec<Stream>,
    pub(crate) transport: Transport,
}

impl<'d> DeviceGroup<'d> {
    /// All of this process's ranks.
    pub fn new(ranks: &'d [Communicator<'d>], transport: Transport) -> Result<Self, Error> {
        let size = ranks.first().map_or(0, Communicator::size);
        if size == 0 {
            return Err(Error::Problem("a group has at least one rank".into()));
        }
        if transport == Transport::CopyEngines {
            if ranks.len() != size {
                return Err(Error::Problem(format!(
                    "copy engines reach the devices of one process, and this one has {} of {size}",
                    ranks.len()
                )));
            }
            for (one, other) in pairs(ranks) {
                let doing = || format!("let device {} reach device {}", one.index(), other.index());
                // Without peer access copies pass through the host: slower, but correct.
                if peer::can_access_peer(one, other).context(doing())? {
                    peer::enable_peer_access(one, other).context(doing())?;
                }
            }
        }
        let side = |rank: &Communicator<'d>| {
            rank.device().enter()?;
            Stream::new().context("make a stream beside the device's own")
        };
        let sides = ranks.iter().map(side).collect::<Result<_, _>>()?;
        Ok(Self { ranks, sides, transport })
    }

    /// The number of ranks, in this process and in others.
    pub fn size(&self) -> usize {
        self.ranks[0].size()
    }

    /// This process's ranks.
    pub fn ranks(&self) -> &'d [Communicator<'d>] {
        self.ranks
    }

    /// Waits until everything has finished, but not longer than the ranks' timeout.
    pub fn synchronize(&self) -> Result<(), Error> {
        for (rank, side) in self.ranks.iter().zip(&self.sides) {
            rank.device().enter()?;
            rank.synchronize_stream(side)?;
            rank.synchronize()?;
        }
        Ok(())
    }

    /// Returns when nothing runs on the group's streams any more, after errors, too.
    pub(crate) fn finish(&self) {
        for (rank, side) in self.ranks.iter().zip(&self.sides) {
            // An error is the next call's, too: the ranks keep it.
            let _ = rank.finish(side);
            let _ = rank.finish(rank.device().stream());
        }
    }

    /// Waits for uploads and fills, for which the devices' streams would not wait.
    pub(crate) fn settle(&self) -> Result<(), Error> {
        for rank in self.ranks {
            rank.device().enter()?;
            CurrentContext::synchronize().context("finish what was uploaded")?;
        }
        Ok(())
    }

    /// The current end of a rank's own stream, as an event to wait for.
    pub(crate) fn event(&self, local: usize) -> Result<StreamEvent, Error> {
        let device = self.ranks[local].device();
        Ok(StreamEvent::record(device, device.stream()).context("record an event on the device's stream")?)
    }

    /// The current end of a rank's second stream.
    pub(crate) fn side_event(&self, local: usize) -> Result<StreamEvent, Error> {
        let device = self.ranks[local].device();
        Ok(StreamEvent::record(device, &self.sides[local])
            .context("record an event on the stream beside it")?)
    }

    /// Makes the second streams wait for everything before `events`: on the devices' own streams, or on the others.
    pub(crate) fn sides_after(&self, events: &[StreamEvent]) -> Result<(), Error> {
        wait(self.sides.iter(), events)
    }

    pub(crate) fn mains_after(&self, events: &[StreamEvent]) -> Result<(), Error> {
        wait(self.ranks.iter().map(|rank| rank.device().stream()), events)
    }

    pub(crate) fn events(&self) -> Result<Vec<StreamEvent>, Error> {
        (0..self.ranks.len()).map(|local| self.event(local)).collect()
    }

    pub(crate) fn side_events(&self) -> Result<Vec<StreamEvent>, Error> {
        (0..self.ranks.len()).map(|local| self.side_event(local)).collect()
    }

    /// Copies rows from one rank's memory to another's on the receiver's second stream, and counts them.
    ///
    /// # Safety
    /// Both sides must have these rows until the copy is done, and nothing else may write them in the meantime.
    pub(crate) unsafe fn copy(
        &self,
        (to, to_address, to_pitch): (usize, u64, usize),
        (from, from_address, from_pitch): (usize, u64, usize),
        (bytes, rows): (usize, usize),
    ) -> Result<(), Error> {
        let device = self.ranks[to].device();
        device.enter()?;
        let to_place = DeviceAddress { device, address: to_address };
        let from_place = DeviceAddress { device: self.ranks[from].device(), address: from_address };
        // SAFETY: the caller's promise.
        let copied = unsafe {
            match (to_pitch, from_pitch) {
                _ if rows == 1 => peer::copy(to_place, from_place, bytes, &self.sides[to]),
                (to_pitch, from_pitch) if (to_pitch, from_pitch) == (bytes, bytes) => {
                    peer::copy(to_place, from_place, bytes * rows, &self.sides[to])
                }
                pitches => peer::copy_rows(to_place, from_place, (bytes, rows), pitches, &self.sides[to]),
            }
        };
        copied.context("copy from another device")?;
        let ranks = [from, to].map(|local| self.ranks[local].rank());
        self.ranks[to].traffic().count(ranks[0], ranks[1], (bytes * rows) as u64);
        Ok(())
    }
}

fn wait<'s>(streams: impl Iterator<Item = &'s Stream>, events: &[StreamEvent]) -> Result<(), Error> {
    for stream in streams {
        for event in events {
            event.make_wait(stream).context("let a stream wait for another")?;
        }
    }
    Ok(())
}

fn pairs<'d>(ranks: &'d [Communicator<'d>]) -> impl Iterator<Item = (&'d Device, &'d Device)> {
    let others = |one: &'d Communicator<'d>| {
        ranks
            .iter()
            .filter(move |other| other.rank() != one.rank())
            .map(move |other| (one.device(), other.device()))
    };
    ranks.iter().flat_map(others)
}

/// A rank's share of `count` rows or columns: whole units of 256 if there are enough, else of 64 or 8, so that shares
/// begin where the fast kernels' tiles and vectors do.
pub fn shares(count: usize, ranks: usize, rank: usize) -> Range<usize> {
    let unit = [256, 64, 8].into_iter().find(|unit| count >= 2 * unit * ranks).unwrap_or(1);
    let units = parts(count.div_ceil(unit), ranks, rank);
    (units.start * unit).min(count)..(units.end * unit).min(count)
}

/// An uninitialised buffer on the current device, for numbers: any bits are valid.
pub(crate) fn room<T: DeviceCopy>(len: usize, what: &str) -> Result<DeviceBuffer<T>, Error> {
    // SAFETY: runs write all of it before they read any of it, and until then any bits are numbers.
    Ok(unsafe { DeviceBuffer::uninitialized(len) }.context(format!("allocate room for {what}"))?)
}

/// Part of a buffer.
pub(crate) fn slice<T: DeviceCopy>(
    buffer: &DeviceSlice<T>,
    range: Range<usize>,
) -> Result<DeviceSlice<T>, Error> {
    if range.end > buffer.len() || range.start > range.end {
        let has = buffer.len();
        return Err(Error::Problem(format!("elements {range:?} are needed of a buffer that has {has}")));
    }
    Ok(buffer.index(range))
}

#[cfg(test)]
mod tests {
    use super::shares;

    #[test]
    fn shares_cover_all_and_begin_at_units() {
        for (count, ranks) in [(0, 2), (1, 3), (7, 2), (1000, 3), (1001, 4), (8192, 3), (16384, 2), (5000, 4)]
        {
            let all: Vec<_> = (0..ranks).map(|rank| shares(count, ranks, rank)).collect();
            assert_eq!((all[0].start, all[ranks - 1].end), (0, count), "{count} over {ranks}");
            assert!(all.windows(2).all(|pair| pair[0].end == pair[1].start));
        }
        assert_eq!(shares(16384, 2, 1), 8192..16384);
        // Of 16 units of 64, the first has six.
        assert_eq!(shares(1000, 3, 1), 384..704);
    }
}
