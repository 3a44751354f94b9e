//! `setp`, `set`, `selp`, `slct`.

use ptx::{Operand, ScalarType};

use super::Refusal;
use super::function::Decoder;
use super::modifiers::Form;
use crate::alu::compare::{BoolOp, FloatCmp, IntCmp};
use crate::form::op::OpKind;
use crate::form::qualifiers::{Compare, Qualifiers, Relation};

/// Decodes one.
pub(super) fn decode(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    match f.name {
        "setp" | "set" => compare(d, f),
        "selp" => selp(d, f),
        _ => slct(d, f),
    }
}

/// A comparison as the text names it.
#[derive(Clone, Copy)]
enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Unordered(FloatCmp),
    Unsigned(IntCmp),
}

const COMPARISONS: [(&str, Comparison); 18] = [
    ("eq", Comparison::Eq),
    ("ne", Comparison::Ne),
    ("lt", Comparison::Lt),
    ("le", Comparison::Le),
    ("gt", Comparison::Gt),
    ("ge", Comparison::Ge),
    ("lo", Comparison::Unsigned(IntCmp::Lt)),
    ("ls", Comparison::Unsigned(IntCmp::Le)),
    ("hi", Comparison::Unsigned(IntCmp::Gt)),
    ("hs", Comparison::Unsigned(IntCmp::Ge)),
    ("equ", Comparison::Unordered(FloatCmp::Equ)),
    ("neu", Comparison::Unordered(FloatCmp::Neu)),
    ("ltu", Comparison::Unordered(FloatCmp::Ltu)),
    ("leu", Comparison::Unordered(FloatCmp::Leu)),
    ("gtu", Comparison::Unordered(FloatCmp::Gtu)),
    ("geu", Comparison::Unordered(FloatCmp::Geu)),
    ("num", Comparison::Unordered(FloatCmp::Num)),
    ("nan", Comparison::Unordered(FloatCmp::Nan)),
];

impl Comparison {
    /// As the type takes it, and that type: `lo` and its likes compare signed registers as unsigned.
    fn of(self, ty: ScalarType) -> Result<(ScalarType, Relation), Refusal> {
        use ScalarType::{Bf16, Bf16x2, F16, F16x2, F32, F64, S16, S32, S64, U16, U32, U64};
        let float = matches!(ty, F16 | F16x2 | Bf16 | Bf16x2 | F32 | F64);
        let (int, ordered) = match self {
            Comparison::Eq => (IntCmp::Eq, FloatCmp::Eq),
            Comparison::Ne => (IntCmp::Ne, FloatCmp::Ne),
            Comparison::Lt => (IntCmp::Lt, FloatCmp::Lt),
            Comparison::Le => (IntCmp::Le, FloatCmp::Le),
            Comparison::Gt => (IntCmp::Gt, FloatCmp::Gt),
            Comparison::Ge => (IntCmp::Ge, FloatCmp::Ge),
            Comparison::Unordered(cmp) if float => return Ok((ty, Relation::Float(cmp))),
            Comparison::Unordered(_) => return Err(Refusal::new("this comparison is for floats")),
            Comparison::Unsigned(_) if float => {
                return Err(Refusal::new("this comparison is for unsigned integers"));
            }
            Comparison::Unsigned(cmp) => {
                let unsigned = match ty {
                    S16 => U16,
                    S32 => U32,
                    S64 => U64,
                    ty => ty,
                };
                return Ok((unsigned, Relation::Integer(cmp)));
            }
        };
        Ok((ty, if float { Relation::Float(ordered) } else { Relation::Integer(int) }))
    }
}

fn compare(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let m = &mut f.modifiers;
    let comparison = m.take_any(&COMPARISONS).ok_or_else(|| Refusal::new("it names no comparison"))?;
    let join = m.take_any(&[("and", BoolOp::And), ("or", BoolOp::Or), ("xor", BoolOp::Xor)]);
    let ftz = m.take("ftz");
    let result = if f.name == "set" { m.ty()? } else { ScalarType::Pred };
    let named = m.ty()?;
    let (ty, relation) = comparison.of(named)?;
    let [target, a, b, third @ ..] = f.operands else {
        return Err(Refusal::new("it takes three or four operands"));
    };
    let mut sources = vec![d.source(a, named)?, d.source(b, named)?];
    let inverted = match (third, join) {
        ([], None) => false,
        ([c], Some(_)) => {
            let (c, inverted) = d.predicate_source(c)?;
            sources.push(c);
            inverted
        }
        _ => return Err(Refusal::new("`.and`, `.or` and `.xor` go with a fourth operand")),
    };
    let pairs = matches!(ty, ScalarType::F16x2 | ScalarType::Bf16x2);
    let targets = match target {
        Operand::Pair(_) if matches!(ty, ScalarType::F16 | ScalarType::Bf16) => {
            return Err(Refusal::new("a comparison of 16-bit floats gives one predicate"));
        }
        Operand::Pair(pair) if f.name == "setp" => {
            vec![d.kept_target(&pair[0], result)?, d.kept_target(&pair[1], result)?]
        }
        target if f.name == "setp" && pairs => vec![d.kept_target(target, result)?, d.scratch(0)?],
        target if f.name == "set" && !pairs => vec![d.real_target(target, result)?, d.scratch(0)?],
        target if f.name == "setp" => vec![d.kept_target(target, result)?],
        target => vec![d.real_target(target, result)?],
    };
    let compare = Compare { ty, relation, ftz, join, inverted, result };
    f.arithmetic(Qualifiers::Compare(compare), &targets, &sources)
}

fn selp(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let ty = f.modifiers.ty()?;
    let [t, yes, no, p] = f.operands()?;
    let (mut a, mut b) = (d.source(yes, ty)?, d.source(no, ty)?);
    let (p, inverted) = d.predicate_source(p)?;
    if inverted {
        std::mem::swap(&mut a, &mut b);
    }
    f.arithmetic(Qualifiers::Type(ty), &[d.real_target(t, ty)?], &[a, b, p])
}

fn slct(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let ftz = f.modifiers.take("ftz");
    let (ty, by) = (f.modifiers.ty()?, f.modifiers.ty()?);
    let [t, a, b, c] = f.operands()?;
    let sources = [d.source(a, ty)?, d.source(b, ty)?, d.source(c, by)?];
    f.arithmetic(Qualifiers::BySign { ty, by, ftz }, &[d.real_target(t, ty)?], &sources)
}
