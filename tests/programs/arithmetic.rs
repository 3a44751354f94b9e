//! Random straight and divergent arithmetic on words, as PTX and as what it comes to.

use std::fmt::Write;

use crate::Random;

#[derive(Clone, Copy)]
enum Operation {
    Add,
    Subtract,
    Multiply,
    Xor,
    And,
    Least,
    Shift(u32),
    /// The second operand, if the first is odd.
    Choose,
}

/// One step: registers by number.
#[derive(Clone, Copy)]
struct Step {
    operation: Operation,
    target: usize,
    operands: [usize; 2],
    /// Only for threads whose register of this number is even.
    guard: Option<usize>,
}

/// A function of two words.
pub struct Function(Vec<Step>);

const REGISTERS: usize = 6;

impl Function {
    pub fn new(random: &mut Random) -> Self {
        let register = |random: &mut Random| random.below(REGISTERS as u64) as usize;
        let count = 1 + random.below(24);
        let steps = (0..count).map(|_| Step {
            operation: match random.below(8) {
                0 => Operation::Add,
                1 => Operation::Subtract,
                2 => Operation::Multiply,
                3 => Operation::Xor,
                4 => Operation::And,
                5 => Operation::Least,
                6 => Operation::Shift(random.below(31) as u32),
                _ => Operation::Choose,
            },
            target: register(random),
            operands: [register(random), register(random)],
            guard: (random.below(4) == 0).then(|| register(random)),
        });
        Function(steps.collect())
    }

    /// PTX from `%v0` and `%v1` to `%v0`; it needs `%v0` to `%v7` and the predicate `%g`. Guarded steps are branches or
    /// predicated, so that threads part and meet.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for register in 2..REGISTERS {
            writeln!(text, "mov.u32 %v{register}, {};", register * 77).unwrap();
        }
        for (index, step) in self.0.iter().enumerate() {
            let (d, [a, b]) = (step.target, step.operands);
            if let Some(guard) = step.guard {
                writeln!(text, "and.b32 %v7, %v{guard}, 1; setp.ne.u32 %g, %v7, 0; @%g bra L{index};")
                    .unwrap();
            }
            let line = match step.operation {
                Operation::Add => format!("add.u32 %v{d}, %v{a}, %v{b};"),
                Operation::Subtract => format!("sub.u32 %v{d}, %v{a}, %v{b};"),
                Operation::Multiply => format!("mul.lo.u32 %v{d}, %v{a}, %v{b};"),
                Operation::Xor => format!("xor.b32 %v{d}, %v{a}, %v{b};"),
                Operation::And => format!("and.b32 %v{d}, %v{a}, %v{b};"),
                Operation::Least => format!("min.u32 %v{d}, %v{a}, %v{b};"),
                Operation::Shift(by) => format!("shr.u32 %v{d}, %v{a}, {by};"),
                Operation::Choose => format!(
                    "and.b32 %v7, %v{a}, 1; setp.ne.u32 %g, %v7, 0; selp.b32 %v{d}, %v{b}, %v{a}, %g;"
                ),
            };
            writeln!(text, "{line}").unwrap();
            if step.guard.is_some() {
                writeln!(text, "L{index}:").unwrap();
            }
        }
        text
    }

    /// What it comes to.
    pub fn of(&self, x: u32, y: u32) -> u32 {
        let mut v: [u32; REGISTERS] = std::array::from_fn(|register| register as u32 * 77);
        (v[0], v[1]) = (x, y);
        for step in &self.0 {
            if step.guard.is_some_and(|guard| v[guard] % 2 == 1) {
                continue;
            }
            let [a, b] = step.operands.map(|register| v[register]);
            v[step.target] = match step.operation {
                Operation::Add => a.wrapping_add(b),
                Operation::Subtract => a.wrapping_sub(b),
                Operation::Multiply => a.wrapping_mul(b),
                Operation::Xor => a ^ b,
                Operation::And => a & b,
                Operation::Least => a.min(b),
                Operation::Shift(by) => a >> by,
                Operation::Choose => {
                    if a % 2 == 1 {
                        b
                    } else {
                        a
                    }
                }
            };
        }
        v[0]
    }
}
