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
    if message.starts_with("`#[panic_handler]` function required") {
        return Some(
            "The device's panic handler and allocator are `cuda_std`'s, and no source of this crate names it: let Cargo.toml depend \
             on it, and begin with `use cuda_std::prelude::*;`",
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

/// What to do about a library that was asked to use `std`, which its user did not write and cannot mend in its source.
fn about_library(name: &str) -> String {
    format!(
        "The library `{name}` is compiled with `std` here, which the device does not have. `cargo tree -e features -i {name}` in \
         the kernel crate shows who asks for that: there, `default-features = false` switches it off. A library that has no \
         such feature cannot be used on the device"
    )
}

/// The package of a message, if it came from a registry or another repository.
fn library(message: &serde_json::Value) -> Option<&str> {
    let package = message["package_id"].as_str()?;
    let (source, name) = package.rsplit_once('#')?;
    let name =
        name.split_once('@').map_or_else(|| source.rsplit('/').next().unwrap_or(source), |(name, _)| name);
    (!source.starts_with("path+")).then_some(name)
}

/// Pieces of advice, each once.
#[derive(Default)]
pub struct Collected(BTreeSet<String>);

impl Collected {
    /// Looks at one message of cargo, which has one of rustc in it.
    pub fn note(&mut self, message: &serde_json::Value) {
        let (code, text) = (&message["message"]["code"]["code"], message["message"]["message"].as_str());
        let text = text.unwrap_or_default();
        let advice = match library(message) {
            Some(library) if text.contains("`std`") => Some(about_library(library)),
            _ => about(code.as_str(), text).map(str::to_owned),
        };
        self.0.extend(advice);
    }

    /// All of them as one text; `None` if there are none.
    pub fn text(&self) -> Option<String> {
        (!self.0.is_empty()).then(|| self.0.iter().map(String::as_str).collect::<Vec<_>>().join(".\n\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::Collected;
    use serde_json::json;

    #[test]
    fn a_crate_without_cuda_std_is_told_of_it() {
        let mut advice = Collected::default();
        let text = "`#[panic_handler]` function required, but not found";
        advice.note(
            &json!({ "package_id": "path+file:///home/me/kernels#0.1.0", "message": { "message": text } }),
        );
        assert!(advice.text().expect("there is advice").contains("use cuda_std::prelude::*;"));
    }

    #[test]
    fn libraries_are_named_and_own_code_is_not() {
        let advice = |package: &str| {
            let mut advice = Collected::default();
            let text = "cannot find module or crate `std` in this scope";
            advice.note(&json!({
                "package_id": package,
                "message": { "code": { "code": "E0433" }, "message": text },
            }));
            advice.text().expect("there is advice")
        };
        for package in [
            "registry+https://github.com/rust-lang/crates.io-index#byteorder@1.5.0",
            "git+https://example.org/byteorder#1.5.0",
        ] {
            let text = advice(package);
            assert!(
                text.contains("`byteorder`") && text.contains("cargo tree -e features -i byteorder"),
                "{text}"
            );
        }
        assert!(advice("path+file:///home/me/kernels#0.1.0").contains("`core` and `alloc`"));
    }
}
