//! Profiles of launches through the unmodified `cust`: recorded in the process, and written to a file.

use std::process::Command;

use cust::prelude::*;
use serde_json::Value;
use warpsmith_cuda::{Wish, choose, profile};

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
    choose(Some(Wish::Virtual), None).unwrap();
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

/// Not a test of its own: the program that [`the_file_is_written_when_the_process_ends`] runs.
#[test]
#[ignore = "run by another test, in a process of its own"]
fn child() {
    launch("strided").unwrap();
    assert!(launch("stop").is_err());
}

#[test]
fn the_file_is_written_when_the_process_ends() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--ignored"])
        .env("WARPSMITH_PROFILE", folder.path().join("profile-{pid}.json"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let files: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    assert!(!files[0].to_string_lossy().contains("{pid}"));
    let document: Value = serde_json::from_str(&std::fs::read_to_string(&files[0]).unwrap()).unwrap();
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
}
