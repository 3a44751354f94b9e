//! Matrix multiply-accumulate, independent of registers and memory: element formats, which lane holds which element,
//! and the arithmetic. `mma.sync`, `wmma` and `wgmma` share it.

mod aligned;
mod descriptor;
pub(crate) mod element;
pub(crate) mod fragment;
pub(crate) mod mma;
mod panels;
pub(crate) mod product;
mod quad_pairs;
pub(crate) mod sparse;
mod stored;
mod sums;
mod vectors;
pub(crate) mod wgmma;
pub(crate) mod wmma;

#[cfg(test)]
mod one_by_one;

pub(crate) use descriptor::ReadShared;

/// Working memory of a product, kept for the next one.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    pieces: Vec<[u32; 4]>,
    stored: stored::Stored,
    floats: aligned::Floats,
    integers: panels::Panels<f64>,
    words: panels::Panels<u32>,
}
