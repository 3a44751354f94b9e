//! Generates programs.

use crate::tree::{Function, Operator, Program, Shape, Statement, WORDS};

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }

    fn words(&mut self, count: usize) -> Vec<usize> {
        (0..count).map(|_| self.below(WORDS)).collect()
    }

    fn shape(&mut self) -> Shape {
        match self.below(9) {
            0 => Shape::Word,
            1 => Shape::Long,
            2 => Shape::Two,
            3 => Shape::Four,
            4 => Shape::Halves,
            5 => Shape::WordInMemory,
            6 => Shape::LongInMemory,
            _ => Shape::Bytes(1 + self.below(WORDS)),
        }
    }
}

/// A function's parameters and results.
struct Signature {
    params: Vec<Shape>,
    result: Shape,
}

/// The program for a seed.
pub fn program(seed: u64) -> Program {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5555);
    random.below(2);
    let signatures: Vec<Signature> = (0..1 + random.below(4))
        .map(|_| Signature {
            params: (0..random.below(4)).map(|_| random.shape()).collect(),
            result: random.shape(),
        })
        .collect();
    let functions = signatures.iter().map(|own| {
        // Two calls each: with this depth, a thread makes at most 15.
        let mut calls = 2;
        let body = block(&mut random, &signatures, &mut calls, Some(own.result), 3);
        Function {
            params: own.params.clone(),
            result: own.result,
            body,
            given: random.words(own.result.words()),
        }
    });
    let functions = functions.collect();
    let mut calls = 2;
    let mut kernel = block(&mut random, &signatures, &mut calls, None, 2);
    kernel.push(call(&mut random, &signatures));
    Program { functions, kernel }
}

fn call(random: &mut Random, signatures: &[Signature]) -> Statement {
    let function = random.below(signatures.len());
    let called = &signatures[function];
    // Each result goes to its own variable.
    let first = random.below(WORDS);
    Statement::Call {
        function,
        through_register: random.below(4) == 0,
        arguments: called.params.iter().map(|shape| random.words(shape.words())).collect(),
        results: (0..called.result.words()).map(|i| (first + i) % WORDS).collect(),
    }
}

/// `result`: of the enclosing function. `deep`: how many levels blocks may nest.
fn block(
    random: &mut Random,
    signatures: &[Signature],
    calls: &mut u32,
    result: Option<Shape>,
    deep: u32,
) -> Vec<Statement> {
    let mut statements = Vec::new();
    for _ in 0..1 + random.below(5) {
        let statement = match random.below(10) {
            0..=2 => {
                use Operator::*;
                let operator = [Add, Subtract, Multiply, Xor, ShiftRight][random.below(5)];
                let (to, a, b) = (random.below(WORDS), random.below(WORDS), random.below(WORDS));
                Statement::Set { to, a, operator, b }
            }
            3 => Statement::Constant {
                to: random.below(WORDS),
                value: (random.below(1 << 16) * 0x1_0003) as u32,
            },
            4..=6 if deep > 0 => Statement::If {
                word: random.below(WORDS),
                bit: random.below(6) as u32,
                then: block(random, signatures, calls, result, deep - 1),
                otherwise: block(random, signatures, calls, result, deep - 1),
            },
            7 if deep > 0 => {
                let body = block(random, signatures, &mut 0, None, 0);
                Statement::Loop { word: random.below(WORDS), body }
            }
            8 if deep < 3 && result.is_some() => {
                let given = random.words(result.map_or(0, Shape::words));
                statements.push(Statement::Return { given });
                break;
            }
            _ if *calls > 0 => {
                *calls -= 1;
                call(random, signatures)
            }
            _ => continue,
        };
        statements.push(statement);
    }
    statements
}
