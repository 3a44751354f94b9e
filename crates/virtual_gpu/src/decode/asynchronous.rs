//! `cp.async` and its bulk forms, `mbarrier`, `barrier.cluster`, `st.async`, `red.async`.

use ptx::{Constant, Operand, ScalarType};

use super::Refusal;
use super::data;
use super::function::Decoder;
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

/// A place in shared memory, by an address of 32 or 64 bits.
pub(super) fn in_shared(d: &mut Decoder<'_>, operand: &Operand) -> Result<AddressOperand, Refusal> {
    Ok(data::bracketed(d, operand, SpaceOperand::In(MemorySpace::Shared))?.0)
}

/// The same in global memory.
fn in_global(d: &mut Decoder<'_>, operand: &Operand) -> Result<AddressOperand, Refusal> {
    Ok(data::bracketed(d, operand, SpaceOperand::In(MemorySpace::Global))?.0)
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
    let anywhere = m.has(|word| word == "shared::cluster");
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
        let state = d.number(state, ScalarType::U64)?;
        return Ok(OpKind::extension(PendingCount {
            state,
            target: d.real_target(target, ScalarType::U32)?,
        }));
    } else if m.has(|word| matches!(word, "test_wait" | "try_wait")) {
        return test(d, form, space);
    } else if m.take("complete_tx") {
        bytes(d, form, none(Action::Complete))?
    } else {
        let drop = m.take("arrive_drop");
        let arrive = m.take("arrive") || drop;
        let expect = m.take("expect_tx");
        let counted = m.take("noComplete");
        if counted && form.operands.len() < 3 {
            return Err(Refusal::new("it takes the number of arrivals"));
        }
        if anywhere && arrive && !matches!(form.operands, [Operand::Sink, ..]) {
            return Err(Refusal::new("a barrier of another block gives no state: `_`"));
        }
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

/// `state, [place]{, count}`
fn arrival(d: &mut Decoder<'_>, form: &Form<'_>, update: Update) -> Result<Update, Refusal> {
    let (state, rest) = match form.operands {
        [Operand::Address(_), ..] | [] => {
            return Err(Refusal::new("it gives a state, to a register or to `_`, and takes an address"));
        }
        [state, rest @ ..] => (d.target(state, ScalarType::U64)?, rest),
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
    let timed = form.modifiers.take("try_wait");
    form.modifiers.take("test_wait");
    let [target, place, phase, rest @ ..] = form.operands else {
        return Err(Refusal::new("it takes a predicate, an address and a phase"));
    };
    if rest.len() > usize::from(timed) {
        return Err(Refusal::new("only `.try_wait` takes a time, as its last operand"));
    }
    let (address, space) = barrier(d, place, space)?;
    let phase = match parity {
        true => Phase::Parity(d.number(phase, ScalarType::U32)?),
        false => Phase::State(d.number(phase, ScalarType::U64)?),
    };
    if let Some(time) = rest.first() {
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
    let whole_line = m.has(|word| word == "cg");
    let hinted = m.cache_hints();
    let space = |word: &str| matches!(word, "shared" | "shared::cta" | "global").then_some(word == "global");
    let spaces = m.take_map(space) == Some(false) && m.take_map(space) == Some(true);
    let [target, source, size, rest @ ..] = form.operands else {
        return Err(Refusal::new("it takes a target, a source and a size"));
    };
    let rest = match (hinted, rest) {
        (true, [rest @ .., policy]) => {
            d.number(policy, ScalarType::U64)?;
            rest
        }
        (true, []) => return Err(Refusal::new("`.L2::cache_hint` takes the policy as a last operand")),
        (false, rest) => rest,
    };
    let bytes = match size {
        Operand::Constant(constant) => constant.integer(),
        _ => None,
    };
    let Some(bytes @ (4 | 8 | 16)) = bytes.filter(|_| spaces) else {
        return Err(Refusal::new("it copies 4, 8 or 16 bytes from global to shared memory"));
    };
    if whole_line && bytes != 16 {
        return Err(Refusal::new("past the first cache it copies 16 bytes"));
    }
    let read = match rest {
        [] => Source::Whole,
        [Operand::Name(name)] if d.register(name).is_ok_and(|(_, ty)| ty == ScalarType::Pred) => {
            Source::Ignore(d.predicate(name)?, false)
        }
        [negated @ Operand::Not(_)] => {
            let (slot, negated) = d.predicate_source(negated)?;
            Source::Ignore(slot, negated)
        }
        [Operand::Constant(size)] if size.integer().is_some_and(|size| size > bytes) => {
            return Err(Refusal(format!("it reads at most {bytes} bytes")));
        }
        [size] => Source::Size(d.number(size, ScalarType::U32)?),
        _ => return Err(Refusal::new("it takes one thing that says what is read")),
    };
    let (target, source) = (in_shared(d, target)?, in_global(d, source)?);
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
        return prefetch(d, form);
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

/// `[place], bytes` or `[map, {x, y}]`: what a cache is to hold.
fn prefetch(d: &mut Decoder<'_>, form: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let m = &mut form.modifiers;
    let hinted = m.has(|word| word == "L2::cache_hint");
    let tensor = m.take("tensor");
    let dims = m.take_any(&[("1d", 1), ("2d", 2), ("3d", 3), ("4d", 4), ("5d", 5)]);
    m.take_all();
    let operands = match (hinted, form.operands) {
        (true, [rest @ .., policy]) => {
            d.number(policy, ScalarType::U64)?;
            rest
        }
        (_, all) => all,
    };
    match (tensor, operands) {
        // The offsets of pixels may follow.
        (true, [place, ..]) => {
            tensor_box(d, place, dims.unwrap_or_default())?;
        }
        (false, [place, bytes]) => {
            in_global(d, place)?;
            d.number(bytes, ScalarType::U32)?;
        }
        _ => return Err(Refusal::new("its operands do not fit")),
    }
    Ok(OpKind::Nop)
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
    let whole = |size: &Constant| size.integer().is_some_and(|size| size % 16 == 0);
    if matches!(size, Operand::Constant(size) if !whole(size)) {
        return Err(Refusal::new("it copies a multiple of 16 bytes"));
    }
    let bytes = d.number(size, ScalarType::U32)?;
    let source = match words.as_slice() {
        [.., "global"] => in_global(d, source)?,
        _ => in_shared(d, source)?,
    };
    let target = match words.as_slice() {
        ["global", ..] => in_global(d, target)?,
        _ => in_shared(d, target)?,
    };
    let to = match (words.as_slice(), on_barrier, in_group) {
        (["shared::cluster" | "shared::cta", from @ ("global" | "shared::cta")], true, false) => {
            let from = if *from == "global" { MemorySpace::Global } else { MemorySpace::Shared };
            let [barrier, rest @ ..] = rest else { return Err(Refusal::new("it takes an mbarrier")) };
            let blocks = mask(d, rest, multicast)?;
            LinearTarget::Shared {
                landing: Landing { target, barrier: in_shared(d, barrier)?, blocks },
                from,
            }
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
            let (target, barrier) = (in_shared(d, target)?, in_shared(d, barrier)?);
            let blocks = mask(d, rest, multicast)?;
            Ok(OpKind::extension(TensorLoad { source, landing: Landing { target, barrier, blocks } }))
        }
        (["global", "shared::cta"], false, true, [target, source, ..]) => {
            let mut target = tensor_box(d, target, dims)?;
            target.im2col = im2col.then(Box::default);
            Ok(OpKind::extension(TensorStore { target, source: in_shared(d, source)?, reduction }))
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
    let (map, space) = data::bracketed(d, &Operand::Address(map.clone()), SpaceOperand::Generic)?;
    if let SpaceOperand::In(other) = space
        && other != MemorySpace::Global
    {
        return Err(Refusal(format!("`{operand}`: the map's variable is not in global memory")));
    }
    let coordinates = coordinates.iter().map(|c| d.source(c, ScalarType::S32)).collect::<Result<_, _>>()?;
    Ok(TensorBox { space, map, coordinates, im2col: None })
}

/// `tensormap.replace`, `tensormap.cp_fenceproxy`
pub(super) fn tensormap(d: &mut Decoder<'_>, form: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let m = &mut form.modifiers;
    if m.take("cp_fenceproxy") {
        m.take_all();
        let [target, source, bytes] = form.operands()?;
        super::hint::whole_line(bytes)?;
        let (target, source) = (in_global(d, target)?, in_shared(d, source)?);
        return Ok(OpKind::extension(Publish { target, source }));
    }
    let known = m.take("replace") && m.take("tile") && m.take("b1024");
    let space = match m.take_any(&[("global", MemorySpace::Global), ("shared::cta", MemorySpace::Shared)]) {
        Some(space) => SpaceOperand::In(space),
        None => SpaceOperand::Generic,
    };
    let (map, dimension, value) = match form.operands {
        [map, value] => (map, None, value),
        [map, Operand::Constant(number), value] => (map, Some(number.integer().unwrap_or(u64::MAX)), value),
        _ => return Err(Refusal::new("it takes a map, perhaps the number of a dimension, and a value")),
    };
    if dimension.is_some_and(|dimension| dimension > 4) {
        return Err(Refusal::new("its dimensions are 0 to 4"));
    }
    let number = dimension.unwrap_or_default() as usize;
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
    let of_dimension =
        matches!(field, Field::BoxDim(_) | Field::Dim(_) | Field::Stride(_) | Field::ElementStride(_));
    if of_dimension != dimension.is_some() {
        return Err(Refusal::new("the number of a dimension goes with what each dimension has"));
    }
    let is_choice = matches!(field, Field::ElementType | Field::Interleave | Field::Swizzle | Field::Fill);
    if is_choice && !matches!(value, Operand::Constant(_)) {
        return Err(Refusal::new("its value is a constant"));
    }
    form.modifiers.take_any(&[("b32", ()), ("b64", ())]);
    let value = d.source(value, if field.is_wide() { ScalarType::B64 } else { ScalarType::B32 })?;
    let (map, space) = data::bracketed(d, map, space)?;
    Ok(OpKind::extension(Replace { space, map, field, value }))
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
    let landing = Landing { target: in_shared(d, target)?, barrier: in_shared(d, barrier)?, blocks: None };
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
