//! Costs of kernels on a chip: the numbers by which dispatchers choose, fitted to times of that chip.
//!
//! To fit them for another chip, time plans of each kind (`warpsmith bench matmul`, `bench tensor --variant`), and add a table.

use warpsmith_launch::Limits;

/// The numbers of one chip. Cycles are those of a multiprocessor, at the clock that it has under this load.
#[derive(Debug, PartialEq)]
pub(crate) struct Costs {
    /// The chip's name, as it begins the driver's.
    pub chip: &'static str,
    /// Products of f32 by the CUDA cores.
    pub f32: F32Costs,
    /// Products by Hopper's tensor cores.
    pub hopper: HopperCosts,
    /// The transposes' blocks that the chip holds at a time; a matrix with no more tiles is a small
    /// one.
    pub transposes_at_once: u64,
    /// Below this many operations, the general tensor-core kernel is faster than the copies that align alone.
    pub copies_pay_from: f64,
}

/// A form of the f32 kernels. `blocks` blocks of it on a multiprocessor take, for each step of K, the longer of `alone` (one
/// waits for its own loads) and `first + each · blocks` (more hide each other's).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct F32Cost {
    pub alone: f64,
    pub first: f64,
    pub each: f64,
    /// By how much longer it takes if K is contiguous in both operands, whose elements are then copied one by one.
    pub both_along_k: f64,
    /// Cycles before the first step and after the last.
    pub others: f64,
}

/// Fitted to the times of 2,400 plans for 70 products: the plan of least cycles takes 1.5 % longer than the fastest, on average.
#[derive(Debug, PartialEq)]
pub(crate) struct F32Costs {
    pub large: F32Cost,
    pub middle: F32Cost,
    pub middle_any: F32Cost,
    pub small: F32Cost,
    pub tall: F32Cost,
    pub wide: F32Cost,
    pub portable: F32Cost,
    /// Thin products are limited by memory: bytes a cycle for one multiprocessor, the number of blocks from which on that
    /// counts, other cycles.
    pub thin: (f64, f64, f64),
    /// Adding the parts of a split K is a launch of its own: its cycles, those that a thread waits for a part, bytes a cycle.
    pub sum: (f64, f64, f64),
    /// Packing is a launch of its own, too: its cycles, bytes a cycle.
    pub pack: (f64, f64),
}

/// A form of Hopper's kernels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct HopperCost {
    /// Cycles of a step of 128 bytes of K: what a multiprocessor can take in counts for small tiles, what the tensor cores can
    /// multiply for large ones.
    pub step: f64,
    /// Cycles from launch to launch beside the steps: until the first stage is there, and after the last.
    pub others: f64,
    /// Rows of clusters' tiles that run together: those that make the squarest piece of C of all that run at one time.
    pub group: u32,
}

/// Fitted to times, as [`F32Costs`].
#[derive(Debug, PartialEq)]
pub(crate) struct HopperCosts {
    pub pairs: HopperCost,
    pub alone: HopperCost,
    pub wide_192: HopperCost,
    pub wide_128: HopperCost,
    pub wide_64: HopperCost,
    pub small: HopperCost,
    /// More cycles for a step without clusters, if several rounds of tiles follow each other: a pair reads less, which costs
    /// nothing where no block waits for another, and counts where the board's power does.
    pub alone_in_rounds: f64,
    /// Cycles of storing a tile that are not hidden if another follows: if it is stored while that is multiplied, and else for each column.
    pub store: (f64, f64),
    /// Sums of shared tiles are written, read and waited for through L2: cycles at all, for each column, for each other part, and
    /// for each column's square of one.
    pub shared: (f64, f64, f64, f64),
    /// Bytes that memory brings in a cycle, however many multiprocessors ask.
    pub memory: f64,
}

/// All chips with numbers of their own.
static CHIPS: [Costs; 1] = [Costs {
    chip: "NVIDIA H200",
    f32: F32Costs {
        // Only one block fits, so blocks run in waves.
        large: F32Cost { alone: 0.0, first: 0.0, each: 2380.0, both_along_k: 1.0, others: 4800.0 },
        middle: F32Cost { alone: 790.0, first: 130.0, each: 604.0, both_along_k: 1.05, others: 2900.0 },
        middle_any: F32Cost { alone: 890.0, first: 165.0, each: 646.0, both_along_k: 1.05, others: 2900.0 },
        small: F32Cost { alone: 522.0, first: 69.0, each: 370.0, both_along_k: 1.18, others: 2900.0 },
        tall: F32Cost { alone: 600.0, first: 127.0, each: 475.0, both_along_k: 1.0, others: 2900.0 },
        wide: F32Cost { alone: 592.0, first: 91.0, each: 434.0, both_along_k: 1.0, others: 2900.0 },
        // On devices without the others; beside them it is never better than small tiles.
        portable: F32Cost { alone: 600.0, first: 486.0, each: 370.0, both_along_k: 1.0, others: 2900.0 },
        thin: (13.0, 3.0, 3000.0),
        sum: (1250.0, 140.0, 2550.0),
        pack: (2750.0, 1750.0),
    },
    hopper: HopperCosts {
        pairs: HopperCost { step: 1370.0, others: 7100.0, group: 8 },
        alone: HopperCost { step: 1385.0, others: 7100.0, group: 8 },
        wide_192: HopperCost { step: 1060.0, others: 6500.0, group: 14 },
        wide_128: HopperCost { step: 700.0, others: 5700.0, group: 12 },
        wide_64: HopperCost { step: 480.0, others: 4450.0, group: 8 },
        small: HopperCost { step: 320.0, others: 3960.0, group: 8 },
        alone_in_rounds: 30.0,
        store: (300.0, 12.0),
        shared: (2500.0, 50.0, 500.0, 0.09),
        memory: 2270.0,
    },
    transposes_at_once: 528,
    copies_pay_from: 1e8,
}];

impl Costs {
    /// The costs on a device, or on the chip that is most like it.
    pub fn of(limits: &Limits) -> &'static Self {
        CHIPS.iter().find(|costs| limits.name.starts_with(costs.chip)).unwrap_or(&CHIPS[0])
    }
}
