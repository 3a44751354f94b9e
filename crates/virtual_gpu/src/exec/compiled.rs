//! Compiled code as an implementor of slices: the entry into it, its state, and how its slices end.

mod calls;

use std::cell::Cell;

use super::block_state::BlockState;
use super::context::{Compiles, Cx, LaunchContext, SharedMemory};
use super::interpreter::{Raised, barrier_id};
use super::resume::{Resume, WarpState, in_halves};
use super::scheduler::{SLICE, SliceEnd};
use super::warp::Warp;
use crate::counting::{LOG, Logged, Numbers};
use crate::form::op::OpKind;
use crate::form::registers::{NONE, Regs};
use crate::jit::{CompiledRegion, Function, State, Variant};
use crate::memory::View;
use crate::observer::{At, BlockObserver};
use calls::{Back, accessed, empty, expand, full, perform, set_distance};

/// Whether compiled code may run under an observer; and if so, whether it has to count.
pub(super) const fn counted<O: BlockObserver>() -> Option<bool> {
    match O::REGISTERS || O::SYNCHRONISATION || O::YIELDS || O::GOES_ON {
        true => None,
        false if O::COUNTS => Some(true),
        false if O::INSTRUCTIONS || O::MEMORY => None,
        false => Some(false),
    }
}

/// A variant of a kernel's code, and where it counts.
struct EntryVariant<'s> {
    region: &'s CompiledRegion,
    converged: bool,
    numbers: *const Numbers,
    log: *const Cell<Logged>,
}

/// The entry into a kernel's code for the warps of the block that runs. It is kept for all blocks of a thread.
pub(super) struct CodeEntry<'s> {
    /// For diverged warps, and for converged ones.
    variants: [Option<EntryVariant<'s>>; 2],
    /// Which of them has logged last.
    last: Option<usize>,
    state: State,
    /// Whether the threads of half a warp are always of one row of the block.
    in_halves: bool,
    /// [`View::frees`] when the sites were last fetched.
    frees: u64,
    cache: EndCache,
    /// Operations of warps that were interpreted because there is no code for them yet.
    pub missed: u64,
}

/// The group of lanes that code runs for, and the limits of its slice: the fields of [`State`] of these names.
struct Running {
    lanes: u32,
    live: u32,
    reconverge: u32,
    spin_limit: u32,
    converged: u32,
    may_diverge: u32,
    backward: u32,
    steps: u64,
    end: u64,
}

impl<'s> CodeEntry<'s> {
    /// Opens it to the kernel's code, if there is some and no observer has to see each operation.
    pub fn open<'d, O: BlockObserver>(
        entry: &'d mut Option<Self>,
        launch: &LaunchContext<'s>,
        block: &BlockState,
        shared: SharedMemory,
        device: &View,
        observer: &mut O,
    ) -> Option<&'d mut Self> {
        if block.changes.is_some() || block.watch.is_some() || block.phase_waits.is_some() {
            return None;
        }
        if entry.as_ref().is_none_or(|entry| entry.missed > 0) {
            *entry = Some(Self::of::<O>(launch)?);
        }
        let entry = entry.as_mut()?;
        // Before the sites: what is freed meanwhile is noticed.
        entry.frees = device.frees();
        entry.state.sites = device.sites(sites(&entry.variants));
        (entry.state.shared, entry.state.shared_bytes) = (shared.bytes, shared.size.into());
        if O::COUNTS
            && let Some(counts) = observer.counts()
        {
            for variant in entry.variants.iter_mut().flatten() {
                let tables = counts.tables(variant.converged, &variant.region.counters);
                (variant.numbers, variant.log) = (tables.numbers, tables.log.start);
            }
            entry.last = None;
        }
        Some(entry)
    }

    fn of<O: BlockObserver>(launch: &LaunchContext<'s>) -> Option<Self> {
        let Compiles { module, counted, converged: may_converge, .. } = launch.compiled?;
        let variant = |converged: bool| {
            let region = module.compiled.of(launch.kernel.function, Variant { counted, converged })?;
            Some(EntryVariant { region, converged, numbers: std::ptr::null(), log: std::ptr::null() })
        };
        // The first does for both.
        let variants = [variant(false), variant(true).filter(|_| may_converge).or_else(|| variant(false))];
        variants[1].as_ref()?;
        let state = State {
            rows: std::ptr::null_mut(),
            lanes: 0,
            live: 0,
            reconverge: 0,
            spin_limit: 0,
            converged: 0,
            may_diverge: 0,
            backward: 0,
            diverged: 0,
            behind: 0,
            params: launch.params.as_ptr(),
            steps: 0,
            end: 0,
            shared: std::ptr::null_mut(),
            shared_bytes: 0,
            progress: 0,
            sites: std::ptr::null_mut(),
            perform: perform::<O>,
            expand: expand::<O>,
            numbers: std::ptr::null(),
            log: std::ptr::null(),
            log_end: std::ptr::null(),
            full: full::<O>,
            set_distance: set_distance::<O>,
            accessed: accessed::<O>,
            back: std::ptr::null_mut(),
        };
        let in_halves = in_halves(launch.launch.block);
        Some(CodeEntry {
            variants,
            last: None,
            state,
            in_halves,
            frees: 0,
            cache: EndCache::NOTHING,
            missed: 0,
        })
    }

    /// Ends a run of the block: gives the observer what was logged last.
    pub fn close<O: BlockObserver>(&mut self, observer: &mut O) {
        if O::COUNTS
            && let Some(last) = self.last
            && let Some(variant) = &self.variants[last]
        {
            empty(&mut self.state, variant, observer);
        }
    }

    /// Whether the variant for converged warps may run these lanes.
    #[inline]
    fn is_converged(&self, warp: &Warp, lanes: u32) -> bool {
        warp.converged && lanes == u32::MAX && self.in_halves
    }

    /// Operations that a slice must have room for to enter at `pc`; 0 if there is no entry.
    #[inline]
    pub fn block(&self, warp: &Warp, At { pc, lanes, .. }: At) -> u32 {
        let variant = &self.variants[usize::from(self.is_converged(warp, lanes))];
        variant.as_ref().map_or(0, |variant| variant.region.block(pc))
    }

    /// Counts the operations of a warp in the interpreter.
    pub fn count(&mut self, warp: &Warp, executed: u64) {
        if self.variants[0].is_none() && !self.is_converged(warp, warp.live) {
            self.missed += executed;
        }
    }

    /// Runs the lanes of a group from the entry at `pc` until the interpreter has to go on, at the program counter that it
    /// returns, and not beyond the place where the group may reconverge with another.
    pub fn enter<O: BlockObserver>(
        &mut self,
        warp: &mut Warp,
        cx: &mut Cx<'_, O>,
        regs: Regs,
        At { pc, lanes, .. }: At,
        reconverge: u32,
        end: u64,
    ) -> Result<u32, Raised> {
        let converged = self.is_converged(warp, lanes);
        let spin_limit = warp.spin_limit();
        let running = Running {
            lanes,
            live: warp.live,
            reconverge,
            spin_limit,
            converged: converged.into(),
            may_diverge: warp.is_in_order().into(),
            backward: warp.backward,
            steps: warp.steps,
            end,
        };
        let next = self.run(converged.into(), running, warp, cx, regs, pc)?;
        if converged {
            warp.converged = self.state.converged != 0;
            warp.backward = self.state.backward;
            match self.state.diverged {
                0 => self.expand(regs, next),
                lanes => warp.diverge(lanes, next, self.state.behind),
            }
        }
        warp.steps = self.state.steps;
        warp.took_backward(spin_limit - self.state.spin_limit);
        Ok(next)
    }

    /// Runs a slice of a warp, as far as there is code. `None` if the interpreter has to begin it, or to go on with it.
    #[inline(always)]
    pub fn run_slice<O: BlockObserver>(
        &mut self,
        resume: &mut Resume,
        warp: &mut Warp,
        cx: &mut Cx<'_, O>,
    ) -> Result<Option<SliceEnd>, Raised> {
        let which = usize::from(resume.converged != 0);
        let block = self.variants[which].as_ref().map_or(0, |variant| variant.region.block(resume.pc));
        if block == 0 || u64::from(block) > SLICE {
            return Ok(None);
        }
        let end = resume.steps + SLICE;
        let running = Running {
            lanes: resume.lanes,
            // The only group of its warp: there is none to reconverge with, or to wait for.
            live: resume.lanes,
            reconverge: u32::MAX,
            spin_limit: u32::MAX,
            converged: resume.converged,
            may_diverge: resume.may_diverge,
            backward: resume.backward,
            steps: resume.steps,
            end,
        };
        // SAFETY: the rows are those of the warp's first frame.
        let regs = unsafe { Regs::new(resume.rows) };
        let pc = self.run(which, running, warp, cx, regs, resume.pc)?;
        let state = &self.state;
        resume.pc = pc;
        resume.compact = (resume.compact || which == 1) && state.diverged == 0;
        (resume.backward, resume.diverged) = (state.backward, (state.diverged, state.behind));
        (resume.converged, resume.steps) = (state.converged, state.steps);
        if resume.steps == end {
            return Ok(None);
        }
        let Some(ended) = self.cache.end(cx.launch, resume) else { return Ok(None) };
        if O::INSTRUCTIONS {
            cx.observer.instruction(At { pc, warp: warp.index, lanes: resume.lanes });
        }
        resume.steps += 1;
        if ended == SliceEnd::Exit {
            resume.state = WarpState::Exited;
        }
        Ok(Some(ended))
    }

    /// Writes all lanes of registers of which code for converged warps has stored some.
    pub fn expand(&self, regs: Regs, pc: u32) {
        if let Some(variant) = &self.variants[1] {
            // SAFETY: they are of a frame of the function for which the code was made.
            unsafe { variant.region.expand(regs, pc) };
        }
    }

    /// Fills the state that differs from one run of the code to the next, and runs it from the entry at `pc`.
    #[inline(always)]
    fn run<O: BlockObserver>(
        &mut self,
        which: usize,
        running: Running,
        warp: &mut Warp,
        cx: &mut Cx<'_, O>,
        regs: Regs,
        pc: u32,
    ) -> Result<u32, Raised> {
        if O::COUNTS {
            self.count_by(which, cx.observer);
        }
        let CodeEntry { variants, state, frees, .. } = self;
        let Some(variant) = &variants[which] else { return Ok(pc) };
        let now = cx.device.frees();
        if now != *frees {
            *frees = now;
            state.sites = cx.device.sites(sites(variants));
        }
        let mut back = Back { variant, warp, cx, regs, raised: None };
        state.rows = regs.rows();
        (state.lanes, state.live) = (running.lanes, running.live);
        (state.reconverge, state.spin_limit) = (running.reconverge, running.spin_limit);
        (state.converged, state.may_diverge) = (running.converged, running.may_diverge);
        (state.backward, state.diverged) = (running.backward, 0);
        (state.steps, state.end, state.progress) = (running.steps, running.end, 0);
        state.back = (&raw mut back).cast();
        // SAFETY: the code was made for the function that runs in this frame, and `pc` is one of its entries; a `Compiler`
        // promises what the code does.
        let next = unsafe { (variant.region.run)(state, pc - variant.region.start) };
        let raised = back.raised;
        cx.block.progress += state.progress;
        raised.map_or(Ok(next), Err)
    }

    /// Has a variant count in its tables.
    fn count_by<O: BlockObserver>(&mut self, which: usize, observer: &mut O) {
        if self.last == Some(which) {
            return;
        }
        self.close(observer);
        let Some(variant) = &self.variants[which] else { return };
        self.last = Some(which);
        let state = &mut self.state;
        // SAFETY: a log has `LOG` entries.
        (state.numbers, state.log, state.log_end) =
            (variant.numbers, variant.log, unsafe { variant.log.add(LOG) });
    }
}

/// Number of sites that the code of any variant uses.
fn sites(variants: &[Option<EntryVariant<'_>>]) -> usize {
    variants.iter().flatten().map(|variant| variant.region.sites).max().unwrap_or(0)
}

/// Cache: how a slice ends at `pc`, while all warps agree.
struct EndCache {
    /// `u32::MAX` where warps may come to different barriers.
    pc: u32,
    end: Option<SliceEnd>,
}

impl EndCache {
    const NOTHING: EndCache = EndCache { pc: u32::MAX, end: None };

    /// How the slice of a warp ends where code has left it; `None` if it does not.
    #[inline(always)]
    fn end(&mut self, launch: &LaunchContext<'_>, resume: &Resume) -> Option<SliceEnd> {
        if self.pc != resume.pc {
            *self = Self::of(launch, resume);
        }
        self.end
    }

    #[inline(never)]
    fn of(launch: &LaunchContext<'_>, &Resume { pc, lanes, rows, .. }: &Resume) -> Self {
        let op = &launch.code.ops[pc as usize];
        let mut differs = false;
        let end = match &op.kind {
            _ if op.guard.slot != NONE => None,
            OpKind::Return | OpKind::Exit => Some(SliceEnd::Exit),
            OpKind::Barrier(barrier) if barrier.is_plain() => {
                let any = Variant { counted: false, converged: false };
                differs =
                    Function::new(launch.code, launch.kernel.function, any).constant(barrier.id, 1).is_none();
                // SAFETY: the rows are those of the frame of the kernel's function, as `Resume::of` found.
                barrier_id(unsafe { Regs::new(rows) }, barrier, lanes).ok().map(SliceEnd::Barrier)
            }
            _ => None,
        };
        EndCache { pc: if differs { u32::MAX } else { pc }, end }
    }
}
