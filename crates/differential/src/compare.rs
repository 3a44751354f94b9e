//! Where two recordings differ.

use crate::THREADS;
use crate::form::{Bound, Form};
use crate::operand::{BF16, F16, F32, F64, Float, Kind};
use crate::program::Program;
use crate::record::Record;

/// One result that differs beyond its form's bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub thread: usize,
    /// Its operands, in the form's order.
    pub operands: Vec<u64>,
    /// Name of the result.
    pub result: String,
    /// The expected bits.
    pub expected: u64,
    /// The resulting bits.
    pub got: u64,
}

/// The differences of one form.
#[derive(Clone, Debug)]
pub struct FormReport {
    /// The form's text.
    pub form: String,
    /// Its differing results.
    pub differences: Vec<Difference>,
}

/// A comparison's result.
#[derive(Debug, Default)]
pub struct Report {
    /// Instruction cases compared.
    pub cases: usize,
    /// Forms that only one recording holds.
    pub missing: Vec<String>,
    /// Forms that differ.
    pub forms: Vec<FormReport>,
}

/// Compares `got` with `expected` over the given forms.
pub fn compare<'a>(forms: impl Iterator<Item = &'a Form>, expected: &Record, got: &Record) -> Report {
    let mut report = Report::default();
    for form in forms {
        let (Some(want), Some(have)) = (expected.results(form), got.results(form)) else {
            report.missing.push(form.text.clone());
            continue;
        };
        report.cases += THREADS;
        let differences = differences(form, expected.seed, want, have);
        if !differences.is_empty() {
            report.forms.push(FormReport { form: form.text.clone(), differences });
        }
    }
    report
}

fn differences(form: &Form, seed: u64, want: &[u8], have: &[u8]) -> Vec<Difference> {
    let columns = Program::operands(form, seed);
    let mut differences = Vec::new();
    let mut at = 0;
    for place in &form.outputs {
        let bytes = place.kind.register().bytes();
        for thread in 0..THREADS {
            let value = |results: &[u8]| {
                let slot = results.get(at + thread * bytes..).and_then(|rest| rest.get(..bytes));
                slot.map(|s| s.iter().rev().fold(0, |v, &b| v << 8 | b as u64))
            };
            let (expected, got) = (value(want).unwrap_or(0), value(have).unwrap_or(0));
            if !agree(place.kind, form.bound, expected, got) {
                let operands = columns.iter().map(|c| c[thread]).collect();
                differences.push(Difference { thread, operands, result: place.name.clone(), expected, got });
            }
        }
        at += bytes * THREADS;
    }
    differences
}

/// Whether a result is as good as the expected one.
fn agree(kind: Kind, bound: Bound, expected: u64, got: u64) -> bool {
    if expected == got {
        return true;
    }
    if bound.is_exact() {
        return false;
    }
    match kind {
        Kind::Float(format) => within(format, bound, expected, got),
        Kind::FloatPair(format) => {
            let half = |x: u64, shift: u32| x >> shift & 0xffff;
            [0, 16].iter().all(|&shift| {
                let (e, g) = (half(expected, shift), half(got, shift));
                e == g || within(format, bound, e, g)
            })
        }
        _ => false,
    }
}

/// The value of a float's bits.
fn value(format: Float, bits: u64) -> f64 {
    match format {
        F64 => f64::from_bits(bits),
        F32 => f32::from_bits(bits as u32) as f64,
        BF16 => f32::from_bits((bits as u32) << 16) as f64,
        _ => {
            debug_assert_eq!(format, F16);
            let (field, fraction) = ((bits >> 10 & 0x1f) as i32, (bits & 0x3ff) as f64);
            let magnitude = match field {
                0 => fraction * 2f64.powi(-24),
                31 if fraction == 0.0 => f64::INFINITY,
                31 => f64::NAN,
                _ => (fraction + 1024.0) * 2f64.powi(field - 25),
            };
            if bits & 0x8000 != 0 { -magnitude } else { magnitude }
        }
    }
}

/// Whether both lie within the bound of each other. One of them is correctly rounded, so half a unit is added.
fn within(format: Float, bound: Bound, expected: u64, got: u64) -> bool {
    let (e, g) = (value(format, expected), value(format, got));
    if e.is_nan() || g.is_nan() {
        return e.is_nan() && g.is_nan();
    }
    if e.is_infinite() || g.is_infinite() {
        return false;
    }
    let least = 2f64.powi(2 - (1 << (format.exponent - 1)) - format.fraction as i32);
    let magnitude = e.abs().max(g.abs());
    let unit = (magnitude.log2().floor() - format.fraction as f64).exp2().max(least);
    let distance = (e - g).abs();
    bound.ulp.is_some_and(|n| distance <= (n + 0.5) * unit)
        || bound.abs.is_some_and(|n| distance <= n.exp2() + unit / 2.0)
        || bound.rel.is_some_and(|n| distance <= n.exp2() * magnitude + unit / 2.0)
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for form in &self.forms {
            writeln!(f, "{} ({} of {THREADS})", form.form, form.differences.len())?;
            let shown = if f.alternate() { usize::MAX } else { 4 };
            for d in form.differences.iter().take(shown) {
                write!(f, "    thread {:2}:", d.thread)?;
                for operand in &d.operands {
                    write!(f, " {operand:#x}")?;
                }
                writeln!(f, " -> {} expected {:#x}, got {:#x}", d.result, d.expected, d.got)?;
            }
        }
        for form in &self.missing {
            writeln!(f, "not in both recordings: {form}")?;
        }
        write!(
            f,
            "{} cases, {} forms differ, {} not compared",
            self.cases,
            self.forms.len(),
            self.missing.len()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_forms_compare_bits_and_approximations_their_bound() {
        let exact = Bound::default();
        let two = Bound { ulp: Some(2.0), ..exact };
        let one = 1f32.to_bits() as u64;
        assert!(!agree(Kind::Float(F32), exact, one, one + 1));
        assert!(agree(Kind::Float(F32), two, one, one + 2));
        assert!(!agree(Kind::Float(F32), two, one, one + 3));
        assert!(!agree(Kind::Float(F32), two, f32::INFINITY.to_bits() as u64, f32::MAX.to_bits() as u64));
        assert!(agree(Kind::FloatPair(F16), two, 0x3c00_3c00, 0x3c01_3c00));
        assert!(!agree(Kind::FloatPair(F16), two, 0x3c00_3c00, 0x3c09_3c00));
    }

    #[test]
    fn differences_are_listed_with_their_operands() {
        let forms = crate::form::parse("add.u16 <d:u16>, <a:u16>, <b:u16>");
        let (mut expected, mut got) = (Record::new(1), Record::new(1));
        expected.insert(&forms[0], vec![0; 2 * THREADS]);
        let mut other = vec![0; 2 * THREADS];
        other[7] = 1;
        got.insert(&forms[0], other);
        let report = compare(forms.iter(), &expected, &got);
        let difference = &report.forms[0].differences[0];
        assert_eq!((difference.thread, difference.expected, difference.got), (3, 0, 0x100));
        assert_eq!(difference.operands[0], Program::operands(&forms[0], 1)[0][3]);
    }
}
