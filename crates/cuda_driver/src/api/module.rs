//! Modules: loading images, finding their kernels and variables.

use std::ffi::c_void;

use crate::abi::{Answer, CUdeviceptr, CUfunction, CUmodule, CUresult, In, Out, Text};
use crate::objects::context::{current, current_if_any, current_if_any_even_if_broken};
use crate::objects::device::initialised;
use crate::objects::explain::no_variable;
use crate::objects::jit::Jit;
use crate::objects::module::{self, MODULES, image_at, image_in, load};

pub fn cuModuleLoadData(module: Out<CUmodule>, image: *const c_void) -> Answer {
    module.required()?;
    let context = current()?;
    let jit = Jit::silent();
    module.set(load(&context, &image_at(image, &jit)?, &jit)?)
}

pub fn cuModuleLoadDataEx(
    module: Out<CUmodule>,
    image: *const c_void,
    num_options: u32,
    options: In<u32>,
    values: In<*mut c_void>,
) -> Answer {
    module.required()?;
    let context = current()?;
    let jit = Jit::new(num_options, options, values)?;
    let loaded = image_at(image, &jit).and_then(|image| load(&context, &image, &jit));
    jit.finish();
    module.set(loaded?)
}

pub fn cuModuleLoad(module: Out<CUmodule>, path: Text) -> Answer {
    module.required()?;
    let context = current()?;
    let jit = Jit::silent();
    module.set(load(&context, &image_in(&path.get()?, &jit)?, &jit)?)
}

pub fn cuModuleUnload(module: CUmodule) -> Answer {
    current_if_any_even_if_broken()?;
    module::unload(module)
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
    let module = MODULES.get(module)?;
    let global = module.program.global(&name).ok_or_else(|| no_variable(&module.program, &name))?;
    address.set_if_given(global.address);
    bytes.set_if_given(global.size as usize);
    Ok(())
}

pub fn cuModuleGetLoadingMode(mode: Out<u32>) -> Answer {
    const EAGER: u32 = 1;
    initialised()?;
    mode.set(EAGER)
}
