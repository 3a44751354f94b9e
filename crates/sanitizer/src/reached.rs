//! The bytes of a warp's access, worked out once for all tools.

use virtual_gpu::observer::Access;

/// The range of an access, and its shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reached {
    /// The lowest byte.
    pub low: u64,
    /// Behind the highest byte.
    pub end: u64,
    /// The lanes' pieces follow each other without a gap, in the order of the lanes, and all lanes take part.
    pub in_a_row: bool,
}

impl Reached {
    /// Of an access by at least one lane.
    #[inline]
    pub fn of(access: &Access<'_>) -> Self {
        let bytes = u64::from(access.bytes());
        let first = access.addresses[(access.lanes.trailing_zeros() & 31) as usize];
        if access.lanes == u32::MAX {
            // No branch in the loop, so that it becomes vector instructions.
            let mut apart = 0;
            for (lane, address) in (0..).zip(access.addresses) {
                apart |= address ^ first.wrapping_add(lane * bytes);
            }
            if apart == 0 {
                return Reached { low: first, end: first.saturating_add(32 * bytes), in_a_row: true };
            }
        }
        if access.lanes == u32::MAX {
            // Words of 32 bits have a minimum and a maximum that processors take eight at a time.
            const NEAR: u64 = i32::MAX as u64;
            let apart = access.addresses.iter().fold(0, |apart, address| apart | address ^ first);
            if apart <= NEAR {
                let (mut low, mut high) = (i32::MAX, 0);
                for address in access.addresses {
                    let near = (address & NEAR) as i32;
                    low = low.min(near);
                    high = high.max(near);
                }
                let (low, high) = (first & !NEAR | low as u64, first & !NEAR | high as u64);
                return Reached { low, end: high.saturating_add(bytes), in_a_row: false };
            }
        }
        let (mut low, mut high) = (first, first);
        for lane in 0..32 {
            let address = if access.lanes >> lane & 1 != 0 { access.addresses[lane] } else { first };
            low = low.min(address);
            high = high.max(address);
        }
        Reached { low, end: high.saturating_add(bytes).max(low.saturating_add(1)), in_a_row: false }
    }
}

/// The lanes of a mask.
#[inline]
pub fn lanes(mask: u32) -> impl Iterator<Item = u32> + Clone {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lane = (rest != 0).then(|| rest.trailing_zeros())?;
        rest &= rest - 1;
        Some(lane)
    })
}

/// The words that `bytes` bytes at `address` touch, with the bytes of each as a mask.
pub fn words(address: u64, bytes: u64) -> impl Iterator<Item = (u64, u8)> {
    let end = address.saturating_add(bytes);
    (address / 4..end.div_ceil(4)).map(move |word| {
        let first = address.saturating_sub(word * 4).min(4);
        let last = (end - word * 4).min(4);
        (word, (0xF >> (4 - last)) & (0xF << first) as u8)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_touches_the_bytes_it_names() {
        assert_eq!(words(6, 4).collect::<Vec<_>>(), [(1, 0b1100), (2, 0b0011)]);
        assert_eq!(words(8, 16).collect::<Vec<_>>(), [(2, 15), (3, 15), (4, 15), (5, 15)]);
        assert_eq!(words(13, 1).collect::<Vec<_>>(), [(3, 0b0010)]);
        assert_eq!(lanes(0x8000_0005).collect::<Vec<_>>(), [0, 2, 31]);
    }
}
