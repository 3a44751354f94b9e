//! Reductions, by any operation that is a type.
//!
//! A kernel is written once, here, for all elements and operations; [`base::primitives`](crate::base::primitives) has those for
//! every device, and a kernel crate of one's own makes more with the macro [`reduction!`](crate::reduction).
//!
//! | verb | what a block does | how blocks meet |
//! | --- | --- | --- |
//! | [`reduce`] | walks over the grid's share by 16-byte loads | the last block to arrive combines the others' parts |

pub mod block;
pub mod operation;
pub mod reduce;
