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
    // 452 exchanges elements of a tile that is shorter than the vector by which LLVM reads two of them.
    let programs: Vec<Program> = (0..48).chain([452]).map(program).collect();
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

/// Without the pass of the builder that leaves each float of the block one value, threads part at it: a sum is fused with its product
/// for some of them only; NaN is LLVM's pattern for some, and hardware's for the rest.
#[test]
fn floats_that_are_not_settled_are_found() {
    let floats = ["let decides = a * b", "let decides = (n * 3) as f32 / (n * 3) as f32"];
    let decides = |program: &Program| {
        let source = source(std::slice::from_ref(program));
        floats.iter().any(|float| source.contains(float))
    };
    let programs: Vec<Program> = (0..).map(program).filter(decides).take(24).collect();
    let pass = Some("settle floats of kernels without unsafe");
    let ptx = batch::compile_text(&folder("unsettled"), source(&programs), pass);
    let wrong = wrong(&ptx.unwrap_or_else(|error| panic!("{error}")), &programs);
    println!("{} of {} programs are wrong", wrong.len(), programs.len());
    for float in floats {
        assert!(wrong.iter().any(|wrong| wrong.contains(float)), "nothing is found of `{float}`");
    }
}

/// Functions that `alloc` holds compiled allocate on the heap. They are refused; and without the pass of the builder that does so,
/// threads part at the address that each gets.
#[test]
fn what_alloc_holds_compiled_is_refused() {
    const CALL: &str = "    if \"WHO AM I\".to_lowercase().as_ptr() as usize / 16 % 17 % 2 == 1 {\n        \
                        block.reduce(&mut scratch, &own0, |a, b| a ^ b);\n    }\n";
    let of_warps = |program: &Program| program.threads().is_multiple_of(32);
    let programs: Vec<Program> = (0..).map(program).filter(of_warps).take(3).collect();
    let text = source(&programs).replace("    out.write(&block, ", &format!("{CALL}    out.write(&block, "));
    let text = text.replace("use blockwise::prelude", "extern crate alloc;\nuse blockwise::prelude");
    let folder = folder("alloc");
    let refusal = batch::compile_text(&folder, text.clone(), None).expect_err("it calls alloc");
    for program in &programs {
        let expected = format!("the kernel `{}` allocates on the heap", program.name);
        assert!(refusal.contains(&expected), "{refusal}");
    }
    let pass = Some("check what kernels without unsafe reach of the standard library");
    let ptx = batch::compile_text(&folder, text, pass).unwrap_or_else(|error| panic!("{error}"));
    assert!(!wrong(&ptx, &programs).is_empty(), "without the pass nothing is found");
}

/// A program that compiles does so no more when a mistake is made in it.
#[test]
fn each_mistake_is_refused() {
    let with = |text| (0..).map(|number| source(&[program(number)])).find(|source| source.contains(text));
    let right = MISTAKES.map(|mistake| with(mistake.text).expect("some program has such a text"));
    let mut files = vec![("lib".to_owned(), String::new())];
    for (number, (mistake, right)) in MISTAKES.iter().zip(right).enumerate() {
        files.push((format!("wrong{number}"), right.replacen(mistake.text, mistake.instead, 1)));
        files.push((format!("right{number}"), right));
        files[0].1 += &format!("mod right{number};\nmod wrong{number};\n");
    }
    let folder = folder("mistakes");
    let files: Vec<_> =
        files.iter().map(|(name, text)| (&name[..], text.replace("#![no_std]\n", ""))).collect();
    batch::write(&folder, &files, None).unwrap_or_else(|error| panic!("{error}"));
    let errors = batch::errors(&folder).unwrap_or_else(|error| panic!("{error}"));
    for (file, error) in &errors {
        assert!(file.starts_with("src/wrong"), "a right program does not compile: {error}");
    }
    for (number, mistake) in MISTAKES.iter().enumerate() {
        let file = format!("src/wrong{number}.rs");
        assert!(errors.iter().any(|(of, _)| *of == file), "{}: {file} compiles", mistake.name);
    }
}

/// Builds share a target folder, so one may wait for another, and then finds what that has made since.
#[test]
fn no_program_is_taken_for_another() {
    let [late, early] = ["late", "early"].map(folder);
    let text = |programs: &[Program]| [("lib", source(programs))];
    batch::write(&late, &text(&[program(1)]), None).unwrap();
    batch::write(&early, &text(&[program(0)]), None).unwrap();
    for (folder, name) in [(early, "random_0"), (late, "random_1")] {
        let ptx = batch::build(&folder, None).unwrap_or_else(|error| panic!("{error}"));
        assert!(ptx.contains(&format!(".entry {name}(")), "{}", folder.display());
    }
}
