//! Shared memory that the hardware gives beyond what the block has asked for: kernels reach it, and the check tells.

use gpu_model::chips::H200;
use sanitizer::{Check, Checks, Sanitizer};
use virtual_gpu::{Gpu, Launch, Options};

/// What the check says of a kernel with 132 bytes of shared memory, whose address is in `%r1`.
fn found(body: &str) -> Vec<String> {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{{\n\
         .reg .b32 %r<4>; .reg .b64 %rd<4>; .shared .align 16 .b8 s[132]; .global .align 16 .b8 g[16];\n\
         mov.u32 %r1, s; {body}\n ret;\n}}\n"
    );
    let sanitizer = Sanitizer::new(Checks::ALL);
    let gpu = Gpu::with_options(&H200, Options { threads: 1, ..Options::default() });
    let module = gpu.load(&text).unwrap();
    let kernel = module.kernel("k").unwrap();
    gpu.launch(&kernel, &Launch::new(1, 1), &[], &mut sanitizer.launch()).unwrap();
    let memory = sanitizer.findings().into_iter().filter(|finding| finding.check == Check::Memory);
    memory.map(|finding| finding.message).collect()
}

#[test]
fn what_lies_beyond_the_variable_is_told() {
    assert!(found("st.shared.u32 [%r1+128], 7;").is_empty());
    assert_eq!(
        found("st.shared.u32 [%r1+132], 7;"),
        ["shared write of 4 bytes outside `s` of 132 bytes: 132 bytes from its start"]
    );
    // An address of which nobody knows the array.
    let hidden =
        "cvt.u64.u32 %rd1, %r1; cvta.shared.u64 %rd1, %rd1; add.u64 %rd1, %rd1, 200; st.u32 [%rd1], 7;";
    assert_eq!(found(hidden).len(), 1);
    let copy = "cp.async.ca.shared.global [%r1+144], [g], 16; cp.async.wait_all;";
    assert_eq!(
        found(copy),
        ["shared write of 16 bytes outside `shared memory` of 132 bytes: 144 bytes from its start"]
    );
}
