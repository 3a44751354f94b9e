//! `mma.sync.m8n8k4` of `f16`, from Volta: four products, one in each pair of quads.

use super::element::{Accumulator, Element};
use super::fragment;
use super::mma::{Lines, Mma, Row, Shape, field};
use super::product;

impl Mma {
    /// Whether it has this form.
    pub fn is_quad_pairs(&self) -> bool {
        self.shape == Shape { m: 8, n: 8, k: 4 }
            && (self.a, self.b) == (Element::F16, Element::F16)
            && !self.saturate
    }

    pub(super) fn quad_pairs(&self, a: &[Row], b: &[Row], c: &[Row]) -> Vec<Row> {
        self.in_quad_pairs(
            (a, b, c),
            |bits| Element::F16.float(bits),
            // Hopper has no such unit: a chain of fused multiply-adds from zero, to which C is added.
            |row, column, c| {
                let products = row.iter().zip(column).fold(0f32, |sum, (a, b)| a.mul_add(*b, sum));
                product::round(f64::from(products) + f64::from(product::widen(c, self.c)), self.d)
            },
        )
    }

    pub(super) fn undefined_of_quad_pairs(&self, a: &[Row], b: &[Row], c: &[Row]) -> Vec<Row> {
        self.in_quad_pairs(
            (a, b, c),
            |bits| bits != 0,
            |row, column, c| product::all_if(row.contains(&true) || column.contains(&true) || c != 0, self.d),
        )
    }

    /// D as a function of a row of A, a column of B and C's bits.
    fn in_quad_pairs<T: Copy + Default>(
        &self,
        (a, b, c): (&[Row], &[Row], &[Row]),
        convert: impl Fn(u32) -> T,
        element: impl Fn(&[T], &[T], u32) -> u32,
    ) -> Vec<Row> {
        let mut d = vec![[0; 32]; self.counts().d];
        let half =
            |registers: &[Row], lane: usize, i: usize| convert(field(registers[i / 2][lane], i % 2, 16));
        // For lane n of the eight: row n of A along k if row-major, else four rows of A's column n % 4.
        for pair in 0..4 {
            let mut rows = Lines::new(8, 4);
            let mut columns = Lines::new(8, 4);
            let lanes = (0..32).filter(|&lane| fragment::quad_pair(lane).0 == pair);
            for lane in lanes.clone() {
                let number = fragment::quad_pair(lane).1;
                for i in 0..4 {
                    match self.a_by_columns {
                        false => rows.set(number, i, half(a, lane, i)),
                        true => rows.set(i + (number & 4), number & 3, half(a, lane, i)),
                    }
                    match self.b_by_rows {
                        false => columns.set(number, i, half(b, lane, i)),
                        true => columns.set(i + (number & 4), number & 3, half(b, lane, i)),
                    }
                }
            }
            let place = |format, number, i| match format {
                Accumulator::F16 => (number, i),
                _ => fragment::c_of_quad_pair(number, i),
            };
            let mut elements = [[0; 8]; 8];
            for lane in lanes.clone() {
                for i in 0..8 {
                    let (row, column) = place(self.c, fragment::quad_pair(lane).1, i);
                    let per = 32 / self.c.bits() as usize;
                    let c = field(c[i / per][lane], i % per, self.c.bits());
                    elements[row][column] = element(rows.line(row), columns.line(column), c);
                }
            }
            for lane in lanes {
                for i in 0..8 {
                    let (row, column) = place(self.d, fragment::quad_pair(lane).1, i);
                    let per = 32 / self.d.bits() as usize;
                    d[i / per][lane] |= elements[row][column] << (i % per * 16);
                }
            }
        }
        d
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Buffers;

    /// Row n of A is n + 1 along k, column j of B is j + 1: D[n][j] = 4·(n + 1)·(j + 1), in all four pairs of quads and
    /// both layouts.
    #[test]
    fn the_four_products_of_m8n8k4() {
        let h = |value: usize| u32::from(half::f16::from_f32(value as f32).to_bits());
        for (words, by_columns, by_rows) in [
            ("sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", false, false),
            ("sync.aligned.m8n8k4.col.row.f32.f16.f16.f32", true, true),
        ] {
            let number = |lane: usize| lane % 4 + lane / 16 * 4;
            let line =
                |across: bool, lane: usize, i: usize| if across { i + lane / 16 * 4 } else { number(lane) };
            let fill = |across: bool| -> [Row; 2] {
                std::array::from_fn(|r| {
                    std::array::from_fn(|lane| {
                        h(line(across, lane, 2 * r) + 1) | h(line(across, lane, 2 * r + 1) + 1) << 16
                    })
                })
            };
            let d = Mma::parse(&words.split('.').collect::<Vec<_>>()).unwrap().execute(
                &fill(by_columns),
                &fill(by_rows),
                &[[0; 32]; 8],
                &mut Buffers::default(),
            );
            for lane in 0..32 {
                for i in 0..8 {
                    // The manual: row X or X + 4 with X = (lane & 1) + (i & 2), column (i & 4) + (lane & 2) + (i & 1).
                    let row = (lane & 1) + (i & 2) + if lane < 16 { 0 } else { 4 };
                    let column = (i & 4) + (lane & 2) + (i & 1);
                    assert_eq!(f32::from_bits(d[i][lane]), (4 * (row + 1) * (column + 1)) as f32);
                }
            }
        }
    }
}
