//! The initialisation check: a value that was never written decides something.
//!
//! Definedness is kept for each byte of memory and carried with values through registers: a value made from an
//! undefined one is undefined, byte by byte where the instruction keeps bytes apart (see [`crate::flow`]). Reading or
//! copying one is no finding; it is one when an undefined value is an address, steers a branch or a guarded instruction,
//! takes part in an atomic, or is copied to the host.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use virtual_gpu::Code;
use virtual_gpu::observer::{Access, AccessKind, At, MemorySpace, Register};

use crate::flow;
use crate::race::lanes;
use crate::written::Written;

/// What an undefined value decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Decides {
    /// An address.
    Address,
    /// A branch, or whether an instruction is executed.
    Guard,
    /// An atomic operation.
    Atomic,
}

/// The registers of one warp.
#[derive(Debug, Default)]
struct WarpRegisters {
    /// By slot: lanes in which some byte is undefined. Beyond the end: all lanes, since nothing was ever written.
    undefined: Vec<u32>,
    /// Which bytes, where not all of them.
    partly: HashMap<(u32, u32), u32>,
    /// What the current instruction reads, if any of it is undefined.
    reads: Vec<Register>,
    /// Constants that a store names are no registers: these are.
    stored: Vec<u32>,
}

impl WarpRegisters {
    #[inline]
    fn of(&self, slot: u32) -> u32 {
        self.undefined.get(slot as usize).copied().unwrap_or(!0)
    }

    #[inline]
    fn set(&mut self, slot: u32, lanes: u32, undefined: u32) {
        let at = slot as usize;
        if at >= self.undefined.len() {
            self.undefined.resize(at + 1, !0);
        }
        self.undefined[at] = self.undefined[at] & !lanes | undefined & lanes;
    }

    /// The undefined bytes of a lane's register.
    fn bytes(&self, register: Register, lane: u32) -> u32 {
        match self.of(register.slot) >> lane & 1 {
            0 => 0,
            _ => self.partly.get(&(register.slot, lane)).copied().unwrap_or(all_of(register)),
        }
    }

    fn set_bytes(&mut self, register: Register, lane: u32, bytes: u32) {
        self.set(register.slot, 1 << lane, if bytes == 0 { 0 } else { !0 });
        if bytes == 0 || bytes == all_of(register) {
            self.partly.remove(&(register.slot, lane));
        } else {
            self.partly.insert((register.slot, lane), bytes);
        }
    }

    fn forget_parts(&mut self, slot: u32, mask: u32) {
        if !self.partly.is_empty() {
            lanes(mask).for_each(|lane| {
                self.partly.remove(&(slot, lane));
            });
        }
    }
}

/// All bytes of a register; a predicate counts as one.
fn all_of(register: Register) -> u32 {
    (1u32 << register.bytes.clamp(1, 31)) - 1
}

/// The initialisation check of one block.
#[derive(Debug)]
pub struct BlockInit {
    code: Arc<Code>,
    warps: Vec<WarpRegisters>,
    shared: Written,
    local: HashMap<u32, Written>,
    global: Arc<Mutex<Written>>,
}

impl BlockInit {
    /// For a block that is about to start.
    pub fn new(code: Arc<Code>, threads: u32, global: Arc<Mutex<Written>>) -> Self {
        let warps = (0..threads.div_ceil(32)).map(|_| WarpRegisters::default()).collect();
        BlockInit { code, warps, shared: Written::default(), local: HashMap::new(), global }
    }

    /// Bytes of the block's own shadow.
    pub fn bytes(&self) -> usize {
        self.shared.bytes() + self.local.values().map(Written::bytes).sum::<usize>()
    }

    /// A predicate decides whether lanes execute an instruction: those for which it is undefined.
    #[inline]
    pub fn guard(&self, at: At, predicate: Register) -> u32 {
        self.warps[at.warp as usize].of(predicate.slot) & at.lanes
    }

    /// Registers that an instruction reads and writes.
    #[inline]
    pub fn registers(&mut self, at: At, reads: &[Register], writes: &[Register]) -> Option<(Decides, u32)> {
        let warp = &mut self.warps[at.warp as usize];
        warp.reads.clear();
        warp.stored.clear();
        if writes.is_empty() {
            warp.stored.extend(reads.iter().map(|r| r.slot));
        }
        let undefined = reads.iter().fold(0, |all, r| all | warp.of(r.slot)) & at.lanes;
        if undefined == 0 {
            for register in writes {
                warp.set(register.slot, at.lanes, 0);
                warp.forget_parts(register.slot, at.lanes);
            }
            return None;
        }
        self.undefined_registers(at, reads, writes, undefined)
    }

    #[inline(never)]
    fn undefined_registers(
        &mut self,
        at: At,
        reads: &[Register],
        writes: &[Register],
        undefined: u32,
    ) -> Option<(Decides, u32)> {
        let BlockInit { code, warps, .. } = self;
        let warp = &mut warps[at.warp as usize];
        warp.reads.extend_from_slice(reads);
        let Some(opcode) = code.opcode(at.pc) else {
            writes.iter().for_each(|register| warp.set(register.slot, at.lanes, undefined));
            return None;
        };
        if matches!(opcode.name.as_str(), "vote" | "match" | "redux") {
            // Each lane's result is made from the values of all.
            writes.iter().for_each(|register| warp.set(register.slot, at.lanes, !0));
            return None;
        }
        let immediates = code.immediates(at.pc);
        let mut sources = Vec::with_capacity(reads.len());
        let mut results = Vec::with_capacity(writes.len());
        for lane in lanes(at.lanes) {
            sources.clear();
            sources.extend(reads.iter().map(|&register| warp.bytes(register, lane)));
            results.clear();
            flow::flow(opcode, immediates, reads, &sources, writes, &mut results);
            for (&register, &bytes) in writes.iter().zip(&results) {
                warp.set_bytes(register, lane, bytes & all_of(register));
            }
        }
        (opcode.name.as_str() == "brx").then_some((Decides::Guard, undefined))
    }

    /// A `selp` took each lane's value from one of two sources: the other does not matter.
    pub fn selected(&mut self, at: At, target: Register, sources: [Option<Register>; 2], first: u32) {
        let warp = &mut self.warps[at.warp as usize];
        // Nothing undefined was read, or the choice itself is undefined.
        let chooser = warp.reads.iter().filter(|r| r.bytes == 0).fold(0, |all, r| all | warp.of(r.slot));
        if warp.reads.is_empty() {
            return;
        }
        for lane in lanes(at.lanes & !chooser) {
            let source = sources[usize::from(first >> lane & 1 == 0)];
            // The target may be one of the sources: what it was is gone already, so it keeps what was said of both.
            if source.is_none_or(|source| source.slot != target.slot) {
                let bytes = source.map_or(0, |source| warp.bytes(source, lane));
                warp.set_bytes(target, lane, bytes);
            }
        }
    }

    /// A shuffle: definedness comes from the lane that the value comes from, and there is none where that is absent.
    pub fn shuffled(&mut self, at: At, target: Register, value: Option<Register>, sources: &[u8; 32]) {
        let warp = &mut self.warps[at.warp as usize];
        let from = value.map_or(0, |value| warp.of(value.slot));
        let undefined = lanes(at.lanes)
            .filter(|&lane| match sources[lane as usize] {
                source @ 0..32 => from >> source & 1 != 0,
                _ => true,
            })
            .fold(0, |mask, lane| mask | 1 << lane);
        warp.set(target.slot, at.lanes, undefined);
        warp.forget_parts(target.slot, at.lanes);
    }

    /// A frame's registers start undefined.
    pub fn enter(&mut self, at: At, first: u32, end: u32) {
        let warp = &mut self.warps[at.warp as usize];
        (first..end).for_each(|slot| warp.set(slot, at.lanes, !0));
    }

    /// An argument or a result was passed; it is taken as defined, as the call itself was told of what it reads.
    pub fn passed(&mut self, at: At, register: Option<Register>, offset: u32, bytes: u32) {
        match register {
            Some(register) => {
                let warp = &mut self.warps[at.warp as usize];
                warp.set(register.slot, at.lanes, 0);
                warp.forget_parts(register.slot, at.lanes);
            }
            None => {
                for lane in lanes(at.lanes) {
                    let stack = self.local.entry(at.warp * 32 + lane).or_default();
                    stack.set(offset.into(), bytes.into(), true);
                }
            }
        }
    }

    /// A memory access.
    pub fn access(&mut self, at: At, access: &Access<'_>, mut report: impl FnMut(Decides, u32)) {
        let warp = &mut self.warps[at.warp as usize];
        let atomic = matches!(access.kind, AccessKind::Atomic | AccessKind::Reduction);
        if !warp.reads.is_empty() {
            let data = |slot: u32| access.registers.iter().flatten().any(|r| r.slot == slot);
            let used = warp
                .reads
                .iter()
                .filter(|r| r.bytes != 0 && (atomic || access.kind == AccessKind::Load || !data(r.slot)))
                .fold(0, |all, r| all | warp.of(r.slot));
            if used & access.lanes != 0 {
                report(if atomic { Decides::Atomic } else { Decides::Address }, used & access.lanes);
            }
        }
        if matches!(access.space, MemorySpace::Param | MemorySpace::Const) {
            for register in access.registers.iter().flatten() {
                warp.set(register.slot, access.lanes, 0);
                warp.forget_parts(register.slot, access.lanes);
            }
            return;
        }
        if access.space == MemorySpace::Local {
            for lane in lanes(access.lanes) {
                let stack = self.local.entry(at.warp * 32 + lane).or_default();
                touch(warp, stack, 1 << lane, access, &mut report);
            }
            return;
        }
        let global = self.global.clone();
        let mut global = (access.space == MemorySpace::Global)
            .then(|| global.lock().unwrap_or_else(PoisonError::into_inner));
        let written = match &mut global {
            Some(global) => &mut **global,
            None => &mut self.shared,
        };
        touch(warp, written, access.lanes, access, &mut report);
    }

    /// A bulk copy has written; it brings whole boxes, so what it read is taken as written.
    pub fn moved(&mut self, space: MemorySpace, address: u64, bytes: u32) {
        match space {
            MemorySpace::Shared => self.shared.set(address, bytes.into(), true),
            _ => {
                let mut global = self.global.lock().unwrap_or_else(PoisonError::into_inner);
                global.set(address, bytes.into(), true);
            }
        }
    }

    /// An asynchronous copy writes shared memory with what global memory holds.
    pub fn copied(&mut self, shared: u64, global: u64, bytes: u32) {
        let mut source = self.global.lock().unwrap_or_else(PoisonError::into_inner);
        let missing = source.missing(global, bytes);
        for byte in 0..bytes {
            self.shared.set(shared.wrapping_add(byte.into()), 1, missing >> byte & 1 == 0);
        }
    }
}

/// Does to definedness what an access by some lanes does to values.
fn touch(
    warp: &mut WarpRegisters,
    written: &mut Written,
    mask: u32,
    access: &Access<'_>,
    report: &mut impl FnMut(Decides, u32),
) {
    let (width, wide) = (access.width, u64::from(access.width));
    match access.kind {
        AccessKind::Load => {
            let whole = written.holds_all(access.addresses, mask, access.bytes());
            for (i, register) in access.registers.iter().enumerate() {
                let Some(register) = *register else { continue };
                warp.set(register.slot, mask, 0);
                warp.forget_parts(register.slot, mask);
                if whole {
                    continue;
                }
                for lane in lanes(mask) {
                    let missing =
                        written.missing(access.addresses[lane as usize].wrapping_add(i as u64 * wide), width);
                    if missing == 0 {
                        continue;
                    }
                    // A narrow value is extended: by zeros, or by its undefined sign.
                    warp.set_bytes(register, lane, missing);
                }
            }
        }
        AccessKind::Store => {
            let of = |slot: u32| if warp.stored.contains(&slot) { warp.of(slot) } else { 0 };
            let undefined = access.registers.iter().flatten().fold(0, |all, r| all | of(r.slot)) & mask;
            if undefined == 0 && written.holds_all(access.addresses, mask, access.bytes()) {
                return;
            }
            for lane in lanes(mask) {
                let address = access.addresses[lane as usize];
                if undefined >> lane & 1 == 0 {
                    written.set(address, access.bytes().into(), true);
                    continue;
                }
                for (i, register) in access.registers.iter().enumerate() {
                    let to = address.wrapping_add(i as u64 * wide);
                    let missing = match register {
                        Some(r) if of(r.slot) >> lane & 1 == 1 => warp.bytes(*r, lane),
                        _ => 0,
                    };
                    for byte in 0..width {
                        written.set(to.wrapping_add(byte.into()), 1, missing >> byte & 1 == 0);
                    }
                }
            }
        }
        AccessKind::Atomic | AccessKind::Reduction => {
            for lane in lanes(mask) {
                let address = access.addresses[lane as usize];
                if written.missing(address, access.bytes().min(32)) != 0 {
                    report(Decides::Atomic, 1 << lane);
                    written.set(address, access.bytes().into(), true);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(lanes: u32) -> At {
        At { pc: 0, warp: 0, lanes }
    }

    const A: Register = Register { slot: 0, bytes: 4 };
    const B: Register = Register { slot: 1, bytes: 4 };
    const P: Register = Register { slot: 2, bytes: 0 };

    #[test]
    fn an_undefined_value_is_found_where_it_decides_and_not_before() {
        let mut init = BlockInit::new(Arc::default(), 32, Arc::default());
        init.registers(at(!0), &[], &[A]);
        init.registers(at(0b10), &[B], &[A]);
        init.registers(at(!0), &[A], &[P]);
        assert_eq!(init.guard(at(!0), P), 0b10);
    }

    #[test]
    fn a_byte_that_was_never_written_goes_along_with_a_copy() {
        let mut init = BlockInit::new(Arc::default(), 32, Arc::default());
        let (first, mut second) = ([0; 32], [0; 32]);
        second[0] = 16;
        let registers = [Some(A)];
        fn access<'a>(
            kind: AccessKind,
            addresses: &'a [u64; 32],
            registers: &'a [Option<Register>],
        ) -> Access<'a> {
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
                registers,
                values: None,
            }
        }
        init.shared.set(0, 3, true);
        init.registers(at(1), &[], &[A]);
        init.access(at(1), &access(AccessKind::Load, &first, &registers), |_, _| {
            panic!("a load decides nothing")
        });
        init.registers(at(1), &[A], &[]);
        init.access(at(1), &access(AccessKind::Store, &second, &registers), |_, _| {
            panic!("a store decides nothing")
        });
        assert_eq!(init.shared.missing(16, 4), 0b1000);
    }
}
