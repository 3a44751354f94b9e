//! `mma.sp`: A contains every second element, and metadata says which.
//!
//! Of four neighbours along k, two are kept (of two `tf32` one; of eight 4-bit elements two pairs), and four bits of
//! metadata give their positions. Which lane holds which bits was measured on an H200: for 16- and 32-bit elements a
//! lane's low half describes a row of the upper eight and its high half the row eight below; for narrower ones a lane
//! has 32 bits for one row.

use super::Buffers;
use super::element::{Accumulator, Element};
use super::mma::{Mma, Row, Shape};

/// One form of `mma.sp`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sparse {
    /// The product with all of A.
    pub dense: Mma,
}

impl Sparse {
    /// Reads the modifiers after `mma`.
    pub fn parse(words: &[&str]) -> Result<Self, String> {
        let ["sp" | "sp::ordered_metadata", rest @ ..] = words else {
            return Err("expected `.sp`".into());
        };
        let dense = Mma::parse_any(rest)?;
        let Shape { m, n, k } = dense.shape;
        let depths: &[usize] = match dense.a {
            Element::F16 | Element::Bf16 => &[16, 32],
            Element::Tf32 => &[8, 16],
            Element::S8 | Element::U8 => &[32, 64],
            Element::S4 | Element::U4 => &[64, 128],
            Element::E4m3 | Element::E5m2 => &[64],
            Element::F64 | Element::B1 => &[],
        };
        if (m, n) == (16, 8) && depths.contains(&k) && dense.types_fit() {
            Ok(Self { dense })
        } else {
            Err("there is no such combination of shape, layouts and types".into())
        }
    }

    /// A warp's 16 rows of A in `wgmma.mma_async.sp` with this depth: its metadata is distributed over the
    /// lanes like that of the `mma.sp` with the same depth.
    pub fn of_group(k: usize, a: Element, b: Element, d: Accumulator) -> Self {
        Self { dense: Mma::of(Shape { m: 16, n: 8, k }, a, b, d) }
    }

    /// The position along k of a row's kept element number `kept`.
    pub fn position(&self, row: usize, kept: usize, metadata: &Row, selector: u32) -> usize {
        let place = self.place(kept, |group| self.field(metadata, selector, row, group));
        place.min(self.dense.shape.k - 1)
    }

    /// Neighbours along k of which half are kept.
    fn group(&self) -> usize {
        match self.dense.a {
            Element::Tf32 => 2,
            Element::S4 | Element::U4 => 8,
            _ => 4,
        }
    }

    /// The lanes of a quad whose metadata is used.
    fn lanes(&self) -> usize {
        self.dense.shape.k / self.group() / 4
    }

    /// How many values the selector can have.
    pub fn selectors(&self) -> u32 {
        (4 / self.lanes()) as u32
    }

    /// Computes D. `selector` says which lanes of each quad hold the metadata.
    pub fn execute(
        &self,
        a: &[Row],
        b: &[Row],
        c: &[Row],
        (metadata, selector): (&Row, u32),
        buffers: &mut Buffers,
    ) -> Vec<Row> {
        let position = |row, kept| self.position(row, kept, metadata, selector);
        self.dense.execute_with(a, b, c, buffers, Some(position))
    }

    /// The undefined bits of D, like [`Mma::undefined`]. Unknown metadata makes the whole row unknown.
    pub fn undefined(&self, a: &[Row], b: &[Row], c: &[Row], metadata: &Row, selector: u32) -> Vec<Row> {
        self.dense.undefined_with(a, b, c, &|row| self.has_metadata(row, metadata, selector))
    }

    /// Whether a given bit of a row's metadata is set.
    pub fn has_metadata(&self, row: usize, metadata: &Row, selector: u32) -> bool {
        (0..self.dense.shape.k / self.group()).any(|group| self.field(metadata, selector, row, group) != 0)
    }

    /// The four bits for a group of neighbours in a row.
    fn field(&self, metadata: &Row, selector: u32, row: usize, group: usize) -> u32 {
        let quad = row % 8 * 4;
        let narrow = self.dense.a.bits() <= 8;
        let (lanes, first) = (self.lanes(), selector as usize * self.lanes() % 4);
        let (lane, bit) = match narrow {
            false => (first % 4 + group / 4 % lanes, group % 4 * 4 + row / 8 * 16),
            true => (first % 4 + row / 8 + 2 * (group / 8), group % 8 * 4),
        };
        metadata[quad + lane % 4] >> bit & 15
    }

    /// The same for a row whose groups have these bits.
    fn place(&self, kept: usize, field: impl Fn(usize) -> u32) -> usize {
        let half = self.group() / 2;
        let (group, within) = (kept / half, kept % half);
        let bits = field(group);
        let inside = match self.group() {
            // 0b0100 is the first, 0b1110 the second.
            2 => (bits >> 1 & 1) as usize,
            4 => (bits >> (2 * within) & 3) as usize,
            // Pairs.
            _ => 2 * (bits >> (within / 2 * 2) & 3) as usize + within % 2,
        };
        group * self.group() + inside
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sparse(words: &str) -> Result<Sparse, String> {
        Sparse::parse(&words.split('.').collect::<Vec<_>>())
    }

    #[test]
    fn forms_and_their_selectors() {
        for (words, selectors) in [
            ("sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 4),
            ("sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32", 2),
            ("sp.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 4),
            ("sp.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32", 2),
            ("sp.sync.aligned.m16n8k64.row.col.s32.s8.u8.s32", 1),
            ("sp.sync.aligned.m16n8k128.row.col.s32.u4.s4.s32", 1),
            ("sp::ordered_metadata.sync.aligned.m16n8k128.row.col.s32.s4.s4.s32.satfinite", 1),
        ] {
            assert_eq!(sparse(words).unwrap().selectors(), selectors, "{words}");
        }
        for words in [
            "sp.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32",
            "sp.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32",
            "sp.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32",
            "sp.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64",
        ] {
            assert!(sparse(words).is_err(), "{words}");
        }
    }

    #[test]
    fn kept_elements_go_to_their_places() {
        let half = sparse("sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32").unwrap();
        // 0b1101: the second and the fourth of each four.
        assert_eq!([0, 1, 2, 3].map(|kept| half.place(kept, |_| 0b1101)), [1, 3, 5, 7]);
        let tf32 = sparse("sp.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32").unwrap();
        assert_eq!([0, 1].map(|kept| tf32.place(kept, |_| 0b1110)), [1, 3]);
        assert_eq!([0, 1].map(|kept| tf32.place(kept, |_| 0b0100)), [0, 2]);
        let narrow = sparse("sp.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32").unwrap();
        assert_eq!([0, 1, 2, 3, 4].map(|kept| narrow.place(kept, |_| 0b1000)), [0, 1, 4, 5, 8]);
    }
}
