//! Multicast objects: memory that each device of a team binds, and addresses with which `multimem` reaches all of it.
//!
//! The team is the one device. Kernels are given the ordinary addresses of what is bound, see
//! [`virtual_gpu::memory::Multicast`].

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use virtual_gpu::memory::{Multicast, Physical, Rights};

use crate::abi::{Answer, CUdevice, CUdeviceptr, CUmulticastObjectProp, CUresult, Handle, In, Out};
use crate::check;
use crate::foreign::virtual_memory::{Addresses, GRANULARITY, Reached, addresses, multiple, physical};
use crate::objects::call::unsupported;
use crate::objects::context::current;
use crate::objects::context::device_here;
use crate::objects::device::{code_of, device, memory};
use crate::objects::registry::Registry;

pub struct Team {
    pub size: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Whether the device was added; there is only one.
    complete: bool,
    /// By offset in the object.
    bound: BTreeMap<u64, Bound>,
}

struct Bound {
    size: u64,
    memory: Memory,
}

enum Memory {
    /// Physical memory from an offset on, and addresses in case the program has none for it.
    Physical { memory: Arc<Physical>, offset: u64, own: Own },
    /// Another allocation's memory at this address.
    At(CUdeviceptr),
}

/// Addresses that no program knows.
struct Own(u64);

impl Own {
    fn new(physical: &Arc<Physical>, offset: u64, size: u64) -> Answer<Self> {
        let start = memory().reserve(size, GRANULARITY).map_err(|error| code_of(&error))?;
        let own = Own(start);
        memory().map(start, physical, offset, size, &Rights::all()).map_err(|error| code_of(&error))?;
        check::tell(|sanitizer| sanitizer.host_allocated(start, size, None));
        Ok(own)
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        // Both fail only for unmapped addresses.
        if memory().unmap(self.0).is_ok() {
            check::tell(|sanitizer| sanitizer.host_freed(self.0));
        }
        let _ = memory().release(self.0);
    }
}

static TEAMS: Registry<Team> = Registry::new(CUresult::INVALID_VALUE);

impl Team {
    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is one insertion or removal.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bind(&self, offset: u64, size: u64, memory: Memory) -> Answer {
        let mut state = self.state();
        let end = offset.checked_add(size).ok_or(CUresult::INVALID_VALUE)?;
        let taken = state.bound.range(..end).next_back().is_some_and(|(&at, bound)| at + bound.size > offset);
        if !state.complete || taken || end > self.size {
            return Err(CUresult::INVALID_VALUE);
        }
        state.bound.insert(offset, Bound { size, memory });
        Ok(())
    }
}

impl Bound {
    /// An ordinary address of the bound memory: one of the program's own, if kernels may use it.
    fn address(&self, all: &Addresses) -> u64 {
        let (memory, offset, own) = match &self.memory {
            &Memory::At(address) => return address,
            Memory::Physical { memory, offset, own } => (memory, *offset, own),
        };
        let found = all.mapped.iter().find(|(_, mapping)| match &mapping.reached {
            Reached::Memory(mapped) => {
                Arc::ptr_eq(mapped, memory) && mapping.is_open() && offset + self.size <= mapping.size
            }
            Reached::Team(..) => false,
        });
        found.map_or(own.0, |(start, _)| start + offset)
    }
}

/// Tells the device the current targets of its multicast addresses.
pub fn renew(all: &Addresses) {
    let mut ranges = Vec::new();
    for (&start, mapping) in &all.mapped {
        let Reached::Team(team, from) = &mapping.reached else { continue };
        if !mapping.is_open() {
            continue;
        }
        let (mut at, end) = (*from, from + mapping.size);
        let mut range = |begin: u64, end: u64, replica| {
            if begin < end {
                ranges.push(Multicast { address: start + (begin - from), bytes: end - begin, replica });
            }
        };
        for (&offset, bound) in team.state().bound.range(..end).filter(|(at, bound)| *at + bound.size > *from)
        {
            range(at, offset, None);
            at = at.max(offset);
            let stop = end.min(offset + bound.size);
            range(at, stop, Some(bound.address(all) + (at - offset)));
            at = stop;
        }
        range(at, end, None);
    }
    memory().set_multicasts(ranges);
}

/// A multicast object to which all its devices were added.
pub fn complete(handle: u64) -> Answer<Arc<Team>> {
    let team = TEAMS.get(handle as Handle)?;
    if team.state().complete { Ok(team) } else { Err(CUresult::INVALID_VALUE) }
}

pub fn release(handle: u64) -> Answer {
    TEAMS.remove(handle as Handle).map(|_| ())
}

pub fn retain(handle: Handle, team: &Arc<Team>) {
    TEAMS.insert_as(handle, team.clone());
}

fn known(properties: In<CUmulticastObjectProp>) -> Answer<CUmulticastObjectProp> {
    let properties = properties.get()?;
    if device_here().chip().capability().major < 9 {
        return Err(CUresult::NOT_SUPPORTED);
    }
    if properties.handleTypes != 0 {
        return unsupported("cuMulticastCreate for handles that other processes share");
    }
    match properties.numDevices {
        _ if properties.flags != 0 => Err(CUresult::INVALID_VALUE),
        0 => Err(CUresult::INVALID_VALUE),
        1 => Ok(properties),
        _ => unsupported("cuMulticastCreate for more devices than the one"),
    }
}

pub fn cuMulticastGetGranularity(
    place: Out<usize>,
    properties: In<CUmulticastObjectProp>,
    option: u32,
) -> Answer {
    place.required()?;
    known(properties)?;
    if option > 1 {
        return Err(CUresult::INVALID_VALUE);
    }
    place.set(GRANULARITY as usize)
}

pub fn cuMulticastCreate(place: Out<u64>, properties: In<CUmulticastObjectProp>) -> Answer {
    place.required()?;
    current()?;
    let size = known(properties)?.size as u64;
    multiple(size)?;
    place.set(TEAMS.insert(Team { size, state: Mutex::default() }) as u64)
}

pub fn cuMulticastAddDevice(handle: u64, dev: CUdevice) -> Answer {
    device(dev)?;
    let team = TEAMS.get(handle as Handle)?;
    let mut state = team.state();
    if std::mem::replace(&mut state.complete, true) { Err(CUresult::INVALID_VALUE) } else { Ok(()) }
}

/// Checks the numbers common to both ways of binding.
fn fitting(offset: usize, from: u64, size: usize, flags: u64) -> Answer {
    multiple(size as u64)?;
    let aligned = (offset as u64).is_multiple_of(GRANULARITY) && from.is_multiple_of(GRANULARITY);
    if aligned && flags == 0 { Ok(()) } else { Err(CUresult::INVALID_VALUE) }
}

pub fn cuMulticastBindMem(
    handle: u64,
    offset: usize,
    memory: u64,
    memory_offset: usize,
    size: usize,
    flags: u64,
) -> Answer {
    current()?;
    let team = complete(handle)?;
    let memory = physical(memory)?;
    fitting(offset, memory_offset as u64, size, flags)?;
    bind(&team, offset as u64, memory, memory_offset as u64, size as u64)
}

fn bind(team: &Team, offset: u64, memory: Arc<Physical>, from: u64, size: u64) -> Answer {
    if from.checked_add(size).is_none_or(|end| end > memory.size()) {
        return Err(CUresult::INVALID_VALUE);
    }
    let own = Own::new(&memory, from, size)?;
    let all = addresses();
    team.bind(offset, size, Memory::Physical { memory, offset: from, own })?;
    renew(&all);
    Ok(())
}

pub fn cuMulticastBindMem_v2(
    handle: u64,
    dev: CUdevice,
    offset: usize,
    memory: u64,
    memory_offset: usize,
    size: usize,
    flags: u64,
) -> Answer {
    device(dev)?;
    cuMulticastBindMem(handle, offset, memory, memory_offset, size, flags)
}

pub fn cuMulticastBindAddr(
    handle: u64,
    offset: usize,
    address: CUdeviceptr,
    size: usize,
    flags: u64,
) -> Answer {
    current()?;
    let team = complete(handle)?;
    fitting(offset, address, size, flags)?;
    let all = addresses();
    let mapping = all.mapped.range(..=address).next_back();
    if let Some((start, mapping)) = mapping.filter(|(start, mapping)| address < **start + mapping.size) {
        let Reached::Memory(memory) = &mapping.reached else { return Err(CUresult::INVALID_VALUE) };
        let (memory, from) = (memory.clone(), address - start);
        drop(all);
        return bind(&team, offset as u64, memory, from, size as u64);
    }
    let allocation = memory().find(address).ok_or(CUresult::INVALID_VALUE)?;
    if size as u64 > allocation.end() - address {
        return Err(CUresult::INVALID_VALUE);
    }
    team.bind(offset as u64, size as u64, Memory::At(address))?;
    renew(&all);
    Ok(())
}

pub fn cuMulticastBindAddr_v2(
    handle: u64,
    dev: CUdevice,
    offset: usize,
    address: CUdeviceptr,
    size: usize,
    flags: u64,
) -> Answer {
    device(dev)?;
    cuMulticastBindAddr(handle, offset, address, size, flags)
}

pub fn cuMulticastUnbind(handle: u64, dev: CUdevice, offset: usize, size: usize) -> Answer {
    device(dev)?;
    let team = TEAMS.get(handle as Handle)?;
    // Work that uses it finishes first.
    current()?.queue.drain()?;
    let all = addresses();
    let mut state = team.state();
    let exact = state.bound.get(&(offset as u64)).is_some_and(|bound| bound.size == size as u64);
    let removed = if exact { state.bound.remove(&(offset as u64)) } else { None };
    drop(state);
    renew(&all);
    removed.map(|_| ()).ok_or(CUresult::INVALID_VALUE)
}
