//! The tool as a person meets it: what it prints, what it refuses, and how it exits.

use std::process::{Command, Output};

use serde_json::Value;

fn warpsmith(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_warpsmith"))
        .args(arguments)
        .env("WARPSMITH_DEVICE", "virtual")
        .env_remove("WARPSMITH_PROFILE")
        .output()
        .expect("the tool starts")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(arguments: &[&str]) -> Value {
    let output = warpsmith(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{arguments:?}: {error}"))
}

#[test]
fn wrong_input_is_refused_with_a_message_and_a_code() {
    let refused: &[(&[&str], &str)] = &[
        (&["demo", "matmul", "--size", "-3"], "at least 1"),
        (&["demo", "matmul", "--size", "0"], "at least 1"),
        (&["demo", "matmul", "--size", "99999999999"], "at most"),
        (&["demo", "matmul", "--size", "100000"], "at most"),
        (&["demo", "matmul", "--size", "2000000000x2000000000x2000000000"], "at most"),
        (&["demo", "matmul", "--size", "1x2x3x4"], "N, MxN or MxNxK"),
        (&["demo", "matmul", "--dynamic-tile", "33"], "1024"),
        (&["demo", "matmul", "--dynamic-tile", "x"], "auto"),
        (&["demo", "transpose", "--size", "1x2x3"], "two extents"),
        (&["demo", "coalescing", "--size", "1x2"], "one extent"),
        (&["demo", "banks", "--size", "5"], "leave --size out"),
        (&["demo", "spaces", "--size", "1x2"], "one extent"),
        (&["demo", "latency", "--size", "1x2"], "one extent"),
        (&["demo", "nonsense"], "nonsense"),
        (&["profile", "no_such_kernel"], "no kernel `no_such_kernel`"),
        (&["profile", "matmul_nave"], "`matmul_naive`"),
        (&["inspect", "no_such_kernel"], "no kernel"),
        (&["inspect", "matmul_naive", "--sass", "--arch", "90"], "sm_90"),
        (&["list", "no_such_kernel"], "no kernel"),
        (&["new", "not a name"], "cannot name a kernel"),
        (&["new", "matmul"], "taken"),
        (&["new"], "required"),
        // Without the stand-in library beside the tool, that is what it says; with it, that there is no such program.
        (&["run", "--", "/no/such/program"], "error: "),
        (&["run"], "required"),
        (&["completions", "nonsense"], "nonsense"),
        (&["nonsense"], "nonsense"),
        (&["--device", "abacus", "list"], "abacus"),
    ];
    for (arguments, part) in refused {
        let output = warpsmith(arguments);
        let error = stderr(&output);
        let code = output.status.code();
        assert!(matches!(code, Some(1 | 2)), "{arguments:?} ends with {code:?}: {error}");
        assert!(error.contains(part), "{arguments:?} does not say `{part}`: {error}");
        assert!(!error.contains("panicked"), "{arguments:?}: {error}");
    }
}

#[test]
fn a_demo_as_json_has_the_documented_shape() {
    let rows = json(&["demo", "matmul", "--size", "32", "--json"]);
    let rows = rows["results"].as_array().unwrap();
    assert!(rows.len() >= 13);
    for row in rows {
        assert_eq!(row["demo"], "matmul");
        assert_eq!(row["size"], "32x32x32");
        assert_eq!(row["device"], "virtual");
        assert_eq!(row["ok"], true);
        assert!(row["max_error"].as_f64().unwrap() < 1e-4);
        // The virtual GPU's time is no GPU's.
        assert!(row["time_ms"].is_null() && row["gflops"].is_null());
        assert!(row["counters"]["global_load"]["sectors"].as_u64().unwrap() > 0);
    }
}

#[test]
fn every_kernel_is_listed_with_its_source() {
    let listed = json(&["list", "--json"]);
    let kernels = listed["kernels"].as_array().unwrap();
    assert!(kernels.len() > 40);
    for kernel in kernels {
        assert!(kernel["file"].as_str().unwrap().starts_with("kernels-gpu/src/"), "{kernel}");
        assert!(kernel["needs"].is_string(), "{kernel}");
    }
}

#[test]
fn a_profile_names_the_line_with_the_conflicts() {
    let profile = json(&["profile", "transpose_tile", "--size", "64", "--json"]);
    assert_eq!(profile["view"], "ptx");
    let launch = &profile["launches"][0];
    assert_eq!(launch["kernel"], "transpose_tile");
    // 64 × 64 / 32 loads of 32 wavefronts each.
    assert_eq!(launch["counters"]["shared_load"]["wavefronts"], 128 * 32);
    let text = stdout(&warpsmith(&["profile", "transpose_tile", "--size", "64"]));
    assert!(text.contains("per PTX instruction") && text.contains("3,968 conflicts"), "{text}");
}

#[test]
fn ptx_and_source_of_a_kernel() {
    let ptx = stdout(&warpsmith(&["inspect", "vecadd"]));
    assert!(ptx.starts_with(".visible .entry vecadd("), "{ptx}");
    let source = stdout(&warpsmith(&["inspect", "vecadd", "--source"]));
    assert!(source.contains("pub unsafe fn vecadd("), "{source}");
}

#[test]
fn what_is_missing_is_no_failure_of_the_doctor() {
    let found = json(&["doctor", "--json"]);
    assert_eq!(found["healthy"], true);
    let llvm =
        found["findings"].as_array().unwrap().iter().find(|f| f["part"] == "LLVM of the toolchain").unwrap();
    assert_eq!(llvm["present"], true);
}

#[test]
fn every_command_has_help_with_examples() {
    for command in
        ["demo", "profile", "inspect", "list", "doctor", "new", "check", "run", "driver-dir", "occupancy"]
    {
        let output = warpsmith(&[command, "--help"]);
        assert!(output.status.success(), "{command}");
        assert!(stdout(&output).contains("xample"), "{command} --help has no example");
    }
}

#[test]
fn a_real_gpu_that_is_not_there_is_an_error_that_says_why() {
    if warpsmith(&["--device", "gpu", "demo", "banks"]).status.success() {
        return; // there is one
    }
    let output = warpsmith(&["--device", "gpu", "demo", "banks"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("GPU"), "{}", stderr(&output));
}
