//! What the host allocated, so that an address can be named.

use std::collections::BTreeMap;
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

    /// What was never freed: address and size.
    pub fn leaked(&self) -> Vec<(u64, u64)> {
        let objects = self.lock();
        objects.iter().filter(|(_, o)| !o.freed && o.name.is_none()).map(|(&a, o)| (a, o.size)).collect()
    }

    /// The object at or before an address of global memory.
    pub fn global(&self, address: u64) -> Object {
        let found = self.lock().range(..=address).next_back().map(|(&start, object)| (start, object.clone()));
        match found {
            Some((start, object)) => Object {
                space: "global".into(),
                name: object.name,
                size: Some(object.size),
                offset: address - start,
                element: None,
                allocated: object.calls.and_then(|calls| calls.site()),
            },
            None => Object {
                space: "global".into(),
                name: None,
                size: None,
                offset: address,
                element: None,
                allocated: None,
            },
        }
    }

    /// Whether an address lies in memory that was freed.
    pub fn is_freed(&self, address: u64) -> bool {
        let objects = self.lock();
        objects
            .range(..=address)
            .next_back()
            .is_some_and(|(&start, object)| object.freed && address - start < object.size)
    }
}
