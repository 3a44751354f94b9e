//! Whose memory an address belongs to: an observer asks at every access.

use std::ops::Range;
use std::sync::Arc;

use super::Memory;

/// Distinguishes a device's own memory from other devices'. Host memory does not count as another device's.
#[derive(Debug)]
pub(crate) struct Owners {
    memory: Arc<Memory>,
    /// The last address range looked up, and whether it is another device's.
    last: (Range<u64>, bool),
}

impl Owners {
    /// `None` if there is no other device.
    pub fn new(memory: &Arc<Memory>) -> Option<Self> {
        memory.has_peers().then(|| Owners { memory: memory.clone(), last: (0..0, false) })
    }

    /// The lanes whose address is in another device's memory.
    pub fn of_peers(&mut self, lanes: u32, addresses: &[u64; 32]) -> u32 {
        let of_peer = |lane: &u32| lanes >> lane & 1 != 0 && self.is_peers(addresses[*lane as usize]);
        (0..32).filter(of_peer).fold(0, |mask, lane| mask | 1 << lane)
    }

    /// Whether an address is in another device's memory.
    pub fn is_peers(&mut self, address: u64) -> bool {
        if !self.last.0.contains(&address) {
            let found = self.memory.find(address);
            let own = self.memory.device();
            self.last = found.map_or((0..0, false), |found| {
                (found.address()..found.end(), found.device().is_some_and(|device| device != own))
            });
        }
        self.last.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_told_apart() {
        let own = Arc::new(Memory::new(1 << 20));
        assert!(Owners::new(&own).is_none(), "it is alone");
        let peer = own.beside(1 << 20);
        let (a, b) = (own.alloc(128).unwrap(), peer.alloc(128).unwrap());
        let mut owners = Owners::new(&own).unwrap();
        let addresses = std::array::from_fn(|lane| if lane % 3 == 0 { b } else { a } + 4 * lane as u64);
        assert_eq!(owners.of_peers(u32::MAX, &addresses), 0o11111111111);
        assert_eq!(owners.of_peers(0b1011, &addresses), 0b1001);
        assert!(!owners.is_peers(8) && !owners.is_peers(b + 128));
    }
}
