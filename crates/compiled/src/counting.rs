//! Counters in the code of launches that are observed: see [`virtual_gpu::counting`].
//!
//! A run of operations takes two additions in memory. An access to shared memory by whole vectors takes one, since what it costs
//! follows from the distance of the warp's halves, which is compared once for a family. One to global memory is logged.

use std::mem::offset_of;
use std::ops::Range;

use virtual_gpu::counting::{Counter, LOG, Logged};
use virtual_gpu::jit::{MemoryOp, NONE, SpaceOperand, State};
use virtual_gpu::observer::MemorySpace;

use crate::families::{Family, bytes};
use crate::values::{LONGS, Misfit};
use crate::vectors::Pattern;
use crate::writer::Writer;

/// Accesses of fewer bytes a lane cost more or less by where in a bank's word they begin, too.
const WORD: u32 = 4;

impl Writer<'_> {
    /// A new counter.
    fn counter(&mut self, counter: Counter) -> usize {
        self.counters.push(counter);
        self.counters.len() - 1
    }

    /// Where one of its two numbers is.
    fn number(&mut self, counter: usize, which: usize) -> String {
        let offset = 16 * counter + 8 * which;
        self.set(format_args!("getelementptr i8, ptr %numbers, i64 {offset}"))
    }

    /// `add` or `sub` in memory.
    fn change(&mut self, how: &str, counter: usize, which: usize, by: &str) {
        let place = self.number(counter, which);
        let number = self.set(format_args!("load i64, ptr {place}"));
        let number = self.set(format_args!("{how} i64 {number}, {by}"));
        self.line(format_args!("store i64 {number}, ptr {place}"));
    }

    /// Values for counting, made where code begins.
    pub fn begin_counting(&mut self) {
        if self.function.is_counted() {
            let place = self.field(offset_of!(State, numbers));
            self.line(format_args!("%numbers = load ptr, ptr {place}"));
            self.line(format_args!("%lane_count = call i32 @llvm.ctpop.i32(i32 %lanes)"));
            self.line(format_args!("%lanes_in_sum = zext i32 %lane_count to i64"));
            self.line(format_args!("%spelled = alloca {LONGS}"));
        }
    }

    /// Makes room in the log for all accesses of a block.
    pub fn make_room(&mut self, accesses: usize) -> Result<(), Misfit> {
        if !self.function.is_counted() || accesses == 0 {
            return Ok(());
        }
        if accesses > LOG {
            return Err(Misfit);
        }
        let (log, end) = (self.field(offset_of!(State, log)), self.field(offset_of!(State, log_end)));
        let next = self.set(format_args!("load ptr, ptr {log}"));
        let after =
            self.set(format_args!("getelementptr i8, ptr {next}, i64 {}", accesses * size_of::<Logged>()));
        let end = self.set(format_args!("load ptr, ptr {end}"));
        let fits = self.set(format_args!("icmp ule ptr {after}, {end}"));
        let (room, full) = (self.name("room"), self.name("full"));
        self.line(format_args!("br i1 {fits}, label %{room}, label %{full}, !prof !0"));
        self.label(&full);
        self.ask(offset_of!(State, full), "");
        self.line(format_args!("br label %{room}"));
        self.label(&room);
        Ok(())
    }

    /// Calls a function of the state that gives nothing.
    pub fn ask(&mut self, field: usize, arguments: &str) {
        let place = self.field(field);
        let function = self.set(format_args!("load ptr, ptr {place}"));
        self.line(format_args!("call void {function}(ptr %state{arguments})"));
    }

    /// All operations of a block have run.
    pub fn count_run(&mut self, run: Range<u32>) -> Option<usize> {
        if !self.function.is_counted() {
            return None;
        }
        let counter = self.counter(Counter::Run(run));
        let lanes = match self.predicate.clone() {
            None => "%lanes_in_sum".to_owned(),
            Some(predicate) => self.count_of(&predicate.mask),
        };
        self.change("add", counter, 0, "1");
        self.change("add", counter, 1, &lanes);
        Some(counter)
    }

    /// Not the last operation of a run, its branch: so it was another run, if there was more.
    pub fn recount(&mut self, counted: Option<usize>, run: Range<u32>) {
        if let Some(counter) = counted {
            self.change("sub", counter, 0, "1");
            self.change("sub", counter, 1, "%lanes_in_sum");
            if !run.is_empty() {
                self.count_run(run);
            }
        }
    }

    /// How many lanes a mask has.
    fn count_of(&mut self, mask: &str) -> String {
        let lanes = self.set(format_args!("call i32 @llvm.ctpop.i32(i32 {mask})"));
        self.set(format_args!("zext i32 {lanes} to i64"))
    }

    /// An operation that faults is counted, and those before it in its block: with these lanes.
    pub fn tell_lanes(&mut self, lanes: &str) {
        if self.function.is_counted() {
            let place = self.field(offset_of!(State, lanes));
            self.line(format_args!("store i32 {lanes}, ptr {place}"));
        }
    }

    /// An operation runs in the lanes of a guard.
    pub fn count_guarded(&mut self, pc: u32) {
        if self.function.is_counted()
            && self.function.step(pc).guard.slot != NONE
            && let Some(active) = self.active.clone()
        {
            let counter = self.counter(Counter::Guarded(pc));
            let lanes = self.count_of(&active.mask);
            self.change("add", counter, 1, &lanes);
        }
    }

    /// If the accesses of a family cost what the distance of the halves says, where `all` is true: compares it with the distance
    /// of the last ones. The number of the counter.
    pub fn compare_distance(
        &mut self,
        family: &Family,
        bytes: u32,
        all: &str,
        first: &[String; 2],
    ) -> Option<u32> {
        if !self.function.is_counted() || family.site.is_some() || bytes < WORD {
            return None;
        }
        let counter = self.counter(Counter::Distance);
        let place = self.number(counter, 0);
        let known = self.set(format_args!("load i64, ptr {place}"));
        let distance = self.set(format_args!("sub i64 {}, {}", first[1], first[0]));
        let differs = self.set(format_args!("icmp ne i64 {known}, {distance}"));
        let changes = self.set(format_args!("and i1 {all}, {differs}"));
        let (change, go) = (self.name("change"), self.name("compared"));
        self.line(format_args!("br i1 {changes}, label %{change}, label %{go}, !prof !1"));
        self.label(&change);
        self.ask(offset_of!(State, set_distance), &format!(", i32 {counter}, i64 {distance}"));
        self.line(format_args!("br label %{go}"));
        self.label(&go);
        Some(counter as u32)
    }

    /// An access by whole vectors: with the counter of the family's distance, or else with the addresses of the first lanes of
    /// the halves.
    pub fn count_halves(
        &mut self,
        op: &MemoryOp,
        pc: u32,
        pattern: Pattern,
        distance: Option<u32>,
        first: &[String; 2],
    ) {
        if !self.function.is_counted() {
            return;
        }
        let step = if pattern == Pattern::Consecutive { bytes(op) } else { 0 };
        let counter = match (distance, op.space) {
            (Some(distance), _) => Counter::Halves { pc, step, distance },
            (None, SpaceOperand::In(space @ MemorySpace::Const)) => Counter::Plain(space),
            _ => {
                let log = self.field(offset_of!(State, log));
                let next = self.set(format_args!("load ptr, ptr {log}"));
                let at = |w: &mut Self, offset: usize| {
                    w.set(format_args!("getelementptr i8, ptr {next}, i64 {offset}"))
                };
                for (offset, value) in [
                    (offset_of!(Logged, pc), format!("i32 {pc}")),
                    (offset_of!(Logged, step), format!("i32 {step}")),
                    (offset_of!(Logged, first), format!("i64 {}", first[0])),
                    (offset_of!(Logged, first) + 8, format!("i64 {}", first[1])),
                ] {
                    let place = at(self, offset);
                    self.line(format_args!("store {value}, ptr {place}"));
                }
                let after = at(self, size_of::<Logged>());
                self.line(format_args!("store ptr {after}, ptr {log}"));
                return;
            }
        };
        let counter = self.counter(counter);
        self.change("add", counter, 0, "1");
    }

    /// An access that went wherever its lanes wanted.
    pub fn show_access(&mut self, pc: u32, addresses: &str) {
        if self.function.is_counted() {
            self.line(format_args!("store {LONGS} {addresses}, ptr %spelled"));
            let mask = self.mask();
            self.ask(offset_of!(State, accessed), &format!(", i32 {pc}, i32 {mask}, ptr %spelled"));
        }
    }
}
