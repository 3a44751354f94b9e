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

use std::path::{Path, PathBuf};
use syn::{Ident, Item, ItemUse, UseTree};

/// What became of the name.
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
        // Reading is cheap beside parsing; few files have a module with a kernel's name.
        let Some(text) = std::fs::read_to_string(path).ok().filter(|text| may_declare(text, name)) else {
            continue;
        };
        let Ok(parsed) = syn::parse_file(&text) else { continue };
        match search(name, &parsed, index == 0) {
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

fn search(name: &str, file: &syn::File, own: bool) -> HostName {
    in_scope(name, &file.items, own)
}

/// Each of the two conflicts needs the name as a type and as a function in the same scope. `own`: the file holds the
/// kernel itself.
fn in_scope(name: &str, items: &[Item], own: bool) -> HostName {
    let is_type = items.iter().filter_map(type_name).any(|ident| ident == name);
    let mut found = HostName::Free;
    for item in items {
        match item {
            Item::Fn(function) if is_type && own && function.sig.ident == name => return HostName::Taken,
            Item::Use(ItemUse { tree, .. }) if is_type && imports(tree, name, false) => {
                found = HostName::Imported
            }
            Item::Mod(module) => {
                let inner = module.content.as_ref().map(|(_, items)| in_scope(name, items, own));
                if let Some(inner @ (HostName::Imported | HostName::Taken)) = inner {
                    found = inner;
                }
            }
            _ => {}
        }
    }
    found
}

/// The name that an item has among types.
fn type_name(item: &Item) -> Option<&Ident> {
    Some(match item {
        Item::Mod(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Union(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        _ => return None,
    })
}

/// Whether a `use` brings `…::name` into scope under that name.
fn imports(tree: &UseTree, name: &str, below: bool) -> bool {
    match tree {
        UseTree::Path(path) => imports(&path.tree, name, true),
        UseTree::Group(group) => group.items.iter().any(|tree| imports(tree, name, below)),
        UseTree::Name(leaf) => below && leaf.ident == name,
        UseTree::Rename(leaf) => leaf.rename == name,
        UseTree::Glob(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_own(text: &str) -> HostName {
        search("gemm", &syn::parse_file(text).expect("the test's own text parses"), true)
    }

    #[test]
    fn names_are_free_unless_a_module_of_that_name_meets_them() {
        assert_eq!(in_own("pub unsafe fn gemm() {}"), HostName::Free);
        assert_eq!(in_own("mod tiled; pub use tiled::gemm;"), HostName::Free);
        assert_eq!(in_own("mod gemm; pub use gemm::other;"), HostName::Free);
        assert_eq!(in_own("mod gemm { pub unsafe fn gemm() {} }"), HostName::Free);
        assert_eq!(in_own("mod gemm; pub use gemm::gemm as naive;"), HostName::Free);
        assert_eq!(in_own("mod gemm; pub use gemm::*;"), HostName::Free, "what a glob imports gives way");
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
        let above = syn::parse_file("mod gemm; fn gemm() {}").expect("it parses");
        assert_eq!(search("gemm", &above, false), HostName::Free, "another function, in another file");
    }

    #[test]
    fn words_are_told_apart() {
        assert!(may_declare("pub mod gemm;", "gemm"));
        assert!(!may_declare("pub mod gemm_tiled;", "gemm"));
    }
}
