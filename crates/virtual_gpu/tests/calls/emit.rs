//! Writes a program as PTX.

use std::fmt::Write;

use crate::tree::{DEPTH, Function, Operator, Program, Shape, Statement, WORDS};

struct Text {
    ptx: String,
    /// Number of labels and names so far.
    made: u32,
}

macro_rules! line {
    ($text:expr, $($format:tt)*) => {{
        let _ = writeln!($text.ptx, $($format)*);
    }};
}

/// The module of a program.
pub fn module(program: &Program) -> String {
    let head = ".version 8.5\n.target sm_90\n.address_size 64\n".to_owned();
    let mut text = Text { ptx: head, made: 0 };
    for (at, function) in program.functions.iter().enumerate() {
        line!(text, "{};", signature(at, function));
    }
    for (at, function) in program.functions.iter().enumerate() {
        line!(text, "{} {{", signature(at, function));
        text.registers();
        line!(text, "mov.u32 %depth, depth;");
        text.start("%depth");
        for (at, (param, word)) in function.params.iter().zip(firsts(&function.params)).enumerate() {
            let words: Vec<_> = (0..param.words()).map(|i| format!("%x{i}")).collect();
            text.read(*param, &format!("p{at}"), &words);
            for i in 0..param.words() {
                line!(text, "xor.b32 %w{0}, %w{0}, %x{i};", (word + i) % WORDS);
            }
        }
        text.block(program, &function.body, Some(function.result));
        text.give(function.result, &function.given);
        line!(text, "}}");
    }
    line!(text, ".visible .entry k(.param .u64 out) {{");
    text.registers();
    line!(text, ".reg .b64 %out; mov.u32 %depth, {DEPTH}; mov.u32 %x0, %tid.x;");
    line!(text, "mul.lo.u32 %x1, %x0, 0x9E3779B1;");
    text.start("%x1");
    line!(text, "mov.u32 %w0, %x0;");
    text.block(program, &program.kernel, None);
    line!(
        text,
        "ld.param.u64 %out, [out]; mov.u32 %x0, %tid.x; mad.wide.u32 %out, %x0, {}, %out;",
        4 * WORDS
    );
    for word in 0..WORDS {
        line!(text, "st.global.u32 [%out+{}], %w{word};", 4 * word);
    }
    line!(text, "ret; }}");
    text.ptx
}

/// The index of each parameter's first word.
fn firsts(params: &[Shape]) -> impl Iterator<Item = usize> + '_ {
    params.iter().scan(0, |next, param| Some(std::mem::replace(next, *next + param.words())))
}

/// Declares a value of a shape.
fn declared(shape: Shape, name: &str) -> String {
    match shape {
        Shape::Word => format!(".reg .u32 {name}"),
        Shape::Long => format!(".reg .b64 {name}"),
        Shape::Two => format!(".reg .v2 .u32 {name}"),
        Shape::Four => format!(".reg .v4 .u32 {name}"),
        Shape::Halves => format!(".reg .v2 .b16 {name}"),
        Shape::WordInMemory => format!(".param .b32 {name}"),
        Shape::LongInMemory => format!(".param .b64 {name}"),
        Shape::Bytes(words) => format!(".param .align 8 .b8 {name}[{}]", 4 * words),
    }
}

fn signature(at: usize, function: &Function) -> String {
    format!(
        ".func ({}) f{at}({})",
        declared(function.result, "r"),
        params(function, |i| format!("p{i}"), "depth")
    )
}

fn params(function: &Function, name: impl Fn(usize) -> String, depth: &str) -> String {
    let own = function.params.iter().enumerate().map(|(i, shape)| declared(*shape, &name(i)));
    std::iter::once(format!(".reg .u32 {depth}")).chain(own).collect::<Vec<_>>().join(", ")
}

impl Text {
    fn registers(&mut self) {
        line!(
            self,
            ".reg .u32 %w<{WORDS}>, %x<{WORDS}>, %depth, %n; .reg .b64 %long, %callee; .reg .pred %p;"
        );
    }

    fn fresh(&mut self) -> u32 {
        self.made += 1;
        self.made
    }

    fn start(&mut self, seed: &str) {
        for word in 0..WORDS as u32 {
            line!(self, "add.u32 %w{word}, {seed}, {};", word.wrapping_mul(0x0101_0101));
        }
    }

    /// Reads a value into registers.
    fn read(&mut self, shape: Shape, name: &str, words: &[String]) {
        match shape {
            Shape::Word => line!(self, "mov.u32 {}, {name};", words[0]),
            Shape::Long => line!(self, "mov.b64 {{{}}}, {name};", words.join(", ")),
            Shape::Two => line!(self, "mov.v2.u32 {{{}}}, {name};", words.join(", ")),
            Shape::Four => {
                for (word, part) in words.iter().zip(["x", "y", "z", "w"]) {
                    line!(self, "mov.u32 {word}, {name}.{part};");
                }
            }
            Shape::Halves => line!(self, "mov.b32 {}, {name};", words[0]),
            Shape::LongInMemory => {
                line!(self, "ld.param.b64 %long, [{name}]; mov.b64 {{{}}}, %long;", words.join(", "))
            }
            Shape::WordInMemory | Shape::Bytes(_) => {
                for (i, word) in words.iter().enumerate() {
                    line!(self, "ld.param.b32 {word}, [{name}+{}];", 4 * i);
                }
            }
        }
    }

    /// Writes a value from registers.
    fn write(&mut self, shape: Shape, name: &str, words: &[usize]) {
        let list: Vec<_> = words.iter().map(|word| format!("%w{word}")).collect();
        match shape {
            Shape::Word => line!(self, "mov.u32 {name}, {};", list[0]),
            Shape::Long => line!(self, "mov.b64 {name}, {{{}}};", list.join(", ")),
            Shape::Two => line!(self, "mov.b64 %long, {{{}}}; mov.b64 {name}, %long;", list.join(", ")),
            Shape::Four => line!(self, "mov.v4.u32 {name}, {{{}}};", list.join(", ")),
            Shape::Halves => line!(self, "mov.b32 {name}, {};", list[0]),
            Shape::LongInMemory => {
                line!(self, "mov.b64 %long, {{{}}}; st.param.b64 [{name}], %long;", list.join(", "))
            }
            Shape::WordInMemory | Shape::Bytes(_) => {
                for (i, word) in list.iter().enumerate() {
                    line!(self, "st.param.b32 [{name}+{}], {word};", 4 * i);
                }
            }
        }
    }

    fn give(&mut self, result: Shape, given: &[usize]) {
        self.write(result, "r", given);
        line!(self, "ret;");
    }

    fn block(&mut self, program: &Program, body: &[Statement], result: Option<Shape>) {
        for statement in body {
            self.statement(program, statement, result);
        }
    }

    fn statement(&mut self, program: &Program, statement: &Statement, result: Option<Shape>) {
        match statement {
            Statement::Set { to, a, operator, b } => {
                let name = match operator {
                    Operator::Add => "add.u32",
                    Operator::Subtract => "sub.u32",
                    Operator::Multiply => "mul.lo.u32",
                    Operator::Xor => "xor.b32",
                    Operator::ShiftRight => "shr.u32",
                };
                line!(self, "{name} %w{to}, %w{a}, %w{b};");
            }
            Statement::Constant { to, value } => line!(self, "mov.u32 %w{to}, {value};"),
            Statement::If { word, bit, then, otherwise } => {
                let at = self.fresh();
                line!(
                    self,
                    "and.b32 %n, %w{word}, {}; setp.eq.u32 %p, %n, 0; @%p bra ELSE{at};",
                    1u32 << bit
                );
                self.block(program, then, result);
                line!(self, "bra END{at};\nELSE{at}:");
                self.block(program, otherwise, result);
                line!(self, "END{at}:");
            }
            Statement::Loop { word, body } => {
                let at = self.fresh();
                line!(self, ".reg .u32 %left{at}; and.b32 %left{at}, %w{word}, 3;\nAGAIN{at}:");
                self.block(program, body, result);
                line!(
                    self,
                    "setp.eq.u32 %p, %left{at}, 0; sub.u32 %left{at}, %left{at}, 1; @!%p bra AGAIN{at};"
                );
            }
            Statement::Call { function, through_register, arguments, results } => {
                self.call(program, *function, *through_register, arguments, results);
            }
            Statement::Return { given } => {
                if let Some(shape) = result {
                    self.give(shape, given);
                }
            }
        }
    }

    fn call(
        &mut self,
        program: &Program,
        function: usize,
        through_register: bool,
        arguments: &[Vec<usize>],
        results: &[usize],
    ) {
        let at = self.fresh();
        let called = &program.functions[function];
        line!(self, "setp.eq.u32 %p, %depth, 0; @%p bra PAST{at};\n{{");
        line!(self, ".reg .u32 less; sub.u32 less, %depth, 1; {};", declared(called.result, "result"));
        let mut names = vec!["less".to_owned()];
        for (i, (shape, words)) in called.params.iter().zip(arguments).enumerate() {
            let name = format!("a{i}");
            line!(self, "{};", declared(*shape, &name));
            self.write(*shape, &name, words);
            names.push(name);
        }
        let names = names.join(", ");
        if through_register {
            let given = declared(called.result, "_");
            line!(self, "P{at}: .callprototype ({given}) _ ({});", params(called, |_| "_".into(), "_"));
            line!(self, "mov.u64 %callee, f{function}; call (result), %callee, ({names}), P{at};");
        } else {
            line!(self, "call (result), f{function}, ({names});");
        }
        let words: Vec<_> = results.iter().map(|word| format!("%w{word}")).collect();
        self.read(called.result, "result", &words);
        line!(self, "}}\nPAST{at}:");
    }
}
