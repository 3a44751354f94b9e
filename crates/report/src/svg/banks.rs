//! Banks: lanes coloured by the bank they hit, and who is served in which pass.

use gpu_model::banks::BankMap;

use super::Drawing;
use crate::{palette::BANK_COLOURS, text::counted};

const CELL: f64 = 22.0;
const LABEL: f64 = 58.0;

fn bank_class(bank: u32) -> String {
    format!("b{}", bank % BANK_COLOURS)
}

/// Draws an access: a strip of lanes in the colours of their banks, then for each group a row for each pass and a
/// column for each bank. Passes beyond the first stand out: they are what a conflict costs.
pub fn bank_map(name: &str, map: &BankMap, addresses: &[Option<u64>]) -> String {
    let columns = (map.system.banks as usize).max(addresses.len());
    let rows: usize = map.groups.iter().map(|group| 1 + deepest(group)).sum();
    let width = LABEL + columns as f64 * CELL + 4.0;
    let height = CELL * 1.8 + rows as f64 * (CELL + 2.0) + map.groups.len() as f64 * CELL * 0.4;
    let mut drawing = Drawing::new(width, height);
    let x = |column: usize| LABEL + column as f64 * CELL;

    drawing.text(LABEL - 6.0, CELL * 0.7, "end", "label", "lane");
    for (lane, address) in addresses.iter().enumerate() {
        let class = match map.lane(lane) {
            Some((bank, 0)) => format!("cell {}", bank_class(bank)),
            Some((bank, _)) => format!("cell {} late", bank_class(bank)),
            None => "cell idle".to_owned(),
        };
        let tip = match (address, map.lane(lane)) {
            (Some(address), Some((bank, pass))) => {
                format!("lane {lane}: byte {address}, bank {bank}, pass {}", pass + 1)
            }
            _ => format!("lane {lane}: inactive"),
        };
        drawing.rect(x(lane) + 1.0, 1.0, CELL - 2.0, CELL - 2.0, &class, &tip);
        drawing.text(x(lane) + CELL / 2.0, CELL * 0.68, "middle", "on-bank", &lane.to_string());
    }

    let mut y = CELL * 1.8;
    for group in &map.groups {
        drawing.text(LABEL - 6.0, y + CELL * 0.7, "end", "label", "bank");
        for bank in 0..map.system.banks {
            drawing.text(x(bank as usize) + CELL / 2.0, y + CELL * 0.7, "middle", "label", &bank.to_string());
        }
        y += CELL + 2.0;
        for pass in 0..deepest(group) {
            let class = if pass == 0 { "label" } else { "label bad" };
            drawing.text(LABEL - 6.0, y + CELL * 0.7, "end", class, &format!("pass {}", pass + 1));
            for bank in &group.banks {
                let Some(word) = bank.words.get(pass) else { continue };
                let lanes: Vec<String> = word.lanes.iter().map(usize::to_string).collect();
                let tip = format!("bank {}, word {}: lanes {}", bank.bank, word.word, lanes.join(", "));
                let late = if pass == 0 { "" } else { " late" };
                let class = format!("cell {}{late}", bank_class(bank.bank));
                let left = x(bank.bank as usize);
                drawing.rect(left + 1.0, y + 1.0, CELL - 2.0, CELL - 2.0, &class, &tip);
                let shared = if lanes.len() > 1 { "+" } else { "" };
                let text = format!("{}{shared}", lanes[0]);
                drawing.text(left + CELL / 2.0, y + CELL * 0.68, "middle", "on-bank", &text);
            }
            y += CELL + 2.0;
        }
        y += CELL * 0.4;
    }
    let passes = counted(map.cost.wavefronts.into(), "wavefront", "wavefronts");
    let description = match map.cost.bank_conflicts() {
        0 => format!("{passes}, no bank conflict."),
        lost => format!("{passes}, {lost} of them lost to a {}-way bank conflict.", map.cost.degree),
    };
    drawing.finish(name, &description)
}

fn deepest(group: &gpu_model::banks::Group) -> usize {
    group.banks.iter().map(|bank| bank.words.len()).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use gpu_model::banks::{Access, BankSystem};

    use super::*;

    #[test]
    fn lanes_carry_the_colour_of_their_bank_and_late_ones_stand_out() {
        let lanes: Vec<_> = (0..32).map(|lane| Some(lane * 8)).collect();
        let map = BankMap::new(&BankSystem::MODERN, Access::Load, 4, &lanes);
        let svg = bank_map("stride 2", &map, &lanes);
        assert!(svg.contains("lane 16: byte 128, bank 0, pass 2"));
        assert!(svg.contains("2 wavefronts, 1 of them lost to a 2-way bank conflict."));
        // 16 lanes of the strip and 16 cells of the second pass.
        assert_eq!(svg.matches(" late\"").count(), 32);
        assert_eq!(svg.matches(r#"class="cell b0""#).count(), 2);
    }
}
