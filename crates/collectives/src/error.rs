//! Errors between ranks.

use std::fmt;
use std::time::Duration;

/// An error of this crate: the rank, the call, and what to do.
#[derive(Clone, thiserror::Error)]
pub enum Error {
    /// A rank ended, or its machine went away.
    #[error("rank {rank} is gone ({how}); rank {here} missed it in {call}")]
    Gone {
        /// The missing rank.
        rank: usize,
        /// Known details of its end.
        how: String,
        /// The rank that reports it.
        here: usize,
        /// The call that cannot be completed without it.
        call: String,
    },
    /// Some ranks never started.
    #[error("{} never came: {size} ranks are to meet at {place}, and after {} s {here} has seen no more", named(.ranks), .waited.as_secs_f64())]
    NeverCame {
        /// The missing ranks.
        ranks: Vec<usize>,
        /// The size of the job.
        size: usize,
        /// The meeting place.
        place: String,
        /// The rank that reports it.
        here: String,
        /// The time that it waited.
        waited: Duration,
    },
    /// Not all ranks made a call.
    #[error("rank {here} waited {} s for {call}: {behind}", .waited.as_secs_f64())]
    Late {
        /// The waiting rank.
        here: usize,
        /// The time that it waited.
        waited: Duration,
        /// The call it waited for.
        call: String,
        /// The ranks that have not made it, as far as is known.
        behind: String,
    },
    /// Ranks make different calls.
    #[error(
        "rank {here} says {call}, and rank {rank} says {other}: all ranks make the same calls in the same order"
    )]
    Mismatch {
        /// The rank that reports it.
        here: usize,
        /// Its call.
        call: String,
        /// The other rank.
        rank: usize,
        /// The other's call.
        other: String,
    },
    /// The variables that tell a rank its number are missing or contradict each other.
    #[error("{0}")]
    Job(String),
    /// Ranks cannot meet at this address.
    #[error("{0}")]
    Rendezvous(String),
    /// A call with wrong buffers or a wrong rank.
    #[error("rank {rank} cannot {call}: {problem}")]
    Call {
        /// The rank that made it.
        rank: usize,
        /// The call.
        call: String,
        /// The violated condition, with both values.
        problem: String,
    },
    /// NCCL is not installed.
    #[error(transparent)]
    NoNccl(#[from] crate::nccl::NcclUnavailable),
    /// NCCL returned an error.
    #[error("rank {rank}: NCCL answers {call} with \"{answer}\"{detail}")]
    Nccl {
        /// The rank that made the call.
        rank: usize,
        /// The call.
        call: String,
        /// NCCL's name for the result.
        answer: String,
        /// NCCL's further explanation.
        detail: String,
    },
    /// The driver failed, on this rank's device.
    #[error("rank {rank}: {problem}")]
    Driver {
        /// The rank.
        rank: usize,
        /// The operation, and the driver's result.
        problem: String,
    },
}

/// As displayed: `main` and `unwrap` print this form.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// `rank 2`, `ranks 0, 2 and 3`.
pub(crate) fn named(ranks: &[usize]) -> String {
    let numbers: Vec<String> = ranks.iter().map(usize::to_string).collect();
    match numbers.split_last() {
        None => "no rank".into(),
        Some((last, [])) => format!("rank {last}"),
        Some((last, others)) => format!("ranks {} and {last}", others.join(", ")),
    }
}

/// Adds the rank to a failed driver call.
pub(crate) trait RankContext<T> {
    fn on_rank(self, rank: usize, task: &str) -> Result<T, Error>;
}

impl<T> RankContext<T> for cust::error::CudaResult<T> {
    fn on_rank(self, rank: usize, task: &str) -> Result<T, Error> {
        self.map_err(|error| Error::Driver { rank, problem: format!("cannot {task}: {error:?}") })
    }
}

impl<T> RankContext<T> for Result<T, warpsmith_launch::Error> {
    fn on_rank(self, rank: usize, task: &str) -> Result<T, Error> {
        self.map_err(|error| Error::Driver { rank, problem: format!("could not {task}: {error}") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_named() {
        assert_eq!(
            [named(&[3]), named(&[0, 2]), named(&[0, 2, 3])],
            ["rank 3", "ranks 0 and 2", "ranks 0, 2 and 3"]
        );
    }
}
