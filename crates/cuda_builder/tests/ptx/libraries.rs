//! Code from elsewhere: `core`, `alloc`, dependencies, and where it came from.

use crate::compile::{count, function, kernels};
use cuda_builder::NvvmArch::Compute75;

pub fn core_and_alloc_link_on_demand() {
    let ptx = kernels(Compute75);
    for kernel in ["sorts", "parses", "compares", "allocates", "dispatches", "names_std"] {
        function(&ptx, kernel);
    }
    let calls = |kernel: &str, callee: &str| function(&ptx, kernel).iter().any(|line| line.contains(callee));
    assert!(
        ptx.contains(".extern .func  (.param .b64 func_retval0) malloc"),
        "the allocator is the device's"
    );
    assert!(calls("dispatches", "prototype_"), "a call through a vtable");
    assert!(!ptx.contains(".extern .func  (.param .b32 func_retval0) memcmp"));
}

pub fn mathematics_is_the_devices_own() {
    let ptx = kernels(Compute75);
    assert_eq!(count(&ptx, "length", "sqrt.rn.f32"), 1, "glam's square root is the instruction");
    assert_eq!(count(&ptx, "length", "call"), 0);
    assert_eq!(
        count(&ptx, "halves", "mul.f16") + count(&ptx, "halves", "mul.rn.f16"),
        1,
        "no conversion in software"
    );
    assert_eq!(count(&ptx, "halves", "shl"), 0);
}

pub fn lines_have_their_callers() {
    let ptx = kernels(Compute75);
    let files: Vec<&str> = ptx.lines().filter(|line| line.contains(".file\t")).collect();
    let index = |name: &str| -> String {
        let line =
            files.iter().find(|line| line.contains(name)).unwrap_or_else(|| panic!("{name}: {files:#?}"));
        line.trim().trim_start_matches(".file").trim().split(' ').next().expect("an index").to_owned()
    };
    let (kernel, methods) = (index("fixtures/kernels/src/memory.rs"), index("cuda_std/src/thread.rs"));
    let inlined = format!("\t.loc\t{methods} ");
    let caller = format!("inlined_at {kernel} ");
    assert!(
        ptx.lines().any(|line| line.starts_with(&inlined)
            && line.contains("function_name")
            && line.contains(&caller)),
        "no line of cuda_std is inlined at a line of the kernel"
    );
    assert!(ptx.contains(".section\t.debug_str"));
    assert!(
        !ptx.lines().any(|line| line.starts_with(".target") && line.contains("debug")),
        "not a debug build"
    );
}

pub fn copies_do_not_multiply() {
    let ptx = kernels(Compute75);
    assert!(count(&ptx, "grows", "call.uni") > 0, "the levels are functions that are called");
    let lines = function(&ptx, "grows").len();
    assert!(lines < 20_000, "{lines} lines");
    assert_eq!(count(&ptx, "shrinks", "call"), 0, "what is small once it is optimised is inlined");
}
