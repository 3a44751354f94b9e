//! Texture and surface objects: images of arrays or of plain memory, and how they are read.

use virtual_gpu::texture::{AddressMode, ChannelFormat, Filter, Image, Sampler, Texture};

use crate::abi::{
    Answer, CUDA_RESOURCE_DESC, CUDA_RESOURCE_VIEW_DESC, CUDA_TEXTURE_DESC, CUaddress_mode, CUdeviceptr,
    CUfilter_mode, CUresourcetype, CUresult, Handle, In, Out,
};
use crate::foreign::array::{Array, MipmappedArray, channel_format};
use crate::objects::call::unsupported;
use crate::objects::context::current;
use crate::objects::device::first;
use crate::objects::registry::Registry;

/// `CU_TRSF_…`
const READ_AS_INTEGER: u32 = 1;
const NORMALIZED_COORDINATES: u32 = 2;
const SRGB: u32 = 0x10;
/// And: no trilinear optimisation, seamless cube maps.
const KNOWN_FLAGS: u32 = READ_AS_INTEGER | NORMALIZED_COORDINATES | SRGB | 0x20 | 0x40;

/// Alignment of linear memory, `CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT`.
const ALIGNMENT: u64 = 512;
/// Alignment of rows of pitched memory, `CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT`.
const PITCH_ALIGNMENT: u64 = 32;

/// The descriptors of an object, for queries. Objects are identified by the number that kernels use.
struct Object {
    resource: CUDA_RESOURCE_DESC,
    sampler: Option<CUDA_TEXTURE_DESC>,
    view: Option<CUDA_RESOURCE_VIEW_DESC>,
}

static TEXTURES: Registry<Object> = Registry::new(CUresult::INVALID_VALUE);
static SURFACES: Registry<Object> = Registry::new(CUresult::INVALID_VALUE);

fn address_mode(number: u32) -> Answer<AddressMode> {
    Ok(match CUaddress_mode::try_from(number)? {
        CUaddress_mode::WRAP => AddressMode::Wrap,
        CUaddress_mode::CLAMP => AddressMode::Clamp,
        CUaddress_mode::MIRROR => AddressMode::Mirror,
        CUaddress_mode::BORDER => AddressMode::Border,
    })
}

fn filter(number: u32) -> Answer<Filter> {
    Ok(match CUfilter_mode::try_from(number)? {
        CUfilter_mode::POINT => Filter::Point,
        CUfilter_mode::LINEAR => Filter::Linear,
    })
}

fn line(address: CUdeviceptr, format: u32, channels: u32, bytes: u64) -> Answer<Image> {
    let format = channel_format(format)?;
    if !address.is_multiple_of(ALIGNMENT) || address == 0 || !matches!(channels, 1 | 2 | 4) {
        return Err(CUresult::INVALID_VALUE);
    }
    let width = u32::try_from(bytes / u64::from(format.size() * channels));
    let width = width.ok().filter(|&width| width > 0 && width <= 1 << 28).ok_or(CUresult::INVALID_VALUE)?;
    Ok(Image {
        address,
        format,
        channels,
        width,
        height: 0,
        depth: 0,
        layers: 0,
        row_pitch: bytes,
        linear: true,
    })
}

fn plane(
    address: CUdeviceptr,
    format: u32,
    channels: u32,
    [width, height, pitch]: [u64; 3],
) -> Answer<Image> {
    let format = channel_format(format)?;
    let element = u64::from(format.size() * channels);
    let sizes = (1..=131_072).contains(&width) && (1..=65_000).contains(&height);
    let fits = pitch.is_multiple_of(PITCH_ALIGNMENT) && pitch >= width * element && pitch < 1 << 21;
    if !address.is_multiple_of(ALIGNMENT) || address == 0 || !matches!(channels, 1 | 2 | 4) || !sizes || !fits
    {
        return Err(CUresult::INVALID_VALUE);
    }
    let (width, height) = (width as u32, height as u32);
    Ok(Image {
        address,
        format,
        channels,
        width,
        height,
        depth: 0,
        layers: 0,
        row_pitch: pitch,
        linear: false,
    })
}

fn levels(resource: &CUDA_RESOURCE_DESC) -> Answer<Vec<Image>> {
    let words = &resource.res;
    // Format and channels share a word.
    let (format, channels) = (words[1] as u32, (words[1] >> 32) as u32);
    match CUresourcetype::try_from(resource.resType)? {
        CUresourcetype::ARRAY => Ok(vec![Array::of(words[0] as Handle)?.image()?]),
        CUresourcetype::MIPMAPPED_ARRAY => MipmappedArray::of(words[0] as Handle)?.images(),
        CUresourcetype::LINEAR => Ok(vec![line(words[0], format, channels, words[2])?]),
        CUresourcetype::PITCH2D => {
            Ok(vec![plane(words[0], format, channels, [words[2], words[3], words[4]])?])
        }
    }
}

fn sampler(d: &CUDA_TEXTURE_DESC) -> Answer<Sampler> {
    if d.flags & !KNOWN_FLAGS != 0 {
        return Err(CUresult::INVALID_VALUE);
    }
    let [x, y, z] = d.addressMode;
    Ok(Sampler {
        address: [address_mode(x)?, address_mode(y)?, address_mode(z)?],
        filter: filter(d.filterMode)?,
        level_filter: filter(d.mipmapFilterMode)?,
        normalized: d.flags & NORMALIZED_COORDINATES != 0,
        as_integer: d.flags & READ_AS_INTEGER != 0,
        srgb: d.flags & SRGB != 0,
        level_bias: d.mipmapLevelBias,
        min_level: d.minMipmapLevelClamp,
        max_level: d.maxMipmapLevelClamp,
        border: d.borderColor,
    })
}

/// `CUresourceViewFormat`: the format of a channel, and how many there are.
fn view_format(number: u32) -> Answer<(ChannelFormat, u32)> {
    use ChannelFormat::{F16, F32, S8, S16, S32, U8, U16, U32};
    const FIRST_COMPRESSED: u32 = 25;
    const KNOWN: u32 = 38;
    match number {
        0 | KNOWN.. => Err(CUresult::INVALID_VALUE),
        FIRST_COMPRESSED.. => {
            unsupported("cuTexObjectCreate with a block-compressed format of a resource view")
        }
        // Each format with one, two and four channels.
        _ => {
            let (format, channels) = ((number - 1) / 3, [1, 2, 4][(number - 1) as usize % 3]);
            Ok(([U8, S8, U16, S16, U32, S32, F16, F32][format as usize], channels))
        }
    }
}

/// The part of an array selected by a view: levels and layers, and the format that its elements are read in. An element keeps
/// its bytes, and the array its extents. The answers are an H200's (CUDA 13).
fn viewed(levels: Vec<Image>, view: &CUDA_RESOURCE_VIEW_DESC) -> Answer<Vec<Image>> {
    let (format, channels) = view_format(view.format)?;
    let whole = levels.first().ok_or(CUresult::INVALID_VALUE)?;
    let extents = [whole.width, whole.height, whole.depth.max(whole.layers)].map(|length| length as usize);
    let same_size = format.size() * channels == whole.format.size() * whole.channels;
    if !same_size || extents != [view.width, view.height, view.depth] {
        return Err(CUresult::INVALID_VALUE);
    }
    let chosen = view.firstMipmapLevel as usize..=view.lastMipmapLevel as usize;
    let Some(levels) = levels.get(chosen) else { return Err(CUresult::INVALID_VALUE) };
    let part = |image: &Image| {
        let mut image = Image { format, channels, ..*image };
        if image.layers == 0 && (view.firstLayer, view.lastLayer) != (0, 0) {
            return Err(CUresult::INVALID_VALUE);
        }
        if image.layers > 0 {
            if view.firstLayer > view.lastLayer || view.lastLayer >= image.layers {
                return Err(CUresult::INVALID_VALUE);
            }
            let layer = u64::from(image.height.max(1)) * image.row_pitch;
            image.address += u64::from(view.firstLayer) * layer;
            image.layers = view.lastLayer - view.firstLayer + 1;
        }
        Ok(image)
    };
    levels.iter().map(part).collect()
}

pub fn cuTexObjectCreate(
    place: Out<u64>,
    resource: In<CUDA_RESOURCE_DESC>,
    texture: In<CUDA_TEXTURE_DESC>,
    view: In<CUDA_RESOURCE_VIEW_DESC>,
) -> Answer {
    place.required()?;
    current()?;
    let (resource, description) = (resource.get()?, texture.get()?);
    let view = if view.is_null() { None } else { Some(view.get()?) };
    let mut levels = levels(&resource)?;
    let is_array =
        matches!(resource.resType.try_into()?, CUresourcetype::ARRAY | CUresourcetype::MIPMAPPED_ARRAY);
    // Plain memory has no views: they are ignored, as an H200's driver does.
    if let Some(view) = view.as_ref().filter(|_| is_array) {
        levels = viewed(levels, view)?;
    }
    let sampler = sampler(&description)?;
    let handle = first().gpu.textures().reserve();
    first().gpu.textures().bind(handle, Texture { levels, sampler });
    TEXTURES.insert_as(handle as Handle, Object { resource, sampler: Some(description), view });
    place.set(handle)
}

pub fn cuTexObjectDestroy(object: u64) -> Answer {
    TEXTURES.remove(object as Handle)?;
    first().gpu.textures().unbind(object);
    Ok(())
}

pub fn cuTexObjectGetResourceDesc(place: Out<CUDA_RESOURCE_DESC>, object: u64) -> Answer {
    place.set(TEXTURES.get(object as Handle)?.resource)
}

pub fn cuTexObjectGetTextureDesc(place: Out<CUDA_TEXTURE_DESC>, object: u64) -> Answer {
    place.set(TEXTURES.get(object as Handle)?.sampler.ok_or(CUresult::INVALID_VALUE)?)
}

pub fn cuTexObjectGetResourceViewDesc(place: Out<CUDA_RESOURCE_VIEW_DESC>, object: u64) -> Answer {
    place.set(TEXTURES.get(object as Handle)?.view.ok_or(CUresult::INVALID_VALUE)?)
}

/// A surface is an array created as one.
fn surface(array: Handle) -> Answer<Image> {
    let array = Array::of(array)?;
    if !array.is_surface() {
        return Err(CUresult::INVALID_VALUE);
    }
    array.image()
}

pub fn cuSurfObjectCreate(place: Out<u64>, resource: In<CUDA_RESOURCE_DESC>) -> Answer {
    place.required()?;
    current()?;
    let resource = resource.get()?;
    if resource.resType != CUresourcetype::ARRAY as u32 {
        return Err(CUresult::INVALID_VALUE);
    }
    let image = surface(resource.res[0] as Handle)?;
    let handle = first().gpu.textures().reserve();
    first().gpu.textures().bind_surface(handle, image);
    SURFACES.insert_as(handle as Handle, Object { resource, sampler: None, view: None });
    place.set(handle)
}

pub fn cuSurfObjectDestroy(object: u64) -> Answer {
    SURFACES.remove(object as Handle)?;
    first().gpu.textures().unbind(object);
    Ok(())
}

pub fn cuSurfObjectGetResourceDesc(place: Out<CUDA_RESOURCE_DESC>, object: u64) -> Answer {
    place.set(SURFACES.get(object as Handle)?.resource)
}
