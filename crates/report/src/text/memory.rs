//! Global memory as lines of 128 bytes: what was asked for, what moved beside it.

use std::{collections::BTreeMap, fmt::Write};

use gpu_model::coalescing::Coalescing;

use super::Paint;

/// Draws each 128-byte line that moves, a character for four bytes: `█` asked for, `░` moved for nothing, blank not
/// moved. Bars part the sectors.
pub fn memory_map(access: &Coalescing, addresses: &[Option<u64>], paint: Paint) -> String {
    const SHOWN_LINES: usize = 12;
    let mut moved: BTreeMap<u64, [bool; 32]> = BTreeMap::new();
    for transaction in &access.transactions {
        for word in transaction.address / 4..(transaction.address + u64::from(transaction.bytes)).div_ceil(4)
        {
            moved.entry(word / 32).or_insert([false; 32])[(word % 32) as usize] = true;
        }
    }
    let mut used: BTreeMap<u64, [bool; 32]> = BTreeMap::new();
    for address in addresses.iter().flatten() {
        for word in address / 4..=(address + u64::from(access.bytes.max(1)) - 1) / 4 {
            used.entry(word / 32).or_insert([false; 32])[(word % 32) as usize] = true;
        }
    }
    let mut out = String::new();
    for (line, words) in moved.iter().take(SHOWN_LINES) {
        let _ = write!(out, "bytes {:>7} │", line * 128);
        let used = used.get(line).copied().unwrap_or_default();
        for (index, &moves) in words.iter().enumerate() {
            match (moves, used[index]) {
                (true, true) => out.push_str(&paint.good("█")),
                (true, false) => out.push_str(&paint.bad("░")),
                _ => out.push(' '),
            }
            if index % 8 == 7 {
                out.push('│');
            }
        }
        out.push('\n');
    }
    if moved.len() > SHOWN_LINES {
        let _ = writeln!(out, "… {} more lines", moved.len() - SHOWN_LINES);
    }
    out
}

#[cfg(test)]
mod tests {
    use gpu_model::coalescing::{Rule, misaligned};

    use super::*;

    #[test]
    fn a_shift_by_one_word_shows_what_moves_for_nothing() {
        let pattern = misaligned(1);
        let access = Coalescing::new(Rule::Sectors, 4, &pattern.addresses);
        let text = memory_map(&access, &pattern.addresses, Paint::default());
        assert_eq!(
            text,
            "bytes       0 │░███████│████████│████████│████████│\n\
             bytes     128 │█░░░░░░░│        │        │        │\n"
        );
    }
}
