//! What a program computes, by its meaning: blocks one after the other, and in each all threads step by step.
//!
//! Nothing here knows how kernels are compiled. Which thread owns what is written down as `blockwise` documents it.

use crate::program::{Expr, Map, Operator, Program, Statement};
use std::collections::HashMap;

/// The output, row by row.
pub fn evaluate(program: &Program, input: &[u32]) -> Vec<u32> {
    let [rows, cols] = program.extents;
    let mut out = vec![0; rows * cols];
    let [across, down] = program.grid();
    for block in (0..down).flat_map(|y| (0..across).map(move |x| [x, y])) {
        let tiles = program.tiles.iter().map(|tile| vec![0; tile.rows * tile.cols]).collect();
        let mut state =
            State { program, input, block, uniforms: HashMap::new(), owns: HashMap::new(), tiles };
        state.run(&program.body);
        for [row, col] in (0..rows).flat_map(|row| (0..cols).map(move |col| [row, col])) {
            let Some((thread, place)) = owner(program, block, [row, col]) else { continue };
            let at = |current| At { thread: Some(thread), place, current, turn: 0 };
            let element = &mut out[row * cols + col];
            *element = state.value(&program.result, at(0));
            if let Some(replaced) = &program.replaced {
                *element = state.value(replaced, at(*element));
            }
        }
    }
    out
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
    input: &'a [u32],
    block: [usize; 2],
    uniforms: HashMap<usize, u32>,
    owns: HashMap<usize, Vec<u32>>,
    tiles: Vec<Vec<u32>>,
}

impl State<'_> {
    fn run(&mut self, statements: &[Statement]) {
        for statement in statements {
            match statement {
                Statement::Let(name, value) => {
                    self.uniforms.insert(*name, self.value(value, At::default()));
                }
                Statement::Each(name, value) => {
                    let all = (0..self.program.threads())
                        .map(|thread| self.value(value, At { thread: Some(thread), ..At::default() }))
                        .collect();
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
                        let tile = &self.program.tiles[*number];
                        let places = (0..tile.rows * tile.cols).map(|i| [i / tile.cols, i % tile.cols]);
                        let fill = |place| {
                            let thread = Some(dealt(self.program, [tile.rows, tile.cols], place));
                            self.value(value, At { thread, place, ..At::default() })
                        };
                        self.tiles[*number] = places.map(fill).collect();
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
            }
        }
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
            Expr::Input(index) => self.input[value(index) as usize % self.input.len()],
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
