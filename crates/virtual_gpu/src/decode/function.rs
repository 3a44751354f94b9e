//! One function as it is decoded: its names, its registers' rows, its constants.

mod index;
mod operand;
mod vector;

pub(super) use index::{Fit, element};
pub(super) use operand::same_kind;

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use ptx::{LocId, Name, Position, ScalarType, Space, Variable};

use super::Refusal;
use super::allocation::{Allocation, NamedRegister};
use super::draft::{Draft, Item};
use super::requirements::Requirements;
use crate::form::op::{ALL_BYTES, DynamicSpecial, Guard, Op, OpKind, SourceOperand, Touched};
use crate::form::program::Init;
use crate::form::registers::Slot;
use crate::form::signature::Signature;

/// Most rows before those that are never alive together share some: what some million instructions name.
const MAX_NAMED_ROWS: u32 = 1 << 22;
/// Most bytes of local memory: what the hardware admits.
const MAX_LOCAL: u64 = 512 << 10;

/// The meaning of a name.
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
    /// A variable in global memory.
    Global(u64),
    /// A variable in constant memory.
    Const(u64),
    /// An image or a sampler, which the host binds: its handle.
    Image(u64),
    /// A table of labels for `brx.idx`, one for all that use it.
    Targets(Arc<[u32]>),
    Prototype(Arc<Signature>),
    CallTargets(Vec<Name>),
}

/// Names that every function of the module sees.
pub(super) struct ModuleNames {
    pub names: HashMap<Name, Symbol>,
    /// Bytes of an element of those that are arrays.
    pub elements: HashMap<Name, u32>,
    /// Variables declared inside functions, by their position.
    pub inner: HashMap<Position, Symbol>,
    /// Functions by name: index and signature.
    pub functions: HashMap<Name, (u32, Signature)>,
    /// Kernels, which no instruction may name.
    pub kernels: HashSet<Name>,
    /// Features that the module's version and target lack.
    pub requirements: Requirements,
}

#[derive(Debug, Default)]
pub(super) struct Scope {
    pub names: HashMap<Name, Symbol>,
    /// Bytes of an element of those names that are arrays.
    pub elements: HashMap<Name, u32>,
    pub slots: HashMap<Name, Slot>,
    /// Inline PTX in braces has labels of its own, the same at each place it is expanded.
    pub labels: HashMap<Name, u32>,
}

/// Registers of the instruction that is decoded, so far.
#[derive(Debug, Default)]
pub(super) struct Noted {
    pub reads: Vec<(Slot, u32)>,
    pub writes: Vec<(Slot, u32)>,
    pub sources: Vec<SourceOperand>,
    pub symbols: Vec<Slot>,
    pub mentioned: Vec<Slot>,
}

/// Decodes one function.
pub(super) struct Decoder<'m> {
    pub module: &'m ModuleNames,
    pub kernel: bool,
    /// Whether a vector register was declared.
    pub has_vectors: bool,
    pub scopes: Vec<Scope>,
    pub rows: u32,
    /// Where the rows of `allocation` begin.
    pub first_row: u32,
    pub constants: HashMap<(u128, u32), Slot>,
    pub images: Vec<(Slot, u32, u128)>,
    pub inits: Vec<(Slot, Init)>,
    pub made: HashMap<Init, Slot>,
    pub local_size: u32,
    /// Names of the labels, by number.
    pub labels: Vec<Name>,
    pub items: Vec<Item>,
    pub noted: Noted,
    pub carry: Option<Slot>,
    /// The registers that the body names, in the order of their first mention.
    pub named: Vec<NamedRegister>,
    /// The rows that they are given, if that is decided already.
    pub allocation: Option<Allocation>,
    pub shared_used: BTreeSet<u32>,
    pub calls: BTreeSet<u32>,
    pub calls_indirectly: bool,
    pub signature: Signature,
    /// Whether the instruction that is decoded may have special registers as operands: a `mov`, a `cvt` of integers, or one
    /// with vectors.
    pub reads_special: bool,
    /// Bytes that the next instruction uses, if it is a load.
    pub used_bytes: u32,
    /// Where that instruction stands.
    pub position: Position,
    pub loc: Option<LocId>,
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
            noted: Noted::default(),
            carry: None,
            named: Vec::new(),
            allocation: None,
            shared_used: BTreeSet::new(),
            calls: BTreeSet::new(),
            calls_indirectly: false,
            signature: Signature::default(),
            reads_special: false,
            used_bytes: ALL_BYTES,
            position: Position::default(),
            loc: None,
        }
    }

    /// Declares the parameters of a kernel, already laid out.
    pub fn kernel_param(&mut self, variable: &Variable, offset: u32, size: u32) -> Result<(), Refusal> {
        self.declare_variable(variable, variable.name.clone(), Symbol::KernelParam { offset, size })
    }

    pub fn declare(&mut self, name: Name, symbol: Symbol) -> Result<(), Refusal> {
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

    pub fn declare_variable(
        &mut self,
        variable: &Variable,
        name: Name,
        symbol: Symbol,
    ) -> Result<(), Refusal> {
        if let (Some(scope), Some(size)) = (self.scopes.last_mut(), element(variable)) {
            scope.elements.insert(name.clone(), size);
        }
        self.declare(name, symbol)
    }

    pub fn local_variable(&mut self, variable: &Variable) -> Result<(u32, u32), Refusal> {
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

    /// The number of a label, of the innermost scope that has it.
    pub fn label(&mut self, name: &Name) -> u32 {
        let known = self.scopes.iter().rev().find_map(|scope| scope.labels.get(name).copied());
        // One that is nowhere is refused when the function is laid out.
        known.unwrap_or_else(|| self.declare_label(0, name))
    }

    pub fn declare_label(&mut self, depth: usize, name: &Name) -> u32 {
        let next = self.labels.len() as u32;
        self.labels.push(name.clone());
        self.scopes[depth].labels.insert(name.clone(), next);
        next
    }

    /// A register of our own that a special register is read into before the instruction.
    fn special_before(&mut self, which: DynamicSpecial, rows: u32) -> Result<Slot, Refusal> {
        let target = self.take_rows(rows)?;
        let kind = OpKind::Special { target, which };
        let touched = Touched { writes: [(target, rows)].into(), ..Touched::default() };
        let op = Op { guard: Guard::ALWAYS, kind };
        let (line, loc) = (self.position.line, self.loc);
        let draft = Draft { op, evaluate: None, line, loc, touched, opcode: None };
        self.items.push(Item::Op(draft));
        Ok(target)
    }

    pub fn take_rows(&mut self, rows: u32) -> Result<Slot, Refusal> {
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

    /// The meaning of a name, from the innermost scope outwards.
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
                Some(_) => return Err(Refusal(format!("`{name}` is not a register"))),
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
            self.noted.mentioned.push(slot);
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
        self.noted.reads.push((slot, 0));
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
}
