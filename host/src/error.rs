//! Errors between the host and its kernels.

/// An error of this crate: what was asked, what the limit is, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The device, a module or a launch.
    #[error(transparent)]
    Launch(#[from] warpsmith_launch::Error),
    /// A product, a transpose or a conversion that no kernel does as it was described.
    #[error(transparent)]
    Kernels(#[from] warpsmith_kernels::Error),
    /// Several devices, or the processes that have them.
    #[error(transparent)]
    Collectives(#[from] warpsmith_collectives::Error),
    /// A product or a transpose that is spread over them.
    #[error(transparent)]
    Distributed(#[from] warpsmith_distributed::Error),
    /// Time is to be measured where there is none.
    #[error(
        "`bench` measures time, and the virtual GPU has none to measure: run it on a machine with an NVIDIA GPU; `profile` \
         counts what a kernel does, here"
    )]
    NoTime,
    /// A problem size that cannot be run.
    #[error("{0}")]
    Size(String),
}
