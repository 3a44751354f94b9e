//! The body of a function: its statements in order, and the program that they make.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use ptx::{Block, FunctionKind, Instruction, Name, Registers, Space, Statement, Variable};

use super::allocation::{Allocation, LARGE};
use super::draft::{Draft, Item};
use super::function::{Decoder, Noted, Scope, Symbol};
use super::liveness::{Liveness, liveness};
use super::{Refusal, atomics, call, data, declaration, flow, instruction};
use crate::form::op::{ALL_BYTES, Guard, Op, Touched};
use crate::form::program::FunctionCode;
use crate::form::registers::{Row, Slot};
use crate::form::signature::{Formal, Passed};

/// A function's operations in order, and what was found out about its registers on the way.
pub(super) struct LaidOut {
    pub drafts: Vec<Draft>,
    pub liveness: Liveness,
    /// Rows that it is better decoded again with.
    pub better: Option<Allocation>,
}

impl Decoder<'_> {
    /// Declares a parameter or result of a device function and gives its place.
    pub fn formal(&mut self, variable: &Variable) -> Result<Formal, Refusal> {
        let formal = call::formal(variable)?;
        let place = match formal.place {
            Passed::Registers { bytes, count, .. } => {
                let register = Symbol::Register { ty: variable.ty, vector: variable.vector, count: None };
                self.declare(variable.name.clone(), register)?;
                let (slot, ..) = self.vector_register(&variable.name)?;
                Passed::Registers { slot, bytes, count }
            }
            _ => {
                let (offset, size) = self.local_variable(variable)?;
                Passed::Bytes { offset, size }
            }
        };
        Ok(Formal { place, ..formal })
    }

    /// Decodes the statements of a body. `allocation`: the rows that its registers are given.
    pub fn body(
        &mut self,
        block: &Block,
        allocation: Option<Allocation>,
    ) -> Result<(), Box<(Refusal, Instruction)>> {
        // Registers that are parameters lie in front.
        self.named.clear();
        self.first_row = self.rows;
        self.rows += allocation.as_ref().map_or(0, |allocation| allocation.rows);
        self.allocation = allocation;
        self.statements(block)
    }

    fn statements(&mut self, block: &Block) -> Result<(), Box<(Refusal, Instruction)>> {
        // Labels and tables of targets may stand behind their use.
        for statement in &block.statements {
            let (name, position, done) = match statement {
                Statement::CallTargets(list) => {
                    let targets = Symbol::CallTargets(list.targets.clone());
                    (&list.name, list.position, self.declare(list.name.clone(), targets))
                }
                Statement::CallPrototype(prototype) => {
                    let name = &prototype.name;
                    let signature = call::signature(&prototype.results, &prototype.params, call::formal);
                    let returns = !prototype.results.is_empty();
                    let fits = declaration::directives(FunctionKind::Func, returns, &prototype.directives);
                    let declared = fits.and(signature).and_then(|signature| {
                        self.declare(name.clone(), Symbol::Prototype(Arc::new(signature)))
                    });
                    (name, prototype.position, declared)
                }
                Statement::Label(name, position) => {
                    let depth = self.scopes.len() - 1;
                    let twice = self.scopes[depth].labels.contains_key(name);
                    self.declare_label(depth, name);
                    let twice = twice.then(|| Refusal(format!("the label `{name}` is defined twice")));
                    (name, *position, twice.map_or(Ok(()), Err))
                }
                _ => continue,
            };
            done.map_err(|refusal| Box::new((refusal, named(name, position))))?;
        }
        for statement in &block.statements {
            if let Statement::BranchTargets(list) = statement {
                let targets = Symbol::Targets(list.targets.iter().map(|target| self.label(target)).collect());
                self.declare(list.name.clone(), targets)
                    .map_err(|refusal| Box::new((refusal, named(&list.name, list.position))))?;
            }
        }
        for statement in &block.statements {
            match statement {
                Statement::Registers(registers) => {
                    let text = registers.names.first().map_or(Name::from(""), |first| first.name.clone());
                    self.registers(registers)
                        .map_err(|refusal| Box::new((refusal, named(&text, registers.position))))?;
                }
                Statement::Variable(variable) => {
                    self.variable(variable).map_err(|r| Box::new((r, declaration(variable))))?;
                }
                Statement::Label(name, _) => {
                    let label = self.label(name);
                    self.items.push(Item::Label(label));
                }
                Statement::Instruction(i) => {
                    self.instruction(i).map_err(|r| Box::new((r, i.clone())))?;
                    self.used_bytes = ALL_BYTES;
                }
                Statement::Block(inner) => {
                    self.scopes.push(Scope::default());
                    let done = self.statements(inner);
                    self.scopes.pop();
                    done?;
                }
                Statement::Pragma(strings) => {
                    self.used_bytes = strings.iter().find_map(|text| used_bytes(text)).unwrap_or(ALL_BYTES);
                }
                Statement::BranchTargets(_) | Statement::CallTargets(_) | Statement::CallPrototype(_) => {}
            }
        }
        Ok(())
    }

    fn registers(&mut self, registers: &Registers) -> Result<(), Refusal> {
        declaration::vector(Space::Reg, registers.ty, registers.vector)?;
        for register in &registers.names {
            let symbol =
                Symbol::Register { ty: registers.ty, vector: registers.vector, count: register.count };
            self.declare(register.name.clone(), symbol)?;
        }
        Ok(())
    }

    fn variable(&mut self, variable: &Variable) -> Result<(), Refusal> {
        declaration::variable(variable)?;
        if variable.linkage.is_some() {
            return Err(Refusal::new("variables of a function are its own"));
        }
        match variable.space {
            Space::Local | Space::Param => self.local_variable(variable).map(|_| ()),
            Space::Shared | Space::Global | Space::Const => {
                // The module has collected these under their position.
                let symbol = self.module.inner.get(&variable.position).cloned();
                let symbol = symbol.ok_or_else(|| Refusal::new("this variable has no place"))?;
                self.declare_variable(variable, variable.name.clone(), symbol)
            }
            other => Err(Refusal(format!("variables in {other} are not supported in functions"))),
        }
    }

    pub fn instruction(&mut self, text: &Instruction) -> Result<(), Refusal> {
        let indexed = self.with_elements(text)?;
        let i = indexed.as_ref().unwrap_or(text);
        self.noted = Noted::default();
        (self.position, self.loc) = (i.position, i.loc);
        let guard = match &i.guard {
            None => Guard::ALWAYS,
            Some(guard) => {
                let slot = self.predicate(&guard.predicate)?;
                Guard { slot, invert: if guard.negated { u32::MAX } else { 0 } }
            }
        };
        let (kind, evaluate) = match self.with_components(i) {
            Some(i) => instruction::decode(self, &i)?,
            None => instruction::decode(self, i)?,
        };
        let Noted { reads, writes, sources, symbols, mut mentioned } = std::mem::take(&mut self.noted);
        mentioned.retain(|slot| !reads.iter().chain(&writes).any(|touched| touched.0 == *slot));
        let touched = Touched {
            reads: reads.into(),
            writes: writes.into(),
            sources: sources.into(),
            symbols: symbols.into(),
            mentioned: mentioned.into(),
        };
        self.items.push(Item::Op(Draft {
            op: Op { guard, kind },
            evaluate,
            line: i.position.line,
            loc: i.loc,
            touched,
            opcode: Some(i.opcode.clone()),
        }));
        Ok(())
    }

    /// Puts the operations in order, from program counter `start` on.
    pub fn lay_out(&mut self, start: u32) -> Result<LaidOut, Refusal> {
        let items = std::mem::take(&mut self.items);
        let mut drafts = flow::lay_out(items, self.labels.len(), start).map_err(|label| {
            let name = self.labels.get(label as usize).map_or("", Name::as_str);
            Refusal(format!("the label `{name}` is not defined in this function"))
        })?;
        if self.allocation.is_none() {
            atomics::forget_counts_that_are_read(&mut drafts);
        }
        let liveness = liveness(&drafts, start, self.rows);
        if self.allocation.is_none() {
            data::use_what_is_named(&mut drafts, &liveness);
        }
        let large = self.allocation.is_none() && self.rows > LARGE;
        let better = large.then(|| Allocation::of(&self.named, &drafts, &liveness));
        Ok(LaidOut { drafts, liveness, better })
    }

    /// Ends the decoding of what was laid out at these program counters.
    pub fn finish(self, name: &str, laid_out: Range<u32>, unset: Box<[Slot]>) -> FunctionCode {
        let mut image = vec![Row::ZERO; self.rows as usize].into_boxed_slice();
        for &(slot, rows, bits) in &self.images {
            for row in 0..rows.max(1) as usize {
                // A wide register's rows hold its lanes one after the other.
                let words = rows.max(1) as usize;
                for i in 0..32 {
                    let part = (row * 32 + i) % words;
                    image[slot as usize + row].0[i] = (bits >> (32 * part)) as u32;
                }
            }
        }
        let mut constants: Box<[Slot]> = self.images.iter().map(|image| image.0).collect();
        constants.sort_unstable();
        FunctionCode {
            constants,
            name: name.to_owned(),
            start: laid_out.start,
            end: laid_out.end,
            registers: self.rows,
            image,
            inits: self.inits.into(),
            local_size: self.local_size,
            signature: self.signature,
            shared_used: self.shared_used.into_iter().collect(),
            calls: self.calls.into_iter().collect(),
            calls_indirectly: self.calls_indirectly,
            unset,
            followed: OnceLock::new(),
            swaps: Default::default(),
            parameters: OnceLock::new(),
        }
    }
}

/// A declaration in the shape of an instruction, for the error that refuses it.
fn declaration(variable: &Variable) -> Instruction {
    let text = format!("{} {} {}", variable.space, variable.ty, variable.name);
    named(&Name::from(text.as_str()), variable.position)
}

/// A name in the shape of an instruction.
fn named(name: &Name, position: ptx::Position) -> Instruction {
    Instruction {
        guard: None,
        opcode: std::sync::Arc::new(ptx::Opcode { name: name.clone(), modifiers: Box::new([]) }),
        operands: Box::new([]),
        position,
        loc: None,
    }
}

/// The mask of `.pragma "used_bytes_mask 0xfff"`, with which a compiler that has widened a load says which of its bytes it uses.
fn used_bytes(pragma: &str) -> Option<u32> {
    let mask = pragma.strip_prefix("used_bytes_mask")?.trim();
    match mask.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => mask.parse().ok(),
    }
}
