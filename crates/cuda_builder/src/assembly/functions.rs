//! Functions in LLVM's assembly language, which a build keeps on request.

use std::borrow::Cow;
use std::collections::HashSet;

/// The functions of a module, without source locations: those refer by number to metadata elsewhere in the module.
pub fn of_module(module: &str) -> String {
    let mut all = String::new();
    let mut inside = false;
    for line in module.split_inclusive('\n') {
        inside |= line.starts_with("define ");
        if inside {
            all.push_str(&without_place(line));
        }
        inside &= line != "}\n";
    }
    all
}

fn without_place(line: &str) -> Cow<'_, str> {
    let Some((before, place)) = line.split_once(" !dbg !") else { return Cow::Borrowed(line) };
    let after = place.trim_start_matches(|c: char| c.is_ascii_digit());
    Cow::Owned(before.trim_end_matches(',').to_owned() + after)
}

/// The functions of all parts, each once.
pub fn join<'a>(parts: impl Iterator<Item = &'a str>) -> String {
    let mut known = HashSet::new();
    let mut all = String::new();
    for function in parts.flat_map(|part| part.split_inclusive("\n}\n")) {
        let name =
            function.split_once('@').map_or(function, |(_, rest)| rest.split('(').next().unwrap_or(rest));
        if known.insert(name) {
            all.push_str(function);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_there_once_and_without_places() {
        let part = |kernel: &str| {
            of_module(&format!(
                "@t = constant i32 1, !dbg !1\n\n; Function Attrs: convergent\ndefine void @{kernel}(ptr %a) #0 !dbg !12 {{\n\
                 start:\n  %b = load i32, ptr %a, align 4, !dbg !7, !noundef !3\n  ret void, !dbg !9\n}}\n\n\
                 define internal void @panics() {{\n  unreachable\n}}\n\ndeclare void @d()\n!1 = !{{}}\n"
            ))
        };
        assert_eq!(
            join([part("a"), part("b")].iter().map(String::as_str)),
            "define void @a(ptr %a) #0 {\nstart:\n  %b = load i32, ptr %a, align 4, !noundef !3\n  ret void\n}\n\
             define internal void @panics() {\n  unreachable\n}\n\
             define void @b(ptr %a) #0 {\nstart:\n  %b = load i32, ptr %a, align 4, !noundef !3\n  ret void\n}\n"
        );
    }
}
