//! Tensor maps, and the copies of boxes that they describe.
//!
//! A map is made by the host (`warpsmith_launch::extra::tensor_map`) and passed to the kernel as a `#[grid_constant]` parameter.
//! Element, swizzle and box are in its type, on both sides, and so in the type of the shared memory that takes a box.

use core::marker::PhantomData;

use cuda_std::ptx;

use super::barrier::Barrier;
use super::element::Element;
use crate::SharedAddress;
use crate::sealed::Sealed;

/// How the 16-byte pieces of a box are permuted in shared memory. Sealed: the driver knows these.
pub trait Swizzle: Sealed + Copy + 'static {
    /// The most bytes that a box has along its innermost dimension.
    const SPAN: u32;
    /// Alignment of a box's address, so that the pattern begins where the box does.
    const ALIGN: u32;
    /// The driver's `CUtensorMapSwizzle`.
    const DRIVER: u32;
}

macro_rules! swizzles {
    ($($(#[$doc:meta])* $name:ident: $span:literal, $align:literal, $driver:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub enum $name {}
        impl Sealed for $name {}
        impl Swizzle for $name {
            const SPAN: u32 = $span;
            const ALIGN: u32 = $align;
            const DRIVER: u32 = $driver;
        }
    )*};
}
swizzles! {
    /// In order.
    NoSwizzle: 65_536, 128, 0;
    /// Pairs of pieces trade places.
    Swizzle32: 32, 256, 1;
    /// Pieces trade places within 64 bytes.
    Swizzle64: 64, 512, 2;
    /// Pieces trade places within 128 bytes: piece p of line l lies at p ^ (l % 8), so that 8 lines of one column, or 8
    /// pieces of one line, are in 32 different banks.
    Swizzle128: 128, 1024, 3;
}

/// The extents of a box. Sealed: room for a box is made as it says, and its instructions are run.
///
/// ```compile_fail,E0277
/// # use tile::hopper::BoxShape;
/// #[derive(Clone, Copy)]
/// enum Large {}
/// impl BoxShape for Large {
///     const RANK: u32 = 2;
///     const EXTENTS: [u32; 3] = [256, 256, 1];
///     const COUNT: u32 = 16; // what a barrier would count
///     type At = [i32; 2];
///     unsafe fn load(_: *const (), _: u32, _: [i32; 2], _: u32) {}
///     unsafe fn load_to_blocks(_: *const (), _: u32, _: [i32; 2], _: u32, _: u16) {}
///     unsafe fn store(_: *const (), _: u32, _: [i32; 2]) {}
///     unsafe fn prefetch(_: *const (), _: [i32; 2]) {}
/// }
/// ```
pub trait BoxShape: Sealed + Copy + 'static {
    /// Dimensions.
    const RANK: u32;
    /// Elements along each dimension, the innermost first.
    const EXTENTS: [u32; 3];
    /// Elements.
    const COUNT: u32 = Self::EXTENTS[0] * Self::EXTENTS[1] * Self::EXTENTS[2];
    /// Where a box lies in the tensor: coordinates, the innermost first.
    type At;

    /// The instruction.
    #[doc(hidden)]
    unsafe fn load(map: *const (), to: u32, at: Self::At, barrier: u32);
    #[doc(hidden)]
    unsafe fn load_to_blocks(map: *const (), to: u32, at: Self::At, barrier: u32, blocks: u16);
    #[doc(hidden)]
    unsafe fn store(map: *const (), from: u32, at: Self::At);
    #[doc(hidden)]
    unsafe fn prefetch(map: *const (), at: Self::At);
}

/// `ROWS` × `COLS` elements of a matrix.
#[derive(Clone, Copy)]
pub enum Box2<const ROWS: usize, const COLS: usize> {}

/// `SLICES` × `ROWS` × `COLS` elements of a tensor with three dimensions.
#[derive(Clone, Copy)]
pub enum Box3<const SLICES: usize, const ROWS: usize, const COLS: usize> {}

macro_rules! boxes {
    ($(<$($extent:ident),*> $name:ty, $rank:literal, $word:literal, $extents:expr, $at:ty, $places:literal, ($($c:ident = $i:literal),*);)*) => {$(
        impl<$(const $extent: usize),*> Sealed for $name {}
        impl<$(const $extent: usize),*> BoxShape for $name {
            const RANK: u32 = $rank;
            const EXTENTS: [u32; 3] = $extents;
            type At = $at;

            #[inline(always)]
            unsafe fn load(map: *const (), to: u32, at: Self::At, barrier: u32) {
                // SAFETY: the caller's promise is the instruction's own.
                unsafe { ptx!(
                    concat!("cp.async.bulk.tensor.", $word, ".shared::cluster.global.mbarrier::complete_tx::bytes ",
                            "[{to}], [{map}, {{", $places, "}}], [{barrier}];"),
                    to = in(u32) to, map = in(ptr) map, $($c = in(i32) at[$i],)* barrier = in(u32) barrier) }
            }

            #[inline(always)]
            unsafe fn load_to_blocks(map: *const (), to: u32, at: Self::At, barrier: u32, blocks: u16) {
                // SAFETY: the caller's promise is the instruction's own.
                unsafe { ptx!(
                    concat!("cp.async.bulk.tensor.", $word,
                            ".shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster ",
                            "[{to}], [{map}, {{", $places, "}}], [{barrier}], {blocks};"),
                    to = in(u32) to, map = in(ptr) map, $($c = in(i32) at[$i],)* barrier = in(u32) barrier,
                    blocks = in(u16) blocks) }
            }

            #[inline(always)]
            unsafe fn prefetch(map: *const (), at: Self::At) {
                // SAFETY: the caller's promise is the instruction's own.
                unsafe { ptx!(
                    concat!("cp.async.bulk.prefetch.tensor.", $word, ".L2.global [{map}, {{", $places, "}}];"),
                    map = in(ptr) map, $($c = in(i32) at[$i]),*) }
            }

            #[inline(always)]
            unsafe fn store(map: *const (), from: u32, at: Self::At) {
                // SAFETY: the caller's promise is the instruction's own.
                unsafe { ptx!(
                    concat!("cp.async.bulk.tensor.", $word, ".global.shared::cta.bulk_group ",
                            "[{map}, {{", $places, "}}], [{from}];"),
                    map = in(ptr) map, $($c = in(i32) at[$i],)* from = in(u32) from) }
            }
        }
    )*};
}
boxes! {
    <ROWS, COLS> Box2<ROWS, COLS>, 2, "2d", [COLS as u32, ROWS as u32, 1], [i32; 2], "{x}, {y}", (x = 0, y = 1);
    <SLICES, ROWS, COLS> Box3<SLICES, ROWS, COLS>, 3, "3d", [COLS as u32, ROWS as u32, SLICES as u32], [i32; 3],
        "{x}, {y}, {z}", (x = 0, y = 1, z = 2);
}

/// A tensor in global memory whose boxes are copied: elements of type `T`, boxes of shape `B`, permuted by `S`.
#[doc(alias = "TMA")]
#[doc(alias = "CUtensorMap")]
#[repr(C, align(64))]
pub struct TensorMap<T, S, B> {
    words: [u64; 16],
    types: PhantomData<(T, S, B)>,
}

impl<T, S, B> Clone for TensorMap<T, S, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, S, B> Copy for TensorMap<T, S, B> {}

// SAFETY: the driver's 128 bytes, without a pointer of the host.
#[cfg(feature = "host")]
unsafe impl<T, S, B> cust_core::DeviceCopy for TensorMap<T, S, B> {}

impl<T: Element, S: Swizzle, B: BoxShape> TensorMap<T, S, B> {
    /// Bytes of a box, which is what its barrier counts, whether or not the box reaches over the tensor's edge.
    pub const BOX_BYTES: u32 = {
        let inner = B::EXTENTS[0] * T::BYTES;
        assert!(inner.is_multiple_of(16), "a box has a multiple of 16 bytes along its innermost dimension");
        assert!(inner <= S::SPAN, "a box is no wider than the span of its swizzle");
        let mut i = 0;
        while i < 3 {
            assert!(
                B::EXTENTS[i] >= 1 && B::EXTENTS[i] <= 256,
                "a box has 1 to 256 elements along a dimension"
            );
            i += 1;
        }
        B::COUNT * T::BYTES
    };

    /// A map as the driver encoded it.
    ///
    /// # Safety
    /// `cuTensorMapEncodeTiled` made the words for this element, swizzle and box.
    #[cfg(not(target_os = "cuda"))]
    pub unsafe fn from_words(words: [u64; 16]) -> Self {
        Self { words, types: PhantomData }
    }

    /// The words of the driver.
    pub fn words(&self) -> &[u64; 16] {
        &self.words
    }

    #[inline(always)]
    fn address(&self) -> *const () {
        (&raw const *self).cast()
    }

    /// Fetches the map itself ahead of its first use.
    #[inline(always)]
    pub fn prefetch(&self) {
        // SAFETY: a hint.
        unsafe { ptx!("prefetch.tensormap [{map}];", map = in(ptr) &raw const *self) }
    }

    /// Starts to copy the box at `at` to shared memory; outside the tensor are zeros. `barrier` counts
    /// [`BOX_BYTES`](Self::BOX_BYTES) when they have landed.
    ///
    /// The room must be one for the same element, swizzle and box:
    ///
    /// ```compile_fail
    /// use tile::hopper::{Barrier, Box2, SharedBox, Swizzle64, Swizzle128, TensorMap};
    /// type Wide = Box2<64, 32>;
    /// unsafe fn load(map: &TensorMap<u32, Swizzle128, Wide>, to: SharedBox<u32, Swizzle64, Wide>, landed: Barrier) {
    ///     unsafe { map.load(to, [0, 0], landed) }
    /// }
    /// ```
    ///
    /// # Safety
    /// One thread calls; the map is a `#[grid_constant]` parameter; nothing else touches `to` until the barrier's phase
    /// ends, and what others did there before was ordered before this call by a barrier. The innermost coordinate is a
    /// multiple of 16 bytes, or an H200 ends with an illegal instruction; coordinates may be negative.
    #[doc(alias = "TMA load")]
    #[doc(alias = "cp.async.bulk.tensor")]
    #[inline(always)]
    pub unsafe fn load(&self, to: SharedBox<T, S, B>, at: B::At, barrier: Barrier) {
        const { assert!(Self::BOX_BYTES > 0) }
        // SAFETY: the caller's promise.
        unsafe { B::load(self.address(), to.address().bits(), at, barrier.address().bits()) }
    }

    /// The same to each block of the cluster whose bit is set in `blocks`: to the same place, and counted by the barrier at
    /// the same place.
    ///
    /// # Safety
    /// As [`load`](Self::load), for each of these blocks.
    #[doc(alias = "TMA multicast")]
    #[inline(always)]
    pub unsafe fn load_to_blocks(&self, to: SharedBox<T, S, B>, at: B::At, barrier: Barrier, blocks: u16) {
        const { assert!(Self::BOX_BYTES > 0) }
        // SAFETY: the caller's promise.
        unsafe {
            B::load_to_blocks(self.address(), to.address().bits(), at, barrier.address().bits(), blocks)
        }
    }

    /// Starts to fetch the box at `at` into L2, for a copy that comes later.
    ///
    /// # Safety
    /// The map is a `#[grid_constant]` parameter, and the innermost coordinate a multiple of 16 bytes.
    #[inline(always)]
    pub unsafe fn prefetch_box(&self, at: B::At) {
        const { assert!(Self::BOX_BYTES > 0) }
        // SAFETY: the caller's promise.
        unsafe { B::prefetch(self.address(), at) }
    }

    /// Starts to copy a box from shared memory to the tensor; what lies outside the tensor is left out, but along the
    /// innermost dimension 16 bytes are written where one of them is inside.
    ///
    /// # Safety
    /// One thread calls, after a barrier before which each writer of the box called [`fence_tensor_copies`]. The box is
    /// left as it is until [`wait_stores_read`], and the map is a `#[grid_constant]` parameter. Coordinates are not
    /// negative, and the innermost is a multiple of 16 bytes.
    #[doc(alias = "TMA store")]
    #[inline(always)]
    pub unsafe fn store(&self, from: SharedBox<T, S, B>, at: B::At) {
        const { assert!(Self::BOX_BYTES > 0) }
        // SAFETY: the caller's promise.
        unsafe { B::store(self.address(), from.address().bits(), at) }
    }
}

/// Room for one box in shared memory.
pub struct SharedBox<T, S, B> {
    address: SharedAddress,
    types: PhantomData<(T, S, B)>,
}

impl<T, S, B> Clone for SharedBox<T, S, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, S, B> Copy for SharedBox<T, S, B> {}

impl<T, S: Swizzle, B> SharedBox<T, S, B> {
    /// The room that begins at `address`.
    ///
    /// # Safety
    /// The address is a multiple of [`Swizzle::ALIGN`], and the bytes of a box lie there, used by nothing else.
    #[inline(always)]
    pub unsafe fn at(address: SharedAddress) -> Self {
        Self { address, types: PhantomData }
    }

    /// Where it begins.
    #[inline(always)]
    pub fn address(self) -> SharedAddress {
        self.address
    }

    /// Where piece `piece` (16 bytes) of line `line` (128 bytes) lies.
    #[inline(always)]
    pub fn piece(self, line: u32, piece: u32) -> SharedAddress {
        let mix = match S::SPAN {
            128 => line % 8,
            64 => line % 4,
            32 => line % 2,
            _ => 0,
        };
        self.address.plus(line * 128 + ((piece ^ mix) << 4))
    }
}

/// Makes this thread's writes to shared memory visible to the tensor copies and products that are started after the next
/// barrier.
#[doc(alias = "fence.proxy.async")]
#[inline(always)]
pub fn fence_tensor_copies() {
    // SAFETY: orders only.
    unsafe { ptx!("fence.proxy.async.shared::cta;") }
}

/// Closes the stores that this thread started since the last call into a group.
#[inline(always)]
pub fn commit_stores() {
    // SAFETY: has no precondition.
    unsafe { ptx!("cp.async.bulk.commit_group;") }
}

/// Waits until all but the `N` youngest groups of this thread have read their shared memory, which may then be
/// written again.
#[inline(always)]
pub fn wait_stores_read<const N: u32>() {
    // SAFETY: has no precondition.
    unsafe { ptx!("cp.async.bulk.wait_group.read {n};", n = imm(N)) }
}

/// Waits until all but the `N` youngest groups of this thread have been written.
#[inline(always)]
pub fn wait_stores<const N: u32>() {
    // SAFETY: has no precondition.
    unsafe { ptx!("cp.async.bulk.wait_group {n};", n = imm(N)) }
}
