//! Whether the type that describes a kernel to the host may have the kernel's name.
//!
//! Functions and types are different namespaces, so `fn smooth` and a type `smooth` live side by side. Modules are in
//! the types' namespace, though, and two things that are fine for a function alone are not for both:
//!
//! - `mod gemm; pub use gemm::gemm;` would import the type to where the module is (error E0255);
//! - `mod gemm; #[kernel] pub unsafe fn gemm() {}` would define both in one place (error E0428).
//!
//! Kernel crates that know nothing of the type are written so, upstream's own among them. Both are looked for in the
//! kernel's file and in the file that declares its module; the macro sees no more than one item by itself.

use proc_macro2::{TokenStream, TokenTree};
use std::path::{Path, PathBuf};

/// The name's state.
#[derive(Debug, PartialEq, Eq)]
pub enum HostName {
    /// The type may have it.
    Free,
    /// The function is imported to where a module has its name: a private type is passed over by that import.
    Imported,
    /// Something beside the function has it.
    Taken,
}

/// Looks for `name` in the kernel's file and in that of the module above. Without a file (rust-analyzer) it is free.
pub fn of(name: &str, file: Option<&Path>) -> HostName {
    let Some(file) = file else { return HostName::Free };
    let texts = [Some(file.to_owned()), declaring_file(file)].into_iter().flatten();
    let mut found = HostName::Free;
    for (index, path) in texts.enumerate() {
        // Few files have a module with a kernel's name.
        let Some(text) = std::fs::read_to_string(path).ok().filter(|text| may_declare(text, name)) else {
            continue;
        };
        let Ok(items) = text.parse() else { continue };
        match search(name, items, index == 0) {
            HostName::Free => {}
            other => found = other,
        }
    }
    found
}

/// `src/gemm.rs` and `src/gemm/mod.rs` are declared in `src/lib.rs`, `src/main.rs`, `src/mod.rs` or `src.rs`.
fn declaring_file(file: &Path) -> Option<PathBuf> {
    let mut folder = file.parent()?;
    if file.file_stem()? == "mod" {
        folder = folder.parent()?;
    }
    let candidates = ["lib.rs", "main.rs", "mod.rs"].map(|name| folder.join(name));
    candidates.into_iter().chain([folder.with_extension("rs")]).find(|path| path != file && path.is_file())
}

fn may_declare(text: &str, name: &str) -> bool {
    ["mod", "struct", "enum", "union", "trait", "type"].iter().any(|keyword| {
        text.match_indices(&format!("{keyword} {name}")).any(|(at, found)| {
            !text[at + found.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_')
        })
    })
}

/// Each of the two conflicts needs the name as a type and as a function in the same scope. `own`: the file holds the
/// kernel itself.
fn search(name: &str, items: TokenStream, own: bool) -> HostName {
    const TYPES: [&str; 6] = ["mod", "struct", "enum", "union", "trait", "type"];
    let items: Vec<TokenTree> = items.into_iter().collect();
    let is_word = |at: usize, word: &str| matches!(items.get(at), Some(TokenTree::Ident(it)) if it == word);
    // Bodies are one token each here, so that these are the items of this scope alone.
    let declares = |keyword| (0..items.len()).any(|at| is_word(at, keyword) && is_word(at + 1, name));
    let is_type = TYPES.into_iter().any(declares);
    if is_type && own && declares("fn") {
        return HostName::Taken;
    }
    let mut found = HostName::Free;
    for at in 0..items.len() {
        if is_word(at, "use") && is_type {
            let tree = items[at + 1..].split(|token| is_punct(token, ';')).next().unwrap_or_default();
            if imports(tree, name, false) {
                found = HostName::Imported;
            }
        } else if is_word(at, "mod")
            && let Some(TokenTree::Group(inner)) = items.get(at + 2)
        {
            match search(name, inner.stream(), own) {
                HostName::Free => {}
                other => found = other,
            }
        }
    }
    found
}

/// Whether a `use` brings `…::name` into scope under that name. `below`: a path stands before the braces around this.
fn imports(tree: &[TokenTree], name: &str, below: bool) -> bool {
    tree.split(|token| is_punct(token, ',')).any(|leaf| {
        let below = below || leaf.len() > 1;
        match leaf.last() {
            Some(TokenTree::Group(group)) => {
                imports(&group.stream().into_iter().collect::<Vec<_>>(), name, below)
            }
            Some(TokenTree::Ident(last)) => below && last == name,
            _ => false,
        }
    })
}

fn is_punct(token: &TokenTree, c: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_own(text: &str) -> HostName {
        search("gemm", text.parse().expect("the test's own text parses"), true)
    }

    #[test]
    fn names_are_free_unless_a_module_of_that_name_meets_them() {
        assert_eq!(in_own("pub unsafe fn gemm() {}"), HostName::Free);
        assert_eq!(in_own("mod tiled; pub use tiled::gemm;"), HostName::Free);
        assert_eq!(in_own("mod gemm; pub use gemm::other;"), HostName::Free);
        assert_eq!(in_own("mod gemm { pub unsafe fn gemm() {} }"), HostName::Free);
        assert_eq!(in_own("mod gemm; pub use gemm::gemm as naive;"), HostName::Free);
        assert_eq!(in_own("mod gemm; pub use gemm::*;"), HostName::Free, "what a glob imports gives way");
        assert_eq!(in_own("mod gemm; fn other() { fn gemm() {} }"), HostName::Free, "a scope of its own");
    }

    #[test]
    fn imports_to_where_the_module_is_are_found() {
        assert_eq!(in_own("mod gemm; pub use crate::gemm::gemm;"), HostName::Imported);
        assert_eq!(in_own("mod gemm; pub use self::{gemm::{gemm, other}, x::y};"), HostName::Imported);
        assert_eq!(in_own("mod all { mod gemm; pub use gemm::gemm; }"), HostName::Imported);
        assert_eq!(in_own("mod gemm { pub unsafe fn gemm() {} } pub use gemm::gemm;"), HostName::Imported);
    }

    #[test]
    fn items_beside_the_kernel_are_found() {
        assert_eq!(in_own("mod gemm; unsafe fn gemm() {}"), HostName::Taken);
        assert_eq!(in_own("struct gemm { x: u8 } unsafe fn gemm() {}"), HostName::Taken);
        let above = "mod gemm; fn gemm() {}".parse().expect("it parses");
        assert_eq!(search("gemm", above, false), HostName::Free, "another function, in another file");
    }

    #[test]
    fn words_are_told_apart() {
        assert!(may_declare("pub mod gemm;", "gemm"));
        assert!(!may_declare("pub mod gemm_tiled;", "gemm"));
    }
}
