//! Modules: loaded images, their kernels and variables.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::{Mutex, PoisonError};

use virtual_gpu::{Error, Kernel, Module as Program};

use crate::abi::{Answer, CUcontext, CUfunction, CUmodule, CUresult, Handle};
use crate::check::{self, host_pages};
use crate::kept;
use crate::objects::allocation::watch;
use crate::objects::context::{CONTEXTS, Context, device_here};
use crate::objects::device::code_of;
use crate::objects::explain::no_kernel;
use crate::objects::function::{FUNCTIONS, Function};
use crate::objects::image::{self, Image};
use crate::objects::jit::Jit;
use crate::objects::registry::{OfContext, Registry, new_handle};

pub static MODULES: Registry<Module> = Registry::new(CUresult::INVALID_HANDLE);

pub struct Module {
    handle: CUmodule,
    context: CUcontext,
    pub program: Program,
    /// `CU_JIT_MAX_REGISTERS`, as requested for the load.
    max_registers: Option<u32>,
    functions: Mutex<HashMap<String, Handle>>,
}

impl OfContext for Module {
    fn context(&self) -> CUcontext {
        self.context
    }
}

impl Module {
    /// A kernel's handle, created when it is first requested.
    pub fn function(&self, name: &str) -> Answer<CUfunction> {
        let mut functions = self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&handle) = functions.get(name) {
            return Ok(handle);
        }
        let kernel = self.program.kernel(name).ok_or_else(|| {
            let kernels = self.kernels();
            no_kernel(&kernels.iter().map(Kernel::name).collect::<Vec<_>>(), name)
        })?;
        let context = CONTEXTS.get(self.context)?;
        let function = Function::new(&context, self.handle, kernel, self.max_registers);
        let handle = context.register(&FUNCTIONS, function);
        functions.insert(name.to_owned(), handle);
        Ok(handle)
    }

    pub fn kernels(&self) -> Vec<Kernel> {
        self.program.kernels().collect()
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // The program's variables go now, or with the last of its kernels.
        for global in self.program.globals().iter().filter_map(|name| self.program.global(name)) {
            host_pages::freed(global.address);
        }
    }
}

/// Loads PTX text on a context's virtual GPU; errors go to the log.
fn program(context: &Context, ptx: &str, jit: &Jit) -> Result<Program, Error> {
    let loaded = context.device.gpu.load_within(&context.quota, ptx);
    loaded.inspect_err(|error| jit.error(&error.to_string()))
}

pub fn check_text(ptx: &str, jit: &Jit) -> Answer {
    let loaded = device_here().gpu.load(ptx).inspect_err(|error| jit.error(&error.to_string()));
    loaded.map(|_| ()).map_err(|error| code_of(&error))
}

/// Loads an image into a context: the first of its texts that the device supports.
pub fn load(context: &Context, image: &Image, jit: &Jit) -> Answer<Handle> {
    let mut refused = CUresult::NO_BINARY_FOR_GPU;
    for text in &image.ptx {
        match program(context, text, jit) {
            Ok(program) => {
                let (major, minor) = program.ptx_version();
                let target = program.target();
                jit.info(&format!(
                    "PTX {major}.{minor} for sm_{target}, loaded for the virtual {}",
                    context.device.chip().name
                ));
                check::tell(|sanitizer| {
                    for name in program.globals() {
                        if let Some(global) = program.global(name) {
                            sanitizer.host_allocated(global.address, global.size, Some(name));
                            watch(global.address, global.size);
                        }
                    }
                });
                kept::keep(text);
                let handle = new_handle();
                let functions = Mutex::default();
                let max_registers = jit.max_registers;
                let module = Module { handle, context: context.handle, program, max_registers, functions };
                context.register_as(&MODULES, handle, module);
                return Ok(handle);
            }
            Err(error) => {
                refused = code_of(&error);
                // A text for another device; the next may be for this one.
                if !matches!(error, Error::Target { .. }) {
                    break;
                }
            }
        }
    }
    jit.say_error();
    Err(refused)
}

pub fn image_at(image: *const c_void, jit: &Jit) -> Answer<Image> {
    if image.is_null() {
        return Err(CUresult::INVALID_VALUE);
    }
    // SAFETY: the caller of the entry point vouches for an image that is complete: text that ends with NUL, or a
    // binary whose header tells its size.
    accepted(unsafe { image::read(image.cast(), device_here().architecture()) }, jit)
}

pub fn image_in(path: &str, jit: &Jit) -> Answer<Image> {
    let bytes = std::fs::read(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => CUresult::FILE_NOT_FOUND,
        _ => CUresult::OPERATING_SYSTEM,
    })?;
    accepted(image::read_bytes(&bytes, device_here().architecture()), jit)
}

fn accepted(image: Result<Image, image::Refused>, jit: &Jit) -> Answer<Image> {
    image.map_err(|refused| {
        jit.error(&refused.to_string());
        refused.say();
        refused.code()
    })
}

/// Takes a module from the program. Its running kernels finish first.
pub fn unload(module: CUmodule) -> Answer {
    let owner = CONTEXTS.get(MODULES.get(module)?.context);
    if let Ok(owner) = &owner {
        owner.queue.drain()?;
    }
    MODULES.remove(module)?;
    FUNCTIONS.remove_where(|function| function.module == module);
    owner.map_or(Ok(()), |owner| owner.intact())
}

/// A name that stays at its address for as long as the process, as `cuFuncGetName` promises for the module's life.
pub fn lasting_name(name: &str) -> *const c_char {
    static NAMES: Mutex<Option<HashMap<String, &'static CStr>>> = Mutex::new(None);
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let names = names.get_or_insert_default();
    if let Some(known) = names.get(name) {
        return known.as_ptr();
    }
    // PTX identifiers hold no NUL.
    let text: &'static CStr = Box::leak(CString::new(name).unwrap_or_default().into_boxed_c_str());
    names.insert(name.to_owned(), text);
    text.as_ptr()
}
