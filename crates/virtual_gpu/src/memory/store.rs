//! How much memory a device has, and how much of it is in use.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A device's memory as a number of bytes.
#[derive(Debug)]
pub(super) struct Store {
    pub device: u32,
    pub total: u64,
    used: AtomicU64,
}

impl Store {
    pub fn new(device: u32, total: u64) -> Self {
        Store { device, total, used: AtomicU64::new(0) }
    }

    pub fn free(&self) -> u64 {
        self.total - self.used.load(Ordering::Relaxed)
    }

    /// Takes bytes, if that many are left.
    pub fn take(self: &Arc<Self>, bytes: u64) -> Option<Share> {
        let more = |used: u64| used.checked_add(bytes).filter(|&used| used <= self.total);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(Share { store: self.clone(), bytes })
    }
}

/// Bytes that stay taken until this is dropped.
#[derive(Debug)]
pub(super) struct Share {
    store: Arc<Store>,
    bytes: u64,
}

impl Share {
    pub fn device(&self) -> u32 {
        self.store.device
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.store.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
