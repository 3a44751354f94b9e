//! What commands can be about besides the kernels of this repository: programs, profiles that were written, and PTX.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

const WARPSMITH: &str = env!("CARGO_BIN_EXE_warpsmith");

const KERNELS: &str = "
.version 7.0
.target sm_75
.address_size 64
.visible .entry bound(.param .u64 p) .maxntid 128, 1, 1 { .shared .align 4 .b8 tile[4096]; .reg .u32 %r; ld.shared.u32 %r, [tile]; ret; }
.visible .entry other() { { ret; } }
";

fn warpsmith(folder: &Path, arguments: &[&str]) -> Output {
    let mut tool = Command::new(WARPSMITH);
    tool.args(arguments).current_dir(folder).env_remove("WARPSMITH_PROFILE");
    tool.output().expect("the tool starts")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[track_caller]
fn answers(folder: &Path, arguments: &[&str]) -> String {
    let output = warpsmith(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", said(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[cfg(unix)]
#[test]
fn a_programs_processes_are_profiled_together_and_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let twice = format!("'{WARPSMITH}' demo first --size 1000; '{WARPSMITH}' demo first --size 320");
    let text = answers(folder.path(), &["profile", "vecadd", "--", "sh", "-c", &twice]);
    assert!(text.contains("vecadd on the virtual GPU (h200): 2 launches"), "{text}");
    assert!(text.contains(", process 1") && text.contains(", process 2"), "{text}");
    assert!(text.contains("vecadd.rs:") || text.contains("first.rs:"), "{text}");
    let json = answers(folder.path(), &["profile", "--json", "--", "sh", "-c", &twice]);
    std::fs::write(folder.path().join("p.json"), &json).unwrap();
    let json: Value = serde_json::from_str(&json).unwrap();
    let launches = json["launches"].as_array().unwrap();
    assert_eq!(launches.first().unwrap()["process"], 1);
    assert_eq!(launches.last().unwrap()["process"], 2);

    // What was written is read again, by every command that needs launches.
    let again = answers(folder.path(), &["profile", "p.json:vecadd"]);
    assert!(again.contains("2 launches"), "{again}");
    assert!(answers(folder.path(), &["roofline", "p.json:vecadd"]).contains("vecadd: "));
    assert!(answers(folder.path(), &["occupancy", "p.json:vecadd"]).contains("on a multiprocessor"));
    let page = answers(folder.path(), &["report", "p.json", "--html", "-"]);
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("id=\"kernel-vecadd\""), "{page}");
    let wrong = warpsmith(folder.path(), &["profile", "p.json:vecad"]);
    assert!(!wrong.status.success() && said(&wrong).contains("did you mean `vecadd`?"), "{}", said(&wrong));
}

#[cfg(unix)]
#[test]
fn code_and_occupancy_are_those_of_the_modules_that_a_program_loads() {
    let folder = tempfile::tempdir().unwrap();
    let program = ["--", WARPSMITH, "demo", "first", "--size", "1000"];
    let ptx = answers(folder.path(), &[&["inspect", "vecadd"][..], &program].concat());
    assert!(ptx.starts_with(".visible .entry vecadd(") && ptx.ends_with("}\n"), "{ptx}");
    assert_eq!(ptx.matches(".entry").count(), 1);
    let source = answers(folder.path(), &[&["inspect", "vecadd", "--source"][..], &program].concat());
    assert!(source.contains("#[kernel]\npub ") && source.contains("fn vecadd("), "{source}");
    let text = answers(folder.path(), &[&["occupancy", "vecadd"][..], &program].concat());
    assert!(text.starts_with("vecadd: "), "{text}");
}

#[cfg(unix)]
#[test]
fn a_program_that_fails_hands_its_exit_code_on() {
    let folder = tempfile::tempdir().unwrap();
    let then_fails = format!("'{WARPSMITH}' demo first --size 1000; exit 7");
    for command in ["profile", "roofline", "occupancy", "inspect"] {
        let output = warpsmith(folder.path(), &[command, "vecadd", "--", "sh", "-c", &then_fails]);
        assert_eq!(output.status.code(), Some(7), "{command}: {}", said(&output));
        assert!(said(&output).contains("`sh` failed (exit status: 7)"), "{command}: {}", said(&output));
        assert!(String::from_utf8_lossy(&output.stdout).contains("vecadd"), "{command}: {}", said(&output));
        let output = warpsmith(folder.path(), &[command, "--", "sh", "-c", "exit 9"]);
        assert_eq!(output.status.code(), Some(9), "{command}: {}", said(&output));
    }
}

#[cfg(unix)]
#[test]
fn a_program_without_cuda_is_told_so() {
    let folder = tempfile::tempdir().unwrap();
    for command in ["profile", "roofline", "occupancy", "inspect"] {
        let output = warpsmith(folder.path(), &[command, "--", "true"]);
        assert!(!output.status.success(), "{command}");
        assert!(said(&output).contains("`true` made no CUDA call"), "{command}: {}", said(&output));
    }
}

#[test]
fn ptx_is_inspected_and_its_limits_are_told() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("k.ptx"), KERNELS).unwrap();
    let all = answers(folder.path(), &["inspect", "k.ptx"]);
    assert_eq!(all.matches(".entry").count(), 2, "{all}");
    let other = answers(folder.path(), &["inspect", "k.ptx:other"]);
    assert_eq!(other.trim(), ".visible .entry other() { { ret; } }");
    let text = answers(folder.path(), &["occupancy", "k.ptx:bound"]);
    assert!(text.contains("4 KiB of static") && text.contains("128 threads"), "{text}");
    let both = answers(folder.path(), &["occupancy", "k.ptx"]);
    assert!(both.starts_with("bound: ") && both.contains("\nother: "), "{both}");
    let json: Value =
        serde_json::from_str(&answers(folder.path(), &["occupancy", "k.ptx", "--json"])).unwrap();
    assert_eq!((&json[0]["kernel"], &json[1]["kernel"]), (&"bound".into(), &"other".into()));
    for (arguments, part) in [
        (&["occupancy", "k.ptx:bound", "--block", "256"][..], "at most 128 threads"),
        (&["inspect", "k.ptx:bund"], "did you mean `bound`?"),
        (&["inspect", "k.ptx:bound", "--source"], "does not say its lines"),
        (&["profile", "k.ptx"], "which launches nothing"),
        (&["inspect", "none.ptx"], "cannot read none.ptx"),
        (&["profile"], "KERNEL|FILE"),
        (&["occupancy"], "KERNEL|FILE"),
    ] {
        let output = warpsmith(folder.path(), arguments);
        assert!(!output.status.success() && said(&output).contains(part), "{arguments:?}: {}", said(&output));
    }
}

#[test]
fn two_profiles_are_compared_by_kernel_and_line() {
    let folder = tempfile::tempdir().unwrap();
    for (file, kernel) in [("before.json", "transpose_tile"), ("after.json", "transpose_padded")] {
        let profile = answers(folder.path(), &["profile", kernel, "--size", "64", "--json"]);
        std::fs::write(folder.path().join(file), profile).unwrap();
    }
    let text = answers(folder.path(), &["profile", "--compare", "before.json", "after.json"]);
    assert!(text.contains("transpose_tile → transpose_padded"), "{text}");
    let conflicts = text.lines().find(|line| line.contains("bank conflicts")).unwrap();
    assert!(conflicts.contains("3,968") && conflicts.contains("-100.0 %"), "{text}");
    assert!(text.contains("before:") && text.contains("transpose.rs:"), "{text}");
    let json = answers(folder.path(), &["profile", "--compare", "before.json", "after.json", "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    let [before, after] =
        ["before", "after"].map(|side| &json["kernels"][0][side]["shared_load"]["bank_conflicts"]);
    assert_eq!((before, after), (&3968.into(), &0.into()));
    let one = warpsmith(folder.path(), &["profile", "--compare", "before.json"]);
    assert!(!one.status.success() && said(&one).contains("--compare takes two"), "{}", said(&one));
}

/// Every byte that either moves is used: what tells them apart is how often it is moved.
#[test]
fn a_naive_product_is_told_that_its_blocks_fetch_again_and_a_tiled_one_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let again = |kernel: &str| {
        let text = answers(folder.path(), &["profile", kernel, "--size", "64"]);
        text.contains("each block fetches its bytes")
    };
    assert!(again("matmul_naive"));
    assert!(!again("matmul_tiled_16"));
}

#[test]
fn a_line_is_shown_with_what_it_became() {
    let folder = tempfile::tempdir().unwrap();
    let text = answers(folder.path(), &["inspect", "vecadd", "--lines"]);
    let line = text.split("\n\n").find(|part| part.contains("ld.global")).unwrap();
    assert!(line.contains(".rs:"), "{text}");
    // Without `ptxas` it says so, and what it can it shows.
    assert!(text.contains("No machine code: `ptxas` is not here") || text.contains("LDG"), "{text}");
}
