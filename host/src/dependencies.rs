//! How a project of its own names Warpsmith's crates: by the path of this repository, or by git, as other machines reach it.

use std::path::{Component, Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

/// Where the crates of a new project come from.
#[derive(Debug, PartialEq, Eq)]
pub enum Dependencies {
    /// This repository, by its path.
    Path(String),
    /// A repository that others reach, and the commit of it that this program is of, if it has that.
    Git { url: String, commit: Option<String> },
}

/// Placeholder of this repository in a template. With the slash, so `WARPSMITH_DEVICE` and its like stay.
const HERE: &str = "WARPSMITH/";
/// Placeholder of the sentence on the dependencies.
const SENTENCE: &str = "SENTENCE";

impl Dependencies {
    /// By the path from a project's folder to `root`: relative if one folder holds both, so that they can move together.
    pub fn by_path(root: &Path, project: &Path) -> anyhow::Result<Self> {
        anyhow::ensure!(
            !is_of_cargo(root),
            "this tool was installed from git, and cargo keeps its sources for itself: add `--git URL`, as you gave it to \
             `cargo install`"
        );
        let project = std::path::absolute(project)?;
        // The existing part, with its links followed; the rest is still to be made.
        let there = project.ancestors().find(|folder| folder.exists()).unwrap_or(&project);
        let rest = project.strip_prefix(there).unwrap_or(&project);
        let project = there.canonicalize().unwrap_or_else(|_| there.to_owned()).join(rest);
        let path = relative(root, &project).unwrap_or_else(|| root.to_owned());
        Ok(Self::Path(path.to_str().context("the path of this repository is no UTF-8")?.to_owned()))
    }

    /// By git: from `url`, or else from the remote of the clone at `root`.
    pub fn by_git(root: &Path, url: &str) -> anyhow::Result<Self> {
        let git = |arguments: &[&str]| {
            let output = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
            let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
            (output.status.success() && !text.is_empty()).then_some(text)
        };
        let url = match url {
            "" if is_of_cargo(root) => None,
            "" => git(&["remote", "get-url", "origin"]),
            url => Some(url.to_owned()),
        };
        let url = url.as_deref().and_then(as_cargo_takes_it).context(
            "say where other machines find Warpsmith: `--git URL`, such as https://… or ssh://… (no remote of these sources is that)",
        )?;
        // A commit that only this clone has is none that others find.
        let known = is_of_cargo(root) || git(&["branch", "--remotes", "--contains", "HEAD"]).is_some();
        let commit = git(&["rev-parse", "HEAD"]).filter(|_| known);
        Ok(Self::Git { url, commit })
    }

    /// Puts them into a template's text.
    pub fn fill(&self, file: &str, template: &str) -> String {
        let template = template.replace(SENTENCE, &self.sentence());
        match self {
            Self::Path(path) => {
                let path = if file.ends_with(".toml") { quotable(path) } else { path.clone() };
                template.replace(HERE, &format!("{path}/"))
            }
            Self::Git { url, commit } => {
                let rev = commit.as_ref().map_or(String::new(), |commit| format!(", rev = \"{commit}\""));
                let by_git = format!("git = \"{}\"{rev}", quotable(url));
                let line = |line: &str| match line.split_once("path = \"WARPSMITH/") {
                    // A crate is found by its name, wherever in the repository it lies.
                    Some((before, after)) => {
                        format!("{before}{by_git}{}", after.split_once('"').map_or("", |(_, after)| after))
                    }
                    None => line.replace("`WARPSMITH/docs/extending.md`", "`docs/extending.md` of Warpsmith"),
                };
                template.lines().map(|text| line(text) + "\n").collect()
            }
        }
    }

    /// Their sentence in the project's README.
    fn sentence(&self) -> String {
        match self {
            Self::Path(path) if Path::new(path).is_relative() => format!(
                "Warpsmith's crates are those in `{path}`: this folder and that one can move together. For a machine that has this folder \
                 alone,\n`warpsmith new --project DIR --git URL` names a repository instead, and writes a file for continuous integration."
            ),
            Self::Path(path) => format!(
                "Warpsmith's crates are those in `{path}`, on this machine. For others, `warpsmith new --project DIR --git URL` names a\n\
                 repository instead, and writes a file for continuous integration."
            ),
            Self::Git { url, commit } => format!(
                "Warpsmith's crates come from {url}{}: keep `Cargo.lock` with the project.\n\
                 `.github/workflows/test.yml` runs the tests on a machine without a GPU, and once more under the checks.",
                commit
                    .as_ref()
                    .map_or(String::new(), |commit| format!(", at {}", &commit[..commit.len().min(12)]))
            ),
        }
    }
}

/// Whether cargo has fetched a folder for itself, and may delete it.
fn is_of_cargo(root: &Path) -> bool {
    let names: Vec<_> = root.components().map(Component::as_os_str).collect();
    names.windows(2).any(|pair| pair == ["git", "checkouts"])
}

/// The way from a project's folder to `root`, if both lie in one folder that is not the whole disk.
fn relative(root: &Path, project: &Path) -> Option<PathBuf> {
    let shared = root.parent().filter(|folder| folder.parent().is_some())?;
    let below = project.strip_prefix(shared).ok()?;
    let up: PathBuf = below.components().map(|_| Component::ParentDir).collect();
    Some(up.join(root.file_name()?))
}

/// A repository's address for cargo, which wants a scheme; a folder of this machine is none.
fn as_cargo_takes_it(url: &str) -> Option<String> {
    if url.contains("://") {
        return Some(url.to_owned());
    }
    let (host, path) = url.split_once(':').filter(|(host, _)| host.contains('@') && !host.contains('/'))?;
    Some(format!("ssh://{host}/{}", path.trim_start_matches('/')))
}

/// Inside a TOML string a backslash or quote must stay one.
fn quotable(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str =
        "tile = { path = \"WARPSMITH/crates/tile\", features = [\"host\"] }\ncust = \"0.3.2\"\n";

    #[test]
    fn folders_beside_each_other_name_each_other() {
        let of = |project: &str| relative(Path::new("/home/me/warpsmith"), Path::new(project));
        assert_eq!(of("/home/me/mine").unwrap(), Path::new("../warpsmith"));
        assert_eq!(of("/home/me/a/b").unwrap(), Path::new("../../warpsmith"));
        assert_eq!(of("/tmp/mine"), None);
        assert_eq!(relative(Path::new("/warpsmith"), Path::new("/mine")), None);
    }

    #[test]
    fn a_project_names_a_path_or_a_repository_and_a_commit() {
        let path = Dependencies::Path("../a \"b\"".into());
        assert!(
            path.fill("Cargo.toml", MANIFEST).contains("{ path = \"../a \\\"b\\\"/crates/tile\", features")
        );
        let git = |commit| Dependencies::Git { url: "https://a.b/c.git".into(), commit };
        let text = git(Some("0123456789abcdef".into())).fill("Cargo.toml", MANIFEST);
        let expected = "tile = { git = \"https://a.b/c.git\", rev = \"0123456789abcdef\", features = [\"host\"] }\ncust = \"0.3.2\"\n";
        assert_eq!(text, expected);
        assert!(git(None).fill("Cargo.toml", MANIFEST).contains("{ git = \"https://a.b/c.git\", features"));
    }

    #[test]
    fn addresses_are_those_that_other_machines_reach() {
        for (given, taken) in [
            ("https://a.b/c", Some("https://a.b/c")),
            ("git@a.b:c/d.git", Some("ssh://git@a.b/c/d.git")),
            ("/srv/warpsmith", None),
            ("../warpsmith", None),
        ] {
            assert_eq!(as_cargo_takes_it(given).as_deref(), taken);
        }
        let refused = Dependencies::by_path(Path::new("/h/.cargo/git/checkouts/w-1/2"), Path::new("mine"));
        assert!(refused.unwrap_err().to_string().contains("--git URL"));
        assert!(Dependencies::by_git(Path::new("/h/.cargo/git/checkouts/w-1/2"), "").is_err());
    }
}
