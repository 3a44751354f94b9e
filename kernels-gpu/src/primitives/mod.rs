//! Reductions and scans by any operation that is a type, histograms, selections and sorts.
//!
//! A kernel is written once, here, for all elements and operations; [`base::primitives`](crate::base::primitives) has those for
//! every device, and a kernel crate of one's own makes more with the macros [`reduction!`](crate::reduction), [`scan!`](crate::scan) and [`selection!`](crate::selection).
//!
//! | verb | what a block does | how blocks meet |
//! | --- | --- | --- |
//! | [`reduce`] | walks over the grid's share by 16-byte loads | the last block to arrive combines the others' parts |
//! | [`histogram`](mod@histogram) | counts in shared memory | by atomic additions |
//! | [`scan`](mod@scan) | scans a tile in registers | by [look-back](look_back) |
//! | [`select`](mod@select) | ranks a tile's chosen elements | by look-back |
//! | [`sort`] | ranks a tile's keys by one digit | by look-back for each digit |

pub mod block;
pub mod histogram;
pub mod look_back;
pub mod operation;
pub mod part;
pub mod reduce;
pub mod scan;
pub mod select;
pub mod sort;
pub mod walk;
