//! Ranks in one process with virtual devices: copies between the devices do what NCCL does on real ones.
//!
//! The last rank to make a call carries it out, in its own thread. The work is enqueued on the ranks' own streams: each
//! waits until all have reached the call, takes its data, and waits until all have taken theirs, so the checks find
//! whatever overlaps with a call that it should wait for. Sums are computed on the host, in rank order.

use std::collections::VecDeque;
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cust::memory::LockedBuffer;
use cust::sys;
use warpsmith_launch::extra::peer::{self, DeviceAddress, StreamEvent};
use warpsmith_launch::{Device, Stream};

use crate::call::{Call, CallArguments, Kind, parts};
use crate::communicator::Backend;
use crate::element::Reduction;
use crate::error::{Error, RankContext, named};

/// A group of ranks.
pub(crate) struct CopyGroup {
    state: Mutex<State>,
    changed: Condvar,
    timeout: Duration,
    /// Host memory for sums, kept until they are done.
    staged: Mutex<Vec<StagingBuffer>>,
}

/// The memory of a sum that the streams have yet to reach. It is page-locked: copies from other memory would not wait
/// for their turn.
struct StagingBuffer {
    memory: ManuallyDrop<Vec<LockedBuffer<u8>>>,
    done: Arc<AtomicBool>,
}

impl Drop for StagingBuffer {
    fn drop(&mut self) {
        // Memory that a stream may still use is never freed; after an error it is leaked.
        if self.done.load(Ordering::Acquire) {
            // SAFETY: it is not used again.
            unsafe { ManuallyDrop::drop(&mut self.memory) };
        }
    }
}

struct State {
    /// The calls that each rank has made and that have not been carried out, in order.
    posted: Vec<VecDeque<PostedCall>>,
    tickets: u64,
    /// The results of calls, until their makers ask for them.
    answers: Vec<(u64, Result<(), Error>)>,
}

/// A rank's call.
#[derive(Clone, Copy)]
struct PostedCall {
    ticket: u64,
    rank: usize,
    device: NonNull<Device>,
    stream: NonNull<Stream>,
    arguments: CallArguments,
}

// SAFETY: a rank that posts a call keeps its device and stream until the call has been carried out or withdrawn.
unsafe impl Send for PostedCall {}

impl PostedCall {
    fn device(&self) -> &Device {
        // SAFETY: as above.
        unsafe { self.device.as_ref() }
    }

    fn stream(&self) -> &Stream {
        // SAFETY: as above.
        unsafe { self.stream.as_ref() }
    }

    fn event(&self) -> Result<StreamEvent, Error> {
        StreamEvent::record(self.device(), self.stream()).on_rank(self.rank, "record an event on its stream")
    }

    /// A location in the device's memory, `bytes` after an address.
    fn place(&self, address: u64, bytes: usize) -> DeviceAddress<'_> {
        DeviceAddress { device: self.device(), address: address + bytes as u64 }
    }
}

impl CopyGroup {
    pub fn new(ranks: usize, timeout: Duration) -> Self {
        let posted = (0..ranks).map(|_| VecDeque::new()).collect();
        let state = Mutex::new(State { posted, tickets: 0, answers: Vec::new() });
        Self { state, changed: Condvar::new(), timeout, staged: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Posts calls, carries out those that are complete, and waits for the rest.
    fn make(&self, calls: &[&Call<'_>]) -> Result<(), Error> {
        let mut state = self.state();
        let mut own = Vec::new();
        for call in calls {
            state.tickets += 1;
            let ticket = state.tickets;
            let (device, stream) = (NonNull::from(call.rank.device), NonNull::from(call.stream));
            let posted =
                PostedCall { ticket, rank: call.rank.rank, device, stream, arguments: call.arguments };
            state.posted[posted.rank].push_back(posted);
            own.push(ticket);
        }
        while let Some(matching) = state.matching() {
            // Under the lock: later work on the same streams is enqueued later.
            let result = matching.and_then(|posted| self.perform(&posted).map(|()| posted));
            let tickets: Vec<u64> = match &result {
                Ok(posted) => posted.iter().map(|posted| posted.ticket).collect(),
                Err(_) => state.posted.iter().filter_map(|queue| queue.front()).map(|p| p.ticket).collect(),
            };
            for queue in &mut state.posted {
                queue.retain(|posted| !tickets.contains(&posted.ticket));
            }
            let answer = result.map(|_| ());
            state.answers.extend(tickets.into_iter().map(|ticket| (ticket, answer.clone())));
            self.changed.notify_all();
        }
        let until = Instant::now() + self.timeout;
        let mut outcome = Ok(());
        while let Some(&ticket) = own.last() {
            if let Some(at) = state.answers.iter().position(|(answered, _)| *answered == ticket) {
                outcome = outcome.and(state.answers.swap_remove(at).1);
                own.pop();
            } else if let Some(remains) = until.checked_duration_since(Instant::now()) {
                state = self.changed.wait_timeout(state, remains).unwrap_or_else(PoisonError::into_inner).0;
            } else {
                let late = self.late(&state, ticket);
                for queue in &mut state.posted {
                    queue.retain(|posted| !own.contains(&posted.ticket));
                }
                state.answers.retain(|(answered, _)| !own.contains(answered));
                return Err(late);
            }
        }
        outcome
    }

    /// Carries out a call of all ranks, in rank order, or a send and its receive.
    fn perform(&self, posted: &[PostedCall]) -> Result<(), Error> {
        all_wait_for_all(posted)?;
        let kind = posted[0].arguments.kind;
        for to in posted {
            match kind {
                Kind::Send { .. } if matches!(to.arguments.kind, Kind::Receive { .. }) => {
                    take(to, 0, &posted[0], 0)?
                }
                Kind::Send { .. } | Kind::Receive { .. } => {}
                Kind::Broadcast { root } => take(to, 0, &posted[root], 0)?,
                Kind::AllGather => {
                    for from in posted {
                        take(to, from.rank * from.arguments.bytes(), from, 0)?;
                    }
                }
                Kind::AllToAll => {
                    for from in posted {
                        take(to, from.rank * from.arguments.bytes(), from, to.rank * from.arguments.bytes())?;
                    }
                }
                Kind::ReduceScatter(how) => {
                    self.reduce(
                        to,
                        0,
                        posted,
                        to.rank * to.arguments.bytes()..(to.rank + 1) * to.arguments.bytes(),
                        how,
                    )?;
                }
                Kind::AllReduce(how) => {
                    let part = part(&to.arguments, posted.len(), to.rank);
                    self.reduce(to, part.start, posted, part, how)?;
                }
            }
        }
        if let Kind::AllReduce(_) = kind {
            all_wait_for_all(posted)?;
            for to in posted {
                for from in posted.iter().filter(|from| from.rank != to.rank) {
                    let part = part(&from.arguments, posted.len(), from.rank);
                    let (at, bytes) = (from.place(from.arguments.receive, part.start), part.len());
                    copy(to, to.place(to.arguments.receive, part.start), at, bytes)?;
                }
            }
        }
        all_wait_for_all(posted)
    }

    /// Gives a rank the reduction of these bytes over all ranks.
    fn reduce(
        &self,
        to: &PostedCall,
        to_offset: usize,
        all: &[PostedCall],
        range: std::ops::Range<usize>,
        how: Reduction,
    ) -> Result<(), Error> {
        let bytes = range.len();
        let mut staged = self.staged.lock().unwrap_or_else(PoisonError::into_inner);
        staged.retain(|staged| !staged.done.load(Ordering::Acquire));
        if bytes == 0 {
            return Ok(());
        }
        to.device().enter().on_rank(to.rank, "take its device")?;
        let stream = to.stream().as_inner();
        let locked = || LockedBuffer::new(&0, bytes).on_rank(to.rank, "lock memory for a sum");
        let mut memory = all.iter().map(|_| locked()).collect::<Result<Vec<_>, _>>()?;
        let addresses: Vec<usize> = memory.iter_mut().map(|part| part.as_mut_ptr() as usize).collect();
        let done = Arc::new(AtomicBool::new(false));
        staged.push(StagingBuffer { memory: ManuallyDrop::new(memory), done: done.clone() });
        for (from, &at) in all.iter().zip(&addresses) {
            let address = from.arguments.send + range.start as u64;
            // SAFETY: the memory has these bytes and stays until the stream has passed the last operation below.
            copied(to.rank, unsafe { sys::cuMemcpyDtoHAsync_v2(at as *mut c_void, address, bytes, stream) })?;
        }
        let (element, first) = (to.arguments.element, addresses[0]);
        to.stream()
            .on_host(move || {
                // SAFETY: the memory exists, and no one else uses it while the stream is here.
                let bytes_at =
                    |&address: &usize| unsafe { std::slice::from_raw_parts_mut(address as *mut u8, bytes) };
                if let [first, others @ ..] = &addresses[..] {
                    others.iter().for_each(|other| how.combine(element, bytes_at(first), bytes_at(other)));
                }
            })
            .on_rank(to.rank, "add what ranks have")?;
        let target = to.arguments.receive + to_offset as u64;
        // SAFETY: as above.
        copied(to.rank, unsafe { sys::cuMemcpyHtoDAsync_v2(target, first as *const c_void, bytes, stream) })?;
        to.stream().on_host(move || done.store(true, Ordering::Release)).on_rank(to.rank, "end a sum")
    }

    fn late(&self, state: &State, ticket: u64) -> Error {
        let posted = state.posted.iter().flatten().find(|posted| posted.ticket == ticket);
        let absent: Vec<usize> = state
            .posted
            .iter()
            .enumerate()
            .filter(|(_, queue)| queue.is_empty())
            .map(|(rank, _)| rank)
            .collect();
        Error::Late {
            here: posted.map_or(0, |posted| posted.rank),
            waited: self.timeout,
            call: posted.map_or_else(String::new, |posted| posted.arguments.words()),
            behind: format!(
                "{} made no call that fits; a thread that serves several ranks makes their calls together",
                named(&absent)
            ),
        }
    }
}

impl State {
    /// Calls that can be carried out together: one of each rank, or a send and its receive; or why the next ones
    /// cannot.
    fn matching(&self) -> Option<Result<Vec<PostedCall>, Error>> {
        if let Some(pair) = self.pair() {
            return Some(pair);
        }
        let fronts: Vec<PostedCall> = self.posted.iter().filter_map(|queue| queue.front().copied()).collect();
        let collective =
            |posted: &PostedCall| !matches!(posted.arguments.kind, Kind::Send { .. } | Kind::Receive { .. });
        if fronts.is_empty() || fronts.len() < self.posted.len() || !fronts.iter().all(collective) {
            return None;
        }
        let same = |a: &CallArguments, b: &CallArguments| {
            (a.kind, a.element, a.count) == (b.kind, b.element, b.count)
        };
        match fronts.iter().find(|other| !same(&other.arguments, &fronts[0].arguments)) {
            Some(other) => Some(Err(mismatch(&fronts[0], other))),
            None => Some(Ok(fronts)),
        }
    }

    /// A send and its receive, neither after a pending call of all ranks.
    fn pair(&self) -> Option<Result<Vec<PostedCall>, Error>> {
        let waiting = |rank: usize| {
            let between = |posted: &&PostedCall| {
                matches!(posted.arguments.kind, Kind::Send { .. } | Kind::Receive { .. })
            };
            self.posted[rank].iter().take_while(between)
        };
        for send in (0..self.posted.len()).flat_map(waiting) {
            let Kind::Send { to } = send.arguments.kind else { continue };
            let receive =
                waiting(to).find(|posted| posted.arguments.kind == Kind::Receive { from: send.rank });
            if let Some(receive) = receive {
                let fits = (send.arguments.element, send.arguments.count)
                    == (receive.arguments.element, receive.arguments.count);
                return Some(if fits { Ok(vec![*send, *receive]) } else { Err(mismatch(send, receive)) });
            }
        }
        None
    }
}

fn mismatch(one: &PostedCall, other: &PostedCall) -> Error {
    Error::Mismatch {
        here: one.rank,
        call: one.arguments.words(),
        rank: other.rank,
        other: other.arguments.words(),
    }
}

/// Makes calls, those of each group together.
pub(crate) fn launch(calls: &[Call<'_>]) -> Result<(), Error> {
    let _current = peer::CurrentContextGuard::save();
    let mut teams: Vec<(&Arc<CopyGroup>, Vec<&Call<'_>>)> = Vec::new();
    for call in calls {
        let Backend::Copies(group) = &call.rank.backend else {
            let problem = "some ranks' devices are real and some are virtual".into();
            return Err(Error::Call { rank: call.rank.rank, call: call.arguments.words(), problem });
        };
        match teams.iter_mut().find(|(other, _)| Arc::ptr_eq(other, group)) {
            Some((_, calls)) => calls.push(call),
            None => teams.push((group, vec![call])),
        }
    }
    teams.into_iter().try_for_each(|(group, calls)| group.make(&calls))
}

/// The bytes of a rank's part of a call's elements.
fn part(arguments: &CallArguments, ranks: usize, rank: usize) -> std::ops::Range<usize> {
    let (part, size) = (parts(arguments.count, ranks, rank), arguments.element.size());
    part.start * size..part.end * size
}

/// Makes each rank's stream wait for everything on all others'.
fn all_wait_for_all(posted: &[PostedCall]) -> Result<(), Error> {
    let events = posted.iter().map(PostedCall::event).collect::<Result<Vec<_>, _>>()?;
    for (index, one) in posted.iter().enumerate() {
        for (_, event) in events.iter().enumerate().filter(|(other, _)| *other != index) {
            event.make_wait(one.stream()).on_rank(one.rank, "wait for another rank's stream")?;
        }
    }
    Ok(())
}

/// Copies a call's bytes from another rank to this one.
fn take(to: &PostedCall, to_offset: usize, from: &PostedCall, from_offset: usize) -> Result<(), Error> {
    let (at, bytes) = (from.place(from.arguments.send, from_offset), to.arguments.bytes());
    copy(to, to.place(to.arguments.receive, to_offset), at, bytes)
}

fn copy(on: &PostedCall, to: DeviceAddress<'_>, from: DeviceAddress<'_>, bytes: usize) -> Result<(), Error> {
    on.device().enter().on_rank(on.rank, "take its device")?;
    // SAFETY: `Call` compared the buffers with what it needs, and borrows them until the call is done.
    unsafe { peer::copy(to, from, bytes, on.stream()) }.on_rank(on.rank, "copy from another rank")
}

fn copied(rank: usize, code: sys::CUresult) -> Result<(), Error> {
    match code {
        sys::CUresult::CUDA_SUCCESS => Ok(()),
        code => Err(Error::Driver { rank, problem: format!("cannot copy what is to be added: {code:?}") }),
    }
}
