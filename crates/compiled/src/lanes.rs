//! Uniformity and stride analysis: registers that are the same in all lanes of a warp, or rise by a constant from lane to lane.
//!
//! The lattice is that of affine vectors (Collange, Defour and Zhang, "Dynamic detection of uniform and affine vectors in GPGPU
//! computations", HPPC at Euro-Par 2009), solved forward over a function's control flow as in "Divergence analysis" (Sampaio, de
//! Souza, Collange and Pereira, TOPLAS 2013) and LLVM's UniformityAnalysis. Facts are about halves of a warp, 16 lanes: blocks
//! are often 16 threads wide.
//!
//! An access of neighbouring words becomes a vector's, one of a single word a scalar's. A speculative fact decides which code is
//! written, behind a test of the lanes' addresses. A [`Confidence::Proven`] fact needs no test while the warp is converged and
//! rows of the block are whole halves: then one chain of operations made a register's lanes from the values of the launch.
//! Without convergence, lanes of different iterations of a loop may have met, and even a loop's counter differs.

mod divergence;
mod reader;

use std::collections::HashMap;

use virtual_gpu::jit::{Function, Instruction, Kind, LaunchValue, NONE, Slot};

use crate::widths::Width;
use divergence::Divergence;
use reader::Reader;

/// How a register's lanes differ within a half of a warp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lanes {
    /// The lattice's top: no path has been followed here yet.
    Unset,
    /// The same in all lanes of the warp.
    Uniform,
    /// The same in all lanes of a half.
    HalfUniform,
    /// Each lane of a half has the lane before plus this stride.
    Affine(i64),
    Varying,
}

/// How well a fact is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// Likely; the code tests it.
    Speculative,
    /// True for a warp that has always been converged.
    Proven,
    /// Proven, and the values have 16 bits at most: a row of them does not wrap when it is widened.
    Bounded,
}

/// A fact of the lanes of a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneFact {
    pub lanes: Lanes,
    pub confidence: Confidence,
}

impl LaneFact {
    const UNSET: LaneFact = LaneFact { lanes: Lanes::Unset, confidence: Confidence::Bounded };
    pub const VARYING: LaneFact = LaneFact { lanes: Lanes::Varying, confidence: Confidence::Speculative };

    /// The lanes that determine all others, if that is proven.
    pub fn width(self) -> Width {
        match self.lanes {
            _ if self.confidence < Confidence::Proven => Width::All,
            Lanes::Uniform => Width::One,
            Lanes::HalfUniform | Lanes::Affine(_) => Width::Two,
            Lanes::Unset | Lanes::Varying => Width::All,
        }
    }

    /// Difference of a lane from the one before in its half; 0 unless affine.
    pub fn stride(self) -> i64 {
        match self.lanes {
            Lanes::Affine(stride) => stride,
            _ => 0,
        }
    }

    /// Fact of a register that the launch sets.
    pub fn of_launch(value: LaunchValue) -> Self {
        match value {
            LaunchValue::Uniform => LaneFact::proven(Lanes::Uniform),
            LaunchValue::RowUniform => LaneFact::proven(Lanes::HalfUniform),
            // Threads of a block and lanes of a warp have small numbers.
            LaunchValue::Consecutive => LaneFact { lanes: Lanes::Affine(1), confidence: Confidence::Bounded },
            LaunchValue::Varying => LaneFact::VARYING,
        }
    }

    fn proven(lanes: Lanes) -> Self {
        LaneFact { lanes, confidence: Confidence::Proven }
    }

    fn meet(self, other: LaneFact) -> LaneFact {
        LaneFact { lanes: self.lanes.meet(other.lanes), confidence: self.confidence.min(other.confidence) }
    }
}

impl Lanes {
    fn meet(self, other: Lanes) -> Lanes {
        match (self, other) {
            (Lanes::Unset, lanes) | (lanes, Lanes::Unset) => lanes,
            (a, b) if a == b => a,
            (Lanes::Uniform, Lanes::HalfUniform) | (Lanes::HalfUniform, Lanes::Uniform) => Lanes::HalfUniform,
            _ => Lanes::Varying,
        }
    }

    /// Difference of neighbouring lanes, if it is one number.
    fn stride(self) -> Option<i64> {
        match self {
            Lanes::Unset | Lanes::Uniform | Lanes::HalfUniform => Some(0),
            Lanes::Affine(stride) => Some(stride),
            Lanes::Varying => None,
        }
    }

    fn is_uniform(self) -> bool {
        self.stride() == Some(0)
    }

    fn of_stride(stride: Option<i64>) -> Lanes {
        match stride {
            Some(0) => Lanes::HalfUniform,
            Some(stride) => Lanes::Affine(stride),
            None => Lanes::Varying,
        }
    }
}

/// Facts by program counters and registers.
#[derive(Debug, Default)]
pub struct Uniformity {
    /// Of the addresses of loads, stores and atomics.
    addresses: HashMap<u32, LaneFact>,
    /// Of what operations without a guard write.
    results: HashMap<u32, LaneFact>,
    /// Of registers wherever they were written.
    registers: HashMap<Slot, LaneFact>,
    /// Conditions under which results hold.
    conditions: HashMap<u32, NoWrap>,
}

/// The words of a register in each half go on in a row, without beginning anew after the largest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoWrap {
    pub slot: Slot,
    pub signed: bool,
    pub stride: i32,
}

/// Passes over a function until the fix point; without one, all registers are varying.
const PASSES: usize = 8;

impl Uniformity {
    pub fn of(function: &Function<'_>) -> Self {
        let range = function.range();
        let launch_values: HashMap<Slot, LaunchValue> = function.fixed().collect();
        let rows = function.rows() as usize;
        let mut entering: HashMap<u32, Vec<LaneFact>> = HashMap::new();
        // Where ways begin that do not just go on from the operation before.
        let mut targets: Vec<u32> = Vec::new();
        for pc in range.clone() {
            match function.step(pc).kind {
                Kind::Branch { target } => targets.push(target),
                Kind::Table(table) => targets.extend(table),
                _ => {}
            }
        }
        targets.sort_unstable();
        targets.dedup();
        let mut divergence = Divergence::of(function);
        for _ in 0..PASSES {
            let mut changed = false;
            let mut facts = Uniformity::default();
            // What may be read before it is written begins as zeros.
            facts.registers.extend(function.unset().iter().map(|&slot| (slot, LaneFact::VARYING)));
            facts.registers.extend(divergence.lost().map(|slot| (slot, LaneFact::VARYING)));
            let mut now =
                Some(vec![LaneFact { lanes: Lanes::Uniform, confidence: Confidence::Bounded }; rows]);
            for pc in range.clone() {
                if targets.binary_search(&pc).is_ok() {
                    let known = entering.entry(pc).or_insert_with(|| vec![LaneFact::UNSET; rows]);
                    if let Some(now) = &now {
                        changed |= join(known, now);
                    }
                    now = Some(known.clone());
                }
                let Some(state) = &mut now else { continue };
                divergence
                    .written_before(pc)
                    .for_each(|slot| state[slot as usize].confidence = Confidence::Speculative);
                let instruction = function.step(pc);
                facts.pass(&Reader { function, launch_values: &launch_values, state }, pc, &instruction);
                for &(slot, _) in instruction.writes {
                    state[slot as usize] = facts.written(pc, &instruction, state[slot as usize]);
                    let lanes = state[slot as usize];
                    facts
                        .registers
                        .entry(slot)
                        .and_modify(|known| *known = known.meet(lanes))
                        .or_insert(lanes);
                }
                let decides =
                    Reader { function, launch_values: &launch_values, state }.fact(instruction.guard.slot);
                if decides.lanes != Lanes::Unset && decides.width() != Width::One {
                    changed |= divergence.add(pc);
                }
                let mut leads_to = |target: u32| {
                    let known = entering.entry(target).or_insert_with(|| vec![LaneFact::UNSET; rows]);
                    changed |= join(known, state);
                };
                match instruction.kind {
                    Kind::Branch { target } => leads_to(target),
                    Kind::Table(table) => table.iter().for_each(|&target| leads_to(target)),
                    _ => {}
                }
                let ends = matches!(instruction.kind, Kind::Branch { .. } | Kind::Table(_) | Kind::End);
                if ends && instruction.guard.slot == NONE {
                    now = None;
                }
            }
            if !changed {
                return facts;
            }
        }
        Uniformity::default()
    }

    /// Takes note of an operation.
    fn pass(&mut self, reader: &Reader<'_, '_>, pc: u32, instruction: &Instruction<'_>) {
        let address = match instruction.kind {
            Kind::Load(op) | Kind::Store(op) => Some(op.address),
            Kind::Atomic(op) => Some(op.address),
            _ => None,
        };
        if let Some(address) = address {
            self.addresses.insert(pc, reader.fact(address.base));
        }
        let (lanes, condition) = reader.written(instruction);
        self.results.insert(pc, lanes);
        if let Some(condition) = condition
            && lanes.width() != Width::All
            && instruction.guard.slot == NONE
        {
            self.conditions.insert(pc, condition);
        }
    }

    /// The form of a register after an operation that writes it.
    fn written(&self, pc: u32, instruction: &Instruction<'_>, old: LaneFact) -> LaneFact {
        let lanes = self.results.get(&pc).copied().unwrap_or(LaneFact::VARYING);
        // What a guard leaves out keeps its value, in some lanes perhaps and not in others.
        match instruction.guard.slot {
            NONE => lanes,
            _ => LaneFact { confidence: Confidence::Speculative, ..old.meet(lanes) },
        }
    }

    /// Of the address of the access at a program counter.
    pub fn at(&self, pc: u32) -> LaneFact {
        self.addresses.get(&pc).copied().unwrap_or(LaneFact::VARYING)
    }

    /// Of what the operation at a program counter writes, if it has no guard.
    pub fn result(&self, pc: u32) -> LaneFact {
        self.results.get(&pc).copied().unwrap_or(LaneFact::VARYING)
    }

    /// Its condition.
    pub fn condition(&self, pc: u32) -> Option<NoWrap> {
        self.conditions.get(&pc).copied()
    }

    /// Of a register, wherever it was written.
    pub fn register(&self, slot: Slot) -> LaneFact {
        self.registers.get(&slot).copied().unwrap_or(LaneFact::VARYING)
    }
}

/// Joins what holds on one more way; whether that says something new.
fn join(known: &mut [LaneFact], way: &[LaneFact]) -> bool {
    let mut changed = false;
    for (known, &way) in known.iter_mut().zip(way) {
        let met = known.meet(way);
        changed |= met != *known;
        *known = met;
    }
    changed
}
