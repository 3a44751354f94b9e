//! The product of a Hopper: a block computes 128 × 256 elements of C at a time, or fewer columns; clusters share what
//! they read.
//!
//! - One elected thread starts the tensor copies (TMA) of A and B, several stages of 128 bytes of k ahead; the tensor map
//!   says how lines lie, and fills with zeros what is beyond the matrix.
//! - Two warpgroups multiply, 64 rows each: up to 128 sums a thread. While a product runs, its warpgroup already waits for the
//!   next stage; only when that product has been started does it give back the stage before.
//! - The two blocks of a cluster compute tiles one below the other and share B, or side by side and share A. Each copies half
//!   of what they share for both: a third less is read from L2.
//! - Blocks stay, and go from tile to tile: while a tile is stored, the copies for the next are under way, and as one
//!   warpgroup stores, the other has the tensor cores. Where tiles do not come out even, some are shared ([`super::work`]).
//! - The copying warpgroup needs few registers and gives the rest to those that multiply (`setmaxnreg`).
//!
//! `product`'s parameters, for a cluster of `CM` × `CN` blocks:
//!
//! ```text
//!             N columns      N columns
//!           ┌────────────┬────────────┐          T  element type: f16, bf16, tf32 or s8
//!   M rows  │ block 0    │ block CM   │ ┐        A  how A lies: k along its lines (KMajor) or across (MnMajor)
//!           ├────────────┼────────────┤ │ CM     B  how B lies
//!   M rows  │ block 1    │ block CM+1 │ ┘        W  room in registers for a tile that is stored late: words a thread
//!           └────────────┴────────────┘          S  stages of (M + N) × 128 bytes in each block's shared memory
//!            └──────── CN ───────────┘
//!   warpgroup 0: TMA → stage s = 0 … S−1 → warpgroups 1 … M/64: 64 × N sums each → C
//! ```

use cuda_std::prelude::*;
use half::{bf16, f16};
use tile::hopper::{
    KMajor, KTile, Major, MnMajor, Multiply, PANEL_LINES, PanelMap, RingState, SharedAddress, Sums, Tf32,
    admit_next_grid, await_previous_grid, cluster, give_registers, in_one_thread, sync_group, take_registers,
    warp_of_block,
};

use super::HopperGemm;
use super::block::{BlockMemory, ClusterBlock, Form, consumers};
use super::epilogue::{Epilogue, Narrow, OutputMap, Packed};
use super::parts::PartialSums;
use super::work::Split;
#[cfg(feature = "host")]
use crate::choice::{Transposed, UseKernel};

/// Two blocks one below the other share B.
pub const PAIRS: Form = Form { m: 128, n: 256, stages: 4, down: 2, across: 1 };
/// The same tiles, without clusters.
pub const ALONE: Form = Form { down: 1, ..PAIRS };
/// Two blocks side by side share A.
pub const WIDE_192: Form = Form { m: 128, n: 192, stages: 4, down: 1, across: 2 };
/// The same with 128 columns, for a smaller C.
pub const WIDE_128: Form = Form { n: 128, stages: 6, ..WIDE_192 };
/// Two blocks side by side with 64 columns each, for a small C.
pub const WIDE_64: Form = Form { n: 64, stages: 8, ..WIDE_192 };
/// Two blocks side by side with 64 × 64 elements each, for the smallest C, or one of few rows.
pub const SMALL: Form = Form { m: 64, n: 64, stages: 12, down: 1, across: 2 };
/// The same one below the other, for few columns.
pub const SMALL_DOWN: Form = Form { down: 2, across: 1, ..SMALL };

/// Steps after those that fill the ring that a small product has fetched into L2 at once, each by one of the clusters that
/// will need it: memory answers in 1.4 µs, which a product of 16 steps waits for twice. At 1024 it gains 3 %; with 192 columns
/// nothing, and where tiles are shared it loses 5 %.
const AHEAD: u32 = 8;

/// The product.
///
/// # Safety
/// As the kernels below.
#[inline(always)]
unsafe fn product<T, A, B, W, const M: u32, const N: u32, const S: u32, const CM: u32, const CN: u32>(
    (p, split): (HopperGemm, Split),
    a: &PanelMap<T>,
    b: &PanelMap<T>,
    c: &OutputMap,
    parts: *mut u32,
) where
    T: Multiply<N, Sums: Sums<Sum = T::Sum>> + Narrow,
    A: Major<T>,
    B: Major<T>,
    W: Packed,
{
    let place = ClusterBlock::<M, N, CM, CN>::new(p, split);
    let room = BlockMemory::<M, N, S> { stages: SharedAddress::dynamic() };
    let ring = room.ring();
    let warp = warp_of_block();
    // SAFETY: shared memory is as large as `shared_bytes` says, every part of it is used as its type says, and roles
    // are whole warpgroups.
    unsafe {
        if warp == 0 && in_one_thread() {
            a.prefetch();
            b.prefetch();
            c.prefetch();
            ring.init(consumers(M) * ClusterBlock::<M, N, CM, CN>::PARTNERS);
            for warp in 0..consumers(M) {
                cuda_std::unroll!(full);
                room.loaded(warp).init(1);
            }
            cluster::publish_barriers();
        }
        if CM * CN > 1 {
            cluster::sync_barriers();
        } else {
            thread::sync_threads();
        }
        // All that was before ran beside the end of the grid before this one.
        admit_next_grid();
        await_previous_grid();
        if warp < 4 {
            if N > 64 {
                give_registers::<40>();
            }
            if warp == 0 && in_one_thread() {
                produce::<T, A, B, M, N, S, CM, CN>(place, a, b, &room);
            }
        } else {
            // 32 sums a thread fit in what each has anyway.
            if N > 64 {
                take_registers::<232>();
            }
            // Every warp that multiplies has room for its sums.
            let parts = PartialSums::at(parts, thread::grid_dim_x() * consumers(M));
            consume::<T, A, B, W, M, N, S, CM, CN>(place, c, &room, parts, warp - 4);
        }
    }
}

/// A block's copies of an operand, for itself and for the others that share it.
#[derive(Clone, Copy)]
struct Share {
    first: u32,
    panels: u32,
    /// In which steps, where there are fewer panels than blocks: it takes turns with this number.
    turns: u32,
    turn: u32,
}

impl Share {
    /// That of the block with number `block` of `BLOCKS` that share `LINES` lines.
    #[inline(always)]
    fn of<const LINES: u32, const BLOCKS: u32>(block: u32) -> Self {
        let all = LINES / PANEL_LINES;
        const {
            assert!(
                (LINES / PANEL_LINES).is_multiple_of(BLOCKS) || BLOCKS.is_multiple_of(LINES / PANEL_LINES)
            )
        }
        if all >= BLOCKS {
            let panels = all / BLOCKS;
            Self { first: block * panels, panels, turns: 1, turn: 0 }
        } else {
            Self { first: block % all, panels: 1, turns: BLOCKS / all, turn: block / all }
        }
    }

    /// Whether it copies in this step.
    #[inline(always)]
    fn has(self, step: u32) -> bool {
        self.turns == 1 || step % self.turns == self.turn
    }
}

/// Where a tile would have to begin for its panel `panel` to be the matrix's first, if the panel is beyond the matrix; else
/// `first`.
///
/// Products there are not stored, so any numbers will do; but the zeros that a copy fills in for what is not there
/// take it longer than numbers: 1408 columns, of which the last block has none, took 9 % longer.
#[inline(always)]
fn inside(first: u32, panel: u32, extent: u32) -> u32 {
    if first + panel * PANEL_LINES < extent { first } else { 0u32.wrapping_sub(panel * PANEL_LINES) }
}

/// One thread starts all copies of its block.
#[inline(always)]
unsafe fn produce<T, A, B, const M: u32, const N: u32, const S: u32, const CM: u32, const CN: u32>(
    place: ClusterBlock<M, N, CM, CN>,
    a: &PanelMap<T>,
    b: &PanelMap<T>,
    room: &BlockMemory<M, N, S>,
) where
    T: Multiply<N>,
    A: Major<T>,
    B: Major<T>,
{
    let ring = room.ring();
    let (share_a, share_b) = (Share::of::<M, CN>(place.across), Share::of::<N, CM>(place.down()));
    let (to_row, to_column) = place.masks();
    let mut turn = RingState::<S>::default();
    // At least 1: a division by zero would be checked for.
    let (tiles_down, tiles_across) = (place.tiles().0.max(1), place.tiles().1.max(1));
    let mut fetch = N <= 128 && place.shares_no_tile();
    for work in place.works::<T>() {
        let (row, col) = place.first(work.row, work.col);
        let mut k = work.from * KTile::<T, A, M>::DEPTH;
        for step in work.from..work.to {
            // SAFETY: the stage is empty in all blocks that these copies reach: their consumers arrived here.
            unsafe {
                let (to_a, to_b) = room.stage::<T, A, B>(turn.stage);
                let full = ring.full(turn.stage);
                ring.empty(turn.stage).wait(turn.parity ^ 1);
                // All that lands here, from any block.
                full.arrive_expecting(BlockMemory::<M, N, S>::STAGE - place.p.short);
                if share_a.has(step) {
                    for i in 0..share_a.panels {
                        cuda_std::unroll!(full);
                        let panel = share_a.first + i;
                        to_a.load_panel(a, panel, (inside(row, panel, place.p.m), k), full, to_row);
                    }
                }
                if share_b.has(step) {
                    for i in 0..share_b.panels {
                        cuda_std::unroll!(full);
                        let panel = share_b.first + i;
                        to_b.load_panel(b, panel, (inside(col, panel, place.p.n), k), full, to_column);
                    }
                }
            }
            if fetch && step == work.from + S - 1 {
                fetch = false;
                // SAFETY: the copies' own places.
                unsafe {
                    for next in step + 1..work.to.min(step + 1 + AHEAD) {
                        cuda_std::unroll!(none);
                        let k = next * KTile::<T, A, M>::DEPTH;
                        if next % tiles_across == work.col && share_a.has(next) {
                            for panel in 0..share_a.panels {
                                KTile::<T, A, M>::prefetch_panel(a, share_a.first + panel, (row, k));
                            }
                        }
                        if next % tiles_down == work.row && share_b.has(next) {
                            for panel in 0..share_b.panels {
                                KTile::<T, B, N>::prefetch_panel(b, share_b.first + panel, (col, k));
                            }
                        }
                    }
                }
            }
            turn.advance();
            k += KTile::<T, A, M>::DEPTH;
        }
    }
    if CM * CN > 1 {
        // SAFETY: every stage was waited for above.
        unsafe { ring.drain(turn) };
    }
}

/// A warpgroup multiplies 64 rows and stores them.
#[inline(always)]
unsafe fn consume<T, A, B, W, const M: u32, const N: u32, const S: u32, const CM: u32, const CN: u32>(
    place: ClusterBlock<M, N, CM, CN>,
    c: &OutputMap,
    room: &BlockMemory<M, N, S>,
    parts: PartialSums,
    warp: u32,
) where
    T: Multiply<N, Sums: Sums<Sum = T::Sum>> + Narrow,
    A: Major<T>,
    B: Major<T>,
    W: Packed,
{
    let steps = place.steps::<T>();
    let pieces = N / 64;
    const { assert!(S >= N / 64, "the last tile is stored through the stages") }
    let ring = room.ring();
    let lane = cuda_std::warp::lane_id();
    let half = warp / 4 * 64;
    // A stage is given back to every block that copies into it: a lane for each.
    let partner = place.partner(lane);
    let give_back = |stage: u32| {
        // SAFETY: this warp arrives once for each stage that it was given.
        unsafe {
            if CM * CN == 1 && lane == 0 {
                ring.empty(stage).arrive();
            } else if CM * CN > 1 && lane < ClusterBlock::<M, N, CM, CN>::PARTNERS {
                ring.empty(stage).arrive_at(partner);
            }
        }
    };
    let mut epilogue = Epilogue::new(c, place.p, room.staging(warp), room.loaded(warp));
    let deferred = epilogue.can_defer::<T>() && W::COUNT > 0 && steps >= pieces;
    let mut turn = RingState::<S>::default();
    let mut sums = T::Sums::ZERO;
    // What is left of the tile before: its sums, and where they go.
    let mut packed = W::EMPTY;
    let (mut old_row, mut old_col) = (0, 0);
    let mut left = pieces;
    let this_cluster = thread::block_idx_x() / (CM * CN);
    let mut works = place.works::<T>();
    // A tile without steps, below C, where nothing is stored: while the first stage is on its way, the instructions that
    // store come into the cache. Large tiles would take longer for it than the stage. M is not 0, which the compiler
    // does not know: it would make a second copy of those instructions.
    let mut rehearse = W::COUNT == 0 && N <= 64 && place.p.m > 0;
    loop {
        let work = if rehearse { Some(place.below::<T>(this_cluster)) } else { works.next() };
        let Some(work) = work else { break };
        rehearse = false;
        let mut before = 0;
        for step in work.from..work.to {
            let keep = step > work.from;
            // SAFETY: four warps of a group; the stage is full.
            unsafe {
                ring.full(turn.stage).wait(turn.parity);
                let (tile_a, tile_b) = room.stage::<T, A, B>(turn.stage);
                T::multiply(&mut sums, tile_a.part(half), tile_b.whole(), keep);
            }
            if keep {
                give_back(before);
            }
            before = turn.stage;
            turn.advance();
            // While this product runs, a piece of the tile before is stored.
            if W::COUNT > 0 && left < pieces {
                // SAFETY: whole warps come here.
                unsafe {
                    match left {
                        1 if N > 128 => epilogue.store_packed(1, &packed, old_row, old_col),
                        2 if N > 192 => epilogue.store_packed(2, &packed, old_row, old_col),
                        _ => epilogue.store_packed(N as usize / 64 - 1, &packed, old_row, old_col),
                    }
                }
                left += 1;
            }
        }
        // SAFETY: four warps of a group.
        unsafe { T::finish(&mut sums) };
        // But for the rehearsal, `before` is a stage.
        if work.from < work.to {
            give_back(before);
        }
        // The same warp of the same block of another cluster.
        let of_cluster = |cluster: u32| place.counterpart(cluster) * consumers(M) + warp;
        // SAFETY: the product is finished, and whole warps come here.
        unsafe {
            if work.to < steps {
                parts.leave(of_cluster(this_cluster), &sums);
                continue;
            }
            if work.from > 0 {
                let stride = CM * CN * consumers(M);
                parts.add(of_cluster(work.first), stride, this_cluster - work.first, &mut sums);
            }
        }
        let (row, col) = place.first(work.row, work.col);
        let first = row + half + warp % 4 * 16;
        // SAFETY: the product is finished.
        unsafe {
            if deferred {
                // The first piece goes at once: what is kept beside the next sums must fit in the registers.
                epilogue.store_first::<T, T::Sums>(&sums, first, col);
                packed = epilogue.pack::<T, T::Sums, W>(&sums, 1);
                (old_row, old_col, left) = (first, col, 1);
            } else {
                epilogue.store::<T, T::Sums>(&sums, first, col);
            }
        }
    }
    // SAFETY: whole warps come here.
    unsafe {
        // No copy lands any more, so the last tile goes through the stages: this warpgroup's part of A in each, once its
        // four warps have done with it.
        if W::COUNT > 0 && left == 1 {
            sync_group::<128>(1 + warp / 4);
            let own = room.stages.plus((half + warp % 4 * 16) * 128);
            epilogue.store_rest_through((own, BlockMemory::<M, N, S>::STAGE), &packed, old_row, old_col);
        }
    }
    epilogue.finish();
}

/// A type that is multiplied, and its kernels.
#[cfg(feature = "host")]
pub trait Family: tile::hopper::Element {
    const KERNELS: &'static [cuda_std::Description];
    /// Uses the kernel of a form for operands that are stored so, if there is one.
    fn choose<R>(form: Form, transposed: Transposed, user: impl UseKernel<Signature<Self>, R>) -> Option<R>;
}

/// The signature of kernels that multiply elements of type `T`.
pub type Signature<T> = fn(HopperGemm, Split, PanelMap<T>, PanelMap<T>, OutputMap, *mut u32);

// What a letter of a layout means for A and for B.
type LayoutAn = KMajor;
type LayoutAt = MnMajor;
type LayoutBn = MnMajor;
type LayoutBt = KMajor;
/// And whether it is stored as its transpose.
macro_rules! transposed {
    (n) => {
        false
    };
    (t) => {
        true
    };
}

macro_rules! kernels {
    ($($t:ident $type:ident),*: $forms:tt) => { $(kernels! { @type $t $type $forms })* };
    (@type $t:ident $type:ident {$(
        $form:ident $suffix:tt: $blocks:literal blocks, $threads:literal threads, $packed:literal words,
        layouts $($a:ident $b:ident),*;
    )*}) => { pastey::paste! {
        $($(
            /// C = alpha · A · B + beta · C, as the module says.
            ///
            /// # Safety
            /// The maps describe A, B and C as `p` does; `p.k` is not 0; the launch has the form's dynamic shared memory, and
            /// whole clusters. If tiles are shared, all their steps are dealt out, none of them twice to one cluster, and
            /// `parts` is [`PartialSums`]' room for all blocks' warps.
            #[kernel]
            #[block_dim($threads, 1, 1)]
            #[cluster_dim($blocks, 1, 1)]
            pub unsafe fn [<hopper_ $type _ $a $b $suffix>](
                p: HopperGemm,
                split: Split,
                #[grid_constant] a: &PanelMap<$t>,
                #[grid_constant] b: &PanelMap<$t>,
                #[grid_constant] c: &OutputMap,
                parts: *mut u32,
            ) {
                const { assert!($form.blocks() == $blocks && $form.threads() == $threads) }
                // SAFETY: the kernel's own contract.
                unsafe {
                    product::<
                        $t, [<LayoutA $a>], [<LayoutB $b>], [u32; $packed],
                        { $form.m }, { $form.n }, { $form.stages }, { $form.down }, { $form.across },
                    >((p, split), a, b, c, parts)
                }
            }
        )*)*

        #[cfg(feature = "host")]
        impl Family for $t {
            const KERNELS: &'static [cuda_std::Description] =
                &[$($(cuda_std::Description::of::<[<hopper_ $type _ $a $b $suffix>]>()),*),*];

            fn choose<R>(form: Form, transposed: Transposed, user: impl UseKernel<Signature<$t>, R>) -> Option<R> {
                Some(match (form, transposed) {
                    $($(
                        ($form, (transposed!($a), transposed!($b))) => {
                            user.with::<[<hopper_ $type _ $a $b $suffix>]>()
                        }
                    )*)*
                    _ => return None,
                })
            }
        }
    } };
}
kernels! { f16 f16, bf16 bf16: {
    PAIRS "": 2 blocks, 384 threads, 48 words, layouts n n, n t, t n, t t;
    ALONE "_alone": 1 blocks, 384 threads, 48 words, layouts n n, n t, t n, t t;
    WIDE_192 "_192": 2 blocks, 384 threads, 32 words, layouts n n, n t, t n, t t;
    WIDE_128 "_128": 2 blocks, 384 threads, 16 words, layouts n n, n t, t n, t t;
    WIDE_64 "_64": 2 blocks, 384 threads, 0 words, layouts n n, n t, t n, t t;
    SMALL "_small": 2 blocks, 256 threads, 0 words, layouts n n, n t, t n, t t;
    SMALL_DOWN "_small_down": 2 blocks, 256 threads, 0 words, layouts n n, n t, t n, t t;
} }
// Sums of 32 bits are not packed.
kernels! { Tf32 tf32, i8 s8: {
    PAIRS "": 2 blocks, 384 threads, 0 words, layouts n t;
    WIDE_128 "_128": 2 blocks, 384 threads, 0 words, layouts n t;
    WIDE_64 "_64": 2 blocks, 384 threads, 0 words, layouts n t;
} }
