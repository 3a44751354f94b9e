//! Kernels beside their launch, in packages outside this repository: where they may stand, and what is said of what they may not do.

mod outside;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use outside::{cargo, text};
use serde_json::Value;

/// A workspace: a library with kernels, a program that knows nothing of them, and a crate that both sides use.
const FILES: [(&str, &str); 10] = [
    (
        "Cargo.toml",
        "[workspace]\nresolver = \"3\"\nmembers = [\"math\", \"program\", \"shared\"]\n\n[patch.crates-io]\nfind_cuda_helper = { path = \"WARPSMITH/find_cuda_helper\" }\n",
    ),
    ("shared/Cargo.toml", "[package]\nname = \"shared-numbers\"\nversion = \"0.1.0\"\nedition = \"2024\"\n"),
    (
        "shared/src/lib.rs",
        "//! Numbers for both sides.\n#![no_std]\n\n/// Twice.\npub fn twice(x: f32) -> f32 {\n    2.0 * x\n}\n",
    ),
    (
        "math/Cargo.toml",
        "[package]\nname = \"math\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[features]\nfast = []\n\n[dependencies]\nshared-numbers = { path = \"../shared\" }\nwarpsmith = { path = \"WARPSMITH/warpsmith\" }\n\n[build-dependencies]\nwarpsmith_build = { path = \"WARPSMITH/warpsmith_build\" }\n",
    ),
    ("math/build.rs", "fn main() {\n    warpsmith_build::kernels()\n}\n"),
    ("math/src/lib.rs", LIBRARY),
    ("math/src/gpu.rs", MODULE),
    ("math/examples/count.rs", EXAMPLE),
    (
        "program/Cargo.toml",
        "[package]\nname = \"program\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\nmath = { path = \"../math\" }\n",
    ),
    ("program/src/main.rs", "fn main() {\n    println!(\"{:?}\", math::double(&[1.0, 2.5]).unwrap());\n}\n"),
];

const LIBRARY: &str = r#"//! A library whose user needs no build script.
use warpsmith::prelude::*;

warpsmith::device_mod! { pub mod gpu; }

/// Twice each number.
pub fn double(x: &[f32]) -> warpsmith::Result<Vec<f32>> {
    let device = Device::from_environment()?;
    let from = device.upload(x)?;
    let mut to = device.zeroed(x.len())?;
    device.scope(|scope| scope.launch(gpu::double::<1>, (&from, &mut to)))?;
    device.download(&to)
}
"#;

/// Its dependency is one of the package, and its struct is the host's, too.
const MODULE: &str = r#"use shared_numbers::twice;
use warpsmith::kernel::*;

/// A line.
#[derive(Clone, Copy, DeviceCopy)]
#[repr(C)]
pub struct Line {
    /// At 0.
    pub offset: f32,
    /// For each step.
    pub slope: f64,
}

/// `to[i]` is `from[i]`, doubled `TIMES` times.
#[kernel(TIMES = [1, 2])]
#[requires(from.len() == to.len())]
pub fn double<const TIMES: usize>(block: Block<64>, from: &[f32], mut to: SliceMut<f32>) {
    to.write(&block, |_, i| (0..TIMES).fold(from[i], |x, _| twice(x)));
}

/// `to[i] = line(i)`
#[kernel]
pub fn draw(block: Block<64>, line: Line, mut to: SliceMut<f64>) {
    to.write(&block, |_, i| f64::from(line.offset) + line.slope * i as f64);
}
"#;

const EXAMPLE: &str = r#"//! Two modules in one root, one of them without blocks.
use math::gpu::{Line, draw};
use warpsmith::prelude::*;

#[warpsmith::device]
mod raw {
    use warpsmith::kernel::*;

    /// # Safety
    /// `to` has as many elements as there are threads.
    #[kernel]
    pub unsafe fn count(to: *mut u32) {
        let i = thread::index_1d();
        unsafe { *to.add(i as usize) = i };
    }
}

mod deeper {
    #[warpsmith::device]
    pub mod safe {
        use warpsmith::kernel::*;

        #[kernel]
        pub fn ones(block: Block<32>, mut to: SliceMut<u32>) {
            to.write(&block, |_, _| 1);
        }
    }
}

fn main() -> warpsmith::Result<()> {
    let device = Device::from_environment()?;
    let mut to = device.zeroed::<u32>(64)?;
    let shape = Shape::line(64, 32);
    // SAFETY: there are 64 threads.
    unsafe { device.embedded::<raw::count>()?.launch(shape, (&mut to,))? };
    let mut ones = device.zeroed::<u32>(3)?;
    device.scope(|scope| scope.launch(deeper::safe::ones, (&mut ones,)))?;
    let mut line = device.zeroed::<f64>(3)?;
    device.scope(|scope| scope.launch(draw, (Line { offset: 1.0, slope: 0.5 }, &mut line)))?;
    println!("{:?} {:?} {:?}", &device.download(&to)?[62..], device.download(&ones)?, device.download(&line)?);
    Ok(())
}
"#;

fn write(folder: &Path, name: &str, content: &str) {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("crates");
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content.replace("WARPSMITH", crates.to_str().unwrap())).unwrap();
}

/// Writes the workspace. One at a time: cargo gives members of the same name one folder in the target folder, wherever they lie.
fn workspace(folder: &Path) -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for (name, content) in FILES {
        write(folder, name, content);
    }
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("Cargo.lock"), folder.join("Cargo.lock"))
        .unwrap();
    alone
}

fn prints(folder: &Path, command: &str, expected: &str) {
    let output = cargo(folder, command);
    assert!(output.status.success(), "{}", text(&output));
    assert!(text(&output).contains(expected), "{command}: {}", text(&output));
}

#[test]
fn kernels_stand_in_a_library_and_in_an_example() {
    let folder = tempfile::tempdir().unwrap();
    let _alone = workspace(folder.path());
    prints(folder.path(), "run --package program", "[2.0, 5.0]");
    prints(folder.path(), "run --package math --example count", "[62, 63] [1, 1, 1] [1.0, 1.5, 2.0]");
    write(
        folder.path(),
        "math/tests/all.rs",
        "#[test]\nfn doubles() {\n    assert_eq!(math::double(&[3.0]).unwrap(), [6.0]);\n}\n",
    );
    prints(folder.path(), "test --package math", "test doubles ... ok");
}

/// Errors of `cargo check`: line and column of each, and its text with notes.
fn errors(folder: &Path) -> Vec<(u64, u64, String)> {
    let output = cargo(folder, "check --package math --examples --message-format=json");
    let messages = output.stdout.split(|byte| *byte == b'\n');
    let messages = messages.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let errors = messages.filter(|message| message["message"]["level"] == "error");
    let error = |message: Value| {
        let span = &message["message"]["spans"][0];
        let place = (span["line_start"].as_u64().unwrap_or(0), span["column_start"].as_u64().unwrap_or(0));
        (place.0, place.1, message["message"]["rendered"].as_str().unwrap_or_default().to_owned())
    };
    errors.map(error).collect()
}

#[test]
fn errors_of_the_device_are_at_the_users_own_place() {
    let folder = tempfile::tempdir().unwrap();
    let _alone = workspace(folder.path());
    assert_eq!(errors(folder.path()), []);
    let to_write = "            to.write(&block, |_, _| 1);";
    for (wrong, (line, column), parts) in [
        ("            let _ = std::env::args();\n", (25, 26), ["on the GPU", "Device crates have no `std`"]),
        ("            let _ = super::super::main;\n", (25, 35), ["on the GPU", "stands outside of it"]),
        ("            let _ = absent::one();\n", (25, 21), ["`absent`", "on the GPU"]),
    ] {
        let source = EXAMPLE.replace(to_write, &format!("{wrong}{to_write}"));
        write(folder.path(), "math/examples/count.rs", &source);
        let errors = errors(folder.path());
        let fits = |(l, c, text): &(u64, u64, String)| {
            (*l, *c) == (line, column) && parts.iter().all(|part| text.contains(part))
        };
        assert!(errors.iter().any(fits), "{wrong}: {errors:#?}");
    }
    let twice = EXAMPLE.replace("ones(", "count(");
    write(folder.path(), "math/examples/count.rs", &twice);
    let errors = errors(folder.path());
    assert!(errors.iter().any(|(.., text)| text.contains("Two kernels have the same name")), "{errors:#?}");
}

/// The PTX of the workspace's library, and when it was made.
fn ptx(workspace: &Path) -> (PathBuf, SystemTime) {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("new-project/debug/build");
    let workspace = fs::canonicalize(workspace).unwrap();
    let folders = fs::read_dir(target).unwrap().flatten().map(|folder| folder.path().join("out/warpsmith"));
    let is_of = |folder: &PathBuf| {
        fs::read_to_string(folder.join("index"))
            .is_ok_and(|index| index.contains(workspace.to_str().unwrap()))
    };
    let files = folders.filter(is_of).map(|folder| folder.join("lib-math_compute_75.ptx"));
    let made = |file: PathBuf| Some((file.clone(), fs::metadata(file).ok()?.modified().ok()?));
    files.filter_map(made).max_by_key(|(_, time)| *time).expect("the PTX is there")
}

#[test]
fn an_edit_of_host_code_runs_no_device_build() {
    let folder = tempfile::tempdir().unwrap();
    let _alone = workspace(folder.path());
    prints(folder.path(), "check --package math", "");
    let before = ptx(folder.path());
    let example = EXAMPLE.replace("zeroed::<u32>(64)", "zeroed::<u32>(65)");
    write(folder.path(), "math/examples/count.rs", &example);
    write(folder.path(), "math/src/lib.rs", &(LIBRARY.to_owned() + "\nfn other() {}\n"));
    prints(folder.path(), "check --package math", "`other` is never used");
    assert_eq!(ptx(folder.path()), before);
    write(folder.path(), "math/src/gpu.rs", &MODULE.replace("twice(x)", "twice(x) + 1.0"));
    prints(folder.path(), "check --package math", "");
    assert_ne!(ptx(folder.path()), before);
    write(folder.path(), "shared/src/lib.rs", &FILES[2].1.replace("2.0", "3.0"));
    let before = ptx(folder.path());
    prints(folder.path(), "run --package program", "[4.0, 8.5]");
    assert_ne!(ptx(folder.path()), before, "of a crate that the module names");
}

#[test]
fn without_the_patch_its_two_lines_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("crates/ptx/build.rs");
    let (program, out) =
        (folder.path().join("build"), folder.path().join("target/debug/build/warpsmith/out"));
    let compiled =
        Command::new("rustc").args(["--edition=2024", "-o"]).args([&program, &source]).status().unwrap();
    assert!(compiled.success());
    fs::create_dir_all(&out).unwrap();
    let says = |lock: &str| {
        fs::write(folder.path().join("Cargo.lock"), lock).unwrap();
        let mut command = Command::new(&program);
        for variable in ["CUDA_PATH", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR", "CUDA_LIBRARY_PATH"] {
            command.env_remove(variable);
        }
        let output = command.env("OUT_DIR", &out).env("CARGO_MANIFEST_DIR", "/there/ptx").output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let helper = "[[package]]\nname = \"find_cuda_helper\"\nversion = \"0.2.0\"\n";
    let published = format!("{helper}source = \"registry+https://index\"\n\n");
    let git = "[[package]]\nname = \"ptx\"\nsource = \"git+https://host/it?branch=main#abc\"\n";
    assert_eq!(says(helper), (Some(0), String::new()));
    let is_there = ["/usr/local/cuda", "/opt/cuda"].iter().any(|folder| Path::new(folder).is_dir());
    for (lock, from) in [
        (published.clone(), "path = \"/there/find_cuda_helper\""),
        (published + git, "git = \"https://host/it\""),
    ] {
        let lines = format!("[patch.crates-io]\n    find_cuda_helper = {{ {from} }}");
        let (code, text) = says(&lock);
        assert_eq!(
            (code, text.contains(&lines)),
            if is_there { (Some(0), false) } else { (Some(1), true) },
            "{text}"
        );
    }
}
