//! Advice where rustc refuses code that upstream's own compiler takes: its messages cannot know.

use crate::front_end::inline_assembly;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The `ptx!` form of an `asm!`.
const EXAMPLE: &str = "\
    asm!(\"add.u32 {o}, {i}, 1;\", o = out(reg32) o, i = in(reg32) i);
cuda_std::ptx!(\"add.u32 {o}, {i}, 1;\", o = out(u32) o, i = in(u32) i; options(pure, nomem));";

/// Advice on the user's own code.
const NO_STD: &str = "\
Device crates have no `std`: the same names are in `core` and `alloc` (`extern crate alloc;`), the methods of floats in \
`cuda_std::GpuFloat`. What the host alone uses stands behind `#[cfg(not(target_os = \"cuda\"))]`";

/// The advice for a message of cargo with one of rustc in it, if there is any.
pub fn of(message: &Value) -> Option<String> {
    let inner = &message["message"];
    let (code, text) = (inner["code"]["code"].as_str(), inner["message"].as_str().unwrap_or_default());
    match library(message) {
        Some(library) => misses_std(code, text).then(|| about_library(library)),
        None => about(code, text).map(str::to_owned).or_else(|| about_versions(inner)),
    }
}

/// The advice for a message about the user's own code.
fn about(code: Option<&str>, message: &str) -> Option<&'static str> {
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
        Some("E0433" | "E0432" | "E0463") if misses_std(code, message) => Some(NO_STD),
        _ => None,
    }
}

/// Advice on a library that uses `std`: its user did not write it and cannot mend it.
fn about_library(name: &str) -> String {
    format!(
        "The library `{name}` is compiled with `std` here, which the device does not have. `cargo tree -e features -i {name}` in \
         the kernel crate shows who asks for that: there, `default-features = false` switches it off. A library that has no \
         such feature cannot be used on the device"
    )
}

/// Whether rustc misses `std` itself, and does not only speak of it: a feature, too, may have that name.
fn misses_std(code: Option<&str>, message: &str) -> bool {
    match code {
        Some("E0433" | "E0432" | "E0463") => message.contains("`std`") || message.contains("`std::"),
        // What `std` has in its prelude and `core` has not.
        Some("E0412" | "E0425" | "E0405") => ["`String`", "`Vec`", "`Box`", "`ToString`", "`ToOwned`"]
            .iter()
            .any(|name| message.contains(name)),
        None => ["vec", "format", "println", "eprintln", "print", "eprint", "dbg", "thread_local"]
            .iter()
            .any(|name| message.starts_with(&format!("cannot find macro `{name}`"))),
        _ => false,
    }
}

/// The package of a message, if it came from a registry or another repository.
fn library(message: &Value) -> Option<&str> {
    let package = message["package_id"].as_str()?;
    let (source, name) = package.rsplit_once('#')?;
    let name =
        name.split_once('@').map_or_else(|| source.rsplit('/').next().unwrap_or(source), |(name, _)| name);
    (!source.starts_with("path+")).then_some(name)
}

fn notes(message: &Value) -> impl Iterator<Item = &str> {
    message["children"].as_array().into_iter().flatten().filter_map(|child| child["message"].as_str())
}

/// The crates that kernels know from `cuda_std` and may name themselves: two versions of one are two types.
const SHARED: [&str; 3] = ["glam", "half", "vek"];

/// Advice where one of these is there twice: its name, and the versions that rustc points to.
fn about_versions(message: &Value) -> Option<String> {
    let of = |name: &&&str| notes(message).any(|note| note.contains(&format!("versions of crate `{name}`")));
    let name = SHARED.iter().find(of)?;
    let children = message["children"].as_array().into_iter().flatten();
    let files = children.flat_map(|child| child["spans"].as_array().into_iter().flatten());
    let version = |span: &Value| {
        let (_, rest) = span["file_name"].as_str()?.split_once(&format!("/{name}-"))?;
        Some(rest.split('/').next()?.to_owned())
    };
    let mut versions: Vec<String> = files.filter_map(version).collect();
    versions.sort_by_key(|version| {
        version.split('.').map(|part| part.parse().unwrap_or(0)).collect::<Vec<u32>>()
    });
    versions.dedup();
    let [lower, .., higher] = &versions[..] else { return None };
    Some(format!(
        "`{name}` is there in two versions, {lower} and {higher}: one is `cuda_std`'s, which takes any and got the newest. Make \
         both one: `cargo update -p {name}@{higher} --precise {lower}`"
    ))
}

/// An `asm!` in PTX, and what stands for it.
struct Assembly {
    file: PathBuf,
    line: u64,
    form: Option<String>,
}

/// Advice collected from the messages of a build.
#[derive(Default)]
pub struct Collected {
    /// Pieces of advice, each once.
    advice: BTreeSet<String>,
    /// Each `asm!` once, by its file and place.
    assembly: BTreeMap<(PathBuf, usize), Assembly>,
    /// Whether an error was shown.
    shown: bool,
}

impl Collected {
    /// Looks at one message of cargo, which has one of rustc in it. Returns whether it is to be shown: one error stands for
    /// all that rustc says of inline PTX.
    pub fn note(&mut self, message: &Value) -> bool {
        let inner = &message["message"];
        let text = inner["message"].as_str().unwrap_or_default();
        if inner["level"] != "error" {
            return true;
        }
        if inline_assembly::is_about(text) {
            self.note_assembly(message);
            return false;
        }
        if text.starts_with("aborting due to") {
            return self.shown;
        }
        self.shown = true;
        self.advice.extend(of(message));
        true
    }

    fn note_assembly(&mut self, message: &Value) {
        let span = &message["message"]["spans"][0];
        let (Some(name), Some(at)) = (span["file_name"].as_str(), span["byte_start"].as_u64()) else {
            return;
        };
        // rustc names files from where cargo started it.
        let root = Path::new(message["target"]["src_path"].as_str().unwrap_or_default());
        let file = root.ancestors().map(|folder| folder.join(name)).find(|file| file.is_file());
        let source = file.as_ref().and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default();
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        let begin = source.get(..at).and_then(|before| before.rfind("asm!"));
        let line = begin.map_or(0, |begin| source[..begin].matches('\n').count() as u64 + 1);
        let form = inline_assembly::as_ptx(&source, at).map(|(_, form)| form);
        let file = PathBuf::from(name);
        self.assembly.entry((file.clone(), begin.unwrap_or(at))).or_insert(Assembly { file, line, form });
    }

    /// Advice on inline PTX: one `asm!` in its other form, and where the others are.
    fn about_assembly(&self) -> Option<String> {
        let all = || self.assembly.values();
        let shown = all().find(|assembly| assembly.form.is_some()).or_else(|| all().next())?;
        let place = |assembly: &Assembly| format!("{}:{}", assembly.file.display(), assembly.line);
        let mut text = format!(
            "`asm!` writes the host's assembly here. Inline PTX is written by `cuda_std::ptx!`, with types in place of classes of \
             registers. At {}",
            place(shown)
        );
        match &shown.form {
            Some(form) => text += &format!(":\n\n{form}\n\n"),
            None => text += &format!(", as for example\n\n{EXAMPLE}\n\n"),
        }
        text += "The types are u16 i16 f16 bf16 u32 i32 f32 u64 i64 f64 and ptr: each is that of the operand's value. Say `convergent` \
                 for barriers, shuffles and all that is `.sync`";
        let others: Vec<String> = all().filter(|other| !std::ptr::eq(*other, shown)).map(place).collect();
        if !others.is_empty() {
            text += &format!(".\nThe same holds at {}", others.join(", "));
        }
        Some(text)
    }

    /// All of them as one text; `None` if there are none.
    pub fn text(&self) -> Option<String> {
        let all: Vec<String> = self.about_assembly().into_iter().chain(self.advice.iter().cloned()).collect();
        (!all.is_empty()).then(|| all.join(".\n\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::Collected;
    use serde_json::{Value, json};

    #[test]
    fn a_crate_without_cuda_std_is_told_of_it() {
        let mut advice = Collected::default();
        let text = "`#[panic_handler]` function required, but not found";
        advice.note(
            &json!({ "package_id": "path+file:///home/me/kernels#0.1.0", "message": { "level": "error", "message": text } }),
        );
        assert!(advice.text().expect("there is advice").contains("use cuda_std::prelude::*;"));
    }

    const OWN: &str = "path+file:///home/me/kernels#0.1.0";
    const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index#byteorder@1.5.0";

    /// The advice for one message of rustc.
    fn advice(package: &str, message: Value) -> Option<String> {
        let mut advice = Collected::default();
        let target = json!({ "name": "my-kernels", "src_path": "/nowhere/src/lib.rs" });
        assert!(advice.note(&json!({ "package_id": package, "target": target, "message": message })));
        advice.text()
    }

    fn error(code: Option<&str>, text: &str) -> Value {
        json!({ "level": "error", "code": { "code": code }, "message": text })
    }

    #[test]
    fn libraries_are_named_and_own_code_is_not() {
        let missing = || error(Some("E0433"), "cannot find module or crate `std` in this scope");
        for package in [REGISTRY, "git+https://example.org/byteorder#1.5.0"] {
            let text = advice(package, missing()).expect("there is advice");
            assert!(
                text.contains("`byteorder`") && text.contains("cargo tree -e features -i byteorder"),
                "{text}"
            );
        }
        assert!(advice(OWN, missing()).expect("there is advice").contains("`core` and `alloc`"));
        for (code, text) in [
            (Some("E0432"), "unresolved import `std::collections`"),
            (Some("E0463"), "can't find crate for `std`"),
            (Some("E0412"), "cannot find type `String` in this scope"),
            (None, "cannot find macro `vec` in this scope"),
        ] {
            let text = advice(REGISTRY, error(code, text)).expect(text);
            assert!(text.contains("`byteorder` is compiled with `std`"), "{text}");
        }
    }

    #[test]
    fn a_word_in_a_message_is_no_reason() {
        let warning = json!({ "level": "warning", "message": "unexpected `cfg` condition value: `std`" });
        assert_eq!(advice(REGISTRY, warning), None);
        for (code, text) in [
            (None, "the feature `std` and the feature `libm` exclude each other"),
            (Some("E0432"), "unresolved import `core::simd`"),
            (Some("E0412"), "cannot find type `Strings` in this scope"),
            (Some("E0599"), "no method named `std` found for type `f32` in the current scope"),
        ] {
            assert_eq!(advice(REGISTRY, error(code, text)), None, "{text}");
        }
    }

    #[test]
    fn two_versions_of_one_crate_are_made_one() {
        let file =
            |version: &str| format!("/home/me/.cargo/registry/src/index/glam-{version}/src/u32/uvec2.rs");
        let mut message = error(Some("E0308"), "mismatched types");
        message["children"] = json!([{
            "message": "two different versions of crate `glam` are being used",
            "spans": [{ "file_name": file("0.9.1") }, { "file_name": file("0.34.3") }],
        }]);
        let text = advice(OWN, message).expect("there is advice");
        assert!(text.contains("cargo update -p glam@0.34.3 --precise 0.9.1"), "{text}");
    }

    #[test]
    fn inline_ptx_is_one_error_with_the_other_form_of_the_own_line() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("src/lib.rs");
        std::fs::create_dir(source.parent().unwrap()).unwrap();
        let call = |name: &str| format!("asm!(\"mov.u32 {{}}, %{name};\", out(reg32) {name})");
        let text = format!("fn f() {{\n    {};\n    {};\n}}\n", call("laneid"), call("smid"));
        std::fs::write(&source, &text).unwrap();
        let mut advice = Collected::default();
        let mut note = |text: &str, at: usize| {
            let span = json!({ "file_name": "src/lib.rs", "byte_start": at });
            let message = json!({ "level": "error", "message": text, "spans": [span] });
            let target = json!({ "name": "kernels", "src_path": source });
            advice.note(&json!({ "package_id": OWN, "target": target, "message": message }))
        };
        for (at, _) in text.match_indices("out(reg32)") {
            assert!(
                !note("invalid register class `reg32`: unknown register class", at),
                "the advice stands for it"
            );
        }
        assert!(!note("aborting due to 2 previous errors", 0), "there was none to see");
        let text = advice.text().expect("there is advice");
        assert!(text.contains("At src/lib.rs:2:"), "{text}");
        assert!(text.contains("    \"mov.u32 {}, %laneid;\",\n    out(u32) laneid\n)"), "{text}");
        assert!(text.contains("The same holds at src/lib.rs:3") && !text.contains("%smid"), "{text}");
    }
}
