//! The worked examples of the teaching texts, computed.

use serde::Serialize;

use super::{BlockNeeds, Occupancy, OccupancyError, Resource};
use crate::{Capability, SmLimits};

/// One worked example: the question and the numbers that answer it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Example {
    /// The question.
    pub question: &'static str,
    /// How it is computed.
    pub reasoning: String,
    /// The answer, with its unit.
    pub answer: String,
    /// The number in the answer.
    pub value: u32,
}

/// A multiprocessor of the texts: 768 thread slots, 8 block slots, 16 KiB of shared memory (capability 1.0).
const TEXTBOOK: &SmLimits = match SmLimits::of(Capability::new(1, 0)) {
    Some(limits) => limits,
    None => panic!("capability 1.0 has published limits"),
};

/// Computes the worked examples.
pub fn examples() -> Result<Vec<Example>, OccupancyError> {
    let (threads, registers) = (1536, 16_384);
    let per_thread = registers / threads;
    let (shared, blocks) = (TEXTBOOK.shared, TEXTBOOK.blocks);
    let per_block = shared / blocks;
    // Two 16×16 tiles of f32, one of each matrix.
    let tiles = 2 * 16 * 16 * 4;
    let needs = BlockNeeds { threads: 256, registers_per_thread: 0, static_shared: tiles, dynamic_shared: 0 };
    let occupancy = Occupancy::new(TEXTBOOK, needs)?;
    let shared_limit = occupancy
        .limits
        .iter()
        .find(|limit| limit.resource == Resource::SharedMemory)
        .and_then(|limit| limit.blocks)
        .unwrap_or(0);
    Ok(vec![
        Example {
            question: "1,536 threads share 16,384 registers: how many may each use?",
            reasoning: format!(
                "{registers} / {threads} = {:.2}, rounded down",
                f64::from(registers) / f64::from(threads)
            ),
            answer: format!("{per_thread} registers a thread"),
            value: per_thread,
        },
        Example {
            question: "16 KiB of shared memory, 8 blocks resident: how much may each use?",
            reasoning: format!("{shared} / {blocks} bytes"),
            answer: format!("{} KiB a block", per_block / 1024),
            value: per_block,
        },
        Example {
            question: "Matmul with 16×16 tiles of f32: how much shared memory does a block use?",
            reasoning: "2 tiles × 16 × 16 elements × 4 bytes".to_owned(),
            answer: format!("{} KiB a block", tiles / 1024),
            value: tiles,
        },
        Example {
            question: "The same block on a multiprocessor of 768 threads and 16 KiB: how many blocks fit?",
            reasoning: format!(
                "shared memory admits {shared_limit}, but {} threads / {} = {}: {} decide",
                TEXTBOOK.threads,
                needs.threads,
                TEXTBOOK.threads / needs.threads,
                occupancy.limited_by[0].name()
            ),
            answer: format!("{} blocks", occupancy.blocks),
            value: occupancy.blocks,
        },
        Example {
            question: "How much of its shared memory do they use?",
            reasoning: format!("{} blocks × {} KiB", occupancy.blocks, tiles / 1024),
            answer: format!("{} KiB of {} KiB", occupancy.blocks * tiles / 1024, shared / 1024),
            value: occupancy.blocks * tiles,
        },
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_numbers_come_out() {
        let values: Vec<u32> = examples().unwrap().iter().map(|example| example.value).collect();
        assert_eq!(values, [10, 2048, 2048, 3, 6144]);
    }
}
