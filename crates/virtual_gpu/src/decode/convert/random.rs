//! `cvt.rs`: rounded by the random bits of a register.
//!
//! A value becomes the next larger magnitude if adding the random bits to those that are cut off of its mantissa carries.
//! The manual says which bits of the register each pair of values is given; where it leaves the rest to figures:
//!
//! - fewer random bits than are cut off stand at the upper end of those, in subnormal results too;
//! - of a pair that is given 16 bits together, the second value takes them as they are and the first in reverse, as users
//!   have measured for `.e4m3x4` on sm_100a. The other formats of four values are taken to do the same, `.e2m1x4` with the
//!   two bytes that it names for a pair one after the other.

use ptx::{Operand, ScalarType};

use crate::alu::Round;
use crate::alu::convert::{self, Narrow};
use crate::alu::exact::Format;
use crate::decode::Refusal;
use crate::decode::function::Decoder;
use crate::decode::instruction::Form;
use crate::form::lanewise::{Evaluate, each_of};
use crate::form::registers::Slot;

/// Decodes `cvt.rs.f16x2.f32 d, a, b, bits` and `cvt.rs.satfinite.e4m3x4.f32 d, {a, b, e, f}, bits`.
pub(super) fn decode(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<Evaluate, Refusal> {
    let m = &mut f.modifiers;
    let mode =
        Narrow { round: Round::Nearest, relu: m.take("relu"), satfinite: m.take("satfinite"), sat: false };
    let pairs = [("f16x2", (Format::F16, 13)), ("bf16x2", (Format::BF16, 16))];
    let to = m.take_any(&pairs);
    let quad = m.take_any(&[
        ("e4m3x4", Format::E4M3),
        ("e5m2x4", Format::E5M2),
        ("e2m3x4", Format::E2M3),
        ("e3m2x4", Format::E3M2),
        ("e2m1x4", Format::E2M1),
    ]);
    let from = m.ty()?;
    match (to, quad, f.operands) {
        (Some((format, bits)), None, [t, a, b, random]) => {
            let sources = [d.source(a, from)?, d.source(b, from)?];
            let random = register(d, random)?;
            let t = d.real_target(t, ScalarType::B32)?;
            Ok(each_of(t, sources, random, move |values, random: u32| {
                let mask = (1 << bits) - 1;
                let given = [random >> 16 & mask, random & mask];
                join(values, given, 16, |a, random| {
                    convert::to_narrow_randomly(a, format, mode, random, bits)
                })
            }))
        }
        (None, Some(format), [t, Operand::Vector(values), random]) => {
            let values: &[Operand; 4] =
                values[..].try_into().map_err(|_| Refusal::new("it converts four values"))?;
            let [a, b, e, f] = values;
            let sources = [d.source(a, from)?, d.source(b, from)?, d.source(e, from)?, d.source(f, from)?];
            let random = register(d, random)?;
            let one = move |a, random| convert::to_narrow_randomly(a, format, mode, random, 16);
            if format == Format::E2M1 {
                let t = d.real_target(t, ScalarType::B16)?;
                return Ok(each_of(t, sources, random, move |values, random: u32| {
                    let [h, g, l, k] = random.to_be_bytes();
                    join(values, shared([[h, l], [g, k]]), 4, one) as u16
                }));
            }
            let t = d.real_target(t, ScalarType::B32)?;
            Ok(each_of(t, sources, random, move |values, random: u32| {
                let [h, g, l, k] = random.to_be_bytes();
                join(values, shared([[h, g], [l, k]]), 8, one)
            }))
        }
        _ => Err(Refusal::new("its operands do not fit")),
    }
}

/// The random bits' register; there is no form with a constant.
fn register(d: &mut Decoder<'_>, operand: &Operand) -> Result<Slot, Refusal> {
    if matches!(operand, Operand::Constant(_)) {
        return Err(Refusal::new("its random bits come from a register"));
    }
    d.source(operand, ScalarType::B32)
}

/// What each of four values is given of the 16 bits of its pair.
fn shared(pairs: [[u8; 2]; 2]) -> [u32; 4] {
    let [first, second] = pairs.map(u16::from_be_bytes);
    [first.reverse_bits(), first, second.reverse_bits(), second].map(u32::from)
}

/// Converts each value by its random bits; the first comes uppermost.
fn join<const N: usize>(
    values: [f32; N],
    random: [u32; N],
    width: u32,
    one: impl Fn(f32, u32) -> u16,
) -> u32 {
    values.into_iter().zip(random).fold(0, |joined, (a, random)| joined << width | u32::from(one(a, random)))
}
