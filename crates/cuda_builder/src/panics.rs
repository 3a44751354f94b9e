//! Panics become `__assertfail` with the message, file and line, and then `trap`.
//!
//! The panic functions of `core` are recognised by name, and each call is rewritten where it stands, with the message
//! that is there to read: `core`'s own bodies would bring all of its formatting code into the kernel. The thread never
//! runs on: `__assertfail` must not be declared `noreturn`, or LLVM would delete the `trap` after it and let the block
//! fall off its end.

use crate::llvm::{At, Builder, Cast, Context, Linkage, Module, Opcode, Type, Value};
use crate::{marks, names};
use std::collections::HashMap;

/// Rewrites every call of a panic function.
pub fn rewrite(context: &Context, module: &Module<'_>) {
    for function in module.functions() {
        let name = names::of(function);
        if !is_panic(&name, function) {
            continue;
        }
        for call in function.users() {
            if call.as_instruction().is_some()
                && call.opcode() == Opcode::Call
                && call.called() == Some(function)
            {
                rewrite_call(context, module, call, &name);
            }
        }
    }
}

/// Panic functions that are not told where they were called.
const WITHOUT_LOCATION: [&str; 3] = [
    "alloc::alloc::handle_alloc_error",
    "alloc::raw_vec::handle_error",
    "__rustc::__rust_alloc_error_handler",
];

/// Panic functions are `core`'s or `alloc`'s, never return, and are told the caller's location last.
fn is_panic(name: &str, function: Value) -> bool {
    let standard = ["core::", "alloc::", "<core::", "<alloc::"].iter().any(|start| name.starts_with(start));
    if WITHOUT_LOCATION.contains(&name) {
        return true;
    }
    let last = function.parameter_count().wrapping_sub(1);
    standard
        && function.has_enum_attribute(At::Function, "noreturn")
        && function.parameter_count() > 0
        && function.enum_attribute(At::Parameter(last), "dereferenceable") == Some(24)
}

fn rewrite_call(context: &Context, module: &Module<'_>, call: Value, name: &str) {
    let arguments = call.arguments();
    let location = match arguments.last() {
        Some(&location) if !WITHOUT_LOCATION.contains(&name) => location,
        _ => no_location(context, module),
    };
    let build = Builder::before(call);
    let Message { mut text, mut values } = message(context, &build, name, &arguments);
    let reporter = module.function(WITH_VALUES).filter(|f| f.parameter_count() == 8);
    values.truncate(4);
    if reporter.is_none() || values.is_empty() {
        text = without_marks(&text);
        values.clear();
    }
    let handed = handed_text(call, name, &arguments);
    let caller = names::of(call.function());
    let caller = caller.strip_prefix(marks::ENTRY).unwrap_or(&caller).to_owned();
    let text = match handed {
        Some(handed) => {
            for (call, own) in handed.callers {
                // The callee's own text begins with what stands for the caller's.
                let rest = text.strip_prefix(EXPECT).unwrap_or_default();
                let whole = constant(context, module, &(without_marks(&own) + rest));
                call.set_operand(handed.index, whole);
            }
            arguments[0]
        }
        None => constant(context, module, &text),
    };
    let caller = constant(context, module, &caller);
    let mut passed = vec![text, location, caller];
    let panic = if values.is_empty() {
        panic_function(context, module, None)
    } else {
        values.resize(4, context.int(64).int(0));
        passed.extend(values);
        panic_function(context, module, reporter)
    };
    let new = build.call(panic.value_type(), panic, &passed);
    new.add_call_attribute("noreturn");
    call.erase();
}

/// The text without what would be taken for a value's place.
fn without_marks(text: &str) -> String {
    text.chars().map(|c| if (c as u32) < 8 { '?' } else { c }).collect()
}

/// What `Result::expect` says where its text is not known: its callers are told apart no more.
const EXPECT: &str = "called `Result::expect()` on an `Err` value";

/// A text that a function such as `Result::expect` is handed by its callers.
struct HandedText {
    /// The number of the parameter.
    index: u32,
    /// Calls of the function, with the text that each passes.
    callers: Vec<(Value, String)>,
}

/// Finds the callers' texts where a function does nothing with its text but panic. Each can then pass its own with the
/// end of the message, NUL-terminated: the reporter takes no length.
fn handed_text(call: Value, name: &str, arguments: &[Value]) -> Option<HandedText> {
    if !name.ends_with("result::unwrap_failed") {
        return None;
    }
    let function = call.function();
    let text = *arguments.first()?;
    let index = (0..function.parameter_count()).find(|index| function.parameter(*index) == text)?;
    if text.users().len() != 1 {
        return None;
    }
    let callers = function.users().into_iter().map(|user| {
        let calls = user.as_instruction().is_some()
            && user.opcode() == Opcode::Call
            && user.called() == Some(function);
        let passed = calls.then(|| user.arguments())?;
        let length = usize::try_from(passed.get(index as usize + 1)?.as_int()?).ok()?;
        Some((user, constant_text(*passed.get(index as usize)?, length)?))
    });
    Some(HandedText { index, callers: callers.collect::<Option<_>>()? })
}

/// A panic's text, in which bytes below 8 stand for the values: 1 unsigned, 2 signed, 3 `bool`, 4 `char`, 5 `f64`,
/// 6 and 7 hexadecimal with small and with large letters.
struct Message {
    text: String,
    values: Vec<Value>,
}

impl Message {
    fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), values: Vec::new() }
    }
}

/// A `Location` that says nothing.
fn no_location(context: &Context, module: &Module<'_>) -> Value {
    const NAME: &str = "warpsmith_no_location";
    module.global(NAME).unwrap_or_else(|| {
        let file = constant(context, module, "?");
        let (len, int) = (context.int(64).int(1), context.int(32).int(0));
        let location = module.add_constant(NAME, context.constant_structure(&[file, len, int, int]));
        location.set_alignment(8);
        location
    })
}

fn constant(context: &Context, module: &Module<'_>, text: &str) -> Value {
    module.add_constant("panic_text", context.c_string(text))
}

/// What the panic says.
fn message(context: &Context, build: &Builder, name: &str, arguments: &[Value]) -> Message {
    // The last part of the path, without the types of a generic function.
    let short = name.split("::<").next().unwrap_or(name).rsplit("::").next().unwrap_or(name);
    let given = |pointer: usize| {
        let len = arguments.get(pointer + 1)?.as_int()?;
        constant_text(*arguments.get(pointer)?, usize::try_from(len).ok()?)
    };
    let with = |text: &str, order: &[usize]| Message {
        text: text.to_owned(),
        values: order.iter().filter_map(|index| arguments.get(*index).copied()).collect(),
    };
    match short {
        "panic_bounds_check" => with("index out of bounds: the len is \u{1} but the index is \u{1}", &[1, 0]),
        "slice_index_fail" => with("range \u{1}..\u{1} out of range for slice of length \u{1}", &[0, 1, 2]),
        "len_mismatch_fail" => with(
            "copy_from_slice: source slice length (\u{1}) does not match destination slice length (\u{1})",
            &[1, 0],
        ),
        "assert_failed" => compared(context, build, name, arguments)
            .unwrap_or_else(|| Message::plain("assertion failed: the two sides compare otherwise")),
        "unwrap_failed" if name.contains("option") => {
            Message::plain("called `Option::unwrap()` on a `None` value")
        }
        "unwrap_failed" => {
            let text = given(0).unwrap_or_else(|| EXPECT.to_owned());
            error_value(context, build, &text, arguments).unwrap_or_else(|| Message::plain(text))
        }
        "panic" | "panic_nounwind" | "expect_failed" | "panic_str_2015" | "panic_display" => {
            Message::plain(given(0).unwrap_or_else(|| short.to_owned()))
        }
        "panic_fmt" | "panic_nounwind_fmt" => {
            formatted(context, build, arguments).unwrap_or_else(|| Message::plain("explicit panic"))
        }
        "handle_alloc_error" | "handle_error" | "__rust_alloc_error_handler" => {
            Message::plain("memory allocation failed")
        }
        _ => Message::plain(match short.strip_prefix("panic_const_") {
            Some(kind) => constant_panic(kind),
            None => short.strip_prefix("panic_").unwrap_or(short).replace('_', " "),
        }),
    }
}

/// `result::unwrap_failed(text, length, &error, its Debug)`: the error's value if it is of a type that can be shown, else
/// its type. The type is in the name of the function by which it would show itself.
fn error_value(context: &Context, build: &Builder, text: &str, arguments: &[Value]) -> Option<Message> {
    let vtable = arguments.get(3)?.as_global_variable()?.initializer()?;
    let functions = (0..).map_while(|index| vtable.element(index)).filter_map(Value::as_function);
    let shows = functions.map(names::of).find(|name| name.ends_with(" as core::fmt::Debug>::fmt"))?;
    let ty = shows.strip_prefix('<')?.strip_suffix(" as core::fmt::Debug>::fmt")?;
    Some(match shown(context, build, ty, *arguments.get(2)?) {
        Some((mark, value)) => Message { text: format!("{text}: {mark}"), values: vec![value] },
        None => Message::plain(format!("{text}, a `{ty}`")),
    })
}

/// `assert_failed::<T, U>(kind, &T, &U, …)`, where both are types that can be shown.
fn compared(context: &Context, build: &Builder, name: &str, arguments: &[Value]) -> Option<Message> {
    let types = name.split_once("assert_failed::<")?.1.strip_suffix('>')?;
    let (left, right) = types.split_once(", ")?;
    let operator = if arguments.first()?.as_int()? == 0 { "==" } else { "!=" };
    let (left_mark, left) = shown(context, build, left, *arguments.get(1)?)?;
    let (right_mark, right) = shown(context, build, right, *arguments.get(2)?)?;
    let text = format!("assertion `left {operator} right` failed: left: {left_mark}, right: {right_mark}");
    Some(Message { text, values: vec![left, right] })
}

/// The value of this type behind a pointer, as 64 bits, and the character that stands for it.
fn shown(context: &Context, build: &Builder, ty: &str, pointer: Value) -> Option<(char, Value)> {
    let int = context.int(64);
    let load = |bits: u32| build.load(context.int(bits), pointer, bits / 8);
    let unsigned = |bits| if bits == 64 { load(bits) } else { build.cast(Cast::ZExt, load(bits), int) };
    let signed = |bits| if bits == 64 { load(bits) } else { build.cast(Cast::SExt, load(bits), int) };
    Some(match ty {
        "u8" => ('\u{1}', unsigned(8)),
        "u16" => ('\u{1}', unsigned(16)),
        "u32" => ('\u{1}', unsigned(32)),
        "u64" | "usize" => ('\u{1}', unsigned(64)),
        "i8" => ('\u{2}', signed(8)),
        "i16" => ('\u{2}', signed(16)),
        "i32" => ('\u{2}', signed(32)),
        "i64" | "isize" => ('\u{2}', signed(64)),
        "bool" => ('\u{3}', unsigned(8)),
        "char" => ('\u{4}', unsigned(32)),
        "f32" => {
            let value = build.cast(Cast::FpExt, build.load(context.float(), pointer, 4), context.double());
            ('\u{5}', build.cast(Cast::Bits, value, int))
        }
        "f64" => ('\u{5}', load(64)),
        _ => return None,
    })
}

/// The value of an integer type as its own bits.
fn hexadecimal(
    context: &Context,
    build: &Builder,
    ty: &str,
    pointer: Value,
    mark: char,
) -> Option<(char, Value)> {
    let bits = ty.strip_prefix(['i', 'u'])?;
    let (_, value) = shown(context, build, &format!("u{bits}"), pointer)?;
    Some((mark, value))
}

/// The text of a `panic_const_*` function, by the words of `core`.
fn constant_panic(kind: &str) -> String {
    let text = match kind {
        "div_by_zero" => "attempt to divide by zero",
        "rem_by_zero" => "attempt to calculate the remainder with a divisor of zero",
        "add_overflow" => "attempt to add with overflow",
        "sub_overflow" => "attempt to subtract with overflow",
        "mul_overflow" => "attempt to multiply with overflow",
        "div_overflow" => "attempt to divide with overflow",
        "rem_overflow" => "attempt to calculate the remainder with overflow",
        "neg_overflow" => "attempt to negate with overflow",
        "shl_overflow" => "attempt to shift left with overflow",
        "shr_overflow" => "attempt to shift right with overflow",
        other => return other.replace('_', " "),
    };
    text.to_owned()
}

/// A `fmt::Arguments`: two words, a template and either a pointer to the arguments or, with the low bit set, twice the
/// length of a plain text.
fn formatted(context: &Context, build: &Builder, arguments: &[Value]) -> Option<Message> {
    let (template, second) = (*arguments.first()?, *arguments.get(1)?);
    // `inttoptr (i64 tag to ptr)` as a constant expression.
    if second.is_constant_expression() && second.operand_count() == 1 {
        let tag = second.operand(0).as_int()?;
        if tag & 1 == 1 {
            return constant_text(template, usize::try_from(tag >> 1).ok()?).map(Message::plain);
        }
    }
    let given = stored_arguments(second);
    let (mut text, mut values, mut next) = (String::new(), Vec::new(), 0);
    for piece in pieces(&template.as_global_variable()?.initializer()?.as_bytes()?)? {
        match piece {
            Piece::Text(piece) => text.push_str(&piece),
            Piece::Value(index, alternate) => {
                let index = index.unwrap_or(next);
                next = index + 1;
                let argument = given.get(&(16 * index)).zip(given.get(&(16 * index + 8)));
                let shown = argument.and_then(|(value, formatter)| {
                    let formatter = names::of(*formatter);
                    let (ty, way) = formatter.strip_prefix('<')?.split_once(" as core::fmt::")?;
                    let referred = ty.trim_start_matches('&');
                    if values.len() >= 4 || referred != ty {
                        return None;
                    }
                    match way.split(">::").next()? {
                        "LowerHex" => hexadecimal(context, build, ty, *value, '\u{6}'),
                        "UpperHex" => hexadecimal(context, build, ty, *value, '\u{7}'),
                        "Display" | "Debug" => shown(context, build, ty, *value),
                        _ => None,
                    }
                });
                match shown {
                    Some((mark, value)) => {
                        if alternate && matches!(mark, '\u{6}' | '\u{7}') {
                            text.push_str("0x");
                        }
                        text.push(mark);
                        values.push(value);
                    }
                    None => text.push_str("{}"),
                }
            }
        }
    }
    Some(Message { text, values })
}

/// What is stored in the array of arguments, by byte offset: a pointer to the value, then its formatter.
fn stored_arguments(array: Value) -> HashMap<u64, Value> {
    let mut stored = HashMap::new();
    if !array.is_alloca() {
        return stored;
    }
    for user in array.users() {
        let Some(user) = user.as_instruction() else { continue };
        match user.opcode() {
            Opcode::Store if user.operand(1) == array => {
                stored.insert(0, user.operand(0));
            }
            Opcode::GetElementPtr => {
                let Some(offset) = user.constant_offset() else { continue };
                for store in user.users() {
                    if store.opcode() == Opcode::Store && store.operand(1) == user {
                        stored.insert(offset, store.operand(0));
                    }
                }
            }
            _ => {}
        }
    }
    stored
}

/// In the third byte of the flags of a format, above 21 bits of the character that fills.
const ALTERNATE: u8 = 1 << 7;

enum Piece {
    Text(String),
    /// The number of the argument, if it is not the next; and whether `#` stands in its format.
    Value(Option<u64>, bool),
}

/// A format template: a length and that many bytes of text; or a code from 0xC0 on whose low bits say which of flags,
/// width, precision and argument number follow; 0 ends.
fn pieces(template: &[u8]) -> Option<Vec<Piece>> {
    let mut all = Vec::new();
    let mut rest = template;
    while let Some((&code, tail)) = rest.split_first() {
        rest = tail;
        match code {
            0 => break,
            1..=0x7f => {
                let (piece, tail) = rest.split_at_checked(usize::from(code))?;
                all.push(Piece::Text(std::str::from_utf8(piece).ok()?.to_owned()));
                rest = tail;
            }
            0x80 => {
                let (len, tail) = rest.split_at_checked(2)?;
                let (piece, tail) =
                    tail.split_at_checked(usize::from(u16::from_le_bytes([len[0], len[1]])))?;
                all.push(Piece::Text(std::str::from_utf8(piece).ok()?.to_owned()));
                rest = tail;
            }
            _ => {
                let (mut index, mut alternate) = (None, false);
                for (bit, len) in [(1, 4), (2, 2), (4, 2), (8, 2)] {
                    if code & bit != 0 {
                        let (field, tail) = rest.split_at_checked(len)?;
                        if bit == 1 {
                            alternate = field[2] & ALTERNATE != 0;
                        }
                        if bit == 8 {
                            index = Some(u64::from(u16::from_le_bytes([field[0], field[1]])));
                        }
                        rest = tail;
                    }
                }
                all.push(Piece::Value(index, alternate));
            }
        }
    }
    Some(all)
}

fn constant_text(pointer: Value, len: usize) -> Option<String> {
    let bytes = pointer.as_global_variable()?.initializer()?.as_bytes()?;
    String::from_utf8(bytes.get(..len)?.to_vec()).ok()
}

/// `cuda_std`'s function that writes values into a text and reports it.
pub const WITH_VALUES: &str = "__warpsmith_panic_with_values";

/// The functions that every panic ends in.
pub const REPORTERS: [&str; 3] = [WITH_VALUES, "warpsmith_panic_values", "warpsmith_panic"];

/// `fn(message, &Location, function, values…) -> !`: reports, through `reporter` if there are values, and traps.
fn panic_function(context: &Context, module: &Module<'_>, reporter: Option<Value>) -> Value {
    let name = if reporter.is_some() { "warpsmith_panic_values" } else { "warpsmith_panic" };
    if let Some(function) = module.function(name) {
        return function;
    }
    let (pointer, int) = (context.pointer(0), context.int(64));
    let mut types = vec![pointer, pointer, pointer];
    if reporter.is_some() {
        types.extend([int; 4]);
    }
    let function = module.add_function(name, context.void().function(&types));
    function.set_linkage(Linkage::Internal);
    for attribute in ["cold", "noinline", "noreturn", "nounwind", "convergent"] {
        function.add_enum_attribute(At::Function, attribute, 0);
    }
    let build = Builder::at_end(function.append_block("start"));
    let (message, location, caller) = (function.parameter(0), function.parameter(1), function.parameter(2));
    let file = build.load(pointer, location, 8);
    let line = build.load(context.int(32), build.offset(context.int(8), location, int.int(16)), 8);
    match reporter {
        Some(reporter) => {
            let mut passed = vec![message, file, line, caller];
            passed.extend((3..7).map(|index| function.parameter(index)));
            build.call(reporter.value_type(), reporter, &passed);
        }
        None => {
            let (assert_fail, ty) = assert_fail(context, module);
            build.call(ty, assert_fail, &[message, file, line, caller, int.int(1)]);
        }
    }
    let trap = module.declare("llvm.trap", context.void().function(&[]));
    build.call(trap.value_type(), trap, &[]);
    build.unreachable();
    function
}

fn assert_fail(context: &Context, module: &Module<'_>) -> (Value, Type) {
    let (pointer, int) = (context.pointer(0), context.int(32));
    let ty = context.void().function(&[pointer, pointer, int, pointer, context.int(64)]);
    (module.declare("__assertfail", ty), ty)
}
