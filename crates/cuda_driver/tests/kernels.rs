//! Kernels on the virtual device, through the exported symbols: launches, faults, graphs, linking, libraries.
#![cfg(feature = "foreign")]

mod driver;

use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

use driver::*;
use warpsmith_cuda::abi::{CUDA_KERNEL_NODE_PARAMS_v1, CUlaunchConfig};
use warpsmith_cuda::last_fault;

const KERNELS: &CStr = c"
.version 7.0
.target sm_75
.address_size 64
.extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
.global .align 1 .b8 message[9] = {120, 32, 105, 115, 32, 111, 110, 101, 0};
.global .align 1 .b8 file[7] = {97, 46, 99, 117, 100, 97, 0};

.visible .entry add(.param .u64 p, .param .u32 v)
{
    .reg .b32 %r<5>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [p];
    ld.param.u32 %r1, [v];
    mov.u32 %r2, %tid.x;
    mad.wide.u32 %rd2, %r2, 4, %rd1;
    ld.global.u32 %r3, [%rd2];
    add.u32 %r4, %r3, %r1;
    st.global.u32 [%rd2], %r4;
    ret;
}
.visible .entry store(.param .u64 p)
{
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [p];
    st.global.u32 [%rd1], 1;
    ret;
}
.visible .entry stop() { trap; }
.visible .entry empty() { ret; }
.visible .entry claim()
{
    .reg .b64 %rd<4>;
    mov.u64 %rd1, message;
    cvta.global.u64 %rd1, %rd1;
    mov.u64 %rd2, file;
    cvta.global.u64 %rd2, %rd2;
    {
        .param .b64 a; st.param.b64 [a], %rd1;
        .param .b64 b; st.param.b64 [b], %rd2;
        .param .b32 c; st.param.b32 [c], 7;
        .param .b64 d; st.param.b64 [d], %rd2;
        .param .b64 e; st.param.b64 [e], 1;
        call.uni __assertfail, (a, b, c, d, e);
    }
    ret;
}
.visible .entry wait_for(.param .u64 p)
{
    .reg .pred %p1;
    .reg .b32 %r1;
    .reg .b64 %rd1;
    ld.param.u64 %rd1, [p];
AGAIN:
    ld.volatile.global.u32 %r1, [%rd1];
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra AGAIN;
    ret;
}
";

/// A context of the test's own, so that one test's fault is no other's.
struct Own {
    context: usize,
    module: usize,
}

impl Own {
    fn new() -> Self {
        let (context, mut module) = (own_context(), 0);
        // SAFETY: places are valid, the image is text that ends with NUL.
        unsafe {
            ok(cuModuleLoadData(out(&mut module), KERNELS.as_ptr().cast()));
        }
        Self { context, module }
    }

    fn function(&self, name: &CStr) -> usize {
        let mut function = 0;
        // SAFETY: places and name are valid.
        ok(unsafe { cuModuleGetFunction(out(&mut function), self.module, text(name)) });
        function
    }

    fn zeros(&self, words: usize) -> u64 {
        let mut address = 0;
        // SAFETY: places are valid.
        unsafe {
            ok(cuMemAlloc_v2(out(&mut address), words * 4));
            ok(cuMemsetD32_v2(address, 0, words));
        }
        address
    }

    fn words(&self, address: u64, count: usize) -> Vec<u32> {
        let mut words = vec![0; count];
        // SAFETY: the place holds as many bytes as are copied.
        ok(unsafe { cuMemcpyDtoH_v2(words.as_mut_ptr().cast(), address, count * 4) });
        words
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        // SAFETY: the context is the test's own.
        ok(unsafe { cuCtxDestroy_v2(self.context) });
    }
}

/// Launches one block.
fn launch(function: usize, threads: u32, stream: usize, params: &mut [*mut c_void]) -> CUresult {
    // SAFETY: the pointers are to the kernel's parameters.
    unsafe {
        let params = In::new(params.as_ptr());
        cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, stream, params, nothing())
    }
}

fn pointer<T>(value: &mut T) -> *mut c_void {
    (value as *mut T).cast()
}

#[test]
fn parameters_come_as_pointers_or_as_a_buffer() {
    let own = Own::new();
    let add = own.function(c"add");
    let mut address = own.zeros(4);
    let mut value = 5u32;
    ok(launch(add, 4, 0, &mut [pointer(&mut address), pointer(&mut value)]));
    let mut buffer = [0u8; 12];
    buffer[..8].copy_from_slice(&address.to_le_bytes());
    buffer[8..].copy_from_slice(&3u32.to_le_bytes());
    let mut size = buffer.len();
    let word = |option: usize| option as *mut c_void;
    let extra = [word(1), buffer.as_mut_ptr().cast(), word(2), pointer(&mut size), null_mut()];
    // SAFETY: the buffer is laid out as the kernel's parameters are.
    unsafe {
        let extra = In::new(extra.as_ptr());
        ok(cuLaunchKernel(add, 1, 1, 1, 2, 1, 1, 0, 0, nothing(), extra));
        let both = cuLaunchKernel(add, 1, 1, 1, 2, 1, 1, 0, 0, extra, extra);
        assert_eq!(both, CUresult::INVALID_VALUE);
        assert_eq!(
            cuLaunchKernel(add, 1, 1, 1, 2, 1, 1, 0, 0, nothing(), nothing()),
            CUresult::INVALID_VALUE
        );
    }
    assert_eq!(own.words(address, 4), [8, 8, 5, 5]);
}

#[test]
fn shapes_that_no_device_admits_are_invalid_values() {
    let own = Own::new();
    let empty = own.function(c"empty");
    for (grid, block, shared) in [
        ([0, 1, 1], [1, 1, 1], 0),
        ([1, 1, 1], [0, 1, 1], 0),
        ([1, 1, 1], [1025, 1, 1], 0),
        ([1, 1, 1], [1, 1, 65], 0),
        ([1, 65_536, 1], [1, 1, 1], 0),
        ([1, 1, 1], [1, 1, 1], 48 * 1024 + 1),
    ] {
        let ([gx, gy, gz], [bx, by, bz]) = (grid, block);
        // SAFETY: the kernel has no parameters.
        let code = unsafe { cuLaunchKernel(empty, gx, gy, gz, bx, by, bz, shared, 0, nothing(), nothing()) };
        assert_eq!(code, CUresult::INVALID_VALUE, "{grid:?} {block:?} {shared}");
    }
    // SAFETY: as above.
    unsafe {
        const MAX_DYNAMIC_SHARED: u32 = 8;
        assert_eq!(cuFuncSetAttribute(empty, MAX_DYNAMIC_SHARED, 232_449), CUresult::INVALID_VALUE);
        ok(cuFuncSetAttribute(empty, MAX_DYNAMIC_SHARED, 232_448));
        ok(cuLaunchKernel(empty, 1, 1, 1, 32, 1, 1, 232_448, 0, nothing(), nothing()));
        let blocks = 132 * 32 + 1;
        let code = cuLaunchCooperativeKernel(empty, blocks, 1, 1, 32, 1, 1, 0, 0, nothing());
        assert_eq!(code, CUresult::COOPERATIVE_LAUNCH_TOO_LARGE);
        ok(cuLaunchCooperativeKernel(empty, 132, 1, 1, 32, 1, 1, 0, 0, nothing()));
        ok(cuCtxSynchronize());
    }
}

/// Every fault has the driver's own code, and from then on every call of the context has it as well.
#[test]
fn faults_are_told_and_stay() {
    let faults: [(&CStr, Option<u64>, CUresult, &str); 4] = [
        (c"store", Some(0x10), CUresult::ILLEGAL_ADDRESS, "illegal address"),
        (c"store", None, CUresult::MISALIGNED_ADDRESS, "misaligned"),
        (c"stop", None, CUresult::LAUNCH_FAILED, "trap"),
        (c"claim", None, CUresult::ASSERT, "x is one"),
    ];
    for (name, address, code, words) in faults {
        let own = Own::new();
        let mut address = address.unwrap_or_else(|| own.zeros(2) + 2);
        ok(launch(own.function(name), 1, 0, &mut [pointer(&mut address)]));
        // SAFETY: places are valid.
        unsafe {
            assert_eq!(cuCtxSynchronize(), code, "{name:?}");
            assert_eq!(cuCtxSynchronize(), code);
            assert_eq!(cuMemAlloc_v2(out(&mut 0), 16), code);
            assert_eq!(cuStreamCreate(out(&mut 0), 0), code);
            assert_eq!(launch(own.module, 1, 0, &mut []), code);
        }
        let fault = last_fault().unwrap();
        assert_eq!(fault.kernel, name.to_str().unwrap());
        assert!(fault.to_string().contains(words), "{fault}");
        assert!(fault.location.ptx_line > 0, "{fault}");
    }
    // A new context knows nothing of them.
    let own = Own::new();
    ok(launch(own.function(c"empty"), 1, 0, &mut []));
    // SAFETY: no arguments.
    ok(unsafe { cuCtxSynchronize() });
}

#[test]
fn a_kernel_may_wait_for_the_host() {
    let own = Own::new();
    let mut flag = null_mut();
    let mut stream = 0;
    // SAFETY: places are valid; the flag is written as the device reads it, whole.
    unsafe {
        ok(cuStreamCreate(out(&mut stream), 1));
        ok(cuMemAllocHost_v2(out(&mut flag), 4));
        let mut address = flag as u64;
        ok(launch(own.function(c"wait_for"), 1, stream, &mut [pointer(&mut address)]));
        assert_eq!(cuStreamQuery(stream), CUresult::NOT_READY);
        flag.cast::<u32>().write_volatile(1);
        ok(cuStreamSynchronize(stream));
        ok(cuStreamQuery(stream));
        ok(cuMemFreeHost(flag));
    }
}

#[test]
fn captured_work_runs_when_its_graph_does() {
    const KERNEL: u32 = 0;
    let own = Own::new();
    let add = own.function(c"add");
    let mut address = own.zeros(2);
    let (mut value, mut host) = (2u32, [10u32, 20]);
    let (mut stream, mut other, mut graph, mut exec) = (0, 0, 0, 0);
    let (mut forked, mut joined) = (0, 0);
    // SAFETY: places are valid, and live as long as the graph uses them.
    unsafe {
        ok(cuStreamCreate(out(&mut stream), 1));
        ok(cuStreamCreate(out(&mut other), 1));
        ok(cuEventCreate(out(&mut forked), 0));
        ok(cuEventCreate(out(&mut joined), 0));
        ok(cuStreamBeginCapture_v2(stream, 0));
        ok(cuMemcpyHtoDAsync_v2(address, host.as_mut_ptr().cast(), 8, stream));
        ok(cuEventRecord(forked, stream));
        ok(cuStreamWaitEvent(other, forked, 0));
        ok(launch(add, 1, other, &mut [pointer(&mut address), pointer(&mut value)]));
        ok(cuEventRecord(joined, other));
        ok(cuStreamWaitEvent(stream, joined, 0));
        ok(launch(add, 2, stream, &mut [pointer(&mut address), pointer(&mut value)]));
        let mut status = 9;
        ok(cuStreamIsCapturing(other, out(&mut status)));
        assert_eq!(status, 1);
        ok(cuStreamEndCapture(stream, out(&mut graph)));
        ok(cuStreamIsCapturing(other, out(&mut status)));
        assert_eq!(status, 0);
        assert_eq!(own.words(address, 2), [0, 0], "captured work does not run");

        let (mut nodes, mut count) = ([0; 8], 8);
        ok(cuGraphGetNodes(graph, out(&mut nodes[0]), out(&mut count)));
        assert_eq!(count, 3);
        let mut kind = 9;
        ok(cuGraphNodeGetType(nodes[1], out(&mut kind)));
        assert_eq!(kind, KERNEL);
        let mut params: CUDA_KERNEL_NODE_PARAMS_v1 = std::mem::zeroed();
        ok(cuGraphKernelNodeGetParams(nodes[1], out(&mut params)));
        assert_eq!((params.func, params.blockDim), (add, [1, 1, 1]));
        assert_eq!(**params.kernelParams.cast::<*const u64>(), address);
        let mut edges = 0;
        ok(cuGraphGetEdges(graph, Out::new(null_mut()), Out::new(null_mut()), out(&mut edges)));
        // Each launch waits for what its stream did before and for the event: the copy leads to both.
        assert_eq!(edges, 3);

        ok(cuGraphInstantiateWithFlags(out(&mut exec), graph, 0));
        ok(cuGraphLaunch(exec, stream));
        ok(cuStreamSynchronize(stream));
        assert_eq!(own.words(address, 2), [14, 22]);
        host = [100, 200];
        ok(cuGraphLaunch(exec, stream));
        ok(cuStreamSynchronize(stream));
        assert_eq!(own.words(address, 2), [104, 202], "the copy reads its source when it runs");
        assert_eq!(host, [100, 200]);
        ok(cuGraphExecDestroy(exec));
        ok(cuGraphDestroy(graph));
        assert_eq!(cuGraphDestroy(graph), CUresult::INVALID_VALUE);
    }
}

#[test]
fn a_capture_that_is_not_whole_fails() {
    let own = Own::new();
    let (mut stream, mut other, mut event, mut graph) = (0, 0, 0, 1);
    // SAFETY: places are valid.
    unsafe {
        ok(cuStreamCreate(out(&mut stream), 1));
        ok(cuStreamCreate(out(&mut other), 1));
        ok(cuEventCreate(out(&mut event), 0));
        ok(cuStreamBeginCapture_v2(stream, 0));
        assert_eq!(cuStreamSynchronize(stream), CUresult::STREAM_CAPTURE_UNSUPPORTED);
        assert_eq!(cuStreamEndCapture(stream, out(&mut graph)), CUresult::STREAM_CAPTURE_INVALIDATED);
        assert_eq!(graph, 0);
        ok(cuStreamBeginCapture_v2(stream, 0));
        ok(launch(own.function(c"empty"), 1, stream, &mut []));
        ok(cuEventRecord(event, stream));
        ok(cuStreamWaitEvent(other, event, 0));
        ok(launch(own.function(c"empty"), 1, other, &mut []));
        assert_eq!(cuStreamEndCapture(stream, out(&mut graph)), CUresult::STREAM_CAPTURE_UNJOINED);
        assert_eq!(cuStreamEndCapture(stream, out(&mut graph)), CUresult::ILLEGAL_STATE);
        assert_eq!(cuStreamBeginCapture_v2(0, 0), CUresult::STREAM_CAPTURE_UNSUPPORTED);
    }
}

const CALLER: &[u8] = b".version 7.0\n.target sm_75\n.address_size 64\n\
    .extern .func (.param .b32 r) twice(.param .b32 x);\n\
    .visible .entry main(.param .u64 p) {\n\
    .reg .b32 %r<3>; .reg .b64 %rd1;\n ld.param.u64 %rd1, [p]; ld.global.u32 %r1, [%rd1];\n\
    { .param .b32 x; st.param.b32 [x], %r1; .param .b32 r; call.uni (r), twice, (x); ld.param.b32 %r2, [r]; }\n\
    st.global.u32 [%rd1], %r2; ret; }\n\0";
const CALLEE: &[u8] = b".version 7.0\n.target sm_75\n.address_size 64\n\
    .visible .func (.param .b32 r) twice(.param .b32 x) {\n\
    .reg .b32 %r<3>; ld.param.b32 %r1, [x]; add.u32 %r2, %r1, %r1; st.param.b32 [r], %r2; ret; }\n\0";

#[test]
fn linked_modules_call_each_other() {
    const PTX: u32 = 1;
    let own = Own::new();
    let (mut link, mut image, mut size, mut module, mut main) = (0, null_mut(), 0, 0, 0);
    // SAFETY: places and inputs are valid.
    unsafe {
        ok(cuLinkCreate_v2(0, nothing(), nothing(), out(&mut link)));
        for (input, name) in [(CALLER, c"caller"), (CALLEE, c"callee")] {
            let data = input.as_ptr().cast_mut().cast();
            ok(cuLinkAddData_v2(link, PTX, data, input.len(), text(name), 0, nothing(), nothing()));
        }
        ok(cuLinkComplete(link, out(&mut image), out(&mut size)));
        ok(cuModuleLoadData(out(&mut module), image));
        ok(cuLinkDestroy(link));
        ok(cuModuleGetFunction(out(&mut main), module, text(c"main")));
        let mut address = own.zeros(1);
        ok(cuMemsetD32_v2(address, 21, 1));
        ok(launch(main, 1, 0, &mut [pointer(&mut address)]));
        assert_eq!(own.words(address, 1), [42]);
    }
}

/// Each block adds one to the first word, and writes what the grid's barriers let it see into words of its own.
const MEETING: &[u8] = b".version 7.0\n.target sm_75\n.address_size 64\n\
    .extern .func (.param .b64 r) cudaCGGetIntrinsicHandle(.param .b32 scope);\n\
    .extern .func (.param .b32 r) cudaCGSynchronize(.param .b64 handle, .param .b32 flags);\n\
    .visible .entry meet(.param .u64 p) {\n\
    .reg .pred %first; .reg .b32 %r<6>; .reg .b64 %rd<4>;\n\
    ld.param.u64 %rd1, [p]; mov.u32 %r1, %ctaid.x; mad.wide.u32 %rd2, %r1, 8, %rd1;\n\
    mov.u32 %r5, %tid.x; setp.eq.u32 %first, %r5, 0;\n\
    { .param .b32 s; st.param.b32 [s], 1; .param .b64 r; call.uni (r), cudaCGGetIntrinsicHandle, (s);\n\
      ld.param.b64 %rd3, [r]; }\n\
    @%first red.global.add.u32 [%rd1], 1;\n\
    { .param .b64 h; .param .b32 f; st.param.b64 [h], %rd3; st.param.b32 [f], 0; .param .b32 r;\n\
      call.uni (r), cudaCGSynchronize, (h, f); ld.param.b32 %r2, [r]; }\n\
    ld.volatile.global.u32 %r3, [%rd1]; add.u32 %r3, %r3, %r2; st.global.u32 [%rd2 + 8], %r3;\n\
    { .param .b64 h; .param .b32 f; st.param.b64 [h], %rd3; st.param.b32 [f], 0; .param .b32 r;\n\
      call.uni (r), cudaCGSynchronize, (h, f); ld.param.b32 %r2, [r]; }\n\
    @%first red.global.add.u32 [%rd1], 1;\n\
    { .param .b64 h; .param .b32 f; st.param.b64 [h], %rd3; st.param.b32 [f], 0; .param .b32 r;\n\
      call.uni (r), cudaCGSynchronize, (h, f); ld.param.b32 %r2, [r]; }\n\
    ld.volatile.global.u32 %r4, [%rd1]; add.u32 %r4, %r4, %r2; st.global.u32 [%rd2 + 12], %r4; ret; }\n\0";

#[test]
fn kernels_linked_with_the_device_runtime_meet_at_the_grids_barrier() {
    const PTX: u32 = 1;
    const LIBRARY: u32 = 4;
    const BLOCKS: u32 = 6;
    let own = Own::new();
    let meeting = MEETING.to_vec();
    let library = b"!<arch>\n/               0           \ncuda_device_runtime.o/".to_vec();
    let (mut link, mut image, mut size, mut module, mut meet) = (0, null_mut(), 0, 0, 0);
    // SAFETY: places and inputs are valid.
    unsafe {
        ok(cuLinkCreate_v2(0, nothing(), nothing(), out(&mut link)));
        for (kind, input, name) in [(PTX, &meeting, c"meeting"), (LIBRARY, &library, c"libcudadevrt.a")] {
            let data = input.as_ptr().cast_mut().cast();
            ok(cuLinkAddData_v2(link, kind, data, input.len(), text(name), 0, nothing(), nothing()));
        }
        ok(cuLinkComplete(link, out(&mut image), out(&mut size)));
        ok(cuModuleLoadData(out(&mut module), image));
        ok(cuLinkDestroy(link));
        ok(cuModuleGetFunction(out(&mut meet), module, text(c"meet")));
        let words = 2 + 2 * BLOCKS as usize;
        let mut address = own.zeros(words);
        let params = [pointer(&mut address)];
        ok(cuLaunchCooperativeKernel(meet, BLOCKS, 1, 1, 64, 1, 1, 0, 0, In::new(params.as_ptr())));
        assert_eq!(own.words(address, words)[2..], [BLOCKS, 2 * BLOCKS].repeat(BLOCKS as usize));
        // Without a cooperative launch there is no barrier: cudaErrorUnknown, told to each block.
        ok(cuMemsetD32_v2(address, 0, words));
        ok(launch(meet, 1, 0, &mut [pointer(&mut address)]));
        assert_eq!(own.words(address, 4)[2..], [1 + 999, 2 + 999]);
    }
}

#[test]
fn times_are_told_between_events_of_one_context() {
    let first = Own::new();
    let second = Own::new();
    let mut events = [0; 3];
    let mut time = -1.0;
    // SAFETY: places are valid.
    unsafe {
        for (event, context) in events.iter_mut().zip([first.context, second.context, second.context]) {
            ok(cuCtxSetCurrent(context));
            ok(cuEventCreate(out(event), 0));
            ok(cuEventRecord(*event, 0));
            ok(cuEventSynchronize(*event));
        }
        let across = cuEventElapsedTime(out(&mut time), events[0], events[1]);
        assert_eq!((across, time), (CUresult::INVALID_HANDLE, -1.0));
        ok(cuEventElapsedTime(out(&mut time), events[1], events[2]));
        assert!(time >= 0.0);
    }
}

#[test]
fn the_log_says_why_a_module_is_refused() {
    const ERROR_LOG: u32 = 5;
    const ERROR_LOG_SIZE: u32 = 6;
    let _own = Own::new();
    let mut log = [0u8; 200];
    let options = [ERROR_LOG, ERROR_LOG_SIZE];
    let values = [log.as_mut_ptr().cast::<c_void>(), log.len() as *mut c_void];
    let broken =
        c".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry f() { bogus.u32 %r1; ret; }";
    // SAFETY: places and options are valid.
    unsafe {
        let (options, places) = (In::new(options.as_ptr()), In::new(values.as_ptr()));
        let code = cuModuleLoadDataEx(out(&mut 0), broken.as_ptr().cast(), 2, options, places);
        assert_eq!(code, CUresult::INVALID_PTX);
    }
    let length = log.iter().position(|&byte| byte == 0).unwrap();
    let text = std::str::from_utf8(&log[..length]).unwrap();
    assert!(text.contains("bogus") && text.contains('4'), "{text}");
}

#[test]
fn modules_that_the_device_does_not_admit_are_refused() {
    let _own = Own::new();
    let newer = c".version 8.7\n.target sm_120\n.address_size 64\n.visible .entry f() { ret; }";
    // SAFETY: places and images are valid.
    unsafe {
        let code = cuModuleLoadData(out(&mut 0), newer.as_ptr().cast());
        assert_eq!(code, CUresult::NO_BINARY_FOR_GPU);
        let cubin = include_bytes!("fatbins/cubin.fatbin");
        assert_eq!(cuModuleLoadData(out(&mut 0), cubin.as_ptr().cast()), CUresult::NO_BINARY_FOR_GPU);
        let mut module = 0;
        for image in [&include_bytes!("fatbins/zstd.fatbin")[..], include_bytes!("fatbins/lz4.fatbin")] {
            ok(cuModuleLoadData(out(&mut module), image.as_ptr().cast()));
            ok(cuModuleGetFunction(out(&mut 0), module, text(c"scale")));
        }
    }
}

#[test]
fn a_librarys_kernel_launches_in_the_current_context() {
    let own = Own::new();
    let (mut library, mut kernel, mut function, mut count) = (0, 0, 0, 0);
    let mut address = own.zeros(2);
    let mut value = 9u32;
    // SAFETY: places and image are valid.
    unsafe {
        let image = KERNELS.as_ptr().cast();
        ok(cuLibraryLoadData(out(&mut library), image, nothing(), nothing(), 0, nothing(), nothing(), 0));
        ok(cuLibraryGetKernelCount(out(&mut count), library));
        assert_eq!(count, 6);
        ok(cuLibraryGetKernel(out(&mut kernel), library, text(c"add")));
        assert_eq!(cuLibraryGetKernel(out(&mut kernel), library, text(c"sub")), CUresult::NOT_FOUND);
        // A kernel's handle serves where a function's does.
        ok(launch(kernel, 2, 0, &mut [pointer(&mut address), pointer(&mut value)]));
        ok(cuKernelGetFunction(out(&mut function), kernel));
        let mut params = [pointer(&mut address), pointer(&mut value)];
        let config = CUlaunchConfig {
            gridDim: [1, 1, 1],
            blockDim: [1, 1, 1],
            sharedMemBytes: 0,
            hStream: 0,
            attrs: null_mut(),
            numAttrs: 0,
        };
        ok(cuLaunchKernelEx(In::new(&config), function, In::new(params.as_mut_ptr()), nothing()));
        assert_eq!(own.words(address, 2), [18, 9]);
        ok(cuLibraryUnload(library));
        assert_eq!(launch(kernel, 1, 0, &mut params), CUresult::INVALID_HANDLE);
    }
}

#[test]
fn many_threads_launch_into_one_context() {
    let own = Own::new();
    let add = own.function(c"add");
    let buffers: Vec<u64> = (0..8).map(|_| own.zeros(1)).collect();
    std::thread::scope(|scope| {
        for &address in &buffers {
            let context = own.context;
            scope.spawn(move || {
                let (mut address, mut value, mut stream) = (address, 1u32, 0);
                // SAFETY: places are valid.
                unsafe {
                    ok(cuCtxSetCurrent(context));
                    ok(cuStreamCreate(out(&mut stream), 0));
                    for _ in 0..200 {
                        ok(launch(add, 1, stream, &mut [pointer(&mut address), pointer(&mut value)]));
                    }
                    ok(cuStreamSynchronize(stream));
                    ok(cuStreamDestroy_v2(stream));
                }
            });
        }
    });
    for address in buffers {
        assert_eq!(own.words(address, 1), [200]);
    }
}
