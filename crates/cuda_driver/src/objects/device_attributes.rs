//! The attributes that the device reports.

use gpu_model::Chip;

use crate::abi::CUdevice_attribute;

/// The value of an attribute. Limits come from the chip; features say what the virtual GPU can do, not what the chip could.
pub fn device_attribute(chip: &Chip, attribute: CUdevice_attribute) -> i32 {
    use CUdevice_attribute::*;
    let sm = chip.sm;
    let capability = chip.capability();
    let at_least = |major: u8| i32::from(capability.major >= major);
    match attribute {
        MAX_THREADS_PER_BLOCK => sm.threads_per_block as i32,
        MAX_BLOCK_DIM_X | MAX_BLOCK_DIM_Y => 1024,
        MAX_BLOCK_DIM_Z => 64,
        MAX_GRID_DIM_X | MAX_PITCH => i32::MAX,
        MAX_GRID_DIM_Y | MAX_GRID_DIM_Z => 65_535,
        MAX_SHARED_MEMORY_PER_BLOCK => sm.shared_per_block as i32,
        TOTAL_CONSTANT_MEMORY | MAXIMUM_TEXTURE2D_HEIGHT | MAXIMUM_SURFACE2D_HEIGHT => 65_536,
        WARP_SIZE | TEXTURE_PITCH_ALIGNMENT => 32,
        MAX_REGISTERS_PER_BLOCK => sm.registers_per_block as i32,
        CLOCK_RATE => chip.clock_khz as i32,
        TEXTURE_ALIGNMENT | SURFACE_ALIGNMENT => 512,
        GPU_OVERLAP
        | CAN_MAP_HOST_MEMORY
        | CONCURRENT_KERNELS
        | UNIFIED_ADDRESSING
        | CAN_TEX2D_GATHER
        | STREAM_PRIORITIES_SUPPORTED
        | GLOBAL_L1_CACHE_SUPPORTED
        | LOCAL_L1_CACHE_SUPPORTED
        | MANAGED_MEMORY
        | CONCURRENT_MANAGED_ACCESS
        | COMPUTE_PREEMPTION_SUPPORTED
        | CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM
        | CAN_USE_STREAM_MEM_OPS_V1
        | CAN_USE_64_BIT_STREAM_MEM_OPS_V1
        | CAN_USE_STREAM_WAIT_VALUE_NOR_V1
        | COOPERATIVE_LAUNCH
        | HOST_REGISTER_SUPPORTED
        | VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
        | READ_ONLY_HOST_REGISTER_SUPPORTED
        | MEMORY_POOLS_SUPPORTED
        | CAN_USE_64_BIT_STREAM_MEM_OPS
        | CAN_USE_STREAM_WAIT_VALUE_NOR
        | MEM_SYNC_DOMAIN_COUNT
        | UNIFIED_FUNCTION_POINTERS => 1,
        MULTIPROCESSOR_COUNT => chip.sms as i32,
        MAXIMUM_TEXTURE1D_WIDTH
        | MAXIMUM_TEXTURE2D_WIDTH
        | MAXIMUM_SURFACE2D_WIDTH
        | MAXIMUM_TEXTURE2D_LINEAR_WIDTH => 131_072,
        MAXIMUM_TEXTURE3D_WIDTH
        | MAXIMUM_TEXTURE3D_HEIGHT
        | MAXIMUM_TEXTURE3D_DEPTH
        | MAXIMUM_SURFACE3D_WIDTH
        | MAXIMUM_SURFACE3D_HEIGHT
        | MAXIMUM_SURFACE3D_DEPTH => 16_384,
        MAXIMUM_TEXTURE2D_LAYERED_WIDTH
        | MAXIMUM_TEXTURE2D_LAYERED_HEIGHT
        | MAXIMUM_TEXTURE1D_LAYERED_WIDTH
        | MAXIMUM_TEXTURE2D_GATHER_WIDTH
        | MAXIMUM_TEXTURE2D_GATHER_HEIGHT
        | MAXIMUM_TEXTURECUBEMAP_WIDTH
        | MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH
        | MAXIMUM_SURFACE1D_WIDTH
        | MAXIMUM_SURFACE1D_LAYERED_WIDTH
        | MAXIMUM_SURFACE2D_LAYERED_WIDTH
        | MAXIMUM_SURFACE2D_LAYERED_HEIGHT
        | MAXIMUM_SURFACECUBEMAP_WIDTH
        | MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH
        | MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH
        | MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT
        | MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH => 32_768,
        MAXIMUM_TEXTURE2D_LAYERED_LAYERS
        | MAXIMUM_TEXTURE1D_LAYERED_LAYERS
        | MAXIMUM_SURFACE1D_LAYERED_LAYERS
        | MAXIMUM_SURFACE2D_LAYERED_LAYERS => 2048,
        ECC_ENABLED => i32::from(chip.ecc),
        PCI_BUS_ID => chip.pci.bus as i32,
        PCI_DEVICE_ID => chip.pci.device as i32,
        MEMORY_CLOCK_RATE => chip.memory_clock_khz as i32,
        GLOBAL_MEMORY_BUS_WIDTH => chip.memory_bus_bits as i32,
        L2_CACHE_SIZE => chip.l2_bytes as i32,
        MAX_THREADS_PER_MULTIPROCESSOR => sm.threads as i32,
        ASYNC_ENGINE_COUNT => chip.copy_engines as i32,
        PCI_DOMAIN_ID => chip.pci.domain as i32,
        MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS | MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS => 2046,
        MAXIMUM_TEXTURE1D_LINEAR_WIDTH => 1 << 28,
        MAXIMUM_TEXTURE2D_LINEAR_HEIGHT => 65_000,
        MAXIMUM_TEXTURE2D_LINEAR_PITCH => 2_097_120,
        COMPUTE_CAPABILITY_MAJOR => capability.major.into(),
        COMPUTE_CAPABILITY_MINOR => capability.minor.into(),
        MAX_SHARED_MEMORY_PER_MULTIPROCESSOR => sm.shared as i32,
        MAX_REGISTERS_PER_MULTIPROCESSOR => sm.registers as i32,
        MAX_SHARED_MEMORY_PER_BLOCK_OPTIN => sm.shared_per_block_optin as i32,
        MAX_BLOCKS_PER_MULTIPROCESSOR => sm.blocks as i32,
        RESERVED_SHARED_MEMORY_PER_BLOCK => sm.shared_reserved_per_block as i32,
        CLUSTER_LAUNCH | TENSOR_MAP_ACCESS_SUPPORTED | MULTICAST_SUPPORTED => at_least(9),
        NUMA_ID => -1,
        SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO => match (capability.major, capability.minor) {
            (7, 0) | (8, 0) | (9, 0) | (10, 0) => 2,
            (8, 6 | 9) | (12, _) => 64,
            _ => 32,
        },
        // Missing: time limits, handles for other processes, boards with several chips, compression, a persisting
        // L2 …
        _ => 0,
    }
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
            let of = |number: u32| device_attribute(chip, number.try_into().unwrap());
            assert_eq!((of(16), of(75), of(76)), (sms, capability.0, capability.1), "{}", chip.key);
            assert_eq!((of(97), of(39)), (optin, threads), "{}", chip.key);
            assert_eq!((of(1), of(10), of(8)), (1024, 32, 49_152), "{}", chip.key);
        }
        for unknown in [0, 100_000] {
            assert!(CUdevice_attribute::try_from(unknown).is_err());
        }
    }
}
