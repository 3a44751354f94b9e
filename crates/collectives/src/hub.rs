//! Rank 0's hub: ranks report here, and data from one for another pass through it.
//!
//! Every rank, including rank 0, keeps one connection to it for its whole life. When a process ends, however it ends,
//! its connections close, so the hub knows and tells the others. A machine that disappears closes nothing: it counts as
//! gone after it has been silent for the timeout.

use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::frame::{Frame, Purpose, read_line};
use crate::job::Job;

/// The hub's first words, so that a rank that connects to another program's port notices and stays silent.
pub(crate) fn greeting(job: &Job) -> String {
    format!("warpsmith ranks 1 {:016x}", job.program)
}

/// Limit for a newcomer's introduction.
pub(crate) const INTRODUCTION: Duration = Duration::from_secs(2);

pub(crate) struct Hub {
    job: Job,
    /// Connections for writing to each rank that is here.
    seats: Mutex<Vec<RankSlot>>,
    left: Condvar,
}

enum RankSlot {
    Empty,
    Taken(Arc<Mutex<TcpStream>>),
    Left,
}

impl Hub {
    /// Opens the hub, at the first free port of the job's.
    pub fn open(job: &Job) -> Result<(Arc<Self>, SocketAddr), Error> {
        let listener = listen(job)?;
        let address = listener.local_addr().map_err(|error| Error::Rendezvous(error.to_string()))?;
        let seats = (0..job.size).map(|_| RankSlot::Empty).collect();
        let hub = Arc::new(Self { job: job.clone(), seats: Mutex::new(seats), left: Condvar::new() });
        let desk = hub.clone();
        std::thread::spawn(move || desk.receive(&listener));
        Ok((hub, address))
    }

    fn seats(&self) -> MutexGuard<'_, Vec<RankSlot>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Admits ranks until all are here, and tells later ones that the job is full.
    fn receive(self: &Arc<Self>, listener: &TcpListener) {
        // Between newcomers it checks whether anyone is left. A listener that always blocks only makes that slower.
        let _ = listener.set_nonblocking(true);
        let mut here = Vec::new();
        loop {
            match listener.accept() {
                Ok((stream, _)) => {
                    if let Ok((rank, stream)) = self.seat(stream) {
                        here.push((rank, stream));
                        self.tell_who_is_missing();
                        if here.len() == self.job.size {
                            self.to_all(&Frame::new(Purpose::AllHere, 0, 0, 0, Vec::new()));
                            for (rank, stream) in here.drain(..) {
                                let hub = self.clone();
                                std::thread::spawn(move || hub.serve(rank, stream));
                            }
                        }
                    }
                }
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
            }
            if self.seats().iter().all(|seat| matches!(seat, RankSlot::Left)) {
                return;
            }
        }
    }

    /// Gives a newcomer its seat, or the reason why not.
    fn seat(&self, mut stream: TcpStream) -> io::Result<(usize, TcpStream)> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(INTRODUCTION))?;
        stream.set_write_timeout(Some(self.job.timeout.max(INTRODUCTION)))?;
        writeln!(stream, "{}", greeting(&self.job))?;
        let introduction = read_line(&mut stream)?;
        let (rank, size) = introduction.split_once(' ').unwrap_or_default();
        let (rank, size) = (rank.parse::<usize>(), size.parse::<usize>());
        let mut seats = self.seats();
        let refusal = match (&rank, &size) {
            (Ok(rank), Ok(size)) if *size == seats.len() => match seats.get(*rank) {
                Some(RankSlot::Empty) => None,
                Some(_) => Some(format!("rank {rank} is here already")),
                None => Some(format!("there are {size} ranks, none is {rank}")),
            },
            _ => Some(format!("it has {} ranks", seats.len())),
        };
        if let Some(refusal) = refusal {
            writeln!(stream, "no: {refusal}")?;
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        writeln!(stream, "welcome")?;
        stream.set_read_timeout(Some(self.job.timeout.max(INTRODUCTION)))?;
        let rank = rank.unwrap_or_default();
        seats[rank] = RankSlot::Taken(Arc::new(Mutex::new(stream.try_clone()?)));
        Ok((rank, stream))
    }

    fn tell_who_is_missing(&self) {
        let is_empty =
            |(rank, seat): (usize, &RankSlot)| matches!(seat, RankSlot::Empty).then_some(rank as u32);
        let missing: Vec<u32> = self.seats().iter().enumerate().filter_map(is_empty).collect();
        let content = missing.into_iter().flat_map(u32::to_le_bytes).collect();
        self.to_all(&Frame::new(Purpose::Missing, 0, 0, 0, content));
    }

    /// Forwards what a rank sends, until it ends.
    fn serve(&self, rank: usize, mut stream: TcpStream) {
        let end = loop {
            match Frame::read(&mut stream) {
                Ok(frame) if frame.purpose == Purpose::Bye => break frame,
                Ok(frame) if frame.purpose == Purpose::Data => self.pass_on(&frame),
                Ok(frame) => self.to_all(&frame),
                Err(error) => {
                    let how = match error.kind() {
                        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
                            "its process ended".to_owned()
                        }
                        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                            format!("nothing was heard of it for {} s", self.job.timeout.as_secs_f64())
                        }
                        _ => error.to_string(),
                    };
                    break Frame::new(Purpose::Gone, rank, 0, 0, how.into_bytes());
                }
            }
        };
        self.seats()[rank] = RankSlot::Left;
        self.to_all(&end);
        self.left.notify_all();
    }

    fn pass_on(&self, frame: &Frame) {
        let seat = match self.seats().get(frame.to as usize) {
            Some(RankSlot::Taken(stream)) => stream.clone(),
            // Its sender will learn of that, too.
            _ => return,
        };
        // If the rank cannot be reached, the thread that reads from it will find out.
        let _ = frame.write(&mut *seat.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn to_all(&self, frame: &Frame) {
        let taken: Vec<_> = self
            .seats()
            .iter()
            .filter_map(|seat| if let RankSlot::Taken(stream) = seat { Some(stream.clone()) } else { None })
            .collect();
        for seat in taken {
            let _ = frame.write(&mut *seat.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Waits until all others have left: data between them pass through here.
    pub fn wait_until_empty(&self, at_most: Duration) {
        let until = Instant::now() + at_most;
        let mut seats = self.seats();
        while seats.iter().any(|seat| matches!(seat, RankSlot::Taken(_))) {
            let Some(remains) = until.checked_duration_since(Instant::now()) else { return };
            let waited = self.left.wait_timeout(seats, remains.min(Duration::from_millis(100)));
            seats = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Closes a hub at which not all ranks have met.
    pub fn close(&self) {
        self.seats().iter_mut().for_each(|seat| *seat = RankSlot::Left);
    }
}

/// Listens where the ranks meet: only for this machine if the address is local to it.
fn listen(job: &Job) -> Result<TcpListener, Error> {
    let first = (job.address.as_str(), *job.ports.start()).to_socket_addrs();
    let first = first.ok().and_then(|mut all| all.next()).ok_or_else(|| {
        Error::Rendezvous(format!("MASTER_ADDR is `{}`, which is not a machine known here", job.address))
    })?;
    let ip = match first.ip() {
        local if local.is_loopback() => local,
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let mut reason = String::new();
    for port in job.ports.clone() {
        match TcpListener::bind((ip, port)) {
            Ok(listener) => return Ok(listener),
            Err(error) => reason = error.to_string(),
        }
    }
    Err(Error::Rendezvous(format!(
        "rank 0 cannot listen at {}: {reason}. If another program meets there, give this one another MASTER_PORT",
        job.place()
    )))
}
