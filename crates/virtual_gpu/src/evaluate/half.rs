//! Arithmetic of the 16-bit floats, scalar and packed, and their sums with 32-bit ones.

use ptx::ScalarType;

use super::lanewise::{each1, each2, each3};
use super::{Evaluate, Unknown};
use crate::alu::float::{self, MinMax};
use crate::alu::half::{self, Bf16, F16, Half, Mode};
use crate::form::arithmetic::{Arithmetic, Opcode};
use crate::form::qualifiers::Qualifiers;

pub(super) fn evaluation(o: &Arithmetic) -> Result<Evaluate, Unknown> {
    use ScalarType as S;
    match o.qualifiers {
        Qualifiers::Half { ty, mode, ends, oob } => match ty {
            S::F16 => arithmetic::<F16>(o, ty, false, mode, ends, oob),
            S::F16x2 => arithmetic::<F16>(o, ty, true, mode, ends, oob),
            S::Bf16 => arithmetic::<Bf16>(o, ty, false, mode, ends, oob),
            S::Bf16x2 => arithmetic::<Bf16>(o, ty, true, mode, ends, oob),
            other => Err(Unknown::ty(other)),
        },
        Qualifiers::Mixed { narrow, mode } => match narrow {
            S::F16 => mixed::<F16>(o, mode),
            S::Bf16 => mixed::<Bf16>(o, mode),
            other => Err(Unknown::ty(other)),
        },
        _ => Err(Unknown::form()),
    }
}

/// The NaN that `fma.oob` takes for "out of bounds", of both formats: it makes the result zero. As an H200 has it, where
/// of all 65536 patterns of a factor these two do.
fn is_oob(factor: u16) -> bool {
    factor & 0x7fff == 0x7ff7
}

fn arithmetic<H: Half + 'static>(
    o: &Arithmetic,
    ty: ScalarType,
    packed: bool,
    mode: Mode,
    ends: MinMax,
    oob: bool,
) -> Result<Evaluate, Unknown> {
    let t = o.target();
    Ok(match o.sources[..] {
        [a] => {
            let ftz = mode.ftz;
            let f: Box<dyn Fn(u16) -> u16 + Send + Sync> = match o.opcode {
                Opcode::Abs => Box::new(move |a| half::abs::<H>(a, ftz)),
                Opcode::Neg => Box::new(move |a| half::neg::<H>(a, ftz)),
                Opcode::Exp2 => Box::new(half::ex2::<H>),
                Opcode::Tanh => Box::new(half::tanh::<H>),
                _ => return Err(Unknown::ty(ty)),
            };
            if packed { each1(t, a, move |a| half::packed1(a, &f)) } else { each1(t, a, move |a: u16| f(a)) }
        }
        [a, b] => {
            let f: Box<dyn Fn(u16, u16) -> u16 + Send + Sync> = match o.opcode {
                Opcode::Add => Box::new(move |a, b| half::add::<H>(a, b, mode)),
                Opcode::Sub => Box::new(move |a, b| half::sub::<H>(a, b, mode)),
                Opcode::Mul => Box::new(move |a, b| half::mul::<H>(a, b, mode)),
                Opcode::Min | Opcode::Max => Box::new(move |a, b| half::min_max::<H>(a, b, ends)),
                _ => return Err(Unknown::ty(ty)),
            };
            if packed {
                each2(t, a, b, move |a, b| half::packed2(a, b, &f))
            } else {
                each2(t, a, b, move |a: u16, b: u16| f(a, b))
            }
        }
        [a, b, c] if matches!(o.opcode, Opcode::FusedMultiplyAdd | Opcode::MultiplyAdd) => {
            let f = move |a: u16, b: u16, c: u16| match oob && (is_oob(a) || is_oob(b)) {
                true => 0,
                false => half::fma::<H>(a, b, c, mode),
            };
            if packed {
                each3(t, a, b, c, move |a, b, c| half::packed3(a, b, c, f))
            } else {
                each3(t, a, b, c, move |a: u16, b: u16, c: u16| f(a, b, c))
            }
        }
        _ => return Err(Unknown::new("it does not take that many operands")),
    })
}

/// The last source is the wide one.
fn mixed<H: Half>(o: &Arithmetic, mode: float::Mode) -> Result<Evaluate, Unknown> {
    let t = o.target();
    if o.opcode == Opcode::FusedMultiplyAdd {
        let [a, b, c] = o.sources()?;
        return Ok(each3(t, a, b, c, move |a: u16, b: u16, c: f32| {
            float::fma_f32(H::to_f32(a), H::to_f32(b), c, mode)
        }));
    }
    let apply: fn(f32, f32, float::Mode) -> f32 = match o.opcode {
        Opcode::Add => float::add_f32,
        Opcode::Sub => float::sub_f32,
        _ => return Err(Unknown::new("only sums are of two types")),
    };
    let [a, c] = o.sources()?;
    Ok(each2(t, a, c, move |a: u16, c: f32| apply(H::to_f32(a), c, mode)))
}
