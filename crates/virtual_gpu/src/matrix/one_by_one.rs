//! Every form's products against those of one element of D after the other.

use super::Buffers;
use super::descriptor::{Descriptor, ReadShared};
use super::element::{Accumulator, Element, Family};
use super::fragment;
use super::mma::{Mma, Row, Shape, field};
use super::product::{self, TensorCore};
use super::sparse::Sparse;
use super::vectors::tests::with_each;
use super::wgmma::Wgmma;
use super::wmma::Wmma;

/// Numbers of all kinds, the same in every run.
struct Random(u64);

#[derive(Debug, Clone, Copy)]
enum Kind {
    Any,
    /// No infinities and NaNs, and few that are far larger than others.
    Small,
    /// Zeros and the smallest, of both signs.
    Smallest,
    /// Infinities, NaNs, and the largest of both signs.
    Largest,
}

const KINDS: [Kind; 4] = [Kind::Any, Kind::Small, Kind::Smallest, Kind::Largest];

impl Random {
    fn word(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 32) as u32
    }

    /// Elements of `bits` bits.
    fn elements(&mut self, kind: Kind, bits: u32) -> u32 {
        let each = |element: u32| (0..32 / bits).fold(0, |word, at| word | element << (at * bits));
        let sign = 1u32 << (bits - 1);
        match kind {
            Kind::Any => self.word(),
            Kind::Small if bits >= 8 => self.word() & each(!(sign >> 1) & (sign | (sign - 1))),
            Kind::Smallest if bits >= 8 => self.word() & each(sign | 1),
            // The exponent has ones, but for one in eight.
            Kind::Largest if bits >= 8 && !self.word().is_multiple_of(8) => {
                self.word() | each(sign - sign / 16)
            }
            _ => self.word(),
        }
    }

    fn rows(&mut self, count: usize, kind: Kind, bits: u32) -> Vec<Row> {
        (0..count).map(|_| std::array::from_fn(|_| self.elements(kind, bits))).collect()
    }
}

/// A row of A or a column of B by the bits of its elements, none of those that are not stored.
type Line = Vec<Option<u32>>;

/// One element of D.
struct One {
    a: Element,
    b: Element,
    c: Accumulator,
    d: Accumulator,
    saturate: bool,
    and: bool,
    negative: [bool; 2],
    core: TensorCore,
}

impl One {
    fn of(&self, row: &Line, column: &Line, c: u32) -> u32 {
        let floats = |line: &Line, element: Element, negative: bool| -> Vec<f32> {
            let value = line.iter().map(|bits| bits.map_or(0.0, |bits| element.float(bits)));
            value.map(|value| if negative { -value } else { value }).collect()
        };
        let integers = |line: &Line, element: Element| -> Vec<i32> {
            line.iter().map(|bits| bits.map_or(0, |bits| element.integer(bits))).collect()
        };
        let words = |line: &Line| -> Vec<u32> { line.iter().map(|bits| bits.unwrap_or(0)).collect() };
        match self.a.family() {
            Family::Float => {
                let [a, mut b] = [(row, self.a, 0), (column, self.b, 1)]
                    .map(|(line, element, which)| floats(line, element, self.negative[which]));
                b.iter_mut().zip(row).filter(|(_, stored)| stored.is_none()).for_each(|(b, _)| *b = 0.0);
                self.float(&a, &b, c)
            }
            Family::Integer => {
                let (a, b) = (integers(row, self.a), integers(column, self.b));
                product::dot_integer(&a, &b, c as i32, self.saturate) as u32
            }
            _ => product::dot_bits(&words(row), &words(column), c as i32, self.and) as u32,
        }
    }
}

impl One {
    fn float(&self, a: &[f32], b: &[f32], c: u32) -> u32 {
        let c = product::widen(c, self.c);
        let TensorCore::Converted { run } = self.core else {
            return self.part(a, b, (c, self.c), |_| true);
        };
        let first = product::widen(self.part(a, b, (0.0, self.d), |k| k / run % 2 == 0), self.d);
        let both = product::widen(self.part(a, b, (first, self.d), |k| k / run % 2 == 1), self.d);
        product::round(f64::from(both) + f64::from(c), self.d)
    }

    /// The products at some k and C, each cut below the largest exponent.
    fn part(&self, a: &[f32], b: &[f32], (c, of_c): (f32, Accumulator), at: impl Fn(usize) -> bool) -> u32 {
        let least = |format| if format == Accumulator::F16 { -14 } else { -126 };
        let mut largest = exponent(c, least(of_c));
        for k in (0..a.len()).filter(|&k| at(k)) {
            if let (Some(of_a), Some(of_b)) =
                (exponent(a[k], self.a.smallest()), exponent(b[k], self.b.smallest()))
            {
                largest = largest.max(Some(of_a + of_b));
            }
        }
        let narrow = self.core == TensorCore::Narrow;
        let unit = 2f64.powi(largest.unwrap_or(0) - if narrow { 13 } else { 25 });
        let mut sum = (f64::from(c) / unit).trunc();
        for k in (0..a.len()).filter(|&k| at(k)) {
            sum += (f64::from(a[k]) * f64::from(b[k]) / unit).trunc();
        }
        let sum = sum * unit + 0.0;
        if self.d == Accumulator::F16 {
            // No zero is negative.
            let bits = product::round(sum, self.d);
            return if bits == 0x8000 { 0 } else { bits };
        }
        if !sum.is_finite() || sum.abs() >= 2f64.powi(128) {
            return product::round(sum, self.d);
        }
        let unit = 2f64.powi((sum.abs().log2().floor() as i32).max(-126) - if narrow { 13 } else { 23 });
        product::round((sum / unit).trunc() * unit + 0.0, self.d)
    }
}

/// The exponent of a number in a format with this least one.
fn exponent(value: f32, least: impl Into<i32>) -> Option<i32> {
    let finite = value != 0.0 && value.is_finite();
    finite.then(|| (f64::from(value.abs()).log2().floor() as i32).max(least.into()))
}

/// A's rows from registers.
fn rows_of(
    a: &[Row],
    element: Element,
    [rows, depth]: [usize; 2],
    place: &dyn Fn(usize, usize) -> usize,
) -> Vec<Line> {
    let bits = element.stored_bits();
    let per = 32 / bits as usize;
    let mut lines = vec![vec![None; depth]; rows];
    let mut kept: Vec<(usize, usize, u32)> = Vec::new();
    for (register, words) in a.iter().enumerate() {
        for (lane, &word) in words.iter().enumerate() {
            let at = fragment::a(rows, per, register, lane);
            kept.extend((0..per).map(|e| (at.line, at.first + e, field(word, e, bits))));
        }
    }
    // Where metadata names a place twice, the later element is there.
    kept.sort_unstable();
    for (line, number, bits) in kept {
        lines[line][place(line, number)] = Some(bits);
    }
    lines
}

fn expected(form: &Mma, one: &One, a: &[Line], b: &[Row], c: &[Row]) -> Vec<Row> {
    let Shape { m, n, .. } = form.shape;
    let bits = form.b.stored_bits();
    let per = 32 / bits as usize;
    let mut columns = vec![vec![None; a[0].len()]; n];
    for (register, words) in b.iter().enumerate() {
        for (lane, &word) in words.iter().enumerate() {
            let at = fragment::b(per, register, lane);
            (0..per).for_each(|e| columns[at.line][at.first + e] = Some(field(word, e, bits)));
        }
    }
    let per = 32 / form.d.bits() as usize;
    let mut d = vec![[0; 32]; c.len()];
    for lane in 0..32 {
        for index in 0..m * n / 32 {
            let at = fragment::c(1, index, lane);
            let c = field(c[index / per][lane], index % per, form.d.bits());
            d[index / per][lane] |= one.of(&a[at.line], &columns[at.first], c) << (index % per * 16);
        }
    }
    d
}

fn words(form: &str) -> Vec<&str> {
    form.split('.').collect()
}

#[test]
fn of_a_warp() {
    let mut random = Random(1);
    let mut buffers = Buffers::default();
    let mut check = |form: &str| {
        let mma = Mma::parse(&words(form)).unwrap();
        let counts = mma.counts();
        let depth = if mma.a == Element::B1 { mma.shape.k / 32 } else { mma.shape.k };
        let saturate = form.contains("satfinite");
        let and = form.contains("and");
        let one = One {
            a: mma.a,
            b: mma.b,
            c: mma.d,
            d: mma.d,
            saturate,
            and,
            negative: [false; 2],
            core: mma.a.core(false),
        };
        for kind in KINDS.into_iter().cycle().take(12) {
            let a = random.rows(counts.a, kind, mma.a.bits());
            let b = random.rows(counts.b, kind, mma.b.bits());
            let c = random.rows(counts.c, kind, mma.d.bits());
            let rows = rows_of(&a, mma.a, [mma.shape.m, depth], &|_, k| k);
            let expected = expected(&mma, &one, &rows, &b, &c);
            with_each(|| assert_eq!(mma.execute(&a, &b, &c, &mut buffers), expected, "{form} {kind:?}"));
        }
    };
    for (shapes, types) in [
        (["m16n8k8", "m16n8k16"], ["f32.f16.f16.f32", "f16.f16.f16.f16"].as_slice()),
        (["m16n8k8", "m16n8k16"], &["f32.bf16.bf16.f32"]),
        (["m16n8k4", "m16n8k8"], &["f32.tf32.tf32.f32"]),
        (["m16n8k16", "m16n8k32"], &["f32.e4m3.e5m2.f32", "f16.e5m2.e4m3.f16", "f32.e4m3.e4m3.f32"]),
        (["m8n8k16", "m16n8k16"], &["s32.s8.u8.s32", "s32.u8.u8.s32.satfinite"]),
        (["m16n8k16", "m16n8k32"], &["s32.s8.s8.s32.satfinite", "s32.u8.s8.s32"]),
        (["m8n8k32", "m16n8k64"], &["s32.s4.u4.s32", "s32.u4.s4.s32.satfinite", "s32.s4.s4.s32"]),
        (["m8n8k128", "m16n8k256"], &["s32.b1.b1.s32.xor.popc", "s32.b1.b1.s32.and.popc"]),
    ] {
        for shape in shapes {
            types.iter().for_each(|types| check(&format!("sync.aligned.{shape}.row.col.{types}")));
        }
    }
}

#[test]
fn of_a_warp_with_a_sparse_a() {
    let mut random = Random(2);
    let mut buffers = Buffers::default();
    for form in [
        "sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        "sp.sync.aligned.m16n8k32.row.col.f16.f16.f16.f16",
        "sp.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32",
        "sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32",
        "sp.sync.aligned.m16n8k64.row.col.f32.e4m3.e5m2.f32",
        "sp.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32",
        "sp.sync.aligned.m16n8k64.row.col.s32.u8.u8.s32.satfinite",
        "sp.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32",
        "sp.sync.aligned.m16n8k128.row.col.s32.u4.s4.s32.satfinite",
    ] {
        let sparse = Sparse::parse(&words(form)).unwrap();
        let mma = &sparse.dense;
        let counts = mma.counts();
        let saturate = form.contains("satfinite");
        let one = One {
            a: mma.a,
            b: mma.b,
            c: mma.d,
            d: mma.d,
            saturate,
            and: false,
            negative: [false; 2],
            core: mma.a.core(true),
        };
        for kind in KINDS.into_iter().cycle().take(8) {
            let a = random.rows(counts.a / 2, kind, mma.a.bits());
            let b = random.rows(counts.b, kind, mma.b.bits());
            let c = random.rows(counts.c, kind, mma.d.bits());
            // Not all of it is what the manual allows.
            let metadata = random.rows(1, Kind::Any, 32)[0];
            let selector = random.word() % sparse.selectors();
            let place = |row, kept| sparse.position(row, kept, &metadata, selector);
            let rows = rows_of(&a, mma.a, [16, mma.shape.k], &place);
            let expected = expected(mma, &one, &rows, &b, &c);
            with_each(|| {
                let d = sparse.execute(&a, &b, &c, (&metadata, selector), &mut buffers);
                assert_eq!(d, expected, "{form} {kind:?}");
            });
        }
    }
}

struct Shared(Vec<u8>);

impl ReadShared for Shared {
    type Error = ();
    fn read(&mut self, address: u32, piece: &mut [u32; 4]) -> Result<(), ()> {
        let words = piece.iter_mut().zip(self.0[address as usize..][..16].as_chunks().0);
        words.for_each(|(word, &bytes)| *word = u32::from_le_bytes(bytes));
        Ok(())
    }
}

impl Shared {
    /// Rows or columns from `first` on, element by element.
    fn lines(&self, matrix: Descriptor, [first, count, depth]: [usize; 3], element: Element) -> Vec<Line> {
        let bytes = element.stored_bits() as usize / 8;
        let at = |row: usize, k: usize| {
            let (along, across) = if matrix.transposed { (row, k) } else { (k, row) };
            let piece = matrix.piece((along * bytes / 16) as u32, across as u32) as usize;
            let start = piece + along * bytes % 16;
            self.0[start..][..bytes].iter().rev().fold(0, |bits, &byte| bits << 8 | u32::from(byte))
        };
        (first..first + count).map(|row| (0..depth).map(|k| Some(at(row, k))).collect()).collect()
    }
}

#[test]
fn of_a_warpgroup() {
    let mut random = Random(3);
    let mut buffers = Buffers::default();
    for form in [
        "mma_async.sync.aligned.m64n8k16.f32.f16.f16",
        "mma_async.sync.aligned.m64n40k16.f16.f16.f16",
        "mma_async.sync.aligned.m64n128k16.f32.bf16.bf16",
        "mma_async.sync.aligned.m64n24k8.f32.tf32.tf32",
        "mma_async.sync.aligned.m64n32k32.f16.e4m3.e5m2",
        "mma_async.sync.aligned.m64n8k32.f32.e5m2.e4m3",
        "mma_async.sync.aligned.m64n16k32.s32.u8.s8",
        "mma_async.sync.aligned.m64n32k32.s32.s8.s8.satfinite",
        "mma_async.sync.aligned.m64n32k256.s32.b1.b1.and.popc",
        "mma_async.sp.sync.aligned.m64n16k32.f32.f16.f16",
        "mma_async.sp.sync.aligned.m64n8k32.f16.f16.f16",
        "mma_async.sp.sync.aligned.m64n8k16.f32.tf32.tf32",
        "mma_async.sp.sync.aligned.m64n24k64.s32.u8.s8.satfinite",
        "mma_async.sp.sync.aligned.m64n8k64.f32.e4m3.e4m3",
    ] {
        let plain = Wgmma::parse(&words(form)).unwrap();
        let (transposes, negates) = plain.operands();
        for (number, kind) in KINDS.into_iter().cycle().take(16).enumerate() {
            let bit = |bit: u32, may: bool| may && random.0 >> (40 + bit) & 1 != 0;
            let from_registers = bit(0, true);
            let wgmma = Wgmma {
                a_transposed: bit(1, transposes && !from_registers),
                b_transposed: bit(2, transposes),
                a_negative: bit(3, negates),
                b_negative: bit(4, negates),
                ..plain
            };
            let (depth, kept) = wgmma.depths();
            let bits = wgmma.a.stored_bits();
            let memory = (0..1 << 16).flat_map(|_| random.elements(kind, bits).to_le_bytes()).collect();
            let mut shared = Shared(memory);
            // Starts, distances and swizzles of all kinds, in some of the memory.
            let mut descriptor = || {
                let [start, leading, stride] =
                    [0x3FF, 0x7F, 0xFF].map(|most| u64::from(random.word() & most));
                let (base, swizzle) = (u64::from(random.word() & 7), u64::from(random.word() & 3));
                start | leading << 16 | stride << 32 | base << 49 | swizzle << 62
            };
            let (of_a, of_b) = (descriptor(), descriptor());
            let metadata = random.rows(1, Kind::Any, 32)[0];
            let selector = wgmma.sparse.map_or(0, |sparse| random.word() % sparse.selectors());
            let place = |row, kept| match &wgmma.sparse {
                Some(sparse) => sparse.position(row, kept, &metadata, selector),
                None => kept,
            };
            let (warp, accumulate) = (number % 4, number % 3 != 0);
            let registers = random.rows(4, kind, wgmma.a.bits());
            let rows = if from_registers {
                rows_of(&registers, wgmma.a, [16, depth], &place)
            } else {
                let stored =
                    shared.lines(Descriptor::new(of_a, wgmma.a_transposed), [warp * 16, 16, kept], wgmma.a);
                let mut rows = vec![vec![None; depth]; 16];
                for (row, line) in stored.iter().enumerate() {
                    line.iter().enumerate().for_each(|(kept, &bits)| rows[row][place(row, kept)] = bits);
                }
                rows
            };
            let n = wgmma.shape.n;
            let columns = shared.lines(Descriptor::new(of_b, wgmma.b_transposed), [0, n, depth], wgmma.b);
            let before = random.rows(wgmma.counts().0, kind, wgmma.d.bits());
            let one = One {
                a: wgmma.a,
                b: wgmma.b,
                c: wgmma.d,
                d: wgmma.d,
                saturate: form.contains("satfinite"),
                and: true,
                negative: [wgmma.a_negative, wgmma.b_negative],
                core: wgmma.core(),
            };
            let mut expected = before.clone();
            for (row, of_row) in rows.iter().enumerate() {
                for (column, of_column) in columns.iter().enumerate() {
                    let c = wgmma.get(&before, row, column);
                    let value = one.of(of_row, of_column, if accumulate { c } else { 0 });
                    wgmma.put(&mut expected, row, column, value);
                }
            }
            let metadata = wgmma.sparse.map(|_| (&metadata, selector));
            with_each(|| {
                if from_registers {
                    wgmma.a_of_registers(&registers, metadata, &mut buffers);
                } else {
                    wgmma.a_of_shared(of_a, warp, metadata, &mut shared, &mut buffers).unwrap();
                }
                wgmma.b_of_shared(of_b, &mut shared, &mut buffers).unwrap();
                wgmma.convert(&mut buffers);
                let mut d = before.clone();
                for (number, d) in d.chunks_mut(wgmma.registers_of_eight()).enumerate() {
                    wgmma.multiply(&buffers, number, accumulate, d);
                }
                assert_eq!(d, expected, "{wgmma:?} {kind:?}");
            });
        }
    }
}

/// An element of a fragment of `wmma`, by its number.
fn of_fragment(fragment: &[Row], at: usize, bits: u32) -> u32 {
    let per = 32 / bits as usize;
    field(fragment[at / per % fragment.len()][at / (per * fragment.len())], at % per, bits)
}

#[test]
fn of_fragments() {
    let mut random = Random(4);
    let mut buffers = Buffers::default();
    for form in [
        "mma.sync.aligned.row.row.m16n16k16.f32.f32",
        "mma.sync.aligned.row.row.m16n16k16.f16.f16",
        "mma.sync.aligned.row.row.m32n8k16.f32.f16",
        "mma.sync.aligned.row.row.m8n32k16.f16.f32",
        "mma.sync.aligned.row.row.m8n32k16.f32.bf16.bf16.f32",
        "mma.sync.aligned.row.row.m16n16k8.f32.tf32.tf32.f32",
    ] {
        let wmma = Wmma::parse(&words(form)).unwrap();
        let (counts, Shape { m, n, k }) = (wmma.counts(), wmma.shape);
        let Wmma { a, b, c, d, .. } = wmma;
        let (negative, core) = ([false; 2], a.core(false));
        let one = One { a, b, c, d, saturate: false, and: false, negative, core };
        for kind in KINDS {
            let of_a = random.rows(counts.a, kind, a.bits());
            let of_b = random.rows(counts.b, kind, b.bits());
            let of_c = random.rows(counts.c, kind, c.bits());
            let line = |fragment: &[Row], at: &dyn Fn(usize) -> usize| -> Line {
                (0..k).map(|k| Some(of_fragment(fragment, at(k), a.stored_bits()))).collect()
            };
            with_each(|| {
                let result = wmma.execute(&of_a, &of_b, &of_c, &mut buffers);
                for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
                    let at = row * n + column;
                    let (row, column) = (line(&of_a, &|at| row * k + at), line(&of_b, &|at| at * n + column));
                    // Products of tf32 take four elements along k at a time.
                    let step = if a == Element::Tf32 { 4 } else { k };
                    let expected =
                        (0..k).step_by(step).fold(of_fragment(&of_c, at, c.bits()), |sum, first| {
                            one.of(&row[first..][..step].to_vec(), &column[first..][..step].to_vec(), sum)
                        });
                    assert_eq!(of_fragment(&result, at, d.bits()), expected, "{form} {kind:?} {at}");
                }
            });
        }
    }
}
