//! The profile that the virtual GPU writes (`WARPSMITH_PROFILE`), read back.

use std::ops::AddAssign;

use gpu_model::roofline::Arithmetic;
use serde::{Deserialize, Serialize};

/// What a run of a program launched, and what was counted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Version of this shape; 1.
    pub version: u32,
    /// The chip that the virtual GPU stood for.
    #[serde(default)]
    pub model: String,
    /// What an instruction is: `ptx`.
    #[serde(default)]
    pub view: String,
    /// Kernel launches, in order.
    #[serde(default)]
    pub launches: Vec<Launch>,
}

/// One launch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    /// The kernel's name.
    pub kernel: String,
    /// Blocks.
    #[serde(default)]
    pub grid: [u32; 3],
    /// Threads of a block.
    #[serde(default)]
    pub block: [u32; 3],
    /// Bytes of shared memory of a block.
    #[serde(default)]
    pub shared_bytes: u32,
    /// Instructions that warps executed.
    #[serde(default)]
    pub warp_instructions: u64,
    /// Those of them that went to memory, by the space that they reached.
    #[serde(default)]
    pub memory_instructions: BySpace,
    /// The counters of the whole launch.
    #[serde(default)]
    pub counters: Counters,
    /// The counters of each source line.
    #[serde(default)]
    pub lines: Vec<Line>,
    /// Arithmetic of all lanes.
    #[serde(default)]
    pub operations: Operations,
    /// Families of instructions that ran and have no measured counting rule.
    #[serde(default)]
    pub not_counted: Vec<NotCounted>,
    /// What ended the launch, if it did not end well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// Operations by type; a multiply-add counts two.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Operations {
    /// `f16` and `bf16`.
    pub f16: u64,
    /// `f32`.
    pub f32: u64,
    /// `f64`.
    pub f64: u64,
    /// On tensor cores.
    pub tensor: TensorOperations,
}

/// Operations on tensor cores, by the type of the factors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TensorOperations {
    /// `f16` and `bf16`.
    pub f16: u64,
    /// `tf32`.
    pub tf32: u64,
    /// `f64`.
    pub f64: u64,
    /// Floating-point numbers of eight bits.
    pub f8: u64,
    /// Integers of eight bits.
    pub s8: u64,
}

impl Operations {
    /// All types together.
    pub fn total(&self) -> u64 {
        self.by_arithmetic().iter().map(|(operations, _)| operations).sum()
    }

    /// What does most of them.
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

impl AddAssign for Operations {
    fn add_assign(&mut self, other: Self) {
        self.f16 += other.f16;
        self.f32 += other.f32;
        self.f64 += other.f64;
        self.tensor.f16 += other.tensor.f16;
        self.tensor.tf32 += other.tensor.tf32;
        self.tensor.f64 += other.tensor.f64;
        self.tensor.f8 += other.tensor.f8;
        self.tensor.s8 += other.tensor.s8;
    }
}

/// Warp instructions by the memory that they reached.
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

impl AddAssign for BySpace {
    fn add_assign(&mut self, other: Self) {
        self.parameter += other.parameter;
        self.local += other.local;
        self.shared += other.shared;
        self.global += other.global;
        self.constant += other.constant;
    }
}

/// Instructions that have no measured rule.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotCounted {
    /// What they are.
    pub family: String,
    /// How many ran.
    pub instructions: u64,
}

/// The counters of one source line.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The source file, as the compiler named it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// What was counted there.
    #[serde(flatten)]
    pub counters: Counters,
}

/// Every family of counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counters {
    /// Loads from shared memory.
    pub shared_load: SharedCounters,
    /// Stores to shared memory.
    pub shared_store: SharedCounters,
    /// Atomics on shared memory.
    pub shared_atomic: SharedCounters,
    /// Loads from global memory.
    pub global_load: GlobalCounters,
    /// Stores to global memory.
    pub global_store: GlobalCounters,
    /// Atomics on global memory.
    pub global_atomic: GlobalCounters,
    /// What bulk and tensor copies read from global memory; their sectors are computed, not measured.
    pub bulk_load: GlobalCounters,
    /// What they write to global memory.
    pub bulk_store: GlobalCounters,
}

/// One family of shared-memory counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SharedCounters {
    /// Warp instructions.
    pub instructions: u64,
    /// Wavefronts they took.
    pub wavefronts: u64,
    /// Wavefronts without conflicts.
    pub ideal_wavefronts: u64,
    /// Wavefronts lost to conflicts.
    pub bank_conflicts: u64,
}

/// One family of global-memory counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GlobalCounters {
    /// Warp instructions.
    pub requests: u64,
    /// Sectors of 32 bytes they touched.
    pub sectors: u64,
    /// Bytes that lanes asked for.
    pub bytes: u64,
}

impl AddAssign for SharedCounters {
    fn add_assign(&mut self, other: Self) {
        self.instructions += other.instructions;
        self.wavefronts += other.wavefronts;
        self.ideal_wavefronts += other.ideal_wavefronts;
        self.bank_conflicts += other.bank_conflicts;
    }
}

impl AddAssign for GlobalCounters {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.sectors += other.sectors;
        self.bytes += other.bytes;
    }
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        self.shared_load += other.shared_load;
        self.shared_store += other.shared_store;
        self.shared_atomic += other.shared_atomic;
        self.global_load += other.global_load;
        self.global_store += other.global_store;
        self.global_atomic += other.global_atomic;
        self.bulk_load += other.bulk_load;
        self.bulk_store += other.bulk_store;
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
        let mut sum = self.shared_load;
        sum += self.shared_store;
        sum += self.shared_atomic;
        sum
    }

    /// What is read from global memory, by loads and by bulk copies.
    pub fn global_read(&self) -> GlobalCounters {
        let mut sum = self.global_load;
        sum += self.bulk_load;
        sum
    }

    /// What is written to global memory, by stores and by bulk copies.
    pub fn global_written(&self) -> GlobalCounters {
        let mut sum = self.global_store;
        sum += self.bulk_store;
        sum
    }

    /// All families of global memory together.
    pub fn global(&self) -> GlobalCounters {
        let mut sum = self.global_read();
        sum += self.global_written();
        sum += self.global_atomic;
        sum
    }

    /// What was spent for nothing: wavefronts lost to conflicts plus sectors beyond the ideal.
    pub fn waste(&self) -> u64 {
        self.shared().bank_conflicts
            + self.global_load.excess_sectors()
            + self.global_store.excess_sectors()
            + self.global_atomic.excess_sectors()
    }

    /// What could be done about the waste, a sentence each.
    pub fn advice(&self) -> Vec<String> {
        let mut advice = Vec::new();
        for (verb, shared) in [("load", self.shared_load), ("store", self.shared_store)] {
            if shared.bank_conflicts > 0 {
                let degree = shared.wavefronts as f64 / shared.ideal_wavefronts.max(1) as f64;
                advice.push(format!(
                    "shared {verb}s take {degree:.1} times the wavefronts they need: pad each row of the tile by one \
                     element, swizzle its columns, or let neighbouring lanes walk along a row"
                ));
            }
        }
        for (verb, global) in [("load", self.global_load), ("store", self.global_store)] {
            if global.excess_sectors() > 0
                && let Some(used) = global.efficiency()
            {
                // Contiguous rows that begin or end inside a sector waste up to half of what short ones move, no more.
                let remedy = match used > 0.5 {
                    true => {
                        "rows that begin or end inside a sector of 32 bytes, such as a tile's rim, cost this much and no \
                         more; else let neighbouring lanes take neighbouring elements"
                    }
                    false => {
                        "let neighbouring lanes take neighbouring elements, or stage the tile through shared memory"
                    }
                };
                advice.push(format!(
                    "global {verb}s use {:.0} % of the bytes they move: {remedy}",
                    used * 100.0
                ));
            }
        }
        advice
    }
}

/// A profile that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// Not JSON, or not of this shape.
    #[error("the profile is not readable: {0}")]
    Json(#[from] serde_json::Error),
    /// From another time.
    #[error("the profile has version {0}; this program reads version 1")]
    Version(u32),
}

impl Profile {
    /// Reads a profile from its JSON.
    pub fn parse(json: &str) -> Result<Self, ProfileError> {
        let profile: Self = serde_json::from_str(json)?;
        if profile.version != 1 {
            return Err(ProfileError::Version(profile.version));
        }
        Ok(profile)
    }
}

impl Launch {
    /// The lines that spend most for nothing, worst first; lines that waste nothing follow by what they spend.
    pub fn worst_lines(&self) -> Vec<&Line> {
        let mut lines: Vec<&Line> = self.lines.iter().collect();
        let spent = |line: &Line| line.counters.shared().wavefronts + line.counters.global().sectors;
        lines.sort_by(|a, b| {
            let key = |line: &Line| (line.counters.waste(), spent(line));
            key(b).cmp(&key(a)).then_with(|| (&a.file, a.line).cmp(&(&b.file, b.line)))
        });
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = r#"{"version":1,"model":"h200","view":"ptx","launches":[{
        "kernel":"transpose_tile","grid":[32,32,1],"block":[32,8,1],"shared_bytes":4096,"warp_instructions":900000,
        "counters":{
            "shared_load":{"instructions":32768,"wavefronts":1048576,"ideal_wavefronts":32768,"bank_conflicts":1015808},
            "shared_store":{"instructions":32768,"wavefronts":32768,"ideal_wavefronts":32768,"bank_conflicts":0},
            "global_load":{"requests":32768,"sectors":131072,"bytes":4194304},
            "global_store":{"requests":32768,"sectors":131072,"bytes":4194304}},
        "lines":[
            {"file":"transpose.rs","line":10,"global_load":{"requests":32768,"sectors":131072,"bytes":4194304}},
            {"file":"transpose.rs","line":14,
             "shared_load":{"instructions":32768,"wavefronts":1048576,"ideal_wavefronts":32768,"bank_conflicts":1015808}}],
        "not_counted":[{"family":"ldmatrix","instructions":8}]}]}"#;

    #[test]
    fn the_documented_shape_is_read() {
        let profile = Profile::parse(SAMPLE).unwrap();
        let launch = &profile.launches[0];
        assert_eq!(launch.counters.shared().bank_conflicts, 1_015_808);
        assert_eq!(launch.counters.global().sectors, 262_144);
        assert_eq!(launch.counters.global_load.efficiency(), Some(1.0));
        assert_eq!(launch.worst_lines()[0].line, 14);
        assert_eq!(launch.lines[0].counters.advice(), Vec::<String>::new());
        assert!(launch.lines[1].counters.advice()[0].contains("32.0 times the wavefronts"));
        assert_eq!(launch.not_counted[0].instructions, 8);
    }

    #[test]
    fn another_version_is_refused() {
        assert!(matches!(Profile::parse(r#"{"version":2}"#), Err(ProfileError::Version(2))));
        assert!(matches!(Profile::parse("[]"), Err(ProfileError::Json(_))));
    }
}
