//! Modules: images that were loaded, their kernels and variables.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use virtual_gpu::{Error, Kernel, Module as Program};

use crate::abi::{Answer, CUcontext, CUdeviceptr, CUfunction, CUmodule, CUresult, Handle, In, Out, Text};
use crate::check;
use crate::device::context::{CONTEXTS, current, current_if_any, current_if_any_even_if_broken};
use crate::device::function::{FUNCTIONS, Function};
use crate::device::image::{self, Image};
use crate::device::jit::Jit;
use crate::device::registry::{Registry, new_handle};
use crate::device::{chip, code_of, gpu};

pub static MODULES: Registry<Module> = Registry::new(CUresult::INVALID_HANDLE);

/// A loaded module.
pub struct Module {
    pub handle: CUmodule,
    pub context: CUcontext,
    pub program: Program,
    /// `CU_JIT_MAX_REGISTERS`, as the load asked.
    max_registers: Option<u32>,
    functions: Mutex<HashMap<String, Handle>>,
}

impl Module {
    /// The handle of a kernel, made when it is first asked for.
    pub fn function(&self, name: &str) -> Answer<CUfunction> {
        let mut functions = self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&handle) = functions.get(name) {
            return Ok(handle);
        }
        let kernel = self.program.kernel(name).ok_or(CUresult::NOT_FOUND)?;
        let handle = new_handle();
        FUNCTIONS.insert_as(handle, Function::new(self.context, self.handle, kernel, self.max_registers));
        functions.insert(name.to_owned(), handle);
        Ok(handle)
    }

    /// All kernels, in the order of the text.
    pub fn kernels(&self) -> Vec<Kernel> {
        self.program.kernels().collect()
    }
}

/// What the virtual GPU makes of PTX text; what it refuses goes to the log.
fn program(ptx: &str, jit: &Jit) -> Result<Program, Error> {
    gpu().load(ptx).inspect_err(|error| jit.error(&error.to_string()))
}

/// Checks PTX without keeping it.
pub fn check_text(ptx: &str, jit: &Jit) -> Answer {
    program(ptx, jit).map(|_| ()).map_err(|error| code_of(&error))
}

/// Loads an image into the current context: the first of its texts that the device admits.
pub fn load(image: &Image, jit: &Jit) -> Answer<Handle> {
    let context = current()?;
    let mut refused = CUresult::NO_BINARY_FOR_GPU;
    for text in &image.ptx {
        match program(text, jit) {
            Ok(program) => {
                let (major, minor) = program.ptx_version();
                let target = program.target();
                jit.info(&format!(
                    "PTX {major}.{minor} for sm_{target}, loaded for the virtual {}",
                    chip().name
                ));
                check::tell(|sanitizer| {
                    for name in program.globals() {
                        if let Some(global) = program.global(name) {
                            sanitizer.host_allocated(global.address, global.size, Some(name));
                        }
                    }
                });
                let handle = new_handle();
                let functions = Mutex::default();
                let (context, max_registers) = (context.handle, jit.max_registers);
                MODULES.insert_as(handle, Module { handle, context, program, max_registers, functions });
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

/// The device's capability as images number it.
pub fn device() -> u32 {
    let capability = chip().capability();
    u32::from(capability.major) * 10 + u32::from(capability.minor)
}

/// Reads the image that an entry point was given.
pub fn image_at(image: *const c_void, jit: &Jit) -> Answer<Image> {
    if image.is_null() {
        return Err(CUresult::INVALID_VALUE);
    }
    // SAFETY: the caller of the entry point vouches for an image that is complete: text that ends with NUL, or a
    // binary whose header tells its size.
    accepted(unsafe { image::read(image.cast(), device()) }, jit)
}

/// Reads an image from a file.
pub fn image_in(path: &str, jit: &Jit) -> Answer<Image> {
    let bytes = std::fs::read(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => CUresult::FILE_NOT_FOUND,
        _ => CUresult::OPERATING_SYSTEM,
    })?;
    accepted(image::read_bytes(&bytes, device()), jit)
}

fn accepted(image: Result<Image, image::Refused>, jit: &Jit) -> Answer<Image> {
    image.map_err(|refused| {
        jit.error(&refused.to_string());
        refused.say();
        refused.code()
    })
}

pub fn cuModuleLoadData(module: Out<CUmodule>, image: *const c_void) -> Answer {
    module.required()?;
    current()?;
    let jit = Jit::silent();
    module.set(load(&image_at(image, &jit)?, &jit)?)
}

pub fn cuModuleLoadDataEx(
    module: Out<CUmodule>,
    image: *const c_void,
    num_options: u32,
    options: In<u32>,
    values: In<*mut c_void>,
) -> Answer {
    module.required()?;
    current()?;
    let jit = Jit::new(num_options, options, values)?;
    let loaded = image_at(image, &jit).and_then(|image| load(&image, &jit));
    jit.finish();
    module.set(loaded?)
}

pub fn cuModuleLoad(module: Out<CUmodule>, path: Text) -> Answer {
    module.required()?;
    current()?;
    let jit = Jit::silent();
    module.set(load(&image_in(&path.get()?, &jit)?, &jit)?)
}

pub fn cuModuleUnload(module: CUmodule) -> Answer {
    current_if_any_even_if_broken()?;
    let found = MODULES.get(module)?;
    let owner = CONTEXTS.get(found.context);
    // Kernels of it that still run end first.
    if let Ok(owner) = &owner {
        owner.queue.drain()?;
    }
    MODULES.remove(module)?;
    FUNCTIONS.remove_where(|function| function.module == module);
    owner.map_or(Ok(()), |owner| owner.intact())
}

/// Forgets the modules of a context that is being destroyed.
pub fn forget_context(context: CUcontext) {
    FUNCTIONS.remove_where(|function| function.context == context);
    MODULES.remove_where(|module| module.context == context);
}

pub fn cuModuleGetFunction(function: Out<CUfunction>, module: CUmodule, name: Text) -> Answer {
    function.required()?;
    let name = name.get()?;
    current_if_any()?;
    function.set(MODULES.get(module)?.function(&name)?)
}

pub fn cuModuleGetFunctionCount(count: Out<u32>, module: CUmodule) -> Answer {
    count.required()?;
    current_if_any()?;
    count.set(MODULES.get(module)?.kernels().len() as u32)
}

pub fn cuModuleEnumerateFunctions(functions: Out<CUfunction>, count: u32, module: CUmodule) -> Answer {
    functions.required()?;
    current_if_any()?;
    let module = MODULES.get(module)?;
    for (index, kernel) in module.kernels().iter().take(count as usize).enumerate() {
        functions.set_at(index, module.function(kernel.name())?);
    }
    Ok(())
}

pub fn cuModuleGetGlobal_v2(
    address: Out<CUdeviceptr>,
    bytes: Out<usize>,
    module: CUmodule,
    name: Text,
) -> Answer {
    let name = name.get()?;
    current_if_any()?;
    if address.is_null() && bytes.is_null() {
        return Err(CUresult::INVALID_VALUE);
    }
    let global = MODULES.get(module)?.program.global(&name).ok_or(CUresult::NOT_FOUND)?;
    address.set_if_given(global.address);
    bytes.set_if_given(global.size as usize);
    Ok(())
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

/// The module of a handle, for those that keep it.
pub fn get(module: CUmodule) -> Answer<Arc<Module>> {
    MODULES.get(module)
}
