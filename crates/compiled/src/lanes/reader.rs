//! The transfer function of [`super::Uniformity`]: the lanes of an operation's result from those of its sources.

use std::collections::HashMap;

use ptx::ScalarType;
use virtual_gpu::jit::{
    Arithmetic, Convert, Converted, Function, Instruction, Kind, LaunchValue, NONE, Opcode, ProductHalf,
    Qualifiers, Slot, SpaceOperand,
};
use virtual_gpu::observer::MemorySpace;

use super::{Confidence, LaneFact, Lanes, NoWrap};

/// Facts before an operation.
pub struct Reader<'r, 'c> {
    pub function: &'r Function<'c>,
    pub launch_values: &'r HashMap<Slot, LaunchValue>,
    pub state: &'r [LaneFact],
}

impl Reader<'_, '_> {
    pub fn fact(&self, slot: Slot) -> LaneFact {
        if slot == NONE || self.constant(slot).is_some() {
            return LaneFact::proven(Lanes::Uniform);
        }
        match self.launch_values.get(&slot) {
            Some(&value) => LaneFact::of_launch(value),
            None => self.state.get(slot as usize).copied().unwrap_or(LaneFact::VARYING),
        }
    }

    fn lanes(&self, slot: Slot) -> Lanes {
        self.fact(slot).lanes
    }

    fn constant(&self, slot: Slot) -> Option<i64> {
        self.function.constant(slot, 1).map(|value| (value as u32 as i32).into())
    }

    /// A constant factor of a product of that type.
    fn factor(&self, slot: Slot, ty: ScalarType) -> Option<i64> {
        match ty.size() {
            8 => self.function.constant(slot, 2).map(|value| value as i64),
            4 if ty.is_signed() => self.constant(slot),
            4 => self.constant(slot).map(|value| (value as u32).into()),
            _ => None,
        }
    }

    /// The lanes of what an operation writes, and what has to be true for that.
    pub fn written(&self, instruction: &Instruction<'_>) -> (LaneFact, Option<NoWrap>) {
        let lanes = match instruction.kind {
            Kind::Arithmetic(operation) => return self.computed(operation),
            Kind::Load(op) => match self.fact(op.address.base) {
                LaneFact { lanes: lanes @ (Lanes::Uniform | Lanes::HalfUniform), confidence } => {
                    // Each lane has its own local memory.
                    let is_shared =
                        matches!(op.space, SpaceOperand::In(space) if space != MemorySpace::Local);
                    LaneFact {
                        lanes,
                        confidence: confidence.min(if is_shared {
                            Confidence::Proven
                        } else {
                            Confidence::Speculative
                        }),
                    }
                }
                LaneFact { lanes: Lanes::Unset, .. } => {
                    LaneFact { lanes: Lanes::Uniform, confidence: Confidence::Speculative }
                }
                _ => LaneFact::VARYING,
            },
            Kind::Parameter(_) | Kind::ActiveMask { .. } => LaneFact::proven(Lanes::Uniform),
            _ => LaneFact::VARYING,
        };
        (lanes, None)
    }

    fn computed(&self, o: &Arithmetic) -> (LaneFact, Option<NoWrap>) {
        use Opcode::*;
        let lanes = self.lanes_of(o);
        let least =
            o.sources.iter().map(|&slot| self.fact(slot).confidence).min().unwrap_or(Confidence::Proven);
        let same = o.sources.iter().all(|&slot| self.lanes(slot).is_uniform());
        let sure = least.min(Confidence::Proven);
        let mut rows = o.sources.iter().filter(|&&slot| !self.lanes(slot).is_uniform());
        let mut condition = None;
        let confidence = match (o.opcode, o.qualifiers) {
            (Move, _) if o.sources.len() == 1 && o.targets.len() == 1 => least,
            _ if same => sure,
            (Convert, Qualifiers::Convert(what)) if keeps_words(what) => {
                // Numbers that go on in a row may begin anew in the middle where they are too short for it.
                let may_wrap = least == Confidence::Proven && widens(what);
                condition = self.no_wrap(o.sources[0], is_signed(what.from)).filter(|_| may_wrap);
                if may_wrap && condition.is_none() { Confidence::Speculative } else { least }
            }
            (Convert, _) => Confidence::Speculative,
            (Mul | MultiplyAdd, Qualifiers::Integer { ty, half: Some(ProductHalf::Wide), .. }) => {
                // The last source has twice the bits.
                let may_wrap = |slot: &&Slot| {
                    Some(*slot) != o.sources.get(2) && self.fact(**slot).confidence < Confidence::Bounded
                };
                let factor = rows.next().filter(may_wrap);
                let condition_of =
                    |&slot: &Slot| self.no_wrap(slot, ty.is_signed()).filter(|_| ty.size() == 4);
                condition = factor.and_then(condition_of);
                if factor.is_some() && condition.is_none() { Confidence::Speculative } else { sure }
            }
            (Add | Sub | Mul | MultiplyAdd, Qualifiers::Integer { ty, saturate: false, relu: false, .. })
                if ty.size() >= 4 =>
            {
                sure
            }
            (ShiftLeft, Qualifiers::Type(ty)) if ty.size() >= 4 => sure,
            // Small numbers that are apart begin at multiples of 16.
            (And | ShiftRight | BitFieldExtract, Qualifiers::Type(ty))
                if ty.size() >= 4 && !ty.is_signed() =>
            {
                let small = rows.all(|&slot| self.fact(slot).confidence == Confidence::Bounded);
                if small && least >= Confidence::Proven {
                    Confidence::Bounded
                } else {
                    Confidence::Speculative
                }
            }
            (ConvertAddress, _) => sure,
            _ => Confidence::Speculative,
        };
        (LaneFact { lanes, confidence }, condition)
    }

    fn no_wrap(&self, slot: Slot, signed: bool) -> Option<NoWrap> {
        let stride = self.lanes(slot).stride()? as i32;
        (stride.unsigned_abs() < 1 << 27).then_some(NoWrap { slot, signed, stride })
    }

    fn lanes_of(&self, o: &Arithmetic) -> Lanes {
        use Opcode::*;
        let sources: Vec<Lanes> = o.sources.iter().map(|&slot| self.lanes(slot)).collect();
        if sources.iter().all(|lanes| lanes.is_uniform()) {
            let one = sources.iter().all(|lanes| *lanes != Lanes::HalfUniform);
            return if one { Lanes::Uniform } else { Lanes::HalfUniform };
        }
        let stride = match (o.opcode, &o.sources[..], &sources[..], o.qualifiers) {
            (Move | ConvertAddress, _, [a], _) => a.stride(),
            (Convert, _, [a], Qualifiers::Convert(what)) if is_integer(what) && widens(what) => {
                a.stride().map(|stride| (stride as i32).into())
            }
            (Convert, _, [a], Qualifiers::Convert(what)) if is_integer(what) => a.stride(),
            (Add, _, [a, b], Qualifiers::Integer { .. }) => sum(a.stride(), b.stride(), 1),
            // Used to add what has other bits.
            (Or, _, [a, b], _) => sum(a.stride(), b.stride(), 1),
            (Sub, _, [a, b], Qualifiers::Integer { .. }) => sum(a.stride(), b.stride(), -1),
            (Mul, &[a, b], _, Qualifiers::Integer { ty, half, .. }) if half != Some(ProductHalf::High) => {
                self.product(a, b, ty)
            }
            (MultiplyAdd, &[a, b, _], [_, _, c], Qualifiers::Integer { ty, half, .. })
                if half != Some(ProductHalf::High) =>
            {
                sum(self.product(a, b, ty), c.stride(), 1)
            }
            (ShiftLeft, &[_, n], [a, _], _) => self
                .constant(n)
                .and_then(|n| scaled(a.stride(), if (0..64).contains(&n) { 1 << n } else { 0 })),
            (ShiftRight, &[_, n], [a, _], _) => self.constant(n).and_then(|n| divided(a.stride()?, n)),
            (BitFieldExtract, &[_, position, length], [a, ..], _) => {
                match (self.constant(position), self.constant(length)) {
                    (Some(position), Some(length)) => divided_and_masked(a.stride(), position, length),
                    _ => None,
                }
            }
            (Div, &[_, n], [a, _], Qualifiers::Integer { .. }) => match self.constant(n) {
                Some(n) if n > 0 && (n as u64).is_power_of_two() => {
                    a.stride().and_then(|stride| divided(stride, n.trailing_zeros().into()))
                }
                _ => None,
            },
            (And, &[a, b], [of_a, of_b], _) => match (self.constant(a), self.constant(b)) {
                (_, Some(mask)) => masked(of_a.stride(), mask),
                (Some(mask), _) => masked(of_b.stride(), mask),
                _ => None,
            },
            (Select, _, [a, b, _], _) if a == b => a.stride(),
            (Min | Max, _, [a, b], _) if a == b => a.stride(),
            _ => None,
        };
        Lanes::of_stride(stride)
    }

    fn product(&self, a: Slot, b: Slot, ty: ScalarType) -> Option<i64> {
        let stride = |slot| {
            let stride = self.lanes(slot).stride()?;
            Some(if ty.size() == 8 { stride } else { (stride as i32).into() })
        };
        match (self.factor(a, ty), self.factor(b, ty)) {
            (_, Some(factor)) => scaled(stride(a), factor),
            (Some(factor), _) => scaled(stride(b), factor),
            _ => match (stride(a), stride(b)) {
                (Some(0), Some(0)) => Some(0),
                _ => None,
            },
        }
    }
}

fn sum(a: Option<i64>, b: Option<i64>, sign: i64) -> Option<i64> {
    Some(a?.wrapping_add(b?.wrapping_mul(sign)))
}

fn scaled(stride: Option<i64>, factor: i64) -> Option<i64> {
    Some(stride?.wrapping_mul(factor))
}

/// Halves begin at multiples of 16 strides: what is shifted out is the lane's number, or there is no telling. A shift by the
/// width or more leaves nothing.
fn divided(stride: i64, bits: i64) -> Option<i64> {
    if stride <= 0 || stride.count_ones() != 1 {
        return (stride == 0).then_some(0);
    }
    let of_stride: i64 = stride.trailing_zeros().into();
    match bits {
        0.. if bits <= of_stride => Some(stride >> bits),
        0.. if bits < of_stride + 4 => None,
        _ => Some(0),
    }
}

/// A mask that keeps the lane's number keeps the stride, one that leaves it out makes lanes the same.
fn masked(stride: Option<i64>, mask: i64) -> Option<i64> {
    let stride = stride?;
    let number = stride.checked_mul(15)?;
    if stride < 0 || number == 0 {
        return (stride == 0).then_some(0);
    }
    let number = (1i64 << (64 - number.leading_zeros())) - 1;
    let lowest = (1i64 << stride.trailing_zeros()) - 1;
    if mask & number & !lowest == number & !lowest { Some(stride) } else { (mask & number == 0).then_some(0) }
}

fn divided_and_masked(stride: Option<i64>, position: i64, length: i64) -> Option<i64> {
    let (position, length) = (position & 0xff, length & 0xff);
    let divided = divided(stride?, position);
    masked(divided, if length < 32 { (1i64 << length) - 1 } else { -1 })
}

/// Whether a conversion is between whole registers, and changes no number that both can hold.
fn keeps_words(what: Convert) -> bool {
    let words = |end: Converted| matches!(end, Converted::Scalar(ty, _) if ty.size() >= 4);
    words(what.to) && words(what.from) && !what.sat
}

/// Whether it makes words longer.
fn widens(what: Convert) -> bool {
    let bytes = |end: Converted| if let Converted::Scalar(ty, _) = end { ty.size() } else { 0 };
    bytes(what.to) > bytes(what.from)
}

fn is_signed(end: Converted) -> bool {
    matches!(end, Converted::Scalar(ty, _) if ty.is_signed())
}

fn is_integer(what: Convert) -> bool {
    use ScalarType::*;
    let integer = |end: Converted| {
        matches!(end, Converted::Scalar(U32 | S32 | U64 | S64 | B32 | B64 | U16 | S16 | U8 | S8, _))
    };
    integer(what.to) && integer(what.from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_lane_is_kept_or_left_out() {
        // Of thread numbers in steps of 1: the lane in a warp, the lane in a half, the warp, every fourth.
        assert_eq!(masked(Some(1), 31), Some(1));
        assert_eq!(masked(Some(1), 15), Some(1));
        assert_eq!(masked(Some(1), !15), Some(0));
        assert_eq!(masked(Some(1), 7), None);
        assert_eq!(masked(Some(4), !3), Some(4));
        assert_eq!(
            (divided(1, 5), divided(1, 2), divided(8, 2), divided(0, 3)),
            (Some(0), None, Some(2), Some(0))
        );
        assert_eq!(divided_and_masked(Some(1), 4, 4), Some(0));
    }
}
