//! A cluster's work, and its order.
//!
//! Clusters go from tile to tile, all at the same step of k more or less, and share what they read in L2. Tiles seldom come
//! out even: 1024 tiles for 66 clusters are 15.5 rounds that take as long as 16, and 32 tiles leave half of the chip idle.
//! So some tiles may be shared (CUTLASS calls it stream-K): their steps of k, laid one behind the other, are dealt out in equal lengths. A tile is then
//! multiplied by several clusters; the one with its last steps adds what the others leave for it ([`super::parts`]).
//!
//! A length reaches from the end of one tile to the beginning of the next. The beginning comes first, because another
//! cluster waits for it: when a cluster comes to wait, it has nothing left that others wait for. It waits only for clusters
//! before it, which were launched before it, so it waits for none that cannot run.

use tile::Raster;

/// The tiles that are shared: the first in the raster's order.
#[doc(alias = "stream-K")]
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "host", derive(cust_core::DeviceCopy))]
pub struct Split {
    /// How many; none is shared if it is 0.
    pub tiles: u32,
    /// Steps of k that each cluster takes of them: at most the steps of a tile.
    pub steps: u32,
}

/// Steps of k of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileSteps {
    pub row: u32,
    pub col: u32,
    /// The first step.
    pub from: u32,
    /// The step after the last.
    pub to: u32,
    /// The cluster that has the tile's first step; it and all between it and this one leave their sums.
    pub first: u32,
}

/// The work of a cluster.
#[derive(Clone, Copy)]
pub struct ClusterShare {
    raster: Raster,
    split: Split,
    /// Steps of a tile.
    steps: u32,
    /// The rest of this cluster's shared steps.
    begin: u32,
    end: u32,
    /// The next tile that is not shared.
    tile: u32,
    clusters: u32,
}

impl ClusterShare {
    /// Of cluster `cluster` of `clusters`, for tiles of `steps` steps.
    #[inline(always)]
    pub fn new(raster: Raster, split: Split, steps: u32, (cluster, clusters): (u32, u32)) -> Self {
        let shared = split.tiles * steps;
        let begin = (cluster * split.steps).min(shared);
        let end = (begin + split.steps).min(shared);
        Self { raster, split, steps, begin, end, tile: split.tiles + cluster, clusters }
    }
}

impl Iterator for ClusterShare {
    type Item = TileSteps;

    #[inline(always)]
    fn next(&mut self) -> Option<TileSteps> {
        if self.begin < self.end {
            // At least 1: a division by zero would be checked for, and a call in a kernel costs it registers.
            let tile = (self.end - 1) / self.steps.max(1);
            let start = tile * self.steps;
            let from = start.max(self.begin);
            let (row, col) = self.raster.tile(tile);
            let (from, to) = (from - start, self.end - start);
            self.end = start + from;
            return Some(TileSteps { row, col, from, to, first: start / self.split.steps.max(1) });
        }
        if self.tile >= self.raster.tiles() {
            return None;
        }
        let (row, col) = self.raster.tile(self.tile);
        self.tile += self.clusters;
        Some(TileSteps { row, col, from: 0, to: self.steps, first: 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raster(down: u32, across: u32) -> Raster {
        Raster { down, across, group: 3 }
    }

    #[test]
    fn every_step_comes_once_and_who_has_the_last_knows_who_has_the_others() {
        for (down, across, steps, clusters) in [(4, 5, 7, 3), (2, 1, 40, 16), (5, 3, 1, 4), (3, 7, 6, 6)] {
            for (tiles, length) in [(0, 0), (1, 1), (2, steps), (down * across, steps / 2 + 1)] {
                if tiles * steps > clusters * length {
                    continue;
                }
                let split = Split { tiles, steps: length };
                let works =
                    |cluster| ClusterShare::new(raster(down, across), split, steps, (cluster, clusters));
                let mut done = [[[0; 40]; 8]; 8];
                for cluster in 0..clusters {
                    for work in works(cluster) {
                        for step in work.from..work.to {
                            done[work.row as usize][work.col as usize][step as usize] += 1;
                        }
                        if work.from == 0 || work.to < steps {
                            continue;
                        }
                        // All before it in this tile, in order: each ends where the next begins.
                        let mut next = 0;
                        for other in work.first..cluster {
                            let left = works(other).next().unwrap();
                            assert_eq!((left.row, left.col, left.from), (work.row, work.col, next));
                            next = left.to;
                        }
                        assert_eq!(next, work.from);
                    }
                }
                let all = (0..down as usize).flat_map(|row| (0..across as usize).map(move |col| (row, col)));
                for (row, col) in all {
                    assert!(done[row][col][..steps as usize].iter().all(|&times| times == 1), "{split:?}");
                }
            }
        }
    }
}
