//! `wmma`: fragments whose layout is opaque to programs.
//!
//! The manual does not say which lane holds which element, so here a fragment is the matrix in row-major order,
//! distributed in sequence: lane 0 holds the first elements. If a fragment has room for more (`f16` operands always
//! take eight registers), the matrix is repeated.

use super::Buffers;
use super::element::{Accumulator, Element, Family};
use super::mma::{Lines, Row, Shape, field, rounding};
use super::panels::Elements;
use super::product;
use crate::alu::Round;

/// The matrix that a fragment belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Matrix {
    A,
    B,
    /// C or D.
    Accumulator,
}

/// Type of an element of a fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Operand(Element),
    Accumulator(Accumulator),
}

impl Format {
    pub fn bits(self) -> u32 {
        match self {
            Self::Operand(element) => element.bits(),
            Self::Accumulator(accumulator) => accumulator.bits(),
        }
    }
}

/// `wmma.load` and `wmma.store`: the matrix and its layout in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fragment {
    pub matrix: Matrix,
    pub shape: Shape,
    pub format: Format,
    /// `.col`
    pub by_columns: bool,
}

/// The part of memory that one lane's register holds: an element's offset from the start, in bits, and how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LaneElement {
    /// Offset in memory, in elements.
    pub offset: u64,
    /// Element of the register.
    pub index: usize,
}

impl Fragment {
    /// Reads the modifiers after `wmma.load.a` and the like, without the space.
    pub fn parse(words: &[&str]) -> Result<Self, String> {
        let [_, matrix, "sync", "aligned", layout, shape, ty] = words else {
            return Err("expected a matrix, `.sync.aligned`, a layout, a shape and a type".into());
        };
        let matrix = match *matrix {
            "a" => Matrix::A,
            "b" => Matrix::B,
            "c" | "d" => Matrix::Accumulator,
            other => return Err(format!("`.{other}` is not a matrix")),
        };
        let shape = Shape::from_word(shape).ok_or_else(|| format!("`.{shape}` is not a shape"))?;
        let format = match matrix {
            Matrix::Accumulator => Accumulator::from_word(ty).map(Format::Accumulator),
            _ => Element::from_word(ty).map(Format::Operand),
        };
        let format = format.ok_or_else(|| format!("`.{ty}` is not a type of this matrix"))?;
        let made = Self { matrix, shape, format, by_columns: *layout == "col" };
        if format.bits() < 8 && made.by_columns != (matrix == Matrix::B) {
            return Err("elements of less than a byte lie by rows in A and by columns in B".into());
        }
        if is_known(shape, format) {
            Ok(made)
        } else {
            Err("there is no such combination of shape and type".into())
        }
    }

    fn rows(&self) -> usize {
        if self.matrix == Matrix::B { self.shape.k } else { self.shape.m }
    }

    fn columns(&self) -> usize {
        if self.matrix == Matrix::A { self.shape.k } else { self.shape.n }
    }

    /// Registers per lane.
    pub fn registers(&self) -> usize {
        registers(self.rows() * self.columns(), self.format)
    }

    /// Elements from one row (or column) to the next, if the instruction does not specify it.
    pub fn tight_stride(&self) -> u64 {
        (if self.by_columns { self.rows() } else { self.columns() }) as u64
    }

    /// Where the elements of a lane's register are in memory.
    pub fn pieces(
        &self,
        register: usize,
        lane: usize,
        stride: u64,
    ) -> impl Iterator<Item = LaneElement> + '_ {
        let per = per_register(self.format);
        (0..per).map(move |index| {
            let (row, column) = self.element(register, lane, index);
            let (line, along) = if self.by_columns { (column, row) } else { (row, column) };
            LaneElement { offset: (line as u64).wrapping_mul(stride).wrapping_add(along as u64), index }
        })
    }

    fn element(&self, register: usize, lane: usize, index: usize) -> (usize, usize) {
        let at = linear(self.registers(), per_register(self.format), register, lane, index);
        let at = at % (self.rows() * self.columns());
        if self.matrix == Matrix::B && self.format.bits() < 8 {
            // Always by columns: a byte's elements follow each other along k.
            return (at % self.rows(), at / self.rows());
        }
        (at / self.columns(), at % self.columns())
    }
}

fn linear(registers: usize, per: usize, register: usize, lane: usize, index: usize) -> usize {
    (lane * registers + register) * per + index
}

fn per_register(format: Format) -> usize {
    (32 / format.bits()).max(1) as usize
}

fn registers(elements: usize, format: Format) -> usize {
    match format {
        Format::Operand(Element::F16) => 8,
        format => elements / 32 / per_register(format),
    }
}

fn is_known(shape: Shape, format: Format) -> bool {
    use Element::*;
    let Shape { m, n, k } = shape;
    let of = |element: Element| match element {
        F16 | Bf16 | S8 | U8 => matches!((m, n, k), (16, 16, 16) | (8, 32, 16) | (32, 8, 16)),
        Tf32 => (m, n, k) == (16, 16, 8),
        F64 => (m, n, k) == (8, 8, 4),
        S4 | U4 => (m, n, k) == (8, 8, 32),
        B1 => (m, n, k) == (8, 8, 128),
        E4m3 | E5m2 => false,
    };
    match format {
        Format::Operand(element) => of(element),
        Format::Accumulator(Accumulator::F16) => of(F16),
        Format::Accumulator(Accumulator::F32) => of(F16) || of(Tf32),
        Format::Accumulator(Accumulator::F64) => of(F64),
        Format::Accumulator(Accumulator::S32) => of(S8) || of(S4) || of(B1),
    }
}

/// `wmma.mma`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wmma {
    pub shape: Shape,
    pub a: Element,
    pub b: Element,
    pub c: Accumulator,
    pub d: Accumulator,
    saturate: bool,
    and: bool,
    /// The rounding of each step of an `f64` product.
    round: Round,
}

impl Wmma {
    /// Reads the modifiers after `wmma`.
    pub fn parse(words: &[&str]) -> Result<Self, String> {
        let (and, words) = match words {
            ["mma", op @ ("and" | "xor"), "popc", rest @ ..] => (Some(*op == "and"), rest),
            ["mma", rest @ ..] => (None, rest),
            _ => return Err("expected `.mma`".into()),
        };
        let ["sync", "aligned", a_layout, b_layout, shape, rest @ ..] = words else {
            return Err("expected `.sync.aligned`, two layouts and a shape".into());
        };
        let shape = Shape::from_word(shape).ok_or_else(|| format!("`.{shape}` is not a shape"))?;
        // The manual puts the rounding of `f64` before the types, nvcc after them.
        let (rest, saturate, round) = match rest {
            [word @ ("rn" | "rz" | "rm" | "rp"), rest @ ..]
            | [rest @ .., word @ ("rn" | "rz" | "rm" | "rp")] => (rest, false, Some(rounding(word))),
            [rest @ .., "satfinite"] => (rest, true, None),
            rest => (rest, false, None),
        };
        let unknown = || "types that a fragment does not have".to_owned();
        let accumulator = |word: &str| Accumulator::from_word(word).ok_or_else(unknown);
        let element = |word: &str| Element::from_word(word).ok_or_else(unknown);
        let (d, a, b, c) = match rest {
            [d, c] => (accumulator(d)?, Element::F16, Element::F16, accumulator(c)?),
            [d, a, b, c] => (accumulator(d)?, element(a)?, element(b)?, accumulator(c)?),
            _ => return Err("expected two or four types".into()),
        };
        let known = [Format::Operand(a), Format::Operand(b), Format::Accumulator(c), Format::Accumulator(d)];
        let float_saturates = saturate && a.family() != Family::Integer;
        let accumulates = |format| match format {
            Accumulator::F16 => a == Element::F16,
            Accumulator::F32 => a.family() == Family::Float,
            Accumulator::F64 => a.family() == Family::Double,
            Accumulator::S32 => matches!(a.family(), Family::Integer | Family::Bits),
        };
        let fits = known.into_iter().all(|format| is_known(shape, format))
            && a == b
            && (a.bits() >= 8 || (*a_layout, *b_layout) == ("row", "col"))
            && accumulates(c)
            && accumulates(d)
            && and.is_some() == (a == Element::B1)
            && !float_saturates
            && (round.is_none() || a == Element::F64);
        if !fits {
            return Err("there is no such combination of shape and types".into());
        }
        Ok(Self { shape, a, b, c, d, saturate, and: and == Some(true), round: round.unwrap_or_default() })
    }

    /// Registers of D, A, B and C.
    pub fn counts(&self) -> super::mma::Counts {
        let Shape { m, n, k } = self.shape;
        super::mma::Counts {
            d: registers(m * n, Format::Accumulator(self.d)),
            a: registers(m * k, Format::Operand(self.a)),
            b: registers(k * n, Format::Operand(self.b)),
            c: registers(m * n, Format::Accumulator(self.c)),
        }
    }

    /// Whether its registers have 64 bits.
    pub fn is_double(&self) -> bool {
        self.a == Element::F64
    }

    /// Multiplies with 32-bit registers: all types except `f64`. Returns D.
    pub fn execute(&self, a: &[Row], b: &[Row], c: &[Row], buffers: &mut Buffers) -> Vec<Row> {
        let Shape { m, n, k } = self.shape;
        match self.a.family() {
            Family::Float => self.execute_floats(a, b, c, buffers),
            Family::Integer => {
                let (a, b) = (
                    gather(a, m, k, self.a, false, Element::integer),
                    gather(b, n, k, self.b, true, Element::integer),
                );
                self.lines(c, |row, column, c| {
                    product::dot_integer(a.line(row), b.line(column), c as i32, self.saturate) as u32
                })
            }
            Family::Bits | Family::Double => {
                let bit = |_: Element, bits: u32| bits;
                let (a, b) = (gather(a, m, k, self.a, false, bit), gather(b, n, k, self.b, true, bit));
                self.lines(c, |row, column, c| {
                    product::dot_bits(a.line(row), b.line(column), c as i32, self.and) as u32
                })
            }
        }
    }

    fn execute_floats(&self, a: &[Row], b: &[Row], c: &[Row], buffers: &mut Buffers) -> Vec<Row> {
        let Shape { m, n, k } = self.shape;
        let bits = |_: Element, bits: u32| bits;
        let (a, b) = (gather(a, m, k, self.a, false, bits), gather(b, n, k, self.b, true, bits));
        let per = per_register(Format::Accumulator(self.c));
        let element = |at| {
            let (lane, register, index) = split(at, c.len(), per);
            field(c[register][lane], index, self.c.bits())
        };
        let mut sums: Vec<u32> = (0..m * n).map(element).collect();
        let (Buffers { stored, floats, .. }, core) = (buffers, self.a.core(false));
        // Products of tf32 are those of two instructions, of four elements along k each.
        let step = if self.a == Element::Tf32 { 4 } else { k };
        for (group, sums) in sums.chunks_mut(16 * n).enumerate() {
            let rows = sums.len() / n;
            for first in (0..k).step_by(step) {
                stored.set_each(
                    [rows, n, step],
                    |row, k| a.line(16 * group + row)[first + k],
                    |column, k| b.line(column)[first + k],
                );
                floats.set(stored, core, Elements::of(self.a), Elements::of(self.b));
                floats.add_rows(core, [self.c, self.d], n, sums);
            }
        }
        self.lines(c, |row, column, _| sums[row * n + column])
    }

    /// The undefined bits of D, like [`super::mma::Mma::undefined`].
    pub fn undefined(&self, a: &[Row], b: &[Row], c: &[Row]) -> Vec<Row> {
        let Shape { m, n, k } = self.shape;
        let unknown = |_: Element, bits: u32| bits != 0;
        let (a, b) = (gather(a, m, k, self.a, false, unknown), gather(b, n, k, self.b, true, unknown));
        let depth_of = |line: &[bool]| line.contains(&true);
        self.lines(c, |row, column, c| {
            product::all_if(depth_of(a.line(row)) || depth_of(b.line(column)) || c != 0, self.d)
        })
    }

    /// Multiplies `f64`: one register of A and B, two of C and D.
    pub fn execute_double(&self, a: &[f64; 32], b: &[f64; 32], c: &[[f64; 32]]) -> Vec<[f64; 32]> {
        // A is row by row, 8×4; B, 4×8; C, 8×8.
        let sum = |register: usize, lane: usize| {
            let (row, column) = ((lane * 2 + register) / 8, (lane * 2 + register) % 8);
            let across: [f64; 4] = std::array::from_fn(|k| b[k * 8 + column]);
            product::dot_double(&a[row * 4..][..4], &across, c[register][lane], self.round)
        };
        (0..2).map(|register| std::array::from_fn(|lane| sum(register, lane))).collect()
    }

    fn lines(&self, c: &[Row], element: impl Fn(usize, usize, u32) -> u32) -> Vec<Row> {
        let counts = self.counts();
        let (per_c, per_d) =
            (per_register(Format::Accumulator(self.c)), per_register(Format::Accumulator(self.d)));
        let mut d = vec![[0; 32]; counts.d];
        for at in 0..self.shape.m * self.shape.n {
            let (lane, register, index) = split(at, counts.c, per_c);
            let c = field(c[register][lane], index, self.c.bits());
            let value = element(at / self.shape.n, at % self.shape.n, c);
            let (lane, register, index) = split(at, counts.d, per_d);
            d[register][lane] |= value << (index * 16);
        }
        d
    }
}

/// Lane, register and index in it of element number `at`.
fn split(at: usize, registers: usize, per: usize) -> (usize, usize, usize) {
    (at / (registers * per), at / per % registers, at % per)
}

/// Rows of A, or columns of B (`across`: the fragment is k by n), each contiguous along k.
fn gather<T: Copy + Default>(
    fragment: &[Row],
    lines: usize,
    depth: usize,
    element: Element,
    across: bool,
    convert: impl Fn(Element, u32) -> T,
) -> Lines<T> {
    let per = per_register(Format::Operand(element));
    let mut full = Lines::new(lines, depth);
    for at in 0..lines * depth {
        let (lane, register, index) = split(at, fragment.len(), per);
        let by_rows = across && element.bits() >= 8;
        let (line, k) = if by_rows { (at % lines, at / lines) } else { (at / depth, at % depth) };
        full.set(line, k, convert(element, field(fragment[register][lane], index, element.bits())));
    }
    full
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wmma(words: &str) -> Result<Wmma, String> {
        Wmma::parse(&words.split('.').collect::<Vec<_>>())
    }

    #[test]
    fn register_counts_are_the_manuals() {
        for (words, d, a, b, c) in [
            ("mma.sync.aligned.row.col.m16n16k16.f32.f32", 8, 8, 8, 8),
            ("mma.sync.aligned.row.row.m8n32k16.f16.f32", 4, 8, 8, 8),
            ("mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f32", 8, 4, 4, 8),
            ("mma.sync.aligned.row.col.m8n32k16.f32.bf16.bf16.f32", 8, 2, 8, 8),
            ("mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32", 8, 4, 4, 8),
            ("mma.sync.aligned.row.col.m32n8k16.s32.s8.s8.s32.satfinite", 8, 4, 1, 8),
            ("mma.sync.aligned.row.col.m8n8k32.s32.u4.u4.s32", 2, 1, 1, 2),
            ("mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32", 2, 1, 1, 2),
            ("mma.sync.aligned.row.col.m8n8k4.rn.f64.f64.f64.f64", 2, 1, 1, 2),
            ("mma.sync.aligned.row.col.m8n8k4.f64.f64.f64.f64.rn", 2, 1, 1, 2),
        ] {
            assert_eq!(wmma(words).unwrap().counts(), super::super::mma::Counts { d, a, b, c }, "{words}");
        }
        for words in [
            "mma.sync.aligned.row.col.m16n16k16.f32.tf32.tf32.f32",
            "mma.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32",
            "mma.sync.aligned.row.col.m16n16k16.s32.f32",
            "mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f32.satfinite",
        ] {
            assert!(wmma(words).is_err(), "{words}");
        }
    }

    /// A program's steps: load, multiply, store, through every shape of 8-bit integers and both layouts.
    #[test]
    fn loads_products_and_stores_agree() {
        for (m, n, k) in [(16, 16, 16), (8, 32, 16), (32, 8, 16)] {
            let a: Vec<i32> = (0..m * k).map(|i| (i * 7 % 23) as i32 - 11).collect();
            let b: Vec<i32> = (0..k * n).map(|i| (i * 5 % 19) as i32 - 9).collect();
            let load = |words: &str, memory: &[i32], stride: u64| -> Vec<Row> {
                let shape = format!("m{m}n{n}k{k}");
                let all = format!("load.{words}").replace("SHAPE", &shape);
                let fragment = Fragment::parse(&all.split('.').collect::<Vec<_>>()).unwrap();
                let register = |r, lane| {
                    let pieces = fragment.pieces(r, lane, stride);
                    pieces
                        .fold(0, |word, p| word | u32::from(memory[p.offset as usize] as u8) << (p.index * 8))
                };
                (0..fragment.registers()).map(|r| std::array::from_fn(|lane| register(r, lane))).collect()
            };
            let fa = load("a.sync.aligned.row.SHAPE.s8", &a, k as u64);
            let by_columns: Vec<i32> = (0..n * k).map(|i| b[i % k * n + i / k]).collect();
            let fb = load("b.sync.aligned.col.SHAPE.s8", &by_columns, k as u64);
            assert_eq!(fb, load("b.sync.aligned.row.SHAPE.s8", &b, n as u64));
            let form = wmma(&format!("mma.sync.aligned.row.col.m{m}n{n}k{k}.s32.s8.s8.s32")).unwrap();
            let d = form.execute(&fa, &fb, &vec![[3; 32]; 8], &mut Buffers::default());
            let words = format!("store.d.sync.aligned.row.m{m}n{n}k{k}.s32");
            let store = Fragment::parse(&words.split('.').collect::<Vec<_>>()).unwrap();
            for (r, row) in d.iter().enumerate() {
                for (lane, &value) in row.iter().enumerate() {
                    let at = store.pieces(r, lane, n as u64).next().unwrap().offset as usize;
                    let expected: i32 = (0..k).map(|i| a[at / n * k + i] * b[i * n + at % n]).sum();
                    assert_eq!(value as i32, expected + 3);
                }
            }
        }
    }

    /// The same with several elements a byte, against the sum over k written out; A lies by rows, B by columns.
    #[test]
    fn loads_and_products_of_parts_of_bytes_agree() {
        let words: Vec<u64> = (1..65u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let memory = |start: usize, at: u64, bits: u64| -> u32 {
            (words[start + (at * bits / 64) as usize] >> (at * bits % 64) & ((1 << bits) - 1)) as u32
        };
        for (k, bits, ty, operation) in
            [(128usize, 1, "b1", "mma.xor.popc"), (128, 1, "b1", "mma.and.popc"), (32, 4, "s4", "mma")]
        {
            let load = |matrix: &str, layout: &str, start: usize| -> Vec<Row> {
                let all = format!("load.{matrix}.sync.aligned.{layout}.m8n8k{k}.{ty}");
                let fragment = Fragment::parse(&all.split('.').collect::<Vec<_>>()).unwrap();
                let per_byte = 8 / bits as usize;
                let register = |lane| {
                    // As the machine does it: reads all elements of a byte at once.
                    let pieces: Vec<_> = fragment.pieces(0, lane, k as u64).collect();
                    pieces.chunks(per_byte).fold(0, |word, byte| {
                        let parts = (0..per_byte as u64)
                            .map(|i| memory(start, byte[0].offset + i, bits) << (i * bits))
                            .fold(0, |byte, part| byte | part);
                        word | parts << (byte[0].index * bits as usize)
                    })
                };
                vec![std::array::from_fn(register)]
            };
            let (fa, fb) = (load("a", "row", 0), load("b", "col", 32));
            let form = wmma(&format!("{operation}.sync.aligned.row.col.m8n8k{k}.s32.{ty}.{ty}.s32")).unwrap();
            let d = form.execute(&fa, &fb, &[[3; 32]; 2], &mut Buffers::default());
            for at in 0..64usize {
                let term = |i: usize| {
                    let a = memory(0, (at / 8 * k + i) as u64, bits) as i32;
                    let b = memory(32, (at % 8 * k + i) as u64, bits) as i32;
                    match operation {
                        "mma.xor.popc" => a ^ b,
                        "mma.and.popc" => a & b,
                        _ => (a << 28 >> 28) * (b << 28 >> 28),
                    }
                };
                let expected = 3 + (0..k).map(term).sum::<i32>();
                assert_eq!(d[at % 2][at / 2] as i32, expected, "{operation} {ty}, element {at}");
            }
        }
    }

    #[test]
    fn doubles() {
        let form = wmma("mma.sync.aligned.row.col.m8n8k4.f64.f64.f64.f64").unwrap();
        let a = std::array::from_fn(|i| i as f64);
        let b = std::array::from_fn(|i| (i * i) as f64);
        let d = form.execute_double(&a, &b, &[[0.25; 32]; 2]);
        // Row 1, column 3: lane 5, register 1.
        let expected: usize = (0..4).map(|k| (4 + k) * (k * 8 + 3) * (k * 8 + 3)).sum();
        assert_eq!(d[1][5], expected as f64 + 0.25);
    }
}
