//! The arithmetic of PTX, bit for bit as NVIDIA hardware computes it.
//!
//! Every function is pure and takes plain values: integers, `f32`/`f64`, or the bit patterns of the 16-bit formats.
//! Nothing here knows registers, lanes or memory; the executor maps these functions over lanes.
//!
//! | file | PTX |
//! | --- | --- |
//! | [`int`] | add sub mul mad mul24 div rem abs sad min max dp4a dp2a, carry chains |
//! | [`bits`] | bfind bfe bfi bmsk szext prmt lop3 shf shl shr fns |
//! | [`compare`] | setp set slct testp |
//! | [`float`] | add sub mul fma div sqrt rcp min max of f32 and f64, in four rounding directions |
//! | [`half`] | the same for f16 and bf16, ex2 and tanh |
//! | [`approx`] | rcp rsqrt sqrt sin cos lg2 ex2 tanh div `.approx` |
//! | [`special`] | the special function unit, on which those rest |
//! | [`convert`] | cvt, cvt.pack, packed conversions |
//! | [`video`] | vadd … vset, and their two- and four-way forms |
//! | [`atomic`] | what atom and red store, redux |
//! | [`exact`] | exact intermediate results and their one rounding, behind the slow paths of the above |

pub mod approx;
pub mod atomic;
pub mod bits;
pub mod compare;
pub mod convert;
pub mod exact;
pub mod float;
pub mod half;
pub mod int;
#[cfg(test)]
mod samples;
pub mod special;
pub mod video;

/// A rounding direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Round {
    /// `.rn`: to nearest, ties to even.
    #[default]
    Nearest,
    /// `.rz`: towards zero.
    Zero,
    /// `.rm`: towards minus infinity.
    Down,
    /// `.rp`: towards plus infinity.
    Up,
    /// `.rna`: to nearest, ties away from zero. Only conversions have it.
    Away,
}
