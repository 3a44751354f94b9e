//! A module as its text has it: directives, functions, variables, and the tables that positions refer to.
//!
//! The tree owns everything it holds; the source text may go. [`crate::instruction`] has instructions and operands.

use crate::constant::Initializer;
use crate::instruction::Instruction;
use crate::name::Name;
use crate::types::{Linkage, ScalarType, Space};

/// A place in the text. Lines and columns count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Position {
    pub line: u32,
    pub column: u32,
}

/// A whole module.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Module {
    /// `.version MAJOR.MINOR`.
    pub version: (u32, u32),
    /// `.target`: the architecture first (`sm_90a`), then options (`debug`, `texmode_independent` …).
    pub targets: Vec<Name>,
    /// `.address_size`: 32 or 64. 64 if the text does not say: the manual has 32 there, ptxas the host's.
    pub address_size: u32,
    /// `.file` directives.
    pub files: Vec<File>,
    /// Entries and functions in their order, declarations without a body included. A function that is declared and
    /// later defined appears twice.
    pub functions: Vec<Function>,
    /// Variables of module scope in their order, external declarations included.
    pub variables: Vec<Variable>,
    /// `.alias NAME, OF;`.
    pub aliases: Vec<Alias>,
    /// `.pragma` directives of module scope.
    pub pragmas: Vec<Name>,
    /// `.section` data: DWARF, and what the names of inlined functions are found in.
    pub sections: Vec<Section>,
    /// What `.loc` directives say, each distinct one once; [`LocId`] indexes it, [`crate::SourceLines`] reads it.
    pub locations: Vec<Location>,
}

/// `.file INDEX "PATH"{, TIMESTAMP, SIZE}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// What `.loc` refers to.
    pub index: u32,
    /// The path as written by the compiler, escapes undone.
    pub path: String,
    /// Time stamp and size, where given.
    pub stamp: Option<(u64, u64)>,
}

/// Index into [`Module::locations`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocId(pub u32);

/// `.loc FILE LINE COLUMN{, function_name LABEL{+OFFSET}, inlined_at FILE LINE COLUMN}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Location {
    pub place: Place,
    /// Set if the code was inlined.
    pub inlined: Option<Inlined>,
}

/// A place in a source file of the compiler's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place {
    /// Index of a [`File`].
    pub file: u32,
    /// Line; 0 is "no line".
    pub line: u32,
    pub column: u32,
}

/// How code came into a function.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Inlined {
    /// Label in `.debug_str` at which the inlined function's linkage name stands.
    pub function_name: Name,
    /// Bytes past the label.
    pub offset: u64,
    /// The call that was replaced.
    pub at: Place,
}

/// `.alias NAME, OF;`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alias {
    /// The new name.
    pub name: Name,
    /// The function that it stands for.
    pub of: Name,
    /// Where.
    pub position: Position,
}

/// Kernel or device function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FunctionKind {
    Entry,
    Func,
}

/// A function's declaration (`body` is `None`) or definition.
#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    /// `.entry` or `.func`.
    pub kind: FunctionKind,
    /// `.visible`, `.extern`, `.weak`.
    pub linkage: Option<Linkage>,
    pub name: Name,
    /// Results of a device function: `.param` or `.reg` variables.
    pub results: Vec<Variable>,
    /// Parameters: `.param` (for device functions also `.reg`) variables.
    pub params: Vec<Variable>,
    /// `.maxntid` and its like.
    pub directives: FunctionDirectives,
    /// The code.
    pub body: Option<Block>,
    /// Where its name stands.
    pub position: Position,
}

/// What stands between a function's parameters and its body.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FunctionDirectives {
    /// `.maxntid x{, y{, z}}`; what is not given is 1.
    pub maxntid: Option<[u32; 3]>,
    /// `.reqntid x{, y{, z}}`.
    pub reqntid: Option<[u32; 3]>,
    /// `.minnctapersm n`.
    pub minnctapersm: Option<u32>,
    /// `.maxnctapersm n`, the older way.
    pub maxnctapersm: Option<u32>,
    /// `.maxnreg n`.
    pub maxnreg: Option<u32>,
    /// `.reqnctapercluster x{, y{, z}}`.
    pub reqnctapercluster: Option<[u32; 3]>,
    pub explicitcluster: bool,
    /// `.maxclusterrank n`.
    pub maxclusterrank: Option<u32>,
    pub blocksareclusters: bool,
    pub noreturn: bool,
    /// `.unique_thread_count n` and other directives of the ABI, by name and numbers.
    pub other: Vec<(Name, Vec<u32>)>,
    pub pragmas: Vec<Name>,
    /// `.attribute(.unified(a, b))` and its like.
    pub attributes: Vec<Attribute>,
}

/// One item of `.attribute(…)`: `.managed`, `.unified(a, b)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribute {
    /// The word without the dot.
    pub name: Name,
    /// Its numbers.
    pub values: Vec<u64>,
}

/// A variable or parameter. Registers have [`Registers`], save as parameters of device functions and prototypes.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    /// `.visible`, `.extern`, `.weak`, `.common`.
    pub linkage: Option<Linkage>,
    /// The space it lives in.
    pub space: Space,
    /// Bank of `.const[n]`, of old modules.
    pub bank: Option<u32>,
    /// `.align n`, bytes; without it the natural alignment, see [`Variable::alignment`].
    pub align: Option<u64>,
    /// Type of an element.
    pub ty: ScalarType,
    /// 1, or the length of `.v2`, `.v4`, `.v8`.
    pub vector: u8,
    /// The name; `_` in prototypes. `name<n>` declares `name0` … as with registers.
    pub name: Name,
    /// Number of variables that `name<n>` declares.
    pub count: Option<u32>,
    /// Array dimensions; `None` for `[]`, whose length the initialiser or the launch gives.
    pub dims: Box<[Option<u64>]>,
    /// The bytes it starts with.
    pub initializer: Option<Initializer>,
    /// `.ptr{.space}{.align n}` of a kernel parameter.
    pub pointer: Option<PointerAttribute>,
    pub attributes: Vec<Attribute>,
    /// Where its name stands.
    pub position: Position,
}

impl Variable {
    /// Bytes of one element, a vector counted whole.
    pub fn element_size(&self) -> u64 {
        self.ty.size() * u64::from(self.vector)
    }

    /// Bytes of the whole. An array without a length counts what its initialiser holds, or nothing.
    /// `None` if that is more than 64 bits count.
    pub fn size(&self) -> Option<u64> {
        let first = match self.dims.first() {
            Some(None) => self.initializer.as_ref().map_or(0, Initializer::len),
            Some(&Some(length)) => length,
            None => 1,
        };
        let inner = self
            .dims
            .iter()
            .skip(1)
            .try_fold(1u64, |product, length| product.checked_mul(length.unwrap_or(0)))?;
        self.element_size().checked_mul(first)?.checked_mul(inner)
    }

    /// Bytes it is aligned to: as declared, else its element's size.
    pub fn alignment(&self) -> u64 {
        self.align.unwrap_or_else(|| self.element_size())
    }
}

/// `.ptr{.space}{.align n}`: a promise about a kernel parameter that is a pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PointerAttribute {
    /// The space it points into; `None` is generic.
    pub space: Option<Space>,
    /// Alignment of what it points at; 4 if not given, as the manual has it.
    pub align: u64,
}

/// `{ … }`: statements with a scope of names of their own.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Block {
    /// In order.
    pub statements: Vec<Statement>,
}

/// What a function's body is made of.
#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    /// `.reg .b32 %r<5>, x;`
    Registers(Registers),
    /// `.local`, `.shared`, `.param`, `.const`, `.global` inside a function.
    Variable(Box<Variable>),
    /// `$L__BB0_2:`
    Label(Name, Position),
    Instruction(Instruction),
    /// A nested scope.
    Block(Block),
    /// `NAME: .branchtargets L0, L1;`, the table of `brx.idx`.
    BranchTargets(TargetList),
    /// `NAME: .calltargets f, g;`, the functions that an indirect call may reach.
    CallTargets(TargetList),
    /// `NAME: .callprototype (…) _ (…);`, the shape of an indirect call.
    CallPrototype(Box<CallPrototype>),
    /// `.pragma "nounroll";`
    Pragma(Vec<Name>),
}

/// Registers of one type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registers {
    /// Type of each, of each component if vectors.
    pub ty: ScalarType,
    /// 1, or the length of `.v2`, `.v4`, `.v8`.
    pub vector: u8,
    pub names: Vec<RegisterName>,
    /// Where the declaration starts.
    pub position: Position,
}

/// One declarator of a register declaration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterName {
    /// The name, or its stem.
    pub name: Name,
    /// `Some(n)` of `%r<n>`, which declares `%r0` to `%r{n-1}`.
    pub count: Option<u32>,
}

/// Labels or functions listed under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetList {
    /// The list's name.
    pub name: Name,
    /// Its members.
    pub targets: Vec<Name>,
    /// Where.
    pub position: Position,
}

/// `NAME: .callprototype (…) _ (…);`
#[derive(Debug, Clone, PartialEq)]
pub struct CallPrototype {
    /// The prototype's name.
    pub name: Name,
    pub results: Vec<Variable>,
    /// Parameters.
    pub params: Vec<Variable>,
    /// `.noreturn` and others.
    pub directives: FunctionDirectives,
    /// Where.
    pub position: Position,
}

/// `.section NAME { … }`.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// With its dot: `.debug_str`.
    pub name: Name,
    /// What it holds, in order.
    pub items: Vec<SectionItem>,
}

/// One line of a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SectionItem {
    Label(Name),
    /// Bytes, little-endian, already laid out.
    Bytes(Vec<u8>),
    /// A 4- or 8-byte reference to a label or section, `label{+offset}` or `label-other`.
    Reference {
        /// Bytes it takes.
        size: u8,
        /// The label or section.
        name: Name,
        /// `label - other`.
        minus: Option<Name>,
        /// Bytes past it.
        offset: i64,
    },
}
