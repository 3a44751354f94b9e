//! `tex`, `tld4`, `txq`, `suld`, `sust`, `sured`, `suq`, `istypep`.
//!
//! Both modes are here: a handle that names image and sampling together (`.texmode_unified`, what CUDA C++ uses), and a
//! texture with a sampler beside it, whose fields the module gives.

use ptx::{Operand, ScalarType};

use super::Refusal;
use super::arithmetic::unsupported_type;
use super::data::part_of_vector;
use super::function::{Decoder, Symbol};
use super::modifiers::{Form, Modifiers};
use crate::form::access::AddressOperand;
use crate::form::op::OpKind;
use crate::form::registers::{NONE, Slot};
use crate::form::texture::{
    Geometry, IsType, Level, Opaque, Outside, Query, Question, Result4, SurfaceAccess, SurfaceAction,
    SurfaceReduction, TextureFetch,
};

const DEPTH: &str = "depth is compared in depth textures only, and CUDA's texture descriptors name no comparison to make; compare \
                     what is fetched";

/// Decodes one.
pub(super) fn decode(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    match f.name {
        "tex" | "tld4" => fetch(d, f),
        "txq" | "suq" => query(d, f),
        "istypep" => is_type(d, f),
        _ => surface(d, f),
    }
}

fn geometry(m: &mut Modifiers<'_>) -> Result<Geometry, Refusal> {
    if m.take("2dms") || m.take("a2dms") {
        return Err(Refusal::new(
            "textures of several samples a texel are drawn by graphics, and CUDA makes none; take a layered texture, a layer a sample",
        ));
    }
    let known = m.take_any(&[
        ("1d", (1, false, false)),
        ("2d", (2, false, false)),
        ("3d", (3, false, false)),
        ("a1d", (1, true, false)),
        ("a2d", (2, true, false)),
        ("cube", (3, false, true)),
        ("acube", (3, true, true)),
    ]);
    let (dimensions, layered, cube) =
        known.ok_or_else(|| Refusal::new("its geometry is none of .1d .2d .3d .a1d .a2d .cube .acube"))?;
    Ok(Geometry { dimensions, layered, cube })
}

fn list(operand: &Operand) -> &[Operand] {
    match operand {
        Operand::Vector(parts) => parts,
        one => std::slice::from_ref(one),
    }
}

/// `handle` in brackets: an image that the host binds, or a register that holds its handle.
fn image(d: &mut Decoder<'_>, place: &ptx::Address) -> Result<AddressOperand, Refusal> {
    let (address, symbol) = d.address(place)?;
    let is_handle = match symbol {
        Some(Symbol::Image(_) | Symbol::KernelParam { .. }) => true,
        Some(_) => false,
        None => address.base != NONE && address.wide,
    };
    if is_handle && place.offset == 0 {
        return Ok(address);
    }
    Err(Refusal(format!("`[{place}]` is neither an image nor a register of 64 bits with its handle")))
}

/// `[handle, {x, y}]`: the handle, the layer, the coordinates.
fn place(
    d: &mut Decoder<'_>,
    operand: &Operand,
    geometry: Geometry,
    ty: ScalarType,
) -> Result<(AddressOperand, Slot, Box<[Slot]>), Refusal> {
    let Operand::Indexed(handle, rest) = operand else {
        return Err(Refusal(format!("`{operand}` is no image with coordinates")));
    };
    let (coordinates, braced) = match &rest[..] {
        [coordinates] => (list(coordinates), matches!(coordinates, Operand::Vector(_))),
        [_, _] => {
            return Err(Refusal::new(
                "a sampler of its own (`.texmode_independent`) is not supported; CUDA names image and sampler together",
            ));
        }
        _ => return Err(Refusal::new("its coordinates are missing")),
    };
    let handle = image(d, handle)?;
    let (layer, coordinates) = match (geometry.layered, coordinates) {
        (true, [layer, rest @ ..]) => (d.source(layer, ScalarType::U32)?, rest),
        (true, []) => return Err(Refusal::new("its layer is missing")),
        (false, rest) => (NONE, rest),
    };
    // Vectors have 1, 2 or 4 elements; the last of what is not needed is ignored.
    let needed = geometry.dimensions as usize;
    if coordinates.len() < needed || coordinates.len() > 4 {
        return Err(Refusal(format!("it takes {needed} coordinates, not {}", coordinates.len())));
    }
    let held_in = |c: &Operand| if braced { part_of_vector(ty, c) } else { ty };
    let coordinates =
        coordinates[..needed].iter().map(|c| d.source(c, held_in(c))).collect::<Result<_, _>>()?;
    Ok((handle, layer, coordinates))
}

fn fetch(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let m = &mut f.modifiers;
    let level = m.take_any(&[("level", 'l'), ("grad", 'g'), ("base", 'b')]);
    let gather = match f.name {
        "tld4" => {
            let channel = m.take_any(&[("r", 0), ("g", 1), ("b", 2), ("a", 3)]);
            Some(channel.ok_or_else(|| Refusal::new("it names no channel"))?)
        }
        _ => None,
    };
    let geometry = geometry(m)?;
    if gather.is_some() && geometry.dimensions != 2 && !geometry.cube {
        return Err(Refusal::new("it gathers from `.2d`, `.a2d`, `.cube` and `.acube` images"));
    }
    let count = m.take_any(&[("v4", 4), ("v2", 2)]).ok_or_else(|| Refusal::new("it gives a vector"))?;
    let (to, from) = (m.ty()?, m.ty()?);
    let (result, register) = match (to, count) {
        (ScalarType::F32 | ScalarType::U32 | ScalarType::S32, 4) => (Result4::Words, to),
        (ScalarType::F16, 4) => (Result4::Halves, ScalarType::B16),
        (ScalarType::F16x2, 2) => (Result4::HalfPairs, ScalarType::B32),
        _ => return Err(unsupported_type(to)),
    };
    let integer = match from {
        ScalarType::S32 => true,
        ScalarType::F32 => false,
        other => return Err(unsupported_type(other)),
    };
    if integer && (geometry.cube || gather.is_some()) {
        return Err(unsupported_type(from));
    }
    let [target, source, rest @ ..] = f.operands else {
        return Err(Refusal::new("its operands are missing"));
    };
    let (handle, layer, coordinates) = place(d, source, geometry, from)?;
    let gradient = |d: &mut Decoder<'_>, operand: &Operand| {
        let steps = list(operand);
        let needed = geometry.dimensions as usize;
        if steps.len() < needed {
            return Err(Refusal(format!("a gradient has {needed} steps, not {}", steps.len())));
        }
        steps[..needed].iter().map(|s| d.source(s, ScalarType::F32)).collect::<Result<Box<[_]>, _>>()
    };
    let (level, rest) = match (level, rest) {
        (Some('l'), [level, rest @ ..]) if integer => {
            (Level::GivenWhole(d.source(level, ScalarType::S32)?), rest)
        }
        (Some('l'), [level, rest @ ..]) => (Level::Given(d.source(level, ScalarType::F32)?), rest),
        (Some('g'), [x, y, rest @ ..]) => (Level::Gradients(gradient(d, x)?, gradient(d, y)?), rest),
        (None | Some('b'), rest) => (Level::Base, rest),
        _ => return Err(Refusal::new("its level is missing")),
    };
    let fits = |offsets: &[Operand]| offsets.len() >= geometry.dimensions as usize && offsets.len() != 3;
    let offsets = match rest {
        [] => Box::default(),
        [Operand::Vector(offsets)] if geometry.cube || !fits(offsets) => {
            return Err(Refusal::new("its offsets do not fit the geometry"));
        }
        [Operand::Vector(offsets)] => offsets[..geometry.dimensions as usize]
            .iter()
            .map(|offset| d.source(offset, ScalarType::S32))
            .collect::<Result<_, _>>()?,
        _ => return Err(Refusal::new(DEPTH)),
    };
    let (target, resident) = match target {
        Operand::Pair(pair) => (&pair[0], d.target(&pair[1], ScalarType::Pred)?),
        other => (other, NONE),
    };
    let targets = list(target);
    if targets.len() != count {
        return Err(Refusal(format!("it gives {count} results")));
    }
    let targets =
        targets.iter().map(|t| d.target(t, part_of_vector(register, t))).collect::<Result<_, _>>()?;
    Ok(OpKind::extension(TextureFetch {
        handle,
        geometry,
        integer,
        layer,
        coordinates,
        offsets,
        level,
        gather,
        targets,
        result,
        resident,
    }))
}

fn query(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let m = &mut f.modifiers;
    let at_level = m.take("level");
    let question = m.take_any(&[
        ("width", Question::Width),
        ("height", Question::Height),
        ("depth", Question::Depth),
        ("channel_data_type", Question::DataType),
        ("channel_order", Question::Order),
        ("normalized_coords", Question::Normalized),
        ("array_size", Question::ArraySize),
        ("num_mipmap_levels", Question::Levels),
        ("num_samples", Question::Samples),
        ("memory_layout", Question::Layout),
    ]);
    let of_sampling = |word: &str| (word == "filter_mode" || word.starts_with("addr_mode_")).then_some(());
    if question.is_none() && m.take_map(of_sampling).is_some() {
        return Err(Refusal::new(
            "the virtual GPU does not know which numbers stand for a texture's modes; the host that made it knows the modes: pass them to the kernel",
        ));
    }
    let question = question.ok_or_else(|| Refusal::new("this property is not supported"))?;
    if !m.take("b32") {
        return Err(Refusal::new("its type is `.b32`"));
    }
    let [target, Operand::Address(place), rest @ ..] = f.operands else {
        return Err(Refusal::new("it takes a target and an image in brackets"));
    };
    let handle = image(d, place)?;
    let level = match (at_level, rest) {
        (false, []) => NONE,
        (true, [level]) => d.source(level, ScalarType::U32)?,
        _ => return Err(Refusal::new("its operands do not fit")),
    };
    let target = d.real_target(target, ScalarType::B32)?;
    let surface = f.name == "suq";
    Ok(OpKind::extension(Query { handle, surface, question, level, target }))
}

/// `istypep.texref p, a`
fn is_type(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let kinds = [("texref", Opaque::Texture), ("surfref", Opaque::Surface), ("samplerref", Opaque::Sampler)];
    let kind = f.modifiers.take_any(&kinds);
    let kind = kind.ok_or_else(|| Refusal::new("it asks for .texref, .surfref or .samplerref"))?;
    let [target, handle] = f.operands()?;
    let handle = d.source(handle, ScalarType::U64)?;
    let target = d.real_target(target, ScalarType::Pred)?;
    Ok(OpKind::extension(IsType { handle, kind, target }))
}

fn surface(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let m = &mut f.modifiers;
    let by_element = match (m.take("b"), m.take("p")) {
        (true, false) => false,
        (false, true) if f.name != "suld" => true,
        _ => return Err(Refusal::new("it is `.b`, or `.p` of `sust` and `sured`")),
    };
    let operation = if f.name == "sured" {
        let known =
            m.take_any(&[("add", "add"), ("min", "min"), ("max", "max"), ("and", "and"), ("or", "or")]);
        Some(known.ok_or_else(|| Refusal::new("it names no operation"))?)
    } else {
        None
    };
    let geometry = geometry(m)?;
    if geometry.cube {
        return Err(Refusal::new("surfaces of cubes are named by layers"));
    }
    m.cache_hints();
    let count = m.take_any(&[("v2", 2), ("v4", 4)]).unwrap_or(1);
    let ty = m.ty()?;
    let outside = m
        .take_any(&[("trap", Outside::Trap), ("clamp", Outside::Clamp), ("zero", Outside::Zero)])
        .unwrap_or(Outside::Trap);
    use ScalarType::*;
    let (width, register) = match ty {
        B8 | U8 | S8 => (1, B16),
        B16 | U16 | S16 => (2, B16),
        B32 | U32 | S32 | F32 => (4, B32),
        B64 | U64 | S64 => (8, B64),
        other => return Err(unsupported_type(other)),
    };
    // What is added and compared is of the instruction's type.
    let register = if f.name == "sured" { ty } else { register };
    let (action, place_operand, data) = match (f.name, f.operands) {
        ("suld", [data, place]) => (SurfaceAction::Load, place, data),
        ("sust", [place, data]) if by_element => (SurfaceAction::StoreFormatted, place, data),
        ("sust", [place, data]) => (SurfaceAction::Store, place, data),
        ("sured", [place, data]) => {
            let reduction = match (operation, ty) {
                (Some("add"), U32 | S32 | U64 | S64) => SurfaceReduction::Add,
                (Some("min"), U32 | U64) => SurfaceReduction::MinUnsigned,
                (Some("max"), U32 | U64) => SurfaceReduction::MaxUnsigned,
                (Some("min"), S32 | S64) => SurfaceReduction::MinSigned,
                (Some("max"), S32 | S64) => SurfaceReduction::MaxSigned,
                (Some("and"), B32 | B64) => SurfaceReduction::And,
                (Some("or"), B32 | B64) => SurfaceReduction::Or,
                // The surface's own type decides, which is unsigned here.
                (Some("add"), B32 | B64) => SurfaceReduction::Add,
                (Some("min"), B32 | B64) => SurfaceReduction::MinUnsigned,
                (Some("max"), B32 | B64) => SurfaceReduction::MaxUnsigned,
                _ => return Err(unsupported_type(ty)),
            };
            (SurfaceAction::Reduce(reduction), place, data)
        }
        _ => return Err(Refusal::new("its operands do not fit")),
    };
    if matches!(action, SurfaceAction::StoreFormatted) && width != 4 {
        return Err(unsupported_type(ty));
    }
    let (handle, layer, coordinates) = place(d, place_operand, geometry, S32)?;
    let data = list(data);
    if data.len() != count {
        return Err(Refusal(format!("it takes {count} values")));
    }
    let load = action == SurfaceAction::Load;
    let data = data
        .iter()
        .map(|operand| if load { d.target(operand, register) } else { d.source(operand, register) })
        .collect::<Result<_, _>>()?;
    Ok(OpKind::extension(SurfaceAccess {
        handle,
        layer,
        coordinates,
        action,
        outside,
        width,
        by_element,
        data,
    }))
}
