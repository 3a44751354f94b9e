//! Floats of the block that decide whether it comes to a barrier, while some of its threads compute them, too.
//!
//! LLVM takes over for the block what the early threads have computed, and computes it for the others on their way only (partial
//! redundancy elimination). There it may choose another operation, or fold one whose operands are known on that way; then threads part
//! where the float decides. Nothing else depends on it, so what a program leaves is known without floats: whatever is computed of it
//! is only compared with a number that it is not.

use crate::program::Expr;

#[derive(Debug)]
pub struct Decision {
    pub float: Float,
    /// The numbers that it is made of, each the same for all threads.
    pub of: [Expr; 3],
    /// Which threads compute it early, and which of them do more before and between.
    pub early: [Expr; 2],
    /// The tile that the barrier shares, and its elements.
    pub tile: usize,
    pub fill: Expr,
}

/// An operation that LLVM may compute in several ways, or fold to another result than hardware has.
#[derive(Clone, Copy, Debug)]
pub enum Float {
    MultiplyAdd,
    MultiplySubtract,
    SubtractProduct,
    NotANumber,
    Least,
    Remainder,
    Converted,
    OfStatic,
    /// By a function that `core` holds compiled.
    Parsed,
}

impl Float {
    pub const ALL: [Self; 9] = [
        Self::MultiplyAdd,
        Self::MultiplySubtract,
        Self::SubtractProduct,
        Self::NotANumber,
        Self::Least,
        Self::Remainder,
        Self::Converted,
        Self::OfStatic,
        Self::Parsed,
    ];

    /// The text, of the floats `a`, `b` and `c` and of `n`, which is less than 3; and the bit that decides.
    fn text(self) -> (&'static str, u32) {
        match self {
            Self::MultiplyAdd => ("a * b + c", 0),
            Self::MultiplySubtract => ("a * b - c", 0),
            Self::SubtractProduct => ("c - a * b", 0),
            Self::NotANumber => ("(n * 3) as f32 / (n * 3) as f32", 0),
            Self::Least => ("((n * 3) as f32).min(-((n * 3) as f32))", 31),
            Self::Remainder => ("a % b * c + a", 0),
            Self::Converted => ("(a * 1e9) as i32 as f32 * b + c", 0),
            Self::OfStatic => ("TENTHS[n as usize] * a + c", 0),
            Self::Parsed => ("TEXTS[n as usize].parse::<f32>().unwrap_or(a) * b + c", 0),
        }
    }
}

/// Items of the programs' crate for them.
pub const ITEMS: &str = "
static TENTHS: [f32; 3] = [0.1, -2.3, 0.7];
static TEXTS: [&str; 3] = [\"77.7\", \"-1.9e-3\", \"0.3\"];

fn float(number: u32) -> f32 {
    (number % 65521) as f32 * 0.37 + 0.1
}

/// 1 for one number only.
fn is_found(number: u32) -> u32 {
    (number == 0x1e37_79b9) as u32
}
";

const TEXT: &str = "\
{
    let [a, b, c] = [A, B, C].map(|number| number.wrapping_add(scalar));
    let (a, b, c, n) = (float(a), float(b), float(c), a % 3);
    block.each(|t| if t.index() as u32 <= EARLY % 32 || n != 0 {
        let meanwhile = (t.index() as u32 ^ MEANWHILE) & 2 == 2;
        if meanwhile {
            counters.add(t, 0, 0);
        }
        counters.add(t, 0, is_found((a * b).to_bits()));
        if !meanwhile {
            counters.add(t, 0, 0);
        }
        counters.add(t, 0, is_found((FLOAT).to_bits()));
    });
    let decides = FLOAT;
    if decides.to_bits() >> BIT & 1 == 1 {
        let shared = block.share(FILL);
        own0.update(&block, |t, value| *value ^= is_found(shared.at(0, 0)));
        tileTILE = block.reuse(shared);
    }
}";

/// The statement as Rust.
pub fn text(decision: &Decision, expr: impl Fn(&Expr) -> String, fill: &str) -> String {
    let (float, bit) = decision.float.text();
    let [a, b, c] = decision.of.each_ref().map(&expr);
    let [early, meanwhile] = decision.early.each_ref().map(&expr);
    let (bit, tile) = (bit.to_string(), decision.tile.to_string());
    let parts = [
        ("A, B, C", &format!("{a}, {b}, {c}")[..]),
        ("EARLY", &early),
        ("MEANWHILE", &meanwhile),
        ("FLOAT", float),
        ("BIT", &bit),
        ("FILL", fill),
        ("TILE", &tile),
    ];
    parts.iter().fold(TEXT.to_owned(), |text, (name, part)| text.replace(name, part))
}
