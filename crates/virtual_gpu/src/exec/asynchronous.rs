//! `cp.async` and its groups, and what lands when an `mbarrier` is asked.
//!
//! Nothing but a wait guarantees that an asynchronous copy has landed, so here it lands no earlier: the source is read
//! when the copy is issued, the destination is written when the wait for it is executed. A kernel that forgets the wait
//! reads what was there before, on every run.

use super::access;
use super::context::{Raise, Step};
use super::extension::{Execute, Machine};
use super::mbarrier;
use crate::form::access::SpaceOperand;
use crate::form::asynchronous::{ArriveOn, CommitGroup, CopyAsync, Source, WaitGroups};
use crate::form::registers::lanes_of;
use crate::observer::{AccessKind, AsyncEvent, At, MemorySpace};

const SHARED: SpaceOperand = SpaceOperand::In(MemorySpace::Shared);
const GLOBAL: SpaceOperand = SpaceOperand::In(MemorySpace::Global);

/// One `cp.async` of a warp, under way.
#[derive(Debug)]
struct Copy {
    /// Lanes for which it has not landed.
    lanes: u32,
    bytes: u32,
    /// How many copies the warp had issued before.
    number: u64,
    /// Group of each lane: how many it had committed before.
    groups: [u32; 32],
    /// Where in the block's shared memory each lane's bytes go.
    places: [*mut u8; 32],
    data: [[u8; 16]; 32],
}

impl Copy {
    const NONE: Copy = Copy {
        lanes: 0,
        bytes: 0,
        number: 0,
        groups: [0; 32],
        places: [std::ptr::null_mut(); 32],
        data: [[0; 16]; 32],
    };
}

#[derive(Debug, Default)]
#[expect(clippy::vec_box, reason = "copies go from one list to the other")]
struct WarpCopies {
    copies: Vec<Box<Copy>>,
    /// Copies that have landed, for the next ones.
    landed: Vec<Box<Copy>>,
    issued: u64,
    /// Groups that each lane has committed.
    committed: [u32; 32],
}

impl WarpCopies {
    /// Lands, in order, those for whose lanes `is_ripe` says so.
    fn land(&mut self, lanes: u32, is_ripe: impl Fn(usize, &Copy) -> bool) {
        for copy in &mut self.copies {
            let ripe = (0..32).fold(0, |ripe, lane| ripe | u32::from(is_ripe(lane, copy)) << lane);
            let landing = copy.lanes & lanes & ripe;
            copy.lanes &= !landing;
            let Copy { places, data, .. } = &**copy;
            // SAFETY: `places` were resolved for `bytes` bytes of the block's shared memory, which lives as long as the block.
            unsafe { move_each(landing, copy.bytes, |lane| (data[lane].as_ptr(), places[lane])) }
        }
        self.landed.extend(self.copies.extract_if(.., |copy| copy.lanes == 0));
    }
}

/// Copies bytes in each of these lanes, from the first to the second place.
///
/// # Safety
/// Both have as many.
unsafe fn move_each(lanes: u32, bytes: u32, places: impl Fn(usize) -> (*const u8, *mut u8)) {
    for lane in lanes_of(lanes) {
        let (from, to) = places(lane);
        // SAFETY: the caller's.
        unsafe {
            match bytes {
                4 => to.cast::<[u8; 4]>().write(from.cast::<[u8; 4]>().read()),
                8 => to.cast::<[u8; 8]>().write(from.cast::<[u8; 8]>().read()),
                16 => to.cast::<[u8; 16]>().write(from.cast::<[u8; 16]>().read()),
                _ => to.copy_from(from, bytes as usize),
            }
        }
    }
}

/// The copies of a block, and the arrivals that come with them.
#[derive(Debug, Default)]
pub(super) struct BlockCopies {
    warps: Vec<WarpCopies>,
    arrivals: Vec<Arrival>,
}

/// An arrival on an `mbarrier` when the copies that a lane had issued have landed.
#[derive(Debug)]
struct Arrival {
    place: *mut u8,
    warp: usize,
    lane: usize,
    /// How many copies the warp had issued.
    issued: u64,
}

// SAFETY: the pointers reach into the shared memory of the block whose state this is; block and memory move between
// threads together, if at all, and only one thread runs them.
unsafe impl Send for BlockCopies {}

impl BlockCopies {
    fn warp(&mut self, index: u32) -> &mut WarpCopies {
        let index = index as usize;
        if self.warps.len() <= index {
            self.warps.resize_with(index + 1, WarpCopies::default);
        }
        &mut self.warps[index]
    }
}

impl Execute for CopyAsync {
    fn execute(&self, machine: &mut Machine<'_>, at: At) -> Result<Step, Box<Raise>> {
        let (bytes, regs) = (self.bytes, machine.regs);
        let shared = access::addresses(regs, self.target);
        let global = access::addresses(regs, self.source);
        let issued = machine.block.extensions.get::<BlockCopies>().warp(machine.warp.index).landed.pop();
        let mut copy = issued.unwrap_or_else(|| Box::new(Copy::NONE));
        (copy.lanes, copy.bytes) = (0, bytes);
        let mut sizes = [bytes; 32];
        for lane in lanes_of(at.lanes) {
            // SAFETY: decoding gave a size a 32-bit register, a predicate its own kind.
            unsafe {
                match self.read {
                    Source::Whole => {}
                    Source::Size(slot) => sizes[lane] = regs.get::<u32>(slot, lane).min(bytes),
                    Source::Ignore(slot, negated) => {
                        if (regs.predicate(slot) >> lane & 1 != 0) != negated {
                            sizes[lane] = 0;
                        }
                    }
                }
            }
        }
        let at = machine.with_meaning(at, self.target);
        let readable = machine.with_meaning(at, self.source).lanes;
        let mut sources = [std::ptr::null_mut(); 32];
        // Lanes that get nothing because their source cannot be read.
        let mut without = 0;
        let together = match self.read {
            Source::Whole if readable == at.lanes => {
                let target = machine.inside(MemorySpace::Shared, &shared, bytes, at.lanes);
                target.zip(machine.inside(MemorySpace::Global, &global, bytes, at.lanes))
            }
            _ => None,
        };
        if let Some((target, source)) = together {
            copy.lanes = at.lanes;
            for lane in 0..32 {
                copy.places[lane] = target.wrapping_add(shared[lane] as usize);
                sources[lane] = source.wrapping_add(global[lane] as usize);
            }
        }
        let one_by_one = if together.is_some() { 0 } else { at.lanes };
        for lane in lanes_of(one_by_one) {
            let target = machine.aligned(SHARED, shared[lane], [bytes; 2], "shared store of cp.async", lane);
            let Some(target) = machine.or_without(at, self.target, target)? else { continue };
            copy.places[lane] = target;
            copy.lanes |= 1 << lane;
            if sizes[lane] == 0 {
                continue;
            }
            let source = match readable >> lane & 1 {
                0 => None,
                _ => {
                    let size = [sizes[lane], bytes];
                    let source = machine.aligned(GLOBAL, global[lane], size, "global load of cp.async", lane);
                    machine.or_without(at, self.source, source)?
                }
            };
            match source {
                Some(source) => sources[lane] = source,
                None => {
                    sizes[lane] = 0;
                    without |= 1 << lane;
                }
            }
        }
        let at = At { lanes: copy.lanes, ..at };
        if at.lanes == 0 {
            return Ok(Step::Next);
        }
        let started = AsyncEvent::CopyStarted { shared: &shared, global: &global, bytes, read: &sizes };
        machine.observer.asynchronous(at, &started);
        for lane in lanes_of(without) {
            machine.copied_nothing(at, MemorySpace::Shared, shared[lane], bytes);
        }
        let mut rest = at.lanes;
        while rest != 0 {
            let size = sizes[rest.trailing_zeros() as usize];
            let alike =
                lanes_of(rest).filter(|&lane| sizes[lane] == size).fold(0, |mask, lane| mask | 1 << lane);
            if size != 0 {
                machine.show_access(at, GLOBAL, AccessKind::Load, size, alike, &global);
            }
            rest &= !alike;
        }
        let Copy { data, .. } = &mut *copy;
        if together.is_none() {
            // What is not read is zeros.
            *data = Copy::NONE.data;
        }
        let mut rest = at.lanes;
        for lane in lanes_of(at.lanes).filter(|&lane| sizes[lane] != bytes) {
            rest &= !(1 << lane);
            if sizes[lane] != 0 {
                // SAFETY: `aligned` found as many bytes, no more than 16.
                unsafe { data[lane].as_mut_ptr().copy_from(sources[lane], sizes[lane] as usize) }
            }
        }
        let data = data.as_mut_ptr().cast::<u8>();
        // SAFETY: `inside` or `aligned` found as many bytes, no more than 16, for which each lane has room.
        unsafe { move_each(rest, bytes, |lane| (sources[lane].cast_const(), data.add(16 * lane))) }
        let warp = machine.block.extensions.get::<BlockCopies>().warp(at.warp);
        copy.groups = warp.committed;
        copy.number = warp.issued;
        warp.issued += 1;
        warp.copies.push(copy);
        Ok(Step::Next)
    }
}

impl Execute for CommitGroup {
    fn execute(&self, machine: &mut Machine<'_>, at: At) -> Result<Step, Box<Raise>> {
        machine.observer.asynchronous(at, &AsyncEvent::GroupCommitted);
        let warp = machine.block.extensions.get::<BlockCopies>().warp(at.warp);
        for lane in lanes_of(at.lanes) {
            warp.committed[lane] = warp.committed[lane].wrapping_add(1);
        }
        Ok(Step::Next)
    }
}

impl Execute for WaitGroups {
    fn execute(&self, machine: &mut Machine<'_>, at: At) -> Result<Step, Box<Raise>> {
        let warp = machine.block.extensions.get::<BlockCopies>().warp(at.warp);
        let committed = warp.committed;
        match self.pending {
            None => warp.land(at.lanes, |_, _| true),
            Some(pending) => {
                warp.land(at.lanes, |lane, copy| copy.groups[lane].saturating_add(pending) < committed[lane])
            }
        }
        if self.pending.is_none() {
            // What is in no group yet is awaited, too, as if in a last one.
            machine.observer.asynchronous(at, &AsyncEvent::GroupCommitted);
        }
        let pending = self.pending.unwrap_or(0);
        machine.observer.asynchronous(at, &AsyncEvent::GroupsAwaited { pending });
        Ok(Step::Next)
    }
}

impl Execute for ArriveOn {
    fn execute(&self, machine: &mut Machine<'_>, at: At) -> Result<Step, Box<Raise>> {
        let addresses = access::addresses(machine.regs, self.address);
        for lane in lanes_of(at.lanes) {
            let place = mbarrier::find(machine, self.space, addresses[lane], lane)?;
            let parity = mbarrier::parity(place, lane)?;
            let one = At { lanes: 1 << lane, ..at };
            let barrier = addresses[lane];
            machine.observer.asynchronous(one, &AsyncEvent::CopiesTied { barrier, parity });
            machine.observer.asynchronous(one, &AsyncEvent::MbarrierArrive { addresses: &addresses, parity });
            if self.one_more {
                mbarrier::expect_one_more(place, lane)?;
            }
            let state = machine.block.extensions.get::<BlockCopies>();
            let issued = state.warp(at.warp).issued;
            state.arrivals.push(Arrival { place, warp: at.warp as usize, lane, issued });
        }
        Ok(Step::Next)
    }
}

/// Lands what is to be there when the barrier at `place` is asked.
pub(super) fn deliver(machine: &mut Machine<'_>, place: *mut u8, lane: usize) -> Result<(), Box<Raise>> {
    let BlockCopies { warps, arrivals } = machine.block.extensions.get();
    let mut due = Vec::new();
    arrivals.retain(|arrival| {
        let here = arrival.place == place;
        if here {
            due.push((arrival.warp, arrival.lane, arrival.issued));
        }
        !here
    });
    for (warp, of_lane, issued) in due {
        warps[warp].land(1 << of_lane, |_, copy| copy.number < issued);
        mbarrier::arrive_once(place, lane)?;
        if let Some(waits) = &mut machine.block.phase_waits {
            waits.changed();
        }
    }
    Ok(())
}
