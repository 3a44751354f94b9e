//! `wgmma.mma_async`: its forms, the descriptors of matrices in shared memory, and one warp's share of the product.
//!
//! The warps of a warpgroup do not depend on each other: warp w computes rows 16w to 16w + 15 of D, from these rows of A
//! and all of B.

use super::element::{Accumulator, Element, Family};
use super::fragment;
use super::mma::{Row, Shape, field};
use super::product;
use super::sparse::Sparse;

/// One form of `wgmma.mma_async`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wgmma {
    pub shape: Shape,
    pub d: Accumulator,
    pub a: Element,
    pub b: Element,
    saturate: bool,
    /// A contains every second element (`.sp`), and metadata says which.
    pub sparse: Option<Sparse>,
    /// A or B is stored along m or n in shared memory instead of along k.
    pub a_transposed: bool,
    pub b_transposed: bool,
    /// A or B is negated.
    pub a_negative: bool,
    pub b_negative: bool,
}

/// Reads 16 bytes of shared memory at a multiple of 16.
pub(crate) trait ReadShared {
    type Error;
    fn read(&mut self, address: u32) -> Result<[u8; 16], Self::Error>;
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

    /// Bits of an element as stored in rows and columns: whole words for `b1`.
    fn stored_bits(element: Element) -> u32 {
        if element == Element::B1 { 32 } else { element.bits() }
    }

    /// Elements along k, as stored.
    fn depth(&self) -> usize {
        if self.a == Element::B1 { self.shape.k / 32 } else { self.shape.k }
    }

    /// Elements of a row of A.
    fn a_depth(&self) -> usize {
        if self.sparse.is_some() { self.depth() / 2 } else { self.depth() }
    }

    /// A's 16 rows for a warp, each along k, from its registers.
    pub fn a_of_registers(&self, registers: &[Row]) -> Vec<u32> {
        let bits = Self::stored_bits(self.a);
        let per = (32 / bits) as usize;
        let depth = self.a_depth();
        let mut elements = vec![0; 16 * depth];
        for (register, values) in registers.iter().enumerate() {
            for lane in 0..32 {
                let place = fragment::a(16, per, register, lane);
                for e in 0..per {
                    elements[place.line * depth + place.first + e] = field(values[lane], e, bits);
                }
            }
        }
        elements
    }

    /// A's 16 rows for the warp with number `warp` in its group, from shared memory.
    pub fn a_of_shared<R: ReadShared>(
        &self,
        descriptor: u64,
        warp: usize,
        memory: &mut R,
    ) -> Result<Vec<u32>, R::Error> {
        let matrix = Descriptor::new(descriptor, self.a_transposed);
        matrix.elements(warp * 16, 16, self.a_depth(), Self::stored_bits(self.a), memory)
    }

    /// B's columns, each along k.
    pub fn b_of_shared<R: ReadShared>(&self, descriptor: u64, memory: &mut R) -> Result<Vec<u32>, R::Error> {
        let matrix = Descriptor::new(descriptor, self.b_transposed);
        matrix.elements(0, self.shape.n, self.depth(), Self::stored_bits(self.b), memory)
    }

    /// Computes the warp's D: `a` has 16 rows along k, `b` n columns along k, `d` the registers to add to, if any.
    pub fn execute(&self, a: &[u32], b: &[u32], d: &mut [Row], accumulate: bool) {
        match self.a.family() {
            Family::Float => self.floats(a, b, d, accumulate),
            _ => self.integers(a, b, d, accumulate),
        }
    }

    /// The undefined bits of D, replacing those it had: an element of A affects its row, one of B its column, and one
    /// of D itself if it is added to. `row_is`: whether more of a row of A is unknown.
    pub fn undefined(
        &self,
        a: &[u32],
        b: &[u32],
        d: &mut [Row],
        accumulate: bool,
        row_is: &dyn Fn(usize) -> bool,
    ) {
        let any = |line: &[u32]| line.iter().any(|&bits| bits != 0);
        let rows: Vec<bool> =
            a.chunks_exact(self.a_depth()).enumerate().map(|(row, line)| any(line) || row_is(row)).collect();
        let columns: Vec<bool> = b.chunks_exact(self.depth()).map(any).collect();
        for (row, &of_row) in rows.iter().enumerate() {
            for (column, &of_column) in columns.iter().enumerate() {
                let (register, lane, index) = self.place(row, column);
                let own = accumulate && field(d[register][lane], index, self.d.bits()) != 0;
                self.put(d, row, column, product::all_if(own || of_row || of_column, self.d));
            }
        }
    }

    fn floats(&self, a: &[u32], b: &[u32], d: &mut [Row], accumulate: bool) {
        let (n, depth) = (self.shape.n, self.depth());
        let value = |element: Element, bits: u32, negative: bool| {
            let value = f64::from(element.float(bits));
            if negative { -value } else { value }
        };
        // Along n, so that a row of sums is contiguous in memory.
        let mut across = vec![0.0; depth * n];
        for (column, elements) in b.chunks_exact(depth).enumerate() {
            for (k, &bits) in elements.iter().enumerate() {
                across[k * n + column] = value(self.b, bits, self.b_negative);
            }
        }
        let mut sums = vec![0.0; n];
        for (row, elements) in a.chunks_exact(depth).enumerate() {
            for (column, sum) in sums.iter_mut().enumerate() {
                let (register, lane, index) = self.place(row, column);
                let bits = field(d[register][lane], index, self.d.bits());
                *sum = if accumulate { product::widen(bits, self.d) } else { 0.0 };
            }
            for (&bits, line) in elements.iter().zip(across.chunks_exact(n)) {
                let a = value(self.a, bits, self.a_negative);
                // Products of two 24-bit values are exact.
                sums.iter_mut().zip(line).for_each(|(sum, &b)| *sum += a * b);
            }
            for (column, &sum) in sums.iter().enumerate() {
                self.put(d, row, column, product::round(sum, self.d));
            }
        }
    }

    fn integers(&self, a: &[u32], b: &[u32], d: &mut [Row], accumulate: bool) {
        let depth = self.depth();
        let convert = |element: Element, bits: &[u32]| {
            bits.iter().map(|&bits| element.integer(bits)).collect::<Vec<_>>()
        };
        let (ia, ib) = (convert(self.a, a), convert(self.b, b));
        for row in 0..16 {
            for column in 0..self.shape.n {
                let (register, lane, _) = self.place(row, column);
                let c = if accumulate { d[register][lane] as i32 } else { 0 };
                let (ra, rb) = (row * depth..(row + 1) * depth, column * depth..(column + 1) * depth);
                let sum = match self.a {
                    Element::B1 => product::dot_bits(&a[ra], &b[rb], c, true),
                    _ => product::dot_integer(&ia[ra], &ib[rb], c, self.saturate),
                };
                self.put(d, row, column, sum as u32);
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

    fn put(&self, d: &mut [Row], row: usize, column: usize, bits: u32) {
        let (register, lane, half) = self.place(row, column);
        let word = &mut d[register][lane];
        *word = match self.d {
            Accumulator::F16 => (*word & !(0xFFFF << (half * 16))) | bits << (half * 16),
            _ => bits,
        };
    }
}

/// A matrix in shared memory, as described by 64 bits.
///
/// Memory consists of 16-byte pieces. Without a swizzle, eight consecutive pieces form a core matrix, and core matrices
/// have a distance along each of the two directions. With a swizzle, a row of pieces as long as the span is one line,
/// eight lines follow each other, and the line's number permutes the pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Descriptor {
    start: u32,
    leading: u32,
    stride: u32,
    /// Where the swizzle pattern starts, in lines of 128 bytes.
    base: u32,
    /// Pieces per line; 1 without a swizzle.
    span: u32,
    /// Elements are stored along m or n instead of along k.
    transposed: bool,
}

impl Descriptor {
    fn new(bits: u64, transposed: bool) -> Self {
        let part = |low: u32| (bits >> low & 0x3FFF) as u32 * 16;
        Self {
            start: part(0),
            leading: part(16),
            stride: part(32),
            base: (bits >> 49 & 7) as u32,
            span: [1, 8, 4, 2][(bits >> 62) as usize],
            transposed,
        }
    }

    /// The address of piece number `along` in the direction in which elements are stored, of line `across` in the
    /// other.
    fn piece(&self, along: u32, across: u32) -> u32 {
        let (eight, one) = (across / 8, across % 8);
        let offset = match (self.span, self.transposed) {
            (1, false) => one * 16 + eight * self.stride + along * self.leading,
            // The two distances swap roles.
            (1, true) => one * 16 + eight * self.leading + along * self.stride,
            (span, _) => {
                one * span * 16 + eight * self.stride + along % span * 16 + along / span * self.leading
            }
        };
        let address = self.start.wrapping_add(offset);
        let line = (address >> 7).wrapping_sub(self.base);
        address ^ ((line & (self.span - 1)) << 4)
    }

    /// Elements of `count` rows (A) or columns (B) from `first` on, each along k.
    fn elements<R: ReadShared>(
        &self,
        first: usize,
        count: usize,
        depth: usize,
        bits: u32,
        memory: &mut R,
    ) -> Result<Vec<u32>, R::Error> {
        let per = (128 / bits) as usize;
        let mut elements = vec![0; count * depth];
        let (along, across) = if self.transposed { (count, depth) } else { (depth, count) };
        // A transposed matrix starts at a multiple of 16 rows, so at a whole piece.
        let (skip_along, skip_across) = if self.transposed { (first / per, 0) } else { (0, first) };
        for line in 0..across {
            for piece in 0..along / per {
                let bytes =
                    memory.read(self.piece((piece + skip_along) as u32, (line + skip_across) as u32))?;
                let value = u128::from_le_bytes(bytes);
                for e in 0..per {
                    let element = (value >> (e as u32 * bits)) as u32;
                    let element = if bits < 32 { element & ((1 << bits) - 1) } else { element };
                    let at = piece * per + e;
                    let (row, k) = if self.transposed { (at, line) } else { (line, at) };
                    elements[row * depth + k] = element;
                }
            }
        }
        Ok(elements)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Shared(Vec<u8>);

    impl ReadShared for Shared {
        type Error = String;
        fn read(&mut self, address: u32) -> Result<[u8; 16], String> {
            let bytes = self.0.get(address as usize..address as usize + 16).ok_or(format!("{address:#x}"))?;
            Ok(bytes.try_into().unwrap())
        }
    }

    fn form(words: &str) -> Result<Wgmma, String> {
        Wgmma::parse(&words.split('.').collect::<Vec<_>>())
    }

    fn descriptor(start: u32, leading: u32, stride: u32, swizzle: u64) -> u64 {
        let part = |bytes: u32| u64::from(bytes >> 4 & 0x3FFF);
        part(start) | part(leading) << 16 | part(stride) << 32 | swizzle << 62
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

    /// Sixteen rows of 64 `f16` in lines of 128 bytes, pieces permuted as a tensor map's 128-byte swizzle does, are read
    /// back in order, also from the second step along k on, 32 bytes further.
    #[test]
    fn along_k_with_a_swizzle() {
        for (swizzle, map, line) in [
            (1, crate::tensor_map::Swizzle::B128, 128),
            (2, crate::tensor_map::Swizzle::B64, 64),
            (3, crate::tensor_map::Swizzle::B32, 32),
        ] {
            let mut shared = Shared(vec![0xEE; 8192]);
            let start = 2048;
            for row in 0..16u32 {
                for k in 0..line / 2 {
                    let at = map.place(start + row * line + k * 2) as usize;
                    shared.0[at..at + 2].copy_from_slice(&((row * 64 + k) as u16).to_le_bytes());
                }
            }
            for step in 0..line / 32 {
                let bits = descriptor(start + step * 32, 16, line * 8, swizzle);
                let elements = Descriptor::new(bits, false).elements(0, 16, 16, 16, &mut shared).unwrap();
                for (index, &element) in elements.iter().enumerate() {
                    assert_eq!(element, index as u32 / 16 * 64 + index as u32 % 16 + step * 16);
                }
            }
        }
    }

    /// Core matrices of eight rows of 16 bytes: 128 bytes each, along k first.
    #[test]
    fn along_k_without_a_swizzle() {
        let mut shared = Shared(vec![0xEE; 4096]);
        for row in 0..16usize {
            for k in 0..16usize {
                let at = 256 + row / 8 * 256 + k / 8 * 128 + row % 8 * 16 + k % 8 * 2;
                shared.0[at..at + 2].copy_from_slice(&((row * 16 + k) as u16).to_le_bytes());
            }
        }
        let bits = descriptor(256, 128, 256, 0);
        let elements = Descriptor::new(bits, false).elements(0, 16, 16, 16, &mut shared).unwrap();
        assert!(elements.iter().enumerate().all(|(index, &element)| element == index as u32));
    }

    /// Boxes of 64 columns and 16 k, stored k by k in lines of 128 bytes, two boxes for 128 columns: the stride is that of
    /// eight k, the leading distance that of a box.
    #[test]
    fn along_n_with_a_swizzle() {
        let mut shared = Shared(vec![0xEE; 8192]);
        for column in 0..128u32 {
            for k in 0..16u32 {
                let at = 1024 + column / 64 * 2048 + k * 128 + column % 64 * 2;
                let at = crate::tensor_map::Swizzle::B128.place(at) as usize;
                shared.0[at..at + 2].copy_from_slice(&((column * 16 + k) as u16).to_le_bytes());
            }
        }
        let bits = descriptor(1024, 2048, 1024, 1);
        let matrix = Descriptor::new(bits, true);
        let elements = matrix.elements(0, 128, 16, 16, &mut shared).unwrap();
        assert!(elements.iter().enumerate().all(|(index, &element)| element == index as u32));
        let later = matrix.elements(16, 16, 16, 16, &mut shared).unwrap();
        assert_eq!(later, elements[16 * 16..32 * 16]);
    }

    /// D of small integers, in every warp, by the manual's layout of D.
    #[test]
    fn products() {
        let wgmma = form("mma_async.sync.aligned.m64n24k16.f32.f16.f16").unwrap();
        let h = |value: i32| u32::from(half::f16::from_f32(value as f32).to_bits());
        let a = |m: usize, k: usize| (m * 5 + k * 3) as i32 % 9 - 4;
        let b = |k: usize, n: usize| (n * 7 + k) as i32 % 5 - 2;
        let columns: Vec<u32> = (0..24).flat_map(|n| (0..16).map(move |k| h(b(k, n)))).collect();
        for warp in 0..4 {
            let rows: Vec<u32> = (0..16).flat_map(|m| (0..16).map(move |k| h(a(warp * 16 + m, k)))).collect();
            let mut d = vec![[1.0f32.to_bits(); 32]; 12];
            wgmma.execute(&rows, &columns, &mut d, true);
            for lane in 0..32 {
                for (i, register) in d.iter().enumerate() {
                    let row = warp * 16 + lane / 4 + i % 4 / 2 * 8;
                    let column = i / 4 * 8 + lane % 4 * 2 + i % 2;
                    let expected: i32 = (0..16).map(|k| a(row, k) * b(k, column)).sum();
                    assert_eq!(f32::from_bits(register[lane]), expected as f32 + 1.0);
                }
            }
            let mut halves = vec![[0xFFFF_FFFF; 32]; 6];
            let narrow = Wgmma { d: Accumulator::F16, b_negative: true, ..wgmma };
            narrow.execute(&rows, &columns, &mut halves, false);
            for lane in 0..32 {
                for (i, register) in halves.iter().enumerate() {
                    let value = half::f16::from_bits((register[lane] >> 16) as u16).to_f32();
                    let same = d[i / 2 * 4 + i % 2 * 2 + 1][lane];
                    assert_eq!(value, 1.0 - f32::from_bits(same));
                }
            }
        }
    }

    #[test]
    fn registers_hold_a_as_mma_does() {
        let wgmma = form("mma_async.sync.aligned.m64n8k32.s32.s8.s8").unwrap();
        let registers: Vec<Row> =
            (0..4).map(|r| std::array::from_fn(|lane| (r * 32 + lane) as u32)).collect();
        let a = wgmma.a_of_registers(&registers);
        // Row 9, k 20 to 23: register 3 of lane 5.
        assert_eq!(a[9 * 32 + 20], 3 * 32 + 5);
        let mut d = vec![[0; 32]; 4];
        wgmma.execute(&vec![0xFF; 16 * 32], &vec![2; 8 * 32], &mut d, false);
        assert!(d.iter().flatten().all(|&d| d as i32 == -64));
    }
}
