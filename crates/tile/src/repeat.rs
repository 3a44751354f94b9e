//! A loop whose counter is a constant.

/// Repeats a block with a constant counter: `repeat!(for I in 0..4 { … })`, up to 2, 4, 8 or 16.
///
/// An array that it indexes stays in registers whatever the optimiser thinks of the loop's size, and the counter may stand
/// where only a constant can: in a type, or in the offset of an instruction. Where that is not needed, use
/// `cuda_std::unroll!(full)` in an ordinary loop.
///
/// ```
/// let mut sums = [0; 4];
/// tile::repeat!(for I in 0..4 { sums[I] += I });
/// assert_eq!(sums, [0, 1, 2, 3]);
/// ```
#[macro_export]
macro_rules! repeat {
    (for $i:ident in 0..2 $body:block) => { $crate::repeat!(@ $i $body 0 1) };
    (for $i:ident in 0..4 $body:block) => { $crate::repeat!(@ $i $body 0 1 2 3) };
    (for $i:ident in 0..8 $body:block) => { $crate::repeat!(@ $i $body 0 1 2 3 4 5 6 7) };
    (for $i:ident in 0..16 $body:block) => { $crate::repeat!(@ $i $body 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15) };
    (@ $i:ident $body:block $($n:literal)*) => { $({ #[allow(dead_code)] const $i: usize = $n; $body })* };
}
