//! Kernels as functions: their attributes, names and parameters.

use std::ffi::c_char;
use std::sync::Arc;

use crate::abi::{
    Answer, CUfunc_cache, CUfunction, CUfunction_attribute, CUmodule, CUresult, CUsharedconfig, Out,
};
use crate::objects::context::current_if_any;
use crate::objects::function::Function;
use crate::objects::library::function_named;
use crate::objects::module::{MODULES, lasting_name};

pub fn cuFuncGetAttribute(value: Out<i32>, number: u32, function: CUfunction) -> Answer {
    value.required()?;
    current_if_any()?;
    let function = function_named(function)?;
    value.set(function.attribute(CUfunction_attribute::try_from(number)?))
}

pub fn cuFuncSetAttribute(function: CUfunction, number: u32, value: i32) -> Answer {
    current_if_any()?;
    let function = function_named(function)?;
    function.set(CUfunction_attribute::try_from(number)?, value)
}

pub fn cuFuncSetCacheConfig(function: CUfunction, config: u32) -> Answer {
    current_if_any()?;
    let function = function_named(function)?;
    function.settings().cache = CUfunc_cache::try_from(config)?;
    Ok(())
}

pub fn cuFuncSetSharedMemConfig(function: CUfunction, config: u32) -> Answer {
    current_if_any()?;
    function_named(function)?;
    CUsharedconfig::try_from(config).map(|_| ())
}

/// The function for calls to which null is an invalid value, and no invalid handle.
fn given(function: CUfunction) -> Answer<Arc<Function>> {
    if function == 0 { Err(CUresult::INVALID_VALUE) } else { function_named(function) }
}

pub fn cuFuncGetModule(place: Out<CUmodule>, function: CUfunction) -> Answer {
    place.required()?;
    current_if_any()?;
    let module = given(function)?.module;
    MODULES.get(module)?;
    place.set(module)
}

pub fn cuFuncGetName(place: Out<*const c_char>, function: CUfunction) -> Answer {
    place.required()?;
    current_if_any()?;
    place.set(lasting_name(given(function)?.kernel.name()))
}

pub fn cuFuncGetParamInfo(
    function: CUfunction,
    index: usize,
    offset: Out<usize>,
    size: Out<usize>,
) -> Answer {
    offset.required()?;
    current_if_any()?;
    let function = function_named(function)?;
    let param = function.kernel.params().get(index).ok_or(CUresult::INVALID_VALUE)?;
    size.set_if_given(param.size as usize);
    offset.set(param.offset as usize)
}

pub fn cuFuncGetParamCount(function: CUfunction, count: Out<usize>) -> Answer {
    count.required()?;
    current_if_any()?;
    count.set(function_named(function)?.kernel.params().len())
}

pub fn cuFuncIsLoaded(state: Out<u32>, function: CUfunction) -> Answer {
    const LOADED: u32 = 1;
    state.required()?;
    current_if_any()?;
    function_named(function)?;
    state.set(LOADED)
}

pub fn cuFuncLoad(function: CUfunction) -> Answer {
    current_if_any()?;
    function_named(function).map(|_| ())
}
