//! Programs as Rust.

use crate::decision;
use crate::program::{Combine, Copied, Expr, Lanes, Linear, Map, Operator, Program, Statement};
use std::fmt::Write;

/// A crate of kernels without `unsafe`.
pub fn of(programs: &[Program]) -> String {
    let mut text = String::from(
        "#![no_std]\n#![forbid(unsafe_code)]\n#![allow(unused, clippy::all)]\n\nuse blockwise::prelude::*;\nuse blockwise::{Part, Scratch};\n",
    );
    text.push_str(decision::ITEMS);
    programs.iter().for_each(|program| kernel(program, &mut text));
    text
}

/// Writing to a String cannot fail.
macro_rules! put {
    ($text:expr, $($argument:tt)*) => { let _ = write!($text, $($argument)*); };
}

fn kernel(program: &Program, text: &mut String) {
    let [width, height] = program.block;
    put!(text, "\n#[kernel]\npub fn {}(\n    block: Block<{width}, {height}>,\n", program.name);
    for (number, tile) in program.tiles.iter().enumerate() {
        put!(
            text,
            "    #[shared] mut tile{number}: Tile<u32, {}, {}, {}>,\n",
            tile.rows,
            tile.cols,
            tile.layout
        );
    }
    let output = match program.map {
        Map::OneEach => "SliceMut<u32>".to_owned(),
        Map::Strided { .. } => "SliceMut<u32, Strided>".to_owned(),
        Map::Part(part) => format!("SliceMut<u32, Part<{part}>>"),
        Map::Line(map) => format!("SliceMut<u32, {}>", linear(1, map.len, map)),
        Map::Linear(r, c, map) => format!("MatrixMut<u32, {}>", linear(r, c, map)),
        Map::Tiles(r, c) => format!("MatrixMut<u32, Tiles<{r}, {c}>>"),
        Map::Mirrored(r, c) => format!("MatrixMut<u32, Mirrored<{r}, {c}>>"),
    };
    if program.threads().is_multiple_of(32) {
        text.push_str("    #[shared] mut scratch: Scratch<u32>,\n");
    }
    put!(
        text,
        "    input: &[u32],\n    scalar: u32,\n    matrix: Matrix<u32>,\n    counters: Counters<u32>,\n    mut out: {output},\n) {{\n"
    );
    // The threads of a block know its place by these: they cannot ask the block.
    put!(text, "    let (block_x, block_y) = (block.x() as u32, block.y() as u32);\n");
    let printer = Printer { program };
    printer.statements(&program.body, 1, text);
    let place = if program.map.is_of_matrix() { "(y, x)" } else { "x" };
    put!(text, "    out.write(&block, |t, {place}| {});\n", printer.expr(&program.result));
    if let Some(replaced) = &program.replaced {
        put!(text, "    out.update(&block, |t, {place}, current| {});\n", printer.expr(replaced));
    }
    text.push_str("}\n");
}

/// A linear map. Where its turns are neighbours the constant has braces, by which a mistake finds it.
fn linear(rows: usize, cols: usize, Linear { x, y, turn, .. }: Linear) -> String {
    let turn = if turn == 1 { "{ 1 }".to_owned() } else { turn.to_string() };
    format!("Linear<{rows}, {cols}, {x}, {y}, {turn}>")
}

struct Printer<'a> {
    program: &'a Program,
}

impl Printer<'_> {
    fn statements(&self, all: &[Statement], depth: usize, text: &mut String) {
        let indent = "    ".repeat(depth);
        for statement in all {
            text.push_str(&indent);
            match statement {
                Statement::Let(name, value) => {
                    put!(text, "let u{name} = {};\n", self.expr(value));
                }
                Statement::Each(name, value) => {
                    put!(text, "let mut own{name} = block.each(|t| {});\n", self.expr(value));
                }
                Statement::Update(name, value) => {
                    put!(
                        text,
                        "own{name}.update(&block, |t, value| {{ let current = *value; *value = {}; }});\n",
                        self.expr(value)
                    );
                }
                Statement::Phase(fills, body) => {
                    let list = |each: &dyn Fn(usize, &Expr) -> String| {
                        let all: Vec<String> = fills.iter().map(|(tile, value)| each(*tile, value)).collect();
                        if let [only] = &all[..] { only.clone() } else { format!("({})", all.join(", ")) }
                    };
                    let filled = list(&|tile, value| self.fill(tile, value));
                    let (tiles, shared) =
                        (list(&|tile, _| format!("tile{tile}")), list(&|tile, _| format!("shared{tile}")));
                    put!(
                        text,
                        "{{\n{indent}    let filled = {filled};\n{indent}    let {shared} = block.share(filled);\n"
                    );
                    self.statements(body, depth + 1, text);
                    put!(text, "{indent}    {tiles} = block.reuse({shared});\n{indent}}}\n");
                }
                Statement::Copies(copies) => self.copies(copies, depth, text),
                Statement::Count(tile, addition, body) => {
                    let (rows, cols) = (self.program.tiles[*tile].rows, self.program.tiles[*tile].cols);
                    let (fill, value) = (self.fill(*tile, &addition.fill), self.expr(&addition.value));
                    let (row, col) = (self.expr(&addition.row), self.expr(&addition.col));
                    put!(
                        text,
                        "{{\n{indent}    let counting = block.count({fill});\n{indent}    \
                         block.each(|t| {{ counting.add(t, ({row} as usize % {rows}, {col} as usize % {cols}), {value}); }});\n{indent}    \
                         let shared{tile} = block.share(counting);\n"
                    );
                    self.statements(body, depth + 1, text);
                    put!(text, "{indent}    tile{tile} = block.reuse(shared{tile});\n{indent}}}\n");
                }
                Statement::Exchange(tile, fill, distances, body) => {
                    put!(text, "{{\n{indent}    let filled = {};\n", self.fill(*tile, fill));
                    for distance in distances {
                        put!(
                            text,
                            "{indent}    let filled = block.exchange(filled, {distance}, |t, low, (a, b)| (a.wrapping_mul(3).wrapping_add(b), a ^ b));\n"
                        );
                    }
                    put!(text, "{indent}    let shared{tile} = block.share(filled);\n");
                    self.statements(body, depth + 1, text);
                    put!(text, "{indent}    tile{tile} = block.reuse(shared{tile});\n{indent}}}\n");
                }
                Statement::Add(place, value) => {
                    let (place, value) = (self.expr(place), self.expr(value));
                    put!(
                        text,
                        "block.each(|t| {{ counters.add(t, {place} as usize % counters.len(), {value}); }});\n"
                    );
                }
                Statement::Reduce(name, combine, value) => {
                    let (value, combine) = (self.expr(value), closure(*combine));
                    put!(
                        text,
                        "let u{name} = block.reduce(&mut scratch, &block.each(|t| {value}), {combine});\n"
                    );
                }
                Statement::Scan { inclusive, exclusive, total, combine, value } => {
                    let (value, zero, combine) = (self.expr(value), combine.zero(), closure(*combine));
                    put!(
                        text,
                        "let scan = block.scan(&mut scratch, &block.each(|t| {value}), {zero}, {combine});\n{indent}\
                         let (mut own{inclusive}, mut own{exclusive}, u{total}) = (scan.inclusive, scan.exclusive, scan.total);\n"
                    );
                }
                Statement::Warps(name, value, [odd, even]) => {
                    let (value, odd, even) = (self.expr(value), lanes(*odd), lanes(*even));
                    put!(
                        text,
                        "let mut own{name} = block.warps(|warp| {{\n{indent}    let lanes = warp.each(|t| {value});\n{indent}    \
                         if warp.index() % 2 == 1 {{ {odd} }} else {{ {even} }}\n{indent}}});\n"
                    );
                }
                Statement::Decide(decision) => {
                    let fill = self.fill(decision.tile, &decision.fill);
                    let lines = decision::text(decision, |expression| self.expr(expression), &fill);
                    put!(text, "{}\n", lines.replace('\n', &format!("\n{indent}")));
                }
                Statement::Loop(counter, times, body) => {
                    put!(text, "for u{counter} in 0..{} % 4 {{\n", self.expr(times));
                    self.statements(body, depth + 1, text);
                    put!(text, "{indent}}}\n");
                }
                Statement::If(condition, odd, even) => {
                    put!(text, "if {} & 1 == 1 {{\n", self.expr(condition));
                    self.statements(odd, depth + 1, text);
                    put!(text, "{indent}}} else {{\n");
                    self.statements(even, depth + 1, text);
                    put!(text, "{indent}}}\n");
                }
            }
        }
    }

    fn fill(&self, number: usize, value: &Expr) -> String {
        let tile = &self.program.tiles[number];
        let value = self.expr(value);
        match tile.linear {
            Some(map) => {
                let map = linear(tile.rows, tile.cols, map).replacen('<', "::<", 1);
                format!("tile{number}.fill_by({map}, &block, |t, (y, x)| {value})")
            }
            None => format!("tile{number}.fill(&block, |t, (y, x)| {value})"),
        }
    }

    /// Each group of copies begins, and then each tile is shared in the same order.
    fn copies(&self, copies: &[Copied], depth: usize, text: &mut String) {
        let indent = "    ".repeat(depth);
        text.push_str("{\n");
        let mut begun: Vec<String> = Vec::new();
        for Copied { tile, from: [row, col], .. } in copies {
            let [rows, cols] = self.program.matrix.map(|extent| extent + 2);
            let (row, col) = (self.expr(row), self.expr(col));
            let copying = format!(
                "tile{tile}.copy_down(&block, &matrix, |t, (y, x)| ({row} as usize % {rows}, {col} as usize % {cols}))"
            );
            let filling = format!("filling{tile}");
            if begun.is_empty() {
                put!(text, "{indent}    let {filling} = block.commit({copying});\n");
            } else {
                let earlier = begun.iter().map(|earlier| format!("{earlier}, ")).collect::<String>();
                put!(
                    text,
                    "{indent}    let ({filling}, ({earlier})) = block.commit_after({copying}, ({earlier}));\n"
                );
            }
            begun.push(filling);
        }
        for Copied { tile, body, .. } in copies {
            put!(text, "{indent}    let shared{tile} = block.share(filling{tile});\n");
            self.statements(body, depth + 1, text);
            put!(text, "{indent}    tile{tile} = block.reuse(shared{tile});\n");
        }
        put!(text, "{indent}}}\n");
    }

    fn expr(&self, expression: &Expr) -> String {
        const AXES: [&str; 2] = ["x", "y"];
        match expression {
            Expr::Constant(number) => format!("{number}_u32"),
            Expr::Scalar => "scalar".to_owned(),
            Expr::Block(axis) => format!("block_{}", AXES[*axis]),
            Expr::Uniform(name) => format!("u{name}"),
            Expr::Thread(axis) => format!("(t.{}() as u32)", AXES[*axis]),
            Expr::ThreadIndex => "(t.index() as u32)".to_owned(),
            Expr::Own(name) => format!("own{name}.of(t)"),
            Expr::Current => "current".to_owned(),
            Expr::Place(coordinate) => format!("({} as u32)", ["y", "x"][*coordinate]),
            Expr::Input(index) => format!("input[{} as usize % input.len()]", self.expr(index)),
            Expr::Shared(number, row, col) => {
                let tile = &self.program.tiles[*number];
                let (row, col) = (self.expr(row), self.expr(col));
                format!("shared{number}.at({row} as usize % {}, {col} as usize % {})", tile.rows, tile.cols)
            }
            Expr::Binary(operator, left, right) => {
                let (left, right) = (self.expr(left), self.expr(right));
                let method = match operator {
                    Operator::Add => "wrapping_add",
                    Operator::Subtract => "wrapping_sub",
                    Operator::Multiply => "wrapping_mul",
                    Operator::Xor => return format!("({left} ^ {right})"),
                    Operator::Min => "min",
                    Operator::ShiftRight => "wrapping_shr",
                };
                format!("{left}.{method}({right})")
            }
            Expr::Select(condition, odd, even) => {
                format!(
                    "(if {} & 1 == 1 {{ {} }} else {{ {} }})",
                    self.expr(condition),
                    self.expr(odd),
                    self.expr(even)
                )
            }
            Expr::Fold(times, step) => {
                format!(
                    "(0..{times}_u32).fold(0_u32, |sum, turn| sum.wrapping_mul(31).wrapping_add({}))",
                    self.expr(step)
                )
            }
            Expr::Turn => "turn".to_owned(),
        }
    }
}

fn closure(combine: Combine) -> &'static str {
    match combine {
        Combine::Add => "|a, b| a.wrapping_add(b)",
        Combine::Xor => "|a, b| a ^ b",
        Combine::Min => "|a, b| a.min(b)",
        Combine::Max => "|a, b| a.max(b)",
    }
}

fn lanes(step: Lanes) -> String {
    match step {
        Lanes::Exchange(mask) => format!("warp.exchange(&lanes, {mask})"),
        Lanes::Before(distance) => format!("warp.before(&lanes, {distance})"),
        Lanes::Of(lane) => format!("let value = warp.of_lane(&lanes, {lane}); warp.each(|_| value)"),
        Lanes::Reduce(combine) => {
            format!("let value = warp.reduce(&lanes, {}); warp.each(|_| value)", closure(combine))
        }
        Lanes::Ballot => {
            "let bits = warp.ballot(&warp.each(|t| lanes.of(t) % 2 == 1)); warp.each(|_| bits)".to_owned()
        }
    }
}
