//! What a program is, independent of how it is written.

/// How many 32-bit variables each function works on.
pub const WORDS: usize = 8;
/// The depth of calls.
pub const DEPTH: u32 = 3;

/// Functions, of which the kernel calls the first.
pub struct Program {
    pub functions: Vec<Function>,
    pub kernel: Vec<Statement>,
}

pub struct Function {
    /// Its parameters, apart from the remaining depth.
    pub params: Vec<Shape>,
    pub result: Shape,
    pub body: Vec<Statement>,
    /// The variables it returns at its end.
    pub given: Vec<usize>,
}

/// How a value is passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// `.reg .u32`
    Word,
    /// `.reg .b64`
    Long,
    /// `.reg .v2 .u32`
    Two,
    /// `.reg .v4 .u32`
    Four,
    /// `.reg .v2 .b16`
    Halves,
    /// `.param .b32`
    WordInMemory,
    /// `.param .b64`
    LongInMemory,
    /// `.param .align 8 .b8 [n]`, with this many words: a structure or an array.
    Bytes(usize),
}

impl Shape {
    pub fn words(self) -> usize {
        match self {
            Shape::Word | Shape::Halves | Shape::WordInMemory => 1,
            Shape::Long | Shape::Two | Shape::LongInMemory => 2,
            Shape::Four => 4,
            Shape::Bytes(words) => words,
        }
    }
}

#[derive(Clone, Copy)]
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    Xor,
    ShiftRight,
}

pub enum Statement {
    /// `to = a operator b`
    Set { to: usize, a: usize, operator: Operator, b: usize },
    /// `to = constant`
    Constant { to: usize, value: u32 },
    /// If a bit of a variable is set; lanes may differ.
    If { word: usize, bit: u32, then: Vec<Statement>, otherwise: Vec<Statement> },
    /// One iteration more than the low bits of a variable; contains no call.
    Loop { word: usize, body: Vec<Statement> },
    /// If any depth remains.
    Call { function: usize, through_register: bool, arguments: Vec<Vec<usize>>, results: Vec<usize> },
    /// Returns these; not in the kernel.
    Return { given: Vec<usize> },
}

/// The functions that statements call.
pub fn calls(body: &[Statement]) -> Vec<usize> {
    let of = |statement: &Statement| match statement {
        Statement::If { then, otherwise, .. } => [calls(then), calls(otherwise)].concat(),
        Statement::Call { function, .. } => vec![*function],
        _ => Vec::new(),
    };
    body.iter().flat_map(of).collect()
}
