//! Operands of products in shared memory.

use core::marker::PhantomData;

use half::{bf16, f16};

use super::barrier::Barrier;
use super::element::Element;
use super::tensor_map::{SharedBox, Swizzle128, TensorMap};
use crate::SharedAddress;
use crate::sealed::Sealed;

/// Lines of a panel, the piece of which operands are made and which one tensor copy brings.
pub const PANEL_LINES: u32 = 64;

/// The map of a matrix that is copied by panels: 64 lines of 128 bytes, with the 128-byte swizzle.
pub type PanelMap<T> = TensorMap<T, Swizzle128, <T as Element>::Panel>;

/// In which order the elements of an operand lie in memory.
///
/// A has a line for each row, B for each column: what the product sums over (k) runs along the line, or across lines.
/// Sealed: the tensor cores read shared memory as it says.
pub trait Major<T>: Sealed + Copy + 'static {
    /// Whether k runs across the lines of memory.
    const ACROSS: bool;
}

/// Elements along k follow each other: A stored by rows, B stored by columns.
#[derive(Clone, Copy)]
pub enum KMajor {}

/// Rows of A, or columns of B, follow each other: A stored by columns, B stored by rows. Only types of 16 bits can be
/// multiplied so:
///
/// ```compile_fail
/// use tile::hopper::{KTile, MnMajor};
/// let bytes = KTile::<i8, MnMajor, 64>::BYTES;
/// ```
#[derive(Clone, Copy)]
pub enum MnMajor {}

impl Sealed for KMajor {}
impl Sealed for MnMajor {}

impl<T: Element> Major<T> for KMajor {
    const ACROSS: bool = false;
}

impl Major<f16> for MnMajor {
    const ACROSS: bool = true;
}

impl Major<bf16> for MnMajor {
    const ACROSS: bool = true;
}

/// `LINES` rows of A, or columns of B, by 128 bytes of k, in shared memory: the operand of four steps of a product.
///
/// It is made of panels of 8 KiB, each the image of one box. Along k, a panel is 64 rows (or columns) by 128 bytes of k;
/// across, it is 64 steps of k by 128 bytes of rows (or columns). Both are 64 rows (or columns) by 64 steps of k for the
/// 16-bit types.
pub struct KTile<T, M, const LINES: u32> {
    address: SharedAddress,
    types: PhantomData<(T, M)>,
}

impl<T, M, const LINES: u32> Clone for KTile<T, M, LINES> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, M, const LINES: u32> Copy for KTile<T, M, LINES> {}

impl<T: Element, M: Major<T>, const LINES: u32> KTile<T, M, LINES> {
    /// Bytes of the tile.
    pub const BYTES: u32 = {
        assert!(LINES.is_multiple_of(PANEL_LINES) && LINES <= 256, "a tile is 1 to 4 panels of 64 lines");
        LINES * 128
    };
    /// Steps of k that a tile has.
    pub const DEPTH: u32 = 128 / T::BYTES;
    const PANEL_BYTES: u32 = PANEL_LINES * 128;

    /// The tile that begins at `address`.
    ///
    /// # Safety
    /// The address is a multiple of 1024, and [`BYTES`](Self::BYTES) bytes lie there, used by nothing else.
    #[inline(always)]
    pub unsafe fn at(address: SharedAddress) -> Self {
        Self { address, types: PhantomData }
    }

    /// Starts to copy panel `panel` of the tile that begins at row (or column) `line` and step `k` of the operand, to each
    /// block of the cluster whose bit is set in `blocks`, or to this block if there is none.
    ///
    /// # Safety
    /// As for [`TensorMap::load`] and [`TensorMap::load_to_blocks`].
    #[inline(always)]
    pub unsafe fn load_panel(
        self,
        map: &PanelMap<T>,
        panel: u32,
        (line, k): (u32, u32),
        barrier: Barrier,
        blocks: Option<u16>,
    ) {
        // SAFETY: `at` was promised the room of all panels, each a multiple of 1024.
        let to = unsafe { SharedBox::at(self.address.plus(panel * Self::PANEL_BYTES)) };
        let at = Self::place(panel, (line, k));
        // SAFETY: the caller's promise.
        unsafe {
            match blocks {
                None => map.load(to, at, barrier),
                Some(blocks) => map.load_to_blocks(to, at, barrier, blocks),
            }
        }
    }

    /// Starts to fetch such a panel into L2.
    ///
    /// # Safety
    /// As for [`TensorMap::prefetch_box`].
    #[inline(always)]
    pub unsafe fn prefetch_panel(map: &PanelMap<T>, panel: u32, (line, k): (u32, u32)) {
        // SAFETY: the caller's promise.
        unsafe { map.prefetch_box(Self::place(panel, (line, k))) }
    }

    /// Where panel `panel` of the tile at row (or column) `line` and step `k` lies in the operand.
    #[inline(always)]
    fn place(panel: u32, (line, k): (u32, u32)) -> [i32; 2] {
        let along = line.wrapping_add(panel * PANEL_LINES) as i32;
        if M::ACROSS { [along, k as i32] } else { [k as i32, along] }
    }

    /// All of it, as the product takes it.
    #[inline(always)]
    pub fn whole(self) -> Descriptor<T, M, LINES> {
        // SAFETY: from the first line on there are as many as there are.
        unsafe { self.part(0) }
    }

    /// `COUNT` lines of it from line `first` on: the 64 rows of A of one warpgroup of several, say.
    ///
    /// # Safety
    /// `first` is a multiple of 64, and that many lines follow.
    #[inline(always)]
    pub unsafe fn part<const COUNT: u32>(self, first: u32) -> Descriptor<T, M, COUNT> {
        const { assert!(COUNT <= LINES, "a part has no more lines than its tile") }
        let address = self.address.bits() + first * 128;
        Descriptor { bits: Self::FORM | u64::from((address & 0x3_FFFF) >> 4), types: PhantomData }
    }

    /// All but the address: the 128-byte swizzle; 1024 bytes to the next 8 lines; and, where k runs across, 8 KiB to the
    /// next panel.
    const FORM: u64 = {
        let next_8_lines = 1024 >> 4;
        let next_panel = if M::ACROSS { Self::PANEL_BYTES as u64 >> 4 } else { 1 };
        1 << 62 | next_8_lines << 32 | next_panel << 16
    };
}

/// The 64 bits by which `wgmma` knows an operand of `LINES` rows or columns.
#[derive(Clone, Copy)]
pub struct Descriptor<T, M, const LINES: u32> {
    bits: u64,
    types: PhantomData<(T, M)>,
}

impl<T: Element, M: Major<T>, const LINES: u32> Descriptor<T, M, LINES> {
    /// The step to the next of a tile's four steps, in units of 16 bytes: 32 bytes along the line; or 16 lines.
    pub(super) const STEP: u32 = if M::ACROSS { 16 * 128 / 16 } else { 32 / 16 };

    #[inline(always)]
    pub(super) fn bits(self) -> u64 {
        self.bits
    }
}
