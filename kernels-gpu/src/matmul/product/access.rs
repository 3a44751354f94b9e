//! The accesses of the product, as PTX: each stays what it is and where it is.
//!
//! Written as ordinary loads, LLVM merges some into the next loop's head and splits others into scalars. Offsets are
//! macros' constants, so that they become part of the instruction and take no slot of their own.

use cuda_std::ptx;
use cuda_std::shared::dynamic_shared_mem;

/// Repeats a block with a constant counter: what is indexed by it stays in registers whatever the optimiser thinks of
/// the loop's size.
macro_rules! each {
    (for $i:ident in 0..2 $body:block) => { each!(@ $i $body 0 1) };
    (for $i:ident in 0..4 $body:block) => { each!(@ $i $body 0 1 2 3) };
    (for $i:ident in 0..8 $body:block) => { each!(@ $i $body 0 1 2 3 4 5 6 7) };
    (for $i:ident in 0..16 $body:block) => { each!(@ $i $body 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15) };
    (@ $i:ident $body:block $($n:literal)*) => { $({ #[allow(dead_code)] const $i: usize = $n; $body })* };
}

/// Loads 16 bytes of shared memory.
macro_rules! load_shared_4 {
    ($address:expr, $offset:expr) => {{
        let (a, b, c, d): (f32, f32, f32, f32);
        cuda_std::ptx!("ld.shared.v4.f32 {{{a}, {b}, {c}, {d}}}, [{address}+{offset}];",
            a = out(f32) a, b = out(f32) b, c = out(f32) c, d = out(f32) d,
            address = in(u32) $address, offset = imm($offset));
        [a, b, c, d]
    }};
}

/// Stores 4 bytes to shared memory.
macro_rules! store_shared {
    ($address:expr, $offset:expr, $value:expr) => {
        cuda_std::ptx!("st.shared.f32 [{address}+{offset}], {value};",
            address = in(u32) $address, offset = imm($offset), value = in(f32) $value)
    };
}

/// Loads 16 bytes that nobody writes while the kernel runs.
macro_rules! load_global_4 {
    ($address:expr, $offset:expr) => {{
        let (a, b, c, d): (f32, f32, f32, f32);
        cuda_std::ptx!("ld.global.nc.L2::128B.v4.f32 {{{a}, {b}, {c}, {d}}}, [{address}+{offset}];",
            a = out(f32) a, b = out(f32) b, c = out(f32) c, d = out(f32) d,
            address = in(ptr) $address, offset = imm($offset));
        [a, b, c, d]
    }};
}

/// Loads 4 bytes that nobody writes while the kernel runs.
macro_rules! load_global {
    ($address:expr, $offset:expr) => {{
        let value: f32;
        cuda_std::ptx!("ld.global.nc.f32 {value}, [{address}+{offset}];",
            value = out(f32) value, address = in(ptr) $address, offset = imm($offset));
        value
    }};
}

/// Starts to copy 16 bytes to shared memory, past L1.
#[cfg(any(not(target_os = "cuda"), target_feature = "compute_80"))]
macro_rules! copy_16 {
    ($to:expr, $offset:expr, $from:expr) => {
        cuda_std::ptx!("cp.async.cg.shared.global.L2::128B [{to}+{offset}], [{from}], 16;",
            to = in(u32) $to, offset = imm($offset), from = in(ptr) $from)
    };
    // The first `$size` bytes, zeros after them.
    ($to:expr, $offset:expr, $from:expr, $size:expr) => {
        cuda_std::ptx!("cp.async.cg.shared.global.L2::128B [{to}+{offset}], [{from}], 16, {size};",
            to = in(u32) $to, offset = imm($offset), from = in(ptr) $from, size = in(u32) $size)
    };
}

/// Starts to copy 4 bytes to shared memory.
#[cfg(any(not(target_os = "cuda"), target_feature = "compute_80"))]
macro_rules! copy_4 {
    ($to:expr, $offset:expr, $from:expr) => {
        cuda_std::ptx!("cp.async.ca.shared.global [{to}+{offset}], [{from}], 4;",
            to = in(u32) $to, offset = imm($offset), from = in(ptr) $from)
    };
    ($to:expr, $offset:expr, $from:expr, $size:expr) => {
        cuda_std::ptx!("cp.async.ca.shared.global [{to}+{offset}], [{from}], 4, {size};",
            to = in(u32) $to, offset = imm($offset), from = in(ptr) $from, size = in(u32) $size)
    };
}

#[cfg(any(not(target_os = "cuda"), target_feature = "compute_80"))]
pub(super) use {copy_4, copy_16};
pub(super) use {each, load_global, load_global_4, load_shared_4, store_shared};

/// Four floats moved by one access.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
pub struct Four(pub [f32; 4]);

/// Where dynamic shared memory begins, as the 32-bit address that shared loads take.
#[inline(always)]
pub fn shared_start() -> u32 {
    let address: u32;
    // SAFETY: computes only.
    unsafe {
        ptx!("{{", ".reg .u64 wide;", "cvta.to.shared.u64 wide, {p};", "cvt.u32.u64 {a}, wide;", "}}",
             a = out(u32) address, p = in(ptr) dynamic_shared_mem::<f32>(); options(pure, nomem));
    }
    address
}
