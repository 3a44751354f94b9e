//! Results that are moved, not computed: every bit must agree.

use rayon::prelude::*;

use super::Verdict;

/// Elements that one core compares at a time.
const PIECE: usize = 1 << 14;

/// Compares all elements for equality.
pub fn exact<T: PartialEq + std::fmt::Debug + Sync>(result: &[T], expected: &[T]) -> Verdict {
    compared(result, expected, || {
        first(result.len().div_ceil(PIECE), &|piece| {
            let all = piece * PIECE..result.len().min((piece + 1) * PIECE);
            // Equal slices are recognised at the speed of memory; only a piece that differs is walked through.
            match result[all.clone()] == expected[all.clone()] {
                true => None,
                false => all.into_iter().find(|&i| result[i] != expected[i]).map(|i| (i, i)),
            }
        })
    })
}

/// Compares all elements with those of the transpose of `from`, a rows × cols matrix, which is not made for it.
pub fn exact_turned<T: PartialEq + std::fmt::Debug + Sync>(
    result: &[T],
    from: &[T],
    (rows, cols): (usize, usize),
) -> Verdict {
    // Tiles of this edge: a column's stride misses every cache. Bands of them on all cores.
    const TILE: usize = 32;
    compared(result, from, || {
        let band_len = (TILE * rows).max(1);
        first(result.len().div_ceil(band_len), &|band| {
            let result = &result[band * band_len..result.len().min((band + 1) * band_len)];
            for row0 in (0..rows).step_by(TILE) {
                for (col, result) in result.chunks_exact(rows).enumerate() {
                    let col = band * TILE + col;
                    for row in row0..(row0 + TILE).min(rows) {
                        if result[row] != from[row * cols + col] {
                            return Some((col * rows + row, row * cols + col));
                        }
                    }
                }
            }
            None
        })
    })
}

/// The first piece of which something is found, on all cores: compiled once, for whatever is compared.
fn first(pieces: usize, find: &(dyn Fn(usize) -> Option<(usize, usize)> + Sync)) -> Option<(usize, usize)> {
    (0..pieces).into_par_iter().find_map_first(find)
}

/// The verdict on a comparison that gives the places of an element that is wrong, and of what it should be.
fn compared<T: std::fmt::Debug>(
    result: &[T],
    expected: &[T],
    compare: impl FnOnce() -> Option<(usize, usize)>,
) -> Verdict {
    let wrong = match result.len() == expected.len() {
        true => compare()
            .map(|(i, at)| format!("element {i} is {:?} and should be {:?}", result[i], expected[at])),
        false => Some(format!("{} elements, and there should be {}", result.len(), expected.len())),
    };
    Verdict {
        ok: wrong.is_none(),
        max_error: if wrong.is_none() { 0.0 } else { f64::INFINITY },
        tolerance: 0.0,
        how: format!("{}, bit for bit", super::all(expected.len())),
        wrong,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_flipped_element_is_found_wherever_it_is() {
        let expected: Vec<u32> = (0..1000).collect();
        assert!(exact(&expected, &expected).ok);
        for i in [0, 499, 999] {
            let mut result = expected.clone();
            result[i] ^= 1;
            let verdict = exact(&result, &expected);
            assert!(!verdict.ok && verdict.wrong.is_some_and(|text| text.contains(&format!("element {i} "))));
        }
        assert!(!exact(&expected[..999], &expected).ok);
    }

    #[test]
    fn a_transpose_is_compared_with_the_matrix_that_it_is_of() {
        for (rows, cols) in [(1, 1), (1, 70), (70, 1), (33, 65), (64, 32), (0, 5), (5, 0)] {
            let from: Vec<u32> = (0..(rows * cols) as u32).collect();
            let turned: Vec<u32> = (0..rows * cols).map(|i| from[i % rows * cols + i / rows]).collect();
            assert!(exact_turned(&turned, &from, (rows, cols)).ok, "{rows} × {cols}");
            for i in [0, rows * cols / 2, (rows * cols).saturating_sub(1)] {
                let mut wrong = turned.clone();
                let Some(element) = wrong.get_mut(i) else { continue };
                *element ^= 1 << 20;
                let verdict = exact_turned(&wrong, &from, (rows, cols));
                assert!(verdict.wrong.is_some_and(|text| text.contains(&format!("element {i} "))));
            }
        }
        assert!(!exact_turned(&[1, 2], &[1, 2, 3], (1, 3)).ok);
    }
}
