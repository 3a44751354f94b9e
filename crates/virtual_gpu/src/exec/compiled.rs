//! Enters a program's machine code, and does for it what it has no code for.

use super::block_state::BlockState;
use super::context::{Cx, LaunchContext, SharedMemory};
use super::run::Raised;
use super::steady::Place;
use super::warp::Warp;
use super::{collective, load_store};
use crate::form::op::OpKind;
use crate::form::registers::Regs;
use crate::memory::View;
use crate::observer::{At, BlockObserver};
use crate::stretch::{Site, State, Stretches};

/// What [`perform`] finds behind [`State::back`].
struct Back<'b, 'a, O> {
    warp: &'b mut Warp,
    cx: &'b mut Cx<'a, O>,
    regs: Regs,
    raised: Option<Raised>,
}

/// Whether an observer sees nothing of what a warp does, so that machine code may run in the interpreter's place.
pub(super) const fn is_unseen<O: BlockObserver>() -> bool {
    !O::INSTRUCTIONS && !O::MEMORY && !O::REGISTERS && !O::SYNCHRONISATION && !O::YIELDS
}

/// The way into a kernel's code for the warps of a block that has its turn: what is the same for all of them is told once.
pub(super) struct Door<'s> {
    stretches: &'s Stretches,
    state: State,
    /// Whether a row of the block is whole halves of warps.
    in_halves: bool,
    /// When the sites were last asked for.
    frees: u64,
}

impl<'s> Door<'s> {
    /// The way into the kernel's code, if there is some and nobody has to see what becomes of each operation.
    pub fn of<O: BlockObserver>(
        launch: &LaunchContext<'s>,
        block: &BlockState,
        shared: SharedMemory,
        device: &View,
    ) -> Option<Self> {
        let (_, module) = launch.compiled?;
        if block.changes.is_some() || block.watch.is_some() {
            return None;
        }
        let stretches = module.compiled.of(launch.kernel.function)?;
        // Before the sites: what is freed meanwhile is noticed.
        let frees = device.frees();
        let state = State {
            rows: std::ptr::null_mut(),
            lanes: 0,
            live: 0,
            meet: 0,
            patience: 0,
            together: 0,
            params: launch.params.as_ptr(),
            steps: 0,
            end: 0,
            shared: shared.bytes,
            shared_bytes: shared.size.into(),
            progress: 0,
            sites: device.sites(stretches.sites),
            perform: perform::<O>,
            back: std::ptr::null_mut(),
        };
        let in_halves = launch.launch.block[0].is_multiple_of(16);
        Some(Door { stretches, state, in_halves, frees })
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
        state.together = (place.together && place.lanes == u32::MAX && self.in_halves).into();
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
        let mut back = Back { warp, cx, regs, raised: None };
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
    let Back { warp, cx, regs, raised } = back;
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
        OpKind::Atomic(op) => super::atomic::atomic(warp, cx, op, *regs, at),
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
            *raised = Some(Raised { raise, pc });
            1
        }
    }
}

fn found(device: &View, address: u64) -> Site {
    device.find(address).map_or(Site::NONE, |allocation| Site {
        start: allocation.address(),
        readable: allocation.size(),
        writable: if device.may_write(allocation) { allocation.size() } else { 0 },
        host: allocation.as_ptr(),
    })
}
