//! Accesses of one address, or of consecutive ones, by whole vectors.

use virtual_gpu::jit::{MemoryOp, NONE};

use crate::families::{Family, bytes, span};
use crate::lanes::Lanes;
use crate::values::{LONGS, Misfit, WORDS};
use crate::widths::Width;
use crate::writer::Writer;

/// Lanes in a half.
const HALF: u32 = 16;

/// A family's test at run time.
#[derive(Debug, Clone)]
pub struct Tested {
    all: String,
    /// Host address of the least offset, for the first lane of each half.
    places: [String; 2],
    /// The same as addresses.
    first: [String; 2],
    /// The counter of the distance of the halves, where that says what accesses cost.
    distance: Option<u32>,
}

/// The addresses of the lanes of a half.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// One address.
    Broadcast,
    /// Each follows the bytes of the lane before.
    Consecutive,
}

/// If an access is expected to have a pattern: tests whether it has, and goes on there, with the place of each half. Otherwise the
/// code goes on at the label that is returned.
pub fn short(
    w: &mut Writer<'_>,
    op: &MemoryOp,
    pc: u32,
    family: &Family,
    writes: bool,
) -> Result<Option<(Pattern, [String; 2], String)>, Misfit> {
    let pattern = match w.uniformity.at(family.first).lanes {
        _ if w.predicate.is_some() => return Ok(None),
        Lanes::Uniform | Lanes::HalfUniform | Lanes::Unset => Pattern::Broadcast,
        Lanes::Affine(stride) if stride == bytes(op).into() => Pattern::Consecutive,
        _ => return Ok(None),
    };
    debug_assert!(family.first <= pc);
    let tested = match w.tested.get(&family.first) {
        Some(tested) => tested.clone(),
        None => {
            let tested = test(w, op, family, pattern, writes)?;
            w.tested.insert(family.first, tested.clone());
            tested
        }
    };
    let (short, long) = (w.name("short"), w.name("long"));
    w.line(format_args!("br i1 {}, label %{short}, label %{long}, !prof !0", tested.all));
    w.label(&short);
    let further = op.address.offset.wrapping_sub(family.low);
    let (mut places, mut first) = (tested.places, tested.first);
    if further != 0 {
        for place in &mut places {
            *place = w.set(format_args!("getelementptr i8, ptr {place}, i64 {further}"));
        }
        if w.function.is_counted() {
            first = first.map(|first| w.set(format_args!("add i64 {first}, {further}")));
        }
    }
    w.count_halves(op, pc, pattern, tested.distance, &first);
    Ok(Some((pattern, places, long)))
}

/// Whether all lanes run a family's accesses, with that pattern and within the span.
fn test(
    w: &mut Writer<'_>,
    op: &MemoryOp,
    family: &Family,
    pattern: Pattern,
    writes: bool,
) -> Result<Tested, Misfit> {
    let span = span(w, family.site, writes);
    let bytes = bytes(op);
    let step = if pattern == Pattern::Consecutive { bytes } else { 0 };
    let width = known_by(w, family);
    let before = std::mem::replace(&mut w.width, width);
    // An address without a register is one of 64 bits.
    let is_wide = op.address.wide || op.address.base == NONE;
    let (base, vector, one) = match is_wide {
        _ if op.address.base == NONE => ("zeroinitializer".into(), width.types().longs, "i64"),
        true => (w.longs(op.address.base)?, width.types().longs, "i64"),
        false => (w.words(op.address.base)?, width.types().words, "i32"),
    };
    w.width = before;
    let mut all = match width {
        Width::All => expected(w, &base, vector, one, step),
        _ => "true".to_owned(),
    };
    let reach = family.span.saturating_add((bytes + step * (HALF - 1)).into());
    let enough = w.set(format_args!("icmp uge i64 {}, {reach}", span.bytes));
    let room = w.set(format_args!("sub i64 {}, {reach}", span.bytes));
    all = w.set(format_args!("and i1 {all}, {enough}"));
    let (mut places, mut addresses): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for half in 0..2 {
        let lane = match width {
            Width::One if half == 1 => {
                places.push(places[0].clone());
                addresses.push(addresses[0].clone());
                break;
            }
            Width::One | Width::Two => half,
            Width::All => HALF * half,
        };
        let first = w.set(format_args!("extractelement {vector} {base}, i32 {lane}"));
        let address = if is_wide {
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
        addresses.push(address);
    }
    let [places, first] = [places, addresses].map(|both| both.try_into().map_err(|_| Misfit));
    let first = first?;
    let distance = w.compare_distance(family, bytes, &all, &first);
    Ok(Tested { all, places: places?, first, distance })
}

/// The lanes from which all addresses follow.
pub fn known_by(w: &Writer<'_>, family: &Family) -> Width {
    match w.function.is_converged() && w.active.is_none() {
        true => w.uniformity.at(family.first).width(),
        false => Width::All,
    }
}

/// Whether all lanes run an access, with addresses `step` bytes apart in each half.
fn expected(w: &mut Writer<'_>, base: &str, vector: &str, one: &str, step: u32) -> String {
    let full = w.is_full();
    let firsts: Vec<String> = (0..2 * HALF).map(|lane| format!("i32 {}", lane / HALF * HALF)).collect();
    let firsts = w
        .set(format_args!("shufflevector {vector} {base}, {vector} poison, {WORDS} <{}>", firsts.join(", ")));
    let apart = w.set(format_args!("sub {vector} {base}, {firsts}"));
    let distances: Vec<String> = (0..2 * HALF).map(|lane| format!("{one} {}", lane % HALF * step)).collect();
    let equal = w.set(format_args!("icmp eq {vector} {apart}, <{}>", distances.join(", ")));
    let equal = w.set(format_args!("bitcast <32 x i1> {equal} to i32"));
    let equal = w.set(format_args!("icmp eq i32 {equal}, -1"));
    w.set(format_args!("and i1 {full}, {equal}"))
}

/// An element, in the lanes that the current operation computes.
pub fn load_element(
    w: &mut Writer<'_>,
    op: &MemoryOp,
    pattern: Pattern,
    places: &[String; 2],
    e: u32,
) -> String {
    if w.width != Width::All {
        return load_few(w, op, places, e);
    }
    let (element, align, count) = (element(op.width), op.width, op.data.len() as u32);
    let mut halves = Vec::new();
    for place in places {
        halves.push(match pattern {
            Pattern::Consecutive => {
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
            Pattern::Broadcast => {
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

/// An element that all lanes of a half load, in one lane for each.
fn load_few(w: &mut Writer<'_>, op: &MemoryOp, places: &[String; 2], e: u32) -> String {
    let (element, register) = (element(op.width), if op.rows == 1 { "i32" } else { "i64" });
    let mut values = Vec::new();
    for place in places.iter().take(w.types().lanes as usize) {
        let place = w.set(format_args!("getelementptr i8, ptr {place}, i64 {}", e * op.width));
        let mut value = w.set(format_args!("load {element}, ptr {place}, align {}", op.width));
        if element != register {
            let extend = if op.signed { "sext" } else { "zext" };
            value = w.set(format_args!("{extend} {element} {value} to {register}"));
        }
        values.push(value);
    }
    w.vector_of(register, &values)
}

pub fn store_half(
    w: &mut Writer<'_>,
    op: &MemoryOp,
    pattern: Pattern,
    place: &str,
    values: &[String],
    half: u32,
) {
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
    if pattern == Pattern::Broadcast {
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

pub fn element(width: u32) -> &'static str {
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
