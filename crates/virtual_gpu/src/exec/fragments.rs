//! Matrices between memory and registers: `ldmatrix`, `stmatrix`, `movmatrix`, `wmma.load`, `wmma.store`.

use super::access;
use super::context::{Raise, Step};
use super::extension::{Execute, Machine};
use super::matrix::{rows, set_rows, together};
use super::undefined::Beside;
use crate::form::matrix::{FragmentAccess, MatrixAccess, Transpose};
use crate::form::registers::{Slot, lanes_of};
use crate::matrix::mma::Row;
use crate::observer::{AccessKind, At};

impl Execute for MatrixAccess {
    fn execute(&self, machine: &mut Machine<'_>, at: At) -> Result<Step, Box<Raise>> {
        if !together(machine, at) {
            return Ok(Step::Retry);
        }
        let addresses = access::addresses(machine.regs, self.address);
        let count = self.data.len();
        let wanted = if count == 4 { u32::MAX } else { (1 << (8 * count)) - 1 };
        let asked = At { lanes: wanted, ..at };
        // A line that goes wrong is left out: zeros, where it would have been loaded.
        let mut wanted = machine.with_meaning(asked, self.address).lanes;
        let what = if self.store { "shared store of stmatrix" } else { "shared load of ldmatrix" };
        let kind = if self.store { AccessKind::Store } else { AccessKind::Load };
        let mut lines = [[0; 4]; 32];
        let mut places = [std::ptr::null_mut::<u8>(); 32];
        for lane in lanes_of(wanted) {
            let place = machine.aligned(self.space, addresses[lane], [16; 2], what, lane);
            match machine.or_without(asked, self.address, place)? {
                Some(place) => places[lane] = place,
                None => wanted &= !(1 << lane),
            }
        }
        machine.show_access(at, self.space, kind, 16, wanted & at.lanes, &addresses);
        // A lane's register holds the next two elements of its matrix, line by line.
        let turned = |matrix: &Row| if self.transposed { transposed(matrix) } else { *matrix };
        if self.store {
            for (lines, row) in lines.as_chunks_mut().0.iter_mut().zip(rows(machine.regs, &self.data)) {
                *lines = lines_of_matrix(&turned(&row));
            }
            for lane in lanes_of(wanted) {
                // SAFETY: `reach` gave 16 bytes.
                unsafe { places[lane].cast::<[u32; 4]>().write_unaligned(lines[lane].map(u32::to_le)) }
            }
            if let Some(mut beside) = Beside::of(machine, at).filter(Beside::has_some) {
                beside.address(self.address, wanted);
                let mut lines = [[0; 4]; 32];
                for (lines, row) in lines.as_chunks_mut().0.iter_mut().zip(beside.rows(&self.data, 4)) {
                    *lines = lines_of_matrix(&turned(&row));
                }
                for lane in lanes_of(wanted) {
                    let bits = lines[lane].iter().rev().fold(0, |bits, &word| bits << 32 | u128::from(word));
                    beside.set_memory(self.space, addresses[lane], 16, bits);
                }
            }
            return Ok(Step::Next);
        }
        for lane in lanes_of(wanted) {
            // SAFETY: `reach` gave 16 bytes.
            lines[lane] = unsafe { places[lane].cast::<[u32; 4]>().read_unaligned() }.map(u32::from_le);
        }
        let load = |lines: &[[u32; 4]; 32]| -> Vec<Row> {
            lines.as_chunks().0[..count].iter().map(|lines| turned(&row_of(lines))).collect()
        };
        if let Some(mut beside) = Beside::of(machine, at) {
            let mut unknown = [[0; 4]; 32];
            for lane in lanes_of(wanted) {
                let bits = beside.memory(self.space, addresses[lane], 16);
                unknown[lane] = [0, 32, 64, 96].map(|word| (bits >> word) as u32);
            }
            if unknown != [[0; 4]; 32] || beside.has_some() {
                beside.address(self.address, wanted);
                beside.set_rows(&self.data, 4, &load(&unknown));
            }
        }
        set_rows(machine.regs, &self.data, &load(&lines), at.lanes);
        if wanted != asked.lanes {
            machine.means_nothing(at, &self.data, 1);
        }
        Ok(Step::Next)
    }
}

/// A matrix's eight lines of 16 bytes in one register.
fn row_of(lines: &[[u32; 4]; 8]) -> Row {
    let mut row = [0; 32];
    row.copy_from_slice(lines.as_flattened());
    row
}

fn lines_of_matrix(row: &Row) -> [[u32; 4]; 8] {
    let mut lines = [[0; 4]; 8];
    lines.as_flattened_mut().copy_from_slice(row);
    lines
}

impl Execute for Transpose {
    fn execute(&self, machine: &mut Machine<'_>, at: At) -> Result<Step, Box<Raise>> {
        if !together(machine, at) {
            return Ok(Step::Retry);
        }
        if let Some(mut beside) = Beside::of(machine, at).filter(Beside::has_some) {
            let unknown = transposed(&beside.rows(&[self.source], 4)[0]);
            beside.set_rows(&[self.target], 4, &[unknown]);
        }
        let value = transposed(&rows(machine.regs, &[self.source])[0]);
        set_rows(machine.regs, &[self.target], &[value], at.lanes);
        Ok(Step::Next)
    }
}

fn transposed(source: &Row) -> Row {
    let mut target = [0; 32];
    for (row, words) in source.as_chunks::<4>().0.iter().enumerate() {
        for (two, word) in words.iter().enumerate() {
            let shift = row % 2 * 16;
            target[8 * two + row / 2] |= (word & 0xFFFF) << shift;
            target[8 * two + 4 + row / 2] |= word >> 16 << shift;
        }
    }
    target
}

/// Bytes in memory, and the bits of a lane's register that they are.
struct FragmentBytes {
    lane: usize,
    shift: usize,
    bytes: u32,
    address: u64,
    place: *mut u8,
}

impl FragmentAccess {
    fn what(&self) -> &'static str {
        if self.store { "wmma.store" } else { "wmma.load" }
    }

    /// The host bytes of one register's elements of each lane, told to the observer: elements that follow each other
    /// within a byte or a register are one access. Lanes that go on without some of it are put into `without`.
    fn pieces(
        &self,
        machine: &mut Machine<'_>,
        at: At,
        base: &[u64; 32],
        stride: u64,
        register: usize,
        without: &mut u32,
    ) -> Result<Vec<FragmentBytes>, Box<Raise>> {
        let bits = u64::from(self.fragment.format.bits());
        let bytes = (bits / 8).max(1) as u32;
        let per_piece = (8 / bits).max(1) as usize;
        let kind = if self.store { AccessKind::Store } else { AccessKind::Load };
        let count = self.fragment.pieces(register, 0, stride).count() / per_piece;
        let mut found = Vec::with_capacity(32 * count);
        for piece in 0..count {
            let mut addresses = [0; 32];
            let mut shifts = [0; 32];
            for lane in lanes_of(at.lanes) {
                let Some(element) = self.fragment.pieces(register, lane, stride).nth(piece * per_piece)
                else {
                    continue;
                };
                let offset = element.offset.wrapping_mul(bits);
                addresses[lane] = base[lane].wrapping_add(offset / 8);
                shifts[lane] = element.index * bits as usize;
            }
            let mut reached = 0;
            for lane in lanes_of(at.lanes) {
                let place = machine.aligned(self.space, addresses[lane], [bytes; 2], self.what(), lane);
                let Some(place) = machine.or_without(at, self.address, place)? else {
                    *without |= 1 << lane;
                    continue;
                };
                reached |= 1 << lane;
                found.push(FragmentBytes {
                    lane,
                    shift: shifts[lane],
                    bytes,
                    address: addresses[lane],
                    place,
                });
            }
            machine.show_access(at, self.space, kind, bytes, reached, &addresses);
        }
        Ok(found)
    }
}

impl FragmentAccess {
    /// Copies the undefined bits of one register's elements.
    fn carry(&self, beside: &mut Beside<'_>, slot: Slot, pieces: &[FragmentBytes]) {
        let width = if self.fragment.format.bits() == 64 { 8 } else { 4 };
        if self.store {
            if beside.has_some() {
                beside.address(self.address, u32::MAX);
                let unknown = beside.registers(&[slot], width)[0];
                for &FragmentBytes { lane, shift, bytes, address, .. } in pieces {
                    beside.set_memory(self.space, address, bytes, (unknown[lane] >> shift).into());
                }
            }
            return;
        }
        let mut unknown = [0u64; 32];
        for &FragmentBytes { lane, shift, bytes, address, .. } in pieces {
            unknown[lane] |= (beside.memory(self.space, address, bytes) as u64) << shift;
        }
        if unknown != [0; 32] || beside.has_some() {
            beside.address(self.address, u32::MAX);
            beside.set_registers(&[slot], width, &[unknown]);
        }
    }
}

impl Execute for FragmentAccess {
    fn execute(&self, machine: &mut Machine<'_>, at: At) -> Result<Step, Box<Raise>> {
        if !together(machine, at) {
            return Ok(Step::Retry);
        }
        let regs = machine.regs;
        let base = access::addresses(regs, self.address);
        let first = at.lanes.trailing_zeros() as usize;
        let stride = match self.stride {
            // SAFETY: decoding gave the stride a 32-bit register.
            Some(slot) => u64::from(unsafe { regs.get::<u32>(slot, first) }),
            None => self.fragment.tight_stride(),
        };
        let meaningful = machine.with_meaning(at, self.address);
        for (register, &slot) in self.data.iter().enumerate() {
            let mut without = at.lanes & !meaningful.lanes;
            let wide = self.fragment.format.bits() == 64;
            let mut values = [0u64; 32];
            if self.store {
                for lane in lanes_of(at.lanes) {
                    // SAFETY: decoding gave 64-bit registers to 64-bit elements, else 32-bit ones.
                    values[lane] = unsafe {
                        if wide { regs.get::<u64>(slot, lane) } else { regs.get::<u32>(slot, lane).into() }
                    };
                }
            }
            let pieces = self.pieces(machine, meaningful, &base, stride, register, &mut without)?;
            if let Some(mut beside) = Beside::of(machine, at) {
                self.carry(&mut beside, slot, &pieces);
            }
            for FragmentBytes { lane, shift, bytes, place, .. } in pieces {
                for byte in 0..bytes as usize {
                    // SAFETY: `reach` gave `bytes` bytes.
                    unsafe {
                        let place = place.add(byte);
                        if self.store {
                            place.write((values[lane] >> (shift + 8 * byte)) as u8);
                        } else {
                            values[lane] |= u64::from(place.read()) << (shift + 8 * byte);
                        }
                    }
                }
            }
            if !self.store {
                for lane in lanes_of(at.lanes) {
                    // SAFETY: as above.
                    unsafe {
                        if wide {
                            regs.set(slot, lane, values[lane])
                        } else {
                            regs.set(slot, lane, values[lane] as u32)
                        }
                    }
                }
                machine.means_nothing(At { lanes: without, ..at }, &[slot], if wide { 2 } else { 1 });
            }
        }
        Ok(Step::Next)
    }
}
