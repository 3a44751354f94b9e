//! Enters a program's machine code.

mod calls;
mod round;

use std::cell::Cell;

use super::block_state::BlockState;
use super::context::{Compiles, Cx, LaunchContext, SharedMemory};
use super::converged::{EntryCache, Resume, in_halves};
use super::run::Raised;
use super::warp::Warp;
use crate::counting::{LOG, Logged, Numbers};
use crate::form::registers::Regs;
use crate::jit::{CompiledRegion, State, Variant};
use crate::memory::View;
use crate::observer::{At, BlockObserver};
use calls::{Back, accessed, empty, expand, full, perform, set_distance};
pub(super) use round::{After, Round};

/// Whether machine code may run in the interpreter's resume as far as an observer is concerned; and if so, whether it has to
/// count.
pub(super) const fn counted<O: BlockObserver>() -> Option<bool> {
    match O::REGISTERS || O::SYNCHRONISATION || O::YIELDS || O::GOES_ON {
        true => None,
        false if O::COUNTS => Some(true),
        false if O::INSTRUCTIONS || O::MEMORY => None,
        false => Some(false),
    }
}

/// A kernel's code, for warps whose lanes are converged or for others, and where it counts.
struct EntryVariant<'s> {
    region: &'s CompiledRegion,
    converged: bool,
    numbers: *const Numbers,
    log: *const Cell<Logged>,
}

/// The entry into a kernel's code for the warps of the block that runs: state that all of them share is set once, and state that
/// all blocks of a thread share when there is code.
pub(super) struct CodeEntry<'s> {
    /// For diverged warps, and for converged ones.
    variants: [Option<EntryVariant<'s>>; 2],
    /// Which of them has logged last.
    last: Option<usize>,
    state: State,
    /// Whether the threads of half a warp are always of one row of the block.
    in_halves: bool,
    /// When the sites were last asked for.
    frees: u64,
    /// How the last slice of a converged warp ended.
    pub cache: EntryCache,
    /// Operations of warps that were interpreted because there is no code for them yet.
    pub missed: u64,
}

/// The lanes that run next and the limits of their slice: the fields of [`State`] of these names.
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

impl Running {
    /// The only group of its warp: there is none to reconverge with, or to wait for.
    #[inline(always)]
    fn resumed(resume: &Resume, end: u64) -> Self {
        Running {
            lanes: resume.lanes,
            live: resume.lanes,
            reconverge: u32::MAX,
            spin_limit: u32::MAX,
            converged: resume.converged,
            may_diverge: resume.may_diverge,
            backward: resume.backward,
            steps: resume.steps,
            end,
        }
    }
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
        if block.changes.is_some() || block.watch.is_some() {
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
            cache: EntryCache::NOTHING,
            missed: 0,
        })
    }

    /// Tells the observer what is left to tell when the block's turn is over.
    pub fn close<O: BlockObserver>(&mut self, observer: &mut O) {
        if O::COUNTS
            && let Some(last) = self.last
            && let Some(variant) = &self.variants[last]
        {
            empty(&mut self.state, variant, observer);
        }
    }

    /// Whether code for warps whose lanes are together may run these lanes.
    #[inline]
    fn is_converged(&self, warp: &Warp, lanes: u32) -> bool {
        warp.converged && lanes == u32::MAX && self.in_halves
    }

    /// Operations of the block that lanes of a warp may enter at `pc`; 0 if there is none.
    #[inline]
    pub fn block(&self, warp: &Warp, At { pc, lanes, .. }: At) -> u32 {
        let variant = &self.variants[usize::from(self.is_converged(warp, lanes))];
        variant.as_ref().map_or(0, |variant| variant.region.block(pc))
    }

    /// A warp has executed so many operations.
    pub fn count(&mut self, warp: &Warp, executed: u64) {
        if self.variants[0].is_none() && !self.is_converged(warp, warp.live) {
            self.missed += executed;
        }
    }

    /// Fills the state that code reads of the lanes that run next.
    #[inline(always)]
    fn begin(&mut self, running: Running) {
        let Running { lanes, live, reconverge, spin_limit, converged, may_diverge, backward, steps, end } =
            running;
        let state = &mut self.state;
        (state.lanes, state.live) = (lanes, live);
        (state.reconverge, state.spin_limit) = (reconverge, spin_limit);
        (state.converged, state.may_diverge) = (converged, may_diverge);
        (state.backward, state.diverged) = (backward, 0);
        (state.steps, state.end) = (steps, end);
    }

    /// Runs the lanes of a group from the entry at `pc` until the interpreter has to go on, at the program counter that it
    /// gives, and not beyond the resume where the group may meet another.
    pub fn enter<O: BlockObserver>(
        &mut self,
        warp: &mut Warp,
        cx: &mut Cx<'_, O>,
        regs: Regs,
        At { pc, lanes, .. }: At,
        meet: u32,
        end: u64,
    ) -> Result<u32, Raised> {
        let converged = self.is_converged(warp, lanes);
        let spin_limit = warp.spin_limit();
        self.begin(Running {
            lanes,
            live: warp.live,
            reconverge: meet,
            spin_limit,
            converged: converged.into(),
            may_diverge: warp.is_in_order().into(),
            backward: warp.backward,
            steps: warp.steps,
            end,
        });
        let next = self.go(converged.into(), warp, cx, regs, pc)?;
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

    /// The same for a warp whose lanes are converged, if there is an entry where it is.
    #[inline]
    pub fn pass<O: BlockObserver>(
        &mut self,
        resume: &mut Resume,
        warp: &mut Warp,
        cx: &mut Cx<'_, O>,
        end: u64,
    ) -> Result<(), Raised> {
        let which = usize::from(resume.converged != 0);
        let block = self.variants[which].as_ref().map_or(0, |variant| variant.region.block(resume.pc));
        if block == 0 || resume.steps + u64::from(block) > end {
            return Ok(());
        }
        self.begin(Running::resumed(resume, end));
        // SAFETY: the rows are those of the warp's first frame.
        let regs = unsafe { Regs::new(resume.rows) };
        resume.pc = self.go(which, warp, cx, regs, resume.pc)?;
        resume.compact = (resume.compact || which == 1) && self.state.diverged == 0;
        (resume.backward, resume.diverged) = (self.state.backward, (self.state.diverged, self.state.behind));
        resume.converged = self.state.converged;
        resume.steps = self.state.steps;
        Ok(())
    }

    /// Writes all lanes of registers of which code for warps whose lanes are converged has left some.
    pub fn expand(&self, regs: Regs, pc: u32) {
        if let Some(variant) = &self.variants[1] {
            // SAFETY: they are of a frame of the function for which the code was made.
            unsafe { variant.region.expand(regs, pc) };
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
        let CodeEntry { variants, state, frees, .. } = self;
        let now = cx.device.frees();
        if now != *frees {
            *frees = now;
            state.sites = cx.device.sites(sites(variants));
        }
        let Some(variant) = &variants[which] else { return Ok(pc) };
        let mut back = Back { variant, warp, cx, regs, raised: None };
        state.rows = regs.rows();
        state.back = (&raw mut back).cast();
        // SAFETY: the code was made for the function that runs in this frame, and `pc` is one of its entries; a `Compiler`
        // promises what the code does.
        let next = unsafe { (variant.region.run)(state, pc - variant.region.start) };
        back.raised.map_or(Ok(next), Err)
    }

    /// Has the code that runs next count in its tables.
    fn count_by<O: BlockObserver>(&mut self, which: usize, observer: &mut O) {
        if self.last == Some(which) {
            return;
        }
        self.close(observer);
        let Some(variant) = &self.variants[which] else { return };
        self.last = Some(which);
        let state = &mut self.state;
        // SAFETY: a log has so many entries.
        (state.numbers, state.log, state.log_end) =
            (variant.numbers, variant.log, unsafe { variant.log.add(LOG) });
    }
}

/// How many resumes the code has that remember an allocation.
fn sites(variants: &[Option<EntryVariant<'_>>]) -> usize {
    variants.iter().flatten().map(|variant| variant.region.sites).max().unwrap_or(0)
}
