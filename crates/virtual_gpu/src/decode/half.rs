//! Arithmetic of the 16-bit floats, scalar and packed.

use ptx::{Operand, ScalarType};

use super::Refusal;
use super::arithmetic::unsupported_type;
use super::function::Decoder;
use super::instruction::{Form, arithmetic};
use crate::alu::Round;
use crate::alu::float::MinMax;
use crate::alu::half::{self, Bf16, F16, Half, Mode};
use crate::form::lanewise::{Evaluate, each1, each2, each3};
use crate::form::op::OpKind;

/// Decodes one.
pub(super) fn decode(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let m = &mut f.modifiers;
    m.take("approx");
    if !matches!(m.round(), None | Some(Round::Nearest)) {
        return Err(Refusal::new("16-bit floats round to nearest only"));
    }
    let mode = Mode { ftz: m.take("ftz"), sat: m.take("sat"), relu: m.take("relu") };
    // The out-of-bounds NaN of tensor copies.
    let oob = f.name == "fma" && m.take("oob");
    let ends = MinMax {
        max: f.name == "max",
        ftz: mode.ftz,
        nan: m.take("NaN"),
        xorsign: m.take("xorsign") && m.take("abs"),
    };
    let ty = m.ty()?;
    let form = Shape { name: f.name, mode, ends, oob, ty };
    let alu = match ty {
        ScalarType::F16 | ScalarType::F16x2 => form.decode::<F16>(d, f.operands)?,
        ScalarType::Bf16 | ScalarType::Bf16x2 => form.decode::<Bf16>(d, f.operands)?,
        other => return Err(unsupported_type(other)),
    };
    arithmetic(f.name, alu)
}

/// The NaN that `fma.oob` takes for "out of bounds", of both formats: it makes the result zero. As an H200 has it, where
/// of all 65536 patterns of a factor these two do.
fn is_oob(factor: u16) -> bool {
    factor & 0x7fff == 0x7ff7
}

struct Shape<'a> {
    name: &'a str,
    mode: Mode,
    ends: MinMax,
    oob: bool,
    ty: ScalarType,
}

impl Shape<'_> {
    fn decode<H: Half + 'static>(
        &self,
        d: &mut Decoder<'_>,
        operands: &[Operand],
    ) -> Result<Evaluate, Refusal> {
        let Shape { name, mode, ends, oob, ty } = *self;
        let packed = matches!(ty, ScalarType::F16x2 | ScalarType::Bf16x2);
        let [t, sources @ ..] = operands else { return Err(Refusal::new("its operands are missing")) };
        let sources = sources.iter().map(|s| d.source(s, ty)).collect::<Result<Vec<_>, _>>()?;
        let t = d.real_target(t, ty)?;
        Ok(match sources[..] {
            [a] => {
                let ftz = mode.ftz;
                let f: Box<dyn Fn(u16) -> u16 + Send + Sync> = match name {
                    "abs" => Box::new(move |a| half::abs::<H>(a, ftz)),
                    "neg" => Box::new(move |a| half::neg::<H>(a, ftz)),
                    "ex2" => Box::new(move |a| half::ex2::<H>(a, ftz)),
                    "tanh" => Box::new(half::tanh::<H>),
                    _ => return Err(unsupported_type(ty)),
                };
                if packed {
                    each1(t, a, move |a| half::packed1(a, &f))
                } else {
                    each1(t, a, move |a: u16| f(a))
                }
            }
            [a, b] => {
                let f: Box<dyn Fn(u16, u16) -> u16 + Send + Sync> = match name {
                    "add" => Box::new(move |a, b| half::add::<H>(a, b, mode)),
                    "sub" => Box::new(move |a, b| half::sub::<H>(a, b, mode)),
                    "mul" => Box::new(move |a, b| half::mul::<H>(a, b, mode)),
                    "min" | "max" => Box::new(move |a, b| half::min_max::<H>(a, b, ends)),
                    _ => return Err(unsupported_type(ty)),
                };
                if packed {
                    each2(t, a, b, move |a, b| half::packed2(a, b, &f))
                } else {
                    each2(t, a, b, move |a: u16, b: u16| f(a, b))
                }
            }
            [a, b, c] if matches!(name, "fma" | "mad") => {
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
            _ => return Err(Refusal::new("it does not take that many operands")),
        })
    }
}
