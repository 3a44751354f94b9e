//! Local memory of a warp: each lane's stack, one after the other, grown when a frame needs more.

/// Bytes for 32 stacks.
#[derive(Debug)]
pub(crate) struct Local {
    bytes: Vec<Chunk>,
    /// Bytes of one lane's stack.
    stride: u32,
    limit: u32,
}

/// Keeps the stacks aligned for accesses of 16 bytes.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(16))]
struct Chunk([u8; 16]);

impl Local {
    /// No stack yet; at most `limit` bytes a lane.
    pub fn new(limit: u32) -> Self {
        Local { bytes: Vec::new(), stride: 0, limit }
    }

    /// Zeroes the stacks for another warp.
    pub fn restart(&mut self) {
        self.bytes.fill(Chunk([0; 16]));
    }

    /// Makes each lane's stack at least `bytes` long. False if that is beyond the limit.
    pub fn reserve(&mut self, bytes: u32) -> bool {
        if bytes <= self.stride {
            return true;
        }
        if bytes > self.limit {
            return false;
        }
        let stride = bytes.max(self.stride.saturating_mul(2)).min(self.limit).next_multiple_of(16);
        let mut grown = vec![Chunk([0; 16]); stride as usize * 2];
        let (old, new) = (self.stride as usize / 16, stride as usize / 16);
        for lane in 0..32 {
            grown[lane * new..][..old].copy_from_slice(&self.bytes[lane * old..][..old]);
        }
        self.bytes = grown;
        self.stride = stride;
        true
    }

    /// The most bytes that a lane's stack may have.
    pub fn limit(&self) -> u32 {
        self.limit
    }

    /// Bytes of one lane's stack.
    #[inline]
    pub fn size(&self) -> u32 {
        self.stride
    }

    /// The bytes of all stacks.
    pub fn words(&self) -> impl Iterator<Item = u64> {
        self.bytes.iter().flat_map(|chunk| chunk.0.as_chunks::<8>().0).map(|word| u64::from_ne_bytes(*word))
    }

    /// Start of a lane's stack.
    #[inline]
    pub fn lane(&mut self, lane: usize) -> *mut u8 {
        // SAFETY: 32 stacks of `stride` bytes lie in `bytes`.
        unsafe { self.bytes.as_mut_ptr().cast::<u8>().add(lane * self.stride as usize) }
    }

    /// Bytes of a lane's stack, if they lie in it.
    pub fn get(&mut self, lane: usize, offset: u32, size: u32) -> Option<&mut [u8]> {
        if offset.checked_add(size)? > self.stride || lane >= 32 {
            return None;
        }
        // SAFETY: inside the lane's stack, and `self` is borrowed for as long as the slice lives.
        Some(unsafe { std::slice::from_raw_parts_mut(self.lane(lane).add(offset as usize), size as usize) })
    }
}
