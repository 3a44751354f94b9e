//! Comparisons and what selects by them.

/// The integer comparisons. `lo ls hi hs` are `Lt Le Gt Ge` on unsigned operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntCmp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// Compares integers of one type.
#[inline]
pub fn int<T: Ord>(op: IntCmp, a: T, b: T) -> bool {
    match op {
        IntCmp::Eq => a == b,
        IntCmp::Ne => a != b,
        IntCmp::Lt => a < b,
        IntCmp::Le => a <= b,
        IntCmp::Gt => a > b,
        IntCmp::Ge => a >= b,
    }
}

/// The floating-point comparisons. The ordered ones are false when an operand is NaN, the `…u` ones true.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FloatCmp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Equ,
    Neu,
    Ltu,
    Leu,
    Gtu,
    Geu,
    /// `.num`: neither is NaN.
    Num,
    /// `.nan`: one is NaN.
    Nan,
}

/// Compares floats of one type (`f32` and `f64`; 16-bit formats are widened first, which is exact).
#[inline]
pub fn float<T: PartialOrd>(op: FloatCmp, a: T, b: T) -> bool {
    match op {
        FloatCmp::Eq => a == b,
        FloatCmp::Ne => matches!(a.partial_cmp(&b), Some(o) if o.is_ne()),
        FloatCmp::Lt => a < b,
        FloatCmp::Le => a <= b,
        FloatCmp::Gt => a > b,
        FloatCmp::Ge => a >= b,
        FloatCmp::Equ => !matches!(a.partial_cmp(&b), Some(o) if o.is_ne()),
        FloatCmp::Neu => a != b,
        FloatCmp::Ltu => !matches!(a.partial_cmp(&b), Some(o) if o.is_ge()),
        FloatCmp::Leu => !matches!(a.partial_cmp(&b), Some(o) if o.is_gt()),
        FloatCmp::Gtu => !matches!(a.partial_cmp(&b), Some(o) if o.is_le()),
        FloatCmp::Geu => !matches!(a.partial_cmp(&b), Some(o) if o.is_lt()),
        FloatCmp::Num => a.partial_cmp(&b).is_some(),
        FloatCmp::Nan => a.partial_cmp(&b).is_none(),
    }
}

/// The function that joins a comparison with another predicate: `setp.CmpOp.BoolOp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BoolOp {
    /// `.and`
    And,
    /// `.or`
    Or,
    Xor,
}

/// `setp p|q, …, c`: `p` from the comparison's result, `q` from its opposite.
#[inline]
pub fn join(op: BoolOp, result: bool, c: bool) -> bool {
    match op {
        BoolOp::And => result & c,
        BoolOp::Or => result | c,
        BoolOp::Xor => result ^ c,
    }
}

/// `slct … .s32`: true if the first operand is taken.
#[inline]
pub fn slct_s32(c: i32) -> bool {
    c >= 0
}

/// `slct … .f32`: true if the first operand is taken. Minus zero counts as zero, NaN takes the second.
#[inline]
pub fn slct_f32(c: f32, ftz: bool) -> bool {
    super::float::flush_f32(c, ftz) >= 0.0
}

/// The questions of `testp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Testp {
    Finite,
    Infinite,
    Number,
    /// `.notanumber`
    NotANumber,
    /// `.normal`: zeros count as normal.
    Normal,
    Subnormal,
}

#[inline]
pub fn testp_f32(question: Testp, a: f32) -> bool {
    match question {
        Testp::Finite => a.is_finite(),
        Testp::Infinite => a.is_infinite(),
        Testp::Number => !a.is_nan(),
        Testp::NotANumber => a.is_nan(),
        Testp::Normal => a.is_normal() || a == 0.0,
        Testp::Subnormal => a.is_subnormal(),
    }
}

#[inline]
pub fn testp_f64(question: Testp, a: f64) -> bool {
    match question {
        Testp::Finite => a.is_finite(),
        Testp::Infinite => a.is_infinite(),
        Testp::Number => !a.is_nan(),
        Testp::NotANumber => a.is_nan(),
        Testp::Normal => a.is_normal() || a == 0.0,
        Testp::Subnormal => a.is_subnormal(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unordered_operands() {
        use FloatCmp::*;
        let nan = f32::NAN;
        for op in [Eq, Ne, Lt, Le, Gt, Ge, Num] {
            assert!(!float(op, nan, 1.0), "{op:?}");
            assert!(!float(op, 1.0, nan), "{op:?}");
        }
        for op in [Equ, Neu, Ltu, Leu, Gtu, Geu, Nan] {
            assert!(float(op, nan, 1.0), "{op:?}");
            assert!(float(op, nan, nan), "{op:?}");
        }
    }

    #[test]
    fn ordered_operands() {
        use FloatCmp::*;
        for (a, b) in [(1.0f64, 2.0), (2.0, 1.0), (0.0, -0.0)] {
            for (ordered, unordered, want) in [
                (Eq, Equ, a == b),
                (Ne, Neu, a != b),
                (Lt, Ltu, a < b),
                (Le, Leu, a <= b),
                (Gt, Gtu, a > b),
                (Ge, Geu, a >= b),
                (Num, Num, true),
            ] {
                assert_eq!(float(ordered, a, b), want, "{ordered:?} {a} {b}");
                assert_eq!(float(unordered, a, b), want, "{unordered:?} {a} {b}");
            }
        }
        assert!(int(IntCmp::Lt, -1i32, 1));
        assert!(int(IntCmp::Gt, -1i32 as u32, 1));
        assert!(join(BoolOp::Xor, true, false));
    }

    #[test]
    fn selection_and_class() {
        assert!(slct_f32(-0.0, false));
        assert!(slct_f32(-1e-40, true));
        assert!(!slct_f32(-1e-40, false));
        assert!(!slct_f32(f32::NAN, false));
        assert!(testp_f32(Testp::Normal, 0.0));
        assert!(testp_f32(Testp::Subnormal, 1e-40));
        assert!(!testp_f64(Testp::Number, f64::NAN));
        assert!(testp_f64(Testp::Infinite, f64::NEG_INFINITY));
    }
}
