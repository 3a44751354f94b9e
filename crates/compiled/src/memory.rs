//! Loads and stores as IR.
//!
//! An access is compiled inline if each half of the warp, 16 lanes, accesses one address, or consecutive addresses in
//! lane order, and all of it is within the block's shared memory or the allocation found there last time. The
//! interpreter handles everything else: it finds other allocations, and faults.
//!
//! Accesses of a block through the same value of a register, as in an unrolled loop, form a [`Family`]: one test covers
//! all of them, from the first to the last byte they reach.

use std::collections::HashMap;
use std::mem::offset_of;

use virtual_gpu::observer::{MemorySpace, Order};
use virtual_gpu::stretch::{Kind, MemoryOp, NONE, Site, Slot, SpaceOperand, State};

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

/// How half of a warp accesses memory through a family.
#[derive(Debug, Clone)]
struct Half {
    /// Whether lanes access consecutive elements, instead of all the same one.
    row: String,
    /// The host address of the first lane's lowest offset.
    place: String,
}

/// The result of a family's test.
#[derive(Debug, Clone)]
pub struct Tested {
    all: String,
    halves: [Half; 2],
}

/// Where an access may go: the first address, how many bytes follow, and their host address.
struct Piece {
    start: Option<String>,
    bytes: String,
    host: String,
}

/// What the accesses of a family have in common: the register, whether they write, their width, their space, and the
/// remainder of their offsets by the width.
type Alike = (Slot, bool, u32, SpaceOperand, i64);

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
            && step.guard.slot == NONE
            && is_simple(op)
        {
            let (bytes, offset) = (bytes(op), op.address.offset);
            let key = (op.address.base, writes, bytes, op.space, offset.rem_euclid(bytes.into()));
            let alike = open.entry(key).or_default();
            alike.push((pc, offset));
            let low = alike.iter().map(|access| access.1).min().unwrap_or(offset);
            let high = alike.iter().map(|access| access.1).max().unwrap_or(offset);
            let first = alike[0].0;
            let site = match (op.space, families.get(&first)) {
                (SpaceOperand::In(MemorySpace::Shared), _) => None,
                (_, Some(family)) => family.site,
                (_, None) => {
                    w.sites += 1;
                    Some(w.sites - 1)
                }
            };
            let family = Family { first, low, span: high.wrapping_sub(low) as u64, site };
            families.extend(alike.iter().map(|&(pc, _)| (pc, family)));
        }
        open.retain(|key, _| step.writes.iter().all(|write| write.0 != key.0));
    }
    families
}

fn bytes(op: &MemoryOp) -> u32 {
    op.width * op.data.len() as u32
}

/// Whether it accesses whole words through a register.
fn is_simple(op: &MemoryOp) -> bool {
    let reached = match op.space {
        SpaceOperand::Generic => true,
        SpaceOperand::In(space) => {
            matches!(space, MemorySpace::Shared | MemorySpace::Global | MemorySpace::Const)
        }
    };
    reached
        && op.order == Order::Weak
        && !op.multimem
        && op.width == 4 * op.rows
        && op.rows <= 2
        && matches!(op.data.len(), 1 | 2 | 4)
        && op.address.base != NONE
}

/// `ld`
pub fn load(w: &mut Writer<'_>, op: &MemoryOp, pc: u32, family: Option<Family>) -> Result<(), Misfit> {
    let Some(family) = family else { return w.perform(pc, None) };
    let (short, long, done) = (w.name("short"), w.name("long"), w.name("loaded"));
    let halves = prepared(w, op, &family, false, &short, &long)?;
    let mut loaded = Vec::new();
    for half in &halves {
        loaded.push(load_half(w, op, half));
    }
    let ty = if op.rows == 1 { WORDS } else { LONGS };
    let half_type = vector(op, HALF);
    let order: Vec<u32> = (0..2 * HALF).collect();
    let mut whole = Vec::new();
    for element in 0..op.data.len() {
        let (low, high) = (&loaded[0][element], &loaded[1][element]);
        whole.push(
            w.set(format_args!("shufflevector {half_type} {low}, {half_type} {high}, {}", numbers(&order))),
        );
    }
    let end = w.name("end");
    w.line(format_args!("br label %{end}"));
    w.label(&end);
    w.line(format_args!("br label %{done}"));
    w.label(&long);
    w.aside(pc, family.site, |w| {
        let mut other = Vec::new();
        for &slot in &op.data {
            other.push(if slot == NONE { "poison".to_owned() } else { w.current(slot)?.1 });
        }
        let behind = w.name("asked");
        w.line(format_args!("br label %{behind}"));
        w.label(&behind);
        w.line(format_args!("br label %{done}"));
        w.label(&done);
        let mut joined = Vec::new();
        for (here, other) in whole.iter().zip(&other) {
            joined.push(w.set(format_args!("phi {ty} [ {here}, %{end} ], [ {other}, %{behind} ]")));
        }
        Ok(joined)
    })?
    .into_iter()
    .zip(&op.data)
    .filter(|(_, slot)| **slot != NONE)
    .for_each(|(bits, &slot)| w.replace(slot, bits));
    Ok(())
}

/// `st`
pub fn store(w: &mut Writer<'_>, op: &MemoryOp, pc: u32, family: Option<Family>) -> Result<(), Misfit> {
    let Some(family) = family else { return w.perform(pc, None) };
    let mut values = Vec::new();
    for &slot in &op.data {
        values.push(if op.rows == 1 { w.words(slot)? } else { w.longs(slot)? });
    }
    let (short, long, done) = (w.name("short"), w.name("long"), w.name("stored"));
    let halves = prepared(w, op, &family, true, &short, &long)?;
    for (number, half) in (0..).zip(&halves) {
        store_half(w, op, half, &values, number);
    }
    let field = w.field(offset_of!(State, progress));
    let progress = w.set(format_args!("load i64, ptr {field}"));
    let progress = w.set(format_args!("add i64 {progress}, 1"));
    w.line(format_args!("store i64 {progress}, ptr {field}"));
    w.line(format_args!("br label %{done}"));
    w.label(&long);
    w.aside(pc, family.site, |w| {
        w.line(format_args!("br label %{done}"));
        w.label(&done);
        Ok(())
    })
}

/// Continues at `short` with the addresses of both halves, or at `long`.
fn prepared(
    w: &mut Writer<'_>,
    op: &MemoryOp,
    family: &Family,
    writes: bool,
    short: &str,
    long: &str,
) -> Result<[Half; 2], Misfit> {
    let tested = match w.tested.get(&family.first) {
        Some(tested) => tested.clone(),
        None => {
            let tested = test(w, op, family, writes)?;
            w.tested.insert(family.first, tested.clone());
            tested
        }
    };
    w.line(format_args!("br i1 {}, label %{short}, label %{long}, !prof !0", tested.all));
    w.label(short);
    let further = op.address.offset.wrapping_sub(family.low);
    let mut halves = tested.halves;
    if further != 0 {
        for half in &mut halves {
            half.place = w.set(format_args!("getelementptr i8, ptr {}, i64 {further}", half.place));
        }
    }
    Ok(halves)
}

/// How both halves access memory through the family's register, and whether everything they reach is in bounds.
fn test(w: &mut Writer<'_>, op: &MemoryOp, family: &Family, writes: bool) -> Result<Tested, Misfit> {
    let piece = piece(w, family.site, writes);
    let bytes = bytes(op);
    let (base, whole, one) = match op.address.wide {
        true => (w.longs(op.address.base)?, LONGS, "i64"),
        false => (w.words(op.address.base)?, WORDS, "i32"),
    };
    let part = format!("<{HALF} x {one}>");
    let mut all: Option<String> = None;
    let mut halves = Vec::new();
    for half in 0..2 {
        let lanes: Vec<u32> = (HALF * half..HALF * (half + 1)).collect();
        let first = w.set(format_args!("extractelement {whole} {base}, i32 {}", HALF * half));
        let addresses =
            w.set(format_args!("shufflevector {whole} {base}, {whole} poison, {}", numbers(&lanes)));
        let firsts = splat(w, &first, one, HALF);
        let apart = w.set(format_args!("sub {part} {addresses}, {firsts}"));
        let distances: Vec<String> = (0..HALF).map(|lane| format!("{one} {}", lane * bytes)).collect();
        let same = all_are(w, &part, &apart, "zeroinitializer");
        let row = all_are(w, &part, &apart, &format!("<{}>", distances.join(", ")));
        let address = if op.address.wide {
            w.set(format_args!("add i64 {first}, {}", family.low))
        } else {
            let narrow = w.set(format_args!("add i32 {first}, {}", family.low as i32));
            w.set(format_args!("zext i32 {narrow} to i64"))
        };
        let within = match &piece.start {
            Some(start) => w.set(format_args!("sub i64 {address}, {start}")),
            None => address.clone(),
        };
        let reach = family.span.saturating_add(bytes.into());
        let row_reach = family.span.saturating_add((HALF * bytes).into());
        let reach = w.set(format_args!("select i1 {row}, i64 {row_reach}, i64 {reach}"));
        let begins = w.set(format_args!("icmp ule i64 {within}, {}", piece.bytes));
        let rest = w.set(format_args!("sub i64 {}, {within}", piece.bytes));
        let ends = w.set(format_args!("icmp ule i64 {reach}, {rest}"));
        let low = w.set(format_args!("and i64 {address}, {}", bytes - 1));
        let aligned = w.set(format_args!("icmp eq i64 {low}, 0"));
        let simple = w.set(format_args!("or i1 {same}, {row}"));
        for test in [begins, ends, aligned, simple] {
            all = Some(match all {
                Some(all) => w.set(format_args!("and i1 {all}, {test}")),
                None => test,
            });
        }
        let place = w.set(format_args!("getelementptr i8, ptr {}, i64 {within}", piece.host));
        halves.push(Half { row, place });
    }
    let halves = halves.try_into().map_err(|_| Misfit)?;
    Ok(Tested { all: all.ok_or(Misfit)?, halves })
}

/// Whether all elements of a vector are as expected.
fn all_are(w: &mut Writer<'_>, part: &str, vector: &str, expected: &str) -> String {
    let equal = w.set(format_args!("icmp eq {part} {vector}, {expected}"));
    let mask = w.set(format_args!("bitcast <{HALF} x i1> {equal} to i{HALF}"));
    w.set(format_args!("icmp eq i{HALF} {mask}, -1"))
}

fn piece(w: &mut Writer<'_>, site: Option<usize>, writes: bool) -> Piece {
    let Some(site) = site else {
        return Piece { start: None, bytes: "%shared_bytes".into(), host: "%shared".into() };
    };
    let mut field = |offset: usize, ty: &str| {
        let offset = site * size_of::<Site>() + offset;
        let place = w.set(format_args!("getelementptr i8, ptr %sites, i64 {offset}"));
        w.set(format_args!("load {ty}, ptr {place}"))
    };
    let bytes = if writes { offset_of!(Site, writable) } else { offset_of!(Site, readable) };
    Piece {
        start: Some(field(offset_of!(Site, start), "i64")),
        bytes: field(bytes, "i64"),
        host: field(offset_of!(Site, host), "ptr"),
    }
}

/// The elements of a half.
fn load_half(w: &mut Writer<'_>, op: &MemoryOp, half: &Half) -> Vec<String> {
    let (element, align, count) = (element(op), op.width, op.data.len() as u32);
    let part = vector(op, HALF);
    let (row, one, join) = (w.name("row"), w.name("one"), w.name("half"));
    w.line(format_args!("br i1 {}, label %{row}, label %{one}", half.row));
    w.label(&row);
    let together = vector(op, HALF * count);
    let all = w.set(format_args!("load {together}, ptr {}, align {align}", half.place));
    let mut rows = Vec::new();
    for e in 0..count {
        rows.push(if count == 1 {
            all.clone()
        } else {
            let lanes: Vec<u32> = (0..HALF).map(|lane| lane * count + e).collect();
            w.set(format_args!("shufflevector {together} {all}, {together} poison, {}", numbers(&lanes)))
        });
    }
    w.line(format_args!("br label %{join}"));
    w.label(&one);
    let mut ones = Vec::new();
    for e in 0..count {
        let place = w.set(format_args!("getelementptr i8, ptr {}, i64 {}", half.place, e * op.width));
        let value = w.set(format_args!("load {element}, ptr {place}, align {align}"));
        ones.push(splat(w, &value, element, HALF));
    }
    w.line(format_args!("br label %{join}"));
    w.label(&join);
    let pairs: Vec<_> = rows.into_iter().zip(ones).collect();
    pairs
        .iter()
        .map(|(of_row, of_one)| w.set(format_args!("phi {part} [ {of_row}, %{row} ], [ {of_one}, %{one} ]")))
        .collect()
}

fn store_half(w: &mut Writer<'_>, op: &MemoryOp, half: &Half, values: &[String], number: u32) {
    let (element, align, count) = (element(op), op.width, op.data.len() as u32);
    let (part, whole) = (vector(op, HALF), vector(op, 2 * HALF));
    let (row, one, join) = (w.name("row"), w.name("one"), w.name("half"));
    w.line(format_args!("br i1 {}, label %{row}, label %{one}", half.row));
    w.label(&row);
    let lanes: Vec<u32> = (HALF * number..HALF * (number + 1)).collect();
    let mut parts = Vec::new();
    for value in values {
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
    w.line(format_args!("store {ty} {}, ptr {}, align {align}", parts[0], half.place));
    w.line(format_args!("br label %{join}"));
    w.label(&one);
    // If several lanes store to one address, the last one's value stays.
    for (e, value) in (0..count).zip(values) {
        let last = w.set(format_args!("extractelement {whole} {value}, i32 {}", HALF * (number + 1) - 1));
        let place = w.set(format_args!("getelementptr i8, ptr {}, i64 {}", half.place, e * op.width));
        w.line(format_args!("store {element} {last}, ptr {place}, align {align}"));
    }
    w.line(format_args!("br label %{join}"));
    w.label(&join);
}

fn element(op: &MemoryOp) -> &'static str {
    if op.rows == 1 { "i32" } else { "i64" }
}

fn vector(op: &MemoryOp, lanes: u32) -> String {
    format!("<{lanes} x {}>", element(op))
}

/// One value for all lanes.
fn splat(w: &mut Writer<'_>, value: &str, ty: &str, lanes: u32) -> String {
    let one = w.set(format_args!("insertelement <{lanes} x {ty}> poison, {ty} {value}, i32 0"));
    w.set(format_args!(
        "shufflevector <{lanes} x {ty}> {one}, <{lanes} x {ty}> poison, <{lanes} x i32> zeroinitializer"
    ))
}

fn numbers(lanes: &[u32]) -> String {
    let lanes: Vec<String> = lanes.iter().map(|lane| format!("i32 {lane}")).collect();
    format!("<{} x i32> <{}>", lanes.len(), lanes.join(", "))
}
