//! Processes that work together, that are killed, that never come, and that meet others.

use std::io::{BufRead, BufReader};
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use crate::On;

/// A test on so many devices, a process each.
type Test = (&'static str, fn(On, usize) -> anyhow::Result<()>);

pub const TESTS: &[Test] = &[
    ("do_what_one_does", do_what_one_does),
    ("name_who_was_killed", name_who_was_killed),
    ("name_who_never_comes", name_who_never_comes),
    ("name_who_makes_no_call", name_who_makes_no_call),
    ("of_two_programs_do_not_meet", of_two_programs_do_not_meet),
];

/// A port that is free now.
fn free_port() -> anyhow::Result<u16> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Starts a rank of a job.
fn start(on: On, what: &str, (rank, size): (usize, usize), port: u16, seconds: f64) -> anyhow::Result<Child> {
    let mut worker = on.worker(1, what)?;
    worker.env("RANK", rank.to_string()).env("WORLD_SIZE", size.to_string());
    worker.env("LOCAL_RANK", rank.to_string());
    worker.env("MASTER_ADDR", "127.0.0.1").env("MASTER_PORT", port.to_string());
    worker.env("WARPSMITH_TIMEOUT", seconds.to_string()).env("WARPSMITH_JOB", what);
    Ok(worker.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?)
}

/// How long a process may take that is to end: a hang is an error here, not the end of all tests.
const AT_MOST: Duration = Duration::from_secs(240);

/// Waits for a process that is to end by itself.
fn ended(mut process: Child) -> anyhow::Result<Output> {
    let until = Instant::now() + AT_MOST;
    while process.try_wait()?.is_none() {
        if Instant::now() > until {
            process.kill()?;
            let output = process.wait_with_output()?;
            anyhow::bail!("a rank did not end: {}", String::from_utf8_lossy(&output.stderr));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(process.wait_with_output()?)
}

/// What a process that failed says.
fn complaint(process: Child) -> anyhow::Result<String> {
    let output = ended(process)?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(!output.status.success(), "a rank that misses another ended well: {said}");
    Ok(said)
}

fn do_what_one_does(on: On, size: usize) -> anyhow::Result<()> {
    let port = free_port()?;
    let start = |rank| start(on, "cases", (rank, size), port, 200.0);
    let ranks = (0..size).map(start).collect::<Result<Vec<_>, _>>()?;
    for (rank, process) in ranks.into_iter().enumerate() {
        let output = ended(process)?;
        let said =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        ensure!(output.status.success(), "rank {rank}: {said}");
        let right = said.lines().filter(|line| line.starts_with(crate::ANSWER) && line.ends_with(": ok"));
        ensure!(right.count() == crate::cases().len(), "rank {rank} did not answer to all: {said}");
    }
    Ok(())
}

fn name_who_was_killed(on: On, size: usize) -> anyhow::Result<()> {
    // The last, and rank 0, through which all pass.
    for victim in if size > 1 { vec![size - 1, 0] } else { Vec::new() } {
        let port = free_port()?;
        let begin = |rank| start(on, "on", (rank, size), port, 100.0);
        let mut ranks = (0..size).map(begin).collect::<Result<Vec<_>, _>>()?;
        let said = ranks[victim].stdout.take().context("what it says")?;
        let third = BufReader::new(said).lines().map_while(Result::ok).find(|line| line == "round 3");
        ensure!(third.is_some(), "rank {victim} ended by itself: {}", complaint(ranks.remove(victim))?);
        ranks[victim].kill()?;
        let begun = Instant::now();
        for (rank, mut process) in ranks.into_iter().enumerate() {
            if rank == victim {
                process.wait()?;
                continue;
            }
            // Nobody reads what it says, and it must not wait for that.
            drop(process.stdout.take());
            let said = complaint(process)?;
            ensure!(
                said.contains(&format!("rank {victim} is gone (its process ended)")),
                "rank {rank}: {said}"
            );
            ensure!(said.contains("all-reduce (Sum) of 100 U32"), "rank {rank}: {said}");
        }
        ensure!(begun.elapsed() < Duration::from_secs(100), "they waited {:?}", begun.elapsed());
    }
    Ok(())
}

fn name_who_never_comes(on: On, size: usize) -> anyhow::Result<()> {
    for absent in if size > 1 { vec![size - 1, 0] } else { Vec::new() } {
        let port = free_port()?;
        let begin = |rank| start(on, "on", (rank, size), port, 5.0);
        let ranks = (0..size).filter(|&rank| rank != absent).map(begin).collect::<Result<Vec<_>, _>>()?;
        for process in ranks {
            let said = complaint(process)?;
            ensure!(said.contains(&format!("rank {absent} never came")), "{said}");
        }
    }
    Ok(())
}

fn name_who_makes_no_call(on: On, size: usize) -> anyhow::Result<()> {
    if size < 2 {
        return Ok(());
    }
    let port = free_port()?;
    let begin = |rank| start(on, "idle", (rank, size), port, 8.0);
    let mut ranks = (0..size).map(begin).collect::<Result<Vec<_>, _>>()?;
    let mut idle = ranks.pop().context("a last rank")?;
    let mut said = Vec::new();
    for process in ranks {
        said.push(complaint(process)?);
    }
    idle.kill()?;
    idle.wait()?;
    let named = format!("rank {} has come to call 1, all-reduce (Sum) of 100 U32", size - 1);
    // Who is last to give up may find that others have left before.
    ensure!(said.iter().any(|said| said.contains(&named)), "{said:?}");
    Ok(())
}

fn of_two_programs_do_not_meet(on: On, size: usize) -> anyhow::Result<()> {
    let both = |ports: [u16; 2], seconds: f64| {
        let begin = |program: usize, rank| {
            let what = ["7", "13"][program];
            start(on, what, (rank, size), ports[program], seconds)
        };
        let first = (0..size).map(|rank| begin(0, rank)).collect::<Result<Vec<_>, _>>()?;
        let second = (0..size).map(|rank| begin(1, rank)).collect::<Result<Vec<_>, _>>()?;
        let end = |ranks: Vec<Child>| ranks.into_iter().map(ended).collect::<Result<Vec<_>, _>>();
        Ok::<_, anyhow::Error>((end(first)?, end(second)?))
    };
    let text = |outputs: &[Output]| -> String {
        outputs.iter().map(|output| String::from_utf8_lossy(&output.stderr).into_owned()).collect()
    };
    let well = |outputs: &[Output]| outputs.iter().all(|output| output.status.success());
    // Each at its own port: both do their work.
    let (first, second) = both([free_port()?, free_port()?], 100.0)?;
    ensure!(well(&first) && well(&second), "{}{}", text(&first), text(&second));
    // Both at one: one of them works, or none does; no rank's sum has a number of the other program's.
    let port = free_port()?;
    let (first, second) = both([port, port], 5.0)?;
    let said = text(&first) + &text(&second);
    ensure!(!said.contains("the sum is"), "{said}");
    ensure!(!(well(&first) && well(&second)) || size == 1, "both ended well at one port");
    ensure!(size == 1 || said.contains("MASTER_PORT"), "{said}");
    Ok(())
}
