//! Wrong kernels: each must not compile, with the message that stands beside it. `TRYBUILD=overwrite` writes the messages anew.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

#[test]
fn wrong_kernels_do_not_compile() {
    if let Some(rustc) = without_sources(&sysroot()) {
        // SAFETY: the only test of this program, which has no other thread that reads the environment.
        unsafe { env::set_var("RUSTC", rustc) };
    }
    trybuild::TestCases::new().compile_fail("tests/wrong/*.rs");
}

fn sysroot() -> PathBuf {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let shown = Command::new(&rustc).args(["--print", "sysroot"]).output();
    let shown = shown.unwrap_or_else(|error| panic!("{} does not run: {error}", rustc.display()));
    String::from_utf8_lossy(&shown.stdout).trim().into()
}

/// A compiler that does not find the component `rust-src`, whose lines rustc would quote in its messages: the same one, with a
/// sysroot of links that leaves those sources out. `None` where the component is not installed.
fn without_sources(sysroot: &Path) -> Option<PathBuf> {
    const SOURCES: &str = "lib/rustlib/src";
    sysroot.join(SOURCES).exists().then_some(())?;
    let twin = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sysroot_without_sources");
    let _ = fs::remove_dir_all(&twin);
    for folder in ["lib", "lib/rustlib"] {
        fs::create_dir_all(twin.join(folder)).unwrap();
        for entry in fs::read_dir(sysroot.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let own = path.strip_prefix(sysroot).unwrap();
            if ![SOURCES, "lib/rustlib"].iter().any(|left_out| own == Path::new(left_out)) {
                symlink(&path, twin.join(own)).unwrap();
            }
        }
    }
    let rustc = twin.join("rustc");
    let [real, twin] = [sysroot.join("bin/rustc"), twin].map(|path| path.display().to_string());
    fs::write(&rustc, format!("#!/bin/sh\nexec '{real}' --sysroot '{twin}' \"$@\"\n")).unwrap();
    fs::set_permissions(&rustc, fs::Permissions::from_mode(0o755)).unwrap();
    Some(rustc)
}
