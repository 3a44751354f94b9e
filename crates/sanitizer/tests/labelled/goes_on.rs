//! A launch goes on after an access out of bounds: without the access, and without whatever is made of its value.

use gpu_model::chips::H200;
use sanitizer::{Check, Checks, Finding, Sanitizer, Severity};
use virtual_gpu::texture::{ChannelFormat, Image};
use virtual_gpu::{Error, Gpu, Launch, Options};

/// Words of the buffer.
const WORDS: u64 = 1024;

/// A function that hands its argument on by its stack.
const THROUGH: &str = ".func (.param .b32 out) through(.param .b32 in)\n{\n\
    .local .align 4 .b8 stack[8]; .reg .b32 %r<3>; .reg .b64 %rd<2>;\n\
    ld.param.u32 %r1, [in]; mov.u64 %rd1, stack; st.local.u32 [%rd1+4], %r1; ld.local.u32 %r2, [%rd1+4];\n\
    st.param.b32 [out], %r2; ret;\n}\n";

/// What is found in a kernel whose buffer of zeros is at `%rd1`, its thread's element at `%rd2`, and whose thread is `%r1`;
/// whether the launch failed; and the buffer's words. `%rd8` is a surface of 8 by 4 of them.
fn run(checks: &str, body: &str, launch: Launch) -> (Vec<Finding>, Option<Error>, Vec<u32>) {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n{THROUGH}\
         .visible .entry k(.param .u64 p, .param .u64 surface)\n{{\n\
         .reg .b32 %r<12>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .pred %p<3>; .shared .align 16 .b8 s[4096];\n\
         ld.param.u64 %rd1, [p]; ld.param.u64 %rd8, [surface]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd1, %rd2;\n\
         {body}\nret;\n}}\n"
    );
    let sanitizer = Sanitizer::new(checks.parse::<Checks>().unwrap());
    let gpu = Gpu::with_options(&H200, Options { threads: 1, ..Options::default() });
    let buffer = gpu.memory().alloc(4 * WORDS).unwrap();
    gpu.memory().write(buffer, &[0; 4 * WORDS as usize]).unwrap();
    sanitizer.host_allocated(buffer, 4 * WORDS, None);
    sanitizer.host_wrote(buffer, 4 * WORDS);
    let surface = gpu.textures().reserve();
    let (width, height, depth, layers) = (8, 4, 0, 0);
    let (format, row_pitch) = (ChannelFormat::U32, 32);
    let image = Image {
        address: buffer,
        format,
        channels: 1,
        width,
        height,
        depth,
        layers,
        row_pitch,
        linear: false,
    };
    gpu.textures().bind_surface(surface, image);
    let params: Vec<u8> = [buffer, surface].into_iter().flat_map(u64::to_le_bytes).collect();
    let module = gpu.load(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let kernel = module.kernel("k").unwrap();
    let ended = gpu.launch(&kernel, &launch, &params, &mut sanitizer.launch());
    let mut bytes = [0; 4 * WORDS as usize];
    gpu.memory().read(buffer, &mut bytes).unwrap();
    let words = bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    (sanitizer.findings(), ended.err(), words)
}

fn of(findings: &[Finding], check: Check) -> Vec<&Finding> {
    findings.iter().filter(|finding| finding.check() == check).collect()
}

/// The last warp reads beyond the buffer, and all threads store to one place.
const BOTH: &str = "ld.global.u32 %r2, [%rd2+3840]; st.global.u32 [%rd1], %r1;";

#[test]
fn both_the_access_and_the_race_are_told() {
    let (findings, ended, _) = run("all", BOTH, Launch::new(1, 96));
    let [outside] = of(&findings, Check::Memory)[..] else { panic!("{findings:#?}") };
    assert_eq!(outside.count, 32, "{outside:#?}");
    assert!(outside.message().contains("skipped, and the launch went on"), "{outside:#?}");
    assert!(!of(&findings, Check::Race).is_empty(), "{findings:#?}");
    // As on a device, the launch has failed.
    assert!(ended.is_some_and(|error| error.cuda_code() == 700));
}

#[test]
fn a_race_is_told_where_nothing_else_is_asked_for() {
    let (findings, ended, _) = run("race", BOTH, Launch::new(1, 96));
    assert!(findings.iter().all(|finding| finding.check() == Check::Race), "{findings:#?}");
    assert!(findings.iter().any(|finding| finding.severity() == Severity::Error) && ended.is_some());
}

#[test]
fn what_is_outside_is_left_out_and_the_rest_is_done() {
    // Lanes 0 to 15 are inside.
    let body = "add.u32 %r2, %r1, 1; st.global.u32 [%rd2+4032], %r2;\natom.global.add.u32 %r3, [%rd2+4032], 100;\n\
                st.global.u32 [%rd2+1024], %r3;";
    let (findings, _, words) = run("memory", body, Launch::new(1, 32));
    assert_eq!(findings.iter().map(|finding| finding.count).collect::<Vec<_>>(), [16, 16], "{findings:#?}");
    assert_eq!(words[1008..], std::array::from_fn::<u32, 16, _>(|lane| lane as u32 + 101));
    assert_eq!(words[256..272], std::array::from_fn::<u32, 16, _>(|lane| lane as u32 + 1));
    // What was not loaded is zero.
    assert_eq!(words[272..288], [0; 16]);
}

#[test]
fn other_blocks_and_other_spaces_go_on() {
    let body = "mov.u32 %r2, %ctaid.x; setp.ne.u32 %p1, %r2, 0; @%p1 bra other;\n\
                ld.shared.u32 %r3, [%r1+8192]; ld.global.u64 %rd3, [%rd1+1]; bra.uni end;\n\
                other: st.global.u32 [%rd1], %r1;\nend:";
    let (findings, ..) = run("all", body, Launch::new(2, 64));
    let messages: Vec<String> =
        of(&findings, Check::Memory).iter().map(|finding| finding.message()).collect();
    assert!(messages.iter().any(|message| message.contains("shared load")), "{messages:?}");
    assert!(messages.iter().any(|message| message.contains("misaligned address")), "{messages:?}");
    assert!(!of(&findings, Check::Race).is_empty(), "{findings:#?}");
}

/// Each comes by what it could not load in another way, and stores where that leads.
const WAYS: [(&str, &str); 5] = [
    ("in a register", "mov.u32 %r3, %r2;"),
    (
        "by shared memory and a shuffle",
        "shl.b32 %r4, %r1, 2; mov.u32 %r5, s; add.u32 %r4, %r4, %r5; st.shared.u32 [%r4], %r2; bar.sync 0;\n\
         xor.b32 %r4, %r4, 4; ld.shared.u32 %r3, [%r4]; shfl.sync.bfly.b32 %r3, %r3, 3, 31, 0xffffffff;",
    ),
    (
        "by global memory",
        "st.global.u32 [%rd2], %r2; bar.sync 0; xor.b32 %r4, %r1, 33; \
      mul.wide.u32 %rd4, %r4, 4; add.u64 %rd4, %rd1, %rd4; ld.global.u32 %r3, [%rd4];",
    ),
    (
        "through a function and its stack",
        "{ .param .b32 a; .param .b32 c; st.param.b32 [a], %r2; call.uni (c), through, (a); ld.param.b32 %r3, [c]; }",
    ),
    ("in a part of a wider register", "cvt.u64.u32 %rd4, %r2; shl.b64 %rd4, %rd4, 8; cvt.u32.u64 %r3, %rd4;"),
];

#[test]
fn an_address_that_is_made_of_what_was_not_loaded_is_left_out_too() {
    for (way, body) in WAYS {
        let store = "mul.wide.u32 %rd3, %r3, 4; add.u64 %rd3, %rd1, %rd3; st.global.u32 [%rd3+2048], 7;";
        let body = format!("ld.global.u32 %r2, [%rd2+8192];\n{body}\n{store}");
        let (findings, _, words) = run("all", &body, Launch::new(1, 64));
        let [outside] = &findings[..] else { panic!("{way}: {findings:#?}") };
        assert_eq!((outside.check(), outside.count), (Check::Memory, 64), "{way}");
        assert_eq!(words[512], 0, "{way}");
    }
}

/// Instructions of their own kind, each of which goes out of bounds for so many threads of 64, and leaves zero in `%r3`.
const KINDS: [(&str, u64, &str); 7] = [
    (
        "global load of cp.async",
        64,
        "mul.wide.u32 %rd3, %r1, 16; add.u64 %rd3, %rd1, %rd3; shl.b32 %r4, %r1, 4; mov.u32 %r5, s; add.u32 %r4, %r4, %r5;\n\
         cp.async.ca.shared.global [%r4], [%rd3+4096], 16; cp.async.commit_group; cp.async.wait_group 0;\n\
         ld.shared.u32 %r3, [%r4+4];",
    ),
    (
        "shared store of cp.async",
        64,
        "mov.u32 %r4, s; mov.u32 %r3, 0; cp.async.ca.shared.global [%r4+65536], [%rd2], 4; cp.async.wait_all;",
    ),
    (
        "global load of a bulk copy",
        1,
        "mov.u32 %r4, s; setp.ne.u32 %p1, %r1, 0; @%p1 bra meet;\n\
         mbarrier.init.shared.b64 [%r4], 1; mbarrier.arrive.expect_tx.shared.b64 %rd3, [%r4], 256;\n\
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r4+256], [%rd1+4096], 256, [%r4];\n\
         meet: bar.sync 0;\n\
         again: mbarrier.try_wait.parity.shared.b64 %p2, [%r4], 0; @!%p2 bra again;\n\
         ld.shared.u32 %r3, [%r4+260];",
    ),
    ("surface load", 56, "shl.b32 %r4, %r1, 2; mov.u32 %r5, 3; suld.b.2d.b32.trap %r3, [%rd8, {%r4, %r5}];"),
    ("texture fetch", 64, "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd8, {%r1}]; mov.b32 %r3, %f2;"),
    (
        "shared load of ldmatrix",
        64,
        "shl.b32 %r4, %r1, 4; mov.u32 %r5, s; add.u32 %r4, %r4, %r5;\n\
         ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r5, %r6, %r7, %r3}, [%r4+65536];",
    ),
    (
        "wmma.load",
        512,
        "mov.u32 %r4, 16; wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8},\n\
         [%rd1+4096], %r4; mov.b32 %r3, %f3;",
    ),
];

#[test]
fn copies_images_and_matrices_are_left_out_too() {
    for (what, count, body) in KINDS {
        // An address of what came of it is skipped, unless nothing did, or some threads lie inside.
        let address = "mul.wide.u32 %rd3, %r3, 4; add.u64 %rd3, %rd1, %rd3;";
        let is_all = what != "surface load" && what != "shared store of cp.async";
        let store = if is_all { "st.global.u32 [%rd3+2048], 7;" } else { "" };
        let body = format!("{body}\n{address}\n{store}\nst.global.u32 [%rd1+2052], %r1;");
        let (findings, ended, words) = run("all", &body, Launch::new(1, 64));
        let [outside] = of(&findings, Check::Memory)[..] else { panic!("{what}: {findings:#?}") };
        assert_eq!(outside.count, count, "{outside:#?}");
        assert!(outside.message().contains(what), "{outside:#?}");
        assert!(outside.message().contains("skipped, and the launch went on"), "{outside:#?}");
        assert!(!of(&findings, Check::Race).is_empty(), "{what}: the race behind it, {findings:#?}");
        assert!(of(&findings, Check::Init).is_empty(), "{what}: {findings:#?}");
        assert!(of(&findings, Check::Barrier).is_empty(), "{what}: {findings:#?}");
        assert_eq!(words[512], 0, "{what}");
        assert!(ended.is_some_and(|error| error.cuda_code() == 700), "{what}");
    }
}

#[test]
fn a_trap_is_the_program_s_own_end() {
    let body = "setp.eq.u32 %p1, %r1, 3; @%p1 trap; st.global.u32 [%rd1], %r1;";
    let (findings, ended, _) = run("memory", body, Launch::new(1, 64));
    let [trap] = &findings[..] else { panic!("{findings:#?}") };
    assert!(trap.message() == "trap" && ended.is_some_and(|error| error.cuda_code() == 719), "{trap:#?}");
}

#[test]
fn another_value_in_its_place_is_as_good_as_any() {
    let body = "ld.global.u32 %r2, [%rd2+8192]; setp.eq.u32 %p1, %r2, 5; @%p1 bra end; mov.u32 %r2, 3;\n\
                mul.wide.u32 %rd3, %r2, 4; add.u64 %rd3, %rd2, %rd3; st.global.u32 [%rd3], 7;\nend:";
    let (findings, _, words) = run("all", body, Launch::new(1, 64));
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!(words[3..67], [7; 64]);
}

#[test]
fn an_undefined_address_is_told_wherever_it_leads() {
    let body = "mov.u32 %r2, s; ld.shared.u32 %r3, [%r2]; cvt.u64.u32 %rd3, %r3; add.u64 %rd3, %rd1, %rd3;\n\
                ld.global.u32 %r4, [%rd3+8192];";
    let (findings, ..) = run("all", body, Launch::new(1, 1));
    let checks: Vec<Check> = findings.iter().map(|finding| finding.check()).collect();
    assert!(checks.contains(&Check::Init) && checks.contains(&Check::Memory), "{findings:#?}");
}

#[test]
fn a_launch_that_goes_wrong_without_end_is_ended() {
    let body = "again: st.global.u32 [%rd1+8192], %r1; bra again;";
    let (findings, ended, _) = run("all", body, Launch::new(1, 1));
    let [finding] = &findings[..] else { panic!("{findings:#?}") };
    assert!(finding.message().ends_with("ended after 100000 such accesses"), "{finding:#?}");
    assert!(finding.count == 100_000 && ended.is_some_and(|error| error.cuda_code() == 700));
}
