//! Tensor maps: descriptors of tensors from which kernels copy boxes.
//!
//! [`virtual_gpu::tensor_map`] defines the 128 bytes and also reads them; only the device looks inside.

use std::ffi::c_void;

use virtual_gpu::tensor_map::{DataType, Im2col, Swizzle, TensorMap};

use crate::abi::{Answer, CUresult, CUtensorMap, In, Out};
use crate::objects::context::device_here;

/// Stores a map if it obeys the rules.
fn store(place: Out<CUtensorMap>, map: &TensorMap) -> Answer {
    map.validate().map_err(|broken| refuse(&broken))?;
    let bytes = map.to_bytes();
    let word = |index: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[8 * index + byte]));
    place.set(CUtensorMap { opaque: std::array::from_fn(word) })
}

/// The driver returns only "invalid value"; here the user is told which rule was broken.
fn refuse(why: &dyn std::fmt::Display) -> CUresult {
    eprintln!("warpsmith: tensor map: {why}");
    CUresult::INVALID_VALUE
}

/// The common part of both forms of a map.
struct Described {
    data_type: u32,
    rank: u32,
    address: *mut c_void,
    dims: In<u64>,
    strides: In<u64>,
    element_strides: In<u32>,
    /// Interleave, swizzle, L2 promotion and fill.
    modes: [u32; 4],
}

impl Described {
    /// The map without its box, of `fewest` to five dimensions.
    fn map(self, fewest: u32) -> Answer<TensorMap> {
        if device_here().chip().capability().major < 9 {
            return Err(CUresult::NOT_SUPPORTED);
        }
        let [interleave, swizzle, l2_promotion, fill] = self.modes;
        if !(fewest..=5).contains(&self.rank) || l2_promotion > 3 || fill > 1 || interleave > 2 {
            return Err(CUresult::INVALID_VALUE);
        }
        let (Some(data_type), Some(swizzle)) =
            (DataType::from_number(self.data_type), Swizzle::from_number(swizzle))
        else {
            return Err(refuse(&"this element type or swizzle is not supported by the virtual GPU"));
        };
        if interleave != 0 {
            return Err(refuse(&"interleaved layouts are not supported by the virtual GPU"));
        }
        let rank = self.rank as usize;
        let mut map = TensorMap {
            data_type,
            rank: self.rank,
            address: self.address as u64,
            dims: [1; 5],
            strides: [0; 4],
            box_dims: [1; 5],
            element_strides: [1; 5],
            swizzle,
            nan_fill: fill != 0,
            im2col: None,
        };
        map.dims[..rank].copy_from_slice(&self.dims.array(rank)?);
        map.strides[..rank - 1].copy_from_slice(&self.strides.array(rank - 1)?);
        map.element_strides[..rank].copy_from_slice(&self.element_strides.array(rank)?);
        Ok(map)
    }
}

pub fn cuTensorMapEncodeTiled(
    place: Out<CUtensorMap>,
    data_type: u32,
    rank: u32,
    address: *mut c_void,
    dims: In<u64>,
    strides: In<u64>,
    box_dims: In<u32>,
    element_strides: In<u32>,
    interleave: u32,
    swizzle: u32,
    l2_promotion: u32,
    fill: u32,
) -> Answer {
    place.required()?;
    let modes = [interleave, swizzle, l2_promotion, fill];
    let described = Described { data_type, rank, address, dims, strides, element_strides, modes };
    let mut map = described.map(1)?;
    map.box_dims[..rank as usize].copy_from_slice(&box_dims.array(rank as usize)?);
    store(place, &map)
}

pub fn cuTensorMapEncodeIm2col(
    place: Out<CUtensorMap>,
    data_type: u32,
    rank: u32,
    address: *mut c_void,
    dims: In<u64>,
    strides: In<u64>,
    lower: In<i32>,
    upper: In<i32>,
    channels: u32,
    pixels: u32,
    element_strides: In<u32>,
    interleave: u32,
    swizzle: u32,
    l2_promotion: u32,
    fill: u32,
) -> Answer {
    place.required()?;
    let modes = [interleave, swizzle, l2_promotion, fill];
    let described = Described { data_type, rank, address, dims, strides, element_strides, modes };
    let map = described.map(3)?;
    let rank_count = rank as usize;
    let corner = |corners: In<i32>| -> Answer<[i16; 3]> {
        let mut all = [0; 3];
        for (to, from) in all.iter_mut().zip(corners.array(rank_count - 2)?) {
            *to = i16::try_from(from).map_err(|_| CUresult::INVALID_VALUE)?;
        }
        Ok(all)
    };
    let im2col = Im2col { lower: corner(lower)?, upper: corner(upper)?, channels, pixels };
    let map = TensorMap { im2col: Some(im2col), ..map };
    store(place, &map)
}

pub fn cuTensorMapReplaceAddress(place: Out<CUtensorMap>, address: *mut c_void) -> Answer {
    let words = place.get()?.opaque;
    let bytes = std::array::from_fn(|index| words[index / 8].to_le_bytes()[index % 8]);
    let mut map = TensorMap::from_bytes(&bytes).ok_or(CUresult::INVALID_VALUE)?;
    map.address = address as u64;
    store(place, &map)
}
