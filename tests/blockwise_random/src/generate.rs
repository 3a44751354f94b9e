//! Programs by number: the same number gives the same program.

use crate::program::{Expr, Map, Operator, Program, Statement, Tile};

/// The name of one value a thread that every program has.
const SUM: usize = 0;

/// The program of this number.
pub fn program(seed: u64) -> Program {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d);
    let block = random.one_of(&[
        [32, 1],
        [64, 1],
        [40, 1],
        [33, 1],
        [8, 8],
        [16, 4],
        [16, 16],
        [32, 4],
        [5, 7],
        [128, 1],
    ]);
    let threads = block[0] * block[1];
    let tiles: Vec<Tile> = (0..random.below(4)).map(|_| tile(&mut random, block)).collect();
    let blocks = 1 + random.below(5);
    let edge = |random: &mut Random| 1 + random.below(12);
    let map = match random.below(5) {
        0 => Map::OneEach,
        1 => Map::Strided { blocks },
        2 => Map::Part(random.one_of(&[1, threads, 2 * threads, threads + 3])),
        3 => Map::Tiles(block[1] * (1 + random.below(2)), block[0]),
        _ => Map::Mirrored(edge(&mut random), edge(&mut random)),
    };
    let map = if random.below(4) == 0 && map.is_of_matrix() {
        Map::Tiles(edge(&mut random), edge(&mut random))
    } else {
        map
    };
    let extents = match map {
        Map::OneEach | Map::Strided { .. } => [1, 1 + random.below(threads * blocks)],
        Map::Part(part) => [1, 1 + random.below(part * blocks)],
        Map::Tiles(r, c) | Map::Mirrored(r, c) => [1 + random.below(3 * r), 1 + random.below(3 * c)],
    };
    let (input, scalar) = (1 + random.below(300), random.next() as u32);
    let mut scope =
        Scope { random, tiles: tiles.len(), next: 0, uniforms: vec![], owns: vec![], shared: vec![] };
    // What is read of tiles goes into this, and this into the result: else a compiler may leave both out.
    let mut body = vec![Statement::Each(SUM, scope.expr(1, Level::Thread { place: 0, current: false }))];
    scope.owns.push(SUM);
    body.extend(scope.statements(2, 3));
    if !tiles.is_empty() {
        body.push(scope.phase(1));
        body.extend(scope.statements(1, 2));
    }
    let place = if map.is_of_matrix() { 2 } else { 1 };
    let result = scope.expr(3, Level::Thread { place, current: false });
    let result = Expr::Binary(Operator::Xor, Box::new(Expr::Own(SUM)), Box::new(result));
    let replaced =
        (scope.random.below(3) == 0).then(|| scope.expr(2, Level::Thread { place, current: true }));
    Program {
        name: format!("random_{seed}"),
        block,
        tiles,
        body,
        map,
        result,
        replaced,
        input,
        scalar,
        extents,
    }
}

fn tile(random: &mut Random, [width, height]: [usize; 2]) -> Tile {
    let (rows, cols) = match random.below(4) {
        0 => (1, width * height),
        1 => (height * (1 + random.below(3)), width),
        2 => (1 + random.below(20), 1 + random.below(20)),
        _ => (16, 16),
    };
    let layout = match random.below(3) {
        0 => "Padded<1>",
        1 if cols.is_power_of_two() => "Swizzled",
        _ => "Plain",
    };
    Tile { rows, cols, layout }
}

/// Where an expression stands.
#[derive(Clone, Copy)]
enum Level {
    Block,
    /// How many coordinates the element has that is computed, and whether there is a value to replace.
    Thread {
        place: usize,
        current: bool,
    },
}

/// What is known at a point of a program.
struct Scope {
    random: Random,
    tiles: usize,
    next: usize,
    uniforms: Vec<usize>,
    owns: Vec<usize>,
    /// The tiles that are shared.
    shared: Vec<usize>,
}

impl Scope {
    fn name(&mut self) -> usize {
        self.next += 1;
        self.next
    }

    /// Up to `most` statements with bodies nested so deep. What they name is known after them.
    fn statements(&mut self, depth: usize, most: usize) -> Vec<Statement> {
        (0..self.random.below(most + 1)).map(|_| self.statement(depth)).collect()
    }

    /// The same with names of its own.
    fn body(&mut self, depth: usize) -> Vec<Statement> {
        let (uniforms, owns) = (self.uniforms.len(), self.owns.len());
        let body = self.statements(depth, 3);
        self.uniforms.truncate(uniforms);
        self.owns.truncate(owns);
        body
    }

    fn statement(&mut self, depth: usize) -> Statement {
        let thread = |current| Level::Thread { place: 0, current };
        match self.random.below(if depth == 0 { 4 } else { 8 }) {
            0 => {
                let value = self.expr(2, Level::Block);
                let name = self.name();
                self.uniforms.push(name);
                Statement::Let(name, value)
            }
            1 => {
                let value = self.expr(3, thread(false));
                let name = self.name();
                self.owns.push(name);
                Statement::Each(name, value)
            }
            2 | 3 if !self.owns.is_empty() => {
                let name = self.random.one_of(&self.owns);
                // The value that is replaced is borrowed, and goes by another name.
                let owns = self.owns.clone();
                self.owns.retain(|own| *own != name);
                let value = self.expr(3, thread(true));
                self.owns = owns;
                Statement::Update(name, value)
            }
            4 | 5 if self.shared.len() < self.tiles => self.phase(depth - 1),
            6 if depth > 0 => {
                let times = self.expr(1, Level::Block);
                let counter = self.name();
                self.uniforms.push(counter);
                let body = self.body(depth - 1);
                self.uniforms.retain(|uniform| *uniform != counter);
                Statement::Loop(counter, times, body)
            }
            7 if depth > 0 => {
                let condition = self.expr(2, Level::Block);
                Statement::If(condition, self.body(depth - 1), self.body(depth - 1))
            }
            _ => {
                let value = self.expr(1, Level::Block);
                let name = self.name();
                self.uniforms.push(name);
                Statement::Let(name, value)
            }
        }
    }

    /// A phase of one or more of the tiles that are not shared; there must be one.
    fn phase(&mut self, depth: usize) -> Statement {
        let free: Vec<usize> = (0..self.tiles).filter(|tile| !self.shared.contains(tile)).collect();
        let first = self.random.below(free.len());
        let count = 1 + self.random.below(free.len() - first);
        let fills: Vec<(usize, Expr)> = free[first..first + count]
            .iter()
            .map(|tile| (*tile, self.expr(3, Level::Thread { place: 2, current: false })))
            .collect();
        let before = self.shared.len();
        self.shared.extend(fills.iter().map(|(tile, _)| *tile));
        let (uniforms, owns) = (self.uniforms.len(), self.owns.len());
        let mut body = self.statements(depth, 2);
        body.push(Statement::Update(SUM, self.reading()));
        self.uniforms.truncate(uniforms);
        self.owns.truncate(owns);
        self.shared.truncate(before);
        Statement::Phase(fills, body)
    }

    /// The sum with another thread's element of the tile that was shared last.
    fn reading(&mut self) -> Expr {
        let binary = |operator, left, right| Expr::Binary(operator, Box::new(left), Box::new(right));
        let tile = self.shared[self.shared.len() - 1];
        let shift = Expr::Constant(1 + self.random.below(40) as u32);
        let col = binary(Operator::Add, Expr::ThreadIndex, shift);
        let row = Expr::Constant(self.random.below(7) as u32);
        let element = Expr::Shared(tile, Box::new(row), Box::new(col));
        let scaled = binary(Operator::Multiply, Expr::Current, Expr::Constant(31));
        binary(Operator::Add, scaled, element)
    }

    fn expr(&mut self, depth: usize, level: Level) -> Expr {
        self.expr_in(depth, level, false)
    }

    fn expr_in(&mut self, depth: usize, level: Level, in_fold: bool) -> Expr {
        if depth == 0 {
            return self.leaf(level, in_fold);
        }
        let choice = self.random.below(10);
        let boxed = |scope: &mut Self| Box::new(scope.expr_in(depth - 1, level, in_fold));
        match choice {
            0..4 => {
                use Operator::{Add, Min, Multiply, ShiftRight, Subtract, Xor};
                let operator = self.random.one_of(&[Add, Add, Subtract, Multiply, Xor, Min, ShiftRight]);
                Expr::Binary(operator, boxed(self), boxed(self))
            }
            4 => Expr::Input(boxed(self)),
            5 | 6 if !self.shared.is_empty() => {
                let tile = self.random.one_of(&self.shared);
                Expr::Shared(tile, boxed(self), boxed(self))
            }
            7 => Expr::Select(boxed(self), boxed(self), boxed(self)),
            8 if !in_fold => {
                let step = Box::new(self.expr_in(depth - 1, level, true));
                Expr::Fold(1 + self.random.below(5) as u32, step)
            }
            _ => self.leaf(level, in_fold),
        }
    }

    fn leaf(&mut self, level: Level, in_fold: bool) -> Expr {
        let (uniforms, owns) = (self.uniforms.clone(), self.owns.clone());
        let mut leaves = vec![Expr::Constant(self.random.below(1000) as u32), Expr::Scalar];
        leaves.extend([0, 1].map(Expr::Block));
        if let Some(uniform) = uniforms.last() {
            leaves.extend([Expr::Uniform(*uniform), Expr::Uniform(self.random.one_of(&uniforms))]);
        }
        if in_fold {
            leaves.extend([Expr::Turn, Expr::Turn]);
        }
        if let Level::Thread { place, current } = level {
            leaves.extend([Expr::Thread(0), Expr::Thread(1), Expr::ThreadIndex, Expr::ThreadIndex]);
            // Of a slice there is a column only.
            leaves.extend((2 - place..2).map(Expr::Place));
            if current {
                leaves.extend([Expr::Current, Expr::Current]);
            }
            if !owns.is_empty() {
                leaves.extend([Expr::Own(self.random.one_of(&owns)), Expr::Own(self.random.one_of(&owns))]);
            }
        }
        self.random.one_of(&leaves)
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 33) as usize % limit
    }

    fn one_of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }
}
