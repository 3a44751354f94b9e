//! A block: its tile, where everything lies in its shared memory, and its place in its cluster.

use cuda_std::prelude::*;
use tile::hopper::{Barrier, Element, KTile, Major, Ring, SharedAddress, cluster};

use super::HopperGemm;
use super::epilogue::STAGING;
use super::work::{ClusterShare, Split, TileSteps};

/// A form of the product: what a block computes, and with whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Rows of C a block computes: 64 for each warpgroup that multiplies.
    pub m: u32,
    pub n: u32,
    /// Stages of 128 bytes of k.
    pub stages: u32,
    /// Blocks of a cluster one below the other, which share B.
    pub down: u32,
    /// Blocks of a cluster side by side, which share A.
    pub across: u32,
}

impl Form {
    pub const fn blocks(self) -> u32 {
        self.down * self.across
    }

    /// Rows and columns of C that a cluster computes.
    pub const fn tile(self) -> (u32, u32) {
        (self.down * self.m, self.across * self.n)
    }

    /// Warps of a block that multiply.
    pub const fn consumers(self) -> u32 {
        consumers(self.m)
    }

    /// Threads of a block: a warpgroup that copies, and those that multiply.
    pub const fn threads(self) -> u32 {
        128 + 32 * self.consumers()
    }

    pub const fn shared_bytes(self) -> u32 {
        // 1024 to align the first stage.
        1024 + self.stages * (self.m + self.n) * 128
            + self.consumers() * STAGING
            + (2 * self.stages + self.consumers()) * Barrier::BYTES
    }
}

/// Warps that multiply `m` rows.
pub const fn consumers(m: u32) -> u32 {
    m / 16
}

/// Where everything lies in shared memory.
pub struct BlockMemory<const M: u32, const N: u32, const S: u32> {
    pub stages: SharedAddress,
}

impl<const M: u32, const N: u32, const S: u32> BlockMemory<M, N, S> {
    pub const STAGE: u32 = (M + N) * 128;

    /// A's and B's part of a stage.
    #[inline(always)]
    pub fn stage<T: Element, A: Major<T>, B: Major<T>>(
        &self,
        stage: u32,
    ) -> (KTile<T, A, M>, KTile<T, B, N>) {
        let first = self.stages.plus(stage * Self::STAGE);
        // SAFETY: every stage is a multiple of 1024 bytes, and begins at one.
        unsafe { (KTile::at(first), KTile::at(first.plus(M * 128))) }
    }

    /// The two pieces of a warp's epilogue.
    #[inline(always)]
    pub fn staging(&self, warp: u32) -> SharedAddress {
        self.stages.plus(S * Self::STAGE + warp * STAGING)
    }

    #[inline(always)]
    fn barriers(&self) -> SharedAddress {
        self.stages.plus(S * Self::STAGE + consumers(M) * STAGING)
    }

    #[inline(always)]
    pub fn ring(&self) -> Ring<S> {
        // SAFETY: room for the barriers, at a multiple of 8.
        unsafe { Ring::at(self.barriers()) }
    }

    /// The barrier of a warp's epilogue.
    #[inline(always)]
    pub fn loaded(&self, warp: u32) -> Barrier {
        // SAFETY: room for a barrier of each warp, at a multiple of 8.
        unsafe { Barrier::at(self.barriers().plus(Ring::<S>::BYTES + warp * Barrier::BYTES)) }
    }
}

/// A block in its cluster, which has `CM` blocks one below the other and `CN` side by side.
#[derive(Clone, Copy)]
pub struct ClusterBlock<const M: u32, const N: u32, const CM: u32, const CN: u32> {
    pub p: HopperGemm,
    split: Split,
    down: u32,
    /// Its place among those that share A.
    pub across: u32,
}

impl<const M: u32, const N: u32, const CM: u32, const CN: u32> ClusterBlock<M, N, CM, CN> {
    const BLOCKS: u32 = CM * CN;
    /// Blocks that copy into a block's stages, itself included; also those that it copies into.
    pub const PARTNERS: u32 = CM + CN - 1;

    #[inline(always)]
    pub fn new(p: HopperGemm, split: Split) -> Self {
        let rank = if Self::BLOCKS > 1 { cluster::rank() } else { 0 };
        Self { p, split, down: rank % CM, across: rank / CM }
    }

    /// Its place among those that share B.
    #[inline(always)]
    pub fn down(self) -> u32 {
        self.down
    }

    /// Steps of k of a tile.
    #[inline(always)]
    pub fn steps<T: Element>(self) -> u32 {
        self.p.k.div_ceil(128 / T::BYTES)
    }

    /// Whether each tile is one cluster's.
    #[inline(always)]
    pub fn shares_no_tile(self) -> bool {
        self.split.tiles == 0
    }

    /// Tiles of clusters in a column of C, and in a row.
    #[inline(always)]
    pub fn tiles(self) -> (u32, u32) {
        (self.p.m.div_ceil(M * CM), self.p.n.div_ceil(N * CN))
    }

    /// Its cluster's work.
    #[inline(always)]
    pub fn works<T: Element>(self) -> ClusterShare {
        let raster = self.p.raster(M * CM, N * CN);
        let cluster = (thread::block_idx_x() / Self::BLOCKS, thread::grid_dim_x() / Self::BLOCKS);
        ClusterShare::new(raster, self.split, self.steps::<T>(), cluster)
    }

    /// A tile below C that has no steps left.
    #[inline(always)]
    pub fn below<T: Element>(self, cluster: u32) -> TileSteps {
        let steps = self.steps::<T>();
        TileSteps { row: self.tiles().0, col: 0, from: steps, to: steps, first: cluster }
    }

    /// Row and column of this block's first element of a tile of the cluster.
    #[inline(always)]
    pub fn first(self, row: u32, col: u32) -> (u32, u32) {
        ((row * CM + self.down) * M, (col * CN + self.across) * N)
    }

    /// The number in the grid of the block of cluster `cluster` that is at this block's place.
    #[inline(always)]
    pub fn counterpart(self, cluster: u32) -> u32 {
        cluster * Self::BLOCKS + Self::rank(self.down, self.across)
    }

    #[inline(always)]
    fn rank(down: u32, across: u32) -> u32 {
        across * CM + down
    }

    /// The block with number `index` of those that copy into this block's stages.
    #[inline(always)]
    pub fn partner(self, index: u32) -> u32 {
        if index < CM {
            return Self::rank(index, self.across);
        }
        let other = index - CM;
        Self::rank(self.down, if other < self.across { other } else { other + 1 })
    }

    /// The blocks that share A, and those that share B.
    #[inline(always)]
    pub fn masks(self) -> (Option<u16>, Option<u16>) {
        let row = (0..CN).fold(0, |mask, across| mask | 1 << Self::rank(0, across));
        let column = (1 << CM) - 1;
        (
            if CN > 1 { Some(row << self.down) } else { None },
            if CM > 1 { Some(column << Self::rank(0, self.across)) } else { None },
        )
    }
}
