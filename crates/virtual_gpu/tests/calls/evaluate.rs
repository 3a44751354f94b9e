//! Computes what a program does, from its tree alone.

use crate::tree::{DEPTH, Operator, Program, Shape, Statement, WORDS};

type Words = [u32; WORDS];

/// A thread's variables at the end.
pub fn kernel(program: &Program, thread: u32) -> Words {
    let mut words = start(thread.wrapping_mul(0x9E37_79B1));
    words[0] = thread;
    run(program, &program.kernel, &mut words, DEPTH);
    words
}

/// A function's initial variables, before it reads its arguments.
pub fn start(seed: u32) -> Words {
    std::array::from_fn(|i| seed.wrapping_add((i as u32).wrapping_mul(0x0101_0101)))
}

fn call(program: &Program, function: usize, depth: u32, arguments: &[Vec<u32>]) -> Vec<u32> {
    let function = &program.functions[function];
    let mut words = start(depth);
    for (at, word) in arguments.iter().flatten().enumerate() {
        words[at % WORDS] ^= word;
    }
    let given = run(program, &function.body, &mut words, depth);
    let given = given.unwrap_or_else(|| function.given.iter().map(|&word| words[word]).collect());
    assert_eq!(given.len(), Shape::words(function.result));
    given
}

/// The returned value, if a `return` was reached.
fn run(program: &Program, body: &[Statement], words: &mut Words, depth: u32) -> Option<Vec<u32>> {
    for statement in body {
        match statement {
            Statement::Set { to, a, operator, b } => {
                let (a, b) = (words[*a], words[*b]);
                words[*to] = match operator {
                    Operator::Add => a.wrapping_add(b),
                    Operator::Subtract => a.wrapping_sub(b),
                    Operator::Multiply => a.wrapping_mul(b),
                    Operator::Xor => a ^ b,
                    Operator::ShiftRight => a.checked_shr(b).unwrap_or(0),
                };
            }
            Statement::Constant { to, value } => words[*to] = *value,
            Statement::If { word, bit, then, otherwise } => {
                let taken = if words[*word] >> bit & 1 != 0 { then } else { otherwise };
                let given = run(program, taken, words, depth);
                if given.is_some() {
                    return given;
                }
            }
            Statement::Loop { word, body } => {
                for _ in 0..=words[*word] & 3 {
                    run(program, body, words, depth);
                }
            }
            Statement::Call { function, arguments, results, .. } if depth > 0 => {
                let values = |of: &Vec<usize>| of.iter().map(|&word| words[word]).collect();
                let arguments: Vec<Vec<u32>> = arguments.iter().map(values).collect();
                let given = call(program, *function, depth - 1, &arguments);
                for (&to, value) in results.iter().zip(given) {
                    words[to] = value;
                }
            }
            Statement::Call { .. } => {}
            Statement::Return { given } => return Some(given.iter().map(|&word| words[word]).collect()),
        }
    }
    None
}
