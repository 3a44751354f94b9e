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

/// A function's readable name.
pub fn of(function: Value) -> String {
    readable(&function.name())
}

/// The last part of an allocator shim's name: `__rust_alloc` for `_RNvCs…7___rustc12___rust_alloc`.
pub fn allocator_shim(symbol: &str) -> Option<String> {
    let readable = readable(symbol);
    readable.strip_prefix("__rustc::").map(str::to_owned)
}
