//! Calls without a current context, and the primary context's return: as on an H200 with driver 580.159.04, measured on
//! 2026-11-22.
#![cfg(feature = "foreign")]

mod driver;

use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

use driver::*;
use warpsmith_cuda::{DevicePreference, choose};

const KERNEL: &CStr = c"
.version 7.0
.target sm_75
.address_size 64
.visible .global .u32 cell;
.visible .entry store() { st.global.u32 [cell], 1; ret; }
";

fn launch(function: usize, stream: usize) -> CUresult {
    // SAFETY: the kernel has no parameters.
    unsafe { cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, nothing(), nothing()) }
}

/// One test: all of it is about this process' only primary context.
#[test]
fn objects_bring_their_context_and_the_primary_one_keeps_its_handle() {
    choose(Some(DevicePreference::Virtual), Some("h200")).unwrap();
    // SAFETY: every place is valid while its call lasts, every name ends with NUL, and handles may be stale.
    unsafe { all() }
}

unsafe fn all() {
    // SAFETY: as above.
    unsafe {
        let ok = CUresult::SUCCESS;
        let (mut context, mut memory, mut stream, mut event, mut module, mut function) = (0, 0, 0, 0, 0, 0);
        let mut host: *mut c_void = null_mut();
        assert_eq!(cuInit(0), ok);
        assert_eq!(cuDevicePrimaryCtxRetain(out(&mut context), 0), ok);
        assert_eq!(cuCtxPushCurrent_v2(context), ok);
        assert_eq!(cuMemAlloc_v2(out(&mut memory), 64), ok);
        assert_eq!(cuMemHostAlloc(out(&mut host), 64, 2), ok);
        assert_eq!(cuStreamCreate(out(&mut stream), 0), ok);
        assert_eq!(cuEventCreate(out(&mut event), 0), ok);
        assert_eq!(cuModuleLoadData(out(&mut module), KERNEL.as_ptr().cast()), ok);
        // A fill that the host can see is done when the call returns.
        assert_eq!(cuMemsetD8_v2(host as u64, 7, 64), ok);
        assert_eq!(std::slice::from_raw_parts(host.cast::<u8>(), 64), [7; 64]);

        assert_eq!(cuCtxPopCurrent_v2(out(&mut 0)), ok);
        for refused in
            [cuMemsetD8_v2(memory, 1, 4), cuCtxSynchronize(), launch(0, 0), cuMemAlloc_v2(out(&mut 0), 4)]
        {
            assert!([CUresult::INVALID_CONTEXT, CUresult::INVALID_HANDLE].contains(&refused), "{refused:?}");
        }
        assert_eq!(cuModuleGetFunction(out(&mut function), module, text(c"store")), ok);
        assert_eq!(launch(function, 0), CUresult::INVALID_CONTEXT);
        assert_eq!(launch(function, stream), ok);
        assert_eq!(cuMemsetD8Async(memory, 1, 4, stream), ok);
        assert_eq!(cuEventRecord(event, stream), ok);
        assert_eq!(cuEventSynchronize(event), ok);
        assert_eq!(cuEventQuery(event), ok);
        assert_eq!(cuStreamSynchronize(stream), ok);
        for freed in [
            cuMemFree_v2(memory),
            cuMemFreeHost(host),
            cuEventDestroy_v2(event),
            cuStreamDestroy_v2(stream),
            cuModuleUnload(module),
        ] {
            assert_eq!(freed, ok);
        }

        assert_eq!(cuDevicePrimaryCtxRelease_v2(0), ok);
        assert_eq!(cuDevicePrimaryCtxRelease_v2(0), CUresult::INVALID_CONTEXT);
        assert_eq!(cuCtxPushCurrent_v2(context), ok);
        assert_ne!(cuMemAlloc_v2(out(&mut memory), 64), ok, "it is gone until it is retained");
        let mut again = 0;
        assert_eq!(cuDevicePrimaryCtxRetain(out(&mut again), 0), ok);
        assert_eq!(again, context);
        assert_eq!(cuMemAlloc_v2(out(&mut memory), 64), ok);
        assert_eq!(cuMemFree_v2(memory), ok);

        // Half of the board's memory, whatever the host has: it is backed as it is touched.
        let (mut free, mut total) = (0, 0);
        assert_eq!(cuMemGetInfo_v2(out(&mut free), out(&mut total)), ok);
        assert_eq!(cuMemAllocManaged(out(&mut memory), total / 2, 1), ok);
        assert_eq!(cuMemFree_v2(memory), ok);

        // The linker: a missing library is a missing file, and text that is no PTX no image.
        let mut link = 0;
        assert_eq!(cuLinkCreate_v2(0, nothing(), nothing(), out(&mut link)), ok);
        const PTX: u32 = 1;
        const LIBRARY: u32 = 4;
        let file = cuLinkAddFile_v2(link, LIBRARY, text(c"nowhere.a"), 0, nothing(), nothing());
        assert_eq!(file, CUresult::FILE_NOT_FOUND);
        let junk = c"junk".as_ptr().cast_mut().cast();
        let junk = cuLinkAddData_v2(link, PTX, junk, 5, text(c"junk"), 0, nothing(), nothing());
        assert_eq!(junk, CUresult::INVALID_IMAGE);
        assert_eq!(cuLinkDestroy(link), ok);
    }
}
