//! The exported symbols themselves: misuse is answered with the driver's codes, and never with a crash.

mod driver;

use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};

use driver::*;
use warpsmith_cuda::entry;

#[test]
fn every_required_symbol_is_in_the_list_once() {
    let names: Vec<_> = entry::all().map(|entry| entry.name).collect();
    let mut unique = names.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), names.len());
    for name in
        ["cuInit", "cuMemAlloc_v2", "cuLaunchKernel_ptsz", "cuGraphAddKernelNode", "cuTensorMapEncodeTiled"]
    {
        assert!(unique.binary_search(&name).is_ok(), "{name}");
    }
}

#[test]
fn handles_that_were_never_made_are_refused() {
    current();
    let garbage = [0, 3, 0x1234, usize::MAX, 0x5753_7777_0000_0010];
    // SAFETY: places are valid, handles may be anything.
    unsafe {
        for handle in garbage {
            let mut value = 0;
            assert_eq!(cuModuleUnload(handle), CUresult::INVALID_HANDLE, "{handle:#x}");
            assert_eq!(cuModuleGetFunction(out(&mut value), handle, text(c"f")), CUresult::INVALID_HANDLE);
            assert_eq!(cuEventDestroy_v2(handle), CUresult::INVALID_HANDLE);
            assert_eq!(cuEventRecord(handle, 0), CUresult::INVALID_HANDLE);
            assert_eq!(cuFuncGetAttribute(out(&mut 0), 0, handle), CUresult::INVALID_HANDLE);
            let none = In::new(null());
            let launched = cuLaunchKernel(handle, 1, 1, 1, 1, 1, 1, 0, 0, none, none);
            assert_eq!(launched, CUresult::INVALID_HANDLE);
            if handle > 2 {
                assert_eq!(cuStreamSynchronize(handle), CUresult::INVALID_HANDLE);
                assert_eq!(cuStreamDestroy_v2(handle), CUresult::INVALID_HANDLE);
            }
            if handle != 0 {
                assert_eq!(cuCtxSetCurrent(handle), CUresult::INVALID_CONTEXT);
                assert_eq!(cuCtxDestroy_v2(handle), CUresult::INVALID_CONTEXT);
                assert_eq!(cuMemFree_v2(handle as u64), CUresult::INVALID_VALUE);
            }
        }
    }
}

#[test]
fn null_places_are_invalid_values() {
    current();
    // SAFETY: null is what is tested.
    unsafe {
        assert_eq!(cuDeviceGet(nowhere(), 0), CUresult::INVALID_VALUE);
        assert_eq!(cuDeviceGetCount(nowhere()), CUresult::INVALID_VALUE);
        assert_eq!(cuMemAlloc_v2(nowhere(), 16), CUresult::INVALID_VALUE);
        assert_eq!(cuStreamCreate(nowhere(), 0), CUresult::INVALID_VALUE);
        assert_eq!(cuEventCreate(nowhere(), 0), CUresult::INVALID_VALUE);
        assert_eq!(cuModuleLoadData(out(&mut 0), null()), CUresult::INVALID_VALUE);
        assert_eq!(cuMemcpy2D_v2(In::new(null())), CUresult::INVALID_VALUE);
        let mut address = 0;
        assert_eq!(cuMemAlloc_v2(out(&mut address), 16), CUresult::SUCCESS);
        assert_eq!(cuMemcpyHtoD_v2(address, null(), 16), CUresult::INVALID_VALUE);
        assert_eq!(cuMemcpyDtoH_v2(null_mut(), address, 16), CUresult::INVALID_VALUE);
        assert_eq!(cuMemFree_v2(address), CUresult::SUCCESS);
        assert_eq!(cuMemFree_v2(address), CUresult::INVALID_VALUE);
    }
}

#[test]
fn ranges_outside_of_allocations_are_refused() {
    current();
    let mut bytes = [0u8; 64];
    let mut address = 0;
    // SAFETY: places are valid; the addresses are what is tested.
    unsafe {
        assert_eq!(cuMemAlloc_v2(out(&mut address), 0), CUresult::INVALID_VALUE);
        assert_eq!(cuMemAlloc_v2(out(&mut address), usize::MAX), CUresult::OUT_OF_MEMORY);
        assert_eq!(cuMemAlloc_v2(out(&mut address), 32), CUresult::SUCCESS);
        let at = bytes.as_mut_ptr().cast::<c_void>();
        assert_eq!(cuMemcpyHtoD_v2(address, at, 32), CUresult::SUCCESS);
        assert_eq!(cuMemcpyHtoD_v2(address + 1, at, 32), CUresult::INVALID_VALUE);
        assert_eq!(cuMemcpyDtoH_v2(at, address, 33), CUresult::INVALID_VALUE);
        assert_eq!(cuMemcpyDtoD_v2(address, address + 31, 2), CUresult::INVALID_VALUE);
        assert_eq!(cuMemsetD32_v2(address, 1, 9), CUresult::INVALID_VALUE);
        assert_eq!(cuMemsetD32_v2(address + 2, 1, 1), CUresult::INVALID_VALUE);
        assert_eq!(cuMemsetD8_v2(address, 9, 32), CUresult::SUCCESS);
        assert_eq!(cuMemcpyDtoH_v2(at, address, 32), CUresult::SUCCESS);
        assert!(bytes[..32].iter().all(|&byte| byte == 9) && bytes[32..].iter().all(|&byte| byte == 0));
        assert_eq!(cuMemFree_v2(address + 8), CUresult::INVALID_VALUE);
        assert_eq!(cuMemFree_v2(address), CUresult::SUCCESS);
    }
}

#[test]
fn a_thread_without_a_context_is_told_so() {
    current();
    std::thread::spawn(|| {
        // SAFETY: places are valid.
        unsafe {
            assert_eq!(cuMemAlloc_v2(out(&mut 0), 16), CUresult::INVALID_CONTEXT);
            assert_eq!(cuCtxSynchronize(), CUresult::INVALID_CONTEXT);
            assert_eq!(cuCtxPopCurrent_v2(nowhere()), CUresult::INVALID_CONTEXT);
            let (mut made, mut seen) = (0, 0);
            assert_eq!(cuCtxCreate_v2(out(&mut made), 0, 0), CUresult::SUCCESS);
            assert_eq!(cuCtxGetCurrent(out(&mut seen)), CUresult::SUCCESS);
            assert_eq!(made, seen);
            assert_eq!(cuCtxPushCurrent_v2(made), CUresult::SUCCESS);
            assert_eq!(cuCtxDestroy_v2(made), CUresult::SUCCESS);
            assert_eq!(cuCtxSynchronize(), CUresult::CONTEXT_IS_DESTROYED);
        }
    })
    .join()
    .unwrap();
}

#[test]
fn addresses_of_entry_points_follow_the_version_that_is_asked_for() {
    current();
    let address = |name: &CStr, version: i32, flags: u64| {
        let (mut address, mut found) = (null_mut(), 9);
        // SAFETY: places and names are valid.
        let code =
            unsafe { cuGetProcAddress_v2(text(name), out(&mut address), version, flags, out(&mut found)) };
        (code, address.cast_const(), found)
    };
    let of = |symbol: &str| entry::all().find(|entry| entry.name == symbol).unwrap().address.0;
    assert_eq!(address(c"cuMemAlloc", 12_000, 0), (CUresult::SUCCESS, of("cuMemAlloc_v2"), 0));
    assert_eq!(address(c"cuMemAlloc", 2000, 0), (CUresult::SUCCESS, of("cuMemAlloc"), 0));
    assert_eq!(address(c"cuLaunchKernel", 12_000, 2), (CUresult::SUCCESS, of("cuLaunchKernel_ptsz"), 0));
    assert_eq!(
        address(c"cuStreamBeginCapture", 11_000, 0),
        (CUresult::SUCCESS, of("cuStreamBeginCapture_v2"), 0)
    );
    assert_eq!(address(c"cuTensorMapEncodeTiled", 11_000, 0), (CUresult::SUCCESS, null(), 2));
    assert_eq!(address(c"cuNothing", 12_000, 0), (CUresult::SUCCESS, null(), 1));
    assert_eq!(address(c"cuInit", 12_000, 64).0, CUresult::INVALID_VALUE);
}

#[test]
fn what_nobody_serves_says_so() {
    current();
    // SAFETY: the call does nothing.
    let code = unsafe { warpsmith_cuda::entry::interop::cuIpcCloseMemHandle(0) };
    assert_eq!(code, CUresult::NOT_SUPPORTED);
}

/// Run by the test below, in a process of its own for what it prints.
#[test]
#[ignore = "run by another test"]
fn calls_what_is_retired() {
    use warpsmith_cuda::entry::legacy::*;
    current();
    // SAFETY: the calls do nothing.
    unsafe {
        assert_eq!(cuLaunchGrid(0, 1, 1), CUresult::NOT_SUPPORTED);
        assert_eq!(cuTexRefCreate(nowhere()), CUresult::NOT_SUPPORTED);
        assert_eq!(cuMemAlloc(nowhere(), 4), CUresult::NOT_SUPPORTED);
    }
}

#[test]
fn what_cuda_has_retired_names_its_successor() {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "calls_what_is_retired", "--ignored", "--nocapture"])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    for (call, successor) in [
        ("cuLaunchGrid", "cuLaunchKernel"),
        ("cuTexRefCreate", "cuTexObjectCreate"),
        ("cuMemAlloc", "cuMemAlloc_v2"),
    ] {
        let line =
            format!("`{call}` is retired by CUDA and not supported by the virtual GPU: use `{successor}`");
        assert!(told.contains(&line), "{told}");
    }
}

#[test]
fn copies_of_rectangles_keep_what_is_between_the_rows() {
    use warpsmith_cuda::abi::CUDA_MEMCPY2D;
    current();
    let (mut address, mut pitch) = (0, 0);
    let source: Vec<u8> = (0..24).collect();
    let mut back = [0u8; 20];
    // SAFETY: the places hold what the copies say.
    unsafe {
        assert_eq!(cuMemAllocPitch_v2(out(&mut address), out(&mut pitch), 6, 4, 4), CUresult::SUCCESS);
        assert!(pitch >= 6);
        let mut copy: CUDA_MEMCPY2D = std::mem::zeroed();
        copy.srcMemoryType = 1;
        copy.srcHost = source.as_ptr().cast();
        copy.srcPitch = 6;
        copy.dstMemoryType = 2;
        copy.dstDevice = address;
        copy.dstPitch = pitch;
        copy.WidthInBytes = 6;
        copy.Height = 4;
        assert_eq!(cuMemcpy2D_v2(In::new(&copy)), CUresult::SUCCESS);
        // Rows 1 and 2, from their third byte, into rows of five with one byte before.
        let mut copy: CUDA_MEMCPY2D = std::mem::zeroed();
        copy.srcMemoryType = 2;
        copy.srcDevice = address;
        copy.srcPitch = pitch;
        copy.srcXInBytes = 2;
        copy.srcY = 1;
        copy.dstMemoryType = 1;
        copy.dstHost = back.as_mut_ptr().cast();
        copy.dstPitch = 5;
        copy.dstXInBytes = 1;
        copy.WidthInBytes = 3;
        copy.Height = 2;
        assert_eq!(cuMemcpy2D_v2(In::new(&copy)), CUresult::SUCCESS);
        assert_eq!(back[..10], [0, 8, 9, 10, 0, 0, 14, 15, 16, 0]);
        copy.Height = 4;
        assert_eq!(cuMemcpy2D_v2(In::new(&copy)), CUresult::INVALID_VALUE);
        assert_eq!(cuMemFree_v2(address), CUresult::SUCCESS);
    }
}

#[test]
fn a_stream_waits_for_a_value_that_another_writes() {
    current();
    let (mut address, mut waits, mut writes) = (0, 0, 0);
    // SAFETY: places are valid.
    unsafe {
        assert_eq!(cuMemAlloc_v2(out(&mut address), 8), CUresult::SUCCESS);
        assert_eq!(cuMemsetD32_v2(address, 0, 2), CUresult::SUCCESS);
        assert_eq!(cuStreamCreate(out(&mut waits), 1), CUresult::SUCCESS);
        assert_eq!(cuStreamCreate(out(&mut writes), 1), CUresult::SUCCESS);
        assert_eq!(cuStreamSynchronize(0), CUresult::SUCCESS);
        assert_eq!(cuStreamWaitValue32_v2(waits, address, 5, 0), CUresult::SUCCESS);
        assert_eq!(cuStreamWriteValue32_v2(waits, address + 4, 7, 0), CUresult::SUCCESS);
        assert_eq!(cuStreamQuery(waits), CUresult::NOT_READY);
        assert_eq!(cuStreamWriteValue32_v2(writes, address, 6, 0), CUresult::SUCCESS);
        assert_eq!(cuStreamSynchronize(waits), CUresult::SUCCESS);
        let mut words = [0u32; 2];
        assert_eq!(cuMemcpyDtoH_v2(words.as_mut_ptr().cast(), address, 8), CUresult::SUCCESS);
        assert_eq!(words, [6, 7]);
        for stream in [waits, writes] {
            assert_eq!(cuStreamDestroy_v2(stream), CUresult::SUCCESS);
        }
        assert_eq!(cuMemFree_v2(address), CUresult::SUCCESS);
    }
}

#[test]
fn pointers_know_what_they_point_at() {
    const MEMORY_TYPE: u32 = 2;
    const IS_MANAGED: u32 = 8;
    const RANGE_START: u32 = 11;
    let context = current();
    let (mut device, mut host, mut managed) = (0, null_mut(), 0);
    let ask = |number: u32, address: u64| {
        let mut value = 0u64;
        // SAFETY: the place is as wide as the widest attribute.
        let code = unsafe { cuPointerGetAttribute((&raw mut value).cast(), number, address) };
        code.eq(&CUresult::SUCCESS).then_some(value)
    };
    // SAFETY: places are valid.
    unsafe {
        assert_eq!(cuMemAlloc_v2(out(&mut device), 100), CUresult::SUCCESS);
        assert_eq!(cuMemAllocHost_v2(out(&mut host), 100), CUresult::SUCCESS);
        assert_eq!(cuMemAllocManaged(out(&mut managed), 100, 1), CUresult::SUCCESS);
        assert_eq!(ask(MEMORY_TYPE, device + 50), Some(2));
        assert_eq!(ask(MEMORY_TYPE, host as u64), Some(1));
        assert_eq!((ask(IS_MANAGED, managed), ask(IS_MANAGED, device)), (Some(1), Some(0)));
        assert_eq!(ask(RANGE_START, device + 99), Some(device));
        assert_eq!(ask(1, device), Some(context as u64));
        assert_eq!(ask(MEMORY_TYPE, 0x1000), None);
        // Both sides of managed memory are one.
        assert_eq!(cuMemsetD8_v2(managed, 3, 100), CUresult::SUCCESS);
        assert_eq!(cuCtxSynchronize(), CUresult::SUCCESS);
        assert_eq!(std::slice::from_raw_parts(managed as *const u8, 100), [3; 100]);
        assert_eq!(cuMemFreeHost(host), CUresult::SUCCESS);
        assert_eq!(cuMemFree_v2(managed), CUresult::SUCCESS);
        assert_eq!(cuMemFree_v2(device), CUresult::SUCCESS);
    }
}

#[test]
fn managed_variables_have_one_address_on_both_sides() {
    const IS_MANAGED: u32 = 8;
    let source = c".version 7.0\n.target sm_70\n.address_size 64\n\
        .visible .global .align 4 .attribute(.managed) .u32 m = 5;\n.visible .global .align 4 .u32 g = 5;\n\
        .visible .entry k() { .reg .u32 r; ld.global.u32 r, [m]; add.u32 r, r, 2; st.global.u32 [m], r; ret; }";
    current();
    let (mut library, mut kernel, mut function) = (0, 0, 0);
    let (mut address, mut bytes, mut flag) = (0u64, 0usize, 0u32);
    // SAFETY: places are valid; the variable's bytes are the host's while no kernel runs.
    unsafe {
        let none = In::<u32>::new(null());
        let no_values = In::<*mut c_void>::new(null());
        let loaded = cuLibraryLoadData(
            out(&mut library),
            source.as_ptr().cast(),
            none,
            no_values,
            0,
            In::new(null()),
            In::new(null()),
            0,
        );
        assert_eq!(loaded, CUresult::SUCCESS);
        let managed = cuLibraryGetManaged(out(&mut address), out(&mut bytes), library, text(c"m"));
        assert_eq!((managed, bytes), (CUresult::SUCCESS, 4));
        let ordinary = cuLibraryGetManaged(nowhere(), out(&mut bytes), library, text(c"g"));
        assert_eq!(ordinary, CUresult::NOT_FOUND);
        assert_eq!(cuPointerGetAttribute((&raw mut flag).cast(), IS_MANAGED, address), CUresult::SUCCESS);
        assert_eq!(flag, 1);
        let place = address as *mut u32;
        assert_eq!(place.read(), 5);
        place.write(40);
        assert_eq!(cuLibraryGetKernel(out(&mut kernel), library, text(c"k")), CUresult::SUCCESS);
        assert_eq!(cuKernelGetFunction(out(&mut function), kernel), CUresult::SUCCESS);
        let launched = cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, In::new(null()), In::new(null()));
        assert_eq!(launched, CUresult::SUCCESS);
        assert_eq!(cuCtxSynchronize(), CUresult::SUCCESS);
        assert_eq!(place.read(), 42);
        assert_eq!(cuLibraryUnload(library), CUresult::SUCCESS);
    }
}

/// What a thread's variable gives back when the thread ends, as a static object of C++ does when the process ends.
struct Buffer(u64, &'static std::sync::Mutex<Option<CUresult>>);

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the address is the caller's own.
        *self.1.lock().unwrap() = Some(unsafe { cuMemFree_v2(self.0) });
    }
}

#[test]
fn memory_can_be_freed_while_a_thread_ends() {
    static FREED: std::sync::Mutex<Option<CUresult>> = std::sync::Mutex::new(None);
    thread_local! {
        static KEPT: std::cell::RefCell<Option<Buffer>> = const { std::cell::RefCell::new(None) };
    }
    let thread = std::thread::spawn(|| {
        // Variables of a thread are dropped in turn, the latest first: this one comes to life before the driver's.
        KEPT.with_borrow_mut(|_| ());
        current();
        let mut address = 0;
        // SAFETY: the place is valid.
        assert_eq!(unsafe { cuMemAlloc_v2(out(&mut address), 64) }, CUresult::SUCCESS);
        KEPT.set(Some(Buffer(address, &FREED)));
    });
    thread.join().unwrap();
    assert_eq!(*FREED.lock().unwrap(), Some(CUresult::SUCCESS));
}
