//! Loads of registers from the frame's rows, and stores back to them.

use virtual_gpu::jit::{Compact, Slot};

use super::{BITS, Misfit, type_of};
use crate::blocks::{Set, Shape};
use crate::widths::Width;
use crate::writer::Writer;

impl Writer<'_> {
    /// A register's kept part, from its rows in the frame.
    pub fn load_from_frame(&mut self, slot: Slot, shape: Shape) -> String {
        let (width, place) = (self.kept(slot, shape).width(), self.frame(slot));
        let ty = type_of(shape, width);
        if width == Width::All {
            return self.set(format_args!("load {ty}, ptr {place}, align 4"));
        }
        let (one, bytes) = if shape == Shape::Pair { ("i64", 8) } else { ("i32", 4) };
        let mut values = Vec::new();
        for lane in width.lanes() {
            let place = self.set(format_args!("getelementptr i8, ptr {place}, i64 {}", bytes * lane));
            values.push(self.set(format_args!("load {one}, ptr {place}, align 4")));
        }
        self.vector_of(one, &values)
    }

    /// Writes the new values among these registers to the frame, or of all, and forgets the names of all.
    pub fn settle_in_frame(&mut self, alive: Option<&Set>) -> Result<(), Misfit> {
        let new: Vec<Slot> = self.held.iter().filter(|held| held.1.new).map(|held| *held.0).collect();
        for slot in new.into_iter().filter(|&slot| alive.is_none_or(|alive| alive.has(slot))) {
            let shape = self.shape(slot).ok_or(Misfit)?;
            self.keep_as_kept(slot, shape)?;
        }
        self.forget();
        Ok(())
    }

    /// Stores a settled register's kept part to the frame.
    pub fn keep_slot(&mut self, slot: Slot, shape: Shape) -> Result<(), Misfit> {
        self.keep_as_kept(slot, shape)?;
        self.held.remove(&slot);
        Ok(())
    }

    /// Stores the lanes that a register has: `CompiledRegion::compact` says which these are.
    fn keep_as_kept(&mut self, slot: Slot, shape: Shape) -> Result<(), Misfit> {
        let width = self.kept(slot, shape).width();
        self.width = width;
        let bits = self.bits(slot, shape)?;
        self.in_all_lanes();
        if width == Width::All {
            self.keep(slot, shape, &bits);
            return Ok(());
        }
        let ty = type_of(shape, width);
        let (one, bytes) = if shape == Shape::Pair { ("i64", 8) } else { ("i32", 4) };
        let place = self.frame(slot);
        for (i, lane) in width.lanes().iter().enumerate() {
            let value = self.set(format_args!("extractelement {ty} {bits}, i32 {i}"));
            let place = self.set(format_args!("getelementptr i8, ptr {place}, i64 {}", bytes * lane));
            self.line(format_args!("store {one} {value}, ptr {place}, align 4"));
        }
        Ok(())
    }

    /// Registers that the code stores for some lanes only.
    pub fn compact(&self) -> Box<[Compact]> {
        let mut compact = Vec::new();
        for (&slot, &shape) in self.shapes {
            let lanes = self.kept(slot, shape);
            if lanes.width() != Width::All && !self.fixed.contains_key(&slot) {
                let (is_long, halves) = (shape == Shape::Pair, lanes.width() == Width::Two);
                compact.push(Compact { slot, is_long, halves, stride: lanes.stride() });
            }
        }
        compact.into()
    }

    /// Writes the group's lanes of a register to the frame.
    pub fn keep(&mut self, slot: Slot, shape: Shape, bits: &str) {
        let (ty, place) = (type_of(shape, Width::All), self.frame(slot));
        let old = self.set(format_args!("load {ty}, ptr {place}, align 4"));
        let new = match shape {
            Shape::Predicate => self.blend("%lanes", bits, &old),
            _ => self.set(format_args!("select {BITS} %group, {ty} {bits}, {ty} {old}")),
        };
        self.line(format_args!("store {ty} {new}, ptr {place}, align 4"));
    }
}
