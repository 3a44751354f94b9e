//! The text of a function in progress, line by line.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::{Arguments, Write};
use std::mem::offset_of;

use virtual_gpu::counting::Counter;
use virtual_gpu::jit::{Function, LaunchValue, Slot, State};

use crate::blocks::Shape;
use crate::lanes::Uniformity;
use crate::scattered::Scattered;
use crate::values::{Held, LONGS};
use crate::vectors::Tested;
use crate::widths::{Types, Width};

/// The text of a function in progress.
pub struct Writer<'f> {
    pub function: Function<'f>,
    pub text: String,
    names: u32,
    pub shapes: &'f BTreeMap<Slot, Shape>,
    /// Registers that no operation writes; they are read from the frame.
    pub fixed: BTreeMap<Slot, LaunchValue>,
    pub held: BTreeMap<Slot, Held>,
    /// The lanes that the current operation computes, and by how much those of its result differ from the ones before.
    pub width: Width,
    pub stride: i64,
    /// The group's lanes that pass the guard; `None`: all.
    pub active: Option<Active>,
    /// The lanes of a block of a region, of which the guard leaves some; `None`: all of the group.
    pub predicate: Option<Active>,
    /// Registers of which all lanes are kept for a while.
    pub shadowed: BTreeSet<Slot>,
    /// Number of slots that remember an allocation.
    pub sites: usize,
    /// The families tested in the current block, by their first access.
    pub tested: HashMap<u32, Tested>,
    /// How lanes are expected to differ.
    pub uniformity: Uniformity,
    /// Functions for accesses that go anywhere, which the code calls.
    pub scattered: BTreeSet<Scattered>,
    /// Counters, by their place in the table.
    pub counters: Vec<Counter>,
    /// Whether vectors of 512 bits have permutations of words.
    pub wide: bool,
}

/// A guard's value.
#[derive(Debug, Clone)]
pub struct Active {
    /// Lanes of the group for which it is true.
    pub mask: String,
    /// Lanes for which it is true, in a vector of bits; of lanes outside the group it says nothing.
    pub lanes: String,
}

impl<'f> Writer<'f> {
    pub fn new(function: Function<'f>, shapes: &'f BTreeMap<Slot, Shape>, wide: bool) -> Self {
        Writer {
            function,
            text: String::new(),
            names: 0,
            shapes,
            fixed: function.fixed().collect(),
            held: BTreeMap::new(),
            width: Width::All,
            stride: 0,
            active: None,
            predicate: None,
            shadowed: BTreeSet::new(),
            sites: 0,
            tested: HashMap::new(),
            uniformity: Uniformity::of(&function),
            scattered: BTreeSet::new(),
            counters: Vec::new(),
            wide,
        }
    }

    /// The lanes that the current operation runs in.
    pub fn mask(&self) -> String {
        self.active.as_ref().map_or("%lanes".to_owned(), |active| active.mask.clone())
    }

    /// Whether the current operation runs in all lanes of the warp.
    pub fn is_full(&mut self) -> String {
        match self.active.as_ref().map(|active| active.mask.clone()) {
            None => "%full".to_owned(),
            Some(mask) => self.set(format_args!("icmp eq i32 {mask}, -1")),
        }
    }

    /// From here on operations run in some of the group's lanes.
    pub fn begin_predicated(&mut self, lanes: Active) {
        self.tell_lanes(&lanes.mask);
        self.active = Some(lanes.clone());
        self.predicate = Some(lanes);
    }

    /// From here on operations run in all of the group's lanes.
    pub fn end_predicated(&mut self) {
        self.tell_lanes("%lanes");
        self.active = None;
        self.predicate = None;
    }

    /// The types of what the current operation computes.
    pub fn types(&self) -> &'static Types {
        self.width.types()
    }

    /// From here on all lanes are computed.
    pub fn in_all_lanes(&mut self) {
        (self.width, self.stride) = (Width::All, 0);
    }

    pub fn line(&mut self, line: Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "  {line}");
    }

    pub fn label(&mut self, label: &str) {
        let _ = writeln!(self.text, "{label}:");
    }

    /// A value, named.
    pub fn set(&mut self, value: Arguments<'_>) -> String {
        let name = self.name("%v");
        self.line(format_args!("{name} = {value}"));
        name
    }

    /// A new name.
    pub fn name(&mut self, start: &str) -> String {
        self.names += 1;
        format!("{start}{}", self.names)
    }

    /// One value in all lanes that the current operation computes.
    pub fn splat(&mut self, value: &str, ty: &str) -> String {
        let &Types { lanes, words, .. } = self.types();
        let one = self.set(format_args!("insertelement <{lanes} x {ty}> poison, {ty} {value}, i32 0"));
        self.set(format_args!(
            "shufflevector <{lanes} x {ty}> {one}, <{lanes} x {ty}> poison, {words} zeroinitializer"
        ))
    }

    /// Ends a way at a label; the name of where it came from.
    pub fn turn(&mut self, to: &str) -> String {
        let from = self.name("way");
        self.line(format_args!("br label %{from}"));
        self.label(&from);
        self.line(format_args!("br label %{to}"));
        from
    }

    /// A place that remembers an allocation.
    pub fn new_site(&mut self) -> usize {
        self.sites += 1;
        self.sites - 1
    }

    /// Adds `stores` to the progress counter.
    pub fn progress(&mut self, stores: &str) {
        let field = self.field(offset_of!(State, progress));
        let progress = self.set(format_args!("load i64, ptr {field}"));
        let progress = self.set(format_args!("add i64 {progress}, {stores}"));
        self.line(format_args!("store i64 {progress}, ptr {field}"));
    }

    /// Calls the function of an access for the current operation's lanes.
    pub fn call(&mut self, scattered: &Scattered, addresses: &str, piece: &str, values: &[String]) -> String {
        self.scattered.insert(*scattered);
        let mut values: String =
            values.iter().map(|value| format!(", {} {value}", scattered.register())).collect();
        if scattered.gives_several() {
            values += ", ptr %several";
        }
        let (result, name, mask) = (scattered.result(), scattered.name(), self.mask());
        self.set(format_args!("call {result} {name}({LONGS} {addresses}, i32 {mask}, {piece}{values})"))
    }

    /// A register that such a call has loaded, right behind it.
    pub fn loaded(&mut self, scattered: &Scattered, result: &str, e: usize) -> String {
        let register = scattered.register();
        if scattered.gives_several() {
            let place = self.set(format_args!("getelementptr {register}, ptr %several, i32 {e}"));
            return self.set(format_args!("load {register}, ptr {place}"));
        }
        self.set(format_args!("extractvalue {} {result}, {}", scattered.result(), e + 1))
    }

    /// Stores the counters of steps and branches to the state.
    pub fn give_back(&mut self) {
        for (offset, ty, from) in [
            (offset_of!(State, steps), "i64", "%steps"),
            (offset_of!(State, spin_limit), "i32", "%spin_limit"),
            (offset_of!(State, backward), "i32", "%backward"),
        ] {
            let (place, value) = (self.field(offset), self.set(format_args!("load {ty}, ptr {from}")));
            self.line(format_args!("store {ty} {value}, ptr {place}"));
        }
    }

    /// Where a field of the state is.
    pub fn field(&mut self, offset: usize) -> String {
        self.set(format_args!("getelementptr i8, ptr %state, i64 {offset}"))
    }

    /// A register's rows in the frame.
    pub fn frame(&mut self, slot: Slot) -> String {
        self.set(format_args!("getelementptr i8, ptr %rows, i64 {}", u64::from(slot) * 128))
    }

    pub fn shape(&self, slot: Slot) -> Option<Shape> {
        self.shapes.get(&slot).copied()
    }
}
