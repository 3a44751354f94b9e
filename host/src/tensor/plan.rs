//! How a product is dealt out to a Hopper's multiprocessors: which tiles, and whether some of them are shared.

use kernels_gpu::hopper::block::Form;
use kernels_gpu::hopper::parts::Parts;
use kernels_gpu::hopper::product::{ALONE, PAIRS, SMALL, SMALL_DOWN, WIDE_64, WIDE_128, WIDE_192};
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
    /// 64 × 64.
    Small,
    /// The same; two blocks share B.
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
        matches!(input, Input::F16 | Input::Bf16)
            || !matches!(self, Self::Alone | Self::Wide192 | Self::Small | Self::SmallDown)
    }

    /// Rows of clusters' tiles that run together: those that make the squarest piece of C of 66 clusters, or 132 blocks.
    pub fn group(self) -> u32 {
        match self {
            Self::Pairs | Self::Alone | Self::Wide64 | Self::Small | Self::SmallDown => 8,
            Self::Wide128 => 12,
            Self::Wide192 => 14,
        }
    }

    /// Cycles that a step of 128 bytes of k takes, fitted to times of an H200: what a multiprocessor can take in counts for
    /// small tiles, what the tensor cores can multiply for large ones.
    fn step_cycles(self) -> f64 {
        match self {
            Self::Pairs => 1370.0,
            Self::Alone => 1385.0,
            Self::Wide192 => 1060.0,
            Self::Wide128 => 700.0,
            Self::Wide64 => 480.0,
            Self::Small | Self::SmallDown => 320.0,
        }
    }

    /// Cycles from launch to launch beside the steps, fitted likewise: until the first stage is there, and after the last.
    fn other_cycles(self) -> f64 {
        match self {
            Self::Pairs | Self::Alone => 7100.0,
            Self::Wide192 => 6500.0,
            Self::Wide128 => 5700.0,
            Self::Wide64 => 4450.0,
            Self::Small | Self::SmallDown => 3960.0,
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
    /// Bytes of A and of B.
    operand_bytes: f64,
    /// How often the larger operand is read.
    passes: usize,
}

impl Plan {
    /// The plan with the fewest cycles, by estimate, and of those the one that reads the larger operand least often; of plans that share tiles, or of plans that do not, if `shared` says so.
    pub fn choose(problem: &Problem, sms: u32, among: &[Tiles], shared: Option<bool>) -> Option<Self> {
        let among = among.iter().filter(|tiles| tiles.takes(problem.input));
        let plans = among.flat_map(|&tiles| Self::of(problem, sms, tiles));
        let plans = plans.filter(|plan| shared.is_none_or(|shared| shared == (plan.split.tiles > 0)));
        plans.min_by(|a, b| a.cycles().total_cmp(&b.cycles()).then(a.passes.cmp(&b.passes)))
    }

    /// All plans of one form.
    fn of(problem: &Problem, sms: u32, tiles: Tiles) -> Vec<Self> {
        let form = tiles.form();
        let (rows, cols) = form.tile();
        let count = problem.m.div_ceil(rows as usize) as u64 * problem.n.div_ceil(cols as usize) as u64;
        let steps = problem.k.div_ceil(128 / problem.input.size()) as u32;
        let most = (sms / form.blocks()).max(1);
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
            split: Split::default(),
            deferred,
            operand_bytes: lines as f64 * problem.k as f64 * problem.input.size() as f64,
            passes,
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
        let (length, shared) = if self.split.tiles > 0 {
            let length = f64::from(self.split.steps);
            // Sums are written and read through L2, and waited for: cycles fitted to times of an H200.
            let others = (steps / length).ceil().max(2.0) - 1.0;
            (length, 2500.0 + 50.0 * n + others * (500.0 + 0.09 * n * n))
        } else {
            (0.0, 0.0)
        };
        // Memory brings 2,270 bytes a cycle, however many multiprocessors ask.
        let multiplied = ((rounds * steps + length) * step).max(self.operand_bytes / 2270.0);
        self.tiles.other_cycles() + multiplied + (rounds - 1.0).max(0.0) * store + shared
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
        Parts::words(self.blocks() * self.tiles.form().consumers(), self.tiles.form().n / 2)
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
            let plan = plan(m, n, k);
            assert_eq!(
                (plan.tiles, plan.split.tiles > 0),
                (tiles, shared),
                "{m} x {n} x {k}: {}",
                plan.why()
            );
        }
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
