//! `mma`, `wmma`, `wgmma`, `ldmatrix`, `stmatrix`, `movmatrix`.

use ptx::{Operand, ScalarType};

use super::Refusal;
use super::data;
use super::function::Decoder;
use super::modifiers::Form;
use crate::form::access::SpaceOperand;
use crate::form::matrix::{FragmentAccess, MatrixAccess, Transpose};
use crate::form::matrix::{
    FragmentMultiply, GroupMultiply, GroupSource, MatrixOperands, SparseMultiply, Together, WarpMultiply,
};
use crate::form::op::OpKind;
use crate::form::registers::Slot;
use crate::matrix::mma::{Counts, Mma};
use crate::matrix::sparse::Sparse;
use crate::matrix::wgmma::Wgmma;
use crate::matrix::wmma::{Fragment, Wmma};
use crate::observer::MemorySpace;

/// `{%r1, %r2}`, `count` of them.
fn registers(
    d: &mut Decoder<'_>,
    operand: &Operand,
    count: usize,
    ty: ScalarType,
    write: bool,
) -> Result<Box<[Slot]>, Refusal> {
    let Operand::Vector(items) = operand else {
        return Err(Refusal(format!("`{operand}`: its registers stand in braces")));
    };
    if items.len() != count {
        return Err(Refusal(format!("`{operand}` has {} registers, this form takes {count}", items.len())));
    }
    data::wide_alone(items, ty)?;
    let one = |item: &Operand| match write {
        true => d.kept_target(item, ty),
        false => d.source(item, data::part_of_vector(ty, item)),
    };
    items.iter().map(one).collect()
}

/// A modifier of a matrix instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    Sparse,
    Sync,
    Aligned,
    Shape,
    Layout,
    /// The operation that joins and counts bits: `.xor.popc`.
    Bits,
    /// A type, or what stands beside the types.
    Type,
}

impl Says {
    fn of(word: &str) -> Self {
        let is_shape = |word: &str| {
            word.strip_prefix('m').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        match word {
            "sp" | "sp::ordered_metadata" => Says::Sparse,
            "sync" => Says::Sync,
            "aligned" => Says::Aligned,
            "row" | "col" => Says::Layout,
            "and" | "xor" | "popc" => Says::Bits,
            word if is_shape(word) => Says::Shape,
            _ => Says::Type,
        }
    }
}

/// Puts modifiers into the manual's order: ptxas takes them in any, but for those of the instruction's name, and two that say
/// the same kind of thing.
fn in_order(words: &mut [&str], order: &[Says]) {
    words.sort_by_key(|word| order.iter().position(|says| *says == Says::of(word)));
}

fn operands(
    d: &mut Decoder<'_>,
    form: &Form<'_>,
    counts: Counts,
    wide: bool,
) -> Result<MatrixOperands, Refusal> {
    let [od, oa, ob, oc] = form.operands::<4>()?;
    let ty = if wide { ScalarType::B64 } else { ScalarType::B32 };
    Ok(MatrixOperands {
        a: registers(d, oa, counts.a, ty, false)?,
        b: registers(d, ob, counts.b, ty, false)?,
        c: registers(d, oc, counts.c, ty, false)?,
        d: registers(d, od, counts.d, ty, true)?,
    })
}

/// `mma.sync`
pub(super) fn mma(d: &mut Decoder<'_>, form: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let mut words = form.modifiers.take_all();
    use Says::{Aligned, Bits, Layout, Shape, Sparse, Sync, Type};
    in_order(&mut words, &[Sparse, Sync, Aligned, Shape, Layout, Type, Bits]);
    if words.first().is_some_and(|word| word.starts_with("sp")) {
        return sparse(d, form, &words);
    }
    let made = Mma::parse(&words).map_err(Refusal)?;
    let operands = operands(d, form, made.counts(), made.register_bits() == 64)?;
    Ok(OpKind::extension(WarpMultiply { form: made, operands }))
}

/// `mma.sp`: A takes half the registers; metadata and selector follow.
fn sparse(d: &mut Decoder<'_>, form: &Form<'_>, words: &[&str]) -> Result<OpKind, Refusal> {
    let made = Sparse::parse(words).map_err(Refusal)?;
    let [od, oa, ob, oc, metadata, which] = form.operands::<6>()?;
    let selector = selector(which, made)?;
    let counts = made.dense.counts();
    let (a, ty) = (counts.a / 2, ScalarType::B32);
    let operands = MatrixOperands {
        a: registers(d, oa, a, ty, false)?,
        b: registers(d, ob, counts.b, ty, false)?,
        c: registers(d, oc, counts.c, ty, false)?,
        d: registers(d, od, counts.d, ty, true)?,
    };
    let metadata = d.source(metadata, ty)?;
    Ok(OpKind::extension(SparseMultiply { form: made, operands, metadata, selector }))
}

/// Which lanes' metadata count.
fn selector(operand: &Operand, sparse: Sparse) -> Result<u32, Refusal> {
    let number = match operand {
        Operand::Constant(number) => number.integer(),
        _ => None,
    };
    let below = sparse.selectors();
    let selector = number.filter(|&number| number < below.into());
    selector
        .map(|number| number as u32)
        .ok_or_else(|| Refusal(format!("its selector is a number below {below}")))
}

/// `wmma.load`, `wmma.store`, `wmma.mma`
pub(super) fn wmma(d: &mut Decoder<'_>, form: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let mut words = form.modifiers.take_all();
    use Says::{Aligned, Bits, Layout, Shape, Sparse, Sync, Type};
    if words.first() == Some(&"mma") {
        in_order(&mut words[1..], &[Sparse, Bits, Sync, Aligned, Layout, Shape, Type]);
        let made = Wmma::parse(&words).map_err(Refusal)?;
        let operands = operands(d, form, made.counts(), made.is_double())?;
        return Ok(OpKind::extension(FragmentMultiply { form: made, operands }));
    }
    let mut space = SpaceOperand::Generic;
    words.retain(|word| match *word {
        "global" => {
            space = SpaceOperand::In(MemorySpace::Global);
            false
        }
        "shared" | "shared::cta" => {
            space = SpaceOperand::In(MemorySpace::Shared);
            false
        }
        _ => true,
    });
    let store = match words.as_mut_slice() {
        [name @ ("load" | "store"), _, rest @ ..] => {
            in_order(rest, &[Sparse, Bits, Sync, Aligned, Layout, Shape, Type]);
            *name == "store"
        }
        _ => return Err(Refusal::new("it is `.load`, `.store` or `.mma`")),
    };
    let fragment = Fragment::parse(&words).map_err(Refusal)?;
    let (first, second, stride) = match form.operands {
        [first, second] => (first, second, None),
        [first, second, stride] => (first, second, Some(stride)),
        _ => return Err(Refusal::new("it takes two or three operands")),
    };
    let (memory, data) = if store { (first, second) } else { (second, first) };
    let (address, space) = data::bracketed(d, memory, space)?;
    let wide = fragment.format.bits() == 64;
    let ty = if wide { ScalarType::B64 } else { ScalarType::B32 };
    let data = registers(d, data, fragment.registers(), ty, !store)?;
    let stride = stride.map(|stride| d.number(stride, ScalarType::B32)).transpose()?;
    Ok(OpKind::extension(FragmentAccess { fragment, space, address, stride, data, store }))
}

/// `wgmma.mma_async`, and what orders it
pub(super) fn wgmma(d: &mut Decoder<'_>, form: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let mut words = form.modifiers.take_all();
    use Says::{Aligned, Bits, Layout, Shape, Sparse, Sync, Type};
    if let [_, rest @ ..] = words.as_mut_slice() {
        in_order(rest, &[Sparse, Sync, Aligned, Shape, Layout, Type, Bits]);
    }
    match words.as_slice() {
        [which @ ("fence" | "commit_group"), "sync", "aligned"] => {
            form.operands::<0>()?;
            return Ok(OpKind::extension(if *which == "fence" { Together::Fence } else { Together::Commit }));
        }
        ["wait_group", "sync", "aligned"] => {
            return Ok(OpKind::extension(Together::Wait(super::asynchronous::group_count(form)?)));
        }
        _ => {}
    }
    let mut made = Wgmma::parse(&words).map_err(Refusal)?;
    let (count_d, count_a) = made.counts();
    let mut operands = form.operands.to_vec();
    let mut metadata = None;
    if let Some(sparse) = made.sparse {
        if operands.len() < 5 {
            return Err(Refusal::new("it takes D, A, B, metadata, a selector and whether to add"));
        }
        let words = d.source(&operands[3], ScalarType::B32)?;
        metadata = Some((words, selector(&operands[4], sparse)?));
        operands.drain(3..5);
    }
    let [od, oa, ob, scale, rest @ ..] = &operands[..] else {
        return Err(Refusal::new("it takes D, A, B and whether to add"));
    };
    let a = match oa {
        Operand::Vector(_) => GroupSource::Registers(registers(d, oa, count_a, ScalarType::B32, false)?),
        descriptor => GroupSource::Shared(d.source(descriptor, ScalarType::U64)?),
    };
    let b = d.source(ob, ScalarType::U64)?;
    let accumulate = d.predicate_source(scale)?;
    let (transposes, negates) = made.operands();
    let mut rest = rest.iter();
    let mut number = |what: &str| match rest.next() {
        Some(Operand::Constant(constant)) => {
            constant.integer().ok_or_else(|| Refusal(format!("{what} is an integer")))
        }
        _ => Err(Refusal(format!("{what} is missing"))),
    };
    if negates {
        let mut sign = |what| match number(what)? as i64 {
            1 => Ok(false),
            -1 => Ok(true),
            _ => Err(Refusal(format!("{what} is 1 or -1"))),
        };
        made.a_negative = sign("the sign of A")?;
        made.b_negative = sign("the sign of B")?;
    }
    if transposes {
        let mut transposed = |what| match number(what)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Refusal(format!("{what} is 0 or 1"))),
        };
        if matches!(a, GroupSource::Shared(_)) {
            made.a_transposed = transposed("whether A is transposed")?;
        }
        made.b_transposed = transposed("whether B is transposed")?;
    }
    if rest.next().is_some() {
        return Err(Refusal::new("it takes fewer operands"));
    }
    // D is read, too.
    registers(d, od, count_d, ScalarType::B32, false)?;
    let registers_d = registers(d, od, count_d, ScalarType::B32, true)?;
    Ok(OpKind::extension(GroupMultiply { form: made, d: registers_d, a, b, metadata, accumulate }))
}

/// `ldmatrix`, `stmatrix`
pub(super) fn matrix_access(
    d: &mut Decoder<'_>,
    form: &mut Form<'_>,
    store: bool,
) -> Result<OpKind, Refusal> {
    let modifiers = &mut form.modifiers;
    let expected = ["sync", "aligned", "m8n8", "b16"].iter().all(|word| modifiers.take(word));
    if !expected {
        return Err(Refusal::new(
            "only `.sync.aligned.m8n8` matrices of `.b16` are executed; those of 8-bit elements are Blackwell's",
        ));
    }
    let Some(count) = modifiers.take_any(&[("x1", 1usize), ("x2", 2), ("x4", 4)]) else {
        return Err(Refusal::new("it takes one, two or four matrices"));
    };
    let transposed = modifiers.take("trans");
    let shared = modifiers.take("shared") || modifiers.take("shared::cta");
    let [first, second] = form.operands::<2>()?;
    let (memory, data) = if store { (first, second) } else { (second, first) };
    let space = if shared { SpaceOperand::In(MemorySpace::Shared) } else { SpaceOperand::Generic };
    let (address, space) = data::bracketed(d, memory, space)?;
    let data = registers(d, data, count, ScalarType::B32, !store)?;
    Ok(OpKind::extension(MatrixAccess { space, address, data, transposed, store }))
}

pub(super) fn movmatrix(d: &mut Decoder<'_>, form: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let known = ["sync", "aligned", "m8n8", "trans", "b16"].iter().all(|word| form.modifiers.take(word));
    if !known {
        return Err(Refusal::new("the only form is `.sync.aligned.m8n8.trans.b16`"));
    }
    let [target, source] = form.operands::<2>()?;
    if matches!(source, Operand::Constant(_)) {
        return Err(Refusal::new("it moves what a register holds"));
    }
    let source = d.number(source, ScalarType::B32)?;
    let target = d.real_target(target, ScalarType::B32)?;
    Ok(OpKind::extension(Transpose { source, target }))
}
