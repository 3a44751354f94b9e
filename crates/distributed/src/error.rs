//! Errors.

use std::fmt;

/// An error of this crate.
#[derive(thiserror::Error)]
pub enum Error {
    /// The problem does not fit the group or its buffers.
    #[error("cannot distribute it: {0}")]
    Problem(String),
    /// Communication between the ranks.
    #[error(transparent)]
    Collectives(#[from] warpsmith_collectives::Error),
    /// A device's own product or transpose.
    #[error(transparent)]
    Kernels(#[from] warpsmith_kernels::Error),
    /// The driver or a launch.
    #[error(transparent)]
    Launch(#[from] warpsmith_launch::Error),
}

/// As displayed: `main` and `unwrap` print this form.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
