//! How a product is dealt out to a Hopper's multiprocessors: which tiles, and whether some of them are shared.

use kernels_gpu::hopper::block::{CONSUMERS, Form};
use kernels_gpu::hopper::parts::Parts;
use kernels_gpu::hopper::product::{ALONE, PAIRS, WIDE_64, WIDE_128, WIDE_192};
use kernels_gpu::hopper::work::Split;

use super::{Input, Problem};

/// The forms of the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tiles {
    /// 128 × 256 elements a block; two blocks share B.
    Pairs,
    /// The same without clusters.
    Alone,
    /// 128 × 192; two blocks share A, as in all that follow.
    Wide192,
    /// 128 × 128.
    Wide128,
    /// 128 × 64.
    Wide64,
}

impl Tiles {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Pairs, Self::Alone, Self::Wide192, Self::Wide128, Self::Wide64];

    pub fn form(self) -> Form {
        match self {
            Self::Pairs => PAIRS,
            Self::Alone => ALONE,
            Self::Wide192 => WIDE_192,
            Self::Wide128 => WIDE_128,
            Self::Wide64 => WIDE_64,
        }
    }

    /// Whether there are kernels of this form for the type.
    pub fn takes(self, input: Input) -> bool {
        matches!(input, Input::F16 | Input::Bf16) || !matches!(self, Self::Alone | Self::Wide192)
    }

    /// Rows of clusters' tiles that run together: those that make the squarest piece of C of 66 clusters, or 132 blocks.
    pub fn group(self) -> u32 {
        match self {
            Self::Pairs | Self::Alone | Self::Wide64 => 8,
            Self::Wide128 => 12,
            Self::Wide192 => 14,
        }
    }

    /// Cycles that a step of 128 bytes of k takes, fitted to times of an H200.
    fn step_cycles(self) -> f64 {
        match self {
            Self::Pairs => 1180.0,
            Self::Alone => 1175.0,
            Self::Wide192 => 950.0,
            Self::Wide128 => 650.0,
            Self::Wide64 => 480.0,
        }
    }
}

/// How a product is dealt out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plan {
    pub tiles: Tiles,
    /// Clusters that are launched.
    pub clusters: u32,
    /// Tiles of a cluster, in all.
    count: u64,
    /// Steps of k of a tile.
    steps: u32,
    pub split: Split,
    /// Whether a tile is stored while the next is multiplied.
    deferred: bool,
}

impl Plan {
    /// The plan with the fewest cycles, by estimate; of plans that share tiles, or of plans that do not, if `shared` says so.
    pub fn choose(problem: &Problem, sms: u32, among: &[Tiles], shared: Option<bool>) -> Option<Self> {
        let among = among.iter().filter(|tiles| tiles.takes(problem.input));
        let plans = among.flat_map(|&tiles| Self::of(problem, sms, tiles));
        let plans = plans.filter(|plan| shared.is_none_or(|shared| shared == (plan.split.tiles > 0)));
        plans.min_by(|a, b| a.cycles().total_cmp(&b.cycles()))
    }

    /// All plans of one form.
    fn of(problem: &Problem, sms: u32, tiles: Tiles) -> Vec<Self> {
        let form = tiles.form();
        let (rows, cols) = form.tile();
        let count = problem.m.div_ceil(rows as usize) as u64 * problem.n.div_ceil(cols as usize) as u64;
        let steps = problem.k.div_ceil(128 / problem.input.size()) as u32;
        let most = (sms / form.blocks()).max(1);
        let deferred = problem.output.size() == 2 && problem.beta == 0.0;
        let whole = Self {
            tiles,
            clusters: count.clamp(1, u64::from(most)) as u32,
            count,
            steps,
            split: Split::default(),
            deferred,
        };
        let mut plans = vec![whole];
        // The last round, or all tiles if there is but one: in so many parts each or, as the last, dealt out to all clusters.
        let shared = (count % u64::from(most)) as u32;
        if let Some(most_parts) = most.checked_div(shared) {
            let parts = (2..=most_parts).map(|parts| steps.div_ceil(parts));
            for length in parts.chain([(shared * steps).div_ceil(most)]).filter(|&length| length < steps) {
                let needed = (shared * steps).div_ceil(length);
                let clusters = if count > u64::from(most) { most } else { needed };
                plans.push(Self { clusters, split: Split { tiles: shared, steps: length }, ..whole });
            }
        }
        plans
    }

    /// About how many cycles it takes.
    fn cycles(&self) -> f64 {
        let n = f64::from(self.tiles.form().n);
        // A pair reads less; that costs nothing where no block waits for another, and counts where the board's power does.
        let alone = self.tiles == Tiles::Alone && self.count > u64::from(self.clusters);
        let step = self.tiles.step_cycles() + if alone { 30.0 } else { 0.0 };
        let steps = f64::from(self.steps);
        // What is not hidden of storing a tile, if another follows, and of the last.
        let store = if self.deferred { 300.0 } else { 12.0 * n };
        let rounds = (self.count - u64::from(self.split.tiles)).div_ceil(u64::from(self.clusters)) as f64;
        let shared = if self.split.tiles > 0 {
            let length = f64::from(self.split.steps);
            // Sums are written and read through L2, and each part is waited for.
            let others = (steps / length).ceil().max(2.0) - 1.0;
            let moved = 0.1 * n * n;
            length * step + 2000.0 + moved + others * (100.0 + moved)
        } else {
            0.0
        };
        3000.0 + 16.0 * n + rounds * (steps * step + store) + shared
    }

    /// Blocks that are launched.
    pub fn blocks(&self) -> u32 {
        self.clusters * self.tiles.form().blocks()
    }

    /// Words of memory that the blocks leave sums in.
    pub fn parts(&self) -> usize {
        if self.split.tiles == 0 {
            return 0;
        }
        Parts::words(self.blocks() * CONSUMERS, self.tiles.form().n / 2)
    }

    /// Tiles of a cluster, in all.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The plan in words.
    pub fn why(&self) -> String {
        let Form { n, down, across, .. } = self.tiles.form();
        let plural = |count: u64| if count == 1 { "" } else { "s" };
        let clusters = plural(u64::from(self.clusters));
        let of = match (down, across) {
            (1, 1) => format!("block{clusters}"),
            _ => format!("pair{clusters} of blocks that share {}", if down > 1 { "B" } else { "A" }),
        };
        let (rows, cols) = self.tiles.form().tile();
        let shared = match self.split.tiles {
            0 => String::new(),
            tiles => format!(
                ", of which {tiles} are shared: {} of {} steps of K each",
                self.split.steps, self.steps
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
    use super::super::{Layout, Output};
    use super::*;

    fn plan(m: usize, n: usize, k: usize) -> Plan {
        let problem = Problem::new((m, n, k), Input::Bf16, Output::Bf16, Layout::Nt);
        Plan::choose(&problem, 132, &Tiles::ALL, None).unwrap()
    }

    #[test]
    fn large_products_take_large_tiles_and_small_ones_small_tiles() {
        assert!(matches!(plan(8192, 8192, 8192).tiles, Tiles::Pairs));
        assert!(plan(1024, 1024, 1024).tiles.form().n <= 128);
        assert!(plan(512, 512, 512).clusters > 8);
    }

    #[test]
    fn the_steps_of_shared_tiles_are_dealt_out_once_each() {
        for (m, n, k) in
            [(8192, 8192, 8192), (300, 200, 65536), (3000, 2000, 1024), (5120, 5120, 5120), (1, 1, 99)]
        {
            let problem = Problem::new((m, n, k), Input::Bf16, Output::Bf16, Layout::Nt);
            for plan in Tiles::ALL.into_iter().flat_map(|tiles| Plan::of(&problem, 132, tiles)) {
                let (all, each) = (plan.split.tiles * plan.steps, plan.split.steps);
                assert!(each <= plan.steps && plan.clusters * each >= all, "{plan:?}");
                assert!(
                    all == 0 || (plan.clusters - 1) * each < all || plan.count > u64::from(plan.clusters)
                );
                assert!(plan.blocks() <= 132 && plan.blocks().is_multiple_of(plan.tiles.form().blocks()));
            }
        }
    }
}
