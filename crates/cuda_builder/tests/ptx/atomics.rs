//! Ordering and scope of atomics.

use crate::compile::{count, function, kernels, with};
use cuda_builder::NvvmArch::{Compute61, Compute75};

fn has(ptx: &str, kernel: &str, instruction: &str) {
    assert!(count(ptx, kernel, instruction) == 1, "no `{instruction}` in {:#?}", function(ptx, kernel));
}

pub fn ordering_and_scope_are_kept() {
    let ptx = kernels(Compute75);
    has(&ptx, "relaxed", "atom.relaxed.sys.global.add.u32");
    has(&ptx, "acquire_release", "atom.acq_rel.sys.global.or.b64");
    has(&ptx, "sequential", "fence.sc.sys");
    has(&ptx, "sequential", "atom.acq_rel.sys.global.max.s32");
    has(&ptx, "subtract", "neg.s32");
    has(&ptx, "subtract", "atom.release.sys.global.add.u32");
    has(&ptx, "compare", "atom.acq_rel.sys.global.cas.b32");
}

pub fn narrow_ones_are_fenced_loops() {
    let ptx = kernels(Compute75);
    let lines = function(&ptx, "narrow");
    let at = |text: &str| {
        lines.iter().position(|line| line.contains(text)).unwrap_or_else(|| panic!("{text}: {lines:#?}"))
    };
    let cas = at(".cas.b32");
    assert!(at("fence.acq_rel.sys") < cas, "released before");
    assert!(lines[cas..].iter().any(|line| line.starts_with("fence.acq_rel.sys")), "acquired after");
}

pub fn shared_ones_name_their_space() {
    let ptx = kernels(Compute75);
    has(&ptx, "in_shared", "atom.relaxed.sys.shared.add.u32");
}

pub fn older_devices_get_fences() {
    let ptx = with("older", Compute61, |builder| builder);
    has(&ptx, "relaxed", "atom.sys.global.add.u32");
    assert_eq!(count(&ptx, "acquire_release", "membar.sys"), 2);
    has(&ptx, "acquire_release", "atom.sys.global.or.b64");
}
