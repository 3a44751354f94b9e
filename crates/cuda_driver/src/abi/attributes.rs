//! Numbers of attributes, as in `cuda.h`.
#![allow(missing_docs)]

/// `CUdevice_attribute`.
pub mod device {
    pub const MAX_THREADS_PER_BLOCK: u32 = 1;
    pub const MAX_BLOCK_DIM_X: u32 = 2;
    pub const MAX_BLOCK_DIM_Y: u32 = 3;
    pub const MAX_BLOCK_DIM_Z: u32 = 4;
    pub const MAX_GRID_DIM_X: u32 = 5;
    pub const MAX_GRID_DIM_Y: u32 = 6;
    pub const MAX_GRID_DIM_Z: u32 = 7;
    pub const MAX_SHARED_MEMORY_PER_BLOCK: u32 = 8;
    pub const TOTAL_CONSTANT_MEMORY: u32 = 9;
    pub const WARP_SIZE: u32 = 10;
    pub const MAX_PITCH: u32 = 11;
    pub const MAX_REGISTERS_PER_BLOCK: u32 = 12;
    pub const CLOCK_RATE: u32 = 13;
    pub const TEXTURE_ALIGNMENT: u32 = 14;
    pub const MULTIPROCESSOR_COUNT: u32 = 16;
    pub const COMPUTE_CAPABILITY_MAJOR: u32 = 75;
    pub const COMPUTE_CAPABILITY_MINOR: u32 = 76;
}

/// `CUfunction_attribute`.
pub mod function {
    pub const MAX_THREADS_PER_BLOCK: u32 = 0;
    pub const SHARED_SIZE_BYTES: u32 = 1;
    pub const CONST_SIZE_BYTES: u32 = 2;
    pub const LOCAL_SIZE_BYTES: u32 = 3;
    pub const NUM_REGS: u32 = 4;
    pub const PTX_VERSION: u32 = 5;
    pub const BINARY_VERSION: u32 = 6;
    pub const CACHE_MODE_CA: u32 = 7;
    pub const MAX_DYNAMIC_SHARED_SIZE_BYTES: u32 = 8;
    pub const PREFERRED_SHARED_MEMORY_CARVEOUT: u32 = 9;
    pub const CLUSTER_SIZE_MUST_BE_SET: u32 = 10;
    pub const REQUIRED_CLUSTER_WIDTH: u32 = 11;
    pub const REQUIRED_CLUSTER_HEIGHT: u32 = 12;
    pub const REQUIRED_CLUSTER_DEPTH: u32 = 13;
    pub const NON_PORTABLE_CLUSTER_SIZE_ALLOWED: u32 = 14;
    pub const CLUSTER_SCHEDULING_POLICY_PREFERENCE: u32 = 15;
}

/// `CUpointer_attribute`.
pub mod pointer {
    pub const CONTEXT: u32 = 1;
    pub const MEMORY_TYPE: u32 = 2;
    pub const DEVICE_POINTER: u32 = 3;
    pub const HOST_POINTER: u32 = 4;
    pub const SYNC_MEMOPS: u32 = 6;
    pub const BUFFER_ID: u32 = 7;
    pub const IS_MANAGED: u32 = 8;
    pub const DEVICE_ORDINAL: u32 = 9;
    pub const IS_LEGACY_CUDA_IPC_CAPABLE: u32 = 10;
    pub const RANGE_START_ADDR: u32 = 11;
    pub const RANGE_SIZE: u32 = 12;
    pub const MAPPED: u32 = 13;
    pub const ALLOWED_HANDLE_TYPES: u32 = 14;
    pub const IS_GPU_DIRECT_RDMA_CAPABLE: u32 = 15;
    pub const ACCESS_FLAGS: u32 = 16;
    pub const MEMPOOL_HANDLE: u32 = 17;
    pub const MAPPING_SIZE: u32 = 18;
    pub const MAPPING_BASE_ADDR: u32 = 19;
    pub const MEMORY_BLOCK_ID: u32 = 20;
    pub const IS_HW_DECOMPRESS_CAPABLE: u32 = 21;
}

/// `CUlimit`.
pub mod limit {
    pub const STACK_SIZE: u32 = 0;
    pub const PRINTF_FIFO_SIZE: u32 = 1;
    pub const MALLOC_HEAP_SIZE: u32 = 2;
    pub const DEV_RUNTIME_SYNC_DEPTH: u32 = 3;
    pub const DEV_RUNTIME_PENDING_LAUNCH_COUNT: u32 = 4;
    pub const MAX_L2_FETCH_GRANULARITY: u32 = 5;
    pub const PERSISTING_L2_CACHE_SIZE: u32 = 6;
}

/// `CUjit_option`.
pub mod jit {
    pub const MAX_REGISTERS: u32 = 0;
    pub const WALL_TIME: u32 = 2;
    pub const INFO_LOG_BUFFER: u32 = 3;
    pub const INFO_LOG_BUFFER_SIZE_BYTES: u32 = 4;
    pub const ERROR_LOG_BUFFER: u32 = 5;
    pub const ERROR_LOG_BUFFER_SIZE_BYTES: u32 = 6;
}

/// `CUlaunchAttributeID`.
pub mod launch {
    pub const IGNORE: u32 = 0;
    pub const COOPERATIVE: u32 = 2;
    pub const CLUSTER_DIMENSION: u32 = 4;
    pub const PROGRAMMATIC_EVENT: u32 = 7;
    pub const LAUNCH_COMPLETION_EVENT: u32 = 12;
}

/// `CUmemorytype`.
pub mod memory_type {
    pub const HOST: u32 = 1;
    pub const DEVICE: u32 = 2;
    pub const ARRAY: u32 = 3;
    pub const UNIFIED: u32 = 4;
}
