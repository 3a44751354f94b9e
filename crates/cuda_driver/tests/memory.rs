//! Memory in use that another context frees, and the heap of `malloc` in kernels.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use warpsmith_cuda::abi::{CUresult, In, Out, Text};
use warpsmith_cuda::entry::contexts::*;
use warpsmith_cuda::entry::memory::*;
use warpsmith_cuda::entry::modules::*;
use warpsmith_cuda::{DevicePreference, choose};

/// `spin` stores to `buffer` again and again; the word before it tells that it has begun, and the one after that ends it.
/// `take` notes at `buffer` what `malloc` gives.
const KERNELS: &std::ffi::CStr = c"
.version 7.0
.target sm_75
.address_size 64
.extern .func (.param .b64 r) malloc(.param .b64 n);
.visible .entry spin(.param .u64 buffer, .param .u64 flag)
{
    .reg .pred %p;
    .reg .b32 %r<4>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [buffer];
    ld.param.u64 %rd2, [flag];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4096;
    add.u64 %rd3, %rd1, %rd3;
    mov.u32 %r2, 0;
again:
    st.volatile.global.u32 [%rd3], %r2;
    st.volatile.global.u32 [%rd2], 1;
    add.u32 %r2, %r2, 1;
    ld.volatile.global.u32 %r3, [%rd2+4];
    setp.eq.u32 %p, %r3, 0;
    @%p bra again;
    ret;
}
.visible .entry take(.param .u64 buffer, .param .u64 bytes)
{
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [buffer];
    ld.param.u64 %rd2, [bytes];
    { .param .b64 n; .param .b64 m; st.param.b64 [n], %rd2; call (m), malloc, (n); ld.param.b64 %rd3, [m]; }
    st.global.u64 [%rd1], %rd3;
    ret;
}
";

const OK: CUresult = CUresult::SUCCESS;
const BYTES: usize = 32 * 4096;

fn out<T>(place: &mut T) -> Out<T> {
    // SAFETY: a reference is a valid place, and each call ends before it does.
    unsafe { Out::new(place) }
}

/// A new context, current, and a kernel of the module above in it.
fn context(kernel: &std::ffi::CStr) -> (usize, usize) {
    choose(Some(DevicePreference::Virtual), Some("h200")).unwrap();
    let (mut context, mut module, mut function) = (0, 0, 0);
    // SAFETY: places are valid and texts end with NUL.
    unsafe {
        assert_eq!(cuInit(0), OK);
        assert_eq!(cuCtxCreate_v2(out(&mut context), 0, 0), OK);
        assert_eq!(cuModuleLoadData(out(&mut module), KERNELS.as_ptr().cast()), OK);
        assert_eq!(cuModuleGetFunction(out(&mut function), module, Text::new(kernel.as_ptr())), OK);
    }
    (context, function)
}

fn launch(function: usize, threads: u32, mut words: [u64; 2]) {
    let [a, b] = &mut words;
    let params: [*mut c_void; 2] = [(a as *mut u64).cast(), (b as *mut u64).cast()];
    // SAFETY: both kernels have two parameters of 8 bytes.
    unsafe {
        let (params, none) = (In::new(params.as_ptr()), In::new(null()));
        assert_eq!(cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, 0, params, none), OK);
    }
}

/// Lets a kernel of one context store to memory of the host that belongs to another, and calls `free` once it does.
fn free_under_a_kernel(memory: u64, owner: usize, free: impl FnOnce()) {
    let (user, spin) = context(c"spin");
    let mut flag = null_mut();
    // SAFETY: places are valid; the flag's two words are this test's, and the kernel's.
    unsafe {
        assert_eq!(cuMemAllocHost_v2(out(&mut flag), 8), OK);
        launch(spin, 32, [memory, flag as u64]);
        while flag.cast::<u32>().read_volatile() == 0 {
            std::thread::yield_now();
        }
        assert_eq!(cuCtxSetCurrent(owner), OK);
        free();
        assert_eq!(cuCtxSetCurrent(user), OK);
        // The kernel has its memory taken away: that is the error of its context.
        let ended = cuCtxSynchronize();
        assert_eq!(ended, CUresult::ILLEGAL_ADDRESS);
        assert_eq!(cuCtxDestroy_v2(user), OK);
    }
}

#[test]
fn pinned_memory_of_another_context_goes_under_a_kernel() {
    let (owner, _) = context(c"spin");
    for _ in 0..3 {
        let mut memory = null_mut();
        // SAFETY: the place is valid, and the memory is freed once.
        unsafe {
            assert_eq!(cuMemAllocHost_v2(out(&mut memory), BYTES), OK);
            free_under_a_kernel(memory as u64, owner, || assert_eq!(cuMemFreeHost(memory), OK));
        }
    }
}

#[test]
fn registered_memory_of_another_context_goes_under_a_kernel() {
    let (owner, _) = context(c"spin");
    for _ in 0..3 {
        let mut memory = vec![0u8; BYTES];
        let start: *mut c_void = memory.as_mut_ptr().cast();
        // SAFETY: the memory lives until it is unregistered.
        unsafe { assert_eq!(cuMemHostRegister_v2(start, BYTES, 0), OK) };
        free_under_a_kernel(start as u64, owner, || {
            // SAFETY: as above.
            unsafe { assert_eq!(cuMemHostUnregister(start), OK) };
            // Nobody writes it from now on.
            memory.fill(7);
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert!(memory.iter().all(|&byte| byte == 7));
        });
    }
}

/// A copy that waits for its turn finds its pinned memory gone, if another context frees it meanwhile.
#[test]
fn pinned_memory_of_another_context_goes_before_a_copy() {
    let (owner, _) = context(c"spin");
    let mut memory = null_mut();
    let mut flag = null_mut();
    // SAFETY: places are valid, and the memory is freed once.
    unsafe {
        assert_eq!(cuMemAllocHost_v2(out(&mut memory), BYTES), OK);
        let (user, spin) = context(c"spin");
        let mut buffer = 0;
        assert_eq!(cuMemAlloc_v2(out(&mut buffer), BYTES), OK);
        assert_eq!(cuMemAllocHost_v2(out(&mut flag), 8), OK);
        launch(spin, 32, [buffer, flag as u64]);
        assert_eq!(cuMemcpyHtoDAsync_v2(buffer, memory, BYTES, 0), OK);
        assert_eq!(cuCtxSetCurrent(owner), OK);
        assert_eq!(cuMemFreeHost(memory), OK);
        // Other memory takes its address, as it may on any thread.
        let mut others = Vec::new();
        while others.len() < 8 && others.last() != Some(&memory) {
            others.push(null_mut());
            assert_eq!(cuMemAllocHost_v2(out(others.last_mut().unwrap()), BYTES), OK);
        }
        assert_eq!(cuCtxSetCurrent(user), OK);
        flag.cast::<u32>().add(1).write_volatile(1);
        assert_eq!(cuCtxSynchronize(), CUresult::ILLEGAL_ADDRESS);
        assert_eq!(cuCtxDestroy_v2(user), OK);
        others.into_iter().for_each(|memory| assert_eq!(cuMemFreeHost(memory), OK));
    }
}

#[test]
fn the_heap_is_as_large_as_the_context_says() {
    const HEAP: u32 = 2;
    let (first, take) = context(c"take");
    let mut place = 0;
    let taken = |take: usize, place: u64, bytes: u64| {
        let mut address = 0u64;
        launch(take, 1, [place, bytes]);
        // SAFETY: the place has the 8 bytes that are copied.
        unsafe { assert_eq!(cuMemcpyDtoH_v2((&raw mut address).cast(), place, 8), OK) };
        address
    };
    // SAFETY: places are valid.
    unsafe {
        let mut limit = 0;
        assert_eq!(cuCtxGetLimit(out(&mut limit), HEAP), OK);
        assert_eq!(limit, 8 << 20);
        assert_eq!(cuMemAlloc_v2(out(&mut place), 8), OK);
        assert_eq!(taken(take, place, 9 << 20), 0);
        assert_eq!(cuCtxSetLimit(HEAP, 64 << 20), OK);
        assert_ne!(taken(take, place, 60 << 20), 0);
        assert_eq!(taken(take, place, 5 << 20), 0);
        // Another context has a heap of its own, and what one leaves behind goes with it.
        let (second, other) = context(c"take");
        let mut there = 0;
        assert_eq!(cuMemAlloc_v2(out(&mut there), 8), OK);
        assert_eq!(taken(other, there, 9 << 20), 0);
        let kept = taken(other, there, 7 << 20);
        assert_ne!(kept, 0);
        let mut one = 0u8;
        assert_eq!(cuMemcpyDtoH_v2((&raw mut one).cast(), kept, 1), OK);
        assert_eq!(cuCtxDestroy_v2(second), OK);
        assert_eq!(cuCtxSetCurrent(first), OK);
        assert_eq!(cuMemcpyDtoH_v2((&raw mut one).cast(), kept, 1), CUresult::INVALID_VALUE);
        assert_eq!(cuCtxDestroy_v2(first), OK);
    }
}
