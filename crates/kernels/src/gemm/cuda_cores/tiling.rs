//! Tilings of a product of f32: all of them, the estimated cycles of each, and the choice.

use kernels_gpu::base::product::{pack, parts};
use kernels_gpu::product::operand::STEP;
use warpsmith_launch::Limits;

use super::tiles::{NormalizedProblem, Tiles};
use crate::costs::Costs;
use crate::gemm::{Operands, Problem, Request};

/// The tiles, and the parts of K.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tiling {
    pub problem: NormalizedProblem,
    pub tiles: Tiles,
    /// Into how many parts K is split.
    pub split_k: u32,
    /// Whether A and B are copied to aligned rows first.
    pub packed: bool,
    /// Multiprocessors that it was planned for.
    sms: u32,
    costs: &'static Costs,
}

/// The most parts that K is split into.
const MOST_PARTS: u32 = 512;

impl Tiling {
    /// The tiling with the fewest cycles, by estimate, of those that the request admits; or why there is none.
    pub fn choose(
        limits: &Limits,
        problem: &Problem,
        operands: &Operands,
        among: &[Tiles],
        request: &Request<'_>,
    ) -> Result<Self, String> {
        let (problem, costs) = (NormalizedProblem::new(problem, operands), Costs::of(limits));
        let sms = limits.sms.max(1);
        let most = (problem.k.div_ceil(STEP) as u32 / 4).clamp(1, MOST_PARTS);
        let parts = request.split_k.map_or(1..=most, |parts| parts.max(1)..=parts.max(1));
        let packings = request.packed.map_or(vec![false, true], |packed| vec![packed]);
        let all = packings.into_iter().flat_map(|packed| {
            // What is packed is aligned; what is aligned is packed by request alone.
            let meant = NormalizedProblem { aligned: problem.aligned || packed, ..problem };
            let needed = !problem.aligned || request.packed.is_some();
            let takes = move |tiles: &Tiles| {
                tiles.takes(&meant, limits) && (!packed || (needed && tiles.takes_aligned_only()))
            };
            let tiles = among.iter().copied().filter(takes);
            let parts = parts.clone();
            tiles.flat_map(move |tiles| {
                let of_parts = move |split_k| Self { problem, tiles, split_k, packed, sms, costs };
                parts.clone().map(of_parts)
            })
        });
        let sensible = all.filter(|tiling| {
            // The workspace is not to be what a product fails for, unless there is no other way.
            let fits = request.packed.is_some() || tiling.workspace() <= limits.memory / 16;
            let packable = tiling.fours().is_some() && fits;
            // Small tiles far beyond what the multiprocessors hold at once only read memory in smaller pieces.
            let held = tiling.tile_count() * tiling.split_k as usize <= 12 * sms as usize;
            let few =
                tiling.split_k == 1 || tiling.tiles == Tiles::Large || request.split_k.is_some() || held;
            (!tiling.packed || packable) && few
        });
        sensible.min_by(|a, b| a.cycles().total_cmp(&b.cycles())).ok_or_else(|| {
            "the tiles do not take this product: `f32-portable` ones take all, `f32-thin` ones at most 8 rows or columns, the \
             others need capability 8.0, and `f32-large` and `f32-middle` ones operands aligned to 16 bytes, or packed first"
                .to_owned()
        })
    }

    /// M, N and K as the product's kernel sees them.
    pub fn extents(&self) -> (usize, usize, usize) {
        let NormalizedProblem { m, n, k, .. } = self.problem;
        let even = |extent: usize| if self.packed { extent.next_multiple_of(4) } else { extent };
        (even(m), even(n), even(k))
    }

    /// Whether the product's kernel writes to the workspace, and a sum to C.
    pub fn sums(&self) -> bool {
        self.split_k > 1 || self.packed
    }

    /// Threads that pack the larger operand, if there is one, and they can be counted in 32 bits.
    pub fn fours(&self) -> Option<u32> {
        let (m, n, k) = self.extents();
        let fours = (m.max(n).checked_mul(k)? / 4).next_multiple_of(pack::BLOCK as usize);
        u32::try_from(fours).ok().filter(|&fours| fours > 0)
    }

    /// Tiles of C.
    pub fn tile_count(&self) -> usize {
        let (down, across) = self.tiles.edges(&self.problem);
        self.problem.m.div_ceil(down) * self.problem.n.div_ceil(across)
    }

    /// About how many cycles the multiprocessors take.
    fn cycles(&self) -> f64 {
        let blocks = (self.tile_count() * self.split_k as usize) as f64;
        // Of blocks that do not come out even, the fullest multiprocessor counts.
        let resident = (blocks / f64::from(self.sms)).ceil();
        let product = self.tiles.cycles(&self.problem, self.split_k, resident, self.costs);
        // The sum is a launch of its own; parts are written and read through L2, and each is a load that a thread waits for.
        let (m, n, k) = self.extents();
        let sum = if self.sums() {
            let waits = self.split_k.min(parts::MANY).max(self.split_k / parts::GROUPS as u32);
            let (launch, wait, rate) = self.costs.f32.sum;
            launch + wait * f64::from(waits) + (8.0 * f64::from(self.split_k) + 4.0) * (m * n) as f64 / rate
        } else {
            0.0
        };
        // So is packing, at the rate of a copy.
        let (launch, rate) = self.costs.f32.pack;
        let packing = if self.packed { launch + 8.0 * (m * k + k * n) as f64 / rate } else { 0.0 };
        packing + product + sum
    }

    /// Elements of the workspace for the parts of C.
    pub fn workspace_of_parts(&self) -> usize {
        let (m, n, _) = self.extents();
        if self.sums() { self.split_k as usize * m * n.next_multiple_of(4) } else { 0 }
    }

    /// Elements of the workspace that it needs.
    pub fn workspace(&self) -> usize {
        let (m, n, k) = self.extents();
        self.workspace_of_parts() + if self.packed { m * k + k * n } else { 0 }
    }

    /// Why this one, in words.
    pub fn why(&self) -> String {
        let (down, across) = self.tiles.edges(&self.problem);
        let tiles = self.tile_count();
        let alignment = match (self.problem.aligned, self.packed) {
            (true, _) => "aligned",
            (false, false) => "not aligned to 16 bytes",
            (false, true) => "not aligned to 16 bytes, so packed first",
        };
        let parts = match self.split_k {
            1 => String::new(),
            parts => format!(", K in {parts} parts to fill them"),
        };
        format!(
            "{tiles} tile{} of {down} × {across} for {} multiprocessors{parts}; operands {alignment}",
            if tiles == 1 { "" } else { "s" },
            self.sms
        )
    }
}
