//! The tool as a person meets it: what it prints, what it refuses, and how it exits.

use std::collections::HashSet;
use std::process::{Command, Output};
use std::sync::LazyLock;

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
        (&["profile", "MATMUL-NAIVE"], "`matmul_naive`"),
        (&["profile", "tiled_32"], "`matmul_tiled_32`"),
        (&["profile", "tensor_bf16_nt", "--size", "33"], "try another size"),
        (&["demo", "matmul", "--size", "3x"], "a number is missing"),
        (&["demo", "matmul", "--size", ""], "a number is missing"),
        (&["demo", "matmul", "--size", "1e3"], "written N, MxN or MxNxK"),
        (&["roofline", "copy_4_bytes"], "there is no ratio to draw"),
        (&["roofline", "tensor_tf32_nn", "--size", "64", "--model", "t4"], "which the Tesla T4 lacks"),
        (&["report", "--html", "/"], "is a folder"),
        (&["report", "--html", "/no/such/folder/page.html"], "there is no folder"),
        (&["occupancy", "matmul_tiled_16", "--block", "8x8"], "16x16x1"),
        (&["occupancy", "--block", "256", "--capability", "4.0"], "known are 1.0"),
        (&["explain", "banks", "--capability", "13.0"], "known are 1.0, 1.1"),
        (&["explain", "banks", "--capability", "9.9"], "no chip has compute capability 9.9"),
        (&["explain", "coalescing", "--capability", "2.9"], "known are 1.0, 1.1"),
        (&["explain", "cache", "--capability", "9.9"], "12.0, 12.1"),
        (&["explain", "banks", "--base", "3"], "must be aligned"),
        (&["explain", "coalescing", "--base", "2"], "must be aligned"),
        (&["explain", "cache", "--shared", "300000"], "has 232448 at most"),
        (&["inspect", "no_such_kernel"], "no kernel"),
        (&["inspect", "matmul_naive", "--sass", "--arch", "90"], "sm_90"),
        (&["list", "no_such_kernel"], "no kernel"),
        (&["profile", "banks_4_bytes", "--size", "3"], "leave --size out"),
        (&["demo", "banks", "--dynamic-tile", "16"], "is for matmul"),
        (&["demo", "matmul", "--dynamic-tile", "0"], "1 to 1024"),
        (&["demo", "matmul", "--dynamic-tile", "-1"], "a whole number"),
        (&["demo", "matmul", "--dynamic-tile", "4294967296"], "a whole number"),
        (&["check", "no_such_kernel"], "no kernel"),
        (&["check", "transpse"], "no kernel or family `transpse`; did you mean `transpose`?"),
        (&["list", "matmul_nave"], "did you mean `matmul_naive`?"),
        (&["explain", "banks", "--capability", "-1"], "is not a compute capability"),
        (&["explain", "banks", "--matrix", "32"], "ROWSxCOLUMNS"),
        (&["explain", "banks", "--matrix", "3x"], "ROWSxCOLUMNS"),
        (&["explain", "banks", "--matrix", "0x3"], "0 is too small"),
        (&["check", "--tool", "nonsense"], "race, init, barrier, api"),
        (&["roofline", "--intensity", "1e300"], "to 1e9"),
        (&["roofline", "--intensity", "1e-300"], "from 0.000001"),
        (&["roofline", "--intensity", "4", "--size", "4"], "cannot be used with"),
        (&["explain", "coalescing", "--no-l1"], "for capability 2.x"),
        (&["explain", "coalescing", "--inactive", "32"], "from 0 to 31"),
        (&["explain", "coalescing", "--inactive", "5", "--example", "scattered"], "cannot be used with"),
        (&["demo", "matmul", "--only", "matmul_nave"], "did you mean `matmul_naive`?"),
        (&["check", "--schedules", "0"], "from 1 to 10000"),
        (&["check", "--seed", "-1"], "from 0 to 18446744073709551615"),
        (&["check", "--seed", "18446744073709551616"], "from 0 to 18446744073709551615"),
        (&["bench", "nonsense"], "copy, transpose"),
        (&["bench", "--samples", "1"], "from 2 to 10000"),
        (&["bench", "--sizes", "0"], "at least 1"),
        (&["bench", "--sizes", "-1"], "at least 1"),
        (&["bench", "--against", "abacus"], "nvcc, cublas"),
        (&["bench"], "the virtual GPU has none to measure"),
        (&["new", "--project", "/proc/nowhere"], "cannot make /proc/nowhere"),
        (&["new", "smooth", "--project", "folder"], "cannot be used with"),
        (&["doctor", "--nonsense"], "--nonsense"),
        (&["devices", "h200"], "h200"),
        (&["driver-dir", "here"], "here"),
        (&["completions"], "SHELL"),
        (&["new", "not a name"], "cannot name a kernel"),
        (&["new", "matmul"], "taken"),
        (&["new"], "required"),
        (&["run", "--", "/no/such/program"], "there is no such program"),
        (&["run"], "required"),
        (&["run", "--profile", "/no/such/folder/x.json", "--", "true"], "error: "),
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
fn nonsense_in_the_environment_is_refused_with_its_name() {
    for (name, value, part) in [
        ("WARPSMITH_DEVICE", "abacus", "auto, gpu and virtual"),
        ("WARPSMITH_MODEL", "gtx480", "rtx4090"),
        ("WARPSMITH_THREADS", "many", "from 1 to 1024"),
        ("WARPSMITH_THREADS", "0", "from 1 to 1024"),
        ("WARPSMITH_SEED", "-1", "from 0 to"),
        ("WARPSMITH_WATCHDOG", "soon", "from 1 to"),
        ("WARPSMITH_CHECK", "spelling", "memory, race, init, barrier, api"),
        ("WARPSMITH_PROFILE", "/no/such/folder/profile.json", "cannot be written"),
        ("WARPSMITH_PROFILE", "/", "cannot be written"),
    ] {
        let mut tool = Command::new(env!("CARGO_BIN_EXE_warpsmith"));
        tool.args(["demo", "banks", "--json"]).env("WARPSMITH_DEVICE", "virtual").env(name, value);
        let output = tool.output().expect("the tool starts");
        let error = stderr(&output);
        assert!(matches!(output.status.code(), Some(1 | 2)), "{name}={value}: {error}");
        assert!(error.contains(name) && error.contains(part), "{name}={value}: {error}");
        let answer: Value = serde_json::from_slice(&output.stdout).expect("a failure is JSON, too");
        assert!(answer["error"].as_str().is_some_and(|said| said.contains(part)), "{name}={value}: {answer}");
    }
    // An empty variable is an unset one.
    let mut tool = Command::new(env!("CARGO_BIN_EXE_warpsmith"));
    for name in ["DEVICE", "MODEL", "THREADS", "SEED", "WATCHDOG", "CHECK", "PROFILE"] {
        tool.env(format!("WARPSMITH_{name}"), "");
    }
    let output = tool.args(["demo", "banks", "--json", "--device", "virtual"]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
}

/// The tool that somebody runs may have been built from any tree: nothing changes there unless they are in it.
#[test]
fn a_kernel_is_written_into_the_repository_around_the_folder_or_nowhere() {
    let elsewhere = tempfile::tempdir().unwrap();
    let mut tool = Command::new(env!("CARGO_BIN_EXE_warpsmith"));
    let output = tool.args(["new", "written_nowhere"]).current_dir(elsewhere.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("the repository around the current folder"), "{}", stderr(&output));
    let built_from = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    assert!(!built_from.join("src/demos/written_nowhere.rs").exists());
    assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

/// Each kernel's part of a screen is its row: what a dispatcher passed over is not told there.
#[test]
fn the_tensor_demo_fits_a_screen() {
    let text = stdout(&warpsmith(&["demo", "tensor"]));
    assert!(text.contains("tensor_…_general (nt, odd pitch) (4 rows)"), "{text}");
    assert!(text.lines().count() <= 50, "{} lines:\n{text}", text.lines().count());
}

/// A profile that cannot be written is found out at the end, when all has run: the exit code says so all the same.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_no_success() {
    let mut tool = Command::new(env!("CARGO_BIN_EXE_warpsmith"));
    tool.args(["demo", "first"]).env("WARPSMITH_DEVICE", "virtual").env("WARPSMITH_PROFILE", "/dev/full");
    let output = tool.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stderr(&output).matches("cannot be written").count(), 1, "{}", stderr(&output));

    for arguments in [&["list"][..], &["explain", "banks"], &["list", "--json"], &["completions", "bash"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut tool = Command::new(env!("CARGO_BIN_EXE_warpsmith"));
        let output = tool.args(arguments).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(stderr(&output).contains("standard output"), "{arguments:?}: {}", stderr(&output));
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
fn a_kernels_name_may_stand_where_a_demos_may() {
    let answer = json(&["demo", "matmul_tiled_16", "--size", "64", "--json"]);
    let rows = answer["results"].as_array().unwrap();
    assert!(!rows.is_empty() && rows.iter().all(|row| row["kernel"] == "matmul_tiled_16"), "{answer}");
    let refused = warpsmith(&["demo", "matmul_tiled_17"]);
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
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

/// Every command, with arguments that make it answer.
const COMMANDS: [&[&str]; 19] = [
    &["demo", "banks"],
    &["devices"],
    &["occupancy", "matmul_tiled_16"],
    &["occupancy", "--example"],
    &["explain", "banks"],
    &["explain", "banks", "--matrix", "16x16"],
    &["explain", "coalescing"],
    &["explain", "cache"],
    &["roofline", "matmul_naive", "--size", "32"],
    &["roofline", "--example"],
    &["profile", "vecadd"],
    &["inspect", "vecadd"],
    &["inspect", "vecadd", "--llvm"],
    &["inspect", "vecadd", "--source"],
    &["check", "vecadd"],
    &["list"],
    &["doctor"],
    &["completions", "bash"],
    &["completions", "fish"],
];

#[test]
fn every_command_has_help_with_examples() {
    let others: [&[&str]; 5] = [&["bench"], &["new"], &["run"], &["driver-dir"], &["report"]];
    for command in COMMANDS.iter().copied().chain(others) {
        let words = if command[0] == "explain" { &command[..2] } else { &command[..1] };
        let output = warpsmith(&[words, &["--help"]].concat());
        assert!(output.status.success(), "{words:?}");
        assert!(stdout(&output).contains("Examples:\n  "), "{words:?} --help has no example");
    }
}

/// Every key, however deep, stands as a word in `docs/json.md`.
fn keys_are_documented(value: &Value, command: &[&str]) {
    static PAGE: LazyLock<HashSet<&str>> = LazyLock::new(|| {
        let page = include_str!("../../docs/json.md");
        page.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect()
    });
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| {
            // What demos leave out goes by its reason, which is a sentence.
            assert!(
                PAGE.contains(key.as_str()) || key.contains(' '),
                "{command:?}: `{key}` is not documented"
            );
            keys_are_documented(value, command);
        }),
        Value::Array(values) => values.iter().for_each(|value| keys_are_documented(value, command)),
        _ => {}
    }
}

#[test]
fn every_command_answers_in_json_and_prints_nothing_else() {
    for command in COMMANDS {
        let answer = json(&[command, &["--json"]].concat());
        assert!(answer.as_object().is_some_and(|fields| !fields.is_empty()), "{command:?}: {answer}");
        keys_are_documented(&answer, command);
    }
}

#[test]
fn a_failure_in_json_is_one_document() {
    for (arguments, code, part) in [
        (&["profile", "matmul_nave"][..], 1, "did you mean `matmul_naive`?"),
        (&["demo", "matmul", "--size", "0"], 2, "0 is too small: every extent is at least 1"),
        (&["report", "--html", "/no/such/folder/page.html"], 1, "there is no folder"),
        (&["occupancy", "matmul_tiled_16", "--block", "8x8"], 1, "16x16x1"),
        (&["nonsense"], 2, "nonsense"),
        (&["run", "--", "/no/such/program"], 1, ""),
    ] {
        let output =
            warpsmith(&[&["--device", "virtual"], &arguments[..1], &["--json"], &arguments[1..]].concat());
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
        assert!(error.starts_with("error: "), "{arguments:?}: {error}");
        let answer: Value = serde_json::from_slice(&output.stdout).expect("one document");
        assert!(answer["error"].as_str().is_some_and(|said| said.contains(part)), "{arguments:?}: {answer}");
        assert!(answer["because"].is_array(), "{arguments:?}: {answer}");
    }
    // Behind `--` it is the program's own.
    assert!(warpsmith(&["run", "--", "/no/such/program", "--json"]).stdout.is_empty());
}

#[test]
fn nothing_is_coloured_where_nobody_looks() {
    for command in COMMANDS {
        assert!(!stdout(&warpsmith(command)).contains('\x1b'), "{command:?} colours a pipe");
    }
}

#[test]
#[cfg(unix)]
fn a_reader_that_goes_away_is_no_failure_and_a_full_disk_is_one() {
    use std::process::Stdio;
    for command in COMMANDS {
        let start = |stdout: Stdio| {
            let mut tool = Command::new(env!("CARGO_BIN_EXE_warpsmith"));
            tool.args(command).env("WARPSMITH_DEVICE", "virtual").stdout(stdout).stderr(Stdio::piped());
            tool.spawn().unwrap()
        };
        // The reading end is closed before anything is written.
        let mut child = start(Stdio::piped());
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{command:?}: {}", stderr(&output));

        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = start(full.into()).wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{command:?}");
        assert!(stderr(&output).contains("No space left"), "{command:?}: {}", stderr(&output));
    }
}

#[test]
fn a_seed_at_the_end_of_its_range_is_followed_by_the_first() {
    let last = u64::MAX.to_string();
    let output = warpsmith(&["check", "vecadd", "--seed", &last, "--schedules", "2"]);
    assert!(output.status.success(), "{}", stderr(&output));
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

/// What a person does when a check takes too long: nothing of it stays.
#[cfg(unix)]
#[test]
fn a_check_that_is_interrupted_leaves_nothing_behind() {
    use std::os::unix::process::CommandExt;
    use std::time::{Duration, Instant};

    let temporary = tempfile::tempdir().unwrap();
    let entries = || std::fs::read_dir(temporary.path()).unwrap().count();
    let mut check = Command::new(env!("CARGO_BIN_EXE_warpsmith"));
    check.args(["check", "matmul", "--schedules", "1000"]).env("TMPDIR", temporary.path()).process_group(0);
    let mut check = check.stdout(std::process::Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while entries() == 0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "the check makes no folder");
        std::thread::sleep(Duration::from_millis(10));
    }
    // To the whole group, as a terminal does.
    let group = format!("-{}", check.id());
    assert!(Command::new("kill").args(["-INT", "--", &group]).status().unwrap().success());
    assert!(!check.wait().unwrap().success());
    assert_eq!(entries(), 0);
}

#[cfg(unix)]
#[test]
fn a_folder_for_temporary_files_that_is_not_there_is_named() {
    let mut check = Command::new(env!("CARGO_BIN_EXE_warpsmith"));
    let output = check.args(["check", "vecadd"]).env("TMPDIR", "/no/such/folder").output().unwrap();
    let error = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("TMPDIR") && error.contains("/no/such/folder"), "{error}");
    assert!(!std::path::Path::new("/no").exists());
}

/// Every row says what it shows, in JSON as well as in text.
#[test]
fn every_row_has_its_sentence() {
    for demo in ["transpose", "coalescing", "banks", "spaces", "latency"] {
        let size: &[&str] = if demo == "banks" { &[] } else { &["--size", "64"] };
        let rows = json(&[&["demo", demo, "--json"], size].concat());
        for row in rows["results"].as_array().unwrap() {
            assert!(row["shows"].as_str().is_some_and(|shows| !shows.is_empty()), "{row}");
        }
    }
}

/// What each kernel of the family asks of which memory: four reads of a coefficient for each warp, from where it lives.
#[test]
fn spaces_are_told_apart_by_the_instructions_that_reach_them() {
    let rows = json(&["demo", "spaces", "--size", "1024", "--json"]);
    let of = |kernel: &str, space: &str| {
        let rows = rows["results"].as_array().unwrap();
        let row = rows.iter().find(|row| row["kernel"] == kernel).unwrap();
        row["memory_instructions"][space].as_u64().unwrap()
    };
    let warps = 1024 / 32;
    // A read of x and a write of y, and what coefficients take besides.
    assert_eq!(of("spaces_parameter", "global"), 2 * warps);
    assert_eq!(of("spaces_constant", "global"), 2 * warps);
    assert!(of("spaces_constant", "constant") >= warps);
    assert_eq!(of("spaces_local", "local"), 8 * warps);
    assert_eq!(of("spaces_parameter", "local") + of("spaces_parameter", "shared"), 0);
    assert!(of("spaces_shared", "shared") > warps && of("spaces_global", "global") > 2 * warps);
}

/// On a terminal as narrow as a phone's no line of a table and no sentence is broken by the terminal itself.
#[cfg(target_os = "linux")]
#[test]
fn tables_fit_a_narrow_terminal() {
    for columns in [40, 60, 80] {
        for command in [
            "devices",
            "list vecadd",
            "occupancy matmul_tiled_16",
            "roofline --example",
            "demo matmul --size 16",
            "explain cache --no-driver",
            "explain cache --no-driver --capability 3.5",
        ] {
            let line = format!("stty cols {columns}; {} {command}", env!("CARGO_BIN_EXE_warpsmith"));
            let output = Command::new("script")
                .args(["--quiet", "--return", "--command", &line, "/dev/null"])
                .env("WARPSMITH_DEVICE", "virtual")
                .env("NO_COLOR", "1")
                .env("TERM", "dumb")
                .output();
            let Ok(output) = output else { return }; // there is no `script`
            let text = stdout(&output);
            assert!(output.status.success(), "{command}: {text}");
            let widest = text.lines().max_by_key(|line| line.chars().count()).unwrap();
            assert!(widest.chars().count() <= columns, "{command} at {columns}:\n{widest}\n{text}");
        }
    }
}

/// The top-level keys of a shape as the page writes it: quoted names outside inner brackets.
fn keys(shape: &str) -> Vec<String> {
    let (mut depth, mut keys) = (0, Vec::new());
    for (index, part) in shape.split('"').enumerate() {
        if index % 2 == 1 {
            if depth == 1 {
                keys.push(part.to_owned());
            }
            continue;
        }
        depth += part.matches(['{', '[']).count();
        depth -= part.matches(['}', ']']).count();
    }
    keys.sort();
    keys
}

#[test]
fn the_documented_shapes_are_those_that_are_printed() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html").display().to_string();
    let report = ["--html", page.as_str()];
    let mut seen = 0;
    for row in include_str!("../../docs/json.md").lines().filter(|row| row.starts_with("| `")) {
        let mut cells = row.trim_matches('|').split(" | ");
        let (command, shape) = (cells.next().unwrap().trim().trim_matches('`'), cells.next().unwrap());
        let shape = shape.split('`').nth(1).unwrap();
        let mut words: Vec<&str> = command.split(' ').collect();
        words.extend(match command {
            "demo" => &["banks"][..],
            "profile" | "inspect" | "check" | "occupancy" => &["vecadd"],
            "roofline" => &["--example"],
            "report" => &report,
            "completions" => &["bash"],
            // These need a GPU, write into this repository, or need the stand-in library.
            "bench" | "new" | "run" | "driver-dir" => continue,
            _ => &[],
        });
        words.push("--json");
        let mut printed: Vec<String> = json(&words).as_object().unwrap().keys().cloned().collect();
        printed.sort();
        assert_eq!(printed, keys(shape), "{command}");
        seen += 1;
    }
    assert!(seen >= 14, "{seen}");
}
