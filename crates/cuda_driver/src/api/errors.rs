//! Names and texts of result codes, and the driver's version: calls that need no device.

use std::ffi::{CStr, c_char};
use std::ptr::null;

use crate::abi::{Answer, CUresult, Out};
use crate::objects::device::DRIVER_VERSION;

pub fn cuGetErrorName(error: CUresult, place: Out<*const c_char>) -> Answer {
    tell(error.name(), place)
}

pub fn cuGetErrorString(error: CUresult, place: Out<*const c_char>) -> Answer {
    tell(error.text(), place)
}

fn tell(text: Option<&'static CStr>, place: Out<*const c_char>) -> Answer {
    place.set(text.map_or(null(), CStr::as_ptr))?;
    text.map(|_| ()).ok_or(CUresult::INVALID_VALUE)
}

pub fn cuDriverGetVersion(version: Out<i32>) -> Answer {
    version.set(DRIVER_VERSION)
}
