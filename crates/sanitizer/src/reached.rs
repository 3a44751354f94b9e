//! What a warp's access reaches, worked out once for all tools.

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
