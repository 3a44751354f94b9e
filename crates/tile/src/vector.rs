//! 16 bytes: the widest access that a thread can make, and what keeps the most bytes in flight.

use cuda_std::warp::warp_shuffle_down;

/// 16 bytes of elements, whatever their type.
///
/// One integer and not an array of words: the compiler takes a load of an array apart where its words are used apart.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vector(pub u128);

/// Four elements of 4 bytes, moved by one access and then looked at, each in a register of its own. What is only moved is a
/// [`Vector`].
#[repr(C, align(16))]
#[derive(Clone, Copy)]
pub struct Four<T>(pub [T; 4]);

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

    /// Loads 16 bytes by one access and has the L2 cache fetch the 256 aligned bytes around them: for rows that begin
    /// inside of a line, whose other part a block elsewhere would fetch apart. From capability 8.0 on.
    ///
    /// # Safety
    /// They can be read, lie in global memory that no thread writes meanwhile, and `from` is a multiple of 16.
    #[inline(always)]
    pub unsafe fn load_with_surroundings<T>(from: *const T) -> Self {
        #[cfg(target_os = "cuda")]
        {
            let (a, b, c, d): (u32, u32, u32, u32);
            // SAFETY: the caller's promise.
            unsafe {
                cuda_std::ptx!("{{ .reg .u64 global; cvta.to.global.u64 global, {from};",
                    "ld.global.nc.L2::256B.v4.u32 {{{a}, {b}, {c}, {d}}}, [global]; }}",
                    a = out(u32) a, b = out(u32) b, c = out(u32) c, d = out(u32) d, from = in(ptr) from);
            }
            Self::of_words([a, b, c, d])
        }
        #[cfg(not(target_os = "cuda"))]
        // SAFETY: the caller's promise.
        unsafe {
            Self::load(from)
        }
    }

    /// The vector of the next lane. The last lane gets one that means nothing.
    ///
    /// # Safety
    /// All lanes of the warp take part.
    #[inline(always)]
    pub unsafe fn of_next_lane(self) -> Self {
        // SAFETY: the caller's promise.
        Self::of_words(self.words().map(|word| unsafe { warp_shuffle_down(u32::MAX, word, 1, 32).0 }))
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
}
