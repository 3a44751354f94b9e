//! Names of kernels, functions and variables as the source has them.

use std::borrow::Cow;

/// A variable's or a kernel's name as the source has it.
pub(crate) fn readable(name: &str) -> String {
    if let Cow::Owned(instance) = ptx::rust_name(name) {
        return instance;
    }
    let whole = format!("{:#}", rustc_demangle::demangle(name));
    let short = whole.strip_suffix("::__shared_array::__ARRAY").unwrap_or(&whole);
    if !short.starts_with("_Z") {
        return short.to_owned();
    }
    local_in_cpp(name).map(str::to_owned).or_else(|| function_in_cpp(name)).unwrap_or_else(|| name.to_owned())
}

/// The name of a function or variable of C++, with its namespaces and without types: `_ZN1a3addIfEEvPT_` is `a::add`.
fn function_in_cpp(mangled: &str) -> Option<String> {
    let rest = mangled.strip_prefix("_Z")?;
    let mut rest = rest.strip_prefix('N').or_else(|| rest.strip_prefix('L')).unwrap_or(rest);
    let mut parts = Vec::new();
    while let digits @ 1.. = rest.bytes().take_while(u8::is_ascii_digit).count() {
        let length = rest[..digits].parse::<usize>().ok()?;
        parts.push(match rest.get(digits..)?.get(..length)? {
            part if part.starts_with("_GLOBAL__N_") => "(anonymous namespace)",
            part => part,
        });
        rest = &rest[digits + length..];
        // Outside of `N…E` one name is all.
        if !mangled.starts_with("_ZN") {
            break;
        }
    }
    (!parts.is_empty()).then(|| parts.join("::"))
}

/// The name of a variable that C++ has inside a function: `_ZZ`, the function, `E`, and the length of the name before it. The
/// second of a name in one function has `_0` behind it, and so on.
fn local_in_cpp(mangled: &str) -> Option<&str> {
    let rest = mangled.strip_prefix("_ZZ")?;
    let numbered =
        rest.rsplit_once('_').filter(|(_, number)| number.bytes().all(|byte| byte.is_ascii_digit()));
    [numbered.map(|(before, _)| before), Some(rest)].into_iter().flatten().find_map(|rest| {
        let ends = (1..rest.len()).filter(|&at| rest.is_char_boundary(at));
        ends.rev().find_map(|at| {
            let (before, name) = rest.split_at(at);
            let digits = name.len().to_string();
            let starts = !name.starts_with(|first: char| first.is_ascii_digit());
            (starts && before.strip_suffix(&digits)?.ends_with('E')).then_some(name)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_has_its_name_of_the_source() {
        assert_eq!(readable("_ZZ16dsm_read_no_syncE1s"), "s");
        assert_eq!(readable("_ZZ6reducePfS_E7partial"), "partial");
        assert_eq!(readable("_ZZ6reducePfS_E7partial_0"), "partial");
        assert_eq!(readable("_ZZN3foo3barEiE9tile_12_a"), "tile_12_a");
        assert_eq!(readable("_Z6globalPf"), "global");
        assert_eq!(readable("_ZN1a12_GLOBAL__N_13addIfEEvPT_"), "a::(anonymous namespace)::add");
        assert_eq!(readable("_Z99short"), "_Z99short");
        assert_eq!(readable("dynamic"), "dynamic");
        assert_eq!(readable("product$f32$16"), "product::<f32, 16>");
    }
}
