//! How the lanes of a register are expected to differ from their neighbours.
//!
//! An access of neighbouring words is a vector's, one of a single word a scalar's; the code for either is written where it is
//! expected, behind a test of the lanes' addresses, so that what is told here need not be true. It is about halves of a
//! warp, 16 lanes: blocks are often 16 threads wide.
//!
//! Where it is [`Trust::Sure`] it needs no test as long as the warp's lanes have gone all ways together, and rows of the block
//! are whole halves: then a register's lanes are what one and the same chain of operations made of what threads are told.
//! Without the first, lanes of different turns of a loop may have met, and even a loop's counter differs.

use std::collections::{HashMap, HashSet};

use ptx::ScalarType;
use virtual_gpu::observer::MemorySpace;
use virtual_gpu::stretch::{
    Arithmetic, Convert, Converted, Function, Kind, NONE, Opcode, ProductHalf, Qualifiers, Slot,
    SpaceOperand, Step, Told,
};

use crate::widths::Width;
use crate::{loops, regions};

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
        let regions: Vec<(u32, u32)> =
            range.clone().filter_map(|pc| Some((pc, regions::end_of(function, pc)?))).collect();
        let loops: HashMap<u32, (u32, Vec<Slot>, Vec<Slot>)> = range
            .clone()
            .filter_map(|pc| {
                let start = loops::start_of(function, pc)?;
                let (written, elsewhere) = loops::written(function, start, pc);
                Some((pc, (start, written, elsewhere)))
            })
            .collect();
        let mut parting = HashSet::new();
        for _ in 0..PASSES {
            let mut changed = false;
            let mut forms = Forms::default();
            // What may be read before it is written begins as zeros.
            forms.registers.extend(function.unset().iter().map(|&slot| (slot, Lanes::ANY)));
            // So may what only some lanes write.
            for &(start, end) in regions.iter().filter(|region| parting.contains(&region.0)) {
                let written = (start..end).flat_map(|pc| function.step(pc).writes);
                forms.registers.extend(written.map(|write| (write.0, Lanes::ANY)));
            }
            for (_, (_, _, elsewhere)) in loops.iter().filter(|turning| parting.contains(turning.0)) {
                forms.registers.extend(elsewhere.iter().map(|&slot| (slot, Lanes::ANY)));
            }
            let mut now = Some(vec![Lanes { form: Form::One, trust: Trust::Small }; rows]);
            for pc in range.clone() {
                if targets.binary_search(&pc).is_ok() {
                    let known = entering.entry(pc).or_insert_with(|| vec![Lanes::UNSET; rows]);
                    if let Some(now) = &now {
                        changed |= join(known, now);
                    }
                    // Lanes of a warp may have gone different ways.
                    for between in regions.iter().filter(|r| r.1 == pc && parting.contains(&r.0)) {
                        for (slot, _) in (between.0..pc).flat_map(|pc| function.step(pc).writes) {
                            known[*slot as usize].trust = Trust::Guess;
                        }
                    }
                    if let Some(before) = pc.checked_sub(1)
                        && parting.contains(&before)
                        && let Some((_, written, _)) = loops.get(&before)
                    {
                        written.iter().for_each(|&slot| known[slot as usize].trust = Trust::Guess);
                    }
                    now = Some(known.clone());
                }
                let Some(state) = &mut now else { continue };
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
                if decides.form != Form::Unset
                    && decides.width() != Width::One
                    && (loops.contains_key(&pc)
                        || regions.binary_search_by_key(&pc, |region| region.0).is_ok())
                {
                    changed |= parting.insert(pc);
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
                if parting.contains(&pc)
                    && let Some((_, written, _)) = loops.get(&pc)
                {
                    written.iter().for_each(|&slot| state[slot as usize].trust = Trust::Guess);
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

struct Reader<'r, 'c> {
    function: &'r Function<'c>,
    told: &'r HashMap<Slot, Told>,
    state: &'r [Lanes],
}

impl Reader<'_, '_> {
    fn lanes(&self, slot: Slot) -> Lanes {
        if slot == NONE || self.constant(slot).is_some() {
            return Lanes::sure(Form::One);
        }
        match self.told.get(&slot) {
            Some(&told) => Lanes::told(told),
            None => self.state.get(slot as usize).copied().unwrap_or(Lanes::ANY),
        }
    }

    fn form(&self, slot: Slot) -> Form {
        self.lanes(slot).form
    }

    fn constant(&self, slot: Slot) -> Option<i64> {
        self.function.constant(slot, 1).map(|value| (value as u32 as i32).into())
    }

    /// A constant factor of a product of that type.
    fn factor(&self, slot: Slot, ty: ScalarType) -> Option<i64> {
        match ty.size() {
            8 => self.function.constant(slot, 2).map(|value| value as i64),
            4 if ty.is_signed() => self.constant(slot),
            4 => self.constant(slot).map(|value| (value as u32).into()),
            _ => None,
        }
    }

    /// The lanes of what an operation writes, and what has to be true for that.
    fn written(&self, step: &Step<'_>) -> (Lanes, Option<NoWrap>) {
        let lanes = match step.kind {
            Kind::Arithmetic(operation) => return self.computed(operation),
            Kind::Load(op) => match self.lanes(op.address.base) {
                Lanes { form: form @ (Form::One | Form::Same), trust } => {
                    // Each lane has its own local memory.
                    let everybodys =
                        matches!(op.space, SpaceOperand::In(space) if space != MemorySpace::Local);
                    Lanes { form, trust: trust.min(if everybodys { Trust::Sure } else { Trust::Guess }) }
                }
                Lanes { form: Form::Unset, .. } => Lanes { form: Form::One, trust: Trust::Guess },
                _ => Lanes::ANY,
            },
            Kind::Parameter(_) | Kind::ActiveMask { .. } => Lanes::sure(Form::One),
            _ => Lanes::ANY,
        };
        (lanes, None)
    }

    fn computed(&self, o: &Arithmetic) -> (Lanes, Option<NoWrap>) {
        use Opcode::*;
        let form = self.form_of(o);
        let least = o.sources.iter().map(|&slot| self.lanes(slot).trust).min().unwrap_or(Trust::Sure);
        let same = o.sources.iter().all(|&slot| self.form(slot).is_same());
        let sure = least.min(Trust::Sure);
        let mut rows = o.sources.iter().filter(|&&slot| !self.form(slot).is_same());
        let mut condition = None;
        let trust = match (o.opcode, o.qualifiers) {
            (Move, _) if o.sources.len() == 1 && o.targets.len() == 1 => least,
            _ if same => sure,
            (Convert, Qualifiers::Convert(what)) if keeps_words(what) => {
                // Numbers that go on in a row may begin anew in the middle where they are too short for it.
                let may_wrap = least == Trust::Sure && widens(what);
                condition = self.no_wrap(o.sources[0], is_signed(what.from)).filter(|_| may_wrap);
                if may_wrap && condition.is_none() { Trust::Guess } else { least }
            }
            (Convert, _) => Trust::Guess,
            (Mul | MultiplyAdd, Qualifiers::Integer { ty, half: Some(ProductHalf::Wide), .. }) => {
                // The last source has twice the bits.
                let may_wrap =
                    |slot: &&Slot| Some(*slot) != o.sources.get(2) && self.lanes(**slot).trust < Trust::Small;
                let factor = rows.next().filter(may_wrap);
                let condition_of =
                    |&slot: &Slot| self.no_wrap(slot, ty.is_signed()).filter(|_| ty.size() == 4);
                condition = factor.and_then(condition_of);
                if factor.is_some() && condition.is_none() { Trust::Guess } else { sure }
            }
            (Add | Sub | Mul | MultiplyAdd, Qualifiers::Integer { ty, saturate: false, relu: false, .. })
                if ty.size() >= 4 =>
            {
                sure
            }
            (ShiftLeft, Qualifiers::Type(ty)) if ty.size() >= 4 => sure,
            // Small numbers that are apart begin at multiples of 16.
            (And | ShiftRight | BitFieldExtract, Qualifiers::Type(ty))
                if ty.size() >= 4 && !ty.is_signed() =>
            {
                let small = rows.all(|&slot| self.lanes(slot).trust == Trust::Small);
                if small && least >= Trust::Sure { Trust::Small } else { Trust::Guess }
            }
            (ConvertAddress, _) => sure,
            _ => Trust::Guess,
        };
        (Lanes { form, trust }, condition)
    }

    fn no_wrap(&self, slot: Slot, signed: bool) -> Option<NoWrap> {
        let stride = self.form(slot).stride()? as i32;
        (stride.unsigned_abs() < 1 << 27).then_some(NoWrap { slot, signed, stride })
    }

    fn form_of(&self, o: &Arithmetic) -> Form {
        use Opcode::*;
        let forms: Vec<Form> = o.sources.iter().map(|&slot| self.form(slot)).collect();
        if forms.iter().all(|form| form.is_same()) {
            let one = forms.iter().all(|form| *form != Form::Same);
            return if one { Form::One } else { Form::Same };
        }
        let stride = match (o.opcode, &o.sources[..], &forms[..], o.qualifiers) {
            (Move | ConvertAddress, _, [a], _) => a.stride(),
            (Convert, _, [a], Qualifiers::Convert(what)) if is_integer(what) && widens(what) => {
                a.stride().map(|stride| (stride as i32).into())
            }
            (Convert, _, [a], Qualifiers::Convert(what)) if is_integer(what) => a.stride(),
            (Add, _, [a, b], Qualifiers::Integer { .. }) => sum(a.stride(), b.stride(), 1),
            // Used to add what has other bits.
            (Or, _, [a, b], _) => sum(a.stride(), b.stride(), 1),
            (Sub, _, [a, b], Qualifiers::Integer { .. }) => sum(a.stride(), b.stride(), -1),
            (Mul, &[a, b], _, Qualifiers::Integer { ty, half, .. }) if half != Some(ProductHalf::High) => {
                self.product(a, b, ty)
            }
            (MultiplyAdd, &[a, b, _], [_, _, c], Qualifiers::Integer { ty, half, .. })
                if half != Some(ProductHalf::High) =>
            {
                sum(self.product(a, b, ty), c.stride(), 1)
            }
            (ShiftLeft, &[_, n], [a, _], _) => self
                .constant(n)
                .and_then(|n| scaled(a.stride(), if (0..64).contains(&n) { 1 << n } else { 0 })),
            (ShiftRight, &[_, n], [a, _], _) => self.constant(n).and_then(|n| divided(a.stride()?, n)),
            (BitFieldExtract, &[_, position, length], [a, ..], _) => {
                match (self.constant(position), self.constant(length)) {
                    (Some(position), Some(length)) => divided_and_masked(a.stride(), position, length),
                    _ => None,
                }
            }
            (Div, &[_, n], [a, _], Qualifiers::Integer { .. }) => match self.constant(n) {
                Some(n) if n > 0 && (n as u64).is_power_of_two() => {
                    a.stride().and_then(|stride| divided(stride, n.trailing_zeros().into()))
                }
                _ => None,
            },
            (And, &[a, b], [of_a, of_b], _) => match (self.constant(a), self.constant(b)) {
                (_, Some(mask)) => masked(of_a.stride(), mask),
                (Some(mask), _) => masked(of_b.stride(), mask),
                _ => None,
            },
            (Select, _, [a, b, _], _) if a == b => a.stride(),
            (Min | Max, _, [a, b], _) if a == b => a.stride(),
            _ => None,
        };
        Form::of_stride(stride)
    }

    fn product(&self, a: Slot, b: Slot, ty: ScalarType) -> Option<i64> {
        let stride = |slot| {
            let stride = self.form(slot).stride()?;
            Some(if ty.size() == 8 { stride } else { (stride as i32).into() })
        };
        match (self.factor(a, ty), self.factor(b, ty)) {
            (_, Some(factor)) => scaled(stride(a), factor),
            (Some(factor), _) => scaled(stride(b), factor),
            _ => match (stride(a), stride(b)) {
                (Some(0), Some(0)) => Some(0),
                _ => None,
            },
        }
    }
}

fn sum(a: Option<i64>, b: Option<i64>, sign: i64) -> Option<i64> {
    Some(a?.wrapping_add(b?.wrapping_mul(sign)))
}

fn scaled(stride: Option<i64>, factor: i64) -> Option<i64> {
    Some(stride?.wrapping_mul(factor))
}

/// Halves begin at multiples of 16 strides: what is shifted out is the lane's number, or there is no telling. A shift by the
/// width or more leaves nothing.
fn divided(stride: i64, bits: i64) -> Option<i64> {
    if stride <= 0 || stride.count_ones() != 1 {
        return (stride == 0).then_some(0);
    }
    let of_stride: i64 = stride.trailing_zeros().into();
    match bits {
        0.. if bits <= of_stride => Some(stride >> bits),
        0.. if bits < of_stride + 4 => None,
        _ => Some(0),
    }
}

/// A mask that keeps the lane's number keeps the stride, one that leaves it out makes lanes the same.
fn masked(stride: Option<i64>, mask: i64) -> Option<i64> {
    let stride = stride?;
    let number = stride.checked_mul(15)?;
    if stride < 0 || number == 0 {
        return (stride == 0).then_some(0);
    }
    let number = (1i64 << (64 - number.leading_zeros())) - 1;
    let lowest = (1i64 << stride.trailing_zeros()) - 1;
    if mask & number & !lowest == number & !lowest { Some(stride) } else { (mask & number == 0).then_some(0) }
}

fn divided_and_masked(stride: Option<i64>, position: i64, length: i64) -> Option<i64> {
    let (position, length) = (position & 0xff, length & 0xff);
    let divided = divided(stride?, position);
    masked(divided, if length < 32 { (1i64 << length) - 1 } else { -1 })
}

/// Whether a conversion is between whole registers, and changes no number that both can hold.
fn keeps_words(what: Convert) -> bool {
    let words = |end: Converted| matches!(end, Converted::Scalar(ty, _) if ty.size() >= 4);
    words(what.to) && words(what.from) && !what.sat
}

/// Whether it makes words longer.
fn widens(what: Convert) -> bool {
    let bytes = |end: Converted| if let Converted::Scalar(ty, _) = end { ty.size() } else { 0 };
    bytes(what.to) > bytes(what.from)
}

fn is_signed(end: Converted) -> bool {
    matches!(end, Converted::Scalar(ty, _) if ty.is_signed())
}

fn is_integer(what: Convert) -> bool {
    use ScalarType::*;
    let integer = |end: Converted| {
        matches!(end, Converted::Scalar(U32 | S32 | U64 | S64 | B32 | B64 | U16 | S16 | U8 | S8, _))
    };
    integer(what.to) && integer(what.from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_lane_is_kept_or_left_out() {
        // Of thread numbers in steps of 1: the lane in a warp, the lane in a half, the warp, every fourth.
        assert_eq!(masked(Some(1), 31), Some(1));
        assert_eq!(masked(Some(1), 15), Some(1));
        assert_eq!(masked(Some(1), !15), Some(0));
        assert_eq!(masked(Some(1), 7), None);
        assert_eq!(masked(Some(4), !3), Some(4));
        assert_eq!(
            (divided(1, 5), divided(1, 2), divided(8, 2), divided(0, 3)),
            (Some(0), None, Some(2), Some(0))
        );
        assert_eq!(divided_and_masked(Some(1), 4, 4), Some(0));
    }
}
