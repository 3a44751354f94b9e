//! Attributes and macros of `cuda_std`. Use them through `cuda_std`, which re-exports all of them.
//!
//! Everything they leave behind for the device build is stable Rust: link sections, link names and export names that
//! `cuda_builder` recognises. Whether an expansion is for the device or the host is decided by
//! `cfg(target_os = "cuda")` in the expanded code, never here, so one expansion serves `cargo check`, rust-analyzer
//! and the device build.
#![warn(missing_docs)]

mod blockwise;
mod crate_path;
mod device_copy;
mod device_item;
mod device_module;
mod embedded;
mod function;
mod host;
mod host_name;
mod instances;
mod kernel;
mod launch_hints;
mod ptx;
mod requires;

use proc_macro::TokenStream;

/// Makes a function an entry point that the host can launch.
///
/// A function without `unsafe` is a blockwise kernel: its first parameter is a `blockwise::Block`, and the crate `blockwise`
/// describes the rest. What follows is of `unsafe` ones, which return nothing. `&[T]` is
/// passed as pointer and length, scalars, pointers and references as themselves, and any other `Copy` type by value
/// with its Rust size and alignment. `&mut` is refused, since every thread would hold it: take `*mut T`.
///
/// ```
/// use cuda_std::prelude::*;
///
/// #[kernel]
/// pub unsafe fn scale(factor: f32, input: &[f32], output: *mut f32) {
///     let i = thread::index_1d() as usize;
///     if i < input.len() {
///         unsafe { *output.add(i) = factor * input[i] };
///     }
/// }
/// ```
///
/// A generic kernel lists its instances, `#[kernel(T = [f32, f64], N = [16, 32])]` or `#[kernel((T, N) = [(f32, 32), (f64, 16)])]`: each is an
/// entry of its own, and an instance that is not listed is no kernel. A function as a parameter is a unit type with a trait.
///
/// On the host a type of the same name describes the kernel to typed launches. If a module of that name is beside the
/// function, there is no such type; if the function is imported to where its own module is
/// (`mod gemm; pub use gemm::gemm;`), the type is private. Rename one of the two to have it.
///
/// The expansion names `::cuda_std`. A crate that has it under another name, or only through what another crate re-exports,
/// is told that `cuda_std` is not among the imported crates: depend on `cuda_std` itself, or where `Cargo.toml` renames it
/// to `gpu`, say `extern crate gpu as cuda_std;` at the root.
///
/// Refused, and why:
///
/// ```compile_fail
/// # use cuda_std::kernel;
/// #[kernel]
/// pub fn safe(out: *mut f32) {} // a kernel must be an `unsafe fn`
/// ```
/// ```compile_fail
/// # use cuda_std::kernel;
/// #[kernel]
/// pub unsafe fn generic<T: Copy>(x: T) {} // `T` has no list
/// ```
/// ```compile_fail
/// # use cuda_std::kernel;
/// #[kernel]
/// pub unsafe fn mutable(out: &mut [f32]) {} // all threads would hold it at once
/// ```
/// ```compile_fail
/// # use cuda_std::kernel;
/// #[kernel]
/// pub unsafe fn returns(x: f32) -> f32 { x } // a kernel returns nothing
/// ```
/// ```compile_fail
/// # use cuda_std::kernel;
/// # pub struct NotCopy(u32);
/// #[kernel]
/// pub unsafe fn not_copy(x: NotCopy) {} // parameters are copied to the device
/// ```
///
/// A struct by value is read where it lies. What needs its address, such as a tensor map, takes it by reference with
/// `#[grid_constant]`: the launch still passes the struct itself, and no thread makes a copy of it.
///
/// ```
/// # use cuda_std::kernel;
/// # #[derive(Clone, Copy)]
/// # pub struct Map([u64; 16]);
/// #[kernel]
/// pub unsafe fn load(#[grid_constant] map: &Map, out: *mut u64) {
///     unsafe { *out = map.0[0] };
/// }
/// assert_eq!(<load as cuda_std::Kernel>::PARAMS[0].size, 128);
/// ```
/// ```compile_fail
/// # use cuda_std::kernel;
/// #[kernel]
/// pub unsafe fn number(#[grid_constant] x: &u32) {} // a number has no place of its own
/// ```
///
/// In a host build a type of the same name describes the kernel: it implements `cuda_std::Kernel`. A crate that has
/// `cuda_std` from another crate's re-exports only, not from its own manifest, has kernels without that type.
///
/// Limits that the compiler and the driver use are given by [`macro@launch_bounds`], [`macro@block_dim`] and
/// [`macro@cluster_dim`] beside it. Tokens in parentheses (`#[kernel(…)]`) are accepted for upstream's sake and mean
/// nothing.
#[proc_macro_attribute]
pub fn kernel(instances: TokenStream, item: TokenStream) -> TokenStream {
    kernel::expand(instances.into(), item.into()).into()
}

/// Limits for a kernel: `#[launch_bounds(max_threads = 256, min_blocks = 2, max_registers = 64)]`, each optional.
///
/// `max_threads` is the most threads a block may have (PTX `.maxntid`), `min_blocks` the blocks that should fit on a
/// multiprocessor at once (`.minnctapersm`), `max_registers` the registers a thread may use (`.maxnreg`).
/// The values are constant expressions.
#[proc_macro_attribute]
pub fn launch_bounds(limits: TokenStream, item: TokenStream) -> TokenStream {
    launch_hints::hand_to_kernel("launch_bounds", limits.into(), item.into()).into()
}

/// The exact block shape of a kernel: `#[block_dim(16, 16)]` or `#[block_dim(128)]` (PTX `.reqntid`).
///
/// A launch with another shape fails; in return the optimiser knows the thread indices' ranges.
#[proc_macro_attribute]
pub fn block_dim(shape: TokenStream, item: TokenStream) -> TokenStream {
    launch_hints::hand_to_kernel("block_dim", shape.into(), item.into()).into()
}

/// The cluster shape of a kernel, in blocks: `#[cluster_dim(2)]` (PTX `.reqnctapercluster`, compute 9.0 and later).
#[proc_macro_attribute]
pub fn cluster_dim(shape: TokenStream, item: TokenStream) -> TokenStream {
    launch_hints::hand_to_kernel("cluster_dim", shape.into(), item.into()).into()
}

/// Gives a function its body on the device only; on the host it panics.
#[proc_macro_attribute]
pub fn gpu_only(_none: TokenStream, item: TokenStream) -> TokenStream {
    device_item::gpu_only(item.into()).into()
}

/// Keeps a device function in the PTX as a linkable `.visible .func`. The function needs `#[unsafe(no_mangle)]`.
#[proc_macro_attribute]
pub fn externally_visible(_none: TokenStream, item: TokenStream) -> TokenStream {
    device_item::externally_visible(item.into()).into()
}

/// Places a `static` in one of the device's memories: `shared`, `global`, `constant` or `local`.
///
/// The initialiser of a `shared` static is discarded: shared memory starts undefined in every block. Give such a
/// static the type `[MaybeUninit<T>; N]`. One that is not `mut`, which safe code may read, must say so in its initial value:
///
/// ```compile_fail
/// # use core::sync::atomic::AtomicU32;
/// #[cuda_std::address_space(shared)]
/// static ARRIVED: AtomicU32 = AtomicU32::new(0); // it would not be 0
/// ```
/// ```
/// # use core::mem::MaybeUninit;
/// #[cuda_std::address_space(shared)]
/// static ARRIVED: MaybeUninit<u32> = MaybeUninit::uninit();
/// ```
///
/// A `constant` static is read only in kernels. The host sets it by its name, with `Module::get_global`:
///
/// ```
/// use cuda_std::prelude::*;
///
/// #[cuda_std::address_space(constant)]
/// #[unsafe(no_mangle)]
/// static mut WEIGHTS: [f32; 4] = [0.0; 4];
///
/// /// The weighted sum of each element and the three after it.
/// #[kernel]
/// pub unsafe fn weighted(x: &[f32], to: *mut f32) {
///     let at = thread::index_1d() as usize;
///     if at + 3 < x.len() {
///         let weights = &raw const WEIGHTS;
///         let mut sum = 0.0;
///         for i in 0..4 {
///             // SAFETY: constants are not written while a kernel runs.
///             sum += x[at + i] * unsafe { (*weights)[i] };
///         }
///         // SAFETY: `to` is as long as `x`, and each thread writes its own.
///         unsafe { *to.add(at) = sum };
///     }
/// }
/// ```
///
/// `local` is refused, since a static has no thread to belong to.
#[proc_macro_attribute]
pub fn address_space(space: TokenStream, item: TokenStream) -> TokenStream {
    device_item::address_space(space.into(), item.into()).into()
}

/// A module of kernels beside the host code that launches them: see the crate `warpsmith`.
#[proc_macro_attribute]
pub fn device(_none: TokenStream, module: TokenStream) -> TokenStream {
    device_module::expand(module.into()).into()
}

/// The same for a module in a file of its own: `device_mod! { pub mod kernels; }`.
#[proc_macro]
pub fn device_mod(module: TokenStream) -> TokenStream {
    device_module::expand(module.into()).into()
}

/// Derives the mark of types that a launch may copy to the device: see `blockwise::DeviceCopy`.
#[proc_macro_derive(DeviceCopy)]
pub fn device_copy(item: TokenStream) -> TokenStream {
    device_copy::expand(item.into()).into()
}

/// The implementation of `cuda_std::ptx!`, which passes its own crate's path first.
#[doc(hidden)]
#[proc_macro]
pub fn __ptx(tokens: TokenStream) -> TokenStream {
    ptx::expand(tokens.into()).into()
}

/// A call of the foreign function that `cuda_std::unroll!` leaves as a mark: a link name must be one literal.
#[doc(hidden)]
#[proc_macro]
pub fn __unroll_mark(how: TokenStream) -> TokenStream {
    let how = how.to_string();
    let name = format!("warpsmith:unroll:{}", how.trim_matches('"'));
    quote::quote! {{
        unsafe extern "Rust" {
            #[link_name = #name]
            safe fn unroll();
        }
        unroll();
    }}
    .into()
}
