//! Parts of the driver API that `cust` 0.3 lacks, made safe: larger dynamic shared memory, the carve-out, cooperative and
//! cluster launches, tensor maps, copies between devices, and the compiler's log of a module that does not load.

mod extended;
pub mod peer;
mod tensor_map;

pub use extended::{Extended, launch_extended};
pub use tensor_map::{Tensor, TensorMapError, tensor_map};

use std::ffi::{CString, c_uint, c_void};

use bytemuck::AnyBitPattern;
use cust::device::Device;
use cust::error::{CudaError, CudaResult};
use cust::function::Function;
use cust::memory::{DeviceBuffer, DeviceCopy};
use cust::module::{Module, ModuleJitOption};
use cust::sys;

use crate::stream::Stream;

/// Lets launches of `function` have up to `bytes` of dynamic shared memory, beyond the 48 KiB that need no asking.
pub fn allow_dynamic_shared(function: &Function, bytes: u32) -> CudaResult<()> {
    set(function, sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes)
}

/// Asks that `percent` of the on-chip memory be shared memory while `function` runs; the driver may give more.
pub fn prefer_shared_carveout(function: &Function, percent: u32) -> CudaResult<()> {
    set(function, sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, percent)
}

fn set(function: &Function, attribute: sys::CUfunction_attribute, value: u32) -> CudaResult<()> {
    let value = i32::try_from(value).map_err(|_| CudaError::InvalidValue)?;
    // SAFETY: the function is alive as long as its module, which `Function` borrows.
    result(unsafe { sys::cuFuncSetAttribute(function.to_raw(), attribute, value) })
}

/// The most dynamic shared memory a block can have after [`allow_dynamic_shared`].
pub fn shared_per_block_optin(device: Device) -> CudaResult<u32> {
    let mut value = 0;
    // SAFETY: the place is valid for the call.
    result(unsafe {
        sys::cuDeviceGetAttribute(
            &mut value,
            sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
            device.as_raw(),
        )
    })?;
    u32::try_from(value).map_err(|_| CudaError::InvalidValue)
}

/// Sets every byte of `buffer`, after what was launched on `stream`, and waits for it.
///
/// The driver's own blocking fill does not wait for non-blocking streams, nor they for it.
///
/// ```compile_fail,E0277
/// # use warpsmith_launch::{Device, cust::memory::DeviceBuffer, extra::fill};
/// # fn wipe(device: &Device, flags: &mut DeviceBuffer<bool>) {
/// let _ = fill(flags, 0xff, device.stream()); // 0xff is no `bool`
/// # }
/// ```
pub fn fill<T: DeviceCopy + AnyBitPattern>(
    buffer: &mut DeviceBuffer<T>,
    byte: u8,
    stream: &Stream,
) -> CudaResult<()> {
    let bytes = size_of::<T>() * buffer.len();
    if bytes == 0 {
        return Ok(());
    }
    // SAFETY: the buffer has these bytes, any of which are a `T`; it is borrowed until the stream has done it.
    result(unsafe { sys::cuMemsetD8Async(buffer.as_device_ptr().as_raw(), byte, bytes, stream.as_inner()) })?;
    stream.finish()
}

/// Loads PTX with the driver's compiler told what to do; a refusal comes with what the compiler said, line by line.
///
/// ```no_run
/// # use cust::module::{ModuleJitOption, OptLevel};
/// # fn load(ptx: &str) {
/// let module = warpsmith_launch::extra::load_ptx(ptx, &[ModuleJitOption::MaxRegisters(64)]);
/// # }
/// ```
pub fn load_ptx(ptx: &str, options: &[ModuleJitOption]) -> Result<Module, (CudaError, String)> {
    Module::from_ptx(ptx, options).map_err(|error| (error, compiler_log(ptx)))
}

/// The logs of the driver's compiler for PTX that it refuses: errors and information.
///
/// The module is loaded once more, with buffers for both; if it loads this time, it is unloaded and the logs are empty.
pub fn compiler_log(ptx: &str) -> String {
    const LEN: usize = 16 * 1024;
    let Ok(image) = CString::new(ptx) else {
        return "the PTX holds a NUL byte".to_owned();
    };
    let (mut error, mut info) = (vec![0u8; LEN], vec![0u8; LEN]);
    use sys::CUjit_option_enum as Option;
    let mut options = [
        Option::CU_JIT_ERROR_LOG_BUFFER,
        Option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        Option::CU_JIT_INFO_LOG_BUFFER,
        Option::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
        Option::CU_JIT_LOG_VERBOSE,
    ];
    // Numbers are passed in the pointers themselves.
    let number = |value: usize| value as *mut c_void;
    let mut values = [
        error.as_mut_ptr().cast::<c_void>(),
        number(LEN),
        info.as_mut_ptr().cast::<c_void>(),
        number(LEN),
        number(1),
    ];
    let mut module = std::ptr::null_mut();
    // SAFETY: the image is NUL-terminated, each option has its value, and both buffers have the length that is told.
    let loaded = unsafe {
        sys::cuModuleLoadDataEx(
            &mut module,
            image.as_ptr().cast(),
            options.len() as c_uint,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    if result(loaded).is_ok() {
        // SAFETY: it was loaded just now, and nothing refers to it.
        unsafe { sys::cuModuleUnload(module) };
    }
    let text = |buffer: &[u8]| {
        let end = buffer.iter().position(|&byte| byte == 0).unwrap_or(buffer.len());
        String::from_utf8_lossy(&buffer[..end]).trim().to_owned()
    };
    [text(&error), text(&info)].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// `cust` keeps its own conversion to itself; what has no name there stays an unknown error.
pub(crate) fn result(code: sys::CUresult) -> CudaResult<()> {
    use sys::cudaError_enum as Code;
    match code {
        Code::CUDA_SUCCESS => Ok(()),
        Code::CUDA_ERROR_INVALID_VALUE => Err(CudaError::InvalidValue),
        Code::CUDA_ERROR_OUT_OF_MEMORY => Err(CudaError::OutOfMemory),
        Code::CUDA_ERROR_NOT_INITIALIZED => Err(CudaError::NotInitialized),
        Code::CUDA_ERROR_INVALID_CONTEXT => Err(CudaError::InvalidContext),
        Code::CUDA_ERROR_INVALID_IMAGE => Err(CudaError::InvalidImage),
        Code::CUDA_ERROR_INVALID_PTX => Err(CudaError::InvalidPtx),
        Code::CUDA_ERROR_NO_BINARY_FOR_GPU => Err(CudaError::NoBinaryForGpu),
        Code::CUDA_ERROR_ILLEGAL_ADDRESS => Err(CudaError::IllegalAddress),
        Code::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES => Err(CudaError::LaunchOutOfResources),
        Code::CUDA_ERROR_LAUNCH_TIMEOUT => Err(CudaError::LaunchTimeout),
        Code::CUDA_ERROR_LAUNCH_FAILED => Err(CudaError::LaunchFailed),
        Code::CUDA_ERROR_NOT_SUPPORTED => Err(CudaError::NotSupported),
        Code::CUDA_ERROR_INVALID_HANDLE => Err(CudaError::InvalidHandle),
        Code::CUDA_ERROR_INVALID_DEVICE => Err(CudaError::InvalidDevice),
        Code::CUDA_ERROR_PEER_ACCESS_UNSUPPORTED => Err(CudaError::PeerAccessUnsupported),
        Code::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => Err(CudaError::PeerAccessAlreadyEnabled),
        Code::CUDA_ERROR_PEER_ACCESS_NOT_ENABLED => Err(CudaError::PeerAccessNotEnabled),
        _ => Err(CudaError::UnknownError),
    }
}
