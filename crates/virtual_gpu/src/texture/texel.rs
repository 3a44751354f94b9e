//! Elements of an image: their bits, and what they represent.

use std::cell::{Cell, RefCell};

use super::{ChannelFormat, Image};
use crate::alu::half;
use crate::memory::View;

/// An image whose elements can be read; each address is looked up when it is read.
#[derive(Debug)]
pub(crate) struct Texels<'m> {
    memory: &'m View,
    pub image: Image,
    /// The first element that was not mapped.
    missing: Cell<Option<u64>>,
    /// Addresses of elements that were read, if an observer wants them.
    read: Option<RefCell<Vec<u64>>>,
}

impl<'m> Texels<'m> {
    pub fn new(memory: &'m View, image: Image) -> Self {
        Self { memory, image, missing: Cell::new(None), read: None }
    }

    /// The same, and the addresses of elements that are read are kept.
    pub fn logged(self) -> Self {
        Self { read: Some(RefCell::default()), ..self }
    }

    /// The addresses of elements that were read since they were last taken.
    pub fn take_read(&self) -> Vec<u64> {
        self.read.as_ref().map_or_else(Vec::new, |read| read.take())
    }

    /// The address of an element that was to be read but is not mapped.
    pub fn missing(&self) -> Option<u64> {
        self.missing.get()
    }

    /// The channels' bits, sign-extended; zero for channels that the image lacks.
    pub fn bits(&self, x: u32, y: u32, slice: u32) -> [u32; 4] {
        let image = &self.image;
        debug_assert!(x < image.width && y < image.height.max(1) && slice < image.slices());
        let row = u64::from(slice) * u64::from(image.height.max(1)) + u64::from(y);
        let offset = row.wrapping_mul(image.row_pitch) + u64::from(x) * u64::from(image.element());
        let address = image.address.wrapping_add(offset);
        if let Some(read) = &self.read {
            read.borrow_mut().push(address);
        }
        let mut element = [0; 16];
        if !self.memory.read(address, &mut element[..image.element() as usize]) {
            self.missing.set(self.missing.get().or(Some(address)));
        }
        let size = image.format.size() as usize;
        std::array::from_fn(|channel| {
            if channel as u32 >= image.channels {
                return 0;
            }
            let at = |byte: usize| element[channel * size + byte];
            let short = || u16::from_le_bytes([at(0), at(1)]);
            match image.format {
                ChannelFormat::U8 => at(0).into(),
                ChannelFormat::S8 => i32::from(at(0) as i8) as u32,
                ChannelFormat::U16 | ChannelFormat::F16 => short().into(),
                ChannelFormat::S16 => i32::from(short() as i16) as u32,
                ChannelFormat::U32 | ChannelFormat::S32 | ChannelFormat::F32 => {
                    u32::from_le_bytes([at(0), at(1), at(2), at(3)])
                }
            }
        })
    }
}

/// A channel's bits as a fraction: 0 to 1, or -1 to 1.
pub(super) fn fraction(format: ChannelFormat, bits: u32) -> f64 {
    match format {
        ChannelFormat::U8 => f64::from(bits) / 255.0,
        ChannelFormat::U16 => f64::from(bits) / 65535.0,
        ChannelFormat::S8 => (f64::from(bits as i32) / 127.0).max(-1.0),
        ChannelFormat::S16 => (f64::from(bits as i32) / 32767.0).max(-1.0),
        ChannelFormat::F16 => half::to_f64::<half::F16>(bits as u16),
        ChannelFormat::F32 => f32::from_bits(bits).into(),
        // 32-bit integers are never fractions.
        ChannelFormat::U32 | ChannelFormat::S32 => f64::from(bits),
    }
}

/// The linear value of an sRGB channel.
pub(super) fn from_srgb(bits: u32) -> f64 {
    let c = f64::from(bits) / 255.0;
    if c <= 0.04045 { c / 12.92 } else { libm::pow((c + 0.055) / 1.055, 2.4) }
}
