//! How the lanes of a register are expected to differ from their neighbours.
//!
//! An access of neighbouring words is a vector's, one of a single word a scalar's; the code for either is written where it is
//! expected, behind a test of the lanes' addresses, so that what is told here need not be true. It is about halves of a
//! warp, 16 lanes: blocks are often 16 threads wide.
//!
//! Where it is [`Trust::Sure`] it needs no test as long as the warp's lanes have gone all ways together, and rows of the block
//! are whole halves: then a register's lanes are what one and the same chain of operations made of what threads are told.
//! Without the first, lanes of different turns of a loop may have met, and even a loop's counter differs.

mod parting;
mod reader;

use std::collections::HashMap;

use virtual_gpu::stretch::{Function, Kind, NONE, Slot, Step, Told};

use crate::widths::Width;
use parting::Parting;
use reader::Reader;

/// How a register's lanes differ within a half.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// No way has been followed here so far.
    Unset,
    /// In both halves, too.
    One,
    Same,
    /// Each is so much more than the lane before.
    Apart(i64),
    Any,
}

/// How far a form can be relied on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trust {
    /// It is likely.
    Guess,
    /// It is so for a warp whose lanes have always been together.
    Sure,
    /// And the numbers have 16 bits at most: they go on in a row when they are made wider.
    Small,
}

/// What is known of the lanes of a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lanes {
    pub form: Form,
    pub trust: Trust,
}

impl Lanes {
    const UNSET: Lanes = Lanes { form: Form::Unset, trust: Trust::Small };
    pub const ANY: Lanes = Lanes { form: Form::Any, trust: Trust::Guess };

    /// The lanes that tell all others, if they surely do.
    pub fn width(self) -> Width {
        match self.form {
            _ if self.trust < Trust::Sure => Width::All,
            Form::One => Width::One,
            Form::Same | Form::Apart(_) => Width::Two,
            Form::Unset | Form::Any => Width::All,
        }
    }

    /// By how much lanes differ from the one before in their half, if that is sure.
    pub fn stride(self) -> i64 {
        match self.form {
            Form::Apart(stride) => stride,
            _ => 0,
        }
    }

    /// Of a register that tells a thread something.
    pub fn told(told: Told) -> Self {
        match told {
            Told::Alike => Lanes::sure(Form::One),
            Told::AlikeInRow => Lanes::sure(Form::Same),
            // Threads of a block and lanes of a warp have small numbers.
            Told::InOrder => Lanes { form: Form::Apart(1), trust: Trust::Small },
            Told::Apart => Lanes::ANY,
        }
    }

    fn sure(form: Form) -> Self {
        Lanes { form, trust: Trust::Sure }
    }

    fn meet(self, other: Lanes) -> Lanes {
        Lanes { form: self.form.meet(other.form), trust: self.trust.min(other.trust) }
    }
}

impl Form {
    fn meet(self, other: Form) -> Form {
        match (self, other) {
            (Form::Unset, form) | (form, Form::Unset) => form,
            (a, b) if a == b => a,
            (Form::One, Form::Same) | (Form::Same, Form::One) => Form::Same,
            _ => Form::Any,
        }
    }

    /// By how much neighbours differ, if that is one number.
    fn stride(self) -> Option<i64> {
        match self {
            Form::Unset | Form::One | Form::Same => Some(0),
            Form::Apart(stride) => Some(stride),
            Form::Any => None,
        }
    }

    fn is_same(self) -> bool {
        self.stride() == Some(0)
    }

    fn of_stride(stride: Option<i64>) -> Form {
        match stride {
            Some(0) => Form::Same,
            Some(stride) => Form::Apart(stride),
            None => Form::Any,
        }
    }
}

/// What lanes of registers are expected to be, by program counters and registers.
#[derive(Debug, Default)]
pub struct Forms {
    /// Of the addresses of loads, stores and atomics.
    addresses: HashMap<u32, Lanes>,
    /// Of what operations without a guard write.
    results: HashMap<u32, Lanes>,
    /// Of registers wherever they were written.
    registers: HashMap<Slot, Lanes>,
    /// What has to be true for results to be what they are expected to be.
    conditions: HashMap<u32, NoWrap>,
}

/// The words of a register in each half go on in a row, without beginning anew after the largest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoWrap {
    pub slot: Slot,
    pub signed: bool,
    pub stride: i32,
}

/// A pass over a function's ways is repeated until nothing changes; what is not settled then is anything.
const PASSES: usize = 8;

impl Forms {
    pub fn of(function: &Function<'_>) -> Self {
        let range = function.range();
        let told: HashMap<Slot, Told> = function.fixed().collect();
        let rows = function.rows() as usize;
        let mut entering: HashMap<u32, Vec<Lanes>> = HashMap::new();
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
        let mut parting = Parting::of(function);
        for _ in 0..PASSES {
            let mut changed = false;
            let mut forms = Forms::default();
            // What may be read before it is written begins as zeros.
            forms.registers.extend(function.unset().iter().map(|&slot| (slot, Lanes::ANY)));
            forms.registers.extend(parting.lost().map(|slot| (slot, Lanes::ANY)));
            let mut now = Some(vec![Lanes { form: Form::One, trust: Trust::Small }; rows]);
            for pc in range.clone() {
                if targets.binary_search(&pc).is_ok() {
                    let known = entering.entry(pc).or_insert_with(|| vec![Lanes::UNSET; rows]);
                    if let Some(now) = &now {
                        changed |= join(known, now);
                    }
                    now = Some(known.clone());
                }
                let Some(state) = &mut now else { continue };
                parting.written_before(pc).for_each(|slot| state[slot as usize].trust = Trust::Guess);
                let step = function.step(pc);
                forms.pass(&Reader { function, told: &told, state }, pc, &step);
                for &(slot, _) in step.writes {
                    state[slot as usize] = forms.written(pc, &step, state[slot as usize]);
                    let lanes = state[slot as usize];
                    forms
                        .registers
                        .entry(slot)
                        .and_modify(|known| *known = known.meet(lanes))
                        .or_insert(lanes);
                }
                let decides = Reader { function, told: &told, state }.lanes(step.guard.slot);
                if decides.form != Form::Unset && decides.width() != Width::One {
                    changed |= parting.add(pc);
                }
                let mut leads_to = |target: u32| {
                    let known = entering.entry(target).or_insert_with(|| vec![Lanes::UNSET; rows]);
                    changed |= join(known, state);
                };
                match step.kind {
                    Kind::Branch { target } => leads_to(target),
                    Kind::Table(table) => table.iter().for_each(|&target| leads_to(target)),
                    _ => {}
                }
                let ends = matches!(step.kind, Kind::Branch { .. } | Kind::Table(_) | Kind::End);
                if ends && step.guard.slot == NONE {
                    now = None;
                }
            }
            if !changed {
                return forms;
            }
        }
        Forms::default()
    }

    /// Takes note of an operation.
    fn pass(&mut self, reader: &Reader<'_, '_>, pc: u32, step: &Step<'_>) {
        let address = match step.kind {
            Kind::Load(op) | Kind::Store(op) => Some(op.address),
            Kind::Atomic(op) => Some(op.address),
            _ => None,
        };
        if let Some(address) = address {
            self.addresses.insert(pc, reader.lanes(address.base));
        }
        let (lanes, condition) = reader.written(step);
        self.results.insert(pc, lanes);
        if let Some(condition) = condition
            && lanes.width() != Width::All
            && step.guard.slot == NONE
        {
            self.conditions.insert(pc, condition);
        }
    }

    /// What a register that an operation writes holds afterwards.
    fn written(&self, pc: u32, step: &Step<'_>, old: Lanes) -> Lanes {
        let lanes = self.results.get(&pc).copied().unwrap_or(Lanes::ANY);
        // What a guard leaves out keeps its value, in some lanes perhaps and not in others.
        match step.guard.slot {
            NONE => lanes,
            _ => Lanes { trust: Trust::Guess, ..old.meet(lanes) },
        }
    }

    /// Of the address of the access at a program counter.
    pub fn at(&self, pc: u32) -> Lanes {
        self.addresses.get(&pc).copied().unwrap_or(Lanes::ANY)
    }

    /// Of what the operation at a program counter writes, if it has no guard.
    pub fn result(&self, pc: u32) -> Lanes {
        self.results.get(&pc).copied().unwrap_or(Lanes::ANY)
    }

    /// What has to be true for that.
    pub fn condition(&self, pc: u32) -> Option<NoWrap> {
        self.conditions.get(&pc).copied()
    }

    /// Of a register, wherever it was written.
    pub fn register(&self, slot: Slot) -> Lanes {
        self.registers.get(&slot).copied().unwrap_or(Lanes::ANY)
    }
}

/// Joins what holds on one more way; whether that says something new.
fn join(known: &mut [Lanes], way: &[Lanes]) -> bool {
    let mut changed = false;
    for (known, &way) in known.iter_mut().zip(way) {
        let met = known.meet(way);
        changed |= met != *known;
        *known = met;
    }
    changed
}
