//! The counting rules against counts measured on an H200 (compute capability 9.0).
//!
//! `data/h200-memory-counters.csv` was recorded with Nsight Compute: one warp per launch, one memory instruction,
//! 50 lane patterns × 14 kinds of access. `measured` is `l1tex__data_pipe_lsu_wavefronts_mem_shared_op_*.sum` or
//! `l1tex__t_sectors_pipe_lsu_mem_global_op_*.sum`, `bank_conflicts` is
//! `l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_*.sum` where the chip has one; `laneN` is the byte address of
//! that lane, empty for an inactive one.

use gpu_model::banks::{Access, shared_wavefronts};
use gpu_model::coalescing::{atomic_sectors, copied_sectors, sectors};

struct Row<'a> {
    line: usize,
    access: &'a str,
    bytes: u32,
    unit: &'a str,
    measured: u32,
    bank_conflicts: Option<u32>,
    mask: u32,
    addresses: [u64; 32],
}

fn rows(table: &str) -> impl Iterator<Item = Row<'_>> {
    table.lines().enumerate().skip(1).map(|(index, text)| {
        let fields: Vec<&str> = text.split(',').collect();
        assert_eq!(fields.len(), 37, "line {}", index + 1);
        let mut mask = 0;
        let mut addresses = [0xdead_beef_dead_beef; 32];
        for (lane, field) in fields[5..].iter().enumerate() {
            if !field.is_empty() {
                mask |= 1 << lane;
                addresses[lane] = field.parse().unwrap();
            }
        }
        Row {
            line: index + 1,
            access: fields[0],
            bytes: fields[1].parse().unwrap(),
            unit: fields[2],
            measured: fields[3].parse().unwrap(),
            bank_conflicts: (!fields[4].is_empty()).then(|| fields[4].parse().unwrap()),
            mask,
            addresses,
        }
    })
}

/// A second recording, by the same method with the driver 580 and Nsight Compute 2025.3: 26 patterns that
/// `h200-lane-patterns.csv` lists, and what `access` names. Sectors are `l1tex__t_sectors_pipe_lsu_mem_global_op_*`,
/// wavefronts `smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{ldsm,stsm,atom,ld,st,ldgsts}`. Bank
/// conflicts are empty where the chip has no counter for them.
#[test]
fn every_row_of_the_other_families_is_predicted() {
    let patterns: std::collections::HashMap<&str, (u32, [u64; 32])> =
        include_str!("data/h200-lane-patterns.csv")
            .lines()
            .skip(1)
            .map(|text| {
                let (name, lanes) = text.split_once(',').unwrap();
                let mut pattern = (0, [0xdead_beef_dead_beef; 32]);
                for (lane, field) in lanes.split(',').enumerate().filter(|(_, field)| !field.is_empty()) {
                    pattern.0 |= 1 << lane;
                    pattern.1[lane] = field.parse().unwrap();
                }
                (name, pattern)
            })
            .collect();
    let mut checked = 0;
    for (index, text) in include_str!("data/h200-more-counters.csv").lines().enumerate().skip(1) {
        let fields: Vec<&str> = text.split(',').collect();
        let [access, bytes, unit, pattern, measured, conflicts] = fields[..] else {
            panic!("line {}", index + 1)
        };
        let context = format!("line {}: {text}", index + 1);
        let (bytes, measured) = (bytes.parse().unwrap(), measured.parse::<u32>().unwrap());
        let (mask, addresses) = patterns[pattern];
        checked += 1;
        if unit == "sectors" {
            assert_eq!(sectors(bytes, mask, &addresses), measured, "{context}");
            continue;
        }
        let matrices = |rows: &str| (1u64 << (8 * rows.parse::<u32>().unwrap())) as u32;
        let (rule, lanes) = match access {
            "ldmatrix.x4.trans" | "ldmatrix.x4" | "stmatrix.x4" => (Access::Matrix, u32::MAX),
            _ if access.contains("matrix") => (Access::Matrix, matrices(&access[access.len() - 1..]) - 1),
            "ld to shared" => (Access::GenericLoad, u32::MAX),
            "st to shared" => (Access::Store, u32::MAX),
            "cp.async.ca" => (Access::AsyncCopy, u32::MAX),
            "red.shared.add.u32 1" => (Access::Count, u32::MAX),
            _ if access.contains(".cas.") => (Access::CompareAndSwap, u32::MAX),
            _ => (Access::Atomic, u32::MAX),
        };
        // All lanes of a matrix instruction take part: where the pattern has no address, the recording gave the last row.
        let (mask, addresses) = match rule {
            Access::Matrix => {
                (u32::MAX, addresses.map(|a| if a == 0xdead_beef_dead_beef { 0x7ff0 } else { a }))
            }
            _ => (mask, addresses),
        };
        let cost = shared_wavefronts(rule, bytes, mask & lanes, &addresses);
        assert_eq!(cost.wavefronts, measured, "{context}");
        if !conflicts.is_empty() {
            assert_eq!(cost.bank_conflicts(), conflicts.parse().unwrap(), "{context}, bank conflicts");
        }
    }
    assert_eq!(checked, 819);
}

#[test]
fn every_measured_row_is_predicted() {
    let mut checked = 0;
    for row in rows(include_str!("data/h200-memory-counters.csv")) {
        let context = format!("line {}: {} of {} bytes", row.line, row.access, row.bytes);
        match row.unit {
            "sectors" => assert_eq!(sectors(row.bytes, row.mask, &row.addresses), row.measured, "{context}"),
            "wavefronts" => {
                let access = match row.access {
                    "ld.shared" => Access::Load,
                    "st.shared" => Access::Store,
                    // `atomicAdd(&word, 1)`: the compiler makes a count of it.
                    _ => Access::Count,
                };
                let cost = shared_wavefronts(access, row.bytes, row.mask, &row.addresses);
                assert_eq!(cost.wavefronts, row.measured, "{context}");
                if let Some(conflicts) = row.bank_conflicts {
                    assert_eq!(cost.bank_conflicts(), conflicts, "{context}, bank conflicts");
                }
            }
            unit => panic!("{context}: unknown unit {unit}"),
        }
        checked += 1;
    }
    assert_eq!(checked, 700);
}

/// Which lanes take part, and where: `-` stands for one that does not.
fn lanes(text: &str) -> (u32, [u64; 32]) {
    let (mut mask, mut addresses) = (0, [0; 32]);
    for (lane, address) in text.split(' ').enumerate().filter(|(_, address)| *address != "-") {
        addresses[lane] = address.parse().unwrap();
        mask |= 1 << lane;
    }
    (mask, addresses)
}

/// One instruction a launch, of one warp, its module compiled at level 0 (driver 580.159.04, 2026-11-22 and 23):
/// `l1tex__t_sectors_pipe_lsu_mem_global_op_atom` or `_red`, and of the pattern what no lane takes part in as `-`. Two
/// measurements of compare-and-swap of 8 bytes differ by a sector, one either way; why was not found out.
#[test]
fn global_atomics_agree() {
    let mut swaps_apart = 0;
    let mut checked = 0;
    for line in include_str!("data/h200-global-atomics.csv").lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [instruction, bytes, sectors, places] = fields[..] else { panic!("{line}") };
        let (mask, addresses) = lanes(places);
        let (bytes, sectors): (u32, u32) = (bytes.parse().unwrap(), sectors.parse().unwrap());
        let counted = atomic_sectors(bytes, mask, &addresses);
        if instruction == "atom.global.cas.b64" && counted.abs_diff(sectors) == 1 {
            swaps_apart += 1;
        } else {
            assert_eq!(counted, sectors, "{instruction} at {places}");
        }
        checked += 1;
    }
    assert_eq!((checked, swaps_apart), (823, 2));
}

/// `cp.async` of one warp: `smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_bypass` of `.cg`,
/// `_cache_access` of `.ca`, measured as those atomics were.
#[test]
fn async_copies_agree() {
    let mut checked = 0;
    for line in include_str!("data/h200-async-copies.csv").lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [instruction, bytes, measured, places] = fields[..] else { panic!("{line}") };
        let (mask, addresses) = lanes(places);
        let counted = match instruction {
            "cp.async.cg" => copied_sectors(mask, &addresses),
            _ => sectors(bytes.parse().unwrap(), mask, &addresses),
        };
        assert_eq!(counted, measured.parse().unwrap(), "{instruction} of {bytes} at {places}");
        checked += 1;
    }
    assert_eq!(checked, 110);
}

/// `ld` and `st` at generic addresses, measured as those atomics were:
/// `l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld` and `_st`, and the conflicts beside them. (The counter
/// `smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld` says less for some of these loads.)
#[test]
fn generic_addresses_agree() {
    let mut checked = 0;
    for line in include_str!("data/h200-generic-shared.csv").lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [instruction, bytes, wavefronts, conflicts, places] = fields[..] else { panic!("{line}") };
        let (mask, addresses) = lanes(places);
        let access = if instruction.starts_with("ld") { Access::GenericLoad } else { Access::Store };
        let cost = shared_wavefronts(access, bytes.parse().unwrap(), mask, &addresses);
        let counted = (cost.wavefronts.to_string(), cost.bank_conflicts().to_string());
        assert_eq!(counted, (wavefronts.to_owned(), conflicts.to_owned()), "{instruction} at {places}");
        checked += 1;
    }
    assert_eq!(checked, 292);
}
