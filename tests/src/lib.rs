//! End-to-end tests that cross crates.
