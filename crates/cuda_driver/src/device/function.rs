//! Kernels as functions: their handles and attributes.

use std::ffi::c_char;
use std::sync::{Arc, Mutex, PoisonError};

use gpu_model::cache::{self, Preference};
use virtual_gpu::Kernel;

use crate::abi::attributes::function as attribute;
use crate::abi::{Answer, CUcontext, CUfunction, CUmodule, CUresult, Out};
use crate::device::chip;
use crate::device::context::current_if_any;
use crate::device::library;
use crate::device::module::{self, lasting_name};
use crate::device::registry::Registry;

pub static FUNCTIONS: Registry<Function> = Registry::new(CUresult::INVALID_HANDLE);

/// A kernel of a loaded module.
pub struct Function {
    pub context: CUcontext,
    pub module: CUmodule,
    pub kernel: Kernel,
    pub settings: Mutex<Settings>,
    /// Registers of a thread that the load asked for at most.
    max_registers: Option<u32>,
}

/// What a program may set of a kernel.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Most dynamic shared memory that a launch may ask for.
    pub dynamic_shared: u32,
    carveout: i32,
    /// A `CUfunc_cache`; 0 leaves it to the context.
    cache: u32,
    cluster: [u32; 3],
    cluster_must_be_set: bool,
    non_portable_cluster: bool,
    cluster_policy: i32,
}

impl Settings {
    /// Whether clusters may be larger than every chip of the generation admits.
    pub fn non_portable_cluster(&self) -> bool {
        self.non_portable_cluster
    }
}

impl Function {
    pub fn new(context: CUcontext, module: CUmodule, kernel: Kernel, max_registers: Option<u32>) -> Self {
        let limit = chip().sm.shared_per_block;
        let settings = Mutex::new(Settings {
            dynamic_shared: limit.saturating_sub(kernel.static_shared()),
            carveout: -1,
            cache: 0,
            cluster: kernel.required_cluster().unwrap_or([0; 3]),
            cluster_must_be_set: false,
            non_portable_cluster: false,
            cluster_policy: 0,
        });
        Self { context, module, kernel, settings, max_registers }
    }

    /// What the program has set.
    pub fn settings(&self) -> Settings {
        *self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes of a multiprocessor's shared memory as the program wishes them, for a context of cache preference `of_context`.
    pub fn shared_wish(&self, of_context: u32) -> u32 {
        let Settings { carveout, cache, .. } = self.settings();
        let limits = chip().sm;
        match u32::try_from(carveout) {
            Ok(percent) => cache::carve_out(limits, percent),
            Err(_) => {
                let preference = if cache == 0 { of_context } else { cache };
                cache::preferred_shared(limits, Preference::ALL[preference as usize])
            }
        }
    }

    /// Most threads of a block.
    pub fn max_threads(&self) -> u32 {
        self.kernel.max_threads().unwrap_or(u32::MAX).min(chip().sm.threads_per_block)
    }

    /// The value of a `CUfunction_attribute`.
    fn attribute(&self, number: u32) -> Option<i32> {
        let settings = self.settings();
        let kernel = &self.kernel;
        let capability = chip().capability();
        Some(match number {
            attribute::MAX_THREADS_PER_BLOCK => self.max_threads() as i32,
            attribute::SHARED_SIZE_BYTES => kernel.static_shared() as i32,
            attribute::CONST_SIZE_BYTES => kernel.const_bytes() as i32,
            attribute::LOCAL_SIZE_BYTES => kernel.local_bytes() as i32,
            attribute::NUM_REGS => {
                // The real compiler takes no limit under 24 at its word.
                let most = self.max_registers.map_or(u32::MAX, |most| most.max(24));
                kernel.registers().min(most) as i32
            }
            // The virtual architecture that the PTX was made for, times ten: compute_90 is 90.
            attribute::PTX_VERSION => kernel.module().target() as i32,
            attribute::BINARY_VERSION => i32::from(capability.major) * 10 + i32::from(capability.minor),
            attribute::CACHE_MODE_CA => 0,
            attribute::MAX_DYNAMIC_SHARED_SIZE_BYTES => settings.dynamic_shared as i32,
            attribute::PREFERRED_SHARED_MEMORY_CARVEOUT => settings.carveout,
            attribute::CLUSTER_SIZE_MUST_BE_SET => settings.cluster_must_be_set.into(),
            attribute::REQUIRED_CLUSTER_WIDTH => settings.cluster[0] as i32,
            attribute::REQUIRED_CLUSTER_HEIGHT => settings.cluster[1] as i32,
            attribute::REQUIRED_CLUSTER_DEPTH => settings.cluster[2] as i32,
            attribute::NON_PORTABLE_CLUSTER_SIZE_ALLOWED => settings.non_portable_cluster.into(),
            attribute::CLUSTER_SCHEDULING_POLICY_PREFERENCE => settings.cluster_policy,
            _ => return None,
        })
    }

    fn set(&self, number: u32, value: i32) -> Answer {
        let unsigned = u32::try_from(value).map_err(|_| CUresult::INVALID_VALUE);
        let mut settings = self.settings.lock().unwrap_or_else(PoisonError::into_inner);
        match number {
            attribute::MAX_DYNAMIC_SHARED_SIZE_BYTES => {
                let most = chip().sm.shared_per_block_optin.saturating_sub(self.kernel.static_shared());
                let bytes = unsigned?;
                if bytes > most {
                    return Err(CUresult::INVALID_VALUE);
                }
                settings.dynamic_shared = bytes;
            }
            attribute::PREFERRED_SHARED_MEMORY_CARVEOUT => {
                if !(-1..=100).contains(&value) {
                    return Err(CUresult::INVALID_VALUE);
                }
                settings.carveout = value;
            }
            attribute::REQUIRED_CLUSTER_WIDTH
            | attribute::REQUIRED_CLUSTER_HEIGHT
            | attribute::REQUIRED_CLUSTER_DEPTH => {
                settings.cluster[(number - attribute::REQUIRED_CLUSTER_WIDTH) as usize] = unsigned?;
            }
            attribute::NON_PORTABLE_CLUSTER_SIZE_ALLOWED => settings.non_portable_cluster = value != 0,
            attribute::CLUSTER_SCHEDULING_POLICY_PREFERENCE => settings.cluster_policy = value,
            _ => return Err(CUresult::INVALID_VALUE),
        }
        Ok(())
    }
}

/// The function of a handle; entry points that take a function take a library's kernel as well.
pub fn get(function: CUfunction) -> Answer<Arc<Function>> {
    FUNCTIONS.get(function).or_else(|unknown| match library::function_here(function) {
        Ok(function) => FUNCTIONS.get(function),
        Err(_) => Err(unknown),
    })
}

pub fn cuFuncGetAttribute(value: Out<i32>, number: u32, function: CUfunction) -> Answer {
    value.required()?;
    current_if_any()?;
    value.set(get(function)?.attribute(number).ok_or(CUresult::INVALID_VALUE)?)
}

pub fn cuFuncSetAttribute(function: CUfunction, number: u32, value: i32) -> Answer {
    current_if_any()?;
    get(function)?.set(number, value)
}

pub fn cuFuncSetCacheConfig(function: CUfunction, config: u32) -> Answer {
    current_if_any()?;
    let function = get(function)?;
    if config > 3 {
        return Err(CUresult::INVALID_VALUE);
    }
    function.settings.lock().unwrap_or_else(PoisonError::into_inner).cache = config;
    Ok(())
}

pub fn cuFuncSetSharedMemConfig(function: CUfunction, config: u32) -> Answer {
    current_if_any()?;
    get(function)?;
    if config > 2 { Err(CUresult::INVALID_VALUE) } else { Ok(()) }
}

pub fn cuFuncGetModule(place: Out<CUmodule>, function: CUfunction) -> Answer {
    place.required()?;
    current_if_any()?;
    let function = get(function)?;
    module::get(function.module)?;
    place.set(function.module)
}

pub fn cuFuncGetName(place: Out<*const c_char>, function: CUfunction) -> Answer {
    place.required()?;
    current_if_any()?;
    place.set(lasting_name(get(function)?.kernel.name()))
}

pub fn cuFuncGetParamInfo(
    function: CUfunction,
    index: usize,
    offset: Out<usize>,
    size: Out<usize>,
) -> Answer {
    offset.required()?;
    current_if_any()?;
    let function = get(function)?;
    let param = function.kernel.params().get(index).ok_or(CUresult::INVALID_VALUE)?;
    size.set_if_given(param.size as usize);
    offset.set(param.offset as usize)
}

pub fn cuFuncGetParamCount(function: CUfunction, count: Out<usize>) -> Answer {
    count.required()?;
    current_if_any()?;
    count.set(get(function)?.kernel.params().len())
}

pub fn cuFuncIsLoaded(state: Out<u32>, function: CUfunction) -> Answer {
    const LOADED: u32 = 1;
    state.required()?;
    current_if_any()?;
    get(function)?;
    state.set(LOADED)
}

pub fn cuFuncLoad(function: CUfunction) -> Answer {
    current_if_any()?;
    get(function).map(|_| ())
}
