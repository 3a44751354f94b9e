//! The device: taken, described, and given the kernels that it admits.

use cuda_std::{Description, Kernel};
use cust::context::{Context, ContextFlags, CurrentContext};
use cust::device::Device as CudaDevice;
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use warpsmith_cuda::Wish;

use crate::description::compare;
use crate::error::{Doing, Error};
use crate::launcher::Launcher;
use crate::levels::Levels;
use crate::limits::Limits;
use crate::modules::Modules;

/// A device with its modules and one stream.
///
/// Modules are loaded when their first kernel is asked for, each once, and none waits for another. The fields are dropped in
/// order: modules and stream before the context.
pub struct Device {
    modules: Modules,
    stream: Stream,
    limits: Limits,
    is_virtual: bool,
    index: u32,
    context: Context,
}

impl Device {
    /// Opens the first device of the kind asked for. A process has one kind: to ask for another later is an error.
    pub fn open(wish: Wish) -> Result<Self, Error> {
        Self::open_at(wish, 0)
    }

    /// Opens the device of this index, and makes its context current in this thread.
    ///
    /// A program with several devices calls [`enter`](Self::enter) before it allocates or launches on another one.
    pub fn open_at(wish: Wish, index: u32) -> Result<Self, Error> {
        let is_virtual = start(wish)?;
        let device =
            CudaDevice::get_device(index).doing(format!("take device {index} of {}", count_started()?))?;
        let limits = Limits::of(device).doing("read the device's limits")?;
        let context = Context::new(device).doing("make a context")?;
        context.set_flags(ContextFlags::SCHED_AUTO).doing("set the context's flags")?;
        let stream = Stream::new(StreamFlags::NON_BLOCKING, None).doing("make a stream")?;
        Ok(Self { modules: Modules::default(), stream, limits, is_virtual, index, context })
    }

    /// Opens all devices of the kind asked for. The first one's context is current afterwards.
    pub fn all(wish: Wish) -> Result<Vec<Self>, Error> {
        let count = Self::count(wish)?;
        let all = (0..count).map(|index| Self::open_at(wish, index)).collect::<Result<Vec<_>, _>>()?;
        if let Some(first) = all.first() {
            first.enter()?;
        }
        Ok(all)
    }

    /// How many devices of the kind asked for there are.
    pub fn count(wish: Wish) -> Result<u32, Error> {
        start(wish)?;
        count_started()
    }

    /// Opens the device that `WARPSMITH_DEVICE` names. If it names none, that is a GPU if there is one, else the virtual
    /// GPU.
    pub fn from_environment() -> Result<Self, Error> {
        Self::open(std::env::var("WARPSMITH_DEVICE").unwrap_or_default().parse()?)
    }

    /// Whether kernels run on the virtual GPU.
    pub fn is_virtual(&self) -> bool {
        self.is_virtual
    }

    /// `virtual` or `gpu`, the word of tables and JSON.
    pub fn kind(&self) -> &'static str {
        if self.is_virtual { "virtual" } else { "gpu" }
    }

    /// What it can do.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Which of the process's devices it is, from 0.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// `cust`'s context.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The stream on which launches run.
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
    ///
    /// Its description is compared with the PTX, so that a stale module is an error here and not a wrong launch.
    pub fn kernel<K: Kernel>(&self, levels: &Levels) -> Result<Launcher<'_, K>, Error> {
        let entry = levels.find(K::NAME)?;
        if let Some(entry) = entry {
            compare(&Description::of::<K>(), entry.signature)?;
        }
        let module = self.module(levels, K::NAME)?;
        let function = module.get_function(K::NAME).doing(format!("find kernel `{}`", K::NAME))?;
        Launcher::new(self, function, entry.and_then(|entry| entry.agreed))
    }

    /// The module that has the kernel: the lowest feature level that does.
    ///
    /// Kernels of higher levels are large, and the driver compiles a module as a whole, so that each of them is a module of
    /// its own there. The virtual GPU compiles nothing and gets the level.
    pub fn module(&self, levels: &Levels, kernel: &str) -> Result<&Module, Error> {
        let left_out = |reason| Error::LeftOut { kernel: kernel.to_owned(), reason };
        levels.check(&self.limits)?;
        let level = levels.of(kernel).ok_or_else(|| left_out("it is in no module".into()))?;
        if let Some(reason) = level.refusal(self.limits.capability) {
            return Err(left_out(reason));
        }
        let whole = self.is_virtual || std::ptr::eq(level, &levels.all()[0]);
        self.modules.get(level, (!whole).then_some(kernel))
    }
}

/// Starts the driver of the kind asked for, and says whether its devices are virtual.
fn start(wish: Wish) -> Result<bool, Error> {
    let is_virtual = warpsmith_cuda::choose(Some(wish), None)?.is_virtual();
    if is_virtual {
        warpsmith_cuda::profile::check_file().map_err(Error::Profile)?;
    }
    cust::init(cust::CudaFlags::empty()).doing("start the driver")?;
    Ok(is_virtual)
}

fn count_started() -> Result<u32, Error> {
    CudaDevice::num_devices().doing("count the devices")
}
