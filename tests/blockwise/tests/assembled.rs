//! What `ptxas` makes of the kernels, without a GPU: each takes no more registers than its twin in raw pointers and two more, or no
//! more of the eights in which a GPU gives registers to threads, and none has local memory. The twins' numbers are those of the committed table of `tests/assembled`, of the same `ptxas`.
//!
//! Without `ptxas` there is nothing to test; `WARPSMITH_REQUIRE=ptxas` makes that a failure.

use std::collections::BTreeMap;
use std::process::Command;

use cuda_builder::{CudaBuilder, NvvmArch};

/// A kernel and its twin in raw pointers.
const TWINS: [(&str, &str); 14] = [
    ("safe_vecadd", "vecadd"),
    ("safe_matmul_naive", "matmul_naive"),
    ("safe_matmul_tiled_16", "matmul_tiled_16"),
    ("safe_matmul_tiled_32", "matmul_tiled_32"),
    ("safe_matmul_column_order_16", "matmul_column_16"),
    ("safe_matmul_column_order_padded_16", "matmul_column_16_padded"),
    ("safe_transpose_naive", "transpose_naive"),
    ("safe_transpose_tile", "transpose_tile"),
    ("safe_transpose_padded", "transpose_padded"),
    ("safe_transpose_swizzled", "transpose_swizzled"),
    ("safe_offset", "copy_shifted"),
    ("safe_missing_lanes", "copy_some_lanes"),
    ("safe_copy_8_bytes", "copy_8_bytes"),
    ("safe_copy_16_bytes", "copy_16_bytes"),
];

#[test]
fn registers_are_the_twins_and_local_memory_is_none() {
    let Some(version) = output(&["--version"]) else {
        let required =
            std::env::var("WARPSMITH_REQUIRE").is_ok_and(|what| what.split(',').any(|word| word == "ptxas"));
        assert!(!required, "WARPSMITH_REQUIRE asks for ptxas, and there is none on the search path");
        return;
    };
    let table: serde_json::Value = serde_json::from_str(include_str!("../../assembled/table.json")).unwrap();
    let same_version = version.contains(table["ptxas"].as_str().unwrap());
    let ptx = CudaBuilder::new(env!("CARGO_MANIFEST_DIR")).arch(NvvmArch::Compute75).build().unwrap();
    for chip in ["sm_75", "sm_80", "sm_90"] {
        let report = output(&["-v", "-arch", chip, "-o", "/dev/null", ptx.to_str().unwrap()]).unwrap();
        let registers = registers(&report);
        assert!(registers.len() > TWINS.len(), "{report}");
        for (safe, raw) in TWINS {
            let twin = &table["kernels"][raw]["assembled"][chip]["registers"];
            let (own, twin) = (registers[safe], twin.as_u64().unwrap());
            println!("{chip} {safe}: {own} registers, {raw}: {twin}");
            assert!(
                own <= (twin + 2).max(twin.next_multiple_of(8)) || !same_version,
                "{safe} takes {own} registers for {chip}, {raw} takes {twin}"
            );
        }
        let none = "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads";
        let mut frames = report.lines().filter(|line| line.contains("stack frame"));
        assert_eq!(frames.find(|line| *line != none), None, "for {chip}");
    }
}

/// What `ptxas` says, on either stream.
fn output(arguments: &[&str]) -> Option<String> {
    let run = Command::new("ptxas").args(arguments).output().ok()?;
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    Some(String::from_utf8_lossy(&run.stdout).into_owned() + &String::from_utf8_lossy(&run.stderr))
}

/// The registers of each kernel.
fn registers(report: &str) -> BTreeMap<&str, u64> {
    let mut kernel = "";
    let mut found = BTreeMap::new();
    for line in report.lines() {
        if let Some(name) = line.split("Compiling entry function '").nth(1) {
            kernel = name.split('\'').next().unwrap_or_default();
        } else if let Some(used) = line.split("Used ").nth(1) {
            let number = used.split(' ').next().unwrap_or_default();
            found.insert(kernel, number.parse().unwrap());
        }
    }
    found
}
