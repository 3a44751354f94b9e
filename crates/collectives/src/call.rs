//! Calls: what a rank asks of all, or of one other.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cust::stream::Stream;

use crate::communicator::{Communicator, Engine};
use crate::element::{Reduction, Type};
use crate::error::Error;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Every rank gets the reduction of all.
    AllReduce(Reduction),
    /// Every rank gets what all have, in their order.
    AllGather,
    /// Every rank gets its part of the reduction of all.
    ReduceScatter(Reduction),
    /// Every rank gets what `root` has.
    Broadcast {
        /// Whose it is.
        root: usize,
    },
    /// Every rank has a part for each, and gets one from each.
    AllToAll,
    /// For one rank, which receives it.
    Send {
        /// Who receives.
        to: usize,
    },
    /// From one rank, which sends it.
    Receive {
        /// Who sends.
        from: usize,
    },
}

/// A call's arguments: `count` is what NCCL counts, of an all-to-all the elements for one rank.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask {
    pub kind: Kind,
    pub element: Type,
    pub count: usize,
    pub send: u64,
    pub receive: u64,
}

impl Ask {
    pub fn bytes(&self) -> usize {
        self.count * self.element.size()
    }

    /// The call in words, which every rank would say of it.
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

/// A call that a rank is to make. Its buffers are borrowed until it is [launched](Self::launch), alone or [together](together)
/// with others.
#[must_use = "a call is made when it is launched"]
pub struct Call<'a> {
    pub(crate) rank: &'a Communicator<'a>,
    pub(crate) stream: &'a Stream,
    pub(crate) ask: Ask,
    pub(crate) buffers: PhantomData<&'a mut u8>,
}

impl<'a> Call<'a> {
    /// The same on another stream of the rank's device than the device's own.
    pub fn on(self, stream: &'a Stream) -> Self {
        Self { stream, ..self }
    }

    /// Makes the call. It has been put on the stream when this returns, as a launch would be.
    pub fn launch(self) -> Result<(), Error> {
        together([self])
    }
}

/// Makes several calls as one: those of all ranks that one thread serves, or sends and receives that need each other.
pub fn together<'a>(calls: impl IntoIterator<Item = Call<'a>>) -> Result<(), Error> {
    let calls: Vec<Call<'a>> = calls.into_iter().collect();
    for call in &calls {
        call.rank.begin(&call.ask)?;
    }
    let Some(first) = calls.first() else { return Ok(()) };
    let made = match &first.rank.engine {
        Engine::Nccl(_) => crate::nccl_rank::launch(&calls),
        Engine::Copies(_) => crate::copies::launch(&calls),
        Engine::Messages(meeting) => crate::messages::launch(meeting, &calls),
    };
    for call in &calls {
        match &made {
            Ok(()) => call.rank.count_traffic(&call.ask),
            Err(error) => call.rank.fail(error),
        }
    }
    made
}

impl Communicator<'_> {
    /// Notes that a call begins. After an error the ranks no longer agree, so that none is made any more.
    fn begin(&self, ask: &Ask) -> Result<(), Error> {
        if let Some(error) = self.failed.get() {
            return Err(error.clone());
        }
        let number = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        *self.last.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = ask.words();
        if let Some(meeting) = &self.meeting {
            meeting.come_to(number, &ask.words());
        }
        Ok(())
    }

    /// Notes an error. What NCCL has begun can never end then: it would keep the device busy, and what frees memory waiting.
    pub(crate) fn fail(&self, error: &Error) {
        let _ = self.failed.set(error.clone());
        if let Engine::Nccl(member) = &self.engine {
            member.abort();
        }
    }

    /// The bytes that a call takes from rank to rank at least, each rank's own counted at the receiver.
    fn count_traffic(&self, ask: &Ask) {
        let (rank, size) = (self.rank, self.size);
        let others = || (0..size).filter(move |&other| other != rank);
        let bytes = ask.bytes() as u64;
        let traffic: &Arc<crate::traffic::Traffic> = &self.traffic;
        match ask.kind {
            Kind::AllGather | Kind::AllToAll | Kind::ReduceScatter(_) => {
                others().for_each(|other| traffic.count(other, rank, bytes));
            }
            // Its own part of each other rank's, and the reduction of each other's part.
            Kind::AllReduce(_) => {
                let part = |of: usize| (parts(ask.count, size, of).len() * ask.element.size()) as u64;
                others().for_each(|other| traffic.count(other, rank, part(rank) + part(other)));
            }
            Kind::Broadcast { root } if root != rank => traffic.count(root, rank, bytes),
            Kind::Receive { from } if from != rank => traffic.count(from, rank, bytes),
            Kind::Broadcast { .. } | Kind::Receive { .. } | Kind::Send { .. } => {}
        }
    }
}

/// Part `part` of `count` elements in as many parts as there are ranks: the first ones are one longer where they do not come
/// out even.
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
