//! Which packages differ between architectures.
//!
//! The gates `target_feature = "compute_XX"` are cfgs, and cargo takes those for the whole build: for each architecture
//! it would compile every dependency anew, though few have ever heard of the gates. So the gates come through the
//! compiler wrapper, and only packages that may ask for them are told apart, by a number in their profile that has no
//! other meaning: cargo keeps them side by side, and all others once.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Codegen units that stand for these gates, not for a number of units; the real number comes later on the command line
/// of rustc, and the last one counts.
pub fn number(gates: &[String]) -> u64 {
    let mut hasher = DefaultHasher::new();
    gates.hash(&mut hasher);
    1000 + hasher.finish() % 1_000_000_000
}

/// The names of the packages that may ask for the gates: those that name one, and those whose sources are not known.
/// `None` if cargo itself must know of the gates.
///
/// A registry's content under a name and version does not change: results are kept in `known`.
pub fn gated(crate_path: &Path, known: &Path) -> Option<BTreeSet<String>> {
    let read = fs::read_to_string(known).unwrap_or_default();
    let mut found: BTreeMap<PathBuf, bool> = read.lines().filter_map(entry).collect();
    let before = found.len();
    let gated = gated_packages(crate_path, &mut found);
    if found.len() != before {
        let text: String = found
            .iter()
            .map(|(folder, gated)| {
                format!("{} {}\n", if *gated { "gated" } else { "free" }, folder.display())
            })
            .collect();
        // Not kept, it is found again.
        let _ = fs::write(known, text);
    }
    gated
}

fn entry(line: &str) -> Option<(PathBuf, bool)> {
    let (gated, folder) = line.split_once(' ')?;
    Some((PathBuf::from(folder), gated == "gated"))
}

fn gated_packages(crate_path: &Path, found: &mut BTreeMap<PathBuf, bool>) -> Option<BTreeSet<String>> {
    let lock = crate_path.ancestors().map(|folder| folder.join("Cargo.lock")).find(|lock| lock.is_file())?;
    let manifests = local_manifests(crate_path);
    if manifests.iter().any(|manifest| steers_by_feature(manifest)) {
        return None;
    }
    let local: HashMap<String, &Path> =
        manifests.iter().filter_map(|m| m.parent()).filter_map(|f| Some((package_name(f)?, f))).collect();
    let sources = registry_sources();
    let mut gated = BTreeSet::new();
    for package in needed(packages(&table(&lock)?), &package_name(crate_path)?) {
        let folder_name = format!("{}-{}", package.name, package.version);
        let folder = sources.iter().map(|source| source.join(&folder_name)).find(|folder| folder.is_dir());
        let folder = folder.filter(|_| package.is_of_registry);
        let names_a_gate = match (&folder, local.get(&package.name)) {
            (Some(folder), _) => *found.entry(folder.clone()).or_insert_with(|| names_a_gate(folder)),
            (None, Some(folder)) => names_a_gate(folder),
            // One that lies elsewhere is not known to be without gates.
            (None, None) => true,
        };
        if names_a_gate {
            if folder.is_some_and(|folder| steers_by_feature(&folder.join("Cargo.toml"))) {
                return None;
            }
            gated.insert(package.name);
        }
    }
    Some(gated)
}

/// A manifest or lock file, read.
pub fn table(path: &Path) -> Option<Table> {
    fs::read_to_string(path).ok()?.parse().ok()
}

/// The name in a crate's manifest.
fn package_name(crate_path: &Path) -> Option<String> {
    let manifest = table(&crate_path.join("Cargo.toml"))?;
    Some(manifest.get("package")?.get("name")?.as_str()?.to_owned())
}

/// The packages that this one needs, with itself.
fn needed(all: Vec<Package>, name: &str) -> Vec<Package> {
    let mut names = HashSet::from([name.to_owned()]);
    loop {
        let known = names.len();
        for package in all.iter().filter(|package| names.contains(&package.name)).collect::<Vec<_>>() {
            names.extend(package.dependencies.iter().cloned());
        }
        if names.len() == known {
            return all.into_iter().filter(|package| names.contains(&package.name)).collect();
        }
    }
}

struct Package {
    name: String,
    version: String,
    is_of_registry: bool,
    /// Their names.
    dependencies: Vec<String>,
}

/// The packages of a lock file.
fn packages(lock: &Table) -> Vec<Package> {
    let package = |entry: &Value| {
        let text = |key: &str| Some(entry.get(key)?.as_str()?.to_owned());
        let listed = entry.get("dependencies").and_then(Value::as_array);
        // `name`, or `name version` where there are several.
        let name_of = |dependency: &Value| Some(dependency.as_str()?.split(' ').next()?.to_owned());
        Some(Package {
            name: text("name")?,
            version: text("version")?,
            is_of_registry: text("source").is_some_and(|source| !source.starts_with("git+")),
            dependencies: listed.into_iter().flatten().filter_map(name_of).collect(),
        })
    };
    lock.get("package").and_then(Value::as_array).into_iter().flatten().filter_map(package).collect()
}

/// Where cargo unpacks what it downloads.
fn registry_sources() -> Vec<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    let registries = home.and_then(|home| fs::read_dir(home.join("registry/src")).ok());
    registries.into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// Whether any file of a package that a library may be made from holds `"compute_` and a digit, asks for the variable
/// `"CUDA_ARCH"`, or takes in a file from outside of the package, which is not looked at.
fn names_a_gate(package: &Path) -> bool {
    any_file(package, 0, &|text, depth| {
        let is_gate = |at: &[u8]| {
            at.starts_with(b"\"compute_") && at[9].is_ascii_digit() || at.starts_with(b"\"CUDA_ARCH")
        };
        let mut quotes = (0..text.len()).filter(|at| text[*at] == b'"').map(|at| &text[at..]);
        quotes.any(|at| at.len() > 9 && is_gate(at) || leads_outside(&at[1..], depth))
    })
}

/// Whether a path in a file `depth` folders below its package's leads out of that.
fn leads_outside(path: &[u8], depth: usize) -> bool {
    let up = path.chunks_exact(3).take_while(|step| step == b"../").count();
    up > depth || path.starts_with(b"/../")
}

/// Whether `is` holds of any file that a library may be made from. Manifests have paths to other packages in them.
fn any_file(folder: &Path, depth: usize, is: &impl Fn(&[u8], usize) -> bool) -> bool {
    const NO_PART: [&str; 4] = ["target", "tests", "benches", "examples"];
    let Ok(entries) = fs::read_dir(folder) else { return true };
    entries.flatten().any(|entry| {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_str().unwrap_or_default();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            return !name.starts_with('.') && !NO_PART.contains(&name) && any_file(&path, depth + 1, is);
        }
        !name.starts_with("Cargo.") && fs::read(&path).map_or(true, |text| is(&text, depth))
    })
}

/// The manifests of the crate, of its workspace, and of everything that these name by a path.
fn local_manifests(crate_path: &Path) -> HashSet<PathBuf> {
    let mut found = HashSet::new();
    let mut open: Vec<PathBuf> = crate_path.ancestors().map(Path::to_owned).collect();
    while let Some(folder) = open.pop() {
        let Ok(manifest) = fs::canonicalize(folder.join("Cargo.toml")) else { continue };
        let Some(content) = table(&manifest) else { continue };
        if found.insert(manifest) {
            let mut paths = Vec::new();
            named_paths(&Value::Table(content), &mut paths);
            open.extend(paths.into_iter().map(|path| folder.join(path)));
        }
    }
    found
}

/// Every `path = "…"` of a manifest: of dependencies, of patches, of members; where none is a package, there is no manifest.
fn named_paths(value: &Value, paths: &mut Vec<String>) {
    match value {
        Value::Table(table) => {
            paths.extend(table.get("path").and_then(Value::as_str).map(str::to_owned));
            table.values().for_each(|value| named_paths(value, paths));
        }
        Value::Array(values) => values.iter().for_each(|value| named_paths(value, paths)),
        _ => {}
    }
}

/// Whether a package chooses dependencies by a feature of the target, or its build script asks for them; or whether it
/// has profiles for packages by their version, which cargo does not take beside ours by name.
fn steers_by_feature(manifest: &Path) -> bool {
    let content = table(manifest).unwrap_or_default();
    let tables = |key: &str| content.get(key).and_then(Value::as_table).into_iter().flatten();
    let versioned = |profile: &Value| {
        let packages = profile.get("package").and_then(Value::as_table).into_iter().flatten();
        packages.into_iter().any(|(name, _)| name.contains('@'))
    };
    tables("target").any(|(condition, _)| condition.contains("target_feature"))
        || tables("profile").any(|(_, profile)| versioned(profile))
        || fs::read_to_string(manifest.with_file_name("build.rs")).is_ok_and(|s| s.contains("TARGET_FEATURE"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_registries_are_told_from_others() {
        let lock = "version = 4\n\n[[package]]\nname = \"glam\"\nversion = \"0.30.10\"\nsource = \"registry+https://x\"\n\n\
                    [[package]]\nname = \"mine\"\nversion = \"0.1.0\"\ndependencies = [\n \"glam\",\n]\n\n\
                    [[package]]\nname = \"forked\"\nversion = \"1.0.0\"\nsource = \"git+https://y#abc\"\n";
        let packages = packages(&lock.parse().unwrap());
        let read: Vec<_> =
            packages.iter().map(|p| (p.name.as_str(), p.version.as_str(), p.is_of_registry)).collect();
        assert_eq!(read, [("glam", "0.30.10", true), ("mine", "0.1.0", false), ("forked", "1.0.0", false)]);
    }

    #[test]
    fn a_gate_is_found_wherever_it_stands() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("src/deep/er.rs");
        fs::create_dir_all(source.parent().unwrap()).unwrap();
        fs::write(&source, "fn compute_basis() {}").unwrap();
        assert!(!names_a_gate(folder.path()));
        fs::write(&source, "include!(\"../../within.rs\"); // `compute_80`").unwrap();
        assert!(!names_a_gate(folder.path()));
        for gate in [
            "#[cfg(target_feature = \"compute_80\")]",
            "option_env!(\"CUDA_ARCH\")",
            "include!(\"../../../outside.rs\");",
        ] {
            fs::write(&source, gate).unwrap();
            assert!(names_a_gate(folder.path()), "{gate}");
        }
        let test = folder.path().join("tests/gates.rs");
        fs::write(&source, "").unwrap();
        fs::create_dir_all(test.parent().unwrap()).unwrap();
        fs::write(&test, "\"compute_80\"").unwrap();
        assert!(!names_a_gate(folder.path()));
    }

    #[test]
    fn manifests_are_followed_by_their_paths() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(
            "kernels/Cargo.toml",
            "[package]\nname = \"kernels\"\n\n[dependencies]\nlocal = { path = \"../local\" }\n",
        );
        write(
            "kernels/Cargo.lock",
            "version = 4\n\n[[package]]\nname = \"kernels\"\nversion = \"0.2.0\"\ndependencies = [\n \"local\",\n]\n\n\
             [[package]]\nname = \"local\"\nversion = \"0.1.0\"\n\n[[package]]\nname = \"other\"\nversion = \"0.1.0\"\n",
        );
        write("local/Cargo.toml", "[package]\nname = \"local\"\n");
        let kernels = folder.path().join("kernels");
        let known = folder.path().join("known");
        assert_eq!(gated(&kernels, &known), Some(BTreeSet::new()));
        write("local/src/lib.rs", "#[cfg(target_feature = \"compute_80\")] mod fast;");
        assert_eq!(gated(&kernels, &known), Some(["local".to_owned()].into()));
        write("local/Cargo.toml", "[target.'cfg(target_feature = \"compute_80\")'.dependencies]\n");
        assert_eq!(gated(&kernels, &known), None);
        write("local/Cargo.toml", "[package]\nname = \"local\"\n");
        write("local/build.rs", "fn main() { std::env::var(\"CARGO_CFG_TARGET_FEATURE\").unwrap(); }");
        assert_eq!(gated(&kernels, &known), None);
    }
}
