//! Kernels as functions: what a program can set and query.

use std::sync::{Mutex, MutexGuard, PoisonError};

use gpu_model::Chip;
use gpu_model::cache::{self, Preference};
use virtual_gpu::Kernel;

use crate::abi::{Answer, CUcontext, CUfunc_cache, CUfunction_attribute as Attribute, CUmodule, CUresult};
use crate::objects::context::Context;
use crate::objects::device::Device;
use crate::objects::registry::{OfContext, Registry};

pub static FUNCTIONS: Registry<Function> = Registry::new(CUresult::INVALID_HANDLE);

pub struct Function {
    pub module: CUmodule,
    pub kernel: Kernel,
    pub device: &'static Device,
    context: CUcontext,
    settings: Mutex<Settings>,
    max_registers: Option<u32>,
}

#[derive(Debug, Clone, Copy)]
pub struct Settings {
    pub dynamic_shared: u32,
    /// How the multiprocessor's memory is divided; if there is no preference, the context decides.
    pub cache: CUfunc_cache,
    /// Whether clusters may be larger than what every chip of the generation supports.
    pub non_portable_cluster: bool,
    carveout: i32,
    cluster: [u32; 3],
    cluster_policy: i32,
}

impl OfContext for Function {
    fn context(&self) -> CUcontext {
        self.context
    }
}

impl Function {
    pub fn new(context: &Context, module: CUmodule, kernel: Kernel, max_registers: Option<u32>) -> Self {
        let device = context.device;
        let limit = device.chip().sm.shared_per_block;
        let settings = Mutex::new(Settings {
            dynamic_shared: limit.saturating_sub(kernel.static_shared()),
            cache: CUfunc_cache::PREFER_NONE,
            non_portable_cluster: false,
            carveout: -1,
            cluster: kernel.required_cluster().unwrap_or([0; 3]),
            cluster_policy: 0,
        });
        Self { context: context.handle, device, module, kernel, settings, max_registers }
    }

    pub fn chip(&self) -> &'static Chip {
        self.device.chip()
    }

    pub fn settings(&self) -> MutexGuard<'_, Settings> {
        // A plain record: whole after a panic elsewhere.
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The shared memory per multiprocessor that the program prefers, for a context with cache preference `of_context`.
    pub fn shared_wish(&self, of_context: CUfunc_cache) -> u32 {
        let Settings { carveout, cache, .. } = *self.settings();
        let limits = self.chip().sm;
        match u32::try_from(carveout) {
            Ok(percent) => cache::carve_out(limits, percent),
            Err(_) => {
                let preference = if cache == CUfunc_cache::PREFER_NONE { of_context } else { cache };
                cache::preferred_shared(limits, Preference::ALL[preference as usize])
            }
        }
    }

    pub fn max_threads(&self) -> u32 {
        self.kernel.max_threads().unwrap_or(u32::MAX).min(self.chip().sm.threads_per_block)
    }

    /// Maximum blocks per cluster: eight everywhere, sixteen if the program gives up portability.
    pub fn max_cluster(&self) -> u32 {
        if self.settings().non_portable_cluster { 16 } else { 8 }
    }

    pub fn attribute(&self, attribute: Attribute) -> i32 {
        let settings = *self.settings();
        let kernel = &self.kernel;
        match attribute {
            Attribute::MAX_THREADS_PER_BLOCK => self.max_threads() as i32,
            Attribute::SHARED_SIZE_BYTES => kernel.static_shared() as i32,
            Attribute::CONST_SIZE_BYTES => kernel.const_bytes() as i32,
            Attribute::LOCAL_SIZE_BYTES => kernel.local_bytes() as i32,
            Attribute::NUM_REGS => {
                // The real compiler ignores limits below 24.
                let most = self.max_registers.map_or(u32::MAX, |most| most.max(24));
                kernel.registers().min(most) as i32
            }
            // The virtual architecture of the PTX, times ten: compute_90 is 90.
            Attribute::PTX_VERSION => kernel.module().target() as i32,
            Attribute::BINARY_VERSION => self.device.architecture() as i32,
            Attribute::CACHE_MODE_CA | Attribute::CLUSTER_SIZE_MUST_BE_SET => 0,
            Attribute::MAX_DYNAMIC_SHARED_SIZE_BYTES => settings.dynamic_shared as i32,
            Attribute::PREFERRED_SHARED_MEMORY_CARVEOUT => settings.carveout,
            Attribute::REQUIRED_CLUSTER_WIDTH => settings.cluster[0] as i32,
            Attribute::REQUIRED_CLUSTER_HEIGHT => settings.cluster[1] as i32,
            Attribute::REQUIRED_CLUSTER_DEPTH => settings.cluster[2] as i32,
            Attribute::NON_PORTABLE_CLUSTER_SIZE_ALLOWED => settings.non_portable_cluster.into(),
            Attribute::CLUSTER_SCHEDULING_POLICY_PREFERENCE => settings.cluster_policy,
        }
    }

    pub fn set(&self, attribute: Attribute, value: i32) -> Answer {
        let unsigned = u32::try_from(value).map_err(|_| CUresult::INVALID_VALUE);
        let mut settings = self.settings();
        match attribute {
            Attribute::MAX_DYNAMIC_SHARED_SIZE_BYTES => {
                let most = self.chip().sm.shared_per_block_optin.saturating_sub(self.kernel.static_shared());
                let bytes = unsigned?;
                if bytes > most {
                    return Err(CUresult::INVALID_VALUE);
                }
                settings.dynamic_shared = bytes;
            }
            Attribute::PREFERRED_SHARED_MEMORY_CARVEOUT => {
                if !(-1..=100).contains(&value) {
                    return Err(CUresult::INVALID_VALUE);
                }
                settings.carveout = value;
            }
            Attribute::REQUIRED_CLUSTER_WIDTH => settings.cluster[0] = unsigned?,
            Attribute::REQUIRED_CLUSTER_HEIGHT => settings.cluster[1] = unsigned?,
            Attribute::REQUIRED_CLUSTER_DEPTH => settings.cluster[2] = unsigned?,
            Attribute::NON_PORTABLE_CLUSTER_SIZE_ALLOWED => settings.non_portable_cluster = value != 0,
            Attribute::CLUSTER_SCHEDULING_POLICY_PREFERENCE => settings.cluster_policy = value,
            _ => return Err(CUresult::INVALID_VALUE),
        }
        Ok(())
    }
}
