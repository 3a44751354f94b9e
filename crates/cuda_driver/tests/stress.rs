//! Many host threads that use all kinds of objects at once, under a seed: everything that CUDA orders happens in its
//! order, and nothing waits for ever.
//!
//! Each thread owns a cell. Every step makes it `3 * cell + k`, so that two steps in the wrong order leave another number,
//! and goes to a stream of the thread's choice, behind the step before: by the stream's own order, by the default
//! stream's rules, or by an event.
#![cfg(feature = "foreign")]

mod driver;

use std::ffi::c_void;
use std::ptr::null_mut;

use driver::*;
use warpsmith_cuda::{DevicePreference, choose};

const KERNEL: &std::ffi::CStr = c"
.version 7.0
.target sm_75
.address_size 64
.visible .entry step(.param .u64 cell, .param .u64 all, .param .u32 k)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [cell];
    ld.param.u64 %rd2, [all];
    ld.param.u32 %r1, [k];
    ld.global.u32 %r2, [%rd1];
    mad.lo.u32 %r3, %r2, 3, %r1;
    st.global.u32 [%rd1], %r3;
    red.global.add.u32 [%rd2], 1;
    ret;
}
";

const THREADS: u64 = 6;
const STEPS: u64 = 80;

struct Random(u64);

impl Random {
    fn below(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % count
    }
}

/// A stream of a thread: the legacy default stream, blocking ones, others.
#[derive(Clone, Copy, PartialEq)]
struct Stream {
    handle: usize,
    blocking: bool,
}

/// What one thread does.
struct Worker {
    random: Random,
    context: usize,
    /// Memory that host and device share: the host's functions step it too.
    cell: u64,
    /// Counts the steps of all threads' kernels.
    all: u64,
    module: usize,
    function: usize,
    streams: Vec<Stream>,
    /// Where the last step went.
    last: Stream,
    expected: u32,
    launched: u32,
}

/// One step of the host's.
unsafe extern "C" fn host_step(data: *mut c_void) {
    // SAFETY: the boxed cell and number of the call below, whose stream orders all that touches the cell.
    unsafe {
        let (cell, k) = *Box::from_raw(data.cast::<(usize, u32)>());
        let cell = cell as *mut u32;
        cell.write_volatile(cell.read_volatile().wrapping_mul(3).wrapping_add(k));
    }
}

impl Worker {
    unsafe fn load(&mut self) {
        // SAFETY: places are valid and texts end with NUL.
        unsafe {
            assert_eq!(cuModuleLoadData(out(&mut self.module), KERNEL.as_ptr().cast()), OK);
            let name = Text::new(c"step".as_ptr());
            assert_eq!(cuModuleGetFunction(out(&mut self.function), self.module, name), OK);
        }
    }

    unsafe fn launch(&mut self, k: u32, stream: usize) {
        let (mut cell, mut all, mut k) = (self.cell, self.all, k);
        let params: [*mut c_void; 3] = [(&raw mut cell).cast(), (&raw mut all).cast(), (&raw mut k).cast()];
        // SAFETY: the kernel's three parameters.
        unsafe {
            let params = In::new(params.as_ptr());
            assert_eq!(cuLaunchKernel(self.function, 1, 1, 1, 1, 1, 1, 0, stream, params, nothing()), OK);
        }
        self.launched += 1;
    }

    fn expect(&mut self, k: u32) {
        self.expected = self.expected.wrapping_mul(3).wrapping_add(k);
    }

    /// Chooses a stream, and puts what comes there behind the last step.
    unsafe fn choose_stream(&mut self) -> Stream {
        let next = self.streams[self.random.below(self.streams.len() as u64) as usize];
        let legacy = |stream: Stream| stream.handle == 0;
        let ordered =
            next == self.last || (legacy(next) && self.last.blocking) || (legacy(self.last) && next.blocking);
        if !ordered {
            let mut event = 0;
            // SAFETY: the place is valid.
            unsafe {
                assert_eq!(cuEventCreate(out(&mut event), 2 * self.random.below(2) as u32), OK);
                assert_eq!(cuEventRecord(event, self.last.handle), OK);
                assert_eq!(cuStreamWaitEvent(next.handle, event, 0), OK);
                assert_eq!(cuEventDestroy_v2(event), OK);
            }
        }
        next
    }

    /// Two steps as a graph that was captured on a stream of its own.
    unsafe fn graph(&mut self, k: u32, stream: usize) {
        let (mut capture, mut graph, mut executable) = (0, 0, 0);
        // SAFETY: places are valid.
        unsafe {
            assert_eq!(cuStreamCreate(out(&mut capture), 1), OK);
            assert_eq!(cuStreamBeginCapture_v2(capture, 2), OK);
            self.launch(k, capture);
            self.launch(k + 1, capture);
            assert_eq!(cuStreamEndCapture(capture, out(&mut graph)), OK);
            assert_eq!(cuGraphInstantiateWithFlags(out(&mut executable), graph, 0), OK);
            assert_eq!(cuGraphLaunch(executable, stream), OK);
            assert_eq!(cuGraphExecDestroy(executable), OK);
            assert_eq!(cuGraphDestroy(graph), OK);
            assert_eq!(cuStreamDestroy_v2(capture), OK);
        }
        self.expect(k);
        self.expect(k + 1);
    }

    unsafe fn step(&mut self, index: u64) {
        let k = index as u32;
        // SAFETY: as in each of the calls.
        unsafe {
            let chosen = self.choose_stream();
            let stream = chosen.handle;
            let kind = self.random.below(16);
            match kind {
                0 => assert_eq!(cuStreamSynchronize(stream), OK),
                1 => assert!([OK, CUresult::NOT_READY].contains(&cuStreamQuery(stream))),
                2 => {
                    // Another module with the same kernel; the old one's work ends before it goes.
                    let old = self.module;
                    self.load();
                    assert_eq!(cuModuleUnload(old), OK);
                }
                3 => {
                    let mut pinned = null_mut();
                    assert_eq!(cuMemAllocHost_v2(out(&mut pinned), 64), OK);
                    assert_eq!(cuMemFreeHost(pinned), OK);
                }
                4..=5 => {
                    let data = Box::into_raw(Box::new((self.cell as usize, k)));
                    assert_eq!(cuLaunchHostFunc(stream, Some(host_step), data.cast()), OK);
                    self.expect(k);
                }
                6 => self.graph(k, stream),
                7 => {
                    let mut memory = 0;
                    assert_eq!(cuMemAllocAsync(out(&mut memory), 256, stream), OK);
                    assert_eq!(cuMemsetD32Async(memory, k, 64, stream), OK);
                    assert_eq!(cuMemcpyDtoDAsync_v2(self.cell, memory, 4, stream), OK);
                    assert_eq!(cuMemFreeAsync(memory, stream), OK);
                    self.expected = k;
                }
                // Not the whole context: another thread may be capturing.
                8 => assert_eq!(cuStreamSynchronize(0), OK),
                _ => {
                    self.launch(k, stream);
                    self.expect(k);
                }
            }
            // A stream without work of its own since then orders nothing.
            if !matches!(kind, 0..=3 | 8) {
                self.last = chosen;
            }
        }
    }

    unsafe fn run(mut self) -> u32 {
        // SAFETY: places are valid.
        unsafe {
            assert_eq!(cuCtxSetCurrent(self.context), OK);
            assert_eq!(cuMemAllocManaged(out(&mut self.cell), 64, 1), OK);
            self.load();
            for flags in [0, 0, 1, 1] {
                let mut handle = 0;
                assert_eq!(cuStreamCreate(out(&mut handle), flags), OK);
                self.streams.push(Stream { handle, blocking: flags == 0 });
            }
            assert_eq!(cuMemsetD32_v2(self.cell, 1, 1), OK);
            (0..STEPS).for_each(|index| self.step(index));
            assert_eq!(cuStreamSynchronize(self.last.handle), OK);
            assert_eq!((self.cell as *const u32).read_volatile(), self.expected);
            for stream in &self.streams[1..] {
                assert_eq!(cuStreamDestroy_v2(stream.handle), OK);
            }
            assert_eq!(cuModuleUnload(self.module), OK);
            assert_eq!(cuMemFree_v2(self.cell), OK);
        }
        self.launched
    }
}

#[test]
fn streams_of_many_threads_keep_their_order() {
    choose(Some(DevicePreference::Virtual), Some("h200")).unwrap();
    let (mut context, mut all) = (0, 0);
    // SAFETY: places are valid; each worker keeps to its own objects, and to a word that is only added to.
    unsafe {
        assert_eq!(cuInit(0), OK);
        assert_eq!(cuDevicePrimaryCtxRetain(out(&mut context), 0), OK);
        assert_eq!(cuCtxSetCurrent(context), OK);
        assert_eq!(cuMemAlloc_v2(out(&mut all), 4), OK);
        for seed in 0..4 {
            assert_eq!(cuMemsetD32_v2(all, 0, 1), OK);
            assert_eq!(cuCtxSynchronize(), OK);
            let workers: Vec<_> = (0..THREADS)
                .map(|thread| {
                    std::thread::spawn(move || {
                        let default = Stream { handle: 0, blocking: false };
                        let random = Random(seed * 100 + thread);
                        let streams = vec![default];
                        let (cell, module, function, expected, launched) = (0, 0, 0, 1, 0);
                        let last = default;
                        Worker {
                            random,
                            context,
                            cell,
                            all,
                            module,
                            function,
                            streams,
                            last,
                            expected,
                            launched,
                        }
                        .run()
                    })
                })
                .collect();
            let launched: u32 = workers.into_iter().map(|worker| worker.join().unwrap()).sum();
            let mut counted = 0u32;
            assert_eq!(cuMemcpyDtoH_v2((&raw mut counted).cast(), all, 4), OK);
            assert_eq!(counted, launched, "seed {seed}");
        }
        assert_eq!(cuMemFree_v2(all), OK);
    }
}
