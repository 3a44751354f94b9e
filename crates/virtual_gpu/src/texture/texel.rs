//! Elements of an image: their bits, and what they stand for.

use super::{ChannelFormat, Image};
use crate::alu::half;

/// An image whose bytes can be reached.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Texels {
    bytes: *const u8,
    pub image: Image,
}

impl Texels {
    /// # Safety
    /// `bytes` is where the image's first element lies on the host; [`Image::bytes`] from there on are valid for reads
    /// as long as the value is used.
    pub unsafe fn new(bytes: *const u8, image: Image) -> Self {
        Self { bytes, image }
    }

    /// The channels' bits, extended by their sign; zero for channels that the image has not.
    pub fn bits(&self, x: u32, y: u32, slice: u32) -> [u32; 4] {
        let image = &self.image;
        assert!(x < image.width && y < image.height.max(1) && slice < image.slices());
        let row = u64::from(slice) * u64::from(image.height.max(1)) + u64::from(y);
        let offset = row * image.row_pitch + u64::from(x) * u64::from(image.element());
        let size = image.format.size();
        std::array::from_fn(|channel| {
            if channel as u32 >= image.channels {
                return 0;
            }
            // SAFETY: the element lies in the image, by the assertion, and the channel in the element.
            unsafe {
                let at = self.bytes.add((offset + u64::from(channel as u32 * size)) as usize);
                match image.format {
                    ChannelFormat::U8 => u32::from(at.read()),
                    ChannelFormat::S8 => i32::from(at.read() as i8) as u32,
                    ChannelFormat::U16 | ChannelFormat::F16 => at.cast::<u16>().read_unaligned().into(),
                    ChannelFormat::S16 => i32::from(at.cast::<i16>().read_unaligned()) as u32,
                    ChannelFormat::U32 | ChannelFormat::S32 | ChannelFormat::F32 => {
                        at.cast::<u32>().read_unaligned()
                    }
                }
            }
        })
    }
}

/// What a channel's bits stand for when they are read as a fraction: 0 to 1, or -1 to 1.
pub(super) fn fraction(format: ChannelFormat, bits: u32) -> f64 {
    match format {
        ChannelFormat::U8 => f64::from(bits) / 255.0,
        ChannelFormat::U16 => f64::from(bits) / 65535.0,
        ChannelFormat::S8 => (f64::from(bits as i32) / 127.0).max(-1.0),
        ChannelFormat::S16 => (f64::from(bits as i32) / 32767.0).max(-1.0),
        ChannelFormat::F16 => half::to_f64::<half::F16>(bits as u16),
        ChannelFormat::F32 => f32::from_bits(bits).into(),
        // Integers of 32 bits are never fractions.
        ChannelFormat::U32 | ChannelFormat::S32 => f64::from(bits),
    }
}

/// The linear value of an sRGB channel.
pub(super) fn from_srgb(bits: u32) -> f64 {
    let c = f64::from(bits) / 255.0;
    if c <= 0.04045 { c / 12.92 } else { libm::pow((c + 0.055) / 1.055, 2.4) }
}
