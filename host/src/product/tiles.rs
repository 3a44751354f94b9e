//! The kernels' tiles: what they are for, which products they take, and how many cycles they take for them.

use kernels_gpu::matmul::product::operand::STEP;
use kernels_gpu::matmul::product::{self as kernels, Form, thin};
use warpsmith_launch::Limits;

/// What a kernel is chosen by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Problem {
    /// Rows of op(A) and C.
    pub m: usize,
    /// Columns of op(B) and C.
    pub n: usize,
    /// Columns of op(A), rows of op(B).
    pub k: usize,
    /// Whether A is stored as its transpose.
    pub a_transposed: bool,
    /// Whether B is stored as its transpose.
    pub b_transposed: bool,
    /// Whether all addresses, rows and contiguous extents are multiples of 16 bytes.
    pub aligned: bool,
}

impl Problem {
    /// Whether B is so thin that A needs to be read only once.
    pub(super) fn few_columns(&self) -> bool {
        self.n <= thin::WIDTH
    }

    /// Whether A is, and B is not.
    fn few_rows(&self) -> bool {
        self.m <= thin::WIDTH && !self.few_columns()
    }

    /// Whether the k of each line lie side by side in both operands.
    fn both_turned(&self) -> bool {
        !self.a_transposed && self.b_transposed
    }

    /// Lines of the operand that is not thin, for a block of the thin kernels.
    fn lines_of_block(&self) -> u32 {
        if self.large_turned() { thin::LINES_OF_ROWS } else { thin::LINES_OF_COLUMNS }
    }

    /// Whether the k of each of those lines lie side by side.
    pub(super) fn large_turned(&self) -> bool {
        if self.few_columns() { !self.a_transposed } else { self.b_transposed }
    }
}

/// The tiles of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tiles {
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
    pub(super) fn form(self) -> Option<Form> {
        Some(match self {
            Self::Large => kernels::LARGE,
            Self::Middle => kernels::MIDDLE,
            Self::MiddleAny => kernels::MIDDLE_ANY,
            Self::Small => kernels::SMALL,
            Self::Tall => kernels::TALL,
            Self::Wide => kernels::WIDE,
            Self::Portable => kernels::PORTABLE,
            Self::Thin => return None,
        })
    }

    /// Rows and columns of a tile.
    pub(super) fn edges(self, problem: &Problem) -> (usize, usize) {
        let (lines, thin) = (problem.lines_of_block() as usize, thin::WIDTH);
        match self.form() {
            Some(form) => (form.m, form.n),
            None if problem.few_columns() => (lines, thin),
            None => (thin, lines),
        }
    }

    /// Threads of a block and bytes of dynamic shared memory.
    pub(super) fn block(self) -> (u32, u32) {
        self.form().map_or((thin::BLOCK, 0), |form| (form.threads, form.shared_bytes))
    }

    /// Whether they need whole vectors.
    pub(super) fn takes_aligned_only(self) -> bool {
        self.form().is_some_and(|form| form.aligned)
    }

    pub(super) fn takes(self, problem: &Problem, limits: &Limits) -> bool {
        self.form().map_or(problem.few_columns() || problem.few_rows(), |form| {
            (problem.aligned || !form.aligned) && (limits.capability >= (8, 0) || !form.asynchronous)
        })
    }

    /// About how many cycles a multiprocessor takes for `blocks` blocks, each of which has one of `parts` of K.
    ///
    /// What a step of so many blocks takes, and what comes before the first and after the last, is fitted to the times of
    /// 2,400 plans for 70 products on an H200: the plan of least cycles takes 1.5 % longer than the fastest, on average.
    pub(super) fn cycles(self, problem: &Problem, parts: u32, blocks: f64) -> f64 {
        let steps = problem.k.div_ceil(STEP).div_ceil(parts as usize) as f64;
        // A block alone waits for its own loads; more hide each other's.
        let (alone, first, each) = match self {
            // Only one block has room: one wave of blocks after the other.
            Self::Large => return blocks * (2380.0 * steps + 4800.0),
            Self::Middle => (790.0, 130.0, 604.0),
            Self::MiddleAny => (890.0, 165.0, 646.0),
            Self::Small => (522.0, 69.0, 370.0),
            Self::Tall => (600.0, 127.0, 475.0),
            Self::Wide => (592.0, 91.0, 434.0),
            // On devices without the others; beside them it is never better than small tiles.
            Self::Portable => (600.0, 486.0, 370.0),
            // Limited by memory: a chunk takes as long as its bytes, from one multiprocessor.
            Self::Thin => {
                let chunks = problem.k.div_ceil(thin::CHUNK as usize).div_ceil(parts as usize) as f64;
                let bytes = f64::from(4 * thin::CHUNK * problem.lines_of_block());
                return chunks * (bytes * blocks.max(3.0) / 13.0) + 3000.0;
            }
        };
        // Single elements of both operands, each a copy of its own.
        let turned = match self {
            Self::Small if problem.both_turned() => 1.18,
            Self::Middle | Self::MiddleAny if problem.both_turned() => 1.05,
            _ => 1.0,
        };
        steps * turned * f64::max(alone, first + each * blocks) + 2900.0
    }
}
