//! As much of OpenCL as launching a kernel takes, from the library that is found at run time.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::{null, null_mut};

use anyhow::{Result, bail, ensure};
use libloading::Library;

use crate::program::{Argument, Program};

type Handle = *mut c_void;

/// PoCL's name for its platform.
const PLATFORM: &str = "Portable Computing Language";
const PLATFORM_NAME: u32 = 0x0902;
const DEVICE_TYPE_ALL: u64 = 0xffff_ffff;
const MEM_READ_WRITE: u64 = 1;
const PROGRAM_BUILD_LOG: u32 = 0x1183;

/// PoCL's device with the twins compiled for it.
pub struct OpenCl {
    library: Library,
    context: Handle,
    queue: Handle,
    program: Handle,
}

/// A twin with its buffers and arguments in place.
pub struct Twin {
    kernel: Handle,
    buffers: Vec<(Handle, usize)>,
    global: [usize; 2],
    local: [usize; 2],
}

macro_rules! call {
    ($library:expr, $name:ident($($value:expr => $type:ty),* $(,)?) -> $result:ty) => {{
        // SAFETY: the signature is that of OpenCL's header.
        let function = unsafe {
            $library.get::<unsafe extern "C" fn($($type),*) -> $result>(concat!(stringify!($name), "\0").as_bytes())?
        };
        // SAFETY: handles are OpenCL's own; pointers are to values that outlive the call, of the sizes told.
        unsafe { function($($value),*) }
    }};
}

fn checked(what: &str, code: i32) -> Result<()> {
    ensure!(code == 0, "{what} failed with OpenCL's code {code}");
    Ok(())
}

impl OpenCl {
    /// PoCL, with the twins built; an error says what is missing.
    pub fn open(source: &str) -> Result<Self> {
        // SAFETY: the loader of OpenCL's drivers has no constructors that ask for anything.
        let Ok(library) = (unsafe { Library::new("libOpenCL.so.1") }) else {
            bail!("there is no libOpenCL.so.1");
        };
        let mut platforms = [null_mut(); 16];
        let mut count = 0u32;
        let code = call!(library, clGetPlatformIDs(
            16 => u32, platforms.as_mut_ptr() => *mut Handle, &raw mut count => *mut u32) -> i32);
        let found = if code == 0 { &platforms[..count.min(16) as usize] } else { &[] };
        let mut pocl = None;
        for &platform in found {
            let mut name: [c_char; 128] = [0; 128];
            let code = call!(library, clGetPlatformInfo(platform => Handle, PLATFORM_NAME => u32, 127 => usize,
                name.as_mut_ptr().cast() => *mut c_void, null_mut() => *mut usize) -> i32);
            // SAFETY: at most 127 of its 128 bytes have been written.
            if code == 0 && unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy() == PLATFORM {
                pocl = Some(platform);
            }
        }
        let Some(platform) = pocl else { bail!("none of OpenCL's platforms is `{PLATFORM}`") };
        let mut device: Handle = null_mut();
        let code = call!(library, clGetDeviceIDs(platform => Handle, DEVICE_TYPE_ALL => u64, 1 => u32,
            &raw mut device => *mut Handle, null_mut() => *mut u32) -> i32);
        checked("clGetDeviceIDs", code)?;
        let mut code = 0;
        let context = call!(library, clCreateContext(null() => *const isize, 1 => u32,
            &raw const device => *const Handle, null() => *const c_void, null() => *const c_void,
            &raw mut code => *mut i32) -> Handle);
        checked("clCreateContext", code)?;
        let queue = call!(library, clCreateCommandQueue(context => Handle, device => Handle, 0 => u64,
            &raw mut code => *mut i32) -> Handle);
        checked("clCreateCommandQueue", code)?;
        let (text, length) = (source.as_ptr(), source.len());
        let program = call!(library, clCreateProgramWithSource(context => Handle, 1 => u32,
            &raw const text => *const *const u8, &raw const length => *const usize,
            &raw mut code => *mut i32) -> Handle);
        checked("clCreateProgramWithSource", code)?;
        let code = call!(library, clBuildProgram(program => Handle, 1 => u32, &raw const device => *const Handle,
            c"".as_ptr() => *const c_char, null() => *const c_void, null() => *const c_void) -> i32);
        if code != 0 {
            let mut log = vec![0u8; 16 << 10];
            call!(library, clGetProgramBuildInfo(program => Handle, device => Handle, PROGRAM_BUILD_LOG => u32,
                log.len() => usize, log.as_mut_ptr().cast() => *mut c_void, null_mut() => *mut usize) -> i32);
            bail!(
                "PoCL does not compile the twins: {}",
                String::from_utf8_lossy(&log).trim_end_matches('\0')
            );
        }
        Ok(Self { library, context, queue, program })
    }

    /// Makes buffers with their contents and sets the arguments.
    pub fn prepare(&self, program: &Program) -> Result<Twin> {
        let library = &self.library;
        let mut code = 0;
        let mut buffers = Vec::new();
        for content in &program.buffers {
            let buffer = call!(library, clCreateBuffer(self.context => Handle, MEM_READ_WRITE => u64,
                content.len() => usize, null_mut() => *mut c_void, &raw mut code => *mut i32) -> Handle);
            checked("clCreateBuffer", code)?;
            let code = call!(library, clEnqueueWriteBuffer(self.queue => Handle, buffer => Handle, 1 => u32,
                0 => usize, content.len() => usize, content.as_ptr().cast() => *const c_void, 0 => u32,
                null() => *const Handle, null_mut() => *mut Handle) -> i32);
            checked("clEnqueueWriteBuffer", code)?;
            buffers.push((buffer, content.len()));
        }
        let name = std::ffi::CString::new(program.twin)?;
        let kernel = call!(library, clCreateKernel(self.program => Handle, name.as_ptr() => *const c_char,
            &raw mut code => *mut i32) -> Handle);
        checked("clCreateKernel", code)?;
        for (index, argument) in program.twin_arguments.iter().enumerate() {
            let bytes = match argument {
                Argument::Buffer(buffer) => (buffers[*buffer].0 as u64).to_le_bytes().to_vec(),
                other => other.bytes(),
            };
            let code = call!(library, clSetKernelArg(kernel => Handle, index as u32 => u32, bytes.len() => usize,
                bytes.as_ptr().cast() => *const c_void) -> i32);
            checked("clSetKernelArg", code)?;
        }
        let [local, grid] = [program.block, program.grid].map(|of| of.map(|extent| extent as usize));
        Ok(Twin { kernel, buffers, global: [grid[0] * local[0], grid[1] * local[1]], local })
    }

    /// Launches a twin and waits for it.
    pub fn launch(&self, twin: &Twin) -> Result<()> {
        let code = call!(self.library, clEnqueueNDRangeKernel(self.queue => Handle, twin.kernel => Handle, 2 => u32,
            null() => *const usize, twin.global.as_ptr() => *const usize, twin.local.as_ptr() => *const usize,
            0 => u32, null() => *const Handle, null_mut() => *mut Handle) -> i32);
        checked("clEnqueueNDRangeKernel", code)?;
        checked("clFinish", call!(self.library, clFinish(self.queue => Handle) -> i32))
    }

    /// A buffer's content.
    pub fn read(&self, twin: &Twin, buffer: usize) -> Result<Vec<u8>> {
        let (buffer, len) = twin.buffers[buffer];
        let mut content = vec![0; len];
        let code = call!(self.library, clEnqueueReadBuffer(self.queue => Handle, buffer => Handle, 1 => u32,
            0 => usize, len => usize, content.as_mut_ptr().cast() => *mut c_void, 0 => u32,
            null() => *const Handle, null_mut() => *mut Handle) -> i32);
        checked("clEnqueueReadBuffer", code)?;
        Ok(content)
    }
}
