//! `mbarrier`: barriers that are words of shared memory.
//!
//! The 64 bits are opaque to programs. Ours are a mark, so that memory that was never initialised is told apart, the
//! parity of the phase, the arrivals that a phase expects, those that are pending, and the bytes of transactions that
//! are.

use super::access;
use super::asynchronous;
use super::bulk;
use super::context::{Raise, Step, raise};
use super::extension::{Execute, Machine};
use super::reach::named;
use crate::fault::FaultKind;
use crate::form::access::SpaceOperand;
use crate::form::asynchronous::{Action, PendingCount, Phase, Test, Update};
use crate::form::registers::{NONE, Regs, Slot, lanes_of};
use crate::observer::{AsyncEvent, At};

/// Most arrivals that a barrier may expect.
const MOST: u32 = (1 << 20) - 1;
/// A mark that no shared memory has by chance.
const MARK: u64 = 0b10 << 62;

/// The state of a barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Barrier {
    parity: bool,
    expected: u32,
    pending: u32,
    /// Bytes announced and not yet come; negative if they came first.
    transactions: i32,
}

impl Barrier {
    fn new(count: u32) -> Self {
        Self { parity: false, expected: count, pending: count, transactions: 0 }
    }

    fn from_bits(bits: u64) -> Option<Self> {
        (bits & 0b11 << 62 == MARK).then_some(Self {
            parity: bits >> 61 & 1 != 0,
            expected: (bits >> 41) as u32 & MOST,
            pending: (bits >> 21) as u32 & MOST,
            transactions: ((bits << 11) as u32 as i32) >> 11,
        })
    }

    fn bits(self) -> u64 {
        let transactions = u64::from(self.transactions as u32 & 0x1F_FFFF);
        MARK | u64::from(self.parity) << 61
            | u64::from(self.expected) << 41
            | u64::from(self.pending) << 21
            | transactions
    }

    /// Ends the phase if nothing is pending.
    fn settle(&mut self) {
        if self.pending == 0 && self.transactions == 0 {
            self.parity = !self.parity;
            self.pending = self.expected;
        }
    }

    fn arrive(&mut self, count: u32) -> Result<(), String> {
        let Some(pending) = self.pending.checked_sub(count) else {
            return Err(format!("{count} arrivals on an mbarrier that waits for {}", self.pending));
        };
        self.pending = pending;
        self.settle();
        Ok(())
    }

    fn expect(&mut self, bytes: i64) -> Result<(), String> {
        let sum = i64::from(self.transactions) + bytes;
        if sum.abs() >= 1 << 20 {
            return Err(format!("an mbarrier counts fewer than 2^20 bytes, not {sum}"));
        }
        self.transactions = sum as i32;
        Ok(())
    }
}

fn refuse(why: String, lane: usize) -> Box<Raise> {
    raise(FaultKind::IllegalSync(why), 1 << lane)
}

/// A barrier in shared memory, for one lane.
fn read(place: *mut u8, lane: usize) -> Result<Barrier, Box<Raise>> {
    // SAFETY: `find` gave eight aligned bytes of shared memory, which only this thread reaches.
    let bits = unsafe { place.cast::<u64>().read() };
    Barrier::from_bits(bits).ok_or_else(|| {
        refuse(
            format!("there is no mbarrier here: it was never initialised, or overwritten with {bits:#x}"),
            lane,
        )
    })
}

fn write(place: *mut u8, barrier: Barrier) {
    // SAFETY: as in `read`.
    unsafe { place.cast::<u64>().write(barrier.bits()) }
}

/// The host bytes of a barrier.
pub(super) fn find(
    machine: &mut Machine<'_>,
    space: SpaceOperand,
    address: u64,
    lane: usize,
) -> Result<*mut u8, Box<Raise>> {
    if !address.is_multiple_of(8) {
        let kind = FaultKind::MisalignedAddress { access: "mbarrier".into(), address, bytes: 8 };
        return Err(raise(kind, 1 << lane));
    }
    machine.reach(space, address, 8, "mbarrier", lane)
}

/// Bytes of a copy have come.
pub(super) fn complete(place: *mut u8, bytes: u32, lane: usize) -> Result<(), Box<Raise>> {
    let mut barrier = read(place, lane)?;
    barrier.expect(-i64::from(bytes)).map_err(|why| refuse(why, lane))?;
    barrier.settle();
    write(place, barrier);
    Ok(())
}

/// An arrival that comes with a copy.
pub(super) fn arrive_once(place: *mut u8, lane: usize) -> Result<(), Box<Raise>> {
    let mut barrier = read(place, lane)?;
    barrier.arrive(1).map_err(|why| refuse(why, lane))?;
    write(place, barrier);
    Ok(())
}

/// Parity of the current phase.
pub(super) fn parity(place: *mut u8, lane: usize) -> Result<bool, Box<Raise>> {
    read(place, lane).map(|barrier| barrier.parity)
}

/// The current phase expects one arrival more.
pub(super) fn expect_one_more(place: *mut u8, lane: usize) -> Result<(), Box<Raise>> {
    let mut barrier = read(place, lane)?;
    barrier.pending = (barrier.pending + 1).min(MOST);
    write(place, barrier);
    Ok(())
}

fn number(regs: Regs, slot: Slot, lane: usize) -> u32 {
    // SAFETY: decoding gave the operand a 32-bit register.
    if slot == NONE { 1 } else { unsafe { regs.get(slot, lane) } }
}

impl Update {
    fn apply(&self, place: *mut u8, count: u32, lane: usize) -> Result<u64, Box<Raise>> {
        let fail = |why| refuse(why, lane);
        if self.action == Action::Init {
            if count == 0 || count > MOST {
                return Err(fail(format!("an mbarrier is for 1 to {MOST} arrivals, not {count}")));
            }
            write(place, Barrier::new(count));
            return Ok(0);
        }
        let mut barrier = read(place, lane)?;
        let before = barrier.bits();
        match self.action {
            Action::Init => {}
            Action::Invalidate => {
                // SAFETY: as in `read`.
                unsafe { place.cast::<u64>().write(0) };
                return Ok(before);
            }
            Action::Arrive => barrier.arrive(count).map_err(fail)?,
            Action::ArriveDrop => {
                barrier.expected = barrier.expected.saturating_sub(count);
                barrier.arrive(count).map_err(fail)?;
            }
            Action::ArriveExpect => {
                barrier.expect(count.into()).map_err(fail)?;
                barrier.arrive(1).map_err(fail)?;
            }
            Action::ArriveDropExpect => {
                barrier.expected = barrier.expected.saturating_sub(1);
                barrier.expect(count.into()).map_err(fail)?;
                barrier.arrive(1).map_err(fail)?;
            }
            Action::Expect => barrier.expect(count.into()).map_err(fail)?,
            Action::Complete => {
                barrier.expect(-i64::from(count)).map_err(fail)?;
                barrier.settle();
            }
        }
        write(place, barrier);
        Ok(before)
    }
}

impl Execute for Update {
    fn execute(&self, machine: &mut Machine<'_>, at: At) -> Result<Step, Box<Raise>> {
        let addresses = access::addresses(machine.regs, self.address);
        let shown = addresses.map(|address| named(self.space, address).1);
        if self.action == Action::Init {
            machine.observer.asynchronous(at, &AsyncEvent::MbarrierMade { addresses: &shown });
        }
        let arrives = matches!(
            self.action,
            Action::Arrive | Action::ArriveDrop | Action::ArriveExpect | Action::ArriveDropExpect
        );
        for lane in lanes_of(at.lanes) {
            let place = find(machine, self.space, addresses[lane], lane)?;
            if arrives {
                let parity = read(place, lane)?.parity;
                let event = AsyncEvent::MbarrierArrive { addresses: &shown, parity };
                machine.observer.asynchronous(At { lanes: 1 << lane, ..at }, &event);
            }
            let count = number(machine.regs, self.count, lane);
            let before = self.apply(place, count, lane)?;
            let bytes = match self.action {
                Action::ArriveExpect | Action::ArriveDropExpect | Action::Expect => i64::from(count),
                Action::Complete => -i64::from(count),
                _ => 0,
            };
            if bytes != 0 {
                let event = AsyncEvent::MbarrierExpects { address: shown[lane], bytes };
                machine.observer.asynchronous(At { lanes: 1 << lane, ..at }, &event);
            }
            if self.state != NONE {
                // SAFETY: decoding gave the state a 64-bit register.
                unsafe { machine.regs.set(self.state, lane, before) }
            }
        }
        Ok(Step::Next)
    }
}

impl Execute for Test {
    fn execute(&self, machine: &mut Machine<'_>, at: At) -> Result<Step, Box<Raise>> {
        let addresses = access::addresses(machine.regs, self.address);
        let shown = addresses.map(|address| named(self.space, address).1);
        machine.observer.asynchronous(at, &AsyncEvent::MbarrierAsked { addresses: &shown });
        if let Some(watch) = &mut machine.block.watch {
            watch.looks(at, &addresses);
        }
        let mut done = 0;
        // Lanes that found the phase of even parity complete, and those that found the other.
        let mut complete_phases = [0u32; 2];
        let mut last = None;
        for lane in lanes_of(at.lanes) {
            let place = find(machine, self.space, addresses[lane], lane)?;
            if last != Some(place) {
                asynchronous::deliver(machine, place, lane)?;
                bulk::deliver(machine, at, place, lane)?;
                last = Some(place);
            }
            let barrier = read(place, lane)?;
            // SAFETY: decoding gave a state 64 bits, a parity 32.
            let complete = unsafe {
                match self.phase {
                    Phase::State(slot) => {
                        machine.regs.get::<u64>(slot, lane) >> 61 & 1 != u64::from(barrier.parity)
                    }
                    Phase::Parity(slot) => {
                        machine.regs.get::<u32>(slot, lane) & 1 != u32::from(barrier.parity)
                    }
                }
            };
            done |= u32::from(complete) << lane;
            complete_phases[usize::from(!barrier.parity)] |= u32::from(complete) << lane;
        }
        // SAFETY: decoding gave the target a predicate.
        unsafe { machine.regs.set_predicate(self.target, done, at.lanes) };
        machine.block.failed_tests += u32::from(done == 0);
        if let Some(waits) = &mut machine.block.phase_waits {
            waits.tested(at, done == 0, machine.warp);
        }
        for (parity, lanes) in [(false, complete_phases[0]), (true, complete_phases[1])] {
            if lanes != 0 {
                let event = AsyncEvent::MbarrierComplete { addresses: &shown, parity };
                machine.observer.asynchronous(At { lanes, ..at }, &event);
            }
        }
        Ok(if done == at.lanes { Step::Next } else { Step::Yield })
    }
}

impl Execute for PendingCount {
    fn execute(&self, machine: &mut Machine<'_>, at: At) -> Result<Step, Box<Raise>> {
        for lane in lanes_of(at.lanes) {
            // SAFETY: decoding gave the state 64 bits, the count 32.
            unsafe {
                let state: u64 = machine.regs.get(self.state, lane);
                machine.regs.set(self.target, lane, (state >> 21) as u32 & MOST);
            }
        }
        Ok(Step::Next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_and_back() {
        for barrier in [
            Barrier::new(1),
            Barrier { parity: true, expected: MOST, pending: MOST - 1, transactions: -(1 << 20) + 1 },
            Barrier { parity: true, expected: 5, pending: 0, transactions: (1 << 20) - 1 },
        ] {
            assert_eq!(Barrier::from_bits(barrier.bits()), Some(barrier));
        }
        assert_eq!(Barrier::from_bits(0), None);
        assert_eq!(Barrier::from_bits(u64::MAX), None);
    }

    #[test]
    fn a_phase_ends_with_the_last_arrival_and_the_last_byte() {
        let mut barrier = Barrier::new(2);
        barrier.arrive(1).unwrap();
        barrier.expect(64).unwrap();
        barrier.arrive(1).unwrap();
        assert!(!barrier.parity);
        barrier.expect(-64).unwrap();
        barrier.settle();
        assert!(barrier.parity && barrier.pending == 2);
        assert!(barrier.arrive(3).is_err());
        assert!(barrier.expect(1 << 20).is_err());
    }

    #[test]
    fn bytes_may_come_before_they_are_announced() {
        let mut barrier = Barrier::new(1);
        barrier.expect(-32).unwrap();
        barrier.settle();
        barrier.expect(32).unwrap();
        barrier.arrive(1).unwrap();
        assert!(barrier.parity);
    }
}
