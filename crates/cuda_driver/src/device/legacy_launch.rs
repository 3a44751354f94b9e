//! Launches as CUDA 2 and 3 had them: shape and parameters are set on the function, one by one.

use std::ffi::c_void;
use std::sync::{Arc, MutexGuard, PoisonError};

use crate::abi::{Answer, CUfunction, CUresult, CUstream, Handle, In};
use crate::device::context::current_if_any;
use crate::device::function::{self, Function};
use crate::device::launch::cuLaunchKernel;
use crate::device::texture_reference;

/// More than any kernel's parameters.
const MOST_BYTES: usize = 32_764;

/// What has been set on a function for its next launches.
#[derive(Debug, Clone, Default)]
pub struct Prepared {
    block: [u32; 3],
    shared: u32,
    /// As many bytes as `cuParamSetSize` has told, or as were set.
    params: Vec<u8>,
}

fn prepared(function: &Function) -> MutexGuard<'_, Prepared> {
    // A plain record: whole after a panic elsewhere.
    function.prepared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn named(function: CUfunction) -> Answer<Arc<Function>> {
    current_if_any()?;
    function::get(function)
}

pub fn cuFuncSetBlockShape(function: CUfunction, x: i32, y: i32, z: i32) -> Answer {
    let function = named(function)?;
    let extent = |extent: i32| u32::try_from(extent).ok().filter(|&extent| extent > 0);
    let (Some(x), Some(y), Some(z)) = (extent(x), extent(y), extent(z)) else {
        return Err(CUresult::INVALID_VALUE);
    };
    prepared(&function).block = [x, y, z];
    Ok(())
}

pub fn cuFuncSetSharedSize(function: CUfunction, bytes: u32) -> Answer {
    prepared(&*named(function)?).shared = bytes;
    Ok(())
}

pub fn cuParamSetSize(function: CUfunction, bytes: u32) -> Answer {
    let function = named(function)?;
    let bytes = bytes as usize;
    if bytes > MOST_BYTES {
        return Err(CUresult::INVALID_VALUE);
    }
    prepared(&function).params.resize(bytes, 0);
    Ok(())
}

fn set(function: CUfunction, offset: i32, value: &[u8]) -> Answer {
    let function = named(function)?;
    let start = usize::try_from(offset).map_err(|_| CUresult::INVALID_VALUE)?;
    let end = start.checked_add(value.len()).filter(|&end| end <= MOST_BYTES);
    let end = end.ok_or(CUresult::INVALID_VALUE)?;
    let params = &mut prepared(&function).params;
    if params.len() < end {
        params.resize(end, 0);
    }
    params[start..end].copy_from_slice(value);
    Ok(())
}

pub fn cuParamSeti(function: CUfunction, offset: i32, value: u32) -> Answer {
    set(function, offset, &value.to_le_bytes())
}

pub fn cuParamSetf(function: CUfunction, offset: i32, value: f32) -> Answer {
    set(function, offset, &value.to_le_bytes())
}

pub fn cuParamSetv(function: CUfunction, offset: i32, value: *mut c_void, bytes: u32) -> Answer {
    if bytes as usize > MOST_BYTES {
        return Err(CUresult::INVALID_VALUE);
    }
    // SAFETY: the caller vouches for a value of this size.
    let value = unsafe { In::<u8>::new(value.cast_const().cast()) }.array(bytes as usize)?;
    set(function, offset, &value)
}

pub fn cuParamSetTexRef(function: CUfunction, unit: i32, reference: Handle) -> Answer {
    const DEFAULT: i32 = -1;
    named(function)?;
    texture_reference::known(reference)?;
    // A kernel reads its module's references as they are bound: there is nothing to set.
    if unit == DEFAULT { Ok(()) } else { Err(CUresult::INVALID_VALUE) }
}

fn launch(handle: CUfunction, width: i32, height: i32, stream: CUstream) -> Answer {
    const BUFFER_POINTER: usize = 1;
    const BUFFER_SIZE: usize = 2;
    let function = named(handle)?;
    let (Ok(width), Ok(height)) = (u32::try_from(width), u32::try_from(height)) else {
        return Err(CUresult::INVALID_VALUE);
    };
    let Prepared { block, shared, params } = prepared(&function).clone();
    let size = params.len();
    let extra = [
        BUFFER_POINTER as *mut c_void,
        params.as_ptr().cast_mut().cast(),
        BUFFER_SIZE as *mut c_void,
        (&raw const size).cast_mut().cast(),
        std::ptr::null_mut(),
    ];
    // SAFETY: null is allowed for the one; the other ends with null, and names a buffer and its size that outlive the
    // call.
    let (none, extra) = unsafe { (In::new(std::ptr::null()), In::new(extra.as_ptr())) };
    let [x, y, z] = block;
    cuLaunchKernel(handle, width, height, 1, x, y, z, shared, stream, none, extra)
}

pub fn cuLaunch(function: CUfunction) -> Answer {
    launch(function, 1, 1, 0)
}

pub fn cuLaunchGrid(function: CUfunction, width: i32, height: i32) -> Answer {
    launch(function, width, height, 0)
}

pub fn cuLaunchGridAsync(function: CUfunction, width: i32, height: i32, stream: CUstream) -> Answer {
    launch(function, width, height, stream)
}
