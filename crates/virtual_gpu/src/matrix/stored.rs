//! The elements of A and B by their bits, gathered from where a product finds them.
//!
//! Rows of A stand beside each other, and so do columns of B: eight rows, and four columns of every second one, as lanes
//! hold D ([`super::panels`]).

use super::descriptor::Lines;
use super::mma::{Row, field};

/// Where A or B comes from. Registers hold eight columns of B.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source<'a> {
    Registers(&'a [Row]),
    Lines(Lines<'a>),
}

/// 8 or 16 rows of A and the columns of B, whose number is a multiple of 8.
#[derive(Debug, Default)]
pub(crate) struct Stored {
    /// For each eight rows, for each k, one of each row.
    pub rows: Vec<[u32; 8]>,
    /// For each eight columns, of the even ones and then of the odd ones, for each k, one of each.
    pub columns: Vec<[u32; 4]>,
    pub depth: usize,
    /// Elements of a sparse A's rows that are not stored: their products are none, whatever B has there. Empty for a dense A.
    pub absent: Vec<[bool; 8]>,
    /// Rows of which not all elements are stored.
    kept: Vec<[u32; 8]>,
}

/// Calls a function for the number of elements in a word.
macro_rules! by_elements {
    ($bits:expr, $this:ident.$function:ident($source:expr)) => {
        match $bits {
            4 => $this.$function::<8>($source),
            8 => $this.$function::<4>($source),
            16 => $this.$function::<2>($source),
            _ => $this.$function::<1>($source),
        }
    };
}

impl Stored {
    /// Begins a product with `rows` rows of A, each of elements of `bits` bits along k.
    pub fn set_rows(&mut self, a: Source<'_>, [rows, depth]: [usize; 2], bits: u32) {
        self.depth = depth;
        self.rows.resize(rows / 8 * depth, [0; 8]);
        self.absent.clear();
        by_elements!(bits, self.set_rows_of(a));
    }

    /// The same if of each row only half are stored. `place` gives the position along k of an element by its row and its
    /// number there.
    pub fn set_sparse_rows(
        &mut self,
        a: Source<'_>,
        [rows, depth]: [usize; 2],
        bits: u32,
        place: impl Fn(usize, usize) -> usize,
    ) {
        self.set_rows(a, [rows, depth / 2], bits);
        std::mem::swap(&mut self.rows, &mut self.kept);
        self.depth = depth;
        self.rows.clear();
        self.rows.resize(rows / 8 * depth, [0; 8]);
        self.absent.resize(rows / 8 * depth, [true; 8]);
        for (eight, kept) in self.kept.chunks_exact(depth / 2).enumerate() {
            for (number, elements) in kept.iter().enumerate() {
                for (row, &element) in elements.iter().enumerate() {
                    let at = eight * depth + place(8 * eight + row, number);
                    (self.rows[at][row], self.absent[at][row]) = (element, false);
                }
            }
        }
    }

    /// Goes on with `columns` columns of B.
    pub fn set_columns(&mut self, b: Source<'_>, columns: usize, bits: u32) {
        self.columns.resize(columns / 4 * self.depth, [0; 4]);
        by_elements!(bits, self.set_columns_of(b));
    }

    /// Sets each element of `rows` rows and columns, given by its line and its place along k.
    pub fn set_each(
        &mut self,
        [rows, columns, depth]: [usize; 3],
        a: impl Fn(usize, usize) -> u32,
        b: impl Fn(usize, usize) -> u32,
    ) {
        self.depth = depth;
        self.rows.clear();
        self.absent.clear();
        self.columns.clear();
        for eight in (0..rows).step_by(8) {
            self.rows.extend((0..depth).map(|k| std::array::from_fn::<_, 8, _>(|row| a(eight + row, k))));
        }
        for first in (0..columns).step_by(8).flat_map(|eight| [eight, eight + 1]) {
            self.columns
                .extend((0..depth).map(|k| std::array::from_fn::<_, 4, _>(|two| b(first + 2 * two, k))));
        }
    }

    fn set_rows_of<const PER: usize>(&mut self, a: Source<'_>) {
        let halves = self.rows.len() / self.depth;
        for (half, rows) in self.rows.chunks_exact_mut(self.depth).enumerate() {
            match a {
                Source::Registers(registers) => {
                    let registers = registers.iter().skip(half).step_by(halves);
                    for (rows, words) in rows.chunks_exact_mut(4 * PER).zip(registers) {
                        gather::<8, PER>(rows, |at, row| words[4 * row + at]);
                    }
                }
                Source::Lines(lines) if lines.transposed => {
                    for (row, words) in rows.iter_mut().zip(lines.each()) {
                        for (two, &word) in row.as_chunks_mut::<2>().0.iter_mut().zip(&words[4 * half..]) {
                            *two = [word & 0xFFFF, word >> 16];
                        }
                    }
                }
                Source::Lines(lines) => {
                    let each: [&[u32]; 8] = std::array::from_fn(|row| lines.line(8 * half + row));
                    gather::<8, PER>(rows, |at, row| each[row][at]);
                }
            }
        }
    }

    fn set_columns_of<const PER: usize>(&mut self, b: Source<'_>) {
        for (eight, both) in self.columns.chunks_exact_mut(2 * self.depth).enumerate() {
            let (even, odd) = both.split_at_mut(self.depth);
            if let Source::Lines(lines) = b
                && lines.transposed
            {
                for ((even, odd), words) in even.iter_mut().zip(odd).zip(lines.each()) {
                    let words = words.as_chunks::<4>().0[eight];
                    *even = words.map(|word| word & 0xFFFF);
                    *odd = words.map(|word| word >> 16);
                }
                continue;
            }
            for (first, columns) in [even, odd].into_iter().enumerate() {
                match b {
                    Source::Registers(registers) => {
                        for (columns, words) in columns.chunks_exact_mut(4 * PER).zip(registers) {
                            gather::<4, PER>(columns, |at, two| words[4 * (2 * two + first) + at]);
                        }
                    }
                    Source::Lines(lines) => {
                        let each: [&[u32]; 4] =
                            std::array::from_fn(|two| lines.line(8 * eight + 2 * two + first));
                        gather::<4, PER>(columns, |at, two| each[two][at]);
                    }
                }
            }
        }
    }

    /// Puts the first of each two `run`s along k into the first half, and the others into the second.
    pub fn part(&mut self, run: usize) {
        fn part<T: Copy>(lines: &mut [T], run: usize, moved: &mut Vec<T>) {
            moved.clear();
            for part in 0..2 {
                moved.extend(lines.chunks_exact(run).skip(part).step_by(2).flatten());
            }
            lines.copy_from_slice(moved);
        }
        let (mut rows, mut absent, mut columns) = (Vec::new(), Vec::new(), Vec::new());
        self.rows.chunks_exact_mut(self.depth).for_each(|lines| part(lines, run, &mut rows));
        self.absent.chunks_exact_mut(self.depth).for_each(|lines| part(lines, run, &mut absent));
        self.columns.chunks_exact_mut(self.depth).for_each(|lines| part(lines, run, &mut columns));
    }

    /// Whether any bit is set in each row of A.
    pub fn marked_rows(&self) -> impl Iterator<Item = bool> {
        self.rows.chunks_exact(self.depth).flat_map(marked)
    }

    /// Whether any bit is set in each column of B.
    pub fn marked_columns(&self) -> impl Iterator<Item = bool> {
        self.columns.chunks_exact(2 * self.depth).flat_map(|eight| {
            let (even, odd) = eight.split_at(self.depth);
            let (even, odd) = (marked(even), marked(odd));
            (0..8).map(move |column| [even, odd][column % 2][column / 2])
        })
    }
}

/// Sets `N` lines beside each other, of whose words each holds `PER` elements.
#[inline(always)]
fn gather<const N: usize, const PER: usize>(lines: &mut [[u32; N]], word: impl Fn(usize, usize) -> u32) {
    for (at, elements) in lines.as_chunks_mut::<PER>().0.iter_mut().enumerate() {
        let words: [u32; N] = std::array::from_fn(|line| word(at, line));
        for (e, beside) in elements.iter_mut().enumerate() {
            *beside = words.map(|word| field(word, e, 32 / PER as u32));
        }
    }
}

/// Whether any bit is set, for each of `N` beside each other.
fn marked<const N: usize>(along: &[[u32; N]]) -> [bool; N] {
    let all = along.iter().fold([0; N], |all, bits| std::array::from_fn(|at| all[at] | bits[at]));
    all.map(|bits| bits != 0)
}
