//! Functions that machine code calls: operations of the interpreter, and events for the observer.

use super::EntryVariant;
use crate::exec::context::{Cx, Step};
use crate::exec::interpreter::Raised;
use crate::exec::warp::Warp;
use crate::exec::{access, atomic, collective, extension, load_store};
use crate::form::access::SpaceOperand;
use crate::form::op::{Op, OpKind};
use crate::form::registers::{NONE, Regs};
use crate::jit::{CompiledRegion, Site, State};
use crate::memory::View;
use crate::observer::{AccessKind, At, BlockObserver, MemorySpace};

/// The context behind [`State::back`].
pub struct Back<'b, 'a, O> {
    pub variant: &'b EntryVariant<'b>,
    pub warp: &'b mut Warp,
    pub cx: &'b mut Cx<'a, O>,
    pub regs: Regs,
    pub raised: Option<Raised>,
}

/// [`State::perform`].
///
/// # Safety
/// `state` is that of a [`super::CodeEntry`], and the code that was given it calls this.
pub unsafe extern "C" fn perform<O: BlockObserver>(state: *mut State, pc: u32, lanes: u32, site: u32) -> u32 {
    if lanes == 0 {
        return 0;
    }
    // SAFETY: [`CodeEntry::enter`] made both, keeps them alive, and touches neither while the code runs.
    let (state, back) = unsafe { (&mut *state, &mut *(*state).back.cast::<Back<'_, '_, O>>()) };
    let Back { variant, warp, cx, regs, raised } = back;
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
        // SAFETY: the entry has room for the `sites` of the compiled code.
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
        // The code runs in the kernel's own frame, the first.
        OpKind::Extension(op) => match extension::execute(op, &mut cx.machine(warp, *regs, 0), at) {
            Ok(Step::Next) => Ok(()),
            Ok(Step::Retry | Step::Yield) => std::process::abort(),
            Err(raise) => Err(raise),
        },
        // A compiler leaves all others alone.
        _ => std::process::abort(),
    };
    match done {
        Ok(()) => 0,
        Err(raise) => {
            if O::COUNTS {
                let group = At { lanes: state.lanes, ..at };
                begun(variant.region, &launch.code.ops, group, |at| cx.observer.instruction(at));
            }
            *raised = Some(Raised { raise, pc });
            1
        }
    }
}

/// The operations of a block up to the one at a program counter, of which the code has counted the lanes with guards only: it
/// counts a block when all of it has run.
fn begun(region: &CompiledRegion, ops: &[Op], at: At, mut count: impl FnMut(At)) {
    let behind = region.starts.partition_point(|&start| start <= at.pc);
    let start = behind.checked_sub(1).map_or(at.pc, |block| region.starts[block]);
    for pc in start..=at.pc {
        let lanes = if ops[pc as usize].guard.slot == NONE { at.lanes } else { 0 };
        count(At { pc, lanes, ..at });
    }
}

/// Gives the observer what code has logged.
pub fn empty<O: BlockObserver>(state: &mut State, variant: &EntryVariant<'_>, observer: &mut O) {
    // SAFETY: the code has logged from the beginning on, and not beyond the end.
    let accesses = unsafe { state.log.offset_from(variant.log) };
    if accesses > 0
        && let Some(counts) = observer.counts()
    {
        counts.logged(variant.converged, accesses as usize);
    }
    state.log = variant.log;
}

/// [`State::full`].
///
/// # Safety
/// As [`perform`].
pub unsafe extern "C" fn full<O: BlockObserver>(state: *mut State) {
    // SAFETY: as in `perform`.
    let (state, back) = unsafe { (&mut *state, &mut *(*state).back.cast::<Back<'_, '_, O>>()) };
    empty(state, back.variant, back.cx.observer);
}

/// [`State::set_distance`].
///
/// # Safety
/// As [`perform`].
pub unsafe extern "C" fn set_distance<O: BlockObserver>(state: *mut State, counter: u32, distance: u64) {
    // SAFETY: as in `perform`.
    let back = unsafe { &mut *(*state).back.cast::<Back<'_, '_, O>>() };
    if let Some(counts) = back.cx.observer.counts() {
        counts.set_distance(back.variant.converged, counter, distance);
    }
}

/// [`State::accessed`].
///
/// # Safety
/// As [`perform`]; `addresses` are there.
pub unsafe extern "C" fn accessed<O: BlockObserver>(
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

/// [`State::expand`].
///
/// # Safety
/// As [`perform`].
pub unsafe extern "C" fn expand<O: BlockObserver>(state: *mut State) {
    // SAFETY: as in `perform`; the registers are those of the function that runs.
    unsafe {
        let back = &*(*state).back.cast::<Back<'_, '_, O>>();
        back.variant.region.expand(back.regs, u32::MAX);
    }
}

fn found(device: &View, address: u64) -> Site {
    device.find(address).map_or(Site::NONE, |allocation| Site {
        start: allocation.address(),
        readable: device.size_of(allocation),
        writable: if device.may_write(allocation) { device.size_of(allocation) } else { 0 },
        host: allocation.as_ptr(),
    })
}
