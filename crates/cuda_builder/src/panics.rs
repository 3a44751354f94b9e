//! Panics become `__assertfail` with the message, file and line, and then `trap`.
//!
//! The panic functions of `core` are recognised by name, and each call is rewritten where it stands, with the message
//! that is there to read: `core`'s own bodies would bring all of its formatting code into the kernel. The thread never
//! runs on: `__assertfail` must not be declared `noreturn`, or LLVM would delete the `trap` after it and let the block
//! fall off its end.

use crate::llvm::{At, Builder, Context, Linkage, Module, Opcode, Type, Value};
use crate::names;

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

/// Panic functions are `core`'s or `alloc`'s, never return, and are told the caller's location last.
fn is_panic(name: &str, function: Value) -> bool {
    let standard = ["core::", "alloc::", "<core::", "<alloc::"].iter().any(|start| name.starts_with(start));
    let last = function.parameter_count().wrapping_sub(1);
    standard
        && function.has_enum_attribute(At::Function, "noreturn")
        && function.parameter_count() > 0
        && function.enum_attribute(At::Parameter(last), "dereferenceable") == Some(24)
}

fn rewrite_call(context: &Context, module: &Module<'_>, call: Value, name: &str) {
    let arguments = call.arguments();
    let Some(&location) = arguments.last() else { return };
    let message = message(name, &arguments);
    let caller = names::of(call.function());
    let build = Builder::before(call);
    let panic = panic_function(context, module);
    let message = text(context, module, &message);
    let caller = text(context, module, &caller);
    let new = build.call(panic.value_type(), panic, &[message, location, caller]);
    new.add_call_attribute("noreturn");
    call.erase();
}

fn text(context: &Context, module: &Module<'_>, text: &str) -> Value {
    module.add_constant("panic_text", context.c_string(text))
}

/// What the panic says, as far as it is known when compiling.
fn message(name: &str, arguments: &[Value]) -> String {
    let short = name.rsplit("::").find(|part| !part.starts_with('<')).unwrap_or(name);
    let given = |pointer: usize| {
        let len = arguments.get(pointer + 1)?.as_int()?;
        constant_text(*arguments.get(pointer)?, usize::try_from(len).ok()?)
    };
    match short {
        "panic_bounds_check" => "index out of bounds".to_owned(),
        "unwrap_failed" if name.contains("option") => {
            "called `Option::unwrap()` on a `None` value".to_owned()
        }
        "panic" | "panic_nounwind" | "expect_failed" | "unwrap_failed" | "panic_str_2015"
        | "panic_display" => given(0).unwrap_or_else(|| short.to_owned()),
        "panic_fmt" => formatted(arguments).unwrap_or_else(|| "explicit panic".to_owned()),
        _ => match short.strip_prefix("panic_const_") {
            Some(kind) => constant_panic(kind),
            None => short.strip_prefix("panic_").unwrap_or(short).replace('_', " "),
        },
    }
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

/// The text of a `fmt::Arguments`: two words, a template and either a pointer to the arguments or, with the low bit
/// set, twice the length of a plain text.
fn formatted(arguments: &[Value]) -> Option<String> {
    let (template, second) = (*arguments.first()?, *arguments.get(1)?);
    // `inttoptr (i64 tag to ptr)` as a constant expression.
    if second.is_constant_expression() && second.operand_count() == 1 {
        let tag = second.operand(0).as_int()?;
        if tag & 1 == 1 {
            return constant_text(template, usize::try_from(tag >> 1).ok()?);
        }
    }
    pieces(&template.as_global_variable()?.initializer()?.as_bytes()?)
}

/// The literal pieces of a format template, with `{}` where a value would stand.
fn pieces(template: &[u8]) -> Option<String> {
    let mut text = String::new();
    let mut rest = template;
    while let Some((&code, tail)) = rest.split_first() {
        rest = tail;
        match code {
            0 => return Some(text),
            1..=0x7f => {
                let (piece, tail) = rest.split_at_checked(usize::from(code))?;
                text.push_str(std::str::from_utf8(piece).ok()?);
                rest = tail;
            }
            0x80 => {
                let (len, tail) = rest.split_at_checked(2)?;
                let (piece, tail) =
                    tail.split_at_checked(usize::from(u16::from_le_bytes([len[0], len[1]])))?;
                text.push_str(std::str::from_utf8(piece).ok()?);
                rest = tail;
            }
            _ => {
                text.push_str("{}");
                // Flags, width, precision and argument number follow as the low bits say.
                let extra = [4, 2, 2, 2]
                    .iter()
                    .enumerate()
                    .filter(|(bit, _)| code & (1 << bit) != 0)
                    .map(|(_, n)| n)
                    .sum();
                rest = rest.split_at_checked(extra)?.1;
            }
        }
    }
    Some(text)
}

fn constant_text(pointer: Value, len: usize) -> Option<String> {
    let bytes = pointer.as_global_variable()?.initializer()?.as_bytes()?;
    String::from_utf8(bytes.get(..len)?.to_vec()).ok()
}

/// `fn(message, &Location, function) -> !`: reports and traps.
fn panic_function(context: &Context, module: &Module<'_>) -> Value {
    const NAME: &str = "warpsmith_panic";
    if let Some(function) = module.function(NAME) {
        return function;
    }
    let pointer = context.pointer(0);
    let function = module.add_function(NAME, context.void().function(&[pointer, pointer, pointer]));
    function.set_linkage(Linkage::Internal);
    for attribute in ["cold", "noinline", "noreturn", "nounwind", "convergent"] {
        function.add_enum_attribute(At::Function, attribute, 0);
    }
    let build = Builder::at_end(function.append_block("start"));
    let (message, location, caller) = (function.parameter(0), function.parameter(1), function.parameter(2));
    let file = build.load(pointer, location, 8);
    let line =
        build.load(context.int(32), build.offset(context.int(8), location, context.int(64).int(16)), 8);
    let (assert_fail, ty) = assert_fail(context, module);
    build.call(ty, assert_fail, &[message, file, line, caller, context.int(64).int(1)]);
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
