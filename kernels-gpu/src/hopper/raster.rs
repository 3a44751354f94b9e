//! The order of the tiles.

use super::HopperGemm;

/// The tiles of a product, `down` × `across`, and in which order they are computed.
///
/// Row by row, the blocks that run together would read all of B and little of A: at 4096² that costs 40 %. In columns of
/// `group` tiles they share both, in L2.
#[derive(Clone, Copy)]
pub struct Raster {
    down: u32,
    across: u32,
    group: u32,
}

impl Raster {
    /// The tiles of `rows` × `cols` elements.
    #[inline(always)]
    pub fn new(p: HopperGemm, rows: u32, cols: u32) -> Self {
        Self { down: p.m.div_ceil(rows), across: p.n.div_ceil(cols), group: p.group }
    }

    /// How many there are.
    #[inline(always)]
    pub fn tiles(self) -> u32 {
        self.down * self.across
    }

    /// Row and column of a tile.
    #[inline(always)]
    pub fn place(self, tile: u32) -> (u32, u32) {
        // At least 1: a division by zero would be checked for, and a call in a kernel costs it registers.
        let full = (self.group * self.across).max(1);
        let (group, inside) = (tile / full, tile % full);
        let first = group * self.group;
        let height = (self.down - first).min(self.group).max(1);
        (first + inside % height, inside / height)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tile_comes_once() {
        for (down, across, group) in [(1, 1, 8), (8, 3, 8), (13, 5, 4), (7, 9, 16)] {
            let raster = Raster { down, across, group };
            let mut seen = [[0; 16]; 16];
            for tile in 0..raster.tiles() {
                let (row, col) = raster.place(tile);
                seen[row as usize][col as usize] += 1;
            }
            for (row, col) in (0..16).flat_map(|row| (0..16).map(move |col| (row, col))) {
                let inside = row < down as usize && col < across as usize;
                assert_eq!(seen[row][col], u32::from(inside), "{down} × {across}: {row}, {col}");
            }
        }
    }
}
