//! Coordinates: fixed point with 21 fractional bits, from which the element and 8-bit weights are derived.
//!
//! Both as measured on an H200: with 20 or 22 bits, or with rounding instead of truncation, elements next to an edge
//! differ.

use super::AddressMode;

/// Fractional bits of a coordinate.
const FRACTION: u32 = 21;
const ONE: i64 = 1 << FRACTION;

/// One dimension of an image.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dimension {
    /// Elements, at least one.
    pub length: u32,
    pub mode: AddressMode,
    pub normalized: bool,
}

/// Two neighbours and the weight of the second in 256ths; `None` is the border.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pair {
    pub first: Option<u32>,
    pub second: Option<u32>,
    pub weight: i64,
}

impl Dimension {
    /// The effective mode: repetition needs normalised coordinates.
    fn mode(&self) -> AddressMode {
        match self.mode {
            AddressMode::Wrap | AddressMode::Mirror if !self.normalized => AddressMode::Clamp,
            mode => mode,
        }
    }

    /// A coordinate in elements, with 21 fractional bits.
    fn fixed(&self, x: f32) -> i64 {
        let x = if x.is_nan() { 0.0 } else { f64::from(x) };
        let x = match self.mode() {
            // Repeat first, so that far away coordinates keep their fraction; infinity has none.
            AddressMode::Wrap if x.is_infinite() => 0.0,
            AddressMode::Wrap => x - x.floor(),
            AddressMode::Mirror if x.is_infinite() => 0.0,
            AddressMode::Mirror => x.rem_euclid(2.0),
            // Beyond every image, but far from the limits of 64 bits.
            AddressMode::Clamp | AddressMode::Border => x.clamp(-4_194_304.0, 4_194_304.0),
        };
        // Mirroring works on the index: the coordinate continues into the second image.
        let cut = (x * ONE as f64).floor() as i64;
        if self.normalized { cut.saturating_mul(self.length.into()) } else { cut }
    }

    /// The element with an index, which may be outside.
    pub fn element(&self, index: i64) -> Option<u32> {
        let length = i64::from(self.length);
        let inside = match self.mode() {
            AddressMode::Border if !(0..length).contains(&index) => return None,
            AddressMode::Border => index,
            AddressMode::Clamp => index.clamp(0, length - 1),
            AddressMode::Wrap => index.rem_euclid(length),
            AddressMode::Mirror => {
                let index = index.rem_euclid(2 * length);
                if index < length { index } else { 2 * length - 1 - index }
            }
        };
        Some(inside as u32)
    }

    /// The element `offset` away from the one that contains a coordinate.
    pub fn nearest(&self, x: f32, offset: i64) -> Option<u32> {
        self.element((self.fixed(x) >> FRACTION) + offset)
    }

    /// The elements `offset` away from those whose centres surround a coordinate.
    pub fn pair(&self, x: f32, offset: i64) -> Pair {
        // Half an element to the left, rounded to 8 bits.
        let scaled = (self.fixed(x) - ONE / 2 + (1 << (FRACTION - 9))) >> (FRACTION - 8);
        let index = (scaled >> 8) + offset;
        Pair { first: self.element(index), second: self.element(index + 1), weight: scaled & 255 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(mode: AddressMode, normalized: bool) -> Dimension {
        Dimension { length: 4, mode, normalized }
    }

    #[test]
    fn modes_outside_the_image() {
        let at = |mode, x| line(mode, true).nearest(x, 0);
        assert_eq!(at(AddressMode::Wrap, 1.3), Some(1));
        assert_eq!(at(AddressMode::Wrap, -0.1), Some(3));
        assert_eq!(at(AddressMode::Mirror, 1.3), Some(2));
        assert_eq!(at(AddressMode::Mirror, -0.1), Some(0));
        assert_eq!(at(AddressMode::Clamp, 7.0), Some(3));
        assert_eq!(at(AddressMode::Border, 1.0), None);
        assert_eq!(at(AddressMode::Border, -1e-9), None);
        for strange in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN] {
            for mode in [AddressMode::Wrap, AddressMode::Mirror, AddressMode::Clamp] {
                assert!(at(mode, strange).unwrap() < 4);
                line(mode, true).pair(strange, 0);
            }
        }
        // An offset is added before the mode applies.
        assert_eq!(line(AddressMode::Wrap, true).nearest(0.8, 2), Some(1));
        assert_eq!(line(AddressMode::Border, true).nearest(0.1, -1), None);
        // Without normalisation there is no repetition.
        assert_eq!(line(AddressMode::Wrap, false).nearest(5.0, 0), Some(3));
    }

    #[test]
    fn weights_have_eight_bits() {
        let pair = |x| line(AddressMode::Clamp, false).pair(x, 0);
        assert_eq!(pair(1.5), Pair { first: Some(1), second: Some(2), weight: 0 });
        assert_eq!(pair(1.0), Pair { first: Some(0), second: Some(1), weight: 128 });
        assert_eq!(pair(0.0), Pair { first: Some(0), second: Some(0), weight: 128 });
        // 1/512 is half of the last bit, and rounds up.
        assert_eq!(pair(1.5 + 1.0 / 512.0).weight, 1);
        assert_eq!(pair(1.5 + 1.0 / 513.0).weight, 0);
    }
}
