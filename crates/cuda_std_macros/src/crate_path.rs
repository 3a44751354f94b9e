//! Under which name the crate that uses `#[kernel]` knows `cuda_std`, or `blockwise`.
//!
//! A manifest may rename it (`gpu = { package = "cuda_std", … }`), and a crate may know it only through another one that
//! re-exports it; upstream's `#[kernel]` names no path and works in both. An attribute has no `$crate`, but it runs within
//! rustc, whose command line says under which name each dependency goes.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use std::path::PathBuf;

/// The path of `cuda_std`, or of another package, in the crate that is being compiled: by its own name there, or through
/// `warpsmith`, which re-exports it. `None` if that crate has it from another one only.
pub fn find(package: &str) -> Option<TokenStream> {
    let ident = |name: &str| Ident::new(name, Span::call_site());
    if let Some(name) = name(package, arguments()) {
        let name = ident(&name);
        return Some(quote!(::#name));
    }
    let (umbrella, package) = (ident(&name("warpsmith", arguments())?), ident(package));
    Some(quote!(::#umbrella::#package))
}

/// The root of the crate that is being compiled: the source that rustc was called with.
pub fn root() -> Option<PathBuf> {
    arguments().skip(1).find(|argument| argument.ends_with(".rs")).map(PathBuf::from)
}

/// This process's arguments, and those in files that stand for arguments (`@file`).
fn arguments() -> impl Iterator<Item = String> {
    std::env::args_os().filter_map(|a| a.into_string().ok()).flat_map(|argument| {
        match argument.strip_prefix('@').map(std::fs::read_to_string) {
            Some(Ok(lines)) => lines.lines().map(str::to_owned).collect(),
            _ => vec![argument],
        }
    })
}

fn name(package: &str, arguments: impl Iterator<Item = String>) -> Option<String> {
    let files = [format!("lib{package}-"), format!("lib{package}.")];
    let (mut is_rustc, mut found) = (false, None);
    let mut arguments = arguments.peekable();
    while let Some(argument) = arguments.next() {
        let mut value = |key: &str| {
            let rest = argument.strip_prefix(key)?;
            if rest.is_empty() { arguments.next() } else { rest.strip_prefix('=').map(str::to_owned) }
        };
        if argument.starts_with("--crate-name") {
            is_rustc = true;
            // The package itself: it goes by its own name there.
            if value("--crate-name").as_deref() == Some(package) {
                return Some(package.to_owned());
            }
        } else if let Some(dependency) = value("--extern") {
            // `OPTIONS:NAME=PATH`, of which only the name must be there.
            let (name, path) = dependency.split_once('=').unwrap_or((&dependency, ""));
            let name = name.rsplit(':').next().unwrap_or(name);
            let file = path.rsplit(['/', '\\']).next().unwrap_or_default();
            if name == package || files.iter().any(|begin| file.starts_with(begin)) {
                found = Some(name.to_owned());
            }
        }
    }
    // What is not rustc, such as rust-analyzer, does not say.
    found.or_else(|| (!is_rustc).then(|| package.to_owned()))
}

#[cfg(test)]
mod tests {
    fn name(arguments: &[&str]) -> Option<String> {
        super::name("cuda_std", arguments.iter().map(|a| (*a).to_owned()))
    }

    #[test]
    fn the_name_is_the_manifests() {
        let ours = "cuda_std=/t/deps/libcuda_std-1f.rmeta";
        assert_eq!(name(&["rustc", "--crate-name", "k", "--extern", ours]).as_deref(), Some("cuda_std"));
        assert_eq!(
            name(&["rustc", "--crate-name=k", "--extern=priv:gpu=C:\\t\\libcuda_std-1f.rlib"]).as_deref(),
            Some("gpu")
        );
    }

    #[test]
    fn a_crate_that_has_it_from_another_knows_no_name() {
        assert_eq!(
            name(&[
                "rustc",
                "--crate-name",
                "k",
                "--extern",
                "facade=/t/libfacade-1.rmeta",
                "--extern",
                "alloc"
            ]),
            None
        );
    }

    #[test]
    fn the_crate_itself_and_other_programs_know_it_by_its_own() {
        assert_eq!(name(&["rustc", "--crate-name", "cuda_std"]).as_deref(), Some("cuda_std"));
        assert_eq!(name(&["rust-analyzer-proc-macro-srv"]).as_deref(), Some("cuda_std"));
    }
}
