//! A decoded program: the flat list of operations of all functions of a module, and where each came from.

use std::collections::{HashMap, HashSet};
use std::fmt;
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
    /// By `.loc` directive of the module, what `lines` says of it. Made when first asked for: chains of inlined calls may be
    /// long, and most are never looked at.
    pub(crate) frames: Box<[OnceLock<Box<[SourceFrame]>>]>,
    /// Shared variables of the module, in its order; kernels place those that they reach.
    pub(crate) shared: Vec<SharedVariable>,
    /// For each operation the shared variable that its address was made from, counted from 1; 0 if that is not known.
    pub(crate) shared_of: Vec<u32>,
    /// What the analyses at load took: operations and blocks looked at.
    pub(crate) steps: u64,
    /// By the start of a function: the operations that call it. Made when first asked for.
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

/// Where one operation came from.
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
    /// `.extern .shared x[]`: what the launch adds.
    pub dynamic: bool,
}

#[derive(Debug, Default)]
pub(crate) struct FunctionCode {
    pub name: String,
    pub start: u32,
    pub end: u32,
    /// Rows of registers as the text names them, before those that are never alive together share some.
    pub registers: u32,
    /// The rows that a frame starts as: constants in place, all else zero.
    pub image: Box<[Row]>,
    /// The first rows of constants, ascending.
    pub constants: Box<[Slot]>,
    /// What depends on the launch, the block or the thread.
    pub inits: Box<[(Slot, Init)]>,
    /// Bytes of local variables, parameters and call areas.
    pub local_size: u32,
    /// Shape of its parameters and results as others call it.
    pub signature: Signature,
    /// Shared variables and functions that its own code names, for the kernels that reach it.
    pub shared_used: Box<[u32]>,
    pub calls: Box<[u32]>,
    pub calls_indirectly: bool,
    /// See [`Code::unset`].
    pub unset: Box<[Slot]>,
    /// What is told from following values through it.
    pub followed: OnceLock<Followed>,
    /// The parameters that it gives to a compare-and-swap, by how deep calls are looked into.
    pub swaps: [OnceLock<Box<[SwappedParams]>>; CALLS],
}

/// What the flow of values through a function tells of its loads and stores.
#[derive(Debug, Default)]
pub(crate) struct Followed {
    /// See [`Code::guesses`].
    pub guesses: HashSet<u32>,
    /// See [`Code::updates`].
    pub updates: HashMap<u32, Box<[u32]>>,
    /// Volatile loads of flags, which are there to be read while others write them.
    pub flags: HashSet<u32>,
}

/// The parameters of a function that it gives to a compare-and-swap: as address, and as the value to compare with.
pub(crate) type SwappedParams = (usize, usize);

/// Calls of functions that call functions that swap: so deep is looked for swaps.
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

/// What a special register tells of a block's shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum SharedSize {
    /// What the kernel's variables and the launch take.
    Total,
    /// That, and what the system reserves.
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

/// What a launch must know of a kernel.
#[derive(Debug, Default)]
pub(crate) struct KernelCode {
    pub name: String,
    /// Index into `Code::functions`.
    pub function: u32,
    pub params: Vec<Param>,
    pub param_bytes: u32,
    /// The shared variables of the module that the kernel reaches and that have a size, and where they lie; ascending by
    /// variable.
    pub shared_offsets: Arc<[(u32, u32)]>,
    pub static_shared: u32,
    /// Whether it asks where the system's own part of shared memory lies, as cooperative groups of several warps do.
    pub asks_reserved_shared: bool,
    /// Alignment that the dynamic part starts at.
    pub dynamic_align: u32,
    pub local_bytes: u32,
    pub const_bytes: u32,
    pub registers: u32,
    pub max_threads: Option<u32>,
    pub required_block: Option<[u32; 3]>,
    pub required_cluster: Option<[u32; 3]>,
}

impl KernelCode {
    /// Where the kernel has a shared variable of the module.
    pub fn shared_offset(&self, variable: u32) -> Option<u32> {
        let at = self.shared_offsets.binary_search_by_key(&variable, |placed| placed.0);
        at.ok().map(|at| self.shared_offsets[at].1)
    }
}

impl Code {
    /// Number of operations.
    pub fn len(&self) -> usize {
        self.sites.len()
    }

    /// Whether there is no operation at all.
    pub fn is_empty(&self) -> bool {
        self.sites.is_empty()
    }

    /// How many operations and blocks the analyses at load looked at, each time counted: in proportion to the program,
    /// whatever its shape.
    pub fn analysis_steps(&self) -> u64 {
        self.steps
    }

    /// Line of the PTX text that an operation came from; 0 if the program counter is none.
    pub fn ptx_line(&self, pc: u32) -> u32 {
        self.sites.get(pc as usize).map_or(0, |s| s.ptx_line)
    }

    /// Whether the text says source lines at all.
    pub fn has_lines(&self) -> bool {
        !self.frames.is_empty()
    }

    /// Opcode and modifiers of an operation; `None` for what decoding added.
    pub fn opcode(&self, pc: u32) -> Option<&ptx::Opcode> {
        self.opcodes.get(pc as usize)?.as_deref()
    }

    /// Source frames of an operation, innermost first.
    pub fn frames(&self, pc: u32) -> &[SourceFrame] {
        let of = |pc: u32| {
            let loc = self.sites.get(pc as usize).and_then(|site| site.loc);
            let known = loc.and_then(|loc| Some((loc, self.frames.get(loc.0 as usize)?)));
            let frames = known.map(|(loc, frames)| {
                frames.get_or_init(|| self.lines.frames(loc).into_iter().map(SourceFrame::from).collect())
            });
            frames.map_or(&[][..], |frames| frames)
        };
        // Line 0 is the compiler's word for "several lines": those before it are nearer than none.
        let known =
            (pc.saturating_sub(16)..=pc).rev().map(of).find(|f| f.first().is_some_and(|f| f.line != 0));
        known.filter(|_| !of(pc).is_empty()).unwrap_or_else(|| of(pc))
    }

    /// The shared variable that an operation's address was made from, where the text shows it: an index into
    /// [`crate::observer::LaunchInfo::shared`].
    pub fn shared_of(&self, pc: u32) -> Option<usize> {
        self.shared_of.get(pc as usize).and_then(|of| of.checked_sub(1)).map(|of| of as usize)
    }

    /// Name of the function that holds an operation.
    pub fn function(&self, pc: u32) -> Option<&str> {
        let i = self.functions.partition_point(|f| f.end <= pc);
        self.functions.get(i).filter(|f| f.start <= pc).map(|f| f.name.as_str())
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
    /// The name in the PTX text.
    pub name: String,
    /// Bytes from the start of the block.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
    /// Alignment of the offset.
    pub align: u32,
}

/// The address that `mov` gives for a function.
pub(crate) fn code_address(function: u32) -> u64 {
    window::CODE + 16 * (u64::from(function) + 1)
}
