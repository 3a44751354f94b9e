//! Rank 0's desk: ranks report here, and what one has for another passes through it.
//!
//! Every rank, rank 0 too, keeps one connection to it for as long as it lives. When a process ends its connections close,
//! however it ended, so that the hub knows and tells the others. A machine that goes away closes nothing: it is gone when
//! it has been silent for the time-out.

use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::frame::{Frame, Purpose, read_line};
use crate::job::Job;

/// What the hub says first, so that who came to another program's port says nothing there.
pub(crate) fn greeting(job: &Job) -> String {
    format!("warpsmith ranks 1 {:016x}", job.program)
}

/// How long a newcomer may take to say who it is.
pub(crate) const INTRODUCTION: Duration = Duration::from_secs(2);

pub(crate) struct Hub {
    job: Job,
    /// What is written to each rank that is here.
    seats: Mutex<Vec<Seat>>,
    left: Condvar,
}

enum Seat {
    Empty,
    Taken(Arc<Mutex<TcpStream>>),
    Left,
}

impl Hub {
    /// Opens the desk, at the first of the job's ports that is free.
    pub fn open(job: &Job) -> Result<(Arc<Self>, SocketAddr), Error> {
        let listener = listen(job)?;
        let address = listener.local_addr().map_err(|error| Error::Meeting(error.to_string()))?;
        let seats = (0..job.size).map(|_| Seat::Empty).collect();
        let hub = Arc::new(Self { job: job.clone(), seats: Mutex::new(seats), left: Condvar::new() });
        let desk = hub.clone();
        std::thread::spawn(move || desk.receive(&listener));
        Ok((hub, address))
    }

    fn seats(&self) -> MutexGuard<'_, Vec<Seat>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets ranks in until all are here, and tells who comes later that they are.
    fn receive(self: &Arc<Self>, listener: &TcpListener) {
        // Between newcomers it looks whether anybody is left. A listener that always blocks is only slower at that.
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
            if self.seats().iter().all(|seat| matches!(seat, Seat::Left)) {
                return;
            }
        }
    }

    /// Gives a newcomer its seat, or says why not.
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
                Some(Seat::Empty) => None,
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
        seats[rank] = Seat::Taken(Arc::new(Mutex::new(stream.try_clone()?)));
        Ok((rank, stream))
    }

    fn tell_who_is_missing(&self) {
        let is_empty = |(rank, seat): (usize, &Seat)| matches!(seat, Seat::Empty).then_some(rank as u32);
        let missing: Vec<u32> = self.seats().iter().enumerate().filter_map(is_empty).collect();
        let content = missing.into_iter().flat_map(u32::to_le_bytes).collect();
        self.to_all(&Frame::new(Purpose::Missing, 0, 0, 0, content));
    }

    /// Passes on what a rank sends, until it ends.
    fn serve(&self, rank: usize, mut stream: TcpStream) {
        let fate = loop {
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
        self.seats()[rank] = Seat::Left;
        self.to_all(&fate);
        self.left.notify_all();
    }

    fn pass_on(&self, frame: &Frame) {
        let seat = match self.seats().get(frame.to as usize) {
            Some(Seat::Taken(stream)) => stream.clone(),
            // Whoever sends it hears of that, too.
            _ => return,
        };
        // If it cannot be reached, who reads from it finds that out.
        let _ = frame.write(&mut *seat.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn to_all(&self, frame: &Frame) {
        let taken: Vec<_> = self
            .seats()
            .iter()
            .filter_map(|seat| if let Seat::Taken(stream) = seat { Some(stream.clone()) } else { None })
            .collect();
        for seat in taken {
            let _ = frame.write(&mut *seat.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Waits until all others have left: what they have for each other passes through here.
    pub fn wait_until_empty(&self, at_most: Duration) {
        let until = Instant::now() + at_most;
        let mut seats = self.seats();
        while seats.iter().any(|seat| matches!(seat, Seat::Taken(_))) {
            let Some(remains) = until.checked_duration_since(Instant::now()) else { return };
            let waited = self.left.wait_timeout(seats, remains.min(Duration::from_millis(100)));
            seats = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Ends a desk at which not all have met.
    pub fn close(&self) {
        self.seats().iter_mut().for_each(|seat| *seat = Seat::Left);
    }
}

/// Listens where the ranks meet: for this machine alone if the address is one of it alone.
fn listen(job: &Job) -> Result<TcpListener, Error> {
    let first = (job.address.as_str(), *job.ports.start()).to_socket_addrs();
    let first = first.ok().and_then(|mut all| all.next()).ok_or_else(|| {
        Error::Meeting(format!("MASTER_ADDR is `{}`, which is no machine that is known here", job.address))
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
    Err(Error::Meeting(format!(
        "rank 0 cannot listen at {}: {reason}. If another program meets there, give this one another MASTER_PORT",
        job.place()
    )))
}
