//! A digest of texts and numbers in constants: SipHash-2-4 of 128 bits (Aumasson and Bernstein, 2012) under the key 0.
//!
//! A shorter or simpler one would do against chance; types made to collide are to stay different, too.

use crate::fingerprint::word_at;

/// The state between two words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Digest([u64; 4]);

impl Digest {
    /// Of nothing yet.
    pub(crate) const fn new() -> Self {
        Self([0x736f6d6570736575, 0x646f72616e646f6d ^ 0xee, 0x6c7967656e657261, 0x7465646279746573])
    }

    /// Of a number more.
    pub(crate) const fn number(self, number: u64) -> Self {
        let Self([a, b, c, d]) = self;
        let Self([a, b, c, d]) = Self([a, b, c, d ^ number]).rounds(2);
        Self([a ^ number, b, c, d])
    }

    /// Of a text more.
    pub(crate) const fn text(self, text: &str) -> Self {
        let (mut digest, mut at) = (self.number(text.len() as u64), 0);
        while at < text.len() {
            digest = digest.number(word_at(text.as_bytes(), at));
            at += 8;
        }
        digest
    }

    /// The digest.
    pub(crate) const fn halves(self) -> [u64; 2] {
        let Self([a, b, c, d]) = self;
        let first = Self([a, b, c ^ 0xee, d]).rounds(4);
        let Self([a, b, c, d]) = first;
        [first.folded(), Self([a, b ^ 0xdd, c, d]).rounds(4).folded()]
    }

    const fn folded(self) -> u64 {
        let Self([a, b, c, d]) = self;
        a ^ b ^ c ^ d
    }

    const fn rounds(self, count: u32) -> Self {
        let (Self([mut a, mut b, mut c, mut d]), mut round) = (self, 0);
        while round < count {
            a = a.wrapping_add(b);
            b = b.rotate_left(13) ^ a;
            a = a.rotate_left(32);
            c = c.wrapping_add(d);
            d = d.rotate_left(16) ^ c;
            a = a.wrapping_add(d);
            d = d.rotate_left(21) ^ a;
            c = c.wrapping_add(b);
            b = b.rotate_left(17) ^ c;
            c = c.rotate_left(32);
            round += 1;
        }
        Self([a, b, c, d])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_tell_texts_and_their_borders_apart() {
        let of = |texts: &[&str]| texts.iter().fold(Digest::new(), |digest, text| digest.text(text)).halves();
        let all =
            [&["ab", "c"][..], &["a", "bc"], &["abc"], &["abc", ""], &["abcdefghi"], &["abcdefgh", "i"], &[]];
        for (number, texts) in all.iter().enumerate() {
            assert_eq!(all.iter().position(|other| of(other) == of(texts)), Some(number));
        }
    }
}
