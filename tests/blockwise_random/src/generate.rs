//! Programs by number: the same number gives the same program.

use crate::decision::{Decision, Float};
use crate::program::{
    Addition, Combine, Copied, Expr, Lanes, Linear, Map, Operator, Program, Statement, Tile,
};

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
    let map = match random.below(7) {
        0 => Map::OneEach,
        1 => Map::Strided { blocks },
        2 => Map::Part(random.one_of(&[1, threads, 2 * threads, threads + 3])),
        3 => {
            let turns = 1 + random.below(4);
            Map::Line(linear(&mut random, block, turns))
        }
        4 => {
            let turns = 1 + random.below(4);
            Map::Linear(block[1] * turns, block[0], linear(&mut random, block, turns))
        }
        5 => Map::Tiles(block[1] * (1 + random.below(2)), block[0]),
        _ => Map::Mirrored(edge(&mut random), edge(&mut random)),
    };
    let map = if random.below(4) == 0 && matches!(map, Map::Tiles(..) | Map::Mirrored(..)) {
        Map::Tiles(edge(&mut random), edge(&mut random))
    } else {
        map
    };
    let extents = match map {
        Map::OneEach | Map::Strided { .. } => [1, 1 + random.below(threads * blocks)],
        Map::Part(part) => [1, 1 + random.below(part * blocks)],
        Map::Line(Linear { len, .. }) => [1, 1 + random.below(len * blocks)],
        Map::Linear(r, c, _) | Map::Tiles(r, c) | Map::Mirrored(r, c) => {
            [1 + random.below(3 * r), 1 + random.below(3 * c)]
        }
    };
    let (input, scalar) = (1 + random.below(300), random.next() as u32);
    let matrix = [1 + random.below(20), 1 + random.below(20)];
    let counters = 1 + random.below(50);
    let in_a_row =
        tiles.iter().map(|tile| (tile.rows == 1 && tile.layout == "Plain").then_some(tile.cols)).collect();
    let mut scope = Scope {
        random,
        tiles: tiles.len(),
        in_a_row,
        whole_warps: threads.is_multiple_of(32),
        next: 0,
        uniforms: vec![],
        owns: vec![],
        shared: vec![],
        filling: vec![],
    };
    // What is read of tiles goes into this, and this into the result: else a compiler may leave both out.
    let mut body = vec![Statement::Each(SUM, scope.expr(1, Level::Thread { place: 0, current: false }))];
    scope.owns.push(SUM);
    body.extend(scope.statements(2, 3));
    if !tiles.is_empty() {
        body.push(scope.any_phase(1));
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
        matrix,
        counters,
        scalar,
        extents,
    }
}

/// A map by which each thread has `turns` elements: neighbours, or one of each part as long as there are threads, where threads are
/// counted along x first or along y.
fn linear(random: &mut Random, [width, height]: [usize; 2], turns: usize) -> Linear {
    let threads = width * height;
    let [x, y, turn] = match random.below(3) {
        0 if turns > 1 => [turns, turns * width, 1],
        1 => [height, 1, threads],
        _ => [1, width, threads],
    };
    Linear { len: threads * turns, x, y, turn }
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
    let threads = width * height;
    let is_dealt = (rows * cols).is_multiple_of(threads) && random.below(3) == 0;
    let linear = is_dealt.then(|| linear(random, [width, height], rows * cols / threads));
    Tile { rows, cols, layout, linear }
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

/// The state of the generator at a point of a program.
struct Scope {
    random: Random,
    tiles: usize,
    /// The lengths of the tiles whose elements can be exchanged.
    in_a_row: Vec<Option<usize>>,
    whole_warps: bool,
    next: usize,
    uniforms: Vec<usize>,
    owns: Vec<usize>,
    /// The tiles that are shared.
    shared: Vec<usize>,
    /// The tiles that are still filling.
    filling: Vec<usize>,
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
        match self.random.below(if depth == 0 { 8 } else { 13 }) {
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
            4 => Statement::Add(self.expr(2, thread(false)), self.expr(2, thread(false))),
            5..8 if self.whole_warps => self.together(),
            8 | 9 if !self.free().is_empty() => self.any_phase(depth - 1),
            10 if depth > 0 => {
                let times = self.expr(1, Level::Block);
                let counter = self.name();
                self.uniforms.push(counter);
                let body = self.body(depth - 1);
                self.uniforms.retain(|uniform| *uniform != counter);
                Statement::Loop(counter, times, body)
            }
            12 if !self.free().is_empty() => self.decision(),
            11 if depth > 0 => {
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

    /// A float that decides about one of the tiles that are empty; there must be one.
    fn decision(&mut self) -> Statement {
        let free = self.free();
        Statement::Decide(Box::new(Decision {
            float: self.random.one_of(&Float::ALL),
            of: [(); 3].map(|()| self.expr(1, Level::Block)),
            early: [(); 2].map(|()| self.expr(1, Level::Thread { place: 0, current: false })),
            tile: self.random.one_of(&free),
            fill: self.expr(2, Level::Thread { place: 2, current: false }),
        }))
    }

    /// A collective of a block or its warps over their threads' values.
    fn together(&mut self) -> Statement {
        let value = self.expr(3, Level::Thread { place: 0, current: false });
        let combine = self.random.one_of(&[Combine::Add, Combine::Xor, Combine::Min, Combine::Max]);
        match self.random.below(4) {
            0 => {
                let name = self.name();
                self.uniforms.push(name);
                Statement::Reduce(name, combine, value)
            }
            1 => {
                let [inclusive, exclusive, total] = [(); 3].map(|()| self.name());
                self.owns.extend([inclusive, exclusive]);
                self.uniforms.push(total);
                Statement::Scan { inclusive, exclusive, total, combine, value }
            }
            _ => {
                let lanes = [(); 2].map(|()| self.lanes());
                let name = self.name();
                self.owns.push(name);
                Statement::Warps(name, value, lanes)
            }
        }
    }

    fn lanes(&mut self) -> Lanes {
        let lane = self.random.below(32) as u32;
        match self.random.below(5) {
            0 => Lanes::Exchange(lane),
            1 => Lanes::Before(lane),
            2 => Lanes::Of(lane),
            3 => Lanes::Reduce(self.random.one_of(&[Combine::Add, Combine::Xor, Combine::Min, Combine::Max])),
            _ => Lanes::Ballot,
        }
    }

    /// The tiles that are empty.
    fn free(&self) -> Vec<usize> {
        (0..self.tiles).filter(|tile| !self.shared.contains(tile) && !self.filling.contains(tile)).collect()
    }

    /// A phase of one or more of the tiles that are empty; there must be one.
    fn any_phase(&mut self, depth: usize) -> Statement {
        let free = self.free();
        let element = Level::Thread { place: 2, current: false };
        match self.random.below(6) {
            0 => {
                let tile = self.random.one_of(&free);
                let fill = self.expr(2, element);
                let mut value = || self.expr(2, Level::Thread { place: 0, current: false });
                let addition = Addition { fill, row: value(), col: value(), value: value() };
                Statement::Count(tile, Box::new(addition), self.reading_body(depth, &[tile]))
            }
            1 => {
                let first = self.random.below(free.len());
                let places: Vec<(usize, [Expr; 2])> = free[first..]
                    .iter()
                    .map(|tile| (*tile, [(); 2].map(|()| self.expr(2, element))))
                    .collect();
                self.filling.extend(&free[first..]);
                let copied = places.into_iter().map(|(tile, from)| {
                    self.filling.retain(|other| *other != tile);
                    let body = self.reading_body(depth, &[tile]);
                    Copied { tile, from, body }
                });
                Statement::Copies(copied.collect())
            }
            2 | 3 => {
                let Some((tile, len)) = free.iter().find_map(|tile| Some((*tile, self.in_a_row[*tile]?)))
                else {
                    return self.phase(depth, &free);
                };
                let fill = self.expr(3, element);
                let distances = (0..1 + self.random.below(3)).map(|_| 1 + self.random.below(len)).collect();
                Statement::Exchange(tile, fill, distances, self.reading_body(depth, &[tile]))
            }
            _ => self.phase(depth, &free),
        }
    }

    fn phase(&mut self, depth: usize, free: &[usize]) -> Statement {
        let first = self.random.below(free.len());
        let count = 1 + self.random.below(free.len() - first);
        let tiles = &free[first..first + count];
        let fills =
            tiles.iter().map(|tile| (*tile, self.expr(3, Level::Thread { place: 2, current: false })));
        let fills = fills.collect();
        Statement::Phase(fills, self.reading_body(depth, tiles))
    }

    /// Steps while these tiles are shared: at least one element of theirs is read.
    fn reading_body(&mut self, depth: usize, tiles: &[usize]) -> Vec<Statement> {
        let before = self.shared.len();
        self.shared.extend(tiles);
        let (uniforms, owns) = (self.uniforms.len(), self.owns.len());
        let mut body = self.statements(depth, 2);
        body.push(Statement::Update(SUM, self.reading()));
        self.uniforms.truncate(uniforms);
        self.owns.truncate(owns);
        self.shared.truncate(before);
        body
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
