//! Accesses of the host's own code to managed and pinned memory, without a call, before it has waited for the kernel that uses
//! it; and programs that do the like and are right.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

use std::fs::File;
use std::io::Read;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use cust::event::{Event, EventFlags, EventStatus};
use cust::memory::{LockedBuffer, UnifiedBuffer};
use cust::prelude::*;
use cust::stream::StreamWaitEventFlags;
use cust::sys;
use warpsmith_cuda::abi::{CUresult, Out};
use warpsmith_cuda::entry::memory::{cuMemAllocManaged, cuMemFree_v2, cuMemFreeHost, cuMemHostAlloc};

/// `fills` writes `p[i] = 3 * i + 1`; `adds` reads `p[i]` and adds it to `to[i]`; `signals` fills, and tells so by a flag, behind a
/// fence for the whole system; `careless` does so by a plain store, without one; `waits` fills when a flag is set; `tells` sets a
/// flag of the device, for which `hears` waits.
const KERNELS: &str = "
.version 7.0
.target sm_75
.address_size 64
.visible .global .attribute(.managed) .align 4 .b8 TABLE[256];
.visible .entry fills(.param .u64 p)
{
    .reg .b32 %r<5>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r1, %r1, %r2, %r3;
    mad.lo.u32 %r4, %r1, 3, 1;
    mad.wide.u32 %rd2, %r1, 4, %rd1;
    st.global.u32 [%rd2], %r4;
    ret;
}
.visible .entry adds(.param .u64 p, .param .u64 to)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [p];
    ld.param.u64 %rd2, [to];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd1, %rd1, %rd3;
    add.s64 %rd2, %rd2, %rd3;
    ld.global.u32 %r2, [%rd1];
    ld.global.u32 %r3, [%rd2];
    add.u32 %r2, %r2, %r3;
    st.global.u32 [%rd2], %r2;
    ret;
}
.visible .entry signals(.param .u64 p, .param .u64 flag)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<4>;
    .reg .pred %p;
    ld.param.u64 %rd1, [p];
    ld.param.u64 %rd3, [flag];
    mov.u32 %r1, %tid.x;
    mad.lo.u32 %r2, %r1, 3, 1;
    mad.wide.u32 %rd2, %r1, 4, %rd1;
    st.global.u32 [%rd2], %r2;
    bar.sync 0;
    setp.ne.u32 %p, %r1, 0;
    @%p bra END;
    fence.acq_rel.sys;
    st.relaxed.sys.global.u32 [%rd3], 1;
END:
    ret;
}
.visible .entry careless(.param .u64 p, .param .u64 flag)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<4>;
    .reg .pred %p;
    ld.param.u64 %rd1, [p];
    ld.param.u64 %rd3, [flag];
    mov.u32 %r1, %tid.x;
    mad.lo.u32 %r2, %r1, 3, 1;
    mad.wide.u32 %rd2, %r1, 4, %rd1;
    st.global.u32 [%rd2], %r2;
    bar.sync 0;
    setp.ne.u32 %p, %r1, 0;
    @%p bra END;
    st.global.u32 [%rd3], 1;
END:
    ret;
}
.visible .entry waits(.param .u64 p, .param .u64 flag)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    .reg .pred %p;
    ld.param.u64 %rd1, [p];
    ld.param.u64 %rd3, [flag];
AGAIN:
    ld.acquire.sys.global.u32 %r3, [%rd3];
    setp.eq.u32 %p, %r3, 0;
    @%p bra AGAIN;
    mov.u32 %r1, %tid.x;
    mad.lo.u32 %r2, %r1, 3, 1;
    mad.wide.u32 %rd2, %r1, 4, %rd1;
    st.global.u32 [%rd2], %r2;
    ret;
}
.visible .entry tells(.param .u64 p, .param .u64 flag)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    .reg .pred %p;
    ld.param.u64 %rd1, [flag];
    mov.u32 %r1, %tid.x;
    setp.ne.u32 %p, %r1, 0;
    @%p bra END;
    st.release.gpu.global.u32 [%rd1], 1;
END:
    ret;
}
.visible .entry hears(.param .u64 flag)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    .reg .pred %p;
    ld.param.u64 %rd1, [flag];
AGAIN:
    ld.acquire.gpu.global.u32 %r1, [%rd1];
    setp.eq.u32 %p, %r1, 0;
    @%p bra AGAIN;
    ret;
}";

fn page() -> usize {
    // SAFETY: this call has no preconditions.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap()
}

/// Words that one block of the tests writes.
const WORDS: u32 = 64;

/// A context, its module, a stream, and memory that the host reaches.
struct Program {
    memory: *mut u32,
    stream: Stream,
    module: Module,
    pinned: bool,
    _context: Context,
}

impl Program {
    fn new(bytes: usize, pinned: bool) -> Self {
        let context = cust::quick_init().unwrap();
        Program {
            memory: Self::allocate(bytes, pinned),
            stream: Stream::new(StreamFlags::NON_BLOCKING, None).unwrap(),
            module: Module::from_ptx(KERNELS, &[]).unwrap(),
            pinned,
            _context: context,
        }
    }

    fn allocate(bytes: usize, pinned: bool) -> *mut u32 {
        let (mut address, mut pointer) = (0, std::ptr::null_mut());
        // SAFETY: both are valid places.
        let answer = unsafe {
            match pinned {
                true => cuMemHostAlloc(Out::new(&mut pointer), bytes, 0),
                false => cuMemAllocManaged(Out::new(&mut address), bytes, 1),
            }
        };
        assert_eq!(answer, CUresult::SUCCESS);
        if pinned { pointer.cast() } else { address as *mut u32 }
    }

    fn managed() -> Self {
        Self::new(WORDS as usize * 4, false)
    }

    fn at(&self, word: usize) -> u64 {
        self.memory as u64 + word as u64 * 4
    }

    fn fill(&self, blocks: u32) {
        let (stream, kernel) = (&self.stream, self.module.get_function("fills").unwrap());
        // SAFETY: the memory has a word for each thread.
        unsafe { launch!(kernel<<<blocks, WORDS, 0, stream>>>(self.at(0))) }.unwrap();
    }

    /// Launches a kernel of two pointers.
    fn launch(&self, name: &str, to: u64) {
        let (stream, kernel) = (&self.stream, self.module.get_function(name).unwrap());
        // SAFETY: both have a word for each thread that uses them.
        unsafe { launch!(kernel<<<1, WORDS, 0, stream>>>(self.at(0), to)) }.unwrap();
    }

    fn load(&self, word: usize) -> u32 {
        // SAFETY: a word of the memory.
        unsafe { self.memory.add(word).read_volatile() }
    }

    fn store(&self, word: usize, value: u32) {
        // SAFETY: as for `load`.
        unsafe { self.memory.add(word).write_volatile(value) }
    }

    fn free(&self) {
        // SAFETY: no kernel uses it any more, or the checks tell.
        let answer = unsafe {
            match self.pinned {
                true => cuMemFreeHost(self.memory.cast()),
                false => cuMemFree_v2(self.memory as u64),
            }
        };
        assert_eq!(answer, CUresult::SUCCESS);
    }
}

/// Runs a program that is wrong unless it is told to be right: the right one has no finding.
macro_rules! twins {
    ($($wrong:ident $right:ident: $program:expr, $expected:literal;)*) => {$(
        #[test]
        #[should_panic(expected = $expected)]
        fn $wrong() {
            let _checked = warpsmith_cuda::checked();
            $program(false);
        }

        #[test]
        fn $right() {
            let _checked = warpsmith_cuda::checked();
            $program(true);
        }
    )*};
}
twins! {
    a_load_of_what_a_kernel_writes a_load_behind_the_stream: load,
        "the host's code without a call reads what kernel `fills` on stream";
    a_store_to_what_a_kernel_reads a_store_behind_the_stream: store,
        "the host's code without a call writes what kernel `adds` on stream";
    a_load_of_what_a_copy_writes a_load_behind_the_copy: copied,
        "the host's code without a call reads what a copy on stream";
    a_load_behind_an_event_of_streams a_load_behind_an_event: event, "the host's code without a call reads";
    a_load_behind_a_plain_flag a_load_behind_a_flag: flag, "the host's code without a call reads";
    a_load_on_the_default_stream a_load_behind_the_context: default_stream,
        "what kernel `fills` on the default stream writes";
    an_index_into_a_unified_buffer an_index_behind_the_stream: unified, "the host's code without a call reads";
    the_same_half_of_a_buffer the_other_half_of_a_buffer: halves, "the host's code without a call reads";
    a_load_of_a_variable a_variable_behind_the_stream: variable, "the host's code without a call reads";
    another_thread another_thread_behind_the_wait: threads, "the host's code without a call reads";
}

fn load(right: bool) {
    let program = Program::managed();
    program.fill(1);
    if right {
        program.stream.synchronize().unwrap();
    }
    assert_eq!(program.load(5), 16);
    program.free();
}

fn store(right: bool) {
    let program = Program::managed();
    (0..WORDS).for_each(|word| program.store(word as usize, word));
    let to = DeviceBuffer::from_slice(&[1u32; WORDS as usize]).unwrap();
    program.launch("adds", to.as_device_ptr().as_raw());
    assert_eq!(program.load(3), 3, "both read it");
    if right {
        program.stream.synchronize().unwrap();
    }
    program.store(3, 9);
    program.stream.synchronize().unwrap();
    assert_eq!(to.as_host_vec().unwrap()[3..5], [4, 5]);
    assert_eq!(program.load(3), 9);
    program.free();
}

fn copied(right: bool) {
    let program = Program::new(WORDS as usize * 4, true);
    let from = DeviceBuffer::from_slice(&[7u32; WORDS as usize]).unwrap();
    let stream = program.stream.as_inner();
    // SAFETY: both have as many bytes.
    let copy = unsafe {
        sys::cuMemcpyDtoHAsync_v2(program.memory.cast(), from.as_device_ptr().as_raw(), 256, stream)
    };
    assert_eq!(copy, sys::cudaError_enum::CUDA_SUCCESS);
    if right {
        program.stream.synchronize().unwrap();
    }
    assert_eq!(program.load(5), 7);
    program.stream.synchronize().unwrap();
    program.free();
}

/// An event that only another stream waits for tells the host nothing; one that it asks until it is there does.
fn event(right: bool) {
    let program = Program::managed();
    program.fill(1);
    let event = Event::new(EventFlags::DISABLE_TIMING).unwrap();
    event.record(&program.stream).unwrap();
    if right {
        while event.query().unwrap() == EventStatus::NotReady {}
    } else {
        let other = Stream::new(StreamFlags::NON_BLOCKING, None).unwrap();
        other.wait_event(event, StreamWaitEventFlags::DEFAULT).unwrap();
    }
    assert_eq!(program.load(5), 16);
    program.stream.synchronize().unwrap();
    program.free();
}

/// The host polls a word of pinned memory. What a kernel stores there without a fence for the system is no order.
fn flag(right: bool) {
    let program = Program::managed();
    let mut word = LockedBuffer::new(&0u32, 1).unwrap();
    let place = word.as_mut_ptr();
    program.launch(if right { "signals" } else { "careless" }, place as u64);
    // SAFETY: the pinned word, which lives as long.
    let flag = unsafe { AtomicU32::from_ptr(place) };
    while flag.load(Ordering::Acquire) == 0 {}
    assert_eq!(program.load(5), 16);
    program.stream.synchronize().unwrap();
    program.free();
}

/// With no other stream than the default one.
fn default_stream(right: bool) {
    let context = cust::quick_init().unwrap();
    let module = Module::from_ptx(KERNELS, &[]).unwrap();
    let mut address = 0;
    let kernel = module.get_function("fills").unwrap().to_raw();
    // SAFETY: the places live longer than the calls; the memory has a word for each thread.
    unsafe {
        assert_eq!(cuMemAllocManaged(Out::new(&mut address), 256, 1), CUresult::SUCCESS);
        let mut parameters = [std::ptr::from_ref(&address).cast_mut().cast()];
        let (stream, parameters) = (std::ptr::null_mut(), parameters.as_mut_ptr());
        let launched =
            sys::cuLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, stream, parameters, std::ptr::null_mut());
        assert_eq!(launched, sys::cudaError_enum::CUDA_SUCCESS);
        if right {
            sys::cuCtxSynchronize();
        }
        assert_eq!((address as *const u32).add(63).read_volatile(), 190);
        assert_eq!(cuMemFree_v2(address), CUresult::SUCCESS);
    }
    drop(context);
}

/// A variable of the module that the host reaches.
fn variable(right: bool) {
    let mut program = Program::managed();
    let buffer = program.memory;
    let table = format!("{:p}", program.module.get_global::<[u32; 64]>(c"TABLE").unwrap());
    program.memory = u64::from_str_radix(table.trim_start_matches("0x"), 16).unwrap() as *mut u32;
    program.fill(1);
    if right {
        program.stream.synchronize().unwrap();
    }
    assert_eq!(program.load(5), 16);
    program.stream.synchronize().unwrap();
    program.memory = buffer;
    program.free();
}

fn unified(right: bool) {
    let _context = cust::quick_init().unwrap();
    let module = Module::from_ptx(KERNELS, &[]).unwrap();
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None).unwrap();
    let kernel = module.get_function("fills").unwrap();
    let mut buffer = UnifiedBuffer::new(&0u32, WORDS as usize).unwrap();
    for round in 0..2 {
        buffer[0] = round;
        // SAFETY: the buffer has a word for each thread.
        unsafe { launch!(kernel<<<1, WORDS, 0, stream>>>(buffer.as_unified_ptr())) }.unwrap();
        if right {
            stream.synchronize().unwrap();
        }
        assert_eq!(buffer.iter().sum::<u32>(), 64 * 63 / 2 * 3 + 64);
        stream.synchronize().unwrap();
    }
}

/// The kernel fills the first of three pages and half the second; a file is read into the rest by a system call.
fn halves(right: bool) {
    let program = Program::new(3 * page(), true);
    let rest = page() * 3 / 2;
    program.fill(rest as u32 / 4 / WORDS);
    // SAFETY: the part of the memory that no kernel uses.
    let other =
        unsafe { std::slice::from_raw_parts_mut(program.memory.cast::<u8>().add(rest), 3 * page() - rest) };
    File::open("/dev/zero").unwrap().read_exact(other).unwrap();
    other[0] = 1;
    if !right {
        assert_eq!(program.load(0), 1);
    }
    program.stream.synchronize().unwrap();
    assert_eq!(
        [program.load(0), program.load(rest / 4 - 1), program.load(rest / 4)],
        [1, rest as u32 / 4 * 3 - 2, 1]
    );
    program.free();
}

/// A thread that the one which waits has told of it need not wait itself.
fn threads(right: bool) {
    let program = Program::managed();
    program.fill(1);
    if right {
        program.stream.synchronize().unwrap();
    }
    let address = program.at(5);
    // SAFETY: a word of the memory, which lives longer than the thread.
    let loads = move || unsafe { (address as *const u32).read_volatile() };
    assert_eq!(std::thread::spawn(loads).join().unwrap(), 16);
    program.free();
}

#[test]
fn a_callback_tells_the_host() {
    let _checked = warpsmith_cuda::checked();
    let program = Program::managed();
    program.fill(1);
    let (done, tell, address) =
        (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)), program.at(7));
    let (callback_done, callback_tell) = (done.clone(), tell.clone());
    let callback = move || {
        // SAFETY: a word of the memory, which lives longer than the callback.
        assert_eq!(unsafe { (address as *const u32).read_volatile() }, 22);
        callback_done.store(true, Ordering::Release);
        while !callback_tell.load(Ordering::Acquire) {}
    };
    program.stream.add_callback(Box::new(callback)).unwrap();
    while !done.load(Ordering::Acquire) {}
    assert_eq!(program.load(5), 16);
    tell.store(true, Ordering::Release);
    program.stream.synchronize().unwrap();
    program.free();
}

/// The first kernel's work is known to the host by the flag of the second.
#[test]
fn a_flag_tells_of_all_before_it() {
    let _checked = warpsmith_cuda::checked();
    let program = Program::new(2 * page(), false);
    let mut word = LockedBuffer::new(&0u32, 1).unwrap();
    let words = 2 * page() / 4;
    program.fill(words as u32 / WORDS);
    program.launch("signals", word.as_mut_ptr() as u64);
    // SAFETY: the pinned word, which lives as long.
    while unsafe { AtomicU32::from_ptr(word.as_mut_ptr()) }.load(Ordering::Acquire) == 0 {}
    assert_eq!(program.load(words - 1), words as u32 * 3 - 2);
    program.stream.synchronize().unwrap();
    program.free();
}

/// The second kernel tells the third by a flag of the device that the first is done, and the host waits for the third.
#[test]
fn a_flag_of_the_device_tells_of_all_before_it() {
    let _checked = warpsmith_cuda::checked();
    let program = Program::managed();
    let word = DeviceBuffer::from_slice(&[0u32]).unwrap();
    let flag = word.as_device_ptr().as_raw();
    let other = Stream::new(StreamFlags::NON_BLOCKING, None).unwrap();
    program.fill(1);
    program.launch("tells", flag);
    let kernel = program.module.get_function("hears").unwrap();
    // SAFETY: the flag is a word.
    unsafe { launch!(kernel<<<1, 1, 0, other>>>(flag)) }.unwrap();
    other.synchronize().unwrap();
    assert_eq!(program.load(5), 16);
    program.stream.synchronize().unwrap();
    program.free();
}

/// A fill sets the word that the host polls.
#[test]
fn a_fill_of_a_word_is_a_flag() {
    let _checked = warpsmith_cuda::checked();
    let program = Program::managed();
    let mut word = LockedBuffer::new(&0u32, 1).unwrap();
    let place = word.as_mut_ptr();
    program.fill(1);
    // SAFETY: the pinned word, which lives as long, as below.
    let filled = unsafe { sys::cuMemsetD32Async(place as u64, 1, 1, program.stream.as_inner()) };
    assert_eq!(filled, sys::cudaError_enum::CUDA_SUCCESS);
    // SAFETY: as above.
    while unsafe { AtomicU32::from_ptr(place) }.load(Ordering::Acquire) == 0 {}
    assert_eq!(program.load(5), 16);
    program.stream.synchronize().unwrap();
    program.free();
}

/// Wrong in another way: it goes on, and is no race.
#[test]
fn a_load_behind_the_end_of_the_memory_goes_on() {
    let _checked = warpsmith_cuda::checked();
    let program = Program::managed();
    program.fill(1);
    assert_eq!(program.load(page() / 4 - 1), 0);
    program.stream.synchronize().unwrap();
    program.free();
}

#[test]
fn threads_free_what_they_waited_for_and_allocate_again() {
    let _checked = warpsmith_cuda::checked();
    let work = || {
        let mut program = Program::managed();
        for _ in 0..50 {
            program.fill(1);
            program.stream.synchronize().unwrap();
            assert_eq!(program.load(5), 16);
            program.free();
            program.memory = Program::allocate(WORDS as usize * 4, false);
        }
        program.free();
    };
    std::thread::scope(|scope| {
        let threads = [0; 4].map(|_| scope.spawn(work));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

/// An asynchronous copy from the host's memory to the host's is none.
#[test]
fn a_copy_within_the_hosts_memory_is_there_at_once() {
    let _checked = warpsmith_cuda::checked();
    let program = Program::new(256, true);
    let mut from = LockedBuffer::new(&7u32, WORDS as usize).unwrap();
    let stream = program.stream.as_inner();
    // SAFETY: both have as many bytes.
    let copy = unsafe { sys::cuMemcpyAsync(program.at(0), from.as_mut_ptr() as u64, 256, stream) };
    assert_eq!(copy, sys::cudaError_enum::CUDA_SUCCESS);
    assert_eq!(program.load(63), 7);
    program.free();
}

#[test]
fn the_time_between_events_tells_that_they_are_over() {
    let _checked = warpsmith_cuda::checked();
    let program = Program::managed();
    let events = [0, 1].map(|_| Event::new(EventFlags::DEFAULT).unwrap());
    events[0].record(&program.stream).unwrap();
    program.fill(1);
    events[1].record(&program.stream).unwrap();
    while events[1].elapsed_time_f32(&events[0]).is_err() {}
    assert_eq!(program.load(5), 16);
    program.stream.synchronize().unwrap();
    program.free();
}

/// A launch returns though its kernel waits for what the host does next.
#[test]
fn a_kernel_that_waits_for_the_host_goes_on() {
    let _checked = warpsmith_cuda::checked();
    let program = Program::managed();
    let mut word = LockedBuffer::new(&0u32, 1).unwrap();
    let place = word.as_mut_ptr();
    let start = Instant::now();
    for _ in 0..4 {
        // SAFETY: the pinned word, which lives as long.
        let flag = unsafe { AtomicU32::from_ptr(place) };
        flag.store(0, Ordering::Relaxed);
        program.launch("waits", place as u64);
        flag.store(1, Ordering::Release);
        program.stream.synchronize().unwrap();
    }
    assert!(start.elapsed() < Duration::from_secs(30));
    assert_eq!(program.load(5), 16);
    program.free();
}

/// A child that is forked off has the memory as it is, and no device.
#[test]
fn a_forked_child_reads_what_it_likes() {
    let _checked = warpsmith_cuda::checked();
    let program = Program::managed();
    program.fill(1);
    // SAFETY: the child only reads, makes system calls, and ends.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            let zero = libc::open(c"/dev/zero".as_ptr(), libc::O_RDONLY);
            let right = program.load(5) == 16 && libc::read(zero, program.memory.cast(), 256) == 256;
            libc::_exit(if right && program.load(5) == 0 { 7 } else { 8 });
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(child, &mut status, 0), child);
        assert_eq!(libc::WEXITSTATUS(status), 7);
    }
    program.stream.synchronize().unwrap();
    assert_eq!(program.load(5), 16);
    program.free();
}

/// Not a test of its own: a program whose loads are told by their lines, which faults elsewhere in the end.
#[test]
#[ignore = "run by other tests, in processes of their own"]
fn child() {
    let end = std::env::var("HOST_ACCESS_END").unwrap();
    // SAFETY: the handler only writes, and an all-zero action is valid.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let said: extern "C" fn(i32) = handled;
        (action.sa_sigaction, action.sa_flags) = (said as usize, libc::SA_RESETHAND);
        match end.as_str() {
            "ignored" => action.sa_sigaction = libc::SIG_IGN,
            "once" => {}
            _ => assert_eq!(libc::sigaction(libc::SIGSEGV, std::ptr::null(), &mut action), 0),
        }
        assert_eq!(libc::sigaction(libc::SIGSEGV, &action, std::ptr::null_mut()), 0);
    }
    let program = Program::new(256, end == "free");
    program.fill(1);
    if end == "free" {
        return program.free();
    }
    assert_eq!(program.load(5), 16);
    if matches!(end.as_str(), "ignored" | "once") {
        // SAFETY: the signal is the program's own.
        unsafe { [libc::raise(libc::SIGSEGV), libc::raise(libc::SIGSEGV)] };
    }
    if end == "fault" {
        // SAFETY: none; the program is wrong, and ends.
        unsafe { std::ptr::without_provenance::<u8>(64).read_volatile() };
    }
    std::mem::forget(program);
}

extern "C" fn handled(_: i32) {
    // SAFETY: a write of bytes that are there.
    unsafe { libc::write(2, c"handled\n".as_ptr().cast(), 8) };
}

fn run(end: &str) -> (std::process::ExitStatus, String) {
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(["--exact", "child", "--ignored", "--nocapture"]).env("HOST_ACCESS_END", end);
    let output = program.env("WARPSMITH_CHECK", "all").env("WARPSMITH_DEVICE", "virtual").output().unwrap();
    (output.status, String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn the_report_has_the_lines_of_both_and_the_launch_that_was_not_awaited() {
    let (status, said) = run("");
    assert!(!status.success(), "{said}");
    let line =
        include_str!("host_access.rs").lines().position(|line| line.contains(".add(word).read_volatile()"));
    for part in [
        "the host's code without a call reads what kernel `fills` on stream",
        "at byte 20 of 256 of global memory `host memory`",
        &format!("accessed at {}/tests/host_access.rs:{}", env!("CARGO_MANIFEST_DIR"), line.unwrap() + 1),
        "write by thread (5, 0, 0) of block (0, 0, 0)",
        "help: wait on the host for the stream",
        "the program ends while the kernel is in flight",
        "1 launch checked",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
}

#[test]
fn a_free_that_waits_in_place_of_the_host_is_a_warning() {
    let (status, said) = run("free");
    assert!(status.success(), "{said}");
    for part in [
        "warning: race with the host: the free in a call that waits writes what kernel `fills` on stream",
        "and only this call waits for that",
        "called at ",
        "tests/host_access.rs:",
        "0 errors, 1 warning, 0 notes",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
}

#[test]
fn other_faults_are_the_programs() {
    use std::os::unix::process::ExitStatusExt as _;
    let (status, said) = run("fault");
    assert_eq!(status.signal(), Some(libc::SIGSEGV), "{said}");
    let (status, said) = run("ignored");
    assert!(status.signal().is_none() && said.contains("the host's code without a call reads"), "{said}");
    let (status, said) = run("once");
    assert_eq!((status.signal(), said.matches("handled\n").count()), (Some(libc::SIGSEGV), 1), "{said}");
}
