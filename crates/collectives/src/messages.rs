//! Ranks in separate processes, each with a virtual device: data pass as messages.
//!
//! A call is complete when it returns. Sums are computed in rank order, as [between devices of one
//! process](crate::copies).

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use cust::memory::{CopyDestination, DevicePointer, DeviceSlice};

use crate::call::{Call, CallArguments, Kind, parts};
use crate::communicator::Communicator;
use crate::element::Reduction;
use crate::error::{Error, RankContext};
use crate::rendezvous::Rendezvous;

/// Sends have no call number shared by all ranks: those from one rank to another are matched in order.
const PAIRWISE: u64 = u64::MAX;

/// Makes calls: sends first, so that a group's receives can wait for each other's.
pub(crate) fn launch(rendezvous: &Arc<Rendezvous>, calls: &[Call<'_>]) -> Result<(), Error> {
    let is = |kind: fn(&Kind) -> bool| calls.iter().filter(move |call| kind(&call.arguments.kind));
    for call in is(|kind| matches!(kind, Kind::Send { .. })) {
        let Kind::Send { to } = call.arguments.kind else { continue };
        let bytes = Exchange::new(rendezvous, call)?.read(call.arguments.send, call.arguments.bytes())?;
        rendezvous.send(to, PAIRWISE, headed(&pairwise(&call.arguments), &bytes));
    }
    for call in is(|kind| !matches!(kind, Kind::Send { .. } | Kind::Receive { .. })) {
        Exchange::new(rendezvous, call)?.collective()?;
    }
    for call in is(|kind| matches!(kind, Kind::Receive { .. })) {
        let Kind::Receive { from } = call.arguments.kind else { continue };
        let exchange = Exchange {
            number: PAIRWISE,
            words: pairwise(&call.arguments),
            ..Exchange::new(rendezvous, call)?
        };
        let bytes = exchange.receive(from)?;
        exchange.write(call.arguments.receive, &bytes)?;
    }
    Ok(())
}

/// The words that a send and its receive share.
fn pairwise(arguments: &CallArguments) -> String {
    format!("a message of {} {:?}", arguments.count, arguments.element)
}

/// Puts the call's description before the bytes, so that ranks that make different calls notice.
fn headed(words: &str, bytes: &[u8]) -> Vec<u8> {
    [&(words.len() as u32).to_le_bytes(), words.as_bytes(), bytes].concat()
}

/// A call in progress.
struct Exchange<'a> {
    rendezvous: &'a Rendezvous,
    rank: &'a Communicator<'a>,
    arguments: CallArguments,
    number: u64,
    words: String,
    until: Instant,
}

impl<'a> Exchange<'a> {
    /// Begins once the stream has reached the call.
    fn new(rendezvous: &'a Rendezvous, call: &'a Call<'_>) -> Result<Self, Error> {
        let rank = call.rank;
        call.stream.synchronize().on_rank(rank.rank, "finish what comes before the call")?;
        Ok(Self {
            rendezvous,
            rank,
            arguments: call.arguments,
            number: rank.calls.load(Ordering::Relaxed),
            words: call.arguments.words(),
            until: Instant::now() + rank.timeout,
        })
    }

    fn collective(&self) -> Result<(), Error> {
        let CallArguments { kind, send, receive, .. } = self.arguments;
        let (own, ranks, bytes) = (self.rank.rank, self.rank.size, self.arguments.bytes());
        match kind {
            Kind::Broadcast { root } if root == own => {
                let content = self.read(send, bytes)?;
                self.others().for_each(|rank| self.send(rank, &content));
                Ok(())
            }
            Kind::Broadcast { root } => self.write(receive, &self.receive(root)?),
            Kind::AllGather => {
                let content = self.read(send, bytes)?;
                self.others().for_each(|rank| self.send(rank, &content));
                self.write(receive + (own * bytes) as u64, &content)?;
                self.others()
                    .try_for_each(|rank| self.write(receive + (rank * bytes) as u64, &self.receive(rank)?))
            }
            Kind::AllToAll => {
                let content = self.read(send, bytes * ranks)?;
                let part = |rank: usize| &content[rank * bytes..][..bytes];
                self.others().for_each(|rank| self.send(rank, part(rank)));
                self.write(receive + (own * bytes) as u64, part(own))?;
                self.others()
                    .try_for_each(|rank| self.write(receive + (rank * bytes) as u64, &self.receive(rank)?))
            }
            Kind::ReduceScatter(how) => {
                let content = self.read(send, bytes * ranks)?;
                let sum = self.reduce(how, |rank| &content[rank * bytes..][..bytes])?;
                self.write(receive, &sum)
            }
            Kind::AllReduce(how) => {
                let size = self.arguments.element.size();
                let part = |rank: usize| {
                    let part = parts(self.arguments.count, ranks, rank);
                    part.start * size..part.end * size
                };
                let content = self.read(send, bytes)?;
                let sum = self.reduce(how, |rank| &content[part(rank)])?;
                self.others().for_each(|rank| self.send(rank, &sum));
                self.write(receive + part(own).start as u64, &sum)?;
                self.others()
                    .try_for_each(|rank| self.write(receive + part(rank).start as u64, &self.receive(rank)?))
            }
            Kind::Send { .. } | Kind::Receive { .. } => Ok(()),
        }
    }

    /// Sends each rank its part, and reduces all ranks' data for this one.
    fn reduce<'b>(&self, how: Reduction, part: impl Fn(usize) -> &'b [u8]) -> Result<Vec<u8>, Error> {
        self.others().for_each(|rank| self.send(rank, part(rank)));
        let mut sum: Option<Vec<u8>> = None;
        for rank in 0..self.rank.size {
            let other = if rank == self.rank.rank { part(rank).to_vec() } else { self.receive(rank)? };
            match &mut sum {
                None => sum = Some(other),
                Some(sum) => how.combine(self.arguments.element, sum, &other),
            }
        }
        Ok(sum.unwrap_or_default())
    }

    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let own = self.rank.rank;
        (0..self.rank.size).filter(move |&rank| rank != own)
    }

    fn send(&self, to: usize, bytes: &[u8]) {
        self.rendezvous.send(to, self.number, headed(&self.words, bytes));
    }

    /// The bytes that a rank sends in this call.
    fn receive(&self, from: usize) -> Result<Vec<u8>, Error> {
        let mut content = self.rendezvous.receive(from, self.number, &self.arguments.words(), self.until)?;
        let words = content.first_chunk::<4>().map_or(0, |length| u32::from_le_bytes(*length) as usize);
        let head = (4 + words).min(content.len());
        let words = String::from_utf8_lossy(content.get(4..head).unwrap_or_default()).into_owned();
        if words != self.words {
            let (here, call) = (self.rank.rank, self.words.clone());
            return Err(Error::Mismatch { here, call, rank: from, other: words });
        }
        content.drain(..head);
        Ok(content)
    }

    fn read(&self, address: u64, bytes: usize) -> Result<Vec<u8>, Error> {
        let mut content = vec![0; bytes];
        if bytes > 0 {
            // SAFETY: `Call` compared the buffers with what it needs, and borrows them until it is launched.
            let slice = unsafe { DeviceSlice::<u8>::from_raw_parts(DevicePointer::from_raw(address), bytes) };
            slice.copy_to(&mut content).on_rank(self.rank.rank, "read what it is to send")?;
        }
        Ok(content)
    }

    fn write(&self, address: u64, content: &[u8]) -> Result<(), Error> {
        if content.is_empty() {
            return Ok(());
        }
        // SAFETY: as above; the description and length are the same on both sides.
        let mut slice =
            unsafe { DeviceSlice::<u8>::from_raw_parts_mut(DevicePointer::from_raw(address), content.len()) };
        slice.copy_from(content).on_rank(self.rank.rank, "write what it has received")
    }
}
