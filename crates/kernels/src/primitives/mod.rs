//! Reductions and scans by operations that are types, histograms, selections and sorts of a buffer.
//!
//! ```
//! use warpsmith_kernels::primitives::{ArgMax, Found, Primitives, Sum};
//! use warpsmith_launch::{Device, DevicePreference};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let device = Device::open(DevicePreference::Virtual)?;
//! let primitives = Primitives::new(&device);
//! let x = device.upload(&[3.0f32, 5.0, 4.0])?;
//! let mut sum = device.zeroed::<f32>(1)?;
//! let plan = primitives.reduce(Sum, &x, &mut sum)?;
//! assert_eq!(device.download(&sum)?, [12.0], "by {}", plan.kernel());
//!
//! let mut greatest = device.upload(&[Found::new(0.0f32, 0)])?;
//! primitives.reduce(ArgMax, &x, &mut greatest)?;
//! assert_eq!(device.download(&greatest)?, [Found::new(5.0, 1)]);
//!
//! let mut before = device.zeroed::<f32>(3)?;
//! primitives.exclusive_scan(Sum, &x, &mut before)?;
//! assert_eq!(device.download(&before)?, [0.0, 3.0, 8.0]);
//! # Ok(()) }
//! ```

mod histogram;
mod reduce;
mod scan;
mod select;
mod sort;

use std::cell::RefCell;

use cust::memory::{DeviceCopy, DevicePointer, DeviceSlice};
use kernels_gpu::primitives::look_back::HEAD;
use kernels_gpu::primitives::part::{skipped, tile};
use warpsmith_launch::{Bf16, Buffer, Device, F16, HostType, Shape};

pub use kernels_gpu::primitives::operation::{ArgMax, ArgMin, Found, Max, Min, Operation, Sum};

use crate::Error;
use crate::plan::Plan;
pub use sort::{SortKey, SortOrder, SortPass, SortValue};

/// The primitives on a device, with the scratch memory that they keep. What one object launches runs in the order of the device's
/// stream; two objects have scratch memory of their own. Larger work replaces it: a graph that captured a launch, an `unsafe` one, is gone
/// before.
pub struct Primitives<'d> {
    device: &'d Device,
    /// Counters, which are 0 between launches, and behind them what blocks leave for each other.
    scratch: RefCell<Option<Buffer<u64>>>,
    /// Counts, which are 0 between launches.
    zeros: RefCell<Option<Buffer<u64>>>,
    /// The words of look-backs, which belong to no launch but the one that runs.
    chain: RefCell<Option<Buffer<u64>>>,
}

/// Words of the scratch memory before the blocks' part.
const COUNTERS: usize = 32;

/// An element of a primitive: on the host a number, or what stands for one of 16 bits.
pub trait Element: HostType<Self::Device> {
    /// The kernels' type of it.
    type Device: Copy + 'static;
}

macro_rules! elements {
    ($($element:ty: $device:ty;)*) => {$(
        impl Element for $element {
            type Device = $device;
        }
    )*};
}
elements! {
    u8: u8;
    u32: u32;
    i32: i32;
    u64: u64;
    i64: i64;
    f32: f32;
    f64: f64;
    F16: half::f16;
    Bf16: half::bf16;
}

impl<'d> Primitives<'d> {
    /// Primitives on this device.
    pub fn new(device: &'d Device) -> Self {
        Self { device, scratch: RefCell::default(), zeros: RefCell::default(), chain: RefCell::default() }
    }

    /// The device.
    pub fn device(&self) -> &'d Device {
        self.device
    }

    /// Where the counters lie, and behind them at least `bytes` bytes, all of them 0 or left by earlier launches.
    fn scratch(&self, bytes: usize) -> Result<(DevicePointer<u32>, u64), Error> {
        let first = self.kept(&self.scratch, COUNTERS + bytes.div_ceil(8))?;
        Ok((DevicePointer::from_raw(first), first + 8 * COUNTERS as u64))
    }

    /// At least this number of counts that are 0, and left so.
    fn zeros(&self, counts: usize) -> Result<u64, Error> {
        self.kept(&self.zeros, counts)
    }

    /// A buffer of at least this number of words, which are 0 at first.
    fn kept(&self, buffer: &RefCell<Option<Buffer<u64>>>, words: usize) -> Result<u64, Error> {
        let mut kept = buffer.borrow_mut();
        if kept.as_ref().is_none_or(|buffer| buffer.len() < words) {
            // What was launched before may still write to the old one.
            self.device.finish()?;
            // Few sizes, and little that is not used of large ones.
            let words = words.next_power_of_two().min(words.next_multiple_of(1 << 20));
            *kept = Some(self.device.zeroed(words)?);
        }
        Ok(kept.as_ref().map_or(0, |buffer| buffer.as_device_ptr().as_raw()))
    }

    /// A block of this many threads for each tile of elements, as they lie in memory, and the words of a look-back with some states for
    /// each.
    fn tiles<T: DeviceCopy>(
        &self,
        kernel: &'static str,
        (at, len): (&DeviceSlice<T>, usize),
        block: u32,
        states: usize,
    ) -> Result<(Plan, DevicePointer<u64>), Error> {
        let (skipped, tile) = (skipped::<T>(at.as_device_ptr().as_raw() as usize), tile::<T>(block as usize));
        let tiles = (len + skipped).div_ceil(tile).max(1);
        let plan = Plan {
            kernel,
            shape: Shape { grid: [tiles as u32, 1, 1], block: [block, 1, 1], shared: 0 },
            why: format!("{tiles} tiles of {tile} elements, each of which looks back for those before it"),
        };
        Ok((plan, self.chain(tiles * states)?))
    }

    /// The words of a look-back of at least this number of states.
    fn chain(&self, states: usize) -> Result<DevicePointer<u64>, Error> {
        let mut kept = self.chain.borrow_mut();
        if kept.as_ref().is_none_or(|buffer| buffer.len() < HEAD + states) {
            // As for the scratch memory.
            self.device.finish()?;
            let states = states.next_power_of_two();
            let mut words = vec![0; HEAD + states];
            words[1] = states as u64;
            *kept = Some(self.device.upload(&words)?);
        }
        Ok(DevicePointer::from_raw(kept.as_ref().map_or(0, |buffer| buffer.as_device_ptr().as_raw())))
    }
}

/// Refuses a result without room for this number of elements.
fn refuse_shorter<V: DeviceCopy>(to: &DeviceSlice<V>, elements: usize) -> Result<(), Error> {
    if to.len() < elements {
        let plural = if elements == 1 { "" } else { "s" };
        let message =
            format!("the result needs room for {elements} element{plural}, its buffer has {}", to.len());
        return Err(Error::Primitive(message));
    }
    Ok(())
}
