//! Matrix multiply-accumulate, independent of registers and memory: element formats, which lane holds which element,
//! and the arithmetic. `mma.sync`, `wmma` and `wgmma` share it.

pub(crate) mod element;
pub(crate) mod fragment;
pub(crate) mod mma;
pub(crate) mod product;
mod quad_pairs;
pub(crate) mod sparse;
pub(crate) mod wgmma;
pub(crate) mod wmma;
