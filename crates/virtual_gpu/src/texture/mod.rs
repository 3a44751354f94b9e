//! Textures and surfaces: images in device memory, how they are read, and the handles by which kernels name them.
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

/// The type of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChannelFormat {
    U8,
    U16,
    U32,
    S8,
    S16,
    S32,
    F16,
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
    /// Channels per element: 1, 2 or 4.
    pub channels: u32,
    /// Elements of a row.
    pub width: u32,
    /// Rows; 0 for a one-dimensional image.
    pub height: u32,
    /// Slices; 0 unless it is a volume.
    pub depth: u32,
    /// Layers, counting each face of a cube; 0 if it has none.
    pub layers: u32,
    /// Bytes from row to row.
    pub row_pitch: u64,
    /// Whether it is plain memory, read by element number, and as zero beyond its end.
    pub linear: bool,
}

impl Image {
    /// Bytes per element.
    pub fn element(&self) -> u32 {
        self.format.size() * self.channels
    }

    /// Slices or layers.
    pub fn slices(&self) -> u32 {
        self.depth.max(self.layers).max(1)
    }
}

/// The meaning of a coordinate outside an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AddressMode {
    /// The image repeats; only with normalised coordinates, else like `Clamp`.
    #[default]
    Wrap,
    /// The nearest element.
    Clamp,
    /// The image repeats, mirrored every second time; only with normalised coordinates, else like `Clamp`.
    Mirror,
    /// The border's colour.
    Border,
}

/// Whether to read the nearest element, or a weighted average of those around.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Filter {
    #[default]
    Point,
    /// Those around, weighted by distance.
    Linear,
}

/// How to read a texture.
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
    /// 8- and 16-bit integers are read as integers, not as fractions.
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

/// An image with its mip levels, and how to read it.
#[derive(Debug, Clone, PartialEq)]
pub struct Texture {
    /// The image, then each level half as wide as the previous one.
    pub levels: Vec<Image>,
    /// How it is read.
    pub sampler: Sampler,
}

/// Handles of textures and surfaces, by which kernels name them; the same in all modules.
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
        // Far from zero and from every address, so that a handle is not mistaken for something else.
        0x10_0000 + self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Binds a texture to a handle, replacing any other.
    pub fn bind(&self, handle: u64, texture: Texture) {
        self.textures.write().unwrap_or_else(PoisonError::into_inner).insert(handle, Arc::new(texture));
    }

    pub fn bind_surface(&self, handle: u64, image: Image) {
        self.surfaces.write().unwrap_or_else(PoisonError::into_inner).insert(handle, Arc::new(image));
    }

    /// Removes what is bound to a handle. Returns whether there was anything.
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
