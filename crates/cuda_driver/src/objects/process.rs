//! The process at the operating system: mapped addresses, and memory.

/// Whether all of these bytes are the program's to read and, if `written`, to write. Where the system does not tell, it is
/// taken on trust.
pub fn has(address: usize, bytes: usize, written: bool) -> bool {
    let Ok(maps) = std::fs::read_to_string("/proc/self/maps") else { return true };
    let Some(end) = address.checked_add(bytes) else { return false };
    let mut at = address;
    // In the order of addresses: `7f0c1000-7f0c3000 rw-p …`.
    for line in maps.lines() {
        let mut words = line.split(' ');
        let range = words.next().and_then(|range| range.split_once('-'));
        let number = |text| usize::from_str_radix(text, 16).unwrap_or(0);
        let (from, to) = range.map_or((0, 0), |(from, to)| (number(from), number(to)));
        let access = words.next().unwrap_or_default();
        if to <= at {
            continue;
        }
        if from > at || !access.starts_with('r') || written && !access.starts_with("rw") {
            return false;
        }
        at = to;
        if at >= end {
            return true;
        }
    }
    false
}

pub fn memory_of_machine() -> Option<u64> {
    #[cfg(unix)]
    // SAFETY: these calls have no preconditions.
    unsafe {
        let (pages, size) = (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE));
        u64::try_from(pages).ok().zip(u64::try_from(size).ok()).map(|(pages, size)| pages * size)
    }
    #[cfg(not(unix))]
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_has_its_own_memory_and_not_the_rest() {
        let own = [0u8; 64];
        let at = own.as_ptr() as usize;
        assert!(has(at, own.len(), true));
        assert!(!has(at, 1 << 44, true));
        assert!(!has(0, 1, false));
        assert!(!has(usize::MAX, 2, false));
        let text = the_process_has_its_own_memory_and_not_the_rest as *const () as usize;
        assert!(has(text, 1, false) && !has(text, 1, true));
        assert!(memory_of_machine().is_none_or(|bytes| bytes > 1 << 26));
    }
}
