//! Every format against the standard library.

use super::*;
use std::format;
use std::string::String;
use std::vec::Vec;

impl Sink for Vec<u8> {
    fn push(&mut self, byte: u8) {
        Vec::push(self, byte);
    }
}

/// The text that a script writes.
fn written(script: &[u8], values: &[u64]) -> String {
    written_with(ForFloats::<true>, script, values)
}

fn written_with(floats: impl float::Floats, script: &[u8], values: &[u64]) -> String {
    let mut bytes = Vec::new();
    let script: Vec<u8> = script.iter().copied().chain([0]).collect();
    // SAFETY: the tests write scripts in the documented form.
    unsafe { Writer::new(&mut bytes).follow(script.as_ptr(), |index| values[index], floats) };
    String::from_utf8(bytes).expect("text")
}

/// The script of one value.
fn one(kind: u8, flags: u32, width: u16, precision: Option<u16>) -> Vec<u8> {
    let mut script = std::vec![1, kind, if precision.is_some() { 7 } else { 3 }];
    script.extend(flags.to_le_bytes());
    script.extend(width.to_le_bytes());
    script.extend(precision.map(u16::to_le_bytes).into_iter().flatten());
    script
}

const PLAIN: u32 = b' ' as u32 | 3 << flag::ALIGN;
const ZERO: u32 = PLAIN | flag::ZERO;

#[test]
fn scripts_are_text_and_values() {
    assert_eq!(written(b"a\x01\x01\x00, \x01\x02\x00!", &[7, -7_i64 as u64]), "a7, -7!");
    assert_eq!(written_with(ForNone, b"\x01\x00\x00", &[]), "\u{1}");
    let text = "größer";
    assert_eq!(written(b"<\x01\x09\x00>", &[text.as_ptr() as u64, text.len() as u64]), "<größer>");
}

#[test]
fn integers_are_as_core_writes_them() {
    for value in [0_i64, 1, -1, 9, 10, -12, 255, 123_456_789, i64::MIN, i64::MAX] {
        let bits = value as u64;
        let left = b' ' as u32;
        let centred = b'*' as u32 | 2 << flag::ALIGN;
        let expected = [
            (one(2, PLAIN, 0, None), format!("{value}")),
            (one(2, PLAIN | flag::PLUS, 0, None), format!("{value:+}")),
            (one(2, PLAIN, 8, None), format!("{value:8}")),
            (one(2, ZERO, 8, None), format!("{value:08}")),
            (one(2, left, 12, None), format!("{value:<12}")),
            (one(2, centred, 13, None), format!("{value:*^13}")),
            (one(2, ZERO | flag::PLUS, 12, Some(3)), format!("{value:+012.3}")),
            (one(1, PLAIN, 0, None), format!("{bits}")),
            (one(3, PLAIN, 0, None), format!("{bits:x}")),
            (one(4, PLAIN | flag::ALTERNATE, 0, None), format!("{bits:#X}")),
            (one(3, ZERO | flag::ALTERNATE, 10, None), format!("{bits:#010x}")),
            (one(3, PLAIN | flag::ALTERNATE, 10, None), format!("{bits:#10x}")),
            (one(5, PLAIN | flag::ALTERNATE, 0, None), format!("{bits:#o}")),
            (one(6, PLAIN | flag::ALTERNATE, 70, None), format!("{bits:#70b}")),
        ];
        for (script, expected) in expected {
            assert_eq!(written(&script, &[bits]), expected);
        }
    }
}

#[test]
fn texts_are_as_core_writes_them() {
    for text in ["", "a", "größer als", "x€y"] {
        let values = [text.as_ptr() as u64, text.len() as u64];
        let right = '·' as u32 | 1 << flag::ALIGN;
        assert_eq!(written(&one(9, PLAIN, 7, None), &values), format!("{text:7}"));
        assert_eq!(written(&one(9, PLAIN, 7, Some(2)), &values), format!("{text:7.2}"));
        assert_eq!(written(&one(9, right, 7, None), &values), format!("{text:·>7}"));
        assert_eq!(written(&one(9, ZERO, 7, None), &values), format!("{text:07}"));
    }
    for c in ['a', 'é', '€', '🦀'] {
        assert_eq!(written(&one(8, PLAIN, 3, None), &[c as u64]), format!("{c:3}"));
        assert_eq!(written(&one(8, PLAIN, 0, Some(0)), &[c as u64]), format!("{c:.0}"));
    }
    for b in [false, true] {
        assert_eq!(written(&one(7, PLAIN, 6, Some(3)), &[u64::from(b)]), format!("{b:6.3}"));
    }
}

/// Edge cases, binades, halfway cases and seeded values. (All 2,047 binades and thousands of seeds pass too, in
/// minutes.)
fn bits_of_f64() -> impl Iterator<Item = u64> {
    let edges = [
        0.0,
        1.0,
        0.5,
        1.5,
        2.5,
        0.25,
        0.125,
        0.05,
        9.5,
        99.5,
        0.1,
        0.3,
        1e15,
        1e16,
        9.999e15,
        1e-4,
        9.9e-5,
        1e22,
        1e23,
        f64::MAX,
        f64::MIN_POSITIVE,
        f64::from_bits(1),
        f64::INFINITY,
        f64::NAN,
        123456.789,
        5e-324,
        999.9995,
    ];
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let seeded = std::iter::repeat_with(move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    });
    let binades = (0..2047_u64)
        .step_by(31)
        .flat_map(|field| [field << 52, (field << 52) + 1, (field << 52) | ((1 << 52) - 1)]);
    edges
        .into_iter()
        .flat_map(|edge| [edge.to_bits(), (-edge).to_bits()])
        .chain(binades)
        .chain(seeded.take(100))
}

macro_rules! forms {
    ($value:expr, $kind:expr) => {{
        let (value, kind) = ($value, $kind);
        [
            (one(kind, PLAIN, 0, None), format!("{value}")),
            (one(kind + 1, PLAIN, 0, None), format!("{value:?}")),
            (one(kind + 2, PLAIN, 0, None), format!("{value:e}")),
            (one(kind, PLAIN, 0, Some(0)), format!("{value:.0}")),
            (one(kind, PLAIN, 0, Some(3)), format!("{value:.3}")),
            (one(kind, ZERO, 12, Some(3)), format!("{value:012.3}")),
            (one(kind + 1, PLAIN | flag::PLUS, 12, Some(1)), format!("{value:+12.1?}")),
            (one(kind + 3, b' ' as u32, 12, Some(4)), format!("{value:<12.4E}")),
            (one(kind, PLAIN, 0, Some(32)), format!("{value:.32}")),
        ]
    }};
}

#[test]
fn f64_is_as_core_writes_it() {
    for bits in bits_of_f64() {
        for (script, expected) in forms!(f64::from_bits(bits), kind::F64) {
            assert_eq!(written(&script, &[bits]), expected, "{bits:#x} by {script:?}");
        }
    }
}

#[test]
fn f32_is_as_core_writes_it() {
    let rounded = bits_of_f64().map(|bits| (f64::from_bits(bits) as f32).to_bits());
    let binades = (0..255_u32)
        .step_by(5)
        .flat_map(|field| [field << 23, (field << 23) + 1, (field << 23) | ((1 << 23) - 1)]);
    for bits in rounded.chain(binades).chain((0..500).map(|k: u32| k.wrapping_mul(2_147_001))) {
        for (script, expected) in forms!(f32::from_bits(bits), kind::F32) {
            assert_eq!(written(&script, &[u64::from(bits)]), expected, "{bits:#x} by {script:?}");
        }
    }
}
