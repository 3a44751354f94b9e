//! Texture and surface references: names in a module that the host binds images to. CUDA 12 dropped them from C++; PTX
//! and the driver still have them.

use std::sync::{Arc, Mutex, PoisonError};

use virtual_gpu::texture::{Image, Sampler, Texture};

use crate::abi::{Answer, CUDA_ARRAY_DESCRIPTOR, CUdeviceptr, CUmodule, CUresult, Handle, In, Out, Text};
use crate::device::array::{Array, MipmappedArray};
use crate::device::context::current;
use crate::device::registry::{Registry, new_handle};
use crate::device::texture::{self, NORMALIZED_COORDINATES, READ_AS_INTEGER};
use crate::device::{gpu, module};

static REFERENCES: Registry<Reference> = Registry::new(CUresult::INVALID_VALUE);

/// What is bound.
#[derive(Clone, Default)]
enum Bound {
    #[default]
    Nothing,
    Array(Handle),
    Levels(Handle),
    Line {
        address: CUdeviceptr,
        bytes: u64,
    },
    Plane {
        address: CUdeviceptr,
        sizes: [u64; 3],
    },
}

#[derive(Clone)]
struct State {
    bound: Bound,
    format: u32,
    channels: u32,
    modes: [u32; 3],
    filter: u32,
    flags: u32,
    anisotropy: u32,
    level_filter: u32,
    bias: f32,
    levels: [f32; 2],
    border: [f32; 4],
}

struct Reference {
    /// What kernels name it by; none for references that belong to no module.
    number: Option<u64>,
    module: CUmodule,
    name: String,
    surface: bool,
    state: Mutex<State>,
}

impl Reference {
    fn new(number: Option<u64>, module: CUmodule, name: &str, surface: bool) -> Self {
        let state = State {
            bound: Bound::Nothing,
            format: 0x20,
            channels: 1,
            modes: [1; 3],
            filter: 0,
            flags: 0,
            anisotropy: 0,
            level_filter: 0,
            bias: 0.0,
            levels: [0.0; 2],
            border: [0.0; 4],
        };
        Self { number, module, name: name.to_owned(), surface, state: Mutex::new(state) }
    }

    fn state(&self) -> State {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes the state, and what kernels see of it, unless the change cannot be.
    fn change(&self, change: impl FnOnce(&mut State)) -> Answer {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changed = state.clone();
        change(&mut changed);
        self.bind(&changed)?;
        *state = changed;
        Ok(())
    }

    fn bind(&self, state: &State) -> Answer {
        let Some(number) = self.number else { return Ok(()) };
        if self.surface {
            if let Bound::Array(array) = state.bound {
                gpu().textures().bind_surface(number, texture::surface(array)?);
            }
            return Ok(());
        }
        let levels: Vec<Image> = match &state.bound {
            Bound::Nothing => return Ok(()),
            Bound::Array(array) => vec![Array::of(*array)?.image()?],
            Bound::Levels(array) => MipmappedArray::of(*array)?.images()?,
            Bound::Line { address, bytes } => {
                vec![texture::line(*address, state.format, state.channels, *bytes)?]
            }
            Bound::Plane { address, sizes } => {
                vec![texture::plane(*address, state.format, state.channels, *sizes)?]
            }
        };
        let [x, y, z] = state.modes;
        let sampler = Sampler {
            address: [texture::address_mode(x)?, texture::address_mode(y)?, texture::address_mode(z)?],
            filter: texture::filter(state.filter)?,
            level_filter: texture::filter(state.level_filter)?,
            normalized: state.flags & NORMALIZED_COORDINATES != 0,
            as_integer: state.flags & READ_AS_INTEGER != 0,
            srgb: state.flags & 0x10 != 0,
            level_bias: state.bias,
            min_level: state.levels[0],
            max_level: state.levels[1],
            border: state.border,
        };
        gpu().textures().bind(number, Texture { levels, sampler });
        Ok(())
    }
}

fn of_module(place: Out<Handle>, module: CUmodule, name: Text, surface: bool) -> Answer {
    place.required()?;
    current()?;
    let name = name.get()?;
    let number = module::get(module)?.program.reference(&name).ok_or(CUresult::NOT_FOUND)?;
    let same = |r: &&Arc<Reference>| r.module == module && r.name == name && r.surface == surface;
    // The same handle each time, which is the number that nothing else has.
    let handle = number as Handle;
    if REFERENCES.all().iter().find(same).is_none() {
        REFERENCES.insert_as(handle, Reference::new(Some(number), module, &name, surface));
    }
    place.set(handle)
}

pub fn cuModuleGetTexRef(place: Out<Handle>, module: CUmodule, name: Text) -> Answer {
    of_module(place, module, name, false)
}

pub fn cuModuleGetSurfRef(place: Out<Handle>, module: CUmodule, name: Text) -> Answer {
    of_module(place, module, name, true)
}

/// Fails for a handle that is no reference's.
pub fn known(reference: Handle) -> Answer {
    REFERENCES.get(reference).map(|_| ())
}

pub fn cuTexRefCreate(place: Out<Handle>) -> Answer {
    place.required()?;
    let handle = new_handle();
    REFERENCES.insert_as(handle, Reference::new(None, 0, "", false));
    place.set(handle)
}

pub fn cuTexRefDestroy(reference: Handle) -> Answer {
    REFERENCES.remove(reference).map(|_| ())
}

pub fn cuTexRefSetArray(reference: Handle, array: Handle, _flags: u32) -> Answer {
    let (format, channels) = Array::of(array)?.format();
    REFERENCES.get(reference)?.change(|state| {
        state.bound = Bound::Array(array);
        (state.format, state.channels) = (format, channels);
    })
}

pub fn cuTexRefSetMipmappedArray(reference: Handle, array: Handle, _flags: u32) -> Answer {
    REFERENCES.get(reference)?.change(|state| state.bound = Bound::Levels(array))
}

pub fn cuTexRefSetAddress_v2(
    offset: Out<usize>,
    reference: Handle,
    address: CUdeviceptr,
    bytes: usize,
) -> Answer {
    let state = REFERENCES.get(reference)?;
    // Memory that does not start where textures may is read from the place before; the kernel adds the rest.
    let start = address / texture::ALIGNMENT * texture::ALIGNMENT;
    if offset.is_null() && start != address {
        return Err(CUresult::INVALID_VALUE);
    }
    let bytes = bytes as u64 + (address - start);
    state.change(|state| state.bound = Bound::Line { address: start, bytes })?;
    offset.set_if_given((address - start) as usize);
    Ok(())
}

pub fn cuTexRefSetAddress2D_v3(
    reference: Handle,
    descriptor: In<CUDA_ARRAY_DESCRIPTOR>,
    address: CUdeviceptr,
    pitch: usize,
) -> Answer {
    let d = descriptor.get()?;
    REFERENCES.get(reference)?.change(|state| {
        state.bound = Bound::Plane { address, sizes: [d.Width as u64, d.Height as u64, pitch as u64] };
        (state.format, state.channels) = (d.Format, d.NumChannels);
    })
}

pub fn cuTexRefSetAddress2D_v2(
    reference: Handle,
    descriptor: In<CUDA_ARRAY_DESCRIPTOR>,
    address: CUdeviceptr,
    pitch: usize,
) -> Answer {
    cuTexRefSetAddress2D_v3(reference, descriptor, address, pitch)
}

pub fn cuTexRefSetFormat(reference: Handle, format: u32, channels: i32) -> Answer {
    texture::channel_format(format)?;
    if !matches!(channels, 1 | 2 | 4) {
        return Err(CUresult::INVALID_VALUE);
    }
    REFERENCES.get(reference)?.change(|state| (state.format, state.channels) = (format, channels as u32))
}

pub fn cuTexRefSetAddressMode(reference: Handle, dimension: i32, mode: u32) -> Answer {
    let dimension = usize::try_from(dimension).ok().filter(|&d| d < 3).ok_or(CUresult::INVALID_VALUE)?;
    texture::address_mode(mode)?;
    REFERENCES.get(reference)?.change(|state| state.modes[dimension] = mode)
}

pub fn cuTexRefSetFilterMode(reference: Handle, filter: u32) -> Answer {
    texture::filter(filter)?;
    REFERENCES.get(reference)?.change(|state| state.filter = filter)
}

pub fn cuTexRefSetFlags(reference: Handle, flags: u32) -> Answer {
    REFERENCES.get(reference)?.change(|state| state.flags = flags)
}

pub fn cuTexRefSetBorderColor(reference: Handle, colour: In<f32>) -> Answer {
    let colour = colour.array(4)?;
    REFERENCES.get(reference)?.change(|state| state.border.copy_from_slice(&colour))
}

pub fn cuTexRefSetMaxAnisotropy(reference: Handle, anisotropy: u32) -> Answer {
    REFERENCES.get(reference)?.change(|state| state.anisotropy = anisotropy)
}

pub fn cuTexRefSetMipmapFilterMode(reference: Handle, filter: u32) -> Answer {
    texture::filter(filter)?;
    REFERENCES.get(reference)?.change(|state| state.level_filter = filter)
}

pub fn cuTexRefSetMipmapLevelBias(reference: Handle, bias: f32) -> Answer {
    REFERENCES.get(reference)?.change(|state| state.bias = bias)
}

pub fn cuTexRefSetMipmapLevelClamp(reference: Handle, least: f32, greatest: f32) -> Answer {
    REFERENCES.get(reference)?.change(|state| state.levels = [least, greatest])
}

pub fn cuTexRefGetAddress_v2(place: Out<CUdeviceptr>, reference: Handle) -> Answer {
    match REFERENCES.get(reference)?.state().bound {
        Bound::Line { address, .. } | Bound::Plane { address, .. } => place.set(address),
        _ => Err(CUresult::INVALID_VALUE),
    }
}

pub fn cuTexRefGetArray(place: Out<Handle>, reference: Handle) -> Answer {
    match REFERENCES.get(reference)?.state().bound {
        Bound::Array(array) => place.set(array),
        _ => Err(CUresult::INVALID_VALUE),
    }
}

pub fn cuTexRefGetMipmappedArray(place: Out<Handle>, reference: Handle) -> Answer {
    match REFERENCES.get(reference)?.state().bound {
        Bound::Levels(array) => place.set(array),
        _ => Err(CUresult::INVALID_VALUE),
    }
}

pub fn cuTexRefGetFormat(format: Out<u32>, channels: Out<i32>, reference: Handle) -> Answer {
    let state = REFERENCES.get(reference)?.state();
    format.set_if_given(state.format);
    channels.set_if_given(state.channels as i32);
    Ok(())
}

pub fn cuTexRefGetAddressMode(place: Out<u32>, reference: Handle, dimension: i32) -> Answer {
    let modes = REFERENCES.get(reference)?.state().modes;
    let mode = usize::try_from(dimension).ok().and_then(|d| modes.get(d).copied());
    place.set(mode.ok_or(CUresult::INVALID_VALUE)?)
}

pub fn cuTexRefGetFilterMode(place: Out<u32>, reference: Handle) -> Answer {
    place.set(REFERENCES.get(reference)?.state().filter)
}

pub fn cuTexRefGetFlags(place: Out<u32>, reference: Handle) -> Answer {
    place.set(REFERENCES.get(reference)?.state().flags)
}

pub fn cuTexRefGetBorderColor(place: Out<f32>, reference: Handle) -> Answer {
    place.required()?;
    for (index, value) in REFERENCES.get(reference)?.state().border.into_iter().enumerate() {
        place.set_at(index, value);
    }
    Ok(())
}

pub fn cuTexRefGetMaxAnisotropy(place: Out<i32>, reference: Handle) -> Answer {
    place.set(REFERENCES.get(reference)?.state().anisotropy as i32)
}

pub fn cuTexRefGetMipmapFilterMode(place: Out<u32>, reference: Handle) -> Answer {
    place.set(REFERENCES.get(reference)?.state().level_filter)
}

pub fn cuTexRefGetMipmapLevelBias(place: Out<f32>, reference: Handle) -> Answer {
    place.set(REFERENCES.get(reference)?.state().bias)
}

pub fn cuTexRefGetMipmapLevelClamp(least: Out<f32>, greatest: Out<f32>, reference: Handle) -> Answer {
    let [from, to] = REFERENCES.get(reference)?.state().levels;
    least.set_if_given(from);
    greatest.set_if_given(to);
    Ok(())
}

pub fn cuSurfRefSetArray(reference: Handle, array: Handle, flags: u32) -> Answer {
    if flags != 0 {
        return Err(CUresult::INVALID_VALUE);
    }
    REFERENCES.get(reference)?.change(|state| state.bound = Bound::Array(array))
}

pub fn cuSurfRefGetArray(place: Out<Handle>, reference: Handle) -> Answer {
    cuTexRefGetArray(place, reference)
}

/// Forgets the references of a module that is unloaded.
pub fn forget_module(module: CUmodule) {
    REFERENCES.remove_where(|reference| reference.number.is_some() && reference.module == module);
}
