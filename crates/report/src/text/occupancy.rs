//! Occupancy as a table of resources with bars.

use std::fmt::Write;

use gpu_model::SmLimits;
use gpu_model::occupancy::{Occupancy, Resource};

use super::Paint;
use crate::unit::{self, grouped};

/// Draws how much of each resource the resident blocks use, and how many blocks each admits. On a terminal of less than 80
/// columns the words stand below their bar.
pub fn occupancy(found: &Occupancy, sm: &SmLimits, width: usize, paint: Paint) -> String {
    let mut out = String::new();
    let rows = [
        (Resource::Warps, found.blocks * found.needs.threads.div_ceil(32), sm.warps, "warps"),
        (Resource::Registers, found.blocks * found.registers_per_block, sm.registers, "registers"),
        (Resource::SharedMemory, found.blocks * found.shared_per_block, sm.shared, "of shared memory"),
        (Resource::Blocks, found.blocks, sm.blocks, "block slots"),
    ];
    for (resource, used, total, unit) in rows {
        let amount = |count: u32| match resource {
            Resource::SharedMemory => unit::size(count.into()),
            _ => grouped(count.into()),
        };
        let admits =
            found.limits.iter().find(|limit| limit.resource == resource).and_then(|limit| limit.blocks);
        let filled = (u64::from(used) * 20 / u64::from(total.max(1))) as usize;
        let bar = format!("{}{}", "█".repeat(filled), "░".repeat(20 - filled.min(20)));
        if resource == Resource::Registers && admits.is_none() {
            continue;
        }
        let limits = found.limited_by.contains(&resource);
        let bar = if limits { paint.bad(&bar) } else { bar };
        let admits = match admits {
            None => "none used".to_owned(),
            Some(blocks) => format!("admits {}", super::counted(blocks.into(), "block", "blocks")),
        };
        let mark = if limits { " ← limits" } else { "" };
        let _ = match width {
            0..80 => writeln!(out, "{bar}\n  {} of {} {unit}\n  {admits}{mark}", amount(used), amount(total)),
            _ => writeln!(out, "{bar} {:>8} of {:>7} {unit}: {admits}{mark}", amount(used), amount(total)),
        };
    }
    out
}

#[cfg(test)]
mod tests {
    use gpu_model::{chips::H200, occupancy::BlockNeeds};

    use super::*;

    #[test]
    fn the_limit_is_marked_in_words() {
        let needs =
            BlockNeeds { threads: 256, registers_per_thread: 64, static_shared: 0, dynamic_shared: 0 };
        let text = occupancy(&Occupancy::new(H200.sm, needs).unwrap(), H200.sm, 80, Paint::default());
        let marked: Vec<&str> = text.lines().filter(|line| line.contains("← limits")).collect();
        assert_eq!(marked.len(), 1, "{text}");
        assert!(marked[0].contains("65,536 of  65,536 registers: admits 4 blocks"), "{text}");
        let narrow = occupancy(&Occupancy::new(H200.sm, needs).unwrap(), H200.sm, 40, Paint::default());
        assert!(narrow.contains("\n  65,536 of 65,536 registers\n  admits 4 blocks ← limits\n"), "{narrow}");
        assert!(narrow.lines().all(|line| line.chars().count() <= 40), "{narrow}");
    }
}
