//! The counters of the demos against closed forms, computed here from the access patterns and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use gpu_model::profile::Counters;
use host::demos::{self, Demo, Row, Stage};
use host::size::Size;
use warpsmith_launch::Device;

use crate::{Case, quiet};

/// The cases.
pub fn cases() -> Vec<Case> {
    vec![
        Case::virtual_only("counters::matmul", matmul),
        Case::virtual_only("counters::transpose", transpose),
        Case::virtual_only("counters::transpose_vectorised", transpose_vectorised),
        Case::virtual_only("counters::coalescing", coalescing),
        Case::virtual_only("counters::records", records),
        Case::virtual_only("counters::banks", banks),
        Case::virtual_only("counters::spaces", spaces),
        Case::virtual_only("counters::latency", latency),
    ]
}

fn rows(device: &Device, demo: &dyn Demo, size: Option<usize>) -> anyhow::Result<Vec<Row>> {
    let progress = quiet();
    let stage = Stage { size: size.map(Size::One), ..Stage::new(device, &progress) };
    Ok(demo.run(&stage)?)
}

fn of(rows: &[Row], kernel: &str, case: &str) -> anyhow::Result<Counters> {
    let row = rows.iter().find(|row| row.kernel == kernel && row.case == case);
    row.and_then(|row| row.counters).ok_or_else(|| anyhow::anyhow!("no counters for {kernel} ({case})"))
}

fn equal(what: &str, counted: u64, expected: u64) -> anyhow::Result<()> {
    anyhow::ensure!(counted == expected, "{what}: counted {counted}, by the closed form {expected}");
    Ok(())
}

/// Square matrices of edge n, a multiple of both tiles.
fn matmul(device: &Device) -> anyhow::Result<()> {
    let n = 64;
    let rows = rows(device, &demos::matmul::MatmulDemo, Some(n as usize))?;
    let warps = n * n / 32;
    let naive = of(&rows, "matmul_naive", "")?;
    // A warp is 16 × 2 threads: 2 broadcast words of A (2 sectors), 16 neighbours of B (2 sectors), for each of n steps.
    equal("naive sectors", naive.global_load.sectors, warps * n * 4)?;
    equal("naive stores", naive.global_store.sectors, n * n / 8)?;

    // Wavefronts of a store, of a load of A (a broadcast in each layout) and of a load of B, for each layout.
    let kernels = [
        ("matmul_tiled_16", "", 16, 1, 1),
        ("matmul_tiled_16_safe", "", 16, 1, 1),
        ("matmul_tiled_32", "", 32, 1, 1),
        ("matmul_dynamic", "edge 16", 16, 1, 1),
        ("matmul_dynamic", "edge 32", 32, 1, 1),
        ("matmul_column_16", "", 16, 8, 8),
        ("matmul_column_16_padded", "", 16, 2, 1),
        ("matmul_column_32", "", 32, 32, 32),
        ("matmul_column_32_padded", "", 32, 1, 1),
        ("matmul_dynamic_column", "edge 16, pad 0", 16, 8, 8),
        ("matmul_dynamic_column", "edge 16, pad 1", 16, 2, 1),
        ("matmul_dynamic_column", "edge 32, pad 0", 32, 32, 32),
        ("matmul_dynamic_column", "edge 32, pad 1", 32, 1, 1),
    ];
    for (kernel, case, edge, store, load) in kernels {
        let counted = of(&rows, kernel, case)?;
        let phases = n / edge;
        let what = |what: &str| format!("{kernel} ({case}): {what}");
        equal(&what("stores"), counted.shared_store.wavefronts, 2 * warps * phases * store)?;
        equal(
            &what("store conflicts"),
            counted.shared_store.bank_conflicts,
            2 * warps * phases * (store - 1),
        )?;
        equal(&what("loads"), counted.shared_load.wavefronts, warps * n * (1 + load))?;
        // Two tiles a phase, a warp's 128 bytes of each in 4 sectors: 1/edge of the naive kernel's words.
        equal(&what("sectors"), counted.global_load.sectors, 2 * warps * phases * 4)?;
        equal(&what("stores to C"), counted.global_store.sectors, n * n / 8)?;
    }
    Ok(())
}

/// Square matrices of edge n, a multiple of the tile.
fn transpose(device: &Device) -> anyhow::Result<()> {
    let n = 96;
    let rows = rows(device, &demos::transpose::TransposeDemo, Some(n as usize))?;
    let requests = n * n / 32;
    // Bytes of an element; wavefronts of a contiguous row, and of a column in a plain tile: lanes that share a word of
    // f16 pairs halve the conflict, 8-byte lanes go in two groups of 16 that each meet in one pair of banks.
    for (suffix, bytes, row, column) in
        [("", 4, 1, 32), ("_f64", 8, 2, 32), ("_f16", 2, 1, 16), ("_u8", 1, 1, 8)]
    {
        let kernel = |step: &str| format!("transpose_{step}{suffix}");
        for step in ["copy", "naive", "tile", "padded", "swizzled"] {
            let counted = of(&rows, &kernel(step), "")?;
            let contiguous = n * n * bytes / 32;
            let written = if step == "naive" { requests * 32 } else { contiguous };
            equal(&kernel(step), counted.global_load.sectors, contiguous)?;
            equal(&kernel(step), counted.global_store.sectors, written)?;
            let (stores, loads) = match step {
                "copy" | "naive" => (0, 0),
                "tile" => (row, column),
                _ => (row, row),
            };
            equal(&kernel(step), counted.shared_store.wavefronts, requests * stores)?;
            equal(&kernel(step), counted.shared_load.wavefronts, requests * loads)?;
        }
    }
    Ok(())
}

/// Whole tiles: every sector once on both sides, 16 bytes a lane, and shared memory at its own speed, 32 words a wavefront.
fn transpose_vectorised(device: &Device) -> anyhow::Result<()> {
    let n = 256;
    let rows = rows(device, &demos::transpose::TransposeDemo, Some(n as usize))?;
    for (suffix, bytes) in [("1_byte", 1), ("2_bytes", 2), ("4_bytes", 4), ("8_bytes", 8), ("16_bytes", 16)] {
        let kernel = format!("transpose_vectorised_{suffix}");
        let counted = of(&rows, &kernel, "")?;
        let all = n * n * bytes;
        equal(&kernel, counted.global_load.requests, all / 512)?;
        equal(&kernel, counted.global_load.sectors, all / 32)?;
        equal(&kernel, counted.global_store.requests, all / 512)?;
        equal(&kernel, counted.global_store.sectors, all / 32)?;
        // Bytes are stored two rows at a time, half a word a lane.
        let stored = if bytes == 1 { 64 } else { 128 };
        equal(&kernel, counted.shared_store.wavefronts, all / stored)?;
        equal(&kernel, counted.shared_load.wavefronts, all / 128)?;
        equal(&kernel, counted.shared().bank_conflicts, 0)?;
    }
    Ok(())
}

/// Sectors of warps that read `bytes` at each of their lanes' addresses.
fn sectors(n: u64, bytes: u64, address: impl Fn(u64) -> u64) -> u64 {
    (0..n / 32)
        .map(|warp| {
            let touched: BTreeSet<u64> = (0..32)
                .map(|lane| address(warp * 32 + lane))
                .flat_map(|first| first / 32..=(first + bytes - 1) / 32)
                .collect();
            touched.len() as u64
        })
        .sum()
}

fn coalescing(device: &Device) -> anyhow::Result<()> {
    let n = 1024;
    let rows = rows(device, &demos::coalescing::CoalescingDemo, Some(n as usize))?;
    for shift in 0..=32 {
        let counted = of(&rows, "copy_shifted", &format!("by {shift}"))?;
        equal("shifted", counted.global_load.sectors, sectors(n, 4, |i| 4 * (i + shift)))?;
    }
    for stride in 1..=32 {
        let counted = of(&rows, "copy_strided", &format!("stride {stride}"))?;
        equal("strided", counted.global_load.sectors, sectors(n, 4, |i| 4 * i * stride))?;
    }
    for (kernel, bytes) in [("copy_4_bytes", 4), ("copy_8_bytes", 8), ("copy_16_bytes", 16)] {
        let counted = of(&rows, kernel, &format!("{bytes} bytes a lane"))?;
        equal(kernel, counted.global_load.requests, n * 4 / bytes / 32)?;
        equal(kernel, counted.global_load.sectors, n / 8)?;
    }
    let direct = 3 * sectors(n, 4, |i| 12 * i);
    for (kernel, expected) in [
        ("stretch_structs", direct),
        ("stretch_in_place", direct),
        ("stretch_padded_structs", sectors(n, 16, |i| 16 * i)),
        ("stretch_arrays", 3 * n / 8),
        ("stretch_staged_structs", 3 * n / 8),
        ("stretch_staged_in_place", 3 * n / 8),
    ] {
        let counted = of(&rows, kernel, "")?;
        equal(kernel, counted.global_load.sectors, expected)?;
        equal(kernel, counted.global_store.sectors, expected)?;
        equal(kernel, counted.shared().bank_conflicts, 0)?;
    }
    Ok(())
}

/// Whole blocks of structs to arrays and back: every sector once, 16 bytes a lane, no conflict in shared memory.
fn records(device: &Device) -> anyhow::Result<()> {
    let n = 4096;
    let rows = rows(device, &demos::coalescing::CoalescingDemo, Some(n as usize))?;
    for (kernel, bytes) in
        [("points_to_arrays", 12), ("arrays_to_points", 12), ("quads_to_arrays", 16), ("arrays_to_quads", 16)]
    {
        let counted = of(&rows, kernel, "")?;
        let all = n * bytes;
        equal(kernel, counted.global_load.requests, all / 512)?;
        equal(kernel, counted.global_load.sectors, all / 32)?;
        equal(kernel, counted.global_store.requests, all / 512)?;
        equal(kernel, counted.global_store.sectors, all / 32)?;
        equal(kernel, counted.shared().bank_conflicts, 0)?;
        equal(kernel, counted.shared().wavefronts, 2 * all / 128)?;
    }
    Ok(())
}

/// Wavefronts of a load by the rule that was measured on hardware, written out once more.
fn wavefronts(bytes: u64, index: &[u32; 32]) -> u64 {
    let address: Vec<u64> = index.iter().map(|&i| u64::from(i) * bytes).collect();
    let mut lanes_of_group = match bytes {
        16 => 8,
        8 => 16,
        _ => 32,
    };
    let paired = |by: usize| (0..32).all(|lane| address[lane] == address[lane ^ by]);
    if bytes >= 8 && (paired(1) || paired(2)) {
        lanes_of_group *= 2;
    }
    address
        .chunks(lanes_of_group)
        .map(|group| {
            let words: BTreeSet<u64> =
                group.iter().flat_map(|first| first / 4..=(first + bytes - 1) / 4).collect();
            let mut banks: BTreeMap<u64, u64> = BTreeMap::new();
            words.into_iter().for_each(|word| *banks.entry(word % 32).or_default() += 1);
            banks.into_values().max().unwrap_or(0)
        })
        .sum()
}

fn banks(device: &Device) -> anyhow::Result<()> {
    let rows = rows(device, &demos::banks::BanksDemo, None)?;
    for pattern in demos::banks::Pattern::all() {
        for (kernel, bytes) in [
            ("banks_1_byte", 1),
            ("banks_2_bytes", 2),
            ("banks_4_bytes", 4),
            ("banks_8_bytes", 8),
            ("banks_16_bytes", 16),
        ] {
            let counted = of(&rows, kernel, &pattern.name)?;
            let what = format!("{kernel} ({})", pattern.name);
            equal(&what, counted.shared_load.instructions, 1)?;
            equal(&what, counted.shared_load.wavefronts, wavefronts(bytes, &pattern.index))?;
        }
    }
    // And the textbook's numbers, as numbers.
    for (case, expected) in [
        ("stride 0", 1),
        ("stride 1", 1),
        ("stride 2", 2),
        ("stride 32", 32),
        ("stride 33", 1),
        ("column of 32×32", 32),
        ("column of 32×33", 1),
    ] {
        equal(case, of(&rows, "banks_4_bytes", case)?.shared_load.wavefronts, expected)?;
    }
    Ok(())
}

fn spaces(device: &Device) -> anyhow::Result<()> {
    let n = 4096;
    let rows = rows(device, &demos::spaces::SpacesDemo, Some(n as usize))?;
    let (warps, blocks, contiguous) = (n / 32, n / 128, n / 8);
    // What each reads from global memory: x, and four coefficients, each a broadcast of one sector to a warp.
    for (kernel, expected) in [
        ("spaces_parameter", contiguous),
        ("spaces_constant", contiguous),
        ("spaces_global", contiguous + 4 * warps),
        ("spaces_global_static", contiguous + 4 * warps),
        ("spaces_shared", contiguous + blocks),
    ] {
        equal(kernel, of(&rows, kernel, "")?.global_load.sectors, expected)?;
    }
    let shared = of(&rows, "spaces_shared", "")?;
    equal("broadcast loads", shared.shared_load.wavefronts, 4 * warps)?;
    equal("stores of the first threads", shared.shared_store.wavefronts, blocks)
}

/// One thread walks a chain; a copy moves the same sectors however many warps share it.
fn latency(device: &Device) -> anyhow::Result<()> {
    let n = 4096;
    let rows = rows(device, &demos::latency::LatencyDemo, Some(n as usize))?;
    // The virtual GPU walks 256 steps. Each is a load of one lane, so one sector, or one wavefront.
    let global = of(&rows, "chase_global", "global")?;
    equal("steps through global memory", global.global_load.sectors, 256)?;
    let shared = of(&rows, "chase_shared", "shared memory")?;
    equal("steps through shared memory", shared.shared_load.wavefronts, 256)?;
    // The one thread first brings the 1,024 links, each with a load and a store of its own.
    equal("links brought", shared.shared_store.wavefronts, 1024)?;
    equal("links read", shared.global_load.sectors, 1024)?;
    for warps in [1, 2, 4, 8, 16, 32, 64] {
        let case = format!("{warps} warp{} an SM", if warps == 1 { "" } else { "s" });
        let copied = of(&rows, "copy_by_few", &case)?;
        equal(&case, copied.global_load.sectors, n / 8)?;
        equal(&case, copied.global_store.sectors, n / 8)?;
    }
    Ok(())
}
