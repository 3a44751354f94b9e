//! Modules, libraries, kernels, linking, launches, occupancy.

use std::ffi::{c_char, c_void};

use crate::abi::{
    CUdevice, CUdeviceptr, CUfunction, CUhostFn, CUkernel, CUlaunchConfig, CUlibrary, CUlinkState, CUmodule,
    CUoccupancyB2DSize, CUstream, In, Out, Text,
};
use crate::entry::entry_points;

entry_points! {
    cuFuncGetAttribute @ 2020 => function (pi: Out<i32>, attrib: u32, hfunc: CUfunction);
    cuFuncGetModule @ 11000 => function (module: Out<CUmodule>, hfunc: CUfunction);
    cuFuncGetName @ 12030 => function (name: Out<*const c_char>, hfunc: CUfunction);
    cuFuncGetParamCount @ 13020 => function (func: CUfunction, param_count: Out<usize>);
    cuFuncGetParamInfo @ 12040 => function (func: CUfunction, param_index: usize, param_offset: Out<usize>,
        param_size: Out<usize>);
    cuFuncIsLoaded @ 12040 => function (state: Out<u32>, function: CUfunction);
    cuFuncLoad @ 12040 => function (function: CUfunction);
    cuFuncSetAttribute @ 9000 => function (hfunc: CUfunction, attrib: u32, value: i32);
    cuFuncSetCacheConfig @ 3000 => function (hfunc: CUfunction, config: u32);
    cuFuncSetSharedMemConfig @ 4020 => function (hfunc: CUfunction, config: u32);
    cuKernelGetAttribute @ 12000 => library (pi: Out<i32>, attrib: u32, kernel: CUkernel, dev: CUdevice);
    cuKernelGetFunction @ 12000 => library (p_func: Out<CUfunction>, kernel: CUkernel);
    cuKernelGetLibrary @ 12050 => library (p_lib: Out<CUlibrary>, kernel: CUkernel);
    cuKernelGetName @ 12030 => library (name: Out<*const c_char>, hfunc: CUkernel);
    cuKernelGetParamCount @ 13020 => library (kernel: CUkernel, param_count: Out<usize>);
    cuKernelGetParamInfo @ 12040 => library (kernel: CUkernel, param_index: usize, param_offset: Out<usize>,
        param_size: Out<usize>);
    cuKernelSetAttribute @ 12000 => library (attrib: u32, val: i32, kernel: CUkernel, dev: CUdevice);
    cuKernelSetCacheConfig @ 12000 => library (kernel: CUkernel, config: u32, dev: CUdevice);
    cuLaunchCooperativeKernel @ 9000 / cuLaunchCooperativeKernel_ptsz @ 9000 => launch (f: CUfunction, grid_dim_x: u32,
        grid_dim_y: u32, grid_dim_z: u32, block_dim_x: u32, block_dim_y: u32, block_dim_z: u32, shared_mem_bytes: u32,
        stream: CUstream, kernel_params: In<*mut c_void>);
    cuLaunchCooperativeKernelMultiDevice @ 9000 => unsupported (launch_params_list: *mut c_void, num_devices: u32, flags: u32);
    cuLaunchHostFunc @ 10000 / cuLaunchHostFunc_ptsz @ 10000 => stream (stream: CUstream, function: CUhostFn,
        user_data: *mut c_void);
    cuLaunchHostFunc_v2 @ 13010 / cuLaunchHostFunc_v2_ptsz @ 13010 => stream (stream: CUstream, function: CUhostFn,
        user_data: *mut c_void, sync_mode: u32);
    cuLaunchKernel @ 4000 / cuLaunchKernel_ptsz @ 7000 => launch (f: CUfunction, grid_dim_x: u32, grid_dim_y: u32,
        grid_dim_z: u32, block_dim_x: u32, block_dim_y: u32, block_dim_z: u32, shared_mem_bytes: u32, stream: CUstream,
        kernel_params: In<*mut c_void>, extra: In<*mut c_void>);
    cuLaunchKernelEx @ 11060 / cuLaunchKernelEx_ptsz @ 11060 => launch (config: In<CUlaunchConfig>, f: CUfunction,
        kernel_params: In<*mut c_void>, extra: In<*mut c_void>);
    cuLibraryEnumerateKernels @ 12040 => library (kernels: Out<CUkernel>, num_kernels: u32, lib: CUlibrary);
    cuLibraryGetGlobal @ 12000 => library (dptr: Out<CUdeviceptr>, bytes: Out<usize>, library: CUlibrary, name: Text);
    cuLibraryGetKernel @ 12000 => library (p_kernel: Out<CUkernel>, library: CUlibrary, name: Text);
    cuLibraryGetKernelCount @ 12040 => library (count: Out<u32>, lib: CUlibrary);
    cuLibraryGetManaged @ 12000 => library (dptr: Out<CUdeviceptr>, bytes: Out<usize>, library: CUlibrary, name: Text);
    cuLibraryGetModule @ 12000 => library (p_mod: Out<CUmodule>, library: CUlibrary);
    cuLibraryGetUnifiedFunction @ 12000 => library (fptr: Out<*mut c_void>, library: CUlibrary, symbol: Text);
    cuLibraryLoadData @ 12000 => library (library: Out<CUlibrary>, code: *const c_void, jit_options: In<u32>,
        jit_options_values: In<*mut c_void>, num_jit_options: u32, library_options: In<u32>,
        library_option_values: In<*mut c_void>, num_library_options: u32);
    cuLibraryLoadFromFile @ 12000 => library (library: Out<CUlibrary>, file_name: Text, jit_options: In<u32>,
        jit_options_values: In<*mut c_void>, num_jit_options: u32, library_options: In<u32>,
        library_option_values: In<*mut c_void>, num_library_options: u32);
    cuLibraryUnload @ 12000 => library (library: CUlibrary);
    cuLinkAddData @ 5050 => link (state: CUlinkState, kind: u32, data: *mut c_void, size: usize, name: Text,
        num_options: u32, options: In<u32>, option_values: In<*mut c_void>) as cuLinkAddData_v2;
    cuLinkAddData_v2 @ 6050 => link (state: CUlinkState, kind: u32, data: *mut c_void, size: usize, name: Text,
        num_options: u32, options: In<u32>, option_values: In<*mut c_void>);
    cuLinkAddFile @ 5050 => link (state: CUlinkState, kind: u32, path: Text, num_options: u32, options: In<u32>,
        option_values: In<*mut c_void>) as cuLinkAddFile_v2;
    cuLinkAddFile_v2 @ 6050 => link (state: CUlinkState, kind: u32, path: Text, num_options: u32, options: In<u32>,
        option_values: In<*mut c_void>);
    cuLinkComplete @ 5050 => link (state: CUlinkState, cubin_out: Out<*mut c_void>, size_out: Out<usize>);
    cuLinkCreate @ 5050 => link (num_options: u32, options: In<u32>, option_values: In<*mut c_void>,
        state_out: Out<CUlinkState>) as cuLinkCreate_v2;
    cuLinkCreate_v2 @ 6050 => link (num_options: u32, options: In<u32>, option_values: In<*mut c_void>,
        state_out: Out<CUlinkState>);
    cuLinkDestroy @ 5050 => link (state: CUlinkState);
    cuModuleEnumerateFunctions @ 12040 => module (functions: Out<CUfunction>, num_functions: u32, module: CUmodule);
    cuModuleGetFunction @ 2000 => module (hfunc: Out<CUfunction>, module: CUmodule, name: Text);
    cuModuleGetFunctionCount @ 12040 => module (count: Out<u32>, module: CUmodule);
    cuModuleGetGlobal_v2 @ 3020 => module (dptr: Out<CUdeviceptr>, bytes: Out<usize>, module: CUmodule, name: Text);
    cuModuleGetLoadingMode @ 11070 => module (mode: Out<u32>);
    cuModuleLoad @ 2000 => module (module: Out<CUmodule>, fname: Text);
    cuModuleLoadData @ 2000 => module (module: Out<CUmodule>, image: *const c_void);
    cuModuleLoadDataEx @ 2010 => module (module: Out<CUmodule>, image: *const c_void, num_options: u32, options: In<u32>,
        option_values: In<*mut c_void>);
    cuModuleLoadFatBinary @ 2000 => module (module: Out<CUmodule>, fat_cubin: *const c_void) as cuModuleLoadData;
    cuModuleUnload @ 2000 => module (module: CUmodule);
    cuOccupancyAvailableDynamicSMemPerBlock @ 10020 => occupancy (dynamic_smem_size: Out<usize>, func: CUfunction,
        num_blocks: i32, block_size: i32);
    cuOccupancyMaxActiveBlocksPerMultiprocessor @ 6050 => occupancy (num_blocks: Out<i32>, func: CUfunction,
        block_size: i32, dynamic_smem_size: usize) as cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags (0);
    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags @ 7000 => occupancy (num_blocks: Out<i32>, func: CUfunction,
        block_size: i32, dynamic_smem_size: usize, flags: u32);
    cuOccupancyMaxActiveClusters @ 11070 => occupancy (num_clusters: Out<i32>, func: CUfunction,
        config: In<CUlaunchConfig>);
    cuOccupancyMaxPotentialBlockSize @ 6050 => occupancy (min_grid_size: Out<i32>, block_size: Out<i32>, func: CUfunction,
        block_size_to_dynamic_smem_size: CUoccupancyB2DSize, dynamic_smem_size: usize, block_size_limit: i32)
        as cuOccupancyMaxPotentialBlockSizeWithFlags (0);
    cuOccupancyMaxPotentialBlockSizeWithFlags @ 7000 => occupancy (min_grid_size: Out<i32>, block_size: Out<i32>,
        func: CUfunction, block_size_to_dynamic_smem_size: CUoccupancyB2DSize, dynamic_smem_size: usize,
        block_size_limit: i32, flags: u32);
    cuOccupancyMaxPotentialClusterSize @ 11070 => occupancy (cluster_size: Out<i32>, func: CUfunction,
        config: In<CUlaunchConfig>);
}
