//! Enters a program's machine code.

mod calls;
mod round;

use std::cell::Cell;

use super::block_state::BlockState;
use super::context::{Compiles, Cx, LaunchContext, SharedMemory};
use super::run::Raised;
use super::steady::{Known, Place, in_halves};
use super::warp::Warp;
use crate::counting::{LOG, Logged, Numbers};
use crate::form::registers::Regs;
use crate::memory::View;
use crate::observer::{At, BlockObserver};
use crate::stretch::{State, Stretches, Variant};
use calls::{Back, accessed, empty, full, perform, set_distance, widen};
pub(super) use round::{After, Round};

/// Whether machine code may run in the interpreter's place as far as an observer is concerned; and if so, whether it has to
/// count.
pub(super) const fn counted<O: BlockObserver>() -> Option<bool> {
    match O::REGISTERS || O::SYNCHRONISATION || O::YIELDS || O::GOES_ON {
        true => None,
        false if O::COUNTS => Some(true),
        false if O::INSTRUCTIONS || O::MEMORY => None,
        false => Some(false),
    }
}

/// A kernel's code, for warps whose lanes are together or for others, and where it counts.
struct Way<'s> {
    stretches: &'s Stretches,
    together: bool,
    numbers: *const Numbers,
    log: *const Cell<Logged>,
}

/// The way into a kernel's code for the warps of the block that has its turn: what is the same for all of them is told once, and
/// what is the same for all blocks of a thread when there is code.
pub(super) struct Door<'s> {
    /// For warps whose lanes are apart, and for those whose lanes are together.
    ways: [Option<Way<'s>>; 2],
    /// Which of them has logged last.
    last: Option<usize>,
    state: State,
    /// Whether the threads of half a warp are always of one row of the block.
    in_halves: bool,
    /// When the sites were last asked for.
    frees: u64,
    /// What the last steady turn ended with.
    pub known: Known,
    /// Operations of warps that were interpreted because there is no code for them yet.
    pub missed: u64,
}

impl<'s> Door<'s> {
    /// Leads it into the kernel's code, if there is some and nobody has to see what becomes of each operation.
    pub fn open<'d, O: BlockObserver>(
        door: &'d mut Option<Self>,
        launch: &LaunchContext<'s>,
        block: &BlockState,
        shared: SharedMemory,
        device: &View,
        observer: &mut O,
    ) -> Option<&'d mut Self> {
        if block.changes.is_some() || block.watch.is_some() {
            return None;
        }
        if door.as_ref().is_none_or(|door| door.missed > 0) {
            *door = Some(Self::of::<O>(launch)?);
        }
        let door = door.as_mut()?;
        // Before the sites: what is freed meanwhile is noticed.
        door.frees = device.frees();
        door.state.sites = device.sites(sites(&door.ways));
        (door.state.shared, door.state.shared_bytes) = (shared.bytes, shared.size.into());
        if O::COUNTS
            && let Some(counts) = observer.counts()
        {
            for way in door.ways.iter_mut().flatten() {
                let tables = counts.tables(way.together, &way.stretches.counters);
                (way.numbers, way.log) = (tables.numbers, tables.log.start);
            }
            door.last = None;
        }
        Some(door)
    }

    fn of<O: BlockObserver>(launch: &LaunchContext<'s>) -> Option<Self> {
        let Compiles { module, counted, together: may_be_together, .. } = launch.compiled?;
        let way = |together: bool| {
            let stretches = module.compiled.of(launch.kernel.function, Variant { counted, together })?;
            Some(Way { stretches, together, numbers: std::ptr::null(), log: std::ptr::null() })
        };
        // The first does for both.
        let ways = [way(false), way(true).filter(|_| may_be_together).or_else(|| way(false))];
        ways[1].as_ref()?;
        let state = State {
            rows: std::ptr::null_mut(),
            lanes: 0,
            live: 0,
            meet: 0,
            patience: 0,
            together: 0,
            may_split: 0,
            backward: 0,
            parted: 0,
            behind: 0,
            params: launch.params.as_ptr(),
            steps: 0,
            end: 0,
            shared: std::ptr::null_mut(),
            shared_bytes: 0,
            progress: 0,
            sites: std::ptr::null_mut(),
            perform: perform::<O>,
            widen: widen::<O>,
            numbers: std::ptr::null(),
            log: std::ptr::null(),
            log_end: std::ptr::null(),
            full: full::<O>,
            set_distance: set_distance::<O>,
            accessed: accessed::<O>,
            back: std::ptr::null_mut(),
        };
        let in_halves = in_halves(launch.launch.block);
        Some(Door { ways, last: None, state, in_halves, frees: 0, known: Known::NOTHING, missed: 0 })
    }

    /// Tells the observer what is left to tell when the block's turn is over.
    pub fn close<O: BlockObserver>(&mut self, observer: &mut O) {
        if O::COUNTS
            && let Some(last) = self.last
            && let Some(way) = &self.ways[last]
        {
            empty(&mut self.state, way, observer);
        }
    }

    /// Whether code for warps whose lanes are together may run these lanes.
    #[inline]
    fn is_together(&self, warp: &Warp, lanes: u32) -> bool {
        warp.together && lanes == u32::MAX && self.in_halves
    }

    /// Operations of the block that lanes of a warp may enter at `pc`; 0 if there is none.
    #[inline]
    pub fn block(&self, warp: &Warp, At { pc, lanes, .. }: At) -> u32 {
        let way = &self.ways[usize::from(self.is_together(warp, lanes))];
        way.as_ref().map_or(0, |way| way.stretches.block(pc))
    }

    /// A warp has executed so many operations.
    pub fn count(&mut self, warp: &Warp, executed: u64) {
        if self.ways[0].is_none() && !self.is_together(warp, warp.live) {
            self.missed += executed;
        }
    }

    /// Runs the lanes of a group from the entry at `pc` until the interpreter has to go on, at the program counter that it
    /// gives, and not beyond the place where the group may meet another.
    pub fn enter<O: BlockObserver>(
        &mut self,
        warp: &mut Warp,
        cx: &mut Cx<'_, O>,
        regs: Regs,
        At { pc, lanes, .. }: At,
        meet: u32,
        end: u64,
    ) -> Result<u32, Raised> {
        let together = self.is_together(warp, lanes);
        let patience = warp.patience();
        let state = &mut self.state;
        (state.lanes, state.live) = (lanes, warp.live);
        (state.meet, state.patience) = (meet, patience);
        state.together = together.into();
        state.may_split = warp.is_in_order().into();
        (state.backward, state.parted) = (warp.backward, 0);
        (state.steps, state.end) = (warp.steps, end);
        let next = self.go(together.into(), warp, cx, regs, pc)?;
        if together {
            warp.together = self.state.together != 0;
            warp.backward = self.state.backward;
            match self.state.parted {
                0 => self.widen(regs, next),
                lanes => warp.part(lanes, next, self.state.behind),
            }
        }
        warp.steps = self.state.steps;
        warp.took_backward(patience - self.state.patience);
        Ok(next)
    }

    /// The same for a warp whose lanes are together, if there is an entry where it is.
    #[inline]
    pub fn pass<O: BlockObserver>(
        &mut self,
        place: &mut Place,
        warp: &mut Warp,
        cx: &mut Cx<'_, O>,
        end: u64,
    ) -> Result<(), Raised> {
        let which = usize::from(place.together != 0);
        let block = self.ways[which].as_ref().map_or(0, |way| way.stretches.block(place.pc));
        if block == 0 || place.steps + u64::from(block) > end {
            return Ok(());
        }
        let state = &mut self.state;
        (state.lanes, state.live) = (place.lanes, place.lanes);
        (state.meet, state.patience) = (u32::MAX, u32::MAX);
        (state.together, state.may_split) = (place.together, place.may_split);
        (state.backward, state.parted) = (place.backward, 0);
        (state.steps, state.end) = (place.steps, end);
        // SAFETY: the rows are those of the warp's first frame.
        let regs = unsafe { Regs::new(place.rows) };
        place.pc = self.go(which, warp, cx, regs, place.pc)?;
        place.narrow = (place.narrow || which == 1) && self.state.parted == 0;
        (place.backward, place.parted) = (self.state.backward, (self.state.parted, self.state.behind));
        place.together = self.state.together;
        place.steps = self.state.steps;
        Ok(())
    }

    /// Writes all lanes of registers of which code for warps whose lanes are together has left some.
    pub fn widen(&self, regs: Regs, pc: u32) {
        if let Some(way) = &self.ways[1] {
            // SAFETY: they are of a frame of the function for which the code was made.
            unsafe { way.stretches.widen(regs, pc) };
        }
    }

    /// Runs the code from the entry at `pc`, with the state that the caller has set.
    #[inline]
    fn go<O: BlockObserver>(
        &mut self,
        which: usize,
        warp: &mut Warp,
        cx: &mut Cx<'_, O>,
        regs: Regs,
        pc: u32,
    ) -> Result<u32, Raised> {
        if O::COUNTS {
            self.count_by(which, cx.observer);
        }
        self.state.progress = 0;
        let ran = self.run(which, warp, cx, regs, pc);
        cx.block.progress += self.state.progress;
        ran
    }

    /// Runs the code, with the state that the caller has set but for the registers.
    #[inline(always)]
    fn run<O: BlockObserver>(
        &mut self,
        which: usize,
        warp: &mut Warp,
        cx: &mut Cx<'_, O>,
        regs: Regs,
        pc: u32,
    ) -> Result<u32, Raised> {
        let Door { ways, state, frees, .. } = self;
        let now = cx.device.frees();
        if now != *frees {
            *frees = now;
            state.sites = cx.device.sites(sites(ways));
        }
        let Some(way) = &ways[which] else { return Ok(pc) };
        let mut back = Back { way, warp, cx, regs, raised: None };
        state.rows = regs.rows();
        state.back = (&raw mut back).cast();
        // SAFETY: the code was made for the function that runs in this frame, and `pc` is one of its entries; a `Compiler`
        // promises what the code does.
        let next = unsafe { (way.stretches.run)(state, pc - way.stretches.start) };
        back.raised.map_or(Ok(next), Err)
    }

    /// Has the code that runs next count in its tables.
    fn count_by<O: BlockObserver>(&mut self, which: usize, observer: &mut O) {
        if self.last == Some(which) {
            return;
        }
        self.close(observer);
        let Some(way) = &self.ways[which] else { return };
        self.last = Some(which);
        let state = &mut self.state;
        // SAFETY: a log has so many entries.
        (state.numbers, state.log, state.log_end) = (way.numbers, way.log, unsafe { way.log.add(LOG) });
    }
}

/// How many places the code has that remember an allocation.
fn sites(ways: &[Option<Way<'_>>]) -> usize {
    ways.iter().flatten().map(|way| way.stretches.sites).max().unwrap_or(0)
}
