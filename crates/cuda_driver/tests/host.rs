//! What a program may do to the driver from the host's side: fork, register what is not there, destroy from inside, ask for
//! more than there is.

mod driver;

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::mpsc;

use driver::*;

#[cfg(target_os = "linux")]
#[test]
fn memory_that_is_not_there_is_not_registered() {
    own_context();
    let page = 4096;
    // SAFETY: a mapping of the test's own, of which it touches what it leaves readable.
    unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let start = libc::mmap(null_mut(), 4 * page, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        assert_ne!(start, libc::MAP_FAILED);
        assert_eq!(libc::mprotect(start.byte_add(2 * page), page, libc::PROT_READ), 0);
        assert_eq!(libc::munmap(start.byte_add(3 * page), page), 0);
        let refused = CUresult::INVALID_VALUE;
        assert_eq!(cuMemHostRegister_v2(start, 4 * page, 0), refused, "the last page is gone");
        assert_eq!(cuMemHostRegister_v2(start, 1 << 44, 0), refused, "16 TiB");
        assert_eq!(cuMemHostRegister_v2(0x1000 as *mut c_void, page, 0), refused);
        assert_eq!(cuMemHostRegister_v2(start, 3 * page, 0), refused, "the third page cannot be written");
        const READ_ONLY: u32 = 8;
        for (bytes, flags) in [(2 * page, 0), (3 * page, READ_ONLY)] {
            assert_eq!(cuMemHostRegister_v2(start, bytes, flags), OK);
            assert_eq!(cuMemHostUnregister(start), OK);
        }
        libc::munmap(start, 3 * page);
    }
}

#[test]
fn more_pinned_memory_than_the_machine_has_is_refused() {
    own_context();
    let mut host = null_mut();
    // SAFETY: the place is valid.
    unsafe {
        assert_eq!(cuMemAllocHost_v2(out(&mut host), 1 << 44), CUresult::OUT_OF_MEMORY);
        assert_eq!(cuMemAllocHost_v2(out(&mut host), 1 << 20), OK);
        assert_eq!(cuMemFreeHost(host), OK);
    }
}

/// Bytes of this process that are in the machine's memory.
#[cfg(target_os = "linux")]
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    4096 * statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_not_touched_costs_nothing() {
    const MANY: usize = 100;
    const BYTES: usize = 8 << 20;
    own_context();
    let before = resident();
    #[cfg(feature = "foreign")]
    let array = {
        use warpsmith_cuda::abi::CUDA_ARRAY_DESCRIPTOR;
        CUDA_ARRAY_DESCRIPTOR { Width: 2048, Height: 1024, Format: 0x20, NumChannels: 1 }
    };
    let (mut addresses, mut pinned) = (Vec::new(), Vec::new());
    // SAFETY: the places are valid.
    unsafe {
        for _ in 0..MANY {
            for allocate in [
                |place| cuMemAlloc_v2(place, BYTES),
                |place| cuMemAllocManaged(place, BYTES, 1),
                |place| cuMemAllocAsync(place, BYTES, 0),
            ] {
                let mut address = 0;
                ok(allocate(out(&mut address)));
                addresses.push(address);
            }
            #[cfg(feature = "foreign")]
            ok(cuArrayCreate_v2(out(&mut 0), given(&array)));
            let mut host = null_mut();
            assert_eq!(cuMemAllocHost_v2(out(&mut host), BYTES / 4), OK);
            pinned.push(host);
        }
        let cost = resident().saturating_sub(before);
        assert!(cost < MANY * BYTES / 4, "{} MiB", cost >> 20);
        addresses.into_iter().for_each(|address| ok(cuMemFree_v2(address)));
        pinned.into_iter().for_each(|host| assert_eq!(cuMemFreeHost(host), OK));
    }
}

#[test]
fn a_context_is_not_destroyed_from_inside_its_work() {
    unsafe extern "C" fn destroys(data: *mut c_void) {
        // SAFETY: the box of the call below, which is handed over once.
        let (context, sender) =
            *unsafe { Box::from_raw(data.cast::<(usize, mpsc::Sender<[CUresult; 3]>)>()) };
        // SAFETY: the calls take no pointers.
        let answers = unsafe {
            [cuCtxDestroy_v2(context), cuDevicePrimaryCtxRelease_v2(0), cuDevicePrimaryCtxReset_v2(0)]
        };
        sender.send(answers).unwrap();
    }
    let context = own_context();
    let (sender, receiver) = mpsc::channel::<[CUresult; 3]>();
    let data = Box::into_raw(Box::new((context, sender)));
    // SAFETY: the function takes the box that it is given.
    unsafe {
        assert_eq!(cuLaunchHostFunc(0, Some(destroys), data.cast()), OK);
        assert_eq!(receiver.recv().unwrap(), [CUresult::NOT_PERMITTED; 3]);
        assert_eq!(cuCtxSynchronize(), OK);
        assert_eq!(cuCtxDestroy_v2(context), OK);
    }
}

#[cfg(unix)]
#[test]
fn a_forked_child_is_told_so() {
    own_context();
    let (mut address, mut stream, mut name) = (0, 0, std::ptr::null());
    // SAFETY: all places are valid. The child only calls the driver, and ends without running anything of the parent's; what
    // would hang ends by the alarm.
    unsafe {
        assert_eq!(cuStreamCreate(out(&mut stream), 1), OK);
        assert_eq!(cuMemAlloc_v2(out(&mut address), 64), OK);
        let child = libc::fork();
        if child == 0 {
            libc::alarm(60);
            let answers = [
                cuInit(0),
                cuDeviceGetCount(out(&mut 0)),
                cuMemAlloc_v2(out(&mut 0), 64),
                cuMemFree_v2(address),
                cuStreamSynchronize(stream),
                cuCtxSynchronize(),
            ];
            let named = cuGetErrorName(CUresult::NOT_INITIALIZED, out(&mut name));
            let right = named == OK && answers.iter().all(|&answer| answer == CUresult::NOT_INITIALIZED);
            libc::_exit(if right { 0 } else { 1 });
        }
        let mut status = -1;
        assert_eq!(libc::waitpid(child, &mut status, 0), child);
        assert_eq!(status, 0, "the child's answers, or the signal that ended it");
        assert_eq!(cuMemFree_v2(address), OK);
        assert_eq!(cuStreamSynchronize(stream), OK);
    }
}

#[test]
fn other_interfaces_objects_are_not_registered() {
    own_context();
    let mut resource = 0;
    // SAFETY: the place is valid.
    unsafe {
        assert_eq!(cuGraphicsGLRegisterBuffer(out(&mut resource), 1, 0), CUresult::NOT_SUPPORTED);
        assert_eq!(cuGraphicsGLRegisterImage(out(&mut resource), 1, 0x0de1, 0), CUresult::NOT_SUPPORTED);
        assert_eq!(cuGraphicsUnregisterResource(resource), CUresult::NOT_SUPPORTED);
    }
}
