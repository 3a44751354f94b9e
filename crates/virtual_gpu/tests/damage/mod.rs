//! Programs to damage, and how.

use crate::fixture;

const PROGRAMS: [&str; 5] = [
    include_str!("../ptx/flow.ptx"),
    include_str!("../ptx/spaces.ptx"),
    include_str!("../ptx/barriers.ptx"),
    include_str!("../ptx/matrix.ptx"),
    include_str!("../ptx/cluster.ptx"),
];

/// What nvcc made of CUDA C++, packed by gzip.
const COMPILED: [&[u8]; 5] = [
    include_bytes!("../cuda/control.ptx.gz"),
    include_bytes!("../cuda/half.ptx.gz"),
    include_bytes!("../cuda/integer.ptx.gz"),
    include_bytes!("../cuda/memory.ptx.gz"),
    include_bytes!("../cuda/together.ptx.gz"),
];

/// Programs as they are before they are damaged.
pub fn programs() -> Vec<String> {
    COMPILED.into_iter().map(fixture::unpacked).chain(PROGRAMS.map(String::from)).collect()
}

/// Numbers that break arithmetic on sizes, offsets and indices.
const NUMBERS: [&str; 14] = [
    "0",
    "1",
    "-1",
    "3",
    "31",
    "32",
    "64",
    "255",
    "65536",
    "2147483647",
    "4294967295",
    "-2147483648",
    "9223372036854775807",
    "18446744073709551615",
];

const WORDS: [&str; 40] = [
    ".u8", ".s8", ".u16", ".b16", ".s32", ".u32", ".b32", ".f32", ".f16", ".f16x2", ".bf16", ".u64", ".b64",
    ".f64", ".b128", ".pred", ".v2", ".v4", ".sat", ".ftz", ".rn", ".rz", ".wide", ".hi", ".lo", ".global",
    ".shared", ".local", ".param", ".const", ".sync", ".cc", "_", "%tid.x", "%p1", "%r1", "%rd1", "%f1", "{",
    "}",
];

pub struct Random(pub u64);

impl Random {
    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n.max(1)
    }
}

/// Splits into words, numbers and signs, keeping what lies between.
fn tokens(text: &str) -> Vec<&str> {
    let class = |c: char| match c {
        c if c.is_alphanumeric() || "_$%.".contains(c) => 0,
        c if c.is_whitespace() => 1,
        _ => 2,
    };
    let mut tokens = Vec::new();
    let mut start = 0;
    let mut before = None;
    for (at, c) in text.char_indices() {
        let now = class(c);
        // Modifiers are words of their own, signs stand alone.
        if before.is_some_and(|b| b != now || now == 2 || (now == 0 && c == '.')) {
            tokens.push(&text[start..at]);
            start = at;
        }
        before = Some(now);
    }
    tokens.push(&text[start..]);
    tokens
}

/// A program with some words, numbers and lines that are not its own.
pub fn damage(text: &str, random: &mut Random) -> String {
    let mut tokens = tokens(text);
    for _ in 0..1 + random.below(3) {
        let at = random.below(tokens.len());
        let number = tokens[at].starts_with(|c: char| c.is_ascii_digit());
        match random.below(8) {
            0 => tokens[at] = "",
            1 => tokens[at] = tokens[random.below(tokens.len())],
            2 | 3 if number => tokens[at] = NUMBERS[random.below(NUMBERS.len())],
            2 => tokens[at] = WORDS[random.below(WORDS.len())],
            3 => {
                let other = random.below(tokens.len());
                tokens.swap(at, other);
            }
            // A name for another of the same kind.
            4..=6 => {
                let first = tokens[at].chars().next();
                let same: Vec<&str> = tokens.iter().copied().filter(|t| t.chars().next() == first).collect();
                tokens[at] = same[random.below(same.len())];
            }
            _ => {
                let end = (at + 1 + random.below(30)).min(tokens.len());
                let copy: Vec<&str> = tokens[at..end].to_vec();
                tokens.splice(at..at, copy);
            }
        }
    }
    tokens.concat()
}
