//! Ranks whose calls NCCL carries out.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use warpsmith_launch::Device;

use crate::call::{Call, CallArguments, Kind};
use crate::communicator::{Backend, Communicator};
use crate::error::{Error, RankContext};
use crate::nccl::{Config, IN_PROGRESS, Id, Nccl, RawCommunicator, SUCCESS};
use crate::rendezvous::Rendezvous;

/// A rank's NCCL communicator.
pub(crate) struct NcclRank {
    pub nccl: &'static Nccl,
    raw: RawCommunicator,
    ended: AtomicBool,
}

// SAFETY: NCCL's communicators may be used from any thread, one at a time; the owner of a `Communicator` makes its
// calls, and asking for errors at the same time is allowed.
unsafe impl Send for NcclRank {}
// SAFETY: as above.
unsafe impl Sync for NcclRank {}

/// The error for an unexpected result.
fn check(nccl: &Nccl, rank: usize, call: &str, answer: c_int) -> Result<(), Error> {
    if [SUCCESS, IN_PROGRESS].contains(&answer) {
        return Ok(());
    }
    let (answer, detail) = nccl.explain(answer);
    Err(Error::Nccl { rank, call: call.to_owned(), answer, detail })
}

/// The name of a rank's start in messages.
const BEGIN: &str = "the ranks' beginning";

impl NcclRank {
    /// The ranks of one process.
    pub fn all(devices: &[Device], timeout: Duration) -> Result<Vec<Self>, Error> {
        let nccl = Nccl::get()?;
        let id = new_id(nccl)?;
        let mut members = Vec::new();
        // SAFETY: a group that is started is ended.
        check(nccl, 0, BEGIN, unsafe { (nccl.call.group_start)() })?;
        let begun = devices.iter().enumerate().try_for_each(|(rank, device)| {
            members.push(Self::begin(nccl, device, (rank, devices.len()), id)?);
            Ok(())
        });
        // SAFETY: as above.
        let ended = check(nccl, 0, BEGIN, unsafe { (nccl.call.group_end)() });
        begun.and(ended)?;
        let until = Instant::now() + timeout;
        for (rank, member) in members.iter().enumerate() {
            while !member.ask(rank, BEGIN)? {
                if Instant::now() > until {
                    let behind = "NCCL has not connected the devices".to_owned();
                    return Err(Error::Late { here: rank, waited: timeout, call: BEGIN.to_owned(), behind });
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        Ok(members)
    }

    /// This process's rank: rank 0 creates the unique id and sends it to the others.
    pub fn from_job(device: &Device, rendezvous: &Rendezvous) -> Result<Self, Error> {
        let nccl = Nccl::get()?;
        let job = rendezvous.job();
        let until = Instant::now() + job.timeout;
        let id = if job.rank == 0 {
            let id = new_id(nccl)?;
            (1..job.size).for_each(|rank| rendezvous.send(rank, 0, id.0.to_vec()));
            id
        } else {
            let bytes = rendezvous.receive(0, 0, BEGIN, until)?;
            Id(bytes.try_into().map_err(|_| Error::Rendezvous("rank 0 sent no NCCL id".into()))?)
        };
        let member = Self::begin(nccl, device, (job.rank, job.size), id)?;
        let settled = loop {
            match member.ask(job.rank, BEGIN) {
                Ok(true) => break Ok(()),
                Err(error) => break Err(rendezvous.missed(1, BEGIN).unwrap_or(error)),
                Ok(false) => {}
            }
            if let Some(missed) = rendezvous.missed(1, BEGIN) {
                break Err(missed);
            }
            if Instant::now() > until {
                break Err(rendezvous.late(0, BEGIN));
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        if settled.is_err() {
            member.abort();
        }
        settled.map(|()| member)
    }

    fn begin(
        nccl: &'static Nccl,
        device: &Device,
        (rank, size): (usize, usize),
        id: Id,
    ) -> Result<Self, Error> {
        device.enter().on_rank(rank, "take its device")?;
        let mut raw = std::ptr::null_mut();
        let mut config = Config::not_blocking();
        // SAFETY: pointers and configuration are valid for the call; the device is current. NCCL counts ranks in 32
        // bits.
        let answer =
            unsafe { (nccl.call.init_rank)(&mut raw, size as c_int, id, rank as c_int, &mut config) };
        check(nccl, rank, BEGIN, answer)?;
        Ok(Self { nccl, raw, ended: AtomicBool::new(false) })
    }

    /// Whether everything it was asked for has been enqueued; or what went wrong.
    pub fn ask(&self, rank: usize, call: &str) -> Result<bool, Error> {
        if self.ended.load(Ordering::Relaxed) {
            return Ok(true);
        }
        let mut state = SUCCESS;
        // SAFETY: it has not ended, and the pointer is valid for the call.
        let answer = unsafe { (self.nccl.call.async_error)(self.raw, &mut state) };
        check(self.nccl, rank, call, answer).and_then(|()| check(self.nccl, rank, call, state))?;
        Ok(state == SUCCESS)
    }

    /// Aborts it, including work in progress.
    pub fn abort(&self) {
        if !self.ended.swap(true, Ordering::Relaxed) {
            // SAFETY: it has not ended before.
            unsafe { (self.nccl.call.abort)(self.raw) };
        }
    }

    /// Asks NCCL to carry out a call.
    fn enqueue(&self, arguments: &CallArguments, ranks: usize, stream: cust::sys::CUstream) -> c_int {
        let call = &self.nccl.call;
        let (send, receive) = (arguments.send as *const c_void, arguments.receive as *mut c_void);
        let (count, element) = (arguments.count, arguments.element as c_int);
        // SAFETY: `Call` compared the buffers with what it needs, and borrows them until it is launched.
        unsafe {
            match arguments.kind {
                Kind::AllReduce(how) => {
                    (call.all_reduce)(send, receive, count, element, how as c_int, self.raw, stream)
                }
                Kind::AllGather => (call.all_gather)(send, receive, count, element, self.raw, stream),
                Kind::ReduceScatter(how) => {
                    (call.reduce_scatter)(send, receive, count, element, how as c_int, self.raw, stream)
                }
                Kind::Broadcast { root } => {
                    (call.broadcast)(send, receive, count, element, root as c_int, self.raw, stream)
                }
                Kind::Send { to } => (call.send)(send, count, element, to as c_int, self.raw, stream),
                Kind::Receive { from } => {
                    (call.receive)(receive, count, element, from as c_int, self.raw, stream)
                }
                Kind::AllToAll => (0..ranks)
                    .flat_map(|rank| {
                        let at = rank * arguments.bytes();
                        let (send, receive) = (send.byte_add(at), receive.byte_add(at));
                        [
                            (call.send)(send, count, element, rank as c_int, self.raw, stream),
                            (call.receive)(receive, count, element, rank as c_int, self.raw, stream),
                        ]
                    })
                    .find(|answer| ![SUCCESS, IN_PROGRESS].contains(answer))
                    .unwrap_or(SUCCESS),
            }
        }
    }
}

impl Drop for NcclRank {
    fn drop(&mut self) {
        if !self.ended.swap(true, Ordering::Relaxed) {
            // SAFETY: it has not ended before.
            unsafe { (self.nccl.call.destroy)(self.raw) };
        }
    }
}

fn new_id(nccl: &Nccl) -> Result<Id, Error> {
    let mut id = Id([0; 128]);
    // SAFETY: the pointer is valid for the call.
    check(nccl, 0, "for a unique id", unsafe { (nccl.call.get_unique_id)(&mut id) })?;
    Ok(id)
}

fn member<'a>(rank: &'a Communicator<'_>) -> Result<&'a NcclRank, Error> {
    match &rank.backend {
        Backend::Nccl(member) => Ok(member),
        _ => Err(Error::Call {
            rank: rank.rank,
            call: "make calls together".into(),
            problem: "some ranks' devices are real and some are virtual".into(),
        }),
    }
}

/// Makes calls as one group.
pub(crate) fn launch(calls: &[Call<'_>]) -> Result<(), Error> {
    let Some(first) = calls.first() else { return Ok(()) };
    let nccl = member(first.rank)?.nccl;
    // SAFETY: a group that is started is ended.
    check(nccl, first.rank.rank, "a group's start", unsafe { (nccl.call.group_start)() })?;
    let asked = calls.iter().try_for_each(|call| {
        let answer = member(call.rank)?.enqueue(&call.arguments, call.rank.size, call.stream.as_inner());
        check(nccl, call.rank.rank, &call.arguments.words(), answer)
    });
    // SAFETY: as above.
    let ended = check(nccl, first.rank.rank, &first.arguments.words(), unsafe { (nccl.call.group_end)() });
    asked.and(ended)?;
    // The calls are on their streams once NCCL says so; until then no others may be made.
    for call in calls {
        let member = member(call.rank)?;
        call.rank.watch(Instant::now() + call.rank.timeout, || {
            member.ask(call.rank.rank, &call.arguments.words())
        })?;
    }
    Ok(())
}
