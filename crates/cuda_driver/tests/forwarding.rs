//! Calls to the real driver, tried with a library that plays it.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::Command;

use warpsmith_cuda::abi::{CUresult, Out};
use warpsmith_cuda::entry::contexts::*;
use warpsmith_cuda::entry::memory::cuMemAlloc_v2;
use warpsmith_cuda::entry::streams::cuStreamQuery;

/// A driver with five entry points; what `cuInit` answers comes from the environment.
const DRIVER: &str = r#"
#[unsafe(no_mangle)]
pub extern "C" fn cuInit(_flags: u32) -> u32 {
    std::env::var("PLAYED_INIT").ok().and_then(|code| code.parse().ok()).unwrap_or(0)
}
#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetCount(count: *mut i32) -> u32 { unsafe { *count = 3 }; 0 }
#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetAttribute(value: *mut i32, attribute: i32, _device: i32) -> u32 {
    let mode = std::env::var("PLAYED_MODE").ok().and_then(|mode| mode.parse().ok()).unwrap_or(0);
    unsafe { *value = if attribute == 20 { mode } else { attribute * 2 } };
    0
}
#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxRetain(_context: *mut usize, _device: i32) -> u32 { 46 }
#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxRelease_v2(_device: i32) -> u32 { 0 }
#[unsafe(no_mangle)]
pub extern "C" fn cuMemAlloc_v2(address: *mut u64, bytes: usize) -> u32 { unsafe { *address = bytes as u64 + 1 }; 2 }
"#;

fn compile(source: &str, library: &Path) {
    let file = library.with_extension("rs");
    std::fs::write(&file, source).unwrap();
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(compiler)
        .args(["--edition=2024", "--crate-type=cdylib", "--crate-name=played", "-Cpanic=abort", "-o"])
        .args([library, &file])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn play(folder: &Path) -> PathBuf {
    let library = folder.join("libplayed.so");
    compile(DRIVER, &library);
    library
}

fn out<T>(place: &mut T) -> Out<T> {
    // SAFETY: a reference is a valid place, and each call below ends before it does.
    unsafe { Out::new(place) }
}

/// Not a test of its own: the program that the tests run.
#[test]
#[ignore = "run by other tests, in processes of their own"]
fn child() {
    let (mut devices, mut value, mut address) = (0, 0, 0);
    // SAFETY: places are valid.
    unsafe {
        let init = cuInit(0);
        println!("init {}", init.0);
        if init != CUresult::SUCCESS {
            return;
        }
        println!("count {} {devices}", cuDeviceGetCount(out(&mut devices)).0);
        println!("devices {devices}");
        println!("attribute {}", cuDeviceGetAttribute(out(&mut value), 21, 0).0);
        println!("value {value}");
        println!("alloc {}", cuMemAlloc_v2(out(&mut address), 41).0);
        println!("address {address}");
        println!("query {}", cuStreamQuery(0).0);
    }
}

fn run(environment: &[(&str, &str)]) -> (String, String) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--ignored", "--nocapture"])
        .env_remove("WARPSMITH_DEVICE")
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (text(output.stdout), text(output.stderr))
}

#[test]
fn calls_reach_the_real_driver_or_the_reason_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let driver = play(folder.path());
    let driver = driver.to_str().unwrap();

    // A driver with devices takes the calls, with their arguments and results.
    let (out, err) = run(&[("WARPSMITH_LIBCUDA", driver)]);
    for line in ["init 0", "devices 3", "value 42", "alloc 2", "address 42", "query 36"] {
        assert!(out.lines().any(|found| found == line), "{line}: {out}{err}");
    }
    assert!(err.contains("running on the GPU") && err.contains(driver), "{err}");
    assert!(err.contains("no `cuStreamQuery`"), "{err}");

    // One that refuses leaves the virtual device, and its own reason is told.
    let (out, err) = run(&[("WARPSMITH_LIBCUDA", driver), ("PLAYED_INIT", "803")]);
    assert!(out.contains("init 0") && out.contains("devices 1"), "{out}");
    assert!(err.contains("running on the virtual GPU") && err.contains("803"), "{err}");

    // So does one whose only device another process has to itself.
    let (out, err) = run(&[("WARPSMITH_LIBCUDA", driver), ("PLAYED_MODE", "3")]);
    assert!(out.contains("devices 1"), "{out}");
    assert!(err.contains("CUDA_ERROR_DEVICE_UNAVAILABLE (46)"), "{err}");

    // Who insists on a GPU gets an error that says what is missing.
    let insist = ("WARPSMITH_DEVICE", "gpu");
    let (out, err) = run(&[("WARPSMITH_LIBCUDA", driver), ("PLAYED_INIT", "100"), insist]);
    assert!(out.contains("init 100"), "{out}");
    assert!(err.contains("a real GPU was asked for") && err.contains("no CUDA-capable device"), "{err}");
    let (out, err) = run(&[("WARPSMITH_LIBCUDA", "/nowhere/libcuda.so.1"), insist]);
    assert!(out.contains("init 100"), "{out}");
    assert!(err.contains("WARPSMITH_LIBCUDA=/nowhere/libcuda.so.1 cannot be opened"), "{err}");

    // Libraries that bear the driver's name and are none: the reason is told in one line, and the next one is looked at.
    let place = |name: &str| {
        let place = folder.path().join(name);
        std::fs::create_dir(&place).unwrap();
        place
    };
    let (text, empty, good) = (place("text"), place("empty"), place("good"));
    std::fs::write(text.join("libcuda.so.1"), "INPUT(libcuda.so)\n").unwrap();
    compile("", &empty.join("libcuda.so.1"));
    std::fs::copy(driver, good.join("libcuda.so.1")).unwrap();
    for (first, reason) in [(&text, "cannot be opened"), (&empty, "has no `cuInit`, so it is no CUDA driver")]
    {
        let (out, err) = run(&[("LD_LIBRARY_PATH", first.to_str().unwrap())]);
        assert!(out.contains("devices 1"), "{out}{err}");
        let told: Vec<_> = err.lines().filter(|line| line.starts_with("warpsmith: running")).collect();
        assert!(told.len() == 1 && told[0].contains(reason), "{err}");
        let both = std::env::join_paths([first, &good]).unwrap();
        let (out, err) = run(&[("LD_LIBRARY_PATH", both.to_str().unwrap())]);
        assert!(out.contains("devices 3") && err.contains("good/libcuda.so.1"), "{out}{err}");
    }
}
