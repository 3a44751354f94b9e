//! A module as written: directives, functions, variables, and the tables that source positions refer to.
//!
//! The tree owns everything it holds, so the text can be dropped. [`crate::instruction`] has instructions and operands.

use crate::constant::Initializer;
use crate::instruction::Instruction;
use crate::name::Name;
use crate::types::{Linkage, ScalarType, Space};

/// A position in the text. Lines and columns count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Position {
    pub line: u32,
    pub column: u32,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Module {
    /// `.version MAJOR.MINOR`.
    pub version: (u32, u32),
    /// `.target`: the architecture first (`sm_90a`), then options (`debug`, `texmode_independent` …).
    pub targets: Vec<Name>,
    /// `.address_size`: 32 or 64. If the text does not give it, 64, like ptxas on a 64-bit host; the manual says 32.
    pub address_size: u32,
    pub files: Vec<File>,
    /// Entries and functions in source order, including declarations without a body. A function that is declared and
    /// later defined appears twice.
    pub functions: Vec<Function>,
    /// Variables at module scope in source order, including external declarations.
    pub variables: Vec<Variable>,
    /// `.alias NAME, OF;`.
    pub aliases: Vec<Alias>,
    pub pragmas: Vec<Name>,
    /// `.section` data: DWARF, including the names of inlined functions.
    pub sections: Vec<Section>,
    /// The `.loc` directives; [`LocId`] indexes them, [`crate::SourceLines`] reads them.
    pub locations: Vec<Location>,
}

/// `.file INDEX "PATH"{, TIMESTAMP, SIZE}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// The number that `.loc` uses.
    pub index: u32,
    /// The path as the compiler wrote it, unescaped.
    pub path: String,
    /// Timestamp and size, if given.
    pub stamp: Option<(u64, u64)>,
}

/// Index into [`Module::locations`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocId(pub u32);

/// `.loc FILE LINE COLUMN{, function_name LABEL{+OFFSET}, inlined_at FILE LINE COLUMN}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Location {
    pub place: SourcePosition,
    /// Set if the code was inlined.
    pub inlined: Option<Inlined>,
}

/// A position in one of the compiler's source files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SourcePosition {
    /// Index of a [`File`].
    pub file: u32,
    /// 0 means "no line".
    pub line: u32,
    pub column: u32,
}

/// How a piece of code was inlined.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Inlined {
    /// Label in `.debug_str` where the inlined function's linkage name is.
    pub function_name: Name,
    /// Bytes past the label.
    pub offset: u64,
    /// The call site.
    pub at: SourcePosition,
}

/// `.alias NAME, OF;`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alias {
    pub name: Name,
    /// The function it stands for.
    pub of: Name,
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
    pub kind: FunctionKind,
    /// `.visible`, `.extern`, `.weak`.
    pub linkage: Option<Linkage>,
    pub name: Name,
    /// Results of a device function: `.param` or `.reg` variables.
    pub results: Vec<Variable>,
    /// Parameters: `.param` (for device functions also `.reg`) variables.
    pub params: Vec<Variable>,
    pub directives: FunctionDirectives,
    pub body: Option<Block>,
    /// Position of the name.
    pub position: Position,
}

/// The directives between a function's parameters and its body.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FunctionDirectives {
    /// `.maxntid x{, y{, z}}`; a missing extent is 1.
    pub maxntid: Option<[u32; 3]>,
    /// `.reqntid x{, y{, z}}`.
    pub reqntid: Option<[u32; 3]>,
    /// `.minnctapersm n`.
    pub minnctapersm: Option<u32>,
    /// `.maxnctapersm n`, the older form.
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
    /// `.unique_thread_count n` and other ABI directives, by name and numbers.
    pub other: Vec<(Name, Vec<u32>)>,
    pub pragmas: Vec<Name>,
    /// `.attribute(.unified(a, b))` and the like.
    pub attributes: Vec<Attribute>,
}

/// One item of `.attribute(…)`: `.managed`, `.unified(a, b)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribute {
    /// The word without the dot.
    pub name: Name,
    pub values: Vec<u64>,
}

/// A variable or parameter. Registers are in [`Registers`], except as parameters of device functions and prototypes.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    /// `.visible`, `.extern`, `.weak`, `.common`.
    pub linkage: Option<Linkage>,
    pub space: Space,
    /// The bank of `.const[n]`, from old modules.
    pub bank: Option<u32>,
    /// `.align n`, in bytes; without it the natural alignment applies, see [`Variable::alignment`].
    pub align: Option<u64>,
    /// Type of one element.
    pub ty: ScalarType,
    /// 1, or the length of `.v2`, `.v4`, `.v8`.
    pub vector: u8,
    /// `_` in prototypes. `name<n>` declares `name0` …, as with registers.
    pub name: Name,
    /// How many variables `name<n>` declares.
    pub count: Option<u32>,
    /// Array dimensions; `None` for `[]`, whose length comes from the initialiser or the launch.
    pub dims: Box<[Option<u64>]>,
    pub initializer: Option<Initializer>,
    /// `.ptr{.space}{.align n}` on a kernel parameter.
    pub pointer: Option<PointerAttribute>,
    pub attributes: Vec<Attribute>,
    /// Position of the name.
    pub position: Position,
}

impl Variable {
    /// Bytes of one element; a vector counts as a whole.
    pub fn element_size(&self) -> u64 {
        self.ty.size() * u64::from(self.vector)
    }

    /// Total bytes. An array without a length counts what its initialiser holds, or nothing. `None` if the size does
    /// not fit in 64 bits.
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

    /// Alignment in bytes: as declared, else the size of an element.
    pub fn alignment(&self) -> u64 {
        self.align.unwrap_or_else(|| self.element_size())
    }
}

/// `.ptr{.space}{.align n}`: a promise about a pointer that a kernel takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PointerAttribute {
    /// The space it points into; `None` means generic.
    pub space: Option<Space>,
    /// Alignment of what it points at; 4 if not given, as the manual says.
    pub align: u64,
}

/// `{ … }`: statements in a scope of their own.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Block {
    pub statements: Vec<Statement>,
}

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
    /// `NAME: .calltargets f, g;`, the functions an indirect call may reach.
    CallTargets(TargetList),
    /// `NAME: .callprototype (…) _ (…);`, the signature of an indirect call.
    CallPrototype(Box<CallPrototype>),
    /// `.pragma "nounroll";`
    Pragma(Vec<Name>),
}

/// Registers of one type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registers {
    /// Type of each register, or of each component of a vector.
    pub ty: ScalarType,
    /// 1, or the length of `.v2`, `.v4`, `.v8`.
    pub vector: u8,
    pub names: Vec<RegisterName>,
    pub position: Position,
}

/// One declarator of a register declaration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterName {
    /// The name, or its prefix.
    pub name: Name,
    /// `Some(n)` for `%r<n>`, which declares `%r0` to `%r{n-1}`.
    pub count: Option<u32>,
}

/// A named list of labels or functions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetList {
    pub name: Name,
    pub targets: Vec<Name>,
    pub position: Position,
}

/// `NAME: .callprototype (…) _ (…);`
#[derive(Debug, Clone, PartialEq)]
pub struct CallPrototype {
    pub name: Name,
    pub results: Vec<Variable>,
    pub params: Vec<Variable>,
    /// `.noreturn` and the like.
    pub directives: FunctionDirectives,
    pub position: Position,
}

/// `.section NAME { … }`.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// Including its dot: `.debug_str`.
    pub name: Name,
    pub items: Vec<SectionItem>,
}

/// One line of a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SectionItem {
    Label(Name),
    /// Bytes, already little-endian.
    Bytes(Vec<u8>),
    /// A reference of 4 or 8 bytes to a label or section, `label{+offset}` or `label-other`.
    Reference {
        size: u8,
        name: Name,
        /// `label - other`.
        minus: Option<Name>,
        offset: i64,
    },
}
