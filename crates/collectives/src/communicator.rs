//! A rank: one device among those that work together.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use cust::memory::DeviceSlice;
use cust::stream::Stream;
use warpsmith_launch::Device;
use warpsmith_launch::extra::peer;

use crate::call::{Ask, Call, Kind};
use crate::copies::Team;
use crate::element::{Element, Reduction};
use crate::error::{Error, OnRank};
use crate::job::Job;
use crate::meeting::Meeting;
use crate::nccl_rank::Member;
use crate::traffic::Traffic;

/// One rank of those that make their calls together, and its device.
///
/// Buffers hold numbers, any bits of which are valid, and what frees them waits for the device: a call that still runs is no
/// reason to keep them. What a call has written is there once the stream has come to it, as after a launch;
/// [`synchronize`](Self::synchronize) waits for that, and for no longer than the time-out.
pub struct Communicator<'d> {
    pub(crate) device: &'d Device,
    pub(crate) rank: usize,
    pub(crate) size: usize,
    pub(crate) timeout: Duration,
    // Before the meeting: NCCL's communicator is destroyed while the others are still there.
    pub(crate) engine: Engine,
    pub(crate) meeting: Option<Arc<Meeting>>,
    pub(crate) traffic: Arc<Traffic>,
    /// Collective calls made, whose numbers all ranks share.
    pub(crate) calls: AtomicU64,
    pub(crate) last: Mutex<String>,
    pub(crate) failed: OnceLock<Error>,
}

/// A buffer of a call, if it has one, and how many elements the call needs of it.
type Needed<'b, T> = Option<(&'b DeviceSlice<T>, usize)>;

/// What carries calls out.
pub(crate) enum Engine {
    /// NCCL, on real devices.
    Nccl(Member),
    /// Copies between virtual devices of one process.
    Copies(Arc<Team>),
    /// Messages between processes, each with a virtual device.
    Messages(Arc<Meeting>),
}

impl<'d> Communicator<'d> {
    /// One rank for each device of this process, in their order.
    ///
    /// A thread that serves several ranks makes their calls [together](crate::together).
    pub fn all(devices: &'d [Device], timeout: Duration) -> Result<Vec<Self>, Error> {
        let _current = peer::Current::keep();
        let engines: Vec<Engine> = match devices.first() {
            Some(first) if !first.is_virtual() => {
                Member::all(devices, timeout)?.into_iter().map(Engine::Nccl).collect()
            }
            _ => {
                let team = Arc::new(Team::new(devices.len(), timeout));
                devices.iter().map(|_| Engine::Copies(team.clone())).collect()
            }
        };
        let traffic = Arc::new(Traffic::default());
        let ranks = engines.into_iter().zip(devices).enumerate();
        Ok(ranks
            .map(|(rank, (engine, device))| {
                Self::new(device, (rank, devices.len()), timeout, engine, None, traffic.clone())
            })
            .collect())
    }

    /// This process's rank of a job. All ranks have met when it returns.
    pub fn of_job(device: &'d Device, job: &Job) -> Result<Self, Error> {
        let meeting = Meeting::join(job)?;
        let engine = match device.is_virtual() {
            true => Engine::Messages(meeting.clone()),
            false => Engine::Nccl(Member::of_job(device, &meeting)?),
        };
        let traffic = Arc::new(Traffic::default());
        Ok(Self::new(device, (job.rank, job.size), job.timeout, engine, Some(meeting), traffic))
    }

    fn new(
        device: &'d Device,
        (rank, size): (usize, usize),
        timeout: Duration,
        engine: Engine,
        meeting: Option<Arc<Meeting>>,
        traffic: Arc<Traffic>,
    ) -> Self {
        let (calls, last, failed) = Default::default();
        Self { device, rank, size, timeout, engine, meeting, traffic, calls, last, failed }
    }

    /// Its number, from 0.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// How many there are.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Its device.
    pub fn device(&self) -> &'d Device {
        self.device
    }

    /// The bytes that its calls took from rank to rank: all ranks' in one process, else those that this rank received.
    ///
    /// They are the least that a call takes. NCCL may move more, as around a ring.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// What carries the calls out, in words.
    pub fn by(&self) -> String {
        match &self.engine {
            Engine::Nccl(member) => format!("NCCL {}", member.nccl.version()),
            Engine::Copies(_) => "copies between virtual devices".into(),
            Engine::Messages(_) => "messages between processes with a virtual device each".into(),
        }
    }

    /// `receive` becomes the reduction of what all ranks send.
    pub fn all_reduce<'a, T: Element>(
        &'a self,
        send: &'a DeviceSlice<T>,
        receive: &'a mut DeviceSlice<T>,
        how: Reduction,
    ) -> Result<Call<'a>, Error> {
        let count = send.len();
        self.call::<T>(Kind::AllReduce(how), count, (Some((send, count)), Some((receive, count))))
    }

    /// `buffer` becomes the reduction of what all ranks have in it.
    pub fn all_reduce_in_place<'a, T: Element>(
        &'a self,
        buffer: &'a mut DeviceSlice<T>,
        how: Reduction,
    ) -> Result<Call<'a>, Error> {
        let count = buffer.len();
        self.call::<T>(Kind::AllReduce(how), count, (Some((buffer, count)), Some((buffer, count))))
    }

    /// `receive` becomes what all ranks send, in their order; all send as much.
    pub fn all_gather<'a, T: Element>(
        &'a self,
        send: &'a DeviceSlice<T>,
        receive: &'a mut DeviceSlice<T>,
    ) -> Result<Call<'a>, Error> {
        let count = send.len();
        self.call::<T>(Kind::AllGather, count, (Some((send, count)), Some((receive, count * self.size))))
    }

    /// `receive` becomes this rank's part of the reduction of what all ranks send.
    pub fn reduce_scatter<'a, T: Element>(
        &'a self,
        send: &'a DeviceSlice<T>,
        receive: &'a mut DeviceSlice<T>,
        how: Reduction,
    ) -> Result<Call<'a>, Error> {
        let count = receive.len();
        let buffers = (Some((send, count * self.size)), Some((&*receive, count)));
        self.call::<T>(Kind::ReduceScatter(how), count, buffers)
    }

    /// `buffer` becomes what rank `root` has in it.
    pub fn broadcast<'a, T: Element>(
        &'a self,
        buffer: &'a mut DeviceSlice<T>,
        root: usize,
    ) -> Result<Call<'a>, Error> {
        let count = buffer.len();
        self.check_rank(root, "broadcast from")?;
        self.call::<T>(Kind::Broadcast { root }, count, (Some((buffer, count)), Some((buffer, count))))
    }

    /// Part r of `send` goes to rank r, part r of `receive` comes from it; all parts are as long.
    pub fn all_to_all<'a, T: Element>(
        &'a self,
        send: &'a DeviceSlice<T>,
        receive: &'a mut DeviceSlice<T>,
    ) -> Result<Call<'a>, Error> {
        let count = send.len() / self.size;
        let buffers = (Some((send, count * self.size)), Some((&*receive, count * self.size)));
        self.call::<T>(Kind::AllToAll, count, buffers)
    }

    /// Sends to a rank that [receives](Self::receive) as much. To send and to receive, say both [together](crate::together).
    pub fn send<'a, T: Element>(&'a self, buffer: &'a DeviceSlice<T>, to: usize) -> Result<Call<'a>, Error> {
        let count = buffer.len();
        self.check_rank(to, "send to")?;
        self.call::<T>(Kind::Send { to }, count, (Some((buffer, count)), None))
    }

    /// Receives what a rank [sends](Self::send).
    pub fn receive<'a, T: Element>(
        &'a self,
        buffer: &'a mut DeviceSlice<T>,
        from: usize,
    ) -> Result<Call<'a>, Error> {
        let count = buffer.len();
        self.check_rank(from, "receive from")?;
        self.call::<T>(Kind::Receive { from }, count, (None, Some((buffer, count))))
    }

    fn check_rank(&self, other: usize, what: &str) -> Result<(), Error> {
        if other < self.size {
            return Ok(());
        }
        let problem = format!("there are {} ranks, which count from 0", self.size);
        Err(Error::Call { rank: self.rank, call: format!("{what} rank {other}"), problem })
    }

    /// A call, once its buffers have been compared with what it needs of them.
    fn call<'a, T: Element>(
        &'a self,
        kind: Kind,
        count: usize,
        (send, receive): (Needed<'_, T>, Needed<'_, T>),
    ) -> Result<Call<'a>, Error> {
        let address = |buffer: Needed<'_, T>| buffer.map_or(0, |(b, _)| b.as_device_ptr().as_raw());
        let ask = Ask { kind, element: T::TYPE, count, send: address(send), receive: address(receive) };
        for (name, buffer) in [("sends", send), ("receives", receive)] {
            if let Some((buffer, needed)) = buffer.filter(|(buffer, needed)| buffer.len() != *needed) {
                let problem = format!(
                    "the buffer that it {name} has {} elements, and {needed} are needed",
                    buffer.len()
                );
                return Err(Error::Call { rank: self.rank, call: ask.words(), problem });
            }
        }
        Ok(Call { rank: self, stream: self.device.stream(), ask, buffers: PhantomData })
    }

    /// Waits until all that was put on the device's stream has been done; in a call that others do not come to, no longer than
    /// the time-out.
    pub fn synchronize(&self) -> Result<(), Error> {
        self.synchronize_stream(self.device.stream())
    }

    /// The same for another stream of the device.
    pub fn synchronize_stream(&self, stream: &Stream) -> Result<(), Error> {
        if let Some(error) = self.failed.get() {
            return Err(error.clone());
        }
        let waited = self.watch(Instant::now() + self.timeout, || {
            peer::is_done(stream).on(self.rank, "wait for the stream")
        });
        if let Err(error) = &waited {
            self.fail(error);
        }
        waited
    }

    /// Asks again and again whether something is done, and looks after the other ranks meanwhile.
    pub(crate) fn watch(
        &self,
        until: Instant,
        mut is_done: impl FnMut() -> Result<bool, Error>,
    ) -> Result<(), Error> {
        let begun = Instant::now();
        loop {
            if is_done()? {
                return Ok(());
            }
            let (number, call) = self.now();
            if let Some(missed) = self.meeting.as_ref().and_then(|meeting| meeting.missed(number, &call)) {
                return Err(missed);
            }
            if let Engine::Nccl(member) = &self.engine {
                member.ask(self.rank, &call).map_err(|error| self.who(error, number, &call))?;
            }
            if Instant::now() > until {
                return Err(self.late(number, &call));
            }
            // What is nearly done is waited for without sleep.
            match begun.elapsed() < Duration::from_millis(1) {
                true => std::thread::yield_now(),
                false => std::thread::sleep(Duration::from_micros(50)),
            }
        }
    }

    /// The call that was made last.
    fn now(&self) -> (u64, String) {
        let call = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        (self.calls.load(Ordering::Relaxed), call)
    }

    fn late(&self, number: u64, call: &str) -> Error {
        match &self.meeting {
            Some(meeting) => meeting.late(number, call),
            None => Error::Late {
                here: self.rank,
                waited: self.timeout,
                call: call.to_owned(),
                behind: "all ranks are this process's: one of them has not made the call, or a kernel before it never ends"
                    .into(),
            },
        }
    }

    /// NCCL often knows that something is wrong before it is known who is gone: a moment later it is.
    fn who(&self, error: Error, number: u64, call: &str) -> Error {
        let until = Instant::now() + Duration::from_secs(2).min(self.timeout);
        while let Some(meeting) = &self.meeting
            && Instant::now() < until
        {
            if let Some(missed) = meeting.missed(number, call) {
                return missed;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        error
    }
}

impl Drop for Communicator<'_> {
    fn drop(&mut self) {
        let Engine::Nccl(member) = &self.engine else { return };
        // What others may never come to is not waited for.
        if !peer::is_done(self.device.stream()).unwrap_or(false) {
            member.abort();
        }
    }
}
