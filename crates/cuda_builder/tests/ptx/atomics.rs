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
    let lines = function(&ptx, "locks");
    let released = lines.windows(2).any(|pair| pair[0] == "membar.sys;" && pair[1].starts_with("st."));
    assert!(released, "a store that releases has its fence before: {lines:#?}");
}

pub fn bytes_have_their_words_to_themselves() {
    let ptx = kernels(Compute75);
    let variable = |part: &str| {
        let line =
            ptx.lines().find(|line| line.contains(part) && line.starts_with('.') && line.contains(" .b8 "));
        line.unwrap_or_else(|| panic!("no variable `{part}`")).to_owned()
    };
    let busy = variable("4BUSY");
    assert!(busy.contains(".align 4 .b8") && busy.contains("[4]"), "{busy}");
    let counts = ptx.lines().find(|line| line.contains(".shared") && line.contains("shared_bytes"));
    assert!(counts.is_some_and(|line| line.contains("[8]")), "{counts:?}");
}

pub fn local_ones_are_plain() {
    let ptx = kernels(Compute75);
    let atomics = function(&ptx, "local").into_iter().filter(|line| line.contains("atom.")).count();
    assert_eq!(atomics, 0, "PTX has no atomics on local memory: {:#?}", function(&ptx, "local"));
}
