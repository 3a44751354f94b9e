//! Ranks in separate processes: how they find each other, communicate, and notice that one is gone.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{Error, named};
use crate::frame::{Frame, Purpose, read_line};
use crate::hub::{self, Hub};
use crate::job::Job;

/// Interval of a rank's signs of life.
const PULSE: Duration = Duration::from_millis(500);

/// A rank's connection to the others.
pub(crate) struct Rendezvous {
    job: Job,
    writer: Mutex<TcpStream>,
    shared: Arc<Shared>,
    hub: Option<Arc<Hub>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Data received for this rank, by sender and call.
    mail: HashMap<(usize, u64), VecDeque<Vec<u8>>>,
    gone: BTreeMap<usize, RankEnd>,
    /// The most recent call of each rank, as far as is known.
    at: BTreeMap<usize, (u64, String)>,
    missing: Vec<usize>,
    all_here: bool,
    closing: bool,
}

/// The end of a rank.
struct RankEnd {
    how: String,
    /// The number of its calls, if it ended normally.
    calls: Option<u64>,
}

impl State {
    /// A rank that did not end normally.
    fn broken(&self) -> Option<(&usize, &RankEnd)> {
        self.gone.iter().find(|(_, end)| end.calls.is_none())
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>, at_most: Duration) -> MutexGuard<'a, State> {
        self.changed.wait_timeout(state, at_most).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Reads messages until the connection ends.
    fn listen(&self, own: usize, mut stream: TcpStream) {
        let how = loop {
            let frame = match Frame::read(&mut stream) {
                Ok(frame) => frame,
                Err(error) => {
                    let ended = [io::ErrorKind::UnexpectedEof, io::ErrorKind::ConnectionReset];
                    let known = ended.contains(&error.kind());
                    break if known { "its process ended".to_owned() } else { error.to_string() };
                }
            };
            let from = frame.from as usize;
            let text = || String::from_utf8_lossy(&frame.content).into_owned();
            let mut state = self.state();
            match frame.purpose {
                Purpose::AllHere => state.all_here = true,
                Purpose::Missing => {
                    let four =
                        |four: &[u8]| u32::from_le_bytes([four[0], four[1], four[2], four[3]]) as usize;
                    state.missing = frame.content.chunks_exact(4).map(four).collect();
                }
                // This rank's own reports come back later than it moves on.
                Purpose::At if from != own => {
                    state.at.insert(from, (frame.number, text()));
                }
                Purpose::At => {}
                Purpose::Gone => {
                    state.gone.insert(from, RankEnd { how: text(), calls: None });
                }
                Purpose::Bye => {
                    let how = format!("it ended after {} calls", frame.number);
                    state.gone.insert(from, RankEnd { how, calls: Some(frame.number) });
                }
                Purpose::Data => {
                    state.mail.entry((from, frame.number)).or_default().push_back(frame.content);
                }
            }
            self.changed.notify_all();
        };
        // Everything passes through rank 0.
        self.state().gone.entry(0).or_insert(RankEnd { how, calls: None });
        self.changed.notify_all();
    }
}

impl Rendezvous {
    /// Meets the other ranks. All of them are there when this returns.
    pub fn join(job: &Job) -> Result<Arc<Self>, Error> {
        let until = Instant::now() + job.timeout;
        let (hub, own) = match job.rank {
            0 => {
                let (hub, address) = Hub::open(job)?;
                (Some(hub), Some(address))
            }
            _ => (None, None),
        };
        let joined = Self::take_seat(job, own, until).and_then(|stream| {
            let rendezvous = Self::begin(job, stream, hub.clone())?;
            rendezvous.wait_for_all(until)?;
            Ok(rendezvous)
        });
        if let (Err(_), Some(hub)) = (&joined, hub) {
            hub.close();
        }
        joined
    }

    /// Connects to rank 0 and introduces this rank.
    fn take_seat(job: &Job, own: Option<SocketAddr>, until: Instant) -> Result<TcpStream, Error> {
        let mut met = None;
        loop {
            for port in job.ports.clone() {
                let addresses: Vec<SocketAddr> = match own {
                    Some(own) if own.ip().is_unspecified() => {
                        vec![(IpAddr::from(Ipv4Addr::LOCALHOST), own.port()).into()]
                    }
                    Some(own) => vec![own],
                    None => (job.address.as_str(), port)
                        .to_socket_addrs()
                        .map(Iterator::collect)
                        .unwrap_or_default(),
                };
                for address in addresses {
                    match introduce(job, address) {
                        Ok(Answer::Welcome(stream)) => return Ok(stream),
                        Ok(Answer::Refused(reason)) => {
                            met = Some(format!("another program meets at {address}: {reason}"));
                        }
                        Ok(Answer::Other) => {
                            met = Some(format!("what listens at {address} is not rank 0 of this program"));
                        }
                        // No one is there yet.
                        Err(_) => {}
                    }
                }
            }
            // With only one port, no other rank 0 can be found.
            if let Some(met) = met.take_if(|_| job.ports.len() == 1 || Instant::now() > until) {
                let rank = job.rank;
                return Err(Error::Rendezvous(format!(
                    "rank {rank} cannot join: {met}. Give each program its own MASTER_PORT, and all its ranks the same \
                     arguments or the same WARPSMITH_JOB"
                )));
            }
            if Instant::now() > until {
                return Err(Error::NeverCame {
                    ranks: vec![0],
                    size: job.size,
                    place: job.place(),
                    here: format!("rank {}", job.rank),
                    waited: job.timeout,
                });
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn begin(job: &Job, stream: TcpStream, hub: Option<Arc<Hub>>) -> Result<Arc<Self>, Error> {
        let again = || stream.try_clone().map_err(|error| Error::Rendezvous(error.to_string()));
        let (reader, writer) = (again()?, again()?);
        let shared = Arc::new(Shared::default());
        let listening = shared.clone();
        let own = job.rank;
        std::thread::spawn(move || listening.listen(own, reader));
        let rendezvous = Arc::new(Self { job: job.clone(), writer: Mutex::new(writer), shared, hub });
        let pulse = Arc::downgrade(&rendezvous);
        std::thread::spawn(move || {
            while let Some(rendezvous) = pulse.upgrade() {
                let (number, name) =
                    rendezvous.shared.state().at.get(&rendezvous.job.rank).cloned().unwrap_or_default();
                if rendezvous
                    .write(&Frame::new(Purpose::At, rendezvous.job.rank, 0, number, name.into_bytes()))
                    .is_err()
                {
                    return;
                }
                drop(rendezvous);
                std::thread::sleep(PULSE);
            }
        });
        Ok(rendezvous)
    }

    fn wait_for_all(&self, until: Instant) -> Result<(), Error> {
        let mut state = self.shared.state();
        while !state.all_here {
            let Some(remains) = until.checked_duration_since(Instant::now()) else {
                return Err(Error::NeverCame {
                    ranks: state.missing.clone(),
                    size: self.job.size,
                    place: self.job.place(),
                    here: format!("rank {}", self.job.rank),
                    waited: self.job.timeout,
                });
            };
            if let Some(end) = state.gone.get(&0) {
                let missing = match &state.missing[..] {
                    [] => String::new(),
                    missing => format!("; {} had not come", named(missing)),
                };
                return Err(Error::Rendezvous(format!(
                    "rank 0 is gone ({}{missing}) before all ranks had met at {}",
                    end.how,
                    self.job.place()
                )));
            }
            state = self.shared.wait(state, remains.min(PULSE));
        }
        Ok(())
    }

    pub fn job(&self) -> &Job {
        &self.job
    }

    fn write(&self, frame: &Frame) -> io::Result<()> {
        frame.write(&mut *self.writer.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Registers that this rank has made a call, for those who wait for it.
    pub fn announce(&self, number: u64, call: &str) {
        self.shared.state().at.insert(self.job.rank, (number, call.to_owned()));
    }

    /// Sends bytes to a rank. A rank that cannot be reached is reported where it is waited for.
    pub fn send(&self, to: usize, number: u64, content: Vec<u8>) {
        let _ = self.write(&Frame::new(Purpose::Data, self.job.rank, to, number, content));
    }

    /// Waits for what `from` sends in a call.
    pub fn receive(&self, from: usize, number: u64, call: &str, until: Instant) -> Result<Vec<u8>, Error> {
        let mut state = self.shared.state();
        loop {
            if let Some(content) = state.mail.get_mut(&(from, number)).and_then(VecDeque::pop_front) {
                return Ok(content);
            }
            // A rank that ended normally may have done so because it missed another.
            if let Some((&rank, end)) = state.broken().or_else(|| state.gone.get_key_value(&from)) {
                return Err(self.gone(rank, end, call));
            }
            let Some(remains) = until.checked_duration_since(Instant::now()) else {
                drop(state);
                return Err(self.late(number, call));
            };
            state = self.shared.wait(state, remains.min(PULSE));
        }
    }

    /// The error for a rank that ended before it made the call with this number, if there is one.
    pub fn missed(&self, number: u64, call: &str) -> Option<Error> {
        let state = self.shared.state();
        let early = |(_, end): &(&usize, &RankEnd)| end.calls.is_some_and(|calls| calls < number);
        let missed = state.broken().or_else(|| state.gone.iter().find(early));
        missed.map(|(&rank, end)| self.gone(rank, end, call))
    }

    fn gone(&self, rank: usize, end: &RankEnd, call: &str) -> Error {
        Error::Gone { rank, how: end.how.clone(), here: self.job.rank, call: call.to_owned() }
    }

    /// The error for a call that took too long: which ranks have not made it.
    pub fn late(&self, number: u64, call: &str) -> Error {
        let state = self.shared.state();
        let behind: Vec<String> = (0..self.job.size)
            .filter(|&rank| rank != self.job.rank)
            .filter_map(|rank| match state.at.get(&rank) {
                Some((at, _)) if *at >= number => None,
                Some((at, name)) if *at > 0 => Some(format!("rank {rank} has come to call {at}, {name}")),
                _ => Some(format!("rank {rank} has made no call")),
            })
            .collect();
        let behind = match &behind[..] {
            [] => "all ranks have come to it".to_owned(),
            behind => behind.join("; "),
        };
        let call = format!("call {number}, {call}");
        Error::Late { here: self.job.rank, waited: self.job.timeout, call, behind }
    }
}

impl Drop for Rendezvous {
    fn drop(&mut self) {
        let calls = {
            let mut state = self.shared.state();
            state.closing = true;
            state.at.get(&self.job.rank).map_or(0, |(number, _)| *number)
        };
        let _ = self.write(&Frame::new(Purpose::Bye, self.job.rank, 0, calls, Vec::new()));
        if let Some(hub) = &self.hub {
            hub.wait_until_empty(self.job.timeout);
        }
        // The thread that reads ends with it.
        let _ = self.writer.lock().unwrap_or_else(PoisonError::into_inner).shutdown(std::net::Shutdown::Both);
    }
}

enum Answer {
    Welcome(TcpStream),
    Refused(String),
    Other,
}

/// Asks for this rank's seat at an address, if this program's rank 0 is there.
fn introduce(job: &Job, address: SocketAddr) -> io::Result<Answer> {
    let mut stream = TcpStream::connect_timeout(&address, hub::INTRODUCTION)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(hub::INTRODUCTION))?;
    // Other programs wait for their peer to speak first: they hear nothing.
    match read_line(&mut stream) {
        Ok(line) if line == hub::greeting(job) => {}
        _ => return Ok(Answer::Other),
    }
    writeln!(stream, "{} {}", job.rank, job.size)?;
    let answer = read_line(&mut stream)?;
    if let Some(reason) = answer.strip_prefix("no: ") {
        return Ok(Answer::Refused(reason.to_owned()));
    }
    stream.set_read_timeout(Some(job.timeout.max(hub::INTRODUCTION)))?;
    stream.set_write_timeout(Some(job.timeout.max(hub::INTRODUCTION)))?;
    Ok(Answer::Welcome(stream))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A job with this many ranks that meet at a free port of this machine.
    fn job(size: usize, seconds: f64) -> Job {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let timeout = Duration::from_secs_f64(seconds);
        Job {
            rank: 0,
            size,
            local_rank: 0,
            address: "127.0.0.1".into(),
            ports: free..=free,
            program: 7,
            timeout,
        }
    }

    /// Makes these ranks meet, each in a thread.
    fn meet(job: &Job, ranks: &[usize]) -> Vec<Result<Arc<Rendezvous>, Error>> {
        std::thread::scope(|scope| {
            let start = |&rank| {
                let job = Job { rank, ..job.clone() };
                scope.spawn(move || Rendezvous::join(&job))
            };
            let threads: Vec<_> = ranks.iter().map(start).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    /// Rank 0 ends last, because it waits for the others, and here no other thread ends them.
    fn end(mut met: Vec<Arc<Rendezvous>>) {
        while met.pop().is_some() {}
    }

    fn error<T>(result: Result<T, Error>) -> String {
        result.err().expect("an error").to_string()
    }

    fn soon(seconds: u64) -> Instant {
        Instant::now() + Duration::from_secs(seconds)
    }

    #[test]
    fn ranks_meet_and_what_they_send_arrives_in_order() {
        let met: Vec<_> = meet(&job(3, 60.0), &[2, 1, 0]).into_iter().map(Result::unwrap).collect();
        let [two, one, zero] = &met[..] else { panic!() };
        one.send(2, 5, vec![1]);
        one.send(2, 5, vec![2, 3]);
        zero.send(2, 5, vec![4]);
        assert_eq!(two.receive(0, 5, "a", soon(60)).unwrap(), [4]);
        assert_eq!(two.receive(1, 5, "a", soon(60)).unwrap(), [1]);
        assert_eq!(two.receive(1, 5, "a", soon(60)).unwrap(), [2, 3]);
        end(met.into_iter().rev().collect());
    }

    #[test]
    fn who_never_comes_is_named() {
        let refused = meet(&job(4, 3.0), &[0, 3]).remove(0);
        let text = error(refused);
        assert!(text.starts_with("ranks 1 and 2 never came: 4 ranks are to meet at 127.0.0.1:"), "{text}");
        let text = error(meet(&job(2, 0.5), &[1]).remove(0));
        assert!(text.starts_with("rank 0 never came: 2 ranks"), "{text}");
    }

    #[test]
    fn who_ends_is_named_to_who_waits_for_it() {
        let mut met: Vec<_> = meet(&job(3, 60.0), &[0, 1, 2]).into_iter().map(Result::unwrap).collect();
        let two = met.pop().unwrap();
        two.announce(4, "all-gather");
        // As when its process is killed: it sends nothing.
        two.writer.lock().unwrap().shutdown(std::net::Shutdown::Both).unwrap();
        let text = error(met[1].receive(2, 5, "all-reduce of 8 f32", soon(60)));
        assert_eq!(text, "rank 2 is gone (its process ended); rank 1 missed it in all-reduce of 8 f32");
        // Each rank is told by a message of its own.
        let until = soon(60);
        while met[0].missed(1, "a").is_none() {
            assert!(Instant::now() < until);
            std::thread::yield_now();
        }
        drop(two);
        end(met);
    }

    #[test]
    fn who_ends_in_order_is_missed_only_in_calls_that_it_has_not_made() {
        let mut met: Vec<_> = meet(&job(2, 60.0), &[0, 1]).into_iter().map(Result::unwrap).collect();
        let one = met.pop().unwrap();
        one.announce(3, "all-gather");
        drop(one);
        let until = soon(60);
        while met[0].missed(4, "x").is_none() {
            assert!(Instant::now() < until);
            std::thread::yield_now();
        }
        assert!(met[0].missed(3, "x").is_none());
    }

    #[test]
    fn who_does_not_come_to_a_call_is_named_with_the_call_where_it_is() {
        let job = job(3, 60.0);
        let met: Vec<_> = meet(&job, &[0, 1, 2]).into_iter().map(Result::unwrap).collect();
        met[1].announce(2, "broadcast");
        met[2].announce(1, "all-gather");
        let until = soon(60);
        let text = loop {
            let text = error(met[0].receive(1, 2, "broadcast", Instant::now()));
            if text.contains("call 1") || Instant::now() > until {
                break text;
            }
        };
        assert!(text.contains("for call 2, broadcast: "), "{text}");
        assert!(text.contains("rank 2 has come to call 1, all-gather"), "{text}");
        end(met);
    }

    #[test]
    fn two_programs_at_one_port_do_not_meet() {
        let first = job(2, 5.0);
        let other = Job { program: 8, ..first.clone() };
        let (ours, theirs) = std::thread::scope(|scope| {
            let ours = scope.spawn(|| meet(&first, &[0, 1]));
            std::thread::sleep(Duration::from_secs(1));
            let theirs = scope.spawn(|| meet(&other, &[0, 1]));
            (ours.join().unwrap(), theirs.join().unwrap())
        });
        end(ours.into_iter().map(Result::unwrap).collect());
        let theirs: Vec<String> = theirs.into_iter().map(error).collect();
        assert!(theirs[0].contains("give this one another MASTER_PORT"), "{theirs:?}");
        assert!(theirs[1].contains("is not rank 0 of this program"), "{theirs:?}");
    }

    #[test]
    fn a_rank_that_came_already_is_refused() {
        let job = job(2, 30.0);
        let met = meet(&job, &[0, 1]);
        assert!(met.iter().all(Result::is_ok));
        let again = meet(&Job { timeout: Duration::from_millis(300), ..job.clone() }, &[1]).remove(0);
        let text = error(again);
        assert!(text.contains("rank 1 is here already"), "{text}");
        end(met.into_iter().map(Result::unwrap).collect());
    }

    #[test]
    fn behind_a_port_that_another_holds_the_next_is_taken() {
        let job = job(2, 30.0);
        let taken = std::net::TcpListener::bind(("127.0.0.1", *job.ports.start())).unwrap();
        let job = Job { ports: *job.ports.start()..=job.ports.start().saturating_add(8), ..job };
        let met = meet(&job, &[0, 1]);
        end(met.into_iter().map(Result::unwrap).collect());
        drop(taken);
    }
}
