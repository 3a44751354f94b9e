//! Libraries: modules without a context, loaded into each when a kernel of theirs is first used there.

use std::ffi::{c_char, c_void};
use std::sync::PoisonError;

use crate::abi::{
    Answer, CUdevice, CUdeviceptr, CUfunction, CUkernel, CUlibrary, CUmodule, CUresult, In, Out, Text,
};
use crate::device::context::current;
use crate::device::image::Image;
use crate::device::jit::Jit;
use crate::device::registry::Registry;
use crate::device::{function, gpu, initialised, module, pointer};

static LIBRARIES: Registry<Library> = Registry::new(CUresult::INVALID_HANDLE);
static KERNELS: Registry<LibraryKernel> = Registry::new(CUresult::INVALID_HANDLE);

/// A library.
pub struct Library {
    image: Image,
    names: Vec<String>,
    kernels: Vec<CUkernel>,
}

/// A kernel of a library.
pub struct LibraryKernel {
    library: CUlibrary,
    name: String,
}

fn add(place: Out<CUlibrary>, image: Image, jit: &Jit) -> Answer {
    // Loaded once here, so that errors are found now and names are known without a context.
    let mut refused = CUresult::NO_BINARY_FOR_GPU;
    for text in &image.ptx {
        let program = match gpu().load(text) {
            Ok(program) => program,
            Err(error) => {
                jit.error(&error.to_string());
                refused = crate::device::code_of(&error);
                continue;
            }
        };
        let names: Vec<String> = program.kernels().map(|kernel| kernel.name().to_owned()).collect();
        let library = crate::device::registry::new_handle();
        let kernels =
            names.iter().map(|name| KERNELS.insert(LibraryKernel { library, name: name.clone() })).collect();
        let image = Image { ptx: vec![text.clone()] };
        LIBRARIES.insert_as(library, Library { image, names, kernels });
        return place.set(library);
    }
    Err(refused)
}

pub fn cuLibraryLoadData(
    library: Out<CUlibrary>,
    code: *const c_void,
    jit_options: In<u32>,
    jit_values: In<*mut c_void>,
    jit_count: u32,
    _options: In<u32>,
    _values: In<*mut c_void>,
    _count: u32,
) -> Answer {
    initialised()?;
    library.required()?;
    let jit = Jit::new(jit_count, jit_options, jit_values)?;
    let added = module::image_at(code, &jit).and_then(|image| add(library, image, &jit));
    jit.finish();
    added
}

pub fn cuLibraryLoadFromFile(
    library: Out<CUlibrary>,
    path: Text,
    jit_options: In<u32>,
    jit_values: In<*mut c_void>,
    jit_count: u32,
    _options: In<u32>,
    _values: In<*mut c_void>,
    _count: u32,
) -> Answer {
    initialised()?;
    library.required()?;
    let jit = Jit::new(jit_count, jit_options, jit_values)?;
    let path = path.get()?;
    let added = module::image_in(&path, &jit).and_then(|image| add(library, image, &jit));
    jit.finish();
    added
}

pub fn cuLibraryUnload(library: CUlibrary) -> Answer {
    initialised()?;
    LIBRARIES.remove(library)?;
    KERNELS.remove_where(|kernel| kernel.library == library);
    for context in crate::device::context::CONTEXTS.all() {
        let loaded = context.library_modules.lock().unwrap_or_else(PoisonError::into_inner).remove(&library);
        if let Some(module) = loaded {
            context.queue.drain()?;
            module::MODULES.remove(module)?;
            function::FUNCTIONS.remove_where(|function| function.module == module);
        }
    }
    Ok(())
}

pub fn cuLibraryGetKernel(kernel: Out<CUkernel>, library: CUlibrary, name: Text) -> Answer {
    initialised()?;
    kernel.required()?;
    let library = LIBRARIES.get(library)?;
    let name = name.get()?;
    let index = library.names.iter().position(|known| *known == name).ok_or(CUresult::NOT_FOUND)?;
    kernel.set(library.kernels[index])
}

pub fn cuLibraryGetKernelCount(count: Out<u32>, library: CUlibrary) -> Answer {
    count.required()?;
    count.set(LIBRARIES.get(library)?.kernels.len() as u32)
}

pub fn cuLibraryEnumerateKernels(kernels: Out<CUkernel>, count: u32, library: CUlibrary) -> Answer {
    kernels.required()?;
    for (index, &kernel) in LIBRARIES.get(library)?.kernels.iter().take(count as usize).enumerate() {
        kernels.set_at(index, kernel);
    }
    Ok(())
}

/// The library's module in the current context.
fn module_here(library: CUlibrary) -> Answer<CUmodule> {
    let context = current()?;
    let known = LIBRARIES.get(library)?;
    let mut modules = context.library_modules.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(&module) = modules.get(&library) {
        return Ok(module);
    }
    let module = module::load(&known.image, &Jit::silent())?;
    modules.insert(library, module);
    Ok(module)
}

/// The function that a library's kernel is in the current context.
pub fn function_here(kernel: CUkernel) -> Answer<CUfunction> {
    let kernel = KERNELS.get(kernel)?;
    module::get(module_here(kernel.library)?)?.function(&kernel.name)
}

pub fn cuLibraryGetModule(module: Out<CUmodule>, library: CUlibrary) -> Answer {
    module.required()?;
    module.set(module_here(library)?)
}

pub fn cuLibraryGetGlobal(
    address: Out<CUdeviceptr>,
    bytes: Out<usize>,
    library: CUlibrary,
    name: Text,
) -> Answer {
    module::cuModuleGetGlobal_v2(address, bytes, module_here(library)?, name)
}

pub fn cuKernelGetFunction(function: Out<CUfunction>, kernel: CUkernel) -> Answer {
    function.required()?;
    function.set(function_here(kernel)?)
}

pub fn cuKernelGetLibrary(library: Out<CUlibrary>, kernel: CUkernel) -> Answer {
    library.required()?;
    library.set(KERNELS.get(kernel)?.library)
}

pub fn cuKernelGetName(name: Out<*const c_char>, kernel: CUkernel) -> Answer {
    name.required()?;
    name.set(module::lasting_name(&KERNELS.get(kernel)?.name))
}

pub fn cuKernelGetAttribute(value: Out<i32>, number: u32, kernel: CUkernel, dev: CUdevice) -> Answer {
    crate::device::devices::device(dev)?;
    function::cuFuncGetAttribute(value, number, function_here(kernel)?)
}

pub fn cuKernelSetAttribute(number: u32, value: i32, kernel: CUkernel, dev: CUdevice) -> Answer {
    crate::device::devices::device(dev)?;
    function::cuFuncSetAttribute(function_here(kernel)?, number, value)
}

pub fn cuKernelSetCacheConfig(kernel: CUkernel, config: u32, dev: CUdevice) -> Answer {
    crate::device::devices::device(dev)?;
    function::cuFuncSetCacheConfig(function_here(kernel)?, config)
}

pub fn cuKernelGetParamInfo(kernel: CUkernel, index: usize, offset: Out<usize>, size: Out<usize>) -> Answer {
    function::cuFuncGetParamInfo(function_here(kernel)?, index, offset, size)
}

pub fn cuKernelGetParamCount(kernel: CUkernel, count: Out<usize>) -> Answer {
    function::cuFuncGetParamCount(function_here(kernel)?, count)
}

pub fn cuLibraryGetManaged(
    address: Out<CUdeviceptr>,
    bytes: Out<usize>,
    library: CUlibrary,
    name: Text,
) -> Answer {
    let name = name.get()?;
    if address.is_null() && bytes.is_null() {
        return Err(CUresult::INVALID_VALUE);
    }
    let variable = module::get(module_here(library)?)?.program.global(&name).ok_or(CUresult::NOT_FOUND)?;
    pointer::managed(variable.address, 1).map_err(|_| CUresult::NOT_FOUND)?;
    address.set_if_given(variable.address);
    bytes.set_if_given(variable.size as usize);
    Ok(())
}

/// Functions that host and device share come from the linker of system-wide code, which PTX has not passed.
pub fn cuLibraryGetUnifiedFunction(_place: Out<*mut c_void>, library: CUlibrary, symbol: Text) -> Answer {
    LIBRARIES.get(library)?;
    symbol.get()?;
    Err(CUresult::NOT_FOUND)
}
