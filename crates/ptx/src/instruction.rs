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
    /// Opcode and modifiers. Shared by all instructions of a module that spell it the same way.
    pub opcode: Arc<Opcode>,
    /// Operands in order, as commas separate them.
    pub operands: Box<[Operand]>,
    /// Where the opcode stands.
    pub position: Position,
    /// The last `.loc` before it within the function.
    pub loc: Option<LocId>,
}

/// The predicate that an instruction runs under.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Guard {
    /// A predicate register.
    pub predicate: Name,
    /// `@!p`.
    pub negated: bool,
}

/// `mad.lo.s32`: a name and its modifiers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Opcode {
    /// `mad`.
    pub name: Name,
    /// `lo`, `s32`: without dots, in order. `::` stays: `shared::cta`.
    pub modifiers: Box<[Name]>,
}

impl Opcode {
    /// True if the modifier is there; `word` without its dot.
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
/// The grammar cannot tell a register from a variable, a label or a function: each is a [`Operand::Name`], and the
/// scope decides. `WARP_SZ` has become 32.
#[derive(Debug, Clone, PartialEq)]
pub enum Operand {
    /// `%r1`, `%laneid`, `$L__BB0_1`, `printf`.
    Name(Name),
    /// `%tid.x`, `%v.r`; `%r1.h0` of video instructions. The second is without its dot.
    Component(Name, Name),
    /// A number.
    Constant(Constant),
    /// `buffer+4`, `generic(buffer)`: an address with an offset, outside brackets.
    Symbol(SymbolAddress),
    /// `[%rd1+4]`, `[buffer]`, `[64]`.
    Address(Address),
    /// `buffer[2]`, `buffer[%r1+2]`: an element. Under `ld` and `st` the element, under `mov` its address.
    Element(Name, Address),
    /// `{%f1, _, 0f00000000}`.
    Vector(Box<[Operand]>),
    /// `%p1|%p2`.
    Pair(Box<[Operand; 2]>),
    /// `!%p1`.
    Not(Box<Operand>),
    /// `-%r1`, `-%r1.b0`, of `vmad`.
    Negative(Box<Operand>),
    /// `_`: the result is dropped, or the argument left out.
    Sink,
    /// `(%r1, 3)`: results or arguments of a call.
    List(Box<[Operand]>),
    /// `[%rd1, {%r1, %r2}]`, `[tex, sampler, {%f1, %f2}]`: the first of a bracket, then the rest.
    Indexed(Address, Box<[Operand]>),
}

/// What stands in brackets: `base + offset`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Address {
    /// A register or a variable; `None` if the address is the offset alone.
    pub base: Option<Name>,
    /// Bytes (elements in [`Operand::Element`]).
    pub offset: i64,
}
