//! Data movement: `mov`, `ld`, `st`.

use ptx::{Constant, Operand, ScalarType};

use super::Refusal;
use super::call::DYNAMIC_PARALLELISM;
use super::draft::Draft;
use super::function::{Decoder, Fit, Symbol, rows_of};
use super::liveness::Liveness;
use super::modifiers::Form;
use super::special;
use crate::form::access::{AddressOperand, SpaceOperand};
use crate::form::op::{ALL_BYTES, MemoryOp, OpKind, ParamOp};
use crate::form::program::code_address;
use crate::form::qualifiers::Qualifiers;
use crate::form::registers::{NONE, Slot};
use crate::observer::{MemorySpace, Order, Scope};

/// Decodes one.
pub(super) fn decode(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    match f.name {
        "mov" => mov(d, f),
        "ld" | "ldu" => load(d, f),
        _ => store(d, f),
    }
}

fn mov(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let count = f.modifiers.take_any(&[("v2", 2), ("v4", 4)]);
    let ty = f.modifiers.ty()?;
    let rows = rows_of(ty);
    let [target, source] = f.operands()?;
    if let Some(count) = count {
        return copy_parts(d, f, ty, count);
    }
    special::suits(source, ty)?;
    let sum = d.sum(source, ty, Fit::Any)?;
    let source = sum.as_ref().unwrap_or(source);
    match (target, source) {
        (Operand::Vector(parts), source) => return unpack(d, f, ty, parts, source),
        (target, Operand::Vector(parts)) => return pack(d, f, ty, target, parts),
        _ => {}
    }
    let variable = match source {
        Operand::Name(name) | Operand::Element(name, _) => d.symbol(name),
        _ => None,
    };
    if ty.size() == 4 && matches!(variable, Some(Symbol::Global(_) | Symbol::Image(_))) {
        return Err(Refusal(format!("`{source}`: the address of what lies in global memory has 64 bits")));
    }
    let address = match source {
        Operand::Name(name) => {
            if let Some((which, width)) = special::changing(name) {
                if width != rows {
                    return Err(Refusal(format!("`{name}` has {} bits", width * 32)));
                }
                let target = d.real_target(target, ty)?;
                return Ok(OpKind::Special { target, which });
            }
            address_of(d, name, 0, false, rows)?
        }
        Operand::Symbol(symbol) if d.symbol(&symbol.name).is_none() => {
            return Err(Refusal(format!("`{source}`: `{}` is no variable", symbol.name)));
        }
        Operand::Symbol(symbol) if rows == 2 || symbol.generic => {
            address_of(d, &symbol.name, symbol.offset, symbol.generic, rows)?
        }
        Operand::Element(name, index) if index.base.is_none() => {
            address_of(d, name, index.offset, false, rows)?
        }
        Operand::Element(_, index) => {
            index.base.clone().map(|place| d.source(&Operand::Name(place), ty)).transpose()?
        }
        _ => None,
    };
    let a = match address {
        Some(slot) => slot,
        None => d.source(source, ty)?,
    };
    f.arithmetic(Qualifiers::Type(ty), &[d.real_target(target, ty)?], &[a])
}

/// `mov.v2.u32 {a, b}, {c, d}`, `mov.v4.u32 {a, b, c, d}, %tid`.
fn copy_parts(d: &mut Decoder<'_>, f: &Form<'_>, ty: ScalarType, count: usize) -> Result<OpKind, Refusal> {
    let [target, source] = f.operands()?;
    let parts = |whole: &Operand| match whole {
        Operand::Vector(parts) if parts.len() == count => Ok(parts.to_vec()),
        Operand::Name(name) if count == 4 && special::fixed(name, Some("x")).is_some() => {
            Ok(["x", "y", "z", "w"].map(|part| Operand::Component(name.clone(), part.into())).to_vec())
        }
        Operand::Name(name) if special::fixed(name, Some("x")).is_some() => {
            Err(Refusal(format!("`{name}` has 4 parts")))
        }
        other => Err(Refusal(format!("`{other}` has not {count} parts"))),
    };
    let (mut targets, mut sources) = (Vec::new(), Vec::new());
    for (to, from) in parts(target)?.iter().zip(parts(source)?) {
        sources.push(d.source(&from, part_of_vector(ty, &from))?);
        targets.push(d.kept_target(to, part_of_vector(ty, to))?);
    }
    f.arithmetic(Qualifiers::Type(ty), &targets, &sources)
}

/// The address of a variable or function as a register; `None` if the name is something else.
pub(super) fn address_of(
    d: &mut Decoder<'_>,
    name: &ptx::Name,
    offset: i64,
    generic: bool,
    rows: u32,
) -> Result<Option<Slot>, Refusal> {
    match d.symbol(name).cloned() {
        Some(Symbol::Register { .. }) => Ok(None),
        Some(
            symbol @ (Symbol::Shared(_)
            | Symbol::Local { .. }
            | Symbol::KernelParam { .. }
            | Symbol::Global(_)
            | Symbol::Const(_)
            | Symbol::Image(_)),
        ) => {
            if rows == 0 {
                return Err(Refusal(format!("`{name}` is no predicate")));
            }
            if generic && rows != 2 {
                return Err(Refusal::new("a generic address has 64 bits"));
            }
            d.symbol_address(&symbol, offset, rows == 2, generic).map(Some)
        }
        _ => match d.module.functions.get(name) {
            Some(&(index, _)) if rows == 2 => d.constant(code_address(index).into(), 2).map(Some),
            _ if d.module.kernels.contains(name) && d.symbol(name).is_none() => {
                Err(Refusal(format!("`{name}` is a kernel: {DYNAMIC_PARALLELISM}")))
            }
            _ => Ok(None),
        },
    }
}

/// `mov.b64 d, {a, b}`
fn pack(
    d: &mut Decoder<'_>,
    f: &Form<'_>,
    ty: ScalarType,
    target: &Operand,
    parts: &[Operand],
) -> Result<OpKind, Refusal> {
    let part = part_type(ty, parts.len())?;
    wide_alone(parts, part)?;
    let sources = parts.iter().map(|p| d.source(p, part_of_vector(part, p)));
    let sources = sources.collect::<Result<Vec<_>, _>>()?;
    f.arithmetic(Qualifiers::Type(ty), &[d.real_target(target, ty)?], &sources)
}

/// `mov.b64 {a, b}, d`
fn unpack(
    d: &mut Decoder<'_>,
    f: &Form<'_>,
    ty: ScalarType,
    parts: &[Operand],
    source: &Operand,
) -> Result<OpKind, Refusal> {
    let part = part_type(ty, parts.len())?;
    if parts.iter().all(|part| *part == Operand::Sink) {
        return Err(Refusal::new("nothing of what it moves is kept"));
    }
    let a = d.source(source, ty)?;
    let targets = parts.iter().map(|p| d.target(p, part)).collect::<Result<Vec<_>, _>>()?;
    f.arithmetic(Qualifiers::Type(ty), &targets, &[a])
}

fn part_type(ty: ScalarType, parts: usize) -> Result<ScalarType, Refusal> {
    if parts == 0 {
        return Err(Refusal::new("it has no parts"));
    }
    if !matches!(ty, ScalarType::B16 | ScalarType::B32 | ScalarType::B64 | ScalarType::B128) {
        return Err(Refusal(format!("parts make up bits, as of `.b{}`, not `{ty}`", ty.size() * 8)));
    }
    match ty.size() * 8 / parts as u64 {
        8 if ty != ScalarType::B128 => Ok(ScalarType::B8),
        16 => Ok(ScalarType::B16),
        32 => Ok(ScalarType::B32),
        64 => Ok(ScalarType::B64),
        _ => Err(Refusal(format!("`{ty}` has no {parts} parts"))),
    }
}

/// The space that a memory instruction names. `::cta` and `::cluster` name a block's own or any of the cluster's.
pub(super) fn space(f: &mut Form<'_>) -> Option<SpaceOperand> {
    let spaces = [
        ("global", MemorySpace::Global),
        ("shared", MemorySpace::Shared),
        ("shared::cta", MemorySpace::Shared),
        ("shared::cluster", MemorySpace::Shared),
        ("local", MemorySpace::Local),
        ("const", MemorySpace::Const),
        ("param", MemorySpace::Param),
        ("param::entry", MemorySpace::Param),
        ("param::func", MemorySpace::Param),
    ];
    f.modifiers.take_any(&spaces).map(SpaceOperand::In)
}

struct Access {
    space: SpaceOperand,
    order: Order,
    scope: Scope,
    non_coherent: bool,
    elements: usize,
    ty: ScalarType,
    /// A cache policy stands behind the operands.
    policy: bool,
    /// `.param::entry` or `.param::func`: whose parameter.
    of_kernel: Option<bool>,
}

impl Access {
    /// The requirement on an operand's register.
    fn held_in(&self, operand: &Operand) -> ScalarType {
        if self.elements > 1 { part_of_vector(self.ty, operand) } else { self.ty }
    }
}

/// The requirement on a register in a vector of a type: a float may lie in a register of whole numbers.
pub(super) fn part_of_vector(ty: ScalarType, part: &Operand) -> ScalarType {
    match (ty, part) {
        // A constant is as wide as the registers beside it.
        (ScalarType::B32, Operand::Constant(c)) if c.integer().is_none() => ScalarType::F32,
        (ScalarType::B64, Operand::Constant(c)) if c.integer().is_none() => ScalarType::F64,
        (ty, Operand::Constant(_)) => ty,
        (ScalarType::F32, _) => ScalarType::B32,
        (ScalarType::F64, _) => ScalarType::B64,
        (ScalarType::F16, _) => ScalarType::B16,
        (ty, _) => ty,
    }
}

/// Refuses decimals that have no register beside them: they are 64 bits wide.
pub(super) fn wide_alone(parts: &[Operand], ty: ScalarType) -> Result<(), Refusal> {
    let alone = parts.iter().all(|part| matches!(part, Operand::Constant(_)));
    let decimal = |part: &Operand| matches!(part, Operand::Constant(Constant::Double(_)));
    if alone && ty.size() < 8 && parts.iter().any(decimal) {
        return Err(Refusal::new("decimals alone have 64 bits each: write `0f…`, or a register beside them"));
    }
    Ok(())
}

fn access(f: &mut Form<'_>) -> Result<Access, Refusal> {
    let of_kernel = [("param::entry", true), ("param::func", false)]
        .into_iter()
        .find_map(|(word, kernel)| f.modifiers.has(|other| other == word).then_some(kernel));
    let space = space(f).unwrap_or(SpaceOperand::Generic);
    let m = &mut f.modifiers;
    let order = m.order().unwrap_or(Order::Weak);
    let scope = m.scope().unwrap_or(if order == Order::Volatile { Scope::System } else { Scope::Block });
    let non_coherent = m.take("nc");
    m.take("unified");
    let keeps = m.has(|word| word.starts_with("L2::evict_"));
    let policy = m.cache_hints();
    let elements = m.take_any(&[("v2", 2), ("v4", 4), ("v8", 8)]).unwrap_or(1);
    let ty = m.ty()?;
    let bytes = elements as u64 * ty.size();
    if ty == ScalarType::Pred || bytes > 32 || bytes > 16 && f.name == "ldu" {
        return Err(Refusal(format!("`{ty}` is not loaded or stored this way")));
    }
    if keeps && bytes != 32 {
        return Err(Refusal::new("`.L2::evict_…` goes with `.v8` of 32 bits and `.v4` of 64"));
    }
    if bytes == 32 && !matches!(space, SpaceOperand::Generic | SpaceOperand::In(MemorySpace::Global)) {
        return Err(Refusal::new("256 bits at a time come from and go to global memory only"));
    }
    Ok(Access { space, order, scope, non_coherent, elements, ty, policy, of_kernel })
}

/// Where an access goes, by an address as wide as the space asks for.
pub(super) fn place(
    d: &mut Decoder<'_>,
    operand: &Operand,
    space: SpaceOperand,
) -> Result<(AddressOperand, SpaceOperand, Option<Symbol>), Refusal> {
    let (address, space, symbol) = reached(d, operand, space)?;
    wide_enough(address, space)?;
    Ok((address, space, symbol))
}

/// Where an access goes: the space may turn out narrower than the modifier says.
fn reached(
    d: &mut Decoder<'_>,
    operand: &Operand,
    space: SpaceOperand,
) -> Result<(AddressOperand, SpaceOperand, Option<Symbol>), Refusal> {
    let (address, symbol) = match operand {
        Operand::Address(address) => d.address(address)?,
        Operand::Element(name, index) if index.base.is_none() => {
            d.address(&ptx::Address { base: Some(name.clone()), offset: index.offset })?
        }
        Operand::Element(name, place) => (d.address(place)?.0, d.symbol(name).cloned()),
        other => return Err(Refusal(format!("`{other}` is not an address"))),
    };
    let own = match &symbol {
        Some(Symbol::Shared(_)) => Some(MemorySpace::Shared),
        Some(Symbol::Local { .. }) => Some(MemorySpace::Local),
        Some(Symbol::KernelParam { .. }) => Some(MemorySpace::Param),
        Some(Symbol::Global(_)) => Some(MemorySpace::Global),
        Some(Symbol::Const(_)) => Some(MemorySpace::Const),
        _ => None,
    };
    let is_number = matches!(operand, Operand::Address(address) if address.base.is_none());
    if is_number && space != SpaceOperand::In(MemorySpace::Local) {
        return Err(Refusal(format!("`{operand}`: only addresses in `.local` may be numbers")));
    }
    let is_param = matches!(symbol, Some(Symbol::KernelParam { .. } | Symbol::Local { param: true, .. }));
    let says_param = space == SpaceOperand::In(MemorySpace::Param);
    if symbol.is_some() && is_param != says_param {
        let own = if is_param { "is" } else { "is not" };
        return Err(Refusal(format!("what it names {own} in `.param`")));
    }
    let space = match (space, own) {
        (SpaceOperand::Generic, Some(MemorySpace::Const)) => {
            return Err(Refusal::new("constants are read by `ld.const`"));
        }
        (SpaceOperand::Generic, Some(MemorySpace::Global)) => SpaceOperand::Generic,
        // A variable's own address under a generic instruction.
        (SpaceOperand::Generic, Some(own)) => SpaceOperand::In(own),
        // `.param` of device functions, and what is passed to them, lies on the stack.
        (SpaceOperand::In(MemorySpace::Param), Some(MemorySpace::Local)) => {
            SpaceOperand::In(MemorySpace::Local)
        }
        (SpaceOperand::In(MemorySpace::Param), None) if !d.kernel => SpaceOperand::In(MemorySpace::Local),
        (SpaceOperand::In(named), Some(own)) if named != own => {
            return Err(Refusal::new("the variable lies in another space"));
        }
        (space, _) => space,
    };
    Ok((address, space, symbol))
}

/// Where an instruction goes that takes no elements of arrays. Some take 32 bits for an address of any space.
pub(super) fn bracketed(
    d: &mut Decoder<'_>,
    operand: &Operand,
    space: SpaceOperand,
) -> Result<(AddressOperand, SpaceOperand), Refusal> {
    match operand {
        Operand::Address(_) => reached(d, operand, space).map(|(address, space, _)| (address, space)),
        other => Err(Refusal(format!("`{other}` is no address"))),
    }
}

/// Addresses of shared memory, constants, parameters and the stack may have 32 bits; others have 64.
pub(super) fn wide_enough(address: AddressOperand, space: SpaceOperand) -> Result<(), Refusal> {
    let anywhere = matches!(space, SpaceOperand::Generic | SpaceOperand::In(MemorySpace::Global));
    if anywhere && !address.wide && address.base != NONE {
        return Err(Refusal::new("an address has 64 bits here"));
    }
    Ok(())
}

fn elements(operand: &Operand, count: usize) -> Result<&[Operand], Refusal> {
    let parts = match operand {
        Operand::Vector(parts) => parts,
        one => std::slice::from_ref(one),
    };
    if parts.len() != count {
        return Err(Refusal(format!("it moves {count} elements")));
    }
    if parts.iter().all(|part| *part == Operand::Sink) {
        return Err(Refusal::new("nothing of what it moves is kept"));
    }
    Ok(parts)
}

fn without_policy<'a>(d: &mut Decoder<'_>, f: &Form<'a>, policy: bool) -> Result<&'a [Operand], Refusal> {
    match (f.operands, policy) {
        ([rest @ .., last], true) if rest.len() >= 2 => {
            d.number(last, ScalarType::U64)?;
            Ok(rest)
        }
        (all, _) => Ok(all),
    }
}

fn load(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let access = access(f)?;
    let [target, address] = without_policy(d, f, access.policy)? else {
        return Err(Refusal::new("it takes two operands"));
    };
    let (address, space, symbol) = place(d, address, access.space)?;
    let space = match (access.of_kernel, &symbol) {
        (Some(true), None) => access.space,
        _ => space,
    };
    if access.of_kernel.is_some_and(|kernel| kernel != (space == SpaceOperand::In(MemorySpace::Param))) {
        return Err(Refusal::new("`.param::entry` is a kernel's parameter, `.param::func` a function's"));
    }
    let parts = elements(target, access.elements)?;
    let mut rows = None;
    let mut data = Vec::new();
    for part in parts {
        let (slot, register) = d.wide_register(part, access.held_in(part), true)?;
        if slot != NONE && *rows.get_or_insert(rows_of(register)) != rows_of(register) {
            return Err(Refusal::new("all registers of a vector must have the same width"));
        }
        data.push(slot);
    }
    let rows = rows.unwrap_or(rows_of(access.ty));
    let width = access.ty.size() as u32;
    let signed = access.ty.is_signed();
    if let (Some(Symbol::KernelParam { offset, size }), SpaceOperand::In(MemorySpace::Param)) =
        (&symbol, space)
        && address.base == NONE
    {
        let from = address.offset;
        let end = i64::from(*offset) + i64::from(*size);
        if from < i64::from(*offset) || from + i64::from(width) * access.elements as i64 > end {
            return Err(Refusal::new("it reads beyond the parameter"));
        }
        return Ok(OpKind::LoadParam(Box::new(ParamOp {
            offset: from as u32,
            width,
            signed,
            rows,
            data: data.into(),
        })));
    }
    Ok(OpKind::Load(Box::new(MemoryOp {
        space,
        address,
        width,
        signed,
        rows,
        data: data.into(),
        order: access.order,
        scope: access.scope,
        non_coherent: access.non_coherent,
        multimem: false,
        used: d.used_bytes,
    })))
}

/// Lets vector loads use those elements only whose registers another operation names, if there are any.
///
/// LLVM's `LoadStoreVectorizer` fills the gaps between loads, and a vector's end: elements 0 and 2 of an array of three are one
/// `ld.v4`. It says which bytes are used by a pragma of PTX 8.3, and in older PTX not at all.
pub(super) fn use_what_is_named(drafts: &mut [Draft], liveness: &Liveness) {
    for (at, draft) in (0..).zip(drafts) {
        let OpKind::Load(load) = &mut draft.op.kind else { continue };
        let is_named = |slot: &Slot| *slot != NONE && liveness.spans[*slot as usize] != Some((at, at));
        let element = |number: usize| ((1 << load.width) - 1) << (number as u32 * load.width);
        let named = (0..).zip(&load.data).filter(|(_, slot)| is_named(slot));
        let bytes = named.fold(0, |bytes, (number, _)| bytes | element(number));
        if bytes != 0 {
            load.used &= bytes;
        }
    }
}

fn store(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    if f.modifiers.take("async") {
        return Err(Refusal::new("the virtual GPU does not know this instruction"));
    }
    let access = access(f)?;
    let [address, source] = without_policy(d, f, access.policy)? else {
        return Err(Refusal::new("it takes two operands"));
    };
    let (address, space, _) = place(d, address, access.space)?;
    let parts = elements(source, access.elements)?;
    if matches!(space, SpaceOperand::In(MemorySpace::Const | MemorySpace::Param)) {
        return Err(Refusal::new("this space cannot be written"));
    }
    let mut data = Vec::new();
    let mut widths = Vec::new();
    for part in parts {
        let (slot, register) = d.wide_register(part, access.held_in(part), false)?;
        data.push(slot);
        widths.push(rows_of(register));
    }
    let rows = widths[0];
    if widths.iter().any(|&w| w != rows) || rows > 2 && rows_of(access.ty) != rows {
        return Err(Refusal::new("all registers of a vector must have the same width"));
    }
    Ok(OpKind::Store(Box::new(MemoryOp {
        space,
        address,
        width: access.ty.size() as u32,
        signed: false,
        rows,
        data: data.into(),
        order: access.order,
        scope: access.scope,
        non_coherent: false,
        multimem: false,
        used: ALL_BYTES,
    })))
}
