//! Blockwise kernels made at random. What type-checks must run without a finding under any schedule, and compute what its
//! text means; and with a rule of the library removed, it must not. A program with a mistake in it must not type-check.
//!
//! ```text
//! cargo test -p blockwise_random                        a small share
//! cargo run --release -p blockwise_random -- 20000      20,000 programs, from number 0 on
//! cargo run --release -p blockwise_random -- 500 20000  500 programs, from number 20,000 on
//! ```

pub mod batch;
mod decision;
mod evaluate;
mod generate;
mod mistakes;
mod program;
mod source;

pub use evaluate::{Input, Output, evaluate};
pub use generate::program;
pub use mistakes::{MISTAKES, Mistake};
pub use program::Program;
pub use source::of as source;
