//! Device memory as seen by a host thread that runs blocks, and why an allocation outlives the instructions that access
//! it.
//!
//! Another block, or another host thread, may free an allocation while an instruction moves its bytes. Three things
//! make that harmless:
//!
//! - [`Memory::free`] takes an allocation out of every thread's reach at once ([`Allocation::reaches`]); its bytes go when
//!   its last [`Arc`] goes.
//! - A [`View`] keeps an `Arc` of each allocation that it finds, and lets go of them only in [`View::release`], which a
//!   thread calls between the slices of its blocks.
//! - The result of [`View::find`] borrows the view, and so does everything that runs during a slice; `release` takes the
//!   view exclusively. So host pointers into an allocation live as long as the slice, and no instruction outlasts a slice.
//!
//! Bytes lent by the program ([`Memory::map_host`]) are not owned here: freeing them waits until no view holds them.

use std::cell::{Cell, RefCell};
use std::ptr::NonNull;
use std::sync::Arc;

use super::{Allocation, Memory, Multicast, Site};

/// Device memory as seen by one thread.
#[derive(Debug)]
pub(crate) struct View {
    memory: Arc<Memory>,
    /// Whether allocations end at their last byte, as the checks want it, and not at their last granule, as on hardware.
    exact: bool,
    /// The value of [`Memory::frees`] when the view last released what it held.
    frees: u64,
    /// The last allocation found: one of `held`.
    last: Cell<Option<NonNull<Allocation>>>,
    held: RefCell<Held>,
    sites: RefCell<Sites>,
}

/// Bytes of a range that are contiguous on the host. They may change at any time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HostRange {
    pub place: *mut u8,
    pub bytes: usize,
    pub read_only: bool,
}

/// Sites of a thread, and the value of [`Memory::frees`] when it started to.
#[derive(Debug, Default)]
struct Sites {
    frees: u64,
    found: Vec<Site>,
}

/// Allocations that a view has found since it last released.
#[derive(Debug, Default)]
struct Held {
    /// By address; no two overlap.
    found: Vec<(u64, Arc<Allocation>)>,
    /// Freed ones whose addresses are in use again.
    replaced: Vec<Arc<Allocation>>,
    multicasts: Arc<[Multicast]>,
}

impl View {
    pub fn new(memory: Arc<Memory>, exact: bool) -> Self {
        let frees = memory.frees();
        View {
            memory,
            exact,
            frees,
            last: Cell::new(None),
            held: RefCell::default(),
            sites: RefCell::default(),
        }
    }

    /// Releases what it has found, if something was freed since: nothing borrows the view, so no instruction is in
    /// progress.
    pub fn release(&mut self) {
        let frees = self.memory.frees();
        if frees != self.frees {
            self.frees = frees;
            self.last.set(None);
            let held = self.held.get_mut();
            held.found.clear();
            held.replaced.clear();
            // Some may have been found since the view last looked, and are held no more; others may be read only by now.
            self.sites.get_mut().found.clear();
        }
    }

    /// Changes when anything is freed.
    #[inline]
    pub fn frees(&self) -> u64 {
        self.memory.frees()
    }

    /// Room for `count` sites. All are forgotten as soon as anything is freed.
    pub fn sites(&self, count: usize) -> *mut Site {
        let mut sites = self.sites.borrow_mut();
        let frees = self.memory.frees();
        if sites.frees != frees || sites.found.len() < count {
            sites.frees = frees;
            sites.found.clear();
            sites.found.resize(count, Site::NONE);
        }
        sites.found.as_mut_ptr()
    }

    /// Bytes of an allocation that kernels reach.
    #[inline]
    pub fn size_of(&self, allocation: &Allocation) -> u64 {
        if self.exact { allocation.size() } else { allocation.extent() }
    }

    /// The address behind them.
    #[inline]
    pub fn end_of(&self, allocation: &Allocation) -> u64 {
        allocation.address() + self.size_of(allocation)
    }

    /// The allocation that contains `address`.
    #[inline]
    pub fn find(&self, address: u64) -> Option<&Allocation> {
        let found = self.find_granule(address);
        if self.exact { found.filter(|allocation| address < allocation.end()) } else { found }
    }

    #[inline]
    fn find_granule(&self, address: u64) -> Option<&Allocation> {
        // SAFETY: `last` is one of `held`, which only `release` drops: that resets `last`, and cannot be called while
        // the result here is borrowed.
        let last = self.last.get().map(|last| unsafe { last.as_ref() });
        last.filter(|last| last.reaches(address)).or_else(|| self.look_up(address))
    }

    #[inline(never)]
    fn look_up(&self, address: u64) -> Option<&Allocation> {
        let mut held = self.held.borrow_mut();
        let found = held.find(address).or_else(|| {
            let found = self.memory.find_granule(address).filter(|found| self.memory.may_reach(found))?;
            Some(held.keep(found))
        })?;
        self.last.set(Some(found));
        // SAFETY: as in `find`.
        Some(unsafe { found.as_ref() })
    }

    /// Whether it may be written.
    #[inline]
    pub fn may_write(&self, allocation: &Allocation) -> bool {
        self.memory.may_write(allocation)
    }

    /// Reads a few bytes, which other threads may write at the same time. False if any of them is unmapped.
    pub fn read(&self, address: u64, to: &mut [u8]) -> bool {
        let mut rest = to;
        let mut at = address;
        while !rest.is_empty() {
            let Some(allocation) = self.find(at) else { return false };
            let here = rest.len().min(usize::try_from(self.end_of(allocation) - at).unwrap_or(usize::MAX));
            let (now, after) = rest.split_at_mut(here);
            allocation.read(at - allocation.address(), now);
            (at, rest) = (at.wrapping_add(here as u64), after);
        }
        true
    }

    /// The host bytes of a range, which may span several adjacent mappings; `None` if a part is unmapped.
    pub fn pieces(&self, address: u64, bytes: u64) -> Option<Vec<HostRange>> {
        let mut pieces = Vec::with_capacity(1);
        let (mut at, mut rest) = (address, bytes);
        while rest > 0 {
            let allocation = self.find(at)?;
            let here = rest.min(self.end_of(allocation) - at);
            let place = allocation.as_ptr().wrapping_add((at - allocation.address()) as usize);
            let read_only = !self.may_write(allocation);
            pieces.push(HostRange { place, bytes: here as usize, read_only });
            (at, rest) = (at.wrapping_add(here), rest - here);
        }
        Some(pieces)
    }

    /// The ordinary address of the memory bound at a multicast address; the error says what is wrong with it.
    pub fn replica(&self, address: u64, bytes: u32) -> Result<u64, String> {
        let mut held = self.held.borrow_mut();
        let find = |all: &[Multicast]| all.iter().find(|range| range.holds(address)).copied();
        let range = find(&held.multicasts).or_else(|| {
            held.multicasts = self.memory.multicasts();
            find(&held.multicasts)
        });
        let Some(range) = range else {
            return Err(", which is not a multicast address: multimem takes addresses at which cuMemMap mapped a multicast object"
                .into());
        };
        let offset = address - range.address;
        match range.replica {
            Some(replica) if u64::from(bytes) <= range.bytes - offset => Ok(replica + offset),
            Some(_) => Err(", which runs over the end of what is bound to the multicast object there".into()),
            None => Err(", a multicast address at which no memory is bound".into()),
        }
    }

    /// The surroundings of an address, for a report.
    pub fn nearby(&self, address: u64) -> String {
        let describe = |a: &Allocation| match a.label() {
            Some(name) => format!("`{name}` ({} bytes at {:#x})", a.size(), a.address()),
            None => format!("the allocation of {} bytes at {:#x}", a.size(), a.address()),
        };
        if self.memory.multicasts().iter().any(|range| range.holds(address)) {
            return ", a multicast address, which only multimem may access".into();
        }
        if let Some(beyond) = self.memory.find(address).filter(|found| !self.memory.may_reach(found)) {
            return self.memory.why_not(&beyond);
        }
        match self.memory.neighbours(address) {
            (Some(before), _) if address < self.end_of(&before) => {
                format!(", which runs over the end of {}", describe(&before))
            }
            (Some(before), after) => {
                let behind = address - before.end();
                match after {
                    Some(after) if after.address() - address < behind => {
                        format!(", {} bytes before {}", after.address() - address, describe(&after))
                    }
                    _ => format!(", {behind} bytes past the end of {}", describe(&before)),
                }
            }
            (None, Some(after)) if address != 0 => {
                format!(", {} bytes before {}", after.address() - address, describe(&after))
            }
            _ => ", where nothing is allocated".into(),
        }
    }
}

impl Held {
    fn find(&self, address: u64) -> Option<NonNull<Allocation>> {
        let behind = self.found.partition_point(|(start, _)| *start <= address);
        let (_, allocation) = self.found.get(behind.checked_sub(1)?)?;
        allocation.reaches(address).then(|| NonNull::from(&**allocation))
    }

    fn keep(&mut self, new: Arc<Allocation>) -> NonNull<Allocation> {
        let place = NonNull::from(&*new);
        let first = self.found.partition_point(|(_, old)| old.address() + old.extent() <= new.address());
        let behind = self.found.partition_point(|(start, _)| *start < new.address() + new.extent());
        // The overlapping ones were freed; instructions in progress may still access them.
        self.replaced.extend(self.found.splice(first..behind, [(new.address(), new)]).map(|(_, old)| old));
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Rights;

    #[test]
    fn what_was_found_lives_until_the_view_lets_go() {
        let memory = Arc::new(Memory::new(1 << 30));
        let address = memory.alloc(4096).unwrap();
        let kept = Arc::downgrade(&memory.find(address).unwrap());
        let mut view = View::new(memory.clone(), false);
        let found = view.find(address + 4095).unwrap();
        memory.free(address).unwrap();
        // Out of reach at once, for this view and for others; but a view that holds it may finish.
        assert!(view.find(address).is_none() && View::new(memory.clone(), false).find(address).is_none());
        found.write(0, &[7]);
        assert!(kept.upgrade().is_some());
        view.release();
        assert!(kept.upgrade().is_none());
    }

    #[test]
    fn addresses_in_use_again_lead_to_what_is_there_now() {
        let memory = Arc::new(Memory::new(1 << 30));
        let page = 1 << 21;
        let (a, b) = (memory.physical(page).unwrap(), memory.physical(page).unwrap());
        let at = memory.reserve(page, page).unwrap();
        memory.map(at, &a, 0, page, &Rights::all()).unwrap();
        let view = View::new(memory.clone(), false);
        let old = view.find(at).unwrap();
        memory.unmap(at).unwrap();
        memory.map(at, &b, 0, page, &Rights::all()).unwrap();
        drop(a);
        let new = view.find(at).unwrap();
        old.write(0, &[1]);
        new.write(0, &[2]);
        let mut byte = [0];
        memory.read(at, &mut byte).unwrap();
        assert_eq!(byte, [2]);
    }

    #[test]
    fn freeing_what_was_lent_waits_for_those_that_use_it() {
        let memory = Arc::new(Memory::new(1 << 30));
        let mut lent = vec![0u8; 64];
        // SAFETY: the bytes outlive the call of `free` below.
        let address = unsafe { memory.map_host(lent.as_mut_ptr(), 64) }.unwrap();
        let mut view = View::new(memory.clone(), false);
        std::thread::scope(|scope| {
            let found = view.find(address).unwrap();
            let freed = scope.spawn(|| memory.free(address));
            while memory.find(address).is_some() {
                std::thread::yield_now();
            }
            assert!(!freed.is_finished());
            found.write(0, &[1]);
            assert!(!freed.is_finished());
            view.release();
            freed.join().unwrap().unwrap();
        });
        assert_eq!(lent[0], 1);
    }
}
