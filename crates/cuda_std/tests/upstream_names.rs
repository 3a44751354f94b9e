//! Upstream's names in a host build; `device.rs` compiles the same file for the device.
// What is named here is for the compiler alone.
#![allow(missing_docs, unreachable_pub)]

#[path = "fixtures/device/src/names.rs"]
mod names;

/// The file is compiled, which is the test; that one of its functions is called keeps it from being taken for unused.
#[test]
fn every_name_of_upstream_is_there() {
    let _: unsafe fn(u32) = names::sync_warp;
}
