//! The race check: two accesses to one byte, one of them a write, that nothing orders.
//!
//! Order comes from block barriers, `bar.warp.sync`, a fence before an atomic or volatile write whose location another
//! thread reads and then fences, `mbarrier`s, and waits for asynchronous copies. Votes and shuffles order nothing. Scopes count:
//! a block fence orders nothing for another block.

mod asynchronous;
mod cure;
mod order;
mod reporting;
mod watch;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, PoisonError};

use virtual_gpu::observer::{Access, AccessKind, At, MemorySpace, Order, Scope, Swap};

use crate::clock::{Clocks, Step};
use crate::cluster::{self, Member, Shared};
use crate::copies::Copies;
use crate::history::{GlobalRaces, SharedRaces};
use crate::launched::Launched;
use crate::pending_race::{self, PendingRace};
use crate::products::Products;
use crate::reached::{Reached, lanes, words};
use crate::shadow::{Asking, Clash, Race, Shadow, Stamp, Touch, words_of};
use crate::sync_object::synchronise;
use crate::watched::Watched;
use asynchronous::Issue;
use order::Barrier;

/// Stands for an unknown value: no two are the same.
static UNKNOWN: AtomicU32 = AtomicU32::new(0x5EED_0000);

/// The race check of one block.
#[derive(Debug)]
pub struct BlockRaces {
    block: u32,
    launched: Arc<Launched>,
    /// Its rank, in a cluster.
    rank: Option<u32>,
    clocks: Clocks,
    shared: Shared<SharedRaces>,
    global: Arc<Mutex<GlobalRaces>>,
    barriers: HashMap<u32, Barrier>,
    copies: Copies,
    issue: Issue,
    /// Threads that have not ended.
    alive: u32,
    /// Results of `wgmma` that are under way.
    products: Products,
    /// Places that threads have read as flags.
    flags: HashSet<(u32, u64)>,
}

/// More than these are not kept.
const MOST_FLAGS: usize = 1 << 16;

impl BlockRaces {
    /// For a block that is about to start.
    pub fn of(watched: &Watched<'_>) -> Self {
        let (block, threads, global) = (watched.linear, watched.threads, watched.races.clone());
        let clocks = Clocks::new(block, threads as usize);
        let spare = global.lock().unwrap_or_else(PoisonError::into_inner).spare.clone();
        let (rank, shared) = match watched.member.clone() {
            None => (None, Shared::Own(SharedRaces::new(spare))),
            Some(Member { team, rank }) => (Some(rank), Shared::Team(team)),
        };
        BlockRaces {
            block,
            launched: watched.launched.clone(),
            rank,
            clocks,
            shared,
            global,
            barriers: HashMap::new(),
            copies: Copies::default(),
            issue: Issue::default(),
            alive: threads,
            products: Products::default(),
            flags: HashSet::new(),
        }
    }

    /// Bytes of the shadow of the block's shared memory, or of its cluster's.
    fn shadow_bytes(&mut self) -> usize {
        self.shared.hold().shadow.bytes()
    }

    /// A memory access; `report` is called for each lane and word that races.
    fn accessed(
        &mut self,
        at: At,
        access: &Access<'_>,
        reached: &Reached,
        order_dependent: bool,
        mut report: impl FnMut(Race),
    ) {
        if !matches!(access.space, MemorySpace::Shared | MemorySpace::Global) {
            return;
        }
        let atomic = matches!(access.kind, AccessKind::Atomic | AccessKind::Reduction);
        let touch = Touch {
            write: access.kind != AccessKind::Load,
            strong: access.order != Order::Weak || atomic,
            wide: access.scope >= Scope::Cluster,
            system: access.scope == Scope::System,
            volatile: access.order == Order::Volatile && !atomic,
            order_dependent,
            non_coherent: access.non_coherent && access.kind == AccessKind::Load,
            ..Touch::default()
        };
        if touch.volatile && !touch.write && !order_dependent && self.flags.len() < MOST_FLAGS {
            let read = lanes(access.lanes).map(|lane| (at.warp * 32 + lane, access.addresses[lane as usize]));
            self.flags.extend(read);
            let mut global = self.global.lock().unwrap_or_else(PoisonError::into_inner);
            for (word, _) in lanes(access.lanes)
                .flat_map(|lane| words(access.addresses[lane as usize], access.bytes().into()))
            {
                global.polled.add(access.space, self.block, word * 4);
            }
        }
        let global = self.global.clone();
        let mut global = match access.space {
            MemorySpace::Global => Some(global.lock().unwrap_or_else(PoisonError::into_inner)),
            _ => None,
        };
        if let Some(global) = &mut global {
            let orders = !matches!(access.order, Order::Weak | Order::Relaxed | Order::Volatile);
            global.orders_devices |= orders && touch.system;
            global.reaches_host |= touch.strong && touch.system;
            if orders {
                self.launched.fenced(self.block, at, touch.wide);
            }
        }
        let mut shared = self.shared.hold();
        let shared = &mut *shared;
        if global.is_none() {
            if touch.write && shared.outstanding.meets(reached.low, reached.end) {
                for lane in lanes(access.lanes) {
                    let step = self.clocks.step(at.warp * 32 + lane);
                    let later = Stamp::new(self.block, step, at.pc, at.warp, (lane, lane), touch);
                    let of = (access.addresses[lane as usize], access.bytes());
                    shared.overwritten(&self.clocks, later, of, &mut report);
                }
            }
            if shared.left != 0 {
                to_the_ended(shared.left, self.block, at, access, touch, &mut report);
            }
        }
        if touch.strong {
            let sync_objects = match &mut global {
                Some(global) => &mut global.sync_objects,
                None => &mut shared.sync_objects,
            };
            synchronise(self.block, &mut self.clocks, sync_objects, at, access);
        }
        let shadow = match &mut global {
            Some(global) => &mut global.shadow,
            None => &mut shared.shadow,
        };
        let bytes = u64::from(access.bytes());
        let one_word = bytes == 4 && access.used & 0xF == 0xF;
        let page = shadow.page_of(reached.low / 4, (reached.end - 1) / 4);
        // Lanes that store to one place race with each other; lanes that read it, or change it atomically, do not.
        let merge = access.kind != AccessKind::Store;
        let swap = access.swap.as_ref().filter(|_| one_word);
        let mut pending = Vec::new();
        let clocks = &self.clocks;
        let first_thread = at.warp * 32;
        let mut rest = access.lanes;
        if let (true, false, Some(page), Some((step, floor))) =
            (one_word, touch.strong, page, clocks.of_warp(at.warp))
        {
            let of = |lanes| Stamp::new(self.block, step, at.pc, at.warp, lanes, touch).of_bytes(0xF);
            rest = match access.values {
                Some(values) => write_row(shadow, page, access, floor, of, values),
                // A surface's values are not shown.
                None if touch.write => access.lanes,
                None => read_row(shadow, page, access, floor, of),
            };
        }
        while rest != 0 {
            let lane = rest.trailing_zeros();
            rest &= rest - 1;
            let address = access.addresses[lane as usize];
            let thread = first_thread + lane;
            let step = clocks.step(thread);
            let mut last = lane;
            while merge && rest != 0 {
                let next = rest.trailing_zeros();
                if access.addresses[next as usize] != address
                    || clocks.step(first_thread + next) != step
                    || swap.is_some_and(|swap| changed(swap, next) != changed(swap, lane))
                {
                    break;
                }
                last = next;
                rest &= rest - 1;
            }
            let (touch, bytes_changed) = match swap.map(|swap| changed(swap, lane)) {
                None => (touch, 0xF),
                Some(0) => (Touch { write: false, idle: true, ..touch }, 0xF),
                Some(bytes) => (touch, bytes),
            };
            let stamp = Stamp::new(self.block, step, at.pc, at.warp, (lane, last), touch);
            let floor = match lane == last {
                true => clocks.floor(thread),
                false => clocks.floor(thread).min(clocks.floor(first_thread + last)),
            };
            if swap.is_some() {
                shadow.explain(address / 4, &stamp);
            }
            let mut note = |word: u64, mask: u8| {
                let asking = Asking { stamp: stamp.of_bytes(mask), floor, clocks };
                let page = page.unwrap_or_else(|| shadow.page_holding(word));
                let found = if touch.write {
                    let value = access.values.map(|values| value_of(&values, lane, address, word));
                    shadow.write_in(page, word, &asking, value)
                } else {
                    shadow.read_in(page, word, &asking)
                };
                // Who waited for a flag to change comes after the one who changed it.
                let waited = || self.flags.contains(&(thread, address));
                if let Some((earlier, clash)) = found
                    && (clash != Clash::OrderDependent || !waited())
                {
                    let race = Race { address: word * 4, earlier, later: asking.stamp, clash };
                    match PendingRace::of(at, access.space, race) {
                        Some(race) => pending.push(race),
                        None => report(race),
                    }
                }
            };
            if one_word {
                note(address / 4, bytes_changed);
            } else {
                for (word, mask) in words(address, bytes) {
                    let mask = mask & used_of_word(access.used, address, word);
                    if mask != 0 {
                        note(word, mask);
                    }
                }
            }
        }
        if swap.is_some() || !pending.is_empty() {
            let mut all =
                global.unwrap_or_else(|| self.global.lock().unwrap_or_else(PoisonError::into_inner));
            pending_race::settle(&mut all, (self.block, at, access), pending, report);
        }
    }

    /// An `mbarrier` is made or ended: a plain write of its eight bytes.
    fn mbarrier_made(&mut self, at: At, addresses: &[u64; 32], report: impl FnMut(Race)) {
        self.mbarrier_touched(at, addresses, Touch { write: true, ..Touch::default() }, report);
    }

    /// An `mbarrier` is used, in a way that its other users may use it at the same time.
    fn mbarrier_used(&mut self, at: At, addresses: &[u64; 32], write: bool, report: impl FnMut(Race)) {
        self.mbarrier_touched(
            at,
            addresses,
            Touch { write, strong: true, wide: true, ..Touch::default() },
            report,
        );
    }

    fn mbarrier_touched(
        &mut self,
        at: At,
        addresses: &[u64; 32],
        touch: Touch,
        mut report: impl FnMut(Race),
    ) {
        let mut shared = self.shared.hold();
        for lane in lanes(at.lanes) {
            let (thread, address) = (at.warp * 32 + lane, addresses[lane as usize]);
            let stamp = Stamp::new(self.block, self.clocks.step(thread), at.pc, at.warp, (lane, lane), touch);
            for (word, mask) in words(address, 8) {
                let asking = Asking {
                    stamp: stamp.of_bytes(mask),
                    floor: self.clocks.floor(thread),
                    clocks: &self.clocks,
                };
                let found = match touch.write {
                    true => shared.shadow.write(word, &asking, None),
                    false => shared.shadow.read(word, &asking),
                };
                if let Some((earlier, clash)) = found {
                    report(Race { address: word * 4, earlier, later: asking.stamp, clash });
                }
            }
        }
    }

    /// A thread was given memory that another may have freed: what was done to it is over.
    fn forget(&self, address: u64, bytes: u64) {
        let mut global = self.global.lock().unwrap_or_else(PoisonError::into_inner);
        words(address, bytes).for_each(|(word, _)| global.shadow.forget(word));
    }

    /// Lanes have ended. When all of the block's have, its shared memory is gone, and no block of the cluster may use
    /// it any more: those accesses by other blocks that no thread of this one knew to be over.
    fn ended(&mut self, at: At) -> Vec<Stamp> {
        self.alive = self.alive.saturating_sub(at.lanes.count_ones());
        let (0, Some(rank)) = (self.alive, self.rank) else { return Vec::new() };
        let mut shared = self.shared.hold();
        shared.left |= 1 << rank;
        let threads = self.clocks.threads();
        let known = |stamp: &Stamp| {
            (0..threads).any(|thread| {
                [stamp.first(), stamp.last()]
                    .into_iter()
                    .all(|lane| self.clocks.knows(thread, stamp.block, stamp.warp() * 32 + lane, stamp.step))
            })
        };
        let mut late: Vec<Stamp> = Vec::new();
        for page in
            shared.shadow.pages().filter(|page| cluster::rank(words_of(*page).start * 4) == Some(rank))
        {
            let stamps = words_of(page).flat_map(|word| shared.shadow.stamps(word)).map(|(stamp, _)| stamp);
            for stamp in stamps.filter(|stamp| stamp.block != self.block) {
                if late.iter().all(|other| other.pc != stamp.pc) && !known(&stamp) {
                    late.push(stamp);
                }
            }
        }
        late
    }
}

/// Accesses to the shared memory of blocks of the cluster that have ended.
#[cold]
fn to_the_ended(
    left: u32,
    block: u32,
    at: At,
    access: &Access<'_>,
    touch: Touch,
    report: &mut impl FnMut(Race),
) {
    let ended = |lane: &u32| {
        let rank = cluster::rank(access.addresses[*lane as usize]);
        rank.is_some_and(|rank| left.checked_shr(rank).is_some_and(|left| left & 1 != 0))
    };
    if let Some(lane) = lanes(access.lanes).find(ended) {
        let earlier = Stamp::new(block, 1, at.pc, at.warp, (lane, lane), touch);
        let address = access.addresses[lane as usize];
        report(Race { address, earlier, later: earlier, clash: Clash::Gone });
    }
}

/// Reads of whole words by a warp whose lanes know the same: those lanes that take a closer look.
#[inline]
fn read_row(
    shadow: &mut Shadow,
    page: u32,
    access: &Access<'_>,
    floor: Step,
    of: impl Fn((u32, u32)) -> Stamp,
) -> u32 {
    let addresses = access.addresses;
    // Two rows of threads that read one row of a tile.
    let (low, high) = addresses.split_at(16);
    let mut apart = u64::from(access.lanes != u32::MAX);
    low.iter().zip(high).for_each(|(a, b)| apart |= a ^ b);
    let (mut rest, other) = if apart == 0 { (0xFFFF, 16) } else { (access.lanes, 0) };
    let mut left = 0;
    while rest != 0 {
        let lane = rest.trailing_zeros();
        let address = addresses[lane as usize];
        let (mut last, mut taken) = (lane, 1u32 << lane);
        // A word that lanes side by side read takes one stamp.
        while last < 31 && rest >> (last + 1) & 1 != 0 && addresses[last as usize + 1] == address {
            last += 1;
            taken |= 1 << last;
        }
        rest &= !taken;
        if !shadow.read_at_once(page, address / 4, &of((lane, last + other)), floor) {
            left |= taken | if other == 0 { 0 } else { taken << 16 };
        }
    }
    left
}

/// Writes of whole words, likewise.
#[inline]
fn write_row(
    shadow: &mut Shadow,
    page: u32,
    access: &Access<'_>,
    floor: Step,
    of: impl Fn((u32, u32)) -> Stamp,
    values: virtual_gpu::Values<'_>,
) -> u32 {
    let (mut rest, mut left) = (access.lanes, 0);
    while rest != 0 {
        let lane = rest.trailing_zeros();
        rest &= rest - 1;
        let word = access.addresses[lane as usize] / 4;
        let value = value_of(&values, lane, word * 4, word);
        if !shadow.write_at_once(page, word, &of((lane, lane)), floor, value) {
            left |= 1 << lane;
        }
    }
    left
}

/// The bytes of a word that a lane's compare-and-swap changes if it succeeds, as a mask. Over the others it writes what is
/// there: who stores to them in between makes it fail, so no such store is lost. That is how an atomic of one byte is made
/// where the hardware has none.
fn changed(swap: &Swap<'_>, lane: u32) -> u8 {
    let changed = swap.compared.word(lane, 0) ^ swap.replacement.word(lane, 0);
    changed.to_le_bytes().iter().enumerate().fold(0, |mask, (i, &byte)| mask | u8::from(byte != 0) << i)
}

/// The bytes that a store puts into a word.
#[inline]
fn value_of(values: &virtual_gpu::Values<'_>, lane: u32, address: u64, word: u64) -> u32 {
    let start = word * 4;
    if start >= address {
        values.word(lane, (start - address) as u32)
    } else {
        // A narrow store inside the word.
        values.word(lane, 0) << (8 * (address - start))
    }
}

/// The bytes of a word that an access at `address` uses, as a mask: a compiler that widens a load says which it needs.
#[inline]
fn used_of_word(used: u32, address: u64, word: u64) -> u8 {
    let used = match (word * 4).checked_sub(address) {
        Some(behind) => used.checked_shr(behind as u32).unwrap_or(u32::MAX),
        None => used << (address - word * 4),
    };
    (used & 0xF) as u8
}
