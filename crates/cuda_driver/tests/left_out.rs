//! A build without `foreign`: its symbols are there, and say so.
#![cfg(not(feature = "foreign"))]

mod driver;

use driver::*;

#[test]
fn what_a_build_leaves_out_is_not_supported() {
    current();
    let (mut graph, mut memory) = (0, 0);
    // SAFETY: the places are valid.
    unsafe {
        assert_eq!(cuGraphCreate(out(&mut graph), 0), CUresult::NOT_SUPPORTED);
        assert_eq!(cuArrayCreate_v2(out(&mut graph), nothing()), CUresult::NOT_SUPPORTED);
        ok(cuMemAlloc_v2(out(&mut memory), 16));
        ok(cuMemFree_v2(memory));
    }
}
