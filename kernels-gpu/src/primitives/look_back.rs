//! The prefix of a tile, found while the tiles before it are worked on: decoupled look-back (Merrill and Garland, 2016).
//!
//! A tile publishes its own value, then looks back: a warp reads the 32 tiles before, and adds up values until it comes to a tile that
//! has published the value of all up to it. Then it publishes the same for itself. Tiles are numbered as blocks begin, by a ticket: a
//! tile waits only for blocks that run. A state is one word: what is published, the launch, and a value of up to 40 bits, so that one
//! load tells all. Larger values lie in memory of their own, written before the state by a release, read behind it by an acquire.
//!
//! Nothing is cleared between launches: each has a number, which its last ticket moves on, and states of other launches count as
//! unpublished. When the numbers begin anew, what the launch does not use is cleared. In the blockwise form a block waits for
//! no other one, which is why this is raw.

use core::mem::size_of;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use cuda_std::atomic::mid::{atomic_fetch_add_u64_device, atomic_load_64_device, atomic_store_64_device};
use cuda_std::thread;
use cuda_std::warp::{warp_shuffle_down, warp_vote_ballot};

use super::block::{by_words, lane, of_lane};

/// Words before the first state: the launch and its next ticket, and the number of states.
pub const HEAD: usize = 32;
/// Numbers of launches, of which 0 is only that of fresh memory.
pub const LAUNCHES: u32 = 1 << 22;
/// Bits of a state before the value.
const VALUE_AT: u32 = 24;

/// States of a tile: its own value is published, or that of all tiles up to it.
const OWN: u64 = 1;
const ALL: u64 = 2;

/// A tile among those of its launch.
#[derive(Clone, Copy)]
pub struct Chain {
    states: *mut u64,
    launch: u64,
    /// Its number.
    pub tile: usize,
}

impl Chain {
    /// Draws the next tile for this block, which has one; each tile has `states` states.
    ///
    /// # Safety
    /// All threads of the block come by, once. `words` are [`HEAD`] words and the states of all tiles, which only this launch uses;
    /// `drawn` is shared memory for a word, used by nothing else before the next barrier.
    #[inline(always)]
    pub unsafe fn draw(words: *mut u64, drawn: *mut u64, states: usize) -> Self {
        // SAFETY: the caller's promise; a barrier parts the store from the loads.
        unsafe {
            if thread::thread_idx_x() == 0 {
                let ticket = atomic_fetch_add_u64_device(words, Relaxed, 1);
                if ticket as u32 == thread::grid_dim_x() - 1 {
                    next_launch(words, (ticket >> 32) as u32, thread::grid_dim_x() as usize * states);
                }
                *drawn = ticket;
            }
            thread::sync_threads();
            let ticket = *drawn;
            Self { states: words.add(HEAD), launch: ticket >> 32 << 2, tile: ticket as u32 as usize }
        }
    }

    /// The state of this launch at an index: whether a value is published, whether that of all, and the value.
    ///
    /// # Safety
    /// The state exists.
    #[inline(always)]
    pub unsafe fn state(&self, index: usize) -> (bool, bool, u64) {
        // SAFETY: the caller's promise.
        let word = unsafe { atomic_load_64_device(self.states.add(index), Relaxed) };
        self.read(word)
    }

    #[inline(always)]
    fn read(&self, word: u64) -> (bool, bool, u64) {
        let of_launch = (word ^ self.launch) & ((1 << VALUE_AT) - 1);
        (of_launch == OWN || of_launch == ALL, of_launch == ALL, word >> VALUE_AT)
    }

    /// Publishes a value of up to 40 bits at an index: of the tile, or of all up to it.
    ///
    /// # Safety
    /// The state exists.
    #[inline(always)]
    pub unsafe fn publish(&self, index: usize, is_of_all: bool, value: u64) {
        let what = if is_of_all { ALL } else { OWN };
        // SAFETY: the caller's promise.
        unsafe {
            atomic_store_64_device(self.states.add(index), Relaxed, value << VALUE_AT | self.launch | what)
        };
    }

    /// The value of all tiles before this one; this tile's own is published on the way. Tiles have one state each.
    ///
    /// # Safety
    /// All lanes of one warp of the block come by with the same value, which has no padding. `larger` has room for two values of each
    /// tile if they have more than 4 bytes.
    #[inline(always)]
    pub unsafe fn before<V: Copy>(
        &self,
        own: V,
        identity: V,
        larger: *mut V,
        combine: impl Fn(V, V) -> V,
    ) -> V {
        // SAFETY: the caller's promise.
        unsafe {
            if self.tile == 0 {
                self.publish_value(true, own, larger);
                return identity;
            }
            self.publish_value(false, own, larger);
            let (mut before, mut nearest) = (identity, self.tile);
            loop {
                let (of_window, is_all) = self.window(nearest, identity, larger, &combine);
                before = combine(of_window, before);
                if is_all {
                    break;
                }
                nearest -= 32;
            }
            self.publish_value(true, combine(before, own), larger);
            before
        }
    }

    /// The value of the 32 tiles before `nearest`, or of all before it, and which of both.
    ///
    /// # Safety
    /// As of [`before`](Self::before).
    #[inline(always)]
    unsafe fn window<V: Copy>(
        &self,
        nearest: usize,
        identity: V,
        larger: *mut V,
        combine: &impl Fn(V, V) -> V,
    ) -> (V, bool) {
        let tile = nearest.wrapping_sub(1 + lane() as usize);
        let exists = tile < nearest;
        // SAFETY: the caller's promise; a tile that is waited for has a block that runs.
        unsafe {
            loop {
                // Before the first tile is nothing, all of it known.
                let (is_published, is_all, bits) = if !exists {
                    (true, true, 0)
                } else if size_of::<V>() == 4 {
                    self.state(tile)
                } else {
                    self.read(atomic_load_64_device(self.states.add(tile), Acquire))
                };
                let missing = warp_vote_ballot(u32::MAX, !is_published);
                let all = warp_vote_ballot(u32::MAX, is_all);
                let last = all.trailing_zeros();
                // Tiles beyond the first with a value of all are not waited for.
                if missing & all.wrapping_sub(1) & !all != 0 {
                    continue;
                }
                let mut value = identity;
                if exists && lane() <= last {
                    value = if size_of::<V>() == 4 {
                        by_words(value, |_| bits as u32)
                    } else {
                        *larger.add(2 * tile + usize::from(is_all))
                    };
                }
                for step in 0..5 {
                    cuda_std::unroll!(full);
                    let earlier = by_words(value, |word| warp_shuffle_down(u32::MAX, word, 1 << step, 32).0);
                    if lane() + (1 << step) < 32 {
                        value = combine(earlier, value);
                    }
                }
                return (of_lane(value, 0), all != 0);
            }
        }
    }

    /// Publishes a value of any size, by the first lane.
    ///
    /// # Safety
    /// As of [`before`](Self::before).
    #[inline(always)]
    unsafe fn publish_value<V: Copy>(&self, is_of_all: bool, value: V, larger: *mut V) {
        if lane() != 0 {
            return;
        }
        // SAFETY: the caller's promise; a value of 4 bytes without padding is a word.
        unsafe {
            if size_of::<V>() == 4 {
                let word = (&raw const value).cast::<u32>().read_unaligned();
                self.publish(self.tile, is_of_all, u64::from(word));
            } else {
                *larger.add(2 * self.tile + usize::from(is_of_all)) = value;
                let what = if is_of_all { ALL } else { OWN };
                atomic_store_64_device(self.states.add(self.tile), Release, self.launch | what);
            }
        }
    }
}

/// Begins the next launch's tickets, when the last of this one is drawn.
///
/// # Safety
/// As of [`Chain::draw`], by one thread.
#[inline(always)]
unsafe fn next_launch(words: *mut u64, launch: u32, used: usize) {
    let next = if launch + 1 == LAUNCHES { 1 } else { launch + 1 };
    // SAFETY: the caller's promise; nothing reads the states that this launch does not use.
    unsafe {
        // Twice in all numbers: what the launch itself uses, the other time clears.
        if (launch + 1).is_multiple_of(LAUNCHES / 2) {
            let all = *words.add(1) as usize;
            for state in used..all {
                *words.add(HEAD + state) = 0;
            }
        }
        atomic_store_64_device(words, Relaxed, u64::from(next) << 32);
    }
}
