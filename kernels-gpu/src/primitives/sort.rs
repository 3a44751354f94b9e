//! Sorts by radix, least significant digit first, 8 bits a pass: one-sweep (Adinets and Merrill, 2022).
//!
//! One kernel counts all digits of all passes. Then a pass reads each key once and writes it once: a warp ranks its keys among those of the
//! same digit by ballots, 32 keys at a time, in its own 256 counts; a thread for each digit adds up the warps' counts and
//! [looks back](super::look_back) for the tiles before, a state a digit. Keys go through shared memory by their ranks, so that keys of one
//! digit leave as one run, and values behind them. Equal keys keep their order.
//!
//! Signed numbers and floats are sorted by bits flipped as in [`Order`], which only the digit sees.

use core::mem::size_of;
use core::ops::{BitAnd, BitXor};
use core::sync::atomic::Ordering::{AcqRel, Relaxed};

use cuda_std::atomic::mid::{
    atomic_fetch_add_u32_block, atomic_fetch_add_u32_device, atomic_fetch_add_u64_device,
    atomic_load_64_device,
};
use cuda_std::thread;
use cuda_std::warp::{sync_warp, warp_shuffle_idx, warp_vote_ballot};

use super::block::{lane, scan_warp};
use super::look_back::Chain;
use super::walk::walk;

/// Threads of a block that counts.
pub const COUNTING: u32 = 512;
/// Threads of a block that sorts.
pub const BLOCK: u32 = 384;
/// Digits of a pass.
pub const DIGITS: usize = 256;
/// Warps of a block that sorts.
const WARPS: usize = BLOCK as usize / 32;
/// Words of 8 bytes of shared memory that a block stages keys and values in.
pub const STAGED: usize = BLOCK as usize * 8;

/// Keys of a thread: 64 bytes of the larger of key and value.
pub const fn items<K, V>() -> usize {
    64 / if size_of::<K>() > size_of::<V>() { size_of::<K>() } else { size_of::<V>() }
}

/// No values.
#[derive(Clone, Copy)]
pub struct Nothing;

// SAFETY: it has no content.
#[cfg(feature = "host")]
unsafe impl cust_core::DeviceCopy for Nothing {}

/// The bits of a key.
pub trait Bits: Copy + Default + BitXor<Output = Self> + BitAnd<Output = Self> + 'static {
    /// All bits the sign bit.
    fn sign(self) -> Self;
    /// Eight bits from one on.
    fn digit(self, from: u32) -> u32;
}

macro_rules! bits {
    ($($unsigned:ty as $signed:ty;)*) => {$(
        impl Bits for $unsigned {
            #[inline(always)]
            fn sign(self) -> Self {
                (self as $signed >> (8 * size_of::<Self>() - 1)) as Self
            }
            #[inline(always)]
            fn digit(self, from: u32) -> u32 {
                (self >> from) as u32 & 255
            }
        }
    )*};
}
bits! { u32 as i32; u64 as i64; }

/// An order of keys: by their bits, flipped by `always`, of negative ones by `negative` as well.
#[derive(Clone, Copy)]
pub struct Order<K> {
    /// The bits flipped of keys whose first bit is set.
    pub negative: K,
    /// The bits flipped of all keys.
    pub always: K,
}

/// The digit of a pass.
#[derive(Clone, Copy)]
pub struct Digit {
    /// Its first bit.
    pub from: u32,
    /// Its bits: 255, or fewer at the end of a range.
    pub mask: u32,
}

impl<K: Bits> Order<K> {
    /// A key's digit.
    #[inline(always)]
    fn digit(&self, key: K, digit: Digit) -> u32 {
        (key ^ (key.sign() & self.negative) ^ self.always).digit(digit.from) & digit.mask
    }
}

/// The digits of a pass, if bits up to `to` count.
#[inline(always)]
pub const fn digit(pass: u32, from: u32, to: u32) -> Digit {
    let from = from + 8 * pass;
    let bits = if to - from < 8 { to - from } else { 8 };
    Digit { from, mask: (1 << bits) - 1 }
}

/// Counts of all digits, and what becomes of them.
#[derive(Clone, Copy)]
pub struct Counts {
    /// For each pass and digit, all 0, and left so.
    pub of_device: *mut u64,
    /// The ticket, which is 0, and is left so.
    pub ticket: *mut u32,
    /// For each pass and digit, where its keys begin.
    pub begin: *mut u64,
}

/// The body of the kernels that count: where each digit of each pass begins.
///
/// # Safety
/// All threads of the grid come by; `counts` holds what its fields say; `shared` is shared memory for a word for each pass and digit,
/// `is_last` for one.
#[inline(always)]
pub unsafe fn count<K: Bits>(
    from: &[K],
    order: Order<K>,
    (first, end): (u32, u32),
    counts: Counts,
    shared: *mut u32,
    is_last: *mut u32,
) {
    let (thread, passes) = (thread::thread_idx_x() as usize, (end - first).div_ceil(8));
    let all = passes as usize * DIGITS;
    // SAFETY: the caller's promise; barriers part the steps of a block, the ticket parts the last block from the others.
    unsafe {
        let mut i = thread;
        while i < all {
            *shared.add(i) = 0;
            i += COUNTING as usize;
        }
        thread::sync_threads();
        walk::<K, { COUNTING as usize }>(from, |key, _| {
            for pass in 0..size_of::<K>() as u32 {
                cuda_std::unroll!(full);
                if pass < passes {
                    let digit = order.digit(key, digit(pass, first, end)) as usize;
                    atomic_fetch_add_u32_block(shared.add(pass as usize * DIGITS + digit), Relaxed, 1);
                }
            }
        });
        thread::sync_threads();
        let mut i = thread;
        while i < all {
            if *shared.add(i) > 0 {
                atomic_fetch_add_u64_device(counts.of_device.add(i), Relaxed, u64::from(*shared.add(i)));
            }
            i += COUNTING as usize;
        }
        thread::sync_threads();
        if thread == 0 {
            let arrived = atomic_fetch_add_u32_device(counts.ticket, AcqRel, 1);
            *is_last = u32::from(arrived == thread::grid_dim_x() - 1);
        }
        thread::sync_threads();
        // A warp for each pass.
        if *is_last == 1 && thread / 32 < passes as usize {
            let mut before = 0;
            for part in 0..DIGITS / 32 {
                let i = thread / 32 * DIGITS + part * 32 + lane() as usize;
                let own = atomic_load_64_device(counts.of_device.add(i), Relaxed);
                let mut up_to = [own];
                scan_warp(&mut up_to, 1, |a, b| a + b);
                *counts.begin.add(i) = before + up_to[0] - own;
                *counts.of_device.add(i) = 0;
                before += super::block::of_lane(up_to[0], 31);
            }
            if thread == 0 {
                *counts.ticket = 0;
            }
        }
    }
}

/// Keys and values, from and to.
#[derive(Clone, Copy)]
pub struct Moved<K, V> {
    /// Keys, sorted by lower digits.
    pub keys: *const K,
    /// Room for them.
    pub keys_to: *mut K,
    /// The keys' values.
    pub values: *const V,
    /// Room for them.
    pub values_to: *mut V,
    /// How many.
    pub len: usize,
}

/// A block's shared memory.
#[derive(Clone, Copy)]
pub struct Shared {
    /// Counts of each warp and digit.
    pub counts: *mut u32,
    /// Where each digit's keys of the tile go, less where they are staged.
    pub begin: *mut u64,
    /// Keys or values by rank.
    pub staged: *mut u64,
    /// Counts of 8 warps' digits.
    pub of_warps: *mut u32,
    /// A ticket.
    pub drawn: *mut u64,
}

/// The body of the kernels that sort by one digit, 64 bytes a thread.
///
/// # Safety
/// All threads of the grid, which has a block for each tile, come by. `moved` is as its fields say, `begin` has where each digit's keys
/// begin, and `words` are a look-back's with a state for each digit of each tile.
#[inline(always)]
pub unsafe fn pass<K: Bits, V: Copy, const ITEMS: usize>(
    moved: Moved<K, V>,
    order: Order<K>,
    digit: Digit,
    begin: *const u64,
    words: *mut u64,
    shared: Shared,
) {
    let (thread, tile) = (thread::thread_idx_x() as usize, BLOCK as usize * ITEMS);
    let counts = shared.counts.wrapping_add(thread / 32 * DIGITS);
    // SAFETY: the caller's promise; barriers part what threads write to shared memory from what others read.
    unsafe {
        for i in 0..DIGITS / 32 {
            cuda_std::unroll!(full);
            *counts.add(i * 32 + lane() as usize) = 0;
        }
        let chain = Chain::draw(words, shared.drawn, DIGITS);
        let first = chain.tile * tile + thread / 32 * 32 * ITEMS + lane() as usize;
        let of_tile = (moved.len - chain.tile * tile).min(tile);
        // Behind the last key stand zeros, in the last digit, whose ranks are beyond all keys of the tile.
        let exists = |i: usize| first + i * 32 < moved.len;
        let mut keys = [K::default(); ITEMS];
        for i in 0..ITEMS {
            cuda_std::unroll!(full);
            if of_tile == tile || exists(i) {
                keys[i] = *moved.keys.add(first + i * 32);
            }
        }
        let mut ranks = [0u32; ITEMS];
        for i in 0..ITEMS {
            cuda_std::unroll!(full);
            let digit = if of_tile == tile || exists(i) { order.digit(keys[i], digit) } else { 255 };
            // The digit for the second half of the work, in the upper bits.
            ranks[i] = digit << 16 | rank(counts, digit);
        }
        thread::sync_threads();
        place_digits(&chain, begin, shared);
        thread::sync_threads();
        for rank in &mut ranks {
            cuda_std::unroll!(full);
            *rank = *counts.add((*rank >> 16) as usize) + (*rank & 0xffff);
        }
        let staged = shared.staged.cast::<K>();
        for i in 0..ITEMS {
            cuda_std::unroll!(full);
            *staged.add(ranks[i] as usize) = keys[i];
        }
        thread::sync_threads();
        let mut to = [0usize; ITEMS];
        for i in 0..ITEMS {
            cuda_std::unroll!(full);
            let place = thread + i * BLOCK as usize;
            let key = *staged.add(place);
            to[i] = (*shared.begin.add(order.digit(key, digit) as usize)).wrapping_add(place as u64) as usize;
            if place < of_tile {
                *moved.keys_to.add(to[i]) = key;
            }
        }
        if size_of::<V>() > 0 {
            thread::sync_threads();
            let staged = shared.staged.cast::<V>();
            for i in 0..ITEMS {
                cuda_std::unroll!(full);
                if of_tile == tile || exists(i) {
                    *staged.add(ranks[i] as usize) = *moved.values.add(first + i * 32);
                }
            }
            thread::sync_threads();
            for i in 0..ITEMS {
                cuda_std::unroll!(full);
                let place = thread + i * BLOCK as usize;
                if place < of_tile {
                    *moved.values_to.add(to[i]) = *staged.add(place);
                }
            }
        }
    }
}

/// The number of this warp's keys of this digit before the lane's, which all its lanes now count.
///
/// # Safety
/// All lanes of the warp come by; `counts` are its own.
#[inline(always)]
unsafe fn rank(counts: *mut u32, digit: u32) -> u32 {
    // SAFETY: the caller's promise; one lane of each digit counts, and the warp waits for all.
    unsafe {
        let mut same = u32::MAX;
        for bit in 0..8 {
            cuda_std::unroll!(full);
            let is_set = digit >> bit & 1 == 1;
            let set = warp_vote_ballot(u32::MAX, is_set);
            same &= if is_set { set } else { !set };
        }
        let (leader, before) = (same.trailing_zeros(), (same & ((1 << lane()) - 1)).count_ones());
        let mut counted = 0;
        if lane() == leader {
            counted = *counts.add(digit as usize);
            *counts.add(digit as usize) = counted + same.count_ones();
        }
        sync_warp(u32::MAX);
        warp_shuffle_idx(u32::MAX, counted, leader, 32).0 + before
    }
}

/// Turns the warps' counts into where their keys of each digit are staged, and finds where these go.
///
/// # Safety
/// As of [`pass`], between two barriers.
#[inline(always)]
unsafe fn place_digits(chain: &Chain, begin: *const u64, shared: Shared) {
    let digit = thread::thread_idx_x() as usize;
    let is_digit = digit < DIGITS;
    let mut own = 0;
    // SAFETY: the caller's promise; a thread has the counts of its own digit.
    unsafe {
        if is_digit {
            for warp in 0..WARPS {
                cuda_std::unroll!(full);
                let count = shared.counts.add(warp * DIGITS + digit);
                own += core::mem::replace(&mut *count, own);
            }
            chain.publish(chain.tile * DIGITS + digit, chain.tile == 0, u64::from(own));
        }
        let mut up_to = [own];
        scan_warp(&mut up_to, 1, |a, b| a + b);
        if is_digit && lane() == 31 {
            *shared.of_warps.add(digit / 32) = up_to[0];
        }
        thread::sync_threads();
        if !is_digit {
            return;
        }
        let mut staged = up_to[0] - own;
        for warp in 0..DIGITS / 32 {
            cuda_std::unroll!(full);
            staged += if warp < digit / 32 { *shared.of_warps.add(warp) } else { 0 };
        }
        for warp in 0..WARPS {
            cuda_std::unroll!(full);
            *shared.counts.add(warp * DIGITS + digit) += staged;
        }
        let mut before = 0;
        if chain.tile > 0 {
            before = before_digit(chain, digit);
            chain.publish(chain.tile * DIGITS + digit, true, before + u64::from(own));
        }
        let goes_to = *begin.add(digit) + before;
        *shared.begin.add(digit) = goes_to.wrapping_sub(u64::from(staged));
    }
}

/// The keys of a digit in all tiles before this one: a thread reads four states at a time, each of another tile.
///
/// # Safety
/// As of [`pass`].
#[inline(always)]
unsafe fn before_digit(chain: &Chain, digit: usize) -> u64 {
    let (mut before, mut nearest) = (0, chain.tile);
    // SAFETY: the states exist; a tile that is waited for has a block that runs, and the first one publishes the value of all.
    unsafe {
        loop {
            let mut states = [(false, false, 0); 4];
            for i in 0..4 {
                cuda_std::unroll!(full);
                if i < nearest {
                    states[i] = chain.state((nearest - 1 - i) * DIGITS + digit);
                }
            }
            for (is_published, is_all, count) in states {
                if !is_published {
                    break;
                }
                before += count;
                if is_all {
                    return before;
                }
                nearest -= 1;
            }
        }
    }
}
