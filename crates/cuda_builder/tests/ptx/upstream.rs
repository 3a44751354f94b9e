//! Kernel projects written for upstream compile unchanged but for where `cuda_std` comes from.

use crate::compile::{build, count, fixture, function, parameters, scratch};
use crate::surroundings::build_in_child;
use cuda_builder::NvvmArch::Compute75;
use std::fs;
use std::path::Path;

pub fn generation_a_compiles_unchanged() {
    let ptx = build("upstream", "../upstream/a", Compute75, |b| b).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(count(&ptx, "gemm_tiled", "bar.sync"), 2);
    assert_eq!(count(&ptx, "gemm_tiled", "ld.b"), 0, "shared tiles are read as shared memory");
    assert!(count(&ptx, "gemm_tiled", "ld.shared") > 0);
    assert_eq!(parameters(&ptx, "norms")[0], ".align 8 .b8[16]", "a struct goes by value");
    assert_eq!(count(&ptx, "reversed", "bar.sync"), 1);
    assert!(ptx.contains("vprintf"), "println! prints");
    assert_eq!(parameters(&ptx, "reflect")[2], ".align 4 .b8[12]");
    assert!(count(&ptx, "reflect", "sqrt.rn.f32") > 0, "vek's square root is the instruction");
    assert!(
        function(&ptx, "names").iter().any(|line| line.contains("prototype_")),
        "a call through a vtable"
    );
    assert_eq!(parameters(&ptx, "nearest").len(), 5, "a tuple and a borrowed list are one parameter each");
    assert_eq!((count(&ptx, "mirrored", "ld.shared"), count(&ptx, "mirrored", "bar.sync")), (1, 1));
    function(&ptx, "saxpy");
    assert!(
        count(&ptx, "tables", "ld.const") > 0,
        "a borrowed text lies in constant memory, its bytes do not"
    );
    assert!(ptx.contains("malloc"), "a text is put together on the device's heap");
}

pub fn generation_b_compiles_unchanged() {
    let ptx = build("upstream", "../upstream/b", Compute75, |b| b).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        count(&ptx, "histogram", "atom.relaxed.sys.shared.add.u32"),
        1,
        "{:#?}",
        function(&ptx, "histogram")
    );
    assert_eq!(count(&ptx, "sums", "shfl.sync.down"), 5);
    assert!(function(&ptx, "only_here").iter().any(|line| line.ends_with(", 75;")), "the gate holds");
    // What their paths for x86 need is not asked for.
    function(&ptx, "sha256_oneshot");
    function(&ptx, "blake3_oneshot");
    function(&ptx, "turned");
    let roots =
        ["sqrt.rn.f32", "sqrt.rn.f64", "fma.rn.f64"].map(|instruction| count(&ptx, "root", instruction));
    assert_eq!(roots, [1, 1, 1], "libm's are the instructions, although it has some of the host's own");
    function(&ptx, "wide");
    assert!(function(&ptx, "twice")[0].starts_with(".visible .func"));
    // Kernels of libraries that know `cuda_std` under another name, or through another crate.
    assert!(function(&ptx, "doubled").iter().any(|line| line.starts_with(".maxntid 64")));
    let picked = parameters(&ptx, "picked");
    assert_eq!(picked, [".u64 .ptr .align 1", ".u64", ".f64", ".align 4 .b8[8]", ".u64 .ptr .align 1"]);
}

/// The oldest, one in the middle, and the newest when this was written: checksums, and what each needs beside `bytemuck`.
const GLAMS: [(&str, &str, &str); 3] = [
    ("0.22.0", "12f597d56c1bd55a811a1be189459e8fad2bbc272616375602443bdfb37fa774", "num-traits"),
    ("0.29.3", "8babf46d4c1c9d92deac9f7be466f76dfc4482b6452fc5024b5e8daf6ffeb3ee", "libm"),
    ("0.34.3", "627003914c6057c9c8f0832ee4f870b5a4f599d0cfa83f4072675114860cd0ff", "libm"),
];

/// A part of a lock file.
fn locked(name: &str, version: &str, checksum: &str, needs: &[&str]) -> String {
    let needs: String = needs.iter().map(|name| format!(" \"{name}\",\n")).collect();
    format!(
        "[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n\
         source = \"registry+https://github.com/rust-lang/crates.io-index\"\nchecksum = \"{checksum}\"\n\
         dependencies = [\n{needs}]\n\n"
    )
}

/// A copy of the project `glam` with this entry of `glam` in its lock file.
fn with_glam(version: &str, manifest: impl Fn(String) -> String, entries: &str) -> std::path::PathBuf {
    let (from, folder) = (fixture("../upstream/glam"), scratch().join(format!("glam-{version}")));
    let read = |name: &str| fs::read_to_string(from.join(name)).expect("the project");
    fs::create_dir_all(folder.join("src")).expect("a folder");
    fs::copy(from.join("src/lib.rs"), folder.join("src/lib.rs")).expect("the kernels");
    let cuda_std = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("cuda_std");
    let there = manifest(read("Cargo.toml")).replace("\"../../../../cuda_std\"", &format!("{cuda_std:?}"));
    fs::write(folder.join("Cargo.toml"), there).expect("the manifest");
    let lock = read("Cargo.lock");
    let (before, rest) = lock.split_once("[[package]]\nname = \"glam\"").expect("the entry");
    let (_, after) = rest.split_once("\n\n").expect("another entry");
    fs::write(folder.join("Cargo.lock"), format!("{before}{entries}{after}")).expect("the lock file");
    folder
}

/// `cuda_std` takes the version that the kernels have, and its indices are the kernels' own vectors.
pub fn whichever_glam_is_one() {
    let num_traits = "071dfc062690e90b734c0b2273ce72ad0ffa95f0c74596bc250dcfd960262841";
    let autocfg = "f2032f911046de80f0a198e0901378627c33f59ea0ac00e363d481118bd70a53";
    let others = locked("num-traits", "0.2.19", num_traits, &["autocfg", "libm"])
        + &locked("autocfg", "1.5.1", autocfg, &[]);
    for (version, checksum, needs) in GLAMS {
        let entries = locked("glam", version, checksum, &["bytemuck", needs]) + &others;
        let folder = with_glam(version, |manifest| manifest, &entries);
        let ptx = build_in_child(&format!("glam-{version}"), &folder, &[]);
        assert_eq!(count(&ptx, "moves", "sqrt.rn.f32"), 1, "glam {version}: the device's own square root");
        assert_eq!(count(&ptx, "places", "st.global.b64"), 1, "glam {version}: aligned as CUDA's vectors");
        let lock = fs::read_to_string(folder.join("Cargo.lock")).expect("the lock file");
        let expected = format!("name = \"glam\"\nversion = \"{version}\"");
        assert!(lock.contains(&expected) && lock.matches("name = \"glam\"").count() == 1, "{lock}");
    }
}

/// Cargo gives `cuda_std` the newest where the kernels name another; rustc's error does not say what to do.
pub fn two_glams_are_told_how_to_be_one() {
    let [_, (older, older_sum, _), (newer, newer_sum, _)] = GLAMS;
    let entries = locked("glam", older, older_sum, &["bytemuck", "libm"])
        + &locked("glam", newer, newer_sum, &["bytemuck", "libm"]);
    let folder =
        with_glam("twice", |manifest| manifest.replace("\">=0.22\"", &format!("\"={older}\"")), &entries);
    let lock = fs::read_to_string(folder.join("Cargo.lock")).expect("the lock file");
    let (first, second) = lock.split_once("name = \"upstream-glam\"").expect("the kernels' entry");
    let [first, second] = [(first, newer), (second, older)]
        .map(|(part, version)| part.replace(" \"glam\",", &format!(" \"glam {version}\",")));
    fs::write(folder.join("Cargo.lock"), format!("{first}name = \"upstream-glam\"{second}"))
        .expect("the lock file");
    let folder = folder.to_str().expect("a path in Unicode");
    let error = build("glam", folder, Compute75, |b| b).expect_err("two types").to_string();
    assert!(error.contains(&format!("cargo update -p glam@{newer} --precise {older}")), "{error}");
}
