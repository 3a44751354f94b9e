//! Arithmetic of `.f32`, `.f64` and `.f32x2`.

use ptx::ScalarType;

use super::lanewise::{each1, each2, each3, map1, map2, map3, test1};
use super::{Evaluate, Unknown};
use crate::alu::compare::{testp_f32, testp_f64};
use crate::alu::float::{self, MinMax, Mode};
use crate::alu::{Round, approx};
use crate::form::arithmetic::{Arithmetic, Opcode};
use crate::form::qualifiers::{Accuracy, Qualifiers};

pub(super) fn evaluation(o: &Arithmetic) -> Result<Evaluate, Unknown> {
    use Opcode::{Abs, Add, FusedMultiplyAdd, Mul, MultiplyAdd, Neg, Sub};
    match (o.qualifiers, o.opcode) {
        (Qualifiers::Float { ty, mode, .. }, Add | Sub | Mul | FusedMultiplyAdd | MultiplyAdd) => {
            sum(o, ty, mode)
        }
        (Qualifiers::Float { ty, mode, .. }, Abs | Neg) => sign(o, ty, mode.ftz),
        (Qualifiers::Float { ty, mode, accuracy }, Opcode::Div) => quotient(o, ty, mode, accuracy),
        (Qualifiers::Float { ty, mode, accuracy }, _) => {
            function(o, ty, mode, accuracy == Accuracy::Approximate)
        }
        (Qualifiers::Extremum { ty, ends, abs }, _) => extremum(o, ty, ends, abs),
        (Qualifiers::Property { ty, question }, _) => {
            let (t, [a]) = (o.target(), o.sources()?);
            Ok(match ty {
                ScalarType::F32 => test1(t, a, move |a| testp_f32(question, a)),
                ScalarType::F64 => test1(t, a, move |a| testp_f64(question, a)),
                other => return Err(Unknown::ty(other)),
            })
        }
        _ => Err(Unknown::form()),
    }
}

/// `$name` over `.f32` with the common modes as functions of their own, so that each vectorises.
macro_rules! with_mode {
    ($map:ident, $each:ident, $op:path, ($t:expr, $($a:ident),*), $mode:expr) => {
        match $mode {
            Mode { round: Round::Nearest, ftz: false, sat: false } => {
                $map($t, $($a,)* |$($a: f32),*| $op($($a,)* Mode::RN))
            }
            Mode { round: Round::Nearest, ftz: true, sat: false } => {
                $map($t, $($a,)* |$($a: f32),*| $op($($a,)* Mode { ftz: true, ..Mode::RN }))
            }
            mode => $each($t, $($a,)* move |$($a: f32),*| $op($($a,)* mode)),
        }
    };
}

fn sum(o: &Arithmetic, ty: ScalarType, mode: Mode) -> Result<Evaluate, Unknown> {
    let Mode { round, ftz, sat } = mode;
    let t = o.target();
    let fused = matches!(o.opcode, Opcode::FusedMultiplyAdd | Opcode::MultiplyAdd);
    match ty {
        ScalarType::F32 if fused => {
            let [a, b, c] = o.sources()?;
            Ok(with_mode!(map3, each3, float::fma_f32, (t, a, b, c), mode))
        }
        ScalarType::F32 => {
            let [a, b] = o.sources()?;
            Ok(match o.opcode {
                Opcode::Add => with_mode!(map2, each2, float::add_f32, (t, a, b), mode),
                Opcode::Sub => with_mode!(map2, each2, float::sub_f32, (t, a, b), mode),
                _ => with_mode!(map2, each2, float::mul_f32, (t, a, b), mode),
            })
        }
        ScalarType::F64 if fused && !ftz && !sat => {
            let [a, b, c] = o.sources()?;
            Ok(match round {
                Round::Nearest => map3(t, a, b, c, |a, b, c| float::fma_f64(a, b, c, Round::Nearest)),
                round => each3(t, a, b, c, move |a, b, c| float::fma_f64(a, b, c, round)),
            })
        }
        ScalarType::F64 if !ftz && !sat => {
            let [a, b] = o.sources()?;
            Ok(match (o.opcode, round) {
                (Opcode::Add, Round::Nearest) => map2(t, a, b, |a, b| float::add_f64(a, b, Round::Nearest)),
                (Opcode::Sub, Round::Nearest) => map2(t, a, b, |a, b| float::sub_f64(a, b, Round::Nearest)),
                (_, Round::Nearest) => map2(t, a, b, |a, b| float::mul_f64(a, b, Round::Nearest)),
                (Opcode::Add, _) => each2(t, a, b, move |a, b| float::add_f64(a, b, round)),
                (Opcode::Sub, _) => each2(t, a, b, move |a, b| float::sub_f64(a, b, round)),
                _ => each2(t, a, b, move |a, b| float::mul_f64(a, b, round)),
            })
        }
        ScalarType::F32x2 if !sat => pair(o, mode),
        other => Err(Unknown::ty(other)),
    }
}

/// `add.f32x2` and its likes.
fn pair(o: &Arithmetic, mode: Mode) -> Result<Evaluate, Unknown> {
    let t = o.target();
    let part = |x: u64, i: u32| f32::from_bits((x >> (32 * i)) as u32);
    let join = |low: f32, high: f32| u64::from(high.to_bits()) << 32 | u64::from(low.to_bits());
    if o.opcode == Opcode::FusedMultiplyAdd {
        let [a, b, c] = o.sources()?;
        return Ok(each3(t, a, b, c, move |a: u64, b: u64, c: u64| {
            let sum = |i| float::fma_f32(part(a, i), part(b, i), part(c, i), mode);
            join(sum(0), sum(1))
        }));
    }
    let apply: fn(f32, f32, Mode) -> f32 = match o.opcode {
        Opcode::Add => float::add_f32,
        Opcode::Sub => float::sub_f32,
        Opcode::Mul => float::mul_f32,
        _ => return Err(Unknown::ty(ScalarType::F32x2)),
    };
    let [a, b] = o.sources()?;
    Ok(each2(t, a, b, move |a: u64, b: u64| {
        let sum = |i| apply(part(a, i), part(b, i), mode);
        join(sum(0), sum(1))
    }))
}

fn extremum(o: &Arithmetic, ty: ScalarType, mode: MinMax, abs: bool) -> Result<Evaluate, Unknown> {
    let t = o.target();
    match ty {
        ScalarType::F32 if o.sources.len() == 3 && mode.xorsign => {
            Err(Unknown::new("`.xorsign` is for two values"))
        }
        ScalarType::F32 if o.sources.len() == 3 => {
            let [a, b, c] = o.sources()?;
            Ok(each3(t, a, b, c, move |a: f32, b: f32, c: f32| {
                let size = |x: f32| if abs { float::abs_f32(x, false) } else { x };
                float::min_max_f32(float::min_max_f32(size(a), size(b), mode), size(c), mode)
            }))
        }
        ScalarType::F32 if !abs => {
            let [a, b] = o.sources()?;
            Ok(if mode == (MinMax { max: true, ..MinMax::default() }) {
                map2(t, a, b, |a, b| {
                    float::min_max_f32(a, b, MinMax { max: true, ftz: false, nan: false, xorsign: false })
                })
            } else if mode == MinMax::default() {
                map2(t, a, b, |a, b| {
                    float::min_max_f32(a, b, MinMax { max: false, ftz: false, nan: false, xorsign: false })
                })
            } else {
                each2(t, a, b, move |a: f32, b: f32| float::min_max_f32(a, b, mode))
            })
        }
        ScalarType::F64 if !abs && !mode.nan && !mode.xorsign && !mode.ftz => {
            let [a, b] = o.sources()?;
            Ok(each2(t, a, b, move |a: f64, b: f64| float::min_max_f64(a, b, mode.max)))
        }
        other => Err(Unknown::ty(other)),
    }
}

fn sign(o: &Arithmetic, ty: ScalarType, ftz: bool) -> Result<Evaluate, Unknown> {
    let (t, [a]) = (o.target(), o.sources()?);
    Ok(match (o.opcode, ty) {
        (Opcode::Abs, ScalarType::F32) => map1(t, a, move |a| float::abs_f32(a, ftz)),
        (Opcode::Neg, ScalarType::F32) => map1(t, a, move |a| float::neg_f32(a, ftz)),
        (Opcode::Abs, ScalarType::F64) if !ftz => map1(t, a, float::abs_f64),
        (Opcode::Neg, ScalarType::F64) if !ftz => map1(t, a, float::neg_f64),
        (_, other) => return Err(Unknown::ty(other)),
    })
}

pub(super) fn copysign(o: &Arithmetic, ty: ScalarType) -> Result<Evaluate, Unknown> {
    let (t, [a, b]) = (o.target(), o.sources()?);
    Ok(match ty {
        ScalarType::F32 => map2(t, a, b, float::copysign_f32),
        ScalarType::F64 => map2(t, a, b, float::copysign_f64),
        other => return Err(Unknown::ty(other)),
    })
}

/// An approximation of each lane, with code of its own for `.ftz`: one for both would not become vectors.
macro_rules! in_vectors {
    ($map:ident($($slot:ident),*), $function:ident($($a:ident),*), $ftz:expr) => {
        match $ftz {
            true => $map($($slot),*, |$($a),*| approx::$function($($a),*, true)),
            false => $map($($slot),*, |$($a),*| approx::$function($($a),*, false)),
        }
    };
}

fn quotient(o: &Arithmetic, ty: ScalarType, mode: Mode, accuracy: Accuracy) -> Result<Evaluate, Unknown> {
    let (t, [a, b], ftz) = (o.target(), o.sources()?, mode.ftz);
    Ok(match (ty, accuracy) {
        (ScalarType::F32, Accuracy::Approximate) => in_vectors!(map2(t, a, b), div_approx(a, b), ftz),
        (ScalarType::F32, Accuracy::Full) => in_vectors!(map2(t, a, b), div_full(a, b), ftz),
        (ScalarType::F32, Accuracy::Rounded) => each2(t, a, b, move |a, b| float::div_f32(a, b, mode)),
        (ScalarType::F64, Accuracy::Rounded) if !ftz => {
            each2(t, a, b, move |a, b| float::div_f64(a, b, mode.round))
        }
        (other, _) => return Err(Unknown::ty(other)),
    })
}

fn function(o: &Arithmetic, ty: ScalarType, mode: Mode, approximate: bool) -> Result<Evaluate, Unknown> {
    use Opcode::{Cosine, Exp2, Log2, Reciprocal, ReciprocalRoot, Root, Sine, Tanh};
    use ScalarType::{F32, F64};
    let (t, [a], ftz) = (o.target(), o.sources()?, mode.ftz);
    Ok(match (o.opcode, ty, approximate) {
        (Reciprocal, F32, true) => in_vectors!(map1(t, a), rcp(a), ftz),
        (Reciprocal, F32, false) => each1(t, a, move |a| float::rcp_f32(a, mode)),
        (Reciprocal, F64, true) if ftz => each1(t, a, approx::rcp_f64),
        (Reciprocal, F64, false) if !ftz => each1(t, a, move |a| float::rcp_f64(a, mode.round)),
        (Root, F32, true) => in_vectors!(map1(t, a), sqrt(a), ftz),
        (Root, F32, false) => each1(t, a, move |a| float::sqrt_f32(a, mode)),
        (Root, F64, false) if !ftz => each1(t, a, move |a| float::sqrt_f64(a, mode.round)),
        (ReciprocalRoot, F32, true) => in_vectors!(map1(t, a), rsqrt(a), ftz),
        (ReciprocalRoot, F64, true) if ftz => each1(t, a, approx::rsqrt_f64),
        (ReciprocalRoot, F64, true) => each1(t, a, approx::rsqrt_full_f64),
        (Sine, F32, true) => map1(t, a, approx::sin),
        (Cosine, F32, true) => map1(t, a, approx::cos),
        (Log2, F32, true) => in_vectors!(map1(t, a), lg2(a), ftz),
        (Exp2, F32, true) => in_vectors!(map1(t, a), ex2(a), ftz),
        (Tanh, F32, true) if !ftz => each1(t, a, approx::tanh),
        (_, other, _) => return Err(Unknown::ty(other)),
    })
}
