//! `wgmma.mma_async`: its forms, the descriptors of matrices in shared memory, and one warp's share of the product.
//!
//! The warps of a warpgroup do not depend on each other: warp w computes rows 16w to 16w + 15 of D, from these rows of A
//! and all of B.

use super::Buffers;
use super::descriptor::{Descriptor, ReadShared};
use super::element::{Accumulator, Element, Family};
use super::mma::{Row, Shape, field};
use super::panels::Elements;
use super::product::{self, TensorCore};
use super::sparse::Sparse;
use super::stored::{Source, Stored};

/// One form of `wgmma.mma_async`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wgmma {
    pub shape: Shape,
    pub d: Accumulator,
    pub a: Element,
    pub b: Element,
    pub saturate: bool,
    /// A contains every second element (`.sp`), and metadata says which.
    pub sparse: Option<Sparse>,
    /// A or B is stored along m or n in shared memory instead of along k.
    pub a_transposed: bool,
    pub b_transposed: bool,
    /// A or B is negated.
    pub a_negative: bool,
    pub b_negative: bool,
}

impl Wgmma {
    /// Reads the modifiers after `wgmma`, of which `mma_async` is the first.
    pub fn parse(words: &[&str]) -> Result<Self, String> {
        let (sparse, words) = match words {
            ["mma_async", "sp", rest @ ..] => (true, rest),
            ["mma_async", rest @ ..] => (false, rest),
            _ => return Err("expected `.mma_async`".into()),
        };
        let ["sync", "aligned", shape, rest @ ..] = words else {
            return Err("expected `.sync.aligned` and a shape".into());
        };
        let shape = Shape::from_word(shape).ok_or_else(|| format!("`.{shape}` is not a shape"))?;
        let (saturate, rest) = match rest {
            // The manual's syntax puts it before the types, its examples after them.
            ["satfinite", rest @ ..] | [rest @ .., "satfinite"] => (true, rest),
            rest => (false, rest),
        };
        let [d, a, b, rest @ ..] = rest else { return Err("expected three types".into()) };
        let (Some(d), Some(a), Some(b)) =
            (Accumulator::from_word(d), Element::from_word(a), Element::from_word(b))
        else {
            return Err(format!("types `.{d}.{a}.{b}` are not supported in a matrix product"));
        };
        let bits = if a == Element::B1 { ["and", "popc"].as_slice() } else { &[] };
        let mut made = Self {
            shape,
            d,
            a,
            b,
            saturate,
            sparse: None,
            a_transposed: false,
            b_transposed: false,
            a_negative: false,
            b_negative: false,
        };
        // With `.sp` an instruction takes twice the depth.
        made.shape.k = if sparse { shape.k / 2 } else { shape.k };
        let known = rest == bits && made.is_known() && !(sparse && (shape.k % 2 != 0 || a == Element::B1));
        if !known {
            return Err("there is no such combination of shape and types".into());
        }
        made.shape.k = shape.k;
        made.sparse = sparse.then(|| Sparse::of_group(shape.k, a, b, d));
        Ok(made)
    }

    fn is_known(&self) -> bool {
        use Element::*;
        let Shape { m, n, k } = self.shape;
        let columns = match self.a {
            // Eight-bit integers and single bits skip some widths.
            S8 | U8 | B1 => n % 16 == 0 || n == 8 || n == 24,
            _ => n % 8 == 0,
        };
        let depth = match self.a {
            F16 | Bf16 => 16,
            Tf32 => 8,
            E4m3 | E5m2 | S8 | U8 => 32,
            B1 => 256,
            _ => return false,
        };
        let same_kind = match self.a {
            E4m3 | E5m2 => matches!(self.b, E4m3 | E5m2),
            S8 | U8 => matches!(self.b, S8 | U8),
            other => other == self.b,
        };
        let accumulator = match self.a {
            F16 | E4m3 | E5m2 => matches!(self.d, Accumulator::F16 | Accumulator::F32),
            Bf16 | Tf32 => self.d == Accumulator::F32,
            _ => self.d == Accumulator::S32,
        };
        let saturates = matches!(self.a, S8 | U8);
        m == 64
            && (8..=256).contains(&n)
            && columns
            && k == depth
            && same_kind
            && accumulator
            && (saturates || !self.saturate)
    }

    /// How many 32-bit registers D has, and A if it is in registers.
    pub fn counts(&self) -> (usize, usize) {
        (self.shape.n / 2 * self.d.bits() as usize / 32, 4)
    }

    /// Whether the instruction has operands that transpose (16-bit types) and that negate (floating-point types).
    pub fn operands(&self) -> (bool, bool) {
        (matches!(self.a, Element::F16 | Element::Bf16), self.a.family() == Family::Float)
    }

    /// Elements along k, as stored, and how many of them a row of A has.
    pub fn depths(&self) -> (usize, usize) {
        let depth = if self.a == Element::B1 { self.shape.k / 32 } else { self.shape.k };
        (depth, if self.sparse.is_some() { depth / 2 } else { depth })
    }

    /// Begins a product with A's 16 rows for a warp from its registers. `metadata`: that of a sparse A, and its selector;
    /// without, its elements come one after the other.
    pub fn a_of_registers(&self, a: &[Row], metadata: Option<(&Row, u32)>, buffers: &mut Buffers) {
        self.begin(Source::Registers(a), metadata, &mut buffers.stored);
    }

    /// Begins a product with A's 16 rows for the warp with number `warp` in its group from shared memory.
    pub fn a_of_shared<R: ReadShared>(
        &self,
        descriptor: u64,
        warp: usize,
        metadata: Option<(&Row, u32)>,
        memory: &mut R,
        buffers: &mut Buffers,
    ) -> Result<(), R::Error> {
        let Buffers { pieces, stored, .. } = buffers;
        let matrix = Descriptor::new(descriptor, self.a_transposed);
        let a = matrix.read(warp * 16, 16, self.depths().1, self.a.stored_bits(), memory, pieces)?;
        self.begin(Source::Lines(a), metadata, stored);
        Ok(())
    }

    fn begin(&self, a: Source<'_>, metadata: Option<(&Row, u32)>, stored: &mut Stored) {
        let (size, bits) = ([16, self.depths().0], self.a.stored_bits());
        match self.sparse {
            Some(sparse) => stored.set_sparse_rows(a, size, bits, |row, kept| {
                metadata.map_or(kept, |(words, selector)| sparse.position(row, kept, words, selector))
            }),
            None => stored.set_rows(a, size, bits),
        }
    }

    /// Goes on with B from shared memory.
    pub fn b_of_shared<R: ReadShared>(
        &self,
        descriptor: u64,
        memory: &mut R,
        buffers: &mut Buffers,
    ) -> Result<(), R::Error> {
        let Buffers { pieces, stored, .. } = buffers;
        let matrix = Descriptor::new(descriptor, self.b_transposed);
        let b = matrix.read(0, self.shape.n, self.depths().0, self.b.stored_bits(), memory, pieces)?;
        stored.set_columns(Source::Lines(b), self.shape.n, self.b.stored_bits());
        Ok(())
    }

    /// Makes values of the bits of A and B.
    pub fn convert(&self, buffers: &mut Buffers) {
        let Buffers { stored, floats, integers, words, .. } = buffers;
        let a = Elements { element: self.a, negative: self.a_negative };
        let b = Elements { element: self.b, negative: self.b_negative };
        match self.a.family() {
            Family::Bits => words.set(stored, a, b),
            Family::Float => floats.set(stored, self.core(), a, b),
            _ => integers.set(stored, a, b),
        }
    }

    /// How many registers of D hold eight columns.
    pub fn registers_of_eight(&self) -> usize {
        self.d.bits() as usize / 8
    }

    /// How its floating-point products are added.
    pub(super) fn core(&self) -> TensorCore {
        match self.a {
            Element::E4m3 | Element::E5m2 => TensorCore::Narrow,
            _ => TensorCore::Wide,
        }
    }

    /// Computes eight columns of the warp's D, whose registers hold what they are added to, if `accumulate`.
    pub fn multiply(&self, buffers: &Buffers, number: usize, accumulate: bool, d: &mut [Row]) {
        match self.a.family() {
            Family::Bits => buffers.words.multiply(number, true, accumulate, d),
            Family::Float => buffers.floats.multiply(number, self.core(), self.d, accumulate, d),
            _ => buffers.integers.multiply(number, self.saturate, accumulate, d),
        }
    }

    /// The undefined bits of D, replacing those it had, from A's and B's in `buffers`: an element of A affects its row,
    /// one of B its column, and one of D itself if it is added to. `row_is`: whether more of a row of A is unknown.
    pub fn undefined(
        &self,
        buffers: &Buffers,
        d: &mut [Row],
        accumulate: bool,
        row_is: impl Fn(usize) -> bool,
    ) {
        let columns: Vec<bool> = buffers.stored.marked_columns().collect();
        for (row, of_row) in buffers.stored.marked_rows().enumerate() {
            let of_row = of_row || row_is(row);
            for (column, &of_column) in columns.iter().enumerate() {
                let own = accumulate && self.get(d, row, column) != 0;
                self.put(d, row, column, product::all_if(own || of_row || of_column, self.d));
            }
        }
    }

    /// Register, lane and half of an element of the warp's D.
    fn place(&self, row: usize, column: usize) -> (usize, usize, usize) {
        let lane = row % 8 * 4 + column % 8 / 2;
        let element = column / 8 * 4 + row / 8 * 2 + column % 2;
        match self.d {
            Accumulator::F16 => (element / 2, lane, element % 2),
            _ => (element, lane, 0),
        }
    }

    pub fn get(&self, d: &[Row], row: usize, column: usize) -> u32 {
        let (register, lane, half) = self.place(row, column);
        field(d[register][lane], half, self.d.bits())
    }

    pub fn put(&self, d: &mut [Row], row: usize, column: usize, bits: u32) {
        let (register, lane, half) = self.place(row, column);
        let word = &mut d[register][lane];
        *word = match self.d {
            Accumulator::F16 => (*word & !(0xFFFF << (half * 16))) | bits << (half * 16),
            _ => bits,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(words: &str) -> Result<Wgmma, String> {
        Wgmma::parse(&words.split('.').collect::<Vec<_>>())
    }

    #[test]
    fn forms() {
        for (words, d) in [
            ("mma_async.sync.aligned.m64n256k16.f32.bf16.bf16", 128),
            ("mma_async.sync.aligned.m64n8k16.f16.f16.f16", 2),
            ("mma_async.sync.aligned.m64n64k8.f32.tf32.tf32", 32),
            ("mma_async.sync.aligned.m64n96k32.f32.e4m3.e5m2", 48),
            ("mma_async.sync.aligned.m64n16k32.satfinite.s32.u8.s8", 8),
            ("mma_async.sync.aligned.m64n16k32.s32.u8.s8.satfinite", 8),
            ("mma_async.sp.sync.aligned.m64n8k32.f16.f16.f16", 2),
            ("mma_async.sp.sync.aligned.m64n8k16.f32.tf32.tf32", 4),
            ("mma_async.sp.sync.aligned.m64n24k64.s32.u8.s8.satfinite", 12),
            ("mma_async.sync.aligned.m64n128k256.s32.b1.b1.and.popc", 64),
        ] {
            assert_eq!(form(words).unwrap().counts().0, d, "{words}");
        }
        for words in [
            "mma_async.sync.aligned.m64n260k16.f32.bf16.bf16",
            "mma_async.sync.aligned.m64n4k16.f32.bf16.bf16",
            "mma_async.sync.aligned.m64n8k8.f32.bf16.bf16",
            "mma_async.sync.aligned.m64n8k16.f16.bf16.bf16",
            "mma_async.sync.aligned.m64n8k256.s32.b1.b1",
            "mma_async.sp.sync.aligned.m64n8k16.f16.f16.f16",
            "mma_async.sp.sync.aligned.m64n8k512.s32.b1.b1.and.popc",
            "mma_async.sync.aligned.m128n8k16.f32.bf16.bf16",
        ] {
            assert!(form(words).is_err(), "{words}");
        }
    }
    /// D by the manual's formulas.
    #[test]
    fn places_are_the_manuals() {
        let wide = form("mma_async.sync.aligned.m64n24k16.f32.f16.f16").unwrap();
        let narrow = Wgmma { d: Accumulator::F16, ..wide };
        for lane in 0..32 {
            for i in 0..12 {
                let (row, column) = (lane / 4 + i % 4 / 2 * 8, i / 4 * 8 + lane % 4 * 2 + i % 2);
                assert_eq!(wide.place(row, column), (i, lane, 0));
                assert_eq!(narrow.place(row, column), (i / 2, lane, i % 2));
            }
        }
    }

    /// One element of a sparse A, whose metadata is known, affects its row, and one of B its column.
    #[test]
    fn undefined_elements_affect_rows_and_columns() {
        let sparse = form("mma_async.sp.sync.aligned.m64n16k32.f32.f16.f16").unwrap();
        let mut a = [[0; 32]; 4];
        // Row 9.
        a[3][5] = 1;
        let mut buffers = Buffers::default();
        // Pieces along k 512 bytes apart, eights of columns 128.
        let of_b = 32 << 16 | 8 << 32;
        sparse.a_of_registers(&a, None, &mut buffers);
        sparse.b_of_shared(of_b, &mut ThirdColumn, &mut buffers).unwrap();
        let mut d = vec![[0; 32]; sparse.counts().0];
        sparse.undefined(&buffers, &mut d, false, |row| row == 2);
        for (row, column) in (0..16).flat_map(|row| (0..16).map(move |column| (row, column))) {
            let expected = if row == 9 || row == 2 || column == 3 { u32::MAX } else { 0 };
            assert_eq!(sparse.get(&d, row, column), expected, "{row} {column}");
        }
    }

    /// Only one bit of column 3 is undefined.
    struct ThirdColumn;

    impl ReadShared for ThirdColumn {
        type Error = std::convert::Infallible;
        fn read(&mut self, address: u32, piece: &mut [u32; 4]) -> Result<(), Self::Error> {
            *piece = [0, 0, 0, u32::from(address == 3 * 16) << 31];
            Ok(())
        }
    }
}
