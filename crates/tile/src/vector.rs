//! 16 bytes: the widest access that a thread can make, and what keeps the most bytes in flight.

/// 16 bytes of elements, whatever their type.
///
/// One integer and not an array of words: the compiler takes a load of an array apart where its words are used apart.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vector(pub u128);

/// The bytes of a [`Vector`].
pub const VECTOR_BYTES: usize = size_of::<Vector>();

impl Vector {
    /// A vector of four words, the first at the lowest address.
    #[inline(always)]
    pub fn of_words([a, b, c, d]: [u32; 4]) -> Self {
        Self(u128::from(a) | u128::from(b) << 32 | u128::from(c) << 64 | u128::from(d) << 96)
    }

    /// Its four words.
    #[inline(always)]
    pub fn words(self) -> [u32; 4] {
        [self.0 as u32, (self.0 >> 32) as u32, (self.0 >> 64) as u32, (self.0 >> 96) as u32]
    }

    /// Loads 16 bytes by one access.
    ///
    /// # Safety
    /// They can be read, and `from` is a multiple of 16.
    #[inline(always)]
    pub unsafe fn load<T>(from: *const T) -> Self {
        // SAFETY: the caller's promise.
        unsafe { *from.cast() }
    }

    /// Stores 16 bytes by one access.
    ///
    /// # Safety
    /// They can be written, and `to` is a multiple of 16.
    #[inline(always)]
    pub unsafe fn store<T>(self, to: *mut T) {
        // SAFETY: the caller's promise.
        unsafe { *to.cast() = self };
    }
}

/// Two vectors that follow each other, and where in them the 16 bytes begin that are meant: what stands in for an
/// access that is not aligned, which the hardware does not have.
#[derive(Clone, Copy, Debug)]
pub struct Straddle {
    /// The first 16 bytes.
    pub low: Vector,
    /// The 16 bytes after them; never looked at if `begin` is 0.
    pub high: Vector,
    /// Where the meant ones begin, below 16.
    pub begin: u32,
}

impl Straddle {
    /// Loads the 16 bytes at `from`, which may lie anywhere, by two aligned accesses. The second is the neighbour's first:
    /// it is answered by the cache.
    ///
    /// # Safety
    /// Both aligned vectors that these 16 bytes touch can be read.
    #[inline(always)]
    pub unsafe fn load<T>(from: *const T) -> Self {
        let begin = from.addr() % VECTOR_BYTES;
        let first = from.wrapping_byte_sub(begin);
        // An aligned vector touches no second one, and there may be nothing behind it.
        let second = first.wrapping_byte_add(if begin == 0 { 0 } else { VECTOR_BYTES });
        // SAFETY: the caller's promise; both are multiples of 16.
        unsafe { Self { low: Vector::load(first), high: Vector::load(second), begin: begin as u32 } }
    }

    /// The 16 bytes that are meant: whole words by selection, bytes within words by a funnel shift.
    #[inline(always)]
    pub fn join(self) -> Vector {
        let [a, b, c, d] = self.low.words();
        let [e, f, g, h] = self.high.words();
        let by_two = self.begin & 8 != 0;
        let pick = |near: u32, far: u32| if by_two { far } else { near };
        let [a, b, c, d, e, f] = [pick(a, c), pick(b, d), pick(c, e), pick(d, f), pick(e, g), pick(f, h)];
        let by_one = self.begin & 4 != 0;
        let pick = |near: u32, far: u32| if by_one { far } else { near };
        let words = [pick(a, b), pick(b, c), pick(c, d), pick(d, e), pick(e, f)];
        let bits = self.begin % 4 * 8;
        let funnel = |low: u32, high: u32| ((u64::from(high) << 32 | u64::from(low)) >> bits) as u32;
        Vector::of_words([0, 1, 2, 3].map(|word: usize| funnel(words[word], words[word + 1])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A vector of bytes that count up from `first`.
    fn counting(first: u8) -> Vector {
        Vector(u128::from_le_bytes(core::array::from_fn(|byte| first + byte as u8)))
    }

    #[test]
    fn every_straddle_is_the_bytes_from_its_beginning() {
        for begin in 0..16 {
            let straddle = Straddle { low: counting(0), high: counting(16), begin };
            assert_eq!(straddle.join(), counting(begin as u8), "from {begin}");
        }
    }

    #[test]
    fn memory_is_read_at_any_address() {
        #[repr(align(16))]
        struct Aligned([u8; 48]);
        let bytes = Aligned(core::array::from_fn(|i| i as u8));
        for begin in 0..=32 {
            // SAFETY: 48 bytes, aligned: up to 32 both vectors are inside, and at 32 there is only one.
            let loaded = unsafe { Straddle::load(bytes.0.as_ptr().add(begin)) };
            assert_eq!(loaded.join(), counting(begin as u8));
        }
    }
}
