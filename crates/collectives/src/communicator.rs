//! A rank: one device among those that work together.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use warpsmith_launch::extra::peer;
use warpsmith_launch::{BufferSlice, BufferSliceMut, Device, Stream};

use crate::call::{Call, CallArguments, Kind};
use crate::copies::CopyGroup;
use crate::element::{Element, Reduction};
use crate::error::{Error, RankContext};
use crate::job::Job;
use crate::nccl_rank::NcclRank;
use crate::rendezvous::Rendezvous;
use crate::traffic::Traffic;

/// A rank of a group that makes its calls together, and its device.
///
/// A call's results are there when it returns. One that was only put on its stream, by
/// [`together_async`](crate::together_async), has them once the stream has reached it; [`synchronize`](Self::synchronize) waits
/// for that, but not longer than the timeout.
pub struct Communicator<'d> {
    pub(crate) device: &'d Device,
    pub(crate) rank: usize,
    pub(crate) size: usize,
    pub(crate) timeout: Duration,
    // Before the rendezvous: NCCL's communicator is destroyed while the others are still there.
    pub(crate) backend: Backend,
    pub(crate) rendezvous: Option<Arc<Rendezvous>>,
    pub(crate) traffic: Arc<Traffic>,
    /// Number of collective calls so far, the same on all ranks.
    pub(crate) calls: AtomicU64,
    pub(crate) last: Mutex<String>,
    pub(crate) failed: OnceLock<Error>,
}

/// Memory of a call's elements.
struct CallBuffer<'a, T> {
    address: u64,
    len: usize,
    elements: PhantomData<(&'a mut (), T)>,
}

impl<T> Clone for CallBuffer<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for CallBuffer<'_, T> {}

impl<'a, T: Element> CallBuffer<'a, T> {
    fn read(elements: impl Into<BufferSlice<'a, T>>) -> Self {
        let elements = elements.into();
        let (address, len) = (elements.as_device_ptr().as_raw(), elements.len());
        Self { address, len, elements: PhantomData }
    }

    fn written(elements: impl Into<BufferSliceMut<'a, T>>) -> Self {
        let elements = elements.into();
        let (address, len) = (elements.as_device_ptr().as_raw(), elements.len());
        Self { address, len, elements: PhantomData }
    }
}

/// The implementation that carries out the calls.
pub(crate) enum Backend {
    /// NCCL, on real devices.
    Nccl(NcclRank),
    /// Copies between virtual devices of one process.
    Copies(Arc<CopyGroup>),
    /// Messages between processes, each with a virtual device.
    Messages(Arc<Rendezvous>),
}

impl<'d> Communicator<'d> {
    /// One rank for each device of this process, in device order.
    ///
    /// A thread with several ranks makes their calls [together](crate::together).
    pub fn all(devices: &'d [Device], timeout: Duration) -> Result<Vec<Self>, Error> {
        let _current = peer::CurrentContextGuard::save();
        let backends: Vec<Backend> = match devices.first() {
            Some(first) if !first.is_virtual() => {
                NcclRank::all(devices, timeout)?.into_iter().map(Backend::Nccl).collect()
            }
            _ => {
                let group = Arc::new(CopyGroup::new(devices.len(), timeout));
                devices.iter().map(|_| Backend::Copies(group.clone())).collect()
            }
        };
        let traffic = Arc::new(Traffic::default());
        let ranks = backends.into_iter().zip(devices).enumerate();
        Ok(ranks
            .map(|(rank, (backend, device))| {
                Self::new(device, (rank, devices.len()), timeout, backend, None, traffic.clone())
            })
            .collect())
    }

    /// This process's rank of a job. When this returns, all ranks have met.
    pub fn from_job(device: &'d Device, job: &Job) -> Result<Self, Error> {
        let rendezvous = Rendezvous::join(job)?;
        let backend = match device.is_virtual() {
            true => Backend::Messages(rendezvous.clone()),
            false => Backend::Nccl(NcclRank::from_job(device, &rendezvous)?),
        };
        let traffic = Arc::new(Traffic::default());
        Ok(Self::new(device, (job.rank, job.size), job.timeout, backend, Some(rendezvous), traffic))
    }

    fn new(
        device: &'d Device,
        (rank, size): (usize, usize),
        timeout: Duration,
        backend: Backend,
        rendezvous: Option<Arc<Rendezvous>>,
        traffic: Arc<Traffic>,
    ) -> Self {
        let (calls, last, failed) = Default::default();
        Self { device, rank, size, timeout, backend, rendezvous, traffic, calls, last, failed }
    }

    /// Its number, from 0.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The number of ranks.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Its device.
    pub fn device(&self) -> &'d Device {
        self.device
    }

    /// The bytes its calls moved between ranks: all ranks' in one process, else those this rank received.
    ///
    /// This is the minimum for each call. NCCL may move more, for example around a ring.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// Its backend, in words.
    pub fn by(&self) -> String {
        match &self.backend {
            Backend::Nccl(member) => format!("NCCL {}", member.nccl.version()),
            Backend::Copies(_) => "copies between virtual devices".into(),
            Backend::Messages(_) => "messages between processes with a virtual device each".into(),
        }
    }

    /// `receive` becomes the reduction of what all ranks send.
    pub fn all_reduce<'a, T: Element>(
        &'a self,
        send: impl Into<BufferSlice<'a, T>>,
        receive: impl Into<BufferSliceMut<'a, T>>,
        how: Reduction,
    ) -> Result<Call<'a>, Error> {
        let (send, receive) = (CallBuffer::read(send), CallBuffer::written(receive));
        self.call(Kind::AllReduce(how), send.len, Some(send), Some(receive))
    }

    /// `buffer` becomes the reduction of what all ranks have in it.
    pub fn all_reduce_in_place<'a, T: Element>(
        &'a self,
        buffer: impl Into<BufferSliceMut<'a, T>>,
        how: Reduction,
    ) -> Result<Call<'a>, Error> {
        let buffer = CallBuffer::written(buffer);
        self.call(Kind::AllReduce(how), buffer.len, Some(buffer), Some(buffer))
    }

    /// `receive` becomes what all ranks send, in rank order; all send the same number of elements.
    pub fn all_gather<'a, T: Element>(
        &'a self,
        send: impl Into<BufferSlice<'a, T>>,
        receive: impl Into<BufferSliceMut<'a, T>>,
    ) -> Result<Call<'a>, Error> {
        let (send, receive) = (CallBuffer::read(send), CallBuffer::written(receive));
        self.call(Kind::AllGather, send.len, Some(send), Some(receive))
    }

    /// `receive` becomes this rank's part of the reduction of what all ranks send.
    pub fn reduce_scatter<'a, T: Element>(
        &'a self,
        send: impl Into<BufferSlice<'a, T>>,
        receive: impl Into<BufferSliceMut<'a, T>>,
        how: Reduction,
    ) -> Result<Call<'a>, Error> {
        let (send, receive) = (CallBuffer::read(send), CallBuffer::written(receive));
        self.call(Kind::ReduceScatter(how), receive.len, Some(send), Some(receive))
    }

    /// `buffer` becomes what rank `root` has in it.
    pub fn broadcast<'a, T: Element>(
        &'a self,
        buffer: impl Into<BufferSliceMut<'a, T>>,
        root: usize,
    ) -> Result<Call<'a>, Error> {
        let buffer = CallBuffer::written(buffer);
        self.call(Kind::Broadcast { root }, buffer.len, Some(buffer), Some(buffer))
    }

    /// Part r of `send` goes to rank r, and part r of `receive` comes from it; all parts have the same length.
    pub fn all_to_all<'a, T: Element>(
        &'a self,
        send: impl Into<BufferSlice<'a, T>>,
        receive: impl Into<BufferSliceMut<'a, T>>,
    ) -> Result<Call<'a>, Error> {
        let (send, receive) = (CallBuffer::read(send), CallBuffer::written(receive));
        self.call(Kind::AllToAll, send.len / self.size, Some(send), Some(receive))
    }

    /// Sends to a rank that [receives](Self::receive) as many elements. To do both, make the two calls [together](crate::together).
    pub fn send<'a, T: Element>(
        &'a self,
        buffer: impl Into<BufferSlice<'a, T>>,
        to: usize,
    ) -> Result<Call<'a>, Error> {
        let buffer = CallBuffer::read(buffer);
        self.call(Kind::Send { to }, buffer.len, Some(buffer), None)
    }

    /// Receives what a rank [sends](Self::send).
    pub fn receive<'a, T: Element>(
        &'a self,
        buffer: impl Into<BufferSliceMut<'a, T>>,
        from: usize,
    ) -> Result<Call<'a>, Error> {
        let buffer = CallBuffer::written(buffer);
        self.call(Kind::Receive { from }, buffer.len, None, Some(buffer))
    }

    /// A call, once its rank and the lengths of its buffers have been checked.
    fn call<'a, T: Element>(
        &'a self,
        kind: Kind,
        count: usize,
        send: Option<CallBuffer<'a, T>>,
        receive: Option<CallBuffer<'a, T>>,
    ) -> Result<Call<'a>, Error> {
        let address = |region: Option<CallBuffer<'_, T>>| region.map_or(0, |region| region.address);
        let arguments =
            CallArguments { kind, element: T::TYPE, count, send: address(send), receive: address(receive) };
        let refused = |problem| Err(Error::Call { rank: self.rank, call: arguments.words(), problem });
        if kind.other().is_some_and(|other| other >= self.size) {
            return refused(format!("there are {} ranks, which count from 0", self.size));
        }
        let (sent, received) = kind.elements(count, self.size);
        for (name, region, needed) in [("sends", send, sent), ("receives", receive, received)] {
            if let Some(has) = region.map(|region| region.len).filter(|&has| has != needed) {
                return refused(format!(
                    "the buffer that it {name} has {has} elements, and {needed} are needed"
                ));
            }
        }
        Ok(Call { rank: self, stream: self.device.stream(), arguments, buffers: PhantomData })
    }

    /// Waits until all work on the device's stream is done, but if other ranks do not join a call, not longer than the
    /// timeout.
    pub fn synchronize(&self) -> Result<(), Error> {
        self.synchronize_stream(self.device.stream())
    }

    /// [`synchronize`](Self::synchronize) for another stream of the device.
    pub fn synchronize_stream(&self, stream: &Stream) -> Result<(), Error> {
        if let Some(error) = self.failed.get() {
            return Err(error.clone());
        }
        let waited = self.watch(Instant::now() + self.timeout, || {
            stream.is_done().on_rank(self.rank, "wait for the stream")
        });
        if let Err(error) = &waited {
            self.fail(error);
        }
        waited
    }

    /// Waits until a stream of the device no longer uses the buffers of its calls, after an error, too: NCCL's calls are aborted
    /// then.
    pub fn finish(&self, stream: &Stream) -> Result<(), Error> {
        let waited = self.synchronize_stream(stream);
        if waited.is_err() {
            if let Backend::Nccl(member) = &self.backend {
                member.abort();
            }
            let _current = peer::CurrentContextGuard::save();
            // Where the device has failed, nothing runs on it any more.
            let _ = self.device.enter().map(|()| stream.finish());
        }
        waited
    }

    /// Polls until something is done, and checks on the other ranks meanwhile.
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
            if let Some(missed) =
                self.rendezvous.as_ref().and_then(|rendezvous| rendezvous.missed(number, &call))
            {
                return Err(missed);
            }
            if let Backend::Nccl(member) = &self.backend {
                member.ask(self.rank, &call).map_err(|error| self.who(error, number, &call))?;
            }
            if Instant::now() > until {
                return Err(self.late(number, &call));
            }
            // If it is nearly done, spin instead of sleeping.
            match begun.elapsed() < Duration::from_millis(1) {
                true => std::thread::yield_now(),
                false => std::thread::sleep(Duration::from_micros(50)),
            }
        }
    }

    /// The most recent call.
    fn now(&self) -> (u64, String) {
        let call = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        (self.calls.load(Ordering::Relaxed), call)
    }

    fn late(&self, number: u64, call: &str) -> Error {
        match &self.rendezvous {
            Some(rendezvous) => rendezvous.late(number, call),
            None => Error::Late {
                here: self.rank,
                waited: self.timeout,
                call: call.to_owned(),
                behind: "all ranks are this process's: one of them has not made the call, or a kernel before it never ends"
                    .into(),
            },
        }
    }

    /// NCCL often reports a problem before it is known which rank is gone; a moment later it is.
    fn who(&self, error: Error, number: u64, call: &str) -> Error {
        let until = Instant::now() + Duration::from_secs(2).min(self.timeout);
        while let Some(rendezvous) = &self.rendezvous
            && Instant::now() < until
        {
            if let Some(missed) = rendezvous.missed(number, call) {
                return missed;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        error
    }
}

impl Drop for Communicator<'_> {
    fn drop(&mut self) {
        let Backend::Nccl(member) = &self.backend else { return };
        // Do not wait for something that others may never reach.
        if !self.device.stream().is_done().unwrap_or(false) {
            member.abort();
        }
    }
}
