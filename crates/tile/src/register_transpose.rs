//! Small transposes in registers: vectors along rows become pieces of columns.

use crate::vector::Vector;

/// An element that is moved without being looked at. `K` rows of one [`Vector`] each hold `K` × `V` elements; transposed,
/// they are `V` pieces, one for each column, of `K` elements.
///
/// A piece of 4 bytes is what a bank of shared memory gives in one wavefront. So `K` is 4 for elements of 1 byte (or 2,
/// with half of each bank unused), 2 for those of 2 bytes, else 1, when nothing is to be done but taking a vector apart.
pub trait RegisterTranspose<const K: usize, const V: usize>: Copy {
    /// `K` elements of one column.
    type Piece: Copy;

    /// The piece of each column.
    fn transpose(rows: [Vector; K]) -> [Self::Piece; V];
}

impl RegisterTranspose<4, 16> for u8 {
    type Piece = u32;

    #[inline(always)]
    fn transpose([a, b, c, d]: [Vector; 4]) -> [u32; 16] {
        let [a, b, c, d] = [a.words(), b.words(), c.words(), d.words()];
        let mut pieces = [0; 16];
        for word in 0..4 {
            // Four rows of four bytes: pairs of rows first, then pairs of pairs.
            let (a, b, c, d) = (a[word], b[word], c[word], d[word]);
            let (ab, cd) = (permute::<0x5140>(a, b), permute::<0x5140>(c, d));
            pieces[4 * word] = permute::<0x5410>(ab, cd);
            pieces[4 * word + 1] = permute::<0x7632>(ab, cd);
            let (ab, cd) = (permute::<0x7362>(a, b), permute::<0x7362>(c, d));
            pieces[4 * word + 2] = permute::<0x5410>(ab, cd);
            pieces[4 * word + 3] = permute::<0x7632>(ab, cd);
        }
        pieces
    }
}

impl RegisterTranspose<2, 16> for u8 {
    type Piece = u16;

    #[inline(always)]
    fn transpose([a, b]: [Vector; 2]) -> [u16; 16] {
        let [a, b] = [a.words(), b.words()];
        let mut pieces = [0; 16];
        for word in 0..4 {
            let (low, high) = (permute::<0x5140>(a[word], b[word]), permute::<0x7362>(a[word], b[word]));
            pieces[4 * word] = low as u16;
            pieces[4 * word + 1] = (low >> 16) as u16;
            pieces[4 * word + 2] = high as u16;
            pieces[4 * word + 3] = (high >> 16) as u16;
        }
        pieces
    }
}

impl RegisterTranspose<2, 8> for u16 {
    type Piece = u32;

    #[inline(always)]
    fn transpose([a, b]: [Vector; 2]) -> [u32; 8] {
        let [a, b] = [a.words(), b.words()];
        let mut pieces = [0; 8];
        for word in 0..4 {
            pieces[2 * word] = permute::<0x5410>(a[word], b[word]);
            pieces[2 * word + 1] = permute::<0x7632>(a[word], b[word]);
        }
        pieces
    }
}

impl RegisterTranspose<1, 4> for u32 {
    type Piece = u32;

    #[inline(always)]
    fn transpose([row]: [Vector; 1]) -> [u32; 4] {
        row.words()
    }
}

impl RegisterTranspose<1, 2> for u64 {
    type Piece = u64;

    #[inline(always)]
    fn transpose([row]: [Vector; 1]) -> [u64; 2] {
        [row.0 as u64, (row.0 >> 64) as u64]
    }
}

impl RegisterTranspose<1, 1> for u128 {
    type Piece = Vector;

    #[inline(always)]
    fn transpose(row: [Vector; 1]) -> [Vector; 1] {
        row
    }
}

/// Four of the eight bytes of `a` (0 to 3) and `b` (4 to 7), the lowest named by the lowest digit of `ORDER`: one
/// instruction.
#[inline(always)]
fn permute<const ORDER: u32>(a: u32, b: u32) -> u32 {
    #[cfg(target_os = "cuda")]
    {
        let bytes: u32;
        // SAFETY: computes only.
        unsafe {
            cuda_std::ptx!("prmt.b32 {bytes}, {a}, {b}, {order};",
                bytes = out(u32) bytes, a = in(u32) a, b = in(u32) b, order = imm(ORDER); options(pure, nomem));
        }
        bytes
    }
    #[cfg(not(target_os = "cuda"))]
    {
        let both = u64::from(b) << 32 | u64::from(a);
        let byte = |digit: u32| (both >> (8 * (ORDER >> (4 * digit) & 7))) as u8;
        u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Byte `byte` of row `row`: no two are the same.
    fn row(row: u8) -> Vector {
        Vector(u128::from_le_bytes(core::array::from_fn(|byte| 16 * row + byte as u8)))
    }

    #[test]
    fn a_piece_is_a_column() {
        for (column, piece) in <u8 as RegisterTranspose<4, 16>>::transpose([row(0), row(1), row(2), row(3)])
            .into_iter()
            .enumerate()
        {
            assert_eq!(piece.to_le_bytes(), [0, 16, 32, 48].map(|row| row + column as u8));
        }
        for (column, piece) in
            <u8 as RegisterTranspose<2, 16>>::transpose([row(0), row(1)]).into_iter().enumerate()
        {
            assert_eq!(piece.to_le_bytes(), [column as u8, 16 + column as u8]);
        }
        for (column, piece) in
            <u16 as RegisterTranspose<2, 8>>::transpose([row(0), row(1)]).into_iter().enumerate()
        {
            let first = 2 * column as u8;
            assert_eq!(piece.to_le_bytes(), [first, first + 1, first + 16, first + 17]);
        }
        for (column, piece) in <u64 as RegisterTranspose<1, 2>>::transpose([row(2)]).into_iter().enumerate() {
            let bytes: [u8; 8] = core::array::from_fn(|byte| 32 + 8 * column as u8 + byte as u8);
            assert_eq!(piece.to_le_bytes(), bytes);
        }
        assert_eq!(<u32 as RegisterTranspose<1, 4>>::transpose([row(3)]), row(3).words());
        assert_eq!(<u128 as RegisterTranspose<1, 1>>::transpose([row(3)]), [row(3)]);
    }
}
