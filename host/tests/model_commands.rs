//! The commands that compute with models, as a person runs them: the numbers of the teaching texts, and wrong input.

use std::process::{Command, Output};

use host::profiling::profile_on;
use host::size::Size;
use serde_json::Value;
use warpsmith_launch::{Device, DevicePreference};

fn warpsmith(line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_warpsmith"))
        .args(line.split_whitespace())
        .output()
        .expect("the program of this package can be started")
}

fn json(line: &str) -> Value {
    let output = warpsmith(&format!("{line} --json"));
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{line}: {error}"))
}

fn text(line: &str) -> String {
    let output = warpsmith(line);
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Bank conflicts of the first access of an answer.
fn wavefronts(line: &str) -> u64 {
    json(line)["accesses"][0]["wavefronts"].as_u64().unwrap()
}

#[test]
fn strides_follow_the_greatest_common_divisor() {
    for (stride, expected) in [(0, 1), (1, 1), (2, 2), (3, 1), (6, 2), (8, 8), (32, 32), (33, 1)] {
        assert_eq!(wavefronts(&format!("explain banks --stride {stride}")), expected, "stride {stride}");
    }
}

#[test]
fn widths_are_served_in_groups() {
    assert_eq!(wavefronts("explain banks --bytes 8"), 2);
    assert_eq!(wavefronts("explain banks --bytes 16"), 4);
    assert_eq!(wavefronts("explain banks --bytes 1"), 1);
    assert_eq!(wavefronts("explain banks --bytes 16 --stride 0"), 2);
    assert_eq!(wavefronts("explain banks --bytes 16 --stride 0 --store"), 4);
}

#[test]
fn padding_clears_columns_of_32_and_leaves_two_for_16() {
    let find = |line: &str, name: &str| -> u64 {
        let answer = json(line);
        let accesses = answer["accesses"].as_array().unwrap();
        let one = accesses.iter().find(|one| one["name"].as_str().unwrap().starts_with(name)).unwrap();
        one["wavefronts"].as_u64().unwrap()
    };
    assert_eq!(find("explain banks --matrix 32x32", "column"), 32);
    assert_eq!(find("explain banks --matrix 32x32 --pad 1", "column"), 1);
    assert_eq!(find("explain banks --matrix 16x16", "tile fill"), 8);
    assert_eq!(find("explain banks --matrix 16x16 --pad 1", "tile fill"), 2);
    assert_eq!(find("explain banks --matrix 16x16", "tile use"), 8);
    assert_eq!(find("explain banks --matrix 16x16 --pad 1", "tile use"), 1);
}

#[test]
fn a_stride_and_a_matrix_may_be_asked_for_together() {
    let answer = json("explain banks --stride 1 --bytes 4 --banks 10 --bank-bytes 4 --matrix 10x10 --pad 1");
    let of = |index: usize| answer["accesses"][index]["degree"].as_u64().unwrap();
    // A row and a padded column of ten lanes: rows begin 11 words apart, and 11 has no common factor with 10.
    assert_eq!([of(0), of(1), of(2)], [1, 1, 1]);
    assert_eq!(json("explain banks --banks 10 --matrix 10x10")["accesses"][1]["degree"], 10);
}

#[test]
fn older_chips_have_their_own_banks() {
    let bytes = |line: &str| json(line)["peak_bytes_per_clock"].as_f64().unwrap();
    assert_eq!(bytes("explain banks --capability 1.0"), 32.0);
    assert_eq!(bytes("explain banks --capability 2.0"), 64.0);
    assert_eq!(bytes("explain banks --capability 3.5 --bank-mode 8"), 256.0);
    assert_eq!(wavefronts("explain banks --stride 2 --capability 3.5"), 1);
    assert_eq!(wavefronts("explain banks --banks 8 --stride 2"), 2);
    assert_eq!(wavefronts("explain banks --banks 10 --stride 5"), 5);
}

#[test]
fn utilisation_of_the_two_worked_examples() {
    let used = |example: &str| -> Vec<i64> {
        let answer = json(&format!("explain coalescing --example {example}"));
        let rows = answer["patterns"][0]["generations"].as_array().unwrap();
        // The rows of lines (2.x through L1) and of sectors (3.x on).
        [2, 4].map(|row| (rows[row]["efficiency"].as_f64().unwrap() * 100.0).round() as i64).into()
    };
    assert_eq!(used("misaligned"), [50, 80]);
    assert_eq!(used("scattered"), [33, 67]);
}

#[test]
fn the_texts_show_what_they_promise() {
    assert!(text("explain banks --stride 2").contains("2-way conflict: 2 wavefronts instead of 1"));
    assert!(text("explain banks --stride 2").contains("64 bytes per clock instead of 128"));
    assert!(
        text("explain coalescing --example misaligned")
            .contains("shifted by 0, 8, 16, 24, 32: 4 transactions")
    );
    assert!(text("explain coalescing --example structs").contains("12-byte structs"));
    assert!(text("explain cache --no-driver --capability 3.5").contains("Banks can be set to 4 or 8 bytes"));
    assert!(text("explain cache --no-driver").contains("overridden: a block needs more"));
    assert!(text("occupancy --block 16x16 --registers 64").contains("4 blocks"));
    let examples = text("occupancy --example");
    for answer in ["10 registers a thread", "2 KiB a block", "3 blocks", "6 KiB of 16 KiB"] {
        assert!(examples.contains(answer), "{answer} in\n{examples}");
    }
}

#[test]
fn the_roofline_example_has_the_texts_numbers() {
    let answer = json("roofline --example");
    let example = &answer["example"];
    assert_eq!(example["operands"], 50e9);
    assert_eq!(example["naive_attainable"], 50e9);
    assert_eq!(example["needed_cgma"], 30.0);
    assert!(text("roofline --example").contains("at most 50.0 GFLOP/s"));
    assert_eq!(json("roofline --intensity 1000 --model t4")["kernels"][0]["bound"], "compute");
}

#[test]
fn kernels_are_weighed_by_their_counts() {
    let ratio = |kernel: &str| {
        let answer = json(&format!("roofline {kernel} --size 64 --device virtual"));
        answer["kernels"][0]["cgma"].as_f64().unwrap()
    };
    // 2·64³ operations and the epilogue's 2·64², on 2·64³ loads and 64² stores.
    let naive = (2.0 * 64f64.powi(3) + 2.0 * 64f64.powi(2)) / (2.0 * 64f64.powi(3) + 64f64.powi(2));
    assert!((ratio("matmul_naive") - naive).abs() < 0.02, "{} instead of {naive}", ratio("matmul_naive"));
    // 16×16 tiles load each element once for 16 uses.
    let tiled = (2.0 * 64f64.powi(3)) / (2.0 * 64f64.powi(3) / 16.0 + 64f64.powi(2));
    assert!(
        (ratio("matmul_tiled_16") - tiled).abs() < 0.3,
        "{} instead of {tiled}",
        ratio("matmul_tiled_16")
    );
}

#[test]
fn occupancy_knows_a_kernels_shared_memory_and_shape() {
    let answer = json("occupancy matmul_tiled_16 --device virtual --registers 40");
    let needs = &answer["occupancy"]["needs"];
    assert_eq!((&needs["threads"], &needs["static_shared"]), (&Value::from(256), &Value::from(2048)));
    assert_eq!(answer["occupancy"]["blocks"], 6, "65,536 registers / (40 × 256) is 6.4");
}

#[test]
fn the_report_shows_every_kernel_that_the_demos_launch() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let answer = json(&format!("report --html {}", page.display()));
    let kernels = answer["kernels"].as_array().unwrap();
    let find = |name: &str| {
        let found = kernels.iter().find(|kernel| kernel["launch"]["kernel"] == name);
        found.unwrap_or_else(|| panic!("{name} is not in the report"))
    };
    assert!(find("transpose_tile")["launch"]["counters"]["shared_load"]["bank_conflicts"].as_u64() > Some(0));
    assert_eq!(find("transpose_padded")["launch"]["counters"]["shared_load"]["bank_conflicts"], 0);
    assert_eq!(find("banks_4_bytes")["launch"]["counters"]["shared_load"]["bank_conflicts"], 31);
    let html = std::fs::read_to_string(&page).unwrap();
    for kernel in kernels {
        let name = kernel["launch"]["kernel"].as_str().unwrap();
        assert!(html.contains(&format!("id=\"kernel-{name}\"")), "{name}");
    }
    assert!(html.contains("kernels-gpu/src/transpose"), "counters stand beside the kernels' own lines");
    assert!(html.contains("<circle"), "the roofline has marks");
}

#[test]
fn the_virtual_gpu_stands_for_each_model() {
    for (model, capability, sms) in [("h200", "9.0", 132), ("t4", "7.5", 40), ("rtx3060", "8.6", 28)] {
        let output = Command::new(env!("CARGO_BIN_EXE_warpsmith"))
            .args(["devices", "--device", "virtual", "--json"])
            .env("WARPSMITH_MODEL", model)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(answer["devices"][0]["capability"], capability, "{model}");
        assert_eq!(answer["devices"][0]["sms"], sms, "{model}");
        assert_eq!(answer["devices"][0]["is_virtual"], true);
        assert_eq!(answer["models"].as_array().unwrap().len(), 8);
    }
}

#[test]
fn no_line_is_wider_than_a_terminal() {
    for line in [
        "explain banks --stride 2",
        "explain banks --bytes 16",
        "explain banks --matrix 32x32 --pad 1",
        "roofline --example",
        "explain coalescing --example scattered",
        "explain coalescing --example structs --capability 1.0",
    ] {
        let drawn = text(line);
        let widest = drawn.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= 100, "{line}: {widest} columns");
    }
}

#[test]
fn wrong_input_is_answered_with_the_limit() {
    for (line, code, part) in [
        ("explain banks --stride -1", 2, "from 0 to 65536"),
        ("explain banks --bytes 3", 2, "[possible values: 1, 2, 4, 8, 16]"),
        ("explain banks --banks 0", 2, "from 1 to 1024"),
        ("explain banks --banks 8 --bank-bytes 3", 1, "widths of 1, 2, 4, 8, 16 or 32 bytes"),
        ("explain banks --capability 4.0", 1, "no chip has compute capability 4.0"),
        ("explain banks --capability nine", 2, "not a compute capability"),
        ("explain banks --bank-mode 8", 1, "3.x only"),
        ("explain banks --bytes 8 --base 4", 1, "not a multiple of 8"),
        ("explain banks --matrix 32", 2, "ROWSxCOLUMNS"),
        ("explain banks --matrix 0x4", 2, "at least 1"),
        ("explain banks --matrix 100000x100000", 1, "bytes; a block has"),
        ("explain coalescing --capability 13.0", 1, "no chip has compute capability 13.0"),
        ("explain coalescing --example misaligned --stride 2", 2, "cannot be used with"),
        ("explain cache --capability 4.0", 1, "no chip has compute capability 4.0"),
        ("explain cache --shared 999999", 1, "232448"),
        ("explain", 2, "banks"),
        ("roofline --intensity 0", 2, "above 0"),
        ("roofline --intensity NaN", 2, "above 0"),
        ("roofline", 2, "KERNEL|FILE"),
        ("roofline no_such_kernel", 1, "no_such_kernel"),
        ("roofline transpose_copy --device virtual", 1, "no ratio to draw"),
        ("report", 2, "--html"),
        ("report --html /no/such/folder/page.html", 1, "there is no folder /no/such/folder"),
        ("report --html /", 1, "is a folder"),
        ("occupancy no_such_kernel", 1, "no_such_kernel"),
        ("roofline --example --model t4", 2, "cannot be used with"),
        ("occupancy --block 0", 2, "at least 1"),
        ("occupancy --block 2048", 1, "1024"),
        ("occupancy --block 1x1x65", 1, "64 in z"),
        ("occupancy --block 16x16 --registers 0", 2, "from 1 to 1024"),
        ("occupancy --block 16x16 --shared -1", 2, "from 0 to"),
        ("occupancy matmul_tiled_16 --block 8x8", 1, "16x16x1 threads, not 8x8x1"),
        ("explain banks --stride 3.5", 2, "from 0 to 65536"),
        ("explain coalescing --stride -1", 2, "from 0 to 1048576"),
        ("explain coalescing --base 3", 1, "not a multiple of 4"),
        ("explain cache --shared -1", 2, "from 0 to 1048576"),
        ("report --html /dev/full", 1, "cannot write /dev/full"),
        ("occupancy --block 256 --registers 300", 1, "255"),
        ("occupancy --block 1024 --registers 128", 1, "launch_bounds"),
        ("occupancy --block 256 --shared 300000", 1, "232448"),
        ("occupancy --block 256 --model gtx480", 2, "known are h200"),
        ("occupancy --block 999999x999999", 1, "1024"),
    ] {
        let output = warpsmith(line);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{line}: {message}");
        assert!(message.contains(part), "{line}: {message}");
        assert!(output.stdout.is_empty(), "{line} printed beside its error");
    }
}

/// Also those that a dispatcher takes only for sizes that nobody would wait for here.
#[test]
fn every_product_has_a_profile() {
    let products = ["product_", "tensor_", "hopper_"];
    let kernels = host::registry::kernels().map(|(_, kernel)| kernel.name);
    // One device: to read the modules takes longer than to run the kernels.
    let device = Device::open(DevicePreference::Virtual).unwrap();
    for kernel in kernels.filter(|kernel| products.iter().any(|product| kernel.starts_with(product))) {
        let profiles = profile_on(&device, kernel, Some(Size::One(64)))
            .unwrap_or_else(|error| panic!("{kernel}: {error}"));
        assert!(profiles.iter().all(|profile| profile.kernel == kernel));
    }
}
