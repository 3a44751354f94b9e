//! One process for each device.

use std::io::Write;
use std::process::ExitCode;

use warpsmith_collectives::{Communicator, Job, Reduction};
use warpsmith_launch::Device;

/// What a process of a job does.
pub fn work(what: &str, device: &Device, job: &Job) -> anyhow::Result<ExitCode> {
    let rank = Communicator::from_job(device, job)?;
    match what {
        "cases" => return Ok(crate::work(&[rank])),
        // Calls without end, for who is killed meanwhile and who misses it.
        "on" => {
            for round in 1u32.. {
                reduce(&rank, round)?;
                // Who reads it may have read enough.
                let _ = writeln!(std::io::stdout(), "round {round}");
            }
        }
        // One rank comes to no second call, and does not end either.
        "idle" => {
            reduce(&rank, 1)?;
            if job.rank == job.size - 1 {
                std::thread::sleep(crate::PATIENCE);
            }
            reduce(&rank, 2)?;
        }
        // The sum of all ranks' numbers, times what tells one program from the other.
        _ => {
            let times: u32 = what.parse()?;
            for _ in 0..20 {
                let sum = reduce(&rank, times * (job.rank as u32 + 1))?;
                let all = (1..=job.size as u32).sum::<u32>();
                anyhow::ensure!(sum == times * all, "the sum is {sum}, and should be {}", times * all);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn reduce(rank: &Communicator<'_>, value: u32) -> anyhow::Result<u32> {
    let mut x = rank.device().upload(&[value; 100])?;
    rank.all_reduce_in_place(&mut x, Reduction::Sum)?.launch()?;
    Ok(x.to_vec()?[99])
}
