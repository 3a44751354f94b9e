//! Enters a program's machine code, and does for it what it has no code for. Tells the observer what code has counted.

use std::cell::Cell;

use super::block_state::BlockState;
use super::context::{Compiles, Cx, LaunchContext, SharedMemory};
use super::run::Raised;
use super::steady::{Place, in_halves};
use super::warp::Warp;
use super::{access, atomic, collective, load_store};
use crate::counting::Logged;
use crate::form::access::SpaceOperand;
use crate::form::op::{Op, OpKind};
use crate::form::registers::{NONE, Regs};
use crate::memory::View;
use crate::observer::{AccessKind, At, BlockObserver, MemorySpace};
use crate::stretch::{Site, State, Stretches};

/// What [`perform`] finds behind [`State::back`].
struct Back<'b, 'a, O> {
    stretches: &'b Stretches,
    warp: &'b mut Warp,
    cx: &'b mut Cx<'a, O>,
    regs: Regs,
    raised: Option<Raised>,
    /// Where the log begins.
    log: *const Cell<Logged>,
}

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

/// The way into a kernel's code for the warps of the block that has its turn: what is the same for all of them is told once, and
/// what is the same for all blocks of a thread when there is code.
pub(super) struct Door<'s> {
    stretches: &'s Stretches,
    state: State,
    /// Whether the threads of half a warp are always of one row of the block.
    in_halves: bool,
    /// When the sites were last asked for.
    frees: u64,
    /// Where the log begins.
    log: *const Cell<Logged>,
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
        if door.is_none() {
            *door = Some(Self::of::<O>(launch)?);
        }
        let door = door.as_mut()?;
        // Before the sites: what is freed meanwhile is noticed.
        door.frees = device.frees();
        let state = &mut door.state;
        state.sites = device.sites(door.stretches.sites);
        (state.shared, state.shared_bytes) = (shared.bytes, shared.size.into());
        if O::COUNTS
            && let Some(counts) = observer.counts()
        {
            let tables = counts.tables(&door.stretches.counters);
            state.numbers = tables.numbers;
            (state.log, state.log_end) = (tables.log.start, tables.log.end);
            door.log = tables.log.start;
        }
        Some(door)
    }

    fn of<O: BlockObserver>(launch: &LaunchContext<'s>) -> Option<Self> {
        let Compiles { module, counted, .. } = launch.compiled?;
        let stretches = module.compiled.of(launch.kernel.function, counted)?;
        let state = State {
            rows: std::ptr::null_mut(),
            lanes: 0,
            live: 0,
            meet: 0,
            patience: 0,
            together: 0,
            may_split: 0,
            params: launch.params.as_ptr(),
            steps: 0,
            end: 0,
            shared: std::ptr::null_mut(),
            shared_bytes: 0,
            progress: 0,
            sites: std::ptr::null_mut(),
            perform: perform::<O>,
            numbers: std::ptr::null(),
            log: std::ptr::null(),
            log_end: std::ptr::null(),
            full: full::<O>,
            set_distance: set_distance::<O>,
            accessed: accessed::<O>,
            back: std::ptr::null_mut(),
        };
        let in_halves = in_halves(launch);
        Some(Door { stretches, state, in_halves, frees: 0, log: std::ptr::null() })
    }

    /// Tells the observer what is left to tell when the block's turn is over.
    pub fn close<O: BlockObserver>(&mut self, observer: &mut O) {
        if O::COUNTS {
            empty(&mut self.state, self.log, observer);
        }
    }

    /// Operations of the block that may be entered at `pc`; 0 if none may.
    #[inline]
    pub fn block(&self, pc: u32) -> u32 {
        self.stretches.block(pc)
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
        let patience = warp.patience();
        let state = &mut self.state;
        (state.lanes, state.live) = (lanes, warp.live);
        (state.meet, state.patience) = (meet, patience);
        state.together = (warp.together && lanes == u32::MAX && self.in_halves).into();
        state.may_split = warp.is_in_order().into();
        (state.steps, state.end) = (warp.steps, end);
        let next = self.go(warp, cx, regs, pc)?;
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
        let block = self.block(place.pc);
        if block == 0 || place.steps + u64::from(block) > end {
            return Ok(());
        }
        let state = &mut self.state;
        (state.lanes, state.live) = (place.lanes, place.lanes);
        (state.meet, state.patience) = (u32::MAX, u32::MAX);
        (state.together, state.may_split) = (place.together, place.may_split);
        (state.steps, state.end) = (place.steps, end);
        // SAFETY: the rows are those of the warp's first frame.
        let regs = unsafe { Regs::new(place.rows) };
        place.pc = self.go(warp, cx, regs, place.pc)?;
        place.steps = self.state.steps;
        Ok(())
    }

    /// Runs the code from the entry at `pc`, with the state that the caller has set.
    #[inline]
    fn go<O: BlockObserver>(
        &mut self,
        warp: &mut Warp,
        cx: &mut Cx<'_, O>,
        regs: Regs,
        pc: u32,
    ) -> Result<u32, Raised> {
        let frees = cx.device.frees();
        if frees != self.frees {
            self.frees = frees;
            self.state.sites = cx.device.sites(self.stretches.sites);
        }
        let mut back = Back { stretches: self.stretches, warp, cx, regs, raised: None, log: self.log };
        let state = &mut self.state;
        (state.rows, state.progress) = (regs.rows(), 0);
        state.back = (&raw mut back).cast();
        // SAFETY: the code was made for the function that runs in this frame, and `pc` is one of its entries; a `Compiler`
        // promises what the code does.
        let next = unsafe { (self.stretches.run)(state, pc - self.stretches.start) };
        back.cx.block.progress += state.progress;
        match back.raised {
            Some(raised) => Err(raised),
            None => Ok(next),
        }
    }
}

/// [`State::perform`].
///
/// # Safety
/// `state` is that of a [`Door`], and the code that was given it calls this.
unsafe extern "C" fn perform<O: BlockObserver>(state: *mut State, pc: u32, lanes: u32, site: u32) -> u32 {
    if lanes == 0 {
        return 0;
    }
    // SAFETY: [`Door::enter`] made both, keeps them alive, and touches neither while the code runs.
    let (state, back) = unsafe { (&mut *state, &mut *(*state).back.cast::<Back<'_, '_, O>>()) };
    let Back { stretches, warp, cx, regs, raised, .. } = back;
    let launch = cx.launch;
    let at = At { pc, warp: warp.index, lanes };
    let address = match &launch.code.ops[pc as usize].kind {
        OpKind::Load(op) | OpKind::Store(op) => Some(op.address),
        OpKind::Atomic(op) => Some(op.address),
        _ => None,
    };
    if site != u32::MAX
        && let Some(address) = address
    {
        let address = load_store::first_address(*regs, address, lanes);
        // SAFETY: the compiler numbered so many sites as the door asked for.
        unsafe { *state.sites.add(site as usize) = found(cx.device, address) };
    }
    let done = match &launch.code.ops[pc as usize].kind {
        OpKind::Alu(_) => {
            if let Some(evaluate) = &launch.evaluations.0[pc as usize] {
                evaluate(*regs, lanes);
            }
            Ok(())
        }
        OpKind::Load(op) => load_store::load(warp, cx, op, *regs, at),
        OpKind::Store(op) => load_store::store(warp, cx, op, *regs, at),
        OpKind::Atomic(op) => atomic::atomic(warp, cx, op, *regs, at),
        OpKind::LoadParam(op) => {
            load_store::load_param(cx, op, *regs, at);
            Ok(())
        }
        OpKind::Collective(op) => {
            let base = warp.base_of(*regs);
            collective::execute(cx, op, *regs, base, at);
            Ok(())
        }
        // A compiler leaves all others alone.
        _ => std::process::abort(),
    };
    match done {
        Ok(()) => 0,
        Err(raise) => {
            if O::COUNTS {
                let group = At { lanes: state.lanes, ..at };
                begun(stretches, &launch.code.ops, group, |at| cx.observer.instruction(at));
            }
            *raised = Some(Raised { raise, pc });
            1
        }
    }
}

/// The operations of a block up to the one at a program counter, of which the code has counted the lanes with guards only: it
/// counts a block when all of it has run.
fn begun(stretches: &Stretches, ops: &[Op], at: At, mut count: impl FnMut(At)) {
    let start = (stretches.start..=at.pc).rev().find(|&pc| stretches.block(pc) != 0).unwrap_or(at.pc);
    for pc in start..=at.pc {
        let lanes = if ops[pc as usize].guard.slot == NONE { at.lanes } else { 0 };
        count(At { pc, lanes, ..at });
    }
}

/// Gives the observer what was logged from `log` on.
fn empty<O: BlockObserver>(state: &mut State, log: *const Cell<Logged>, observer: &mut O) {
    // SAFETY: the code has logged from the beginning on, and not beyond the end.
    let accesses = unsafe { state.log.offset_from(log) };
    if accesses > 0
        && let Some(counts) = observer.counts()
    {
        counts.logged(accesses as usize);
    }
    state.log = log;
}

/// [`State::full`].
///
/// # Safety
/// As [`perform`].
unsafe extern "C" fn full<O: BlockObserver>(state: *mut State) {
    // SAFETY: as in `perform`.
    let (state, back) = unsafe { (&mut *state, &mut *(*state).back.cast::<Back<'_, '_, O>>()) };
    empty(state, back.log, back.cx.observer);
}

/// [`State::set_distance`].
///
/// # Safety
/// As [`perform`].
unsafe extern "C" fn set_distance<O: BlockObserver>(state: *mut State, counter: u32, distance: u64) {
    // SAFETY: as in `perform`.
    let back = unsafe { &mut *(*state).back.cast::<Back<'_, '_, O>>() };
    if let Some(counts) = back.cx.observer.counts() {
        counts.set_distance(counter, distance);
    }
}

/// [`State::accessed`].
///
/// # Safety
/// As [`perform`]; `addresses` are there.
unsafe extern "C" fn accessed<O: BlockObserver>(
    state: *mut State,
    pc: u32,
    lanes: u32,
    addresses: *const [u64; 32],
) {
    // SAFETY: as in `perform`.
    let back = unsafe { &mut *(*state).back.cast::<Back<'_, '_, O>>() };
    let at = At { pc, warp: back.warp.index, lanes };
    // SAFETY: the caller's.
    let addresses = unsafe { &*addresses };
    let (space, shape) = match &back.cx.launch.code.ops[pc as usize].kind {
        OpKind::Load(op) => (op.space, load_store::shape_of(op, AccessKind::Load)),
        OpKind::Store(op) => (op.space, load_store::shape_of(op, AccessKind::Store)),
        OpKind::Atomic(op) => (op.space, atomic::shape_of(op)),
        // A compiler has no code for others.
        _ => std::process::abort(),
    };
    let (space, generic) = match space {
        SpaceOperand::In(space) => (space, false),
        // Code reaches others by their own instructions only.
        SpaceOperand::Generic => (MemorySpace::Global, true),
    };
    let (registers, base) = (&[], 0);
    let view = access::View { space, generic, registers, rows: 1, base, regs: back.regs };
    access::notify(back.cx, view, addresses, shape, at);
}

fn found(device: &View, address: u64) -> Site {
    device.find(address).map_or(Site::NONE, |allocation| Site {
        start: allocation.address(),
        readable: allocation.size(),
        writable: if device.may_write(allocation) { allocation.size() } else { 0 },
        host: allocation.as_ptr(),
    })
}
