//! `mma.sync`: its forms, and how they execute on registers.

use super::Buffers;
use super::element::{Accumulator, Element, Family};
use super::fragment;
use super::panels::Elements;
use super::product;
use super::stored::Source;
use crate::alu::Round;

/// Rows, columns and depth of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    pub m: usize,
    pub n: usize,
    pub k: usize,
}

impl Shape {
    /// `m16n8k16`
    pub fn from_word(word: &str) -> Option<Self> {
        let (m, rest) = word.strip_prefix('m')?.split_once('n')?;
        let (n, k) = rest.split_once('k')?;
        Some(Self { m: m.parse().ok()?, n: n.parse().ok()?, k: k.parse().ok()? })
    }
}

/// One form of `mma.sync`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mma {
    pub shape: Shape,
    pub a: Element,
    pub b: Element,
    pub c: Accumulator,
    pub d: Accumulator,
    /// `.col` A and `.row` B: only m8n8k4 of `f16` has a choice.
    pub(super) a_by_columns: bool,
    pub(super) b_by_rows: bool,
    pub(super) saturate: bool,
    /// `.and.popc` instead of `.xor.popc`.
    and: bool,
    /// The rounding of each step of an `f64` product.
    round: Round,
}

/// The rounding named by a modifier already known to be one.
pub(super) fn rounding(word: &str) -> Round {
    match word {
        "rz" => Round::Zero,
        "rm" => Round::Down,
        "rp" => Round::Up,
        _ => Round::Nearest,
    }
}

/// How many registers of D, A, B and C an instruction takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    pub d: usize,
    pub a: usize,
    pub b: usize,
    pub c: usize,
}

/// A 32-bit register in all lanes.
pub(crate) type Row = [u32; 32];

impl Mma {
    /// Reads the modifiers after `mma`.
    pub fn parse(words: &[&str]) -> Result<Self, String> {
        let made = Self::parse_any(words)?;
        if made.is_known() {
            Ok(made)
        } else {
            Err("there is no such combination of shape, layouts and types".into())
        }
    }

    /// A product given only by its shape and types.
    pub(super) fn of(shape: Shape, a: Element, b: Element, d: Accumulator) -> Self {
        let (a_by_columns, b_by_rows) = (false, false);
        Self {
            shape,
            a,
            b,
            c: d,
            d,
            a_by_columns,
            b_by_rows,
            saturate: false,
            and: false,
            round: Round::Nearest,
        }
    }

    /// Like [`Mma::parse`], without checking that such a product exists.
    pub(super) fn parse_any(words: &[&str]) -> Result<Self, String> {
        // The manual puts `.satfinite` before the types, CUTLASS also after them; ptxas takes it anywhere.
        let saturate = words.contains(&"satfinite");
        let words: Vec<_> = words.iter().copied().filter(|&word| word != "satfinite").collect();
        let ["sync", "aligned", shape, a_layout, b_layout, rest @ ..] = words.as_slice() else {
            return Err("expected `.sync.aligned`, a shape and two layouts".into());
        };
        let shape = Shape::from_word(shape).ok_or_else(|| format!("`.{shape}` is not a shape"))?;
        // The manual puts the rounding of `f64` before the types, nvcc after them.
        let (round, rest) = match rest {
            [word @ ("rn" | "rz" | "rm" | "rp"), rest @ ..]
            | [rest @ .., word @ ("rn" | "rz" | "rm" | "rp")] => (Some(rounding(word)), rest),
            rest => (None, rest),
        };
        let [d, a, b, c, rest @ ..] = rest else { return Err("expected four types".into()) };
        let unknown = |word: &str| format!("type `.{word}` is not supported in a matrix product");
        let (Some(d), Some(c)) = (Accumulator::from_word(d), Accumulator::from_word(c)) else {
            return Err(unknown(d));
        };
        let (Some(a), Some(b)) = (Element::from_word(a), Element::from_word(b)) else {
            return Err(unknown(a));
        };
        let and = match (a, rest) {
            (Element::B1, ["xor", "popc"]) => false,
            (Element::B1, ["and", "popc"]) => true,
            (_, []) if a != Element::B1 && (round.is_none() || a == Element::F64) => false,
            _ => return Err("modifiers that this type does not have".into()),
        };
        let a_by_columns = *a_layout == "col";
        let b_by_rows = *b_layout == "row";
        let round = round.unwrap_or_default();
        Ok(Self { shape, a, b, c, d, a_by_columns, b_by_rows, saturate, and, round })
    }

    fn is_known(&self) -> bool {
        use Element::*;
        let Shape { m, n, k } = self.shape;
        if self.is_quad_pairs() {
            let floats = |f| matches!(f, Accumulator::F16 | Accumulator::F32);
            return floats(self.c) && floats(self.d) && (self.c == self.d || self.d == Accumulator::F32);
        }
        if n != 8 {
            return false;
        }
        let shapes: &[(usize, usize)] = match self.a {
            F16 => &[(16, 8), (16, 16)],
            Bf16 => &[(16, 8), (16, 16)],
            Tf32 => &[(16, 4), (16, 8)],
            E4m3 | E5m2 => &[(16, 16), (16, 32)],
            F64 => &[(8, 4), (16, 4), (16, 8), (16, 16)],
            S8 | U8 => &[(8, 16), (16, 16), (16, 32)],
            S4 | U4 => &[(8, 32), (16, 32), (16, 64)],
            B1 => &[(8, 128), (16, 128), (16, 256)],
        };
        shapes.contains(&(m, k)) && self.types_fit()
    }

    /// Whether the four types, the layouts and `.satfinite` can be combined, in all shapes except `m8n8k4` of `f16`.
    pub(super) fn types_fit(&self) -> bool {
        use Element::*;
        if self.a_by_columns || self.b_by_rows {
            return false;
        }
        let same_kind = match self.a {
            E4m3 | E5m2 => matches!(self.b, E4m3 | E5m2),
            S8 | U8 => matches!(self.b, S8 | U8),
            S4 | U4 => matches!(self.b, S4 | U4),
            other => other == self.b,
        };
        let accumulators = match self.a {
            F16 | E4m3 | E5m2 => matches!(self.d, Accumulator::F16 | Accumulator::F32),
            Bf16 | Tf32 => self.d == Accumulator::F32,
            F64 => self.d == Accumulator::F64,
            S8 | U8 | S4 | U4 | B1 => self.d == Accumulator::S32,
        };
        let saturates = matches!(self.a, S8 | U8 | S4 | U4);
        same_kind && accumulators && self.c == self.d && (saturates || !self.saturate)
    }

    /// How many registers each operand has: of 64 bits for `f64`, else of 32.
    pub fn counts(&self) -> Counts {
        let Shape { m, n, k } = self.shape;
        if self.is_quad_pairs() {
            let of = |format| if format == Accumulator::F16 { 4 } else { 8 };
            return Counts { d: of(self.d), a: 2, b: 2, c: of(self.c) };
        }
        let width = self.register_bits();
        let registers = |elements: usize, bits: u32| (elements / 32 * bits as usize).div_ceil(width);
        Counts {
            d: registers(m * n, self.d.bits()),
            a: registers(m * k, self.a.bits()),
            b: registers(k * n, self.b.bits()),
            c: registers(m * n, self.c.bits()),
        }
    }

    pub fn register_bits(&self) -> usize {
        if self.a == Element::F64 { 64 } else { 32 }
    }

    /// Multiplies with 32-bit registers: all types except `f64`. Returns D.
    pub fn execute(&self, a: &[Row], b: &[Row], c: &[Row], buffers: &mut Buffers) -> Vec<Row> {
        if self.is_quad_pairs() {
            return self.quad_pairs(a, b, c);
        }
        self.execute_with(a, b, c, buffers, None::<fn(usize, usize) -> usize>)
    }

    /// The same; `place` gives the position along k of a row's element with a number if A holds only some of them.
    pub(super) fn execute_with(
        &self,
        a: &[Row],
        b: &[Row],
        c: &[Row],
        buffers: &mut Buffers,
        place: Option<impl Fn(usize, usize) -> usize>,
    ) -> Vec<Row> {
        let Shape { m, n, k } = self.shape;
        let Buffers { stored, floats, integers, words, .. } = buffers;
        let core = self.a.core(place.is_some());
        let depth = if self.a == Element::B1 { k / 32 } else { k };
        match place {
            Some(place) => {
                stored.set_sparse_rows(Source::Registers(a), [m, depth], self.a.stored_bits(), place)
            }
            None => stored.set_rows(Source::Registers(a), [m, depth], self.a.stored_bits()),
        }
        stored.set_columns(Source::Registers(b), n, self.b.stored_bits());
        let (a, b) = (Elements::of(self.a), Elements::of(self.b));
        let mut d = c.to_vec();
        match self.a.family() {
            Family::Bits => {
                words.set(stored, a, b);
                words.multiply(0, self.and, true, &mut d);
            }
            Family::Float => {
                floats.set(stored, core, a, b);
                floats.multiply(0, core, self.d, true, &mut d);
            }
            _ => {
                integers.set(stored, a, b);
                integers.multiply(0, self.saturate, true, &mut d);
            }
        }
        d
    }

    /// The undefined bits of D, from those of A's, B's and C's registers: an element of A affects its row, one of B its
    /// column. For 64-bit registers a word says whether there are any.
    pub fn undefined(&self, a: &[Row], b: &[Row], c: &[Row]) -> Vec<Row> {
        if self.is_quad_pairs() {
            return self.undefined_of_quad_pairs(a, b, c);
        }
        self.undefined_with(a, b, c, &|_| false)
    }

    /// The same if more of a row of A may be unknown.
    pub(super) fn undefined_with(
        &self,
        a: &[Row],
        b: &[Row],
        c: &[Row],
        row_is: &dyn Fn(usize) -> bool,
    ) -> Vec<Row> {
        let mut rows: [bool; 16] = std::array::from_fn(row_is);
        let mut columns = [false; 8];
        for lane in 0..32 {
            for (register, values) in a.iter().enumerate() {
                rows[fragment::a(self.shape.m, 1, register, lane).line] |= values[lane] != 0;
            }
            for (register, values) in b.iter().enumerate() {
                columns[fragment::b(1, register, lane).line] |= values[lane] != 0;
            }
        }
        let of = |m: usize, n: usize, c: u32| rows[m] || columns[n] || c != 0;
        if self.register_bits() == 64 {
            let place = |register, lane| fragment::c(1, register, lane);
            let lane = |register: usize, lane: usize| {
                let at = place(register, lane);
                product::all_if(of(at.line, at.first, c[register][lane]), self.d)
            };
            return (0..c.len()).map(|register| std::array::from_fn(|i| lane(register, i))).collect();
        }
        self.lines(c, |m, n, c| product::all_if(of(m, n, c), self.d))
    }

    /// Multiplies `f64`.
    pub fn execute_double(&self, a: &[[f64; 32]], b: &[[f64; 32]], c: &[[f64; 32]]) -> Vec<[f64; 32]> {
        let Shape { m: rows, n: columns, k } = self.shape;
        let mut full_a = Lines::new(rows, k);
        let mut full_b = Lines::new(columns, k);
        for lane in 0..32 {
            for (register, values) in a.iter().enumerate() {
                let place = fragment::a(rows, 1, register, lane);
                full_a.set(place.line, place.first, values[lane]);
            }
            for (register, values) in b.iter().enumerate() {
                let place = fragment::b(1, register, lane);
                full_b.set(place.line, place.first, values[lane]);
            }
        }
        let sums = c.iter().enumerate().map(|(register, values)| {
            std::array::from_fn(|lane| {
                let place = fragment::c(1, register, lane);
                product::dot_double(
                    full_a.line(place.line),
                    full_b.line(place.first),
                    values[lane],
                    self.round,
                )
            })
        });
        sums.collect()
    }

    /// D from a function of row, column and C's bits.
    fn lines(&self, c: &[Row], element: impl Fn(usize, usize, u32) -> u32) -> Vec<Row> {
        let (per_c, per_d) = (32 / self.c.bits() as usize, 32 / self.d.bits() as usize);
        let mut d = vec![[0; 32]; self.counts().d];
        for lane in 0..32 {
            for index in 0..self.shape.m * self.shape.n / 32 {
                let place = fragment::c(1, index, lane);
                let c = field(c[index / per_c][lane], index % per_c, self.c.bits());
                let value = element(place.line, place.first, c);
                d[index / per_d][lane] |= value << (index % per_d * 16);
            }
        }
        d
    }
}

/// Bits of element `index` of a register.
#[inline]
pub(crate) fn field(register: u32, index: usize, bits: u32) -> u32 {
    let shifted = register >> (index as u32 * bits);
    if bits < 32 { shifted & ((1 << bits) - 1) } else { shifted }
}

/// Rows of A or columns of B, each contiguous along k.
#[derive(Debug, Clone)]
pub(crate) struct Lines<T> {
    depth: usize,
    values: Vec<T>,
}

impl<T: Copy + Default> Lines<T> {
    pub fn new(lines: usize, depth: usize) -> Self {
        Self { depth, values: vec![T::default(); lines * depth] }
    }

    pub fn set(&mut self, line: usize, k: usize, value: T) {
        self.values[line * self.depth + k] = value;
    }

    pub fn line(&self, line: usize) -> &[T] {
        &self.values[line * self.depth..][..self.depth]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mma(words: &str) -> Result<Mma, String> {
        Mma::parse(&words.split('.').collect::<Vec<_>>())
    }

    #[test]
    fn register_counts_are_the_manuals() {
        for (words, d, a, b, c) in [
            ("sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 4, 4, 2, 4),
            ("sync.aligned.m16n8k8.row.col.f16.f16.f16.f16", 2, 2, 1, 2),
            ("sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", 4, 2, 1, 4),
            ("sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", 4, 2, 1, 4),
            ("sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 4, 4, 2, 4),
            ("sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32", 4, 4, 2, 4),
            ("sync.aligned.m8n8k16.row.col.satfinite.s32.s8.u8.s32", 2, 1, 1, 2),
            ("sync.aligned.m16n8k32.row.col.s32.u8.s8.s32", 4, 4, 2, 4),
            ("sync.aligned.m16n8k32.row.col.s32.u8.s8.s32.satfinite", 4, 4, 2, 4),
            ("sync.aligned.m16n8k64.row.col.s32.s4.u4.s32", 4, 4, 2, 4),
            ("sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc", 4, 4, 2, 4),
            ("sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc", 2, 1, 1, 2),
            ("sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", 2, 1, 1, 2),
            ("sync.aligned.m16n8k16.row.col.f64.f64.f64.f64.rn", 4, 8, 4, 4),
            ("sync.aligned.m8n8k4.col.row.f32.f16.f16.f16", 8, 2, 2, 4),
        ] {
            assert_eq!(mma(words).unwrap().counts(), Counts { d, a, b, c }, "{words}");
        }
    }

    #[test]
    fn what_does_not_exist_is_refused() {
        for words in [
            "sync.aligned.m16n8k16.col.col.f32.f16.f16.f32",
            "sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32",
            "sync.aligned.m16n8k16.row.col.f16.bf16.bf16.f16",
            "sync.aligned.m16n8k7.row.col.f32.f16.f16.f32",
            "sync.aligned.m16n8k16.row.col.f32.f16.f16.f16",
            "sync.aligned.m16n8k256.row.col.s32.b1.b1.s32",
            "sync.aligned.m16n8k16.row.col.satfinite.f32.f16.f16.f32",
            "sync.aligned.m16n8k16.row.col.f32.f16",
        ] {
            assert!(mma(words).is_err(), "{words}");
        }
    }

    /// Small integers in each float format, chosen so that all sums are exact; the expected product is computed from
    /// the matrices that filled the registers by the manual's formulas.
    #[test]
    fn bf16_product_of_distinct_integers() {
        let a: [[i32; 16]; 16] =
            std::array::from_fn(|m| std::array::from_fn(|k| (m * 3 + k * 7) as i32 % 11 - 5));
        let b: [[i32; 8]; 16] =
            std::array::from_fn(|k| std::array::from_fn(|n| (k * 5 + n * 2) as i32 % 13 - 6));
        let bf16 = |value: i32| (value as f32).to_bits() >> 16;
        let mut ra = [[0; 32]; 4];
        let mut rb = [[0; 32]; 2];
        let mut rc = [[0; 32]; 4];
        for lane in 0..32 {
            for i in 0..8 {
                let row = lane / 4 + if i < 2 || (4..6).contains(&i) { 0 } else { 8 };
                let column = lane % 4 * 2 + (i & 1) + if i >= 4 { 8 } else { 0 };
                ra[i / 2][lane] |= bf16(a[row][column]) << (i % 2 * 16);
            }
            for i in 0..4 {
                let row = lane % 4 * 2 + (i & 1) + if i >= 2 { 8 } else { 0 };
                rb[i / 2][lane] |= bf16(b[row][lane / 4]) << (i % 2 * 16);
            }
            for i in 0..4 {
                rc[i][lane] = ((lane * 4 + i) as f32).to_bits();
            }
        }
        let d = mma("sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32").unwrap().execute(
            &ra,
            &rb,
            &rc,
            &mut Buffers::default(),
        );
        for lane in 0..32 {
            for i in 0..4 {
                let (row, column) = (lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2);
                let expected: i32 =
                    (0..16).map(|k| a[row][k] * b[k][column]).sum::<i32>() + (lane * 4 + i) as i32;
                assert_eq!(f32::from_bits(d[i][lane]), expected as f32);
            }
        }
    }

    #[test]
    fn integers_wrap_or_saturate() {
        let wrap = mma("sync.aligned.m8n8k16.row.col.s32.s8.s8.s32").unwrap();
        let stop = mma("sync.aligned.m8n8k16.row.col.satfinite.s32.s8.s8.s32").unwrap();
        let (a, b, c) = ([[0x0101_0101; 32]], [[0x0202_0202; 32]], [[i32::MAX as u32 - 31; 32]; 2]);
        assert_eq!(wrap.execute(&a, &b, &c, &mut Buffers::default())[0][5] as i32, i32::MIN);
        assert_eq!(stop.execute(&a, &b, &c, &mut Buffers::default())[0][5] as i32, i32::MAX);
    }

    #[test]
    fn bits_are_counted() {
        let and = mma("sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc").unwrap();
        let d = and.execute(
            &[[0xFFFF_0000; 32]; 4],
            &[[0xFF00_0001; 32]; 2],
            &[[7; 32]; 4],
            &mut Buffers::default(),
        );
        assert!(d.iter().flatten().all(|&d| d == 8 * 8 + 7));
        let xor = mma("sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc").unwrap();
        let d =
            xor.execute(&[[0xFFFF_0000; 32]], &[[0xFF00_0001; 32]], &[[0; 32]; 2], &mut Buffers::default());
        assert!(d.iter().flatten().all(|&d| d == 4 * 9));
    }

    #[test]
    fn four_bits_have_signs() {
        let form = mma("sync.aligned.m8n8k32.row.col.s32.s4.u4.s32").unwrap();
        let d =
            form.execute(&[[0xFFFF_FFFF; 32]], &[[0xFFFF_FFFF; 32]], &[[0; 32]; 2], &mut Buffers::default());
        assert!(d.iter().flatten().all(|&d| d as i32 == -15 * 32));
    }

    #[test]
    fn doubles_multiply() {
        let form = mma("sync.aligned.m8n8k4.row.col.f64.f64.f64.f64").unwrap();
        let a = [std::array::from_fn(|lane| (lane / 4 * 4 + lane % 4) as f64)];
        let b = [std::array::from_fn(|lane| (lane % 4 * 8 + lane / 4) as f64)];
        let d = form.execute_double(&a, &b, &[[0.5; 32]; 2]);
        for lane in 0..32usize {
            for i in 0..2 {
                let (row, column) = (lane / 4, lane % 4 * 2 + i);
                let expected: usize = (0..4).map(|k| (row * 4 + k) * (k * 8 + column)).sum();
                assert_eq!(d[i][lane], expected as f64 + 0.5);
            }
        }
    }
}
