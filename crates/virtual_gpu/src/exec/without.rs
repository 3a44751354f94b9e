//! Lanes that go on without an access that goes wrong, where the observer wants to see the rest of the launch.
//!
//! Such a lane stores nothing, and has zeros for what it would have loaded. The observer is told what those zeros stand for, and
//! says in return which addresses are made of them.

use super::block_state::BlockState;
use super::context::{Cx, LaunchContext, Raise};
use super::extension::{Machine, ObserverHooks};
use super::warp::Warp;
use crate::form::access::AddressOperand;
use crate::form::op::OpKind;
use crate::form::registers::{NONE, Register, Regs, Slot};
use crate::observer::{At, BlockObserver, MemorySpace, Named};

/// The lanes that go on with an access: not those whose address comes from a value that was never loaded.
#[inline(always)]
pub(super) fn with_meaning<O: BlockObserver>(
    warp: &Warp,
    cx: &Cx<'_, O>,
    address: AddressOperand,
    regs: Regs,
    at: At,
) -> At {
    if !O::GOES_ON {
        return at;
    }
    let meaningless =
        address.register(warp.base_of(regs)).map_or(0, |register| cx.observer.meaningless(at, register));
    At { lanes: at.lanes & !meaningless, ..at }
}

/// Zeros for lanes that went on without what they would have loaded.
pub(super) fn leave_out<O: BlockObserver>(
    warp: &Warp,
    cx: &mut Cx<'_, O>,
    registers: &[Slot],
    rows: u32,
    regs: Regs,
    at: At,
) {
    clear(registers, rows, regs, at.lanes);
    cx.observer.skipped(at, Named::new(warp.base_of(regs), rows * 4, registers));
}

fn clear(registers: &[Slot], rows: u32, regs: Regs, lanes: u32) {
    for &slot in registers.iter().filter(|&&slot| slot != NONE) {
        // SAFETY: decoding gave the register its rows.
        unsafe {
            match rows {
                1 => regs.store(slot, &[0u32; 32], lanes),
                2 => regs.store(slot, &[0u64; 32], lanes),
                _ => regs.store(slot, &[0u128; 32], lanes),
            }
        }
    }
}

/// Whether the lane of a fault goes on without its access. The first such fault is what the launch fails with in the end.
fn skips(
    (launch, block): (&LaunchContext<'_>, &mut BlockState),
    observer: &mut dyn ObserverHooks,
    at: At,
    address: Option<Register>,
    raise: &Raise,
) -> bool {
    let index = block.index;
    let fault = || launch.fault(index, at.warp, at.pc, raise.clone());
    let skips =
        raise.kind.is_of_access() && observer.skips(At { lanes: 1 << raise.lane, ..at }, address, &fault);
    if skips {
        block.skipped.get_or_insert_with(|| Box::new(fault()));
    }
    skips
}

impl<O: BlockObserver> Cx<'_, O> {
    /// Whether the lane of a fault goes on without its access. `base`: the first row of the warp's frame.
    #[cold]
    pub fn skips(&mut self, at: At, base: u32, raise: &Raise) -> bool {
        let address = match &self.launch.code.ops[at.pc as usize].kind {
            OpKind::Load(op) | OpKind::Store(op) => Some(op.address),
            OpKind::Atomic(op) => Some(op.address),
            _ => None,
        };
        let address = address.and_then(|address| address.register(base));
        skips((self.launch, self.block), self.observer, at, address, raise)
    }
}

/// The same for instructions of their own kind.
impl Machine<'_> {
    /// The lanes that go on with an access.
    pub fn with_meaning(&self, at: At, address: AddressOperand) -> At {
        let register = address.register(self.warp.base_of(self.regs));
        let meaningless = register.map_or(0, |register| self.observer.meaningless(at, register));
        At { lanes: at.lanes & !meaningless, ..at }
    }

    /// The result of a lane's access: `None` if it goes wrong and the lane goes on without.
    pub fn or_without<T>(
        &mut self,
        at: At,
        address: AddressOperand,
        result: Result<T, Box<Raise>>,
    ) -> Result<Option<T>, Box<Raise>> {
        let raise = match result {
            Ok(value) => return Ok(Some(value)),
            Err(raise) => raise,
        };
        let register = address.register(self.warp.base_of(self.regs));
        match skips((self.launch, self.block), self.observer, at, register, &raise) {
            true => Ok(None),
            false => Err(raise),
        }
    }

    /// Zeros for lanes that go on without what they would have loaded.
    pub fn leave_out(&mut self, at: At, registers: &[Slot], rows: u32) {
        clear(registers, rows, self.regs, at.lanes);
        self.means_nothing(at, registers, rows);
    }

    /// Reports that some of these lanes' registers were not loaded.
    pub fn means_nothing(&mut self, at: At, registers: &[Slot], rows: u32) {
        if at.lanes != 0 {
            let named = Named::new(self.warp.base_of(self.regs), rows * 4, registers);
            self.observer.skipped(at, named);
        }
    }

    /// Zeros, in memory that a lane's copy writes, stand for what it could not read.
    pub fn copied_nothing(&mut self, at: At, space: MemorySpace, address: u64, bytes: u32) {
        self.observer.copied_nothing(at, space, address, bytes);
    }
}
