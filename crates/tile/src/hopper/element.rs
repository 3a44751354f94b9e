//! The types whose matrices the tensor cores multiply.

use half::{bf16, f16};

use super::tensor_map::{Box2, BoxShape};
use crate::sealed::Sealed;

/// A type of matrix elements. Sealed: copies move as many bytes as it says.
///
/// ```compile_fail,E0277
/// #[derive(Clone, Copy)]
/// struct Long([u8; 4]);
/// impl tile::hopper::Element for Long {
///     const BYTES: u32 = 1;
///     const DRIVER: u32 = 0;
///     type Panel = tile::hopper::Box2<64, 128>;
/// }
/// ```
pub trait Element: Sealed + Copy + 'static {
    /// Bytes of an element.
    const BYTES: u32;
    /// The driver's `CUtensorMapDataType`.
    const DRIVER: u32;
    /// The box of 64 lines of 128 bytes, of which the tiles of products are made.
    type Panel: BoxShape<At = [i32; 2]>;
}

pub use crate::tf32::Tf32;

macro_rules! elements {
    ($($t:ty: $bytes:literal bytes, $driver:literal, $per_line:literal a line;)*) => {$(
        impl Sealed for $t {}
        impl Element for $t {
            const BYTES: u32 = $bytes;
            const DRIVER: u32 = $driver;
            type Panel = Box2<64, $per_line>;
        }
    )*};
}
elements! {
    i8: 1 bytes, 0, 128 a line;
    u8: 1 bytes, 0, 128 a line;
    f16: 2 bytes, 6, 64 a line;
    bf16: 2 bytes, 9, 64 a line;
    f32: 4 bytes, 7, 32 a line;
    Tf32: 4 bytes, 7, 32 a line;
    i32: 4 bytes, 3, 32 a line;
    u32: 4 bytes, 2, 32 a line;
}
