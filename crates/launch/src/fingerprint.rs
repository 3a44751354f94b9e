//! Checks that the PTX of a kernel without `unsafe` is of the kernel that the host knows.
//!
//! The host computes the grid and tests the relations by its own types, and the kernel trusts those that it was compiled
//! with. The device build leaves the latter beside the entry; see `blockwise::fingerprint`.

use blockwise::fingerprint::{Fingerprint, OF_PARAMETER, OF_RELATION};

/// A line of the PTX begins with this; the kernel's name and its numbers follow.
pub const LINE: &str = "// warpsmith.blockwise.";

/// The first thing in which the host's kernel and the PTX's differ, with both.
pub fn difference(host: &[u64], ptx: Option<&str>) -> Option<String> {
    let Some(ptx) = ptx else {
        return Some("it is without `unsafe` on the host, and the PTX does not say so".into());
    };
    let device: Option<Vec<u64>> = ptx.split_whitespace().map(|number| number.parse().ok()).collect();
    let (Some(ours), Some(theirs)) = (Fingerprint::read(host), device.as_deref().and_then(Fingerprint::read))
    else {
        return Some("the PTX describes it in a way that this host does not know".into());
    };
    let [ours_is, theirs_is] = [ours, theirs].map(|numbers| letters(numbers.identity));
    let (mut here, mut there) = (ours_is.lines(), theirs_is.lines());
    for what in ["it is of the package", "it is in the module"] {
        if let (Some(host), Some(device)) = (here.next(), there.next())
            && host != device
        {
            return Some(format!("{what} `{host}` on the host and `{device}` in the PTX"));
        }
    }
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
            let number = number + 1;
            return Some(if host == device {
                format!("its parameter {number} is {host} on both, whose name or fields differ")
            } else {
                format!("its parameter {number} is {host} on the host and {device} in the PTX")
            });
        }
    }
    if ours.relations != theirs.relations {
        let [host, device] = [ours.relations, theirs.relations].map(relations);
        return Some(format!("it requires {host} on the host and {device} in the PTX"));
    }
    if ours.identity != theirs.identity {
        let [host, device] = [here, there].map(|mut rest| rest.next().unwrap_or_default().trim_end());
        return Some(format!("it is written `{host}` on the host and `{device}` in the PTX"));
    }
    None
}

/// The letters of a word.
fn text(word: u64) -> String {
    letters(&[word])
}

/// The letters of several.
fn letters(words: &[u64]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned()
}

fn parameter([kind, map, a, b, element, size, align, _, _]: &[u64; OF_PARAMETER]) -> String {
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
    use blockwise::fingerprint::{count, numbers as all, word};

    const IDENTITY: &str = "ours 1.0.0\nours::sums\nfn sum ( block : Block < 256 > ) ";

    /// A block with an output by `Part<n>`, which requires its length to be a number.
    fn numbers<const N: usize>(
        n: u64,
        block: u32,
        element: &str,
        digest: u64,
        len: u64,
        identity: &str,
    ) -> [u64; N] {
        let parameter = [word("output"), word("Part"), n, 0, word(element), 4, 4, digest, 0];
        let side = |what, which| [word(what), which, word("none"), 0];
        let ([a, b, c, d], [e, f, g, h]) = (side("len", 0), side("number", len));
        all([block, 1, 1], &[parameter], &[[word("=="), a, b, c, d, e, f, g, h]], identity)
    }

    #[test]
    fn each_difference_is_said_with_both_sides() {
        const N: usize = count(1, 1, IDENTITY);
        let ours: [u64; N] = numbers(4, 256, "u32", 7, 12, IDENTITY);
        let said = |device: &[u64]| {
            let line: Vec<String> = device.iter().map(u64::to_string).collect();
            difference(&ours, Some(&line.join(" ")))
        };
        let other =
            |n, block, element, digest, len| numbers::<N>(n, block, element, digest, len, IDENTITY).to_vec();
        let by = |from, to| numbers::<N>(4, 256, "u32", 7, 12, &IDENTITY.replace(from, to)).to_vec();
        assert_eq!(said(&ours), None);
        for (device, text) in [
            (
                by("ours 1", "ours 2"),
                "it is of the package `ours 1.0.0` on the host and `ours 2.0.0` in the PTX",
            ),
            (by("sums", "more"), "it is in the module `ours::sums` on the host and `ours::more` in the PTX"),
            (
                by("block", "token"),
                "it is written `fn sum ( block : Block < 256 > )` on the host and `fn sum ( token : Block < 256 > )` in the PTX",
            ),
            (
                other(4, 128, "u32", 7, 12),
                "its blocks are 256 × 1 × 1 on the host and 128 × 1 × 1 in the PTX",
            ),
            (
                other(8, 256, "u32", 7, 12),
                "its parameter 1 is an output of `u32` by `Part<4>` on the host and an output of `u32` by `Part<8>` in the PTX",
            ),
            (
                other(4, 256, "char", 7, 12),
                "its parameter 1 is an output of `u32` by `Part<4>` on the host and an output of `char` by `Part<4>` in the PTX",
            ),
            (
                other(4, 256, "u32", 8, 12),
                "its parameter 1 is an output of `u32` by `Part<4>` on both, whose name or fields differ",
            ),
            (
                other(4, 256, "u32", 7, 13),
                "it requires len() of parameter 1 == 12 on the host and len() of parameter 1 == 13 in the PTX",
            ),
            (
                all::<{ count(0, 0, IDENTITY) }>([256, 1, 1], &[], &[], IDENTITY).to_vec(),
                "its number of parameters is 1 on the host and 0 in the PTX",
            ),
            (vec![256, 1], "the PTX describes it in a way that this host does not know"),
        ] {
            assert_eq!(said(&device).as_deref(), Some(text));
        }
        assert!(difference(&ours, None).unwrap().contains("the PTX does not say so"));
    }
}
