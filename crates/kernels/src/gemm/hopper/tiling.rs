//! Tilings of a product for Hopper's multiprocessors: the tiles, and whether the steps of some are shared (stream-K).

use kernels_gpu::hopper::block::Form;
use kernels_gpu::hopper::parts::PartialSums;
use kernels_gpu::hopper::product::{ALONE, PAIRS, SMALL, SMALL_DOWN, WIDE_64, WIDE_128, WIDE_192};
use kernels_gpu::hopper::work::Split as StreamK;
use warpsmith_launch::Limits;

use crate::costs::{self, Costs};
use crate::gemm::{Input, Problem};

/// The forms of the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gemm) enum Tiles {
    /// 128 × 256 elements a block; two blocks share B.
    Pairs,
    /// As `Pairs`, without clusters.
    Alone,
    /// 128 × 192; two blocks share A, as in all that follow.
    Wide192,
    /// 128 × 128.
    Wide128,
    /// 128 × 64.
    Wide64,
    /// 64 × 64.
    Small,
    /// As the one before; two blocks share B.
    SmallDown,
}

impl Tiles {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Pairs, Self::Alone, Self::Wide192, Self::Wide128, Self::Wide64, Self::Small, Self::SmallDown];

    pub fn form(self) -> Form {
        match self {
            Self::Pairs => PAIRS,
            Self::Alone => ALONE,
            Self::Wide192 => WIDE_192,
            Self::Wide128 => WIDE_128,
            Self::Wide64 => WIDE_64,
            Self::Small => SMALL,
            Self::SmallDown => SMALL_DOWN,
        }
    }

    /// Whether there are kernels of this form for the type.
    pub fn takes(self, input: Input) -> bool {
        !input.along_k_only() || !matches!(self, Self::Alone | Self::Wide192 | Self::Small | Self::SmallDown)
    }

    pub fn costs(self, costs: &Costs) -> costs::HopperCost {
        match self {
            Self::Pairs => costs.hopper.pairs,
            Self::Alone => costs.hopper.alone,
            Self::Wide192 => costs.hopper.wide_192,
            Self::Wide128 => costs.hopper.wide_128,
            Self::Wide64 => costs.hopper.wide_64,
            Self::Small | Self::SmallDown => costs.hopper.small,
        }
    }
}

/// The tiles, and who computes them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::gemm) struct Tiling {
    pub tiles: Tiles,
    /// Clusters that are launched.
    pub clusters: u32,
    /// Tiles of a cluster, in all.
    count: u64,
    /// Steps of k of a tile.
    steps: u32,
    /// The tiles whose steps are shared.
    pub shared: StreamK,
    /// Whether a tile is stored while the next is multiplied.
    deferred: bool,
    /// Bytes of A and of B.
    operand_bytes: f64,
    /// The number of times that the larger operand is read.
    passes: usize,
    costs: &'static Costs,
}

impl Tiling {
    /// The tiling with the fewest cycles, by estimate, and of those the one that reads the larger operand least often; of
    /// those that share tiles, or of those that do not, if `shared` says so.
    pub fn choose(limits: &Limits, problem: &Problem, among: &[Tiles], shared: Option<bool>) -> Option<Self> {
        let among = among.iter().filter(|tiles| tiles.takes(problem.input));
        let all = among.flat_map(|&tiles| Self::of(limits, problem, tiles));
        let all = all.filter(|tiling| shared.is_none_or(|shared| shared == (tiling.shared.tiles > 0)));
        all.min_by(|a, b| a.cycles().total_cmp(&b.cycles()).then(a.passes.cmp(&b.passes)))
    }

    /// All of one form.
    fn of(limits: &Limits, problem: &Problem, tiles: Tiles) -> Vec<Self> {
        let form = tiles.form();
        let (rows, cols) = form.tile();
        let count = problem.m.div_ceil(rows as usize) as u64 * problem.n.div_ceil(cols as usize) as u64;
        let steps = problem.k.div_ceil(128 / problem.input.size()) as u32;
        let most = (limits.sms / form.blocks()).max(1);
        let deferred = problem.output.size() == 2 && problem.beta == 0.0;
        let lines = problem.m + problem.n;
        let passes = if problem.m > problem.n {
            problem.n.div_ceil(cols as usize)
        } else {
            problem.m.div_ceil(rows as usize)
        };
        let whole = Self {
            tiles,
            clusters: count.clamp(1, u64::from(most)) as u32,
            count,
            steps,
            shared: StreamK::default(),
            deferred,
            operand_bytes: lines as f64 * problem.k as f64 * problem.input.size() as f64,
            passes,
            costs: Costs::of(limits),
        };
        let mut all = vec![whole];
        // The last round, or all tiles if there is but one: in equal parts each or, as the last, dealt out to all clusters.
        let shared = (count % u64::from(most)) as u32;
        if let Some(most_parts) = most.checked_div(shared) {
            let parts = (2..=most_parts).map(|parts| steps.div_ceil(parts));
            for length in parts.chain([(shared * steps).div_ceil(most)]).filter(|&length| length < steps) {
                let needed = (shared * steps).div_ceil(length);
                let clusters = if count > u64::from(most) { most } else { needed };
                all.push(Self { clusters, shared: StreamK { tiles: shared, steps: length }, ..whole });
            }
        }
        all
    }

    /// About how many cycles it takes.
    fn cycles(&self) -> f64 {
        let n = f64::from(self.tiles.form().n);
        let (form, costs) = (self.tiles.costs(self.costs), &self.costs.hopper);
        let in_rounds = self.tiles == Tiles::Alone && self.count > u64::from(self.clusters);
        let step = form.step + if in_rounds { costs.alone_in_rounds } else { 0.0 };
        let steps = f64::from(self.steps);
        let store = if self.deferred { costs.store.0 } else { costs.store.1 * n };
        let rounds = (self.count - u64::from(self.shared.tiles)).div_ceil(u64::from(self.clusters)) as f64;
        let (length, shared) = if self.shared.tiles > 0 {
            let length = f64::from(self.shared.steps);
            let others = (steps / length).ceil().max(2.0) - 1.0;
            let (at_all, column, other, square) = costs.shared;
            (length, at_all + column * n + others * (other + square * n * n))
        } else {
            (0.0, 0.0)
        };
        let multiplied = ((rounds * steps + length) * step).max(self.operand_bytes / costs.memory);
        form.others + multiplied + (rounds - 1.0).max(0.0) * store + shared
    }

    /// Rows of tiles that run together.
    pub fn group(&self) -> u32 {
        self.tiles.costs(self.costs).group
    }

    /// Blocks that are launched.
    pub fn blocks(&self) -> u32 {
        self.clusters * self.tiles.form().blocks()
    }

    /// Words of memory that the blocks leave sums in.
    pub fn workspace(&self) -> usize {
        if self.shared.tiles == 0 {
            return 0;
        }
        PartialSums::words(self.blocks() * self.tiles.form().consumers(), self.tiles.form().n / 2)
    }

    /// Tiles of a cluster, in all.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The tiling in words.
    pub fn why(&self) -> String {
        let Form { n, down, across, .. } = self.tiles.form();
        let plural = |count: u64| if count == 1 { "" } else { "s" };
        let clusters = plural(u64::from(self.clusters));
        let of = match (down, across) {
            (1, 1) => format!("block{clusters}"),
            _ => format!("pair{clusters} of blocks that share {}", if down > 1 { "B" } else { "A" }),
        };
        let (rows, cols) = self.tiles.form().tile();
        let shared = match self.shared.tiles {
            0 => String::new(),
            tiles => format!(
                ", of which {tiles} are shared: {} of {} steps of K each",
                self.shared.steps, self.steps
            ),
        };
        format!(
            "{} tile{} of {rows} x {cols} for {} {of}, {n} columns a block{shared}",
            self.count,
            plural(self.count),
            self.clusters
        )
    }
}

#[cfg(test)]
mod tests {
    use gpu_model::chips::H200;

    use super::*;
    use crate::gemm::{Layout, Output};

    fn tiling(m: usize, n: usize, k: usize) -> Tiling {
        let problem = Problem::new((m, n, k), Input::Bf16, Output::Bf16, Layout::Nt);
        Tiling::choose(&Limits::of_chip(&H200), &problem, &Tiles::ALL, None).unwrap()
    }

    #[test]
    fn large_products_take_large_tiles_and_small_ones_small_tiles() {
        assert!(matches!(tiling(8192, 8192, 8192).tiles, Tiles::Pairs));
        assert!(tiling(1024, 1024, 1024).tiles.form().n <= 128);
        assert!(tiling(512, 512, 512).clusters > 8);
    }

    #[test]
    fn what_was_fastest_on_an_h200_is_chosen() {
        for ((m, n, k), tiles, shared) in [
            ((512, 512, 512), Tiles::SmallDown, false),
            ((64, 8192, 1024), Tiles::Small, false),
            ((128, 4096, 4096), Tiles::SmallDown, false),
            ((1024, 1024, 1024), Tiles::Wide64, false),
            ((1280, 1280, 1280), Tiles::Wide128, false),
            ((2048, 2048, 2048), Tiles::Wide128, false),
            ((3072, 3072, 3072), Tiles::Wide192, false),
            ((4096, 4096, 4096), Tiles::Pairs, false),
            ((8192, 8192, 8192), Tiles::Pairs, true),
        ] {
            let tiling = tiling(m, n, k);
            let is = (tiling.tiles, tiling.shared.tiles > 0);
            assert_eq!(is, (tiles, shared), "{m} x {n} x {k}: {}", tiling.why());
        }
    }

    #[test]
    fn the_steps_of_shared_tiles_are_dealt_out_once_each() {
        for (m, n, k) in
            [(8192, 8192, 8192), (300, 200, 65536), (3000, 2000, 1024), (5120, 5120, 5120), (1, 1, 99)]
        {
            let problem = Problem::new((m, n, k), Input::Bf16, Output::Bf16, Layout::Nt);
            let of = |tiles| Tiling::of(&Limits::of_chip(&H200), &problem, tiles);
            for tiling in Tiles::ALL.into_iter().flat_map(of) {
                let (all, each) = (tiling.shared.tiles * tiling.steps, tiling.shared.steps);
                assert!(each <= tiling.steps && tiling.clusters * each >= all, "{tiling:?}");
                let in_rounds = tiling.count > u64::from(tiling.clusters);
                assert!(all == 0 || (tiling.clusters - 1) * each < all || in_rounds);
                assert!(
                    tiling.blocks() <= 132 && tiling.blocks().is_multiple_of(tiling.tiles.form().blocks())
                );
            }
        }
    }
}
