//! Mistakes as data: their kinds with the numbers of one occurrence. [`wording`](crate::wording) puts them into
//! words.

use serde::{Deserialize, Serialize};

use crate::checks::Check;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Undefined, yet the outcome may be the same: a race of equal values.
    Warning,
    /// Wrong.
    Error,
}

/// A mistake.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case")]
pub enum Kind {
    /// An access that the device faults on.
    InvalidAccess(InvalidAccess),
    /// A fault that is no access's: an assertion, a trap, an overflow of the stack.
    Fault { cause: Cause, said: String },
    /// A shared access outside the array that its address derives from.
    OutsideArray { bytes: u32 },
    /// A global access outside the allocation that its pointer was given for, in another one.
    OutsideAllocation { bytes: u32 },
    /// An access through the address of another thread's local array.
    ForeignLocalArray,
    /// The host frees a buffer twice.
    DoubleFree { address: u64 },
    /// The host frees what no allocation returned.
    InvalidFree { address: u64 },
    /// A copy or fill by the host beyond its buffer.
    HostOutside { bytes: u64, freed: bool },
    /// A buffer that is not freed at the end.
    Leak,

    /// Two accesses of a launch that nothing orders.
    Race { how: Conflict },
    /// Two pieces of work that nothing orders: launches, copies, nodes of a graph.
    WorkRace(WorkRace),
    /// A read of a register that a `wgmma` may still write.
    EarlyResult,
    /// A thread ends before its asynchronous copy.
    UnawaitedCopy,
    /// An access to the shared memory of a block of the cluster that may have ended.
    EndedBlock,

    /// An undefined value decides something.
    Undefined { decides: Decides },
    /// Undefined bytes are copied to the host.
    UndefinedCopy { padding: bool },

    /// An aligned barrier that some lanes of the warp miss.
    Divergent(Others),
    /// Two barriers with one number.
    Mismatched,
    /// A thread went around a barrier and ended.
    Bypassed,
    /// A thread ended before a barrier that others of its warp reach; `target` is the module's.
    EarlyReturn { target: u32 },
    /// A lane executes an instruction whose mask excludes it.
    NotInMask(Others),
    /// A mask names lanes that have ended.
    EndedInMask(Others),
    /// Copies bring an `mbarrier` more bytes than it was told to expect.
    UnexpectedBytes { surplus: u64 },
    /// Threads wait for what never comes.
    Stuck { said: String },
    /// Operands that a barrier or mask does not admit.
    InvalidSync { said: String },

    /// A call of the driver failed.
    FailedCall { severity: Severity, function: String, answer: String, why: Option<String> },
    /// The program ends while a kernel is in flight.
    UnawaitedLaunch,
}

/// An access that the device faults on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InvalidAccess {
    pub why: Invalid,
    /// `global load`, `shared store of cp.async` …
    pub access: String,
    pub address: u64,
    pub bytes: u32,
    /// The neighbourhood of the address, beginning with a comma; may be empty.
    pub nearby: String,
    /// Whether the launch went on without the access.
    pub skipped: bool,
    /// How many such accesses ended the launch, if they did.
    pub ended_after: Option<u32>,
}

/// Why an access is invalid.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Invalid {
    #[default]
    OutOfBounds,
    /// In an allocation that was freed.
    Freed,
    Misaligned,
    ReadOnly,
}

/// The fault that ended a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// `free` in a kernel of what `malloc` did not return.
    Heap,
    Stack,
    /// A jump to an address without code.
    Jump,
    /// A failed assertion, `trap`, `brkpt`.
    Trap,
    Instruction,
}

/// How two accesses of a launch conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Conflict {
    /// Nothing orders them.
    Unordered,
    /// The later one's thread has read a flag that would order them, without a fence.
    NoAcquire,
    /// A bulk copy or `wgmma` reads plain stores without a fence between the proxies.
    NoProxyFence,
    /// Both are volatile, which orders nothing in CUDA C++.
    Volatile,
    /// A load through the read-only path of what the kernel wrote.
    Stale,
    /// Both write the same value.
    Equal,
    /// As `Equal`, by lanes of one warp and one instruction.
    EqualInWarp,
}

/// Two pieces of work that nothing orders, the later first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkRace {
    pub between: Between,
    pub sides: [WorkSide; 2],
    pub why: WorkConflict,
}

impl WorkRace {
    /// Whether both tell of the same kinds of work, on whichever streams.
    pub(crate) fn is(&self, other: &Self) -> bool {
        fn sides(race: &WorkRace) -> [(&Work, bool); 2] {
            race.sides.each_ref().map(|side| (&side.what, side.writes))
        }
        (self.between, self.why) == (other.between, other.why) && sides(self) == sides(other)
    }
}

/// Where the two pieces of work are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Between {
    Streams,
    Devices,
    Nodes,
    /// The host's own code and work that it has not waited for.
    HostAndDevice,
}

/// Why two pieces of work race.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkConflict {
    Unordered,
    /// Both only write, and the same.
    Equal,
    /// Both are atomic, with a scope that ends at their device.
    NarrowScope,
    /// Flags order them, without fences for all devices.
    NoSystemFence,
    /// The call that frees the memory waits for the other, though no manual says so.
    AwaitedByCall,
}

/// One of two pieces of work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkSide {
    pub what: Work,
    pub stream: StreamName,
    /// The device, if the two differ in it.
    pub device: Option<u32>,
    pub writes: bool,
}

/// Work of a stream, the host or a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    Kernel(String),
    Copy,
    CopyToHost,
    /// A copy or fill by the host.
    Write,
    Fill,
    Allocation,
    Free,
    /// A load or store of the host's own code.
    HostCode,
}

/// The executor of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamName {
    /// The host, in a call that waits.
    Host,
    Default,
    Stream(u64),
    /// A node of a graph.
    Node,
}

/// The decision that depends on an undefined value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decides {
    Address,
    /// A branch, or whether an instruction is executed.
    Guard,
    /// An atomic operation.
    Atomic,
    Print,
}

/// Lanes that a barrier or mask misses, or has too many of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Others {
    pub count: u32,
    /// The first of them.
    pub lane: u32,
    pub thread: [u32; 3],
}

impl Kind {
    /// The tool that finds it.
    pub fn check(&self) -> Check {
        match self {
            Kind::InvalidAccess(_)
            | Kind::Fault { .. }
            | Kind::OutsideArray { .. }
            | Kind::OutsideAllocation { .. }
            | Kind::ForeignLocalArray
            | Kind::DoubleFree { .. }
            | Kind::InvalidFree { .. }
            | Kind::HostOutside { .. }
            | Kind::Leak => Check::Memory,
            Kind::Race { .. }
            | Kind::WorkRace(_)
            | Kind::EarlyResult
            | Kind::UnawaitedCopy
            | Kind::EndedBlock => Check::Race,
            Kind::Undefined { .. } | Kind::UndefinedCopy { .. } => Check::Init,
            Kind::Divergent(_)
            | Kind::Mismatched
            | Kind::Bypassed
            | Kind::EarlyReturn { .. }
            | Kind::NotInMask(_)
            | Kind::EndedInMask(_)
            | Kind::UnexpectedBytes { .. }
            | Kind::Stuck { .. }
            | Kind::InvalidSync { .. } => Check::Barrier,
            Kind::FailedCall { .. } | Kind::UnawaitedLaunch => Check::Api,
        }
    }

    pub fn severity(&self) -> Severity {
        match self {
            Kind::Leak
            | Kind::UndefinedCopy { padding: true }
            | Kind::Race { how: Conflict::EqualInWarp } => Severity::Note,
            Kind::Race { how: Conflict::Equal | Conflict::Volatile }
            | Kind::WorkRace(WorkRace { why: WorkConflict::Equal | WorkConflict::AwaitedByCall, .. })
            | Kind::UnawaitedCopy
            | Kind::EarlyReturn { .. }
            | Kind::EndedInMask(_)
            | Kind::UnawaitedLaunch => Severity::Warning,
            Kind::FailedCall { severity, .. } => *severity,
            _ => Severity::Error,
        }
    }
}
