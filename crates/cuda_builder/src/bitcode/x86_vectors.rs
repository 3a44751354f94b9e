//! The x86 instructions on vectors, those that carry, and the division of two words, by what they compute.
//!
//! Most of `core::arch` is generic vector code that the device runs as it is. The rest are LLVM's `llvm.x86.…`, which no GPU
//! has; those of SSE and SSE2 that libraries of vectors use, and the carries of big integers (`_addcarry_u64`), which their
//! libraries use on every x86 and have no switch for, are defined in `x86_vectors.ll`. All others are refused.

use crate::llvm::{Binary, Builder, Cast, Context, DATA_LAYOUT, Linkage, Module, TRIPLE, Value};

const DEFINITIONS: &str = include_str!("x86_vectors.ll");

/// Prefix of the definitions' names, in place of `llvm.x86.`.
const OWN: &str = "warpsmith.x86.";

/// Puts the definitions where the instructions are used.
pub fn define(context: &Context, module: &Module<'_>) -> Result<(), String> {
    divide(context, module);
    let own_name = |function: &Value| {
        let name = format!("{OWN}{}", function.name().strip_prefix("llvm.x86.")?);
        DEFINITIONS.contains(&format!("@{name}(")).then_some(name)
    };
    let used: Vec<(Value, String)> = module
        .functions()
        .into_iter()
        .filter_map(|function| Some((function, own_name(&function)?)))
        .filter(|(function, _)| function.is_used())
        .collect();
    if used.is_empty() {
        return Ok(());
    }
    let definitions = context.parse_assembly(DEFINITIONS)?;
    definitions.set_target(TRIPLE, DATA_LAYOUT);
    if !module.link(definitions) {
        return Err(format!("x86's vectors cannot be linked: {}", context.take_errors().join("\n")));
    }
    for (instruction, name) in used {
        if let Some(own) = module.function(&name).filter(|own| own.value_type() == instruction.value_type()) {
            instruction.replace_all_uses(own);
        }
    }
    for function in module.functions().into_iter().filter(|function| function.name().starts_with(OWN)) {
        function.set_linkage(Linkage::Internal);
    }
    Ok(())
}

/// Replaces inline assembly that is the division of two words by one, as libraries of big integers (`num-bigint`, `ruint`)
/// write it for every x86-64: the quotient comes in `rax`, where the low word was, the remainder in `rdx`, where the high was.
fn divide(context: &Context, module: &Module<'_>) {
    let all = module.functions().into_iter().flat_map(Value::instructions).collect::<Vec<_>>();
    for call in all {
        let Some(asm) = call.called().filter(|callee| callee.is_inline_asm()) else { continue };
        let [divisor, first, second] = call.arguments()[..] else { continue };
        if asm.inline_asm_text().trim() != "div ${2:q}" {
            continue;
        }
        // Which of the two comes first is as the source has it. An input is tied to its result by register or by number.
        let constraints = asm.inline_asm_constraints().replace(['&', '='], "");
        let is = |order: [&str; 2]| {
            let [a, b] = order;
            [format!("{a},{b},r,{a},{b},"), format!("{a},{b},r,0,1,")]
                .iter()
                .any(|form| constraints.starts_with(form))
        };
        let (remainder_first, quotient_first) = (is(["{dx}", "{ax}"]), is(["{ax}", "{dx}"]));
        let (word, wide) = (context.int(64), context.int(128));
        if !(remainder_first || quotient_first) || [divisor, first, second].iter().any(|o| o.ty() != word) {
            continue;
        }
        let (high, low) = if remainder_first { (first, second) } else { (second, first) };
        let build = Builder::before(call);
        let [wide_divisor, wide_high, wide_low] =
            [divisor, high, low].map(|operand| build.cast(Cast::ZExt, operand, wide));
        let dividend = build.binary(Binary::Or, build.binary(Binary::Shl, wide_high, wide.int(64)), wide_low);
        let quotient = build.cast(Cast::Trunc, build.binary(Binary::UDiv, dividend, wide_divisor), word);
        // A remainder is below its divisor, so the low words tell it.
        let remainder = build.binary(Binary::Sub, low, build.binary(Binary::Mul, quotient, divisor));
        let results = if remainder_first { [remainder, quotient] } else { [quotient, remainder] };
        let pair = build.insert(call.ty().undef(), results[0], 0);
        call.replace_all_uses(build.insert(pair, results[1], 1));
        call.erase();
    }
}
