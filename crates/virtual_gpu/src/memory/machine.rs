//! How much memory the machine still has. Allocations take it only when they are touched, so it may run out long after
//! the last of them, and a system that is out of memory kills processes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How much to leave for everyone else.
const RESERVE: u64 = 256 << 20;
/// How many bytes the host touches between two checks.
pub(super) const STEP: u64 = 64 << 20;
/// How often a running kernel checks.
const EVERY: Duration = Duration::from_millis(20);

/// Whether the machine has memory for those bytes of a range that were never touched. The range must be mapped.
pub(super) fn has_room(place: *const u8, bytes: usize) -> bool {
    let Some(left) = left() else { return true };
    left >= RESERVE + bytes as u64 || left >= RESERVE + untouched(place, bytes)
}

/// Checks now and then whether the machine is about to kill this process for its memory use.
#[derive(Debug)]
pub(crate) struct Lookout {
    started: Instant,
    /// When the next check is due, in nanoseconds since the start.
    next: AtomicU64,
}

impl Lookout {
    pub fn new(started: Instant) -> Self {
        Lookout { started, next: AtomicU64::new(0) }
    }

    /// Whether memory has run out. Most calls do not check.
    pub fn is_out(&self) -> bool {
        let now = self.started.elapsed().as_nanos() as u64;
        if now < self.next.load(Ordering::Relaxed) {
            return false;
        }
        self.next.store(now + EVERY.as_nanos() as u64, Ordering::Relaxed);
        // Another process may have taken the missing memory: only one that uses a quarter of the machine stops.
        left().is_some_and(|left| left < RESERVE) && resident().is_some_and(|(ours, all)| ours > all / 4)
    }
}

#[cfg(target_os = "linux")]
fn left() -> Option<u64> {
    let machine = field(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")?;
    Some(machine.min(left_of_group().unwrap_or(u64::MAX)))
}

/// How much the container's limit leaves.
#[cfg(target_os = "linux")]
fn left_of_group() -> Option<u64> {
    let number = |name: &str| {
        std::fs::read_to_string(format!("/sys/fs/cgroup/{name}")).ok()?.trim().parse::<u64>().ok()
    };
    // File pages count as used, but are reclaimed on demand.
    let files = field(&std::fs::read_to_string("/sys/fs/cgroup/memory.stat").ok()?, "file")? / 1024;
    Some(number("memory.max")?.saturating_sub(number("memory.current")?.saturating_sub(files)))
}

/// This process's resident bytes, and the machine's total.
#[cfg(target_os = "linux")]
fn resident() -> Option<(u64, u64)> {
    let ours = field(&std::fs::read_to_string("/proc/self/status").ok()?, "VmRSS:")?;
    Some((ours, field(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemTotal:")?))
}

/// A number in KiB after its name, in bytes.
#[cfg(target_os = "linux")]
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Bytes of a range whose pages are not in memory.
#[cfg(target_os = "linux")]
fn untouched(place: *const u8, bytes: usize) -> u64 {
    const PAGE: usize = 4096;
    let start = place as usize / PAGE * PAGE;
    let pages = (place as usize + bytes - start).div_ceil(PAGE);
    let mut states = vec![0u8; pages];
    // SAFETY: the range is mapped, in whole pages, and `states` has a byte for each.
    let told = unsafe { libc::mincore(start as *mut _, pages * PAGE, states.as_mut_ptr()) } == 0;
    let missing = if told { states.iter().filter(|&&state| state & 1 == 0).count() } else { pages };
    (missing * PAGE) as u64
}

#[cfg(not(target_os = "linux"))]
fn left() -> Option<u64> {
    None
}

#[cfg(not(target_os = "linux"))]
fn resident() -> Option<(u64, u64)> {
    None
}

#[cfg(not(target_os = "linux"))]
fn untouched(_place: *const u8, bytes: usize) -> u64 {
    bytes as u64
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::memory::backing::Backing;

    #[test]
    fn the_machine_tells_what_it_has() {
        let (ours, all) = resident().unwrap();
        assert!(0 < ours && ours < all && left().unwrap() < all);
        assert_eq!(field("a: 1 kB\nab: 12 kB\n", "ab:"), Some(12 << 10));
        assert_eq!(field("a: 1 kB\n", "b:"), None);
    }

    #[test]
    fn what_was_touched_needs_no_room() {
        let backing = Backing::zeroed(64 << 20).unwrap();
        let place = backing.bytes().as_ptr();
        assert_eq!(untouched(place, 64 << 20), 64 << 20);
        // SAFETY: the backing's own bytes.
        unsafe { place.write_bytes(1, 16 << 20) };
        assert_eq!(untouched(place, 16 << 20), 0);
        assert!(untouched(place, 64 << 20) <= 48 << 20);
        assert!(has_room(place, 16 << 20));
        // More than this machine has.
        let twice = resident().unwrap().1 as usize * 2;
        let vast = Backing::zeroed(twice).unwrap();
        assert!(!has_room(vast.bytes().as_ptr(), twice));
    }
}
