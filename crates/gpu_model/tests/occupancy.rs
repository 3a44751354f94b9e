//! Occupancy against NVIDIA's own calculator.
//!
//! `data/occupancy.csv` holds the answers of `cuda_occupancy.h` (CUDA 13, `cudaOccMaxActiveBlocksPerMultiprocessor`)
//! to 40 random kernels on each generation it knows, with the limits of the programming guide; -1 is "no limit".
//! Generations 1.x and 2.x, which it has forgotten, are checked by the worked cases below.

use gpu_model::occupancy::{BlockNeeds, Occupancy, Resource};
use gpu_model::{Capability, SmLimits};

#[test]
fn agrees_with_the_published_calculator() {
    let mut checked = 0;
    for (index, line) in include_str!("data/occupancy.csv").lines().enumerate().skip(1) {
        let (capability, numbers) = line.split_once(',').unwrap();
        let numbers: Vec<i64> = numbers.split(',').map(|field| field.parse().unwrap()).collect();
        let limits = SmLimits::of(capability.parse().unwrap()).unwrap();
        let needs = BlockNeeds {
            threads: numbers[0] as u32,
            registers_per_thread: numbers[1] as u32,
            static_shared: numbers[2] as u32,
            dynamic_shared: numbers[3] as u32,
        };
        let context = format!("line {}: {line}", index + 1);
        match Occupancy::new(limits, needs) {
            Err(error) => assert_eq!(numbers[4], 0, "{context}: {error}"),
            Ok(occupancy) => {
                let limit = |resource| {
                    let found = occupancy.limits.iter().find(|limit| limit.resource == resource).unwrap();
                    found.blocks.map_or(-1, i64::from)
                };
                assert_eq!(i64::from(occupancy.blocks), numbers[4], "{context}");
                assert_eq!(limit(Resource::Registers), numbers[5], "{context}, registers");
                assert_eq!(limit(Resource::SharedMemory), numbers[6], "{context}, shared memory");
                assert_eq!(limit(Resource::Warps), numbers[7], "{context}, warps");
                assert_eq!(limit(Resource::Blocks), numbers[8], "{context}, block slots");
                assert_eq!(
                    i64::from(occupancy.registers_per_block),
                    numbers[9],
                    "{context}, registers taken"
                );
                assert_eq!(
                    i64::from(occupancy.shared_per_block),
                    numbers[10],
                    "{context}, shared memory taken"
                );
            }
        }
        checked += 1;
    }
    assert_eq!(checked, 920);
}

fn blocks(major: u8, minor: u8, threads: u32, registers: u32, shared: u32) -> u32 {
    let limits = SmLimits::of(Capability::new(major, minor)).unwrap();
    let needs =
        BlockNeeds { threads, registers_per_thread: registers, static_shared: shared, dynamic_shared: 0 };
    Occupancy::new(limits, needs).unwrap().blocks
}

/// CUDA C programming guide of that time, appendix on 1.x: a block of 256 threads with 10 registers takes
/// 2,560 of 8,192 registers; with 11 it takes 2,816, and only two fit.
#[test]
fn tesla_hands_registers_to_whole_blocks() {
    assert_eq!(blocks(1, 0, 256, 10, 0), 3);
    assert_eq!(blocks(1, 0, 256, 11, 0), 2);
    // Three warps are handed out as four: 4 × 32 × 16 = 2,048 registers.
    assert_eq!(blocks(1, 0, 96, 16, 0), 4);
    assert_eq!(blocks(1, 3, 96, 16, 0), 8);
    // 2,049 bytes take 2,560.
    assert_eq!(blocks(1, 0, 32, 0, 2049), 6);
}

/// 2.x: 21 registers × 32 lanes = 672, rounded to 704 for each warp; 32,768 / 2 / 704 = 23 warps for each scheduler.
#[test]
fn fermi_hands_registers_to_warps() {
    assert_eq!(blocks(2, 0, 192, 21, 0), 7);
    assert_eq!(blocks(2, 0, 192, 20, 0), 8);
    assert_eq!(blocks(2, 0, 512, 63, 0), 1);
}
