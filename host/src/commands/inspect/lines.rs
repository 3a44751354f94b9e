//! Each source line of a kernel, with its PTX and machine code beneath, beside each other.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::Context as _;
use virtual_gpu::is_library;

use super::FileLine;
use super::sass::{self, Machine};
use crate::{merging, source};

/// The column at which machine code begins.
const BESIDE: usize = 52;

/// A line's instructions.
#[derive(Default)]
struct Became {
    ptx: Vec<String>,
    sass: Vec<String>,
}

/// The lines in the order of the source. Without `ptxas`, which is said, they have their PTX alone.
pub(super) fn lines(kernel: &str, ptx: &str, arch: Option<&str>) -> anyhow::Result<String> {
    let mut all: BTreeMap<FileLine, Became> = BTreeMap::new();
    for (place, text) in instructions(kernel, ptx)? {
        all.entry(place).or_default().ptx.push(text);
    }
    let mut out = String::new();
    match sass::assemble(kernel, ptx, arch) {
        Ok(Machine { resources, code }) => {
            out.push_str(&resources);
            for step in code {
                let place = step.place.unwrap_or_default();
                all.entry(place).or_default().sass.push(without_comment(&step.text).to_owned());
            }
        }
        Err(missing) => {
            let _ = writeln!(out, "No machine code: {missing:#}.");
        }
    }
    for ((file, line), became) in all {
        let text = source::line(&file, line).unwrap_or_default();
        let _ = match file.as_str() {
            "" => writeln!(out, "\nwithout a line"),
            file => writeln!(out, "\n{}:{line}  {}", source::relative(file), text.trim()),
        };
        for index in 0..became.ptx.len().max(became.sass.len()) {
            let part = |side: &[String]| side.get(index).cloned().unwrap_or_default();
            let beside = format!("    {:<BESIDE$}  {}", part(&became.ptx), part(&became.sass));
            let _ = writeln!(out, "{}", beside.trim_end());
        }
    }
    Ok(out)
}

/// A kernel's instructions, each with its line outside of libraries.
fn instructions(kernel: &str, text: &str) -> anyhow::Result<Vec<(FileLine, String)>> {
    let module = ptx::parse(text)?;
    let function = module.functions.iter().find(|function| function.name.as_str() == kernel);
    let body = function.and_then(|function| function.body.as_ref());
    let body = body.with_context(|| format!("`{kernel}` is not in the PTX"))?;
    let mut code = Vec::new();
    merging::flatten(&body.statements, &mut code);
    let lines = ptx::SourceLines::new(&module);
    let written: Vec<&str> = text.lines().collect();
    let mut last = FileLine::default();
    let found = code.into_iter().flatten().map(|instruction| {
        let frames = instruction.loc.map(|loc| lines.frames(loc)).unwrap_or_default();
        // Line 0 is the compiler's word for several.
        let known = || frames.iter().filter(|frame| frame.line != 0);
        let own = known().find(|frame| !is_library(&frame.file)).or(known().next());
        if let Some(frame) = own {
            last = (frame.file.to_string(), frame.line);
        }
        let position = instruction.position;
        let text = written.get(position.line as usize - 1).copied().unwrap_or_default();
        (last.clone(), words(statement(text, position.column as usize - 1)))
    });
    Ok(found.collect())
}

/// The statement around a place in a line of text, which may hold several.
fn statement(line: &str, at: usize) -> &str {
    let (before, after) = line.split_at_checked(at).unwrap_or((line, ""));
    let begin = before.rfind([';', '{', ':']).map_or(0, |end| end + 1);
    let end = after.find(';').map_or(line.len(), |end| at + end + 1);
    &line[begin..end]
}

/// A line of text with single spaces.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// An instruction of machine code without its address.
fn without_comment(text: &str) -> &str {
    text.split_once("*/").map_or(text, |(_, code)| code.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = ".version 7.0
.target sm_75
.address_size 64
.file 1 \"/no/such/lib.rs\"
.visible .entry scale(.param .u64 p) {
    .reg .b64 %d; .reg .f32 %f; .reg .pred %p;
    .loc 1 7 1
    ld.param.u64 %d, [p];
    .loc 1 9 1
    ld.global.f32 %f, [%d];
    .loc 1 7 1
    st.global.f32 [%d],   %f; @%p bra END; END: ret;
}
";

    #[test]
    fn instructions_are_told_with_their_lines() {
        let found = instructions("scale", PTX).unwrap();
        let lines: Vec<(u32, &str)> = found.iter().map(|((_, line), text)| (*line, text.as_str())).collect();
        let expected = [
            (7, "ld.param.u64 %d, [p];"),
            (9, "ld.global.f32 %f, [%d];"),
            (7, "st.global.f32 [%d], %f;"),
            (7, "@%p bra END;"),
            (7, "ret;"),
        ];
        assert_eq!(lines, expected);
        assert!(instructions("scal", PTX).is_err());
    }

    #[test]
    fn a_line_has_all_of_its_code_beneath() {
        let text = lines("scale", PTX, None).unwrap();
        let seventh =
            text.split("/no/such/lib.rs:7").nth(1).unwrap().split("/no/such/lib.rs:9").next().unwrap();
        assert!(["ld.param", "st.global", "ret;"].iter().all(|part| seventh.contains(part)), "{text}");
    }
}
