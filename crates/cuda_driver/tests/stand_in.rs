//! The shared library, as programs find it that know nothing of us: under the driver's name, on the search path.
#![cfg(target_os = "linux")]

use std::ffi::{CStr, OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::Command;

use libloading::Library;
use warpsmith_cuda::stand_in::{DriverDirectory, LIBRARY};

/// Where cargo puts it: beside the test programs.
fn library() -> PathBuf {
    let path = std::env::current_exe().unwrap().with_file_name(LIBRARY);
    assert!(path.is_file(), "{} is not there", path.display());
    path
}

type Init = unsafe extern "C" fn(u32) -> u32;
type Count = unsafe extern "C" fn(*mut i32) -> u32;
type Name = unsafe extern "C" fn(*mut c_char, i32, i32) -> u32;

/// What a program does that opens the driver by name. Runs only as a child of the tests below.
#[test]
fn child() {
    let Ok(name) = std::env::var("STAND_IN_TEST_OPENS") else { return };
    // SAFETY: the library under test, and the driver API's own signatures.
    unsafe {
        let driver = Library::new(name).unwrap();
        assert_eq!(driver.get::<Init>(b"cuInit\0").unwrap()(0), 0);
        let mut devices = 0;
        assert_eq!(driver.get::<Count>(b"cuDeviceGetCount\0").unwrap()(&mut devices), 0);
        let mut name = [0; 100];
        assert_eq!(driver.get::<Name>(b"cuDeviceGetName\0").unwrap()(name.as_mut_ptr(), 100, 0), 0);
        println!("{devices} of {}", CStr::from_ptr(name.as_ptr()).to_str().unwrap());
    }
}

fn run(opens: &str, environment: &[(&str, std::ffi::OsString)]) -> (bool, String, String) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture"])
        .env_remove("WARPSMITH_DEVICE")
        .env_remove("WARPSMITH_MODEL")
        .env("STAND_IN_TEST_OPENS", opens)
        .envs(environment.iter().cloned())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (output.status.success(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_program_finds_it_under_the_drivers_name() {
    let root = tempfile::tempdir().unwrap();
    let directory = DriverDirectory::prepare_in(&root.path().join("run"), &library()).unwrap();
    for name in ["libcuda.so.1", "libcuda.so"] {
        let (ok, out, err) = run(name, &directory.environment());
        assert!(ok && out.contains("1 of NVIDIA H200 (virtual)"), "{name}: {out}{err}");
        // The device was named, so there is nothing to tell.
        assert!(!err.contains("warpsmith"), "{err}");
    }
}

#[test]
fn opened_by_its_path_it_is_the_virtual_device_and_says_so() {
    let (ok, out, err) = run(library().to_str().unwrap(), &[("WARPSMITH_MODEL", "t4".into())]);
    assert!(ok && out.contains("1 of Tesla T4 (virtual)"), "{out}{err}");
    assert!(err.contains("running on the virtual GPU, modelling Tesla T4"), "{err}");
}

#[test]
fn it_never_takes_itself_for_the_real_driver() {
    let root = tempfile::tempdir().unwrap();
    let directory = DriverDirectory::prepare_in(&root.path().join("run"), &library()).unwrap();
    let mut environment = directory.environment();
    environment.push(("WARPSMITH_DEVICE", "gpu".into()));
    environment.push(("WARPSMITH_LIBCUDA", directory.path().join("libcuda.so.1").into()));
    let (ok, _, err) = run("libcuda.so.1", &environment);
    assert!(!ok && err.contains("Warpsmith's own stand-in"), "{err}");
}

#[test]
fn a_mistaken_word_in_the_environment_is_told() {
    let (ok, _, err) = run(library().to_str().unwrap(), &[("WARPSMITH_DEVICE", "cpu".into())]);
    assert!(!ok && err.contains("WARPSMITH_DEVICE=cpu: the devices are auto, gpu and virtual"), "{err}");
}

#[test]
fn mistaken_settings_are_told_once() {
    let root = tempfile::tempdir().unwrap();
    let directory = DriverDirectory::prepare_in(&root.path().join("run"), &library()).unwrap();
    for (name, value) in [
        ("WARPSMITH_THREADS", "abc"),
        ("WARPSMITH_THREADS", "0"),
        ("WARPSMITH_SEED", "1.5"),
        ("WARPSMITH_EXECUTION", "fast"),
        ("WARPSMITH_WATCHDOG", "never"),
        ("WARPSMITH_MODEL", "gtx480"),
        ("WARPSMITH_CHECK", "memroy"),
        // Sent as a byte that is no text.
        ("WARPSMITH_CHECK", "\u{fffd}"),
    ] {
        let mut environment: Vec<_> = directory.environment().to_vec();
        let sent = if value == "\u{fffd}" { OsStr::from_bytes(b"\xff").into() } else { value.into() };
        environment.push((name, sent));
        let (ok, out, err) = run("libcuda.so.1", &environment);
        assert!(!ok, "{name}={value}: {out}");
        let told: Vec<_> = err.lines().filter(|line| line.starts_with("warpsmith:")).collect();
        assert_eq!(told.len(), 1, "{name}={value}: {err}");
        assert!(told[0].contains(name) && told[0].contains(value), "{}", told[0]);
    }
}
