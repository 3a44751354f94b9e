//! What an operation can reach beside its warp: the block, its cluster's shared memory, device memory, the observer.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::block::BlockState;
use super::cluster::ClusterState;
use super::extension::{Machine, ObserverHooks};
use super::registers::Regs;
use super::warp::Warp;
use crate::Gpu;
use crate::fault::FaultKind;
use crate::launch::Launch;
use crate::memory::{Allocation, Memory, Table};
use crate::observer::BlockObserver;
use crate::program::{Code, KernelCode};

/// One launch, the same for all its blocks.
pub(crate) struct LaunchContext<'a> {
    pub gpu: &'a Gpu,
    pub code: &'a Code,
    pub kernel: &'a KernelCode,
    pub launch: Launch,
    pub params: &'a [u8],
    /// Shared memory of a block, and where its dynamic part starts.
    pub shared_bytes: u32,
    pub dynamic_offset: u32,
    /// Without the system's part, and where that starts.
    pub user_shared: u32,
    pub reserved_offset: u32,
    pub grid_id: u64,
    /// What clocks show at the start.
    pub epoch: u64,
    /// Bytes that `malloc` in kernels has given out.
    pub heap_used: &'a AtomicU64,
    pub stack_limit: u32,
    /// Device address of the barrier of a cooperative launch, which `grid.sync()` uses; else 0.
    pub workspace: u64,
}

/// A fault before it is known where: the kind and the lanes.
#[derive(Debug)]
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

/// What a warp needs to run.
pub(crate) struct Cx<'a, O> {
    pub launch: &'a LaunchContext<'a>,
    pub block: &'a mut BlockState,
    /// Shared memory of the cluster's blocks, by rank.
    pub cluster: &'a [SharedMemory],
    /// What else the cluster's blocks share.
    pub team: &'a mut ClusterState,
    pub observer: &'a mut O,
    pub device: &'a mut DeviceView,
}

impl<'a, O: BlockObserver> Cx<'a, O> {
    /// The same without the observer's type, for operations that are not generic over it.
    pub fn machine<'m>(&'m mut self, warp: &'m mut Warp, regs: Regs, frame: u32) -> Machine<'m> {
        let local_base = warp.frames[frame as usize].local_base;
        Machine {
            launch: self.launch,
            block: self.block,
            cluster: self.cluster,
            team: self.team,
            device: self.device,
            observer: self.observer as &mut dyn ObserverHooks,
            warp,
            regs,
            local_base,
            frame,
        }
    }
}

/// Device memory as a thread that runs blocks sees it: a table of allocations that is renewed when it misses.
#[derive(Debug)]
pub(crate) struct DeviceView {
    memory: Arc<Memory>,
    table: Arc<Table>,
    /// The allocation that was reached last.
    last: Option<Arc<Allocation>>,
}

impl DeviceView {
    pub fn new(memory: Arc<Memory>) -> Self {
        let table = memory.table();
        DeviceView { memory, table, last: None }
    }

    /// The allocation that holds `address`.
    #[inline]
    pub fn find(&mut self, address: u64) -> Option<&Allocation> {
        let hit = self.last.as_ref().is_some_and(|a| address.wrapping_sub(a.address()) < a.size());
        if !hit {
            self.look_up(address)?;
        }
        self.last.as_deref()
    }

    #[inline(never)]
    fn look_up(&mut self, address: u64) -> Option<()> {
        let mut found = self.table.find(address).cloned();
        if found.is_none() {
            let now = self.memory.table();
            if !Arc::ptr_eq(&now, &self.table) {
                self.table = now;
                found = self.table.find(address).cloned();
            }
        }
        self.last = Some(found?);
        Some(())
    }

    /// The ordinary address of what is bound at a multicast address; what is wrong with it, for a report.
    pub fn replica(&mut self, address: u64, bytes: u32) -> Result<u64, String> {
        if self.table.multicast(address).is_none() {
            self.table = self.memory.table();
        }
        let Some(range) = self.table.multicast(address) else {
            return Err(", which is no multicast address: multimem reaches those that cuMemMap gave a multicast object"
                .into());
        };
        let offset = address - range.address;
        match range.replica {
            Some(replica) if u64::from(bytes) <= range.bytes - offset => Ok(replica + offset),
            Some(_) => Err(", which runs over the end of what is bound to the multicast object there".into()),
            None => Err(", a multicast address to which no memory is bound".into()),
        }
    }

    /// Forgets allocations that were freed, after a kernel freed one.
    pub fn refresh(&mut self) {
        self.table = self.memory.table();
        self.last = None;
    }

    /// What lies near an address, for a report.
    pub fn nearby(&self, address: u64) -> String {
        let describe = |a: &Allocation| match a.label() {
            Some(name) => format!("`{name}` ({} bytes at {:#x})", a.size(), a.address()),
            None => format!("the allocation of {} bytes at {:#x}", a.size(), a.address()),
        };
        if self.table.multicast(address).is_some() {
            return ", a multicast address, which only multimem may access".into();
        }
        match self.table.neighbours(address) {
            (Some(before), _) if address < before.end() => {
                format!(", which runs over the end of {}", describe(before))
            }
            (Some(before), after) => {
                let behind = address - before.end();
                match after {
                    Some(after) if after.address() - address < behind => {
                        format!(", {} bytes before {}", after.address() - address, describe(after))
                    }
                    _ => format!(", {behind} bytes past the end of {}", describe(before)),
                }
            }
            (None, Some(after)) if address != 0 => {
                format!(", {} bytes before {}", after.address() - address, describe(after))
            }
            _ => ", where nothing is allocated".into(),
        }
    }
}
