//! The text of a program as it grows: random choices, registers, and forms of instructions.

use std::fmt::Write;

pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 20) % end
    }

    pub fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }

    pub fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len() as u64) as usize]
    }
}

/// Registers of each kind: the letter by which forms name them, what their names start with, how many there are.
pub const REGISTERS: [(char, &str, u64); 6] =
    [('r', "%r", 10), ('h', "%h", 3), ('d', "%d", 4), ('f', "%f", 6), ('g', "%g", 3), ('p', "%p", 4)];

const WORDS: [&str; 9] = ["0", "1", "31", "32", "255", "-1", "0x80000000", "7", "0x7fffffff"];

/// A program under way.
pub struct Source {
    pub random: Random,
    pub ptx: String,
    labels: u32,
}

impl Source {
    pub fn new(seed: u64) -> Self {
        Source { random: Random::new(seed), ptx: String::new(), labels: 0 }
    }

    pub fn line(&mut self, line: &str) {
        // Writing to a string does not fail.
        let _ = writeln!(self.ptx, "    {line}");
    }

    pub fn label(&mut self) -> String {
        self.labels += 1;
        format!("$L{}", self.labels)
    }

    /// The guard that some instructions have.
    pub fn guard(&mut self) -> String {
        match self.random.below(5) {
            0 => self.form("@$p "),
            1 => self.form("@!$p "),
            _ => String::new(),
        }
    }

    /// A line of a list, filled in. Lines that start with `#` are none.
    pub fn form_of(&mut self, list: &str) -> String {
        let forms: Vec<&str> =
            list.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
        let form = self.random.of(&forms);
        self.form(form)
    }

    /// A form, filled in: `operations.txt` says how.
    pub fn form(&mut self, form: &str) -> String {
        let mut text = String::new();
        let mut rest = form;
        while let Some(at) = rest.find(['<', '$']) {
            text += &rest[..at];
            rest = &rest[at + 1..];
            if form.as_bytes()[form.len() - rest.len() - 1] == b'<' {
                let (choice, behind) = rest.split_once('>').expect("a choice has an end");
                let choices: Vec<&str> = choice.split('|').collect();
                let chosen = self.random.of(&choices);
                text += &self.form(chosen);
                rest = behind;
            } else {
                let letter = rest.chars().next().expect("a letter stands behind $");
                text += &self.operand(letter);
                rest = &rest[1..];
            }
        }
        text + rest
    }

    fn operand(&mut self, letter: char) -> String {
        match letter {
            'w' if self.random.one_in(5) => self.random.of(&WORDS).to_owned(),
            'w' => self.operand('r'),
            'n' => self.random.below(32).to_string(),
            'b' => self.random.below(256).to_string(),
            'k' => (self.random.next() as u32).to_string(),
            _ => {
                let kind = REGISTERS.iter().find(|kind| kind.0 == letter).expect("a letter of a kind");
                format!("{}{}", kind.1, self.random.below(kind.2))
            }
        }
    }
}
