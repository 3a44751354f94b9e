//! Libraries and their kernels.

use std::ffi::{c_char, c_void};

use crate::abi::{
    Answer, CUdevice, CUdeviceptr, CUfunction, CUkernel, CUlibrary, CUmodule, CUresult, In, Out, Text,
};
use crate::api::{function, module, pointer};
use crate::objects::device::{device, initialised};
use crate::objects::explain::no_kernel;
use crate::objects::image::Image;
use crate::objects::jit::Jit;
use crate::objects::library::{self, KERNELS, LIBRARIES, function_here, module_here, program_here};
use crate::objects::module::{image_at, image_in, lasting_name};

fn load(
    library: Out<CUlibrary>,
    (count, options, values): (u32, In<u32>, In<*mut c_void>),
    image: impl FnOnce(&Jit) -> Answer<Image>,
) -> Answer {
    initialised()?;
    library.required()?;
    let jit = Jit::new(count, options, values)?;
    let added = image(&jit).and_then(|image| library::add(image, &jit));
    jit.finish();
    library.set(added?)
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
    load(library, (jit_count, jit_options, jit_values), |jit| image_at(code, jit))
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
    load(library, (jit_count, jit_options, jit_values), |jit| image_in(&path.get()?, jit))
}

pub fn cuLibraryUnload(library: CUlibrary) -> Answer {
    initialised()?;
    library::unload(library)
}

pub fn cuLibraryGetKernel(kernel: Out<CUkernel>, library: CUlibrary, name: Text) -> Answer {
    initialised()?;
    kernel.required()?;
    let library = LIBRARIES.get(library)?;
    let name = name.get()?;
    let found = library.kernels.iter().find(|(known, _)| *known == name).ok_or_else(|| {
        let names: Vec<&str> = library.kernels.iter().map(|(known, _)| known.as_str()).collect();
        no_kernel(&names, &name)
    })?;
    kernel.set(found.1)
}

pub fn cuLibraryGetKernelCount(count: Out<u32>, library: CUlibrary) -> Answer {
    count.required()?;
    count.set(LIBRARIES.get(library)?.kernels.len() as u32)
}

pub fn cuLibraryEnumerateKernels(kernels: Out<CUkernel>, count: u32, library: CUlibrary) -> Answer {
    kernels.required()?;
    for (index, (_, kernel)) in LIBRARIES.get(library)?.kernels.iter().take(count as usize).enumerate() {
        kernels.set_at(index, *kernel);
    }
    Ok(())
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
    if kernel == 0 {
        return Err(CUresult::INVALID_VALUE);
    }
    name.set(lasting_name(&KERNELS.get(kernel)?.name))
}

pub fn cuKernelGetAttribute(value: Out<i32>, number: u32, kernel: CUkernel, dev: CUdevice) -> Answer {
    device(dev)?;
    function::cuFuncGetAttribute(value, number, function_here(kernel)?)
}

pub fn cuKernelSetAttribute(number: u32, value: i32, kernel: CUkernel, dev: CUdevice) -> Answer {
    device(dev)?;
    function::cuFuncSetAttribute(function_here(kernel)?, number, value)
}

pub fn cuKernelSetCacheConfig(kernel: CUkernel, config: u32, dev: CUdevice) -> Answer {
    device(dev)?;
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
    let variable = program_here(library)?.program.global(&name).ok_or(CUresult::NOT_FOUND)?;
    pointer::check_managed(variable.address, 1).map_err(|_| CUresult::NOT_FOUND)?;
    address.set_if_given(variable.address);
    bytes.set_if_given(variable.size as usize);
    Ok(())
}

/// Functions shared by host and device need a system-wide linker, which PTX has not been through.
pub fn cuLibraryGetUnifiedFunction(_place: Out<*mut c_void>, library: CUlibrary, symbol: Text) -> Answer {
    LIBRARIES.get(library)?;
    symbol.get()?;
    Err(CUresult::NOT_FOUND)
}
