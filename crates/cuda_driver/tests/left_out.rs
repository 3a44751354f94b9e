//! A build without `foreign`: its symbols are there, and say so.
#![cfg(not(feature = "foreign"))]

mod driver;

use driver::*;

#[test]
fn what_a_build_leaves_out_is_not_supported() {
    current();
    let (mut array, mut memory) = (0, 0);
    // SAFETY: the places are valid.
    unsafe {
        assert_eq!(cuArrayCreate_v2(out(&mut array), nothing()), CUresult::NOT_SUPPORTED);
        ok(cuMemAlloc_v2(out(&mut memory), 16));
        ok(cuMemFree_v2(memory));
    }
}
