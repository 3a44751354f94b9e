//! Which order a schedule gives to blocks and warps, and where it interrupts them.
//!
//! Schedule 0 is the plain order, and 1 the same in reverse, so of any two blocks, and of any two warps of a block, each comes
//! first in one of them. Schedules 2 and 3 take a random order and its reverse, 4 and 5 another, and so on.
//!
//! From 2 on blocks are interrupted, too, as by probabilistic concurrency testing (Burckhardt and others, 2010): at *events*,
//! which are accesses to memory that others may see and fences. Who is interrupted goes behind all others. Nobody knows in
//! advance how many events there will be, so the first gaps are as long as the seed says, and they grow. Most schedules
//! interrupt often: their gaps double after eight interruptions. Every third pair of them interrupts rarely, so that who comes
//! in between comes to its end: its gaps grow by sixteen each time.

/// How the gaps between interruptions grow: after so many, by so much.
const OFTEN: (u32, u32) = (8, 2);
const RARELY: (u32, u32) = (1, 16);

/// Events in a row that change nothing, and count: whoever waits in a loop is interrupted anyway.
const LOOKS: u32 = 16;

/// One of the schedules.
#[derive(Debug, Clone, Copy)]
pub(super) struct Schedule(u64);

impl Schedule {
    /// That of a seed; without one, the plain order.
    pub fn of(seed: Option<u64>) -> Self {
        Schedule(seed.unwrap_or(0))
    }

    /// Whether it leaves interruptions to what the program does.
    pub fn is_calm(self) -> bool {
        self.0 < 2
    }

    /// Which of `count` comes at this place in the order. `of`: what they belong to, each of which has an order of its own.
    pub fn order(self, place: u64, count: u64, of: u64) -> u64 {
        let place = if self.0 & 1 == 0 { place } else { count - 1 - place };
        match self.0 / 2 {
            0 => place,
            key => permuted(place, count, mix(key ^ mix(of))),
        }
    }

    /// Where a block is interrupted.
    pub fn changes(self, block: u64) -> Option<Changes> {
        if self.is_calm() {
            return None;
        }
        let random = mix(self.0 ^ mix(block)) | 1;
        let pair = self.0 / 2;
        // Short gaps come more often than long ones: most kernels that hand things over are short.
        let gap = [2, 2, 2, 4, 2, 4, 8, 2, 16][(pair % 9) as usize];
        let grows = if pair.is_multiple_of(3) { RARELY } else { OFTEN };
        let mut changes = Changes { random, gap, grows, left: grows.0, until: 0, looks: 0, progress: 0 };
        changes.until = changes.draw_gap();
        Some(changes)
    }
}

/// What an interruption gives way to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Warps,
    Blocks,
}

/// The interruptions of one block.
#[derive(Debug)]
pub(crate) struct Changes {
    random: u64,
    gap: u32,
    grows: (u32, u32),
    /// Interruptions until the gaps grow.
    left: u32,
    /// Events until the next.
    until: u32,
    looks: u32,
    progress: u64,
}

impl Changes {
    /// An event; `progress` counts what the block has changed.
    pub fn pass(&mut self, progress: u64) -> Option<Change> {
        if self.progress == progress {
            self.looks += 1;
            if self.looks > LOOKS {
                return None;
            }
        } else {
            (self.progress, self.looks) = (progress, 0);
        }
        self.until -= 1;
        if self.until > 0 {
            return None;
        }
        self.left -= 1;
        if self.left == 0 {
            self.left = self.grows.0;
            self.gap = self.gap.saturating_mul(self.grows.1).min(1 << 30);
        }
        self.until = self.draw_gap();
        Some(if self.draw() & 1 == 0 { Change::Warps } else { Change::Blocks })
    }

    /// From 1 to twice the gap, less one: the gap in the mean.
    fn draw_gap(&mut self) -> u32 {
        let most = 2 * u64::from(self.gap) - 1;
        1 + (self.draw() % most) as u32
    }

    fn draw(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        mix(self.random)
    }
}

/// Spreads the bits of a number (the finisher of SplitMix64).
fn mix(number: u64) -> u64 {
    let mut bits = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

/// A permutation of the numbers below `count`: a Feistel network on the next power of four, walked until it comes to one of
/// them. A grid has more blocks than a table could list.
fn permuted(place: u64, count: u64, key: u64) -> u64 {
    let bits = (64 - count.saturating_sub(1).leading_zeros()).div_ceil(2).max(1);
    let low = (1 << bits) - 1;
    let mut at = place;
    loop {
        let (mut left, mut right) = (at >> bits, at & low);
        for round in 0..6 {
            (left, right) = (right, left ^ mix(key ^ mix(right ^ round << 32)) & low);
        }
        at = left << bits | right;
        if at < count {
            return at;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(seed: u64, count: u64) -> Vec<u64> {
        let mut places = vec![u64::MAX; count as usize];
        for place in 0..count {
            places[Schedule::of(Some(seed)).order(place, count, 7) as usize] = place;
        }
        places
    }

    #[test]
    fn an_order_names_everybody_once_and_the_next_schedule_reverses_it() {
        for count in [1, 2, 3, 5, 16, 17, 200] {
            for seed in [0, 2, 4, 100] {
                let (there, back) = (places(seed, count), places(seed + 1, count));
                let mut all = there.clone();
                all.sort_unstable();
                assert_eq!(all, (0..count).collect::<Vec<_>>());
                assert!(there.iter().zip(&back).all(|(there, back)| there + back == count - 1));
            }
        }
    }

    #[test]
    fn random_orders_put_either_of_two_first() {
        for (one, other) in [(0, 1), (0, 15), (7, 8), (3, 12)] {
            let first = (1..=200).filter(|half| {
                let places = places(2 * half, 16);
                places[one] < places[other]
            });
            let first = first.count();
            assert!((70..=130).contains(&first), "{one} came before {other} in {first} of 200 orders");
        }
    }

    #[test]
    fn interruptions_thin_out() {
        for (seed, times) in [(6, 3..=8), (2, 60..=140)] {
            let mut changes = Schedule::of(Some(seed)).changes(5).expect("it interrupts");
            let at: Vec<u64> = (0..100_000).filter(|&event| changes.pass(event).is_some()).collect();
            assert!(at[0] < 64 && times.contains(&at.len()), "{at:?}");
        }
        let mut waits = Schedule::of(Some(2)).changes(5).expect("it interrupts");
        assert!((0..100_000).filter(|_| waits.pass(1).is_some()).count() <= LOOKS as usize, "who waits");
        assert!(Schedule::of(Some(1)).changes(5).is_none() && Schedule::of(None).changes(5).is_none());
    }
}
