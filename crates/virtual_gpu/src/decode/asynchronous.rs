//! `cp.async` and its bulk forms, `mbarrier`, `barrier.cluster`, `st.async`, `red.async`.

use ptx::{Operand, ScalarType};

use super::Refusal;
use super::data;
use super::function::{Decoder, Symbol, rows_of};
use super::modifiers::{Form, Modifiers};
use crate::form::access::{AddressOperand, SpaceOperand};
use crate::form::asynchronous::BarrierCluster;
use crate::form::asynchronous::{Action, PendingCount, Phase, Test, Update};
use crate::form::asynchronous::{ArriveOn, CommitGroup, CopyAsync, Source, WaitGroups};
use crate::form::asynchronous::{
    BulkGroup, Landing, Linear, LinearTarget, ReductionKind, StoreAsync, TensorBox, TensorLoad, TensorStore,
};
use crate::form::asynchronous::{Field, Publish, Replace};
use crate::form::op::OpKind;
use crate::form::registers::{NONE, Slot};
use crate::observer::{MemorySpace, Order};

pub(super) fn address(d: &mut Decoder<'_>, operand: &Operand) -> Result<AddressOperand, Refusal> {
    match operand {
        Operand::Address(address) => Ok(d.address(address)?.0),
        other => Err(Refusal(format!("`{other}` is not an address"))),
    }
}

/// The space that an instruction on shared memory names, or none.
fn shared_space(modifiers: &mut Modifiers<'_>) -> SpaceOperand {
    match modifiers.take_any(&[("shared", ()), ("shared::cta", ()), ("shared::cluster", ())]) {
        Some(()) => SpaceOperand::In(MemorySpace::Shared),
        None => SpaceOperand::Generic,
    }
}

pub(super) fn mbarrier(d: &mut Decoder<'_>, form: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let m = &mut form.modifiers;
    // Order and scope: memory is sequentially consistent here.
    m.order();
    m.scope();
    let space = shared_space(m);
    if !m.take("b64") {
        return Err(Refusal::new("its type is `.b64`"));
    }
    let none = |action| Update { action, space, address: AddressOperand::NOWHERE, state: NONE, count: NONE };
    let made = if m.take("init") {
        let [place, count] = form.operands()?;
        let most = 0xfffff;
        if let Operand::Constant(count) = count
            && count.integer().is_none_or(|count| !(1..=most).contains(&count))
        {
            return Err(Refusal(format!("it counts from 1 to {most} arrivals")));
        }
        let (address, space) = barrier(d, place, space)?;
        Update { address, space, count: d.number(count, ScalarType::U32)?, ..none(Action::Init) }
    } else if m.take("inval") {
        let [place] = form.operands()?;
        let (address, space) = barrier(d, place, space)?;
        Update { address, space, ..none(Action::Invalidate) }
    } else if m.take("pending_count") {
        let [target, state] = form.operands()?;
        let state = d.number(state, ScalarType::B64)?;
        return Ok(OpKind::extension(PendingCount {
            state,
            target: d.real_target(target, ScalarType::B32)?,
        }));
    } else if m.take("test_wait") || m.take("try_wait") {
        return test(d, form, space);
    } else if m.take("complete_tx") {
        bytes(d, form, none(Action::Complete))?
    } else {
        let drop = m.take("arrive_drop");
        let arrive = m.take("arrive") || drop;
        let expect = m.take("expect_tx");
        m.take("noComplete");
        match (arrive, drop, expect) {
            (false, _, true) => bytes(d, form, none(Action::Expect))?,
            (true, false, false) => arrival(d, form, none(Action::Arrive))?,
            (true, true, false) => arrival(d, form, none(Action::ArriveDrop))?,
            (true, false, true) => arrival(d, form, none(Action::ArriveExpect))?,
            (true, true, true) => arrival(d, form, none(Action::ArriveDropExpect))?,
            (false, _, false) => return Err(Refusal::new("there is no such form")),
        }
    };
    Ok(OpKind::extension(made))
}

/// Where an `mbarrier` is.
fn barrier(
    d: &mut Decoder<'_>,
    place: &Operand,
    space: SpaceOperand,
) -> Result<(AddressOperand, SpaceOperand), Refusal> {
    let (address, space) = data::bracketed(d, place, space)?;
    data::wide_enough(address, space)?;
    Ok((address, space))
}

/// `[place], bytes`
fn bytes(d: &mut Decoder<'_>, form: &Form<'_>, update: Update) -> Result<Update, Refusal> {
    let [place, count] = form.operands()?;
    let (address, space) = barrier(d, place, update.space)?;
    Ok(Update { address, space, count: d.number(count, ScalarType::U32)?, ..update })
}

/// `state, [place]{, count}`, or without a state.
fn arrival(d: &mut Decoder<'_>, form: &Form<'_>, update: Update) -> Result<Update, Refusal> {
    let (state, rest) = match form.operands {
        rest @ [Operand::Address(_), ..] => (NONE, rest),
        [state, rest @ ..] => (d.target(state, ScalarType::B64)?, rest),
        [] => return Err(Refusal::new("it takes an address")),
    };
    let (place, count) = match rest {
        [place] => (place, NONE),
        [place, count] => (place, d.number(count, ScalarType::U32)?),
        _ => return Err(Refusal::new("it takes a state, an address and a count")),
    };
    let takes_bytes = matches!(update.action, Action::ArriveExpect | Action::ArriveDropExpect);
    if takes_bytes && count == NONE {
        return Err(Refusal::new("it takes the bytes to expect"));
    }
    let (address, space) = barrier(d, place, update.space)?;
    Ok(Update { address, space, state, count, ..update })
}

/// `complete, [place], state or parity{, time}`
fn test(d: &mut Decoder<'_>, form: &mut Form<'_>, space: SpaceOperand) -> Result<OpKind, Refusal> {
    let parity = form.modifiers.take("parity");
    let [target, place, phase, ..] = form.operands else {
        return Err(Refusal::new("it takes a predicate, an address and a phase"));
    };
    let (address, space) = barrier(d, place, space)?;
    let phase = match parity {
        true => Phase::Parity(d.number(phase, ScalarType::U32)?),
        false => Phase::State(d.number(phase, ScalarType::B64)?),
    };
    if let Some(time) = form.operands.get(3) {
        d.number(time, ScalarType::U32)?;
    }
    let target = d.real_target(target, ScalarType::Pred)?;
    Ok(OpKind::extension(Test { space, address, phase, target }))
}

/// `cp.…`
pub(super) fn copy(d: &mut Decoder<'_>, form: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let m = &mut form.modifiers;
    let reduce = m.take("reduce");
    if !m.take("async") {
        return Err(Refusal::new("only asynchronous copies exist"));
    }
    if m.take("bulk") {
        return bulk(d, form, reduce);
    }
    if m.take("commit_group") {
        form.operands::<0>()?;
        return Ok(OpKind::extension(CommitGroup));
    }
    if m.take("wait_all") {
        form.operands::<0>()?;
        return Ok(OpKind::extension(WaitGroups { pending: None }));
    }
    if m.take("wait_group") {
        return Ok(OpKind::extension(WaitGroups { pending: Some(group_count(form)?) }));
    }
    if m.take("mbarrier") {
        let one_more = !m.take("noinc");
        let known = m.take("arrive") && m.take("b64");
        let space = shared_space(m);
        let [place] = form.operands()?;
        if !known {
            return Err(Refusal::new("there is no such form"));
        }
        let (address, space) = data::bracketed(d, place, space)?;
        return Ok(OpKind::extension(ArriveOn { space, address, one_more }));
    }
    m.cache_hints();
    let spaces = (m.take("shared") || m.take("shared::cta")) && m.take("global");
    let [target, source, size, rest @ ..] = form.operands else {
        return Err(Refusal::new("it takes a target, a source and a size"));
    };
    let bytes = match size {
        Operand::Constant(constant) => constant.integer(),
        _ => None,
    };
    let Some(bytes @ (4 | 8 | 16)) = bytes.filter(|_| spaces) else {
        return Err(Refusal::new("it copies 4, 8 or 16 bytes from global to shared memory"));
    };
    let read = match rest.first() {
        None => Source::Whole,
        Some(Operand::Name(name)) if d.register(name).is_ok_and(|(_, ty)| ty == ScalarType::Pred) => {
            Source::Ignore(d.predicate(name)?, false)
        }
        Some(negated @ Operand::Not(_)) => {
            let (slot, negated) = d.predicate_source(negated)?;
            Source::Ignore(slot, negated)
        }
        // A policy of caches stands in the same place, with 64 bits.
        Some(Operand::Name(name)) if d.register(name).is_ok_and(|(_, ty)| rows_of(ty) == 2) => Source::Whole,
        Some(size) => Source::Size(d.number(size, ScalarType::U32)?),
    };
    let (target, _) = data::bracketed(d, target, SpaceOperand::In(MemorySpace::Shared))?;
    let (source, _) = data::bracketed(d, source, SpaceOperand::In(MemorySpace::Global))?;
    Ok(OpKind::extension(CopyAsync { target, source, bytes: bytes as u32, read }))
}

/// The one operand of a wait for groups.
pub(super) fn group_count(form: &Form<'_>) -> Result<u32, Refusal> {
    match form.operands() {
        Ok([Operand::Constant(count)]) => {
            let count = count.integer().and_then(|count| u32::try_from(count).ok());
            count.ok_or_else(|| Refusal::new("it takes a number of groups"))
        }
        _ => Err(Refusal::new("it takes a number of groups")),
    }
}

/// `cp.async.bulk`, `cp.reduce.async.bulk`
fn bulk(d: &mut Decoder<'_>, form: &mut Form<'_>, reduce: bool) -> Result<OpKind, Refusal> {
    let m = &mut form.modifiers;
    if m.take("commit_group") {
        form.operands::<0>()?;
        return Ok(OpKind::extension(BulkGroup::Commit));
    }
    if m.take("wait_group") {
        let written = !m.take("read");
        return Ok(OpKind::extension(BulkGroup::Wait { pending: group_count(form)?, written }));
    }
    if m.take("prefetch") {
        m.take_all();
        return Ok(OpKind::Nop);
    }
    m.cache_hints();
    let tensor = m.take("tensor");
    let dims = m.take_any(&[("1d", 1), ("2d", 2), ("3d", 3), ("4d", 4), ("5d", 5)]);
    m.take("tile");
    let im2col = m.take("im2col") || m.take("im2col_no_offs");
    let operation = if reduce { m.take_map(ReductionKind::from_word) } else { None };
    let multicast = m.take("multicast::cluster");
    let on_barrier = m.take("mbarrier::complete_tx::bytes");
    let in_group = m.take("bulk_group");
    let masked = m.take("cp_mask");
    if reduce && operation.is_none() {
        return Err(Refusal::new("it names no reduction"));
    }
    if tensor {
        let Some(dims) = dims else { return Err(Refusal::new("it names no number of dimensions")) };
        return tensor_copy(d, form, (dims, im2col), multicast, on_barrier, in_group, operation);
    }
    let reduction = match operation {
        None => None,
        Some(operation) => {
            form.modifiers.take("noftz");
            let types = ["f16", "bf16", "f32", "f64", "u32", "s32", "b32", "u64", "s64", "b64"];
            let ty = form.modifiers.take_map(|word| types.into_iter().find(|ty| *ty == word));
            let reduction = ty.and_then(|ty| operation.of(ty));
            Some(reduction.ok_or_else(|| Refusal::new("there is no such reduction of this type"))?)
        }
    };
    linear_copy(d, form, multicast, on_barrier, in_group, masked, reduction)
}

/// From shared memory to global memory, or to shared memory.
fn linear_copy(
    d: &mut Decoder<'_>,
    form: &mut Form<'_>,
    multicast: bool,
    on_barrier: bool,
    in_group: bool,
    masked: bool,
    reduction: Option<crate::form::asynchronous::Reduction>,
) -> Result<OpKind, Refusal> {
    let words = form.modifiers.take_all();
    let [target, source, size, rest @ ..] = form.operands else {
        return Err(Refusal::new("it takes a target, a source and a size"));
    };
    let bytes = d.number(size, ScalarType::U32)?;
    let source = address(d, source)?;
    let target = address(d, target)?;
    let to = match (words.as_slice(), on_barrier, in_group) {
        (["shared::cluster" | "shared::cta", from @ ("global" | "shared::cta")], true, false) => {
            let from = if *from == "global" { MemorySpace::Global } else { MemorySpace::Shared };
            let [barrier, rest @ ..] = rest else { return Err(Refusal::new("it takes an mbarrier")) };
            let blocks = mask(d, rest, multicast)?;
            LinearTarget::Shared { landing: Landing { target, barrier: address(d, barrier)?, blocks }, from }
        }
        (["global", "shared::cta"], false, true) => {
            // The mask of bytes is the last operand, behind a policy.
            let mask = match (masked, rest) {
                (true, [.., mask]) => Some(d.number(mask, ScalarType::B16)?),
                _ => None,
            };
            LinearTarget::Global { target, mask, multimem: false }
        }
        _ => return Err(Refusal::new("there is no such direction of a bulk copy")),
    };
    Ok(OpKind::extension(Linear { to, source, bytes, reduction }))
}

/// The mask of blocks of a multicast, if it is one.
fn mask(d: &mut Decoder<'_>, rest: &[Operand], multicast: bool) -> Result<Option<Slot>, Refusal> {
    match (multicast, rest) {
        (false, _) => Ok(None),
        (true, [mask, ..]) => d.number(mask, ScalarType::B16).map(Some),
        (true, []) => Err(Refusal::new("it takes the blocks to send to")),
    }
}

fn tensor_copy(
    d: &mut Decoder<'_>,
    form: &mut Form<'_>,
    (dims, im2col): (usize, bool),
    multicast: bool,
    on_barrier: bool,
    in_group: bool,
    reduction: Option<ReductionKind>,
) -> Result<OpKind, Refusal> {
    let words = form.modifiers.take_all();
    match (words.as_slice(), on_barrier, in_group, form.operands) {
        (
            ["shared::cluster" | "shared::cta", "global"],
            true,
            false,
            [target, source, barrier, rest @ ..],
        ) => {
            let mut source = tensor_box(d, source, dims)?;
            let mut rest = rest;
            if im2col {
                let [Operand::Vector(offsets), after @ ..] = rest else {
                    return Err(Refusal::new("it takes the offsets of the pixels"));
                };
                if dims < 3 || offsets.len() != dims - 2 {
                    return Err(Refusal(format!("it takes {} offsets", dims.saturating_sub(2))));
                }
                let offsets =
                    offsets.iter().map(|o| d.source(o, ScalarType::B16)).collect::<Result<_, _>>()?;
                (source.im2col, rest) = (Some(offsets), after);
            }
            let (target, barrier) = (address(d, target)?, address(d, barrier)?);
            let blocks = mask(d, rest, multicast)?;
            Ok(OpKind::extension(TensorLoad { source, landing: Landing { target, barrier, blocks } }))
        }
        (["global", "shared::cta"], false, true, [target, source, ..]) => {
            let mut target = tensor_box(d, target, dims)?;
            target.im2col = im2col.then(Box::default);
            Ok(OpKind::extension(TensorStore { target, source: address(d, source)?, reduction }))
        }
        _ => Err(Refusal::new(
            "tensor copies go between global and shared memory, by tiles or pixels (`.im2col`)",
        )),
    }
}

/// `[map, {x, y}]`
fn tensor_box(d: &mut Decoder<'_>, operand: &Operand, dims: usize) -> Result<TensorBox, Refusal> {
    let Operand::Indexed(map, rest) = operand else {
        return Err(Refusal(format!("`{operand}` is not a tensor map with coordinates")));
    };
    let coordinates = match &rest[..] {
        [Operand::Vector(coordinates)] => &coordinates[..],
        other => other,
    };
    if coordinates.len() != dims {
        return Err(Refusal(format!("`{operand}` has {} coordinates, not {dims}", coordinates.len())));
    }
    let (map, symbol) = d.address(map)?;
    let space = match symbol {
        Some(Symbol::KernelParam { .. }) => SpaceOperand::In(MemorySpace::Param),
        Some(Symbol::Device(_)) => SpaceOperand::In(MemorySpace::Global),
        _ => SpaceOperand::Generic,
    };
    let coordinates = coordinates.iter().map(|c| d.source(c, ScalarType::S32)).collect::<Result<_, _>>()?;
    Ok(TensorBox { space, map, coordinates, im2col: None })
}

/// `tensormap.replace`, `tensormap.cp_fenceproxy`
pub(super) fn tensormap(d: &mut Decoder<'_>, form: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let m = &mut form.modifiers;
    if m.take("cp_fenceproxy") {
        m.take_all();
        let [target, source, _] = form.operands()?;
        return Ok(OpKind::extension(Publish { target: address(d, target)?, source: address(d, source)? }));
    }
    let known = m.take("replace") && m.take("tile") && m.take("b1024");
    let space = match m.take_any(&[("global", MemorySpace::Global), ("shared::cta", MemorySpace::Shared)]) {
        Some(space) => SpaceOperand::In(space),
        None => SpaceOperand::Generic,
    };
    let (map, number, value) = match form.operands {
        [map, value] => (map, 0, value),
        [map, Operand::Constant(number), value] => {
            (map, number.integer().unwrap_or(u64::MAX) as usize, value)
        }
        _ => return Err(Refusal::new("it takes a map, perhaps the number of a dimension, and a value")),
    };
    let field = form.modifiers.take_any(&[
        ("global_address", Field::Address),
        ("rank", Field::Rank),
        ("box_dim", Field::BoxDim(number)),
        ("global_dim", Field::Dim(number)),
        ("global_stride", Field::Stride(number)),
        ("element_stride", Field::ElementStride(number)),
        ("elemtype", Field::ElementType),
        ("interleave_layout", Field::Interleave),
        ("swizzle_mode", Field::Swizzle),
        ("fill_mode", Field::Fill),
    ]);
    let Some(field) = field.filter(|_| known) else { return Err(Refusal::new("there is no such field")) };
    form.modifiers.take_any(&[("b32", ()), ("b64", ())]);
    let value = d.source(value, if field.is_wide() { ScalarType::B64 } else { ScalarType::B32 })?;
    Ok(OpKind::extension(Replace { space, map: address(d, map)?, field, value }))
}

/// `st.async`, `red.async`
pub(super) fn store(d: &mut Decoder<'_>, form: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let m = &mut form.modifiers;
    let known = m.take("async") && m.take("mbarrier::complete_tx::bytes");
    // Without a space the address leads there all the same.
    m.take("shared::cluster");
    m.order();
    m.scope();
    let count = m.take_any(&[("v2", 2), ("v4", 4)]).unwrap_or(1);
    let operation = if form.name == "red" { m.take_map(ReductionKind::from_word) } else { None };
    let ty = m.ty()?;
    let reduction = operation.map(|operation| {
        operation.of(ty.as_str()).ok_or_else(|| Refusal::new("there is no such reduction of this type"))
    });
    let width = ty.size() as u32;
    let [target, value, barrier] = form.operands()?;
    let items = match value {
        Operand::Vector(items) => &items[..],
        other => std::slice::from_ref(other),
    };
    let fits =
        known && matches!(width, 4 | 8) && items.len() == count && (form.name == "st") == reduction.is_none();
    if !fits {
        return Err(Refusal::new("there is no such form"));
    }
    let data = items.iter().map(|item| d.source(item, ty)).collect::<Result<_, _>>()?;
    let landing = Landing { target: address(d, target)?, barrier: address(d, barrier)?, blocks: None };
    Ok(OpKind::extension(StoreAsync { landing, data, width, reduction: reduction.transpose()? }))
}

/// `barrier.cluster.arrive`, `barrier.cluster.wait`
pub(super) fn barrier_cluster(form: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let m = &mut form.modifiers;
    let known = m.take("cluster");
    let wait = m.take("wait");
    let arrive = m.take("arrive");
    let releases = m.order() != Some(Order::Relaxed);
    m.take("aligned");
    form.operands::<0>()?;
    if !known || wait == arrive {
        return Err(Refusal::new("there is no such form"));
    }
    Ok(OpKind::extension(BarrierCluster { wait, releases }))
}
