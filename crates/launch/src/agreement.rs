//! Checks that the PTX of a kernel without `unsafe` is of the kernel that the host knows.
//!
//! The host computes the grid and tests the relations by its own types, and the kernel trusts those that it was compiled
//! with. The device build leaves the latter beside the entry; see `blockwise::agreement`.

use blockwise::agreement::{OF_PARAMETER, OF_RELATION};

/// A line of the PTX begins with this; the kernel's name and its numbers follow.
pub const LINE: &str = "// warpsmith.blockwise.";

/// The first thing in which the host's kernel and the PTX's differ, with both.
pub fn difference(host: &[u64], ptx: Option<&str>) -> Option<String> {
    let Some(ptx) = ptx else {
        return Some("it is without `unsafe` on the host, and the PTX does not say so".into());
    };
    let device: Option<Vec<u64>> = ptx.split_whitespace().map(|number| number.parse().ok()).collect();
    let (Some(ours), Some(theirs)) = (Numbers::read(host), device.as_deref().and_then(Numbers::read)) else {
        return Some("the PTX describes it in a way that this host does not know".into());
    };
    if ours.block != theirs.block {
        let [host, device] = [ours.block, theirs.block].map(|b| format!("{} × {} × {}", b[0], b[1], b[2]));
        return Some(format!("its blocks are {host} on the host and {device} in the PTX"));
    }
    let (host, device) = (ours.parameters.len(), theirs.parameters.len());
    if host != device {
        return Some(format!("its number of parameters is {host} on the host and {device} in the PTX"));
    }
    for (number, (host, device)) in ours.parameters.iter().zip(theirs.parameters).enumerate() {
        if host != device {
            let [host, device] = [host, device].map(parameter);
            return Some(format!(
                "its parameter {} is {host} on the host and {device} in the PTX",
                number + 1
            ));
        }
    }
    if ours.relations != theirs.relations {
        let [host, device] = [ours.relations, theirs.relations].map(relations);
        return Some(format!("it requires {host} on the host and {device} in the PTX"));
    }
    None
}

/// The numbers, by what they say.
struct Numbers<'a> {
    block: &'a [u64],
    parameters: &'a [[u64; OF_PARAMETER]],
    relations: &'a [[u64; OF_RELATION]],
}

impl<'a> Numbers<'a> {
    fn read(numbers: &'a [u64]) -> Option<Self> {
        let (block, rest) = numbers.split_at_checked(3)?;
        let (count, rest) = rest.split_first()?;
        let all = usize::try_from(*count).ok()?.checked_mul(OF_PARAMETER)?;
        let (parameters, rest) = rest.split_at_checked(all)?;
        let (relations, []) = rest.as_chunks() else { return None };
        Some(Self { block, parameters: parameters.as_chunks().0, relations })
    }
}

/// The letters of a word.
fn text(word: u64) -> String {
    let letters = word.to_le_bytes();
    String::from_utf8_lossy(&letters).trim_end_matches('\0').to_owned()
}

fn parameter([kind, map, a, b, element, size, align]: &[u64; OF_PARAMETER]) -> String {
    let element = match element {
        0 => format!("a type of {size} bytes aligned to {align}"),
        name => format!("`{}`", text(*name)),
    };
    let kind = match &*text(*kind) {
        "value" => return element,
        "output" => "an output",
        "slice" => "a slice",
        "matrix" => "a matrix",
        "counters" => "counters",
        _ => "of another kind",
    };
    let map = match (map, a, b) {
        (0, _, _) => String::new(),
        (map, 0, 0) => format!(" by `{}`", text(*map)),
        (map, a, 0) => format!(" by `{}<{a}>`", text(*map)),
        (map, a, b) => format!(" by `{}<{a}, {b}>`", text(*map)),
    };
    format!("{kind} of {element}{map}")
}

fn relations(all: &[[u64; OF_RELATION]]) -> String {
    let term = |what: u64, which: u64| match &*text(what) {
        "number" => which.to_string(),
        "value" => format!("parameter {}", which + 1),
        extent => format!("{extent}() of parameter {}", which + 1),
    };
    let side = |[what, which, plus, of_plus]: [u64; 4]| match &*text(plus) {
        "none" => term(what, which),
        _ => format!("{} + {}", term(what, which), term(plus, of_plus)),
    };
    let relation = |[operator, a, b, c, d, e, f, g, h]: &[u64; OF_RELATION]| {
        format!("{} {} {}", side([*a, *b, *c, *d]), text(*operator), side([*e, *f, *g, *h]))
    };
    if all.is_empty() { "nothing".into() } else { all.iter().map(relation).collect::<Vec<_>>().join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockwise::agreement::word;

    /// A block of 256 with an output by `Part<n>`, which requires its length to be a number.
    fn numbers(n: u64, block: u64, element: &str, len: u64) -> Vec<u64> {
        let parameter = [word("output"), word("Part"), n, 0, word(element), 4, 4];
        let side = |what, which| [word(what), which, word("none"), 0];
        let relation = [&[word("==")][..], &side("len", 0), &side("number", len)].concat();
        [&[block, 1, 1, 1][..], &parameter, &relation].concat()
    }

    fn said(device: &[u64]) -> Option<String> {
        let line: Vec<String> = device.iter().map(u64::to_string).collect();
        difference(&numbers(4, 256, "u32", 12), Some(&line.join(" ")))
    }

    #[test]
    fn each_difference_is_said_with_both_sides() {
        assert_eq!(said(&numbers(4, 256, "u32", 12)), None);
        for (device, text) in [
            (numbers(4, 128, "u32", 12), "its blocks are 256 × 1 × 1 on the host and 128 × 1 × 1 in the PTX"),
            (
                numbers(8, 256, "u32", 12),
                "its parameter 1 is an output of `u32` by `Part<4>` on the host and an output of `u32` by `Part<8>` in the PTX",
            ),
            (
                numbers(4, 256, "char", 12),
                "its parameter 1 is an output of `u32` by `Part<4>` on the host and an output of `char` by `Part<4>` in the PTX",
            ),
            (
                numbers(4, 256, "u32", 13),
                "it requires len() of parameter 1 == 12 on the host and len() of parameter 1 == 13 in the PTX",
            ),
            (
                numbers(4, 256, "u32", 12)[..11].to_vec(),
                "it requires len() of parameter 1 == 12 on the host and nothing in the PTX",
            ),
            (vec![256, 1, 1, 0], "its number of parameters is 1 on the host and 0 in the PTX"),
            (vec![256, 1], "the PTX describes it in a way that this host does not know"),
        ] {
            assert_eq!(said(&device).as_deref(), Some(text));
        }
        assert!(difference(&[1, 1, 1, 0], None).unwrap().contains("the PTX does not say so"));
    }
}
