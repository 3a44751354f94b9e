//! Textures and surfaces: images in device memory, how they are read, and the handles that kernels name them by.
//!
//! `texel` reads elements, `coordinate` finds those that a coordinate names, `sample` puts them together, `cube`
//! knows the faces. What the manual leaves open (bits of coordinates, weights and sums) is as an H200 has it, which the
//! recording in `tests/texture` shows.

mod coordinate;
mod cube;
mod sample;
mod texel;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

pub(crate) use sample::{At, Fetch, fetch};
pub(crate) use texel::Texels;

/// What a channel of an image's element is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChannelFormat {
    /// Unsigned, 8 bits.
    U8,
    /// Unsigned, 16 bits.
    U16,
    /// Unsigned, 32 bits.
    U32,
    /// Signed, 8 bits.
    S8,
    /// Signed, 16 bits.
    S16,
    /// Signed, 32 bits.
    S32,
    /// Binary16.
    F16,
    /// Binary32.
    F32,
}

impl ChannelFormat {
    /// Bytes of a channel.
    pub fn size(self) -> u32 {
        match self {
            Self::U8 | Self::S8 => 1,
            Self::U16 | Self::S16 | Self::F16 => 2,
            Self::U32 | Self::S32 | Self::F32 => 4,
        }
    }

    /// Whether it holds an integer.
    pub fn is_integer(self) -> bool {
        !matches!(self, Self::F16 | Self::F32)
    }
}

/// Elements in rows, slices and layers of device memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Image {
    /// Device address of the first element.
    pub address: u64,
    pub format: ChannelFormat,
    /// Channels of an element: 1, 2 or 4.
    pub channels: u32,
    /// Elements of a row.
    pub width: u32,
    /// Rows; 0 if it is a line.
    pub height: u32,
    /// Slices; 0 if it is no volume.
    pub depth: u32,
    /// Layers, the faces of a cube counted each; 0 if it has none.
    pub layers: u32,
    /// Bytes from row to row.
    pub row_pitch: u64,
    /// Whether it is plain memory, which is read by the number of the element, and as zero beyond its end.
    pub linear: bool,
}

impl Image {
    /// Bytes of an element.
    pub fn element(&self) -> u32 {
        self.format.size() * self.channels
    }

    /// Slices or layers.
    pub fn slices(&self) -> u32 {
        self.depth.max(self.layers).max(1)
    }
}

/// What a coordinate outside an image means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AddressMode {
    /// The image repeats itself; only with normalised coordinates, else as `Clamp`.
    #[default]
    Wrap,
    /// The nearest element.
    Clamp,
    /// The image repeats itself, every second time mirrored; only with normalised coordinates, else as `Clamp`.
    Mirror,
    /// The border's colour.
    Border,
}

/// Whether the nearest element is read, or those around are weighted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Filter {
    /// The nearest.
    #[default]
    Point,
    /// Those around, by distance.
    Linear,
}

/// How a texture is read.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sampler {
    /// By dimension.
    pub address: [AddressMode; 3],
    /// Within a level.
    pub filter: Filter,
    /// Between levels.
    pub level_filter: Filter,
    /// Coordinates count from 0 to 1.
    pub normalized: bool,
    /// Integers of 8 and 16 bits are read as what they are, not as fractions.
    pub as_integer: bool,
    /// 8-bit fractions are decoded from sRGB.
    pub srgb: bool,
    /// Added to a level.
    pub level_bias: f32,
    /// Least level.
    pub min_level: f32,
    /// Greatest level.
    pub max_level: f32,
    /// Colour of the border.
    pub border: [f32; 4],
}

/// An image with its smaller versions, and how it is read.
#[derive(Debug, Clone, PartialEq)]
pub struct Texture {
    /// The image, then each half as wide as the one before.
    pub levels: Vec<Image>,
    /// How it is read.
    pub sampler: Sampler,
}

/// Handles of textures and surfaces: what a kernel names them by, the same in all modules.
#[derive(Debug)]
pub struct Textures {
    next: AtomicU64,
    textures: RwLock<HashMap<u64, Arc<Texture>>>,
    surfaces: RwLock<HashMap<u64, Arc<Image>>>,
}

impl Default for Textures {
    fn default() -> Self {
        Self { next: AtomicU64::new(1), textures: RwLock::default(), surfaces: RwLock::default() }
    }
}

impl Textures {
    /// A handle that nothing is bound to yet.
    pub fn reserve(&self) -> u64 {
        // Far from zero and from every address, so that a handle is not taken for something else.
        0x10_0000 + self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Binds a texture to a handle, in place of what was bound to it.
    pub fn bind(&self, handle: u64, texture: Texture) {
        self.textures.write().unwrap_or_else(PoisonError::into_inner).insert(handle, Arc::new(texture));
    }

    pub fn bind_surface(&self, handle: u64, image: Image) {
        self.surfaces.write().unwrap_or_else(PoisonError::into_inner).insert(handle, Arc::new(image));
    }

    /// Forgets what is bound to a handle. Whether something was.
    pub fn unbind(&self, handle: u64) -> bool {
        let texture = self.textures.write().unwrap_or_else(PoisonError::into_inner).remove(&handle);
        let surface = self.surfaces.write().unwrap_or_else(PoisonError::into_inner).remove(&handle);
        texture.is_some() || surface.is_some()
    }

    pub fn texture(&self, handle: u64) -> Option<Arc<Texture>> {
        self.textures.read().unwrap_or_else(PoisonError::into_inner).get(&handle).cloned()
    }

    pub fn surface(&self, handle: u64) -> Option<Arc<Image>> {
        self.surfaces.read().unwrap_or_else(PoisonError::into_inner).get(&handle).cloned()
    }
}
