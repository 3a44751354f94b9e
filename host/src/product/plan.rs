//! Which kernel a product gets: every way to deal it out, how many cycles each would take, and the launch of the least.

use cuda_std::Kernel;
use cust::memory::DevicePointer;
use kernels_gpu::choice::UseKernel;
use kernels_gpu::matmul::product as kernels;
use kernels_gpu::matmul::product::operand::STEP;
use kernels_gpu::matmul::product::pack::{self, Packing};
use kernels_gpu::matmul::product::parts;
use kernels_gpu::matmul::product::thin::{Thin, product_thin_columns, product_thin_rows};
use warpsmith_launch::{Device, Limits, Shape};

use super::tiles::{Problem, Tiles};
use crate::error::Error;
use crate::modules::LEVELS;

/// A kernel and the parts of K that it takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// The problem.
    pub problem: Problem,
    /// The tiles.
    pub tiles: Tiles,
    /// Into how many parts K is split.
    pub parts: u32,
    /// Whether A and B are copied to aligned rows first.
    pub packed: bool,
    /// Multiprocessors that it was planned for.
    sms: u32,
}

/// The most parts that K is split into.
const MOST_PARTS: u32 = 512;

impl Plan {
    /// A plan that was not chosen but asked for; an error if the device or the alignment forbids it.
    pub fn with(problem: Problem, tiles: Tiles, parts: u32, limits: &Limits) -> Result<Self, Error> {
        if !tiles.takes(&problem, limits) {
            return Err(Error::Size(format!(
                "{tiles:?} tiles do not take this product: Portable ones take all, Thin ones at most 8 rows or columns, the \
                 others need capability 8.0, and Large and Middle ones operands aligned to 16 bytes"
            )));
        }
        Ok(Self { problem, tiles, parts: parts.max(1), packed: false, sms: limits.sms.max(1) })
    }

    /// The same with operands that are packed first, whatever their alignment.
    pub fn with_packed(problem: Problem, tiles: Tiles, parts: u32, limits: &Limits) -> Result<Self, Error> {
        let plan = Self::with(Problem { aligned: true, ..problem }, tiles, parts, limits)?;
        let plan = Self { problem, packed: true, ..plan };
        if plan.fours().is_none() {
            return Err(Error::Size("operands without elements, or of 2³⁴ and more, are not packed".into()));
        }
        Ok(plan)
    }

    /// The plan with the fewest cycles, by estimate.
    pub fn choose(problem: Problem, limits: &Limits) -> Self {
        let steps = problem.k.div_ceil(STEP) as u32;
        let sms = limits.sms.max(1);
        let most = (steps / 4).clamp(1, MOST_PARTS);
        let plans = [false, true].into_iter().flat_map(|packed| {
            // What is packed is aligned; what is aligned need not be packed.
            let posed = Problem { aligned: problem.aligned || packed, ..problem };
            let tiles = Tiles::ALL.into_iter().filter(move |tiles| tiles.takes(&posed, limits));
            let tiles =
                tiles.filter(move |tiles| !packed || (!problem.aligned && tiles.takes_aligned_only()));
            tiles.flat_map(move |tiles| {
                (1..=most).map(move |parts| Self { problem, tiles, parts, packed, sms })
            })
        });
        let sensible = plans.filter(|plan| {
            // Scratch memory is not to be what a product fails for, unless there is no other way.
            let fits = !plan.packed || (plan.fours().is_some() && plan.scratch() <= limits.memory / 16);
            // Small tiles far beyond what the multiprocessors hold at once only read memory in smaller pieces.
            let small = plan.tiles != Tiles::Large;
            let held = plan.tile_count() * plan.parts as usize <= 12 * sms as usize;
            fits && (plan.parts == 1 || !small || held)
        });
        let least = sensible.min_by(|a, b| a.cycles().total_cmp(&b.cycles()));
        least.unwrap_or(Self { problem, tiles: Tiles::Portable, parts: 1, packed: false, sms })
    }

    /// M, N and K as the product's kernel sees them.
    pub(super) fn extents(&self) -> (usize, usize, usize) {
        let Problem { m, n, k, .. } = self.problem;
        let even = |extent: usize| if self.packed { extent.next_multiple_of(4) } else { extent };
        (even(m), even(n), even(k))
    }

    /// Whether the product's kernel writes to scratch memory, and a sum to C.
    pub(super) fn sums(&self) -> bool {
        self.parts > 1 || self.packed
    }

    /// The copies of A and B.
    pub(super) fn packings(&self, p: &kernels::Product) -> [Packing; 2] {
        let (m, n, k) = self.extents();
        let packing = |transposed, (rows, cols): (u32, u32), ld, (to_rows, to_cols): (usize, usize)| {
            let (rows, cols) = if transposed { (cols, rows) } else { (rows, cols) };
            let (to_rows, to_cols) = if transposed { (to_cols, to_rows) } else { (to_rows, to_cols) };
            Packing { rows, cols, ld, to_rows: to_rows as u32, to_cols: to_cols as u32 }
        };
        let Problem { a_transposed, b_transposed, .. } = self.problem;
        [packing(a_transposed, (p.m, p.k), p.lda, (m, k)), packing(b_transposed, (p.k, p.n), p.ldb, (k, n))]
    }

    /// Threads that pack the larger operand, if there is one, and they can be counted in 32 bits.
    pub(super) fn fours(&self) -> Option<u32> {
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
        let blocks = (self.tile_count() * self.parts as usize) as f64;
        // Of blocks that do not come out even, the fullest multiprocessor counts.
        let resident = (blocks / f64::from(self.sms)).ceil();
        let product = self.tiles.cycles(&self.problem, self.parts, resident);
        // The sum is a launch of its own; parts are written and read through L2, and each is a load that a thread waits for.
        let (m, n, k) = self.extents();
        let sum = if self.sums() {
            let waits = self.parts.min(parts::MANY).max(self.parts / parts::GROUPS as u32);
            let parts = f64::from(self.parts);
            1250.0 + 140.0 * f64::from(waits) + (8.0 * parts + 4.0) * (m * n) as f64 / 2550.0
        } else {
            0.0
        };
        // So is packing, at the rate of a copy.
        let packing = if self.packed { 2750.0 + 8.0 * (m * k + k * n) as f64 / 1750.0 } else { 0.0 };
        packing + product + sum
    }

    /// Elements of scratch memory for the parts of C.
    pub(super) fn scratch_of_parts(&self) -> usize {
        let (m, n, _) = self.extents();
        if self.sums() { self.parts as usize * m * n.next_multiple_of(4) } else { 0 }
    }

    /// Elements of scratch memory that it needs.
    pub fn scratch(&self) -> usize {
        let (m, n, k) = self.extents();
        self.scratch_of_parts() + if self.packed { m * k + k * n } else { 0 }
    }

    /// The kernel's name.
    pub fn kernel(&self) -> &'static str {
        self.entry().0
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
        let parts = match self.parts {
            1 => String::new(),
            parts => format!(", K in {parts} parts to fill them"),
        };
        format!(
            "{} of {down} × {across} for {} multiprocessors{parts}; operands {alignment}",
            report::text::counted(tiles as u64, "tile", "tiles"),
            self.sms
        )
    }

    /// Whether the kernel of that name is one of its launches.
    pub fn launches(&self, kernel: &str) -> bool {
        let many = self.parts >= parts::MANY;
        kernel == self.kernel()
            || (self.sums() && kernel == if many { "product_sum_many" } else { "product_sum" })
            || (self.packed && kernel == "product_pack")
    }

    /// The launch of the product's kernel.
    pub(super) fn shape(&self) -> Result<Shape, Error> {
        let tiles = u32::try_from(self.tile_count()).map_err(|_| {
            Error::Size(format!(
                "C has {} tiles, a grid has room for 2³¹ − 1: multiply blocks of rows",
                self.tile_count()
            ))
        })?;
        let (threads, shared) = self.tiles.block();
        Ok(Shape { grid: [tiles, self.parts, 1], block: [threads, 1, 1], shared })
    }

    /// The product as the thin kernels see it: the operand that is read once, and the one that every element of it meets.
    fn thin(&self, p: &kernels::Product, [a, b]: [Pointer; 2]) -> (Thin, [Pointer; 2]) {
        let Problem { a_transposed, b_transposed, .. } = self.problem;
        let common = Thin {
            lines: p.m,
            ld: p.lda,
            width: p.n,
            k: p.k,
            thin_k: if b_transposed { 1 } else { p.ldb },
            thin_line: if b_transposed { p.ldb } else { 1 },
            c_line: p.ldc,
            c_thin: 1,
            c_len: u64::from(p.m) * u64::from(p.ldc),
            alpha: p.alpha,
            beta: p.beta,
        };
        if self.problem.few_columns() {
            return (common, [a, b]);
        }
        let turned = Thin {
            lines: p.n,
            ld: p.ldb,
            width: p.m,
            thin_k: if a_transposed { p.lda } else { 1 },
            thin_line: if a_transposed { 1 } else { p.lda },
            c_line: 1,
            c_thin: p.ldc,
            ..common
        };
        (turned, [b, a])
    }

    pub(super) fn entry(&self) -> Entry {
        /// Launches the kernel that is chosen.
        struct OfTiles;
        impl UseKernel<kernels::Signature, Entry> for OfTiles {
            fn with<K: Kernel<Signature = kernels::Signature> + 'static>(self) -> Entry {
                // SAFETY: `Products::launch` compared the matrices with their buffers, and the shape is the plan's own.
                (K::NAME, |_, device, shape, p, a, b, c| unsafe {
                    Ok(device.kernel::<K>(&LEVELS)?.launch(shape, (p, a, b, c))?)
                })
            }
        }
        macro_rules! thin {
            ($kernel:ident) => {
                // SAFETY: as above.
                (<$kernel as Kernel>::NAME, |plan, device, shape, p, a, b, c| unsafe {
                    let (thin, [large, few]) = plan.thin(&p, [a, b]);
                    Ok(device.kernel::<$kernel>(&LEVELS)?.launch(shape, (thin, large, few, c))?)
                })
            };
        }
        let form = self.tiles.form();
        let transposed = (self.problem.a_transposed, self.problem.b_transposed);
        form.and_then(|form| kernels::choose(form, transposed, OfTiles)).unwrap_or_else(|| {
            if self.problem.large_turned() { thin!(product_thin_rows) } else { thin!(product_thin_columns) }
        })
    }
}

pub(super) type Pointer = DevicePointer<f32>;
pub(super) type Entry = (
    &'static str,
    fn(&Plan, &Device, Shape, kernels::Product, Pointer, Pointer, Pointer) -> Result<(), Error>,
);

#[cfg(test)]
mod tests {
    use gpu_model::chips::H200;

    use super::*;

    fn h200() -> Limits {
        Limits::of_chip(&H200)
    }

    fn cube(edge: usize, aligned: bool) -> Problem {
        Problem { m: edge, n: edge, k: edge, a_transposed: false, b_transposed: false, aligned }
    }

    #[test]
    fn large_problems_get_large_tiles_and_small_ones_are_split() {
        let plan = Plan::choose(cube(4096, true), &h200());
        assert_eq!((plan.kernel(), plan.parts), ("product_large_nn", 1));
        let plan = Plan::choose(cube(4095, false), &h200());
        assert_eq!((plan.kernel(), plan.parts, plan.packed), ("product_large_nn", 1, true));
        let plan = Plan::choose(cube(1024, true), &h200());
        assert!(plan.parts > 1 && plan.tile_count() * plan.parts as usize > 66, "{plan:?}");
        assert!(plan.why().contains("parts") && plan.scratch() >= 2 << 20, "{}", plan.why());
    }

    #[test]
    fn old_devices_get_the_portable_kernel() {
        let turing = Limits { capability: (7, 5), sms: 40, ..h200() };
        for aligned in [false, true] {
            let problem = Problem { a_transposed: true, ..cube(512, aligned) };
            assert_eq!(Plan::choose(problem, &turing).kernel(), "product_portable_tn");
        }
        assert!(Plan::with(cube(512, true), Tiles::Large, 1, &turing).is_err());
        assert!(Plan::with(cube(510, false), Tiles::Middle, 1, &h200()).is_err());
        assert!(Plan::with(cube(510, true), Tiles::Thin, 1, &h200()).is_err());
        assert!(Plan::with_packed(cube(510, false), Tiles::Small, 1, &turing).is_err());
    }

    #[test]
    fn few_rows_and_columns_get_tiles_of_their_own() {
        for (m, n, kernel) in [
            (4096, 1, "product_thin_rows"),
            (1, 4096, "product_thin_columns"),
            (4096, 8, "product_thin_rows"),
            (4096, 17, "product_tall_nn"),
            (17, 4096, "product_wide_nn"),
        ] {
            let plan = Plan::choose(Problem { m, n, ..cube(4096, false) }, &h200());
            assert!(plan.kernel() == kernel && plan.parts > 1, "{plan:?}");
        }
        let turned = Problem { n: 1, a_transposed: true, ..cube(4096, false) };
        assert_eq!(Plan::choose(turned, &h200()).kernel(), "product_thin_columns");
    }

    #[test]
    fn what_is_not_aligned_is_packed_where_the_copy_pays() {
        for edge in [127, 511, 1025] {
            assert!(!Plan::choose(cube(edge, false), &h200()).packed);
        }
        let plan = Plan::choose(Problem { b_transposed: true, ..cube(2049, false) }, &h200());
        assert!(
            plan.packed && plan.kernel() == "product_middle_nt" && plan.why().contains("packed"),
            "{plan:?}"
        );
        assert_eq!(plan.scratch(), (plan.parts as usize + 2) * 2052 * 2052);
        assert!(!Plan::choose(cube(2048, true), &h200()).packed);
        let small = Limits { memory: 1 << 28, ..h200() };
        assert!(!Plan::choose(cube(4095, false), &small).packed);
    }
}
