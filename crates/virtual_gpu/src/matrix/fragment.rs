//! Which lane's register holds which element of the matrices of `mma.sync`.
//!
//! All shapes from m16n8 on follow one rule. A register of 32 bits holds `per` neighbouring elements along k (a register
//! of 64 bits one `f64`); the four lanes of a quad hold `4·per` neighbours; the eight quads hold eight rows of A or
//! columns of B. Registers go first over the two halves of sixteen rows, then along k.

/// Where a register's first element is; the others follow along k (A, B) or along n (C, D).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FirstElement {
    /// Row of A, C or D; column of B.
    pub line: usize,
    /// Along k, or column of C or D.
    pub first: usize,
}

/// A of `rows` rows (8 or 16), `per` elements a register.
pub(crate) fn a(rows: usize, per: usize, register: usize, lane: usize) -> FirstElement {
    let halves = rows / 8;
    let line = lane / 4 + 8 * (register % halves);
    FirstElement { line, first: (register / halves) * 4 * per + lane % 4 * per }
}

/// B of 8 columns.
pub(crate) fn b(per: usize, register: usize, lane: usize) -> FirstElement {
    FirstElement { line: lane / 4, first: register * 4 * per + lane % 4 * per }
}

/// C and D with 8 columns: `per` is 2 for packed `f16`, else 1. Each lane has two adjacent elements of each of its
/// rows.
pub(crate) fn c(per: usize, register: usize, lane: usize) -> FirstElement {
    let element = register * per;
    FirstElement { line: lane / 4 + 8 * (element / 2), first: lane % 4 * 2 + element % 2 }
}

/// A lane's quad pair in `mma.m8n8k4` of `f16`, which multiplies four matrices at once, and the lane's number among the
/// eight: lanes 0–3 and 16–19 hold the first matrix.
pub(crate) fn quad_pair(lane: usize) -> (usize, usize) {
    (lane % 16 / 4, lane % 4 + lane / 16 * 4)
}

/// `mma.m8n8k4`: row and column of element `i` of C or D in `f32`, for a lane's number in its quad pair.
pub(crate) fn c_of_quad_pair(number: usize, i: usize) -> (usize, usize) {
    ((number & 1) | (i & 2) | (number & 4), (i & 4) | (number & 2) | (i & 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The manual's formula for `a{i}` of m16n8k16 in f16, bf16.
    #[test]
    fn a_of_m16n8k16_is_the_manuals() {
        for lane in 0..32 {
            for i in 0..8 {
                let row = lane / 4 + if i < 2 || (4..6).contains(&i) { 0 } else { 8 };
                let column = lane % 4 * 2 + (i & 1) + if i >= 4 { 8 } else { 0 };
                let place = a(16, 2, i / 2, lane);
                assert_eq!((place.line, place.first + i % 2), (row, column));
            }
        }
    }

    /// The manual's formula for m16n8k32 in 8 bits.
    #[test]
    fn eight_bits_are_the_manuals() {
        for lane in 0..32 {
            for i in 0..16 {
                let row = lane / 4 + if i < 4 || (8..12).contains(&i) { 0 } else { 8 };
                let column = lane % 4 * 4 + (i & 3) + if i >= 8 { 16 } else { 0 };
                let place = a(16, 4, i / 4, lane);
                assert_eq!((place.line, place.first + i % 4), (row, column));
            }
            for i in 0..8 {
                let row = lane % 4 * 4 + (i & 3) + if i >= 4 { 16 } else { 0 };
                let place = b(4, i / 4, lane);
                assert_eq!((place.first + i % 4, place.line), (row, lane / 4));
            }
        }
    }

    /// The manual's formulas for m16n8k16 in f64, and for accumulators.
    #[test]
    fn doubles_and_accumulators_are_the_manuals() {
        for lane in 0..32 {
            for i in 0..8 {
                let row = if i % 2 == 0 { lane / 4 } else { lane / 4 + 8 };
                let column = if i % 2 == 0 { i * 2 + lane % 4 } else { i * 2 - 2 + lane % 4 };
                assert_eq!(a(16, 1, i, lane), FirstElement { line: row, first: column });
            }
            for i in 0..4 {
                let row = if i < 2 { lane / 4 } else { lane / 4 + 8 };
                assert_eq!(c(1, i, lane), FirstElement { line: row, first: lane % 4 * 2 + (i & 1) });
            }
            assert_eq!(c(2, 1, lane), FirstElement { line: lane / 4 + 8, first: lane % 4 * 2 });
        }
    }

    /// Every element of every matrix has exactly one place.
    #[test]
    fn fragments_cover_their_matrices() {
        for (rows, per, registers) in
            [(16, 2, 4), (16, 2, 2), (16, 1, 4), (16, 4, 4), (8, 4, 1), (16, 32, 4), (8, 1, 1)]
        {
            let mut places: Vec<_> = (0..registers)
                .flat_map(|r| (0..32).map(move |lane| a(rows, per, r, lane)))
                .map(|p| (p.line, p.first))
                .collect();
            places.sort_unstable();
            places.dedup();
            assert_eq!(places.len(), 32 * registers);
        }
        let mut places: Vec<_> = (0..8).flat_map(|n| (0..8).map(move |i| c_of_quad_pair(n, i))).collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), 64);
    }
}
