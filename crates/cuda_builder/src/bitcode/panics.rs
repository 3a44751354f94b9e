//! Panics become `__assertfail` with the message, file and line, and then `trap`.
//!
//! The panic functions of `core` are recognised by name, and each call is rewritten where it stands, with the message
//! that is there to read: `core`'s own bodies would bring all of its formatting code into the kernel. The thread never
//! runs on: `__assertfail` must not be declared `noreturn`, or LLVM would delete the `trap` after it and let the block
//! fall off its end.

use crate::bitcode::format::{self, Escapes, Kind, Part, Shown, Spec};
use crate::bitcode::{marks, names, printing};
use crate::llvm::{At, Builder, Context, Linkage, Module, Opcode, Type, Value};

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
    let Some(last) = function.parameter_count().checked_sub(1) else { return false };
    let last = |attribute| function.enum_attribute(At::Parameter(last), attribute);
    // What calls it unoptimised says no more of a reference than its alignment.
    let is_location = match last("dereferenceable") {
        Some(size) => size == 24,
        None => last("align") == Some(8),
    };
    standard && is_location && function.has_enum_attribute(At::Function, "noreturn")
}

fn rewrite_call(context: &Context, module: &Module<'_>, call: Value, name: &str) {
    let arguments = call.arguments();
    let location = match arguments.last() {
        Some(&location) if !WITHOUT_LOCATION.contains(&name) => location,
        _ => no_location(context, module),
    };
    let build = Builder::before(call);
    let Message { text, values, reporter } = Message::new(module, message(context, &build, name, &arguments));
    let handed = handed_text(call, name, &arguments);
    let caller = names::of(call.function());
    let caller = caller.strip_prefix(marks::ENTRY).unwrap_or(&caller).to_owned();
    let text = match handed {
        Some(handed) => {
            for (call, own) in handed.callers {
                // The callee's own text begins with what stands for the caller's.
                let rest = text.strip_prefix(EXPECT.as_bytes()).unwrap_or_default();
                let whole = constant(context, module, [without_marks(&own).as_bytes(), rest].concat());
                call.set_operand(handed.index, whole);
            }
            arguments[0]
        }
        None => constant(context, module, text),
    };
    let caller = constant(context, module, caller);
    let mut passed = vec![text, location, caller];
    passed.extend(values);
    if let Some(reporter) = reporter {
        // The reporter has as many places for values as it has room.
        passed.resize(reporter.parameter_count() as usize - 1, context.int(64).int(0));
    }
    let panic = panic_function(context, module, reporter);
    let new = build.call(panic.value_type(), panic, &passed);
    new.add_call_attribute("noreturn");
    call.erase();
}

/// The text without what would be taken for a value's place.
fn without_marks(text: &str) -> String {
    text.chars().map(|c| if (c as u32) < 8 { '?' } else { c }).collect()
}

/// The message of `Result::expect` where its text is not known: its callers are told apart no more.
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
        Some((user, format::constant_text(*passed.get(index as usize)?, length)?))
    });
    Some(HandedText { index, callers: callers.collect::<Option<_>>()? })
}

/// A panic's text, the values that it shows, and the function of `cuda_std` that writes them into it; none if there are
/// none.
struct Message {
    text: Vec<u8>,
    values: Vec<Value>,
    reporter: Option<Value>,
}

impl Message {
    fn new(module: &Module<'_>, parts: Vec<Part>) -> Self {
        let reporter = |name: &str, parameters: u32| {
            module.function(name).filter(|function| function.parameter_count() == parameters)
        };
        let plain = |parts: &[Part]| {
            let text = |part: &Part| match part {
                Part::Text(text) => without_marks(text),
                Part::Value(..) | Part::Other(_) => "{}".to_owned(),
            };
            parts.iter().map(text).collect::<String>().into_bytes()
        };
        if !parts.iter().any(|part| matches!(part, Part::Value(..))) {
            let named = |part: Part| match part {
                Part::Other(ty) => Part::Text(other(&ty)),
                part => part,
            };
            let parts: Vec<Part> = parts.into_iter().map(named).collect();
            return Self { text: plain(&parts), values: Vec::new(), reporter: None };
        }
        if let Some((text, values)) = simple(&parts)
            && let Some(reporter) = reporter(WITH_VALUES, 8)
        {
            return Self { text, values, reporter: Some(reporter) };
        }
        let floats = parts.iter().map(|part| match part {
            Part::Value(_, shown) if shown.kind >= Kind::F64 => 2,
            Part::Value(_, shown) if shown.kind >= Kind::F32 => 1,
            _ => 0,
        });
        let name = FORMATTED[floats.max().unwrap_or(0)];
        match reporter(name, 4 + ROOM as u32) {
            Some(reporter) => {
                let (text, values) = format::script(parts, ROOM, other);
                Self { text, values, reporter: Some(reporter) }
            }
            None => Self { text: plain(&parts), values: Vec::new(), reporter: None },
        }
    }
}

/// Placeholder for a value of a type that only `core::fmt` could show.
fn other(ty: &str) -> String {
    format!("<{ty}>")
}

/// A text in which a byte 1 stands for an unsigned number and 2 for a signed one, if there are no others and they are
/// shown plainly. Its reporter is small: any index may need it.
fn simple(parts: &[Part]) -> Option<(Vec<u8>, Vec<Value>)> {
    let (mut text, mut values) = (String::new(), Vec::new());
    for part in parts {
        match part {
            Part::Text(piece) => text.push_str(&without_marks(piece)),
            Part::Other(ty) => text.push_str(&other(ty)),
            Part::Value(Spec::PLAIN, shown) if shown.kind <= Kind::Signed => {
                text.push(if shown.kind == Kind::Signed { '\u{2}' } else { '\u{1}' });
                values.extend(&shown.values);
            }
            Part::Value(..) => return None,
        }
    }
    (values.len() <= 4).then_some((text.into_bytes(), values))
}

/// The name of the `Location` that says nothing.
pub const NO_LOCATION: &str = "warpsmith_no_location";

/// The `Location` that says nothing, until its users are inlined.
fn no_location(context: &Context, module: &Module<'_>) -> Value {
    module.global(NO_LOCATION).unwrap_or_else(|| {
        let unknown = location(context, module, "?", 0);
        unknown.set_name(NO_LOCATION);
        unknown
    })
}

/// A `Location` as `core` has it.
pub fn location(context: &Context, module: &Module<'_>, file: &str, line: u32) -> Value {
    let (len, column) = (context.int(64).int(file.len() as i64), context.int(32).int(0));
    let fields = [constant(context, module, file), len, context.int(32).int(line.into()), column];
    let location = module.add_constant("panic_place", context.constant_structure(&fields));
    location.set_alignment(8);
    location
}

fn constant(context: &Context, module: &Module<'_>, text: impl AsRef<[u8]>) -> Value {
    module.add_constant("panic_text", context.c_string(text))
}

/// The panic's message.
fn message(context: &Context, build: &Builder, name: &str, arguments: &[Value]) -> Vec<Part> {
    // The last part of the path, without the types of a generic function.
    let short = name.split("::<").next().unwrap_or(name).rsplit("::").next().unwrap_or(name);
    let given = |pointer: usize| {
        let len = arguments.get(pointer + 1)?.as_int()?;
        format::constant_text(*arguments.get(pointer)?, usize::try_from(len).ok()?)
    };
    // Text whose `{}` are these of the arguments, all of them indices or lengths.
    let with = |text: &str, order: &[usize]| {
        let mut parts = Vec::new();
        for (number, piece) in text.split("{}").enumerate() {
            if let Some(value) = number.checked_sub(1).and_then(|n| arguments.get(*order.get(n)?)) {
                let shown = Shown { kind: Kind::Unsigned, values: vec![*value], bits: 64 };
                parts.push(Part::Value(Spec::PLAIN, shown));
            }
            parts.push(Part::Text(piece.to_owned()));
        }
        parts
    };
    let plain = |text: &str| vec![Part::Text(text.to_owned())];
    match short {
        "panic_bounds_check" => with("index out of bounds: the len is {} but the index is {}", &[1, 0]),
        "slice_index_fail" => with("range {}..{} out of range for slice of length {}", &[0, 1, 2]),
        "slice_error_fail" => with(
            "byte range {}..{} of a `str` of {} bytes is out of bounds or splits a character",
            &[2, 3, 1],
        ),
        "len_mismatch_fail" => with(
            "copy_from_slice: source slice length ({}) does not match destination slice length ({})",
            &[1, 0],
        ),
        "assert_failed" => compared(context, build, name, arguments),
        "unwrap_failed" if name.contains("option") => plain("called `Option::unwrap()` on a `None` value"),
        "unwrap_failed" => {
            let text = given(0).unwrap_or_else(|| EXPECT.to_owned());
            let error = error_value(context, build, arguments);
            [Part::Text(text)].into_iter().chain(error.unwrap_or_default()).collect()
        }
        "panic" | "panic_nounwind" | "expect_failed" | "panic_str_2015" | "panic_display" => {
            plain(&given(0).unwrap_or_else(|| short.to_owned()))
        }
        "panic_fmt" | "panic_nounwind_fmt" => {
            let formatted = || {
                let (template, second) = (*arguments.first()?, *arguments.get(1)?);
                format::read(context, build, template, second, Escapes::Left)
            };
            formatted().unwrap_or_else(|| plain("explicit panic"))
        }
        "handle_alloc_error" | "handle_error" | "__rust_alloc_error_handler" => {
            plain("memory allocation failed")
        }
        "panic_for_nonpositive_argument" => plain("argument of integer logarithm must be positive"),
        "panic_already_borrowed" => plain("RefCell already borrowed"),
        "panic_already_mutably_borrowed" => plain("RefCell already mutably borrowed"),
        _ => match short.strip_prefix("panic_const_") {
            Some(kind) => plain(&constant_panic(kind)),
            None => plain(&short.strip_prefix("panic_").unwrap_or(short).replace('_', " ")),
        },
    }
}

/// `result::unwrap_failed(text, length, &error, its Debug)`: the error's value if it is of a type that can be shown, else
/// its type. The type is in the name of the function by which it would show itself.
fn error_value(context: &Context, build: &Builder, arguments: &[Value]) -> Option<Vec<Part>> {
    let vtable = arguments.get(3)?.as_global_variable()?.initializer()?;
    let functions = (0..).map_while(|index| vtable.element(index)).filter_map(Value::as_function);
    let shows = functions.map(names::of).find(|name| name.ends_with(" as core::fmt::Debug>::fmt"))?;
    let ty = shows.strip_prefix('<')?.strip_suffix(" as core::fmt::Debug>::fmt")?;
    let mut parts = vec![Part::Text(": ".into())];
    match format::debug(context, build, ty, *arguments.get(2)?) {
        Some(shown) => parts.extend(shown),
        None => parts = vec![Part::Text(format!(", a `{ty}`"))],
    }
    Some(parts)
}

/// `assert_failed::<T, U>(kind, &T, &U, message, …)`, where a message has the two words of a `fmt::Arguments`, or 0.
fn compared(context: &Context, build: &Builder, name: &str, arguments: &[Value]) -> Vec<Part> {
    let operator = match arguments.first().and_then(|kind| kind.as_int()) {
        Some(0) => "left == right",
        Some(1) => "left != right",
        _ => "left matches right",
    };
    let mut parts = vec![Part::Text(format!("assertion `{operator}` failed"))];
    if let [_, _, _, template, second, _] = *arguments
        && let Some(message) = format::read(context, build, template, second, Escapes::Left)
    {
        parts.push(Part::Text(": ".into()));
        parts.extend(message);
    }
    let sides = || {
        let (left, right) = two_types(name.split_once("assert_failed::<")?.1.strip_suffix('>')?)?;
        let side = |ty: &str, pointer: usize| {
            let shown = format::debug(context, build, ty, *arguments.get(pointer)?);
            Some(shown.unwrap_or_else(|| vec![Part::Other(ty.to_owned())]))
        };
        Some((side(left, 1)?, side(right, 2)?))
    };
    if let Some((left, right)) = sides() {
        parts.push(Part::Text(": left: ".into()));
        parts.extend(left);
        parts.push(Part::Text(", right: ".into()));
        parts.extend(right);
    }
    parts
}

/// The types of `T, U`, which may themselves be generic.
fn two_types(types: &str) -> Option<(&str, &str)> {
    let mut depth = 0;
    let between = types.char_indices().find(|(_, c)| {
        match c {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth -= 1,
            _ => {}
        }
        depth == 0 && *c == ','
    });
    let (left, right) = types.split_at(between?.0);
    Some((left, right.strip_prefix(", ")?))
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

/// `cuda_std`'s function that writes up to four values into a text and reports it.
const WITH_VALUES: &str = "__warpsmith_panic_with_values";

/// Those that follow a script with up to [`ROOM`] values, by what they must be able to write: no floats, `f32`, all.
const FORMATTED: [&str; 3] =
    ["__warpsmith_panic_formatted", "__warpsmith_panic_formatted_f32", "__warpsmith_panic_formatted_f64"];
const ROOM: usize = 8;

/// Functions of `cuda_std` that the lowering may come to call.
pub fn runtime() -> impl Iterator<Item = &'static str> {
    [WITH_VALUES].into_iter().chain(FORMATTED).chain(printing::FORMATTERS)
}

/// The functions that panics and prints end in.
pub fn is_reporter(name: &str) -> bool {
    name.starts_with(OWN) || runtime().any(|known| known == name)
}

/// The panic functions that are made here.
const OWN: &str = "warpsmith_panic";

/// `fn(message, &Location, function, values…) -> !`: reports, through `reporter` if there are values, and traps.
fn panic_function(context: &Context, module: &Module<'_>, reporter: Option<Value>) -> Value {
    let name = match reporter.map(Value::name) {
        None => OWN.to_owned(),
        Some(reporter) if reporter == WITH_VALUES => format!("{OWN}_values"),
        Some(reporter) => format!("{OWN}{}", reporter.trim_start_matches("__warpsmith_panic")),
    };
    if let Some(function) = module.function(&name) {
        return function;
    }
    let (pointer, int) = (context.pointer(0), context.int(64));
    let mut types = vec![pointer, pointer, pointer];
    if let Some(reporter) = reporter {
        types.resize(reporter.parameter_count() as usize - 1, int);
    }
    let function = module.add_function(&name, context.void().function(&types));
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
            passed.extend((3..types.len() as u32).map(|index| function.parameter(index)));
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
