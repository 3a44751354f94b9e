//! Outputs of kernels: memory that is divided among blocks and threads by a map, so that each element has one owner.
//!
//! The map is part of the parameter's type. So there is one map for one output, the host knows the grid that it asks for, and
//! the launch refuses another one.

/// The methods that write outputs: a line for each map, with a thread's view of an element's place, and the walk by which a
/// thread comes by its own elements. `visit` takes that and the element's place in the output.
macro_rules! writes {
    ($output:ident: $(impl[$($generics:tt)*] $map:ty, $at:ty: |$block:ident, $t:ident, $extent:pat_param, $visit:ident| $walk:expr;)*) => {$(
        impl<T: Element, $($generics)*> $output<T, $map> {
            /// Each thread writes its own elements, from their places. Beyond the output nothing is computed.
            ///
            /// The closure is given an element's index in the slice; in a matrix its row and column *within the block's tile*, as
            /// a tile's own closures are: `block.y()` and `block.x()` say how many tiles come before.
            #[inline(always)]
            pub fn write<const W: usize, const H: usize, const D: usize>(
                &mut self,
                block: &Block<W, H, D>,
                element: impl for<'t> Fn(Thread<'t, W, H, D>, $at) -> T + Sync,
            ) {
                self.visit(block, |place, t, at| {
                    let value = element(t, at);
                    // SAFETY: the element is this thread's own.
                    unsafe { *place = value };
                });
            }

            /// As [`write`](Self::write); elements for which there is nothing stay what they were.
            #[inline(always)]
            pub fn write_some<const W: usize, const H: usize, const D: usize>(
                &mut self,
                block: &Block<W, H, D>,
                element: impl for<'t> Fn(Thread<'t, W, H, D>, $at) -> Option<T> + Sync,
            ) {
                self.visit(block, |place, t, at| {
                    if let Some(value) = element(t, at) {
                        // SAFETY: as above.
                        unsafe { *place = value };
                    }
                });
            }

            /// Each thread replaces its own elements, from their places and what they were.
            #[inline(always)]
            pub fn update<const W: usize, const H: usize, const D: usize>(
                &mut self,
                block: &Block<W, H, D>,
                element: impl for<'t> Fn(Thread<'t, W, H, D>, $at, T) -> T + Sync,
            ) {
                self.visit(block, |place, t, at| {
                    // SAFETY: as above.
                    unsafe { *place = element(t, at, *place) };
                });
            }

            /// Comes by each element that is this thread's own.
            #[inline(always)]
            fn visit<'b, const W: usize, const H: usize, const D: usize>(
                &mut self,
                $block: &'b Block<W, H, D>,
                mut then: impl FnMut(*mut T, Thread<'b, W, H, D>, $at),
            ) {
                let ($t, $extent) = ($block.thread(), self.extent());
                let mut $visit = |at, place| {
                    if let Some(place) = self.place(place) {
                        then(place, $t, at);
                    }
                };
                $walk;
            }
        }
    )*};
}

mod matrix;
mod slice;

pub use matrix::{MatrixMut, Mirrored, Registers, Rows, Tiles, Turned};
pub use sealed::Sealed;
pub use slice::{OneEach, Part, SliceMut, Strided};

mod sealed {
    /// Keeps the maps to this crate.
    pub trait Sealed {}
}
