//! Instructions and operands.

use std::fmt;
use std::sync::Arc;

use crate::ast::{LocId, Position};
use crate::constant::{Constant, SymbolAddress};
use crate::name::Name;

/// `@!%p1 mad.lo.s32 %r1, %r2, 4, %r3;`
#[derive(Debug, Clone, PartialEq)]
pub struct Instruction {
    /// `@p` or `@!p`.
    pub guard: Option<Guard>,
    /// Opcode and modifiers. All instructions of a module with the same spelling share one.
    pub opcode: Arc<Opcode>,
    pub operands: Box<[Operand]>,
    /// Position of the opcode.
    pub position: Position,
    /// The last `.loc` before it in the function.
    pub loc: Option<LocId>,
}

/// The predicate that guards an instruction.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Guard {
    pub predicate: Name,
    /// `@!p`.
    pub negated: bool,
}

/// `mad.lo.s32`: a name and its modifiers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Opcode {
    /// `mad`.
    pub name: Name,
    /// `lo`, `s32`: without dots, in order. `::` is kept: `shared::cta`.
    pub modifiers: Box<[Name]>,
}

impl Opcode {
    /// True if it has the modifier `word`, given without its dot.
    pub fn has(&self, word: &str) -> bool {
        self.modifiers.iter().any(|modifier| modifier == word)
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.modifiers.iter().try_for_each(|modifier| write!(f, ".{modifier}"))
    }
}

/// An operand.
///
/// The grammar cannot tell registers, variables, labels and functions apart: each is an [`Operand::Name`], which the
/// scope resolves. `WARP_SZ` is already 32.
#[derive(Debug, Clone, PartialEq)]
pub enum Operand {
    /// `%r1`, `%laneid`, `$L__BB0_1`, `printf`.
    Name(Name),
    /// `%tid.x`, `%v.r`; `%r1.h0` in video instructions. The second name has no dot.
    Component(Name, Name),
    Constant(Constant),
    /// `buffer+4`, `generic(buffer)`: an address with an offset, not in brackets.
    Symbol(SymbolAddress),
    /// `[%rd1+4]`, `[buffer]`, `[64]`.
    Address(Address),
    /// `buffer[2]`, `buffer[%r1+2]`: an element. `ld` and `st` access it, `mov` takes its address.
    Element(Name, Address),
    /// `{%f1, _, 0f00000000}`.
    Vector(Box<[Operand]>),
    /// `%p1|%p2`.
    Pair(Box<[Operand; 2]>),
    /// `!%p1`.
    Not(Box<Operand>),
    /// `-%r1`, `-%r1.b0`, in `vmad`.
    Negative(Box<Operand>),
    /// `_`: the result is discarded, or the argument omitted.
    Sink,
    /// `(%r1, 3)`: a call's results or arguments.
    List(Box<[Operand]>),
    /// `[%rd1, {%r1, %r2}]`, `[tex, sampler, {%f1, %f2}]`: the first item in the brackets, then the others.
    Indexed(Address, Box<[Operand]>),
}

/// The address in brackets: `base + offset`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Address {
    /// A register or a variable; `None` if the address is only the offset.
    pub base: Option<Name>,
    /// In bytes; in elements for [`Operand::Element`].
    pub offset: i64,
}
