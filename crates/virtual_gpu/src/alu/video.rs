//! The video instructions: scalar `vadd` … `vset` on selected bytes and halves, and the two- and four-way forms.
//!
//! No current chip has them: ptxas makes other instructions of them, and departs from the manual where results leave 32
//! bits. What it makes for sm_90 is followed here, as that is what runs.

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

    /// Writes the low bits of `value` into the part of `c`, for the packed forms.
    #[inline]
    pub fn insert(self, value: u32, c: u32) -> u32 {
        let (shift, width) = self.place();
        let mask = (((1u64 << width) - 1) << shift) as u32;
        c & !mask | ((value as u64) << shift) as u32 & mask
    }
}

/// The result of a scalar form with a part of its target: that part of `value` itself, not its low bits, replaces the
/// part of `c`. So a saturated result leaves nothing but zeros in an upper part.
#[inline]
pub fn merge(part: Part, value: u32, c: u32) -> u32 {
    part.insert(value >> part.place().0, c)
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
    // Bits beyond the 34th are dropped before anything looks at the result.
    a << count << 30 >> 30
}

/// `vshl` before a second operation, which sees all bits.
#[inline]
pub fn shl_whole(a: i64, count: u32, wrap: bool) -> i64 {
    a << if wrap { count & 31 } else { count.min(32) }
}

/// `vshr`.
#[inline]
pub fn shr(a: i64, count: u32, wrap: bool) -> i64 {
    let count = if wrap { count & 31 } else { count.min(32) };
    a >> count
}

/// `.sat` of a lane, or of a scalar form's whole word: clamps to the range of the destination's part.
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

/// `.sat` of a scalar form with a part of its target: the low word, taken as unsigned, clamps to the part's largest value.
#[inline]
pub fn saturate_part(value: i64, part: Part, signed: bool) -> i64 {
    let (_, width) = part.place();
    i64::from(value as u32).min((1 << (width - signed as u32)) - 1)
}

/// As [`saturate`], for `vadd`, `vsub` and `vabsdiff`: a whole unsigned word is only clamped from below.
#[inline]
pub fn saturate_sum(value: i64, part: Part, signed: bool) -> i64 {
    if part == Part::Word && !signed { (value.max(0) as u32).into() } else { saturate(value, part, signed) }
}

/// A scalar form's use of `c` after saturation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Secondary {
    Add,
    Min,
    Max,
}

/// The secondary operation of a scalar form, in the signedness of its destination. `value` is the result's low word,
/// extended as its sources are: an unsigned minimum of a sign-extended negative value is `c`.
#[inline]
pub fn secondary(op: Secondary, value: i64, c: u32, signed: bool) -> u32 {
    let wide_c = if signed { c as i32 as i64 } else { c as i64 };
    let below = if signed { value < wide_c } else { (value as u64) < wide_c as u64 };
    match op {
        Secondary::Add => (value as u32).wrapping_add(c),
        Secondary::Min => {
            if below {
                value as u32
            } else {
                c
            }
        }
        Secondary::Max => {
            if below {
                c
            } else {
                value as u32
            }
        }
    }
}

/// The modifiers of `vmad`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Mad {
    /// A source is signed, or an operand is negated.
    pub signed: bool,
    /// One of `a` and `b` is negated.
    pub negate_product: bool,
    /// `c` is negated.
    pub negate_c: bool,
    /// `.po`: one is added.
    pub plus_one: bool,
    /// `.shr7` or `.shr15`, else 0.
    pub shift: u32,
    /// `.sat`
    pub saturate: bool,
}

/// `vmad`: `a * b + c` in 64 bits, words and `c` taken as signed whatever their types, then shifted and saturated.
#[inline]
pub fn mad(a: i64, b: i64, c: u32, mode: Mad) -> u32 {
    let product = (a as i32 as i64).wrapping_mul(b as i32 as i64);
    let product = if mode.negate_product { product.wrapping_neg() } else { product };
    let c = if mode.negate_c { (c as i32 as i64).wrapping_neg() } else { c as i32 as i64 };
    let sum = product.wrapping_add(c).wrapping_add(mode.plus_one as i64);
    let sum = if mode.signed { sum >> mode.shift } else { ((sum as u64) >> mode.shift) as i64 };
    match (mode.saturate, mode.signed) {
        (false, _) => sum as u32,
        (true, true) => sum.clamp(i32::MIN as i64, i32::MAX as i64) as u32,
        (true, false) => sum.clamp(0, u32::MAX as i64) as u32,
    }
}

/// The operations of the two- and four-way forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PackedOp {
    Scalar(Op),
    /// `vavrg2`, `vavrg4`: the mean, halves rounded up where the sum is not negative.
    Average,
    /// `vset2`, `vset4`: one where the comparison holds.
    Set(super::compare::IntCmp),
}

/// A two- or four-way form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Packed {
    /// The operation of each lane.
    pub op: PackedOp,
    pub lanes: u32,
    /// The destination is signed.
    pub signed: bool,
    pub a_signed: bool,
    pub b_signed: bool,
    /// The lanes of `{b, a}` that make up `a`, lowest first.
    pub a_select: [u8; 4],
    /// The lanes of `{b, a}` that make up `b`, lowest first.
    pub b_select: [u8; 4],
    /// Destination lanes that are written, a bit each.
    pub mask: u8,
    /// `.sat`
    pub saturate: bool,
    /// `.add`: the lanes are summed onto `c`, else written over it.
    pub accumulate: bool,
}

/// A two- or four-way form's result.
pub fn packed(form: Packed, a: u32, b: u32, c: u32) -> u32 {
    let width = 32 / form.lanes;
    let pair = (b as u64) << 32 | a as u64;
    let lane = |index: u8, signed: bool| {
        let bits = pair >> (width * index as u32) << (64 - width);
        if signed { bits as i64 >> (64 - width) } else { (bits >> (64 - width)) as i64 }
    };
    let mut result = c;
    for i in 0..form.lanes {
        if form.mask >> i & 1 == 0 {
            continue;
        }
        let x = lane(form.a_select[i as usize], form.a_signed);
        let y = lane(form.b_select[i as usize], form.b_signed);
        let value = match form.op {
            PackedOp::Scalar(op) => apply(op, x, y),
            PackedOp::Average => (x + y + (x + y >= 0) as i64) >> 1,
            PackedOp::Set(cmp) => super::compare::int(cmp, x, y) as i64,
        };
        let part = if form.lanes == 2 { Part::Half(i) } else { Part::Byte(i) };
        let value = if form.saturate { saturate(value, part, form.signed) } else { value };
        result = if form.accumulate {
            result.wrapping_add(value as u32)
        } else {
            part.insert(value as u32, result)
        };
    }
    result
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
        assert_eq!(shl(7, 31, false), -1 << 31);
        assert_eq!(shl(1, 33, true), 2);
        assert_eq!(shr(-8, 1, false), -4);
    }

    #[test]
    fn multiply_and_add() {
        let signed = Mad { signed: true, ..Mad::default() };
        assert_eq!(mad(3, -4, 2, Mad { plus_one: true, ..signed }) as i32, -9);
        assert_eq!(mad(3, 4, 2, Mad { negate_product: true, ..signed }) as i32, -10);
        assert_eq!(mad(3, 4, 2, Mad { negate_c: true, ..signed }) as i32, 10);
        assert_eq!(mad(1 << 20, 1 << 20, 0, Mad { saturate: true, ..signed }) as i32, i32::MAX);
        assert_eq!(mad(1 << 20, 1 << 20, 0, Mad { shift: 15, saturate: true, ..Mad::default() }), 1 << 25);
        assert_eq!(secondary(Secondary::Min, 1, u32::MAX, true), u32::MAX);
        assert_eq!(secondary(Secondary::Min, -1, 7, false), 7);
        assert_eq!(saturate_sum(1 << 32, Part::Word, false), 0);
        assert_eq!(saturate_sum(-5, Part::Word, false), 0);
    }

    #[test]
    fn lanes_are_selected_computed_and_merged() {
        let form = Packed {
            op: PackedOp::Scalar(Op::Add),
            lanes: 2,
            signed: false,
            a_signed: false,
            b_signed: false,
            a_select: [0, 1, 0, 0],
            b_select: [2, 3, 0, 0],
            mask: 3,
            saturate: false,
            accumulate: false,
        };
        assert_eq!(packed(form, 0x0001_ffff, 0x0002_0003, 0), 0x0003_0002);
        assert_eq!(packed(Packed { saturate: true, ..form }, 0x0001_ffff, 0x0002_0003, 0), 0x0003_ffff);
        assert_eq!(packed(Packed { mask: 1, ..form }, 0x0001_0001, 0x0002_0003, 0xabcd_0000), 0xabcd_0004);
        assert_eq!(packed(Packed { accumulate: true, ..form }, 0x0001_0001, 0x0002_0003, 10), 17);
        let average = Packed { op: PackedOp::Average, lanes: 4, b_select: [4, 5, 6, 7], mask: 15, ..form };
        let average = Packed { a_select: [0, 1, 2, 3], ..average };
        assert_eq!(packed(average, 0x0102_03ff, 0x0203_04ff, 0), 0x0203_04ff);
    }
}
