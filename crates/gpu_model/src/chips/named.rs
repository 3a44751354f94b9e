//! The GPUs that the virtual one can stand for, and that models compute with by name.
//!
//! Clocks, widths and sizes are what the driver reports for the boards in common use; memory sizes are what a
//! program finds (`cuDeviceTotalMem`), a little under what the box says.

use serde::Serialize;

use super::{Capability, SmLimits};

/// Where the board would sit on the bus, and which device it says it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PciId {
    /// Bus domain.
    pub domain: u32,
    /// Bus number.
    pub bus: u32,
    /// Slot.
    pub device: u32,
}

/// One GPU: its generation's limits, how many multiprocessors it has, how fast they and its memory are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Chip {
    /// The name that `WARPSMITH_MODEL` and `--model` take.
    pub key: &'static str,
    /// The name that the driver reports.
    pub name: &'static str,
    /// The limits of a multiprocessor, with the capability.
    pub sm: &'static SmLimits,
    /// Streaming multiprocessors.
    pub sms: u32,
    /// Highest clock of the multiprocessors.
    pub clock_khz: u32,
    /// Memory clock, half the rate of its pins.
    pub memory_clock_khz: u32,
    /// Width of the memory bus.
    pub memory_bus_bits: u32,
    /// Bytes of global memory that a program can see.
    pub memory_bytes: u64,
    /// Bytes of the second-level cache.
    pub l2_bytes: u32,
    /// Bytes of L1 and shared memory together, per multiprocessor.
    pub l1_and_shared_bytes: u32,
    /// Whether memory errors are corrected.
    pub ecc: bool,
    /// Engines that copy beside kernels.
    pub copy_engines: u32,
    /// Rates of its tensor cores.
    pub tensor: TensorRates,
    /// Where the virtual board sits.
    pub pci: PciId,
}

/// Multiply-adds of one multiprocessor's tensor cores in a clock, by the type of the factors; sums in `f32`, `f64` or
/// `s32`, no sparsity. 0: the chip has no such product, or none worth its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TensorRates {
    /// `f16` and `bf16`.
    pub f16: u32,
    pub tf32: u32,
    pub f64: u32,
    /// Floating-point numbers of eight bits.
    pub f8: u32,
    /// Integers of eight bits.
    pub s8: u32,
}

impl Chip {
    /// The generation.
    pub const fn capability(&self) -> Capability {
        self.sm.capability
    }

    /// Bytes per second between the chip and its memory.
    pub fn memory_bandwidth(&self) -> f64 {
        2.0 * f64::from(self.memory_clock_khz) * 1e3 * f64::from(self.memory_bus_bits) / 8.0
    }

    /// Single-precision floating-point operations per second; a multiply-add counts two.
    pub fn fp32_flops(&self) -> f64 {
        self.flops(self.sm.fp32_lanes)
    }

    /// Operations per second of `multiply_adds` by each multiprocessor in a clock.
    pub(crate) fn flops(&self, multiply_adds: u32) -> f64 {
        2.0 * f64::from(self.sms) * f64::from(multiply_adds) * f64::from(self.clock_khz) * 1e3
    }

    /// Bytes per second that shared memory delivers over all multiprocessors: 128 each clock.
    pub fn shared_bandwidth(&self) -> f64 {
        128.0 * f64::from(self.sms) * f64::from(self.clock_khz) * 1e3
    }
}

const fn limits(major: u8, minor: u8) -> &'static SmLimits {
    match SmLimits::of(Capability::new(major, minor)) {
        Some(row) => row,
        None => panic!("a named chip needs the limits of its generation"),
    }
}

const fn at_bus(bus: u32) -> PciId {
    PciId { domain: 0, bus, device: 0 }
}

const KIB: u32 = 1024;
const MIB: u32 = 1024 * KIB;

/// NVIDIA H200, 141 GB of HBM3e. The default.
pub static H200: Chip = Chip {
    key: "h200",
    name: "NVIDIA H200",
    sm: limits(9, 0),
    sms: 132,
    clock_khz: 1_980_000,
    memory_clock_khz: 3_201_000,
    memory_bus_bits: 6144,
    memory_bytes: 150_121_545_728,
    l2_bytes: 60 * MIB,
    l1_and_shared_bytes: 256 * KIB,
    ecc: true,
    copy_engines: 3,
    tensor: TensorRates { f16: 2048, tf32: 1024, f64: 128, f8: 4096, s8: 4096 },
    pci: at_bus(0x19),
};

/// NVIDIA H100 with 80 GB of HBM3, the SXM5 board.
pub static H100: Chip = Chip {
    key: "h100",
    name: "NVIDIA H100 80GB HBM3",
    memory_clock_khz: 2_619_000,
    memory_bus_bits: 5120,
    memory_bytes: 84_942_979_072,
    l2_bytes: 50 * MIB,
    ..H200
};

/// NVIDIA A100 with 80 GB of HBM2e, the SXM4 board.
pub static A100: Chip = Chip {
    key: "a100",
    name: "NVIDIA A100-SXM4-80GB",
    sm: limits(8, 0),
    sms: 108,
    clock_khz: 1_410_000,
    memory_clock_khz: 1_593_000,
    memory_bus_bits: 5120,
    memory_bytes: 84_987_740_160,
    l2_bytes: 40 * MIB,
    l1_and_shared_bytes: 192 * KIB,
    ecc: true,
    copy_engines: 3,
    tensor: TensorRates { f16: 1024, tf32: 512, f64: 64, f8: 0, s8: 2048 },
    pci: at_bus(0x07),
};

/// NVIDIA GeForce RTX 4090.
pub static RTX4090: Chip = Chip {
    key: "rtx4090",
    name: "NVIDIA GeForce RTX 4090",
    sm: limits(8, 9),
    sms: 128,
    clock_khz: 2_520_000,
    memory_clock_khz: 10_501_000,
    memory_bus_bits: 384,
    memory_bytes: 25_393_692_672,
    l2_bytes: 72 * MIB,
    l1_and_shared_bytes: 128 * KIB,
    ecc: false,
    copy_engines: 2,
    tensor: TensorRates { f16: 256, tf32: 128, f64: 0, f8: 512, s8: 1024 },
    pci: at_bus(0x01),
};

/// NVIDIA GeForce RTX 3060 with 12 GB.
pub static RTX3060: Chip = Chip {
    key: "rtx3060",
    name: "NVIDIA GeForce RTX 3060",
    sm: limits(8, 6),
    sms: 28,
    clock_khz: 1_777_000,
    memory_clock_khz: 7_501_000,
    memory_bus_bits: 192,
    memory_bytes: 12_622_168_064,
    l2_bytes: 2304 * KIB,
    l1_and_shared_bytes: 128 * KIB,
    ecc: false,
    copy_engines: 2,
    tensor: TensorRates { f16: 256, tf32: 128, f64: 0, f8: 0, s8: 1024 },
    pci: at_bus(0x01),
};

/// NVIDIA Tesla T4, the smallest chip that the project's modules run on.
pub static T4: Chip = Chip {
    key: "t4",
    name: "Tesla T4",
    sm: limits(7, 5),
    sms: 40,
    clock_khz: 1_590_000,
    memory_clock_khz: 5_001_000,
    memory_bus_bits: 256,
    memory_bytes: 15_634_661_376,
    l2_bytes: 4 * MIB,
    l1_and_shared_bytes: 96 * KIB,
    ecc: true,
    copy_engines: 3,
    tensor: TensorRates { f16: 512, tf32: 0, f64: 0, f8: 0, s8: 1024 },
    pci: at_bus(0x1e),
};

/// GeForce RTX 5090. Published: 170 multiprocessors, the boost clock, 512 bits of GDDR7 at 28 Gb/s, 96 MiB of L2, the peaks
/// of f32 and of bandwidth. Assumed, since no document says it and nothing was measured: the copy engines, the bytes of memory that a
/// program sees (32 607 MiB), the bus.
pub static RTX5090: Chip = Chip {
    key: "rtx5090",
    name: "NVIDIA GeForce RTX 5090",
    sm: limits(12, 0),
    sms: 170,
    clock_khz: 2_407_000,
    memory_clock_khz: 14_001_000,
    memory_bus_bits: 512,
    memory_bytes: 34_190_917_632,
    l2_bytes: 96 * MIB,
    l1_and_shared_bytes: 128 * KIB,
    ecc: false,
    copy_engines: 2,
    tensor: TensorRates { f16: 256, tf32: 128, f64: 0, f8: 512, s8: 1024 },
    pci: at_bus(0x01),
};

/// NVIDIA B200.
pub static B200: Chip = Chip {
    key: "b200",
    name: "NVIDIA B200",
    sm: limits(10, 0),
    sms: 148,
    clock_khz: 1_965_000,
    memory_clock_khz: 3_996_000,
    memory_bus_bits: 8192,
    memory_bytes: 191_503_138_816,
    l2_bytes: 126 * MIB,
    l1_and_shared_bytes: 256 * KIB,
    ecc: true,
    copy_engines: 3,
    tensor: TensorRates { f16: 4096, tf32: 2048, f64: 64, f8: 8192, s8: 8192 },
    pci: at_bus(0x1b),
};

/// Every named chip, the default first.
pub static ALL: [&Chip; 8] = [&H200, &H100, &A100, &RTX4090, &RTX3060, &T4, &B200, &RTX5090];

/// The chip of that key, in any case.
pub fn by_key(key: &str) -> Option<&'static Chip> {
    ALL.into_iter().find(|chip| chip.key.eq_ignore_ascii_case(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Peak figures of the data sheets, in TB/s and TFLOP/s.
    #[test]
    fn peaks_are_those_of_the_data_sheets() {
        for (chip, terabytes, teraflops) in [
            (&H200, 4.8, 67.0),
            (&H100, 3.35, 67.0),
            (&A100, 2.039, 19.5),
            (&RTX4090, 1.008, 82.6),
            (&RTX3060, 0.360, 12.7),
            (&T4, 0.320, 8.1),
            (&B200, 8.0, 75.0),
            (&RTX5090, 1.792, 104.8),
        ] {
            let (bandwidth, flops) = (chip.memory_bandwidth() / 1e12, chip.fp32_flops() / 1e12);
            assert!((bandwidth / terabytes - 1.0).abs() < 0.03, "{}: {bandwidth} TB/s", chip.key);
            assert!((flops / teraflops - 1.0).abs() < 0.03, "{}: {flops} TFLOP/s", chip.key);
        }
    }

    /// Dense peaks of the data sheets, in TFLOP/s: `f16`, `tf32`, `f64`, `f8`, `s8`; 0 where a sheet has none. Those of
    /// Hopper and Blackwell are taken at a clock that tensor cores hold, up to 8 % below the highest.
    #[test]
    fn peaks_of_tensor_cores_are_those_of_the_data_sheets() {
        for (chip, sheet) in [
            (&H200, [989.0, 494.0, 67.0, 1979.0, 1979.0]),
            (&H100, [989.0, 494.0, 67.0, 1979.0, 1979.0]),
            (&A100, [312.0, 156.0, 19.5, 0.0, 624.0]),
            (&RTX4090, [165.2, 82.6, 0.0, 330.3, 660.6]),
            (&RTX3060, [25.6, 12.8, 0.0, 0.0, 102.0]),
            (&T4, [65.0, 0.0, 0.0, 0.0, 130.0]),
            (&B200, [2250.0, 1125.0, 37.0, 4500.0, 4500.0]),
        ] {
            let TensorRates { f16, tf32, f64, f8, s8 } = chip.tensor;
            for (rate, sheet) in [f16, tf32, f64, f8, s8].into_iter().zip(sheet) {
                let peak = chip.flops(rate) / 1e12;
                assert!((0.97 * sheet..=1.09 * sheet).contains(&peak), "{}: {peak} for {sheet}", chip.key);
            }
        }
    }

    #[test]
    fn keys_are_found_in_any_case() {
        assert_eq!(by_key("RTX4090").map(|chip| chip.key), Some("rtx4090"));
        assert!(by_key("gtx480").is_none());
    }
}
