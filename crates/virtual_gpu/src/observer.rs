//! What a profiler or sanitizer sees of a launch.
//!
//! Two traits: a [`LaunchObserver`] lives as long as the launch and is shared by the threads that run it; it makes a
//! [`BlockObserver`] for each block, which only the thread that runs the block touches, and gets it back when the block
//! has ended, **in the order of the blocks**, or of the schedule's, whatever the number of threads. What blocks must know of each other while
//! they run (a race detector's shadow of global memory) lies in the launch observer, behind its own locks, reached
//! through a reference or `Arc` that the block observers hold.
//!
//! Every hook has an empty default and a constant that says whether it is wanted: an observer that wants nothing, such
//! as `()`, costs nothing.
//!
//! The order of hooks for one warp instruction is: [`BlockObserver::instruction`], [`BlockObserver::registers`], then
//! what it does ([`BlockObserver::access`], [`BlockObserver::barrier`], …). `access` comes before the bounds check, so
//! the observer can report all lanes of an access that is about to fault; nothing was loaded or stored yet. For an observer
//! that has lanes [go on](BlockObserver::GOES_ON) without such an access it comes behind the check, and without those lanes.

mod both;

use std::ops::Range;
use std::sync::Arc;

use crate::fault::Fault;
pub use crate::form::access::{AccessKind, MemorySpace, Order, Scope};
use crate::form::program::Code;
pub use crate::form::registers::Register;
pub use crate::form::values::Operands;
use crate::form::values::Values;
use crate::launch::Launch;
use crate::memory::Memory;
use crate::module::SharedArray;
use crate::tensor_map::Swizzle;

/// Watches a launch.
pub trait LaunchObserver: Send + Sync {
    /// Watches one block of it.
    type Block: BlockObserver;

    /// Whether blocks must run one after the other on one thread.
    fn serial(&self) -> bool {
        false
    }

    /// The launch is about to start.
    fn begin(&mut self, _launch: &LaunchInfo) {}

    /// A block is about to start.
    fn block(&self, block: &BlockInfo) -> Self::Block;

    /// A block has ended (or was cut short by a fault). Called in the order of the blocks, or of the schedule's.
    fn merge(&mut self, _block: Self::Block) {}

    /// The launch has ended, with or without a fault.
    fn end(&mut self, _launch: &LaunchInfo, _fault: Option<&Fault>) {}
}

impl<O: LaunchObserver> LaunchObserver for &mut O {
    type Block = O::Block;

    fn serial(&self) -> bool {
        O::serial(self)
    }

    fn begin(&mut self, launch: &LaunchInfo) {
        O::begin(self, launch);
    }

    fn block(&self, block: &BlockInfo) -> O::Block {
        O::block(self, block)
    }

    fn merge(&mut self, block: O::Block) {
        O::merge(self, block);
    }

    fn end(&mut self, launch: &LaunchInfo, fault: Option<&Fault>) {
        O::end(self, launch, fault);
    }
}

/// The launch as a whole.
#[derive(Debug, Clone)]
pub struct LaunchInfo {
    /// The kernel's name.
    pub kernel: String,
    /// Shape of the launch.
    pub launch: Launch,
    /// Static and dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// Where the pieces end in which the hardware gives it: kernels reach as far.
    pub shared_end: u32,
    /// Where a block's shared memory has a part that the system keeps, which starts as zeros; empty without one.
    pub reserved: Range<u32>,
    /// Where the kernel's own code starts, and the map from program counters to lines.
    pub code: Arc<Code>,
    /// Index of the kernel's function, for [`Code::unset`].
    pub function: u32,
    /// Memory as the kernel's context has it.
    pub memory: Arc<Memory>,
    /// The module's shared variables, at the places that this kernel gives them; `None` for those it does not reach.
    pub shared: Vec<Option<SharedArray>>,
}

#[derive(Debug, Clone, Copy)]
pub struct BlockInfo {
    pub index: [u32; 3],
    /// `x + grid.x * (y + grid.y * z)`.
    pub linear: u64,
    /// Threads of the block; the last warp may be part empty.
    pub threads: u32,
}

/// Where a warp is.
#[derive(Debug, Clone, Copy)]
pub struct At {
    /// Index of the instruction in [`Code`].
    pub pc: u32,
    /// Warp in the block.
    pub warp: u32,
    /// Lanes that execute the instruction: of the converged group, with the guard predicate applied.
    pub lanes: u32,
}

/// One memory instruction of one warp.
#[derive(Debug, Clone, Copy)]
pub struct Access<'a> {
    /// The space that was reached. An instruction with generic addresses makes one access for each space it reaches.
    pub space: MemorySpace,
    /// Whether the instruction names no space.
    pub generic: bool,
    /// Load, store, atomic.
    pub kind: AccessKind,
    /// Bytes of one element.
    pub width: u32,
    /// Elements a lane: 2, 4 or 8 for vectors.
    pub elements: u32,
    /// Lanes that take part.
    pub lanes: u32,
    /// Address of each lane; only those of `lanes` mean something.
    pub addresses: &'a [u64; 32],
    pub order: Order,
    /// Scope of the ordering.
    pub scope: Scope,
    /// `.nc`: the program promises that nobody writes it during the kernel.
    pub non_coherent: bool,
    /// Registers that are loaded into or stored from, one an element.
    /// Empty for an observer without [`BlockObserver::REGISTERS`].
    pub registers: Named<'a>,
    /// What a store writes; `None` for all else.
    pub values: Option<Values<'a>>,
    /// What a compare-and-swap compares with and what it writes; `None` for all else.
    pub swap: Option<Swap<'a>>,
}

/// The operands of a compare-and-swap.
#[derive(Debug, Clone, Copy)]
pub struct Swap<'a> {
    /// What must be there for something to be written.
    pub compared: Values<'a>,
    /// What is written then.
    pub replacement: Values<'a>,
}

impl Access<'_> {
    /// Bytes that a lane reaches.
    pub fn bytes(&self) -> u32 {
        self.width * self.elements
    }
}

/// The registers that a memory instruction names, one an element.
#[derive(Debug, Clone, Copy, Default)]
pub struct Named<'a> {
    base: u32,
    bytes: u32,
    slots: &'a [u32],
}

impl<'a> Named<'a> {
    /// In place of a register: `_`.
    pub const NONE: u32 = u32::MAX;

    /// Registers of `bytes` bytes each at these slots, counted from `base`.
    pub fn new(base: u32, bytes: u32, slots: &'a [u32]) -> Self {
        Named { base, bytes, slots }
    }

    /// Others of the same frame and width.
    pub fn beside<'b>(self, slots: &'b [u32]) -> Named<'b> {
        Named { slots, ..self }
    }

    /// Them all; `None` for `_`. A constant is a register that no instruction writes.
    pub fn iter(self) -> impl Iterator<Item = Option<Register>> + 'a {
        let Named { base, bytes, slots } = self;
        slots.iter().map(move |&slot| (slot != Self::NONE).then(|| Register { slot: base + slot, bytes }))
    }
}

/// Where a value that is passed to or from a function lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    Register(Register),
    /// Bytes of a wider register, from this one on. A register's parts are told in their order.
    Part(Register, u32),
    /// Bytes of local memory, from this offset on.
    Local(u32),
    /// The device made it: what it gives is defined.
    Device,
}

/// What a warp does at a block barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BarrierStep {
    /// Lanes arrive and will wait.
    ArriveAndWait,
    /// Lanes arrive and go on.
    Arrive,
    /// The barrier is complete: the lanes that waited go on.
    Leave,
}

/// Watches one block. See the [module documentation](self).
pub trait BlockObserver: Send {
    /// Whether [`BlockObserver::instruction`] is wanted.
    const INSTRUCTIONS: bool = false;
    /// Whether [`BlockObserver::access`] is wanted.
    const MEMORY: bool = false;
    /// Whether [`BlockObserver::registers`] is wanted.
    const REGISTERS: bool = false;
    /// Whether barriers, fences, warp synchronisation, calls and exits are wanted.
    const SYNCHRONISATION: bool = false;
    /// Whether a warp's turn ends, and its block's, when it has told others something by a volatile or ordered store: who
    /// waits for it then runs before what comes next, and is seen to be overtaken.
    const YIELDS: bool = false;
    /// Whether lanes may go on without an access that goes wrong, as [`BlockObserver::skips`] says. The launch fails in the end
    /// all the same, as it would on a device.
    const GOES_ON: bool = false;

    /// A warp executes an instruction. Called also when the guard leaves no lane (`at.lanes` is 0). The lanes of a branch, a
    /// return or an exit are all those that its guard is asked of.
    #[inline]
    fn instruction(&mut self, _at: At) {}

    /// A predicate decides which of `at.lanes` execute an instruction. Comes before [`BlockObserver::registers`], whose
    /// lanes are those that do; the predicate is among the registers read there, too.
    #[inline]
    fn guard(&mut self, _at: At, _predicate: Register) {}

    /// Whether [`BlockObserver::guard`] and [`BlockObserver::registers`] are wanted for the next instruction of a warp.
    #[inline]
    fn follows(&self, _warp: u32) -> bool {
        true
    }

    /// The registers that an instruction reads and writes, in `at.lanes`, and its operands before it is executed.
    #[inline]
    fn registers(&mut self, _at: At, _reads: &[Register], _writes: &[Register], _operands: &Operands<'_>) {}

    /// A memory access, before its bounds are checked.
    #[inline]
    fn access(&mut self, _at: At, _access: &Access<'_>) {}

    /// Lanes whose address comes from a value that was not loaded, so that their access means nothing.
    #[inline]
    fn meaningless(&self, _at: At, _address: Register) -> u32 {
        0
    }

    /// The access of one lane, by the address in a register, goes wrong. Whether the lane goes on without it: nothing is loaded
    /// or stored for it then. The fault is what the launch would end with here; it takes a while to make.
    #[inline]
    fn skips(&mut self, _at: At, _address: Option<Register>, _fault: &dyn Fn() -> Fault) -> bool {
        false
    }

    /// Lanes went on without their access, and have zeros in the registers that it would have loaded.
    #[inline]
    fn skipped(&mut self, _at: At, _loaded: Named<'_>) {}

    /// An asynchronous copy writes zeros here, in the place of what it could not read.
    #[inline]
    fn copied_nothing(&mut self, _at: At, _space: MemorySpace, _address: u64, _bytes: u32) {}

    /// A block barrier: its index, and how many threads it is for. `aligned`: the program promised that all threads of
    /// the warp execute it together.
    #[inline]
    fn barrier(&mut self, _at: At, _barrier: u32, _threads: u32, _step: BarrierStep, _aligned: bool) {}

    /// A memory fence.
    #[inline]
    fn fence(&mut self, _at: At, _order: Order, _scope: Scope) {}

    /// An instruction with a member mask: the lanes of `members` that are not exited have come together. `orders`: it
    /// orders memory among them (`bar.warp.sync`; votes and shuffles do not).
    #[inline]
    fn warp_sync(&mut self, _at: At, _members: u32, _orders: bool) {}

    /// A shuffle: each lane of `at` gets `value` of the lane in `sources`, or, if that is 32, of a lane that does not
    /// execute it, so that what comes is undefined. `None`: the value is a constant, or nobody wants it.
    #[inline]
    fn shuffled(
        &mut self,
        _at: At,
        _target: Option<Register>,
        _value: Option<Register>,
        _sources: &[u8; 32],
    ) {
    }

    /// An argument or result of a call was copied.
    #[inline]
    fn passed(&mut self, _at: At, _from: Carrier, _to: Carrier, _bytes: u32) {}

    /// Lanes enter a function: the frame's registers and local memory start undefined. Not called for the kernel itself.
    #[inline]
    fn enter(&mut self, _at: At, _frame: &Entered) {}

    /// A thread called `malloc`, and was given memory.
    #[inline]
    fn heap_allocated(&mut self, _at: At, _address: u64, _bytes: u64) {}

    /// A thread freed such memory.
    #[inline]
    fn heap_freed(&mut self, _at: At, _address: u64) {}

    /// A thread prints the value at an address.
    #[inline]
    fn printed(&mut self, _at: At, _space: MemorySpace, _address: u64, _bytes: u32) {}

    /// Lanes have ended.
    #[inline]
    fn exit(&mut self, _at: At) {}

    /// An event that only some instructions have, such as the steps of an asynchronous copy.
    #[inline]
    fn asynchronous(&mut self, _at: At, _event: &AsyncEvent<'_>) {}

    /// What it keeps of undefined bits, if it does. Asked for with [`BlockObserver::REGISTERS`].
    #[inline]
    fn undefined(&mut self) -> Option<&mut dyn Undefined> {
        None
    }
}

/// Undefined bits of registers and memory, as an observer keeps them.
///
/// Instructions that deal values out among the lanes of a warp (`ldmatrix`, `wmma.load` and their like) and products of
/// matrices carry them along: they ask for those of what they read, and tell those of what they have written.
pub trait Undefined {
    /// Whether some register of the warp has undefined bits.
    fn has_some(&self, warp: u32) -> bool;

    /// Those of a register, lane by lane.
    fn of_register(&self, warp: u32, register: Register) -> [u64; 32];

    /// Those of a register that was written in `at.lanes`.
    fn set_register(&mut self, at: At, register: Register, undefined: &[u64; 32]);

    /// Those of at most 16 bytes of memory.
    fn of_memory(&mut self, space: MemorySpace, address: u64, bytes: u32) -> u128;

    /// Those of at most 16 bytes that were written.
    fn set_memory(&mut self, space: MemorySpace, address: u64, bytes: u32, undefined: u128);

    /// A register is an address in `at.lanes`, or describes where a matrix lies.
    fn is_address(&mut self, at: At, register: Register);
}

/// A function's frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entered {
    /// Index of the function, for [`Code::unset`].
    pub function: u32,
    /// Its registers' slots.
    pub slots: Range<u32>,
    /// Its part of local memory.
    pub local: Range<u32>,
}

/// Steps of asynchronous copies and of barriers in shared memory.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum AsyncEvent<'a> {
    /// `cp.async`: `bytes` from each global address will be written to each shared address, at an unknown time.
    CopyStarted {
        /// Destination offsets in shared memory.
        shared: &'a [u64; 32],
        /// Source addresses.
        global: &'a [u64; 32],
        /// Bytes a lane.
        bytes: u32,
        /// How many of them each lane reads; zeros take the place of the rest.
        read: &'a [u32; 32],
    },
    /// `cp.async.commit_group`.
    GroupCommitted,
    /// `cp.async.wait_group n`: all but the latest `pending` groups have landed for these lanes.
    GroupsAwaited {
        /// Groups that may still be under way.
        pending: u32,
    },
    /// `cp.async.mbarrier.arrive`: the copies that the one lane of `at` has issued land in this phase of an `mbarrier`.
    CopiesTied {
        /// Shared address of the `mbarrier`.
        barrier: u64,
        /// Parity of the phase.
        parity: bool,
    },
    /// A bulk copy reads or writes bytes that follow each other. Writes to shared memory are told to the block that they land
    /// in, by the lane whose test of the `mbarrier` lands them.
    Moved {
        /// Global or shared memory.
        space: MemorySpace,
        /// Writes rather than reads.
        write: bool,
        /// What is there is changed by an operation that is atomic for each element.
        reduces: bool,
        /// The first byte.
        address: u64,
        /// How many.
        bytes: u32,
        /// Where in what is copied they lie, before a swizzle.
        within: u32,
        /// How they trade places in shared memory.
        swizzle: Swizzle,
    },
    /// The one lane of `at` issued a bulk copy out of the block's shared memory, whose source may be read until the lane
    /// has waited for the copy's bulk group.
    BulkTaken {
        /// The first byte.
        address: u64,
        /// How many.
        bytes: u32,
    },
    /// `barrier.cluster.arrive`.
    ClusterArrive {
        /// Parity of the phase.
        parity: bool,
        /// Not `.relaxed`.
        releases: bool,
    },
    /// `barrier.cluster.wait` returned: all threads of the cluster have arrived in that phase.
    ClusterComplete {
        /// Parity of the phase.
        parity: bool,
    },
    /// `cp.async.bulk.commit_group`.
    BulkGroupCommitted,
    /// `cp.async.bulk.wait_group`: of all but the latest `pending` bulk groups of these lanes the sources have been read.
    BulkGroupsAwaited {
        /// Groups that may still be under way.
        pending: u32,
        /// Without `.read`: what they write has been written, too.
        written: bool,
    },
    /// `fence.proxy.async`: bulk copies and `wgmma` behind it see what plain stores before it have written.
    ProxyFence,
    /// A warp issued its part of `wgmma.mma_async`, which may read these pieces of shared memory, of 16 bytes each, until a
    /// warp of the warpgroup has waited for the product's group.
    ProductIssued {
        /// Offsets in the block's shared memory.
        pieces: &'a [u32],
        /// The registers that hold the result when somebody has waited for it.
        result: Named<'a>,
    },
    /// `wgmma.commit_group`.
    ProductsCommitted,
    /// `wgmma.wait_group`: all but the latest `pending` groups of products are done.
    ProductsAwaited {
        /// Groups that may still be under way.
        pending: u32,
    },
    /// Lanes made an `mbarrier`.
    MbarrierMade {
        /// Shared address of each lane.
        addresses: &'a [u64; 32],
    },
    /// Lanes asked whether a phase of an `mbarrier` is complete.
    MbarrierAsked {
        /// Shared address of each lane.
        addresses: &'a [u64; 32],
    },
    /// Lanes arrived on an `mbarrier`.
    MbarrierArrive {
        /// Shared address of each lane.
        addresses: &'a [u64; 32],
        /// Parity of the phase that the lanes arrive in.
        parity: bool,
    },
    /// A test or wait on an `mbarrier` found the phase complete, in `at.lanes`.
    MbarrierComplete {
        /// Shared address of each lane.
        addresses: &'a [u64; 32],
        /// Parity of the phase that is complete.
        parity: bool,
    },
    /// A bulk copy into shared memory, of this block or of another of the cluster, was issued by the one lane of `at`;
    /// [`AsyncEvent::Moved`] tells when it landed. A copy to several blocks is several.
    BulkStarted {
        /// The first byte.
        address: u64,
        /// How many.
        bytes: u32,
        /// Shared address of the `mbarrier` that it completes on.
        barrier: u64,
        /// As in [`AsyncEvent::Moved`].
        reduces: bool,
        /// As in [`AsyncEvent::Moved`].
        swizzle: Swizzle,
    },
}

impl BlockObserver for () {}

impl LaunchObserver for () {
    type Block = ();
    fn block(&self, _: &BlockInfo) {}
}
