//! What the host allocated, so that an address can be named.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::finding::Object;

/// One allocation, alive or freed.
#[derive(Debug, Clone)]
struct Allocated {
    size: u64,
    name: Option<String>,
    freed: bool,
}

/// All allocations that the host made.
#[derive(Debug, Default)]
pub struct Objects(Mutex<BTreeMap<u64, Allocated>>);

impl Objects {
    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, Allocated>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The host allocated memory.
    pub fn allocated(&self, address: u64, size: u64, name: Option<&str>) {
        self.lock().insert(address, Allocated { size, name: name.map(str::to_owned), freed: false });
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
        let objects = self.lock();
        match objects.range(..=address).next_back() {
            Some((&start, object)) => Object {
                space: "global",
                name: object.name.clone(),
                size: Some(object.size),
                offset: address - start,
            },
            None => Object { space: "global", name: None, size: None, offset: address },
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
