//! Reads a `fmt::Arguments` in the bitcode: its template, and which value each placeholder shows and how.
//!
//! Prints and panics are lowered with it, so that the formatting code of `core` stays out of kernels. What a placeholder
//! shows is told by the function that would format it: `<u32 as core::fmt::Display>::fmt`. A template that cannot be read
//! is left to that code, and a later toolchain may well write them differently: then kernels grow, and nothing breaks.

use crate::bitcode::names;
use crate::llvm::{Builder, Cast, Context, Opcode, Value};
use std::collections::HashMap;

/// A bit of a placeholder's flags, as `core::fmt` numbers them.
pub mod flag {
    pub const FILL: u32 = (1 << 21) - 1;
    pub const PLUS: u32 = 1 << 21;
    pub const ALTERNATE: u32 = 1 << 23;
    pub const ZERO: u32 = 1 << 24;
    pub const LOWER_HEX: u32 = 1 << 25;
    pub const UPPER_HEX: u32 = 1 << 26;
    pub const HAS_WIDTH: u32 = 1 << 27;
    pub const HAS_PRECISION: u32 = 1 << 28;
    /// Left, right, centre, unknown.
    pub const ALIGN: u32 = 29;
    /// Those of `{}`.
    pub const DEFAULT: u32 = b' ' as u32 | 3 << ALIGN;
}

/// How a placeholder shows its value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Spec {
    pub flags: u32,
    pub width: u16,
    pub precision: Option<u16>,
}

impl Spec {
    pub const PLAIN: Self = Self { flags: flag::DEFAULT, width: 0, precision: None };

    pub fn has(self, flag: u32) -> bool {
        self.flags & flag != 0
    }
}

/// A value's kind. The other side is `cuda_std`'s `text.rs`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    Unsigned = 1,
    Signed = 2,
    LowerHex = 3,
    UpperHex = 4,
    Octal = 5,
    Binary = 6,
    Bool = 7,
    Char = 8,
    Text = 9,
    F32 = 10,
    F32Debug = 11,
    F32LowerExp = 12,
    F32UpperExp = 13,
    F64 = 14,
    F64Debug = 15,
    F64LowerExp = 16,
    F64UpperExp = 17,
}

/// The most digits after the point that the device's own formatting has room for.
const MAX_PRECISION: u16 = 32;

/// A value to show: what it is, and its bits as 64-bit integers; two for a text, its address and its length.
pub struct Shown {
    pub kind: Kind,
    pub values: Vec<Value>,
    /// The type's width, for those that are narrower than the 64 bits.
    pub bits: u32,
}

/// A part of what is shown.
pub enum Part {
    Text(String),
    Value(Spec, Shown),
    /// A value of a type that only its own code can show.
    Other(String),
}

/// The parts of the `fmt::Arguments` with these two words: a template and either a pointer to the arguments or, with
/// the low bit set, twice the length of a plain text. Loads the values where `build` stands.
pub fn read(
    context: &Context,
    build: &Builder,
    template: Value,
    second: Value,
    escapes: Escapes,
) -> Option<Vec<Part>> {
    // `inttoptr (i64 tag to ptr)` as a constant expression.
    if second.is_constant_expression() && second.operand_count() == 1 {
        let tag = second.operand(0).as_int()?;
        if tag & 1 == 1 {
            let text = constant_text(template, usize::try_from(tag >> 1).ok()?)?;
            return Some(vec![Part::Text(text)]);
        }
    }
    let given = stored_arguments(second).unwrap_or_default();
    let template = pieces(&template.as_global_variable()?.initializer()?.as_bytes()?)?;
    let mut next = 0;
    let shown = |spec: Option<Spec>, index: u64| {
        let (pointer, formatter) = (*given.get(&(16 * index))?, *given.get(&(16 * index + 8))?);
        let formatter = names::of(formatter);
        let (ty, way) = formatter.strip_prefix('<')?.split_once(" as core::fmt::")?;
        let way = way.strip_suffix(">::fmt")?;
        let known = || spec.and_then(|spec| parts(context, build, ty, way, spec, pointer, escapes));
        Some(known().unwrap_or_else(|| vec![Part::Other(ty.to_owned())]))
    };
    let parts = template.into_iter().flat_map(|piece| match piece {
        TemplatePiece::Text(text) => vec![Part::Text(text)],
        TemplatePiece::Value(Placeholder { spec, argument }) => {
            let index = argument.unwrap_or(next);
            next = index + 1;
            shown(spec, index).unwrap_or_else(|| vec![Part::Other("value".into())])
        }
    });
    Some(parts.collect())
}

/// Treatment of a text's or a character's `{:?}`, which escapes invisible characters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Escapes {
    /// It is left to `core::fmt`, which has the tables.
    Exact,
    /// It is put in quotes, and nothing in it is escaped.
    Left,
}

/// The value behind a pointer to a `ty`, as the trait `way` shows it; `None` if only `core::fmt` can.
pub fn value(
    context: &Context,
    build: &Builder,
    ty: &str,
    way: &str,
    spec: Spec,
    pointer: Value,
) -> Option<(Spec, Shown)> {
    let int = context.int(64);
    // Two words of which the first is the text's address.
    if ty == "&str" && way == "Display" {
        let address = build.load(context.pointer(0), pointer, 8);
        let address = build.cast(Cast::PtrToInt, address, int);
        let length = build.load(int, build.offset(context.int(8), pointer, int.int(8)), 8);
        return Some((spec, Shown { kind: Kind::Text, values: vec![address, length], bits: 64 }));
    }
    if way == "Pointer" && (ty.starts_with("*const ") || ty.starts_with("*mut ") || ty.starts_with('&')) {
        // Wide pointers show more than an address, or are of another size.
        let pointee =
            ty.trim_start_matches(['&', '*']).trim_start_matches("const ").trim_start_matches("mut ");
        if pointee == "str"
            || pointee.starts_with('[') && !pointee.contains(';')
            || pointee.starts_with("dyn ")
        {
            return None;
        }
        let mut spec = spec;
        if spec.has(flag::ALTERNATE) {
            spec.flags |= flag::ZERO;
            if !spec.has(flag::HAS_WIDTH) {
                spec.width = 18;
            }
        }
        spec.flags |= flag::ALTERNATE;
        let address = build.cast(Cast::PtrToInt, build.load(context.pointer(0), pointer, 8), int);
        return Some((spec, Shown { kind: Kind::LowerHex, values: vec![address], bits: 64 }));
    }
    if let Some(ty) = ty.strip_prefix('&') {
        let pointee = build.load(context.pointer(0), pointer, 8);
        return value(context, build, ty.trim_start_matches("mut "), way, spec, pointee);
    }
    let bits = match ty {
        "u8" | "i8" | "bool" => 8,
        "u16" | "i16" => 16,
        "u32" | "i32" | "char" | "f32" => 32,
        "u64" | "i64" | "usize" | "isize" | "f64" => 64,
        _ => return None,
    };
    let plain = matches!(way, "Display" | "Debug");
    let kind = match (ty, way) {
        ("bool", "Display" | "Debug") => Kind::Bool,
        ("char", "Display") => Kind::Char,
        ("f32" | "f64", _) => {
            let wide = ty == "f64";
            if spec.precision.is_some_and(|precision| precision > MAX_PRECISION) {
                return None;
            }
            match way {
                "Display" => {
                    if wide {
                        Kind::F64
                    } else {
                        Kind::F32
                    }
                }
                "Debug" => {
                    if wide {
                        Kind::F64Debug
                    } else {
                        Kind::F32Debug
                    }
                }
                "LowerExp" => {
                    if wide {
                        Kind::F64LowerExp
                    } else {
                        Kind::F32LowerExp
                    }
                }
                "UpperExp" => {
                    if wide {
                        Kind::F64UpperExp
                    } else {
                        Kind::F32UpperExp
                    }
                }
                _ => return None,
            }
        }
        ("bool" | "char", _) => return None,
        (_, "LowerHex") => Kind::LowerHex,
        (_, "UpperHex") => Kind::UpperHex,
        (_, "Octal") => Kind::Octal,
        (_, "Binary") => Kind::Binary,
        _ if way == "Debug" && spec.has(flag::LOWER_HEX) => Kind::LowerHex,
        _ if way == "Debug" && spec.has(flag::UPPER_HEX) => Kind::UpperHex,
        _ if plain && ty.starts_with('i') => Kind::Signed,
        _ if plain => Kind::Unsigned,
        _ => return None,
    };
    let loaded = build.load(context.int(bits), pointer, bits / 8);
    let extend = if kind == Kind::Signed { Cast::SExt } else { Cast::ZExt };
    let loaded = if bits == 64 { loaded } else { build.cast(extend, loaded, int) };
    Some((spec, Shown { kind, values: vec![loaded], bits }))
}

/// The form of `{:?}` for the value behind a pointer to a `ty`; texts and characters as with [`Escapes::Left`].
pub fn debug(context: &Context, build: &Builder, ty: &str, pointer: Value) -> Option<Vec<Part>> {
    parts(context, build, ty, "Debug", Spec::PLAIN, pointer, Escapes::Left)
}

/// The form that the trait `way` gives the value behind a pointer to a `ty`; `None` if only `core::fmt` can.
fn parts(
    context: &Context,
    build: &Builder,
    ty: &str,
    way: &str,
    spec: Spec,
    pointer: Value,
    escapes: Escapes,
) -> Option<Vec<Part>> {
    let quote = match ty {
        "&str" => "\"",
        "char" => "'",
        _ => "",
    };
    if way == "Debug" && escapes == Escapes::Left && !quote.is_empty() {
        let (spec, shown) = value(context, build, ty, "Display", Spec::PLAIN, pointer)?;
        let quote = || Part::Text(quote.to_owned());
        return Some(vec![quote(), Part::Value(spec, shown), quote()]);
    }
    if let Some((spec, shown)) = value(context, build, ty, way, spec, pointer) {
        return Some(vec![Part::Value(spec, shown)]);
    }
    if way != "Debug" || spec.has(flag::ALTERNATE) {
        return None;
    }
    if let Some(array) = ty.strip_prefix("&[").filter(|_| ty.contains(';')) {
        let pointee = build.load(context.pointer(0), pointer, 8);
        return parts(context, build, &format!("[{array}"), way, spec, pointee, escapes);
    }
    let (element, count) = array(ty)?;
    let (size, whole) = (size_of(element)?, escapes == Escapes::Exact);
    let most = if whole { MOST_PRINTED } else { MOST_IN_PANICS };
    if whole && count > most {
        return None;
    }
    let mut all = vec![Part::Text("[".into())];
    for index in 0..count.min(most) {
        if index > 0 {
            all.push(Part::Text(", ".into()));
        }
        let place = build.offset(context.int(8), pointer, context.int(64).int((index * size) as i64));
        all.extend(parts(context, build, element, way, spec, place, escapes)?);
    }
    all.push(Part::Text(if count > most { ", …]" } else { "]" }.into()));
    Some(all)
}

/// The most elements of an array that are passed one by one.
const MOST_PRINTED: u64 = 16;
const MOST_IN_PANICS: u64 = 4;

/// The element and the length of `[u32; 4]`.
fn array(ty: &str) -> Option<(&str, u64)> {
    let (element, count) = ty.strip_prefix('[')?.strip_suffix(']')?.rsplit_once("; ")?;
    Some((element, count.parse().ok()?))
}

/// The size of a type in an array, if its values can be shown.
fn size_of(ty: &str) -> Option<u64> {
    Some(match ty {
        "u8" | "i8" | "bool" => 1,
        "u16" | "i16" => 2,
        "u32" | "i32" | "char" | "f32" => 4,
        "u64" | "i64" | "usize" | "isize" | "f64" => 8,
        "&str" => 16,
        _ => {
            let (element, count) = array(ty)?;
            size_of(element)? * count
        }
    })
}

/// A script for `cuda_std`'s `text.rs`, and the values that it shows. `other` is what stands for a value that cannot be
/// shown; `room` is how many values there may be.
pub fn script(parts: Vec<Part>, room: usize, other: impl Fn(&str) -> String) -> (Vec<u8>, Vec<Value>) {
    let (mut script, mut values) = (Vec::new(), Vec::new());
    let text = |script: &mut Vec<u8>, text: &str| {
        for byte in text.bytes() {
            match byte {
                // C's end of a text: its symbol, as for such in the values.
                0 => script.extend("\u{2400}".bytes()),
                1 => script.extend([1, 0, 0]),
                byte => script.push(byte),
            }
        }
    };
    for part in parts {
        match part {
            Part::Text(piece) => text(&mut script, &piece),
            Part::Value(_, shown) if values.len() + shown.values.len() > room => text(&mut script, "…"),
            Part::Value(spec, shown) => {
                let present = [
                    (1, spec.flags != flag::DEFAULT, spec.flags.to_le_bytes().to_vec()),
                    (2, spec.width != 0, spec.width.to_le_bytes().to_vec()),
                    (4, spec.precision.is_some(), spec.precision.unwrap_or(0).to_le_bytes().to_vec()),
                ];
                let present = present.into_iter().filter(|(_, is, _)| *is);
                script.extend([1, shown.kind as u8, present.clone().map(|(bit, ..)| bit).sum()]);
                script.extend(present.flat_map(|(.., bytes)| bytes));
                values.extend(shown.values);
            }
            Part::Other(ty) => text(&mut script, &other(&ty)),
        }
    }
    (script, values)
}

/// Content of the array of arguments, by byte offset: a pointer to the value, then its formatter. `None` if that
/// cannot be told.
fn stored_arguments(array: Value) -> Option<HashMap<u64, Value>> {
    let mut stored = HashMap::new();
    if !array.is_alloca() {
        return None;
    }
    let mut keep = |offset: u64, value: Value| stored.insert(offset, value).is_none();
    for user in array.users() {
        let Some(user) = user.as_instruction() else { continue };
        match user.opcode() {
            Opcode::Store if user.operand(1) == array => keep(0, user.operand(0)).then_some(())?,
            Opcode::GetElementPtr => {
                let offset = user.constant_offset()?;
                for store in user.users() {
                    if store.opcode() == Opcode::Store && store.operand(1) == user {
                        keep(offset, store.operand(0)).then_some(())?;
                    }
                }
            }
            _ => {}
        }
    }
    Some(stored)
}

struct Placeholder {
    /// `None` if width or precision are themselves arguments.
    spec: Option<Spec>,
    /// The number of the argument, if it is not the next.
    argument: Option<u64>,
}

enum TemplatePiece {
    Text(String),
    Value(Placeholder),
}

/// A format template: a length and that many bytes of text; or a code from 0xC0 on whose low bits say which of flags,
/// width, precision and argument number follow, and that width or precision are arguments themselves; 0 ends.
fn pieces(template: &[u8]) -> Option<Vec<TemplatePiece>> {
    let mut all = Vec::new();
    let mut rest = template;
    while let Some((&code, tail)) = rest.split_first() {
        rest = tail;
        let mut field = |len: usize| {
            let (field, tail) = rest.split_at_checked(len)?;
            rest = tail;
            Some(field)
        };
        let number =
            |bytes: &[u8]| bytes.iter().rev().fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
        match code {
            0 => return Some(all),
            1..=0x80 => {
                let len = if code == 0x80 { number(field(2)?) as usize } else { usize::from(code) };
                all.push(TemplatePiece::Text(std::str::from_utf8(field(len)?).ok()?.to_owned()));
            }
            0xC0.. => {
                let mut given = |bit: u8, len: usize| -> Option<Option<u32>> {
                    if code & bit == 0 { Some(None) } else { Some(Some(number(field(len)?))) }
                };
                let (flags, width) = (given(1, 4)?, given(2, 2)?);
                let (precision, argument) = (given(4, 2)?, given(8, 2)?);
                let flags = flags.unwrap_or(flag::DEFAULT);
                // A precision of 0 is left out; the flags tell it from none.
                let precision = (flags & flag::HAS_PRECISION != 0).then(|| precision.unwrap_or(0) as u16);
                let spec = Spec { flags, width: width.unwrap_or(0) as u16, precision };
                let spec = (code & 0x30 == 0).then_some(spec);
                all.push(TemplatePiece::Value(Placeholder { spec, argument: argument.map(u64::from) }));
            }
            _ => return None,
        }
    }
    None
}

pub fn constant_text(pointer: Value, len: usize) -> Option<String> {
    let bytes = pointer.as_global_variable()?.initializer()?.as_bytes()?;
    String::from_utf8(bytes.get(..len)?.to_vec()).ok()
}
