//! A thin binding to the LLVM inside the Rust toolchain: what the lowering needs, and no more.
//!
//! `Context`, `Module`, `Builder` and `TargetMachine` own what they hold. `Value`, `Type` and `Block` are plain handles
//! into a module, as they are in C: using one after its module is gone, or after `erase`, is a mistake of the lowering
//! that no lifetime here would catch, since the passes may delete any value.

mod api;
mod attribute;
mod builder;
mod instruction;
mod location;
mod module;
mod target;
mod types;
mod value;

pub use api::load;
pub use attribute::At;
pub use builder::{Binary, Builder, Cast};
pub use instruction::{Block, Opcode, Ordering};
pub use location::{Location, source_checksums};
pub use module::{Context, Module};
pub use target::{DATA_LAYOUT, TRIPLE, TargetMachine, set_options};
pub use types::{Type, TypeKind};
pub use value::{Linkage, Value};

use api::{Ref, api};

/// Calls one function of the table.
macro_rules! ffi {
    ($name:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: the arguments are live handles of the kinds that the C header asks for, as this module's types keep
        // them; see the module's words on handles.
        unsafe { (crate::llvm::api().$name)($($argument),*) }
    };
}
use ffi;

/// Copies a message that LLVM allocated, and frees it.
fn take_message(message: *mut std::ffi::c_char) -> String {
    if message.is_null() {
        return String::new();
    }
    // SAFETY: LLVM's messages are NUL-terminated.
    let text = unsafe { std::ffi::CStr::from_ptr(message) }.to_string_lossy().into_owned();
    ffi!(DisposeMessage(message));
    text
}

/// A borrowed text of LLVM's, by pointer and length.
fn text(get: impl FnOnce(*mut usize) -> *const std::ffi::c_char) -> String {
    String::from_utf8_lossy(&bytes(get)).into_owned()
}

fn bytes(get: impl FnOnce(*mut usize) -> *const std::ffi::c_char) -> Vec<u8> {
    let mut len = 0;
    let start = get(&mut len);
    copied(start, len)
}

/// The bytes that LLVM says are there.
fn copied(start: *const std::ffi::c_char, len: usize) -> Vec<u8> {
    if start.is_null() {
        return Vec::new();
    }
    // SAFETY: LLVM returned this length with this pointer.
    unsafe { std::slice::from_raw_parts(start.cast::<u8>(), len) }.to_vec()
}

/// A C string for LLVM. Text with a NUL inside cannot name anything there, so it is cut at the NUL.
fn c(text: &str) -> std::ffi::CString {
    let end = text.find('\0').unwrap_or(text.len());
    std::ffi::CString::new(&text[..end]).unwrap_or_default()
}
