//! Copies from global to shared memory that run while the block goes on (`cp.async`): rings of tiles, of which some fill while
//! one is read.
//!
//! A tile of a ring is [`Empty`], then copies to it are started and it is [`Copying`]; [`Block::begin`] makes a group of them,
//! and it is [`Filling`]; [`Block::share`] waits for the group and for the block. Groups end in the order in which they began.
//! So a type that says how many have begun since says how many may still be on their way when this one has ended.
//!
//! Before compute capability 8.0 there are no such copies: threads load and store, and nothing is waited for.

use ::tile::Layout;

use crate::own::elements;
use crate::phase::{NO_COPIES, Share};
use crate::tile::{Empty, Shared, Tile};
use crate::vectors::RowByRow;
use crate::{Block, Lane, Matrix, Thread};

/// The phase of a tile to which copies were started, not yet a group.
pub enum Copying {}
/// The phase of a tile whose copies are a group, after which at least `PENDING` other groups began.
///
/// ```
/// # use blockwise::prelude::*;
/// /// Copies a tile while the block does something else.
/// #[kernel]
/// pub fn copied(block: Block<32, 8>, #[shared] tile: Tile<f32, 8, 32>, from: Matrix<f32>, mut to: MatrixMut<f32, Tiles<8, 32>>) {
///     let (row, col) = (block.y() * 8, block.x() * 32);
///     let filling = block.commit(tile.copy_fours(&block, &from, |_, (y, four)| (row + y, col / 4 + four)));
///     let elsewhere = block.each(|t| t.index() as f32);
///     let tile = block.share(filling); // waits for the copies, and for the block
///     to.write(&block, |t, (y, x)| tile.at(y, x) + elsewhere.of(t));
/// }
/// ```
/// Until it is shared its elements may be on their way:
///
/// ```compile_fail,E0599
/// # use blockwise::prelude::*;
/// # #[kernel]
/// # pub fn wrong(block: Block<32, 8>, #[shared] tile: Tile<f32, 8, 32>, from: Matrix<f32>) {
/// let filling = block.commit(tile.copy_fours(&block, &from, |_, place| place));
/// block.each(|t| filling.at(t.y(), t.x()));
/// # }
/// ```
pub enum Filling<const PENDING: usize = 0> {}

impl<T: Lane, const ROWS: usize, const COLS: usize, L: Layout<ROWS, COLS>> Tile<T, ROWS, COLS, L, Empty> {
    /// Starts copies of elements of a matrix: each thread says of the tile's elements that are its own where they come from,
    /// row and column. Outside of the matrix they are zero. Neighbouring threads have neighbours of a column.
    #[inline(always)]
    pub fn copy_down<const W: usize, const H: usize, const D: usize>(
        self,
        block: &Block<W, H, D>,
        from: &Matrix<T>,
        place: impl for<'t> Fn(Thread<'t, W, H, D>, (usize, usize)) -> (usize, usize) + Sync,
    ) -> Tile<T, ROWS, COLS, L, Copying> {
        let t = block.thread();
        elements::<COLS, ROWS, 1, W, H, D>(t, |col, row| {
            let (from_row, from_col) = place(t, (row, col));
            let (from, inside) = from.place(from_row, from_col);
            // SAFETY: the element is inside the tile, and this thread's alone until the next barrier.
            unsafe { copy::four_bytes(self.first().add(L::place(row, col)).cast(), from.cast(), inside) };
        });
        // SAFETY: copies to all of it were started.
        unsafe { Tile::from_raw(self.first()) }
    }
}

impl<T: Lane, const ROWS: usize, const COLS: usize, L: RowByRow<ROWS, COLS>> Tile<T, ROWS, COLS, L, Empty> {
    /// As [`copy_down`](Self::copy_down), by 16 bytes along the rows: (y, f) are the four elements of row y from column 4 · f on, in the
    /// tile as in the matrix.
    #[inline(always)]
    pub fn copy_fours<const W: usize, const H: usize, const D: usize>(
        self,
        block: &Block<W, H, D>,
        from: &Matrix<T>,
        place: impl for<'t> Fn(Thread<'t, W, H, D>, (usize, usize)) -> (usize, usize) + Sync,
    ) -> Tile<T, ROWS, COLS, L, Copying> {
        let t = block.thread();
        elements::<ROWS, COLS, 4, W, H, D>(t, |row, four| {
            let (from_row, from_four) = place(t, (row, four));
            // SAFETY: they are inside the tile.
            let to = unsafe { self.four_at(row, four) }.cast::<u32>();
            let col = from_four.saturating_mul(4);
            if from.has_fours() {
                let (from, inside) = from.place(from_row, col);
                // SAFETY: this thread's alone until the next barrier; whole fours of the matrix are inside or not, and aligned.
                unsafe { copy::sixteen_bytes(to, from.cast(), inside) };
            } else {
                for i in 0..4 {
                    let (from, inside) = from.place(from_row, col.saturating_add(i));
                    // SAFETY: as above.
                    unsafe { copy::four_bytes(to.add(i), from.cast(), inside) };
                }
            }
        });
        // SAFETY: copies to all of it were started.
        unsafe { Tile::from_raw(self.first()) }
    }
}

impl<const W: usize, const H: usize, const D: usize> Block<W, H, D> {
    /// Makes a group of the copies that were started. One tile, or a tuple of them.
    #[inline(always)]
    pub fn commit<C: Commit>(&self, copying: C) -> C::Filling {
        copy::commit();
        // SAFETY: just now.
        unsafe { copying.committed() }
    }

    /// As [`commit`](Self::commit), after an earlier group: only that one is waited for when it is shared, and this one goes on.
    ///
    /// ```
    /// # use blockwise::prelude::*;
    /// #[kernel]
    /// pub fn sums(
    ///     block: Block<32, 8>,
    ///     #[shared] first: Tile<f32, 8, 32>,
    ///     #[shared] mut empty: Tile<f32, 8, 32>,
    ///     x: Matrix<f32>,
    ///     mut sums: MatrixMut<f32, Tiles<8, 32>>,
    /// ) {
    ///     let mut sum = block.each(|_| 0.0);
    ///     let mut filling = block.commit(first.copy_fours(&block, &x, |_, (y, four)| (y, four)));
    ///     for row in (0..x.rows()).step_by(8) {
    ///         let next = empty.copy_fours(&block, &x, |_, (y, four)| (row + 8 + y, four));
    ///         let (next, current) = block.commit_after(next, filling);
    ///         let full = block.share(current); // waits for `current` alone
    ///         sum.update(&block, |t, sum| *sum += full.at(t.y(), t.x()));
    ///         (empty, filling) = (block.reuse(full), next);
    ///     }
    ///     sums.write(&block, |t, _| sum.of(t));
    /// }
    /// ```
    #[inline(always)]
    pub fn commit_after<C: Commit, E: InFlight>(&self, copying: C, earlier: E) -> (C::Filling, E::Behind) {
        copy::commit();
        // SAFETY: a group began just now.
        unsafe { (copying.committed(), earlier.behind()) }
    }
}

/// Tiles to which copies were started.
#[diagnostic::on_unimplemented(
    message = "only tiles to which copies were started begin to fill, not `{Self}`",
    label = "no copies were started to it",
    note = "copies are started by `copy_fours` or `copy_down`"
)]
pub trait Commit: crate::phase::Sealed {
    /// The tiles in the phase `Filling`.
    type Filling;
    /// # Safety
    /// Their copies are a group, the last one.
    #[doc(hidden)]
    unsafe fn committed(self) -> Self::Filling;
}

/// Tiles whose copies are a group.
#[diagnostic::on_unimplemented(
    message = "no other copies begin after those of `{Self}`",
    label = "not filling, or after three other groups",
    note = "tiles that fill are made by `block.commit` and `block.commit_after`"
)]
pub trait InFlight: crate::phase::Sealed {
    /// The tiles with one more group behind theirs.
    type Behind;
    /// # Safety
    /// One more group began.
    #[doc(hidden)]
    unsafe fn behind(self) -> Self::Behind;
}

impl<T: Lane, const ROWS: usize, const COLS: usize, L: Layout<ROWS, COLS>> Commit
    for Tile<T, ROWS, COLS, L, Copying>
{
    type Filling = Tile<T, ROWS, COLS, L, Filling>;
    #[inline(always)]
    unsafe fn committed(self) -> Self::Filling {
        // SAFETY: the caller's promise.
        unsafe { Tile::from_raw(self.first()) }
    }
}

impl<T: Lane, const ROWS: usize, const COLS: usize, L: Layout<ROWS, COLS>, const PENDING: usize> Share
    for Tile<T, ROWS, COLS, L, Filling<PENDING>>
{
    type Shared = Tile<T, ROWS, COLS, L, Shared>;
    const PENDING: usize = PENDING;
    #[inline(always)]
    unsafe fn shared(self) -> Self::Shared {
        // SAFETY: the caller's promise.
        unsafe { Tile::from_raw(self.first()) }
    }
}

macro_rules! in_flight {
    ($($before:literal -> $after:literal;)*) => {$(
        impl<T: Lane, const ROWS: usize, const COLS: usize, L: Layout<ROWS, COLS>> InFlight
            for Tile<T, ROWS, COLS, L, Filling<$before>>
        {
            type Behind = Tile<T, ROWS, COLS, L, Filling<$after>>;
            #[inline(always)]
            unsafe fn behind(self) -> Self::Behind {
                // SAFETY: the caller's promise.
                unsafe { Tile::from_raw(self.first()) }
            }
        }
    )*};
}
in_flight! {
    0 -> 1;
    1 -> 2;
    2 -> 3;
}

macro_rules! tuples {
    ($($tile:ident),+) => {
        impl<$($tile: Commit),+> Commit for ($($tile,)+) {
            type Filling = ($($tile::Filling,)+);
            #[inline(always)]
            #[allow(non_snake_case)]
            unsafe fn committed(self) -> Self::Filling {
                let ($($tile,)+) = self;
                // SAFETY: the caller's promise.
                unsafe { ($($tile.committed(),)+) }
            }
        }

        impl<$($tile: InFlight),+> InFlight for ($($tile,)+) {
            type Behind = ($($tile::Behind,)+);
            #[inline(always)]
            #[allow(non_snake_case)]
            unsafe fn behind(self) -> Self::Behind {
                let ($($tile,)+) = self;
                // SAFETY: the caller's promise.
                unsafe { ($($tile.behind(),)+) }
            }
        }
    };
}
tuples!(A);
tuples!(A, B);
tuples!(A, B, C);

/// Waits until at most `pending` groups are in flight: `cp.async.wait_group`.
#[inline(always)]
pub(crate) fn wait(pending: usize) {
    match pending {
        NO_COPIES => {}
        0 => copy::wait::<0>(),
        1 => copy::wait::<1>(),
        2 => copy::wait::<2>(),
        _ => copy::wait::<3>(),
    }
}

/// The instructions.
#[cfg(target_os = "cuda")]
mod copy {
    use cuda_std::__blockwise_ptx;
    use cuda_std::cfg::ComputeCapability;

    #[inline(always)]
    fn asynchronous() -> bool {
        ComputeCapability::from_cuda_arch_env() >= ComputeCapability::Compute80
    }

    /// # Safety
    /// `to` lies in shared memory, nothing else touches it until the copy has been waited for, and if the element is inside it
    /// can be read.
    #[inline(always)]
    pub(super) unsafe fn four_bytes(to: *mut u32, from: *const u32, inside: bool) {
        if asynchronous() {
            let bytes = if inside { 4u32 } else { 0 };
            // SAFETY: the caller's promise: of `from` no more than `bytes` are read.
            unsafe {
                __blockwise_ptx!(
                    "{{ .reg .u64 to, from; cvta.to.shared.u64 to, {to}; cvta.to.global.u64 from, {from};",
                    "cp.async.ca.shared.global [to], [from], 4, {bytes}; }}",
                    to = in(ptr) to, from = in(ptr) from, bytes = in(u32) bytes);
            }
        } else {
            // SAFETY: the caller's promise.
            unsafe { *to = if inside { *from } else { 0 } };
        }
    }

    /// # Safety
    /// As above for four elements, both aligned to 16 bytes.
    #[inline(always)]
    pub(super) unsafe fn sixteen_bytes(to: *mut u32, from: *const u32, inside: bool) {
        if asynchronous() {
            let bytes = if inside { 16u32 } else { 0 };
            // SAFETY: the caller's promise: of `from` no more than `bytes` are read.
            unsafe {
                __blockwise_ptx!(
                    "{{ .reg .u64 to, from; cvta.to.shared.u64 to, {to}; cvta.to.global.u64 from, {from};",
                    "cp.async.cg.shared.global [to], [from], 16, {bytes}; }}",
                    to = in(ptr) to, from = in(ptr) from, bytes = in(u32) bytes);
            }
        } else {
            let nothing = ::tile::Vector(0);
            // SAFETY: the caller's promise.
            unsafe { (if inside { ::tile::Vector::load(from) } else { nothing }).store(to) };
        }
    }

    #[inline(always)]
    pub(super) fn commit() {
        if asynchronous() {
            // SAFETY: the instruction has no precondition.
            unsafe { __blockwise_ptx!("cp.async.commit_group;") };
        }
    }

    #[inline(always)]
    pub(super) fn wait<const PENDING: u32>() {
        if asynchronous() {
            // SAFETY: the instruction has no precondition.
            unsafe { __blockwise_ptx!("cp.async.wait_group {pending};", pending = imm(PENDING)) };
        }
    }
}

/// On the host kernels do not run.
#[cfg(not(target_os = "cuda"))]
mod copy {
    fn only_on_the_gpu() {
        // SAFETY: it panics.
        unsafe { cuda_std::__device::only_on_the_gpu("an asynchronous copy") }
    }
    pub(super) unsafe fn four_bytes(_: *mut u32, _: *const u32, _: bool) {
        only_on_the_gpu();
    }
    pub(super) unsafe fn sixteen_bytes(_: *mut u32, _: *const u32, _: bool) {
        only_on_the_gpu();
    }
    pub(super) fn commit() {
        only_on_the_gpu();
    }
    pub(super) fn wait<const PENDING: u32>() {
        only_on_the_gpu();
    }
}
