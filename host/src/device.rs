//! The device: found, described, and given the kernels that it admits.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use cuda_std::Kernel;
use cust::context::{Context, ContextFlags, CurrentContext};
use cust::device::{Device as CudaDevice, DeviceAttribute};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use gpu_model::Chip;

use crate::cli::DeviceWish;
use crate::error::{Doing, Error};
use crate::extra;
use crate::launch::Launcher;
use crate::modules::{LEVELS, Level, Slot, level_of};
use crate::registry::{self, Description};

/// What a device can do, as its driver says.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Limits {
    /// Its name.
    pub name: String,
    /// Compute capability.
    pub capability: (u32, u32),
    /// Bytes of memory.
    pub memory: usize,
    /// Multiprocessors.
    pub sms: u32,
    /// Threads of a block.
    pub threads_per_block: u32,
    /// Extents of a block.
    pub block: [u32; 3],
    /// Extents of a grid.
    pub grid: [u32; 3],
    /// Bytes of shared memory of a block without asking.
    pub shared_per_block: u32,
    /// Bytes of shared memory of a block that opted in.
    pub shared_per_block_optin: u32,
    /// Threads that a multiprocessor holds.
    pub threads_per_sm: u32,
}

/// A device with its modules and one stream.
///
/// Modules are loaded when their first kernel is asked for, each once, and none waits for another. The fields are dropped in
/// order: modules and stream before the context.
pub struct Device {
    modules: [Slot<Module>; LEVELS.len()],
    /// Modules of one kernel, a slot for each of a level's functions.
    alone: [OnceLock<Vec<Slot<Module>>>; LEVELS.len()],
    stream: Stream,
    limits: Limits,
    is_virtual: bool,
    context: Context,
}

impl Device {
    /// Takes the device asked for.
    pub fn open(wish: DeviceWish) -> Result<Self, Error> {
        let is_virtual = choose(wish)?;
        if is_virtual {
            warpsmith_cuda::profile::check_file().map_err(Error::Profile)?;
        }
        cust::init(cust::CudaFlags::empty()).doing("start the driver")?;
        let device = CudaDevice::get_device(0).doing("take the first device")?;
        let limits = Limits::of(device).doing("read the device's limits")?;
        let (major, minor) = limits.capability;
        if LEVELS[0].refusal((major, minor)).is_some() {
            return Err(Error::TooOld { name: limits.name, major, minor });
        }
        let context = Context::new(device).doing("make a context")?;
        context.set_flags(ContextFlags::SCHED_AUTO).doing("set the context's flags")?;
        let stream = Stream::new(StreamFlags::NON_BLOCKING, None).doing("make a stream")?;
        let (modules, alone) = Default::default();
        Ok(Self { modules, alone, stream, limits, is_virtual, context })
    }

    /// Whether kernels run on the virtual GPU.
    pub fn is_virtual(&self) -> bool {
        self.is_virtual
    }

    /// `virtual` or `gpu`, the word of rows and JSON.
    pub fn kind(&self) -> &'static str {
        if self.is_virtual { "virtual" } else { "gpu" }
    }

    /// What it can do.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The stream on which everything runs.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Makes the device's context current in this thread; the thread that opened it needs no call.
    pub fn enter(&self) -> Result<(), Error> {
        CurrentContext::set_current(&self.context).doing("make the context current")
    }

    /// Waits until all that was launched has ended.
    pub fn synchronize(&self) -> Result<(), Error> {
        self.stream.synchronize().doing("finish what was launched")
    }

    /// A kernel, ready to be launched with its own parameter types.
    pub fn kernel<K: Kernel>(&self) -> Result<Launcher<'_, K>, Error> {
        let module = self.module_of(K::NAME)?;
        let function = module.get_function(K::NAME).doing(format!("find kernel `{}`", K::NAME))?;
        Launcher::new(self, function)
    }

    /// The module that has the kernel: the lowest feature level that does.
    ///
    /// Kernels of higher levels are large, and the driver compiles a module as a whole, so that each of them is a module of
    /// its own there. The virtual GPU compiles nothing and gets the level.
    pub fn module_of(&self, kernel: &str) -> Result<&Module, Error> {
        let left_out = |reason| Error::LeftOut { kernel: kernel.to_owned(), reason };
        let level = level_of(kernel)?.ok_or_else(|| left_out("it is in no module".into()))?;
        if let Some(reason) = level.refusal(self.limits.capability) {
            return Err(left_out(reason));
        }
        let index = LEVELS.iter().position(|other| std::ptr::eq(other, level)).unwrap_or(0);
        if self.is_virtual || index == 0 {
            return self.modules[index].get(|| load(level, level.ptx));
        }
        let functions = &level.parsed()?.functions;
        let slots = self.alone[index].get_or_init(|| functions.iter().map(|_| Slot::default()).collect());
        let place = functions.iter().position(|function| function.name.as_str() == kernel);
        let slot =
            place.and_then(|place| slots.get(place)).ok_or_else(|| left_out("it is in no module".into()))?;
        slot.get(|| load(level, &level.alone(kernel)))
    }

    /// The kernels that this device cannot run, by the reason.
    pub fn left_out(&self) -> Result<BTreeMap<String, Vec<&'static str>>, Error> {
        let mut left_out: BTreeMap<String, Vec<&'static str>> = BTreeMap::new();
        for (_, kernel) in registry::kernels() {
            let reason = match level_of(kernel.name)? {
                Some(level) => level.refusal(self.limits.capability),
                None => Some("it is in no module".to_owned()),
            };
            if let Some(reason) = reason {
                left_out.entry(reason).or_default().push(kernel.name);
            }
        }
        Ok(left_out)
    }
}

/// Compares the level with what the host knows of its kernels, and loads it or the part of it that is given.
fn load(level: &'static Level, ptx: &str) -> Result<Module, Error> {
    for (_, kernel) in registry::kernels() {
        if let Some(entry) = level.entry(kernel.name)? {
            Description::compare(kernel, entry)?;
        }
    }
    extra::load_ptx(ptx, &[]).map_err(|(error, log)| {
        let log = log.lines().map(|line| format!("\n    {line}")).collect();
        Error::Module { arch: level.arch, error, log }
    })
}

/// Makes the driver seam take the device; tells whether it is the virtual one.
pub(crate) fn choose(wish: DeviceWish) -> Result<bool, Error> {
    let wish = match wish {
        DeviceWish::Auto => warpsmith_cuda::Wish::Auto,
        DeviceWish::Gpu => warpsmith_cuda::Wish::Gpu,
        DeviceWish::Virtual => warpsmith_cuda::Wish::Virtual,
    };
    let taken =
        warpsmith_cuda::choose(Some(wish), None).map_err(|error| Error::NoDevice(error.to_string()))?;
    Ok(taken.is_virtual())
}

impl Limits {
    /// Those of a chip that need not be here.
    pub fn of_chip(chip: &Chip) -> Self {
        Self {
            name: chip.name.into(),
            capability: (chip.sm.capability.major.into(), chip.sm.capability.minor.into()),
            memory: chip.memory_bytes as usize,
            sms: chip.sms,
            threads_per_block: chip.sm.threads_per_block,
            block: [1024, 1024, 64],
            grid: [0x7fff_ffff, 65_535, 65_535],
            shared_per_block: chip.sm.shared_per_block,
            shared_per_block_optin: chip.sm.shared_per_block_optin,
            threads_per_sm: chip.sm.threads,
        }
    }

    fn of(device: CudaDevice) -> cust::error::CudaResult<Self> {
        let get = |attribute| device.get_attribute(attribute).map(|value| value.max(0) as u32);
        use DeviceAttribute as A;
        Ok(Self {
            name: device.name()?,
            capability: (get(A::ComputeCapabilityMajor)?, get(A::ComputeCapabilityMinor)?),
            memory: device.total_memory()?,
            sms: get(A::MultiprocessorCount)?,
            threads_per_block: get(A::MaxThreadsPerBlock)?,
            block: [get(A::MaxBlockDimX)?, get(A::MaxBlockDimY)?, get(A::MaxBlockDimZ)?],
            grid: [get(A::MaxGridDimX)?, get(A::MaxGridDimY)?, get(A::MaxGridDimZ)?],
            shared_per_block: get(A::MaxSharedMemoryPerBlock)?,
            shared_per_block_optin: extra::shared_per_block_optin(device)?,
            threads_per_sm: get(A::MaxThreadsPerMultiprocessor)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chip_that_is_not_here_has_the_limits_that_its_driver_would_tell() {
        let device = Device::open(DeviceWish::Virtual).unwrap();
        let told = device.limits();
        let name = told.name.trim_end_matches(" (virtual)");
        let chip = gpu_model::chips::ALL.iter().find(|chip| chip.name == name).unwrap();
        let same = Limits { name: told.name.clone(), ..Limits::of_chip(chip) };
        assert_eq!(format!("{same:?}"), format!("{told:?}"));
    }
}
