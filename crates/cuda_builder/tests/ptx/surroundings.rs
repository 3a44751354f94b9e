//! The device build gives the same PTX whatever surrounds it: variables, configuration files, paths.
//!
//! Each build runs in a child process, this program again, since variables belong to a process.

use crate::compile::{fixture, scratch};
use cuda_builder::{CudaBuilder, NvvmArch};
use libtest_mimic::Failed;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

const CRATE: &str = "CUDA_BUILDER_TEST_CRATE";
const OUT: &str = "CUDA_BUILDER_TEST_OUT";
/// Set where the PTX is to name source lines, and with them paths.
pub const LINES: &str = "CUDA_BUILDER_TEST_LINES";

/// In a child: builds what the variables say. Returns whether this is a child.
pub fn build_if_asked() -> bool {
    let (Some(path), Some(out)) = (std::env::var_os(CRATE), std::env::var_os(OUT)) else { return false };
    let lines = std::env::var_os(LINES).is_some();
    match CudaBuilder::new(path).arch(NvvmArch::Compute75).generate_line_info(lines).copy_to(out).build() {
        Ok(_) => true,
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    }
}

pub fn build_in_child(label: &str, crate_path: &Path, variables: &[(&str, &OsStr)]) -> String {
    let child = Command::new(std::env::current_exe().expect("this program"));
    build_by(child, label, crate_path, variables)
}

/// What a build says to cargo, whether it succeeds or not.
pub fn said_in_child(label: &str, crate_path: &Path) -> String {
    let child = Command::new(std::env::current_exe().expect("this program"));
    let (output, _) = run_by(child, label, crate_path, &[(LINES, OsStr::new("1"))]);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// [`build_in_child`] by a command that starts this program.
fn build_by(child: Command, label: &str, crate_path: &Path, variables: &[(&str, &OsStr)]) -> String {
    let (output, out) = run_by(child, label, crate_path, variables);
    assert!(output.status.success(), "{label}: {}", String::from_utf8_lossy(&output.stderr));
    fs::read_to_string(out).expect("the PTX was written")
}

fn run_by(
    mut child: Command,
    label: &str,
    crate_path: &Path,
    variables: &[(&str, &OsStr)],
) -> (Output, PathBuf) {
    let out = scratch().join(format!("surroundings-{label}.ptx"));
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target folder");
    child.env(CRATE, crate_path).env(OUT, &out).env("OUT_DIR", target.join("tests/build/cuda_builder/out"));
    child.envs(variables.iter().copied());
    (child.output().expect("this program starts"), out)
}

/// Symbols of statics and functions carry a hash of where the crate lies; the kernels' code does not.
fn without_hashes(ptx: &str) -> String {
    ptx.lines()
        .filter(|line| !line.contains("_R") && !line.starts_with(".global"))
        .collect::<Vec<_>>()
        .join("\n")
}

pub fn variables_do_not_reach_the_device_build() {
    let crate_path = fixture("gates");
    let plain = build_in_child("plain", &crate_path, &[]);
    assert!(plain.contains(".entry always("));
    let elsewhere = scratch().join("another-target");
    let cases: [(&str, &[(&str, &OsStr)]); 6] = [
        ("rustflags", &[("RUSTFLAGS", OsStr::new("-Copt-level=0 -Cpanic=unwind --cfg nonsense"))]),
        (
            "encoded-rustflags",
            &[("CARGO_ENCODED_RUSTFLAGS", OsStr::new("-Clinker=/no/such/linker\x1f-Clto=fat"))],
        ),
        (
            "wrappers",
            &[
                ("RUSTC_WRAPPER", OsStr::new("/no/such/wrapper")),
                ("RUSTC_WORKSPACE_WRAPPER", OsStr::new("clippy-driver")),
            ],
        ),
        (
            "target",
            &[
                ("CARGO_BUILD_TARGET", OsStr::new("wasm32-unknown-unknown")),
                ("TARGET", OsStr::new("nonsense")),
            ],
        ),
        ("target-folder", &[("CARGO_TARGET_DIR", elsewhere.as_os_str())]),
        (
            "profile",
            &[
                ("CARGO_PROFILE_RELEASE_LTO", OsStr::new("fat")),
                ("CARGO_PROFILE_RELEASE_PANIC", OsStr::new("unwind")),
                ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", OsStr::new("16")),
                ("CARGO_INCREMENTAL", OsStr::new("1")),
            ],
        ),
    ];
    for (label, variables) in cases {
        assert_eq!(build_in_child(label, &crate_path, variables), plain, "{label}");
    }
    assert!(!elsewhere.exists(), "the device build has a folder of its own");
}

/// A copy of the fixture outside the workspace, with the lock file of this one.
pub fn copy_of_gates(folder: &Path) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let copied = folder.join("kernels");
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(copied.join("src")).expect("a folder");
    fs::copy(fixture("gates").join("src/lib.rs"), copied.join("src/lib.rs")).expect("the kernels");
    fs::copy(fixture("../upstream/b").join("Cargo.lock"), copied.join("Cargo.lock")).expect("the lock file");
    let cuda_std = here.with_file_name("cuda_std");
    let manifest = format!(
        "[package]\nname = \"upstream-b\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[lib]\ncrate-type = [\"cdylib\", \"rlib\"]\n\n\
         [features]\nextra = []\n\n[dependencies]\ncuda_std = {{ path = {cuda_std:?}, default-features = false }}\n\n[workspace]\n\n\
         [profile.release]\nlto = \"fat\"\npanic = \"unwind\"\nstrip = true\n\n\
         [profile.release.package.upstream-b]\nincremental = true\nopt-level = 0\ncodegen-units = 16\n"
    );
    fs::write(copied.join("Cargo.toml"), manifest).expect("the manifest");
    copied
}

/// Gives a target folder what the kernels depend on, compiled: for tests that need a folder of their own, and whose matter
/// is what the builder keeps beside it.
pub fn with_dependencies(target: &Path) {
    static COMPILED: LazyLock<PathBuf> = LazyLock::new(|| {
        let folder = scratch().join("dependencies");
        let crate_path = copy_of_gates(&folder);
        let out = folder.join("target/release/build/host/out");
        build_in_child("dependencies", &crate_path, &[("OUT_DIR", out.as_os_str())]);
        let built = folder.join("target/cuda-builder");
        fs::remove_dir_all(built.join("lowered")).expect("what is kept");
        built
    });
    fs::create_dir_all(target).expect("a folder");
    // With their times, by which cargo goes. Where there is no `cp`, they are compiled once more.
    if let Ok(copied) = Command::new("cp").arg("-a").arg(&*COMPILED).arg(target).status() {
        assert!(copied.success(), "{}", target.display());
    }
}

pub fn paths_with_blanks_and_letters_of_all_kinds() {
    let crate_path = copy_of_gates(&scratch().join("größere Kerne für GPUs"));
    let ptx = build_in_child("blanks", &crate_path, &[]);
    let plain = build_in_child("plain-for-blanks", &fixture("gates"), &[]);
    assert_eq!(without_hashes(&ptx), without_hashes(&plain));
}

pub fn configuration_files_do_not_reach_the_device_build() {
    let folder = scratch().join("configured");
    let crate_path = copy_of_gates(&folder);
    fs::create_dir_all(folder.join(".cargo")).expect("a folder");
    let config = "[build]\nrustflags = [\"-Copt-level=0\", \"--cfg=nonsense\"]\nrustc-wrapper = \"/no/such/wrapper\"\n\
                  target-dir = \"elsewhere\"\n[profile.release]\ncodegen-units = 16\nincremental = true\n";
    fs::write(folder.join(".cargo/config.toml"), config).expect("the configuration");
    let ptx = build_in_child("configured", &crate_path, &[]);
    let plain = build_in_child("plain-for-configured", &fixture("gates"), &[]);
    assert_eq!(without_hashes(&ptx), without_hashes(&plain));
    assert!(!folder.join("elsewhere").exists() && !crate_path.join("elsewhere").exists());
}

/// Nothing is written into the source tree, so it may be read-only.
pub fn source_trees_stay_as_they_are() {
    let crate_path = copy_of_gates(&scratch().join("untouched"));
    build_in_child("untouched-first", &crate_path, &[]);
    let listing = |folder: &Path| -> Vec<OsString> {
        let mut names: Vec<_> =
            fs::read_dir(folder).expect("a folder").flatten().map(|e| e.file_name()).collect();
        names.sort();
        names
    };
    let lock = fs::metadata(crate_path.join("Cargo.lock")).and_then(|m| m.modified()).expect("the lock file");
    build_in_child("untouched", &crate_path, &[]);
    assert_eq!(listing(&crate_path), ["Cargo.lock", "Cargo.toml", "src"]);
    assert_eq!(
        fs::metadata(crate_path.join("Cargo.lock")).and_then(|m| m.modified()).expect("the lock file"),
        lock
    );
}

/// A shell command in which `folder` cannot be written, whoever runs it: a mount of its own, as containers have.
fn with_read_only(folder: &Path, command: &str) -> Command {
    let mut shell = Command::new("unshare");
    shell.args(["--map-root-user", "--mount", "sh", "-c"]);
    shell.arg(format!("mount --bind \"$0\" \"$0\" && mount -o remount,ro,bind \"$0\" && {command}"));
    shell.arg(folder);
    shell
}

/// Whether this machine lets [`with_read_only`] mount.
pub fn can_mount() -> bool {
    let folder = std::env::temp_dir().join(format!("cuda_builder-{}", std::process::id()));
    let _ = fs::create_dir_all(&folder);
    let refused =
        with_read_only(&folder, "! touch \"$0/file\"").output().is_ok_and(|output| output.status.success());
    let _ = fs::remove_dir_all(&folder);
    refused
}

pub fn source_trees_may_be_read_only() -> Result<(), Failed> {
    if !can_mount() {
        return Err("`unshare --map-root-user --mount` cannot mount a read-only folder here".into());
    }
    let crate_path = copy_of_gates(&scratch().join("read-only"));
    let plain = build_in_child("writable", &crate_path, &[]);
    // Another kernel, so that there is something to do.
    let source = crate_path.join("src/lib.rs");
    let text = fs::read_to_string(&source)?;
    fs::write(
        &source,
        format!("{text}\n#[kernel]\npub unsafe fn added(out: *mut u32) {{\n    unsafe {{ *out = 1 }};\n}}\n"),
    )?;
    let mut child = with_read_only(&crate_path, "! touch \"$0/src/file\" 2>&- && exec \"$1\"");
    child.arg(std::env::current_exe()?);
    let ptx = build_by(child, "read-only", &crate_path, &[]);
    assert!(plain.contains(".entry always(") && !plain.contains(".entry added("));
    assert!(ptx.contains(".entry always(") && ptx.contains(".entry added("));
    Ok(())
}

/// What a user has set for all builds, in the cargo home: a linker, flags for every target, a wrapper.
#[cfg(unix)]
pub fn the_cargo_home_does_not_reach_the_device_build() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = scratch().join("cargo-home");
    let crate_path = copy_of_gates(&folder);
    let home = folder.join("home");
    fs::create_dir_all(&home).expect("a folder");
    let known = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let known = known.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    for shared in ["registry", "git"] {
        let there = known.as_ref().expect("a home").join(shared);
        if there.exists() {
            symlink(there, home.join(shared)).expect("a link");
        }
    }
    // It links the build scripts and procedural macros of the device's crates, and says so; device code it never sees.
    let linker = folder.join("linker.sh");
    fs::write(&linker, "#!/bin/sh\nexec cc \"$@\"\n").expect("the linker");
    fs::set_permissions(&linker, fs::Permissions::from_mode(0o755)).expect("it may run");
    let config = format!(
        "[build]\nrustc-wrapper = \"/no/such/wrapper\"\ntarget = \"wasm32-unknown-unknown\"\n\
         [target.'cfg(all())']\nlinker = {linker:?}\nrustflags = [\"-Ctarget-cpu=native\", \"-Clink-arg=-fuse-ld=no-such\"]\n\
         [target.x86_64-unknown-linux-gnu]\nrustflags = [\"-Copt-level=0\", \"--cfg=nonsense\"]\n\
         [profile.release]\ndebug = 2\nopt-level = 1\n"
    );
    fs::write(home.join("config.toml"), config).expect("the configuration");
    let ptx = build_in_child("cargo-home", &crate_path, &[("CARGO_HOME", home.as_os_str())]);
    let plain = build_in_child("plain-for-cargo-home", &fixture("gates"), &[]);
    assert_eq!(without_hashes(&ptx), without_hashes(&plain));
}

/// A package whose build script compiles kernels, and whose program prints the PTX.
///
/// The script starts this program as it is, so that the builder is not compiled once more: what cargo says to the one it
/// says to the other.
fn printer(folder: &Path) -> PathBuf {
    let package = folder.join("printer");
    fs::create_dir_all(package.join("src")).expect("a folder");
    let manifest = "[package]\nname = \"printer\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n";
    let this = std::env::current_exe().expect("this program");
    let script = format!(
        "fn main() {{\n    let out = std::path::PathBuf::from(std::env::var_os(\"OUT_DIR\").unwrap());\n    \
         let mut builder = std::process::Command::new({this:?});\n    \
         builder.env({CRATE:?}, \"../kernels\").env({OUT:?}, out.join(\"kernels.ptx\"));\n    \
         assert!(builder.status().unwrap().success());\n}}\n"
    );
    let program =
        "fn main() {\n    print!(\"{}\", include_str!(concat!(env!(\"OUT_DIR\"), \"/kernels.ptx\")));\n}\n";
    let lock = "version = 4\n\n[[package]]\nname = \"printer\"\nversion = \"0.1.0\"\n";
    fs::write(package.join("Cargo.toml"), manifest).expect("the manifest");
    fs::write(package.join("Cargo.lock"), lock).expect("the lock file");
    fs::write(package.join("build.rs"), script).expect("the build script");
    fs::write(package.join("src/main.rs"), program).expect("the program");
    package
}

/// Whatever cargo is asked to do around the build script, it makes the same PTX.
pub fn cargo_commands_do_not_reach_the_device_build() {
    let folder = scratch().join("commands");
    let kernels = copy_of_gates(&folder);
    let package = printer(&folder);
    let target = folder.join("target");
    let version = Command::new("rustc").arg("-vV").output().expect("rustc runs").stdout;
    let version = String::from_utf8_lossy(&version).into_owned();
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("a host");
    for folder in [&target, &target.join(host)] {
        with_dependencies(folder);
    }
    let cargo = |words: &[&str], variables: &[(&str, &OsStr)]| -> String {
        // The build script runs again only if a kernel has changed since.
        let source = fs::File::options().append(true).open(kernels.join("src/lib.rs")).expect("the kernels");
        source.set_modified(std::time::SystemTime::now()).expect("its time can be set");
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.current_dir(&package).args(words).env("CARGO_TARGET_DIR", &target);
        // What cargo tells this test of its own package is not true of that one.
        for (variable, _) in std::env::vars_os() {
            if variable.to_str().is_some_and(|name| {
                name.starts_with("CARGO_") && name != "CARGO_HOME" && name != "CARGO_TARGET_DIR"
            }) {
                command.env_remove(variable);
            }
        }
        command.envs(variables.iter().copied());
        let output = command.output().expect("cargo starts");
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    // What the last command's build script made; `check` and `clippy` run no program that could print it.
    let made = || -> String {
        let scripts = fs::read_dir(target.join("debug/build")).expect("build scripts").flatten();
        let outputs = scripts.map(|entry| entry.path().join("out/kernels.ptx")).filter(|ptx| ptx.is_file());
        fs::read_to_string(outputs.last().expect("the PTX")).expect("the PTX can be read")
    };
    let plain = cargo(&["run", "--quiet", "--offline"], &[]);
    assert!(plain.contains(".entry always("));
    for words in [
        &["check", "--offline"][..],
        &["clippy", "--offline"],
        &["run", "--quiet", "--offline", "--locked"],
        &["run", "--quiet", "--offline", "--frozen"],
    ] {
        let printed = cargo(words, &[]);
        assert_eq!(made(), plain, "{words:?}");
        assert!(words[0] != "run" || printed == plain, "{words:?}");
    }
    // All that would make cargo compile anew whatever it reaches, at once.
    let wrapper = folder.join("wrapper.sh");
    let together: &[(&str, &OsStr)] = &[
        ("RUSTFLAGS", OsStr::new("-Copt-level=0 -Ctarget-cpu=native --cfg nonsense")),
        #[cfg(unix)]
        ("RUSTC_WRAPPER", wrapper.as_os_str()),
    ];
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As sccache does: called with rustc's path first.
        fs::write(&wrapper, "#!/bin/sh\nexec \"$@\"\n").expect("the wrapper");
        fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).expect("it may run");
    }
    let printed = cargo(&["run", "--quiet", "--offline", "--target", host], together);
    assert_eq!(printed, plain, "--target, RUSTFLAGS and a wrapper");
}
