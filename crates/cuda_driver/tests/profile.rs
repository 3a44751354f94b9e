//! Profiles of launches through the unmodified `cust`: recorded in the process, and written to a file.

use std::process::Command;

use cust::prelude::*;
use serde_json::Value;
use warpsmith_cuda::{DevicePreference, choose, profile};

const STRIDED: &str = "
.version 7.0
.target sm_75
.address_size 64
.visible .entry strided(.param .u64 p)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    mad.wide.u32 %rd2, %r1, 8, %rd1;
    ld.global.u32 %r2, [%rd2];
    st.global.u32 [%rd2], %r2;
    ret;
}
.visible .entry stop() { trap; }";

fn launch(kernel: &str) -> Result<(), cust::error::CudaError> {
    choose(Some(DevicePreference::Virtual), None).unwrap();
    let _context = cust::quick_init()?;
    let module = Module::from_ptx(STRIDED, &[])?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let buffer = DeviceBuffer::<u32>::zeroed(256)?;
    let function = module.get_function(kernel)?;
    // SAFETY: two blocks of 64 threads touch every second of 256 elements; `stop` takes no parameters and reads none.
    unsafe {
        if kernel == "stop" {
            launch!(function<<<1, 32, 0, stream>>>())?;
        } else {
            launch!(function<<<2, 64, 0, stream>>>(buffer.as_device_ptr()))?;
        }
    }
    stream.synchronize()
}

#[test]
fn a_recording_has_the_launches_of_its_time() {
    launch("strided").unwrap();
    let (result, launches) = profile::record(|| launch("strided"));
    result.unwrap();
    assert_eq!(launches.len(), 1);
    let counters = launches[0].counters;
    // Four warps of 32 lanes, 8 bytes apart: 8 sectors each, of which half is used.
    assert_eq!(counters.global_load.requests, 4);
    assert_eq!((counters.global_load.sectors, counters.global_load.bytes), (32, 512));
    assert_eq!(counters.global_store, counters.global_load);
    let ((_, inner), outer) = profile::record(|| profile::record(|| launch("strided").unwrap()));
    assert_eq!((inner.len(), outer.len()), (1, 1), "recordings lie within each other");
    let other = profile::record(|| std::thread::spawn(|| launch("strided").unwrap()).join().unwrap()).1;
    assert!(other.is_empty(), "another thread's launch is its own affair");
}

/// Not a test of its own: the program that [`the_file_is_whole_however_the_process_ends`] runs.
#[test]
#[ignore = "run by another test, in a process of its own"]
fn child() {
    launch("strided").unwrap();
    // SAFETY: these end the process, or make another of it, as a program may at any time.
    unsafe {
        match std::env::var("PROFILED_END").as_deref() {
            Ok("exit") => std::process::exit(3),
            Ok("_exit") => libc::_exit(4),
            Ok("panic") => panic!("as the test asks"),
            Ok("abort") => std::process::abort(),
            Ok("signal") => drop(libc::raise(libc::SIGKILL)),
            Ok("fork") => {
                // The forked process ends by itself, and leaves its parent's file alone.
                let forked = libc::fork();
                if forked == 0 {
                    libc::exit(0);
                }
                libc::waitpid(forked, std::ptr::null_mut(), 0);
            }
            Ok("exec") => {
                use std::os::unix::process::CommandExt as _;
                let failed = child_command().env("PROFILED_END", "return").exec();
                panic!("{failed}");
            }
            Ok("two") => {
                // Another process that names the same file is told so, and goes on without.
                let other = run(std::env::var_os("WARPSMITH_PROFILE").unwrap().as_ref(), "return");
                let said = String::from_utf8_lossy(&other.stderr);
                assert!(other.status.success(), "{said}");
                assert_eq!(
                    said.matches("another process is writing it; put {pid} into").count(),
                    1,
                    "{said}"
                );
            }
            _ => {}
        }
    }
    assert!(launch("stop").is_err());
}

fn child_command() -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--ignored", "--nocapture"]);
    command
}

fn run(file: &std::path::Path, end: &str) -> std::process::Output {
    child_command().env("WARPSMITH_PROFILE", file).env("PROFILED_END", end).output().unwrap()
}

/// What a process left that ended in this way.
fn left(end: &str) -> (std::process::Output, Value) {
    let folder = tempfile::tempdir().unwrap();
    let output = run(&folder.path().join("profile-{pid}.json"), end);
    let files: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{end}: {files:?}");
    assert!(!files[0].to_string_lossy().contains("{pid}"));
    let text = std::fs::read_to_string(&files[0]).unwrap();
    (output, serde_json::from_str(&text).unwrap_or_else(|error| panic!("{end}: {error}: {text}")))
}

#[test]
fn the_file_is_whole_however_the_process_ends() {
    let (output, document) = left("return");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!((&document["version"], &document["model"]), (&Value::from(1), &Value::from("h200")));
    assert_eq!(document["view"], "ptx");
    let launches = document["launches"].as_array().unwrap();
    assert_eq!(launches.len(), 2);
    assert_eq!(launches[0]["kernel"], "strided");
    assert_eq!(launches[0]["grid"], serde_json::json!([2, 1, 1]));
    assert_eq!(launches[0]["counters"]["global_load"]["sectors"], 32);
    assert!(launches[0].get("fault").is_none());
    assert_eq!(launches[1]["kernel"], "stop");
    assert!(launches[1]["fault"].as_str().unwrap().contains("stop"));

    for (end, count) in [("exit", 1), ("_exit", 1), ("panic", 1), ("abort", 1), ("signal", 1), ("fork", 2)] {
        let (output, document) = left(end);
        assert_eq!(output.status.success(), end == "fork", "{end}");
        assert_eq!(document["launches"].as_array().unwrap().len(), count, "{end}");
    }
}

#[test]
fn a_file_is_one_process_own_and_a_folder_that_is_not_there_is_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("profile.json");
    let output = run(&file, "two");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(document["launches"].as_array().unwrap().len(), 2, "the first process' launches alone");

    let output = run(&folder.path().join("nowhere/profile.json"), "return");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!(said.matches("nowhere/profile.json cannot be written").count(), 1, "{said}");
}

#[test]
fn a_process_that_goes_on_as_another_program_leaves_both_profiles() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(&folder.path().join("{pid}-{n}.json"), "exec");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let mut files: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let launches = |file| {
        let document: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        document["launches"].as_array().unwrap().len()
    };
    assert_eq!(files.iter().map(launches).collect::<Vec<_>>(), [1, 2], "{files:?}");
}
