//! A launch goes on after an access out of bounds: without the access, and without whatever is made of its value.

use gpu_model::chips::H200;
use sanitizer::{Check, Checks, Finding, Sanitizer, Severity};
use virtual_gpu::{Error, Gpu, Launch, Options};

/// Words of the buffer.
const WORDS: u64 = 1024;

/// What is found in a kernel whose buffer of zeros is at `%rd1`, its thread's element at `%rd2`, and whose thread is `%r1`;
/// whether the launch failed; and the buffer's words.
fn run(checks: &str, body: &str, launch: Launch) -> (Vec<Finding>, Option<Error>, Vec<u32>) {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n\
         .visible .entry k(.param .u64 p)\n{{\n\
         .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<3>; .shared .align 16 .b8 s[4096];\n\
         ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd1, %rd2;\n\
         {body}\nret;\n}}\n"
    );
    let sanitizer = Sanitizer::new(checks.parse::<Checks>().unwrap());
    let gpu = Gpu::with_options(&H200, Options { threads: 1, ..Options::default() });
    let buffer = gpu.memory().alloc(4 * WORDS).unwrap();
    gpu.memory().write(buffer, &[0; 4 * WORDS as usize]).unwrap();
    sanitizer.host_allocated(buffer, 4 * WORDS, None);
    sanitizer.host_wrote(buffer, 4 * WORDS);
    let module = gpu.load(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let kernel = module.kernel("k").unwrap();
    let ended = gpu.launch(&kernel, &launch, &buffer.to_le_bytes(), &mut sanitizer.launch());
    let mut bytes = [0; 4 * WORDS as usize];
    gpu.memory().read(buffer, &mut bytes).unwrap();
    let words = bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    (sanitizer.findings(), ended.err(), words)
}

fn of(findings: &[Finding], check: Check) -> Vec<&Finding> {
    findings.iter().filter(|finding| finding.check == check).collect()
}

/// The last warp reads beyond the buffer, and all threads store to one place.
const BOTH: &str = "ld.global.u32 %r2, [%rd2+3840]; st.global.u32 [%rd1], %r1;";

#[test]
fn both_the_access_and_the_race_are_told() {
    let (findings, ended, _) = run("all", BOTH, Launch::new(1, 96));
    let [outside] = of(&findings, Check::Memory)[..] else { panic!("{findings:#?}") };
    assert_eq!(outside.count, 32, "{outside:#?}");
    assert!(outside.message.contains("skipped, and the launch went on"), "{outside:#?}");
    assert!(!of(&findings, Check::Race).is_empty(), "{findings:#?}");
    // As on a device, the launch has failed.
    assert!(ended.is_some_and(|error| error.cuda_code() == 700));
}

#[test]
fn a_race_is_told_where_nothing_else_is_asked_for() {
    let (findings, ended, _) = run("race", BOTH, Launch::new(1, 96));
    assert!(findings.iter().all(|finding| finding.check == Check::Race), "{findings:#?}");
    assert!(findings.iter().any(|finding| finding.severity == Severity::Error) && ended.is_some());
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
    let messages: Vec<&str> =
        of(&findings, Check::Memory).iter().map(|finding| finding.message.as_str()).collect();
    assert!(messages.iter().any(|message| message.contains("shared load")), "{messages:?}");
    assert!(messages.iter().any(|message| message.contains("misaligned address")), "{messages:?}");
    assert!(!of(&findings, Check::Race).is_empty(), "{findings:#?}");
}

/// Each comes by what it could not load in another way, and stores where that leads.
const WAYS: [(&str, &str); 4] = [
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
    ("in a part of a wider register", "cvt.u64.u32 %rd4, %r2; shl.b64 %rd4, %rd4, 8; cvt.u32.u64 %r3, %rd4;"),
];

#[test]
fn an_address_that_is_made_of_what_was_not_loaded_is_left_out_too() {
    for (way, body) in WAYS {
        let store = "mul.wide.u32 %rd3, %r3, 4; add.u64 %rd3, %rd1, %rd3; st.global.u32 [%rd3+2048], 7;";
        let body = format!("ld.global.u32 %r2, [%rd2+8192];\n{body}\n{store}");
        let (findings, _, words) = run("all", &body, Launch::new(1, 64));
        let [outside] = &findings[..] else { panic!("{way}: {findings:#?}") };
        assert_eq!((outside.check, outside.count), (Check::Memory, 64), "{way}");
        assert_eq!(words[512], 0, "{way}");
    }
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
    let checks: Vec<Check> = findings.iter().map(|finding| finding.check).collect();
    assert!(checks.contains(&Check::Init) && checks.contains(&Check::Memory), "{findings:#?}");
}

#[test]
fn a_launch_that_goes_wrong_without_end_is_ended() {
    let body = "again: st.global.u32 [%rd1+8192], %r1; bra again;";
    let (findings, ended, _) = run("all", body, Launch::new(1, 1));
    let [finding] = &findings[..] else { panic!("{findings:#?}") };
    assert!(finding.message.ends_with("ended after 100000 such accesses"), "{finding:#?}");
    assert!(finding.count == 100_000 && ended.is_some_and(|error| error.cuda_code() == 700));
}
