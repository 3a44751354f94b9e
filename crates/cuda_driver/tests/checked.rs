//! `warpsmith_cuda::checked()`: tests that fail with the sanitizer's report.
#![cfg(feature = "foreign")]

use cust::event::{Event, EventFlags};
use cust::memory::{AsyncCopyDestination, LockedBuffer};
use cust::prelude::*;
use cust::stream::StreamWaitEventFlags;
use cust::sys;
use warpsmith_cuda::abi::{CUresult, Out};
use warpsmith_cuda::entry::graphs::{
    cuGraphInstantiateWithFlags, cuGraphLaunch, cuStreamBeginCapture_v2, cuStreamEndCapture,
};
use warpsmith_cuda::entry::memory::{
    cuMemAllocAsync, cuMemFree_v2, cuMemFreeAsync, cuMemcpyDtoD_v2, cuMemcpyDtoH_v2, cuMemcpyHtoD_v2,
    cuMemsetD8_v2,
};

/// Writes `p[tid]`; with `skip` not 0 also reads its neighbour's without a barrier, through shared memory.
const KERNEL: &str = "
.version 7.0
.target sm_75
.address_size 64
.visible .entry shift(.param .u64 p, .param .u32 skip)
{
    .shared .align 4 .b8 tile[256];
    .reg .pred %p;
    .reg .b32 %r<8>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [p];
    ld.param.u32 %r5, [skip];
    setp.ne.u32 %p, %r5, 0;
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, tile;
    mad.lo.u32 %r3, %r1, 4, %r2;
    st.shared.u32 [%r3], %r1;
    @%p bra READ;
    bar.sync 0;
READ:
    xor.b32 %r4, %r1, 63;
    mad.lo.u32 %r4, %r4, 4, %r2;
    ld.shared.u32 %r6, [%r4];
    mad.wide.u32 %rd2, %r1, 4, %rd1;
    st.global.u32 [%rd2], %r6;
    ret;
}";

fn shift(skip: u32) -> Vec<u32> {
    let _context = cust::quick_init().unwrap();
    let module = Module::from_ptx(KERNEL, &[]).unwrap();
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None).unwrap();
    let out = DeviceBuffer::from_slice(&[0u32; 64]).unwrap();
    let function = module.get_function("shift").unwrap();
    // SAFETY: the buffer has an element for each thread, and outlives the launch.
    unsafe { launch!(function<<<1, 64, 0, stream>>>(out.as_device_ptr(), skip)) }.unwrap();
    stream.synchronize().unwrap();
    out.as_host_vec().unwrap()
}

#[test]
fn a_clean_kernel_passes() {
    let _checked = warpsmith_cuda::checked();
    assert_eq!(shift(0), (0..64).rev().collect::<Vec<_>>());
}

#[test]
#[should_panic(expected = "kernel `shift`")]
fn a_race_fails_the_test() {
    let _checked = warpsmith_cuda::checked();
    shift(1);
}

#[test]
#[should_panic(expected = "kernel `shift`")]
fn the_same_race_fails_the_next_test_too() {
    let _checked = warpsmith_cuda::checked();
    shift(1);
}

/// Two launches on the same buffer, one word apart, on two streams; `ordered` puts an event between them.
fn two_streams(ordered: bool) {
    let _context = cust::quick_init().unwrap();
    let module = Module::from_ptx(KERNEL, &[]).unwrap();
    let streams = [0, 1].map(|_| Stream::new(StreamFlags::NON_BLOCKING, None).unwrap());
    let out = DeviceBuffer::from_slice(&[0u32; 65]).unwrap();
    for (i, stream) in streams.iter().enumerate() {
        let function = module.get_function("shift").unwrap();
        let place = out.as_device_ptr().wrapping_add(i);
        // SAFETY: the buffer has an element for each thread, and outlives the launches.
        unsafe { launch!(function<<<1, 64, 0, stream>>>(place, 0)) }.unwrap();
        if ordered && i == 0 {
            let event = Event::new(EventFlags::DISABLE_TIMING).unwrap();
            event.record(stream).unwrap();
            streams[1].wait_event(event, StreamWaitEventFlags::DEFAULT).unwrap();
        }
    }
    streams.iter().for_each(|stream| stream.synchronize().unwrap());
}

#[test]
#[should_panic(expected = "race across streams: kernel `shift`")]
fn two_streams_without_an_event_fail_the_test() {
    let _checked = warpsmith_cuda::checked();
    two_streams(false);
}

#[test]
fn two_streams_with_an_event_pass() {
    let _checked = warpsmith_cuda::checked();
    two_streams(true);
}

/// A copy to the host behind a launch: on the default stream, which waits for `cust`'s streams, or on one that does not.
fn copied_back(on_default: bool) {
    let _context = cust::quick_init().unwrap();
    let module = Module::from_ptx(KERNEL, &[]).unwrap();
    let streams = [0, 1].map(|_| Stream::new(StreamFlags::NON_BLOCKING, None).unwrap());
    let stream = &streams[0];
    let out = DeviceBuffer::from_slice(&[0u32; 64]).unwrap();
    let function = module.get_function("shift").unwrap();
    // SAFETY: the buffer has an element for each thread, and outlives the launch.
    unsafe { launch!(function<<<1, 64, 0, stream>>>(out.as_device_ptr(), 0)) }.unwrap();
    let mut host = [0u32; 64];
    if on_default {
        out.copy_to(&mut host).unwrap();
    } else {
        // SAFETY: `host` lives until both streams are waited for.
        unsafe { out.async_copy_to(&mut host, &streams[1]) }.unwrap();
    }
    streams.iter().for_each(|stream| stream.synchronize().unwrap());
}

#[test]
#[should_panic(expected = "a copy to the host on stream")]
fn a_copy_on_another_stream_fails_the_test() {
    let _checked = warpsmith_cuda::checked();
    copied_back(false);
}

#[test]
fn a_copy_on_the_default_stream_passes() {
    let _checked = warpsmith_cuda::checked();
    copied_back(true);
}

/// Two launches on the same buffer as nodes of a graph, captured from two streams; `ordered` makes the one depend on the
/// other.
fn graph(ordered: bool) {
    let _context = cust::quick_init().unwrap();
    let module = Module::from_ptx(KERNEL, &[]).unwrap();
    let streams = [0, 1].map(|_| Stream::new(StreamFlags::NON_BLOCKING, None).unwrap());
    let [first, second] = &streams;
    let out = DeviceBuffer::from_slice(&[0u32; 65]).unwrap();
    let behind = |waits: &Stream, stream: &Stream| {
        let event = Event::new(EventFlags::DISABLE_TIMING).unwrap();
        event.record(stream).unwrap();
        waits.wait_event(event, StreamWaitEventFlags::DEFAULT).unwrap();
    };
    let launch = |stream: &Stream, place: usize| {
        let function = module.get_function("shift").unwrap();
        let place = out.as_device_ptr().wrapping_add(place);
        // SAFETY: the buffer has an element for each thread, and outlives the graph.
        unsafe { launch!(function<<<1, 64, 0, stream>>>(place, 0)) }.unwrap();
    };
    let handle = first.as_inner() as usize;
    let (mut made, mut ready) = (0, 0);
    // SAFETY: the streams and the places for handles live as long as they are used.
    unsafe {
        assert_eq!(cuStreamBeginCapture_v2(handle, 0), CUresult::SUCCESS);
        behind(second, first);
        launch(first, 0);
        if ordered {
            behind(second, first);
        }
        launch(second, 1);
        behind(first, second);
        assert_eq!(cuStreamEndCapture(handle, Out::new(&mut made)), CUresult::SUCCESS);
        assert_eq!(cuGraphInstantiateWithFlags(Out::new(&mut ready), made, 0), CUresult::SUCCESS);
        assert_eq!(cuGraphLaunch(ready, handle), CUresult::SUCCESS);
    }
    first.synchronize().unwrap();
}

#[test]
#[should_panic(expected = "race in a graph: kernel `shift`")]
fn two_nodes_without_an_edge_fail_the_test() {
    let _checked = warpsmith_cuda::checked();
    graph(false);
}

#[test]
fn two_nodes_with_an_edge_pass() {
    let _checked = warpsmith_cuda::checked();
    graph(true);
}

/// A launch on memory that a stream's pool gave: on that stream, or on another that does not wait for it. It is freed so
/// many times.
fn of_a_pool(user: usize, frees: usize) {
    let _context = cust::quick_init().unwrap();
    let module = Module::from_ptx(KERNEL, &[]).unwrap();
    let streams = [0, 1].map(|_| Stream::new(StreamFlags::NON_BLOCKING, None).unwrap());
    let owner = streams[0].as_inner() as usize;
    let function = module.get_function("shift").unwrap();
    let mut place = 0;
    // SAFETY: the place for the address lives longer than the call; the memory has an element for each thread.
    unsafe {
        assert_eq!(cuMemAllocAsync(Out::new(&mut place), 256, owner), CUresult::SUCCESS);
        let stream = &streams[user];
        launch!(function<<<1, 64, 0, stream>>>(place, 0)).unwrap();
        stream.synchronize().unwrap();
        for _ in 0..frees {
            cuMemFreeAsync(place, owner);
        }
    }
    // A second free that was under way breaks the context, as it should.
    let _ = streams[0].synchronize();
}

#[test]
fn memory_of_a_pool_is_its_streams() {
    let _checked = warpsmith_cuda::checked();
    of_a_pool(0, 1);
}

#[test]
#[should_panic(expected = "across streams")]
fn memory_of_a_pool_is_not_another_streams() {
    let _checked = warpsmith_cuda::checked();
    of_a_pool(1, 1);
}

#[test]
fn a_pending_free_outlives_its_context() {
    let _checked = warpsmith_cuda::checked();
    let context = cust::quick_init().unwrap();
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None).unwrap();
    let mut place = 0;
    // SAFETY: the place for the address lives longer than the call.
    let taken = unsafe { cuMemAllocAsync(Out::new(&mut place), 256, stream.as_inner() as usize) };
    assert_eq!(taken, CUresult::SUCCESS);
    stream.add_callback(Box::new(|| std::thread::sleep(std::time::Duration::from_millis(200)))).unwrap();
    // SAFETY: nothing uses it.
    assert_eq!(unsafe { cuMemFreeAsync(place, stream.as_inner() as usize) }, CUresult::SUCCESS);
    drop(context);
}

#[test]
#[should_panic(expected = "goes beyond its buffer")]
fn a_fill_beyond_its_buffer_fails_the_test() {
    let _checked = warpsmith_cuda::checked();
    let _context = cust::quick_init().unwrap();
    let out = DeviceBuffer::from_slice(&[0u32; 64]).unwrap();
    // SAFETY: nothing is written: the range is refused.
    assert_ne!(unsafe { cuMemsetD8_v2(out.as_device_ptr().as_raw(), 0, 257) }, CUresult::SUCCESS);
}

/// Reads `from[tid]` and a static, and writes neither.
const READS: &str = "
.version 7.0
.target sm_75
.address_size 64
.visible .global .align 4 .u32 FACTOR = 3;
.visible .entry reads(.param .u64 from, .param .u64 to)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [from];
    ld.param.u64 %rd2, [to];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd1, %rd1, %rd3;
    add.s64 %rd2, %rd2, %rd3;
    ld.global.u32 %r2, [%rd1];
    ld.global.u32 %r3, [FACTOR];
    mul.lo.u32 %r2, %r2, %r3;
    st.global.u32 [%rd2], %r2;
    ret;
}";

/// Launches a kernel of 64 threads on a stream that the default stream does not wait for, and does something before it waits for
/// it. `cust`'s own streams are none such.
///
/// # Safety
/// The parameters are the kernel's, and their memory has an element for each thread.
unsafe fn in_flight(kernel: &Function<'_>, parameters: [u64; 2], meanwhile: impl FnOnce()) {
    let mut stream = std::ptr::null_mut();
    let mut parameters =
        parameters.each_ref().map(|parameter| std::ptr::from_ref(parameter).cast_mut().cast());
    // SAFETY: the places live longer than the calls; the caller vouches for the parameters.
    unsafe {
        assert_eq!(sys::cuStreamCreate(&mut stream, 1), sys::cudaError_enum::CUDA_SUCCESS);
        let (kernel, parameters) = (kernel.to_raw(), parameters.as_mut_ptr());
        let launched =
            sys::cuLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, stream, parameters, std::ptr::null_mut());
        assert_eq!(launched, sys::cudaError_enum::CUDA_SUCCESS);
        meanwhile();
        sys::cuStreamSynchronize(stream);
    }
}

/// What the host does, by raw calls, to the memory of a kernel in flight: what it reads, what it writes, and a static.
fn meanwhile(host: impl FnOnce([u64; 3])) {
    let _context = cust::quick_init().unwrap();
    let module = Module::from_ptx(READS, &[]).unwrap();
    let [from, to] = [0, 0].map(|_| DeviceBuffer::from_slice(&[1u32; 64]).unwrap());
    let factor = module.get_global::<u32>(c"FACTOR").unwrap();
    let factor = format!("{factor:p}");
    let factor = u64::from_str_radix(factor.trim_start_matches("0x"), 16).unwrap();
    let function = module.get_function("reads").unwrap();
    let [from, to] = [&from, &to].map(|buffer| buffer.as_device_ptr().as_raw());
    // SAFETY: both buffers have an element for each thread.
    unsafe { in_flight(&function, [from, to], || host([from, to, factor])) };
}

/// Each host action with whether it clashes.
macro_rules! meanwhile {
    ($($test:ident: $expected:literal, |$memory:ident| $call:expr;)*) => {$(
        #[test]
        #[should_panic(expected = $expected)]
        fn $test() {
            let _checked = warpsmith_cuda::checked();
            // SAFETY: the host's side of the copy has the bytes that it copies.
            meanwhile(|$memory| assert_eq!(unsafe { $call }, CUresult::SUCCESS));
        }
    )*};
}
meanwhile! {
    a_copy_to_what_a_kernel_in_flight_reads: "in a call that waits",
        |memory| cuMemcpyHtoD_v2(memory[0], [0u32; 64].as_ptr().cast(), 256);
    a_copy_to_a_static_that_a_kernel_in_flight_reads: "in a call that waits",
        |memory| cuMemcpyHtoD_v2(memory[2], [0u32; 1].as_ptr().cast(), 4);
    a_copy_of_what_a_kernel_in_flight_writes: "in a call that waits",
        |memory| cuMemcpyDtoH_v2([0u32; 64].as_mut_ptr().cast(), memory[1], 256);
    a_copy_within_what_a_kernel_in_flight_writes: "in a call that waits",
        |memory| cuMemcpyDtoD_v2(memory[1], memory[0], 256);
    a_fill_of_what_a_kernel_in_flight_reads: "on the default stream",
        |memory| cuMemsetD8_v2(memory[0], 0, 256);
}

/// Memory of a pool is freed by the call that does not wait for its streams.
#[test]
#[should_panic(expected = "the free in a call that waits")]
fn a_free_of_pool_memory_that_a_kernel_in_flight_uses() {
    let _checked = warpsmith_cuda::checked();
    let _context = cust::quick_init().unwrap();
    let module = Module::from_ptx(KERNEL, &[]).unwrap();
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None).unwrap();
    let function = module.get_function("shift").unwrap();
    let mut place = 0;
    // SAFETY: the place for the address lives longer than the call; the memory has an element for each thread.
    unsafe {
        assert_eq!(cuMemAllocAsync(Out::new(&mut place), 256, stream.as_inner() as usize), CUresult::SUCCESS);
        launch!(function<<<1, 64, 0, stream>>>(place, 0)).unwrap();
        assert_eq!(cuMemFree_v2(place), CUresult::SUCCESS);
    }
    stream.synchronize().unwrap();
}

/// A copy to pinned memory that a kernel in flight writes.
#[test]
#[should_panic(expected = "in a call that waits")]
fn a_copy_to_pinned_memory_that_a_kernel_in_flight_writes() {
    let _checked = warpsmith_cuda::checked();
    let _context = cust::quick_init().unwrap();
    let module = Module::from_ptx(KERNEL, &[]).unwrap();
    let from = DeviceBuffer::from_slice(&[1u32; 64]).unwrap();
    let mut pinned = LockedBuffer::new(&0u32, 64).unwrap();
    let place = pinned.as_mut_ptr();
    // SAFETY: the memory has an element for each thread, and as many bytes as are copied.
    unsafe {
        in_flight(&module.get_function("shift").unwrap(), [place as u64, 0], || {
            let from = from.as_device_ptr().as_raw();
            assert_eq!(cuMemcpyDtoH_v2(place.cast(), from, 256), CUresult::SUCCESS);
        });
    }
}
