//! Where rows put their results: one buffer for all that write as many elements, here and on the device.
//!
//! Pages that are new to a process cost the host as much as the copy that fills them. A demo of dozens of rows waits for
//! neither if its rows share buffers and the device itself wipes out what the row before left.

use bytemuck::AnyBitPattern;
use cust::memory::{CopyDestination, DeviceBuffer, DeviceCopy};
use warpsmith_launch::{Device, Error, ErrorContext, extra};

/// The content of a buffer before a kernel writes it: an element that the kernel forgets is a wrong one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Zeros, among random numbers.
    Zeros,
    /// Ones in every bit: not a number in any floating-point type.
    NotANumber,
    /// An integer near the smallest, which no demo's sum comes near.
    FarBelow,
}

impl Fill {
    fn byte(self) -> u8 {
        match self {
            Self::Zeros => 0,
            Self::NotANumber => 0xff,
            Self::FarBelow => 0x80,
        }
    }
}

/// A buffer on the device and its copy on the host.
pub struct Target<'a, T: DeviceCopy> {
    device: &'a Device,
    what: &'static str,
    fill: Fill,
    buffer: DeviceBuffer<T>,
    host: Vec<T>,
}

impl<'a, T: DeviceCopy + AnyBitPattern + Default> Target<'a, T> {
    /// A target of `len` elements, filled.
    pub fn new(device: &'a Device, what: &'static str, len: usize, fill: Fill) -> Result<Self, Error> {
        // SAFETY: it is filled below, and written in full before it is read.
        let buffer =
            unsafe { DeviceBuffer::uninitialized(len) }.context(format!("allocate {what} on the device"))?;
        let mut target = Self { device, what, fill, buffer, host: Vec::new() };
        target.wipe()?;
        Ok(target)
    }

    pub fn buffer(&mut self) -> &mut DeviceBuffer<T> {
        &mut self.buffer
    }

    /// Fills the buffer, so that nothing is left of what was written before.
    pub fn wipe(&mut self) -> Result<(), Error> {
        extra::fill(&mut self.buffer, self.fill.byte(), self.device.stream())
            .context(format!("fill {} on the device", self.what))
    }

    /// The buffer's content, once all launches have ended.
    pub fn read(&mut self) -> Result<&[T], Error> {
        self.device.synchronize()?;
        self.host.resize(self.buffer.len(), T::default());
        self.buffer.copy_to(&mut self.host).context(format!("copy {} to the host", self.what))?;
        Ok(&self.host)
    }
}
