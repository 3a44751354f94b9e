//! Whether a touch of a word clashes with an earlier one.

use super::stamp::{ASYNCHRONOUS, NON_COHERENT, ORDER_DEPENDENT, STRONG, Stamp, VOLATILE, WIDE, WRITE};
use crate::clock::{Clocks, Step};

/// How two accesses clash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clash {
    /// Nothing orders them.
    Unordered,
    /// The later one has read a flag that orders them, and lacks the fence that makes it count.
    NoAcquire,
    /// Nothing orders them, and both write the same.
    Equal,
    /// Both are strong, so PTX sees no race. One is volatile and right only if something orders them, and nothing does.
    OrderDependent,
    /// The memory is that of a block of the cluster that may have ended.
    Gone,
    /// A plain store, which the bulk copy or product may not see without a fence between the proxies.
    NoProxyFence,
    /// A load through the read-only path of what the kernel wrote, in whatever order.
    Stale,
}

impl Clash {
    /// Whether another clash of the same access is the better one to tell.
    pub(super) fn is_minor(self) -> bool {
        matches!(self, Clash::Equal | Clash::OrderDependent)
    }
}

/// A query of the shadow: one touch by lanes of the same clock.
#[derive(Debug, Clone, Copy)]
pub struct Asking<'a> {
    /// Who, how.
    pub stamp: Stamp,
    /// Up to this step all is known.
    pub floor: Step,
    /// For the rest.
    pub clocks: &'a Clocks,
}

impl Asking<'_> {
    /// How an earlier touch clashes with this one, if it does; at least one of the two writes.
    #[inline]
    pub(super) fn clash(&self, earlier: &Stamp, shared: bool) -> Option<Clash> {
        let asynchronous = earlier.who & ASYNCHRONOUS != 0;
        if earlier.bytes() & self.stamp.bytes() == 0
            || !asynchronous && earlier.is_old(&self.stamp, self.floor)
        {
            return None;
        }
        if earlier.is_empty() { None } else { self.clash_slowly(earlier, shared) }
    }

    /// Whether this is a load through the read-only path of what an earlier write of the kernel left.
    #[inline]
    pub(super) fn is_stale(&self, earlier: &Stamp) -> Option<Clash> {
        let later = &self.stamp;
        let stale =
            later.who & NON_COHERENT != 0 && !earlier.is_empty() && earlier.bytes() & later.bytes() != 0;
        stale.then_some(Clash::Stale)
    }

    fn clash_slowly(&self, earlier: &Stamp, shared: bool) -> Option<Clash> {
        let later = &self.stamp;
        if earlier.is_idle() && later.is_narrow() || later.is_idle() && earlier.is_narrow() {
            return None;
        }
        let both = earlier.who & later.who;
        if both & STRONG != 0 && (earlier.block == later.block || both & WIDE != 0) {
            // Lanes that keep in step by `volatile` alone did so on chips that ran a warp as one.
            let one_warp = (earlier.block, earlier.warp()) == (later.block, later.warp());
            let in_step = shared && both & VOLATILE != 0 && one_warp;
            if !in_step {
                return self.is_order_dependent(earlier).then_some(Clash::OrderDependent);
            }
        }
        if earlier.is_asynchronous() {
            return Some(Clash::Unordered);
        }
        let mut clash = None;
        for lane in [later.first(), later.last()] {
            let thread = later.warp() * 32 + lane;
            for of in [earlier.first(), earlier.last()] {
                let of = earlier.warp() * 32 + of;
                if self.clocks.knows(thread, earlier.block, of, earlier.step) {
                    continue;
                }
                if !self.clocks.has_read_of(thread, earlier.block, of, earlier.step) {
                    return Some(Clash::Unordered);
                }
                // A volatile or relaxed access behind the flag passes the caches.
                if later.who & STRONG == 0 {
                    clash = Some(Clash::NoAcquire);
                }
            }
        }
        clash
    }

    /// Whether nothing but luck orders two strong accesses, one of them volatile: an update beside the writes of others, two
    /// volatile writes, or data that is read beside its writer.
    fn is_order_dependent(&self, earlier: &Stamp) -> bool {
        let later = &self.stamp;
        let blind = earlier.who & later.who & WRITE != 0 && earlier.who & later.who & VOLATILE != 0;
        if (earlier.who | later.who) & ORDER_DEPENDENT == 0 && !blind {
            return false;
        }
        let write = |stamp: &Stamp| stamp.who & WRITE != 0;
        let relies = match (write(earlier), write(later)) {
            (true, true) => true,
            (true, false) => later.who & ORDER_DEPENDENT != 0 && earlier.who & VOLATILE != 0,
            (false, _) => earlier.who & ORDER_DEPENDENT != 0 && later.who & VOLATILE != 0,
        };
        relies
            && [later.first(), later.last()].into_iter().any(|lane| {
                let thread = later.warp() * 32 + lane;
                [earlier.first(), earlier.last()].into_iter().any(|of| {
                    let of = earlier.warp() * 32 + of;
                    !self.clocks.knows(thread, earlier.block, of, earlier.step)
                        && !self.clocks.has_read_of(thread, earlier.block, of, earlier.step)
                })
            })
    }
}

/// Two accesses to one word that race.
#[derive(Debug, Clone, Copy)]
pub struct Race {
    /// Address of the word.
    pub address: u64,
    pub earlier: Stamp,
    pub later: Stamp,
    /// How the two clash.
    pub clash: Clash,
}

impl Race {
    /// A lane of the later access and one of the earlier, of which no two threads are one. Stamps of lanes that did the same
    /// tell the first and the last of them.
    pub fn lanes(&self) -> (u32, u32) {
        let Race { earlier, later, .. } = self;
        let one_warp = (earlier.block, earlier.warp()) == (later.block, later.warp());
        let pairs = [
            (later.first(), earlier.first()),
            (later.first(), earlier.last()),
            (later.last(), earlier.first()),
        ];
        pairs.into_iter().find(|(later, earlier)| !one_warp || later != earlier).unwrap_or(pairs[0])
    }
}
