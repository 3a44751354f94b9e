//! A demo's device: uploads, launches with counters and times, and the limits of a size.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use bytemuck::AnyBitPattern;
use cust::event::{Event, EventFlags};
use cust::memory::{DeviceBuffer, DeviceCopy};
use warpsmith_cuda::profile::LaunchProfile;
use warpsmith_launch::{Device, ErrorContext};

use super::demo::Demo;
use super::forecast;
use super::target::{Fill, Target};
use crate::counters::{self, Counted};
use crate::error::Error;
use crate::size::Size;
use crate::terminal::Progress;

/// How often a kernel is timed, if that takes no longer than this; twice at least.
const SAMPLES: usize = 11;
const TIMING: Duration = Duration::from_millis(100);
/// The most bytes that a demo moves through the virtual GPU: a person waits for it.
const VIRTUAL_BYTES: u64 = 1 << 30;

/// Times a launch of the kernel of that name, as often as it likes; each call waits for the launch's end.
pub type Stopwatch<'a> = dyn Fn(&str, &mut dyn FnMut() -> Result<(), Error>) -> Result<(), Error> + 'a;

/// A demo's device and settings.
pub struct Stage<'a> {
    pub device: &'a Device,
    /// The size asked for.
    pub size: Option<Size>,
    /// The edge of dynamic tiles asked for.
    pub dynamic_tile: Option<u32>,
    /// Where to say what runs now.
    pub progress: &'a Progress,
    /// The only kernel wanted, if not all are.
    pub only: Option<&'a str>,
    /// The profiles of what was launched on the virtual GPU.
    pub profiles: RefCell<Vec<LaunchProfile>>,
    /// Who times the launches instead of counting what they do.
    pub stopwatch: Option<&'a Stopwatch<'a>>,
    /// The kernel that came to its turn last.
    pub launched: RefCell<String>,
    /// The demo whose duration is to be announced at its first launch, if it is long.
    pub forecast: Cell<Option<&'static dyn Demo>>,
}

impl<'a> Stage<'a> {
    /// A stage for everything, at the default sizes.
    pub fn new(device: &'a Device, progress: &'a Progress) -> Self {
        let (profiles, launched, forecast) = Default::default();
        let (size, dynamic_tile, only, stopwatch) = (None, None, None, None);
        Self { device, size, dynamic_tile, progress, only, profiles, stopwatch, launched, forecast }
    }

    /// Whether this kernel is wanted.
    pub fn wants(&self, kernel: &str) -> bool {
        self.only.is_none_or(|only| only == kernel)
    }

    /// The demo's size: as asked for, else the default for the device.
    pub fn size_or(&self, virtual_default: usize, gpu_default: usize) -> Size {
        self.size.unwrap_or(Size::One(if self.device.is_virtual() { virtual_default } else { gpu_default }))
    }

    /// The extent of a demo that takes one, as `of` says where there are more.
    pub fn one_extent(&self, virtual_default: usize, gpu_default: usize, of: &str) -> Result<usize, Error> {
        match self.size_or(virtual_default, gpu_default) {
            Size::One(n) => Ok(n),
            _ => Err(Error::Size(of.to_owned())),
        }
    }

    /// Refuses a problem that the device has no memory for.
    pub fn admit(&self, size: Size, bytes: Option<u64>) -> Result<(), Error> {
        let memory = self.device.limits().memory as u64;
        // The driver keeps some for itself, and so do code and stacks.
        let (limit, whose) = match self.device.is_virtual() {
            true => (VIRTUAL_BYTES.min(memory), "the virtual GPU takes demos of"),
            false => (memory / 10 * 9, "the device has"),
        };
        match bytes {
            Some(bytes) if bytes <= limit => Ok(()),
            _ => {
                let needed =
                    bytes.map_or("more bytes than can be counted".to_owned(), |b| format!("{} MiB", b >> 20));
                Err(Error::Size(format!("size {size} needs {needed}; {whose} at most {} MiB", limit >> 20)))
            }
        }
    }

    /// Refuses a product that the device has no memory for in f32, or that has more operations than `most` on the virtual
    /// GPU, and says how many it has.
    pub fn admit_product(
        &self,
        size: Size,
        (m, n, k): (usize, usize, usize),
        most: f64,
        demos: &str,
    ) -> Result<f64, Error> {
        let elements = |rows: usize, cols: usize| (rows as u64).checked_mul(cols as u64);
        let elements = [elements(m, k), elements(k, n), elements(m, n)].into_iter().sum::<Option<u64>>();
        self.admit(size, elements.and_then(|elements| elements.checked_mul(4)))?;
        let operations = 2.0 * m as f64 * n as f64 * k as f64;
        if self.device.is_virtual() && operations > most {
            return Err(Error::Size(format!(
                "size {size} is {operations:.1e} operations; the virtual GPU takes {demos} of at most {most:.0e}"
            )));
        }
        Ok(operations)
    }

    /// Runs `launch` once; on the virtual GPU with counters. What is not wanted is not run.
    pub fn once<E>(
        &self,
        kernel: &str,
        launch: impl FnOnce() -> Result<(), E>,
    ) -> Result<Option<Counted>, Error>
    where
        Error: From<E>,
    {
        kernel.clone_into(&mut self.launched.borrow_mut());
        if !self.wants(kernel) {
            return Ok(None);
        }
        if let Some(demo) = self.forecast.take() {
            forecast::announce(demo, self)?;
        }
        self.progress.step(kernel);
        if self.stopwatch.is_some() {
            launch()?;
            self.device.synchronize()?;
            return Ok(None);
        }
        let profiles = counters::profiled(self.device, || Ok(launch()?))?;
        let counted = Counted::of(&profiles);
        self.profiles.borrow_mut().extend(profiles);
        Ok(self.device.is_virtual().then_some(counted))
    }

    /// The median time of `launch` in milliseconds, by events; nothing on the virtual GPU, whose time is not a GPU's but may be
    /// a stopwatch's.
    ///
    /// [`once`](Self::once) was the warm-up: it loaded the code and woke the clocks.
    pub fn time<E>(&self, mut launch: impl FnMut() -> Result<(), E>) -> Result<Option<f64>, Error>
    where
        Error: From<E>,
    {
        let kernel = self.launched.borrow();
        if let Some(stopwatch) = self.stopwatch.filter(|_| self.wants(&kernel)) {
            let mut whole = || {
                launch()?;
                Ok(self.device.synchronize()?)
            };
            stopwatch(&kernel, &mut whole)?;
        }
        if self.device.is_virtual() {
            return Ok(None);
        }
        let event = || Event::new(EventFlags::DEFAULT).context("make an event");
        let (start, end) = (event()?, event()?);
        let begun = Instant::now();
        let mut times = Vec::with_capacity(SAMPLES);
        while times.len() < SAMPLES && (times.len() < 2 || begun.elapsed() < TIMING) {
            self.device.stream().record(&start).context("record an event")?;
            launch()?;
            self.device.stream().record(&end).context("record an event")?;
            end.synchronize().context("wait for an event")?;
            let time = end.elapsed_time_f32(&start).context("read the time between two events")?;
            times.push(f64::from(time));
        }
        times.sort_by(f64::total_cmp);
        Ok(Some(times[times.len() / 2]))
    }

    pub fn upload<T: DeviceCopy>(&self, what: &str, values: &[T]) -> Result<DeviceBuffer<T>, Error> {
        Ok(DeviceBuffer::from_slice(values).context(format!("copy {what} to the device"))?)
    }

    /// A buffer for results, full of what no result is.
    pub fn target<T: DeviceCopy + AnyBitPattern + Default>(
        &self,
        what: &'static str,
        len: usize,
        fill: Fill,
    ) -> Result<Target<'a, T>, Error> {
        Ok(Target::new(self.device, what, len, fill)?)
    }

    /// A copy of `buffer` on the host.
    pub fn download<T: DeviceCopy + Default>(
        &self,
        what: &str,
        buffer: &DeviceBuffer<T>,
    ) -> Result<Vec<T>, Error> {
        Ok(buffer.as_host_vec().context(format!("copy {what} to the host"))?)
    }
}
