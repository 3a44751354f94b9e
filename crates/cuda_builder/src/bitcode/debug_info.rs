//! Source lines for the entries.
//!
//! An entry is a function that no source has: without a subprogram of its own, LLVM would drop the lines of everything
//! inlined into it. LLVM's C API cannot make compile units whose lines are directives only (any other kind turns the PTX
//! into a debug build), so the subprograms come from a little module in assembly language.

use crate::llvm::{Context, Module, Value};
use std::fmt::Write;

const PREFIX: &str = "warpsmith.lines.";

/// Where a kernel stands in the source.
pub struct KernelLine {
    pub kernel: String,
    pub file: String,
    pub directory: String,
    pub line: u32,
}

/// The place of a function that rustc described.
pub fn place(kernel: &str, function: Value) -> Option<KernelLine> {
    let (file, directory, line) = function.source()?;
    Some(KernelLine { kernel: kernel.to_owned(), file, directory, line })
}

/// Links one empty function for each place; [`take`] moves its subprogram to the kernel.
pub fn declare<'c>(context: &'c Context, module: &Module<'c>, places: &[KernelLine]) -> Result<(), String> {
    if places.is_empty() {
        return Ok(());
    }
    let mut text = String::new();
    let mut metadata = String::from("!llvm.dbg.cu = !{!0}\n!llvm.module.flags = !{!1}\n");
    metadata.push_str(
        "!1 = !{i32 2, !\"Debug Info Version\", i32 3}\n!2 = !DISubroutineType(types: !3)\n!3 = !{null}\n",
    );
    metadata.push_str("!0 = distinct !DICompileUnit(language: DW_LANG_Rust, file: !4, producer: \"cuda_builder\", isOptimized: true, runtimeVersion: 0, emissionKind: DebugDirectivesOnly, splitDebugInlining: false, nameTableKind: None)\n");
    for (index, KernelLine { kernel, file, directory, line }) in places.iter().enumerate() {
        let (file_id, function_id, location_id) = (4 + 3 * index, 5 + 3 * index, 6 + 3 * index);
        let (file, directory) = (quoted(file), quoted(directory));
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "define void @\"{PREFIX}{kernel}\"() !dbg !{function_id} {{ ret void, !dbg !{location_id} }}"
        );
        let _ = write!(
            metadata,
            "!{file_id} = !DIFile(filename: \"{file}\", directory: \"{directory}\")\n\
             !{function_id} = distinct !DISubprogram(name: \"{kernel}\", linkageName: \"{kernel}\", scope: !{file_id}, file: !{file_id}, \
             line: {line}, type: !2, scopeLine: {line}, spFlags: DISPFlagDefinition, unit: !0)\n\
             !{location_id} = !DILocation(line: {line}, column: 1, scope: !{function_id})\n"
        );
    }
    let part = context.parse_assembly(&format!("{text}{metadata}"))?;
    if module.link(part) { Ok(()) } else { Err(context.take_errors().join("\n")) }
}

/// Gives a kernel the subprogram that [`declare`] made, and its call the kernel's line.
pub fn take(module: &Module<'_>, kernel: &str, function: Value, call: Value) {
    let Some(lines) = module.function(&format!("{PREFIX}{kernel}")) else { return };
    if let Some(end) = lines.instructions().first() {
        call.copy_debug_location(*end);
    }
    function.take_subprogram(lines);
    lines.delete_function();
}

/// Text in quotes of LLVM's assembly language.
fn quoted(text: &str) -> String {
    let escape = |byte: u8| match byte {
        b'"' | b'\\' | 0..=31 | 127.. => format!("\\{byte:02X}"),
        other => char::from(other).to_string(),
    };
    text.bytes().map(escape).collect()
}
