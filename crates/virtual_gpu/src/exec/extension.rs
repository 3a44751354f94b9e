//! Where instructions plug in that are neither lane by lane nor the executor's own: asynchronous copies, `mbarrier`,
//! matrix operations.
//!
//! Such an instruction is a value that implements [`Extension`]; `decode::extension` makes it from the parsed
//! instruction. It runs against a [`Machine`], which is not generic over the observer.

use std::any::{Any, TypeId};

use super::block_state::BlockState;
use super::cluster::ClusterState;
use super::context::{LaunchContext, Raise, SharedMemory, Step, raise};
use super::warp::Warp;
use crate::fault::{Fault, FaultKind};
use crate::form::extension::{Extension, each_extension};
use crate::form::registers::{Register, Regs};
use crate::memory::{View, window};
use crate::observer::{Access, AsyncEvent, At, BlockObserver, MemorySpace, Named, Undefined};

/// An instruction of its own kind, as the executor sees it.
pub(crate) trait Execute {
    /// Executes it for `at.lanes`, at least one. [`Step::Retry`] must leave everything as it was.
    fn execute(&self, machine: &mut Machine<'_>, at: At) -> Result<Step, Box<Raise>>;
}

/// Executes one.
pub(super) fn execute(extension: &Extension, machine: &mut Machine<'_>, at: At) -> Result<Step, Box<Raise>> {
    let step = each_extension!(extension, one => one.execute(machine, at))?;
    if !matches!(extension, Extension::Test(_)) && step != Step::Retry {
        machine.block.phases_may_end();
    }
    Ok(step)
}

/// State that extensions keep for a block, by type.
#[derive(Debug, Default)]
pub(crate) struct ExtensionState(Vec<(TypeId, Box<dyn Any + Send>)>);

impl ExtensionState {
    /// The block's value of type `T`, made when first asked for.
    pub fn get<T: Any + Send + Default>(&mut self) -> &mut T {
        let id = TypeId::of::<T>();
        // A block has two or three of them.
        let at = self.0.iter().position(|value| value.0 == id).unwrap_or_else(|| {
            self.0.push((id, Box::new(T::default())));
            self.0.len() - 1
        });
        match self.0[at].1.downcast_mut() {
            Some(value) => value,
            // It stands beside its type.
            None => unreachable!("extension state of another type"),
        }
    }

    /// Forgets everything, for the next block.
    pub fn clear(&mut self) {
        if !self.0.is_empty() {
            self.0.clear();
        }
    }
}

/// The observer's hooks that extensions use, without its type.
pub(crate) trait ObserverHooks {
    fn access(&mut self, at: At, access: &Access<'_>);
    fn asynchronous(&mut self, at: At, event: &AsyncEvent<'_>);
    /// Whether the observer sees accesses.
    fn follows_accesses(&self) -> bool;
    /// Whether the observer sees what asynchronous instructions read, so that it must be gathered.
    fn follows_copies(&self) -> bool;
    fn meaningless(&self, at: At, address: Register) -> u32;
    fn skips(&mut self, at: At, address: Option<Register>, fault: &dyn Fn() -> Fault) -> bool;
    fn skipped(&mut self, at: At, loaded: Named<'_>);
    fn copied_nothing(&mut self, at: At, space: MemorySpace, address: u64, bytes: u32);
    /// Undefined bits, if an observer keeps them.
    fn undefined(&mut self) -> Option<&mut dyn Undefined>;
}

impl<O: BlockObserver> ObserverHooks for O {
    fn access(&mut self, at: At, access: &Access<'_>) {
        if O::MEMORY {
            BlockObserver::access(self, at, access);
        }
    }
    fn asynchronous(&mut self, at: At, event: &AsyncEvent<'_>) {
        if O::SYNCHRONISATION || O::MEMORY {
            BlockObserver::asynchronous(self, at, event);
        }
    }
    fn follows_accesses(&self) -> bool {
        O::MEMORY
    }
    fn follows_copies(&self) -> bool {
        O::SYNCHRONISATION
    }
    fn meaningless(&self, at: At, address: Register) -> u32 {
        if O::GOES_ON { BlockObserver::meaningless(self, at, address) } else { 0 }
    }
    fn skips(&mut self, at: At, address: Option<Register>, fault: &dyn Fn() -> Fault) -> bool {
        O::GOES_ON && BlockObserver::skips(self, at, address, fault)
    }
    fn skipped(&mut self, at: At, loaded: Named<'_>) {
        BlockObserver::skipped(self, at, loaded);
    }
    fn copied_nothing(&mut self, at: At, space: MemorySpace, address: u64, bytes: u32) {
        BlockObserver::copied_nothing(self, at, space, address, bytes);
    }
    fn undefined(&mut self) -> Option<&mut dyn Undefined> {
        if O::REGISTERS { BlockObserver::undefined(self) } else { None }
    }
}

/// The context of an extension.
pub(crate) struct Machine<'a> {
    pub launch: &'a LaunchContext<'a>,
    pub block: &'a mut BlockState,
    pub cluster: &'a [SharedMemory],
    pub team: &'a mut ClusterState,
    pub device: &'a View,
    pub observer: &'a mut dyn ObserverHooks,
    pub warp: &'a mut Warp,
    /// The frame's registers.
    pub regs: Regs,
    pub frame: u32,
}

impl Machine<'_> {
    /// The host bytes of a shared address (an offset, with the block of the cluster in its top byte).
    pub fn shared(&self, address: u32, bytes: u32, what: &str, lane: usize) -> Result<*mut u8, Box<Raise>> {
        let rank = address >> window::SHARED_OFFSET_BITS;
        let offset = address & ((1 << window::SHARED_OFFSET_BITS) - 1);
        let block = if rank == 0 { Some(self.block.cluster_rank) } else { rank.checked_sub(1) };
        block
            .and_then(|block| self.cluster.get(block as usize))
            .filter(|memory| u64::from(offset) + u64::from(bytes) <= u64::from(memory.size))
            // SAFETY: inside the block's shared memory.
            .map(|memory| unsafe { memory.bytes.add(offset as usize) })
            .ok_or_else(|| {
                let kind = FaultKind::IllegalAddress {
                    access: what.into(),
                    address: address.into(),
                    bytes,
                    nearby: format!(", the block has {} bytes", self.launch.shared_bytes),
                };
                raise(kind, 1 << lane)
            })
    }

    /// The host bytes of a global address.
    pub fn global(
        &mut self,
        address: u64,
        bytes: u32,
        what: &str,
        lane: usize,
    ) -> Result<*mut u8, Box<Raise>> {
        if let Some(a) = self.device.find(address)
            && u64::from(bytes) <= self.device.end_of(a) - address
        {
            // SAFETY: inside the allocation.
            return Ok(unsafe { a.as_ptr().add((address - a.address()) as usize) });
        }
        let kind = FaultKind::IllegalAddress {
            access: what.into(),
            address,
            bytes,
            nearby: self.device.nearby(address),
        };
        Err(raise(kind, 1 << lane))
    }
}
