//! A small share of the programs; `cargo run --release -p blockwise_random` makes more.

use blockwise_random::batch::{self, RULES};
use blockwise_random::{MISTAKES, Program, program, source};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

fn folder(name: &str) -> PathBuf {
    // Device crates are cached where a build script's would be.
    static OUT: LazyLock<()> = LazyLock::new(|| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("tmp is in the target folder");
        // SAFETY: the first of all builds comes here while the others wait, and nothing else reads the environment.
        unsafe { std::env::set_var("OUT_DIR", target.join("tests/build/blockwise_random/out")) };
    });
    LazyLock::force(&OUT);
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("blockwise-random").join(name)
}

fn wrong(ptx: &str, programs: &[Program]) -> Vec<String> {
    let loaded = batch::load(ptx).unwrap_or_else(|error| panic!("{error}"));
    let say = |program: &Program| {
        let error = batch::run(&loaded, program).err()?;
        Some(format!("{}: {error}\n{}", program.name, source(std::slice::from_ref(program))))
    };
    programs.iter().filter_map(say).collect()
}

#[test]
fn programs_are_right_under_each_schedule() {
    let programs: Vec<Program> = (0..48).map(program).collect();
    let ptx = batch::compile(&folder("whole"), &programs, None).unwrap_or_else(|error| panic!("{error}"));
    let wrong = wrong(&ptx, &programs);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Programs on a library that lacks a rule: so the run above could have failed.
#[test]
fn each_rule_that_is_removed_is_found() {
    for (number, rule) in RULES.iter().enumerate() {
        let (text, times) = rule.shown_by;
        let shows = |program: &Program| source(std::slice::from_ref(program)).matches(text).count() >= times;
        let programs: Vec<Program> = (0..).map(program).filter(shows).take(5).collect();
        let folder = folder(&format!("without-{number}"));
        let ptx = batch::compile(&folder, &programs, Some(rule)).unwrap_or_else(|error| panic!("{error}"));
        let wrong = wrong(&ptx, &programs);
        println!("{}: {} of {} programs are wrong", rule.name, wrong.len(), programs.len());
        assert!(!wrong.is_empty(), "without the rule \"{}\" nothing is found", rule.name);
    }
}

/// A program that compiles does so no more when a mistake is made in it.
#[test]
#[ignore = "one at a time: beside the other builds a program with a mistake was once taken for one that compiles"]
fn each_mistake_is_refused() {
    let folder = folder("mistakes");
    for mistake in MISTAKES {
        let text = (0..).map(|number| source(&[program(number)])).find(|text| text.contains(mistake.text));
        let text = text.expect("some program has such a text");
        let wrong = text.replacen(mistake.text, mistake.instead, 1);
        let compiled = batch::compile_text(&folder, &wrong, None);
        assert!(compiled.is_err(), "{}: this compiles\n{wrong}", mistake.name);
    }
}
