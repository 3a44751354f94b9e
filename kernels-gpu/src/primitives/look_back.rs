//! The prefix of a tile, found while the tiles before it are worked on: decoupled look-back (Merrill and Garland, 2016).
//!
//! A tile publishes its own value, then looks back: a warp reads the 32 tiles before, and adds up values until it comes to a tile that
//! has published the value of all up to it. Then it publishes the same for itself. Tiles are numbered as blocks begin, by a ticket: a
//! tile waits only for blocks that run.
//!
//! A state is one word of 8 bytes: what is published, the launch, and 4 bytes of the value, or a count of up to 40 bits. One load tells all
//! of them, so nothing is ordered by fences. A larger value has a state for each 4 bytes, and counts once all of them tell the same.
//!
//! Nothing is cleared between launches: each has a number, which its last ticket moves on, and states of other launches count as
//! unpublished. When the numbers begin anew, what the launch does not use is cleared. In the blockwise form a block waits for
//! no other one, which is why this is raw.

use core::mem::{MaybeUninit, size_of};
use core::sync::atomic::Ordering::Relaxed;

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

    /// The value of all tiles before this one; this tile's own is published on the way. Tiles have a state for each 4 bytes of it.
    ///
    /// # Safety
    /// All lanes of one warp of the block come by with the same value, which has no padding and whole words of 4 bytes.
    #[inline(always)]
    pub unsafe fn before<V: Copy>(&self, own: V, identity: V, combine: impl Fn(V, V) -> V) -> V {
        // SAFETY: the caller's promise.
        unsafe {
            let publish = |tile, is_of_all, value| self.publish_words(tile, is_of_all, value);
            self.look_back(own, identity, publish, |tile| self.words(tile), combine)
        }
    }

    /// The sum of all tiles' counts before this one, up to 2^40; this tile's own is published on the way. Tiles have one state.
    ///
    /// # Safety
    /// All lanes of one warp of the block come by with the same count.
    #[inline(always)]
    pub unsafe fn before_count(&self, own: u64) -> u64 {
        // SAFETY: the caller's promise.
        unsafe {
            let publish = |tile, is_of_all, count| self.publish(tile, is_of_all, count);
            let read = |tile| {
                let (is_published, is_all, count) = self.state(tile);
                (is_published, is_all, MaybeUninit::new(count))
            };
            self.look_back(own, 0, publish, read, |a, b| a + b)
        }
    }

    /// Looks back through states that `publish` writes and `read` reads, by the index of a tile.
    ///
    /// # Safety
    /// As of [`before`](Self::before).
    #[inline(always)]
    unsafe fn look_back<V: Copy>(
        &self,
        own: V,
        identity: V,
        publish: impl Fn(usize, bool, V),
        read: impl Fn(usize) -> (bool, bool, MaybeUninit<V>),
        combine: impl Fn(V, V) -> V,
    ) -> V {
        // SAFETY: the caller's promise; one lane publishes.
        unsafe {
            if lane() == 0 {
                publish(self.tile, self.tile == 0, own);
            }
            let (mut before, mut nearest) = (identity, self.tile);
            if nearest == 0 {
                return before;
            }
            loop {
                let (of_window, is_all) = self.window(nearest, identity, &read, &combine);
                before = combine(of_window, before);
                if is_all {
                    break;
                }
                nearest -= 32;
            }
            if lane() == 0 {
                publish(self.tile, true, combine(before, own));
            }
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
        read: &impl Fn(usize) -> (bool, bool, MaybeUninit<V>),
        combine: &impl Fn(V, V) -> V,
    ) -> (V, bool) {
        let tile = nearest.wrapping_sub(1 + lane() as usize);
        // SAFETY: the caller's promise; a tile that is waited for has a block that runs.
        unsafe {
            loop {
                // Before the first tile is nothing, all of it known.
                let (is_published, is_all, value) =
                    if tile < nearest { read(tile) } else { (true, true, MaybeUninit::new(identity)) };
                let missing = warp_vote_ballot(u32::MAX, !is_published);
                let all = warp_vote_ballot(u32::MAX, is_published && is_all);
                // Tiles beyond the nearest with a value of all are not waited for.
                if missing & all.wrapping_sub(1) & !all != 0 {
                    continue;
                }
                let is_taken = lane() <= all.trailing_zeros();
                let mut value = if is_taken { value.assume_init() } else { identity };
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

    /// Publishes a value in a state for each of its words.
    ///
    /// # Safety
    /// The tile has the states.
    #[inline(always)]
    unsafe fn publish_words<V: Copy>(&self, tile: usize, is_of_all: bool, value: V) {
        let words = size_of::<V>() / 4;
        for word in 0..words {
            cuda_std::unroll!(full);
            // SAFETY: the caller's promise; a value without padding is words.
            unsafe {
                let bits = (&raw const value).cast::<u32>().add(word).read_unaligned();
                self.publish(tile * words + word, is_of_all, u64::from(bits));
            }
        }
    }

    /// The value in a state for each of its words: published if that is so of all of them, in the same way.
    ///
    /// # Safety
    /// As of [`publish_words`](Self::publish_words). A value that is not published is not one.
    #[inline(always)]
    unsafe fn words<V: Copy>(&self, tile: usize) -> (bool, bool, MaybeUninit<V>) {
        let (words, mut value) = (size_of::<V>() / 4, MaybeUninit::<V>::uninit());
        let (mut is_published, mut of_all) = (true, 0);
        for word in 0..words {
            cuda_std::unroll!(full);
            // SAFETY: the caller's promise.
            unsafe {
                let (is_word, is_all, bits) = self.state(tile * words + word);
                is_published &= is_word;
                of_all += usize::from(is_all);
                value.as_mut_ptr().cast::<u32>().add(word).write_unaligned(bits as u32);
            }
        }
        (is_published && (of_all == 0 || of_all == words), of_all == words, value)
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
