//! Loads, stores and atomics as IR.
//!
//! An access has up to three ways. Where all lanes of the warp run it and the lanes of each half, 16, are expected to go to one
//! place, or to places side by side in the order of the lanes, that is tested, and done by whole vectors. All else is tried by a
//! function that takes each lane where it goes ([`Scattered`]). Both stay inside the block's shared memory, or inside the
//! allocation that was found there last time. What is left is asked of the interpreter: it finds other allocations, and faults.
//!
//! Accesses of a block that go by the same value of a register, as those of an unrolled loop do, are a [`Family`]: it is
//! tested once for all of them, from the first to the last byte that they reach.

use std::collections::HashMap;
use std::mem::offset_of;

use virtual_gpu::observer::{MemorySpace, Order};
use virtual_gpu::stretch::{
    AddressOperand, AtomicOp, Guard, Kind, MemoryOp, NONE, ParamOp, Site, Slot, SpaceOperand,
};

use crate::lanes::{Form, Trust};
use crate::scattered::Scattered;
use crate::values::{LONGS, Misfit, WORDS, Writer};

/// Lanes in a half.
const HALF: u32 = 16;

/// Accesses that are tested together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Family {
    /// The first of them.
    first: u32,
    /// The lowest offset, and the distance to the highest.
    low: i64,
    span: u64,
    /// The slot that remembers an allocation; `None` for shared memory.
    site: Option<usize>,
}

/// The families of a block's accesses, by program counter.
pub type Families = HashMap<u32, Family>;

/// What was tested of a family.
#[derive(Debug, Clone)]
pub struct Tested {
    all: String,
    /// Where the first lane of each half finds the least offset on the host.
    places: [String; 2],
}

/// How the lanes of a half go to memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// To one place.
    One,
    /// Each by an access's bytes further than the one before.
    Row,
}

/// Where an access may go: the first address, how many bytes follow, and their host address.
struct Span {
    start: String,
    bytes: String,
    host: String,
}

/// What accesses of a family have in common: the register, whether they write, their bytes, their space, what is left of their
/// offsets by their bytes, and the guard.
type Alike = (Slot, bool, u32, SpaceOperand, i64, (Slot, u32));

/// Finds the families of the accesses from `start` to `end`.
pub fn families(w: &mut Writer<'_>, start: u32, end: u32) -> Families {
    let mut families = Families::new();
    // Accesses that have all of that in common, since the register was last written.
    let mut open: HashMap<Alike, Vec<(u32, i64)>> = HashMap::new();
    for pc in start..end {
        let step = w.function.step(pc);
        let access = match step.kind {
            Kind::Load(op) => Some((op, false)),
            Kind::Store(op) => Some((op, true)),
            _ => None,
        };
        if let Some((op, writes)) = access
            && is_reached(op)
        {
            let (bytes, offset) = (bytes(op), op.address.offset);
            let Guard { slot, invert } = step.guard;
            let rest = offset.rem_euclid(bytes.into());
            let key = (op.address.base, writes, bytes, op.space, rest, (slot, invert));
            let alike = open.entry(key).or_default();
            alike.push((pc, offset));
            let low = alike.iter().map(|access| access.1).min().unwrap_or(offset);
            let high = alike.iter().map(|access| access.1).max().unwrap_or(offset);
            let first = alike[0].0;
            let site = match (op.space, families.get(&first)) {
                (SpaceOperand::In(MemorySpace::Shared), _) => None,
                (_, Some(family)) => family.site,
                (_, None) => Some(w.new_site()),
            };
            let family = Family { first, low, span: high.wrapping_sub(low) as u64, site };
            families.extend(alike.iter().map(|&(pc, _)| (pc, family)));
        }
        open.retain(|key, _| step.writes.iter().all(|write| write.0 != key.0 && write.0 != key.5.0));
    }
    families
}

fn bytes(op: &MemoryOp) -> u32 {
    op.width * op.data.len() as u32
}

/// Whether the code has a way for it.
fn is_reached(op: &MemoryOp) -> bool {
    is_near(op.space) && op.order == Order::Weak && Scattered::access(op, false).is_some()
}

/// Whether a space is one whose memory the code can find.
fn is_near(space: SpaceOperand) -> bool {
    match space {
        SpaceOperand::Generic => true,
        SpaceOperand::In(space) => {
            matches!(space, MemorySpace::Shared | MemorySpace::Global | MemorySpace::Const)
        }
    }
}

/// `ld`
pub fn load(w: &mut Writer<'_>, op: &MemoryOp, pc: u32, family: Option<Family>) -> Result<(), Misfit> {
    let (Some(family), Some(scattered)) = (family, Scattered::access(op, false)) else {
        return w.perform(pc, None);
    };
    let register = scattered.register();
    // What the registers hold for the lanes that stay away must be there before the ways part.
    let mut before = Vec::new();
    for &slot in &op.data {
        before.push(if slot == NONE { "poison".to_owned() } else { w.current(slot)?.1 });
    }
    let addresses = addresses(w, op.address)?;
    let done = w.name("loaded");
    let mut found: Vec<(Vec<String>, String)> = Vec::new();
    if let Some((way, places, long)) = short(w, op, pc, &family, false)? {
        let mut values = Vec::new();
        for e in 0..op.data.len() as u32 {
            values.push(load_element(w, op, way, &places, e));
        }
        found.push((values, w.turn(&done)));
        w.label(&long);
    }
    let span = span(w, family.site, false);
    let result = w.call(&scattered, &addresses, &span_text(&span), &[]);
    let some = w.set(format_args!("extractvalue {} {result}, 0", scattered.result()));
    let (went, lost) = (w.name("went"), w.name("lost"));
    w.line(format_args!("br i1 {some}, label %{went}, label %{lost}, !prof !0"));
    w.label(&went);
    let mut values = Vec::new();
    for (e, before) in before.iter().enumerate() {
        let value = w.set(format_args!("extractvalue {} {result}, {}", scattered.result(), e + 1));
        values.push(match w.active.clone() {
            Some(active) => w.set(format_args!(
                "select <32 x i1> {}, {register} {value}, {register} {before}",
                active.lanes
            )),
            None => value,
        });
    }
    found.push((values, w.turn(&done)));
    w.label(&lost);
    let joined = w.aside(pc, family.site, |w| {
        let mut values = Vec::new();
        for &slot in &op.data {
            values.push(if slot == NONE { "poison".to_owned() } else { w.current(slot)?.1 });
        }
        found.push((values, w.turn(&done)));
        w.label(&done);
        let mut joined = Vec::new();
        for e in 0..op.data.len() {
            let ways: Vec<String> =
                found.iter().map(|(values, from)| format!("[ {}, %{from} ]", values[e])).collect();
            joined.push(w.set(format_args!("phi {register} {}", ways.join(", "))));
        }
        Ok(joined)
    })?;
    joined
        .into_iter()
        .zip(&op.data)
        .filter(|(_, slot)| **slot != NONE)
        .for_each(|(bits, &slot)| w.replace(slot, bits));
    Ok(())
}

/// `st`
pub fn store(w: &mut Writer<'_>, op: &MemoryOp, pc: u32, family: Option<Family>) -> Result<(), Misfit> {
    let (Some(family), Some(scattered)) = (family, Scattered::access(op, true)) else {
        return w.perform(pc, None);
    };
    let mut values = Vec::new();
    for &slot in &op.data {
        values.push(if op.rows == 1 { w.words(slot)? } else { w.longs(slot)? });
    }
    let addresses = addresses(w, op.address)?;
    let done = w.name("stored");
    if let Some((way, places, long)) = short(w, op, pc, &family, true)? {
        for half in 0..2 {
            store_half(w, op, way, &places[half as usize], &values, half);
        }
        w.progress("1");
        w.turn(&done);
        w.label(&long);
    }
    let span = span(w, family.site, true);
    let result = w.call(&scattered, &addresses, &span_text(&span), &values);
    let some = w.set(format_args!("extractvalue {} {result}, 0", scattered.result()));
    let (went, lost) = (w.name("went"), w.name("lost"));
    w.line(format_args!("br i1 {some}, label %{went}, label %{lost}, !prof !0"));
    w.label(&went);
    w.progress("1");
    w.turn(&done);
    w.label(&lost);
    w.aside(pc, family.site, |w| {
        w.turn(&done);
        w.label(&done);
        Ok(())
    })
}

/// `atom`, `red`
pub fn atomic(w: &mut Writer<'_>, op: &AtomicOp, pc: u32) -> Result<(), Misfit> {
    let shared = op.space == SpaceOperand::In(MemorySpace::Shared);
    let scattered = Scattered::atomic(op, shared).filter(|_| is_near(op.space));
    let Some(scattered) = scattered else { return w.perform(pc, None) };
    let register = scattered.register();
    let target = op.targets.first().copied().filter(|&slot| slot != NONE);
    let mut values = Vec::new();
    for slot in [op.operands[0], op.swap].into_iter().filter(|&slot| slot != NONE) {
        values.push(if op.width == 4 { w.words(slot)? } else { w.longs(slot)? });
    }
    let before = match target {
        Some(slot) => Some((slot, w.current(slot)?.1)),
        None => None,
    };
    let addresses = addresses(w, op.address)?;
    let site = (!shared).then(|| w.new_site());
    let span = span(w, site, true);
    let result = w.call(&scattered, &addresses, &span_text(&span), &values);
    let some = w.set(format_args!("extractvalue {} {result}, 0", scattered.result()));
    let (went, lost, done) = (w.name("went"), w.name("lost"), w.name("updated"));
    w.line(format_args!("br i1 {some}, label %{went}, label %{lost}, !prof !0"));
    w.label(&went);
    let mut old = w.set(format_args!("extractvalue {} {result}, 1", scattered.result()));
    let changed = w.set(format_args!("extractvalue {} {result}, 2", scattered.result()));
    w.progress(&changed);
    if let (Some((_, before)), Some(active)) = (&before, w.active.clone()) {
        let lanes = active.lanes;
        old = w.set(format_args!("select <32 x i1> {lanes}, {register} {old}, {register} {before}"));
    }
    let here = w.turn(&done);
    w.label(&lost);
    let joined = w.aside(pc, site, |w| {
        let other = match target {
            Some(slot) => Some(w.current(slot)?.1),
            None => None,
        };
        let there = w.turn(&done);
        w.label(&done);
        Ok(other.map(|other| w.set(format_args!("phi {register} [ {old}, %{here} ], [ {other}, %{there} ]"))))
    })?;
    if let (Some((slot, _)), Some(joined)) = (before, joined) {
        w.replace(slot, joined);
    }
    Ok(())
}

/// `ld.param`: the same for all lanes.
pub fn parameter(w: &mut Writer<'_>, op: &ParamOp, pc: u32) -> Result<(), Misfit> {
    if op.rows > 2 || op.width > 4 * op.rows {
        return w.perform(pc, None);
    }
    let (element, register) = (element(op.width), if op.rows == 1 { "i32" } else { "i64" });
    for (&slot, offset) in op.data.iter().zip((op.offset..).step_by(op.width as usize)) {
        if slot == NONE {
            continue;
        }
        let place = w.set(format_args!("getelementptr i8, ptr %params, i64 {offset}"));
        let mut value = w.set(format_args!("load {element}, ptr {place}, align 1"));
        if element != register {
            let extend = if op.signed { "sext" } else { "zext" };
            value = w.set(format_args!("{extend} {element} {value} to {register}"));
        }
        let value = w.splat(&value, register);
        if op.rows == 1 { w.write_words(slot, value)? } else { w.write_longs(slot, value)? }
    }
    Ok(())
}

/// Where the lanes go, in 64 bits.
fn addresses(w: &mut Writer<'_>, address: AddressOperand) -> Result<String, Misfit> {
    let AddressOperand { base, wide, offset } = address;
    if base == NONE {
        return Ok(format!("splat (i64 {offset})"));
    }
    if wide {
        let base = w.longs(base)?;
        return Ok(w.set(format_args!("add {LONGS} {base}, splat (i64 {offset})")));
    }
    let base = w.words(base)?;
    let sum = w.set(format_args!("add {WORDS} {base}, splat (i32 {})", offset as i32));
    Ok(w.set(format_args!("zext {WORDS} {sum} to {LONGS}")))
}

/// If the lanes are expected to go by vectors: tests whether they do, and goes on there, with the place of each half. The rest
/// goes on at the label that comes back.
fn short(
    w: &mut Writer<'_>,
    op: &MemoryOp,
    pc: u32,
    family: &Family,
    writes: bool,
) -> Result<Option<(Way, [String; 2], String)>, Misfit> {
    let way = match w.forms.at(family.first).form {
        _ if op.address.base == NONE => return Ok(None),
        Form::Same | Form::Unset => Way::One,
        Form::Apart(stride) if stride == bytes(op).into() => Way::Row,
        _ => return Ok(None),
    };
    debug_assert!(family.first <= pc);
    let tested = match w.tested.get(&family.first) {
        Some(tested) => tested.clone(),
        None => {
            let tested = test(w, op, family, way, writes)?;
            w.tested.insert(family.first, tested.clone());
            tested
        }
    };
    let (short, long) = (w.name("short"), w.name("long"));
    w.line(format_args!("br i1 {}, label %{short}, label %{long}, !prof !0", tested.all));
    w.label(&short);
    let further = op.address.offset.wrapping_sub(family.low);
    let mut places = tested.places;
    if further != 0 {
        for place in &mut places {
            *place = w.set(format_args!("getelementptr i8, ptr {place}, i64 {further}"));
        }
    }
    Ok(Some((way, places, long)))
}

/// Whether all lanes run a family's accesses, go that way, and find all that they reach inside.
fn test(
    w: &mut Writer<'_>,
    op: &MemoryOp,
    family: &Family,
    way: Way,
    writes: bool,
) -> Result<Tested, Misfit> {
    let span = span(w, family.site, writes);
    let bytes = bytes(op);
    let (base, vector, one) = match op.address.wide {
        true => (w.longs(op.address.base)?, LONGS, "i64"),
        false => (w.words(op.address.base)?, WORDS, "i32"),
    };
    let step = if way == Way::Row { bytes } else { 0 };
    let mut all = expected(w, family, &base, vector, one, step);
    let reach = family.span.saturating_add((bytes + step * (HALF - 1)).into());
    let enough = w.set(format_args!("icmp uge i64 {}, {reach}", span.bytes));
    let room = w.set(format_args!("sub i64 {}, {reach}", span.bytes));
    all = w.set(format_args!("and i1 {all}, {enough}"));
    let mut places = Vec::new();
    for half in 0..2 {
        let first = w.set(format_args!("extractelement {vector} {base}, i32 {}", HALF * half));
        let address = if op.address.wide {
            w.set(format_args!("add i64 {first}, {}", family.low))
        } else {
            let narrow = w.set(format_args!("add i32 {first}, {}", family.low as i32));
            w.set(format_args!("zext i32 {narrow} to i64"))
        };
        let within = w.set(format_args!("sub i64 {address}, {}", span.start));
        let inside = w.set(format_args!("icmp ule i64 {within}, {room}"));
        all = w.set(format_args!("and i1 {all}, {inside}"));
        if bytes > 1 {
            let low = w.set(format_args!("and i64 {address}, {}", bytes - 1));
            let aligned = w.set(format_args!("icmp eq i64 {low}, 0"));
            all = w.set(format_args!("and i1 {all}, {aligned}"));
        }
        places.push(w.set(format_args!("getelementptr i8, ptr {}, i64 {within}", span.host)));
    }
    let places = places.try_into().map_err(|_| Misfit)?;
    Ok(Tested { all, places })
}

/// Whether all lanes run an access, and those of each half are so many bytes apart.
fn expected(w: &mut Writer<'_>, family: &Family, base: &str, vector: &str, one: &str, step: u32) -> String {
    let is_sure = w.active.is_none() && w.forms.at(family.first).trust >= Trust::Sure;
    let (before, look, known) = (w.name("sure"), w.name("look"), w.name("known"));
    if is_sure {
        w.line(format_args!("br label %{before}"));
        w.label(&before);
        w.line(format_args!("br i1 %together, label %{known}, label %{look}, !prof !0"));
        w.label(&look);
    }
    let full = w.is_full();
    let firsts: Vec<String> = (0..2 * HALF).map(|lane| format!("i32 {}", lane / HALF * HALF)).collect();
    let firsts = w
        .set(format_args!("shufflevector {vector} {base}, {vector} poison, {WORDS} <{}>", firsts.join(", ")));
    let apart = w.set(format_args!("sub {vector} {base}, {firsts}"));
    let distances: Vec<String> = (0..2 * HALF).map(|lane| format!("{one} {}", lane % HALF * step)).collect();
    let equal = w.set(format_args!("icmp eq {vector} {apart}, <{}>", distances.join(", ")));
    let equal = w.set(format_args!("bitcast <32 x i1> {equal} to i32"));
    let equal = w.set(format_args!("icmp eq i32 {equal}, -1"));
    let looked = w.set(format_args!("and i1 {full}, {equal}"));
    if !is_sure {
        return looked;
    }
    let from = w.turn(&known);
    w.label(&known);
    w.set(format_args!("phi i1 [ true, %{before} ], [ {looked}, %{from} ]"))
}

fn span(w: &mut Writer<'_>, site: Option<usize>, writes: bool) -> Span {
    let Some(site) = site else {
        return Span { start: "0".into(), bytes: "%shared_bytes".into(), host: "%shared".into() };
    };
    let mut field = |offset: usize, ty: &str| {
        let offset = site * size_of::<Site>() + offset;
        let place = w.set(format_args!("getelementptr i8, ptr %sites, i64 {offset}"));
        w.set(format_args!("load {ty}, ptr {place}"))
    };
    let bytes = if writes { offset_of!(Site, writable) } else { offset_of!(Site, readable) };
    Span {
        start: field(offset_of!(Site, start), "i64"),
        bytes: field(bytes, "i64"),
        host: field(offset_of!(Site, host), "ptr"),
    }
}

fn span_text(span: &Span) -> String {
    format!("i64 {}, i64 {}, ptr {}", span.start, span.bytes, span.host)
}

/// An element, in all lanes.
fn load_element(w: &mut Writer<'_>, op: &MemoryOp, way: Way, places: &[String; 2], e: u32) -> String {
    let (element, align, count) = (element(op.width), op.width, op.data.len() as u32);
    let mut halves = Vec::new();
    for place in places {
        halves.push(match way {
            Way::Row => {
                let together = vector(op, HALF * count);
                let all = w.set(format_args!("load {together}, ptr {place}, align {align}"));
                if count == 1 {
                    all
                } else {
                    let lanes: Vec<u32> = (0..HALF).map(|lane| lane * count + e).collect();
                    w.set(format_args!(
                        "shufflevector {together} {all}, {together} poison, {}",
                        numbers(&lanes)
                    ))
                }
            }
            Way::One => {
                let place = w.set(format_args!("getelementptr i8, ptr {place}, i64 {}", e * op.width));
                let value = w.set(format_args!("load {element}, ptr {place}, align {align}"));
                let half = vector(op, HALF);
                let one = w.set(format_args!("insertelement {half} poison, {element} {value}, i32 0"));
                w.set(format_args!("shufflevector {half} {one}, {half} poison, <16 x i32> zeroinitializer"))
            }
        });
    }
    let half = vector(op, HALF);
    let order: Vec<u32> = (0..2 * HALF).collect();
    let (low, high) = (&halves[0], &halves[1]);
    let whole = w.set(format_args!("shufflevector {half} {low}, {half} {high}, {}", numbers(&order)));
    if op.width == 4 * op.rows {
        return whole;
    }
    let (extend, register) =
        (if op.signed { "sext" } else { "zext" }, if op.rows == 1 { WORDS } else { LONGS });
    w.set(format_args!("{extend} {} {whole} to {register}", vector(op, 2 * HALF)))
}

fn store_half(w: &mut Writer<'_>, op: &MemoryOp, way: Way, place: &str, values: &[String], half: u32) {
    let (element, align, count) = (element(op.width), op.width, op.data.len() as u32);
    let (part, whole) = (vector(op, HALF), vector(op, 2 * HALF));
    let register = if op.rows == 1 { WORDS } else { LONGS };
    let narrow: Vec<String> = values
        .iter()
        .map(|value| match register == whole {
            true => value.clone(),
            false => w.set(format_args!("trunc {register} {value} to {whole}")),
        })
        .collect();
    if way == Way::One {
        // Of several lanes at one place the last one's value stays.
        for (e, value) in (0..count).zip(&narrow) {
            let last = w.set(format_args!("extractelement {whole} {value}, i32 {}", HALF * (half + 1) - 1));
            let place = w.set(format_args!("getelementptr i8, ptr {place}, i64 {}", e * op.width));
            w.line(format_args!("store {element} {last}, ptr {place}, align {align}"));
        }
        return;
    }
    let lanes: Vec<u32> = (HALF * half..HALF * (half + 1)).collect();
    let mut parts = Vec::new();
    for value in &narrow {
        parts.push(w.set(format_args!("shufflevector {whole} {value}, {whole} poison, {}", numbers(&lanes))));
    }
    // Interleaves in pairs.
    let mut ty = part;
    let mut lanes = HALF;
    while parts.len() > 1 {
        // With four parts, the first and the third come first, so that they end up in order.
        let half = parts.len() / 2;
        let order: Vec<u32> = (0..lanes).flat_map(|lane| [lane, lanes + lane]).collect();
        let mut joined = Vec::new();
        for i in 0..half {
            let (a, b) = (&parts[i], &parts[i + half]);
            joined.push(w.set(format_args!("shufflevector {ty} {a}, {ty} {b}, {}", numbers(&order))));
        }
        parts = joined;
        lanes *= 2;
        ty = vector(op, lanes);
    }
    w.line(format_args!("store {ty} {}, ptr {place}, align {align}", parts[0]));
}

fn element(width: u32) -> &'static str {
    match width {
        1 => "i8",
        2 => "i16",
        4 => "i32",
        _ => "i64",
    }
}

fn vector(op: &MemoryOp, lanes: u32) -> String {
    format!("<{lanes} x {}>", element(op.width))
}

fn numbers(lanes: &[u32]) -> String {
    let lanes: Vec<String> = lanes.iter().map(|lane| format!("i32 {lane}")).collect();
    format!("<{} x i32> <{}>", lanes.len(), lanes.join(", "))
}
