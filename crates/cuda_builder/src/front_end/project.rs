//! Checks of the device crate itself: its header, its `cuda_std`, and which files it was made from.

use crate::error::CudaBuilderError;
use crate::front_end::levels::table;
use crate::front_end::toolchain::Toolchain;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use toml::Value;

/// The header that kernel crates of 2022 begin with. Rust has removed its attributes since, so rustc's errors do
/// not lead to the cure.
pub fn check_header(crate_path: &Path) -> Result<(), CudaBuilderError> {
    let root = crate_path.join("src/lib.rs");
    let Ok(text) = fs::read_to_string(&root) else { return Ok(()) };
    let Some(at) = text.find("register_attr(nvvm_internal)") else { return Ok(()) };
    let Some(start) = text[..at].rfind("#![") else { return Ok(()) };
    let Some(len) = text[start..].find(")]").map(|end| end + 2) else { return Ok(()) };
    let first = text[..start].lines().count() + 1;
    let last = text[..start + len].lines().count();
    let lines = if first == last { format!("line {first}") } else { format!("lines {first} to {last}") };
    Err(CudaBuilderError::OldHeader { file: root, lines, header: text[start..start + len].to_owned() })
}

/// After a failed build: whether the crate resolved a `cuda_std` that this builder does not know. Upstream's own needs
/// a nightly compiler, and fails with errors that do not say so.
pub fn foreign_cuda_std(toolchain: &Toolchain, crate_path: &Path) -> Option<CudaBuilderError> {
    let output = Command::new(&toolchain.cargo)
        .args(["metadata", "--format-version=1", "--offline"])
        .current_dir(crate_path)
        .output()
        .ok()?;
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
    let foreign = metadata["packages"]
        .as_array()?
        .iter()
        .find(|package| package["name"] == "cuda_std" && package["metadata"]["cuda_builder"].is_null())?;
    let source = match foreign["source"].as_str() {
        Some(source) => source.split('?').next().unwrap_or(source).to_owned(),
        None => foreign["manifest_path"].as_str()?.to_owned(),
    };
    let version = foreign["version"].as_str().unwrap_or("?");
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("cuda_std");
    Some(CudaBuilderError::ForeignCudaStd {
        found: format!("{version} ({source})"),
        ours: ours.display().to_string(),
    })
}

/// Edits that bring an upstream project here and that the package of a build script lacks, a line each. Without them
/// the build ends in errors of a linker or of another build script, which do not name the cure.
pub fn missing_edits(package: &Path) -> Vec<String> {
    let lock = package.ancestors().map(|folder| folder.join("Cargo.lock")).find(|lock| lock.is_file());
    let lock = lock.and_then(|lock| table(&lock)).unwrap_or_default();
    let packages = || lock.get("package").and_then(Value::as_array).into_iter().flatten();
    let find = |name: &str| packages().find(|entry| entry.get("name").and_then(Value::as_str) == Some(name));
    // Without `cust`, or with the real CUDA to link, nothing of this is needed.
    let (Some(_), Some(helper)) = (find("cust"), find("find_cuda_helper")) else { return Vec::new() };
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/porting.md");
    let page = fs::canonicalize(&page).unwrap_or(page);
    let mut missing = Vec::new();
    if helper.get("source").is_some() {
        if !has_cuda() {
            missing.push("the patch of `find_cuda_helper`, or `Could not find a cuda installation` follows");
        }
    } else if find("cuda_driver").is_none() {
        missing.push("the dependency on `cuda_driver`, or the linker says `undefined symbol: cu…`");
    } else if !names_driver(&package.join("src")) && !names_umbrella(&package.join("Cargo.toml")) {
        missing.push("`use warpsmith_cuda as _;`, or the linker says `undefined symbol: cu…`");
    }
    let line = |what: &str| format!("this package lacks {what}: see {}", page.display());
    missing.into_iter().map(line).collect()
}

/// Whether a CUDA installation is where the published `find_cuda_helper` looks.
fn has_cuda() -> bool {
    let variables = ["CUDA_PATH", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR", "CUDA_LIBRARY_PATH"];
    variables.iter().any(|name| std::env::var_os(name).is_some())
        || ["/usr/local/cuda", "/opt/cuda"].iter().any(|folder| Path::new(folder).is_dir())
        || cfg!(windows)
}

/// The library of the driver, and those that bring it.
const DRIVERS: [&str; 3] = ["warpsmith_cuda", "warpsmith_launch", "warpsmith_kernels"];

/// Whether a manifest names the crate that brings all of them.
fn names_umbrella(manifest: &Path) -> bool {
    table(manifest).is_some_and(|manifest| {
        manifest.get("dependencies").is_some_and(|dependencies| dependencies.get("warpsmith").is_some())
    })
}

/// Whether a source in this folder names the library of the driver, or one that names it.
fn names_driver(folder: &Path) -> bool {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).any(|path| {
        path.is_dir() && names_driver(&path)
            || fs::read_to_string(&path).is_ok_and(|text| DRIVERS.iter().any(|name| text.contains(name)))
    })
}

/// The files that the PTX was made from: the sources of the crate and its path dependencies, as rustc listed
/// them, their manifests, and the lock file. Whole folders would make every build a new one when they hold a target
/// folder.
pub fn dependencies_of(archive: &Path, crate_path: &Path) -> Vec<PathBuf> {
    let mut files = vec![crate_path.join("Cargo.toml")];
    let listed = fs::read_to_string(archive.with_extension("d")).unwrap_or_default();
    files.extend(listed.lines().flat_map(dependencies));
    let manifests: Vec<PathBuf> = files.iter().filter_map(|file| manifest(file)).collect();
    files.extend(manifests);
    files.extend(crate_path.ancestors().map(|folder| folder.join("Cargo.lock")).find(|lock| lock.is_file()));
    files.sort();
    files.dedup();
    files
}

/// The files after the colon of one line of a dep-info file, in which blanks are escaped.
fn dependencies(line: &str) -> Vec<PathBuf> {
    let Some((_, list)) = line.split_once(": ") else { return Vec::new() };
    let mut files = vec![String::new()];
    let mut rest = list.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' if rest.peek() == Some(&' ') => {
                rest.next();
                files.last_mut().expect("never empty").push(' ');
            }
            ' ' => files.push(String::new()),
            c => files.last_mut().expect("never empty").push(c),
        }
    }
    files.into_iter().filter(|file| !file.is_empty()).map(PathBuf::from).collect()
}

fn manifest(source: &Path) -> Option<PathBuf> {
    source.ancestors().skip(1).map(|folder| folder.join("Cargo.toml")).find(|manifest| manifest.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_header_is_found_with_its_lines() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("src")).unwrap();
        let root = folder.path().join("src/lib.rs");
        let header = "#![cfg_attr(\n    target_os = \"cuda\",\n    no_std,\n    feature(register_attr),\n    register_attr(nvvm_internal)\n)]";
        fs::write(&root, format!("//! Kernels.\n{header}\nuse cuda_std::prelude::*;\n")).unwrap();
        let message = check_header(folder.path()).unwrap_err().to_string();
        assert!(
            message.contains("lines 2 to 7") && message.contains("register_attr(nvvm_internal)"),
            "{message}"
        );
        fs::write(&root, "use cuda_std::prelude::*;\n").unwrap();
        assert!(check_header(folder.path()).is_ok());
    }

    #[test]
    fn a_foreign_cuda_std_is_told_from_ours() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let manifest = |name: &str, more: &str| {
            format!("[package]\nname = \"{name}\"\nversion = \"0.2.2\"\nedition = \"2021\"\n{more}")
        };
        write("kernels/src/lib.rs", "");
        write("cuda_std/src/lib.rs", "");
        write(
            "kernels/Cargo.toml",
            &manifest("kernels", "[dependencies]\ncuda_std = { path = \"../cuda_std\" }\n[workspace]\n"),
        );
        write("cuda_std/Cargo.toml", &manifest("cuda_std", ""));
        let toolchain = Toolchain::find().unwrap();
        let kernels = folder.path().join("kernels");
        let message = foreign_cuda_std(toolchain, &kernels).unwrap().to_string();
        assert!(message.contains("cuda_std 0.2.2") && message.contains("[patch.crates-io]"), "{message}");
        write("cuda_std/Cargo.toml", &manifest("cuda_std", "[package.metadata.cuda_builder]\nmarks = 1\n"));
        assert!(foreign_cuda_std(toolchain, &kernels).is_none());
    }

    #[test]
    fn each_missing_edit_is_named_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let entry = |name: &str| format!("[[package]]\nname = \"{name}\"\nversion = \"0.1.0\"\n\n");
        let host = folder.path().join("host");
        let lack = |entries: &[&str]| {
            write("Cargo.lock", &(String::from("version = 4\n\n") + &entries.concat()));
            missing_edits(&host).join("\n")
        };
        write("host/src/main.rs", "fn main() {}\n");
        let (cust, driver, helper) = (entry("cust"), entry("cuda_driver"), entry("find_cuda_helper"));
        assert_eq!(lack(&[&driver]), "", "nothing is linked without `cust`");
        assert!(lack(&[&cust, &helper]).contains("the dependency on `cuda_driver`"));
        let text = lack(&[&cust, &driver, &helper]);
        assert!(text.contains("`use warpsmith_cuda as _;`") && text.contains("porting.md"), "{text}");
        let published = helper.trim_end().to_owned() + "\nsource = \"registry+https://example.org\"\n\n";
        let text = lack(&[&cust, &driver, &published]);
        assert_eq!(text.contains("the patch of `find_cuda_helper`"), !has_cuda(), "{text}");
        write("host/Cargo.toml", "[dependencies]\nwarpsmith = \"0.1\"\n");
        assert_eq!(lack(&[&cust, &driver, &helper]), "");
        write("host/Cargo.toml", "");
        write("host/src/deep/er.rs", "use warpsmith_cuda as _;\n");
        assert_eq!(lack(&[&cust, &driver, &helper]), "");
    }

    #[test]
    fn blanks_in_paths_are_read() {
        let files = dependencies(r"/a\ b/lib.a: /a\ b/src/lib.rs /c/d.rs");
        assert_eq!(files, [PathBuf::from("/a b/src/lib.rs"), PathBuf::from("/c/d.rs")]);
        assert!(dependencies("").is_empty());
    }
}
