//! Runs programs through a CUDA driver library: the real one, or the virtual GPU's stand-in.

use std::ffi::{CString, c_char, c_int, c_uint, c_void};

use anyhow::{Context, bail};
use libloading::Library;

use crate::Device;

type Status = c_int;
type Address = u64;

/// A device of a driver library.
pub struct Driver {
    library: Library,
}

macro_rules! call {
    ($self:ident, $name:literal, ($($arg:expr => $ty:ty),* $(,)?)) => {{
        // SAFETY: the driver API fixes this name's signature, and the types given here are those of cuda.h.
        let function = unsafe { $self.library.get::<unsafe extern "C" fn($($ty),*) -> Status>($name) }
            .with_context(|| format!("the library has no {}", String::from_utf8_lossy($name)))?;
        // SAFETY: every pointer passed lives until the call returns and is as large as the call expects.
        let status = unsafe { function($($arg),*) };
        if status != 0 {
            bail!("{} gave error {status}", String::from_utf8_lossy($name));
        }
    }};
}

impl Driver {
    /// Opens a library by path or name and takes its first device.
    pub fn open(library: &str) -> anyhow::Result<Self> {
        // SAFETY: loading a driver library runs its initialisers, which is what the caller asked for.
        let library = unsafe { Library::new(library) }.with_context(|| format!("cannot open {library}"))?;
        let driver = Self { library };
        let (mut device, mut context): (c_int, *mut c_void) = (0, std::ptr::null_mut());
        call!(driver, b"cuInit", (0 => c_uint));
        call!(driver, b"cuDeviceGet", (&mut device => *mut c_int, 0 => c_int));
        call!(driver, b"cuDevicePrimaryCtxRetain", (&mut context => *mut *mut c_void, device => c_int));
        call!(driver, b"cuCtxSetCurrent", (context => *mut c_void));
        Ok(driver)
    }

    fn load(&self, ptx: &str) -> anyhow::Result<*mut c_void> {
        const ERROR_LOG: c_int = 5;
        const ERROR_LOG_BYTES: c_int = 6;
        let text = CString::new(ptx)?;
        let mut log = vec![0u8; 4096];
        let mut options = [ERROR_LOG, ERROR_LOG_BYTES];
        let mut values = [log.as_mut_ptr() as *mut c_void, log.len() as *mut c_void];
        let mut module = std::ptr::null_mut();
        let load = || -> anyhow::Result<()> {
            call!(self, b"cuModuleLoadDataEx", (
                &mut module => *mut *mut c_void,
                text.as_ptr() as *const c_void => *const c_void,
                2 => c_uint,
                options.as_mut_ptr() => *mut c_int,
                values.as_mut_ptr() => *mut *mut c_void,
            ));
            Ok(())
        };
        let loaded = { load }();
        loaded.with_context(|| String::from_utf8_lossy(&log).trim_end_matches('\0').to_string())?;
        Ok(module)
    }
}

impl Device for Driver {
    fn run(&mut self, ptx: &str, shape: (u32, u32), input: &[u8], output: usize) -> anyhow::Result<Vec<u8>> {
        let module = self.load(ptx)?;
        let mut function: *mut c_void = std::ptr::null_mut();
        call!(self, b"cuModuleGetFunction", (
            &mut function => *mut *mut c_void,
            module => *mut c_void,
            c"cases".as_ptr() => *const c_char,
        ));
        let (mut inputs, mut outputs): (Address, Address) = (0, 0);
        call!(self, b"cuMemAlloc_v2", (&mut inputs => *mut Address, input.len() => usize));
        call!(self, b"cuMemAlloc_v2", (&mut outputs => *mut Address, output => usize));
        let from = input.as_ptr() as *const c_void;
        call!(self, b"cuMemcpyHtoD_v2", (inputs => Address, from => *const c_void, input.len() => usize));
        call!(self, b"cuMemsetD8_v2", (outputs => Address, 0 => u8, output => usize));
        let mut parameters = [&raw mut inputs as *mut c_void, &raw mut outputs as *mut c_void];
        call!(self, b"cuLaunchKernel", (
            function => *mut c_void,
            shape.0 => c_uint, 1 => c_uint, 1 => c_uint,
            shape.1 => c_uint, 1 => c_uint, 1 => c_uint,
            0 => c_uint,
            std::ptr::null_mut() => *mut c_void,
            parameters.as_mut_ptr() => *mut *mut c_void,
            std::ptr::null_mut() => *mut *mut c_void,
        ));
        call!(self, b"cuCtxSynchronize", ());
        let mut results = vec![0u8; output];
        let to = results.as_mut_ptr() as *mut c_void;
        call!(self, b"cuMemcpyDtoH_v2", (to => *mut c_void, outputs => Address, output => usize));
        call!(self, b"cuMemFree_v2", (inputs => Address));
        call!(self, b"cuMemFree_v2", (outputs => Address));
        call!(self, b"cuModuleUnload", (module => *mut c_void));
        Ok(results)
    }
}
