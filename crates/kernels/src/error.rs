//! Errors of the library.

use std::fmt;

/// An error of this crate: the request, the limit, and the remedy.
#[derive(thiserror::Error)]
pub enum Error {
    /// A product whose description contradicts itself, or that nothing computes.
    #[error("cannot multiply: {0}")]
    Gemm(String),
    /// A matrix that is longer than what holds it.
    #[error("cannot multiply: {matrix} needs {needed} elements, its buffer has {has}")]
    BufferTooShort {
        /// `A`, `B` or `C`.
        matrix: &'static str,
        /// Elements from the matrix's first to its last.
        needed: usize,
        /// Elements of the buffer.
        has: usize,
    },
    /// A plan that was made for a matrix that lies elsewhere.
    #[error(
        "cannot multiply: the plan is for {matrix} {planned} bytes after a multiple of 16, and here it begins {is} bytes \
         after one: make a plan for these matrices"
    )]
    PlanMismatch {
        /// `A`, `B` or `C`.
        matrix: &'static str,
        /// Its planned address, modulo 16.
        planned: u64,
        /// Its address, modulo 16.
        is: u64,
    },
    /// A transpose that no kernel does.
    #[error("cannot transpose: {0}")]
    Transpose(String),
    /// A conversion of structs that no kernel does.
    #[error("cannot convert structs: {0}")]
    Structs(String),
    /// A primitive that its buffers do not admit.
    #[error("cannot run the primitive: {0}")]
    Primitive(String),
    /// Rows that their buffers do not admit.
    #[error("cannot work on rows: {0}")]
    Rows(String),
    /// The device, the driver or a launch.
    #[error(transparent)]
    Launch(#[from] warpsmith_launch::Error),
}

/// As displayed: `main` and `unwrap` print this form.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
