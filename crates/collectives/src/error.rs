//! What can go wrong between ranks.

use std::time::Duration;

/// An error of this crate: which rank, which call, and what to do.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// A rank ended, or its machine went away.
    #[error("rank {rank} is gone ({how}); rank {here} missed it in {call}")]
    Gone {
        /// Who is gone.
        rank: usize,
        /// What is known of it.
        how: String,
        /// Who says so.
        here: usize,
        /// The call that cannot be done without it.
        call: String,
    },
    /// Ranks never started.
    #[error("{} never came: {size} ranks are to meet at {place}, and after {} s {here} has seen no more", named(.ranks), .waited.as_secs_f64())]
    NeverCame {
        /// Who is missing.
        ranks: Vec<usize>,
        /// How many there should be.
        size: usize,
        /// Where.
        place: String,
        /// Who says so.
        here: String,
        /// For how long it waited.
        waited: Duration,
    },
    /// A call that not all ranks came to.
    #[error("rank {here} waited {} s for {call}: {behind}", .waited.as_secs_f64())]
    Late {
        /// Who waited.
        here: usize,
        /// For how long.
        waited: Duration,
        /// For which call.
        call: String,
        /// Who has not come to it, as far as it is known.
        behind: String,
    },
    /// Ranks call different things.
    #[error(
        "rank {here} says {call}, and rank {rank} says {other}: all ranks make the same calls in the same order"
    )]
    Mismatch {
        /// Who says so.
        here: usize,
        /// Its call.
        call: String,
        /// The other.
        rank: usize,
        /// The other's call.
        other: String,
    },
    /// The variables that tell a rank who it is are missing or contradict each other.
    #[error("{0}")]
    Job(String),
    /// Ranks cannot meet at the place.
    #[error("{0}")]
    Meeting(String),
    /// A call whose buffers or rank are wrong.
    #[error("rank {rank} cannot {call}: {problem}")]
    Call {
        /// Whose call.
        rank: usize,
        /// What it asks for.
        call: String,
        /// The broken relation, with both values.
        problem: String,
    },
    /// NCCL is not here.
    #[error(transparent)]
    NoNccl(#[from] crate::nccl::Missing),
    /// NCCL answers with an error.
    #[error("rank {rank}: NCCL answers {call} with \"{answer}\"{detail}")]
    Nccl {
        /// Whose call.
        rank: usize,
        /// The call.
        call: String,
        /// What NCCL calls its answer.
        answer: String,
        /// What it says beyond that.
        detail: String,
    },
    /// The driver, on this rank's device.
    #[error("rank {rank}: {problem}")]
    Driver {
        /// Whose device.
        rank: usize,
        /// What was being done, and the driver's answer.
        problem: String,
    },
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

/// Says which rank's driver call failed.
pub(crate) trait OnRank<T> {
    fn on(self, rank: usize, doing: &str) -> Result<T, Error>;
}

impl<T> OnRank<T> for cust::error::CudaResult<T> {
    fn on(self, rank: usize, doing: &str) -> Result<T, Error> {
        self.map_err(|error| Error::Driver { rank, problem: format!("cannot {doing}: {error:?}") })
    }
}

impl<T> OnRank<T> for Result<T, warpsmith_launch::Error> {
    fn on(self, rank: usize, doing: &str) -> Result<T, Error> {
        self.map_err(|error| Error::Driver { rank, problem: format!("while it was to {doing}: {error}") })
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
