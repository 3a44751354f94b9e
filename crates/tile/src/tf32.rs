//! The type that tensor cores read floats of 32 bits as.

/// A float of 32 bits of which the tensor cores read the upper 19: sign, 8 bits of exponent, 10 of fraction.
///
/// ```
/// use tile::{hopper, mma};
/// // One type, whichever instruction multiplies it.
/// let _: mma::Tf32 = hopper::Tf32(1.0);
/// ```
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tf32(pub f32);
