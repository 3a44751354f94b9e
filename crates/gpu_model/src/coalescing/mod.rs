//! Coalescing: how many pieces of global memory a warp instruction touches.
//!
//! [`sectors`] counts for today's chips, where global memory moves in aligned pieces of 32 bytes. [`Coalescing`]
//! explains one access by the rule of any generation: which transactions go out, and which lanes each serves.

mod patterns;
mod rules;
mod sectors;

pub use patterns::{Pattern, misaligned, scattered, strided};
pub use rules::{Coalescing, Rule, Transaction};
pub use sectors::{SECTOR_BYTES, atomic_sectors, copied_sectors, efficiency, sectors};
