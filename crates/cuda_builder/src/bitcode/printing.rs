//! `print!` without `core::fmt`.
//!
//! Each call of `cuda_std`'s `print` whose values are all of types that the lowering knows is rewritten where it stands.
//! If C's `printf` would write them exactly as Rust does, as it does integers, `bool`s and text, it becomes one call of
//! `vprintf` with a format of C. Else (floats, characters, `&str`s, fields that are centred or filled) it becomes one
//! call of `cuda_std`'s own formatter, with a script. What a user's type writes of itself stays with `core::fmt`.

use crate::bitcode::format::{self, Escapes, Kind, Part, Shown, Spec, flag};
use crate::bitcode::names;
use crate::llvm::{Builder, Context, Module, Opcode, Value};

/// The function behind `print!`.
const PRINT: &str = "cuda_std::io::print";

/// `cuda_std`'s formatters, by what they must be able to write: no floats, `f32`, all.
pub const FORMATTERS: [&str; 3] = ["__warpsmith_print", "__warpsmith_print_f32", "__warpsmith_print_f64"];

/// C's `printf` is only asked for fields of usual widths.
const MAX_WIDTH: u16 = 512;

/// Rewrites the prints that it can.
pub fn rewrite(context: &Context, module: &Module<'_>) {
    let prints = module.functions().into_iter().filter(|function| names::of(*function) == PRINT);
    let calls: Vec<Value> = prints
        .flat_map(|print| print.users().into_iter().filter(move |user| is_call_of(*user, print)))
        .collect();
    let mut scripted = Vec::new();
    for call in calls {
        let build = Builder::before(call);
        let [template, second] = call.arguments()[..] else { continue };
        let Some(parts) = format::read(context, &build, template, second, Escapes::Exact) else { continue };
        if parts.iter().any(|part| matches!(part, Part::Other(_))) {
            continue;
        }
        match as_c(context, module, &build, &parts) {
            Some((text, values)) => {
                let text = module.add_constant("print_text", context.c_string(text));
                let pointer = context.pointer(0);
                let vprintf = module.declare("vprintf", context.int(32).function(&[pointer, pointer]));
                let array = array(context, &build, call, &values);
                build.call(vprintf.value_type(), vprintf, &[text, array]);
                call.erase();
            }
            None => scripted.push((call, parts)),
        }
    }
    // One formatter for the whole module: two would have most of their code in common.
    let floats = scripted.iter().flat_map(|(_, parts)| parts).map(|part| match part {
        Part::Value(_, shown) if shown.kind >= Kind::F64 => 2,
        Part::Value(_, shown) if shown.kind >= Kind::F32 => 1,
        _ => 0,
    });
    let Some(formatter) = FORMATTERS.get(floats.max().unwrap_or(0)).and_then(|name| module.function(name))
    else {
        return;
    };
    for (call, parts) in scripted {
        let build = Builder::before(call);
        let (script, values) = format::script(parts, usize::MAX, |_| String::new());
        let script = module.add_constant("print_script", context.c_string(script));
        let array = array(context, &build, call, &values);
        build.call(formatter.value_type(), formatter, &[script, array]);
        call.erase();
    }
}

fn is_call_of(user: Value, function: Value) -> bool {
    user.as_instruction().is_some() && user.opcode() == Opcode::Call && user.called() == Some(function)
}

/// The values in memory, one after the other. It is made where the function begins: in a loop, each turn would take
/// more of the stack.
fn array(context: &Context, build: &Builder, call: Value, values: &[Value]) -> Value {
    if values.is_empty() {
        return context.pointer(0).zero();
    }
    let int = context.int(64);
    let first = call.function().blocks().first().and_then(|block| block.instructions().first().copied());
    let start = Builder::before(first.unwrap_or(call));
    let array = start.alloca(int.array(values.len() as u64), 8);
    for (index, value) in values.iter().enumerate() {
        build.store(*value, build.offset(int, array, int.int(index as i64)), 8);
    }
    array
}

/// C's format and values, where C writes each exactly as Rust does.
fn as_c(
    context: &Context,
    module: &Module<'_>,
    build: &Builder,
    parts: &[Part],
) -> Option<(String, Vec<Value>)> {
    let (mut text, mut values) = (String::new(), Vec::new());
    for part in parts {
        match part {
            Part::Text(piece) => text.push_str(&piece.replace('%', "%%").replace('\0', "\u{2400}")),
            Part::Value(spec, shown) => {
                text.push_str(&conversion(*spec, shown)?);
                values.push(match (shown.kind, &shown.values[..]) {
                    (Kind::Bool, [value]) => bool_text(context, module, build, *value),
                    (_, [value]) => *value,
                    _ => return None,
                });
            }
            Part::Other(_) => return None,
        }
    }
    Some((text, values))
}

/// The address of `true` or of `false`.
fn bool_text(context: &Context, module: &Module<'_>, build: &Builder, value: Value) -> Value {
    let text = |text: &str| module.add_constant("print_bool", context.c_string(text));
    let is_true = build.compare(33, value, context.int(64).int(0));
    build.select(is_true, text("true"), text("false"))
}

/// The conversion of C that writes a value as Rust does, if there is one.
fn conversion(spec: Spec, shown: &Shown) -> Option<String> {
    let number = shown.kind < Kind::Bool;
    let (plus, alternate) = (spec.has(flag::PLUS), spec.has(flag::ALTERNATE));
    let zero = number && spec.has(flag::ZERO);
    let align = spec.flags >> flag::ALIGN;
    if spec.width > MAX_WIDTH
        || spec.width > 0 && !zero && (spec.flags & flag::FILL != u32::from(b' ') || align == 2)
    {
        return None;
    }
    let mut width = spec.width;
    // Texts go to the left by themselves, numbers to the right.
    let left = width > 0 && !zero && (align == 0 || align == 3 && !number);
    let (letters, prefix) = match shown.kind {
        Kind::Bool => {
            let precision = spec.precision.map(|precision| format!(".{precision}")).unwrap_or_default();
            let width = if width > 0 { width.to_string() } else { String::new() };
            return Some(format!("%{}{width}{precision}s", if left { "-" } else { "" }));
        }
        // C takes no plus for unsigned ones. Those of less than 64 bits are signed ones, too.
        Kind::Unsigned if plus && shown.bits == 64 => return None,
        Kind::Unsigned if plus => ("lld", ""),
        Kind::Unsigned => ("llu", ""),
        Kind::Signed => ("lld", ""),
        Kind::LowerHex | Kind::UpperHex | Kind::Octal if plus => return None,
        Kind::LowerHex => ("llx", "0x"),
        Kind::UpperHex => ("llX", "0x"),
        Kind::Octal => ("llo", "0o"),
        _ => return None,
    };
    let prefix = if alternate { prefix } else { "" };
    if !prefix.is_empty() && width > 0 {
        // C's own prefix is none for 0. Ours must stand right before the zeros.
        if !zero {
            return None;
        }
        width = width.saturating_sub(2).max(1);
    }
    let flags = [(plus, "+"), (left, "-"), (zero && width > 0, "0")];
    let flags: String = flags.into_iter().filter(|(is, _)| *is).map(|(_, flag)| flag).collect();
    let width = if width > 0 { width.to_string() } else { String::new() };
    Some(format!("{prefix}%{flags}{width}{letters}"))
}
