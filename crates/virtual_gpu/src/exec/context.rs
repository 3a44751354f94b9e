//! The context of an operation beside its warp: the block, its cluster's shared memory, device memory, the observer.

use super::block_state::BlockState;
use super::cluster::ClusterState;
use super::extension::{Machine, ObserverHooks};
use super::frame::FrameReset;
use super::warp::Warp;
use crate::evaluate::Evaluations;
use crate::fault::{Fault, FaultKind};
use crate::form::program::{Code, KernelCode};
use crate::form::registers::Regs;
use crate::jit::{Compiler, Function, Variant};
use crate::launch::Launch;
use crate::memory::View;
use crate::module::ModuleData;
use crate::observer::BlockObserver;
use crate::{Gpu, Quota};

/// One launch, the same for all its blocks.
pub(crate) struct LaunchContext<'a> {
    pub gpu: &'a Gpu,
    pub code: &'a Code,
    pub evaluations: &'a Evaluations,
    /// The module's compiler, if launches like this one run machine code.
    pub compiled: Option<Compiles<'a>>,
    pub kernel: &'a KernelCode,
    pub launch: Launch,
    pub params: &'a [u8],
    /// Shared memory of a block, and where its dynamic part starts.
    pub shared_bytes: u32,
    pub dynamic_offset: u32,
    /// Where it ends for the hardware, which gives it in pieces.
    pub shared_end: u32,
    /// Without the system's part, and where that starts.
    pub user_shared: u32,
    pub reserved_offset: u32,
    pub grid_id: u64,
    /// The clocks' value at the start.
    pub epoch: u64,
    pub quota: &'a Quota,
    pub stack_limit: u32,
    /// The registers of a frame that each block sets anew, if all others may stay as another block left them.
    pub frame_reset: Option<FrameReset>,
    /// Most rows that the registers of a warp's nested calls may take on this machine.
    pub most_rows: usize,
    /// Device address of the barrier of a cooperative launch, which `grid.sync()` uses; else 0.
    pub workspace: u64,
}

/// The compiler of a module, and the variants that a launch runs.
#[derive(Clone, Copy)]
pub(crate) struct Compiles<'a> {
    pub compiler: &'a dyn Compiler,
    pub module: &'a ModuleData,
    /// Whether the code has to count.
    pub counted: bool,
    /// Whether warps can be converged as [`Variant::converged`] says.
    pub converged: bool,
}

impl LaunchContext<'_> {
    /// Says of a fault where it was.
    pub fn fault(&self, block: [u32; 3], warp: u32, pc: u32, raise: Raise) -> Fault {
        let thread = warp * 32 + raise.lane;
        let [x, y, _] = self.launch.block;
        Fault {
            kind: raise.kind,
            kernel: self.kernel.name.clone(),
            block,
            thread: [thread % x, thread / x % y, thread / x / y],
            location: self.code.location(pc),
        }
    }
}

/// The result of an operation that may have to be tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Go on with the next operation.
    Next,
    /// Nothing happened; try again when others have run.
    Retry,
    /// Go on with the next operation when others have run.
    Yield,
}

/// A fault before it is known where: the kind and the lanes.
#[derive(Debug, Clone)]
pub(crate) struct Raise {
    pub kind: FaultKind,
    pub lane: u32,
}

/// A fault of the lowest of `lanes`.
#[cold]
pub(crate) fn raise(kind: FaultKind, lanes: u32) -> Box<Raise> {
    Box::new(Raise { kind, lane: lanes.trailing_zeros().min(31) })
}

/// One block's shared memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SharedMemory {
    pub bytes: *mut u8,
    pub size: u32,
}

/// The context of a warp that runs.
pub(crate) struct Cx<'a, O> {
    pub launch: &'a LaunchContext<'a>,
    pub block: &'a mut BlockState,
    /// Shared memory of the cluster's blocks, by rank.
    pub cluster: &'a [SharedMemory],
    /// Other state that the cluster's blocks share.
    pub team: &'a mut ClusterState,
    pub observer: &'a mut O,
    pub device: &'a View,
}

impl LaunchContext<'_> {
    /// Adds operations that the launch has executed.
    pub fn count(&self, executed: u64) {
        if let Some(Compiles { converged, .. }) = self.compiled {
            self.count_for(converged, executed);
        }
    }

    /// Adds operations of `converged` warps, or of others.
    pub fn count_for(&self, converged: bool, executed: u64) {
        if let Some(Compiles { compiler, module, counted, .. }) = self.compiled {
            let index = self.kernel.function;
            let function = Function::new(&module.code, index, Variant { counted, converged });
            module.compiled.count(compiler, &function, index, executed);
        }
    }
}

impl<'a, O: BlockObserver> Cx<'a, O> {
    /// This without the observer's type, for operations that are not generic over it.
    pub fn machine<'m>(&'m mut self, warp: &'m mut Warp, regs: Regs, frame: u32) -> Machine<'m> {
        Machine {
            launch: self.launch,
            block: self.block,
            cluster: self.cluster,
            team: self.team,
            device: self.device,
            observer: self.observer as &mut dyn ObserverHooks,
            warp,
            regs,
            frame,
        }
    }
}
