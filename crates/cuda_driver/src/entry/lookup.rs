//! Addresses of entry points, by name and version.
#![allow(non_snake_case)]

use std::ffi::c_void;
use std::ptr::null;

use super::EntryPoint;
use crate::abi::{Answer, CUdriverProcAddressQueryResult as Found, CUresult, Out, Text};
use crate::objects::device::DRIVER_VERSION;

pub fn cuGetProcAddress(symbol: Text, place: Out<*mut c_void>, version: i32, flags: u64) -> Answer {
    find(symbol, place, version, flags).map_err(|_| CUresult::NOT_FOUND)
}

pub fn cuGetProcAddress_v2(
    symbol: Text,
    place: Out<*mut c_void>,
    version: i32,
    flags: u64,
    found: Out<u32>,
) -> Answer {
    match find(symbol, place, version, flags) {
        Ok(()) => {
            found.set_if_given(Found::SUCCESS as u32);
            Ok(())
        }
        // If the query result is requested, a missing symbol is a valid answer, not an error.
        Err(NotFound::As(reason)) => {
            found.set_if_given(reason as u32);
            if found.is_null() { Err(CUresult::NOT_FOUND) } else { Ok(()) }
        }
        Err(NotFound::Argument) => Err(CUresult::INVALID_VALUE),
    }
}

const LEGACY_STREAM: u64 = 1;
const PER_THREAD_DEFAULT_STREAM: u64 = 2;

enum NotFound {
    As(Found),
    Argument,
}

/// The newest variant of an entry point in the program's version of the interface.
fn find(symbol: Text, place: Out<*mut c_void>, version: i32, flags: u64) -> Result<(), NotFound> {
    let name = symbol.get().map_err(|_| NotFound::Argument)?;
    if place.is_null() || flags & !(LEGACY_STREAM | PER_THREAD_DEFAULT_STREAM) != 0 {
        return Err(NotFound::Argument);
    }
    place.set_at(0, null::<c_void>().cast_mut());
    let named: Vec<&EntryPoint> = super::all().filter(|entry| base_name(entry.name) == name).collect();
    if named.is_empty() {
        return Err(NotFound::As(Found::SYMBOL_NOT_FOUND));
    }
    let known = version.min(DRIVER_VERSION);
    let newest = |per_thread: bool| {
        let fits = |entry: &&&EntryPoint| entry.per_thread == per_thread && entry.since <= known;
        named.iter().filter(fits).max_by_key(|entry| (entry.since, entry.name.len(), entry.name))
    };
    let wanted = if flags & PER_THREAD_DEFAULT_STREAM != 0 {
        newest(true).or_else(|| newest(false))
    } else {
        newest(false)
    };
    match wanted {
        Some(entry) => {
            place.set_at(0, entry.address.0.cast_mut());
            Ok(())
        }
        None => Err(NotFound::As(Found::VERSION_NOT_SUFFICIENT)),
    }
}

/// The name without the suffixes for a symbol's version and its null stream.
fn base_name(symbol: &str) -> &str {
    let name = symbol.strip_suffix("_ptsz").or_else(|| symbol.strip_suffix("_ptds")).unwrap_or(symbol);
    match name.rsplit_once("_v") {
        Some((base, digits)) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            base
        }
        _ => name,
    }
}
