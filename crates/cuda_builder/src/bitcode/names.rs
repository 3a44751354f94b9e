//! Rust's symbols as people know them.

use crate::llvm::Value;

/// `core::panicking::panic_bounds_check` for `_RNvNtCs…4core9panicking18panic_bounds_check`: no hashes, and no crate
/// numbers. Other symbols stay as they are.
pub fn readable(symbol: &str) -> String {
    match rustc_demangle::try_demangle(symbol) {
        Ok(name) => format!("{name:#}"),
        Err(_) => symbol.to_owned(),
    }
}

/// Whether a symbol is one of this crate.
pub fn is_of(symbol: &str, crate_name: &str) -> bool {
    let name = readable(symbol);
    name.trim_start_matches('<').strip_prefix(crate_name).is_some_and(|rest| rest.starts_with("::"))
}

/// A function's readable name.
pub fn of(function: Value) -> String {
    readable(&function.name())
}

/// The symbol of the kernel or function whose text in PTX begins with this line.
pub fn begun(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once(".entry ").or_else(|| line.split_once(".func "))?;
    let name = rest.rsplit_once(')').map_or(rest, |(_, name)| name);
    Some(name.trim().trim_end_matches('('))
}
