//! Products of f32 by the CUDA cores: which kernel a product gets, and its launches.
//!
//! | tiles | block | what they are for |
//! | --- | --- | --- |
//! | large | 128 × 256 | as soon as C has enough of them, or K is long enough to be split |
//! | middle | 64 × 128 | nearly as fast, and a quarter as large: they fill the device with a smaller C |
//! | small | 64 × 64 | a C of few tiles |
//! | tall, wide | 128 × 32, 32 × 128 | a C of few columns, or rows |
//! | thin | 8 rows or columns | at most as many: limited by memory |
//! | portable | 64 × 64 | devices without asynchronous copies |
//!
//! Each comes for the four layouts. Large ones are for operands aligned to 16 bytes, middle ones for those or any, the others
//! for any. Operands that are not aligned can also be packed first, which is a launch of its own, and then be multiplied as if
//! they were. [`Tiling::choose`] estimates the cycles of every candidate and takes the least.

mod tiles;
mod tiling;

use cuda_std::Kernel;
use cust::memory::DevicePointer;
use kernels_gpu::base::product::pack::{self, Packing, product_pack};
use kernels_gpu::base::product::parts::{self, product_sum, product_sum_many};
use kernels_gpu::base::product::thin::{Thin, product_thin_columns, product_thin_rows, product_vector_rows};
use kernels_gpu::choice::UseKernel;
use kernels_gpu::product as kernels;
use warpsmith_launch::{Device, Shape};

use self::tiles::Tiles;
use self::tiling::Tiling;
use super::variant::{Automatic, Schedule, Split, Variant};
use super::{Gemm, Operands, Order, Prepared, Problem};
use crate::Error;

macro_rules! variant {
    ($name:literal, $about:literal, $automatic:ident, $tiles:expr) => {
        Variant {
            name: $name,
            about: $about,
            automatic: Automatic::$automatic,
            f32: true,
            schedule: |limits, problem, operands, request| {
                let tiling = Tiling::choose(limits, problem, operands, $tiles, request)?;
                Ok(Box::new(tiling))
            },
        }
    };
}

/// The dispatcher's variant, which takes the tiling of the least estimate, and each kind of tiles by itself.
pub(super) const VARIANTS: &[Variant] = &[
    variant!("f32", "registers, vectors, copies ahead of the arithmetic", Always, &Tiles::ALL),
    variant!("f32-large", "128 x 256 a block, aligned operands", Never, &[Tiles::Large]),
    variant!("f32-middle", "64 x 128 a block, aligned operands", Never, &[Tiles::Middle]),
    variant!("f32-middle-any", "64 x 128 a block, any operands", Never, &[Tiles::MiddleAny]),
    variant!("f32-small", "64 x 64 a block", Never, &[Tiles::Small]),
    variant!("f32-tall", "128 x 32 a block", Never, &[Tiles::Tall]),
    variant!("f32-wide", "32 x 128 a block", Never, &[Tiles::Wide]),
    variant!("f32-portable", "64 x 64 a block, on any device", Never, &[Tiles::Portable]),
    variant!("f32-thin", "at most 8 rows or columns", Never, &[Tiles::Thin]),
];

type Pointer = DevicePointer<f32>;
/// A kernel's name, and how it is launched.
type Entry = (
    &'static str,
    for<'d> fn(&'d Device, &Tiling, kernels::Product, [Pointer; 2], Pointer) -> Result<Prepared<'d>, Error>,
);

/// Makes the entry of a kernel that makes tiles.
struct MakeEntry;

impl UseKernel<kernels::Signature, Entry> for MakeEntry {
    fn with<K: Kernel<Signature = kernels::Signature> + 'static>(self) -> Entry {
        // SAFETY: `Gemm::prepare`'s caller promises the matrices, and the shape is the tiling's own.
        (K::NAME, |device, tiling, p, [a, b], c| unsafe {
            Prepared::kernel::<K, _>(device, tiling.shape()?, (p, a, b, c))
        })
    }
}

/// A kernel that reads one operand once, and meets each of its elements with all lines of the thin one.
fn thin<K: Kernel<Signature = fn(Thin, *const f32, *const f32, *mut f32)> + 'static>() -> Entry {
    (K::NAME, |device, tiling, p, operands, c| {
        let (p, [large, few]) = tiling.thin(&p, operands);
        // SAFETY: as above.
        unsafe { Prepared::kernel::<K, _>(device, tiling.shape()?, (p, large, few, c)) }
    })
}

impl Tiling {
    fn entry(&self) -> Entry {
        let tiled = self.tiles.form();
        let tiled = tiled.and_then(|form| kernels::choose(form, self.problem.layout.transposed(), MakeEntry));
        tiled.unwrap_or_else(|| match self.problem.large_along_k() {
            true if self.problem.vector => thin::<product_vector_rows>(),
            true => thin::<product_thin_rows>(),
            false => thin::<product_thin_columns>(),
        })
    }

    /// The copies of A and B.
    fn packings(&self, p: &kernels::Product) -> [Packing; 2] {
        let (m, n, k) = self.extents();
        let packing = |order, (rows, cols): (u32, u32), ld, (to_rows, to_cols): (usize, usize)| {
            let (rows, cols) = if order == Order::Columns { (cols, rows) } else { (rows, cols) };
            let (to_rows, to_cols) =
                if order == Order::Columns { (to_cols, to_rows) } else { (to_rows, to_cols) };
            Packing { rows, cols, ld, to_rows: to_rows as u32, to_cols: to_cols as u32 }
        };
        let layout = self.problem.layout;
        [packing(layout.a(), (p.m, p.k), p.lda, (m, k)), packing(layout.b(), (p.k, p.n), p.ldb, (k, n))]
    }

    /// The product as the thin kernels see it, and the operand that is read once before the other.
    fn thin(&self, p: &kernels::Product, [a, b]: [Pointer; 2]) -> (Thin, [Pointer; 2]) {
        let (a_order, b_order) = (self.problem.layout.a(), self.problem.layout.b());
        let common = Thin {
            lines: p.m,
            ld: p.lda,
            width: p.n,
            k: p.k,
            thin_k: if b_order == Order::Columns { 1 } else { p.ldb },
            thin_line: if b_order == Order::Columns { p.ldb } else { 1 },
            c_line: p.ldc,
            c_thin: 1,
            c_len: u64::from(p.m) * u64::from(p.ldc),
            alpha: p.alpha,
            beta: p.beta,
        };
        if self.problem.few_columns() {
            return (common, [a, b]);
        }
        let transposed = Thin {
            lines: p.n,
            ld: p.ldb,
            width: p.m,
            thin_k: if a_order == Order::Columns { p.lda } else { 1 },
            thin_line: if a_order == Order::Columns { 1 } else { p.lda },
            c_line: 1,
            c_thin: p.ldc,
            ..common
        };
        (transposed, [b, a])
    }

    /// The launch of the product's kernel.
    fn shape(&self) -> Result<Shape, Error> {
        let tiles = u32::try_from(self.tile_count()).map_err(|_| {
            Error::Gemm(format!(
                "C has {} tiles, a grid has room for 2³¹ − 1: multiply blocks of rows",
                self.tile_count()
            ))
        })?;
        let (threads, shared) = self.tiles.block();
        Ok(Shape { grid: [tiles, self.split_k, 1], block: [threads, 1, 1], shared })
    }
}

impl Schedule for Tiling {
    fn kernel(&self) -> &'static str {
        self.entry().0
    }

    fn launches(&self, kernel: &str) -> bool {
        let many = self.split_k >= parts::MANY;
        kernel == self.kernel()
            || (self.sums() && kernel == if many { "product_sum_many" } else { "product_sum" })
            || (self.packed && kernel == "product_pack")
    }

    fn words(&self) -> Option<String> {
        Some(self.why())
    }

    fn split(&self) -> Split {
        if self.split_k > 1 { Split::SplitK(self.split_k) } else { Split::Whole }
    }

    fn packs(&self) -> bool {
        self.packed
    }

    fn prepare<'d>(
        &self,
        gemm: &Gemm<'d>,
        problem: &Problem,
        operands: &Operands,
    ) -> Result<Prepared<'d>, Error> {
        // The pitch of a single line is never used to find one, but tells how much of C there is.
        let [lda, ldb, ldc] = problem.matrices().map(|matrix| match matrix.lines {
            0 | 1 => matrix.pitch.max(matrix.len) as u32,
            _ => matrix.pitch as u32,
        });
        // `Problem::check` keeps all of them below 2³¹.
        let (m, n, k) = (problem.m as u32, problem.n as u32, problem.k as u32);
        let p = kernels::Product { m, n, k, lda, ldb, ldc, alpha: problem.alpha, beta: problem.beta };
        let [a, b, c] = operands.addresses().map(Pointer::from_raw);
        let (device, (_, product)) = (gemm.device, self.entry());
        if !self.sums() {
            return product(device, self, p, [a, b], c);
        }
        let workspace = gemm.workspace(self.workspace())?;
        let from = workspace.as_device_ptr();
        let row = parts::row_length(n);
        let (mut inner, mut packed) = (kernels::Product { ldc: row, beta: 0.0, ..p }, [a, b]);
        let mut steps = Vec::new();
        // SAFETY (all steps): the operands are as the caller promises. The workspace is as long as the tiling says, with room for
        // the packed operands behind the parts, and each step reads what the one before it writes.
        if self.packed {
            let (m, n, k) = self.extents();
            let [of_a, of_b] = self.packings(&p);
            let to = from.wrapping_add(self.workspace_of_parts());
            let blocks = self.fours().unwrap_or(0) / pack::BLOCK;
            let shape = Shape { grid: [blocks, 2, 1], block: [pack::BLOCK, 1, 1], shared: 0 };
            // SAFETY: as above.
            steps
                .push(unsafe { Prepared::kernel::<product_pack, _>(device, shape, (of_a, of_b, a, b, to))? });
            let (m, n, k) = (m as u32, n as u32, k as u32);
            inner = kernels::Product { m, n, k, lda: of_a.to_cols, ldb: of_b.to_cols, ..inner };
            packed = [to, to.wrapping_add(of_a.to_rows as usize * of_a.to_cols as usize)];
        }
        steps.push(product(device, self, inner, packed, from)?);
        let fours = m as usize * row as usize / 4;
        let sum = (p, self.split_k, self.extents().0 as u32, from, c);
        // SAFETY: as above.
        steps.push(unsafe {
            if self.split_k < parts::MANY {
                Prepared::kernel::<product_sum, _>(device, Shape::line(fours, parts::BLOCK), sum)?
            } else {
                let shape = Shape::line(fours, parts::BLOCK / parts::GROUPS as u32);
                let shape = Shape { block: [parts::BLOCK, 1, 1], ..shape };
                Prepared::kernel::<product_sum_many, _>(device, shape, sum)?
            }
        });
        Ok(Prepared::sequence(steps, workspace))
    }
}

#[cfg(test)]
mod tests {
    use gpu_model::chips::H200;
    use warpsmith_launch::Limits;

    use super::super::{Layout, Plan, Request};
    use super::*;

    fn h200() -> Limits {
        Limits::of_chip(&H200)
    }

    const ALIGNED: Operands = Operands { a: 0x1000, b: 0x2000, c: 0x3000 };
    const ODD: Operands = Operands { a: 0x1004, b: 0x2000, c: 0x3000 };

    fn cube(edge: usize) -> Problem {
        Problem::f32((edge, edge, edge))
    }

    fn choose(problem: Problem, operands: &Operands, limits: &Limits) -> Plan {
        Plan::choose(limits, &problem, operands, Request::default()).unwrap()
    }

    #[test]
    fn large_problems_get_large_tiles_and_small_ones_are_split() {
        let plan = choose(cube(4096), &ALIGNED, &h200());
        assert_eq!((plan.kernel(), plan.split()), ("product_large_nn", Split::Whole));
        let plan = choose(cube(4095), &ODD, &h200());
        assert_eq!((plan.kernel(), plan.split(), plan.packs()), ("product_large_nn", Split::Whole, true));
        let plan = choose(cube(1024), &ALIGNED, &h200());
        assert!(matches!(plan.split(), Split::SplitK(2..)) && plan.how().contains("parts"), "{plan:?}");
        let tiling = Tiling::choose(&h200(), &cube(1024), &ALIGNED, &Tiles::ALL, &Request::default());
        let tiling = tiling.unwrap();
        assert!(tiling.tile_count() * tiling.split_k as usize > 66 && tiling.workspace() >= 2 << 20);
    }

    #[test]
    fn old_devices_get_the_portable_kernel() {
        let turing = Limits { capability: (7, 5), sms: 40, ..h200() };
        for operands in [&ALIGNED, &ODD] {
            let problem = Problem { layout: Layout::Tn, ..cube(512) };
            assert_eq!(choose(problem, operands, &turing).kernel(), "product_portable_tn");
        }
        let refused = |edge, variant, packed, limits: &Limits| {
            let request = Request { variant: Some(variant), split_k: Some(1), packed: Some(packed) };
            Plan::choose(limits, &cube(edge), &ALIGNED, request).is_err()
        };
        assert!(refused(512, "f32-large", false, &turing) && refused(510, "f32-middle", false, &h200()));
        assert!(refused(510, "f32-thin", false, &h200()) && refused(510, "f32-small", true, &turing));
        assert!(!refused(510, "f32-middle", true, &h200()));
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
            let plan = choose(Problem::f32((m, n, 4096)), &ODD, &h200());
            assert!(plan.kernel() == kernel && plan.split() != Split::Whole, "{plan:?}");
        }
        let vector = choose(Problem::f32((4096, 1, 4096)), &ALIGNED, &h200());
        assert!(vector.kernel() == "product_vector_rows" && vector.split() == Split::Whole, "{vector:?}");
        let weights = Problem { layout: Layout::Nt, ..Problem::f32((1, 4096, 4096)) };
        let weights = Problem { ldb: 4096, ..weights };
        assert_eq!(choose(weights, &ALIGNED, &h200()).kernel(), "product_vector_rows");
        let layout = Layout::Tn;
        let problem = Problem { layout, lda: 4096, ..Problem::f32((4096, 1, 4096)) };
        assert_eq!(choose(problem, &ODD, &h200()).kernel(), "product_thin_columns");
    }

    #[test]
    fn what_is_not_aligned_is_packed_where_the_copy_pays() {
        for edge in [127, 511, 1025] {
            assert!(!choose(cube(edge), &ODD, &h200()).packs());
        }
        let problem = Problem { layout: Layout::Nt, ..cube(2049) };
        let plan = choose(problem, &ODD, &h200());
        assert!(
            plan.packs() && plan.kernel() == "product_middle_nt" && plan.how().contains("packed"),
            "{plan:?}"
        );
        let tiling = Tiling::choose(&h200(), &problem, &ODD, &Tiles::ALL, &Request::default()).unwrap();
        assert_eq!(tiling.workspace(), (tiling.split_k as usize + 2) * 2052 * 2052);
        assert!(!choose(cube(2048), &ALIGNED, &h200()).packs());
        let small = Limits { memory: 1 << 28, ..h200() };
        assert!(!choose(cube(4095), &ODD, &small).packs());
    }
}
