//! Queries and conversions of addresses: `cvta`, `isspacep`, `mapa`, `getctarank`.

use ptx::{Operand, ScalarType};

use super::Refusal;
use super::data::{address_of, space};
use super::function::{Decoder, Fit, Symbol, rows_of};
use super::modifiers::Form;
use crate::form::access::SpaceOperand;
use crate::form::op::OpKind;
use crate::form::qualifiers::{Qualifiers, Region};
use crate::memory::window;
use crate::observer::MemorySpace;

/// Decodes one.
pub(super) fn decode(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    match f.name {
        "cvta" => cvta(d, f),
        "isspacep" => isspacep(d, f),
        "mapa" => mapa(d, f),
        _ => getctarank(d, f),
    }
}

/// The space that an instruction names, and where it lies among generic addresses.
fn window_of(f: &mut Form<'_>) -> Result<(MemorySpace, Option<u64>), Refusal> {
    let Some(SpaceOperand::In(space)) = space(f) else { return Err(Refusal::new("it names no space")) };
    let window = match space {
        MemorySpace::Shared => Some(window::SHARED),
        MemorySpace::Local => Some(window::LOCAL),
        MemorySpace::Param => Some(window::PARAM),
        MemorySpace::Global | MemorySpace::Const => None,
    };
    Ok((space, window))
}

/// Where a variable lies.
fn home(variable: &Symbol) -> Option<MemorySpace> {
    match variable {
        Symbol::Shared(_) => Some(MemorySpace::Shared),
        Symbol::KernelParam { .. } | Symbol::Local { param: true, .. } => Some(MemorySpace::Param),
        Symbol::Local { .. } => Some(MemorySpace::Local),
        Symbol::Global(_) | Symbol::Image(_) => Some(MemorySpace::Global),
        Symbol::Const(_) => Some(MemorySpace::Const),
        _ => None,
    }
}

fn cvta(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let back = f.modifiers.take("to");
    let (space, window) = window_of(f)?;
    let ty = f.modifiers.ty()?;
    if rows_of(ty) != 2 {
        return Err(Refusal::new("addresses have 64 bits"));
    }
    let [t, a] = f.operands()?;
    let symbol = match a {
        Operand::Name(name) => d.symbol(name).cloned().map(|s| (s, 0)),
        Operand::Symbol(address) => d.symbol(&address.name).cloned().map(|s| (s, address.offset)),
        Operand::Element(..) if back => return Err(Refusal::new("it takes a generic address back")),
        Operand::Element(name, index) if index.base.is_none() => {
            d.symbol(name).cloned().map(|s| (s, index.offset))
        }
        _ => None,
    };
    let variable = match a {
        Operand::Element(name, _) => d.symbol(name).and_then(home),
        _ => symbol.as_ref().and_then(|(symbol, _)| home(symbol)),
    };
    match (variable, a) {
        (Some(_), Operand::Name(name)) if back => {
            return Err(Refusal(format!("`{name}` is a variable, and what it takes back is a register")));
        }
        (Some(own), _) if !back && own != space => {
            return Err(Refusal::new("the variable lies in another space"));
        }
        _ => {}
    }
    let a = match (symbol, a) {
        (_, Operand::Element(_, ptx::Address { base: Some(place), .. })) => {
            d.source(&Operand::Name(place.clone()), ty)?
        }
        (Some((Symbol::Register { .. }, _)) | None, a) => d.source(a, ty)?,
        (Some((symbol, offset)), _) => d.symbol_address(&symbol, offset, true, false)?,
    };
    f.arithmetic(Qualifiers::Address { window, back }, &[d.real_target(t, ty)?], &[a])
}

fn isspacep(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let (global, constant) = (f.modifiers.take("global"), f.modifiers.take("const"));
    let own_block = f.modifiers.take("shared::cta") || f.modifiers.take("shared");
    let space = match (own_block, constant) {
        (true, _) => Region::OwnShared,
        (_, true) => Region::Constant,
        _ if global => Region::Global,
        _ => window_of(f)?.1.map_or(Region::Global, Region::Window),
    };
    let [t, a] = f.operands()?;
    let sum = d.sum(a, ScalarType::U64, Fit::Exact).or_else(|_| d.sum(a, ScalarType::U32, Fit::Exact))?;
    let a = sum.as_ref().unwrap_or(a);
    let variable = match a {
        Operand::Symbol(place) => address_of(d, &place.name, place.offset, place.generic, 2)?,
        Operand::Name(name) if address_of(d, name, 0, false, 2)?.is_some() => {
            return Err(Refusal(format!("`{name}` is a variable, where a register is wanted")));
        }
        Operand::Name(_) | Operand::Component(..) => None,
        a => Some(d.source(a, ScalarType::U64)?),
    };
    let (a, ty) = match variable {
        Some(slot) => (slot, ScalarType::U64),
        None => d.wide_register(a, ScalarType::U32, false)?,
    };
    if !matches!(ty.size(), 4 | 8) {
        return Err(Refusal::new("an address has 32 or 64 bits"));
    }
    let t = d.real_target(t, ScalarType::Pred)?;
    f.arithmetic(Qualifiers::IsSpace { wide: rows_of(ty) == 2, space }, &[t], &[a])
}

/// `mapa d, a, rank`: the address of the same place in another block of the cluster.
fn mapa(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let generic = f.modifiers.take_any(&[("shared::cluster", ()), ("shared::cta", ())]).is_none();
    let ty = f.modifiers.ty()?;
    let [t, a, rank] = f.operands()?;
    let symbol = match a {
        Operand::Name(name) => d.symbol(name).cloned().map(|s| (s, 0)),
        Operand::Symbol(address) => d.symbol(&address.name).cloned().map(|s| (s, address.offset)),
        _ => None,
    };
    let a = match symbol {
        Some((Symbol::Register { .. }, _)) | None => d.source(a, ty)?,
        Some((symbol @ Symbol::Shared(_), offset)) => {
            d.symbol_address(&symbol, offset, rows_of(ty) == 2, generic)?
        }
        Some(_) => return Err(Refusal(format!("`{a}` is not in shared memory"))),
    };
    let rank = d.number(rank, ScalarType::U32)?;
    let t = d.real_target(t, ty)?;
    f.arithmetic(Qualifiers::MapAddress { ty, generic }, &[t], &[a, rank])
}

/// `getctarank d, a`: which block of the cluster an address belongs to.
fn getctarank(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    f.modifiers.take("shared::cluster");
    let ty = f.modifiers.ty()?;
    let [t, a] = f.operands()?;
    let variable = match a {
        Operand::Name(name) => d.symbol(name),
        Operand::Symbol(symbol) => d.symbol(&symbol.name),
        _ => None,
    };
    if variable.and_then(home).is_some_and(|space| space != MemorySpace::Shared) {
        return Err(Refusal(format!("`{a}` is not in shared memory")));
    }
    let variable = match a {
        Operand::Name(name) => address_of(d, name, 0, false, rows_of(ty))?,
        Operand::Symbol(symbol) => address_of(d, &symbol.name, symbol.offset, symbol.generic, rows_of(ty))?,
        _ => None,
    };
    let a = match variable {
        Some(slot) => slot,
        None => d.source(a, ty)?,
    };
    let own = d.init(crate::form::program::Init::ClusterCtaRank, 1)?;
    let t = d.real_target(t, ScalarType::U32)?;
    f.arithmetic(Qualifiers::Type(ty), &[t], &[a, own])
}
