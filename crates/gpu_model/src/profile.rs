//! Counters of a launch: by the virtual GPU, in a profile that was written, and in reports.

mod advice;
mod cost;
mod stride;

use std::iter::Sum;
use std::ops::{AddAssign, Mul};

use serde::{Deserialize, Serialize};

use crate::roofline::Arithmetic;

pub use advice::{Advice, LEAST_SHARE};
pub use cost::{Cost, Ranked, Rates, Unit, rank};
pub use stride::Strides;

/// Counters of one launch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LaunchProfile {
    /// The kernel's name.
    pub kernel: String,
    /// The device that ran it, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<u32>,
    /// Blocks in each dimension.
    pub grid: [u32; 3],
    /// Threads of a block in each dimension.
    pub block: [u32; 3],
    /// Shared memory of a block, static and dynamic.
    pub shared_bytes: u32,
    /// Instructions that warps executed; a diverged warp executes an instruction once for each group of its lanes.
    pub warp_instructions: u64,
    /// The lanes that executed them, in sum: 32 for each where no warp diverged and no guard kept lanes out. Those of a branch
    /// are all that come to it.
    pub lane_instructions: u64,
    /// Those of them that went to memory, by the space that they reached.
    pub memory_instructions: BySpace,
    /// The whole launch.
    pub counters: Counters,
    /// Bytes read of global memory, each once.
    pub distinct: Distinct,
    /// Arithmetic of all lanes.
    pub operations: Operations,
    /// Each source line that was executed, by file and line.
    pub lines: Vec<LineProfile>,
    /// Families of instructions that ran and have no measured rule.
    pub not_counted: Vec<NotCounted>,
    /// The fault that ended the launch, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// The counters of one source line: the innermost frame outside the standard libraries, `tile` and `blockwise`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LineProfile {
    /// The file as the compiler named it; empty if the PTX has no lines.
    pub file: String,
    /// The line, from 1; without lines, the line of the PTX text.
    pub line: u32,
    /// Its text when it ran, without indentation; empty if the source was not at hand.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Its counters.
    #[serde(flatten)]
    pub work: InstructionCounts,
}

/// Counters of the instructions of a line, or of a launch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InstructionCounts {
    /// Instructions that warps executed.
    pub warp_instructions: u64,
    /// The lanes that executed them, in sum.
    pub lane_instructions: u64,
    /// Counters of their memory accesses.
    #[serde(flatten)]
    pub counters: Counters,
    /// Bytes that they read of global memory, each once.
    pub distinct: Distinct,
    /// How far neighbouring lanes were apart in shared memory, where banks conflicted.
    pub shared_strides: Strides,
    /// How far they were apart in global memory, where more sectors moved than the bytes fill.
    pub global_strides: Strides,
    /// Those of them that reached local memory.
    #[serde(skip_serializing_if = "is_zero")]
    pub local_accesses: u64,
    /// Their arithmetic.
    pub operations: Operations,
}

/// Bytes of global memory that loads and copies read, each counted once, however often it was asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Distinct {
    /// Once in each block, in sum over the blocks.
    pub by_block: u64,
    /// Once in the launch.
    pub by_launch: u64,
}

/// Every family with a measured rule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counters {
    /// `ld.shared`.
    pub shared_load: SharedCounters,
    /// `st.shared`.
    pub shared_store: SharedCounters,
    /// `atom.shared` and `red.shared` of 4 bytes.
    pub shared_atomic: SharedCounters,
    /// `ld.global`.
    pub global_load: GlobalCounters,
    /// `st.global`.
    pub global_store: GlobalCounters,
    /// `atom.global` and `red.global`: lanes that want one word come one after the other.
    pub global_atomic: GlobalCounters,
    /// Reads of bulk and tensor copies from global memory. A request is a run of contiguous bytes, such as a row of a
    /// box; sectors follow from its place, and no rule for them was measured.
    pub bulk_load: GlobalCounters,
    /// Their writes to global memory.
    pub bulk_store: GlobalCounters,
}

/// One family on shared memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SharedCounters {
    /// Warp instructions.
    pub instructions: u64,
    /// Passes through shared memory.
    pub wavefronts: u64,
    /// Passes without conflicts.
    pub ideal_wavefronts: u64,
    /// Passes lost to conflicts.
    pub bank_conflicts: u64,
}

/// One family on global memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GlobalCounters {
    /// Warp instructions.
    pub requests: u64,
    /// Sectors of 32 bytes that they touched.
    pub sectors: u64,
    /// Bytes that lanes asked for.
    pub bytes: u64,
    /// Those of the sectors that lie in another device's memory.
    #[serde(skip_serializing_if = "is_zero")]
    pub peer_sectors: u64,
    /// Those of the bytes.
    #[serde(skip_serializing_if = "is_zero")]
    pub peer_bytes: u64,
}

/// Whether a count says nothing: with one device there are none of these.
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Warp instructions by the memory that they reached; what bulk copies move is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BySpace {
    /// A kernel's parameters.
    pub parameter: u64,
    /// A thread's own stack.
    pub local: u64,
    /// A block's shared memory.
    pub shared: u64,
    /// Global memory.
    pub global: u64,
    /// Constant memory.
    pub constant: u64,
}

/// Operations by type: a multiply-add counts two, packed types by element. Approximations and conversions are not
/// counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Operations {
    /// `f16` and `bf16`.
    pub f16: u64,
    pub f32: u64,
    pub f64: u64,
    /// Of `mma`, `wmma` and `wgmma`.
    pub tensor: TensorOperations,
}

/// Operations of matrix instructions, by the type of the factors. Four-bit integers and single bits are not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TensorOperations {
    /// `f16` and `bf16`.
    pub f16: u64,
    pub tf32: u64,
    pub f64: u64,
    /// Floating-point numbers of eight bits.
    pub f8: u64,
    /// Integers of eight bits.
    pub s8: u64,
}

/// Instructions without a measured rule.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotCounted {
    /// Their class.
    pub family: String,
    /// How many ran.
    pub instructions: u64,
}

/// Counters that add up, field by field.
macro_rules! add_up {
    ($($counters:ident: $($field:ident)*;)*) => {$(
        impl AddAssign for $counters {
            fn add_assign(&mut self, other: Self) {
                $(self.$field += other.$field;)*
            }
        }

        impl Sum for $counters {
            fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
                all.fold(Self::default(), |mut sum, each| {
                    sum += each;
                    sum
                })
            }
        }
    )*};
}
add_up! {
    InstructionCounts: warp_instructions lane_instructions counters distinct shared_strides global_strides local_accesses operations;
    Distinct: by_block by_launch;
    Counters:
        shared_load shared_store shared_atomic global_load global_store global_atomic bulk_load bulk_store;
    SharedCounters: instructions wavefronts ideal_wavefronts bank_conflicts;
    GlobalCounters: requests sectors bytes peer_sectors peer_bytes;
    BySpace: parameter local shared global constant;
    Operations: f16 f32 f64 tensor;
    TensorOperations: f16 tf32 f64 f8 s8;
}

impl Mul<u64> for Operations {
    type Output = Self;

    /// Operations of `lanes` lanes.
    fn mul(self, lanes: u64) -> Self {
        let Self { f16, f32, f64, tensor } = self;
        Self { f16: f16 * lanes, f32: f32 * lanes, f64: f64 * lanes, tensor: tensor * lanes }
    }
}

impl Mul<u64> for TensorOperations {
    type Output = Self;

    fn mul(self, lanes: u64) -> Self {
        let Self { f16, tf32, f64, f8, s8 } = self;
        Self { f16: f16 * lanes, tf32: tf32 * lanes, f64: f64 * lanes, f8: f8 * lanes, s8: s8 * lanes }
    }
}

impl Operations {
    /// All types together.
    pub fn total(&self) -> u64 {
        self.by_arithmetic().iter().map(|(operations, _)| operations).sum()
    }

    /// The class with the most of them.
    pub fn arithmetic(&self) -> Arithmetic {
        let most = self.by_arithmetic().into_iter().max_by_key(|(operations, _)| *operations);
        most.map_or(Arithmetic::F32, |(_, arithmetic)| arithmetic)
    }

    fn by_arithmetic(&self) -> [(u64, Arithmetic); 6] {
        let TensorOperations { f16, tf32, f64, f8, s8 } = self.tensor;
        [
            (f16, Arithmetic::TensorF16),
            (tf32, Arithmetic::TensorTf32),
            (f64, Arithmetic::TensorF64),
            (f8, Arithmetic::TensorF8),
            (s8, Arithmetic::TensorS8),
            // The last of equals is taken: without any operation, the roof is that of f32.
            (self.f16 + self.f32 + self.f64, Arithmetic::F32),
        ]
    }
}

impl GlobalCounters {
    /// Sectors that the bytes would fill if they lay side by side.
    pub const fn ideal_sectors(&self) -> u64 {
        self.bytes.div_ceil(32)
    }

    /// Sectors beyond the ideal.
    pub const fn excess_sectors(&self) -> u64 {
        self.sectors.saturating_sub(self.ideal_sectors())
    }

    /// Bytes asked for ÷ bytes moved. Above 1 where lanes share bytes.
    pub fn efficiency(&self) -> Option<f64> {
        (self.sectors > 0).then(|| self.bytes as f64 / (32 * self.sectors) as f64)
    }
}

impl Counters {
    /// The three families of shared memory together.
    pub fn shared(&self) -> SharedCounters {
        [self.shared_load, self.shared_store, self.shared_atomic].into_iter().sum()
    }

    /// Reads from global memory, by loads and by bulk copies.
    pub fn global_read(&self) -> GlobalCounters {
        [self.global_load, self.bulk_load].into_iter().sum()
    }

    /// Writes to global memory, by stores and by bulk copies.
    pub fn global_written(&self) -> GlobalCounters {
        [self.global_store, self.bulk_store].into_iter().sum()
    }

    /// All families of global memory together.
    pub fn global(&self) -> GlobalCounters {
        [self.global_read(), self.global_written(), self.global_atomic].into_iter().sum()
    }
}

impl InstructionCounts {
    /// How many of 32 lanes execute an instruction, on average.
    pub fn active_lanes(&self) -> Option<f64> {
        (self.warp_instructions > 0).then(|| self.lane_instructions as f64 / self.warp_instructions as f64)
    }

    /// How often a block fetches each byte that it reads of global memory, counted in whole sectors.
    pub fn fetches(&self) -> Option<f64> {
        let moved = 32 * self.counters.global_read().sectors;
        (self.distinct.by_block > 0).then(|| moved as f64 / self.distinct.by_block as f64)
    }

    /// How many blocks read each byte that the launch reads.
    pub fn sharing(&self) -> Option<f64> {
        let Distinct { by_block, by_launch } = self.distinct;
        (by_launch > 0).then(|| by_block as f64 / by_launch as f64)
    }
}

impl LaunchProfile {
    /// The launch as a whole.
    pub fn work(&self) -> InstructionCounts {
        let strides: InstructionCounts = self.lines.iter().map(|line| line.work).sum();
        InstructionCounts {
            warp_instructions: self.warp_instructions,
            lane_instructions: self.lane_instructions,
            counters: self.counters,
            distinct: self.distinct,
            operations: self.operations,
            ..strides
        }
    }
}
