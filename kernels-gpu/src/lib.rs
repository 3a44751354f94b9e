//! The kernels, one file a family, in a folder for each level of features: [`base`], [`ampere`] and [`hopper`].
//!
//! Compiled twice: for the GPU by `crates/kernels/build.rs`, and as an ordinary crate that gives the host each kernel's typed
//! description, the constants of its tiles, and the types that travel between host and device.
//!
//! The GPU's PTX is one module for each level, compiled with the feature of that name alone: no kernel stands in two. The host
//! is given the best module that a device runs, with all below it, and sees every kernel.
//!
//! A kernel is named where it is defined and in its file's list, `KERNELS`; families of names, form × type × layout, come with
//! theirs from the macro that writes them. [`FAMILIES`] and [`OTHERS`] put the lists in order, and all else is made from them.
#![no_std]

/// Writes the list of a file's kernels.
macro_rules! listed {
    ($($kernel:ident)*) => {
        #[cfg(feature = "host")]
        pub const KERNELS: &[cuda_std::Description] = &[$(cuda_std::Description::of::<$kernel>()),*];
    };
}

#[cfg(feature = "host")]
pub mod choice;

// What kernels of more than one level are made of.
pub mod gemm;
pub mod primitives;
pub mod product;
pub mod real;
pub mod rows;
pub mod transpose;

/// The kernels of every device.
#[cfg(feature = "base")]
pub mod base {
    pub mod banks;
    pub mod coalescing;
    pub mod first;
    #[cfg(feature = "ladder")]
    pub mod ladder;
    pub mod latency;
    pub mod matmul;
    pub mod primitives;
    pub mod product;
    pub mod records;
    pub mod rows;
    pub mod spaces;
    pub mod transpose;
    // `warpsmith new` writes above this line.
}
/// The kernels that take asynchronous copies or tensor cores: capability 8.0 and later.
#[cfg(feature = "ampere")]
pub mod ampere {
    #[cfg(feature = "ladder")]
    pub mod ladder;
    pub mod product;
    pub mod tensor;
}
#[cfg(feature = "hopper")]
pub mod hopper;

/// The kernels that demos show, by family, in the demos' order.
#[cfg(feature = "host")]
pub const FAMILIES: &[(&str, &[cuda_std::Description])] = &[
    ("first", base::first::KERNELS),
    ("matmul", base::matmul::naive::KERNELS),
    ("matmul", base::matmul::tiled::KERNELS),
    ("matmul", base::matmul::dynamic::KERNELS),
    ("matmul", base::matmul::column_order::KERNELS),
    ("matmul", ampere::product::KERNELS),
    ("matmul", base::product::KERNELS),
    ("matmul", base::product::thin::KERNELS),
    ("matmul", base::product::parts::KERNELS),
    ("matmul", base::product::pack::KERNELS),
    ("transpose", base::transpose::KERNELS),
    ("transpose", base::transpose::vectorised::KERNELS),
    ("transpose", base::transpose::shifted::KERNELS),
    ("transpose", hopper::transpose::vectorised::KERNELS),
    ("transpose", hopper::transpose::shifted::KERNELS),
    ("transpose", hopper::transpose::narrow::KERNELS),
    ("coalescing", base::coalescing::KERNELS),
    ("banks", base::banks::KERNELS),
    ("spaces", base::spaces::KERNELS),
    ("tensor", <half::f16 as ampere::tensor::portable::Family>::KERNELS),
    ("tensor", <half::bf16 as ampere::tensor::portable::Family>::KERNELS),
    ("tensor", <tile::mma::Tf32 as ampere::tensor::portable::Family>::KERNELS),
    ("tensor", <i8 as ampere::tensor::portable::Family>::KERNELS),
    ("tensor", ampere::tensor::general::KERNELS),
    ("tensor", <half::f16 as hopper::product::Family>::KERNELS),
    ("tensor", <half::bf16 as hopper::product::Family>::KERNELS),
    ("tensor", <tile::mma::Tf32 as hopper::product::Family>::KERNELS),
    ("tensor", <i8 as hopper::product::Family>::KERNELS),
    ("latency", base::latency::KERNELS),
    // `warpsmith new` writes above this line.
];

/// The other kernels: what a dispatcher, a test or `warpsmith bench ladder` launches, and no demo by its name.
#[cfg(feature = "host")]
pub const OTHERS: &[&[cuda_std::Description]] = &[
    base::records::KERNELS,
    base::primitives::histogram::KERNELS,
    base::primitives::reduce::KERNELS,
    base::primitives::scan::KERNELS,
    base::primitives::select::KERNELS,
    base::primitives::sort::KERNELS,
    base::rows::KERNELS,
    ampere::tensor::lines::KERNELS,
    hopper::first::KERNELS,
    #[cfg(feature = "ladder")]
    base::ladder::KERNELS,
    #[cfg(feature = "ladder")]
    ampere::ladder::KERNELS,
    #[cfg(feature = "ladder")]
    hopper::ladder::KERNELS,
];
