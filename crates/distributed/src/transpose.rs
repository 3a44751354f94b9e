//! The transpose of a matrix whose rows are distributed: each device transposes its own, and all exchange.
//!
//! A device's rows, transposed, are a strip of columns of the result. The rows of that strip for another device are
//! contiguous, so that device takes them in one piece, and puts them next to the strips of the others.

use std::ops::Range;

use cust::memory::{DeviceBuffer, DeviceCopy};
use warpsmith_collectives::{Communicator, Element, together_async};
use warpsmith_kernels::transpose;
use warpsmith_launch::{BufferSlice, BufferSliceMut, ErrorContext};

use crate::error::Error;
use crate::group::{DeviceGroup, Transport, room, shares, slice};

/// The transpose of rows × cols elements, with rows on each device before and after.
pub struct Transpose<'t, 'd, T: DeviceCopy> {
    group: &'t DeviceGroup<'d>,
    extents: (usize, usize),
    members: Vec<TransposeRank<T>>,
}

/// One device's part.
struct TransposeRank<T: DeviceCopy> {
    from: DeviceBuffer<T>,
    /// Its rows, transposed.
    strip: DeviceBuffer<T>,
    /// The others' pieces as the collectives deliver them, in rank order.
    come: DeviceBuffer<T>,
    to: DeviceBuffer<T>,
}

impl<'t, 'd, T: Element> Transpose<'t, 'd, T> {
    /// Prepares it: `rows_of` returns rows of the matrix.
    pub fn new(
        group: &'t DeviceGroup<'d>,
        (rows, cols): (usize, usize),
        rows_of: impl Fn(Range<usize>) -> Vec<T>,
    ) -> Result<Self, Error> {
        let ranks = group.size();
        let mut members = Vec::new();
        for rank in group.ranks() {
            rank.device().enter()?;
            let (own, result) = (shares(rows, ranks, rank.rank()), shares(cols, ranks, rank.rank()));
            let from = DeviceBuffer::from_slice(&rows_of(own.clone())).context("copy rows to the device")?;
            let come = if group.transport == Transport::Collectives { result.len() * rows } else { 0 };
            members.push(TransposeRank {
                from,
                strip: room(own.len() * cols, "its rows, transposed")?,
                come: room(come, "others' pieces")?,
                to: room(result.len() * rows, "rows of the result")?,
            });
        }
        group.settle()?;
        Ok(Self { group, extents: (rows, cols), members })
    }

    /// Enqueues the whole transpose on the devices' streams; [`results`](Self::results) waits for it.
    pub fn run(&mut self) -> Result<(), Error> {
        let (rows, cols) = self.extents;
        for (rank, member) in self.group.ranks().iter().zip(&mut self.members) {
            rank.device().enter()?;
            let own = shares(rows, self.group.size(), rank.rank());
            if !own.is_empty() && cols > 0 {
                let (device, extents, bytes) = (rank.device(), (own.len(), cols), size_of::<T>());
                let [from, to] = [&member.from, &member.strip].map(|buffer| buffer.as_device_ptr().as_raw());
                let plan = transpose::Plan::choose(device.limits(), bytes, extents, (from, to))?;
                // SAFETY: this value owns both, waits before it frees them, and stream order keeps writers apart.
                unsafe { transpose::launch(device, &plan, &member.from, &mut member.strip)? };
            }
        }
        self.exchange()
    }

    /// Only the exchange, of strips transposed before.
    pub fn exchange(&mut self) -> Result<(), Error> {
        self.group.sides_after(&self.group.events()?)?;
        match self.group.transport {
            Transport::CopyEngines => self.copied()?,
            Transport::Collectives => self.sent()?,
        }
        self.group.mains_after(&self.group.side_events()?)
    }

    /// The bytes that all devices together receive from others in one exchange.
    pub fn bytes(&self) -> usize {
        let ((rows, cols), ranks) = (self.extents, self.group.size());
        let own: usize =
            (0..ranks).map(|r| shares(rows, ranks, r).len() * shares(cols, ranks, r).len()).sum();
        (rows * cols - own) * size_of::<T>()
    }

    fn copied(&self) -> Result<(), Error> {
        let ((rows, cols), ranks, size) = (self.extents, self.group.size(), size_of::<T>());
        for step in 0..ranks {
            for to in 0..ranks {
                let from = (to + step) % ranks;
                let (strip, piece) = (shares(rows, ranks, from), shares(cols, ranks, to));
                let width = strip.len() * size;
                let source = self.members[from].strip.as_device_ptr().as_raw() + (piece.start * width) as u64;
                let target = self.members[to].to.as_device_ptr().as_raw() + (strip.start * size) as u64;
                // SAFETY: the piece is within the strip, and its destination within the result.
                unsafe {
                    self.group.copy(
                        (to, target, rows * size),
                        (from, source, width),
                        (width, piece.len()),
                    )?;
                }
            }
        }
        Ok(())
    }

    fn sent(&self) -> Result<(), Error> {
        let ((rows, cols), ranks, size) = (self.extents, self.group.size(), size_of::<T>());
        let mut pieces = Vec::new();
        for (rank, member) in self.group.ranks().iter().zip(&self.members) {
            let (own, result) = (shares(rows, ranks, rank.rank()), shares(cols, ranks, rank.rank()));
            let mut of_rank = Vec::new();
            for other in 0..ranks {
                let (strip, piece) = (shares(rows, ranks, other), shares(cols, ranks, other));
                let sent = slice(&member.strip, piece.start * own.len()..piece.end * own.len())?;
                let come = slice(&member.come, strip.start * result.len()..strip.end * result.len())?;
                of_rank.push((sent, come));
            }
            pieces.push(of_rank);
        }
        let mut calls = Vec::new();
        for ((rank, side), of_rank) in self.group.ranks().iter().zip(&self.group.sides).zip(&mut pieces) {
            for (other, (sent, come)) in of_rank.iter_mut().enumerate() {
                // SAFETY: as in `run`.
                let (sent, come) = unsafe {
                    let device = rank.device();
                    (BufferSlice::from_cust(device, sent), BufferSliceMut::from_cust(device, come))
                };
                calls.push(rank.send(sent, other)?.on(side));
                calls.push(rank.receive(come, other)?.on(side));
            }
        }
        // SAFETY: as in `run`.
        unsafe { together_async(calls)? };
        for (local, (rank, member)) in self.group.ranks().iter().zip(&self.members).enumerate() {
            let result = shares(cols, ranks, rank.rank());
            for other in 0..ranks {
                let strip = shares(rows, ranks, other);
                let width = strip.len() * size;
                let source =
                    member.come.as_device_ptr().as_raw() + (strip.start * result.len() * size) as u64;
                let target = member.to.as_device_ptr().as_raw() + (strip.start * size) as u64;
                // SAFETY: as above.
                unsafe {
                    let (to, from) = ((local, target, rows * size), (local, source, width));
                    self.group.copy(to, from, (width, result.len()))?;
                }
            }
        }
        Ok(())
    }

    /// This process's rows of the result, by rank, after everything has finished.
    pub fn results(&self) -> Result<Vec<Vec<T>>, Error>
    where
        T: Default,
    {
        self.group.synchronize()?;
        let read = |(rank, member): (&Communicator<'d>, &TransposeRank<T>)| {
            rank.device().enter()?;
            Ok(member.to.as_host_vec().context("copy rows of the result to the host")?)
        };
        self.group.ranks().iter().zip(&self.members).map(read).collect()
    }
}

impl<T: DeviceCopy> Drop for Transpose<'_, '_, T> {
    fn drop(&mut self) {
        self.group.finish();
    }
}
