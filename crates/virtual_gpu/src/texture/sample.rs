//! One lane's fetch: the elements at its coordinates, filtered, as the bits of four results.
//!
//! Linear filtering is as measured on an H200. Weights are 256ths that add up to 256: of a plane's four, the product of
//! both fractions is rounded and the others are what is left. Floating-point elements are cut to four bits more than
//! they have, counted from the largest that has a weight; the sum is rounded once, halves away from zero. Fractions of 8
//! and 16 bits are summed as 16-bit integers, rounded once. A volume's eight weights, and those between levels, may
//! differ from the hardware's by one 256th.

use super::coordinate::{Dimension, Pair};
use super::texel::{Texels, fraction, from_srgb};
use super::{ChannelFormat, Filter, Sampler, cube};
use crate::alu::half;

/// A lane's position in a texture.
#[derive(Debug, Clone, Copy)]
pub(crate) enum At {
    Float([f32; 3]),
    /// Elements, never normalised.
    Integer([i32; 3]),
}

/// A fetch, apart from the coordinates.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fetch {
    /// Number of coordinates: 1 to 3.
    pub dimensions: u32,
    /// Offset in elements of the level, from the coordinates to what is read.
    pub offset: [i32; 3],
    /// The coordinates are a direction; the image has six faces.
    pub cube: bool,
    /// For an image with layers, or an array of cubes.
    pub layer: u32,
    /// The level; that of the image itself is 0.
    pub level: f32,
    /// Return the four elements that a linear filter would weight, of one channel.
    pub gather: Option<usize>,
}

/// Reads a texture.
pub(crate) fn fetch(levels: &[Texels<'_>], sampler: &Sampler, fetch: Fetch, at: At) -> [u32; 4] {
    let Some(first) = levels.first() else { return [0; 4] };
    let raw = first.image.format.is_integer() && (sampler.as_integer || first.image.format.size() == 4);
    let level = if levels.len() > 1 { level(levels.len(), sampler, fetch.level) } else { (0, 0) };
    let lane = Lane { sampler, fetch, at, raw };
    let (below, weight) = level;
    if weight == 0 || raw {
        return lane.level(&levels[below]);
    }
    let (a, b) = (lane.level(&levels[below]), lane.level(&levels[below + 1]));
    std::array::from_fn(|i| {
        let values = [f32::from_bits(a[i]).into(), f32::from_bits(b[i]).into()];
        (sum(&values, &[256 - weight, weight], 24) as f32).to_bits()
    })
}

/// The level and the weight of the next, in 256ths.
fn level(levels: usize, sampler: &Sampler, asked: f32) -> (usize, i64) {
    let last = (levels - 1) as f64;
    let asked = if asked.is_nan() { 0.0 } else { f64::from(asked) + f64::from(sampler.level_bias) };
    let level = asked.max(sampler.min_level.into()).min(sampler.max_level.into()).clamp(0.0, last);
    match sampler.level_filter {
        Filter::Point => (((level + 0.5).floor() as usize).min(levels - 1), 0),
        Filter::Linear => {
            let fixed = (level * 256.0).floor() as i64;
            ((fixed >> 8) as usize, fixed & 255)
        }
    }
}

struct Lane<'a> {
    sampler: &'a Sampler,
    fetch: Fetch,
    at: At,
    /// Results are the elements' raw bits.
    raw: bool,
}

impl Lane<'_> {
    fn level(&self, texels: &Texels<'_>) -> [u32; 4] {
        let image = &texels.image;
        if image.linear {
            return self.linear(texels);
        }
        // Like the hardware: a negative layer is a large one, and large ones mean the last.
        let mut slice = self.fetch.layer;
        let mut at = self.at;
        if self.fetch.cube
            && let At::Float(direction) = at
        {
            let (face, [s, t]) = cube::face(direction);
            slice = slice.saturating_mul(6).saturating_add(face);
            at = At::Float([s, t, 0.0]);
            if image.layers >= 6 && slice >= image.layers {
                slice = image.layers - 6 + face;
            }
        }
        let slice = slice.min(image.layers.saturating_sub(1));
        let lengths = [image.width, image.height.max(1), image.depth.max(1)];
        let dimension = |i: usize| Dimension {
            length: lengths[i],
            mode: self.sampler.address[i],
            normalized: self.sampler.normalized,
        };
        let used = if self.fetch.cube { 2 } else { self.fetch.dimensions as usize };
        let read = |[x, y, z]: [Option<u32>; 3]| match (x, y, z) {
            (Some(x), Some(y), Some(z)) => Some(texels.bits(x, y, if image.layers > 0 { slice } else { z })),
            _ => None,
        };
        let offset = |i: usize| i64::from(self.fetch.offset[i]);
        let mut place = [Some(0); 3];
        match at {
            At::Integer(at) => {
                // Outside an H100 reads zero, whatever the mode and the border are, and so it does of layers that are none.
                let index = |i: usize| i64::from(at[i]) + offset(i);
                let inside = (0..used).all(|i| (0..i64::from(lengths[i])).contains(&index(i)));
                if !inside || (image.layers > 0 && self.fetch.layer >= image.layers) {
                    return [0; 4];
                }
                for i in 0..used {
                    place[i] = Some(index(i) as u32);
                }
            }
            At::Float(at)
                if self.fetch.gather.is_some() || (!self.raw && self.sampler.filter == Filter::Linear) =>
            {
                let none = Pair { first: Some(0), second: Some(0), weight: 0 };
                let pairs: [Pair; 3] =
                    std::array::from_fn(
                        |i| if i < used { dimension(i).pair(at[i], offset(i)) } else { none },
                    );
                let corner = |corner: usize| {
                    read(std::array::from_fn(|i| match corner >> i & 1 {
                        0 => pairs[i].first,
                        _ => pairs[i].second,
                    }))
                };
                if let Some(channel) = self.fetch.gather {
                    // Counter-clockwise from the lower left.
                    return [2, 3, 1, 0].map(|at| self.point(image.format, corner(at))[channel]);
                }
                let weights = weights(std::array::from_fn(|i| pairs[i].weight));
                let corners: [_; 8] =
                    std::array::from_fn(|at| if weights[at] == 0 { Some([0; 4]) } else { corner(at) });
                return std::array::from_fn(|channel| {
                    if channel >= image.channels as usize {
                        return self.missing(channel);
                    }
                    self.weighted(image.format, channel, &corners, &weights)
                });
            }
            At::Float(at) => {
                for i in 0..used {
                    place[i] = dimension(i).nearest(at[i], offset(i));
                }
            }
        }
        let bits = self.point(image.format, read(place));
        std::array::from_fn(|channel| {
            if channel >= image.channels as usize { self.missing(channel) } else { bits[channel] }
        })
    }

    /// Plain memory: elements by number, zero outside.
    fn linear(&self, texels: &Texels<'_>) -> [u32; 4] {
        let index = match self.at {
            At::Integer([x, ..]) => i64::from(x),
            At::Float([x, ..]) => x.floor() as i64,
        };
        match u32::try_from(index + i64::from(self.fetch.offset[0])) {
            Ok(x) if x < texels.image.width => self.point(texels.image.format, Some(texels.bits(x, 0, 0))),
            _ => [0; 4],
        }
    }

    /// The value of a channel that the image lacks.
    fn missing(&self, _channel: usize) -> u32 {
        0
    }

    /// An element as results; `None` is the border.
    fn point(&self, format: ChannelFormat, bits: Option<[u32; 4]>) -> [u32; 4] {
        let Some(bits) = bits else {
            return match self.raw {
                // As on an H200: the colour's bits if they fit, else nothing.
                true if format.size() == 4 => self.sampler.border.map(f32::to_bits),
                true => [0; 4],
                false => self.sampler.border.map(|colour| (border(format, colour) as f32).to_bits()),
            };
        };
        if self.raw {
            return bits;
        }
        std::array::from_fn(|channel| match format {
            // NaN keeps its bits.
            ChannelFormat::F32 => bits[channel],
            _ => (self.value(format, channel, bits[channel]) as f32).to_bits(),
        })
    }

    fn value(&self, format: ChannelFormat, channel: usize, bits: u32) -> f64 {
        if self.sampler.srgb && format == ChannelFormat::U8 && channel < 3 {
            return from_srgb(bits);
        }
        fraction(format, bits)
    }

    /// The weighted sum of a channel.
    fn weighted(
        &self,
        format: ChannelFormat,
        channel: usize,
        corners: &[Option<[u32; 4]>; 8],
        weights: &[i64; 8],
    ) -> u32 {
        let border = border(format, self.sampler.border[channel]);
        // The largest value of the 16-bit integers in which fractions are summed.
        let (integers, scale) = match format {
            ChannelFormat::U8 if self.sampler.srgb => (false, 1.0),
            ChannelFormat::U8 | ChannelFormat::U16 => (true, 65535.0),
            ChannelFormat::S8 | ChannelFormat::S16 => (true, 32767.0),
            _ => (false, 1.0),
        };
        if integers {
            let total: i64 = corners
                .iter()
                .zip(weights)
                .map(|(corner, weight)| {
                    // In eighths: 127 does not divide 32767.
                    let value = match (corner, format) {
                        (None, ChannelFormat::S8) => {
                            ((border * 127.0).round() as i64 * 32767 * 8).div_euclid(127)
                        }
                        (None, _) => (border * scale).round() as i64 * 8,
                        (Some(bits), ChannelFormat::U8) => i64::from(bits[channel]) * 257 * 8,
                        (Some(bits), ChannelFormat::S8) => {
                            (i64::from(bits[channel] as i32) * 32767 * 8).div_euclid(127)
                        }
                        (Some(bits), ChannelFormat::S16) => i64::from(bits[channel] as i32).max(-32767) * 8,
                        (Some(bits), _) => i64::from(bits[channel]) * 8,
                    };
                    value * weight
                })
                .sum();
            let rounded = ((total + 1024) >> 11).max(-32767);
            return ((rounded as f64 / scale) as f32).to_bits();
        }
        let values: [f64; 8] = std::array::from_fn(|i| match corners[i] {
            Some(bits) => self.value(format, channel, bits[channel]),
            None => border,
        });
        let bits = if format == ChannelFormat::F16 { 11 } else { 24 };
        (sum(&values, weights, bits) as f32).to_bits()
    }
}

/// The border's value for a channel, in this format.
fn border(format: ChannelFormat, colour: f32) -> f64 {
    let colour = f64::from(colour);
    let fraction = |least: f64, steps: f64| (colour.clamp(least, 1.0) * steps + 0.5).floor() / steps;
    match format {
        ChannelFormat::U8 => fraction(0.0, 255.0),
        ChannelFormat::U16 => fraction(0.0, 65535.0),
        ChannelFormat::S8 => fraction(-1.0, 127.0),
        ChannelFormat::S16 => fraction(-1.0, 32767.0),
        ChannelFormat::F16 => half::to_f64::<half::F16>(half::from_f64::<half::F16>(colour)),
        _ => colour,
    }
}

/// The weights of the corners of a line, plane or volume, from the second neighbour's weight in each dimension.
fn weights([x, y, z]: [i64; 3]) -> [i64; 8] {
    let both = (x * y + 128) >> 8;
    let plane = [256 - x - y + both, x - both, y - both, both];
    std::array::from_fn(|corner| {
        let weight = plane[corner & 3];
        let behind = (weight * z + 128) >> 8;
        if corner < 4 { weight - behind } else { behind }
    })
}

/// The sum of values with weights in 256ths, rounded once to a format with `bits` bits.
fn sum(values: &[f64], weights: &[i64], bits: i32) -> f64 {
    let weighted = || values.iter().zip(weights).filter(|&(_, &weight)| weight != 0);
    if weighted().any(|(value, _)| !value.is_finite()) {
        return weighted().map(|(value, &weight)| value * weight as f64 / 256.0).sum();
    }
    let exponent =
        weighted().filter(|(value, _)| **value != 0.0).map(|(value, _)| libm::frexp(*value).1).max();
    let Some(exponent) = exponent else { return 0.0 };
    let shift = bits + 4 - exponent;
    // At most 28 bits and a 9-bit weight: exact in 64 bits.
    let total: i64 =
        weighted().map(|(value, &weight)| libm::ldexp(*value, shift).trunc() as i64 * weight).sum();
    let magnitude = total.unsigned_abs();
    let length = (u64::BITS - magnitude.leading_zeros()) as i32;
    let drop = length - bits;
    let rounded = if drop > 0 { (magnitude + (1 << (drop - 1))) >> drop << drop } else { magnitude };
    let value = libm::ldexp(rounded as f64, -shift - 8);
    if total < 0 { -value } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_add_up() {
        for x in (0..256).step_by(5) {
            for y in (0..256).step_by(7) {
                for z in (0..256).step_by(51) {
                    assert_eq!(weights([x, y, z]).iter().sum::<i64>(), 256);
                }
            }
        }
        assert_eq!(weights([128, 0, 0]), [128, 128, 0, 0, 0, 0, 0, 0]);
        assert_eq!(weights([128, 64, 0]), [96, 96, 32, 32, 0, 0, 0, 0]);
    }

    #[test]
    fn sums_round_once_and_away_from_zero() {
        // Three quarters of the last bit of 1, then half of it.
        let step = f64::from(f32::EPSILON);
        assert_eq!(sum(&[1.0, 1.0 + step], &[64, 192], 24), 1.0 + step);
        assert_eq!(sum(&[1.0, 1.0 + step], &[128, 128], 24), 1.0 + step);
        assert_eq!(sum(&[-1.0, -1.0 - step], &[128, 128], 24), -1.0 - step);
        assert_eq!(sum(&[0.0, 0.0], &[128, 128], 24), 0.0);
        assert!(sum(&[f64::INFINITY, 1.0], &[1, 255], 24).is_infinite());
        assert_eq!(sum(&[f64::INFINITY, 1.0], &[0, 256], 24), 1.0);
    }
}
