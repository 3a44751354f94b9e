//! Multicast objects through the exported symbols, with the checks on.
#![cfg(feature = "foreign")]

mod driver;

use std::ffi::CStr;

use driver::*;
use warpsmith_cuda::abi::{CUmemAccessDesc, CUmemAllocationProp, CUmemLocation, CUmulticastObjectProp};

/// `step`: each thread adds 10 to its word of the team's memory and stores the sum 32 words further on, and adds 1 to
/// word 64. `clash`: all threads store to the first word. `plain`: an ordinary store.
const KERNELS: &CStr = c"
.version 8.1
.target sm_90
.address_size 64
.visible .entry step(.param .u64 team)
{
    .reg .b32 %r<3>; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [team];
    mov.u32 %r1, %tid.x;
    mad.wide.u32 %rd2, %r1, 4, %rd1;
    multimem.ld_reduce.weak.global.add.u32 %r2, [%rd2];
    add.u32 %r2, %r2, 10;
    multimem.st.weak.global.u32 [%rd2+128], %r2;
    multimem.red.relaxed.gpu.global.add.u32 [%rd1+256], 1;
    ret;
}
.visible .entry clash(.param .u64 team)
{
    .reg .b32 %r1; .reg .b64 %rd1;
    ld.param.u64 %rd1, [team];
    mov.u32 %r1, %tid.x;
    multimem.st.weak.global.u32 [%rd1], %r1;
    ret;
}
.visible .entry plain(.param .u64 team)
{
    .reg .b64 %rd1;
    ld.param.u64 %rd1, [team];
    st.global.u32 [%rd1], 1;
    ret;
}
";

const PAGE: usize = 2 << 20;
const HERE: CUmemLocation = CUmemLocation { r#type: 1, id: 0 };
const MEMORY: CUmemAllocationProp = CUmemAllocationProp {
    r#type: 1,
    requestedHandleTypes: 0,
    location: HERE,
    win32HandleMetaData: std::ptr::null_mut(),
    compressionType: 0,
    gpuDirectRDMACapable: 0,
    usage: 0,
    reserved: [0; 4],
};
const TEAM: CUmulticastObjectProp =
    CUmulticastObjectProp { numDevices: 1, size: 4 * PAGE, handleTypes: 0, flags: 0 };
const OPEN: CUmemAccessDesc = CUmemAccessDesc { location: HERE, flags: 3 };

/// A context, and the kernels.
fn start() -> usize {
    let (mut context, mut module, mut supported) = (0, 0, 0);
    // SAFETY: all places are valid, the text is a C string.
    unsafe {
        ok(cuInit(0));
        ok(cuDevicePrimaryCtxRetain(out(&mut context), 0));
        ok(cuCtxSetCurrent(context));
        ok(cuDeviceGetAttribute(out(&mut supported), 132, 0));
        assert_eq!(supported, 1);
        ok(cuModuleLoadData(out(&mut module), KERNELS.as_ptr().cast()));
    }
    module
}

fn launch(module: usize, name: &CStr, threads: u32, mut team: u64) -> CUresult {
    let mut function = 0;
    let mut params = [std::ptr::from_mut(&mut team).cast()];
    let none = std::ptr::null_mut();
    // SAFETY: the places are valid, the name is a C string, and the parameter is the kernel's.
    unsafe {
        ok(cuModuleGetFunction(out(&mut function), module, Text::new(name.as_ptr())));
        ok(cuLaunchKernel(
            function,
            1,
            1,
            1,
            threads,
            1,
            1,
            0,
            0,
            In::new(params.as_mut_ptr()),
            In::new(none),
        ));
        cuCtxSynchronize()
    }
}

/// Two pages of memory at addresses of their own, bound to a team's second and third page; its four are mapped, too.
struct Bound {
    memory: u64,
    memory_at: u64,
    team: u64,
    team_at: u64,
}

impl Bound {
    fn new() -> Self {
        let (mut memory, mut memory_at, mut team, mut team_at) = (0, 0, 0, 0);
        // SAFETY: all places are valid.
        unsafe {
            ok(cuMemCreate(out(&mut memory), 2 * PAGE, given(&MEMORY), 0));
            ok(cuMemAddressReserve(out(&mut memory_at), 2 * PAGE, 0, 0, 0));
            ok(cuMemMap(memory_at, 2 * PAGE, 0, memory, 0));
            ok(cuMemSetAccess(memory_at, 2 * PAGE, given(&OPEN), 1));
            ok(cuMulticastCreate(out(&mut team), given(&TEAM)));
            ok(cuMulticastAddDevice(team, 0));
            ok(cuMulticastBindMem(team, PAGE, memory, 0, 2 * PAGE, 0));
            ok(cuMemAddressReserve(out(&mut team_at), 4 * PAGE, 0, 0, 0));
            ok(cuMemMap(team_at, 4 * PAGE, 0, team, 0));
            ok(cuMemSetAccess(team_at, 4 * PAGE, given(&OPEN), 1));
        }
        Bound { memory, memory_at, team, team_at }
    }

    fn end(self) {
        // SAFETY: nothing is given.
        unsafe {
            ok(cuMemUnmap(self.team_at, 4 * PAGE));
            ok(cuMulticastUnbind(self.team, 0, PAGE, 2 * PAGE));
            ok(cuMemRelease(self.team));
            ok(cuMemRelease(self.memory));
            ok(cuMemUnmap(self.memory_at, 2 * PAGE));
            ok(cuMemAddressFree(self.team_at, 4 * PAGE));
            ok(cuMemAddressFree(self.memory_at, 2 * PAGE));
        }
    }
}

/// What kernels do at the team's addresses is in the memory, which knows what is written there.
#[test]
fn a_team_of_one_reaches_its_memory() {
    let _checked = warpsmith_cuda::checked();
    let module = start();
    let bound = Bound::new();
    let values: [u32; 32] = std::array::from_fn(|i| i as u32 * 3);
    let mut got = [0u32; 65];
    // SAFETY: the host's arrays are as long as the copies.
    unsafe {
        ok(cuMemcpyHtoD_v2(bound.memory_at, values.as_ptr().cast(), 128));
        ok(cuMemsetD32_v2(bound.memory_at + 256, 5, 1));
        ok(launch(module, c"step", 32, bound.team_at + PAGE as u64));
        ok(cuMemcpyDtoH_v2(got.as_mut_ptr().cast(), bound.memory_at, 260));
    }
    assert_eq!(got[..32], values);
    assert_eq!(got[32..64], values.map(|value| value + 10));
    assert_eq!(got[64], 5 + 32);
    bound.end();
}

/// Memory that has no address but the team's, and then is bound by another that it has.
#[test]
fn memory_without_an_address_of_its_own() {
    let _checked = warpsmith_cuda::checked();
    let module = start();
    let bound = Bound::new();
    let mut got = [0u32; 1];
    // SAFETY: the host's array is as long as the copy.
    unsafe {
        ok(cuMemUnmap(bound.memory_at, 2 * PAGE));
        ok(launch(module, c"clash", 1, bound.team_at + 2 * PAGE as u64));
        ok(cuMemMap(bound.memory_at, 2 * PAGE, 0, bound.memory, 0));
        ok(cuMemSetAccess(bound.memory_at, 2 * PAGE, given(&OPEN), 1));
        ok(cuMulticastUnbind(bound.team, 0, PAGE, 2 * PAGE));
        ok(cuMulticastBindAddr(bound.team, 3 * PAGE, bound.memory_at + PAGE as u64, PAGE, 0));
        ok(cuMemsetD32_v2(bound.memory_at + PAGE as u64, 40, 128));
        ok(launch(module, c"step", 1, bound.team_at + 3 * PAGE as u64));
        ok(cuMemcpyDtoH_v2(got.as_mut_ptr().cast(), bound.memory_at + PAGE as u64 + 128, 4));
        assert_eq!(got, [50]);
        ok(cuMulticastUnbind(bound.team, 0, 3 * PAGE, PAGE));
        ok(cuMulticastBindMem_v2(bound.team, 0, PAGE, bound.memory, 0, 2 * PAGE, 0));
    }
    bound.end();
}

#[test]
#[should_panic(expected = "kernel `clash`")]
fn a_race_through_the_team_is_found() {
    let _checked = warpsmith_cuda::checked();
    let module = start();
    let bound = Bound::new();
    ok(launch(module, c"clash", 64, bound.team_at + PAGE as u64));
    bound.end();
}

#[test]
#[should_panic(expected = "kernel `step`")]
fn what_nobody_wrote_is_undefined_there_too() {
    let _checked = warpsmith_cuda::checked();
    let module = start();
    let bound = Bound::new();
    ok(launch(module, c"step", 32, bound.team_at + 2 * PAGE as u64));
    let mut got = 0u32;
    // SAFETY: the place is as long as the copy.
    unsafe {
        ok(cuMemcpyDtoH_v2(std::ptr::from_mut(&mut got).cast(), bound.memory_at + PAGE as u64 + 128, 4))
    };
    bound.end();
}

#[test]
#[should_panic(expected = "kernel `plain`")]
fn ordinary_accesses_do_not_reach_a_team() {
    let _checked = warpsmith_cuda::checked();
    let module = start();
    let bound = Bound::new();
    assert_eq!(launch(module, c"plain", 1, bound.team_at + PAGE as u64), CUresult(700));
    // SAFETY: nothing is given.
    unsafe { ok(cuDevicePrimaryCtxReset_v2(0)) };
}

#[test]
fn what_does_not_fit_is_refused() {
    let _checked = warpsmith_cuda::checked();
    start();
    let invalid = CUresult::INVALID_VALUE;
    let (mut granularity, mut team, mut other, mut memory, mut at) = (0, 0, 0, 0, 0);
    // SAFETY: all places are valid.
    unsafe {
        ok(cuMulticastGetGranularity(out(&mut granularity), given(&TEAM), 1));
        assert_eq!(granularity, PAGE);
        assert_eq!(cuMulticastGetGranularity(out(&mut granularity), given(&TEAM), 2), invalid);
        let odd = CUmulticastObjectProp { size: PAGE + 1, ..TEAM };
        assert_eq!(cuMulticastCreate(out(&mut team), given(&odd)), invalid);
        let two = CUmulticastObjectProp { numDevices: 2, ..TEAM };
        assert_eq!(cuMulticastCreate(out(&mut team), given(&two)), CUresult::NOT_SUPPORTED);
        ok(cuMulticastCreate(out(&mut team), given(&TEAM)));
        ok(cuMemCreate(out(&mut memory), 2 * PAGE, given(&MEMORY), 0));
        ok(cuMemAddressReserve(out(&mut at), 4 * PAGE, 0, 0, 0));
        // Before the device is in the team.
        assert_eq!(cuMulticastBindMem(team, 0, memory, 0, PAGE, 0), invalid);
        assert_eq!(cuMemMap(at, PAGE, 0, team, 0), invalid);
        assert_eq!(cuMulticastAddDevice(team, 1), CUresult::INVALID_DEVICE);
        ok(cuMulticastAddDevice(team, 0));
        assert_eq!(cuMulticastAddDevice(team, 0), invalid);
        for (offset, from, size) in [
            (1, 0, PAGE),
            (0, 1, PAGE),
            (0, 0, PAGE + 1),
            (0, 0, 0),
            (0, PAGE, 2 * PAGE),
            (3 * PAGE, 0, 2 * PAGE),
        ] {
            assert_eq!(
                cuMulticastBindMem(team, offset, memory, from, size, 0),
                invalid,
                "{offset} {from} {size}"
            );
        }
        ok(cuMulticastBindMem(team, PAGE, memory, PAGE, PAGE, 0));
        assert_eq!(cuMulticastBindMem(team, PAGE, memory, 0, PAGE, 0), invalid, "taken");
        assert_eq!(cuMulticastBindMem(memory, 0, memory, 0, PAGE, 0), invalid, "no multicast object");
        assert_eq!(cuMulticastBindAddr(team, 0, at, PAGE, 0), invalid, "nothing lies there");
        assert_eq!(cuMulticastUnbind(team, 0, PAGE, 2 * PAGE), invalid, "more than was bound");
        assert_eq!(cuMemMap(at, 4 * PAGE, PAGE, team, 0), invalid, "beyond the object");
        // The object and what it binds outlive their handles while they are mapped.
        ok(cuMemMap(at, 2 * PAGE, PAGE, team, 0));
        ok(cuMemRelease(team));
        ok(cuMemRelease(memory));
        ok(cuMemRetainAllocationHandle(out(&mut other), at as *mut _));
        assert_eq!(other, team);
        ok(cuMulticastUnbind(team, 0, PAGE, PAGE));
        ok(cuMemRelease(team));
        ok(cuMemUnmap(at, 2 * PAGE));
        assert_eq!(cuMulticastUnbind(team, 0, PAGE, PAGE), invalid);
        ok(cuMemAddressFree(at, 4 * PAGE));
    }
}
