//! Virtual memory management: addresses, memory, and the mappings between them.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use virtual_gpu::memory::{Physical, Rights};

use crate::abi::{
    Answer, CUdevice, CUdeviceptr, CUmemAccess_flags as Access, CUmemAccessDesc, CUmemAllocationProp,
    CUmemAllocationType, CUmemLocation, CUmemLocationType, CUresult, Handle, In, Out,
};
use crate::check;
use crate::foreign::multicast::{self, Team};
use crate::objects::call::unsupported;
use crate::objects::context::current;
use crate::objects::device::{Device, code_of, device, devices, memory};
use crate::objects::registry::Registry;

/// Sizes and addresses are multiples of this, as on real boards.
pub const GRANULARITY: u64 = 2 << 20;

static PHYSICAL: Registry<Physical> = Registry::new(CUresult::INVALID_VALUE);

/// Physical memory that addresses can be mapped to.
#[derive(Clone)]
pub enum Reached {
    Memory(Arc<Physical>),
    /// A multicast object, from an offset on.
    Team(Arc<Team>, u64),
}

pub struct Mapping {
    pub size: u64,
    pub reached: Reached,
    handle: Handle,
    /// Each device's access rights.
    rights: Arc<Rights>,
}

impl Mapping {
    pub fn is_open(&self) -> bool {
        !self.rights.is_nobodys()
    }

    /// Whether a device can be let to reach it.
    fn admits(&self, device: &Device) -> bool {
        match &self.reached {
            Reached::Memory(memory) => {
                let owner = memory.device() as CUdevice;
                owner == device.number
                    || devices().get(owner as usize).is_some_and(|of| device.can_access(of))
            }
            Reached::Team(..) => true,
        }
    }
}

#[derive(Default)]
pub struct Addresses {
    /// Start and size.
    reserved: BTreeMap<u64, u64>,
    pub mapped: BTreeMap<u64, Mapping>,
}

static ADDRESSES: Mutex<Addresses> =
    Mutex::new(Addresses { reserved: BTreeMap::new(), mapped: BTreeMap::new() });

pub fn addresses() -> MutexGuard<'static, Addresses> {
    // Every change is one insertion or removal.
    ADDRESSES.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn multiple(value: u64) -> Answer {
    if value > 0 && value.is_multiple_of(GRANULARITY) { Ok(()) } else { Err(CUresult::INVALID_VALUE) }
}

fn on_a_device(location: CUmemLocation) -> Answer<&'static Device> {
    match location.r#type.try_into() {
        Ok(CUmemLocationType::DEVICE) => device(location.id),
        _ => Err(CUresult::NOT_SUPPORTED),
    }
}

fn known(properties: &CUmemAllocationProp) -> Answer<&'static Device> {
    if properties.r#type != CUmemAllocationType::PINNED as u32 {
        return Err(CUresult::INVALID_VALUE);
    }
    on_a_device(properties.location)
}

pub fn cuMemGetAllocationGranularity(
    place: Out<usize>,
    properties: In<CUmemAllocationProp>,
    option: u32,
) -> Answer {
    place.required()?;
    known(&properties.get()?)?;
    if option > 1 {
        return Err(CUresult::INVALID_VALUE);
    }
    place.set(GRANULARITY as usize)
}

pub fn cuMemAddressReserve(
    place: Out<CUdeviceptr>,
    size: usize,
    alignment: usize,
    wished: CUdeviceptr,
    flags: u64,
) -> Answer {
    place.required()?;
    current()?;
    multiple(size as u64)?;
    if flags != 0 || !(alignment == 0 || alignment.is_power_of_two()) {
        return Err(CUresult::INVALID_VALUE);
    }
    let alignment = (alignment as u64).max(GRANULARITY);
    if !wished.is_multiple_of(alignment) {
        return Err(CUresult::INVALID_VALUE);
    }
    // Other addresses are as good where the wished ones are in use.
    let start = if memory().reserve_at(wished, size as u64) {
        wished
    } else {
        memory().reserve(size as u64, alignment).map_err(|error| code_of(&error))?
    };
    addresses().reserved.insert(start, size as u64);
    place.set(start)
}

pub fn cuMemAddressFree(start: CUdeviceptr, size: usize) -> Answer {
    let mut all = addresses();
    if all.reserved.get(&start) != Some(&(size as u64)) {
        return Err(CUresult::INVALID_VALUE);
    }
    if all.mapped.range(start..start + size as u64).next().is_some() {
        return Err(CUresult::INVALID_VALUE);
    }
    memory().release(start).map_err(|error| code_of(&error))?;
    all.reserved.remove(&start);
    Ok(())
}

pub fn cuMemCreate(place: Out<u64>, size: usize, properties: In<CUmemAllocationProp>, flags: u64) -> Answer {
    place.required()?;
    current()?;
    let properties = properties.get()?;
    let device = known(&properties)?;
    multiple(size as u64)?;
    if flags != 0 {
        return Err(CUresult::INVALID_VALUE);
    }
    if properties.requestedHandleTypes != 0 {
        return unsupported("cuMemCreate for handles that other processes share");
    }
    let memory = device.gpu.memory().physical(size as u64).map_err(|error| code_of(&error))?;
    place.set(PHYSICAL.insert(memory) as u64)
}

pub fn cuMemRelease(handle: u64) -> Answer {
    PHYSICAL.remove(handle as Handle).map(|_| ()).or_else(|_| multicast::release(handle))
}

pub fn physical(handle: u64) -> Answer<Arc<Physical>> {
    PHYSICAL.get(handle as Handle)
}

pub fn cuMemMap(start: CUdeviceptr, size: usize, offset: usize, handle: u64, flags: u64) -> Answer {
    let size = size as u64;
    multiple(size)?;
    let (reached, most) = match physical(handle) {
        Ok(memory) if offset == 0 => (Reached::Memory(memory.clone()), memory.size()),
        Ok(_) => return Err(CUresult::INVALID_VALUE),
        Err(_) => {
            let team = multicast::complete(handle)?;
            let most = team.size.saturating_sub(offset as u64);
            (Reached::Team(team, offset as u64), most)
        }
    };
    let mut all = addresses();
    let end = start.checked_add(size).ok_or(CUresult::INVALID_VALUE)?;
    let inside =
        all.reserved.range(..=start).next_back().is_some_and(|(&from, &length)| end <= from + length);
    let taken =
        all.mapped.range(..end).next_back().is_some_and(|(&from, mapping)| from + mapping.size > start);
    let aligned = start.is_multiple_of(GRANULARITY) && (offset as u64).is_multiple_of(GRANULARITY);
    let fits = aligned && flags == 0 && size <= most;
    if !inside || taken || !fits {
        return Err(CUresult::INVALID_VALUE);
    }
    all.mapped.insert(start, Mapping { size, reached, handle: handle as Handle, rights: Rights::none() });
    Ok(())
}

/// The starts of the mappings that cover a range without a gap.
fn mappings(all: &Addresses, start: u64, size: u64) -> Answer<Vec<u64>> {
    let end = start.checked_add(size).ok_or(CUresult::INVALID_VALUE)?;
    let mut at = start;
    let mut found = Vec::new();
    while at < end {
        let mapping = all.mapped.get(&at).ok_or(CUresult::INVALID_VALUE)?;
        found.push(at);
        at += mapping.size;
    }
    if at == end && !found.is_empty() { Ok(found) } else { Err(CUresult::INVALID_VALUE) }
}

/// Lets devices reach memory at its addresses, or reach it no more there. Addresses that none may reach lead nowhere, for the
/// host's copies, too.
fn set_access(all: &Addresses, start: u64, devices: &[(&Device, Access)]) -> Answer {
    let mapping = all.mapped.get(&start).ok_or(CUresult::INVALID_VALUE)?;
    let was_open = mapping.is_open();
    for (device, access) in devices {
        mapping.rights.set(device.number as u32, access.reads(), access.writes());
    }
    let Reached::Memory(physical) = &mapping.reached else { return Ok(()) };
    match (was_open, mapping.is_open()) {
        (true, true) => memory().access_changed(),
        (true, false) => {
            memory().unmap(start).map_err(|error| code_of(&error))?;
            check::tell(|sanitizer| sanitizer.host_freed(start));
        }
        (false, true) => {
            let mapped = memory().map(start, physical, 0, mapping.size, &mapping.rights);
            mapped.map_err(|error| code_of(&error))?;
            check::tell(|sanitizer| sanitizer.host_allocated(start, mapping.size, None));
        }
        (false, false) => {}
    }
    Ok(())
}

pub fn cuMemUnmap(start: CUdeviceptr, size: usize) -> Answer {
    // Work that uses the addresses finishes first.
    current()?.queue.drain()?;
    let mut all = addresses();
    for start in mappings(&all, start, size as u64)? {
        let no_access: Vec<_> = devices().iter().map(|device| (device, Access::PROT_NONE)).collect();
        set_access(&all, start, &no_access)?;
        all.mapped.remove(&start);
    }
    multicast::renew(&all);
    Ok(())
}

pub fn cuMemSetAccess(
    start: CUdeviceptr,
    size: usize,
    descriptions: In<CUmemAccessDesc>,
    count: usize,
) -> Answer {
    let mut asked = Vec::new();
    for description in descriptions.array(count)? {
        asked.push((on_a_device(description.location)?, description.flags.try_into()?));
    }
    let all = addresses();
    let starts = mappings(&all, start, size as u64)?;
    for mapping in starts.iter().filter_map(|start| all.mapped.get(start)) {
        if asked.iter().any(|(device, _)| !mapping.admits(device)) {
            return Err(CUresult::INVALID_DEVICE);
        }
    }
    for start in starts {
        set_access(&all, start, &asked)?;
    }
    multicast::renew(&all);
    Ok(())
}

fn holding(all: &Addresses, address: u64) -> Answer<&Mapping> {
    let found = all.mapped.range(..=address).next_back();
    found
        .filter(|(start, mapping)| address < **start + mapping.size)
        .map(|(_, mapping)| mapping)
        .ok_or(CUresult::INVALID_VALUE)
}

pub fn cuMemGetAccess(place: Out<u64>, location: In<CUmemLocation>, address: CUdeviceptr) -> Answer {
    let device = on_a_device(location.get()?)?;
    let all = addresses();
    place.set(Access::of(holding(&all, address)?.rights.of(device.number as u32)) as u64)
}

pub fn cuMemRetainAllocationHandle(place: Out<u64>, address: *mut c_void) -> Answer {
    place.required()?;
    let all = addresses();
    let mapping = holding(&all, address as u64)?;
    match &mapping.reached {
        Reached::Memory(memory) => PHYSICAL.insert_as(mapping.handle, memory.clone()),
        Reached::Team(team, _) => multicast::retain(mapping.handle, team),
    }
    place.set(mapping.handle as u64)
}

pub fn cuMemGetAllocationPropertiesFromHandle(place: Out<CUmemAllocationProp>, handle: u64) -> Answer {
    let memory = PHYSICAL.get(handle as Handle)?;
    place.set(CUmemAllocationProp {
        r#type: CUmemAllocationType::PINNED as u32,
        requestedHandleTypes: 0,
        location: CUmemLocation { r#type: CUmemLocationType::DEVICE as u32, id: memory.device() as i32 },
        win32HandleMetaData: std::ptr::null_mut(),
        compressionType: 0,
        gpuDirectRDMACapable: 0,
        usage: 0,
        reserved: [0; 4],
    })
}
