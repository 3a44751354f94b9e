//! Each kernel is lowered by itself, or taken from an earlier build, and the module is as if they had been one.

use crate::compile::{count, function, kernels, scratch};
use crate::surroundings::{build_in_child, copy_of_gates};
use cuda_builder::NvvmArch::Compute75;
use std::fs;

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
