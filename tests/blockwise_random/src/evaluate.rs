//! Evaluates a program by its meaning: blocks one after the other, and in each all threads step by step.
//!
//! Nothing here knows how kernels are compiled. Which thread owns what is written down as `blockwise` documents it.

use crate::program::{Copied, Expr, Lanes, Linear, Map, Operator, Program, Statement};
use std::collections::HashMap;

/// A program's input.
#[derive(Debug)]
pub struct Input {
    pub elements: Vec<u32>,
    /// Row by row.
    pub matrix: Vec<u32>,
}

/// A program's output.
#[derive(Debug, PartialEq, Eq)]
pub struct Output {
    /// Row by row.
    pub elements: Vec<u32>,
    pub counters: Vec<u32>,
}

/// The program's output.
pub fn evaluate(program: &Program, input: &Input) -> Output {
    let [rows, cols] = program.extents;
    let mut elements = vec![0; rows * cols];
    let mut counters = vec![0; program.counters];
    let [across, down] = program.grid();
    for block in (0..down).flat_map(|y| (0..across).map(move |x| [x, y])) {
        let tiles = program.tiles.iter().map(|tile| vec![0; tile.rows * tile.cols]).collect();
        let mut state =
            State { program, input, block, uniforms: HashMap::new(), owns: HashMap::new(), tiles, counters };
        state.run(&program.body);
        for [row, col] in (0..rows).flat_map(|row| (0..cols).map(move |col| [row, col])) {
            let Some((thread, place)) = owner(program, block, [row, col]) else { continue };
            let at = |current| At { thread: Some(thread), place, current, turn: 0 };
            let element = &mut elements[row * cols + col];
            *element = state.value(&program.result, at(0));
            if let Some(replaced) = &program.replaced {
                *element = state.value(replaced, at(*element));
            }
        }
        counters = state.counters;
    }
    Output { elements, counters }
}

/// The thread of a block that owns an element of the output, and the element's place as the thread is told it; `None` if the
/// element is another block's.
fn owner(program: &Program, [x, y]: [usize; 2], [row, col]: [usize; 2]) -> Option<(usize, [usize; 2])> {
    let threads = program.threads();
    match program.map {
        Map::OneEach => (col / threads == x).then_some((col % threads, [0, col])),
        Map::Strided { blocks } => {
            let thread = col % (threads * blocks);
            (thread / threads == x).then_some((thread % threads, [0, col]))
        }
        Map::Part(part) => (col / part == x).then(|| (dealt(program, [1, part], [0, col % part]), [0, col])),
        Map::Line(linear) => {
            (col / linear.len == x).then(|| (of_linear(program, linear, col % linear.len), [0, col]))
        }
        Map::Linear(r, c, linear) => {
            let place = [row % r, col % c];
            ([row / r, col / c] == [y, x])
                .then(|| (of_linear(program, linear, place[0] * c + place[1]), place))
        }
        Map::Tiles(r, c) => {
            let place = [row % r, col % c];
            ([row / r, col / c] == [y, x]).then(|| (dealt(program, [r, c], place), place))
        }
        Map::Mirrored(r, c) => {
            let place = [row % r, col % c];
            ([row / r, col / c] == [x, y]).then(|| (dealt(program, [r, c], place), place))
        }
    }
}

/// The thread that comes by an element of a linear map, by the definition of the map.
fn of_linear(program: &Program, Linear { len, x, y, turn }: Linear, element: usize) -> usize {
    let (threads, width) = (program.threads(), program.block[0]);
    let is_own = |thread: &usize| {
        let first = x * (thread % width) + y * (thread / width);
        (0..len / threads).any(|number| first + turn * number == element)
    };
    (0..threads).find(is_own).expect("each element has an owner")
}

/// The thread that an element of a tile is dealt to: the one of its column where the block is as wide as the tile and its
/// height divides the tile's, else all in turn.
fn dealt(program: &Program, [rows, cols]: [usize; 2], [row, col]: [usize; 2]) -> usize {
    let [width, height] = program.block;
    if cols == width && rows.is_multiple_of(height) {
        row % height * width + col
    } else {
        (row * cols + col) % program.threads()
    }
}

/// Where an expression is asked for.
#[derive(Clone, Copy, Default)]
struct At {
    /// None at the level of the block.
    thread: Option<usize>,
    place: [usize; 2],
    current: u32,
    turn: u32,
}

struct State<'a> {
    program: &'a Program,
    input: &'a Input,
    block: [usize; 2],
    uniforms: HashMap<usize, u32>,
    owns: HashMap<usize, Vec<u32>>,
    tiles: Vec<Vec<u32>>,
    counters: Vec<u32>,
}

impl State<'_> {
    fn run(&mut self, statements: &[Statement]) {
        for statement in statements {
            match statement {
                Statement::Let(name, value) => {
                    self.uniforms.insert(*name, self.value(value, At::default()));
                }
                Statement::Each(name, value) => {
                    let all = self.of_threads(value);
                    self.owns.insert(*name, all);
                }
                Statement::Update(name, value) => {
                    let replace = |(thread, current): (usize, &u32)| {
                        self.value(value, At { thread: Some(thread), current: *current, ..At::default() })
                    };
                    let all = self.owns[name].iter().enumerate().map(replace).collect();
                    self.owns.insert(*name, all);
                }
                Statement::Phase(fills, body) => {
                    for (number, value) in fills {
                        self.tiles[*number] = self.filled(*number, value);
                    }
                    self.run(body);
                }
                Statement::Loop(counter, times, body) => {
                    for turn in 0..self.value(times, At::default()) % 4 {
                        self.uniforms.insert(*counter, turn);
                        self.run(body);
                    }
                }
                Statement::If(condition, odd, even) => {
                    let is_odd = self.value(condition, At::default()) % 2 == 1;
                    self.run(if is_odd { odd } else { even });
                }
                Statement::Copies(copies) => {
                    let filled: Vec<_> = copies.iter().map(|copied| self.copied(copied)).collect();
                    for (copied, tile) in copies.iter().zip(filled) {
                        self.tiles[copied.tile] = tile;
                        self.run(&copied.body);
                    }
                }
                Statement::Count(number, addition, body) => {
                    let mut tile = self.filled(*number, &addition.fill);
                    let (rows, cols) = (self.program.tiles[*number].rows, self.program.tiles[*number].cols);
                    let [row, col, value] =
                        [&addition.row, &addition.col, &addition.value].map(|each| self.of_threads(each));
                    for thread in 0..self.program.threads() {
                        let place = row[thread] as usize % rows * cols + col[thread] as usize % cols;
                        tile[place] = tile[place].wrapping_add(value[thread]);
                    }
                    self.tiles[*number] = tile;
                    self.run(body);
                }
                Statement::Exchange(number, fill, distances, body) => {
                    let mut tile = self.filled(*number, fill);
                    for distance in distances {
                        // The lower half of each group of twice the distance, with the upper one.
                        for low in (0..tile.len()).filter(|low| low / distance % 2 == 0) {
                            let high = low + distance;
                            if high < tile.len() {
                                let (a, b) = (tile[low], tile[high]);
                                (tile[low], tile[high]) = (a.wrapping_mul(3).wrapping_add(b), a ^ b);
                            }
                        }
                    }
                    self.tiles[*number] = tile;
                    self.run(body);
                }
                Statement::Add(place, value) => {
                    let (places, values) = (self.of_threads(place), self.of_threads(value));
                    for (place, value) in places.into_iter().zip(values) {
                        let place = place as usize % self.counters.len();
                        self.counters[place] = self.counters[place].wrapping_add(value);
                    }
                }
                Statement::Reduce(name, combine, value) => {
                    let all = self.of_threads(value).into_iter();
                    self.uniforms
                        .insert(*name, all.fold(combine.zero(), |all, value| combine.of(all, value)));
                }
                Statement::Scan { inclusive, exclusive, total, combine, value } => {
                    let (mut with, mut without, mut all) = (Vec::new(), Vec::new(), combine.zero());
                    for value in self.of_threads(value) {
                        without.push(all);
                        all = combine.of(all, value);
                        with.push(all);
                    }
                    self.owns.insert(*inclusive, with);
                    self.owns.insert(*exclusive, without);
                    self.uniforms.insert(*total, all);
                }
                // It leaves nothing.
                Statement::Decide(_) => {}
                Statement::Warps(name, value, [odd, even]) => {
                    let values = self.of_threads(value);
                    let warps = values.chunks(32).enumerate();
                    let all = warps
                        .flat_map(|(warp, lanes)| exchanged(if warp % 2 == 1 { *odd } else { *even }, lanes));
                    self.owns.insert(*name, all.collect());
                }
            }
        }
    }

    /// The value of each thread.
    fn of_threads(&self, value: &Expr) -> Vec<u32> {
        let of = |thread| self.value(value, At { thread: Some(thread), ..At::default() });
        (0..self.program.threads()).map(of).collect()
    }

    /// A tile of which each element is computed by its owner.
    fn filled(&self, number: usize, value: &Expr) -> Vec<u32> {
        let tile = &self.program.tiles[number];
        let places = (0..tile.rows * tile.cols).map(|i| [i / tile.cols, i % tile.cols]);
        let fill = |place: [usize; 2]| {
            let thread = Some(match tile.linear {
                Some(linear) => of_linear(self.program, linear, place[0] * tile.cols + place[1]),
                None => dealt(self.program, [tile.rows, tile.cols], place),
            });
            self.value(value, At { thread, place, ..At::default() })
        };
        places.map(fill).collect()
    }

    /// A tile that is copied to: its elements are dealt column by column.
    fn copied(&self, copied: &Copied) -> Vec<u32> {
        let tile = &self.program.tiles[copied.tile];
        let [rows, cols] = self.program.matrix;
        let places = (0..tile.rows * tile.cols).map(|i| [i / tile.cols, i % tile.cols]);
        let copy = |place: [usize; 2]| {
            let thread = Some(dealt(self.program, [tile.cols, tile.rows], [place[1], place[0]]));
            let from =
                |side: usize| self.value(&copied.from[side], At { thread, place, ..At::default() }) as usize;
            let (row, col) = (from(0) % (rows + 2), from(1) % (cols + 2));
            if row < rows && col < cols { self.input.matrix[row * cols + col] } else { 0 }
        };
        places.map(copy).collect()
    }

    fn value(&self, expression: &Expr, at: At) -> u32 {
        let thread = || at.thread.expect("asked by a thread");
        let value = |expression: &Expr| self.value(expression, at);
        match expression {
            Expr::Constant(number) => *number,
            Expr::Scalar => self.program.scalar,
            Expr::Block(axis) => self.block[*axis] as u32,
            Expr::Uniform(name) => self.uniforms[name],
            Expr::Thread(0) => (thread() % self.program.block[0]) as u32,
            Expr::Thread(_) => (thread() / self.program.block[0]) as u32,
            Expr::ThreadIndex => thread() as u32,
            Expr::Own(name) => self.owns[name][thread()],
            Expr::Current => at.current,
            Expr::Place(coordinate) => at.place[*coordinate] as u32,
            Expr::Input(index) => self.input.elements[value(index) as usize % self.input.elements.len()],
            Expr::Shared(number, row, col) => {
                let tile = &self.program.tiles[*number];
                let (row, col) = (value(row) as usize % tile.rows, value(col) as usize % tile.cols);
                self.tiles[*number][row * tile.cols + col]
            }
            Expr::Binary(operator, left, right) => {
                let (left, right) = (value(left), value(right));
                match operator {
                    Operator::Add => left.wrapping_add(right),
                    Operator::Subtract => left.wrapping_sub(right),
                    Operator::Multiply => left.wrapping_mul(right),
                    Operator::Xor => left ^ right,
                    Operator::Min => left.min(right),
                    Operator::ShiftRight => left >> (right % 32),
                }
            }
            Expr::Select(condition, odd, even) => value(if value(condition) % 2 == 1 { odd } else { even }),
            Expr::Fold(times, step) => (0..*times).fold(0_u32, |sum, turn| {
                sum.wrapping_mul(31).wrapping_add(self.value(step, At { turn, ..at }))
            }),
            Expr::Turn => at.turn,
        }
    }
}

/// The results of a warp's collective, by lane.
fn exchanged(step: Lanes, lanes: &[u32]) -> Vec<u32> {
    let all = |value| vec![value; lanes.len()];
    let from = |lane: &dyn Fn(usize) -> usize| (0..lanes.len()).map(|own| lanes[lane(own)]).collect();
    match step {
        Lanes::Exchange(mask) => from(&|lane| lane ^ mask as usize),
        Lanes::Before(distance) => from(&|lane| lane.checked_sub(distance as usize).unwrap_or(lane)),
        Lanes::Of(lane) => all(lanes[lane as usize]),
        Lanes::Reduce(combine) => {
            all(lanes.iter().fold(combine.zero(), |all, value| combine.of(all, *value)))
        }
        Lanes::Ballot => all(lanes.iter().rev().fold(0, |bits, value| (bits << 1) | (value % 2))),
    }
}
