//! The cause of a refused call, in one line on standard error: `NOT_FOUND` and `INVALID_VALUE` alone say little.
//!
//! Each line is printed once. `WARPSMITH_EXPLAIN=0` silences them, for programs that look up names which may not exist.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::{Mutex, OnceLock, PoisonError};

use virtual_gpu::Module as Program;

use crate::abi::CUresult;

/// How many names one line lists.
const LISTED: usize = 6;

thread_local! {
    /// Why this thread's current call is refused, for the checks. A destructor of another thread-local value may make a
    /// call after this one is gone; then nothing is recorded.
    static WHY: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// A call begins.
pub fn forget() {
    note(None);
}

fn note(why: Option<String>) {
    let _ = WHY.try_with(|known| known.replace(why));
}

/// Why the current call is refused, if known.
pub fn why() -> Option<String> {
    WHY.try_with(RefCell::take).ok().flatten()
}

/// Records why the current call will be refused, for the checks, unless a reason is already known.
pub fn because(why: impl FnOnce() -> String) {
    if crate::check::sanitizer().is_some() {
        let _ = WHY.try_with(|known| _ = known.borrow_mut().get_or_insert_with(why));
    }
}

/// Says why a call returns `code`, and returns the code.
pub fn refused(code: CUresult, why: impl FnOnce() -> String) -> CUresult {
    static WANTED: OnceLock<bool> = OnceLock::new();
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if *WANTED.get_or_init(|| std::env::var_os("WARPSMITH_EXPLAIN").is_none_or(|value| value != "0")) {
        let why = why();
        note(Some(why.clone()));
        let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
        if said.insert(why.clone()) {
            eprintln!("warpsmith: {why}");
        }
    }
    code
}

/// The module has no kernel of that name.
pub fn no_kernel(names: &[&str], name: &str) -> CUresult {
    refused(CUresult::NOT_FOUND, || match names.is_empty() {
        true => format!("the module has no kernel `{name}`, nor any other: mark functions with `#[kernel]`"),
        false => format!("the module has no kernel `{name}`{}", instead(name, names)),
    })
}

/// The module has no variable of that name.
pub fn no_variable(program: &Program, name: &str) -> CUresult {
    let names = program.globals();
    refused(CUresult::NOT_FOUND, || match mangled(name, &names) {
        None if names.is_empty() => format!(
            "the module has no variable `{name}`, nor any other: a static stays in it if a kernel reads it, and keeps its \
             name with `#[unsafe(no_mangle)]`"
        ),
        _ => format!("the module has no variable `{name}`{}", instead(name, &names)),
    })
}

/// The name that was probably meant, and those that exist.
fn instead(name: &str, names: &[&str]) -> String {
    if let Some(mangled) = mangled(name, names) {
        return format!(
            "; it has `{mangled}`, the same name mangled: put `#[unsafe(no_mangle)]` on it (in C++ `extern \"C\"`)"
        );
    }
    let meant = ptx::meant(name, names.iter().copied());
    let sign = if meant.is_empty() { "." } else { ";" };
    let listed: Vec<String> = names.iter().take(LISTED).map(|name| format!("`{name}`")).collect();
    let more = names.len().saturating_sub(LISTED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{sign}{meant} It has {}{more}", listed.join(", "))
}

/// The name as mangled by Rust or C++: preceded by its length.
fn mangled<'a>(name: &str, names: &[&'a str]) -> Option<&'a str> {
    let part = format!("{}{name}", name.len());
    names
        .iter()
        .copied()
        .find(|other| (other.starts_with("_Z") || other.starts_with("_R")) && other.contains(&part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mangled_name_is_known_again() {
        let names = ["_ZN7kernels4SEED17h0123456789abcdefE", "_RNvCs1_7kernels5TABLE", "_Z5scalePf", "plain"];
        assert_eq!(mangled("SEED", &names), Some(names[0]));
        assert_eq!(mangled("TABLE", &names), Some(names[1]));
        assert_eq!(mangled("scale", &names), Some(names[2]));
        assert_eq!(mangled("cale", &names), None);
        assert!(instead("SEED", &names).contains("#[unsafe(no_mangle)]"));
        assert_eq!(instead("plane", &["plain", "other"]), "; did you mean `plain`? It has `plain`, `other`");
        let many = ["a", "b", "c", "d", "e", "f", "g", "h"];
        assert!(instead("saxpy", &many).ends_with("`f` and 2 more"), "{}", instead("saxpy", &many));
    }
}
