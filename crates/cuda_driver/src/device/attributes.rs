//! What the device says of itself, number by number.

use gpu_model::Chip;

/// The value of a `CUdevice_attribute`, by its number in `cuda.h`; `None` when there is no such number.
///
/// Limits come from the chip; features say what the virtual GPU can do, not what the chip could.
pub fn device_attribute(chip: &Chip, attribute: u32) -> Option<i32> {
    let sm = chip.sm;
    let capability = chip.capability();
    let at_least = |major: u8| i32::from(capability.major >= major);
    Some(match attribute {
        1 => sm.threads_per_block as i32,
        2 | 3 => 1024,
        4 => 64,
        5 => i32::MAX,
        6 | 7 => 65_535,
        8 => sm.shared_per_block as i32,
        9 => 65_536,
        10 => 32,
        11 => i32::MAX,
        12 => sm.registers_per_block as i32,
        13 => chip.clock_khz as i32,
        14 => 512, // texture alignment
        15 => 1,   // copies and kernels may overlap
        16 => chip.sms as i32,
        17 => 0, // no run-time limit on kernels
        18 => 0, // not integrated
        19 => 1, // host memory can be mapped
        20 => 0, // compute mode: default
        21 => 131_072,
        22 => 131_072,
        23 => 65_536,
        24..=26 => 16_384,
        27 | 28 => 32_768,
        29 => 2048,
        30 => 512, // surface alignment
        31 => 1,   // concurrent kernels
        32 => i32::from(chip.ecc),
        33 => chip.pci.bus as i32,
        34 => chip.pci.device as i32,
        35 => 0, // no TCC driver
        36 => chip.memory_clock_khz as i32,
        37 => chip.memory_bus_bits as i32,
        38 => chip.l2_bytes as i32,
        39 => sm.threads as i32,
        40 => chip.copy_engines as i32,
        41 => 1, // unified addressing
        42 => 32_768,
        43 => 2048,
        44 => 1,
        45 | 46 => 32_768,
        47..=49 => 0,
        50 => chip.pci.domain as i32,
        51 => 32, // texture pitch alignment
        52..=53 => 32_768,
        54 => 2046,
        55 => 32_768,
        56 => 131_072,
        57 => 65_536,
        58..=60 => 16_384,
        61 => 32_768,
        62 => 2048,
        63 | 64 => 32_768,
        65 => 2048,
        66 | 67 => 32_768,
        68 => 2046,
        69 => 1 << 28,
        70 => 131_072,
        71 => 65_000,
        72 => 2_097_120,
        73 | 74 => 32_768,
        75 => capability.major.into(),
        76 => capability.minor.into(),
        77 => 32_768,
        78 => 1, // stream priorities
        79 | 80 => 1,
        81 => sm.shared as i32,
        82 => sm.registers as i32,
        83 => 1, // managed memory
        84 => 0,
        85 => 0,
        86 => 0,
        87 => match (capability.major, capability.minor) {
            (7, 0) | (8, 0) | (9, 0) | (10, 0) => 2,
            (8, 6 | 9) | (12, _) => 64,
            _ => 32,
        },
        88 => 0, // pageable memory is not visible to kernels
        89 => 1, // concurrent managed access
        90 => 1, // compute preemption
        91 => 1, // registered memory has its own address
        92..=94 => 1,
        95 => 1, // cooperative launch
        96 => 0,
        97 => sm.shared_per_block_optin as i32,
        98 => 0,
        99 => 1, // host registration
        100 | 101 => 0,
        102 => 1,       // virtual memory management
        103..=105 => 0, // no shareable handles
        106 => sm.blocks as i32,
        107 => 0,
        108 | 109 => 0, // no persisting L2
        110 => 0,
        111 => sm.shared_reserved_per_block as i32,
        112 => 0,
        113 => 1,
        114 => 0,
        115 => 1, // memory pools
        116..=119 => 0,
        120 => at_least(9), // clusters
        121 => 0,
        122 | 123 => 1, // stream memory operations
        124 | 125 => 0,
        126 => 1,
        127 => at_least(9), // tensor maps
        128 => 0,
        129 => 1,
        130 => 0,
        131 => -1,          // NUMA node of the device
        132 => at_least(9), // multicast objects
        133 => 0,
        134 => 0,
        135..=161 => 0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use gpu_model::chips;

    use super::*;

    /// `deviceQuery` and the CUDA programming guide's table of limits.
    #[test]
    fn attributes_are_those_of_the_boards() {
        for (chip, sms, capability, optin, threads) in [
            (&chips::H200, 132, (9, 0), 232_448, 2048),
            (&chips::A100, 108, (8, 0), 166_912, 2048),
            (&chips::RTX4090, 128, (8, 9), 101_376, 1536),
            (&chips::T4, 40, (7, 5), 65_536, 1024),
        ] {
            let of = |attribute| device_attribute(chip, attribute).unwrap();
            assert_eq!((of(16), of(75), of(76)), (sms, capability.0, capability.1), "{}", chip.key);
            assert_eq!((of(97), of(39)), (optin, threads), "{}", chip.key);
            assert_eq!((of(1), of(10), of(8)), (1024, 32, 49_152), "{}", chip.key);
        }
        assert_eq!(device_attribute(&chips::H200, 0), None);
        assert_eq!(device_attribute(&chips::H200, 100_000), None);
    }
}
