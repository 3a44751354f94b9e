//! The phases of tiles at the level of the block: one barrier for one tile or for a tuple of them.

use ::tile::Layout;

use crate::tile::{Empty, Filled, Shared, Tile};
use crate::{Counting, Element};

/// `PENDING` of tiles without copies: there is nothing to wait for.
pub(crate) const NO_COPIES: usize = usize::MAX;

mod sealed {
    /// Keeps the phases to this crate: a phase is a promise about every thread.
    pub trait Sealed {}
}
pub(crate) use sealed::Sealed;

/// Tiles that each thread has filled its part of: what [`Block::share`](crate::Block::share) takes, one or a tuple, and what a
/// function of your own may take.
///
/// ```
/// # use blockwise::prelude::*;
/// # use blockwise::{Reuse, Share};
/// /// Shares tiles, has threads read them, and takes them back.
/// fn read<F: Share>(block: &Block<256>, filled: F, read: impl FnOnce(&F::Shared)) -> <F::Shared as Reuse>::Empty
/// where
///     F::Shared: Reuse,
/// {
///     let shared = block.share(filled);
///     read(&shared);
///     block.reuse(shared)
/// }
///
/// #[kernel]
/// pub fn turns(block: Block<256>, #[shared] mut tile: Tile<u32, 1, 256>, mut to: SliceMut<u32>) {
///     let mut own = block.each(|t| t.x() as u32);
///     for _ in 0..3 {
///         let filled = tile.fill(&block, |t, _| own.of(t));
///         tile = read(&block, filled, |tile| own = block.each(|t| tile.at(0, (t.x() + 1) % 256)));
///     }
///     to.write(&block, |t, _| own.of(t));
/// }
/// ```
/// An empty tile has nothing to share:
///
/// ```compile_fail,E0277
/// # use blockwise::prelude::*;
/// # #[kernel]
/// # pub fn wrong(block: Block<256>, #[shared] tile: Tile<u32, 1, 256>) {
/// let shared = block.share(tile);
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "only filled tiles are shared, not `{Self}`",
    label = "not a filled tile",
    note = "a tile is filled, then shared, then reused"
)]
pub trait Share: Sealed {
    /// The tiles in the phase `Shared`.
    type Shared;
    /// Groups of copies that may still be in flight, if any belongs to the tiles.
    #[doc(hidden)]
    const PENDING: usize;
    /// # Safety
    /// Each thread's part was filled before a barrier that all have passed.
    #[doc(hidden)]
    unsafe fn shared(self) -> Self::Shared;
}

/// Tiles that all threads read.
#[diagnostic::on_unimplemented(
    message = "only shared tiles are reused, not `{Self}`",
    label = "not a shared tile",
    note = "a tile is filled, then shared, then reused"
)]
pub trait Reuse: Sealed {
    /// The tiles in the phase `Empty`.
    type Empty;
    /// # Safety
    /// Each thread's reading was done before a barrier that all have passed.
    #[doc(hidden)]
    unsafe fn empty(self) -> Self::Empty;
}

impl<T, const ROWS: usize, const COLS: usize, L, P> Sealed for Tile<T, ROWS, COLS, L, P> {}

macro_rules! phases {
    ($($trait:ident: $from:ident -> $name:ident = $to:ident $({ $($item:item)* })?;)*) => {$(
        impl<T: Element, const ROWS: usize, const COLS: usize, L: Layout<ROWS, COLS>> $trait
            for Tile<T, ROWS, COLS, L, $from>
        {
            type $to = Tile<T, ROWS, COLS, L, $to>;
            $($($item)*)?
            #[inline(always)]
            unsafe fn $name(self) -> Self::$to {
                // SAFETY: the caller's promise.
                unsafe { Tile::from_raw(self.first()) }
            }
        }
    )*};
}
phases! {
    Share: Filled -> shared = Shared { const PENDING: usize = NO_COPIES; };
    Share: Counting -> shared = Shared { const PENDING: usize = NO_COPIES; };
    Reuse: Shared -> empty = Empty;
}

/// The least number of them.
const fn least(mut numbers: &[usize]) -> usize {
    let mut least = NO_COPIES;
    while let [first, rest @ ..] = numbers {
        if *first < least {
            least = *first;
        }
        numbers = rest;
    }
    least
}

macro_rules! tuples {
    ($($tile:ident),+) => {
        impl<$($tile: Sealed),+> Sealed for ($($tile,)+) {}

        impl<$($tile: Share),+> Share for ($($tile,)+) {
            type Shared = ($($tile::Shared,)+);
            const PENDING: usize = least(&[$($tile::PENDING),+]);
            #[inline(always)]
            #[allow(non_snake_case)]
            unsafe fn shared(self) -> Self::Shared {
                let ($($tile,)+) = self;
                // SAFETY: the caller's promise.
                unsafe { ($($tile.shared(),)+) }
            }
        }

        impl<$($tile: Reuse),+> Reuse for ($($tile,)+) {
            type Empty = ($($tile::Empty,)+);
            #[inline(always)]
            #[allow(non_snake_case)]
            unsafe fn empty(self) -> Self::Empty {
                let ($($tile,)+) = self;
                // SAFETY: the caller's promise.
                unsafe { ($($tile.empty(),)+) }
            }
        }
    };
}
tuples!(A);
tuples!(A, B);
tuples!(A, B, C);
tuples!(A, B, C, D);
