//! A launch as a profiler or sanitizer sees it.
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

pub use ptx::ScalarType;

use crate::counting::Counts;
use crate::fault::Fault;
pub use crate::form::access::{AccessKind, MemorySpace, Order, Scope, SpaceOperand};
pub use crate::form::arithmetic::{Arithmetic, Opcode};
pub use crate::form::op::CollectiveKind;
pub use crate::form::operation::Operation;
use crate::form::program::Code;
pub use crate::form::qualifiers::{Convert, Converted, ProductHalf, Qualifiers, Relation};
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

    /// A block has ended (or was cut short by a fault). Called in block order, or in the schedule's order; for observers that
    /// [add up](BlockObserver::ADDS_UP) when all blocks have ended.
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

#[derive(Debug, Clone)]
pub struct LaunchInfo {
    pub kernel: String,
    pub launch: Launch,
    /// Static and dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// The end of shared memory in the hardware's allocation granularity: kernels can access up to here.
    pub shared_end: u32,
    /// The part of a block's shared memory that the system reserves, initially zero; may be empty.
    pub reserved: Range<u32>,
    /// Where the kernel's own code starts, and the mapping from program counters to lines.
    pub code: Arc<Code>,
    /// Index of the kernel's function, for [`Code::unset`].
    pub function: u32,
    /// Memory as seen by the kernel's context.
    pub memory: Arc<Memory>,
    /// The module's shared variables, at this kernel's offsets; `None` for those it does not reach.
    pub shared: Vec<Option<SharedArray>>,
    /// The parameter block.
    pub params: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
pub struct BlockInfo {
    pub index: [u32; 3],
    /// `x + grid.x * (y + grid.y * z)`.
    pub linear: u64,
    /// Threads per block; the last warp may be partial.
    pub threads: u32,
}

/// A position in the execution of a block.
#[derive(Debug, Clone, Copy)]
pub struct At {
    /// Index of the instruction in [`Code`].
    pub pc: u32,
    /// Warp within the block.
    pub warp: u32,
    /// The lanes that execute the instruction: the converged group, with the guard predicate applied.
    pub lanes: u32,
}

/// One memory instruction of one warp.
#[derive(Debug, Clone, Copy)]
pub struct Access<'a> {
    /// The space accessed. An instruction with generic addresses makes one access for each space it reaches.
    pub space: MemorySpace,
    /// Whether the instruction names no space.
    pub generic: bool,
    pub kind: AccessKind,
    /// Bytes per element.
    pub width: u32,
    /// Elements per lane: 2, 4 or 8 for vectors.
    pub elements: u32,
    /// Participating lanes.
    pub lanes: u32,
    /// The address of each lane; only those in `lanes` are meaningful.
    pub addresses: &'a [u64; 32],
    pub order: Order,
    pub scope: Scope,
    /// `.nc`: the program promises that no one writes the data during the kernel.
    pub non_coherent: bool,
    /// Bytes of a lane's access that the program uses, from bit 0 on: all, but for a load that the compiler has widened
    /// (`.pragma "used_bytes_mask …"`).
    pub used: u32,
    /// By a texture or a surface: to the texels of one lane.
    pub image: bool,
    /// Registers loaded into or stored from, one per element. Empty for an observer without
    /// [`BlockObserver::REGISTERS`].
    pub registers: Named<'a>,
    /// The values a store writes; `None` for everything else.
    pub values: Option<Values<'a>>,
    /// The expected and new values of a compare-and-swap; `None` for everything else.
    pub swap: Option<Swap<'a>>,
}

/// The operands of a compare-and-swap.
#[derive(Debug, Clone, Copy)]
pub struct Swap<'a> {
    /// The expected values.
    pub compared: Values<'a>,
    /// The new values.
    pub replacement: Values<'a>,
}

impl Access<'_> {
    /// Bytes accessed per lane.
    pub fn bytes(&self) -> u32 {
        self.width * self.elements
    }

    /// Bytes per lane up to the last one that is used.
    pub fn used_end(&self) -> u32 {
        self.bytes().min(u32::BITS - self.used.leading_zeros())
    }
}

/// The registers that a memory instruction names, one per element.
#[derive(Debug, Clone, Copy, Default)]
pub struct Named<'a> {
    base: u32,
    bytes: u32,
    slots: &'a [u32],
}

impl<'a> Named<'a> {
    /// `_` in place of a register.
    pub const NONE: u32 = u32::MAX;

    /// Registers of `bytes` bytes each at these slots, counted from `base`.
    pub fn new(base: u32, bytes: u32, slots: &'a [u32]) -> Self {
        Named { base, bytes, slots }
    }

    /// Other registers of the same frame and width.
    pub fn beside<'b>(self, slots: &'b [u32]) -> Named<'b> {
        Named { slots, ..self }
    }

    /// All of them; `None` for `_`. A constant is a register that no instruction writes.
    pub fn iter(self) -> impl Iterator<Item = Option<Register>> + 'a {
        let Named { base, bytes, slots } = self;
        slots.iter().map(move |&slot| (slot != Self::NONE).then(|| Register { slot: base + slot, bytes }))
    }
}

/// Where a value passed to or from a function is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    Register(Register),
    /// Bytes of a wider register, starting here. The parts of a register are reported in order.
    Part(Register, u32),
    /// Bytes of local memory, starting at this offset.
    Local(u32),
    /// Produced by the device, and therefore defined.
    Device,
}

/// A step of a warp at a block barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BarrierStep {
    /// Lanes arrive and will wait.
    ArriveAndWait,
    /// Lanes arrive and continue.
    Arrive,
    /// The barrier is complete: the waiting lanes continue.
    Leave,
}

/// Watches one block. See the [module documentation](self).
pub trait BlockObserver: Send {
    /// Whether [`BlockObserver::instruction`] is wanted.
    const INSTRUCTIONS: bool = false;
    /// Whether [`BlockObserver::access`] is wanted.
    const MEMORY: bool = false;
    /// Whether counts are as good as [`BlockObserver::instruction`], and as [`BlockObserver::access`] in the cases that
    /// [`BlockObserver::counts`] knows. Values are not wanted then.
    const COUNTS: bool = false;
    /// Whether it adds up what it observes of one block after the other, in any order ([`BlockObserver::next`]); it is told
    /// once, at the end, that its block [has ended](BlockObserver::ended).
    const ADDS_UP: bool = false;
    /// Whether [`BlockObserver::registers`] is wanted.
    const REGISTERS: bool = false;
    /// Whether barriers, fences, warp synchronisation, calls and exits are wanted.
    const SYNCHRONISATION: bool = false;
    /// Whether a warp's slice, and its block's, ends after a volatile or ordered store that others can see: a waiting
    /// thread then runs before the next instruction, and can be seen to overtake it.
    const YIELDS: bool = false;
    /// Whether lanes may continue after an invalid access, as decided by [`BlockObserver::skips`]. The launch still
    /// fails in the end, as it would on a device.
    const GOES_ON: bool = false;

    /// A warp executes an instruction. Also called if the guard leaves no lane (`at.lanes` is 0). For a branch, a
    /// return or an exit the lanes are all those for which the guard is evaluated.
    #[inline]
    fn instruction(&mut self, _at: At) {}

    /// A predicate decides which of `at.lanes` execute an instruction. Called before [`BlockObserver::registers`],
    /// whose lanes are those that do; the predicate is also among the registers read there.
    #[inline]
    fn guard(&mut self, _at: At, _predicate: Register) {}

    /// Whether [`BlockObserver::guard`] and [`BlockObserver::registers`] are wanted for the next instruction of a warp.
    #[inline]
    fn follows(&self, _warp: u32) -> bool {
        true
    }

    /// The registers that an instruction reads and writes, in `at.lanes`, and its operands before it executes.
    #[inline]
    fn registers(&mut self, _at: At, _reads: &[Register], _writes: &[Register], _operands: &Operands<'_>) {}

    /// A memory access, before its bounds are checked.
    #[inline]
    fn access(&mut self, _at: At, _access: &Access<'_>) {}

    /// Lanes whose address comes from a value that was not loaded, so that their access is meaningless.
    #[inline]
    fn meaningless(&self, _at: At, _address: Register) -> u32 {
        0
    }

    /// One lane's access, by the address in a register, is invalid. Returns whether the lane continues without it: then
    /// nothing is loaded or stored for it. The fault is how the launch would otherwise end here; it is costly to
    /// construct.
    #[inline]
    fn skips(&mut self, _at: At, _address: Option<Register>, _fault: &dyn Fn() -> Fault) -> bool {
        false
    }

    /// Lanes continued without their access, and have zeros in the registers it would have loaded.
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

    /// An instruction with a member mask: the lanes of `members` that have not exited have met. `orders`: it orders
    /// memory among them (`bar.warp.sync`; votes and shuffles do not).
    #[inline]
    fn warp_sync(&mut self, _at: At, _members: u32, _orders: bool) {}

    /// A shuffle: each lane of `at` receives `value` from the lane in `sources`, or, if that is 32, from a lane that
    /// does not execute it, so that the result is undefined. `None`: the value is a constant, or the result is unused.
    #[inline]
    fn shuffled(
        &mut self,
        _at: At,
        _target: Option<Register>,
        _value: Option<Register>,
        _sources: &[u8; 32],
    ) {
    }

    /// A call's argument or result was copied.
    #[inline]
    fn passed(&mut self, _at: At, _from: Carrier, _to: Carrier, _bytes: u32) {}

    /// Lanes enter a function: the frame's registers and local memory are undefined at first. Not called for the kernel
    /// itself.
    #[inline]
    fn enter(&mut self, _at: At, _frame: &Entered) {}

    /// A thread called `malloc` and received memory.
    #[inline]
    fn heap_allocated(&mut self, _at: At, _address: u64, _bytes: u64) {}

    /// A thread freed memory from `malloc`.
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

    /// Another block begins, and the one before has ended. Used with [`BlockObserver::ADDS_UP`].
    #[inline]
    fn next(&mut self, _block: &BlockInfo) {}

    /// The block has ended. Unlike [`LaunchObserver::merge`] this is called at once, by the thread that ran the block.
    #[inline]
    fn ended(&mut self) {}

    /// Where machine code counts in the place of the interpreter's hooks. Used with [`BlockObserver::COUNTS`].
    #[inline]
    fn counts(&mut self) -> Option<&mut dyn Counts> {
        None
    }

    /// Its record of undefined bits, if it keeps one. Used with [`BlockObserver::REGISTERS`].
    #[inline]
    fn undefined(&mut self) -> Option<&mut dyn Undefined> {
        None
    }
}

/// The undefined bits of registers and memory, as recorded by an observer.
///
/// Instructions that redistribute values among the lanes of a warp (`ldmatrix`, `wmma.load` and the like) and matrix
/// products propagate them: they query the bits of what they read, and set those of what they have written.
pub trait Undefined {
    /// Whether some register of the warp has undefined bits.
    fn has_some(&self, warp: u32) -> bool;

    /// The bits of a register, lane by lane.
    fn of_register(&self, warp: u32, register: Register) -> [u64; 32];

    /// Sets the bits of a register written in `at.lanes`.
    fn set_register(&mut self, at: At, register: Register, undefined: &[u64; 32]);

    /// The bits of up to 16 bytes of memory.
    fn of_memory(&mut self, space: MemorySpace, address: u64, bytes: u32) -> u128;

    /// Sets the bits of up to 16 bytes written.
    fn set_memory(&mut self, space: MemorySpace, address: u64, bytes: u32, undefined: u128);

    /// A register is used as an address in `at.lanes`, or describes a matrix's location.
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
        /// Bytes per lane.
        bytes: u32,
        /// How many of them each lane reads; the rest is zeros.
        read: &'a [u32; 32],
    },
    /// `cp.async.commit_group`.
    GroupCommitted,
    /// `cp.async.wait_group n`: all but the latest `pending` groups have landed for these lanes.
    GroupsAwaited { pending: u32 },
    /// `cp.async.mbarrier.arrive`: the copies issued by the one lane of `at` land in this phase of an `mbarrier`.
    CopiesTied { barrier: u64, parity: bool },
    /// A bulk copy reads or writes consecutive bytes. Writes to shared memory are reported to the block they land in,
    /// by the lane whose `mbarrier` test makes them land.
    Moved {
        /// Global or shared memory.
        space: MemorySpace,
        /// Writes, instead of reads.
        write: bool,
        /// Combines with what is there, atomically per element.
        reduces: bool,
        address: u64,
        bytes: u32,
        /// Their offset in the copied data, before swizzling.
        within: u32,
        /// How they are permuted in shared memory.
        swizzle: Swizzle,
    },
    /// The one lane of `at` issued a bulk copy out of the block's shared memory, whose source may be read until the
    /// lane has waited for the copy's bulk group.
    BulkTaken { address: u64, bytes: u32 },
    /// `barrier.cluster.arrive`.
    ClusterArrive { parity: bool, releases: bool },
    /// `barrier.cluster.wait` returned: all threads of the cluster have arrived in that phase.
    ClusterComplete { parity: bool },
    /// `cp.async.bulk.commit_group`.
    BulkGroupCommitted,
    /// `cp.async.bulk.wait_group`: the sources of all but the latest `pending` bulk groups of these lanes have been
    /// read.
    BulkGroupsAwaited {
        pending: u32,
        /// Without `.read`: what they write has been written, too.
        written: bool,
    },
    /// `fence.proxy.async`: later bulk copies and `wgmma` see the writes of earlier plain stores.
    ProxyFence,
    /// A warp issued its part of `wgmma.mma_async`, which may read these 16-byte pieces of shared memory until a warp
    /// of the warpgroup has waited for the product's group.
    ProductIssued {
        /// Offsets in the block's shared memory.
        pieces: &'a [u32],
        /// The registers that hold the result once it has been waited for.
        result: Named<'a>,
    },
    /// `wgmma.commit_group`.
    ProductsCommitted,
    /// `wgmma.wait_group`: all but the latest `pending` groups of products are done.
    ProductsAwaited { pending: u32 },
    /// An `mbarrier` expects `bytes` more in its current phase, or fewer because a lane has told of their coming.
    MbarrierExpects {
        /// Its shared address.
        address: u64,
        bytes: i64,
    },
    /// Lanes initialised an `mbarrier`.
    MbarrierMade {
        /// Shared address of each lane.
        addresses: &'a [u64; 32],
    },
    /// Lanes tested whether a phase of an `mbarrier` is complete.
    MbarrierAsked {
        /// Shared address of each lane.
        addresses: &'a [u64; 32],
    },
    /// Lanes arrived on an `mbarrier`.
    MbarrierArrive {
        /// Shared address of each lane.
        addresses: &'a [u64; 32],
        /// Parity of the phase in which the lanes arrive.
        parity: bool,
    },
    /// A test or wait on an `mbarrier` found the phase complete, in `at.lanes`.
    MbarrierComplete {
        /// Shared address of each lane.
        addresses: &'a [u64; 32],
        /// Parity of the phase that is complete.
        parity: bool,
    },
    /// The one lane of `at` issued a bulk copy into shared memory, of this block or of another one in the cluster;
    /// [`AsyncEvent::Moved`] reports when it landed. A copy to several blocks is several events.
    BulkStarted {
        address: u64,
        bytes: u32,
        /// Shared address of the `mbarrier` that it completes on.
        barrier: u64,
        /// As in [`AsyncEvent::Moved`].
        reduces: bool,
        /// As in [`AsyncEvent::Moved`].
        swizzle: Swizzle,
    },
}

impl BlockObserver for () {
    const ADDS_UP: bool = true;
}

impl LaunchObserver for () {
    type Block = ();
    fn block(&self, _: &BlockInfo) {}
}
