//! Kernels of public benchmark suites and tutorials, as they fit into blocks; docs/safety.md says which do not.
#![forbid(unsafe_code)]

use blockwise::prelude::*;

/// Dot product: a partial sum a block (CUDA samples, "scalarProd").
#[kernel]
#[requires(a.len() == b.len())]
pub fn safe_dot(
    block: Block<256>,
    #[shared] mut scratch: Scratch<f32>,
    a: &[f32],
    b: &[f32],
    mut sums: SliceMut<f32, Part<1>>,
) {
    let (first, stride) = (256 * block.x(), 256 * block.grid()[0]);
    let values = block.each(|t| {
        let (mut sum, mut i) = (0.0, first + t.index());
        while i < a.len() {
            sum += a[i] * b[i];
            i += stride;
        }
        sum
    });
    let sum = block.reduce(&mut scratch, &values, |a, b| a + b);
    sums.write(&block, |_, _| sum);
}

/// Rows convolved with 9 weights, through a tile with a rim (CUDA samples, "convolutionSeparable").
#[kernel]
pub fn safe_convolve_rows(
    block: Block<64, 4>,
    #[shared] tile: Tile<f32, 4, 72>,
    weights: &[f32],
    from: Matrix<f32>,
    mut to: MatrixMut<f32, Tiles<4, 64>>,
) {
    let (row, col) = (block.y() * 4, block.x() * 64);
    let tile =
        block.share(tile.fill(&block, |_, (y, x)| from.get_or(row + y, (col + x).wrapping_sub(4), 0.0)));
    to.write(&block, |_, (y, x)| {
        let mut sum = 0.0;
        for i in 0..9 {
            sum += weights.get(i).copied().unwrap_or(0.0) * tile.at(y, x + i);
        }
        sum
    });
}

/// s = Aᵀ · r, a column a thread (PolyBench, "bicg").
#[kernel]
#[requires(a.cols() == s.len(), a.rows() == r.len())]
pub fn safe_columns_times(block: Block<256>, a: Matrix<f32>, r: &[f32], mut s: SliceMut<f32>) {
    s.write(&block, |_, col| {
        let mut sum = 0.0;
        for row in 0..r.len() {
            // LLVM would take eight, and thirteen more registers.
            unroll!(4);
            sum += a.at(row, col) * r[row];
        }
        sum
    });
}

/// How many points lie in the unit circle: a vote a warp, and one atomic a warp (HeCBench, "pi").
#[kernel]
#[requires(x.len() == y.len())]
pub fn safe_count_inside(block: Block<256>, x: &[f32], y: &[f32], inside: Counters<u32>) {
    let first = 256 * block.x();
    let is_inside = block.each(|t| {
        let i = first + t.index();
        i < x.len() && x[i] * x[i] + y[i] * y[i] <= 1.0
    });
    let of_warp = block.warps(|warp| {
        let votes = warp.ballot(&is_inside);
        warp.each(|_| votes.count_ones())
    });
    block.each(|t| {
        if t.index() % 32 == 0 {
            inside.add(t, 0, of_warp.of(t));
        }
    });
}

/// The pull of all bodies on each one, in one dimension, tile by tile (CUDA samples, "nbody").
#[kernel]
#[requires(place.len() == pull.len(), mass.len() == pull.len())]
pub fn safe_pulls(
    block: Block<128>,
    #[shared] mut places: Tile<f32, 1, 128>,
    #[shared] mut masses: Tile<f32, 1, 128>,
    place: &[f32],
    mass: &[f32],
    mut pull: SliceMut<f32>,
) {
    let start = 128 * block.x();
    let own = block.each(|t| place.get(start + t.index()).copied().unwrap_or(0.0));
    let mut sum = block.each(|_| 0.0);
    for first in (0..place.len()).step_by(128) {
        let filled = (
            places.fill(&block, |_, (_, i)| place.get(first + i).copied().unwrap_or(0.0)),
            masses.fill(&block, |_, (_, i)| mass.get(first + i).copied().unwrap_or(0.0)),
        );
        let shared = block.share(filled);
        let (of_place, of_mass) = &shared;
        sum.update(&block, |t, sum| {
            for i in 0..128 {
                let apart = of_place.at(0, i) - own.of(t);
                *sum += of_mass.at(0, i) * apart / (apart * apart + 1.0);
            }
        });
        (places, masses) = block.reuse(shared);
    }
    pull.write(&block, |t, _| sum.of(t));
}

/// Adds each point to its nearest centre's sum and count (Rodinia, "kmeans").
#[kernel]
pub fn safe_nearest_centres(
    block: Block<256>,
    points: &[f32],
    centres: &[f32],
    sums: Counters<f32>,
    counts: Counters<u32>,
) {
    let first = 256 * block.x();
    block.each(|t| {
        if let Some(&point) = points.get(first + t.index()) {
            let (mut nearest, mut least) = (0, f32::INFINITY);
            for (i, centre) in centres.iter().enumerate() {
                let far = (point - centre) * (point - centre);
                (nearest, least) = if far < least { (i, far) } else { (nearest, least) };
            }
            sums.add(t, nearest, point);
            counts.add(t, nearest, 1);
        }
    });
}

/// One row of the cheapest ways down a grid (Rodinia, "pathfinder").
#[kernel]
#[requires(before.len() == after.len(), cost.len() == after.len())]
pub fn safe_cheapest_step(
    block: Block<256>,
    #[shared] tile: Tile<u32, 1, 258>,
    before: &[u32],
    cost: &[u32],
    mut after: SliceMut<u32>,
) {
    let first = 256 * block.x();
    let tile = block.share(
        tile.fill(&block, |_, (_, i)| before.get((first + i).wrapping_sub(1)).copied().unwrap_or(u32::MAX)),
    );
    after.write(&block, |t, i| {
        let at = t.index();
        cost[i] + tile.at(0, at).min(tile.at(0, at + 1)).min(tile.at(0, at + 2))
    });
}

/// One step of all shortest ways, from one matrix to another (AMD SDK, "FloydWarshall").
#[kernel]
#[requires(from.rows() == to.rows(), from.cols() == to.cols())]
pub fn safe_shorter_by_way_of(
    block: Block<16, 16>,
    way: u32,
    from: Matrix<u32>,
    mut to: MatrixMut<u32, Tiles<16, 16>>,
) {
    let (row, col, way) = (block.y() * 16, block.x() * 16, way as usize);
    to.write(&block, |_, (y, x)| {
        let two = from.at(row + y, way).saturating_add(from.at(way, col + x));
        from.at(row + y, col + x).min(two)
    });
}

/// Marks which neighbours of marked nodes are reached, by lists of edges (Rodinia, "bfs"): a count instead of a flag.
#[kernel]
#[requires(from.len() == to.len())]
pub fn safe_reach(block: Block<256>, level: &[u32], from: &[u32], to: &[u32], reached: Counters<u32>) {
    let first = 256 * block.x();
    block.each(|t| {
        let i = first + t.index();
        if i < from.len() && level[from[i] as usize] == 1 {
            reached.add(t, to[i] as usize, 1);
        }
    });
}

/// Keeps what is not zero, in any order (Thrust's "copy_if", PMPP): a place is handed out by a counter, and added to.
#[kernel]
pub fn safe_keep(block: Block<256>, x: &[u32], next: Counters<u32>, kept: Counters<u32>) {
    let first = 256 * block.x();
    block.each(|t| {
        if let Some(&value) = x.get(first + t.index())
            && value != 0
        {
            let place = next.add(t, 0, 1);
            kept.add(t, place as usize, value);
        }
    });
}
