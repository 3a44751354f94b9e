//! The device: taken, described, and given the kernels that it admits.

use std::sync::Arc;

use cuda_std::{Description, Kernel};
use cust::context::{Context, ContextFlags, CurrentContext};
use cust::device::Device as CudaDevice;
use cust::error::CudaResult;
use warpsmith_cuda::DevicePreference;

use crate::capture::{self, CaptureStream};
use crate::description::compare;
use crate::error::{Error, ErrorContext};
use crate::extra::peer::CurrentContextGuard;
use crate::launcher::Launcher;
use crate::levels::Levels;
use crate::limits::Limits;
use crate::modules::{Module, Modules};
use crate::stream::Stream;

/// A device with its modules and one stream.
///
/// Modules are loaded when their first kernel is asked for, each once, and none waits for another. The fields are dropped in
/// order: modules before stream and context.
pub struct Device {
    modules: Modules,
    limits: Limits,
    is_virtual: bool,
    index: u32,
    device_context: Arc<DeviceContext>,
}

/// A device's context and stream, which stay as long as a buffer of theirs.
pub(crate) struct DeviceContext {
    pub stream: Stream,
    pub captures: CaptureStream,
    // After the stream, which is of this context.
    context: Context,
}

impl DeviceContext {
    /// A number that tells devices apart, also those of one GPU.
    pub fn number(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Makes the context current in this thread, until the result is dropped.
    pub fn enter(&self) -> CudaResult<CurrentContextGuard> {
        let before = CurrentContextGuard::save();
        CurrentContext::set_current(&self.context)?;
        Ok(before)
    }
}

impl Device {
    /// Opens the first device of the kind asked for. A process has one kind: to ask for another later is an error.
    pub fn open(preference: DevicePreference) -> Result<Self, Error> {
        Self::open_at(preference, 0)
    }

    /// Opens the device of this index, and makes its context current in this thread.
    ///
    /// A program with several devices calls [`enter`](Self::enter) before it allocates or launches on another one.
    pub fn open_at(preference: DevicePreference, index: u32) -> Result<Self, Error> {
        let is_virtual = start(preference)?;
        let device =
            CudaDevice::get_device(index).context(format!("take device {index} of {}", count_started()?))?;
        let limits = Limits::of(device).context("read the device's limits")?;
        let context = Context::new(device).context("make a context")?;
        context.set_flags(ContextFlags::SCHED_AUTO).context("set the context's flags")?;
        let stream = Stream::new().context("make a stream")?;
        let device_context = Arc::new(DeviceContext { stream, captures: CaptureStream::default(), context });
        Ok(Self { modules: Modules::default(), limits, is_virtual, index, device_context })
    }

    /// Shares the primary context that other code of the process has of this device, and launches on a stream of that code.
    ///
    /// # Safety
    /// The stream is of the device's primary context, and `owner` keeps it.
    #[cfg(feature = "share")]
    pub(crate) unsafe fn share(
        index: u32,
        stream: cust::sys::CUstream,
        owner: crate::stream::StreamOwner,
    ) -> Result<Self, Error> {
        let is_virtual = warpsmith_cuda::choose_loaded()?.is_virtual();
        cust::init(cust::CudaFlags::empty()).context("start the driver")?;
        let device = CudaDevice::get_device(index).context(format!("take device {index}"))?;
        let limits = Limits::of(device).context("read the device's limits")?;
        let context = Context::new(device).context("share the device's context")?;
        // SAFETY: the caller's promise.
        let stream = unsafe { Stream::shared(stream, owner) };
        let device_context = Arc::new(DeviceContext { stream, captures: CaptureStream::default(), context });
        Ok(Self { modules: Modules::default(), limits, is_virtual, index, device_context })
    }

    /// Opens all devices of the kind asked for. The first one's context is current afterwards.
    pub fn all(preference: DevicePreference) -> Result<Vec<Self>, Error> {
        let count = Self::count(preference)?;
        let all = (0..count).map(|index| Self::open_at(preference, index)).collect::<Result<Vec<_>, _>>()?;
        if let Some(first) = all.first() {
            first.enter()?;
        }
        Ok(all)
    }

    /// The number of devices of the kind asked for.
    pub fn count(preference: DevicePreference) -> Result<u32, Error> {
        start(preference)?;
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

    /// Its limits.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Its index among the process's devices, from 0.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// `cust`'s context.
    pub fn context(&self) -> &Context {
        &self.device_context.context
    }

    /// The stream on which launches run; while this thread [captures](Self::capture), the one that is captured.
    pub fn stream(&self) -> &Stream {
        capture::stream_of(&self.device_context)
    }

    /// Makes the device's context current in this thread; the thread that opened it needs no call.
    pub fn enter(&self) -> Result<(), Error> {
        CurrentContext::set_current(self.context()).context("make the context current")
    }

    /// Waits until all that was launched has ended, whatever context is current.
    pub fn synchronize(&self) -> Result<(), Error> {
        capture::refuse(&self.device_context, || "finish what was launched".into())?;
        let synchronize = || {
            let _current = self.device_context.enter()?;
            self.stream().synchronize()
        };
        synchronize().context("finish what was launched")
    }

    /// Waits as [`synchronize`](Self::synchronize), and never returns before the work has ended: for functions that lend a launch their borrows. If
    /// the driver refuses to wait, the process ends.
    pub fn finish(&self) -> Result<(), Error> {
        capture::refuse(&self.device_context, || "finish what was launched".into())?;
        let _current = self.device_context.enter();
        self.stream().finish().context("finish what was launched")
    }

    pub(crate) fn device_context(&self) -> &Arc<DeviceContext> {
        &self.device_context
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
        let function = module.function(K::NAME)?;
        Launcher::new(self, function, entry.and_then(|entry| entry.fingerprint))
    }

    /// The module that has the kernel: the lowest feature level that does.
    ///
    /// Kernels of higher levels are large, and the driver compiles a module as a whole, so that each of them is a module of
    /// its own there. The virtual GPU compiles nothing and gets the level.
    pub fn module(&self, levels: &Levels, kernel: &str) -> Result<&Module, Error> {
        let unavailable = |reason| Error::KernelUnavailable { kernel: kernel.to_owned(), reason };
        levels.check(&self.limits)?;
        let level = levels.of(kernel).ok_or_else(|| unavailable("it is in no module".into()))?;
        if let Some(reason) = level.refusal(self.limits.capability) {
            return Err(unavailable(reason));
        }
        let whole = self.is_virtual || std::ptr::eq(level, &levels.all()[0]);
        self.modules.get(level, (!whole).then_some(kernel))
    }
}

/// Starts the driver of the kind asked for, and says whether its devices are virtual.
fn start(preference: DevicePreference) -> Result<bool, Error> {
    let is_virtual = warpsmith_cuda::choose(Some(preference), None)?.is_virtual();
    if is_virtual {
        warpsmith_cuda::profile::check_file().map_err(Error::Profile)?;
    }
    cust::init(cust::CudaFlags::empty()).context("start the driver")?;
    Ok(is_virtual)
}

fn count_started() -> Result<u32, Error> {
    CudaDevice::num_devices().context("count the devices")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use cust::context::legacy::ContextStack;

    use super::*;

    #[test]
    fn synchronize_waits_though_the_context_was_popped() {
        let device = Device::open(DevicePreference::Virtual).unwrap();
        for wait in [Device::synchronize, Device::finish] {
            let done = Arc::new(AtomicBool::new(false));
            let sets = done.clone();
            let work = move || {
                std::thread::sleep(Duration::from_millis(100));
                sets.store(true, Ordering::Release);
            };
            device.stream().on_host(work).unwrap();
            ContextStack::pop().unwrap();
            wait(&device).unwrap();
            assert!(done.load(Ordering::Acquire));
            device.enter().unwrap();
        }
    }

    #[test]
    fn a_buffer_keeps_its_context_and_frees_its_memory_in_it() {
        let device = Device::open(DevicePreference::Virtual).unwrap();
        let mut buffer = device.upload(&[1u32, 2, 3]).unwrap();
        let empty = device.upload::<u32>(&[]).unwrap();
        drop(device);
        while ContextStack::pop().is_ok() {}
        buffer.write(&[4, 5, 6]).unwrap();
        assert_eq!(buffer.to_vec().unwrap(), [4, 5, 6]);
        assert_eq!(buffer.slice(1..).slice(..1).to_vec().unwrap(), [5]);
        assert!(empty.to_vec().unwrap().is_empty());
        assert!(matches!(buffer.write(&[7]), Err(Error::Length { given: 1, has: 3 })));
        let (first, others) = buffer.split_at_mut(1);
        assert_eq!((first.len(), others.len()), (1, 2));
        assert_eq!(others.as_device_ptr().as_raw() - first.as_device_ptr().as_raw(), 4);
        drop(buffer);
        assert!(ContextStack::pop().is_err(), "no context is left current");
    }
}
