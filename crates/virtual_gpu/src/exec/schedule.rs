//! Which order a schedule gives to blocks and warps, and where it interrupts them.
//!
//! Schedule 0 is the plain order, and 1 the same in reverse, so of any two blocks, and of any two warps of a block, each comes
//! first in one of them. Schedules 2 and 3 take a random order and its reverse, 4 and 5 another, and so on.
//!
//! From 2 on warps are interrupted, too, as by probabilistic concurrency testing (Burckhardt and others, 2010): an interrupted
//! warp goes behind all others. That happens at *events*: strong accesses (volatile, ordered, atomic), since between two
//! of them nothing is decided that others take part in. Every fourth pair of schedules counts plain accesses and fences as well.
//!
//! Each warp has a plan of its own. Most kernels that hand things over are short, so the first pair of random orders interrupts
//! most warps behind their first event, the second pair behind their second, and the third behind their first those whom the
//! first has spared. The number of events is not known, so for all others a plan is drawn: a quarter of the warps is never
//! interrupted, half of them seldom, the first time most likely behind an early event, and a quarter at every other event, then
//! less and less often. A pair has one set of plans for both its orders.

/// How the gaps between interruptions grow: after a number of them, by a number of events.
const OFTEN: (u32, u32) = (8, 2);
const SELDOM: (u32, u32) = (1, 16);

/// The longest gap, in events.
const LONGEST: u32 = 1 << 30;

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

    /// Where the warps of a block are interrupted.
    pub fn changes(self, block: u64, warps: u32) -> Option<Changes> {
        if self.is_calm() {
            return None;
        }
        let pair = self.0 / 2;
        let plain = pair.is_multiple_of(4);
        let plan = |warp: u32| Plan::drawn(pair, mix(block ^ mix(warp.into())));
        Some(Changes { plain, plans: (0..warps).map(plan).collect() })
    }
}

/// The beneficiaries of an interruption.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Warps,
    Blocks,
}

/// The interruptions of one block.
#[derive(Debug)]
pub(crate) struct Changes {
    /// Whether plain accesses and fences are events.
    plain: bool,
    /// By warp.
    plans: Vec<Plan>,
}

impl Changes {
    /// A warp has passed an instruction that may be an event.
    pub fn pass(&mut self, warp: u32, pc: u32, strong: bool) -> Option<Change> {
        if strong || self.plain { self.plans[warp as usize].pass(pc) } else { None }
    }
}

/// The interruptions of one warp.
#[derive(Debug)]
struct Plan {
    random: u64,
    gap: u32,
    grows: (u32, u32),
    /// Interruptions until the gaps grow.
    left: u32,
    /// Events until the next.
    until: u32,
    /// The program counter of the last event: a waiting loop is interrupted anyway.
    last: u32,
}

impl Plan {
    /// Of a warp, under both schedules of a pair, with its first number drawn.
    fn begun(pair: u64, warp: u64) -> (Self, u64) {
        let random = mix(pair ^ warp) | 1;
        let mut plan = Plan { random, gap: 1, grows: SELDOM, left: 1, until: LONGEST, last: u32::MAX };
        let first = plan.draw();
        (plan, first)
    }

    fn drawn(pair: u64, warp: u64) -> Self {
        let (mut plan, first) = Self::begun(pair, warp);
        match first % 4 {
            // Warps that the first pair has left out.
            _ if pair == 3 && Self::begun(1, warp).1.is_multiple_of(4) => plan.until = 1,
            0 => plan.gap = LONGEST,
            _ if pair <= 2 => plan.until = pair as u32,
            1 => {
                (plan.gap, plan.grows, plan.left) = (2, OFTEN, OFTEN.0);
                plan.until = plan.draw_gap();
            }
            _ => {
                let most = 2u64 << plan.draw().trailing_ones().min(24);
                plan.until = 1 + (plan.draw() % most) as u32;
            }
        }
        plan
    }

    fn pass(&mut self, pc: u32) -> Option<Change> {
        if std::mem::replace(&mut self.last, pc) == pc && self.draw() & 7 != 0 {
            return None;
        }
        self.until -= 1;
        if self.until > 0 {
            return None;
        }
        self.left -= 1;
        if self.left == 0 {
            self.left = self.grows.0;
            self.gap = self.gap.saturating_mul(self.grows.1).min(LONGEST);
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

    /// The events at which a warp is interrupted under a schedule.
    fn interruptions(seed: u64, warp: u32, events: u32, strong: bool) -> Vec<u32> {
        let mut changes = Schedule::of(Some(seed)).changes(5, 32).expect("it interrupts");
        (0..events).filter(|&event| changes.pass(warp, event, strong).is_some()).collect()
    }

    #[test]
    fn the_first_events_are_each_hit_by_many_schedules_and_later_ones_by_fewer() {
        let hits = |event: u32| {
            let hit =
                (1000..3000).filter(|&seed| interruptions(seed, 3, event + 1, true).last() == Some(&event));
            hit.count()
        };
        for (event, expected) in [(0, 450..700), (1, 450..700), (5, 200..400), (99, 30..120)] {
            let hits = hits(event);
            assert!(expected.contains(&hits), "event {event} in {hits} of 2000 schedules");
        }
    }

    #[test]
    fn the_first_random_orders_interrupt_most_warps_behind_their_first_and_their_second_event() {
        for (seed, event) in [(2, 0), (3, 0), (4, 1), (5, 1)] {
            let firsts = (0..32).filter_map(|warp| interruptions(seed, warp, 5, true).first().copied());
            let firsts: Vec<u32> = firsts.collect();
            assert!(
                (16..32).contains(&firsts.len()) && firsts.iter().all(|first| *first == event),
                "{firsts:?}"
            );
        }
    }

    #[test]
    fn whom_the_first_pair_spares_the_third_interrupts() {
        for warp in 0..32 {
            for order in [0, 1] {
                let firsts = [2, 6].map(|seed| interruptions(seed + order, warp, 5, true).first().copied());
                assert!(firsts.contains(&Some(0)), "warp {warp}: {firsts:?}");
            }
        }
    }

    #[test]
    fn each_warp_has_its_own_interruptions_and_some_have_none() {
        let (mut none, mut firsts) = (0, std::collections::BTreeSet::new());
        for warp in 0..32 {
            let at = interruptions(12, warp, 100_000, true);
            assert!(at.len() < 200, "they thin out: {at:?}");
            none += u32::from(at.is_empty());
            firsts.extend(at.first().copied());
        }
        assert!((2..16).contains(&none) && firsts.len() >= 3, "{none} without, {firsts:?}");
    }

    #[test]
    fn who_waits_or_accesses_memory_plainly_is_let_be() {
        assert!((0..32).all(|warp| interruptions(2, warp, 1000, false).is_empty()), "plain accesses");
        assert!((0..32).any(|warp| !interruptions(8, warp, 1000, false).is_empty()), "every fourth pair");
        let mut waits = Schedule::of(Some(2)).changes(5, 32).expect("it interrupts");
        assert!((0..100_000).filter(|_| waits.pass(3, 1, true).is_some()).count() < 200);
        assert!(
            Schedule::of(Some(1)).changes(5, 32).is_none() && Schedule::of(None).changes(5, 32).is_none()
        );
    }
}
