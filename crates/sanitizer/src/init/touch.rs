//! An access's effect on definedness: it goes between registers and memory as values do.

use virtual_gpu::observer::{Access, AccessKind, Named, Register};

use super::origin::Origin;
use super::registers::WarpRegisters;
use crate::kind::Decides;
use crate::reached::{Reached, lanes};
use crate::written::Written;

/// Does to definedness what an access by some lanes does to values. `exchanged`: the registers that an exchange loads.
pub fn touch(
    warp: &mut WarpRegisters,
    written: &mut Written,
    mask: u32,
    access: &Access<'_>,
    reached: &Reached,
    (here, exchanged): (Origin, Option<Named<'_>>),
    report: &mut impl FnMut(Decides, u32),
) {
    let (width, wide) = (access.width, u64::from(access.width));
    match access.kind {
        AccessKind::Load => {
            if written.holds(reached.low, reached.end) {
                if warp.tainted != 0 {
                    access.registers.iter().flatten().for_each(|r| warp.set(r.slot, mask, 0));
                }
                return;
            }
            for (i, register) in access.registers.iter().enumerate() {
                let Some(register) = register else { continue };
                warp.set(register.slot, mask, 0);
                for lane in lanes(mask) {
                    let address = access.addresses[lane as usize].wrapping_add(i as u64 * wide);
                    if written.missing(address, width) != 0 {
                        // A narrow value is extended by zeros.
                        let undefined = written.missing_bits(address, width);
                        warp.set_bits(register, lane, undefined);
                        let read = here.of_memory(access.space, address, lane);
                        warp.came_from(register.slot, Some(written.origin(address, read)));
                    }
                }
            }
        }
        AccessKind::Store => {
            let of = |register: &Register| warp.of(register.slot);
            let undefined = match warp.tainted {
                0 => 0,
                _ => access.registers.iter().flatten().fold(0, |all, r| all | of(&r)) & mask,
            };
            if undefined == 0 {
                if written.holds(reached.low, reached.end) {
                    return;
                }
                if reached.in_a_row {
                    return written.set(reached.low, reached.end - reached.low, true);
                }
            }
            for lane in lanes(mask) {
                let address = access.addresses[lane as usize];
                if undefined >> lane & 1 == 0 {
                    written.set(address, access.bytes().into(), true);
                    continue;
                }
                for (i, register) in access.registers.iter().enumerate() {
                    let to = address.wrapping_add(i as u64 * wide);
                    let missing = register.map_or(0, |register| warp.bits(register, lane));
                    for byte in 0..width {
                        written.set_bits(to.wrapping_add(byte.into()), (missing >> (8 * byte)) as u8);
                    }
                    if missing != 0 {
                        let slots = register.map(|register| register.slot);
                        written.came_from(to, warp.origin(slots, here));
                    }
                }
            }
        }
        AccessKind::Atomic | AccessKind::Reduction => {
            if written.holds(reached.low, reached.end) && (exchanged.is_none() || warp.tainted == 0) {
                return;
            }
            if let Some(loaded) = exchanged {
                return exchange(warp, written, mask, access, (here, loaded));
            }
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

/// Exchanges the definedness of registers and memory, one lane after the other.
fn exchange(
    warp: &mut WarpRegisters,
    written: &mut Written,
    mask: u32,
    access: &Access<'_>,
    (here, loaded): (Origin, Named<'_>),
) {
    let width = access.width;
    for lane in lanes(mask) {
        let mut loaded = loaded.iter();
        for (i, stored) in access.registers.iter().enumerate() {
            let address = access.addresses[lane as usize].wrapping_add(i as u64 * u64::from(width));
            let old = written.missing_bits(address, width);
            let olds_origin = written.origin(address, here.of_memory(access.space, address, lane));
            let new = stored.map_or(0, |register| warp.bits(register, lane));
            for byte in 0..width {
                written.set_bits(address.wrapping_add(byte.into()), (new >> (8 * byte)) as u8);
            }
            if new != 0 {
                let slots = stored.map(|register| register.slot);
                written.came_from(address, warp.origin(slots, here));
            }
            if let Some(Some(register)) = loaded.next() {
                warp.set(register.slot, 1 << lane, 0);
                warp.set_bits(register, lane, old);
                if old != 0 {
                    warp.came_from(register.slot, Some(olds_origin));
                }
            }
        }
    }
}
