//! Random programs: a blockwise kernel over `u32`, with the extents that it runs at.

use crate::decision::Decision;

/// A kernel, and its launch.
#[derive(Debug)]
pub struct Program {
    pub name: String,
    /// Threads of a block along x and y.
    pub block: [usize; 2],
    pub tiles: Vec<Tile>,
    pub body: Vec<Statement>,
    pub map: Map,
    /// The value of each element of the output.
    pub result: Expr,
    /// The replacement of each element afterwards.
    pub replaced: Option<Expr>,
    /// Elements of the input, at least one.
    pub input: usize,
    /// Rows and columns of the matrix that is read.
    pub matrix: [usize; 2],
    /// How many counters there are, at least one.
    pub counters: usize,
    /// The number that the kernel is passed.
    pub scalar: u32,
    /// Rows and columns of the output; a slice has one row.
    pub extents: [usize; 2],
}

impl Program {
    pub fn threads(&self) -> usize {
        self.block[0] * self.block[1]
    }

    /// Blocks along x and y.
    pub fn grid(&self) -> [usize; 2] {
        let [rows, cols] = self.extents;
        match self.map {
            Map::OneEach => [cols.div_ceil(self.threads()), 1],
            Map::Strided { blocks } => [blocks, 1],
            Map::Part(part) => [cols.div_ceil(part), 1],
            Map::Line(Linear { len, .. }) => [cols.div_ceil(len), 1],
            Map::Linear(r, c, _) | Map::Tiles(r, c) => [cols.div_ceil(c), rows.div_ceil(r)],
            Map::Mirrored(r, c) => [rows.div_ceil(r), cols.div_ceil(c)],
        }
    }
}

/// A tile of shared memory.
#[derive(Debug)]
pub struct Tile {
    pub rows: usize,
    pub cols: usize,
    pub layout: &'static str,
    /// How it is filled, if not as the library chooses.
    pub linear: Option<Linear>,
}

/// A linear map of a part of this number of elements, and its constants.
#[derive(Clone, Copy, Debug)]
pub struct Linear {
    pub len: usize,
    pub x: usize,
    pub y: usize,
    pub turn: usize,
}

/// How the output is divided.
#[derive(Clone, Copy, Debug)]
pub enum Map {
    OneEach,
    Strided {
        blocks: usize,
    },
    Part(usize),
    /// Of a slice.
    Line(Linear),
    /// Of a matrix, by tiles of these numbers of rows and columns.
    Linear(usize, usize, Linear),
    Tiles(usize, usize),
    Mirrored(usize, usize),
}

impl Map {
    pub fn is_of_matrix(self) -> bool {
        matches!(self, Self::Linear(..) | Self::Tiles(..) | Self::Mirrored(..))
    }
}

/// A step at the level of the block. Names are numbers, each given once in a program.
#[derive(Debug)]
pub enum Statement {
    /// A number that is the same for all threads.
    Let(usize, Expr),
    /// One value a thread.
    Each(usize, Expr),
    Update(usize, Expr),
    /// Tiles are filled, shared while the body runs, and taken back.
    Phase(Vec<(usize, Expr)>, Vec<Statement>),
    /// The body for 0 up to the number modulo 4, which the counter has.
    Loop(usize, Expr, Vec<Statement>),
    /// By the number's lowest bit.
    If(Expr, Vec<Statement>, Vec<Statement>),
    /// Copies of the matrix's elements to tiles, begun one after the other; each tile is shared while its body runs.
    Copies(Vec<Copied>),
    /// A tile is filled and added to, by each thread once, and shared while the body runs.
    Count(usize, Box<Addition>, Vec<Statement>),
    /// A tile of one row is filled, its elements are exchanged in pairs of these distances, and it is shared.
    Exchange(usize, Expr, Vec<usize>, Vec<Statement>),
    /// Each thread adds to a counter, modulo their number.
    Add(Expr, Expr),
    /// A reduction of all threads' values: the same for the block.
    Reduce(usize, Combine, Expr),
    /// Scans of the threads' values, inclusive and exclusive, and the reduction.
    Scan {
        inclusive: usize,
        exclusive: usize,
        total: usize,
        combine: Combine,
        value: Expr,
    },
    /// One value a thread, of the lanes' values: odd warps do the first, even ones the second.
    Warps(usize, Expr, [Lanes; 2]),
    /// A tile is filled and shared if a float of the block says so, which some threads compute, too.
    Decide(Box<Decision>),
}

/// A tile that is copied to.
#[derive(Debug)]
pub struct Copied {
    pub tile: usize,
    /// The row and the column of the matrix for an element, each modulo two more than there are: those are zero.
    pub from: [Expr; 2],
    pub body: Vec<Statement>,
}

/// A tile's content, and what each thread adds where, modulo the tile's extents.
#[derive(Debug)]
pub struct Addition {
    pub fill: Expr,
    pub row: Expr,
    pub col: Expr,
    pub value: Expr,
}

/// An operation that may be done in any order.
#[derive(Clone, Copy, Debug)]
pub enum Combine {
    Add,
    Xor,
    Min,
    Max,
}

impl Combine {
    /// The identity.
    pub fn zero(self) -> u32 {
        if let Self::Min = self { u32::MAX } else { 0 }
    }

    pub fn of(self, left: u32, right: u32) -> u32 {
        match self {
            Self::Add => left.wrapping_add(right),
            Self::Xor => left ^ right,
            Self::Min => left.min(right),
            Self::Max => left.max(right),
        }
    }
}

/// A warp's collective over its lanes' values.
#[derive(Clone, Copy, Debug)]
pub enum Lanes {
    /// The value of the lane whose number differs in these bits.
    Exchange(u32),
    /// The value of the lane so far before, or its own.
    Before(u32),
    /// One lane's value.
    Of(u32),
    Reduce(Combine),
    /// Which lanes' values are odd.
    Ballot,
}

/// A number; all arithmetic wraps.
#[derive(Clone, Debug)]
pub enum Expr {
    Constant(u32),
    Scalar,
    /// The block's place along x or y.
    Block(usize),
    Uniform(usize),
    /// The thread's place along x or y.
    Thread(usize),
    ThreadIndex,
    /// The thread's own value.
    Own(usize),
    /// The replaced value.
    Current,
    /// The row or column of the element that is computed; of a slice the column is its index.
    Place(usize),
    /// An element of the input, modulo its length.
    Input(Box<Expr>),
    /// An element of a shared tile, modulo its extents.
    Shared(usize, Box<Expr>, Box<Expr>),
    Binary(Operator, Box<Expr>, Box<Expr>),
    /// The second where the first is odd, else the third.
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
    /// This number of times: the sum becomes 31 times itself and the step, in which the turn's number stands for itself.
    Fold(u32, Box<Expr>),
    /// The number of the turn of the fold around it.
    Turn,
}

#[derive(Clone, Copy, Debug)]
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    Xor,
    Min,
    /// By the second modulo 32.
    ShiftRight,
}
