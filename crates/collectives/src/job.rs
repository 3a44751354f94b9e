//! A process's rank among those started together.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use crate::error::Error;

/// The information in the variables of `torchrun`, `mpirun` and Slurm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Its number, from 0.
    pub rank: usize,
    /// The number of ranks.
    pub size: usize,
    /// Its number among those on its machine, which decides which of the machine's GPUs it uses.
    pub local_rank: usize,
    /// The machine of rank 0.
    pub address: String,
    /// Ports at which rank 0 listens: at the first that is free and belongs to this program.
    pub ports: std::ops::RangeInclusive<u16>,
    /// Identifies the program among others that run at the same time.
    pub program: u64,
    /// Limit for waiting for others: at the rendezvous, and in each call.
    pub timeout: Duration,
}

/// Variables for rank, size and local rank, by launcher: the first one that is set counts.
const RANK: [&str; 4] = ["RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"];
const SIZE: [&str; 4] = ["WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"];
const LOCAL: [&str; 4] = ["LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"];
/// Variables that tell one run from another.
const RUN: [&str; 5] =
    ["WARPSMITH_JOB", "TORCHELASTIC_RUN_ID", "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "SLURM_JOB_ID"];
/// Ports above `MASTER_PORT` at which rank 0 may listen if torchrun itself listens there.
const BEHIND: u16 = 16;

impl Job {
    /// The job described by the environment; `None` if `MASTER_ADDR` is not set.
    ///
    /// `WARPSMITH_TIMEOUT` is how many seconds a rank waits for others, 300 by default.
    pub fn from_environment() -> Result<Option<Self>, Error> {
        let arguments: Vec<_> = std::env::args_os().skip(1).collect();
        Self::from_variables(&|name| std::env::var(name).ok().filter(|value| !value.is_empty()), &arguments)
    }

    fn from_variables(
        variable: &dyn Fn(&str) -> Option<String>,
        arguments: &[impl Hash],
    ) -> Result<Option<Self>, Error> {
        let Some(address) = variable("MASTER_ADDR") else { return Ok(None) };
        let first = |names: &[&'static str]| names.iter().find_map(|&name| Some((name, variable(name)?)));
        let number = |names: &[&'static str]| match first(names) {
            None => Err(Error::Job(format!(
                "MASTER_ADDR is set, so this is one of several ranks, but {} is not: start them with torchrun, mpirun or \
                 srun, or set it for each",
                names[0]
            ))),
            Some((name, value)) => value
                .parse::<usize>()
                .map_err(|_| Error::Job(format!("{name} is `{value}`; a whole number is expected"))),
        };
        let (rank, size) = (number(&RANK)?, number(&SIZE)?);
        if rank >= size {
            return Err(Error::Job(format!("RANK is {rank}, and WORLD_SIZE {size}: ranks count from 0")));
        }
        let local_rank = if first(&LOCAL).is_some() { number(&LOCAL)? } else { rank };
        let port = variable("MASTER_PORT").ok_or_else(|| {
            Error::Job(
                "MASTER_PORT is not set: any free port of rank 0's machine, the same for all ranks".into(),
            )
        })?;
        let port: u16 = port.parse().ok().filter(|&port| port > 0).ok_or_else(|| {
            Error::Job(format!("MASTER_PORT is `{port}`; a number from 1 to 65535 is expected"))
        })?;
        let seconds = variable("WARPSMITH_TIMEOUT").map_or(Ok(300.0), |text| {
            let seconds = text.parse::<f64>().ok().filter(|seconds| (0.1..=1e6).contains(seconds));
            seconds.ok_or_else(|| {
                Error::Job(format!("WARPSMITH_TIMEOUT is `{text}`; a number of seconds from 0.1 is expected"))
            })
        })?;
        // torchrun's own store listens at MASTER_PORT.
        let theirs = variable("TORCHELASTIC_USE_AGENT_STORE").is_some_and(|value| value == "True");
        let ports = if theirs { port.saturating_add(1)..=port.saturating_add(BEHIND) } else { port..=port };
        let mut program = DefaultHasher::new();
        size.hash(&mut program);
        match first(&RUN) {
            Some((_, run)) => {
                run.hash(&mut program);
                variable("SLURM_STEP_ID").hash(&mut program);
            }
            // Started by hand: programs are told apart by their arguments and their port.
            None => arguments.hash(&mut program),
        }
        let timeout = Duration::from_secs_f64(seconds);
        Ok(Some(Self { rank, size, local_rank, address, ports, program: program.finish(), timeout }))
    }

    /// The meeting place, for messages.
    pub fn place(&self) -> String {
        match (self.ports.start(), self.ports.end()) {
            (first, last) if first == last => format!("{}:{first}", self.address),
            (first, last) => format!("{}:{first} to {last}", self.address),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(variables: &[(&str, &str)]) -> Result<Option<Job>, String> {
        let find = |name: &str| {
            variables.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned())
        };
        Job::from_variables(&find, &["demo"]).map_err(|error| error.to_string())
    }

    const BY_HAND: [(&str, &str); 4] =
        [("RANK", "1"), ("WORLD_SIZE", "4"), ("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "4000")];

    #[test]
    fn ranks_know_their_numbers_from_each_launchers_variables() {
        let plain = job(&BY_HAND).unwrap().unwrap();
        assert_eq!((plain.rank, plain.size, plain.local_rank, plain.ports.clone()), (1, 4, 1, 4000..=4000));
        let torchrun = [
            &BY_HAND[..],
            &[("LOCAL_RANK", "0"), ("TORCHELASTIC_USE_AGENT_STORE", "True"), ("TORCHELASTIC_RUN_ID", "x")],
        ]
        .concat();
        let torchrun = job(&torchrun).unwrap().unwrap();
        assert_eq!((torchrun.local_rank, torchrun.ports.clone()), (0, 4001..=4016));
        assert_ne!(torchrun.program, plain.program);
        let slurm = [
            ("SLURM_PROCID", "2"),
            ("SLURM_NTASKS", "3"),
            ("SLURM_LOCALID", "0"),
            ("MASTER_ADDR", "node1"),
            ("MASTER_PORT", "4000"),
        ];
        let slurm = job(&slurm).unwrap().unwrap();
        assert_eq!((slurm.rank, slurm.size, slurm.local_rank), (2, 3, 0));
        assert_eq!(job(&BY_HAND[..2]).unwrap(), None);
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        let says = |variables: &[(&str, &str)], text: &str| {
            let error = job(variables).unwrap_err();
            assert!(error.contains(text), "{error}");
        };
        says(&BY_HAND[1..], "RANK is not");
        says(&[("RANK", "4"), BY_HAND[1], BY_HAND[2], BY_HAND[3]], "RANK is 4, and WORLD_SIZE 4");
        says(&BY_HAND[..3], "MASTER_PORT is not set");
        says(&[BY_HAND[0], ("WORLD_SIZE", "four"), BY_HAND[2]], "WORLD_SIZE is `four`");
        says(&[&BY_HAND[..], &[("WARPSMITH_TIMEOUT", "soon")]].concat(), "WARPSMITH_TIMEOUT is `soon`");
    }
}
