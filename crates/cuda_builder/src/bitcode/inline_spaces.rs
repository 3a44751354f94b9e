//! Names the memory that inline PTX reaches: `atom.relaxed.gpu.add.u32` on an address that is known to be in shared memory
//! becomes `atom.relaxed.gpu.shared.add.u32`.
//!
//! LLVM finds the address spaces of its own loads and stores and leaves text alone. The atomics of `cuda_std` are such
//! text, and a generic atomic operation makes the GPU ask first, each time, where the address lies.

use crate::llvm::{Builder, Cast, Context, Module, Opcode, Value};

/// An instruction of inline PTX with a generic address.
pub struct Access {
    call: Value,
    /// Which argument the address is.
    argument: usize,
    /// Where in the text the name of the space goes.
    at: usize,
    /// A load from the address, for LLVM to find its space.
    probe: Value,
}

/// Puts a load before each such instruction. Between this and [`name`] LLVM's `infer-address-spaces` must run, and nothing
/// that would drop an unused load.
pub fn marked(context: &Context, module: &Module<'_>) -> Vec<Access> {
    let all = module.functions().into_iter().flat_map(Value::instructions);
    let calls = all.filter(|i| i.opcode() == Opcode::Call && i.called().is_some_and(Value::is_inline_asm));
    let accesses = calls.filter_map(|call| {
        let asm = call.called()?;
        let (at, operand) = generic_access(&asm.inline_asm_text())?;
        // Results are numbered first.
        let constraints = asm.inline_asm_constraints();
        let results = constraints.split(',').filter(|c| c.starts_with('=')).count();
        let argument = operand.checked_sub(results)?;
        let address = *call.arguments().get(argument)?;
        if address.ty() != context.pointer(0) {
            return None;
        }
        let probe = Builder::before(call).load(context.int(8), address, 1);
        Some(Access { call, argument, at, probe })
    });
    accesses.collect::<Vec<_>>()
}

/// Replaces those whose space was found.
pub fn name(context: &Context, accesses: Vec<Access>) {
    for Access { call, argument, at, probe } in accesses {
        let address = probe.operand(0);
        probe.erase();
        let space = match address.ty().address_space() {
            1 => ".global",
            3 => ".shared",
            _ => continue,
        };
        let Some(asm) = call.called() else { continue };
        let mut text = asm.inline_asm_text();
        text.insert_str(at, space);
        let build = Builder::before(call);
        let mut arguments = call.arguments();
        arguments[argument] = build.cast(Cast::PtrToInt, address, context.int(64));
        let parameters: Vec<_> = arguments.iter().map(|v| v.ty()).collect();
        let named = build.inline_asm(
            call.ty().function(&parameters),
            &text,
            &asm.inline_asm_constraints(),
            asm.inline_asm_has_side_effects(),
            &arguments,
        );
        named.add_call_attribute("nounwind");
        call.replace_all_uses(named);
        call.erase();
    }
}

/// Of text that is one load, store or atomic operation without a space: where its name goes, and the number of the
/// operand that is the address.
fn generic_access(text: &str) -> Option<(usize, usize)> {
    let start = text.len() - text.trim_start().len();
    let instruction = text.trim();
    let instruction = instruction.strip_suffix(';').unwrap_or(instruction);
    // Several instructions, one under a predicate, a comment.
    if instruction.contains([';', '@', '/', '\n']) {
        return None;
    }
    let opcode = instruction.split_whitespace().next()?;
    let mut parts = opcode.split('.');
    let operation = parts.next()?;
    if !matches!(operation, "atom" | "red" | "ld" | "st") {
        return None;
    }
    // Semantics and scope stand before the space.
    let before = |part: &&str| {
        ["weak", "volatile", "relaxed", "acquire", "release", "acq_rel", "cta", "cluster", "gpu", "sys"]
            .contains(part)
    };
    let at =
        start + operation.len() + parts.clone().take_while(before).map(|part| part.len() + 1).sum::<usize>();
    let named = |part: &str| {
        let first = part.split("::").next().unwrap_or(part);
        ["global", "shared", "local", "const", "param", "async", "bulk", "mmio"].contains(&first)
    };
    if parts.any(named) {
        return None;
    }
    let (_, address) = instruction.split_once("[${")?;
    let (number, _) = address.split_once('}')?;
    Some((at, number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::generic_access;

    fn named(text: &str) -> Option<(String, usize)> {
        let (at, operand) = generic_access(text)?;
        let mut text = text.to_owned();
        text.insert_str(at, ".shared");
        Some((text, operand))
    }

    #[test]
    fn the_space_follows_semantics_and_scope() {
        for (text, expected, operand) in [
            (
                "atom.relaxed.gpu.add.u32 ${0}, [${1}], ${2};",
                "atom.relaxed.gpu.shared.add.u32 ${0}, [${1}], ${2};",
                1,
            ),
            ("atom.add.f32 ${0}, [${1}], ${2};", "atom.shared.add.f32 ${0}, [${1}], ${2};", 1),
            ("ld.acquire.cta.u64 ${0}, [${1}+8];", "ld.acquire.cta.shared.u64 ${0}, [${1}+8];", 1),
            (" st.volatile.u32 [${0}], ${1};", " st.volatile.shared.u32 [${0}], ${1};", 0),
            ("red.release.sys.max.s32 [${0}], ${1}", "red.release.sys.shared.max.s32 [${0}], ${1}", 0),
            ("ld.v2.f32 {${0}, ${1}}, [${2}];", "ld.shared.v2.f32 {${0}, ${1}}, [${2}];", 2),
        ] {
            assert_eq!(named(text), Some((expected.to_owned(), operand)));
        }
    }

    #[test]
    fn other_text_is_left_alone() {
        for text in [
            "ld.global.nc.u32 ${0}, [${1}];",
            "ld.shared::cta.u32 ${0}, [${1}];",
            "red.async.relaxed.cluster.global.add.u32 [${0}], ${1}, [${2}];",
            "ld.mmio.relaxed.sys.u32 ${0}, [${1}];",
            "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {${0}}, [${1}];",
            "{ .reg .b32 t; ld.u32 t, [${1}]; mov.u32 ${0}, t; }",
            "ld.u32 ${0}, [${1}]; add.u32 ${0}, ${0}, 1;",
            "@p ld.u32 ${0}, [${1}];",
            "ld.u32 ${0}, [table];",
            "membar.gl;",
            "",
        ] {
            assert_eq!(named(text), None, "{text}");
        }
    }
}
