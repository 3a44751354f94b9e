//! The kernels, one file a family.
//!
//! Compiled twice: for the GPU by `crates/kernels/build.rs`, and as an ordinary crate that gives the host each kernel's typed
//! description, the constants of its tiles, and the types that travel between host and device.
//!
//! The GPU's PTX is one module for each level of features, and each kernel stands in one of them, which `cfg` says: most in
//! the lowest, where `compute_80` is not yet a feature. The host's build has no such feature at all and sees every kernel.
//!
//! A kernel is named where it is defined and in its file's list, `KERNELS`; families of names, form × type × layout, come with
//! theirs from the macro that writes them. [`FAMILIES`] and [`OTHERS`] put the lists in order, and all else is made from them.
#![no_std]

/// Writes the list of a file's kernels.
macro_rules! listed {
    ($($kernel:ident)*) => {
        /// The kernels of this file.
        #[cfg(not(target_os = "cuda"))]
        pub const KERNELS: &[cuda_std::Description] = &[$(cuda_std::Description::of::<$kernel>()),*];
    };
}

#[cfg(not(target_feature = "compute_80"))]
pub mod banks;
#[cfg(not(target_os = "cuda"))]
pub mod choice;
#[cfg(not(target_feature = "compute_80"))]
pub mod coalescing;
#[cfg(not(target_feature = "compute_80"))]
pub mod first;
#[cfg(any(not(target_os = "cuda"), target_feature = "compute_90a"))]
pub mod hopper;
#[cfg(not(target_feature = "compute_80"))]
pub mod latency;
#[cfg(not(target_feature = "compute_90"))]
pub mod matmul;
#[cfg(not(target_feature = "compute_80"))]
pub mod records;
#[cfg(not(target_feature = "compute_80"))]
pub mod spaces;
#[cfg(any(not(target_os = "cuda"), all(target_feature = "compute_80", not(target_feature = "compute_90"))))]
pub mod tensor;
#[cfg(any(not(target_feature = "compute_80"), target_feature = "compute_90a"))]
pub mod transpose;
// `warpsmith new` writes above this line.

/// The kernels that demos show, by family, in the demos' order.
#[cfg(not(target_os = "cuda"))]
pub const FAMILIES: &[(&str, &[cuda_std::Description])] = &[
    ("first", first::KERNELS),
    ("matmul", matmul::naive::KERNELS),
    ("matmul", matmul::tiled::KERNELS),
    ("matmul", matmul::dynamic::KERNELS),
    ("matmul", matmul::column_order::KERNELS),
    ("matmul", matmul::product::KERNELS),
    ("matmul", matmul::product::thin::KERNELS),
    ("matmul", matmul::product::parts::KERNELS),
    ("matmul", matmul::product::pack::KERNELS),
    #[cfg(feature = "ladder")]
    ("matmul", matmul::ladder::registers_1d::KERNELS),
    #[cfg(feature = "ladder")]
    ("matmul", matmul::ladder::registers_2d::KERNELS),
    #[cfg(feature = "ladder")]
    ("matmul", matmul::ladder::vectors::KERNELS),
    #[cfg(feature = "ladder")]
    ("matmul", matmul::ladder::asynchronous::KERNELS),
    #[cfg(feature = "ladder")]
    ("matmul", matmul::ladder::warps::KERNELS),
    #[cfg(feature = "ladder")]
    ("matmul", matmul::ladder::ordered::KERNELS),
    ("transpose", transpose::KERNELS),
    ("transpose", transpose::vectorised::KERNELS),
    ("transpose", transpose::shifted::KERNELS),
    ("transpose", transpose::hopper::vectorised::KERNELS),
    ("transpose", transpose::hopper::shifted::KERNELS),
    ("transpose", transpose::hopper::narrow::KERNELS),
    ("coalescing", coalescing::KERNELS),
    ("banks", banks::KERNELS),
    ("spaces", spaces::KERNELS),
    ("tensor", <half::f16 as tensor::portable::Family>::KERNELS),
    ("tensor", <half::bf16 as tensor::portable::Family>::KERNELS),
    ("tensor", <tile::mma::Tf32 as tensor::portable::Family>::KERNELS),
    ("tensor", <i8 as tensor::portable::Family>::KERNELS),
    ("tensor", tensor::general::KERNELS),
    #[cfg(feature = "ladder")]
    ("tensor", hopper::ladder::KERNELS),
    ("tensor", <half::f16 as hopper::product::Family>::KERNELS),
    ("tensor", <half::bf16 as hopper::product::Family>::KERNELS),
    ("tensor", <tile::mma::Tf32 as hopper::product::Family>::KERNELS),
    ("tensor", <i8 as hopper::product::Family>::KERNELS),
    ("latency", latency::KERNELS),
    // `warpsmith new` writes above this line.
];

/// The other kernels: what a dispatcher or a test launches, and no demo by its name.
#[cfg(not(target_os = "cuda"))]
pub const OTHERS: &[&[cuda_std::Description]] =
    &[records::KERNELS, tensor::lines::KERNELS, tensor::blocks::READERS, tensor::blocks::PRODUCTS];
