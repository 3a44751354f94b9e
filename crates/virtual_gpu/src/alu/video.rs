//! The video instructions: scalar `vadd` … `vset` on selected bytes and halves, and the two- and four-way forms.

/// Part of a 32-bit register that a scalar operand or result selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Part {
    /// The whole word.
    #[default]
    Word,
    /// `.b0` … `.b3`
    Byte(u32),
    /// `.h0`, `.h1`
    Half(u32),
}

impl Part {
    #[inline]
    fn place(self) -> (u32, u32) {
        match self {
            Part::Word => (0, 32),
            Part::Byte(i) => (8 * (i & 3), 8),
            Part::Half(i) => (16 * (i & 1), 16),
        }
    }

    /// Reads the part of `a`, extended as its type asks.
    #[inline]
    pub fn read(self, a: u32, signed: bool) -> i64 {
        let (shift, width) = self.place();
        let bits = (a as u64) >> shift << (64 - width);
        if signed { bits as i64 >> (64 - width) } else { (bits >> (64 - width)) as i64 }
    }

    /// Writes the low bits of `value` into the part of `c`.
    #[inline]
    pub fn insert(self, value: u32, c: u32) -> u32 {
        let (shift, width) = self.place();
        let mask = (((1u64 << width) - 1) << shift) as u32;
        c & !mask | ((value as u64) << shift) as u32 & mask
    }
}

/// The scalar operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// `vadd`
    Add,
    /// `vsub`
    Sub,
    /// `vabsdiff`
    AbsDiff,
    /// `vmin`
    Min,
    /// `vmax`
    Max,
}

/// `vadd`, `vsub`, `vabsdiff`, `vmin`, `vmax` on extended operands, before saturation.
#[inline]
pub fn apply(op: Op, a: i64, b: i64) -> i64 {
    match op {
        Op::Add => a + b,
        Op::Sub => a - b,
        Op::AbsDiff => (a - b).abs(),
        Op::Min => a.min(b),
        Op::Max => a.max(b),
    }
}

/// `vshl`; `.clamp` counts beyond 32 act as 32, `.wrap` counts are taken modulo 32.
#[inline]
pub fn shl(a: i64, count: u32, wrap: bool) -> i64 {
    let count = if wrap { count & 31 } else { count.min(32) };
    a << count
}

/// `vshr`.
#[inline]
pub fn shr(a: i64, count: u32, wrap: bool) -> i64 {
    let count = if wrap { count & 31 } else { count.min(32) };
    a >> count
}

/// `.sat` of a scalar result: clamps to the range of the destination's part.
#[inline]
pub fn saturate(value: i64, part: Part, signed: bool) -> i64 {
    let (_, width) = part.place();
    if signed {
        let max = (1i64 << (width - 1)) - 1;
        value.clamp(-max - 1, max)
    } else {
        value.clamp(0, (1i64 << width) - 1)
    }
}

/// `vmad`: `a * b + c` (operands already negated as asked), with `.po` one more, shifted right by 0, 7 or 15.
#[inline]
pub fn mad(a: i64, b: i64, c: i64, plus_one: bool, shift: u32) -> i128 {
    (a as i128 * b as i128 + c as i128 + plus_one as i128) >> shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_extend_and_insert() {
        assert_eq!(Part::Byte(3).read(0x8012_3456, true), -128);
        assert_eq!(Part::Half(0).read(0x8012_b456, false), 0xb456);
        assert_eq!(Part::Word.read(0x8000_0000, true), i32::MIN as i64);
        assert_eq!(Part::Half(1).insert(0xabcd_1234, 0x5555_6666), 0x1234_6666);
        assert_eq!(Part::Word.insert(7, 9), 7);
    }

    #[test]
    fn results_saturate_to_their_part() {
        assert_eq!(saturate(apply(Op::Add, 200, 100), Part::Byte(0), false), 255);
        assert_eq!(saturate(apply(Op::Sub, -100, 100), Part::Byte(0), true), -128);
        assert_eq!(apply(Op::AbsDiff, 3, 10), 7);
        assert_eq!(shl(1, 40, false), 1 << 32);
        assert_eq!(shl(1, 33, true), 2);
        assert_eq!(shr(-8, 1, false), -4);
        assert_eq!(mad(3, -4, 2, true, 0), -9);
    }
}
