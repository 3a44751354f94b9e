//! The seam between the interpreter and whoever compiles its programs.
//!
//! A *stretch* is what of a function runs without the interpreter: blocks of operations in a row, and the branches between
//! them, for a group of lanes that stays together. A [`Compiler`] is shown a function ([`Function`]) and gives [`Stretches`]:
//! machine code, and the program counters at which it may be entered. The interpreter asks for it at these, and goes on at the
//! program counter that comes back: at an operation that is not compiled, where the group splits or meets another, or where
//! the warp's share of operations is used up. So the order in which groups, warps and blocks run is the same to the operation,
//! compiled or not.
//!
//! What an operation has no code for, the code asks the interpreter to do: [`State::perform`]. For launches of which an observer
//! wants counts there is other code, which counts ([`crate::counting`]).

use std::any::Any;
use std::cell::Cell;
use std::ffi::c_void;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::counting::{Counter, Logged, Numbers};
pub use crate::exec::MOST_BACKWARD;
pub use crate::form::access::{AddressOperand, AtomicFunction, SpaceOperand};
pub use crate::form::arithmetic::{Arithmetic, Opcode};
use crate::form::extension::Needs;
pub use crate::form::op::{AtomicOp, CollectiveKind, CollectiveOp, Guard, MemoryOp, ParamOp, ShuffleMode};
use crate::form::op::{DynamicSpecial, OpKind};
use crate::form::program::{Code, FunctionCode, Init};
pub use crate::form::qualifiers::{
    Accuracy, Compare, Convert, Converted, ProductHalf, Qualifiers, Region, Relation, Tiny, Video,
};
use crate::form::registers::Regs;
pub use crate::form::registers::{NONE, Row, Slot};

/// Makes machine code of functions.
///
/// # Safety
/// The code must do to the rows of a frame, to memory and to [`State`] what the interpreter would do in its place, and reach
/// no other memory.
pub unsafe trait Compiler: fmt::Debug + Send + Sync {
    /// How many operations of a kernel the interpreter runs before the compiler is asked for it.
    fn patience(&self, function: &Function<'_>) -> u64;

    /// Compiles a function of which the interpreter has run so many operations. When there is code makes no difference to
    /// results and counters.
    fn compile(&self, function: &Function<'_>, executed: u64) -> Answer;
}

/// What a [`Compiler`] says of a function.
#[derive(Debug)]
pub enum Answer {
    /// The code.
    Code(Stretches),
    /// Nothing yet: it is to be asked again when so many operations of the function have run in all.
    Later(u64),
    /// The function stays with the interpreter.
    Never,
}

/// The machine code of a function.
pub struct Stretches {
    /// Enters the code at the entry of that number, and gives the program counter at which the interpreter goes on.
    pub run: unsafe extern "C" fn(*mut State, u32) -> u32,
    /// The function's first program counter.
    pub start: u32,
    /// By program counter, from `start` on: for how many operations whoever enters there must have room, 0 where there is no
    /// entry. The number of an entry is its distance from `start`. Without that room the code leaves at once.
    pub blocks: Box<[u32]>,
    /// Where blocks start, in ascending order: operations that are counted when all of them have run.
    pub starts: Box<[u32]>,
    /// Registers that the code leaves in the frame by some of their lanes only.
    pub narrow: Box<[Narrow]>,
    /// Those of them that may still be read, by program counters in ascending order.
    pub narrow_at: Box<[(u32, Box<[Narrow]>)]>,
    /// How many places the code has that remember an allocation.
    pub sites: usize,
    /// What the code counts, if [`Function::is_counted`]; else nothing.
    pub counters: Arc<[Counter]>,
    /// What keeps the code in memory.
    pub code: Box<dyn Any + Send + Sync>,
}

/// A register of which one lane tells all others, or that of each half those of the half.
#[derive(Debug, Clone, Copy)]
pub struct Narrow {
    pub slot: Slot,
    /// It has 64 bits.
    pub is_long: bool,
    /// The first lane of each half tells those of that half.
    pub halves: bool,
    /// By how much a lane differs from the one before in its half.
    pub stride: i64,
}

impl Narrow {
    /// Writes all of its lanes.
    ///
    /// # Safety
    /// The registers are those of the function for which the code was made.
    unsafe fn widen(self, regs: Regs) {
        let Narrow { slot, is_long, halves, stride } = self;
        let first = |lane: usize| if halves { lane / 16 * 16 } else { 0 };
        let distance = |lane: usize| stride.wrapping_mul(lane as i64 % 16);
        // SAFETY: the register has 64 bits or 32 of the function, as `is_long` says.
        unsafe {
            if is_long {
                let of = [regs.get::<u64>(slot, 0), regs.get(slot, first(16))];
                let all: [u64; 32] =
                    std::array::from_fn(|lane| of[lane / 16].wrapping_add_signed(distance(lane)));
                regs.store(slot, &all, u32::MAX);
            } else {
                let of = [regs.get::<u32>(slot, 0), regs.get(slot, first(16))];
                let all: [u32; 32] =
                    std::array::from_fn(|lane| of[lane / 16].wrapping_add(distance(lane) as u32));
                regs.store(slot, &all, u32::MAX);
            }
        }
    }
}

impl fmt::Debug for Stretches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stretches").field("start", &self.start).finish_non_exhaustive()
    }
}

impl Stretches {
    /// Writes all lanes of the registers of which the code has left some in the frame, if it was left at `pc`.
    ///
    /// # Safety
    /// As [`Narrow::widen`].
    pub(crate) unsafe fn widen(&self, regs: Regs, pc: u32) {
        let narrow = match self.narrow_at.binary_search_by_key(&pc, |narrow| narrow.0) {
            Ok(at) => &self.narrow_at[at].1,
            Err(_) => &self.narrow,
        };
        // SAFETY: the caller's.
        narrow.iter().for_each(|narrow| unsafe { narrow.widen(regs) });
    }

    /// Operations for which there must be room to enter at `pc`; 0 if there is no entry.
    #[inline]
    pub(crate) fn block(&self, pc: u32) -> u32 {
        self.blocks.get(pc.wrapping_sub(self.start) as usize).copied().unwrap_or(0)
    }
}

/// What the code reaches. It runs for a group of lanes of one warp.
#[derive(Debug)]
#[repr(C)]
pub struct State {
    /// The frame's rows. Only those of the group's lanes may change.
    pub rows: *mut Row,
    /// The group's lanes.
    pub lanes: u32,
    /// The warp's lanes that have not exited.
    pub live: u32,
    /// Where the group may meet another: no operation at this program counter or behind it is run. `u32::MAX`: nowhere.
    pub meet: u32,
    /// Backward branches that the group may take before another has its turn; the code counts down.
    pub patience: u32,
    /// Not 0 where [`Variant::together`] is true. The code sets it to 0 if a register is not what it should be then.
    pub together: u32,
    /// Backward branches that the warp has taken while groups waited for each other; the code counts on, below
    /// [`MOST_BACKWARD`].
    pub backward: u32,
    /// Lanes that go on where the code was left, if others wait `behind`; the code has written all lanes of all registers then.
    pub parted: u32,
    pub behind: u32,
    /// Not 0 if of groups that split the one at the lowest program counter would run first.
    pub may_split: u32,
    /// The kernel's parameters; decoding and the launch have checked their size.
    pub params: *const u8,
    /// Operations that the warp has executed; the code counts on.
    pub steps: u64,
    /// The code stops before `steps` passes this.
    pub end: u64,
    /// The block's shared memory.
    pub shared: *mut u8,
    pub shared_bytes: u64,
    /// Stores that others could see; the code counts on.
    pub progress: u64,
    /// By number: where an access found its bytes the last time.
    pub sites: *mut Site,
    /// Has the interpreter do the operation at a program counter, in these lanes, on the frame's rows. Fills the site of
    /// that number, if it is one. Gives 0, or 1 if the operation faulted: the code then returns at once.
    pub perform: unsafe extern "C" fn(*mut State, u32, u32, u32) -> u32,
    /// Writes all lanes of the registers in [`Stretches::narrow`].
    pub widen: unsafe extern "C" fn(*mut State),
    /// From here on the state of code that counts ([`Function::is_counted`]). By number: its counters.
    pub numbers: *const Numbers,
    /// Where the next access is logged, and the end of the log.
    pub log: *const Cell<Logged>,
    pub log_end: *const Cell<Logged>,
    /// Empties the log.
    pub full: unsafe extern "C" fn(*mut State),
    /// Sets a [`Counter::Distance`], by its number.
    pub set_distance: unsafe extern "C" fn(*mut State, u32, u64),
    /// Shows an access, which was done: its program counter, its lanes, and the address of each lane.
    pub accessed: unsafe extern "C" fn(*mut State, u32, u32, *const [u64; 32]),
    /// The interpreter's own.
    pub back: *mut c_void,
}

/// An allocation, as an access reaches it. All zeros is none.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Site {
    /// Its first device address.
    pub start: u64,
    /// Bytes that may be read.
    pub readable: u64,
    /// Bytes that may be written: all or none.
    pub writable: u64,
    /// Its first byte on the host.
    pub host: *mut u8,
}

impl Site {
    /// Nowhere.
    pub const NONE: Site = Site { start: 0, readable: 0, writable: 0, host: std::ptr::null_mut() };
}

/// What neighbouring lanes are told in a register, most often: blocks may be narrower than a warp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// The same.
    Alike,
    /// The same in a row of the block.
    AlikeInRow,
    /// Numbers that follow each other.
    InOrder,
    Apart,
}

/// For which runs of a function code is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variant {
    /// It has to count what it does.
    pub counted: bool,
    /// It runs for warps only whose lanes are all there and have gone all ways together, and the threads of each half of which
    /// are neighbours in one row of the block. So lanes of a register differ only by what threads are told.
    pub together: bool,
}

/// A function as a compiler sees it.
#[derive(Debug, Clone, Copy)]
pub struct Function<'c> {
    code: &'c Code,
    function: &'c FunctionCode,
    variant: Variant,
}

/// An operation as a compiler sees it.
#[derive(Debug, Clone, Copy)]
pub struct Step<'c> {
    /// The predicate under which it runs.
    pub guard: Guard,
    /// What it does.
    pub kind: Kind<'c>,
    /// Registers that it reads, with their rows (0: a predicate), the guard not among them.
    pub reads: &'c [(Slot, u32)],
    /// Registers that it writes.
    pub writes: &'c [(Slot, u32)],
    /// Registers that it names beside these.
    pub mentioned: &'c [Slot],
}

/// What an operation does, as far as a compiler may take it on.
#[derive(Debug, Clone, Copy)]
pub enum Kind<'c> {
    /// Registers only.
    Arithmetic(&'c Arithmetic),
    Load(&'c MemoryOp),
    Store(&'c MemoryOp),
    /// A load of a kernel's parameter.
    Parameter(&'c ParamOp),
    Atomic(&'c AtomicOp),
    /// Lanes take part together. If [`CollectiveOp::members`] are not all here, with one member mask, it is the interpreter's.
    Collective(&'c CollectiveOp),
    Fence,
    /// Writes which lanes run it.
    ActiveMask {
        target: Slot,
    },
    Branch {
        target: u32,
    },
    /// Goes to one of these.
    Table(&'c [u32]),
    Nothing,
    /// The interpreter does it ([`State::perform`]) and goes on with the next operation, if all lanes of the warp do it where it
    /// takes the `whole` warp.
    Called {
        whole: bool,
    },
    /// The function ends here, or the thread, unless the guard says no.
    End,
    /// For the interpreter alone.
    Other,
}

impl<'c> Function<'c> {
    pub(crate) fn new(code: &'c Code, index: u32, variant: Variant) -> Self {
        Function { code, function: &code.functions[index as usize], variant }
    }

    /// See [`Variant::counted`].
    pub fn is_counted(&self) -> bool {
        self.variant.counted
    }

    /// See [`Variant::together`].
    pub fn is_together(&self) -> bool {
        self.variant.together
    }

    /// Registers that may be read before they are written.
    pub fn unset(&self) -> &'c [Slot] {
        &self.function.unset
    }

    /// Its program counters.
    pub fn range(&self) -> Range<u32> {
        self.function.start..self.function.end
    }

    /// Rows of its frame.
    pub fn rows(&self) -> u32 {
        self.function.image.len() as u32
    }

    /// The operation at one of them.
    pub fn step(&self, pc: u32) -> Step<'c> {
        let (op, touched) = (&self.code.ops[pc as usize], &self.code.touched[pc as usize]);
        let kind = match &op.kind {
            OpKind::Alu(arithmetic) => Kind::Arithmetic(arithmetic),
            OpKind::Load(op) => Kind::Load(op),
            OpKind::Store(op) => Kind::Store(op),
            OpKind::LoadParam(op) => Kind::Parameter(op),
            OpKind::Atomic(op) => Kind::Atomic(op),
            OpKind::Collective(op) => Kind::Collective(op),
            OpKind::Fence { .. } => Kind::Fence,
            &OpKind::Special { target, which: DynamicSpecial::ActiveMask } => Kind::ActiveMask { target },
            &OpKind::Branch { target } | &OpKind::Jump { target } => Kind::Branch { target },
            OpKind::BranchIndexed { targets, .. } => Kind::Table(targets),
            OpKind::Nop => Kind::Nothing,
            OpKind::Return | OpKind::Exit | OpKind::Trap => Kind::End,
            OpKind::Extension(extension) if touched.mentioned.is_empty() => match extension.needs() {
                Some(Needs::AnyLanes) => Kind::Called { whole: false },
                Some(Needs::WholeWarp) if self.variant.together && op.guard.slot == NONE => {
                    Kind::Called { whole: true }
                }
                _ => Kind::Other,
            },
            _ => Kind::Other,
        };
        Step {
            guard: op.guard,
            kind,
            reads: &touched.reads,
            writes: &touched.writes,
            mentioned: &touched.mentioned,
        }
    }

    /// Registers that are set when a frame is made and that no operation writes: what a thread is told of itself and of the
    /// launch. They are not among those that operations read.
    pub fn fixed(&self) -> impl Iterator<Item = (Slot, Told)> + 'c {
        self.function.inits.iter().map(|&(slot, init)| {
            let told = match init {
                Init::Tid(0) | Init::LaneId => Told::InOrder,
                Init::LaneMask(_) => Told::Apart,
                Init::Tid(_) => Told::AlikeInRow,
                _ => Told::Alike,
            };
            (slot, told)
        })
    }

    /// The value of a register that no operation writes and no thread has its own of: by 32 bits, the lowest first.
    pub fn constant(&self, slot: Slot, rows: u32) -> Option<u64> {
        self.function.constants.binary_search(&slot).ok()?;
        let row = |at: u32| self.function.image.get(at as usize).map(|row| row.0);
        match rows {
            0 | 1 => row(slot).map(|row| row[0].into()),
            2 => row(slot).map(|row| u64::from(row[1]) << 32 | u64::from(row[0])),
            _ => None,
        }
    }
}

/// What of a module is compiled, by function and variant.
#[derive(Debug)]
pub(crate) struct Compiled(Box<[[Progress; 4]]>);

impl Variant {
    fn index(self) -> usize {
        usize::from(self.counted) + 2 * usize::from(self.together)
    }
}

#[derive(Debug, Default)]
struct Progress {
    /// Operations that launches of it have run, before it was compiled.
    executed: AtomicU64,
    /// The compiler is asked after so many of them: [`UNKNOWN`] before somebody looked, [`ASKED`] while it works and when it
    /// is done.
    asked_after: AtomicU64,
    made: OnceLock<Stretches>,
}

const UNKNOWN: u64 = 0;
const ASKED: u64 = u64::MAX;

impl Compiled {
    /// Nothing yet, of so many functions.
    pub fn none(functions: usize) -> Self {
        Compiled((0..functions).map(|_| Default::default()).collect())
    }

    /// The machine code of a function, if it is there.
    pub fn of(&self, function: u32, variant: Variant) -> Option<&Stretches> {
        self.0[function as usize][variant.index()].made.get()
    }

    /// Whether a function has machine code.
    pub fn has(&self, function: u32) -> bool {
        self.0[function as usize].iter().any(|progress| progress.made.get().is_some())
    }

    /// Launches of a function have run so many more operations: the compiler is asked for it if that is worth it.
    pub fn count(&self, compiler: &dyn Compiler, function: &Function<'_>, index: u32, executed: u64) {
        let progress = &self.0[index as usize][function.variant.index()];
        let asked_after = progress.asked_after.load(Ordering::Relaxed);
        if asked_after == ASKED {
            return;
        }
        let executed = progress.executed.fetch_add(executed, Ordering::Relaxed) + executed;
        let patience = match asked_after {
            UNKNOWN => compiler.patience(function),
            known => known,
        };
        let becomes = if executed < patience { patience } else { ASKED };
        if becomes == asked_after {
            return;
        }
        let order = Ordering::Relaxed;
        let first = progress.asked_after.compare_exchange(asked_after, becomes, order, order).is_ok();
        if first && becomes == ASKED {
            match compiler.compile(function, executed) {
                Answer::Code(stretches) => {
                    // Nobody else is asked for it.
                    let _ = progress.made.set(stretches);
                }
                Answer::Later(operations) => progress.asked_after.store(operations, Ordering::Relaxed),
                Answer::Never => {}
            }
        }
    }
}
