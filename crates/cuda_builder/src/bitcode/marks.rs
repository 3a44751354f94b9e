//! How device code marks what the lowering must treat specially. The other side is `cuda_std_macros` and `cuda_std`.
//!
//! All marks are names and sections, which stable Rust lets a program choose.

/// The entry of kernel `k` is the function `warpsmith.entry.k`.
pub const ENTRY: &str = "warpsmith.entry.";
/// `warpsmith.layout.k`: for each parameter four `u64`: size, alignment, type code, "taken by reference".
pub const LAYOUT: &str = "warpsmith.layout.";
/// `warpsmith.names.k`: text, a line for each parameter: its name, a tab, its Rust type.
pub const NAMES: &str = "warpsmith.names.";
/// `warpsmith.bounds.k`: nine `u32`: the most threads, the fewest blocks, the most registers, the three sides of the block
/// and of the cluster; 0 is none.
pub const BOUNDS: &str = "warpsmith.bounds.";
/// `warpsmith.blockwise.k`: there where the kernel is written without `unsafe`. `u64` that the host must know the same, which
/// the PTX repeats in a comment of this name before the entry; see `blockwise::fingerprint`.
pub const BLOCKWISE_KERNEL: &str = "warpsmith.blockwise.";
/// The lowering's own attribute of an entry that is written without `unsafe`.
pub const WITHOUT_UNSAFE: &str = "warpsmith-without-unsafe";

/// The section of statics in shared memory.
pub const SHARED: &str = "__WARPSMITH,shared";
/// The section of statics in constant memory.
pub const CONSTANT: &str = "__WARPSMITH,constant";
/// The section of statics in global memory that the host may write.
pub const GLOBAL: &str = "__WARPSMITH,global";
/// The section of functions that stay visible in the PTX.
pub const VISIBLE: &str = "__WARPSMITH,visible";

/// The name of the dynamic shared memory, upstream's.
pub const DYNAMIC_SHARED: &str = "_Zcuda_std_dyn_shared";

/// A foreign function whose calls are calls of an LLVM intrinsic.
pub const LLVM: &str = "llvm:";
/// A foreign function whose calls say how to unroll the loop around them.
pub const UNROLL: &str = "warpsmith:unroll:";

/// A foreign function that returns what is compiled for, as a number: 750 is 7.5.
pub const CAPABILITY: &str = "warpsmith:capability";

/// A foreign function whose calls are inline PTX.
pub const PTX: &str = "ptx:";

/// Prefix of the marks of code that kernels without `unsafe` may reach: `blockwise:llvm.NAME` for an intrinsic, and
/// `blockwise:ptx:…` for inline PTX.
pub const BLOCKWISE: &str = "blockwise:";
