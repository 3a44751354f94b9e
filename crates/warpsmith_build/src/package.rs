//! The package of the build script, as cargo knows it: its roots, its dependencies, and the patches of its workspace.

use serde_json::{Map, Value as Json};
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A package.
pub struct Package {
    json: Json,
    pub folder: PathBuf,
    /// Cargo's lock file of the workspace, whose versions the device crates have.
    pub lock: Option<String>,
    /// The patches of the workspace, as a part of a manifest.
    patches: String,
}

/// A binary, a library, an example, a test or a bench.
pub struct Root {
    /// The name of its crate.
    pub name: String,
    pub kind: String,
    pub source: PathBuf,
}

impl Package {
    /// Asks cargo.
    pub fn read() -> Result<Self, String> {
        let folder = env::var_os("CARGO_MANIFEST_DIR").ok_or("`kernels` is called from a build script")?;
        let folder = PathBuf::from(folder);
        let output = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(["metadata", "--no-deps", "--offline", "--format-version=1"])
            .current_dir(&folder)
            .output()
            .map_err(|error| format!("cargo could not be started: {error}"))?;
        let metadata: Json = serde_json::from_slice(&output.stdout)
            .map_err(|_| format!("cargo metadata failed:\n{}", String::from_utf8_lossy(&output.stderr)))?;
        let manifest = folder.join("Cargo.toml");
        let packages = metadata["packages"].as_array().into_iter().flatten();
        let is_own = |package: &&Json| {
            package["manifest_path"].as_str().is_some_and(|path| Path::new(path) == manifest)
        };
        let json = packages.into_iter().find(is_own).cloned();
        let json = json.ok_or_else(|| format!("cargo metadata does not name {}", manifest.display()))?;
        let workspace = PathBuf::from(metadata["workspace_root"].as_str().unwrap_or_default());
        let lock = fs::read_to_string(workspace.join("Cargo.lock")).ok();
        let patches = patches(&workspace).map_or(String::new(), |patches| format!("[patch]\n{patches}"));
        Ok(Self { json, folder, lock, patches })
    }

    pub fn roots(&self) -> Vec<Root> {
        let targets = self.json["targets"].as_array().into_iter().flatten();
        let text = |target: &Json, key: &str| target[key].as_str().unwrap_or_default().to_owned();
        let roots = targets.map(|target| Root {
            name: text(target, "name").replace('-', "_"),
            kind: target["kind"][0].as_str().unwrap_or_default().to_owned(),
            source: PathBuf::from(text(target, "src_path")),
        });
        roots.filter(|root| root.kind != "custom-build").collect()
    }

    /// The manifest of a device crate of this package, with those of its dependencies that the crate names.
    pub fn manifest(&self, root: &Root, named: &BTreeSet<String>) -> String {
        let own = |key: &str| inline(&self.json[key]);
        let mut dependencies = BTreeMap::new();
        for dependency in self.json["dependencies"].as_array().into_iter().flatten() {
            let name = dependency["rename"].as_str().or(dependency["name"].as_str()).unwrap_or_default();
            let is_named = dependency["name"] == "warpsmith" || named.contains(&name.replace('-', "_"));
            // Those of a platform are for the host's.
            let is_of_device = dependency["kind"] != "build" && dependency["target"].is_null() && is_named;
            // A crate may also be one for tests alone, with more features.
            if is_of_device && (dependency["kind"].is_null() || !dependencies.contains_key(name)) {
                dependencies.insert(name, inline(&entry(dependency)));
            }
        }
        let lines = dependencies.iter().map(|(name, entry)| format!("{} = {entry}\n", quoted(name)));
        let dependencies: String = lines.collect();
        let library = root.source.strip_prefix(&self.folder).unwrap_or(&root.source);
        // What kernels without `unsafe` are compared by: their package, its version, their module.
        format!(
            "[package]\nname = {}\nversion = {}\nedition = {}\nbuild = false\n\n[lib]\nname = {}\npath = {}\n\n\
             [dependencies]\n{dependencies}\n[features]\n{}\n[workspace]\nresolver = \"3\"\n\n{}",
            own("name"),
            own("version"),
            own("edition"),
            quoted(&root.name),
            quoted(&library.display().to_string()),
            self.features(),
            self.patches,
        )
    }

    /// The package's features, of which those are on by default that this build has.
    fn features(&self) -> String {
        let names = || self.json["features"].as_object().into_iter().flatten().map(|(name, _)| name);
        let names = || names().filter(|name| *name != "default");
        let is_on = |name: &&String| {
            let variable = name.to_uppercase().replace('-', "_");
            env::var_os(format!("CARGO_FEATURE_{variable}")).is_some()
        };
        let on: Vec<String> = names().filter(is_on).map(|name| quoted(name)).collect();
        let declared: String = names().map(|name| format!("{} = []\n", quoted(name))).collect();
        format!("default = [{}]\n{declared}", on.join(", "))
    }
}

/// The patches of a workspace, with whole paths.
fn patches(workspace: &Path) -> Option<String> {
    let manifest = fs::read_to_string(workspace.join("Cargo.toml")).ok()?;
    let manifest: toml::Table = manifest.parse().ok()?;
    let mut patches = serde_json::to_value(manifest.get("patch")?).ok()?;
    let sources = patches.as_object_mut()?.values_mut().filter_map(Json::as_object_mut);
    for patch in sources.flat_map(|source| source.values_mut()) {
        if let Some(path) = patch["path"].as_str() {
            patch["path"] = workspace.join(path).display().to_string().into();
        }
    }
    let lines = patches.as_object()?.iter();
    Some(lines.map(|(source, patches)| format!("{} = {}\n", quoted(source), inline(patches))).collect())
}

/// A dependency as a manifest has it.
fn entry(dependency: &Json) -> Json {
    let mut entry = Map::new();
    let mut add = |key: &str, value: Option<&str>| {
        entry.extend(value.map(|value| (key.to_owned(), value.into())));
    };
    add("package", dependency["name"].as_str());
    add("path", dependency["path"].as_str());
    add("registry-index", dependency["registry"].as_str());
    match dependency["source"].as_str().and_then(|source| source.strip_prefix("git+")) {
        Some(git) => {
            let git = git.split('#').next().unwrap_or(git);
            let (address, query) = git.split_once('?').unwrap_or((git, ""));
            add("git", Some(address));
            for (key, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
                add(key, Some(value));
            }
        }
        None => {
            let is_of_a_path = !dependency["path"].is_null();
            add("version", dependency["req"].as_str().filter(|version| *version != "*" || !is_of_a_path));
        }
    }
    entry.insert("features".to_owned(), dependency["features"].clone());
    entry.insert("default-features".to_owned(), (dependency["uses_default_features"] != false).into());
    Json::Object(entry)
}

/// TOML on one line.
fn inline(value: &Json) -> String {
    match value {
        Json::Array(values) => format!("[{}]", values.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Json::Object(entries) => {
            let pairs = entries.iter().map(|(key, value)| format!("{} = {}", quoted(key), inline(value)));
            format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// A basic string, whose escapes are JSON's, too.
fn quoted(text: &str) -> String {
    Json::from(text).to_string()
}
