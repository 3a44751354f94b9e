//! Programs as Rust.

use crate::program::{Expr, Map, Operator, Program, Statement};
use std::fmt::Write;

/// A crate of kernels without `unsafe`.
pub fn of(programs: &[Program]) -> String {
    let mut text = String::from(
        "#![no_std]\n#![forbid(unsafe_code)]\n#![allow(unused, clippy::all)]\n\nuse blockwise::prelude::*;\nuse blockwise::Part;\n",
    );
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
        Map::Tiles(r, c) => format!("MatrixMut<u32, Tiles<{r}, {c}>>"),
        Map::Mirrored(r, c) => format!("MatrixMut<u32, Mirrored<{r}, {c}>>"),
    };
    put!(text, "    input: &[u32],\n    scalar: u32,\n    mut out: {output},\n) {{\n");
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
                    let filled = list(&|tile, value| {
                        format!("tile{tile}.fill(&block, |t, (y, x)| {})", self.expr(value))
                    });
                    let (tiles, shared) =
                        (list(&|tile, _| format!("tile{tile}")), list(&|tile, _| format!("shared{tile}")));
                    put!(
                        text,
                        "{{\n{indent}    let filled = {filled};\n{indent}    let {shared} = block.share(filled);\n"
                    );
                    self.statements(body, depth + 1, text);
                    put!(text, "{indent}    {tiles} = block.reuse({shared});\n{indent}}}\n");
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
