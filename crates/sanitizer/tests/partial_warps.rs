//! Blocks whose last warp is not full.

use gpu_model::chips::H200;
use sanitizer::{Checks, Sanitizer};
use virtual_gpu::{Gpu, Launch, Options};

/// How many findings there are of a kernel whose threads all read one word of shared memory, and then each write one.
fn findings(threads: u32, between: &str) -> usize {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{{\n\
         .reg .b32 %r<4>; .shared .align 16 .b8 s[4096];\n\
         mov.u32 %r1, s; mov.u32 %r2, %tid.x; shl.b32 %r2, %r2, 2; add.u32 %r2, %r2, %r1;\n\
         st.shared.u32 [%r2], 7; bar.sync 0;\n\
         ld.shared.u32 %r3, [%r1+12]; {between} st.shared.u32 [%r2], %r3;\n ret;\n}}\n"
    );
    let sanitizer = Sanitizer::new(Checks::ALL);
    let gpu = Gpu::with_options(&H200, Options { threads: 1, ..Options::default() });
    let module = gpu.load(&text).unwrap();
    let kernel = module.kernel("k").unwrap();
    gpu.launch(&kernel, &Launch::new(1, threads), &[], &mut sanitizer.launch()).unwrap();
    sanitizer.findings().len()
}

#[test]
fn lanes_that_do_not_exist_are_waited_for_by_nobody() {
    for threads in [33, 40, 63, 64, 97, 1000] {
        assert_eq!(findings(threads, "bar.sync 0;"), 0, "{threads}");
        assert_ne!(findings(threads, ""), 0, "{threads}");
    }
}
