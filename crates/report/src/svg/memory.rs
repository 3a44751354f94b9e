//! Global memory: 128-byte lines, their sectors, and the words that lanes asked for.

use std::collections::BTreeMap;

use gpu_model::coalescing::Coalescing;

use super::Drawing;
use crate::text::counted;

/// Lines drawn at most; more would say nothing new.
const SHOWN_LINES: usize = 16;

/// Draws what moves: a row for each 128-byte line, frames around sectors, words asked for filled and named by the
/// first lane that wants them.
pub fn memory_map(name: &str, access: &Coalescing, addresses: &[Option<u64>]) -> String {
    const WORD: f64 = 20.0;
    const LABEL: f64 = 76.0;
    const ROW: f64 = 26.0;
    let mut words: BTreeMap<u64, BTreeMap<u64, Vec<usize>>> = BTreeMap::new();
    for transaction in &access.transactions {
        let end = transaction.address + u64::from(transaction.bytes);
        for word in transaction.address / 4..end.div_ceil(4) {
            words.entry(word / 32).or_default().entry(word).or_default();
        }
    }
    for (lane, address) in addresses.iter().enumerate() {
        let Some(address) = address else { continue };
        for word in address / 4..=(address + u64::from(access.bytes.max(1)) - 1) / 4 {
            words.entry(word / 32).or_default().entry(word).or_default().push(lane);
        }
    }
    let shown = words.len().min(SHOWN_LINES);
    let mut drawing = Drawing::new(LABEL + 32.0 * WORD + 4.0, shown as f64 * ROW + ROW);
    for (row, (line, cells)) in words.iter().take(SHOWN_LINES).enumerate() {
        let y = row as f64 * ROW + 2.0;
        drawing.text(LABEL - 6.0, y + 16.0, "end", "label", &format!("byte {}", line * 128));
        for (word, lanes) in cells {
            let x = LABEL + (word % 32) as f64 * WORD;
            let (class, tip) = if lanes.is_empty() {
                ("cell wasted", format!("byte {}: moved for nothing", word * 4))
            } else {
                let lanes: Vec<String> = lanes.iter().map(usize::to_string).collect();
                ("cell used", format!("byte {}: lanes {}", word * 4, lanes.join(", ")))
            };
            drawing.rect(x + 1.0, y + 1.0, WORD - 2.0, 20.0, class, &tip);
            if let Some(lane) = lanes.first() {
                drawing.text(x + WORD / 2.0, y + 15.0, "middle", "on-used small", &lane.to_string());
            }
        }
        for sector in 0..4 {
            if (0..8).any(|word| cells.contains_key(&(line * 32 + sector * 8 + word))) {
                let x = LABEL + sector as f64 * 8.0 * WORD;
                drawing.rect(x, y, 8.0 * WORD, 22.0, "frame", "");
            }
        }
    }
    if words.len() > shown {
        let more = format!("and {}", counted((words.len() - shown) as u64, "more line", "more lines"));
        drawing.text(LABEL, shown as f64 * ROW + 18.0, "start", "label", &more);
    }
    let description = format!(
        "{}: {} bytes move for {} asked for, {:.0} percent used.",
        counted(access.transactions.len() as u64, "transaction", "transactions"),
        access.moved_bytes,
        access.useful_bytes,
        access.efficiency * 100.0
    );
    drawing.finish(name, &description)
}

#[cfg(test)]
mod tests {
    use gpu_model::coalescing::{Rule, misaligned, strided};

    use super::*;

    #[test]
    fn words_moved_for_nothing_are_drawn_apart() {
        let pattern = misaligned(1);
        let access = Coalescing::new(Rule::Sectors, 4, &pattern.addresses);
        let svg = memory_map("misaligned", &access, &pattern.addresses);
        assert_eq!(svg.matches("cell used").count(), 32);
        assert_eq!(svg.matches("cell wasted").count(), 8);
        assert_eq!(svg.matches("\"frame\"").count(), 5, "a frame for each sector");
        assert!(svg.contains("5 transactions: 160 bytes move for 128 asked for, 80 percent used."));
    }

    #[test]
    fn many_lines_are_cut_and_said() {
        let pattern = strided(4, 1024, 0);
        let access = Coalescing::new(Rule::Sectors, 4, &pattern.addresses);
        assert!(memory_map("far", &access, &pattern.addresses).contains("and 16 more lines"));
    }
}
