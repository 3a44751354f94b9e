//! All devices of the process, each with its primary context and the kernels of the cases.

use std::ffi::{CStr, c_void};

use warpsmith_cuda::abi::CUresult;

use crate::driver::*;

const PTX: &CStr = c"
.version 7.0
.target sm_70
.address_size 64
.visible .global .u32 own;

// to[i] += from[i]
.visible .entry add(.param .u64 to, .param .u64 from, .param .u32 n) {
    .reg .pred p; .reg .b32 r<8>; .reg .b64 a<6>;
    ld.param.u64 a0, [to]; ld.param.u64 a1, [from]; ld.param.u32 r0, [n];
    mov.u32 r1, %ctaid.x; mov.u32 r2, %ntid.x; mov.u32 r3, %tid.x; mad.lo.u32 r4, r1, r2, r3;
    setp.ge.u32 p, r4, r0; @p ret;
    mul.wide.u32 a2, r4, 4; add.u64 a3, a0, a2; add.u64 a4, a1, a2;
    ld.global.u32 r5, [a3]; ld.global.u32 r6, [a4]; add.u32 r5, r5, r6; st.global.u32 [a3], r5;
    ret;
}

// Every thread adds 1 to a counter, so that other devices see it, too.
.visible .entry count(.param .u64 counter, .param .u64 none, .param .u32 times) {
    .reg .pred p; .reg .b32 r<3>; .reg .b64 a<2>;
    ld.param.u64 a0, [counter]; ld.param.u32 r0, [times];
again:
    atom.global.sys.add.u32 r1, [a0], 1;
    sub.u32 r0, r0, 1; setp.ne.u32 p, r0, 0; @p bra again;
    ret;
}

// The same, for this device alone.
.visible .entry count_here(.param .u64 counter, .param .u64 none, .param .u32 times) {
    .reg .pred p; .reg .b32 r<3>; .reg .b64 a<2>;
    ld.param.u64 a0, [counter]; ld.param.u32 r0, [times];
again:
    atom.global.gpu.add.u32 r1, [a0], 1;
    sub.u32 r0, r0, 1; setp.ne.u32 p, r0, 0; @p bra again;
    ret;
}

// Waits until the word is `value`, adds to the data behind it, and says value + 1.
.visible .entry turn(.param .u64 word, .param .u64 none, .param .u32 value) {
    .reg .pred p; .reg .b32 r<4>; .reg .b64 a<2>;
    ld.param.u64 a0, [word]; ld.param.u32 r0, [value];
wait:
    ld.relaxed.sys.global.u32 r1, [a0]; setp.ne.u32 p, r1, r0; @p bra wait;
    fence.acq_rel.sys;
    ld.global.u32 r2, [a0+64]; mad.lo.u32 r2, r2, 3, r0; st.global.u32 [a0+64], r2;
    fence.acq_rel.sys;
    add.u32 r1, r1, 1; st.relaxed.sys.global.u32 [a0], r1;
    ret;
}

// The same with fences for this device alone.
.visible .entry turn_here(.param .u64 word, .param .u64 none, .param .u32 value) {
    .reg .pred p; .reg .b32 r<4>; .reg .b64 a<2>;
    ld.param.u64 a0, [word]; ld.param.u32 r0, [value];
wait:
    ld.relaxed.sys.global.u32 r1, [a0]; setp.ne.u32 p, r1, r0; @p bra wait;
    fence.acq_rel.gpu;
    ld.global.u32 r2, [a0+64]; mad.lo.u32 r2, r2, 3, r0; st.global.u32 [a0+64], r2;
    fence.acq_rel.gpu;
    add.u32 r1, r1, 1; st.relaxed.sys.global.u32 [a0], r1;
    ret;
}

// own = from[0]
.visible .entry keep(.param .u64 none, .param .u64 from, .param .u32 n) {
    .reg .b32 r<1>; .reg .b64 a<1>;
    ld.param.u64 a0, [from]; ld.global.u32 r0, [a0]; st.global.u32 [own], r0;
    ret;
}
";

/// A device's context, and what was loaded into it.
pub struct Gpu {
    pub number: i32,
    pub context: usize,
    pub module: usize,
}

pub struct Machine {
    pub gpus: Vec<Gpu>,
}

impl Machine {
    pub fn new() -> Self {
        let mut count = 0;
        // SAFETY: places are valid.
        unsafe {
            ok(cuInit(0));
            ok(cuDeviceGetCount(out(&mut count)));
        }
        let gpus = (0..count).map(Gpu::new).collect();
        Machine { gpus }
    }

    pub fn count(&self) -> usize {
        self.gpus.len()
    }

    /// Every ordered pair of different devices.
    pub fn pairs(&self) -> impl Iterator<Item = (&Gpu, &Gpu)> {
        let of = |a: &Gpu, b: &Gpu| a.number != b.number;
        self.gpus.iter().flat_map(move |a| self.gpus.iter().filter(move |b| of(a, b)).map(move |b| (a, b)))
    }

    /// Lets all kernels reach all devices' memory.
    pub fn befriend(&self) {
        for (own, peer) in self.pairs() {
            own.enter();
            own.befriend(peer);
        }
    }
}

impl Gpu {
    fn new(number: i32) -> Self {
        let (mut context, mut module) = (0, 0);
        // SAFETY: places are valid, and the text ends with NUL.
        unsafe {
            ok(cuDevicePrimaryCtxRetain(out(&mut context), number));
            ok(cuCtxSetCurrent(context));
            ok(cuModuleLoadData(out(&mut module), PTX.as_ptr().cast()));
        }
        Gpu { number, context, module }
    }

    /// Makes its context current.
    pub fn enter(&self) {
        // SAFETY: no pointer is passed.
        unsafe { ok(cuCtxSetCurrent(self.context)) }
    }

    pub fn befriend(&self, peer: &Gpu) {
        self.enter();
        // SAFETY: no pointer is passed.
        unsafe { ok(cuCtxEnablePeerAccess(peer.context, 0)) }
    }

    /// Its own memory with these words.
    pub fn words(&self, words: &[u32]) -> u64 {
        self.enter();
        let (mut address, bytes) = (0, size_of_val(words));
        // SAFETY: the place and the words are valid.
        unsafe {
            ok(cuMemAlloc_v2(out(&mut address), bytes));
            ok(cuMemcpyHtoD_v2(address, words.as_ptr().cast(), bytes));
        }
        address
    }

    pub fn zeros(&self, count: usize) -> u64 {
        self.words(&vec![0; count])
    }

    pub fn read(&self, address: u64, count: usize) -> Vec<u32> {
        self.enter();
        let mut words = vec![u32::MAX; count];
        // SAFETY: the words are valid.
        unsafe { ok(cuMemcpyDtoH_v2(words.as_mut_ptr().cast(), address, 4 * count)) };
        words
    }

    pub fn free(&self, address: u64) {
        self.enter();
        // SAFETY: no pointer is passed.
        unsafe { ok(cuMemFree_v2(address)) }
    }

    pub fn stream(&self) -> usize {
        self.enter();
        let mut stream = 0;
        // SAFETY: the place is valid.
        unsafe { ok(cuStreamCreate(out(&mut stream), 1)) };
        stream
    }

    pub fn event(&self) -> usize {
        self.enter();
        let mut event = 0;
        // SAFETY: the place is valid.
        unsafe { ok(cuEventCreate(out(&mut event), 0)) };
        event
    }

    pub fn function(&self, name: &CStr) -> usize {
        let mut function = 0;
        // SAFETY: the place is valid, and the name ends with NUL.
        unsafe { ok(cuModuleGetFunction(out(&mut function), self.module, text(name))) };
        function
    }

    /// Launches one of the kernels above with `blocks` of 64 threads, or one thread for 0.
    pub fn launch(&self, name: &CStr, blocks: u32, stream: usize, to: u64, from: u64, n: u32) {
        self.enter();
        let (grid, block) = if blocks == 0 { (1, 1) } else { (blocks, 64) };
        ok(launch(self.function(name), grid, block, stream, to, from, n));
    }

    /// Waits for all that was issued; what became of it.
    pub fn finish(&self) -> CUresult {
        self.enter();
        // SAFETY: no pointer is passed.
        unsafe { cuCtxSynchronize() }
    }
}

pub fn launch(function: usize, grid: u32, block: u32, stream: usize, to: u64, from: u64, n: u32) -> CUresult {
    let (mut to, mut from, mut n) = (to, from, n);
    let params: [*mut c_void; 3] = [(&raw mut to).cast(), (&raw mut from).cast(), (&raw mut n).cast()];
    // SAFETY: the parameters are those of the kernels above.
    unsafe { cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, stream, given(&params[0]), nothing()) }
}
