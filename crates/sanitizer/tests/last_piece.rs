//! Memory that the hardware gives beyond what was asked for: kernels reach it, and the check tells.

use gpu_model::chips::H200;
use sanitizer::{Check, Checks, Sanitizer};
use virtual_gpu::{Error, Gpu, Launch, Options};

/// What the check says of a kernel with 132 bytes of shared memory, whose address is in `%r1`.
fn found(body: &str) -> Vec<String> {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{{\n\
         .reg .b32 %r<8>; .reg .b64 %rd<4>; .shared .align 16 .b8 s[132]; .global .align 16 .b8 g[16];\n\
         mov.u32 %r1, s; {body}\n ret;\n}}\n"
    );
    let sanitizer = Sanitizer::new(Checks::ALL);
    let gpu = Gpu::with_options(&H200, Options { threads: 1, ..Options::default() });
    let module = gpu.load(&text).unwrap();
    let kernel = module.kernel("k").unwrap();
    gpu.launch(&kernel, &Launch::new(1, 1), &[], &mut sanitizer.launch()).unwrap();
    let memory = sanitizer.findings().into_iter().filter(|finding| finding.check() == Check::Memory);
    memory.map(|finding| finding.message()).collect()
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

/// Runs a kernel over `bytes` bytes whose address is in `%rd1`, by two threads with their number in `%r1`, plainly and under the
/// checks: whether the plain run ends well, and the checks that find something.
fn over_a_buffer(bytes: u64, body: &str) -> (bool, Vec<Check>) {
    let text = format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n\
         .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .pred %p<2>;\n\
         ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; {body}\n ret;\n}}\n"
    );
    let gpu = Gpu::with_options(&H200, Options { threads: 1, ..Options::default() });
    let kernel = gpu.load(&text).unwrap().kernel("k").unwrap();
    let buffer = gpu.memory().alloc(bytes).unwrap();
    let launch = Launch::new(1, 2);
    let plain = gpu.launch(&kernel, &launch, &buffer.to_le_bytes(), &mut ());
    assert!(matches!(plain, Ok(()) | Err(Error::Fault(_))), "{plain:?}");
    let sanitizer = Sanitizer::new(Checks::ALL);
    let _ = gpu.launch(&kernel, &launch, &buffer.to_le_bytes(), &mut sanitizer.launch());
    (plain.is_ok(), sanitizer.findings().into_iter().map(|finding| finding.check()).collect())
}

#[test]
fn an_allocation_ends_at_its_granule_for_the_hardware_and_at_its_byte_for_the_check() {
    assert_eq!(over_a_buffer(100, "ld.global.u32 %r2, [%rd1+96];"), (true, vec![]));
    assert_eq!(over_a_buffer(100, "ld.global.u32 %r2, [%rd1+100];"), (true, vec![Check::Memory]));
    assert!(over_a_buffer(100, "st.global.v4.u32 [%rd1+496], {%r1,%r1,%r1,%r1};").0);
    assert_eq!(over_a_buffer(100, "ld.global.u32 %r2, [%rd1+512];"), (false, vec![Check::Memory]));
    assert!(!over_a_buffer(512, "ld.global.u32 %r2, [%rd1+512];").0);
}

/// One thread writes at this offset, and the other does as the text says.
fn beside_a_store(offset: u32, text: &str) -> String {
    format!("setp.eq.u32 %p1, %r1, 0; @%p1 st.global.u32 [%rd1+{offset}], %r1; @%p1 bra end; {text} end:")
}

/// LLVM loads four elements where it uses two of three, and says nothing in PTX before 8.3.
#[test]
fn elements_of_a_vector_that_nothing_reads_are_not_accessed() {
    let load = "ld.global.v4.u32 {%r2,%r3,%r4,%r5}, [%rd1];";
    let two = format!("{load} add.u32 %r6, %r2, %r4;");
    assert_eq!(over_a_buffer(12, &two), (true, vec![]));
    assert_eq!(over_a_buffer(12, &format!("{two} add.u32 %r6, %r6, %r5;")).1, [Check::Memory]);
    let load = "ld.shared.v4.u32 {%r2,%r3,%r4,%r5}, [%r1+128]; st.shared.u32 [%r1], %r2;";
    assert!(found(load).is_empty());
    assert_eq!(found(&format!("{load} st.shared.u32 [%r1], %r5;")).len(), 1);
    // The gap between them is another thread's.
    assert_eq!(over_a_buffer(16, &beside_a_store(4, &two)).1, []);
    assert!(over_a_buffer(16, &beside_a_store(8, &two)).1.contains(&Check::Race));
    // In a function whose registers share rows, too.
    let others = (0..600).map(|i| format!(".reg .b32 %a{i}; mov.u32 %a{i}, %r1; add.u32 %r6, %r6, %a{i};"));
    let large = others.collect::<String>();
    let two = format!("mov.u32 %r6, 0; {large} {two}");
    assert_eq!(over_a_buffer(12, &two), (true, vec![]));
    assert_eq!(over_a_buffer(12, &format!("{two} add.u32 %r6, %r6, %r5;")).1, [Check::Memory]);
}

/// NVRTC loads four elements where three are used, and says so.
#[test]
fn bytes_of_a_widened_load_that_are_not_used_are_not_accessed() {
    let load = "ld.global.v4.u32 {%r2,%r3,%r4,%r5}, [%rd1];";
    let widened = format!(".pragma \"used_bytes_mask 0xfff\"; {load}");
    assert_eq!(over_a_buffer(12, &widened), (true, vec![]));
    assert_eq!(over_a_buffer(12, load), (true, vec![Check::Memory]));
    // A byte of an element counts by itself, and the mask is of the next instruction alone.
    assert_eq!(over_a_buffer(9, &format!(".pragma \"used_bytes_mask 0x1ff\"; {load}")).1, []);
    assert_eq!(over_a_buffer(8, &format!(".pragma \"used_bytes_mask 0x1ff\"; {load}")).1, [Check::Memory]);
    assert_eq!(over_a_buffer(12, &format!("{widened} {load}")).1, [Check::Memory]);
    assert_eq!(over_a_buffer(16, &beside_a_store(12, &widened)).1, []);
    assert!(over_a_buffer(16, &beside_a_store(12, load)).1.contains(&Check::Race));
}
