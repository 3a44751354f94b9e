//! Each kernel is lowered by itself, or taken from an earlier build, and the module is as if they had been one.

use crate::compile::{count, function, kernels, scratch};
use crate::surroundings::{LINES, build_in_child, copy_of_gates, with_dependencies};
use cuda_builder::NvvmArch::Compute75;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// How many lines define a symbol whose name ends so.
fn definitions(ptx: &str, what: &str, name: &str) -> usize {
    ptx.lines().filter(|line| line.contains(what) && line.contains(name) && !line.starts_with('\t')).count()
}

pub fn statics_are_one_memory() {
    let ptx = kernels(Compute75);
    assert_eq!(definitions(&ptx, ".global ", "5COUNT"), 1);
    // Kept apart, the reader would conclude that nothing writes it.
    for (kernel, instruction) in [("counts_up", "atom."), ("reads_the_count", "ld.")] {
        let uses = |line: &&str| line.starts_with(instruction) && line.contains("5COUNT");
        let lines = function(&ptx, kernel);
        let by_name = lines.iter().any(uses);
        let by_address =
            lines.iter().any(|line| line.contains("5COUNT")) && count(&ptx, kernel, instruction) > 0;
        assert!(by_name || by_address, "{kernel}:\n{}", lines.join("\n"));
    }
}

pub fn functions_are_found_by_their_callers() {
    let ptx = kernels(Compute75);
    for kernel in ["weighs_by_the_first", "weighs_by_the_second", "counts_through"] {
        let lines = function(&ptx, kernel);
        // `call.uni (retval0), name, (…)`, which may be more than one line.
        let called: Vec<&str> = lines
            .iter()
            .skip_while(|line| !line.starts_with("call"))
            .filter_map(|line| {
                line.split([',', ' ', '(', ')']).find(|w| w.contains("weighs") || w.contains("counts_"))
            })
            .filter(|name| *name != kernel)
            .collect();
        assert!(!called.is_empty(), "{}", lines.join("\n"));
        for name in called {
            let head = function(&ptx, name);
            assert!(head[0].starts_with(".func") || head[0].starts_with(".visible .func"), "{}", head[0]);
        }
    }
    // Who is outside calls it by its name.
    assert_eq!(ptx.matches(".visible .func  (.param .b32 func_retval0) counts_for_all(").count(), 1);
}

pub fn edits_are_seen_and_nothing_else_changes() {
    let crate_path = copy_of_gates(&scratch().join("edited"));
    let source = crate_path.join("src/lib.rs");
    let text = fs::read_to_string(&source).expect("the kernels");
    let before = build_in_child("before-an-edit", &crate_path, &[]);
    let edited = text.replace("*out = 75", "*out = 76");
    assert_ne!(edited, text);
    fs::write(&source, &edited).expect("an edit");
    let after = build_in_child("after-an-edit", &crate_path, &[]);
    assert_eq!(before.replace(", 75;", ", 76;"), after);
    fs::write(&source, &text).expect("the edit is taken back");
    assert_eq!(build_in_child("taken-back", &crate_path, &[]), before);
}

fn folders(of: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(of).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.is_dir()).collect()
}

/// What is kept of earlier builds never shows: not after an edit, not when it is damaged, not when two builds share it.
pub fn what_is_kept_gives_the_bits_of_a_build_from_nothing() {
    let folder = scratch().join("kept");
    let crate_path = copy_of_gates(&folder);
    let source = crate_path.join("src/lib.rs");
    let build = |label: &str, target: &Path| {
        let out = target.join("release/build/host/out");
        build_in_child(label, &crate_path, &[("OUT_DIR", out.as_os_str()), (LINES, OsStr::new("yes"))])
    };
    let (warm, nothing) = (folder.join("warm"), folder.join("nothing"));
    for target in [&warm, &nothing] {
        with_dependencies(target);
    }
    let before = build("kept-before", &warm);
    assert!(before.contains("\t.loc\t"), "the source's lines belong to the bits");
    // Moves all lines below it, and changes what one kernel does.
    let text = fs::read_to_string(&source).expect("the kernels");
    let edited = format!("// One line more.\n{}", text.replace("*out = 75", "*out = 76"));
    fs::write(&source, edited).expect("an edit");
    let fresh = build("kept-fresh", &nothing);
    // The crate's profile asks for it, and rustc would inline less.
    let incremental =
        folders(&nothing.join("cuda-builder")).into_iter().map(|f| f.join("release/incremental"));
    assert_eq!(incremental.flat_map(|f| folders(&f)).count(), 0, "incremental compilation");
    assert_ne!(fresh, before);
    assert_eq!(build("kept-after", &warm), fresh, "after an edit");

    let kept = warm.join("cuda-builder/lowered");
    let entries = || fs::read_dir(&kept).expect("what is kept").flatten().map(|entry| entry.path());
    assert!(entries().count() > 4, "whole modules and parts, before and after");
    for (number, entry) in entries().enumerate() {
        let mut bytes = fs::read(&entry).expect("an entry");
        match number % 3 {
            0 => bytes.truncate(bytes.len() / 2),
            1 => *bytes.last_mut().expect("content") ^= 1,
            _ => bytes.clear(),
        }
        fs::write(entry, bytes).expect("the damage");
    }
    assert_eq!(build("kept-damaged", &warm), fresh, "with damaged entries");

    fs::remove_dir_all(&kept).expect("what is kept");
    std::thread::scope(|scope| {
        let builds = ["kept-first", "kept-second"].map(|label| scope.spawn(|| build(label, &warm)));
        for build in builds {
            assert_eq!(build.join().expect("a build"), fresh, "two builds at once");
        }
    });
}
