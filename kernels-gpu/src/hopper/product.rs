//! The product of a Hopper: a block computes 128 × 256 elements of C at a time, two blocks share B.
//!
//! - One thread starts the copies of A and B, four stages of 64 steps of k ahead; the tensor map says how lines lie, and
//!   fills with zeros what is beyond the matrix.
//! - Two warpgroups multiply, 64 rows each: 128 sums a thread. While a product runs, its warpgroup already waits for the
//!   next stage; only when that product has been started does it give back the stage before.
//! - The two blocks of a cluster compute tiles one below the other. Each copies half of B for both: a third less is read
//!   from L2.
//! - Blocks stay, and go from tile to tile: while a tile is stored, the copies for the next are under way, and as one
//!   warpgroup stores, the other has the tensor cores.
//! - The copying warpgroup needs few registers and gives the rest to those that multiply.

use cuda_std::prelude::*;
use half::{bf16, f16};
use tile::hopper::{
    Barrier, Element, KMajor, KTile, Major, MnMajor, Multiply, PANEL_LINES, PanelMap, Ring, SharedAddress,
    Sums, Tf32, Turn, admit_next_grid, await_previous_grid, cluster, give_registers, in_one_thread,
    sync_group, take_registers, warp_of_block,
};

use super::HopperGemm;
use super::epilogue::{Epilogue, Narrow, OutputMap, Packed, STAGING};
use super::raster::Raster;

/// Rows of C a block computes.
pub const BLOCK_M: u32 = 128;
/// Columns of C a block computes.
pub const BLOCK_N: u32 = 256;
/// Threads of a block: three warpgroups.
pub const THREADS: u32 = 384;
/// Blocks of a cluster.
pub const CLUSTER: u32 = 2;
const STAGES: u32 = 4;
/// Warps that multiply.
const CONSUMERS: u32 = 8;

/// Bytes of dynamic shared memory of a block that computes `BLOCK_M` × `n` elements with `stages` stages.
pub const fn shared_bytes(n: u32, stages: u32) -> u32 {
    // 1024 to align the first stage.
    1024 + stages * (BLOCK_M + n) * 128 + CONSUMERS * STAGING + (2 * stages + CONSUMERS) * Barrier::BYTES
}

/// Bytes of dynamic shared memory of [`BLOCK_N`]'s kernels.
pub const SHARED_BYTES: u32 = shared_bytes(BLOCK_N, STAGES);

/// Where everything lies in shared memory.
struct Room<const N: u32, const S: u32> {
    stages: SharedAddress,
}

impl<const N: u32, const S: u32> Room<N, S> {
    const STAGE: u32 = (BLOCK_M + N) * 128;

    /// A's and B's part of a stage.
    #[inline(always)]
    fn stage<T: Element, A: Major<T>, B: Major<T>>(
        &self,
        stage: u32,
    ) -> (KTile<T, A, BLOCK_M>, KTile<T, B, N>) {
        let first = self.stages.plus(stage * Self::STAGE);
        // SAFETY: every stage is a multiple of 1024 bytes, and begins at one.
        unsafe { (KTile::at(first), KTile::at(first.plus(BLOCK_M * 128))) }
    }

    #[inline(always)]
    fn staging(&self, warp: u32) -> SharedAddress {
        self.stages.plus(S * Self::STAGE + warp * STAGING)
    }

    #[inline(always)]
    fn barriers(&self) -> SharedAddress {
        self.stages.plus(S * Self::STAGE + CONSUMERS * STAGING)
    }

    #[inline(always)]
    fn ring(&self) -> Ring<S> {
        // SAFETY: room for the barriers, at a multiple of 8.
        unsafe { Ring::at(self.barriers()) }
    }

    /// The barrier of a warp's epilogue.
    #[inline(always)]
    fn loaded(&self, warp: u32) -> Barrier {
        // SAFETY: room for a barrier of each warp, at a multiple of 8.
        unsafe { Barrier::at(self.barriers().plus(Ring::<S>::BYTES + warp * Barrier::BYTES)) }
    }
}

/// The form of a product: a block computes `BLOCK_M` × `N` elements with `S` stages; a cluster has `CM` blocks one below
/// the other, which share B, and `CN` side by side, which share A.
#[derive(Clone, Copy)]
struct Form<const N: u32, const S: u32, const CM: u32, const CN: u32> {
    p: HopperGemm,
    /// This block's place in its cluster.
    down: u32,
    across: u32,
}

impl<const N: u32, const S: u32, const CM: u32, const CN: u32> Form<N, S, CM, CN> {
    const BLOCKS: u32 = CM * CN;
    /// Blocks that copy into a block's stages, itself included; also those that it copies into.
    const PARTNERS: u32 = CM + CN - 1;

    #[inline(always)]
    fn new(p: HopperGemm) -> Self {
        let rank = if Self::BLOCKS > 1 { cluster::rank() } else { 0 };
        Self { p, down: rank % CM, across: rank / CM }
    }

    /// The tiles of this block, in order: row and column of its first element.
    #[inline(always)]
    fn tiles(self) -> impl Iterator<Item = (u32, u32)> {
        let raster = Raster::new(self.p, BLOCK_M * CM, N * CN);
        let (mut tile, step) = (thread::block_idx_x() / Self::BLOCKS, thread::grid_dim_x() / Self::BLOCKS);
        core::iter::from_fn(move || {
            if tile >= raster.tiles() {
                return None;
            }
            let (row, col) = raster.place(tile);
            tile += step;
            Some(((row * CM + self.down) * BLOCK_M, (col * CN + self.across) * N))
        })
    }

    /// The rank of a block.
    #[inline(always)]
    fn rank(down: u32, across: u32) -> u32 {
        across * CM + down
    }

    /// The block with number `index` of those that copy into this block's stages.
    #[inline(always)]
    fn partner(self, index: u32) -> u32 {
        if index < CM {
            return Self::rank(index, self.across);
        }
        let other = index - CM;
        Self::rank(self.down, if other < self.across { other } else { other + 1 })
    }

    /// The blocks that share A, and those that share B.
    #[inline(always)]
    fn masks(self) -> (Option<u16>, Option<u16>) {
        let row = (0..CN).fold(0, |mask, across| mask | 1 << Self::rank(0, across));
        let column = (1 << CM) - 1;
        (
            if CN > 1 { Some(row << self.down) } else { None },
            if CM > 1 { Some(column << Self::rank(0, self.across)) } else { None },
        )
    }
}

/// The product.
///
/// # Safety
/// As the kernels below.
#[inline(always)]
unsafe fn product<T, A, B, W, const N: u32, const S: u32, const CM: u32, const CN: u32>(
    p: HopperGemm,
    a: &PanelMap<T>,
    b: &PanelMap<T>,
    c: &OutputMap,
) where
    T: Multiply<N, Sums: Sums<Sum = T::Sum>> + Narrow,
    A: Major<T>,
    B: Major<T>,
    W: Packed,
{
    let form = Form::<N, S, CM, CN>::new(p);
    let room = Room::<N, S> { stages: SharedAddress::dynamic() };
    let ring = room.ring();
    let warp = warp_of_block();
    // SAFETY: shared memory is as large as `shared_bytes` says, every part of it is used as its type says, and roles
    // are whole warpgroups.
    unsafe {
        if warp == 0 && in_one_thread() {
            a.prefetch();
            b.prefetch();
            c.prefetch();
            ring.init(CONSUMERS * Form::<N, S, CM, CN>::PARTNERS);
            for warp in 0..CONSUMERS {
                cuda_std::unroll!(full);
                room.loaded(warp).init(1);
            }
            cluster::publish_barriers();
        }
        if CM * CN > 1 {
            cluster::sync();
        } else {
            thread::sync_threads();
        }
        // All that was before ran beside the end of the grid before this one.
        admit_next_grid();
        await_previous_grid();
        if warp < 4 {
            give_registers::<24>();
            if warp == 0 && in_one_thread() {
                produce::<T, A, B, N, S, CM, CN>(form, a, b, &room);
            }
            if CM * CN > 1 {
                cluster::begin_leaving();
            }
        } else {
            take_registers::<240>();
            consume::<T, A, B, W, N, S, CM, CN>(form, c, &room, warp - 4);
        }
        if CM * CN > 1 {
            cluster::wait_leaving();
        }
    }
}

/// One thread starts all copies of its block.
#[inline(always)]
unsafe fn produce<T, A, B, const N: u32, const S: u32, const CM: u32, const CN: u32>(
    form: Form<N, S, CM, CN>,
    a: &PanelMap<T>,
    b: &PanelMap<T>,
    room: &Room<N, S>,
) where
    T: Multiply<N>,
    A: Major<T>,
    B: Major<T>,
{
    const {
        assert!((BLOCK_M / PANEL_LINES).is_multiple_of(CN) && (N / PANEL_LINES).is_multiple_of(CM));
    }
    let ring = room.ring();
    let (share_a, share_b) = (BLOCK_M / PANEL_LINES / CN, N / PANEL_LINES / CM);
    let (first_a, first_b) = (form.across * share_a, form.down * share_b);
    let (to_row, to_column) = form.masks();
    let mut turn = Turn::<S>::default();
    for (row, col) in form.tiles() {
        let mut k = 0;
        while k < form.p.k {
            // SAFETY: the stage is empty in all blocks that these copies reach: their consumers arrived here.
            unsafe {
                let (to_a, to_b) = room.stage::<T, A, B>(turn.stage);
                let full = ring.full(turn.stage);
                ring.empty(turn.stage).wait(turn.parity ^ 1);
                // All that lands here, whoever copies it.
                full.arrive_expecting(Room::<N, S>::STAGE);
                for panel in 0..share_a {
                    cuda_std::unroll!(full);
                    to_a.load_panel(a, first_a + panel, (row, k), full, to_row);
                }
                for panel in 0..share_b {
                    cuda_std::unroll!(full);
                    to_b.load_panel(b, first_b + panel, (col, k), full, to_column);
                }
            }
            turn.advance();
            k += KTile::<T, A, BLOCK_M>::DEPTH;
        }
    }
}

/// A warpgroup multiplies 64 rows and stores them.
#[inline(always)]
unsafe fn consume<T, A, B, W, const N: u32, const S: u32, const CM: u32, const CN: u32>(
    form: Form<N, S, CM, CN>,
    c: &OutputMap,
    room: &Room<N, S>,
    warp: u32,
) where
    T: Multiply<N, Sums: Sums<Sum = T::Sum>> + Narrow,
    A: Major<T>,
    B: Major<T>,
    W: Packed,
{
    let depth = KTile::<T, A, BLOCK_M>::DEPTH;
    let pieces = N / 64;
    const { assert!(S >= N / 64, "the last tile is stored through the stages") }
    let ring = room.ring();
    let lane = cuda_std::warp::lane_id();
    let half = warp / 4 * 64;
    // A stage is given back to every block that copies into it: a lane for each.
    let partner = form.partner(lane);
    let give_back = |stage: u32| {
        // SAFETY: this warp arrives once for each stage that it was given.
        unsafe {
            if CM * CN == 1 && lane == 0 {
                ring.empty(stage).arrive();
            } else if CM * CN > 1 && lane < Form::<N, S, CM, CN>::PARTNERS {
                ring.empty(stage).arrive_at(partner);
            }
        }
    };
    let mut epilogue = Epilogue::new(c, form.p, room.staging(warp), room.loaded(warp));
    let deferred = epilogue.can_defer::<T>() && form.p.k > (pieces - 1) * depth;
    let mut turn = Turn::<S>::default();
    let mut sums = T::Sums::ZERO;
    // What is left of the tile before: its sums, and where they go.
    let mut packed = W::EMPTY;
    let (mut old_row, mut old_col) = (0, 0);
    let mut left = pieces;
    for (row, col) in form.tiles() {
        let mut k = 0;
        let mut before = 0;
        while k < form.p.k {
            // SAFETY: four warps of a group; the stage is full.
            unsafe {
                ring.full(turn.stage).wait(turn.parity);
                let (tile_a, tile_b) = room.stage::<T, A, B>(turn.stage);
                T::multiply(&mut sums, tile_a.descriptor(half), tile_b.descriptor(0), k > 0);
            }
            if k > 0 {
                give_back(before);
            }
            before = turn.stage;
            turn.advance();
            k += depth;
            // While this product runs, a piece of the tile before is stored.
            if left < pieces {
                // SAFETY: whole warps come here.
                unsafe {
                    match left {
                        0 => epilogue.store_packed(0, &packed, old_row, old_col),
                        1 => epilogue.store_packed(1, &packed, old_row, old_col),
                        2 => epilogue.store_packed(2, &packed, old_row, old_col),
                        _ => epilogue.store_packed(3, &packed, old_row, old_col),
                    }
                }
                left += 1;
            }
        }
        // SAFETY: four warps of a group.
        unsafe { T::finish(&mut sums) };
        give_back(before);
        let first = row + half + warp % 4 * 16;
        // SAFETY: the product is finished.
        unsafe {
            if deferred {
                packed = epilogue.pack::<T, T::Sums, W>(&sums);
                (old_row, old_col, left) = (first, col, 0);
            } else {
                epilogue.store::<T, T::Sums>(&sums, first, col);
            }
        }
    }
    // SAFETY: this thread waits for no copy and gives nothing back any more; whole warps come here.
    unsafe {
        if CM * CN > 1 {
            cluster::begin_leaving();
        }
        // No copy lands any more, so the last tile goes through the stages: this warpgroup's part of A in each, once its
        // four warps have done with it.
        if left == 0 {
            sync_group::<128>(1 + warp / 4);
            for j in 0..pieces {
                cuda_std::unroll!(full);
                let own = room.stages.plus(j * Room::<N, S>::STAGE + (half + warp % 4 * 16) * 128);
                epilogue.store_packed_through(own, j as usize, &packed, old_row, old_col);
            }
        }
    }
    epilogue.finish();
}

macro_rules! kernels {
    ($($blocks:literal $name:ident: $t:ty, $a:ty, $b:ty, $packed:literal words;)*) => {$(
        /// C = alpha · A · B + beta · C, as the module says.
        ///
        /// # Safety
        /// The maps describe A, B and C as `p` does; `p.k` is not 0; the launch has [`SHARED_BYTES`] of dynamic shared
        /// memory, and whole clusters.
        #[kernel]
        #[block_dim(384, 1, 1)]
        #[cluster_dim($blocks, 1, 1)]
        pub unsafe fn $name(
            p: HopperGemm,
            #[grid_constant] a: &PanelMap<$t>,
            #[grid_constant] b: &PanelMap<$t>,
            #[grid_constant] c: &OutputMap,
        ) {
            // SAFETY: the kernel's own contract.
            unsafe { product::<$t, $a, $b, [u32; $packed], BLOCK_N, STAGES, $blocks, 1>(p, a, b, c) }
        }
    )*};
}
kernels! {
    2 hopper_f16_nn: f16, KMajor, MnMajor, 64 words;
    2 hopper_f16_nt: f16, KMajor, KMajor, 64 words;
    2 hopper_f16_tn: f16, MnMajor, MnMajor, 64 words;
    2 hopper_f16_tt: f16, MnMajor, KMajor, 64 words;
    2 hopper_bf16_nn: bf16, KMajor, MnMajor, 64 words;
    2 hopper_bf16_nt: bf16, KMajor, KMajor, 64 words;
    2 hopper_bf16_tn: bf16, MnMajor, MnMajor, 64 words;
    2 hopper_bf16_tt: bf16, MnMajor, KMajor, 64 words;
    2 hopper_tf32_nt: Tf32, KMajor, KMajor, 0 words;
    2 hopper_s8_nt: i8, KMajor, KMajor, 0 words;
    1 hopper_f16_nn_alone: f16, KMajor, MnMajor, 64 words;
    1 hopper_f16_nt_alone: f16, KMajor, KMajor, 64 words;
    1 hopper_f16_tn_alone: f16, MnMajor, MnMajor, 64 words;
    1 hopper_f16_tt_alone: f16, MnMajor, KMajor, 64 words;
    1 hopper_bf16_nn_alone: bf16, KMajor, MnMajor, 64 words;
    1 hopper_bf16_nt_alone: bf16, KMajor, KMajor, 64 words;
    1 hopper_bf16_tn_alone: bf16, MnMajor, MnMajor, 64 words;
    1 hopper_bf16_tt_alone: bf16, MnMajor, KMajor, 64 words;
}
