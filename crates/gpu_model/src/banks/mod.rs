//! Shared-memory banks: how many wavefronts a warp instruction takes, and why.
//!
//! Shared memory hands out one word a bank and wavefront. Lanes that want the same word share it; lanes that want
//! different words of one bank wait for each other. [`shared_wavefronts`] counts for today's chips (32 banks of
//! 4 bytes, capability 5.x and later), fast enough to be asked for every access of a launch. [`BankMap`] explains
//! one access on any [`BankSystem`]: which lane wants which word of which bank, and who waits for whom.

mod map;
mod matrix;
mod stride;
mod system;
mod wavefronts;

pub use map::{BankMap, BankUse, Group, WordUse};
pub use matrix::{Matrix, MatrixError};
pub use stride::{StrideRule, gcd};
pub use system::{BankSystem, BankSystemError, BankWidth, Sharing};
pub use wavefronts::{Access, Wavefronts, shared_wavefronts};
