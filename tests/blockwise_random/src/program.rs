//! What a random program is: a blockwise kernel over `u32`, with the extents that it runs at.

/// A kernel, and its launch.
#[derive(Debug)]
pub struct Program {
    pub name: String,
    /// Threads of a block along x and y.
    pub block: [usize; 2],
    pub tiles: Vec<Tile>,
    pub body: Vec<Statement>,
    pub map: Map,
    /// What each element of the output is.
    pub result: Expr,
    /// What each element is replaced by afterwards.
    pub replaced: Option<Expr>,
    /// Elements of the input, at least one.
    pub input: usize,
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
            Map::Tiles(r, c) => [cols.div_ceil(c), rows.div_ceil(r)],
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
}

/// How the output is divided.
#[derive(Clone, Copy, Debug)]
pub enum Map {
    OneEach,
    Strided { blocks: usize },
    Part(usize),
    Tiles(usize, usize),
    Mirrored(usize, usize),
}

impl Map {
    pub fn is_of_matrix(self) -> bool {
        matches!(self, Self::Tiles(..) | Self::Mirrored(..))
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
    /// What is replaced.
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
    /// So many times: the sum becomes 31 times itself and the step, in which the turn's number stands for itself.
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
