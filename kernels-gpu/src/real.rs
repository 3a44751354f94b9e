//! Floats that are computed with as f32, converted by the chip's own instructions.

use half::{bf16, f16};

/// An f32, or what is shorter.
pub trait Real: Copy + 'static {
    /// Whether an exponential that is right to 2⁻¹⁶ is right to the last bit of the element.
    const IS_SHORT: bool;

    /// Its value.
    fn to_f32(self) -> f32;

    /// The nearest element, the even one of two.
    fn of_f32(value: f32) -> Self;
}

impl Real for f32 {
    const IS_SHORT: bool = false;

    #[inline(always)]
    fn to_f32(self) -> f32 {
        self
    }
    #[inline(always)]
    fn of_f32(value: f32) -> Self {
        value
    }
}

impl Real for f16 {
    const IS_SHORT: bool = true;

    #[inline(always)]
    fn to_f32(self) -> f32 {
        #[cfg(target_os = "cuda")]
        {
            let value: f32;
            // SAFETY: arithmetic has no precondition.
            unsafe {
                cuda_std::ptx!("cvt.f32.f16 {value}, {bits};", value = out(f32) value, bits = in(u16) self.to_bits();
                    options(pure, nomem));
            }
            value
        }
        #[cfg(not(target_os = "cuda"))]
        f16::to_f32(self)
    }
    #[inline(always)]
    fn of_f32(value: f32) -> Self {
        #[cfg(target_os = "cuda")]
        {
            let bits: u16;
            // SAFETY: arithmetic has no precondition.
            unsafe {
                cuda_std::ptx!("cvt.rn.f16.f32 {bits}, {value};", bits = out(u16) bits, value = in(f32) value;
                    options(pure, nomem));
            }
            Self::from_bits(bits)
        }
        #[cfg(not(target_os = "cuda"))]
        Self::from_f32(value)
    }
}

impl Real for bf16 {
    const IS_SHORT: bool = true;

    #[inline(always)]
    fn to_f32(self) -> f32 {
        f32::from_bits(u32::from(self.to_bits()) << 16)
    }
    /// By integers, since chips before 8.0 have no instruction for it: NaN stays quiet, all else is rounded by its last bits.
    #[inline(always)]
    fn of_f32(value: f32) -> Self {
        let bits = value.to_bits();
        let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1));
        let bits = if value.is_nan() { bits | 0x40_0000 } else { rounded };
        Self::from_bits((bits >> 16) as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bf16_is_rounded_as_half_does() {
        for bits in (0..=u32::MAX).step_by(0x4321).chain([0x7f7f_8000, 0x7fff_ffff, 0x3f80_8000, 0x3f81_8000])
        {
            let value = f32::from_bits(bits);
            let (ours, theirs) = (<bf16 as Real>::of_f32(value), bf16::from_f32(value));
            assert!(ours.to_bits() == theirs.to_bits() || ours.is_nan() && theirs.is_nan(), "{bits:#x}");
        }
    }
}
