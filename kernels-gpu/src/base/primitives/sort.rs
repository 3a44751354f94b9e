//! Radix sorts.

use cuda_std::prelude::*;
use cuda_std::shared_array;

use crate::primitives::sort::{
    BLOCK, Bits, Counts, DIGITS, Digit, Moved, Nothing, Order, STAGED, Shared, count, pass,
};

/// Where the keys of each digit of each pass begin.
///
/// # Safety
/// `from` has `len` keys; `of_device`, all 0, and `begin` have room for 256 words of each pass; the ticket is 0. Counts and ticket are left so.
#[kernel(K = [u32, u64])]
#[block_dim(512)]
#[launch_bounds(max_registers = if size_of::<K>() > 4 { 64 } else { 40 })]
pub unsafe fn sort_count<K: Bits>(
    from: *const K,
    len: u64,
    negative: K,
    always: K,
    first_bit: u32,
    end_bit: u32,
    of_device: *mut u64,
    ticket: *mut u32,
    begin: *mut u64,
) {
    let shared = shared_array![u32; 8 * DIGITS];
    let is_last = shared_array![u32; 1];
    let (order, counts) = (Order { negative, always }, Counts { of_device, ticket, begin });
    // SAFETY: as the contract says.
    unsafe {
        count(
            core::slice::from_raw_parts(from, len as usize),
            order,
            (first_bit, end_bit),
            counts,
            shared,
            is_last,
        )
    };
}

/// Keys, and values with them, sorted by one digit.
///
/// 56 registers let three blocks run on a multiprocessor. With keys of 4 bytes about 100 bytes are spilled: on an H100 2^28 keys
/// still take 0.87 of the time of two blocks.
///
/// # Safety
/// There are `len` keys, room for all keys and values, a value of each key, and where the keys of each digit begin; `words` are a look-back's for 256
/// states of each block of the grid.
#[kernel((K, V, ITEMS) = [(u32, Nothing, 16), (u64, Nothing, 8), (u32, u32, 16), (u32, u64, 8), (u64, u32, 8), (u64, u64, 8)])]
#[block_dim(384)]
#[launch_bounds(max_registers = 56)]
pub unsafe fn sort_pass<K: Bits, V: Copy, const ITEMS: usize>(
    keys: *const K,
    len: u64,
    keys_to: *mut K,
    values: *const V,
    values_to: *mut V,
    negative: K,
    always: K,
    first_bit: u32,
    mask: u32,
    begin: *const u64,
    words: *mut u64,
) {
    let shared = Shared {
        counts: shared_array![u32; BLOCK as usize / 32 * DIGITS],
        begin: shared_array![u64; DIGITS],
        staged: shared_array![u64; STAGED],
        of_warps: shared_array![u32; 8],
        drawn: shared_array![u64; 1],
    };
    let moved = Moved { keys, keys_to, values, values_to, len: len as usize };
    let (order, digit) = (Order { negative, always }, Digit { from: first_bit, mask });
    // SAFETY: as the contract says.
    unsafe { pass::<K, V, ITEMS>(moved, order, digit, begin, words, shared) };
}

/// The list of instances.
#[cfg(feature = "host")]
pub const KERNELS: &[cuda_std::Description] = &[
    cuda_std::Description::of::<sort_count<u32>>(),
    cuda_std::Description::of::<sort_count<u64>>(),
    cuda_std::Description::of::<sort_pass<u32, Nothing, 16>>(),
    cuda_std::Description::of::<sort_pass<u64, Nothing, 8>>(),
    cuda_std::Description::of::<sort_pass<u32, u32, 16>>(),
    cuda_std::Description::of::<sort_pass<u32, u64, 8>>(),
    cuda_std::Description::of::<sort_pass<u64, u32, 8>>(),
    cuda_std::Description::of::<sort_pass<u64, u64, 8>>(),
];
