//! What tests of the exported symbols begin with: the symbols, pointers to locals as C passes them, a context.
#![allow(dead_code, unused_imports)]

use std::ffi::CStr;
use std::ptr::{null, null_mut};

pub use warpsmith_cuda::abi::{CUresult, In, Out, Text};
pub use warpsmith_cuda::entry::contexts::*;
pub use warpsmith_cuda::entry::graphs::*;
pub use warpsmith_cuda::entry::interop::*;
pub use warpsmith_cuda::entry::memory::*;
pub use warpsmith_cuda::entry::modules::*;
pub use warpsmith_cuda::entry::streams::*;
pub use warpsmith_cuda::entry::textures::*;
use warpsmith_cuda::{DevicePreference, choose};

pub const OK: CUresult = CUresult::SUCCESS;

#[track_caller]
pub fn ok(code: CUresult) {
    assert_eq!(code, OK);
}

pub fn out<T>(place: &mut T) -> Out<T> {
    // SAFETY: a reference is a valid place, and each call of the tests ends before it does.
    unsafe { Out::new(place) }
}

pub fn nowhere<T>() -> Out<T> {
    // SAFETY: null is allowed.
    unsafe { Out::new(null_mut()) }
}

pub fn given<T: Copy>(value: &T) -> In<T> {
    // SAFETY: as for places.
    unsafe { In::new(value) }
}

pub fn nothing<T: Copy>() -> In<T> {
    // SAFETY: null is allowed.
    unsafe { In::new(null()) }
}

pub fn text(text: &CStr) -> Text {
    // SAFETY: a C string, alive during the call.
    unsafe { Text::new(text.as_ptr()) }
}

fn virtual_device() {
    choose(Some(DevicePreference::Virtual), Some("h200")).unwrap();
    // SAFETY: the call takes no pointer.
    unsafe { ok(cuInit(0)) };
}

/// The primary context, current.
pub fn current() -> usize {
    virtual_device();
    let mut context = 0;
    // SAFETY: the place is valid.
    unsafe {
        ok(cuDevicePrimaryCtxRetain(out(&mut context), 0));
        ok(cuCtxSetCurrent(context));
    }
    context
}

/// A context of the caller's own, current.
pub fn own_context() -> usize {
    virtual_device();
    let mut context = 0;
    // SAFETY: the place is valid.
    unsafe { ok(cuCtxCreate_v2(out(&mut context), 0, 0)) };
    context
}
