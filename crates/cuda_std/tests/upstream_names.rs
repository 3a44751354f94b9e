//! Upstream's names in a host build; `device.rs` compiles the same file for the device.
// What is named here exists only for the compiler.
#![allow(missing_docs, unreachable_pub)]

#[path = "fixtures/device/src/names.rs"]
mod names;

/// Compiling the file is the test; calling one of its functions keeps it from being reported as unused.
#[test]
fn every_name_of_upstream_is_there() {
    let _: unsafe fn(u32) = names::sync_warp;
}
