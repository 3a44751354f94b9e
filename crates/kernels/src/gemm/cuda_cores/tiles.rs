//! The tiles of the f32 kernels: what they are for, which products they take, and how many cycles they take for them.

use kernels_gpu::ampere::product as kernels;
use kernels_gpu::base::product::{PORTABLE, thin};
use kernels_gpu::product::Form;
use kernels_gpu::product::operand::STEP;
use warpsmith_launch::Limits;

use crate::costs::Costs;
use crate::gemm::{Layout, Operands, Order, Problem};

/// The properties of a problem by which a kernel is chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct NormalizedProblem {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub layout: Layout,
    /// Whether all addresses, rows and contiguous extents are multiples of 16 bytes.
    pub aligned: bool,
    /// Whether it is a matrix times a vector, both with K side by side and aligned.
    pub vector: bool,
}

impl NormalizedProblem {
    pub fn new(problem: &Problem, operands: &Operands) -> Self {
        let Problem { m, n, k, layout, .. } = *problem;
        let aligned = problem.matrices().into_iter().zip(operands.addresses()).all(|(matrix, address)| {
            address.is_multiple_of(16) && matrix.pitch.is_multiple_of(4) && matrix.len.is_multiple_of(4)
        });
        let normalized = Self { m, n, k, layout, aligned, vector: false };
        let [a, b, _] = problem.matrices();
        let (large, thin, width, along_k) = match normalized.few_columns() {
            true => (a, b, n, layout.b() == Order::Columns),
            false => (b, a, m, layout.a() == Order::Rows),
        };
        let vector = width == 1
            && normalized.large_along_k()
            && (along_k || thin.pitch == 1)
            && k.is_multiple_of(4)
            && large.pitch.is_multiple_of(4)
            && [operands.a, operands.b].iter().all(|address| address.is_multiple_of(16));
        Self { vector, ..normalized }
    }

    /// Whether B is so thin that A needs to be read only once.
    pub fn few_columns(&self) -> bool {
        self.n <= thin::WIDTH
    }

    /// Whether A is, and B is not.
    fn few_rows(&self) -> bool {
        self.m <= thin::WIDTH && !self.few_columns()
    }

    /// Lines of the operand that is not thin, for a block of the thin kernels.
    fn lines_of_block(&self) -> u32 {
        match self.large_along_k() {
            true if self.vector => thin::LINES_OF_VECTOR,
            true => thin::LINES_OF_ROWS,
            false => thin::LINES_OF_COLUMNS,
        }
    }

    /// Whether the k of each of those lines lie side by side.
    pub fn large_along_k(&self) -> bool {
        if self.few_columns() { self.layout.a() == Order::Rows } else { self.layout.b() == Order::Columns }
    }
}

/// The tiles of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tiles {
    /// 128 × 256.
    Large,
    /// 64 × 128.
    Middle,
    /// 64 × 128, any alignment.
    MiddleAny,
    /// 64 × 64, any alignment.
    Small,
    /// 128 × 32, any alignment.
    Tall,
    /// 32 × 128, any alignment.
    Wide,
    /// 64 × 64, any alignment, any device.
    Portable,
    /// At most eight rows or columns, and all lines of the other operand: any alignment, any device.
    Thin,
}

impl Tiles {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Large,
        Self::Middle,
        Self::MiddleAny,
        Self::Small,
        Self::Tall,
        Self::Wide,
        Self::Portable,
        Self::Thin,
    ];

    /// The form of the kernels in these tiles; the thin ones have none.
    pub fn form(self) -> Option<Form> {
        Some(match self {
            Self::Large => kernels::LARGE,
            Self::Middle => kernels::MIDDLE,
            Self::MiddleAny => kernels::MIDDLE_ANY,
            Self::Small => kernels::SMALL,
            Self::Tall => kernels::TALL,
            Self::Wide => kernels::WIDE,
            Self::Portable => PORTABLE,
            Self::Thin => return None,
        })
    }

    /// Rows and columns of a tile.
    pub fn edges(self, problem: &NormalizedProblem) -> (usize, usize) {
        let (lines, thin) = (problem.lines_of_block() as usize, thin::WIDTH);
        match self.form() {
            Some(form) => (form.m, form.n),
            None if problem.few_columns() => (lines, thin),
            None => (thin, lines),
        }
    }

    /// Threads of a block and bytes of dynamic shared memory.
    pub fn block(self) -> (u32, u32) {
        self.form().map_or((thin::BLOCK, 0), |form| (form.threads, form.shared_bytes))
    }

    /// Whether they need whole vectors.
    pub fn takes_aligned_only(self) -> bool {
        self.form().is_some_and(|form| form.aligned)
    }

    pub fn takes(self, problem: &NormalizedProblem, limits: &Limits) -> bool {
        self.form().map_or(problem.few_columns() || problem.few_rows(), |form| {
            (problem.aligned || !form.aligned) && (limits.capability >= (8, 0) || !form.asynchronous)
        })
    }

    /// About how many cycles a multiprocessor takes for `blocks` blocks, each of which has one of `split_k` parts of K.
    pub fn cycles(self, problem: &NormalizedProblem, split_k: u32, blocks: f64, costs: &Costs) -> f64 {
        let parts = split_k as usize;
        let steps = problem.k.div_ceil(STEP).div_ceil(parts) as f64;
        let costs = &costs.f32;
        let step = match self {
            // Only one block fits, so blocks run in waves.
            Self::Large => return blocks * (costs.large.each * steps + costs.large.others),
            Self::Middle => costs.middle,
            Self::MiddleAny => costs.middle_any,
            Self::Small => costs.small,
            Self::Tall => costs.tall,
            Self::Wide => costs.wide,
            Self::Portable => costs.portable,
            // Limited by memory: a chunk takes as long as its bytes, from one multiprocessor.
            Self::Thin => {
                let chunks = problem.k.div_ceil(thin::CHUNK as usize).div_ceil(parts) as f64;
                let bytes = f64::from(4 * thin::CHUNK * problem.lines_of_block());
                let (rate, fewest, others) = costs.thin;
                return chunks * (bytes * blocks.max(fewest) / rate) + others;
            }
        };
        let longer = if problem.layout == Layout::Nt { step.both_along_k } else { 1.0 };
        steps * longer * f64::max(step.alone, step.first + step.each * blocks) + step.others
    }
}
