//! Tensor maps: what a kernel's tensor copies go by, made by the driver.

use std::ffi::{c_int, c_void};
use std::fmt;

use tile::hopper::{BoxShape, Element, Swizzle, TensorMap};

unsafe extern "C" {
    fn cuTensorMapEncodeTiled(
        map: *mut EncodedMap,
        element: u32,
        rank: u32,
        address: *mut c_void,
        extents: *const u64,
        strides: *const u64,
        box_extents: *const u32,
        steps: *const u32,
        interleave: u32,
        swizzle: u32,
        l2_promotion: u32,
        fill: u32,
    ) -> c_int;
}

/// `CUtensorMapL2promotion`.
const L2_128B: u32 = 2;
const L2_256B: u32 = 3;

#[repr(C, align(64))]
struct EncodedMap([u64; 16]);

/// A tensor in device memory.
#[derive(Clone, Copy, Debug)]
pub struct Tensor<'a> {
    /// The address of its first element: a multiple of 16.
    pub address: u64,
    /// Elements along each dimension, the innermost first.
    pub extents: &'a [u64],
    /// Elements from one index to the next, of each dimension but the innermost; in bytes, multiples of 16.
    pub pitches: &'a [u64],
    /// Lines of a box, if fewer than its type has: the lines after them are not written, and a barrier does not count them.
    pub lines: Option<u32>,
}

/// Why a tensor has no map.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum TensorMapError {
    /// The tensor and the box differ in their dimensions.
    #[error("the tensor has {extents} extents and {pitches} pitches; boxes of {rank} dimensions need {rank} and {less}", less = rank - 1)]
    Rank {
        /// Extents given.
        extents: usize,
        /// Pitches given.
        pitches: usize,
        /// Dimensions of the box.
        rank: usize,
    },
    /// It begins elsewhere than tensor copies can.
    #[error("the tensor begins at {0:#x}; tensor copies need a multiple of 16")]
    Address(u64),
    /// An extent is 0, or more than 32 bits count.
    #[error("dimension {dimension} has {extent} elements; 1 to 2^32 can be copied from")]
    Extent {
        /// Which, the innermost is 0.
        dimension: usize,
        /// Its elements.
        extent: u64,
    },
    /// Lines begin elsewhere than tensor copies can.
    #[error(
        "indices of dimension {dimension} are {bytes} bytes apart; tensor copies need a multiple of 16 below 2^40"
    )]
    Pitch {
        /// Which, the innermost is 0.
        dimension: usize,
        /// Bytes from one index to the next.
        bytes: u64,
    },
    /// The driver refused it: before Hopper there are no tensor copies.
    #[error(
        "the driver does not encode the tensor map (error {0}); tensor copies need compute capability 9.0"
    )]
    Driver(i32),
}

/// As displayed: `main` and `unwrap` print this form.
impl fmt::Debug for TensorMapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Makes the map of a tensor, for copies of boxes of type `B`.
///
/// Element, swizzle and box are those of the kernel's parameter, found by inference. Only what is known at run time can be
/// wrong:
///
/// ```
/// use warpsmith_launch::extra::{Tensor, TensorMapError, tensor_map};
/// use tile::hopper::{Box2, Swizzle128, TensorMap};
///
/// type Panels = TensorMap<half::bf16, Swizzle128, Box2<64, 64>>;
/// let odd = Tensor { address: 0x1000, extents: &[100, 8], pitches: &[100], lines: None };
/// let refused: Result<Panels, _> = tensor_map(odd);
/// assert_eq!(refused.err(), Some(TensorMapError::Pitch { dimension: 1, bytes: 200 }));
/// ```
///
/// A box that is wider than its swizzle spans does not compile:
///
/// ```compile_fail
/// # use warpsmith_launch::extra::{Tensor, tensor_map};
/// # use tile::hopper::{Box2, Swizzle128, TensorMap};
/// let tensor = Tensor { address: 0x1000, extents: &[128, 8], pitches: &[128], lines: None };
/// let wide: TensorMap<half::bf16, Swizzle128, Box2<64, 128>> = tensor_map(tensor).unwrap();
/// ```
pub fn tensor_map<T: Element, S: Swizzle, B: BoxShape>(
    tensor: Tensor<'_>,
) -> Result<TensorMap<T, S, B>, TensorMapError> {
    // What the driver reads has three places.
    const { assert!(TensorMap::<T, S, B>::BOX_BYTES > 0 && 1 <= B::RANK && B::RANK <= 3) }
    let rank = B::RANK as usize;
    let Tensor { address, extents, pitches, lines } = tensor;
    if (extents.len(), pitches.len()) != (rank, rank - 1) {
        return Err(TensorMapError::Rank { extents: extents.len(), pitches: pitches.len(), rank });
    }
    if !address.is_multiple_of(16) {
        return Err(TensorMapError::Address(address));
    }
    if let Some(dimension) = extents.iter().position(|extent| !(1..=1 << 32).contains(extent)) {
        return Err(TensorMapError::Extent { dimension, extent: extents[dimension] });
    }
    let strides: Vec<u64> = pitches.iter().map(|pitch| pitch.saturating_mul(T::BYTES.into())).collect();
    if let Some(at) = strides.iter().position(|bytes| !bytes.is_multiple_of(16) || *bytes >= 1 << 40) {
        return Err(TensorMapError::Pitch { dimension: at + 1, bytes: strides[at] });
    }
    let mut words = EncodedMap([0; 16]);
    // A miss in L2 fetches 256 bytes, unless lines begin elsewhere: then half of them belong to another line's box, and
    // an H200 multiplies 3000 × 3000 elements 13 % slower.
    let promotion = if strides.iter().all(|bytes| bytes.is_multiple_of(256)) { L2_256B } else { L2_128B };
    let mut boxes = B::EXTENTS;
    boxes[1] = lines.map_or(boxes[1], |lines| lines.clamp(1, boxes[1]));
    // Every element is taken; nothing is interleaved; outside are zeros.
    let (steps, interleave, fill) = ([1; 3], 0, 0);
    // SAFETY: each array has at least `rank` entries, or one less for the strides.
    let code = unsafe {
        cuTensorMapEncodeTiled(
            &mut words,
            T::DRIVER,
            B::RANK,
            address as *mut c_void,
            extents.as_ptr(),
            strides.as_ptr(),
            boxes.as_ptr(),
            steps.as_ptr(),
            interleave,
            S::DRIVER,
            promotion,
            fill,
        )
    };
    if code != 0 {
        return Err(TensorMapError::Driver(code));
    }
    // SAFETY: encoded just now for these types.
    Ok(unsafe { TensorMap::from_words(words.0) })
}
