//! Banks as a grid: a column for each bank, a row for each pass, the lane served in the cell.

use std::fmt::Write;

use gpu_model::banks::{BankMap, BankSystem, Group, Matrix};

use super::Paint;

/// Banks side by side in one strip; two strips of 16 keep 32 banks within 80 columns.
const STRIP: u32 = 16;

/// Draws who is served when: for each group of lanes a row for each pass and a column for each bank.
///
/// A cell names the first lane that gets the word; `+` says that others share it. Passes beyond the first are lost to
/// a conflict.
pub fn bank_map(map: &BankMap, paint: Paint) -> String {
    let mut out = String::new();
    for (index, group) in map.groups.iter().enumerate() {
        if map.groups.len() > 1 {
            let (first, last) = (group.lanes[0], group.lanes[group.lanes.len() - 1]);
            let _ = writeln!(out, "group {} of {}: lanes {first} to {last}", index + 1, map.groups.len());
        }
        draw_group(&mut out, group, map.system.banks, paint);
    }
    out
}

fn draw_group(out: &mut String, group: &Group, banks: u32, paint: Paint) {
    for start in (0..banks).step_by(STRIP as usize) {
        let end = (start + STRIP).min(banks);
        let in_strip: Vec<_> = group.banks.iter().filter(|bank| (start..end).contains(&bank.bank)).collect();
        let Some(deepest) = in_strip.iter().map(|bank| bank.words.len()).max() else {
            let _ = writeln!(out, "{}", paint.faint(&format!("banks {start} to {}: not used", end - 1)));
            continue;
        };
        let mut head = String::from("bank   ");
        for bank in start..end {
            let _ = write!(head, "{bank:>4}");
        }
        let _ = writeln!(out, "{}", paint.faint(&head));
        for pass in 0..deepest {
            let _ = write!(out, "pass{:>3}", pass + 1);
            for bank in start..end {
                let word = in_strip.iter().find(|one| one.bank == bank).and_then(|one| one.words.get(pass));
                let cell = match word {
                    None => paint.faint("   ·"),
                    Some(word) => {
                        let shared = if word.lanes.len() > 1 { "+" } else { "" };
                        let cell = format!("{:>4}", format!("{}{shared}", word.lanes[0]));
                        match (pass, shared) {
                            (1.., _) => paint.bad(&cell),
                            (0, "+") => paint.good(&cell),
                            _ => cell,
                        }
                    }
                };
                out.push_str(&cell);
            }
            out.push('\n');
        }
    }
}

/// Draws a matrix with the bank of each element, its padding as `·`; one column stands out.
pub fn matrix(matrix: &Matrix, system: &BankSystem, column: u32, paint: Paint) -> String {
    const SHOWN_ROWS: usize = 34;
    const SHOWN_COLUMNS: usize = 17;
    let mut out = String::new();
    let banks = matrix.banks(system);
    let shown = banks[0].len().min(SHOWN_COLUMNS);
    let cut = banks[0].len() > shown;
    for (row, cells) in banks.iter().enumerate().take(SHOWN_ROWS) {
        let _ = write!(out, "row{row:>4} ");
        for (index, bank) in cells.iter().enumerate().take(shown) {
            let cell = format!("{bank:>4}");
            out.push_str(&if index == column as usize { paint.bad(&cell) } else { cell });
        }
        if cut {
            out.push_str("  …");
        }
        for _ in 0..matrix.pad.min(2) {
            out.push_str(&paint.faint("  ·"));
        }
        out.push('\n');
    }
    if banks.len() > SHOWN_ROWS {
        let _ = writeln!(out, "… {} more rows", banks.len() - SHOWN_ROWS);
    }
    out
}

#[cfg(test)]
mod tests {
    use gpu_model::banks::Access;

    use super::*;

    fn map(bytes: u32, stride: u64) -> BankMap {
        let lanes: Vec<_> = (0..32).map(|lane| Some(lane * stride)).collect();
        BankMap::new(&BankSystem::MODERN, Access::Load, bytes, &lanes)
    }

    #[test]
    fn a_two_way_conflict_has_two_rows() {
        let text = bank_map(&map(4, 8), Paint::default());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 6, "two strips of a head and two passes:\n{text}");
        assert!(lines[1].starts_with("pass  1   0   ·   1   ·   2"), "{text}");
        assert!(lines[2].starts_with("pass  2  16   ·  17"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80));
    }

    #[test]
    fn a_broadcast_is_marked_and_idle_banks_are_named() {
        let text = bank_map(&map(4, 0), Paint::default());
        assert!(text.contains("pass  1  0+"), "{text}");
        assert!(text.contains("banks 16 to 31: not used"), "{text}");
    }

    #[test]
    fn padding_shifts_each_row_of_a_matrix() {
        let text = matrix(&Matrix::new(4, 4, 1, 4).unwrap(), &BankSystem::MODERN, 0, Paint::default());
        assert_eq!(text.lines().nth(1), Some("row   1    5   6   7   8  ·"));
    }
}
