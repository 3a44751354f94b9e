//! One function: its names, its registers' rows, its statements in order.

mod index;
mod operand;
mod vector;

pub(super) use index::element;
pub(super) use operand::same_kind;

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use ptx::{
    Block, FunctionKind, Instruction, LocId, Name, Opcode, Registers, ScalarType, Space, Statement, Variable,
};

use super::allocation::{Allocation, LARGE, NamedRegister};
use super::liveness::{Liveness, liveness};
use super::module::ModuleNames;
use super::{Refusal, call, declaration, flow, instruction};
use crate::form::op::{DynamicSpecial, Guard, Op, OpKind, SourceOperand, Touched};
use crate::form::program::{Code, CodeSite, Formal, FunctionCode, Init, Place, Signature};
use crate::form::registers::{Row, Slot};

/// Most rows before those that are never alive together share some: what some million instructions name.
const MAX_NAMED_ROWS: u32 = 1 << 22;
/// Most bytes of local memory: what the hardware admits.
const MAX_LOCAL: u64 = 512 << 10;

/// What a name stands for.
#[derive(Debug, Clone)]
pub(super) enum Symbol {
    /// Registers of one declaration; `count` of `name<count>`.
    Register {
        ty: ScalarType,
        vector: u8,
        count: Option<u32>,
    },
    /// Bytes of the frame's local memory: `.local`, and `.param` of device functions and calls.
    Local {
        offset: u32,
        size: u32,
        /// `None` of an array.
        ty: Option<ScalarType>,
        /// Declared as `.param`, which instructions must name.
        param: bool,
    },
    /// A parameter of the kernel.
    KernelParam {
        offset: u32,
        size: u32,
    },
    /// A shared variable.
    Shared(u32),
    /// A variable in device memory.
    Device(u64),
    /// A table of labels for `brx.idx`, one for all that use it.
    Targets(Arc<[u32]>),
    Prototype(Arc<Signature>),
    CallTargets(Vec<Name>),
}

#[derive(Debug, Default)]
struct Scope {
    names: HashMap<Name, Symbol>,
    /// Bytes of an element of those names that are arrays.
    elements: HashMap<Name, u32>,
    slots: HashMap<Name, Slot>,
    /// Inline PTX in braces has labels of its own, the same at each place it is expanded.
    labels: HashMap<Name, u32>,
}

/// An operation whose targets are still labels.
pub(super) struct Draft {
    pub op: Op,
    pub line: u32,
    pub loc: Option<LocId>,
    pub touched: Touched,
    /// Registers that it names, but neither as a source nor as a target.
    pub mentioned: Box<[Slot]>,
    /// What the text says; `None` for what decoding added.
    pub opcode: Option<Arc<Opcode>>,
}

/// A function's operations in order, and what was found out about its registers on the way.
pub(super) struct LaidOut {
    pub drafts: Vec<Draft>,
    pub liveness: Liveness,
    /// Rows that it is better decoded again with.
    pub better: Option<Allocation>,
}

impl Code {
    /// Puts operations behind all others.
    pub(super) fn append(&mut self, drafts: Vec<Draft>) {
        for draft in drafts {
            self.sites.push(CodeSite { ptx_line: draft.line, loc: draft.loc });
            self.touched.push(draft.touched);
            self.opcodes.push(draft.opcode);
            self.ops.push(draft.op);
        }
    }
}

/// A part of the function's body in order.
pub(super) enum Item {
    Label(u32),
    Op(Draft),
}

/// Decodes one function.
pub(super) struct Decoder<'m> {
    pub module: &'m ModuleNames,
    pub kernel: bool,
    /// Whether a vector register was declared.
    has_vectors: bool,
    scopes: Vec<Scope>,
    rows: u32,
    /// Where the rows of `allocation` begin.
    first_row: u32,
    constants: HashMap<(u128, u32), Slot>,
    images: Vec<(Slot, u32, u128)>,
    inits: Vec<(Slot, Init)>,
    made: HashMap<Init, Slot>,
    local_size: u32,
    /// Names of the labels, by number.
    labels: Vec<Name>,
    items: Vec<Item>,
    reads: Vec<(Slot, u32)>,
    writes: Vec<(Slot, u32)>,
    sources: Vec<SourceOperand>,
    symbols: Vec<Slot>,
    mentioned: Vec<Slot>,
    carry: Option<Slot>,
    /// The registers that the body names, in the order of their first mention.
    named: Vec<NamedRegister>,
    /// The rows that they are given, if that is decided already.
    allocation: Option<Allocation>,
    pub shared_used: BTreeSet<u32>,
    pub calls: BTreeSet<u32>,
    pub calls_indirectly: bool,
    pub signature: Signature,
    /// Whether the instruction that is decoded may have special registers as operands: a `mov`, a `cvt` of integers, or one
    /// with vectors.
    pub reads_special: bool,
    /// Where that instruction stands.
    line: u32,
    loc: Option<LocId>,
}

/// Rows of a register of that type; a predicate takes one, too.
pub(super) fn rows_of(ty: ScalarType) -> u32 {
    match ty {
        ScalarType::Pred => 0,
        _ => (ty.size() as u32 / 4).max(1),
    }
}

impl<'m> Decoder<'m> {
    pub fn new(module: &'m ModuleNames, kernel: bool) -> Self {
        Decoder {
            module,
            kernel,
            has_vectors: false,
            scopes: vec![Scope::default()],
            rows: 0,
            first_row: 0,
            constants: HashMap::new(),
            images: Vec::new(),
            inits: Vec::new(),
            made: HashMap::new(),
            local_size: 0,
            labels: Vec::new(),
            items: Vec::new(),
            reads: Vec::new(),
            writes: Vec::new(),
            sources: Vec::new(),
            symbols: Vec::new(),
            mentioned: Vec::new(),
            carry: None,
            named: Vec::new(),
            allocation: None,
            shared_used: BTreeSet::new(),
            calls: BTreeSet::new(),
            calls_indirectly: false,
            signature: Signature::default(),
            reads_special: false,
            line: 0,
            loc: None,
        }
    }

    /// Declares the parameters of a kernel, already laid out.
    pub fn kernel_param(&mut self, variable: &Variable, offset: u32, size: u32) -> Result<(), Refusal> {
        self.declare_variable(variable, variable.name.clone(), Symbol::KernelParam { offset, size })
    }

    /// Declares a parameter or result of a device function and gives its place.
    pub fn formal(&mut self, variable: &Variable) -> Result<Formal, Refusal> {
        let formal = call::formal(variable)?;
        let place = match formal.place {
            Place::Registers { bytes, count, .. } => {
                let register = Symbol::Register { ty: variable.ty, vector: variable.vector, count: None };
                self.declare(variable.name.clone(), register)?;
                let (slot, ..) = self.vector_register(&variable.name)?;
                Place::Registers { slot, bytes, count }
            }
            _ => {
                let (offset, size) = self.local_variable(variable)?;
                Place::Bytes { offset, size }
            }
        };
        Ok(Formal { place, ..formal })
    }

    fn declare(&mut self, name: Name, symbol: Symbol) -> Result<(), Refusal> {
        self.has_vectors |= matches!(symbol, Symbol::Register { vector: 2.., .. });
        let Some(scope) = self.scopes.last_mut() else { return Ok(()) };
        match scope.names.entry(name) {
            Entry::Occupied(known) => Err(Refusal(format!("`{}` is declared twice", known.key()))),
            Entry::Vacant(place) => {
                place.insert(symbol);
                Ok(())
            }
        }
    }

    fn declare_variable(&mut self, variable: &Variable, name: Name, symbol: Symbol) -> Result<(), Refusal> {
        if let (Some(scope), Some(size)) = (self.scopes.last_mut(), element(variable)) {
            scope.elements.insert(name.clone(), size);
        }
        self.declare(name, symbol)
    }

    fn local_variable(&mut self, variable: &Variable) -> Result<(u32, u32), Refusal> {
        let count = u64::from(variable.count.unwrap_or(1));
        if count > MAX_LOCAL {
            return Err(Refusal(format!("{count} variables in one declaration are too many")));
        }
        let each = variable.size().ok_or_else(|| Refusal::new("the variable is too large"))?;
        let align = variable.alignment().clamp(1, 1024);
        let step =
            each.checked_next_multiple_of(align).ok_or_else(|| Refusal::new("the variable is too large"))?;
        let start = u64::from(self.local_size).next_multiple_of(align);
        let end = step.checked_mul(count).and_then(|n| n.checked_add(start)).filter(|&end| end <= MAX_LOCAL);
        let Some(end) = end else {
            return Err(Refusal(format!("local memory of a thread is limited to {MAX_LOCAL} bytes")));
        };
        self.local_size = end as u32;
        let ty = variable.dims.is_empty().then_some(variable.ty);
        let param = variable.space == Space::Param;
        for i in 0..count {
            let name = match variable.count {
                Some(_) => Name::from(format!("{}{i}", variable.name).as_str()),
                None => variable.name.clone(),
            };
            let offset = (start + i * step) as u32;
            self.declare_variable(variable, name, Symbol::Local { offset, size: each as u32, ty, param })?;
        }
        Ok((start as u32, each as u32))
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
                }
                Statement::Block(inner) => {
                    self.scopes.push(Scope::default());
                    let done = self.statements(inner);
                    self.scopes.pop();
                    done?;
                }
                Statement::BranchTargets(_)
                | Statement::CallTargets(_)
                | Statement::CallPrototype(_)
                | Statement::Pragma(_) => {}
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

    /// The number of a label, of the innermost scope that has it.
    pub fn label(&mut self, name: &Name) -> u32 {
        let known = self.scopes.iter().rev().find_map(|scope| scope.labels.get(name).copied());
        // One that is nowhere is refused when the function is laid out.
        known.unwrap_or_else(|| self.declare_label(0, name))
    }

    fn declare_label(&mut self, depth: usize, name: &Name) -> u32 {
        let next = self.labels.len() as u32;
        self.labels.push(name.clone());
        self.scopes[depth].labels.insert(name.clone(), next);
        next
    }

    fn instruction(&mut self, text: &Instruction) -> Result<(), Refusal> {
        let summed = self.with_sums(text)?;
        let i = summed.as_ref().unwrap_or(text);
        self.reads.clear();
        self.writes.clear();
        self.sources.clear();
        self.symbols.clear();
        self.mentioned.clear();
        let guard = match &i.guard {
            None => Guard::ALWAYS,
            Some(guard) => {
                let slot = self.predicate(&guard.predicate)?;
                Guard { slot, invert: if guard.negated { u32::MAX } else { 0 } }
            }
        };
        (self.line, self.loc) = (i.position.line, i.loc);
        let kind = match self.with_components(i) {
            Some(i) => instruction::decode(self, &i)?,
            None => instruction::decode(self, i)?,
        };
        if summed.is_some() {
            self.keeps_sums(text, i)?;
        }
        let touched = |slot: &Slot| self.reads.iter().chain(&self.writes).any(|touched| touched.0 == *slot);
        let mentioned = self.mentioned.iter().copied().filter(|slot| !touched(slot)).collect();
        let touched = Touched {
            reads: self.reads.as_slice().into(),
            writes: self.writes.as_slice().into(),
            sources: self.sources.as_slice().into(),
            symbols: self.symbols.as_slice().into(),
        };
        self.items.push(Item::Op(Draft {
            op: Op { guard, kind },
            line: i.position.line,
            loc: i.loc,
            touched,
            mentioned,
            opcode: Some(i.opcode.clone()),
        }));
        Ok(())
    }

    /// A register of our own that a special register is read into before the instruction.
    fn special_before(&mut self, which: DynamicSpecial, rows: u32) -> Result<Slot, Refusal> {
        let target = self.take_rows(rows)?;
        let kind = OpKind::Special { target, which };
        let touched = Touched { writes: [(target, rows)].into(), ..Touched::default() };
        let op = Op { guard: Guard::ALWAYS, kind };
        let mentioned = Box::default();
        let draft = Draft { op, line: self.line, loc: self.loc, touched, mentioned, opcode: None };
        self.items.push(Item::Op(draft));
        Ok(target)
    }

    fn take_rows(&mut self, rows: u32) -> Result<Slot, Refusal> {
        // Wide registers start at even rows so that vectors of them are aligned alike.
        let slot = self.rows;
        self.rows += rows.max(1);
        if self.rows > MAX_NAMED_ROWS {
            return Err(Refusal(format!("a function may name registers of {MAX_NAMED_ROWS} times 32 bits")));
        }
        Ok(slot)
    }

    /// Rows for a register that the text names: those that were found for it, or its own.
    fn take_named(&mut self, ty: ScalarType, vector: u8) -> Result<Slot, Refusal> {
        let allocated =
            self.allocation.as_ref().and_then(|all| all.slots.get(self.named.len()).copied().flatten());
        let slot = match allocated {
            Some(slot) => self.first_row + slot,
            None => self.take_rows(rows_of(ty).max(1) * u32::from(vector.max(1)))?,
        };
        self.named.push(NamedRegister { slot, rows: rows_of(ty), vector: vector > 1 });
        Ok(slot)
    }

    /// A register of our own.
    pub fn scratch(&mut self, rows: u32) -> Result<Slot, Refusal> {
        self.take_rows(rows)
    }

    /// The carry flag, as a predicate.
    pub fn carry(&mut self) -> Result<Slot, Refusal> {
        if let Some(slot) = self.carry {
            return Ok(slot);
        }
        let slot = self.take_rows(0)?;
        self.carry = Some(slot);
        Ok(slot)
    }

    /// What a name stands for, from the innermost scope outwards.
    pub fn symbol(&self, name: &str) -> Option<&Symbol> {
        self.scopes.iter().rev().find_map(|s| s.names.get(name)).or_else(|| self.module.names.get(name))
    }

    /// Bytes of an element of what a name stands for, if that is an array.
    fn element(&self, name: &Name) -> Option<u32> {
        let scope = self.scopes.iter().rev().find(|scope| scope.names.contains_key(name));
        scope.map_or(&self.module.elements, |scope| &scope.elements).get(name).copied()
    }

    /// The row and type of a register that is no vector.
    pub fn register(&mut self, name: &Name) -> Result<(Slot, ScalarType), Refusal> {
        match self.vector_register(name)? {
            (slot, ty, 1) => Ok((slot, ty)),
            (_, ty, count) => {
                Err(Refusal(format!("`{name}` is a vector of {count} `{ty}` where one value is wanted")))
            }
        }
    }

    /// The first row, the component's type and the length of a register that may be a vector.
    pub fn vector_register(&mut self, name: &Name) -> Result<(Slot, ScalarType, u8), Refusal> {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let number = &name[stem.len()..];
        let canonical = number == "0" || !number.starts_with('0');
        let index: Option<u32> = number.parse().ok().filter(|_| canonical);
        for depth in (0..self.scopes.len()).rev() {
            let scope = &self.scopes[depth];
            let declared = match scope.names.get(name.as_str()) {
                Some(&Symbol::Register { ty, vector, count: None }) => Some((ty, vector)),
                Some(Symbol::Register { .. }) | None => match (scope.names.get(stem), index) {
                    (Some(&Symbol::Register { ty, vector, count: Some(count) }), Some(i)) if i < count => {
                        Some((ty, vector))
                    }
                    _ => None,
                },
                Some(_) => return Err(Refusal(format!("`{name}` is no register"))),
            };
            let Some((ty, vector)) = declared else { continue };
            let slot = match scope.slots.get(name) {
                Some(&slot) => slot,
                None => {
                    let slot = self.take_named(ty, vector)?;
                    self.scopes[depth].slots.insert(name.clone(), slot);
                    slot
                }
            };
            self.mentioned.push(slot);
            return Ok((slot, ty, vector));
        }
        Err(Refusal(format!("`{name}` is not declared")))
    }

    /// The row of a predicate register.
    pub fn predicate(&mut self, name: &Name) -> Result<Slot, Refusal> {
        let (slot, ty) = self.register(name)?;
        if ty != ScalarType::Pred {
            return Err(Refusal(format!("`{name}` is no predicate")));
        }
        self.reads.push((slot, 0));
        Ok(slot)
    }

    /// Whether a name is a declared register.
    pub fn is_register(&mut self, name: &Name) -> bool {
        self.vector_register(name).is_ok()
    }

    /// A constant in all lanes.
    pub fn constant(&mut self, bits: u128, rows: u32) -> Result<Slot, Refusal> {
        if let Some(&slot) = self.constants.get(&(bits, rows)) {
            return Ok(slot);
        }
        let slot = self.take_rows(rows)?;
        self.constants.insert((bits, rows), slot);
        self.images.push((slot, rows, bits));
        Ok(slot)
    }

    /// A register that is set when the frame is made.
    pub fn init(&mut self, init: Init, rows: u32) -> Result<Slot, Refusal> {
        if let Some(&slot) = self.made.get(&init) {
            return Ok(slot);
        }
        let slot = self.take_rows(rows)?;
        self.made.insert(init, slot);
        self.inits.push((slot, init));
        Ok(slot)
    }

    /// Puts the operations in order, from program counter `start` on.
    pub fn lay_out(&mut self, start: u32) -> Result<LaidOut, Refusal> {
        let items = std::mem::take(&mut self.items);
        let mut drafts = flow::lay_out(items, self.labels.len(), start).map_err(|label| {
            let name = self.labels.get(label as usize).map_or("", Name::as_str);
            Refusal(format!("the label `{name}` is not defined in this function"))
        })?;
        if self.allocation.is_none() {
            super::atomics::forget_counts_that_are_read(&mut drafts);
        }
        let liveness = liveness(&drafts, start, self.rows);
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
            guesses: OnceLock::new(),
            swaps: Default::default(),
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

impl OpKind {
    /// The label (then program counter) that a branch goes to.
    pub(super) fn target_mut(&mut self) -> Option<&mut u32> {
        match self {
            OpKind::Branch { target } | OpKind::Jump { target } => Some(target),
            _ => None,
        }
    }

    /// The table that a `brx.idx` goes by.
    pub(super) fn table_mut(&mut self) -> Option<&mut Arc<[u32]>> {
        match self {
            OpKind::BranchIndexed { targets, .. } => Some(targets),
            _ => None,
        }
    }
}
