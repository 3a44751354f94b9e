//! A decoded program: the flat list of operations of all functions of a module, and the source of each.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use ptx::{LocId, SourceLines};

use super::op::{Op, Touched};
use super::registers::{Row, Slot};
use super::signature::Signature;
use crate::fault::{Location, SourceFrame};
use crate::memory::window;

/// The decoded program of a module. Program counters index its operations.
#[derive(Default)]
pub struct Code {
    pub(crate) target: u32,
    pub(crate) version: (u32, u32),
    pub(crate) ops: Vec<Op>,
    pub(crate) sites: Vec<CodeSite>,
    pub(crate) touched: Vec<Touched>,
    pub(crate) opcodes: Vec<Option<Arc<ptx::Opcode>>>,
    pub(crate) functions: Vec<FunctionCode>,
    pub(crate) lines: SourceLines,
    /// The source frames of each `.loc` directive. Computed on first use: chains of inlined calls may be long, and most
    /// are never needed.
    pub(crate) frames: Box<[OnceLock<Box<[SourceFrame]>>]>,
    /// The module's shared variables in order; each kernel assigns offsets to those it reaches.
    pub(crate) shared: Vec<SharedVariable>,
    /// For each operation the shared variable its address derives from, counted from 1; 0 if unknown.
    pub(crate) shared_of: Vec<u32>,
    /// The cost of the analyses at load: how many operations and blocks they examined.
    pub(crate) steps: u64,
    /// By function start: the operations that call it. Computed on first use.
    pub(crate) calls: OnceLock<HashMap<u32, Vec<u32>>>,
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Code")
            .field("functions", &self.functions)
            .field("operations", &self.ops.len())
            .finish()
    }
}

/// The source of one operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CodeSite {
    pub ptx_line: u32,
    pub loc: Option<LocId>,
}

#[derive(Debug, Clone)]
pub(crate) struct SharedVariable {
    pub name: String,
    pub size: u32,
    pub align: u32,
    /// `.extern .shared x[]`: the launch sets its size.
    pub dynamic: bool,
}

#[derive(Debug, Default)]
pub(crate) struct FunctionCode {
    pub name: String,
    pub start: u32,
    pub end: u32,
    /// Rows of registers as the text names them, before those that are never live together share rows.
    pub registers: u32,
    /// The initial contents of a frame: constants in place, everything else zero.
    pub image: Box<[Row]>,
    /// The first rows of constants, in ascending order.
    pub constants: Box<[Slot]>,
    /// Values that depend on the launch, the block or the thread.
    pub inits: Box<[(Slot, Init)]>,
    /// Bytes of local variables, parameters and call areas.
    pub local_size: u32,
    /// Its parameters and results as seen by callers.
    pub signature: Signature,
    /// Shared variables and functions that its own code names, for the kernels that reach it.
    pub shared_used: Box<[u32]>,
    pub calls: Box<[u32]>,
    pub calls_indirectly: bool,
    /// See [`Code::unset`].
    pub unset: Box<[Slot]>,
    /// The result of following values through it.
    pub followed: OnceLock<Followed>,
    /// The parameters that it passes to a compare-and-swap, by depth of calls.
    pub swaps: [OnceLock<Box<[SwappedParams]>>; CALLS],
    /// See [`Code::parameter_of`]: by operation, the offset and 1; 0 if unknown.
    pub parameters: OnceLock<Box<[u32]>>,
}

/// Facts about a function's loads and stores from its data flow.
#[derive(Debug, Default)]
pub(crate) struct Followed {
    /// See [`Code::guesses`].
    pub guesses: HashSet<u32>,
    /// See [`Code::updates`].
    pub updates: HashMap<u32, Box<[u32]>>,
    /// Volatile loads of flags, which are meant to be read while others write them.
    pub flags: HashSet<u32>,
}

/// The parameters of a function that become the address and the expected value of a compare-and-swap.
pub(crate) type SwappedParams = (usize, usize);

/// How many levels of calls are searched for swaps.
pub(crate) const CALLS: usize = 3;

/// A register that is set when a frame is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Init {
    /// Address of a shared variable plus an offset: 32 bits, 64 bits, or generic.
    Shared {
        variable: u32,
        offset: i64,
        form: AddressForm,
    },
    /// Address in the frame's local memory.
    Local {
        offset: i64,
        form: AddressForm,
    },
    Zero,
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    LaneId,
    WarpId,
    NWarpId,
    SmId,
    NSmId,
    GridId,
    GridIdLow,
    LaneMask(LaneMask),
    DynamicSharedSize,
    SharedSize(SharedSize),
    ClusterId(u8),
    NClusterId(u8),
    ClusterCtaid(u8),
    ClusterNctaid(u8),
    ClusterCtaRank,
    ClusterNctaRank,
    IsExplicitCluster,
    /// `%envreg1` (high) and `%envreg2` (low): where a cooperative launch keeps its barrier.
    Workspace {
        high: bool,
    },
}

/// A special register about a block's shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum SharedSize {
    /// The size of the kernel's variables plus the launch's dynamic part.
    Total,
    /// The same plus what the system reserves.
    Aggregate,
    ReservedBegin,
    ReservedEnd,
    ReservedCapacity,
}

/// How wide an address is, and whether it is generic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum AddressForm {
    Narrow,
    Wide,
    Generic,
}

/// `%lanemask_*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum LaneMask {
    Eq,
    Le,
    Lt,
    Ge,
    Gt,
}

/// A kernel as a launch sees it.
#[derive(Debug, Default)]
pub(crate) struct KernelCode {
    pub name: String,
    /// Index into `Code::functions`.
    pub function: u32,
    pub params: Vec<Param>,
    pub param_bytes: u32,
    /// The module's shared variables that the kernel reaches and that have a size, with their offsets, in ascending
    /// order of variable.
    pub shared_offsets: Arc<[(u32, u32)]>,
    pub static_shared: u32,
    /// Whether it asks where the system's own part of shared memory is, as cooperative groups of several warps do.
    pub asks_reserved_shared: bool,
    /// Alignment of the dynamic part.
    pub dynamic_align: u32,
    pub local_bytes: u32,
    pub const_bytes: u32,
    pub registers: u32,
    pub max_threads: Option<u32>,
    pub required_block: Option<[u32; 3]>,
    pub required_cluster: Option<[u32; 3]>,
}

impl KernelCode {
    /// The kernel's offset for a shared variable of the module.
    pub fn shared_offset(&self, variable: u32) -> Option<u32> {
        let at = self.shared_offsets.binary_search_by_key(&variable, |placed| placed.0);
        at.ok().map(|at| self.shared_offsets[at].1)
    }
}

impl Code {
    pub fn len(&self) -> usize {
        self.sites.len()
    }

    pub fn is_empty(&self) -> bool {
        self.sites.is_empty()
    }

    /// How many operations and blocks the analyses at load examined, counting repeats: proportional to the program,
    /// whatever its shape.
    pub fn analysis_steps(&self) -> u64 {
        self.steps
    }

    /// The PTX line of an operation; 0 if the program counter is out of range.
    pub fn ptx_line(&self, pc: u32) -> u32 {
        self.sites.get(pc as usize).map_or(0, |s| s.ptx_line)
    }

    /// Whether the text has source lines at all.
    pub fn has_lines(&self) -> bool {
        !self.frames.is_empty()
    }

    /// An operation's opcode and modifiers; `None` for operations added by decoding.
    pub fn opcode(&self, pc: u32) -> Option<&ptx::Opcode> {
        self.opcodes.get(pc as usize)?.as_deref()
    }

    /// An operation's source frames, innermost first. Where the compiler gives none, or line 0 for what it moved or merged, those
    /// of the nearest operation of the same function: of one before it, or else behind it.
    pub fn frames(&self, pc: u32) -> &[SourceFrame] {
        const NEAR: u32 = 64;
        let of = |pc: u32| {
            let loc = self.sites.get(pc as usize).and_then(|site| site.loc);
            let known = loc.and_then(|loc| Some((loc, self.frames.get(loc.0 as usize)?)));
            let frames = known.map(|(loc, frames)| {
                frames.get_or_init(|| self.lines.frames(loc).into_iter().map(SourceFrame::from).collect())
            });
            frames.map_or(&[][..], |frames| frames)
        };
        let has_line = |frames: &&[SourceFrame]| frames.first().is_some_and(|frame| frame.line != 0);
        let own = of(pc);
        if has_line(&own) || !self.has_lines() {
            return own;
        }
        let function = self.function_at(pc).map_or(pc..pc, |function| function.start..function.end);
        let before = (function.start.max(pc.saturating_sub(NEAR))..pc).rev();
        let after = pc + 1..function.end.min(pc.saturating_add(NEAR));
        // A call that was inlined is better than line 0.
        let outer = || &own[own.iter().position(|frame| frame.line != 0).unwrap_or(own.len())..];
        before.chain(after).map(of).find(has_line).unwrap_or_else(outer)
    }

    /// The shared variable that an operation's address derives from, if the text shows it: an index into
    /// [`crate::observer::LaunchInfo::shared`].
    pub fn shared_of(&self, pc: u32) -> Option<usize> {
        self.shared_of.get(pc as usize).and_then(|of| of.checked_sub(1)).map(|of| of as usize)
    }

    /// The kernel parameter that an operation's address derives from, if the text shows that it is one alone: its offset in
    /// the parameter block.
    pub fn parameter_of(&self, pc: u32) -> Option<u32> {
        let function = self.function_of(pc)?;
        let parameters = function.parameters.get_or_init(|| super::provenance::parameters_of(self, function));
        parameters.get((pc - function.start) as usize)?.checked_sub(1)
    }

    /// The operations of a function.
    pub fn operations_of(&self, function: u32) -> Range<u32> {
        self.functions.get(function as usize).map_or(0..0, |function| function.start..function.end)
    }

    /// The name of the function that contains an operation.
    pub fn function(&self, pc: u32) -> Option<&str> {
        self.function_at(pc).map(|function| function.name.as_str())
    }

    fn function_at(&self, pc: u32) -> Option<&FunctionCode> {
        let i = self.functions.partition_point(|f| f.end <= pc);
        self.functions.get(i).filter(|f| f.start <= pc)
    }

    /// All of the above.
    pub fn location(&self, pc: u32) -> Location {
        Location {
            function: self.function(pc).unwrap_or_default().to_owned(),
            ptx_line: self.ptx_line(pc),
            frames: self.frames(pc).to_vec(),
        }
    }
}

/// A parameter of a kernel in the parameter block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Param {
    pub name: String,
    /// Bytes from the start of the block.
    pub offset: u32,
    pub size: u32,
    /// Alignment of the offset.
    pub align: u32,
}

/// The address that `mov` yields for a function.
pub(crate) fn code_address(function: u32) -> u64 {
    window::CODE + 16 * (u64::from(function) + 1)
}
