//! The counting rules against counts measured on an H200 (compute capability 9.0).
//!
//! `data/h200-memory-counters.csv` was recorded with Nsight Compute: one warp per launch, one memory instruction,
//! 50 lane patterns × 14 kinds of access. `measured` is `l1tex__data_pipe_lsu_wavefronts_mem_shared_op_*.sum` or
//! `l1tex__t_sectors_pipe_lsu_mem_global_op_*.sum`, `bank_conflicts` is
//! `l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_*.sum` where the chip has one; `laneN` is the byte address of
//! that lane, empty for an inactive one.

use gpu_model::banks::{Access, shared_wavefronts};
use gpu_model::coalescing::sectors;

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
                    _ => Access::Atomic,
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
