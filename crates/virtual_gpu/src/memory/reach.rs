//! Memory that kernels of a context can access: their own device's memory and the host's, a peer context's once that is
//! enabled, and memory with access rights of its own for each device.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use super::{Allocation, AllocationKind, Memory};

/// The maximum number of devices in a set of rights.
pub const MOST_DEVICES: u32 = 64;

/// Rights of each device to mapped memory or a pool's: one bit per device.
#[derive(Debug, Default)]
pub struct Rights {
    read: AtomicU64,
    write: AtomicU64,
}

impl Rights {
    /// No device has access.
    pub fn none() -> Arc<Self> {
        Arc::default()
    }

    /// All devices may read and write.
    pub fn all() -> Arc<Self> {
        Arc::new(Rights { read: AtomicU64::new(u64::MAX), write: AtomicU64::new(u64::MAX) })
    }

    /// Sets what a device may do. After revoking access, call [`Memory::access_changed`], too.
    pub fn set(&self, device: u32, read: bool, write: bool) {
        let bit = 1u64.checked_shl(device).unwrap_or(0);
        for (bits, may) in [(&self.read, read), (&self.write, write)] {
            match may {
                true => bits.fetch_or(bit, Ordering::Relaxed),
                false => bits.fetch_and(!bit, Ordering::Relaxed),
            };
        }
    }

    /// Whether a device may read, and whether it may write.
    pub fn of(&self, device: u32) -> (bool, bool) {
        let has = |bits: &AtomicU64| bits.load(Ordering::Relaxed).checked_shr(device).unwrap_or(0) & 1 != 0;
        (has(&self.read), has(&self.write))
    }

    /// Whether no device has access.
    pub fn is_nobodys(&self) -> bool {
        self.read.load(Ordering::Relaxed) == 0
    }
}

/// The contexts on other devices whose memory a context can access.
#[derive(Debug, Default)]
pub(super) struct Peers(RwLock<HashSet<u64>>);

impl Memory {
    /// Lets this context's kernels access a peer's memory. False if they already could.
    pub fn enable_peer(&self, peer: &Memory) -> bool {
        self.peers.0.write().unwrap_or_else(PoisonError::into_inner).insert(peer.context)
    }

    /// Revokes that access. False if it was not enabled.
    pub fn disable_peer(&self, peer: &Memory) -> bool {
        let had = self.peers.0.write().unwrap_or_else(PoisonError::into_inner).remove(&peer.context);
        self.access_changed();
        had
    }

    /// Makes running kernels check again what they can access.
    pub fn access_changed(&self) {
        self.space.frees.fetch_add(1, Ordering::Release);
    }

    /// Whether kernels of this context may read an allocation.
    pub(super) fn may_reach(&self, allocation: &Allocation) -> bool {
        match (allocation.rights(), allocation.device()) {
            (Some(rights), _) => rights.of(self.device()).0,
            (None, None) => true,
            (None, Some(of)) if of == self.device() => true,
            _ => {
                let peers = self.peers.0.read().unwrap_or_else(PoisonError::into_inner);
                peers.contains(&allocation.context())
            }
        }
    }

    /// Whether they may write an allocation that they may read.
    pub(super) fn may_write(&self, allocation: &Allocation) -> bool {
        allocation.kind() != AllocationKind::Const
            && allocation.rights().is_none_or(|rights| rights.of(self.device()).1)
    }

    /// Why kernels of this context cannot access an existing allocation, for a report.
    pub(super) fn why_not(&self, allocation: &Allocation) -> String {
        let (bytes, start, own) = (allocation.size(), allocation.address(), self.device());
        let what = match allocation.device() {
            Some(device) if device != own => format!("the {bytes} bytes at {start:#x} of device {device}"),
            _ => format!("the {bytes} bytes at {start:#x}"),
        };
        match allocation.rights() {
            Some(_) => format!(
                ", inside {what}, to which device {own} has no access: cuMemSetAccess or cuMemPoolSetAccess gives it"
            ),
            None => format!(
                ", inside {what}, to which this context of device {own} has no access: \
                 cuCtxEnablePeerAccess gives it"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_reached_while_access_is_given_and_its_other_contexts_are_not() {
        let own = Memory::new(1 << 20);
        let peer = own.beside(1 << 21);
        let other = peer.for_context();
        assert_eq!((own.device(), peer.device(), other.device()), (0, 1, 1));
        let (a, b, c) = (own.alloc(64).unwrap(), peer.alloc(64).unwrap(), other.alloc(64).unwrap());
        assert!(a != b && b != c && a != c);
        assert_eq!((own.info().0, peer.info().0), ((1 << 20) - 64, (1 << 21) - 128));
        let at = |address| own.find(address).unwrap();
        assert!(own.may_reach(&at(a)) && !own.may_reach(&at(b)) && other.may_reach(&at(b)));
        let before = own.frees();
        assert!(own.enable_peer(&peer) && !own.enable_peer(&peer));
        assert!(own.may_reach(&at(b)) && !own.may_reach(&at(c)) && !peer.may_reach(&at(a)));
        assert!(own.disable_peer(&peer) && !own.disable_peer(&peer) && own.frees() > before);
        assert!(!own.may_reach(&at(b)) && own.why_not(&at(b)).contains("of device 1"));
        // It was the peer's, whichever device frees it.
        own.free(c).unwrap();
        assert_eq!(peer.info().0, (1 << 21) - 64);
    }

    #[test]
    fn rights_say_more_than_the_device() {
        let own = Memory::new(1 << 20);
        let peer = own.beside(1 << 20);
        let rights = Rights::none();
        let shared = own.alloc_shared(64, AllocationKind::Buffer, &rights).unwrap();
        let shared = own.find(shared).unwrap();
        assert!(!own.may_reach(&shared) && rights.is_nobodys());
        rights.set(1, true, false);
        assert!(peer.may_reach(&shared) && !peer.may_write(&shared) && !own.may_reach(&shared));
        rights.set(1, true, true);
        assert!(
            peer.may_write(&shared) && rights.of(63) == (false, false) && rights.of(64) == (false, false)
        );
    }
}
