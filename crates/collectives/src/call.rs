//! Calls: what a rank asks of all others, or of one.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use warpsmith_launch::Stream;

use crate::communicator::{Backend, Communicator};
use crate::element::{Reduction, Type};
use crate::error::Error;

/// The kind of call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Every rank receives the reduction over all ranks.
    AllReduce(Reduction),
    /// Every rank receives all ranks' data, in rank order.
    AllGather,
    /// Every rank receives its part of the reduction over all ranks.
    ReduceScatter(Reduction),
    /// Every rank receives the data of `root`.
    Broadcast {
        /// The sender.
        root: usize,
    },
    /// Every rank has a part for each rank, and receives one from each.
    AllToAll,
    /// Sends to one rank, which receives it.
    Send {
        /// The receiver.
        to: usize,
    },
    /// Receives from one rank, which sends it.
    Receive {
        /// The sender.
        from: usize,
    },
}

impl Kind {
    /// The other rank that it names.
    pub fn other(self) -> Option<usize> {
        match self {
            Self::Broadcast { root: other } | Self::Send { to: other } | Self::Receive { from: other } => {
                Some(other)
            }
            Self::AllReduce(_) | Self::AllGather | Self::ReduceScatter(_) | Self::AllToAll => None,
        }
    }

    /// The numbers of elements that a rank sends and receives, if the call counts `count`.
    pub fn elements(self, count: usize, ranks: usize) -> (usize, usize) {
        let all = count * ranks;
        match self {
            Self::AllGather => (count, all),
            Self::ReduceScatter(_) => (all, count),
            Self::AllToAll => (all, all),
            Self::AllReduce(_) | Self::Broadcast { .. } | Self::Send { .. } | Self::Receive { .. } => {
                (count, count)
            }
        }
    }
}

/// A call's arguments. `count` is what NCCL counts; for an all-to-all, the elements for one rank.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallArguments {
    pub kind: Kind,
    pub element: Type,
    pub count: usize,
    pub send: u64,
    pub receive: u64,
}

impl CallArguments {
    pub fn bytes(&self) -> usize {
        self.count * self.element.size()
    }

    /// The call in words, the same on every rank.
    pub fn words(&self) -> String {
        let what = match self.kind {
            Kind::AllReduce(how) => format!("all-reduce ({how:?})"),
            Kind::AllGather => "all-gather".into(),
            Kind::ReduceScatter(how) => format!("reduce-scatter ({how:?})"),
            Kind::Broadcast { root } => format!("broadcast from rank {root}"),
            Kind::AllToAll => "all-to-all".into(),
            Kind::Send { to } => format!("send to rank {to}"),
            Kind::Receive { from } => format!("receive from rank {from}"),
        };
        format!("{what} of {} {:?}", self.count, self.element)
    }
}

/// A call that a rank will make. Its buffers are borrowed until it has been [launched](Self::launch), alone
/// or [together](together) with others.
#[must_use = "a call is made when it is launched"]
pub struct Call<'a> {
    pub(crate) rank: &'a Communicator<'a>,
    pub(crate) stream: &'a Stream,
    pub(crate) arguments: CallArguments,
    pub(crate) buffers: PhantomData<&'a mut u8>,
}

impl<'a> Call<'a> {
    /// Makes the call on another stream of the rank's device than the device's own.
    pub fn on(self, stream: &'a Stream) -> Self {
        Self { stream, ..self }
    }

    /// Makes the call. When this returns, the result is there.
    pub fn launch(self) -> Result<(), Error> {
        together([self])
    }
}

/// Makes several calls as a group: those of all ranks in one thread, or sends and receives that need each other. When this
/// returns, the results are there.
pub fn together<'a>(calls: impl IntoIterator<Item = Call<'a>>) -> Result<(), Error> {
    let calls: Vec<Call<'a>> = calls.into_iter().collect();
    let made = enqueue(&calls);
    // The buffers are borrowed as long as this runs. Part of a group may have been enqueued before an error.
    calls.iter().map(|call| call.rank.finish(call.stream)).fold(made, Result::and)
}

/// Puts several calls on their streams as a group, without waiting, like a kernel's launch.
///
/// # Safety
/// Until the streams have done them, the buffers stay where they are, and nothing else writes what a call sends, or reaches what
/// it receives.
pub unsafe fn together_async<'a>(calls: impl IntoIterator<Item = Call<'a>>) -> Result<(), Error> {
    enqueue(&calls.into_iter().collect::<Vec<_>>())
}

fn enqueue(calls: &[Call<'_>]) -> Result<(), Error> {
    for call in calls {
        call.rank.begin(&call.arguments)?;
    }
    let Some(first) = calls.first() else { return Ok(()) };
    let made = match &first.rank.backend {
        Backend::Nccl(_) => crate::nccl_rank::launch(calls),
        Backend::Copies(_) => crate::copies::launch(calls),
        Backend::Messages(rendezvous) => crate::messages::launch(rendezvous, calls),
    };
    for call in calls {
        match &made {
            Ok(()) => call.rank.count_traffic(&call.arguments),
            Err(error) => call.rank.fail(error),
        }
    }
    made
}

impl Communicator<'_> {
    /// Registers the start of a call. After an error the ranks no longer agree, so no more calls are made.
    fn begin(&self, arguments: &CallArguments) -> Result<(), Error> {
        if let Some(error) = self.failed.get() {
            return Err(error.clone());
        }
        let number = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        *self.last.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = arguments.words();
        if let Some(rendezvous) = &self.rendezvous {
            rendezvous.announce(number, &arguments.words());
        }
        Ok(())
    }

    /// Registers an error. NCCL operations in progress may then never end: they would keep the device busy, and block
    /// whatever frees memory.
    pub(crate) fn fail(&self, error: &Error) {
        let _ = self.failed.set(error.clone());
        if let Backend::Nccl(member) = &self.backend {
            member.abort();
        }
    }

    /// The minimum number of bytes the call moves between ranks, each rank's share counted at the receiver.
    fn count_traffic(&self, arguments: &CallArguments) {
        let (rank, size) = (self.rank, self.size);
        let others = || (0..size).filter(move |&other| other != rank);
        let bytes = arguments.bytes() as u64;
        let traffic: &Arc<crate::traffic::Traffic> = &self.traffic;
        match arguments.kind {
            Kind::AllGather | Kind::AllToAll | Kind::ReduceScatter(_) => {
                others().for_each(|other| traffic.count(other, rank, bytes));
            }
            // Each other rank's data for its own part, and the reduction of each other part.
            Kind::AllReduce(_) => {
                let part =
                    |of: usize| (parts(arguments.count, size, of).len() * arguments.element.size()) as u64;
                others().for_each(|other| traffic.count(other, rank, part(rank) + part(other)));
            }
            Kind::Broadcast { root } if root != rank => traffic.count(root, rank, bytes),
            Kind::Receive { from } if from != rank => traffic.count(from, rank, bytes),
            Kind::Broadcast { .. } | Kind::Receive { .. } | Kind::Send { .. } => {}
        }
    }
}

/// Part `part` of `count` elements divided into as many parts as there are ranks; the first parts are one longer if it
/// does not divide evenly.
pub fn parts(count: usize, ranks: usize, part: usize) -> std::ops::Range<usize> {
    let (each, more) = (count / ranks, count % ranks);
    let start = part * each + part.min(more);
    start..start + each + usize::from(part < more)
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn parts_lie_one_behind_the_other() {
        for (count, ranks) in [(0, 3), (2, 3), (7, 3), (9, 3), (5, 1)] {
            let all: Vec<_> = (0..ranks).map(|part| parts(count, ranks, part)).collect();
            assert_eq!((all[0].start, all[ranks - 1].end), (0, count));
            assert!(
                all.windows(2).all(|pair| pair[0].end == pair[1].start && pair[0].len() >= pair[1].len())
            );
            assert!(all[0].len() - all[ranks - 1].len() <= 1);
        }
    }
}
