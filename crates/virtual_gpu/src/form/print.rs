//! Prints operations: like PTX, with rows as register names.
//!
//! `%r5` is row 5 of the frame, `%p5` a predicate there, `%rd5` the two rows from 5 on, `%rq5` four. Constants are
//! printed as their bits, values set when a frame is made by what they are, and branch targets as program counters:
//! `@12`.

use std::fmt::{self, Display, Formatter};

use super::access::AddressOperand;
use super::op::{Callee, Op, OpKind, SourceOperand, Touched};
use super::program::{Code, FunctionCode};
use super::registers::{NONE, Slot};

/// An operation of a program, for printing.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'c> {
    code: &'c Code,
    pc: u32,
}

impl Code {
    /// An operation as text; empty if the program counter is out of range.
    ///
    /// ```
    /// let gpu = virtual_gpu::Gpu::new(&gpu_model::chips::H200);
    /// let ptx = ".version 8.0 .target sm_90 .address_size 64
    ///     .visible .entry k() { .reg .b32 %x<3>; mov.u32 %x1, %tid.x; add.u32 %x2, %x1, 7; }";
    /// let module = gpu.load(ptx)?;
    /// let shown = module.code().show(1).to_string();
    /// assert!(shown.starts_with("add.u32 %r") && shown.ends_with(", 7"), "{shown}");
    /// # Ok::<(), virtual_gpu::Error>(())
    /// ```
    pub fn show(&self, pc: u32) -> Shown<'_> {
        Shown { code: self, pc }
    }
}

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let at = self.pc as usize;
        let (Some(op), Some(touched)) = (self.code.ops.get(at), self.code.touched.get(at)) else {
            return Ok(());
        };
        let index = self.code.functions.partition_point(|function| function.end <= self.pc);
        let names = Names { code: self.code, function: self.code.functions.get(index) };
        if op.guard.slot != NONE {
            write!(f, "@{}%p{} ", if op.guard.invert != 0 { "!" } else { "" }, op.guard.slot)?;
        }
        match (self.code.opcode(self.pc), &op.kind) {
            (Some(opcode), _) => write!(f, "{opcode}")?,
            (None, OpKind::Alu(arithmetic)) => f.write_str(arithmetic.opcode.name())?,
            (None, OpKind::Return) => f.write_str("ret")?,
            (None, OpKind::Special { which, .. }) => write!(f, "special.{which:?}")?,
            (None, _) => f.write_str("bra")?,
        }
        let operands = names.operands(op, touched);
        if !operands.is_empty() {
            write!(f, " {}", operands.join(", "))?;
        }
        Ok(())
    }
}

/// The names of the rows of a function's frame.
struct Names<'c> {
    code: &'c Code,
    function: Option<&'c FunctionCode>,
}

impl Names<'_> {
    fn operands(&self, op: &Op, touched: &Touched) -> Vec<String> {
        let registers = |slots: &[Slot], rows: u32| match slots {
            [one] => self.value(*one, rows),
            several => {
                let all: Vec<_> = several.iter().map(|&slot| self.value(slot, rows)).collect();
                format!("{{{}}}", all.join(", "))
            }
        };
        match &op.kind {
            OpKind::Load(load) => vec![registers(&load.data, load.rows), self.address(load.address)],
            OpKind::Store(store) => vec![self.address(store.address), registers(&store.data, store.rows)],
            OpKind::LoadParam(load) => {
                vec![registers(&load.data, load.rows), format!("[param+{}]", load.offset)]
            }
            OpKind::Atomic(atomic) => {
                let rows = (atomic.width / 4).max(1);
                let mut operands = Vec::new();
                if !atomic.targets.is_empty() {
                    operands.push(registers(&atomic.targets, rows));
                }
                operands.push(self.address(atomic.address));
                operands.push(registers(&atomic.operands, rows));
                if atomic.swap != NONE {
                    operands.push(self.value(atomic.swap, rows));
                }
                operands
            }
            OpKind::Branch { target } | OpKind::Jump { target } => vec![format!("@{target}")],
            OpKind::BranchIndexed { index, targets } => {
                let targets: Vec<_> = targets.iter().map(|target| format!("@{target}")).collect();
                vec![self.value(*index, 1), format!("{{{}}}", targets.join(", "))]
            }
            OpKind::Call(call) => {
                let callee = match call.callee {
                    Callee::Direct(function) => self.code.functions[function as usize].name.clone(),
                    Callee::Indirect(slot) => self.value(slot, 2),
                };
                let list = |places: &dyn fmt::Debug| format!("{places:?}");
                vec![list(&call.results), callee, list(&call.arguments)]
            }
            OpKind::System(system) => vec![format!("{system:?}")],
            OpKind::Extension(extension) => vec![format!("{extension:?}")],
            _ => {
                let written = touched.writes.iter().map(|&(slot, rows)| self.value(slot, rows));
                written.chain(touched.sources.iter().map(|source| self.source(source))).collect()
            }
        }
    }

    fn source(&self, source: &SourceOperand) -> String {
        let name = self.value(source.slot, source.rows);
        if source.inverted { format!("!{name}") } else { name }
    }

    fn address(&self, address: AddressOperand) -> String {
        match (address.base, address.offset) {
            (NONE, offset) => format!("[{offset:#x}]"),
            (base, 0) => format!("[{}]", self.value(base, if address.wide { 2 } else { 1 })),
            (base, offset) => format!("[{}{offset:+}]", self.value(base, if address.wide { 2 } else { 1 })),
        }
    }

    /// A register, a constant or a value set when a frame is made.
    fn value(&self, slot: Slot, rows: u32) -> String {
        if slot == NONE {
            return "_".to_owned();
        }
        if let Some(function) = self.function {
            if let Some((_, init)) = function.inits.iter().find(|(of, _)| *of == slot) {
                return format!("{init:?}");
            }
            if let Ok(at) = function.constants.binary_search(&slot) {
                let row = function.image[function.constants[at] as usize].0;
                let bits: u128 =
                    (0..rows.max(1) as usize).rev().fold(0, |bits, i| bits << 32 | u128::from(row[i]));
                return if bits < 1 << 16 { bits.to_string() } else { format!("{bits:#x}") };
            }
        }
        let kind = match rows {
            0 => "p",
            1 => "r",
            2 => "rd",
            _ => "rq",
        };
        format!("%{kind}{slot}")
    }
}
