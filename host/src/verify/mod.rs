//! Whether a device's result is right: compared with float64 on the CPU, never with another kernel.

mod exact;
mod number;
mod product;
mod tensor;

use rayon::prelude::*;

use crate::terminal::grouped;

pub use exact::{exact, exact_turned};
pub use number::{TensorInput, TensorOutput};
pub use product::{Product, WHOLE_LIMIT};
pub use tensor::TensorProduct;

/// A check's result.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Whether every compared number is within the tolerance.
    pub ok: bool,
    /// The largest difference.
    pub max_error: f64,
    /// The largest difference that is still right; 0 where bits must agree.
    pub tolerance: f64,
    /// The comparison, in words.
    pub how: String,
    /// The first wrong element, in words.
    pub wrong: Option<String>,
}

impl Verdict {
    /// Compares all elements with their float64 values, within an absolute tolerance.
    pub fn within(result: &[f32], expected: &[f64], tolerance: f64) -> Self {
        let mut verdict = Self {
            ok: result.len() == expected.len(),
            max_error: 0.0,
            tolerance,
            how: format!("{} against float64", all(expected.len())),
            wrong: None,
        };
        if !verdict.ok {
            verdict.wrong =
                Some(format!("{} elements, and there should be {}", result.len(), expected.len()));
            return verdict;
        }
        let error = |i: usize| {
            let error = (f64::from(result[i]) - expected[i]).abs();
            if error.is_nan() { f64::INFINITY } else { error }
        };
        let all = 0..result.len();
        verdict.max_error = all.clone().into_par_iter().map(error).reduce(|| 0.0, f64::max);
        verdict.ok = verdict.max_error <= tolerance;
        if !verdict.ok {
            let first = all.into_iter().find(|&i| error(i) > tolerance);
            verdict.wrong =
                first.map(|i| format!("element {i} is {} and should be {}", result[i], expected[i]));
        }
        verdict
    }
}

/// "all 16,384 elements", in words that are right for one, too.
fn all(elements: usize) -> String {
    match elements {
        1 => "the one element".to_owned(),
        count => format!("all {} elements", grouped(count as u64)),
    }
}

#[cfg(test)]
mod tests {
    use super::Verdict;

    #[test]
    fn one_wrong_element_is_found_and_rounding_is_not() {
        let expected = [1.0, -2.0, 3.0];
        assert!(Verdict::within(&[1.0, -2.0000002, 3.0], &expected, 1e-6).ok);
        for wrong in [[1.0, 2.0, 3.0], [1.0, f32::NAN, 3.0]] {
            let verdict = Verdict::within(&wrong, &expected, 1e-6);
            assert!(!verdict.ok && verdict.wrong.is_some_and(|text| text.contains("element 1")));
        }
        assert!(!Verdict::within(&[1.0], &expected, 1e-6).ok);
    }
}
