//! The initialisation check: a value that was never written decides something.
//!
//! Definedness is kept for each byte of memory and carried with values through registers: a value made from an
//! undefined one is undefined. Reading or copying one is no finding; it is one when an undefined value is an address,
//! steers a branch or a guarded instruction, takes part in an atomic, or is copied to the host.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use virtual_gpu::observer::{Access, AccessKind, At, MemorySpace, Register};

use crate::race::lanes;

const PAGE: u64 = 4096;

/// Which bytes of an address space were ever written.
#[derive(Debug, Default)]
pub struct Written {
    pages: HashMap<u64, Box<[u64; (PAGE / 64) as usize]>>,
}

impl Written {
    /// Marks `bytes` bytes from `address` as written, or as never written.
    pub fn set(&mut self, address: u64, bytes: u64, written: bool) {
        let end = address.saturating_add(bytes);
        let mut at = address;
        while at < end {
            let stop = end.min((at / PAGE + 1) * PAGE);
            let page = self.pages.entry(at / PAGE).or_insert_with(|| Box::new([0; (PAGE / 64) as usize]));
            for byte in at % PAGE..at % PAGE + (stop - at) {
                let (slot, bit) = ((byte / 64) as usize, 1u64 << (byte % 64));
                if written { page[slot] |= bit } else { page[slot] &= !bit }
            }
            at = stop;
        }
    }

    /// The bytes of an access of at most 32 bytes that were never written, as a mask.
    #[inline]
    pub fn missing(&self, address: u64, bytes: u32) -> u32 {
        let mut missing = 0;
        let mut page = None;
        for i in 0..bytes {
            let at = address + u64::from(i);
            let number = at / PAGE;
            if page.is_none_or(|(known, _)| known != number) {
                page = Some((number, self.pages.get(&number)));
            }
            let written = page.and_then(|(_, bits)| bits).is_some_and(|bits| {
                let byte = at % PAGE;
                bits[(byte / 64) as usize] >> (byte % 64) & 1 == 1
            });
            missing |= u32::from(!written) << i;
        }
        missing
    }

    /// The first byte of a range that was never written.
    pub fn first_missing(&self, address: u64, bytes: u64) -> Option<u64> {
        (address..address.saturating_add(bytes)).find(|&at| self.missing(at, 1) != 0)
    }
}

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
    /// What the current instruction reads.
    reads: Vec<Register>,
}

impl WarpRegisters {
    fn of(&self, slot: u32) -> u32 {
        self.undefined.get(slot as usize).copied().unwrap_or(!0)
    }

    fn set(&mut self, slot: u32, lanes: u32, undefined: u32) {
        let at = slot as usize;
        if at >= self.undefined.len() {
            self.undefined.resize(at + 1, !0);
        }
        self.undefined[at] = self.undefined[at] & !lanes | undefined & lanes;
    }
}

/// The initialisation check of one block.
#[derive(Debug)]
pub struct BlockInit {
    warps: Vec<WarpRegisters>,
    shared: Written,
    local: HashMap<u32, Written>,
    global: Arc<Mutex<Written>>,
}

impl BlockInit {
    /// For a block that is about to start.
    pub fn new(threads: u32, global: Arc<Mutex<Written>>) -> Self {
        let warps = (0..threads.div_ceil(32)).map(|_| WarpRegisters::default()).collect();
        BlockInit { warps, shared: Written::default(), local: HashMap::new(), global }
    }

    /// Registers that an instruction reads and writes; `report` is called when undefined values steer it.
    pub fn registers(
        &mut self,
        at: At,
        reads: &[Register],
        writes: &[Register],
        mut report: impl FnMut(Decides, u32),
    ) {
        let warp = &mut self.warps[at.warp as usize];
        let undefined = reads.iter().fold(0, |all, r| all | warp.of(r.slot)) & at.lanes;
        if undefined != 0 && !writes.iter().any(|r| r.bytes == 0) {
            let guards = reads.iter().filter(|r| r.bytes == 0).fold(0, |all, r| all | warp.of(r.slot));
            if guards & at.lanes != 0 {
                report(Decides::Guard, guards & at.lanes);
            }
        }
        for register in writes {
            warp.set(register.slot, at.lanes, undefined);
            if !warp.partly.is_empty() {
                for lane in lanes(at.lanes) {
                    warp.partly.remove(&(register.slot, lane));
                }
            }
        }
        warp.reads.clear();
        warp.reads.extend_from_slice(reads);
    }

    /// A frame's registers start undefined.
    pub fn enter(&mut self, at: At, first: u32, end: u32) {
        let warp = &mut self.warps[at.warp as usize];
        (first..end).for_each(|slot| warp.set(slot, at.lanes, !0));
    }

    /// A memory access.
    pub fn access(&mut self, at: At, access: &Access<'_>, mut report: impl FnMut(Decides, u32)) {
        let warp = &mut self.warps[at.warp as usize];
        let data = |slot: u32| access.registers.iter().flatten().any(|r| r.slot == slot);
        let addresses = warp
            .reads
            .iter()
            .filter(|r| r.bytes != 0 && (access.kind == AccessKind::Load || !data(r.slot)))
            .fold(0, |all, r| all | warp.of(r.slot));
        if addresses & access.lanes != 0 && !matches!(access.kind, AccessKind::Atomic | AccessKind::Reduction)
        {
            report(Decides::Address, addresses & access.lanes);
        }
        if matches!(access.space, MemorySpace::Param | MemorySpace::Const) {
            return access.registers.iter().flatten().for_each(|r| warp.set(r.slot, access.lanes, 0));
        }
        let global = self.global.clone();
        let mut global = (access.space == MemorySpace::Global)
            .then(|| global.lock().unwrap_or_else(PoisonError::into_inner));
        for lane in lanes(access.lanes) {
            let written = match (&mut global, access.space) {
                (Some(global), _) => &mut **global,
                (None, MemorySpace::Local) => self.local.entry(at.warp * 32 + lane).or_default(),
                (None, _) => &mut self.shared,
            };
            let address = access.addresses[lane as usize];
            match access.kind {
                AccessKind::Load => {
                    for (i, register) in access.registers.iter().enumerate() {
                        let Some(register) = register else { continue };
                        let missing =
                            written.missing(address + i as u64 * u64::from(access.width), access.width);
                        warp.set(register.slot, 1 << lane, if missing != 0 { !0 } else { 0 });
                        if missing != 0 {
                            warp.partly.insert((register.slot, lane), missing);
                        }
                    }
                }
                AccessKind::Store => {
                    for (i, register) in access.registers.iter().enumerate() {
                        let to = address + i as u64 * u64::from(access.width);
                        let missing = match register {
                            Some(r) if warp.of(r.slot) >> lane & 1 == 1 => {
                                warp.partly.get(&(r.slot, lane)).copied().unwrap_or(!0)
                            }
                            _ => 0,
                        };
                        if missing == 0 {
                            written.set(to, access.width.into(), true);
                        } else {
                            for byte in 0..access.width {
                                written.set(to + u64::from(byte), 1, missing >> byte & 1 == 0);
                            }
                        }
                    }
                }
                AccessKind::Atomic | AccessKind::Reduction => {
                    if written.missing(address, access.bytes().min(32)) != 0 {
                        report(Decides::Atomic, 1 << lane);
                    }
                    written.set(address, access.bytes().into(), true);
                }
            }
        }
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
        let source = self.global.lock().unwrap_or_else(PoisonError::into_inner);
        for byte in 0..u64::from(bytes) {
            self.shared.set(shared + byte, 1, source.missing(global + byte, 1) == 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_kept_apart_and_across_pages() {
        let mut written = Written::default();
        written.set(PAGE - 2, 3, true);
        assert_eq!(written.missing(PAGE - 4, 8), 0b1110_0011);
        written.set(PAGE - 1, 1, false);
        assert_eq!(written.missing(PAGE - 4, 8), 0b1110_1011);
        assert_eq!(written.first_missing(PAGE - 2, 3), Some(PAGE - 1));
        assert_eq!(written.first_missing(PAGE, 1), None);
    }

    fn at(lanes: u32) -> At {
        At { pc: 0, warp: 0, lanes }
    }

    const A: Register = Register { slot: 0, bytes: 4 };
    const B: Register = Register { slot: 1, bytes: 4 };
    const P: Register = Register { slot: 2, bytes: 0 };

    #[test]
    fn an_undefined_value_is_found_where_it_decides_and_not_before() {
        let mut init = BlockInit::new(32, Arc::default());
        let mut found = Vec::new();
        init.registers(at(!0), &[], &[A], |d, l| found.push((d, l)));
        init.registers(at(0b10), &[B], &[A], |d, l| found.push((d, l)));
        init.registers(at(!0), &[A], &[P], |d, l| found.push((d, l)));
        assert!(found.is_empty(), "reading and comparing decide nothing yet");
        init.registers(at(!0), &[P], &[], |d, l| found.push((d, l)));
        assert_eq!(found, [(Decides::Guard, 0b10)]);
    }

    #[test]
    fn a_byte_that_was_never_written_goes_along_with_a_copy() {
        let mut init = BlockInit::new(32, Arc::default());
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
            }
        }
        init.shared.set(0, 3, true);
        init.registers(at(1), &[], &[A], |_, _| ());
        init.access(at(1), &access(AccessKind::Load, &first, &registers), |_, _| {
            panic!("a load decides nothing")
        });
        init.registers(at(1), &[A], &[], |_, _| ());
        init.access(at(1), &access(AccessKind::Store, &second, &registers), |_, _| {
            panic!("a store decides nothing")
        });
        assert_eq!(init.shared.missing(16, 4), 0b1000);
    }
}
