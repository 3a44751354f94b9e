//! Allocations of the host, so that an address can be named.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use crate::finding::Object;
use crate::origin::Calls;

/// One allocation, alive or freed.
#[derive(Debug, Clone)]
struct Allocated {
    size: u64,
    name: Option<String>,
    freed: bool,
    /// Who asked for it.
    calls: Option<Calls>,
}

/// Allocations whose calls are kept: a few kilobytes each.
const MOST_CALLS: usize = 4096;

/// An address of global memory, as a place in the object that was found for it.
fn object(found: Option<(u64, Allocated)>, address: u64) -> Object {
    let space = "global".into();
    match found {
        Some((start, Allocated { size, name, calls, .. })) => Object {
            space,
            name,
            size: Some(size),
            offset: address.wrapping_sub(start),
            element: None,
            allocated: calls.and_then(|calls| calls.site()),
        },
        None => Object { space, name: None, size: None, offset: address, element: None, allocated: None },
    }
}

/// All allocations that the host made.
#[derive(Debug, Default)]
pub struct Objects(Mutex<BTreeMap<u64, Allocated>>);

impl Objects {
    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, Allocated>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The host allocated memory.
    pub fn allocated(&self, address: u64, size: u64, name: Option<&str>, by_program: bool) {
        let mut objects = self.lock();
        let keep = by_program && objects.len() < MOST_CALLS;
        let calls = keep.then(Calls::here);
        objects.insert(address, Allocated { size, name: name.map(str::to_owned), freed: false, calls });
    }

    /// The host freed memory. Returns whether it was alive.
    pub fn freed(&self, address: u64) -> bool {
        match self.lock().get_mut(&address) {
            Some(object) if !object.freed => {
                object.freed = true;
                true
            }
            _ => false,
        }
    }

    /// The addresses of what was never freed.
    pub fn leaked(&self) -> Vec<u64> {
        let objects = self.lock();
        objects.iter().filter(|(_, o)| !o.freed && o.name.is_none()).map(|(&address, _)| address).collect()
    }

    /// The object at or before an address of global memory.
    pub fn global(&self, address: u64) -> Object {
        let found = self.lock().range(..=address).next_back().map(|(&start, object)| (start, object.clone()));
        object(found, address)
    }

    /// The object that holds an address of global memory, or the end or the start of which is nearest.
    pub fn nearest(&self, address: u64) -> Object {
        if let Some((start, _)) = self.freed_at(address) {
            return Object { offset: address - start, ..self.global(start) };
        }
        let objects = self.lock();
        let before = objects.range(..=address).next_back();
        let after = objects.range(address..).next();
        let behind = before
            .map_or(u64::MAX, |(start, object)| address.saturating_sub(start.saturating_add(object.size)));
        let nearest = match after {
            Some((start, _)) if start - address < behind => after,
            _ => before,
        };
        let found = nearest.map(|(&start, object)| (start, object.clone()));
        drop(objects);
        object(found, address)
    }

    /// The addresses of the allocation that holds an address and is not freed. Allocations have gaps between them; what is mapped
    /// side by side is one.
    pub fn extent(&self, address: u64) -> Option<Range<u64>> {
        let objects = self.lock();
        let alive = |(&start, object): (&u64, &Allocated)| {
            (!object.freed).then(|| start..start.saturating_add(object.size))
        };
        let mut extent =
            alive(objects.range(..=address).next_back()?).filter(|extent| extent.contains(&address))?;
        while let Some(next) = objects.get_key_value(&extent.end).and_then(alive) {
            extent.end = next.end;
        }
        while let Some(before) = objects.range(..extent.start).next_back().and_then(alive)
            && before.end == extent.start
        {
            extent.start = before.start;
        }
        Some(extent)
    }

    /// Whether an address lies in memory that was freed.
    pub fn is_freed(&self, address: u64) -> bool {
        self.freed_at(address).is_some()
    }

    /// Address and size of the freed allocation that an address lies in, unless a later one holds the address now.
    pub fn freed_at(&self, address: u64) -> Option<(u64, u64)> {
        /// Smaller allocations that may have come since into the place of one.
        const NEAR: usize = 64;
        let objects = self.lock();
        let mut before = objects.range(..=address).rev().take(NEAR);
        let (&start, object) = before.find(|(start, object)| address - **start < object.size)?;
        object.freed.then_some((start, object.size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_before_a_buffer_belongs_to_it_and_not_to_what_lies_far_below() {
        let objects = Objects::default();
        objects.allocated(0x1000, 1, Some("far"), false);
        objects.allocated(0x9000, 256, None, false);
        let place = |address| {
            let Object { name, offset, .. } = objects.nearest(address);
            (name.is_some(), offset as i64)
        };
        assert_eq!(place(0x8FFC), (false, -4));
        assert_eq!([place(0x9000), place(0x9104)], [(false, 0), (false, 260)]);
        assert_eq!([place(0x1000), place(0x1004)], [(true, 0), (true, 4)]);
        assert_eq!(objects.global(0x8FFC).name.as_deref(), Some("far"));
    }

    #[test]
    fn an_extent_is_all_that_is_mapped_side_by_side() {
        let objects = Objects::default();
        [(0x1000, 0x100), (0x1100, 0x100), (0x1200, 0x100), (0x2000, 0x80)]
            .into_iter()
            .for_each(|(address, size)| objects.allocated(address, size, None, false));
        assert_eq!(objects.extent(0x1180), Some(0x1000..0x1300));
        assert_eq!((objects.extent(0x2000), objects.extent(0x2080)), (Some(0x2000..0x2080), None));
        objects.freed(0x1100);
        assert_eq!((objects.extent(0x1080), objects.extent(0x1180)), (Some(0x1000..0x1100), None));
    }

    #[test]
    fn an_address_in_freed_memory_belongs_to_it_and_not_to_what_came_since() {
        let objects = Objects::default();
        objects.allocated(0x1000, 0x1000, None, false);
        objects.freed(0x1000);
        objects.allocated(0x1200, 0x100, Some("since"), false);
        let place = |address| {
            let Object { name, offset, .. } = objects.nearest(address);
            (name.is_some(), offset)
        };
        assert_eq!(
            [place(0x1104), place(0x1204), place(0x1300)],
            [(false, 0x104), (true, 4), (false, 0x300)]
        );
        assert_eq!(
            [0x1104, 0x1204, 0x1300, 0x2000].map(|at| objects.is_freed(at)),
            [true, false, true, false]
        );
    }
}
