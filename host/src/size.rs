//! Problem sizes as a person writes them: `N`, `MxN` or `MxNxK`.

use std::fmt;
use std::str::FromStr;

/// One to three extents, each at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// `N`: a square, a cube, or a count, as the demo has it.
    One(usize),
    /// `MxN`.
    Two(usize, usize),
    /// `MxNxK`.
    Three(usize, usize, usize),
}

/// The largest extent understood: one more bit and an index would not fit the kernels' 32-bit coordinates.
pub const LARGEST_EXTENT: usize = i32::MAX as usize;

/// Why a size was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    /// Not `N`, `MxN` or `MxNxK`.
    #[error("a size is written N, MxN or MxNxK, for example 512 or 640x480")]
    Form,
    /// An extent is no number.
    #[error("`{0}` is not a whole number; a size is written N, MxN or MxNxK, for example 512 or 640x480")]
    NotANumber(String),
    /// An `x` without a number before or behind it, or nothing at all.
    #[error("a number is missing; a size is written N, MxN or MxNxK, for example 512 or 640x480")]
    Missing,
    /// An extent below one.
    #[error("{0} is too small: every extent is at least 1")]
    TooSmall(i128),
    /// An extent above [`LARGEST_EXTENT`].
    #[error("{0} is too large: every extent is at most {LARGEST_EXTENT}")]
    TooLarge(String),
}

impl Size {
    /// The only extent, if there is but one.
    pub fn edge(self) -> Option<usize> {
        match self {
            Self::One(edge) => Some(edge),
            _ => None,
        }
    }

    /// M, N and K of a product: two extents leave K the smaller of them.
    pub fn product(self) -> (usize, usize, usize) {
        match self {
            Self::One(n) => (n, n, n),
            Self::Two(m, n) => (m, n, m.min(n)),
            Self::Three(m, n, k) => (m, n, k),
        }
    }
}

impl FromStr for Size {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<Self, SizeError> {
        let extents = text.split(['x', 'X', '×']).map(extent).collect::<Result<Vec<_>, _>>()?;
        match extents[..] {
            [n] => Ok(Self::One(n)),
            [m, n] => Ok(Self::Two(m, n)),
            [m, n, k] => Ok(Self::Three(m, n, k)),
            _ => Err(SizeError::Form),
        }
    }
}

fn extent(text: &str) -> Result<usize, SizeError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(SizeError::Missing);
    }
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(SizeError::NotANumber(text.to_owned()));
    }
    match text.parse::<i128>() {
        Ok(value) if value < 1 => Err(SizeError::TooSmall(value)),
        Ok(value) if value <= LARGEST_EXTENT as i128 => Ok(value as usize),
        _ => Err(SizeError::TooLarge(text.to_owned())),
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(n) => write!(f, "{n}"),
            Self::Two(m, n) => write!(f, "{m}x{n}"),
            Self::Three(m, n, k) => write!(f, "{m}x{n}x{k}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_as_written() {
        assert_eq!("512".parse(), Ok(Size::One(512)));
        assert_eq!("640x480".parse(), Ok(Size::Two(640, 480)));
        assert_eq!("5X3×7".parse(), Ok(Size::Three(5, 3, 7)));
    }

    #[test]
    fn what_is_refused_and_why() {
        let refused = |text: &str| text.parse::<Size>().unwrap_err();
        assert_eq!(refused("0"), SizeError::TooSmall(0));
        assert_eq!(refused("-3"), SizeError::TooSmall(-3));
        assert_eq!(refused("99999999999"), SizeError::TooLarge("99999999999".into()));
        assert_eq!(refused(&"9".repeat(60)), SizeError::TooLarge("9".repeat(60)));
        assert_eq!(refused("4x"), SizeError::Missing);
        assert_eq!(refused("1e6"), SizeError::NotANumber("1e6".into()));
        assert_eq!(refused("1x2x3x4"), SizeError::Form);
    }
}
