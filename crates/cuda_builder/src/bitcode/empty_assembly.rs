//! Inline assembly without an instruction: what `core::hint::black_box` is, and how libraries keep the optimiser from knowing a
//! value. It is written for the host's registers, but there is nothing in it that only the host could run.

use crate::bitcode::refuse::OWN_ASSEMBLY;
use crate::llvm::{Builder, Context, Module, Type, TypeKind, Value};

/// Gives the results the values that they are tied to. What reaches memory, or takes a pointer, stays as empty PTX, across
/// which LLVM moves no access.
pub fn resolve(context: &Context, module: &Module<'_>) {
    let all = module.functions().into_iter().flat_map(Value::instructions).collect::<Vec<_>>();
    for call in all {
        let Some(asm) = call.called().filter(|callee| callee.is_inline_asm()) else { continue };
        if call.has_call_string_attribute(OWN_ASSEMBLY) || has_instructions(&asm.inline_asm_text()) {
            continue;
        }
        let constraints = asm.inline_asm_constraints();
        let arguments = call.arguments();
        let Some(values) = tied(&constraints, &arguments) else { continue };
        let build = Builder::before(call);
        if constraints.contains("~{memory}") {
            let pointers: Vec<Value> =
                arguments.into_iter().filter(|value| value.ty().kind() == TypeKind::Pointer).collect();
            let types: Vec<Type> = pointers.iter().map(|pointer| pointer.ty()).collect();
            let ty = context.void().function(&types);
            let constraints = format!("{}~{{memory}}", "l,".repeat(pointers.len()));
            let barrier = build.inline_asm(ty, "", &constraints, true, &pointers);
            barrier.add_call_attribute("nounwind");
            barrier.add_call_string_attribute(OWN_ASSEMBLY);
        }
        match values[..] {
            [] => {}
            [only] => call.replace_all_uses(only),
            _ => {
                let mut all = call.ty().undef();
                for (index, value) in (0..).zip(&values) {
                    all = build.insert(all, *value, index);
                }
                call.replace_all_uses(all);
            }
        }
        call.erase();
    }
}

/// Whether anything is left of a text without its comments.
fn has_instructions(text: &str) -> bool {
    let mut rest = text;
    let mut plain = String::new();
    while let Some((before, comment)) = rest.split_once("/*") {
        plain.push_str(before);
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    plain.push_str(rest);
    plain.lines().any(|line| {
        let line = line.split('#').next().unwrap_or_default();
        !line.split("//").next().unwrap_or_default().trim().is_empty()
    })
}

/// The argument that each result takes its register from, by number or by name; `None` if one has no such argument.
fn tied(constraints: &str, arguments: &[Value]) -> Option<Vec<Value>> {
    let all = || constraints.split(',').map(|constraint| constraint.replace('&', ""));
    let inputs: Vec<String> = all().filter(|one| !one.starts_with('=') && !one.starts_with('~')).collect();
    let results = all().filter_map(|one| one.strip_prefix('=').map(str::to_owned));
    let source = |(index, register): (usize, String)| {
        let named = |input: &String| register.starts_with('{') && *input == register;
        let at = inputs.iter().position(|input| *input == index.to_string() || named(input))?;
        arguments.get(at).copied()
    };
    results.enumerate().map(source).collect()
}

#[cfg(test)]
mod tests {
    use super::has_instructions;

    #[test]
    fn comments_are_no_instructions() {
        for text in ["", " \n\t", "/* ${0:q} */", "# {0}", "// nothing", "/* a\n b */ # c\n"] {
            assert!(!has_instructions(text), "{text:?}");
        }
        for text in ["nop", "/* a */ div ${2:q}", "# a\nmov eax, 1"] {
            assert!(has_instructions(text), "{text:?}");
        }
    }
}
