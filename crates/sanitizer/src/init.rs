//! The initialisation check: a value that was never written decides something.
//!
//! Definedness is kept for each byte of memory, and for each bit where a byte is undefined in part, and carried with
//! values through registers: a value made from an undefined one is undefined, bit by bit where the instruction keeps bits
//! apart (see [`crate::flow`]). Reading or copying one is no finding; it is one when an undefined value is an address,
//! steers a branch or a guarded instruction, takes part in an atomic, or is copied to the host. An exchange is a load and a
//! store in one, so it decides nothing.
//!
//! Almost no register is ever undefined. Those that some way through the program reads before it writes them start so;
//! all others become so only by what is loaded into them. As long as a warp has no undefined register, its instructions
//! are not looked at.

mod memory;
mod origin;
mod registers;
mod touch;
mod watch;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use virtual_gpu::Code;
use virtual_gpu::observer::{
    Access, AccessKind, At, Carrier, CollectiveKind, Entered, MemorySpace, Named, Operands, Operation,
    Register,
};

use crate::carried::Carried;
use crate::cluster::{Member, Shared, named};
use crate::flow::all_of;
use crate::kind::Decides;
use crate::reached::{Reached, lanes};
use crate::watched::Watched;
use crate::written::{PAGE, Storer, Written};
pub use origin::Origin;
use origin::Unwritten;
use registers::{WarpRegisters, exchange, lane_by_lane};
use touch::touch;
pub use watch::Whence;

/// The initialisation check of one block.
#[derive(Debug)]
pub struct BlockInit {
    code: Arc<Code>,
    warps: Vec<WarpRegisters>,
    shared: Shared<Written>,
    /// Its rank, in a cluster.
    rank: Option<u32>,
    local: HashMap<u32, Written>,
    /// The definedness of a fresh stack.
    stack: fn() -> Written,
    /// Whether nothing starts undefined: what is followed are values that were not loaded.
    follows_only: bool,
    global: Arc<Mutex<Written>>,
    /// Pages of global memory that were seen to be written throughout, by their numbers, as of `seen_at`.
    seen: [u64; 16],
    seen_at: u64,
    unset: Arc<AtomicU64>,
    carried: Carried,
    block: u32,
    /// Its launch, as global memory numbers it.
    launch: u32,
}

impl BlockInit {
    /// For a block that is about to start.
    pub fn of(block: &Watched<'_>) -> Self {
        let Watched { threads, launched, written, .. } = *block;
        let code = launched.code.clone();
        let mut init =
            Self::new(code, Some(launched.function), threads, block.member.clone(), written.clone());
        init.block = block.linear;
        init.launch = written.lock().unwrap_or_else(PoisonError::into_inner).launched(launched);
        let start = named(init.rank, launched.reserved.start.into());
        init.shared.hold().set(start, launched.reserved.len() as u64, true);
        init
    }

    fn new(
        code: Arc<Code>,
        function: Option<u32>,
        threads: u32,
        member: Option<Member>,
        global: Arc<Mutex<Written>>,
    ) -> Self {
        let unset = function.map_or(&[][..], |function| code.unset(function));
        let warps = (0..threads.div_ceil(32))
            .map(|_| {
                let mut warp = WarpRegisters::default();
                unset.iter().for_each(|&slot| warp.set(slot, !0, !0));
                warp
            })
            .collect();
        let unset = global.lock().unwrap_or_else(PoisonError::into_inner).unset();
        let (rank, shared) = match member {
            None => (None, Shared::Own(Written::default())),
            Some(Member { team, rank }) => (Some(rank), Shared::Team(team)),
        };
        BlockInit {
            code,
            warps,
            shared,
            rank,
            local: HashMap::new(),
            stack: Written::default,
            follows_only: false,
            global,
            seen: [u64::MAX; 16],
            seen_at: 0,
            unset,
            carried: Carried::default(),
            block: 0,
            launch: 0,
        }
    }

    /// Follows values that lanes went on without, where all else is defined.
    pub fn following(code: Arc<Code>, threads: u32, global: Arc<Mutex<Written>>) -> Self {
        let mut init = Self::new(code, None, threads, None, global);
        init.shared = Shared::Own(Written::of_global());
        init.stack = Written::of_global;
        init.follows_only = true;
        init
    }

    /// Lanes went on without what an access would have loaded: that is undefined for who follows such values, and none of the
    /// check's business else.
    pub fn skipped(&mut self, at: At, loaded: Named<'_>) {
        let undefined = if self.follows_only { !0 } else { 0 };
        let warp = &mut self.warps[at.warp as usize];
        loaded.iter().flatten().for_each(|register| warp.set(register.slot, at.lanes, undefined));
    }

    /// Whether a warp has an undefined register, so that its instructions must be looked at.
    #[inline]
    pub fn is_tainted(&self, warp: u32) -> bool {
        self.warps[warp as usize].tainted != 0
    }

    /// Registers that an instruction reads and writes.
    #[inline]
    pub(crate) fn executed(
        &mut self,
        at: At,
        reads: &[Register],
        writes: &[Register],
        operands: &Operands<'_>,
    ) -> Option<(Decides, u32, Origin)> {
        let here = self.here(at);
        let warp = &mut self.warps[at.warp as usize];
        warp.reads.clear();
        let undefined = reads.iter().fold(0, |all, r| all | warp.of(r.slot)) & at.lanes;
        if undefined == 0 {
            for register in writes {
                warp.set(register.slot, at.lanes, 0);
            }
            return None;
        }
        warp.reads.extend_from_slice(reads);
        warp.reads_of = at.pc;
        let undefined_here = |slot: &u32| warp.of(*slot) & at.lanes != 0;
        let origin = warp.origin(reads.iter().map(|register| register.slot).filter(undefined_here), here);
        let operation = self.code.operation(at.pc);
        match operation {
            // These tell what they do, and which register is an address: see the implementation of `Undefined`.
            Operation::Matrix { .. } if !self.follows_only => warp.reads.clear(),
            Operation::BranchIndexed => return Some((Decides::Guard, undefined, origin)),
            // Each lane's result is made from the values of all.
            Operation::Collective(collective) if !matches!(collective.kind, CollectiveKind::Shuffle(_)) => {
                exchange(warp, collective.kind, at.lanes, writes, operands);
            }
            _ => lane_by_lane(warp, operation, at.lanes, reads, writes, operands),
        }
        for register in writes {
            if warp.of(register.slot) & at.lanes != 0 {
                warp.came_from(register.slot, Some(origin));
            }
        }
        None
    }

    fn here(&self, at: At) -> Origin {
        Origin::of_register(self.launch, self.block, at)
    }

    /// The origin of an undefined register that an instruction reads.
    pub fn origin(&self, at: At, register: Register) -> Origin {
        self.warps[at.warp as usize].origin([register.slot], self.here(at))
    }

    /// A shuffle: definedness comes from the lane that the value comes from, and there is none where that is absent.
    pub(crate) fn exchanged(
        &mut self,
        at: At,
        target: Register,
        value: Option<Register>,
        sources: &[u8; 32],
    ) {
        let here = self.here(at);
        let warp = &mut self.warps[at.warp as usize];
        let from = |lane: u32| match sources[lane as usize] {
            source @ 0..32 => value.map_or(0, |value| warp.bits(value, source.into())),
            _ if self.follows_only => 0,
            _ => u128::MAX,
        };
        let bits: Vec<(u32, u128)> =
            lanes(at.lanes).map(|lane| (lane, from(lane))).filter(|b| b.1 != 0).collect();
        let origin = match bits.first() {
            Some(&(lane, _)) if sources[lane as usize] >= 32 => {
                Origin { lane, what: Unwritten::Lane, ..here }
            }
            _ => warp.origin(value.map(|value| value.slot), here),
        };
        warp.set(target.slot, at.lanes, 0);
        if !bits.is_empty() {
            warp.came_from(target.slot, Some(origin));
        }
        bits.into_iter().for_each(|(lane, bits)| warp.set_bits(target, lane, bits & all_of(target)));
    }

    /// A frame starts: registers that may be read before they are written, and its variables, are undefined.
    pub(crate) fn entered(&mut self, at: At, frame: &Entered) {
        let warp = &mut self.warps[at.warp as usize];
        let Entered { function, slots, local } = frame;
        if warp.tainted != 0 {
            slots.clone().for_each(|slot| warp.set(slot, at.lanes, 0));
        }
        if self.follows_only {
            return;
        }
        for &slot in self.code.unset(*function) {
            warp.set(slots.start + slot, at.lanes, at.lanes);
            warp.came_from(slots.start + slot, None);
        }
        let bytes = local.end.saturating_sub(local.start);
        if bytes != 0 {
            for lane in lanes(at.lanes) {
                let stack = self.local.entry(at.warp * 32 + lane).or_insert_with(self.stack);
                stack.set(local.start.into(), bytes.into(), false);
            }
        }
    }

    /// An argument or a result was copied, and its definedness with it.
    pub(crate) fn carried_over(&mut self, at: At, from: Carrier, to: Carrier, bytes: u32) {
        let here = self.here(at);
        let warp = &mut self.warps[at.warp as usize];
        for lane in lanes(at.lanes) {
            let thread = at.warp * 32 + lane;
            if let (Carrier::Register(from), Carrier::Register(to)) = (from, to) {
                let undefined = warp.bits(from, lane);
                let origin = warp.origin([from.slot], here);
                warp.set_bits(to, lane, undefined);
                warp.came_from(to.slot, Some(origin));
                continue;
            }
            let stack = self.local.entry(thread).or_insert_with(self.stack);
            let origin = match from {
                Carrier::Register(from) | Carrier::Part(from, _) => warp.origin([from.slot], here),
                Carrier::Local(at) => {
                    stack.origin(at.into(), here.of_memory(MemorySpace::Local, at.into(), lane))
                }
                Carrier::Device => here,
            };
            for byte in 0..bytes {
                let undefined = match from {
                    Carrier::Register(from) => (warp.bits(from, lane) >> (8 * byte)) as u8,
                    Carrier::Part(from, first) => (warp.bits(from, lane) >> (8 * (first + byte))) as u8,
                    Carrier::Local(at) => stack.missing_bits(u64::from(at) + u64::from(byte), 1) as u8,
                    Carrier::Device => 0,
                };
                match to {
                    Carrier::Local(at) => {
                        let to = u64::from(at) + u64::from(byte);
                        stack.set_bits(to, undefined);
                        if undefined != 0 {
                            stack.came_from(to, origin);
                        }
                    }
                    Carrier::Register(_) | Carrier::Part(..) => {
                        let (to, byte) = match to {
                            Carrier::Part(to, first) => (to, first + byte),
                            Carrier::Register(to) => (to, byte),
                            _ => continue,
                        };
                        let rest = if byte == 0 { 0 } else { warp.bits(to, lane) };
                        warp.set_bits(to, lane, rest | u128::from(undefined) << (8 * byte));
                        if undefined != 0 {
                            warp.came_from(to.slot, Some(origin));
                        }
                    }
                    Carrier::Device => {}
                }
            }
        }
    }

    /// Whether a range of global memory is known to be written without looking at its bytes.
    #[inline]
    fn was_seen(&self, reached: &Reached) -> bool {
        if self.unset.load(Ordering::Relaxed) != self.seen_at {
            return false;
        }
        let (first, last) = (reached.low / PAGE, (reached.end - 1) / PAGE);
        last - first <= 1 && (first..=last).all(|page| self.seen[(page % 16) as usize] == page)
    }

    /// A memory access.
    pub(crate) fn accessed(
        &mut self,
        at: At,
        access: &Access<'_>,
        reached: &Reached,
        mut report: impl FnMut(Decides, u32, Option<Origin>),
    ) {
        let here = self.here(at);
        let warp = &mut self.warps[at.warp as usize];
        let exchanged = match access.kind {
            AccessKind::Atomic => self.code.exchanged(at.pc).map(|slots| access.registers.beside(slots)),
            _ => None,
        };
        let atomic = matches!(access.kind, AccessKind::Atomic | AccessKind::Reduction) && exchanged.is_none();
        if warp.tainted != 0 && !warp.reads.is_empty() && warp.reads_of == at.pc {
            let data = |slot: u32| access.registers.iter().flatten().any(|r| r.slot == slot);
            let deciding = || {
                let decides = |r: &&Register| {
                    r.bytes != 0 && (atomic || access.kind == AccessKind::Load || !data(r.slot))
                };
                let undefined_here = |slot: &u32| warp.of(*slot) & access.lanes != 0;
                warp.reads.iter().filter(decides).map(|register| register.slot).filter(undefined_here)
            };
            let used = deciding().fold(0, |all, slot| all | warp.of(slot));
            if used & access.lanes != 0 {
                let decides = if atomic { Decides::Atomic } else { Decides::Address };
                report(decides, used & access.lanes, Some(warp.origin(deciding(), here)));
            }
        }
        let mut report = |decides, lanes| report(decides, lanes, None);
        match access.space {
            MemorySpace::Param | MemorySpace::Const => {
                if warp.tainted != 0 {
                    access.registers.iter().flatten().for_each(|r| warp.set(r.slot, access.lanes, 0));
                }
            }
            MemorySpace::Local => {
                for lane in lanes(access.lanes) {
                    let stack = self.local.entry(at.warp * 32 + lane).or_insert_with(self.stack);
                    let address = access.addresses[lane as usize];
                    let one = Reached {
                        low: address,
                        end: address.saturating_add(access.bytes().into()),
                        ..*reached
                    };
                    touch(warp, stack, 1 << lane, access, &one, (here, None), &mut report);
                }
            }
            MemorySpace::Shared => {
                let with = (here, exchanged);
                touch(warp, &mut self.shared.hold(), access.lanes, access, reached, with, &mut report);
            }
            MemorySpace::Global => {
                // The common case: a warp without undefined registers at memory that is written throughout.
                let stores = access.kind == AccessKind::Store || exchanged.is_some();
                if self.was_seen(reached) && (!stores || !self.is_tainted(at.warp)) {
                    let warp = &mut self.warps[at.warp as usize];
                    if warp.tainted != 0 && access.kind == AccessKind::Load {
                        access.registers.iter().flatten().for_each(|r| warp.set(r.slot, access.lanes, 0));
                    }
                    return;
                }
                let mut global = self.global.lock().unwrap_or_else(PoisonError::into_inner);
                let warp = &mut self.warps[at.warp as usize];
                touch(warp, &mut global, access.lanes, access, reached, (here, exchanged), &mut report);
                if access.kind == AccessKind::Store {
                    global.stored(reached.low, access.width);
                    global.stored(reached.end - 1, access.width);
                    let undefined = match warp.tainted {
                        0 => 0,
                        _ => access.registers.iter().flatten().fold(0, |all, r| all | warp.of(r.slot)),
                    };
                    let of = |lane: u32| Storer {
                        launch: self.launch,
                        pc: at.pc,
                        block: self.block,
                        warp: at.warp,
                        lane,
                        address: access.addresses[lane as usize],
                    };
                    global.stored_by(of(access.lanes.trailing_zeros() & 31), false);
                    lanes(undefined & access.lanes).for_each(|lane| global.stored_by(of(lane), true));
                }
                let now = self.unset.load(Ordering::Relaxed);
                if now != self.seen_at {
                    self.seen = [u64::MAX; 16];
                    self.seen_at = now;
                }
                for page in [reached.low / PAGE, (reached.end - 1) / PAGE] {
                    if global.is_whole(page) {
                        self.seen[(page % 16) as usize] = page;
                    }
                }
            }
        }
    }

    /// Undefined bits of a register, lane by lane.
    pub fn of_register(&self, warp: u32, register: Register) -> [u64; 32] {
        let warp = &self.warps[warp as usize];
        match warp.of(register.slot) {
            0 => [0; 32],
            _ => std::array::from_fn(|lane| warp.bits(register, lane as u32) as u64),
        }
    }

    /// A register was written whose undefined bits are these.
    pub fn set_register(&mut self, at: At, register: Register, undefined: &[u64; 32]) {
        let warp = &mut self.warps[at.warp as usize];
        for lane in lanes(at.lanes) {
            warp.set_bits(register, lane, u128::from(undefined[lane as usize]) & all_of(register));
        }
        warp.came_from(register.slot, None);
    }

    pub fn undefined_lanes(&self, at: At, register: Register) -> u32 {
        self.warps[at.warp as usize].of(register.slot) & at.lanes
    }
}

#[cfg(test)]
mod tests {
    use virtual_gpu::observer::Named;

    use super::*;

    fn at(lanes: u32) -> At {
        At { pc: 0, warp: 0, lanes }
    }

    const A: Register = Register { slot: 0, bytes: 4 };
    const B: Register = Register { slot: 1, bytes: 4 };
    const P: Register = Register { slot: 2, bytes: 0 };

    fn access<'a>(kind: AccessKind, addresses: &'a [u64; 32], slots: &'a [u32]) -> Access<'a> {
        Access {
            space: MemorySpace::Shared,
            generic: false,
            kind,
            width: 4,
            elements: 1,
            lanes: 1,
            addresses,
            order: virtual_gpu::observer::Order::Weak,
            scope: virtual_gpu::observer::Scope::Block,
            non_coherent: false,
            used: u32::MAX,
            image: false,
            registers: Named::new(0, 4, slots),
            values: None,
            swap: None,
        }
    }

    fn run(init: &mut BlockInit, access: &Access<'_>) {
        init.accessed(at(1), access, &Reached::of(access), |_, _, _| {
            panic!("neither a load nor a store decides anything")
        });
    }

    #[test]
    fn an_undefined_value_is_found_where_it_decides_and_not_before() {
        let mut init = BlockInit::new(Arc::default(), Some(0), 32, None, Arc::default());
        assert!(!init.is_tainted(0), "all that is never read before it is written is defined");
        run(&mut init, &access(AccessKind::Load, &[0; 32], &[A.slot]));
        assert!(init.is_tainted(0));
        init.executed(at(!0), &[A], &[P], &Operands::default());
        assert_eq!(init.undefined_lanes(at(!0), P), 1);
        init.executed(at(!0), &[], &[A], &Operands::default());
        init.executed(at(!0), &[A], &[P], &Operands::default());
        assert_eq!((init.undefined_lanes(at(!0), P), init.is_tainted(0)), (0, false));
    }

    #[test]
    fn a_byte_that_was_never_written_goes_along_with_a_copy() {
        let mut init = BlockInit::new(Arc::default(), Some(0), 32, None, Arc::default());
        let (first, mut second) = ([0; 32], [0; 32]);
        second[0] = 16;
        init.shared.hold().set(0, 3, true);
        run(&mut init, &access(AccessKind::Load, &first, &[A.slot]));
        init.executed(at(1), &[A], &[], &Operands::default());
        run(&mut init, &access(AccessKind::Store, &second, &[A.slot]));
        assert_eq!(init.shared.hold().missing(16, 4), 0b1000);
    }

    #[test]
    fn what_a_function_is_given_is_as_defined_as_it_was() {
        let mut init = BlockInit::new(Arc::default(), Some(0), 32, None, Arc::default());
        init.shared.hold().set(0, 3, true);
        run(&mut init, &access(AccessKind::Load, &[0; 32], &[A.slot]));
        init.carried_over(at(1), Carrier::Register(A), Carrier::Local(8), 4);
        init.carried_over(at(1), Carrier::Local(8), Carrier::Register(B), 4);
        assert_eq!(init.warps[0].bits(B, 0), 0xFF00_0000);
        init.carried_over(at(1), Carrier::Device, Carrier::Local(8), 4);
        init.carried_over(at(1), Carrier::Local(8), Carrier::Register(B), 4);
        assert_eq!(init.warps[0].bits(B, 0), 0);
    }
}
