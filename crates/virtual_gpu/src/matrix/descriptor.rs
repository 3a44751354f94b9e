//! The descriptors of `wgmma`'s matrices in shared memory, and their reading.

/// Reads 16 bytes of shared memory, as four words, at a multiple of 16.
pub(crate) trait ReadShared {
    type Error;
    fn read(&mut self, address: u32, piece: &mut [u32; 4]) -> Result<(), Self::Error>;
}

/// A matrix in shared memory, as described by 64 bits.
///
/// Memory consists of 16-byte pieces. Without a swizzle, eight consecutive pieces form a core matrix, and core matrices
/// have a distance along each of the two directions. With a swizzle, a row of pieces as long as the span is one line,
/// eight lines follow each other, and the line's number permutes the pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Descriptor {
    start: u32,
    leading: u32,
    stride: u32,
    /// Where the swizzle pattern starts, in lines of 128 bytes.
    base: u32,
    /// The logarithm of the pieces per line: 0 without a swizzle.
    span: u32,
    /// Elements are stored along m or n instead of along k.
    pub transposed: bool,
}

impl Descriptor {
    pub fn new(bits: u64, transposed: bool) -> Self {
        let part = |low: u32| (bits >> low & 0x3FFF) as u32 * 16;
        Self {
            start: part(0),
            leading: part(16),
            stride: part(32),
            base: (bits >> 49 & 7) as u32,
            span: [0, 3, 2, 1][(bits >> 62) as usize],
            transposed,
        }
    }

    /// The address of piece number `along` in the direction in which elements are stored, of line `across` in the
    /// other.
    #[inline]
    pub fn piece(&self, along: u32, across: u32) -> u32 {
        let (eight, one) = (across / 8, across % 8);
        let within = (1 << self.span) - 1;
        let offset = match (self.span, self.transposed) {
            (0, false) => one * 16 + eight * self.stride + along * self.leading,
            // The two distances swap roles.
            (0, true) => one * 16 + eight * self.leading + along * self.stride,
            (span, _) => {
                (one << span) * 16
                    + eight * self.stride
                    + (along & within) * 16
                    + (along >> span) * self.leading
            }
        };
        let address = self.start.wrapping_add(offset);
        let line = (address >> 7).wrapping_sub(self.base);
        address ^ ((line & within) << 4)
    }

    /// Reads `count` rows (A) or columns (B) from `first` on, each along k.
    pub fn read<'p, R: ReadShared>(
        &self,
        first: usize,
        count: usize,
        depth: usize,
        bits: u32,
        memory: &mut R,
        pieces: &'p mut Vec<[u32; 4]>,
    ) -> Result<Lines<'p>, R::Error> {
        let per = (128 / bits) as usize;
        let (along, across) = if self.transposed { (count, depth) } else { (depth, count) };
        // A transposed matrix starts at a multiple of 16 rows, so at a whole piece.
        let (skip_along, skip_across) = if self.transposed { (first / per, 0) } else { (0, first) };
        let per_line = along / per;
        pieces.resize(across * per_line, [0; 4]);
        for (line, pieces) in (skip_across as u32..).zip(pieces.chunks_exact_mut(per_line)) {
            for (number, piece) in (skip_along as u32..).zip(pieces) {
                memory.read(self.piece(number, line), piece)?;
            }
        }
        Ok(Lines { pieces, per_line, transposed: self.transposed })
    }
}

/// Pieces of 16 bytes in lines along k, or along m or n if the matrix is transposed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lines<'a> {
    pub pieces: &'a [[u32; 4]],
    pub per_line: usize,
    pub transposed: bool,
}

impl<'a> Lines<'a> {
    fn words(self) -> &'a [u32] {
        self.pieces.as_flattened()
    }

    /// The words of one.
    pub fn line(self, number: usize) -> &'a [u32] {
        &self.words()[4 * self.per_line * number..][..4 * self.per_line]
    }

    /// The words of each.
    pub fn each(self) -> impl Iterator<Item = &'a [u32]> {
        self.words().chunks_exact(4 * self.per_line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Shared(Vec<u8>);

    impl ReadShared for Shared {
        type Error = String;
        fn read(&mut self, address: u32, piece: &mut [u32; 4]) -> Result<(), String> {
            let bytes = self.0.get(address as usize..address as usize + 16).ok_or(format!("{address:#x}"))?;
            let words = piece.iter_mut().zip(bytes.as_chunks().0);
            words.for_each(|(word, &bytes)| *word = u32::from_le_bytes(bytes));
            Ok(())
        }
    }

    fn descriptor(start: u32, leading: u32, stride: u32, swizzle: u64) -> u64 {
        let part = |bytes: u32| u64::from(bytes >> 4 & 0x3FFF);
        part(start) | part(leading) << 16 | part(stride) << 32 | swizzle << 62
    }

    /// Elements of 16 bits of rows or columns, each along k.
    fn elements(
        matrix: Descriptor,
        first: usize,
        count: usize,
        depth: usize,
        shared: &mut Shared,
    ) -> Vec<u32> {
        let mut pieces = Vec::new();
        matrix.read(first, count, depth, 16, shared, &mut pieces).unwrap();
        let stored: Vec<u32> =
            pieces.as_flattened().iter().flat_map(|word| [word & 0xFFFF, word >> 16]).collect();
        match matrix.transposed {
            false => stored,
            true => (0..count * depth).map(|at| stored[at % depth * count + at / depth]).collect(),
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
                let found = elements(Descriptor::new(bits, false), 0, 16, 16, &mut shared);
                for (index, &element) in found.iter().enumerate() {
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
        let found = elements(Descriptor::new(bits, false), 0, 16, 16, &mut shared);
        assert!(found.iter().enumerate().all(|(index, &element)| element == index as u32));
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
        let found = elements(matrix, 0, 128, 16, &mut shared);
        assert!(found.iter().enumerate().all(|(index, &element)| element == index as u32));
        let later = elements(matrix, 16, 16, 16, &mut shared);
        assert_eq!(later, found[16 * 16..32 * 16]);
    }
}
