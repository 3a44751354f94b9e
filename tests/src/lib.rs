//! End-to-end tests that cross crates, and the planted mistakes of `docs/mistakes.md`.

pub mod mistakes;
