//! What to do where rustc refuses what upstream's own compiler takes: its messages cannot know.

use std::collections::BTreeSet;

/// The advice for a message of rustc, if there is any.
fn about(code: Option<&str>, message: &str) -> Option<&'static str> {
    // Classes of registers of the target nvptx64. The host's `asm!` knows its own.
    let registers = ["`reg16`", "`reg32`", "`reg64`"];
    if message.starts_with("invalid register class") && registers.iter().any(|class| message.contains(class))
    {
        return Some(
            "`asm!` writes the host's assembly here. For inline PTX there is `cuda_std::ptx!`, with types in place of \
             classes of registers:\n\n    \
             asm!(\"add.u32 {o}, {i}, 1;\", o = out(reg32) o, i = in(reg32) i);\n    \
             cuda_std::ptx!(\"add.u32 {o}, {i}, 1;\", o = out(u32) o, i = in(u32) i; options(pure, nomem));\n\n\
             A name that PTX declares goes into doubled braces: \"{{ .reg .pred p; … }}\". Say `convergent` for barriers, \
             shuffles and all that is `.sync`",
        );
    }
    if message.starts_with("symbol `warpsmith.") && message.ends_with("is already defined") {
        return Some(
            "Two kernels have the same name. The host finds a kernel by its function's name alone, without the modules around \
             it: rename one of them",
        );
    }
    match code {
        Some("E0725") => Some(
            "Device crates are compiled as stable Rust: delete the line `#![feature(…)]`. `cuda_std` needs none, and what \
             upstream's kernels use it for is there: `cuda_std::ptx!` for `asm!`, `core::sync::atomic`",
        ),
        Some("E0433" | "E0432" | "E0463") if message.contains("`std`") => Some(
            "Device crates have no `std`: the same names are in `core` and `alloc` (`extern crate alloc;`), the methods of \
             floats in `cuda_std::GpuFloat`. What the host alone uses stands behind `#[cfg(not(target_os = \"cuda\"))]`",
        ),
        _ => None,
    }
}

/// Pieces of advice, each once.
#[derive(Default)]
pub struct Collected(BTreeSet<&'static str>);

impl Collected {
    /// Looks at one message of rustc, as cargo prints it in JSON.
    pub fn note(&mut self, message: &serde_json::Value) {
        let text = message["message"].as_str().unwrap_or_default();
        self.0.extend(about(message["code"]["code"].as_str(), text));
    }

    /// All of them as one text; `None` if there are none.
    pub fn text(&self) -> Option<String> {
        (!self.0.is_empty()).then(|| self.0.iter().copied().collect::<Vec<_>>().join(".\n\n"))
    }
}
