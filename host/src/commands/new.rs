//! `warpsmith new`: a new kernel in this project, or a new project.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;
use serde::Serialize;

use crate::answer::{Context, Outcome, Output};
use crate::demos;
use crate::dependencies::Dependencies;
use crate::registry;
use crate::source;

/// Arguments of `new`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct New {
    /// The kernel's name: letters, digits and underscores
    #[arg(required_unless_present = "project")]
    name: Option<String>,

    /// Write a package of its own into this folder, which must be empty or new
    #[arg(long, value_name = "DIR", conflicts_with = "name")]
    project: Option<PathBuf>,

    /// Write an `unsafe fn` over pointers, instead of a kernel without `unsafe`; with --project, in two packages
    #[arg(long)]
    raw: bool,

    /// With --project: write a workspace with a package for the kernels and one for the host
    #[arg(long, requires = "project")]
    two_packages: bool,

    /// With --project: take Warpsmith's crates from this repository, which other machines reach, and add a file for continuous
    /// integration; without URL, from the remote of the sources that this program was built from
    #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = "", requires = "project")]
    git: Option<String>,

    #[command(flatten)]
    output: Output,
}

const EXAMPLES: &str = "\
Examples:
  warpsmith new my_kernel          kernel, launch, CPU reference, test and demo row
  warpsmith new my_kernel --raw    the same, with an `unsafe` kernel over pointers
  cargo run --release -- demo my_kernel
  warpsmith new --project ../mine  a package outside this repository, ready for `cargo run`
  warpsmith new --project mine --git https://…  one that can be shared
  warpsmith new my_kernel --json   {\"files\", \"next\"}";

/// The line above which a registration is written.
const MARK: &str = "// `warpsmith new` writes above this line.";

/// The files written. The shape of `new --json`.
#[derive(Debug, Serialize)]
struct Written {
    files: Vec<String>,
    /// Commands to try next.
    next: Vec<String>,
}

impl Written {
    fn text(&self) -> String {
        format!("wrote {}\n\nNow:\n  {}", self.files.join("\n      "), self.next.join("\n  "))
    }
}

impl New {
    /// Runs the command.
    pub fn run(&self, _context: &Context) -> anyhow::Result<Outcome> {
        let written = match (&self.project, &self.name) {
            (Some(folder), _) => {
                let root = source::workspace().context(
                    "the project that this program was built from is not here any more; build it again where it is",
                )?;
                let dependencies = match &self.git {
                    Some(url) => Dependencies::by_git(&root, url)?,
                    None => Dependencies::by_path(&root, folder)?,
                };
                let form = match (self.raw, self.two_packages) {
                    (true, _) => Form::Raw,
                    (false, true) => Form::TwoPackages,
                    (false, false) => Form::OnePackage,
                };
                project(&root, &dependencies, folder, form)?
            }
            (None, Some(name)) => kernel(&around()?, name, self.raw)?,
            (None, None) => anyhow::bail!("say the kernel's name"),
        };
        self.output.print(&written, Written::text)?;
        Ok(Outcome::Well)
    }
}

/// The workspace that a kernel is written into: that around the current folder. The one that this program was built from
/// may be any other, where files should not change.
fn around() -> anyhow::Result<PathBuf> {
    source::around().with_context(|| {
        let built_from = source::workspace();
        let there = built_from.map_or(String::new(), |root| format!(", such as {}", quoted(&root)));
        format!(
            "a kernel is written into the repository around the current folder, and there is none: change into one{there}, \
             or write a workspace of its own with `warpsmith new --project DIR`"
        )
    })
}

/// Writes a kernel into the workspace at `root`.
fn kernel(root: &Path, name: &str, raw: bool) -> anyhow::Result<Written> {
    check_name(name)?;
    let (of_kernel, of_demo) = if raw {
        (include_str!("../../templates/kernel_raw.rs.txt"), include_str!("../../templates/demo_raw.rs.txt"))
    } else {
        (include_str!("../../templates/kernel.rs.txt"), include_str!("../../templates/demo.rs.txt"))
    };
    let files = [
        (root.join(format!("kernels-gpu/src/base/{name}.rs")), of_kernel),
        (root.join(format!("host/src/demos/{name}.rs")), of_demo),
    ];
    for (path, _) in &files {
        // A module is a file or a folder.
        for path in [path.clone(), path.with_extension("")] {
            anyhow::ensure!(!path.exists(), "{} is there already; nothing was written", path.display());
        }
    }
    let registrations = [
        (
            "kernels-gpu/src/lib.rs",
            vec![format!("    pub mod {name};"), format!("    (\"{name}\", base::{name}::KERNELS),")],
        ),
        (
            "host/src/demos/mod.rs",
            vec![format!("pub mod {name};"), format!("    &{name}::{},", demo_type(name))],
        ),
    ];
    // All is read and composed before the first file is written, so that a failure leaves nothing half done.
    let mut outputs: Vec<(PathBuf, String)> = files
        .into_iter()
        .map(|(path, template)| (path, template.replace("DEMO", &demo_type(name)).replace("NAME", name)))
        .collect();
    for (file, lines) in registrations {
        let path = root.join(file);
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        outputs.push((path, register(file, &text, &lines)?));
    }
    let mut files = Vec::new();
    for (path, text) in outputs {
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        files.push(path.strip_prefix(root).unwrap_or(&path).display().to_string());
    }
    tidy(root, &files);
    let next = vec![
        format!("cargo run --release -- demo {name}"),
        format!("cargo run --release -- profile {name}"),
        format!("cargo test -p warpsmith_tool {name}"),
    ];
    Ok(Written { files, next })
}

/// Formats what was written, since the kernel's name decides how lines break and where its module stands. Without
/// rustfmt the files compile all the same.
fn tidy(root: &Path, files: &[String]) {
    let formatted = Command::new("rustfmt")
        .args(["--edition", "2024"])
        .args(files)
        .current_dir(root)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    // An unformatted file is not a wrong one.
    let _ = formatted;
}

/// Puts each line above the file's next mark.
fn register(file: &str, text: &str, lines: &[String]) -> anyhow::Result<String> {
    let mut out = String::new();
    let mut lines = lines.iter();
    for line in text.lines() {
        if line.trim() == MARK
            && let Some(new) = lines.next()
        {
            out.push_str(new);
            out.push('\n');
        }
        out.push_str(line);
        out.push('\n');
    }
    anyhow::ensure!(lines.next().is_none(), "{file} has lost its line `{MARK}`");
    Ok(out)
}

/// The type of a kernel's demo: `BlurRowsDemo` for `blur_rows`.
fn demo_type(name: &str) -> String {
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    name.split('_').filter(|word| !word.is_empty()).map(capital).chain(["Demo".to_owned()]).collect()
}

fn check_name(name: &str) -> anyhow::Result<()> {
    let plain = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    anyhow::ensure!(
        plain,
        "`{name}` cannot name a kernel: lower-case letters, digits and underscores, a letter first, such as `blur_rows`"
    );
    // The words that Rust only reserves are among them.
    const KEYWORDS: &[&str] = &[
        "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do",
        "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let",
        "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self",
        "static", "struct", "super", "trait", "true", "try", "type", "typeof", "union", "unsafe", "unsized",
        "use", "virtual", "where", "while", "yield",
    ];
    anyhow::ensure!(!KEYWORDS.contains(&name), "`{name}` is a word of Rust's own");
    // A kernel's name is also a type's and a module's. With these the files that are written would mean something else.
    const MEANT: &[&str] = &[
        "all",
        "alloc",
        "blockwise",
        "bool",
        "char",
        "core",
        "cuda_std",
        "f16",
        "f32",
        "f64",
        "first",
        "glam",
        "half",
        "i128",
        "i16",
        "i32",
        "i64",
        "i8",
        "isize",
        "kernel",
        "kernels_gpu",
        "launch",
        "lib",
        "main",
        "near",
        "reference",
        "row",
        "run",
        "std",
        "str",
        "test",
        "tests",
        "thread",
        "tile",
        "u128",
        "u16",
        "u32",
        "u64",
        "u8",
        "usize",
    ];
    let taken = registry::kernels().any(|(family, kernel)| kernel.name == name || family == name)
        || demos::find(name).is_some()
        || MEANT.contains(&name);
    anyhow::ensure!(!taken, "`{name}` is taken");
    Ok(())
}

/// The files of a project.
#[derive(Clone, Copy)]
enum Form {
    /// Kernels beside their launch.
    OnePackage,
    /// Kernels without `unsafe` in a package of their own.
    TwoPackages,
    /// Kernels over pointers in a package of their own.
    Raw,
}

impl Form {
    /// Its files, with what [`Dependencies`] fills in.
    fn files(self) -> Vec<(&'static str, &'static str)> {
        match self {
            Self::OnePackage => [&COMMON[..], &ONE_PACKAGE].concat(),
            Self::TwoPackages => [&COMMON[..], &TWO_PACKAGES, &BLOCKWISE].concat(),
            Self::Raw => [&COMMON[..], &TWO_PACKAGES, &RAW].concat(),
        }
    }
}

const COMMON: [(&str, &str); 2] =
    [("rust-toolchain.toml", include_str!("../../templates/toolchain.txt")), (".gitignore", "/target\n")];

const ONE_PACKAGE: [(&str, &str); 3] = [
    ("Cargo.toml", include_str!("../../templates/one_package/Cargo.toml.txt")),
    ("build.rs", include_str!("../../templates/one_package/build.rs.txt")),
    ("src/main.rs", include_str!("../../templates/one_package/main.rs.txt")),
];

const TWO_PACKAGES: [(&str, &str); 5] = [
    ("README.md", include_str!("../../templates/two_packages/readme.txt")),
    ("Cargo.toml", include_str!("../../templates/two_packages/Cargo.toml.txt")),
    ("host/Cargo.toml", include_str!("../../templates/two_packages/host.toml.txt")),
    ("host/build.rs", include_str!("../../templates/two_packages/build.rs.txt")),
    ("host/src/main.rs", include_str!("../../templates/two_packages/main.rs.txt")),
];

/// The kernel and its launch, without `unsafe`.
const BLOCKWISE: [(&str, &str); 3] = [
    ("kernels/Cargo.toml", include_str!("../../templates/two_packages/kernels.toml.txt")),
    ("kernels/src/lib.rs", include_str!("../../templates/two_packages/kernels.rs.txt")),
    ("host/src/lib.rs", include_str!("../../templates/two_packages/lib.rs.txt")),
];

/// The same over pointers.
const RAW: [(&str, &str); 3] = [
    ("kernels/Cargo.toml", include_str!("../../templates/two_packages/kernels_raw.toml.txt")),
    ("kernels/src/lib.rs", include_str!("../../templates/two_packages/kernels_raw.rs.txt")),
    ("host/src/lib.rs", include_str!("../../templates/two_packages/lib_raw.rs.txt")),
];

/// The command that tests a project.
const INTEGRATION: [(&str, &str); 1] =
    [(".github/workflows/test.yml", include_str!("../../templates/ci.yml.txt"))];

/// Writes a project.
fn project(root: &Path, dependencies: &Dependencies, folder: &Path, form: Form) -> anyhow::Result<Written> {
    anyhow::ensure!(!folder.is_file(), "{} is a file; name a folder that is empty or new", folder.display());
    let empty = fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none());
    anyhow::ensure!(empty, "{} is not empty; nothing was written", folder.display());
    let integration: &[_] = if matches!(dependencies, Dependencies::Git { .. }) { &INTEGRATION } else { &[] };
    let package = package_name(folder);
    let templates = form.files().into_iter().chain(integration.iter().copied());
    let mut outputs: Vec<(&str, String)> = templates
        .map(|(file, text)| (file, dependencies.fill(file, text).replace("PACKAGE", &package)))
        .collect();
    // The versions that this repository is tested with; cargo leaves out what the project does not use.
    if let Ok(lock) = fs::read_to_string(root.join("Cargo.lock")) {
        outputs.push(("Cargo.lock", lock));
    }
    let mut files = Vec::new();
    for (file, text) in outputs {
        let path = folder.join(file);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        files.push(path.display().to_string());
    }
    let next = vec![format!("cd {}", quoted(folder)), "cargo run".to_owned(), "cargo test".to_owned()];
    Ok(Written { files, next })
}

/// A package's name after its folder's, without the characters that cargo does not take.
fn package_name(folder: &Path) -> String {
    let name =
        std::path::absolute(folder).ok().and_then(|folder| Some(folder.file_name()?.to_str()?.to_owned()));
    let is_taken = |c: &char| c.is_ascii_alphanumeric() || *c == '-' || *c == '_';
    let name: String = name.unwrap_or_default().replace(' ', "-").chars().filter(is_taken).collect();
    let name = name.trim_matches('-');
    // Crates that it depends on, and folders of cargo.
    const TAKEN: [&str; 8] =
        ["blockwise", "build", "cuda_std", "deps", "examples", "incremental", "test", "warpsmith"];
    // A digit begins no name.
    let is_free = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && !TAKEN.contains(&name.replace('-', "_").as_str());
    if is_free { name.to_owned() } else { format!("kernels-{name}").trim_end_matches('-').to_owned() }
}

/// A path as a shell takes it: in quotes if it holds more than letters, digits and a few signs.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+=:,@%".contains(c);
    match text.chars().all(plain) && !text.starts_with('-') {
        true => text,
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert!(check_name("blur_rows").is_ok());
        for wrong in [
            "",
            "not a name",
            "9lives",
            "Blur",
            "naïve",
            "../up",
            "fn",
            "matmul",
            "matmul_naive",
            "all",
            "f32",
            "virtual",
            "core",
            "launch",
            "main",
        ] {
            assert!(check_name(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_kernel_is_registered_in_every_place() {
        let root = tempfile::tempdir().unwrap();
        let real = source::workspace().unwrap();
        for file in ["kernels-gpu/src/lib.rs", "kernels-gpu/src/base/first.rs", "host/src/demos/mod.rs"] {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::copy(real.join(file), path).unwrap();
        }
        kernel(root.path(), "blur_rows", false).unwrap();
        let read = |file: &str| fs::read_to_string(root.path().join(file)).unwrap();
        assert!(read("kernels-gpu/src/base/blur_rows.rs").contains("pub fn blur_rows("));
        kernel(root.path(), "blur_raw", true).unwrap();
        assert!(read("kernels-gpu/src/base/blur_raw.rs").contains("pub unsafe fn blur_raw("));
        assert!(read("host/src/demos/blur_rows.rs").contains("use kernels_gpu::base::blur_rows::blur_rows;"));
        assert!(read("kernels-gpu/src/lib.rs").contains("\n    pub mod blur_rows;\n"));
        let demos = read("host/src/demos/mod.rs");
        assert!(
            demos.contains("\npub mod blur_rows;\n") && demos.contains("\n    &blur_rows::BlurRowsDemo,\n")
        );
        assert!(read("kernels-gpu/src/lib.rs").contains("    (\"blur_rows\", base::blur_rows::KERNELS),\n"));
        let again = kernel(root.path(), "blur_rows", false).unwrap_err().to_string();
        assert!(again.contains("nothing was written"), "{again}");
        fs::create_dir(root.path().join("kernels-gpu/src/base/wide")).unwrap();
        let folder = kernel(root.path(), "wide", false).unwrap_err().to_string();
        assert!(
            folder.contains("kernels-gpu/src/base/wide is there already; nothing was written"),
            "{folder}"
        );
        assert!(!read("kernels-gpu/src/lib.rs").contains("mod wide"));
    }

    #[test]
    fn a_path_with_blanks_is_quoted_for_the_shell() {
        for (path, shown) in [
            ("../my-project", "../my-project"),
            ("/tmp/größe", "/tmp/größe"),
            ("my project", "'my project'"),
            ("it's $HOME", r"'it'\''s $HOME'"),
        ] {
            assert_eq!(quoted(Path::new(path)), shown);
        }
    }

    #[test]
    fn a_projects_readme_names_this_repository_and_the_variables() {
        let folder = tempfile::tempdir().unwrap();
        let root = Path::new("/some/where");
        let dependencies = Dependencies::by_path(root, folder.path()).unwrap();
        project(root, &dependencies, folder.path(), Form::TwoPackages).unwrap();
        let readme = fs::read_to_string(folder.path().join("README.md")).unwrap();
        for part in
            ["`WARPSMITH_DEVICE=gpu`", " WARPSMITH_PROFILE=profile.json ", "`/some/where/docs/extending.md`"]
        {
            assert!(readme.contains(part), "{part}:\n{readme}");
        }
        let manifest = fs::read_to_string(folder.path().join("Cargo.toml")).unwrap();
        assert!(manifest.contains("tile = { path = \"/some/where/crates/tile\" }"), "{manifest}");
    }

    #[test]
    fn a_project_to_share_names_a_repository_and_is_tested_without_a_gpu() {
        let folder = tempfile::tempdir().unwrap();
        let dependencies = Dependencies::Git { url: "https://a.b/c".into(), commit: None };
        project(Path::new("/some/where"), &dependencies, folder.path(), Form::TwoPackages).unwrap();
        for (file, part) in [
            ("Cargo.toml", "find_cuda_helper = { git = \"https://a.b/c\" }"),
            ("README.md", "Warpsmith's crates come from https://a.b/c: keep `Cargo.lock`"),
            (".github/workflows/test.yml", "WARPSMITH_CHECK: all"),
        ] {
            let text = fs::read_to_string(folder.path().join(file)).unwrap();
            assert!(text.contains(part) && !text.contains("WARPSMITH/"), "{file}: {text}");
        }
    }

    #[test]
    fn a_package_in_one_file_is_short_and_has_a_name_that_cargo_takes() {
        let folder = tempfile::tempdir().unwrap();
        let dependencies = Dependencies::Path("/some/where".to_owned());
        let written =
            project(Path::new("/some/where"), &dependencies, folder.path(), Form::OnePackage).unwrap();
        let lines = |file: &String| fs::read_to_string(file).unwrap().lines().count();
        let files = written.files.iter().filter(|file| !file.ends_with("Cargo.lock"));
        assert!(files.map(lines).sum::<usize>() < 60);
        for (folder, name) in [
            ("my-project", "my-project"),
            ("mein \u{fc} \"project\"", "mein--project"),
            ("1st", "kernels-1st"),
            ("\u{fc}", "kernels"),
        ] {
            assert_eq!(package_name(Path::new(folder)), name);
        }
    }

    #[test]
    fn a_folder_that_holds_something_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("mine"), "").unwrap();
        let dependencies = Dependencies::Path("/anywhere".to_owned());
        assert!(project(Path::new("/anywhere"), &dependencies, folder.path(), Form::OnePackage).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
