//! Registers: the current value of each, and the IR for reading and writing them.
//!
//! A register has a slot on the stack, which LLVM turns into a value. Within a block the names of values are known, and
//! the slots are written at its end.
//!
//! The code runs for a group of lanes. What it computes in the other lanes means nothing: their values stay in the frame, which
//! only the group's lanes are written to ([`Writer::keep`]).
//!
//! Whoever computes a float needs not make NaN the hardware's at once: all that look at floats as such take one NaN as the
//! other. It is done when the bits are wanted.

use std::collections::BTreeSet;
use std::mem::offset_of;

use virtual_gpu::stretch::{Guard, NONE, Slot, State};

use crate::blocks::{Set, Shape};
use crate::writer::{Active, Writer};

/// The types of a register's 32 lanes.
pub const WORDS: &str = "<32 x i32>";
pub const LONGS: &str = "<32 x i64>";
pub const DOUBLES: &str = "<32 x double>";
pub const FLOATS: &str = "<32 x float>";
pub const BITS: &str = "<32 x i1>";

/// A block uses a register in an unexpected way: the function stays with the interpreter.
#[derive(Debug)]
pub struct Misfit;

#[derive(Debug, Clone)]
pub struct Held {
    value: Value,
    /// Not yet written to its slot.
    new: bool,
}

#[derive(Debug, Clone)]
enum Value {
    Bits(String),
    /// A float whose NaNs may have any bits.
    Float {
        raw: String,
        bits: Option<String>,
    },
}

impl Writer<'_> {
    fn has(&self, slot: Slot, shape: Shape) -> Result<(), Misfit> {
        if self.shape(slot) == Some(shape) || self.fixed.contains(&slot) { Ok(()) } else { Err(Misfit) }
    }

    /// The bits of a register.
    fn bits(&mut self, slot: Slot, shape: Shape) -> Result<String, Misfit> {
        self.has(slot, shape)?;
        match self.held.get(&slot).map(|held| held.value.clone()) {
            Some(Value::Bits(bits)) => Ok(bits),
            Some(Value::Float { bits: Some(bits), .. }) => Ok(bits),
            Some(Value::Float { raw, bits: None }) => {
                let bits = self.canonical(&raw);
                if let Some(held) = self.held.get_mut(&slot) {
                    held.value = Value::Float { raw, bits: Some(bits.clone()) };
                }
                Ok(bits)
            }
            None => {
                let ty = type_of(shape);
                let bits = if self.fixed.contains(&slot) {
                    let place = self.frame(slot);
                    self.set(format_args!("load {ty}, ptr {place}, align 4"))
                } else {
                    self.set(format_args!("load {ty}, ptr %r{slot}"))
                };
                self.held.insert(slot, Held { value: Value::Bits(bits.clone()), new: false });
                Ok(bits)
            }
        }
    }

    /// The bits of floats, with the hardware's NaN.
    fn canonical(&mut self, raw: &str) -> String {
        let nan = self.set(format_args!("fcmp uno {FLOATS} {raw}, zeroinitializer"));
        let bits = self.set(format_args!("bitcast {FLOATS} {raw} to {WORDS}"));
        self.set(format_args!("select {BITS} {nan}, {WORDS} splat (i32 2147483647), {WORDS} {bits}"))
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
            && let Some(Held { value: Value::Float { raw, .. }, .. }) = self.held.get(&slot)
        {
            return Ok(raw.clone());
        }
        let words = self.words(slot)?;
        Ok(self.set(format_args!("bitcast {WORDS} {words} to {FLOATS}")))
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
                    let ty = type_of(shape);
                    self.set(format_args!("select {BITS} {lanes}, {ty} {value}, {ty} {old}"))
                }
            }
        };
        self.held.insert(slot, Held { value: Value::Bits(value), new: true });
        Ok(())
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
            let bits = self.canonical(&raw);
            return self.write(slot, Shape::Row, bits);
        }
        self.has(slot, Shape::Row)?;
        self.held.insert(slot, Held { value: Value::Float { raw, bits: None }, new: true });
        Ok(())
    }

    /// From here on the operation runs in the lanes that a guard selects.
    pub fn guard(&mut self, guard: Guard) -> Result<(), Misfit> {
        self.active = self.region.clone();
        if guard.slot == NONE {
            return Ok(());
        }
        let predicate = self.predicate(guard.slot)?;
        let mask = match guard.invert {
            0 => predicate,
            _ => self.set(format_args!("xor i32 {predicate}, -1")),
        };
        self.active = Some(match self.region.clone() {
            None => Active {
                lanes: self.set(format_args!("bitcast i32 {mask} to {BITS}")),
                mask: self.set(format_args!("and i32 {mask}, %lanes")),
            },
            Some(region) => {
                let mask = self.set(format_args!("and i32 {mask}, {}", region.mask));
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
            let bits = self.bits(slot, shape)?;
            self.line(format_args!("store {} {bits}, ptr %r{slot}", type_of(shape)));
        }
        self.held.clear();
        self.tested.clear();
        Ok(())
    }

    /// Writes the new values among these registers to the frame, and forgets the names of all.
    pub fn settle_in_frame(&mut self, alive: &Set) -> Result<(), Misfit> {
        let new: Vec<Slot> = self.held.iter().filter(|held| held.1.new).map(|held| *held.0).collect();
        for slot in new.into_iter().filter(|&slot| alive.has(slot)) {
            let (shape, bits) = (self.shape(slot).ok_or(Misfit)?, self.current(slot)?.1);
            self.keep(slot, shape, &bits);
        }
        self.held.clear();
        self.tested.clear();
        Ok(())
    }

    /// Writes the group's lanes of a register to the frame.
    pub fn keep(&mut self, slot: Slot, shape: Shape, bits: &str) {
        let (ty, place) = (type_of(shape), self.frame(slot));
        let old = self.set(format_args!("load {ty}, ptr {place}, align 4"));
        let new = match shape {
            Shape::Predicate => self.blend("%lanes", bits, &old),
            _ => self.set(format_args!("select {BITS} %group, {ty} {bits}, {ty} {old}")),
        };
        self.line(format_args!("store {ty} {new}, ptr {place}, align 4"));
    }

    /// Has the interpreter do the operation at `pc`: what it reads and writes goes to the frame, what it writes comes back.
    pub fn perform(&mut self, pc: u32, site: Option<usize>) -> Result<(), Misfit> {
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
                let bits = self.set(format_args!("load {}, ptr {place}, align 4", type_of(shape)));
                self.held.insert(slot, Held { value: Value::Bits(bits), new: true });
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
        Ok((type_of(shape), self.bits(slot, shape)?))
    }

    /// Replaces a register's value, in all lanes.
    pub fn replace(&mut self, slot: Slot, bits: String) {
        self.held.insert(slot, Held { value: Value::Bits(bits), new: true });
    }
}

/// The type of a register's bits.
pub fn type_of(shape: Shape) -> &'static str {
    match shape {
        Shape::Predicate => "i32",
        Shape::Row => WORDS,
        Shape::Pair => LONGS,
    }
}
