//! Registers: the current value of each, and the IR for reading and writing them.
//!
//! A register has a slot on the stack, which LLVM turns into a value. Within a block the names of values are known, and
//! the slots are written at its end.
//!
//! The code runs for a group of lanes. Results in the other lanes are never used: only the group's lanes are stored to the frame
//! ([`Writer::keep`]). In code for converged warps some registers have few lanes ([`crate::widths`]).
//!
//! NaNs are made canonical lazily, when bits are read: operations on floats take one NaN as the other.

mod frame;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::mem::offset_of;

use virtual_gpu::jit::{Guard, NONE, Slot, State};

use crate::blocks::Shape;
use crate::lanes::LaneFact;
use crate::vectors::Tested;
use crate::widths::{Types, Width};
use crate::writer::{Active, Writer};

/// The types of all 32 lanes of a register.
pub const WORDS: &str = Width::All.types().words;
pub const LONGS: &str = Width::All.types().longs;
pub const BITS: &str = Width::All.types().bits;

/// A block uses a register in an unexpected way: the function stays with the interpreter.
#[derive(Debug)]
pub struct Misfit;

/// Facts about a register's current value.
#[derive(Debug, Clone, Default)]
pub struct Held {
    /// Its bits, by width. A predicate has those of all lanes.
    bits: [Option<String>; 3],
    /// A float whose NaNs may have any bits.
    raw: Option<(Width, String)>,
    /// Stride of an affine result.
    stride: Option<i64>,
    /// Not yet written to its slot.
    new: bool,
}

type Known = (BTreeMap<Slot, Held>, HashMap<u32, Tested>);

impl Writer<'_> {
    fn has(&self, slot: Slot, shape: Shape) -> Result<(), Misfit> {
        if self.shape(slot) == Some(shape) || self.fixed.contains_key(&slot) { Ok(()) } else { Err(Misfit) }
    }

    /// The bits of a register, in the lanes that the current operation computes.
    fn bits(&mut self, slot: Slot, shape: Shape) -> Result<String, Misfit> {
        self.has(slot, shape)?;
        let width = if shape == Shape::Predicate { Width::All } else { self.width };
        let mut held = match self.held.get(&slot) {
            Some(held) => held.clone(),
            None => self.load(slot, shape),
        };
        if let (Some((width, raw)), [None, None, None]) = (&held.raw, &held.bits) {
            held.bits[*width as usize] = Some(self.canonical(*width, raw));
        }
        let bits = match &held.bits {
            bits if let Some(bits) = &bits[width as usize] => bits.clone(),
            [_, _, Some(bits)] => self.resize(shape, bits, (Width::All, width), 0),
            [_, Some(bits), _] => self.resize(shape, bits, (Width::Two, width), held.stride.unwrap_or(0)),
            [Some(bits), ..] => self.resize(shape, bits, (Width::One, width), 0),
            [None, None, None] => return Err(Misfit),
        };
        held.bits[width as usize] = Some(bits.clone());
        self.held.insert(slot, held);
        Ok(bits)
    }

    /// A register's value where a block begins.
    fn load(&mut self, slot: Slot, shape: Shape) -> Held {
        let lanes = self.kept(slot, shape);
        let value = match self.fixed.contains_key(&slot) {
            true => self.load_from_frame(slot, shape),
            false => {
                let place = self.slot(slot);
                self.set(format_args!("load {}, ptr {place}", type_of(shape, lanes.width())))
            }
        };
        let stride = (lanes.width() != Width::All).then_some(lanes.stride());
        let mut held = Held { stride, ..Held::default() };
        held.bits[lanes.width() as usize] = Some(value);
        held
    }

    /// How a register is kept between blocks.
    fn kept(&self, slot: Slot, shape: Shape) -> LaneFact {
        match self.fixed.get(&slot) {
            _ if shape == Shape::Predicate || !self.function.is_converged() => LaneFact::VARYING,
            _ if self.shadowed.contains(&slot) => LaneFact::VARYING,
            Some(&value) => LaneFact::of_launch(value),
            None => self.uniformity.register(slot),
        }
    }

    /// Where a register is kept between blocks.
    fn slot(&self, slot: Slot) -> String {
        format!("%{}{slot}", if self.shadowed.contains(&slot) { 'm' } else { 'r' })
    }

    /// Whether of a register only some lanes are kept.
    pub fn is_compact(&self, slot: Slot) -> bool {
        self.shape(slot).is_some_and(|shape| self.kept(slot, shape).width() != Width::All)
    }

    /// From here on all lanes of these registers are kept, in places of their own. They are settled.
    pub fn shadow(&mut self, slots: &[Slot]) -> Result<(), Misfit> {
        for &slot in slots {
            let (ty, bits) = self.current(slot)?;
            self.held.remove(&slot);
            self.line(format_args!("store {ty} {bits}, ptr %m{slot}"));
        }
        self.shadow_again(slots);
        Ok(())
    }

    /// The same where they are there already.
    pub fn shadow_again(&mut self, slots: &[Slot]) {
        self.shadowed = slots.iter().copied().collect();
    }

    /// From here on they are kept as before.
    pub fn unshadow(&mut self) {
        self.shadowed.clear();
    }

    /// The type of what is kept of it.
    pub fn kept_type(&self, slot: Slot, shape: Shape) -> &'static str {
        type_of(shape, self.kept(slot, shape).width())
    }

    /// The bits of floats, with the hardware's NaN.
    fn canonical(&mut self, width: Width, raw: &str) -> String {
        let &Types { floats, words, bits, .. } = width.types();
        let nan = self.set(format_args!("fcmp uno {floats} {raw}, zeroinitializer"));
        let value = self.set(format_args!("bitcast {floats} {raw} to {words}"));
        self.set(format_args!("select {bits} {nan}, {words} splat (i32 2147483647), {words} {value}"))
    }

    /// A 32-bit register.
    pub fn words(&mut self, slot: Slot) -> Result<String, Misfit> {
        match self.function.constant(slot, 1) {
            Some(value) => Ok(format!("splat (i32 {})", value as u32)),
            None => self.bits(slot, Shape::Row),
        }
    }

    /// A 64-bit register.
    pub fn longs(&mut self, slot: Slot) -> Result<String, Misfit> {
        match self.function.constant(slot, 2) {
            Some(value) => Ok(format!("splat (i64 {value})")),
            None => self.bits(slot, Shape::Pair),
        }
    }

    /// A 32-bit register as floats, for operations that treat all NaNs alike.
    pub fn floats(&mut self, slot: Slot) -> Result<String, Misfit> {
        if self.function.constant(slot, 1).is_none()
            && let Some(Held { raw: Some((width, raw)), .. }) = self.held.get(&slot)
            && *width == self.width
        {
            return Ok(raw.clone());
        }
        let value = self.words(slot)?;
        let &Types { words, floats, .. } = self.types();
        Ok(self.set(format_args!("bitcast {words} {value} to {floats}")))
    }

    /// Stride of a uniform or affine register.
    pub fn stride_of(&mut self, slot: Slot) -> Option<i64> {
        if self.function.constant(slot, 1).is_some() {
            return Some(0);
        }
        if !self.held.contains_key(&slot)
            && let Some(shape @ (Shape::Row | Shape::Pair)) = self.shape(slot)
        {
            let held = self.load(slot, shape);
            self.held.insert(slot, held);
        }
        self.held.get(&slot)?.stride
    }

    /// A predicate.
    pub fn predicate(&mut self, slot: Slot) -> Result<String, Misfit> {
        match self.function.constant(slot, 0) {
            Some(value) => Ok((value as u32).to_string()),
            None => self.bits(slot, Shape::Predicate),
        }
    }

    /// Writes the active lanes of a register.
    fn write(&mut self, slot: Slot, shape: Shape, value: String) -> Result<(), Misfit> {
        self.has(slot, shape)?;
        let value = match self.active.clone() {
            None => value,
            Some(Active { mask, lanes }) => {
                let old = self.bits(slot, shape)?;
                if shape == Shape::Predicate {
                    self.blend(&mask, &value, &old)
                } else {
                    let ty = type_of(shape, Width::All);
                    self.set(format_args!("select {BITS} {lanes}, {ty} {value}, {ty} {old}"))
                }
            }
        };
        let width = if shape == Shape::Predicate { Width::All } else { self.width };
        self.hold(slot, width, value);
        Ok(())
    }

    /// A register has a new value.
    fn hold(&mut self, slot: Slot, width: Width, value: String) {
        let stride = (width != Width::All).then_some(self.stride);
        let mut held = Held { stride, new: true, ..Held::default() };
        held.bits[width as usize] = Some(value);
        self.held.insert(slot, held);
    }

    /// The bits of one integer where a mask has ones, and those of another elsewhere.
    fn blend(&mut self, mask: &str, new: &str, old: &str) -> String {
        let differ = self.set(format_args!("xor i32 {new}, {old}"));
        let differ = self.set(format_args!("and i32 {differ}, {mask}"));
        self.set(format_args!("xor i32 {differ}, {old}"))
    }

    pub fn write_words(&mut self, slot: Slot, value: String) -> Result<(), Misfit> {
        self.write(slot, Shape::Row, value)
    }

    pub fn write_longs(&mut self, slot: Slot, value: String) -> Result<(), Misfit> {
        self.write(slot, Shape::Pair, value)
    }

    pub fn write_predicate(&mut self, slot: Slot, value: String) -> Result<(), Misfit> {
        self.write(slot, Shape::Predicate, value)
    }

    /// Writes computed floats; any NaN among them stands for the hardware's.
    pub fn write_floats(&mut self, slot: Slot, raw: String) -> Result<(), Misfit> {
        if self.active.is_some() {
            let bits = self.canonical(self.width, &raw);
            return self.write(slot, Shape::Row, bits);
        }
        self.has(slot, Shape::Row)?;
        let stride = (self.width != Width::All).then_some(0);
        self.held.insert(slot, Held { raw: Some((self.width, raw)), stride, new: true, ..Held::default() });
        Ok(())
    }

    /// From here on the operation runs in the lanes that a guard selects.
    pub fn guard(&mut self, guard: Guard) -> Result<(), Misfit> {
        self.active = self.predicate.clone();
        if guard.slot == NONE {
            return Ok(());
        }
        let predicate = self.predicate(guard.slot)?;
        let mask = match guard.invert {
            0 => predicate,
            _ => self.set(format_args!("xor i32 {predicate}, -1")),
        };
        self.active = Some(match self.predicate.clone() {
            None => Active {
                lanes: self.set(format_args!("bitcast i32 {mask} to {BITS}")),
                mask: self.set(format_args!("and i32 {mask}, %lanes")),
            },
            Some(predicate) => {
                let mask = self.set(format_args!("and i32 {mask}, {}", predicate.mask));
                Active { lanes: self.set(format_args!("bitcast i32 {mask} to {BITS}")), mask }
            }
        });
        Ok(())
    }

    /// Writes new values to the slots, and forgets their names.
    pub fn settle(&mut self) -> Result<(), Misfit> {
        let new: Vec<Slot> = self.held.iter().filter(|held| held.1.new).map(|held| *held.0).collect();
        for slot in new {
            let shape = self.shape(slot).ok_or(Misfit)?;
            self.width = self.kept(slot, shape).width();
            let (ty, bits) = (self.kept_type(slot, shape), self.bits(slot, shape)?);
            let place = self.slot(slot);
            self.line(format_args!("store {ty} {bits}, ptr {place}"));
        }
        self.forget();
        Ok(())
    }

    /// Facts about registers, for [`Writer::recall`] on another path.
    pub fn known(&self) -> Known {
        (self.held.clone(), self.tested.clone())
    }

    pub fn recall(&mut self, known: Known) {
        (self.held, self.tested) = known;
    }

    fn forget(&mut self) {
        self.in_all_lanes();
        self.held.clear();
        self.tested.clear();
    }

    /// Has the interpreter do the operation at `pc`: what it reads and writes goes to the frame, what it writes comes back.
    pub fn perform(&mut self, pc: u32, site: Option<usize>) -> Result<(), Misfit> {
        self.in_all_lanes();
        let step = self.function.step(pc);
        let touched: BTreeSet<Slot> = step.reads.iter().chain(step.writes).map(|touched| touched.0).collect();
        for slot in touched {
            if let Some(shape) = self.shape(slot) {
                let bits = self.bits(slot, shape)?;
                self.keep(slot, shape, &bits);
            }
        }
        let mask = self.mask();
        let field = self.field(offset_of!(State, perform));
        let function = self.set(format_args!("load ptr, ptr {field}"));
        let site = site.map_or(-1, |site| site as i64);
        let failed =
            self.set(format_args!("call i32 {function}(ptr %state, i32 {pc}, i32 {mask}, i32 {site})"));
        let failed = self.set(format_args!("icmp ne i32 {failed}, 0"));
        let behind = self.name("done");
        self.line(format_args!("br i1 {failed}, label %failed, label %{behind}"));
        self.label(&behind);
        for &(slot, _) in step.writes {
            if let Some(shape) = self.shape(slot) {
                let place = self.frame(slot);
                let ty = type_of(shape, Width::All);
                let bits = self.set(format_args!("load {ty}, ptr {place}, align 4"));
                self.hold(slot, Width::All, bits);
            }
        }
        Ok(())
    }

    /// On a way of its own, has the interpreter do an operation; `join` leads back to the other way. What registers hold is
    /// what it was before.
    pub fn aside<T>(
        &mut self,
        pc: u32,
        site: Option<usize>,
        join: impl FnOnce(&mut Self) -> Result<T, Misfit>,
    ) -> Result<T, Misfit> {
        let before = self.held.clone();
        self.perform(pc, site)?;
        let joined = join(self)?;
        self.held = before;
        Ok(joined)
    }

    /// The bits a register holds now, for joining two paths.
    pub fn current(&mut self, slot: Slot) -> Result<(&'static str, String), Misfit> {
        let shape = self.shape(slot).ok_or(Misfit)?;
        Ok((type_of(shape, self.width), self.bits(slot, shape)?))
    }

    /// Replaces a register's value, in all lanes.
    pub fn replace(&mut self, slot: Slot, bits: String) {
        let is_predicate = self.shape(slot) == Some(Shape::Predicate);
        self.hold(slot, if is_predicate { Width::All } else { self.width }, bits);
    }
}

/// The type of a register's bits in some lanes.
pub fn type_of(shape: Shape, width: Width) -> &'static str {
    match shape {
        Shape::Predicate => "i32",
        Shape::Row => width.types().words,
        Shape::Pair => width.types().longs,
    }
}
