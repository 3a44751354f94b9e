//! The sanitizer, switched on by the environment, under an unaware program.
#![cfg(unix)]

use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use cust::prelude::*;
use warpsmith_cuda::abi::{CUresult, Out};
use warpsmith_cuda::entry::contexts::{cuCtxSetCurrent, cuDevicePrimaryCtxRetain, cuInit};
use warpsmith_cuda::entry::memory::{cuMemAlloc_v2, cuMemFree_v2};
use warpsmith_cuda::{DevicePreference, choose};

const KERNEL: &str = "
.version 7.0
.target sm_75
.address_size 64
.visible .entry increment(.param .u64 p)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    mad.wide.u32 %rd2, %r1, 4, %rd1;
    ld.global.u32 %r2, [%rd2];
    add.u32 %r2, %r2, 1;
    st.global.u32 [%rd2], %r2;
    ret;
}";

const WAITS: &str = "
.version 7.0
.target sm_75
.address_size 64
.visible .entry waits(.param .u64 flag, .param .u64 p)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<3>;
    .reg .pred %p<2>;
    ld.param.u64 %rd1, [flag];
    ld.param.u64 %rd2, [p];
again:
    ld.acquire.sys.u32 %r1, [%rd1];
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra again;
    st.global.u32 [%rd2+256], %r1;
    ret;
}";

/// Not a test of its own: the program that the tests run. It has 64 elements, and as many threads as it is told.
#[test]
#[ignore = "run by other tests, in processes of their own"]
fn child() {
    let threads: u32 = std::env::var("CHECK_TEST_THREADS").unwrap().parse().unwrap();
    if let Err(refused) = choose(Some(DevicePreference::Virtual), None) {
        panic!("{refused}");
    }
    let _context = cust::quick_init().unwrap();
    let module = Module::from_ptx(KERNEL, &[]).unwrap();
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None).unwrap();
    let buffer = DeviceBuffer::from_slice(&[0u32; 64]).unwrap();
    let function = module.get_function("increment").unwrap();
    // SAFETY: the buffer outlives the launch; whether the threads are too many is what the sanitizer has to say.
    unsafe { launch!(function<<<1, threads, 0, stream>>>(buffer.as_device_ptr())) }.unwrap();
    let _ = stream.synchronize();
    // SAFETY: these end the process, or make another of it, as a program may at any time.
    unsafe {
        match std::env::var("CHECK_TEST_END").as_deref() {
            Ok("_exit") => libc::_exit(0),
            Ok("abort") => std::process::abort(),
            Ok("signal") => drop(libc::raise(libc::SIGKILL)),
            Ok("exec") => {
                use std::os::unix::process::CommandExt as _;
                let failed = command("child", "64").env_remove("CHECK_TEST_END").exec();
                panic!("{failed}");
            }
            _ => {}
        }
    }
}

/// Another such program: it gives its buffer back only when the process ends, as static objects of C++ do.
#[test]
#[ignore = "run by other tests, in processes of their own"]
fn late_child() {
    static ADDRESS: AtomicU64 = AtomicU64::new(0);
    extern "C" fn free() {
        // SAFETY: nothing uses the buffer any more.
        unsafe { cuMemFree_v2(ADDRESS.load(Ordering::Relaxed)) };
    }
    // SAFETY: the handler is a plain function that lives as long as the process.
    unsafe { libc::atexit(free) };
    choose(Some(DevicePreference::Virtual), None).unwrap_or_else(|refused| panic!("{refused}"));
    let (mut context, mut address) = (0, 0);
    // SAFETY: both are valid places.
    unsafe {
        assert_eq!(cuInit(0), CUresult::SUCCESS);
        assert_eq!(cuDevicePrimaryCtxRetain(Out::new(&mut context), 0), CUresult::SUCCESS);
        assert_eq!(cuCtxSetCurrent(context), CUresult::SUCCESS);
        assert_eq!(cuMemAlloc_v2(Out::new(&mut address), 64), CUresult::SUCCESS);
    }
    ADDRESS.store(address, Ordering::Relaxed);
}

/// A third: it asks for what it cannot have, and looks at no answer.
#[test]
#[ignore = "run by other tests, in processes of their own"]
fn careless_child() {
    choose(Some(DevicePreference::Virtual), None).unwrap_or_else(|refused| panic!("{refused}"));
    let _context = cust::quick_init().unwrap();
    let module = Module::from_ptx(KERNEL, &[]).unwrap();
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None).unwrap();
    let buffer = DeviceBuffer::from_slice(&[0u32; 64]).unwrap();
    let function = module.get_function("increment").unwrap();
    let mut address = 0;
    for _ in 0..2 {
        // SAFETY: the place is valid; the driver refuses more than the device has.
        unsafe { cuMemAlloc_v2(Out::new(&mut address), 1 << 50) };
    }
    // SAFETY: the driver refuses a block of so many threads.
    let _ = unsafe { launch!(function<<<1, 4096, 0, stream>>>(buffer.as_device_ptr())) };
    // SAFETY: the driver refuses to free what it did not give.
    unsafe { cuMemFree_v2(0x7) };
}

/// A fourth: it waits for nothing, and ends while its kernel waits for a word of pinned memory, which is set behind its end.
/// Then the kernel writes behind its buffer.
#[test]
#[ignore = "run by other tests, in processes of their own"]
fn hasty_child() {
    static WORD: AtomicU64 = AtomicU64::new(0);
    extern "C" fn set_later() {
        std::thread::spawn(|| {
            std::thread::sleep(Duration::from_millis(500));
            // SAFETY: the pinned word, which is never freed.
            unsafe { (*(WORD.load(Ordering::Relaxed) as *const AtomicU32)).store(1, Ordering::Release) };
        });
    }
    choose(Some(DevicePreference::Virtual), None).unwrap_or_else(|refused| panic!("{refused}"));
    let _context = std::mem::ManuallyDrop::new(cust::quick_init().unwrap());
    let module = std::mem::ManuallyDrop::new(Module::from_ptx(WAITS, &[]).unwrap());
    let stream = std::mem::ManuallyDrop::new(Stream::new(StreamFlags::NON_BLOCKING, None).unwrap());
    let mut word = std::mem::ManuallyDrop::new(cust::memory::LockedBuffer::new(&0u32, 1).unwrap());
    let buffer = std::mem::ManuallyDrop::new(DeviceBuffer::from_slice(&[0u32; 64]).unwrap());
    WORD.store(word.as_mut_ptr() as u64, Ordering::Relaxed);
    let function = module.get_function("waits").unwrap();
    let (flag, data) = (WORD.load(Ordering::Relaxed), buffer.as_device_ptr().as_raw());
    // SAFETY: what is wrong with it is what the checks are to tell.
    unsafe { launch!(function<<<1, 1, 0, stream>>>(flag, data)) }.unwrap();
    if std::env::var("CHECK_TEST_END").as_deref() == Ok("terminated") {
        // SAFETY: ends the process, as another may at any time.
        unsafe { libc::kill(libc::getpid(), libc::SIGTERM) };
        std::thread::sleep(Duration::from_secs(60));
    }
    // SAFETY: the handler is a plain function that lives as long as the process.
    unsafe { libc::atexit(set_later) };
    std::process::exit(0);
}

fn command(child: &str, threads: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", child, "--ignored", "--nocapture"]).env("CHECK_TEST_THREADS", threads);
    command
}

fn run(check: &str, threads: &str) -> (Output, String) {
    run_child("child", check, threads)
}

fn run_child(child: &str, check: &str, threads: &str) -> (Output, String) {
    let output = command(child, threads).env("WARPSMITH_CHECK", check).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, said)
}

#[test]
fn a_program_without_fault_ends_well_and_is_told_so() {
    let (output, said) = run("memory,race,barrier", "64");
    assert!(output.status.success(), "{said}");
    assert!(said.contains("nothing found; 1 launch checked (memory, race, barrier)"), "{said}");
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_freed_when_the_process_ends_is_no_leak() {
    let (output, said) = run_child("late_child", "memory", "");
    assert!(output.status.success(), "{said}");
    assert!(said.contains("nothing found; 0 launches checked (memory)"), "{said}");
}

#[test]
fn a_finding_is_told_and_fails_the_program() {
    let (output, said) = run("memory", "65");
    assert!(!output.status.success(), "{said}");
    assert!(said.contains("increment") && said.contains("64"), "{said}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("findings.json");
    let (output, _) = run(&format!("memory:{}", file.display()), "65");
    assert!(!output.status.success());
    let findings: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    // Where this program asked for the buffer.
    let allocated = &findings["findings"][0]["object"]["allocated"];
    let place = allocated["file"].as_str().unwrap();
    assert!(place.starts_with('/') && place.ends_with("tests/check.rs"), "{findings}");
    assert!(allocated["function"].as_str().unwrap().contains("child"), "{findings}");
    assert_eq!(findings["findings"][0]["object"]["size"], 256, "{findings}");
}

/// The findings in each file that a program left which ended in this way, each file's after the process' number.
fn left(end: &str) -> Vec<usize> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("{pid}-{n}.json");
    let mut program = command("child", "65");
    program.env("WARPSMITH_CHECK", format!("memory:{}", file.display())).env("CHECK_TEST_END", end);
    program.output().unwrap();
    let mut files: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let findings = |file: std::path::PathBuf| {
        let report = std::fs::read_to_string(file).unwrap();
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        report["findings"].as_array().unwrap().len()
    };
    files.into_iter().map(findings).collect()
}

#[test]
fn what_was_found_is_kept_however_the_process_ends() {
    for end in ["_exit", "abort", "signal"] {
        assert_eq!(left(end), [2], "{end}: the load and the store");
    }
    assert_eq!(left("exec"), [2, 0], "the first program's, and none of the second");
}

#[test]
fn a_launch_in_flight_at_the_end_of_the_program_is_checked_and_told() {
    let (output, said) = run_child("hasty_child", "all", "1");
    assert!(!output.status.success(), "{said}");
    for part in ["the program ends while the kernel is in flight", "1 error, 1 warning", "1 launch checked"] {
        assert!(said.contains(part), "{part}\n{said}");
    }
}

#[test]
fn what_was_found_is_told_when_the_program_is_terminated() {
    use std::os::unix::process::ExitStatusExt as _;
    let mut program = command("hasty_child", "1");
    let output = program.env("WARPSMITH_CHECK", "all").env("CHECK_TEST_END", "terminated").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.signal(), Some(libc::SIGTERM), "{said}");
    assert!(said.contains("1 launch checked"), "{said}");
}

#[test]
fn a_call_that_fails_is_told_once_with_its_place_and_why() {
    let (output, text) = run_child("careless_child", "all", "64");
    assert!(!output.status.success(), "{text}");
    for part in [
        "warning: `cuMemAlloc` failed with CUDA_ERROR_OUT_OF_MEMORY (2): out of device memory: 1125899906842624 bytes",
        "seen 2 times",
        "error: `cuLaunchKernel` failed with CUDA_ERROR_INVALID_VALUE (1)",
        "called at ",
        "tests/check.rs:",
        "error: free of 0x7, where no buffer starts",
        "2 errors, 1 warning, 0 notes",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let (output, text) = run_child("careless_child", "race,init,barrier", "64");
    assert!(output.status.success() && text.contains("nothing found"), "{text}");
}

#[test]
fn a_mistaken_word_is_told() {
    let (output, said) = run("memory,rase", "64");
    assert!(!output.status.success());
    assert!(said.contains("`rase` is no check"), "{said}");
}

#[test]
fn a_launch_is_checked_and_profiled() {
    let folder = tempfile::tempdir().unwrap();
    let profile = folder.path().join("profile.json");
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--ignored", "--nocapture"])
        .env("WARPSMITH_CHECK", "all")
        .env("WARPSMITH_PROFILE", &profile)
        .env("WARPSMITH_MODULES", folder.path())
        .env("CHECK_TEST_THREADS", "65")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("error: "), "{said}");
    let profile: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(profile).unwrap()).unwrap();
    // Two warps load. What the third would load lies behind the end, and is skipped.
    assert_eq!(profile["launches"][0]["counters"]["global_load"]["requests"], 2, "{profile}");
    let kept: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let ptx = kept.iter().find(|file| file.extension().is_some_and(|extension| extension == "ptx"));
    assert_eq!(std::fs::read_to_string(ptx.expect("the module is kept")).unwrap(), KERNEL);
}
