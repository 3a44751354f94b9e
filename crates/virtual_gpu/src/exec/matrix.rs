//! `mma.sync`, `wmma.mma` and `wgmma.mma_async` over registers and shared memory.
//!
//! A warpgroup's product is computed when it is issued: the accumulators are there at once, whatever `wgmma.wait_group`
//! says. Observers are told how long hardware may take with what it reads of shared memory.

use super::context::{Raise, SharedMemory, Step};
use super::extension::{Execute, Machine};
use super::undefined::Beside;
use crate::form::matrix::{
    FragmentMultiply, GroupMultiply, GroupSource, MatrixOperands, SparseMultiply, Together, WarpMultiply,
};
use crate::form::registers::{Regs, Slot};
use crate::matrix::mma::Row;
use crate::matrix::{Buffers, ReadShared};
use crate::observer::{AsyncEvent, At, Named};

/// The values of 32-bit registers.
pub(super) fn rows(regs: Regs, slots: &[Slot]) -> Vec<Row> {
    // SAFETY: decoding gave these operands 32-bit registers.
    slots.iter().map(|&slot| unsafe { *regs.lanes::<u32>(slot) }).collect()
}

/// Sets 32-bit registers.
pub(super) fn set_rows(regs: Regs, slots: &[Slot], values: &[Row], lanes: u32) {
    for (&slot, row) in slots.iter().zip(values) {
        // SAFETY: as in `rows`.
        unsafe { regs.store(slot, row, lanes) }
    }
}

fn doubles(regs: Regs, slots: &[Slot]) -> Vec<[f64; 32]> {
    // SAFETY: decoding gave these operands 64-bit registers.
    slots.iter().map(|&slot| unsafe { *regs.lanes::<f64>(slot) }).collect()
}

fn set_doubles(regs: Regs, slots: &[Slot], values: &[[f64; 32]], lanes: u32) {
    for (&slot, row) in slots.iter().zip(values) {
        // SAFETY: as in `doubles`.
        unsafe { regs.store(slot, row, lanes) }
    }
}

/// Whether all lanes of the warp that have not exited are here. Lanes that came earlier wait for the others.
pub(super) fn together(machine: &Machine<'_>, at: At) -> bool {
    at.lanes == machine.warp.live
}

impl Execute for WarpMultiply {
    fn execute(&self, machine: &mut Machine<'_>, at: At) -> Result<Step, Box<Raise>> {
        if !together(machine, at) {
            return Ok(Step::Retry);
        }
        let (regs, MatrixOperands { d, a, b, c }) = (machine.regs, &self.operands);
        if let Some(mut beside) = Beside::of(machine, at).filter(Beside::has_some) {
            let bytes = self.form.register_bits() as u32 / 8;
            beside.product([d, a, b, c], bytes, |a, b, c| self.form.undefined(a, b, c));
        }
        if self.form.register_bits() == 64 {
            let values = self.form.execute_double(&doubles(regs, a), &doubles(regs, b), &doubles(regs, c));
            set_doubles(regs, d, &values, at.lanes);
        } else {
            let (a, b, c) = (rows(regs, a), rows(regs, b), rows(regs, c));
            let values = self.form.execute(&a, &b, &c, &mut machine.block.products);
            set_rows(regs, d, &values, at.lanes);
        }
        Ok(Step::Next)
    }
}

impl Execute for SparseMultiply {
    fn execute(&self, machine: &mut Machine<'_>, at: At) -> Result<Step, Box<Raise>> {
        if !together(machine, at) {
            return Ok(Step::Retry);
        }
        let (regs, MatrixOperands { d, a, b, c }) = (machine.regs, &self.operands);
        if let Some(mut beside) = Beside::of(machine, at).filter(Beside::has_some) {
            let metadata = beside.rows(&[self.metadata], 4)[0];
            beside.product([d, a, b, c], 4, |a, b, c| self.form.undefined(a, b, c, &metadata, self.selector));
        }
        let metadata = rows(regs, &[self.metadata])[0];
        let (a, b, c) = (rows(regs, a), rows(regs, b), rows(regs, c));
        let metadata = (&metadata, self.selector);
        let values = self.form.execute(&a, &b, &c, metadata, &mut machine.block.products);
        set_rows(regs, d, &values, at.lanes);
        Ok(Step::Next)
    }
}

impl Execute for FragmentMultiply {
    fn execute(&self, machine: &mut Machine<'_>, at: At) -> Result<Step, Box<Raise>> {
        if !together(machine, at) {
            return Ok(Step::Retry);
        }
        let (regs, MatrixOperands { d, a, b, c }) = (machine.regs, &self.operands);
        if let Some(mut beside) = Beside::of(machine, at).filter(Beside::has_some) {
            let bytes = if self.form.is_double() { 8 } else { 4 };
            beside.product([d, a, b, c], bytes, |a, b, c| self.form.undefined(a, b, c));
        }
        if self.form.is_double() {
            let (a, b) = (doubles(regs, a), doubles(regs, b));
            set_doubles(regs, d, &self.form.execute_double(&a[0], &b[0], &doubles(regs, c)), at.lanes);
        } else {
            let (a, b, c) = (rows(regs, a), rows(regs, b), rows(regs, c));
            let values = self.form.execute(&a, &b, &c, &mut machine.block.products);
            set_rows(regs, d, &values, at.lanes);
        }
        Ok(Step::Next)
    }
}

/// Shared memory as descriptors read it.
struct OwnShared<'m, 'a> {
    machine: &'m Machine<'a>,
    lane: usize,
    /// The block's own.
    own: &'m SharedMemory,
    /// The bytes read, if an observer asks.
    pieces: Option<Vec<u32>>,
}

impl ReadShared for OwnShared<'_, '_> {
    type Error = Box<Raise>;

    #[inline]
    fn read(&mut self, address: u32, piece: &mut [u32; 4]) -> Result<(), Box<Raise>> {
        let bytes = match self.own.size.checked_sub(16) {
            // SAFETY: inside the block's shared memory.
            Some(last) if address <= last => unsafe { self.own.bytes.add(address as usize) },
            _ => self.machine.shared(address, 16, "shared load of wgmma", self.lane)?,
        };
        if let Some(pieces) = &mut self.pieces {
            pieces.push(address);
        }
        // SAFETY: `shared` gives 16 bytes of the block's memory, which only this thread runs on.
        let bytes = unsafe { bytes.cast::<[[u8; 4]; 4]>().read() };
        *piece = bytes.map(u32::from_le_bytes);
        Ok(())
    }
}

impl GroupMultiply {
    /// The part of D that becomes undefined when some piece of shared memory that is read may be, or a register.
    fn carry(&self, beside: &mut Beside<'_>, pieces: &[u32], at_descriptors: [u64; 2], accumulate: bool) {
        let untouched = |beside: &mut Beside<'_>, &piece: &u32| {
            let mut words = [0; 4];
            let Ok(()) = beside.read(piece, &mut words);
            words == [0; 4]
        };
        if !beside.has_some() && pieces.iter().all(|piece| untouched(beside, piece)) {
            return;
        }
        let [of_a, of_b] = at_descriptors;
        beside.descriptor(self.b);
        let mut buffers = Buffers::default();
        match &self.a {
            GroupSource::Registers(slots) => {
                self.form.a_of_registers(&beside.rows(slots, 4), None, &mut buffers);
            }
            GroupSource::Shared(slot) => {
                beside.descriptor(*slot);
                let warp = beside.warp() as usize % 4;
                let Ok(()) = self.form.a_of_shared(of_a, warp, None, beside, &mut buffers);
            }
        };
        let Ok(()) = self.form.b_of_shared(of_b, beside, &mut buffers);
        let metadata = self.metadata.map(|(words, selector)| (beside.rows(&[words], 4)[0], selector));
        let whether_unknown = beside.registers(&[self.accumulate.0], 0)[0] != [0; 32];
        let row_is = |row: usize| {
            let unknown = self.form.sparse.zip(metadata);
            unknown.is_some_and(|(sparse, (words, selector))| sparse.has_metadata(row, &words, selector))
                || whether_unknown
        };
        let mut d = beside.rows(&self.d, 4);
        self.form.undefined(&buffers, &mut d, accumulate, row_is);
        beside.set_rows(&self.d, 4, &d);
    }
}

impl Execute for GroupMultiply {
    fn execute(&self, machine: &mut Machine<'_>, at: At) -> Result<Step, Box<Raise>> {
        if !together(machine, at) {
            return Ok(Step::Retry);
        }
        let regs = machine.regs;
        let lane = at.lanes.trailing_zeros() as usize;
        // SAFETY: decoding gave descriptors 64-bit registers.
        let descriptor = |slot: Slot| unsafe { regs.get::<u64>(slot, lane) };
        // SAFETY: decoding gave the scale a predicate.
        let scale = unsafe { regs.predicate(self.accumulate.0) } >> lane & 1 != 0;
        let pieces = machine.observer.follows_copies().then(Vec::new);
        let mut buffers = std::mem::take(&mut machine.block.products);
        let own = &machine.cluster[machine.block.cluster_rank as usize];
        let mut shared = OwnShared { machine, lane, own, pieces };
        let metadata = self.metadata.map(|(words, selector)| (rows(regs, &[words])[0], selector));
        let metadata = metadata.as_ref().map(|(words, selector)| (words, *selector));
        match &self.a {
            GroupSource::Registers(slots) => {
                self.form.a_of_registers(&rows(regs, slots), metadata, &mut buffers);
            }
            GroupSource::Shared(slot) => {
                let warp = machine.warp.index as usize % 4;
                self.form.a_of_shared(descriptor(*slot), warp, metadata, &mut shared, &mut buffers)?;
            }
        }
        self.form.b_of_shared(descriptor(self.b), &mut shared, &mut buffers)?;
        let accumulate = scale != self.accumulate.1;
        if let Some(pieces) = shared.pieces {
            let of_a = match self.a {
                GroupSource::Registers(_) => 0,
                GroupSource::Shared(slot) => descriptor(slot),
            };
            if let Some(mut beside) = Beside::of(machine, at) {
                self.carry(&mut beside, &pieces, [of_a, descriptor(self.b)], accumulate);
            }
            let result = Named::new(machine.warp.base_of(regs), 4, &self.d);
            machine.observer.asynchronous(at, &AsyncEvent::ProductIssued { pieces: &pieces, result });
        }
        self.form.convert(&mut buffers);
        for (number, slots) in self.d.chunks(self.form.registers_of_eight()).enumerate() {
            let mut d = rows(regs, slots);
            self.form.multiply(&buffers, number, accumulate, &mut d);
            set_rows(regs, slots, &d, at.lanes);
        }
        machine.block.products = buffers;
        Ok(Step::Next)
    }
}

/// How often each warp of the block has come to a `wgmma.fence`, and how often it has passed one; groups of products that
/// it has committed.
#[derive(Debug, Default)]
struct Warpgroups(Vec<[u32; 3]>);

const FENCES: usize = 0;
const PASSED: usize = 1;
const COMMITTED: usize = 2;

impl Warpgroups {
    fn of(&mut self, warp: u32) -> &mut [u32; 3] {
        let warp = warp as usize;
        self.0.resize(self.0.len().max(warp + 1), [0; 3]);
        &mut self.0[warp]
    }

    /// Whether all warps of the warpgroup that have not ended have got as far.
    fn are_at(&mut self, live: &[u32], warp: u32, what: usize, count: u32) -> bool {
        let first = warp / 4 * 4;
        let is_live = |&warp: &u32| live.get(warp as usize).is_some_and(|&lanes| lanes != 0);
        (first..first + 4).filter(is_live).all(|warp| self.of(warp)[what] >= count)
    }
}

impl Execute for Together {
    fn execute(&self, machine: &mut Machine<'_>, at: At) -> Result<Step, Box<Raise>> {
        if !together(machine, at) {
            return Ok(Step::Retry);
        }
        let live = machine.team.of(machine.block.cluster_rank);
        let warpgroups = machine.block.extensions.get::<Warpgroups>();
        match *self {
            Together::Fence => {
                let [fences, passed, _] = warpgroups.of(at.warp);
                if fences == passed {
                    *fences += 1;
                    machine.block.progress += 1;
                }
                let count = *fences;
                if !warpgroups.are_at(live, at.warp, FENCES, count) {
                    return Ok(Step::Retry);
                }
                warpgroups.of(at.warp)[PASSED] = count;
            }
            Together::Commit => {
                warpgroups.of(at.warp)[COMMITTED] += 1;
                machine.block.progress += 1;
                machine.observer.asynchronous(at, &AsyncEvent::ProductsCommitted);
            }
            Together::Wait(pending) => {
                let awaited = warpgroups.of(at.warp)[COMMITTED].saturating_sub(pending);
                if !warpgroups.are_at(live, at.warp, COMMITTED, awaited) {
                    return Ok(Step::Retry);
                }
                machine.observer.asynchronous(at, &AsyncEvent::ProductsAwaited { pending });
            }
        }
        Ok(Step::Next)
    }
}
