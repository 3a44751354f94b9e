//! Handles: what a user of the driver holds instead of a pointer.
//!
//! A handle is a number that was never the address of anything, so a stale or invented one gets an error code, where
//! the real driver may crash.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::abi::{Answer, CUcontext, CUresult, Handle};

/// Handles are in the hole between the two halves of the address space: dereferencing one as a pointer fails at once.
const BASE: usize = 0x5753_0000_0000_0000;

static NEXT: AtomicUsize = AtomicUsize::new(1);

/// A number that no other object of this process has.
pub fn new_handle() -> Handle {
    BASE + NEXT.fetch_add(1, Ordering::Relaxed) * 16
}

pub trait OfContext {
    fn context(&self) -> CUcontext;
}

/// Objects of one kind, some of which belong to contexts.
pub trait Belongings: Sync {
    /// A context is gone, and everything that belongs to it.
    fn forget(&self, context: CUcontext);
}

impl<T: OfContext + Send + Sync> Belongings for Registry<T> {
    fn forget(&self, context: CUcontext) {
        self.remove_where(|object| object.context() == context);
    }
}

pub struct Registry<T: ?Sized> {
    objects: LazyLock<RwLock<HashMap<Handle, Arc<T>>>>,
    unknown: CUresult,
}

impl<T: ?Sized> Registry<T> {
    /// An empty registry; looking up an unknown handle returns the error `unknown`.
    pub const fn new(unknown: CUresult) -> Self {
        Self { objects: LazyLock::new(RwLock::default), unknown }
    }

    fn read(&self) -> RwLockReadGuard<'_, HashMap<Handle, Arc<T>>> {
        // Every change is one insertion or removal: a panic elsewhere leaves the map whole.
        self.objects.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<Handle, Arc<T>>> {
        self.objects.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn insert(&self, object: impl Into<Arc<T>>) -> Handle {
        let handle = new_handle();
        self.insert_as(handle, object);
        handle
    }

    pub fn insert_as(&self, handle: Handle, object: impl Into<Arc<T>>) {
        self.write().insert(handle, object.into());
    }

    pub fn get(&self, handle: Handle) -> Answer<Arc<T>> {
        self.read().get(&handle).cloned().ok_or(self.unknown)
    }

    pub fn all(&self) -> Vec<Arc<T>> {
        self.read().values().cloned().collect()
    }

    /// Removes the handle. The object lives on as long as work uses it.
    pub fn remove(&self, handle: Handle) -> Answer<Arc<T>> {
        self.write().remove(&handle).ok_or(self.unknown)
    }

    /// Removes the handles of all objects that `dead` selects.
    pub fn remove_where(&self, dead: impl Fn(&T) -> bool) {
        // Objects are dropped after the lock is released: their own drop may come here.
        let removed: Vec<_> = self.write().extract_if(|_, object| dead(object)).collect();
        drop(removed);
    }
}
