//! Results that are moved, not computed: every bit must agree.

use rayon::prelude::*;

use super::Verdict;

/// Compares all elements for equality.
pub fn exact<T: PartialEq + std::fmt::Debug + Sync>(result: &[T], expected: &[T]) -> Verdict {
    let wrong = if result.len() == expected.len() {
        (0..result.len())
            .into_par_iter()
            .find_first(|&i| result[i] != expected[i])
            .map(|i| format!("element {i} is {:?} and should be {:?}", result[i], expected[i]))
    } else {
        Some(format!("{} elements, and there should be {}", result.len(), expected.len()))
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
}
