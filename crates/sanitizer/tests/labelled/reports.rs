//! What a report says of a kernel: one finding for a pair of the user's lines, with what mends all of it.

use gpu_model::chips::H200;
use sanitizer::{Action, Checks, Finding, Sanitizer, Severity};
use virtual_gpu::{Error, Gpu, Launch, Options};

/// What is found in a kernel whose buffer of 1024 zeros is at `%rd1`, its thread's element at `%rd2`, and whose thread is
/// `%r1`; `s` is shared memory, with the thread's element at `%r2`.
fn found(body: &str, launch: Launch) -> Vec<Finding> {
    found_for(90, body, launch, 1)
}

/// The same of a module for another target, launched so many times.
fn found_for(target: u32, body: &str, launch: Launch, times: u32) -> Vec<Finding> {
    let (findings, ended) = run(target, body, launch, times);
    ended.unwrap();
    findings
}

/// What is found, and how the last launch ended.
fn run(target: u32, body: &str, launch: Launch, times: u32) -> (Vec<Finding>, Result<(), Error>) {
    let text = format!(
        ".version 8.0\n.target sm_{target}\n.address_size 64\n.file 1 \"my/kernel.cu\"\n.file 2 \"/opt/crates/cuda_std/src/ptr.rs\"\n\
         .file 3 \"/cuda/bin/../include/cuda_pipeline_helpers.h\"\n\
         .visible .entry k(.param .u64 p)\n{{\n\
         .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<3>; .shared .align 16 .b8 s[4096];\n\
         .loc 1 1 1\n\
         ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd1, %rd2;\n\
         shl.b32 %r2, %r1, 2; mov.u32 %r3, s; add.u32 %r2, %r2, %r3;\n\
         {body}\nret;\n}}\n"
    );
    let sanitizer = Sanitizer::new(Checks::ALL);
    let gpu = Gpu::with_options(&H200, Options { threads: 1, ..Options::default() });
    let buffer = gpu.memory().alloc(4096).unwrap();
    sanitizer.host_allocated(buffer, 4096, None);
    sanitizer.host_wrote(buffer, 4096);
    let module = gpu.load(&text).unwrap();
    let kernel = module.kernel("k").unwrap();
    let mut ended = Ok(());
    for _ in 0..times {
        ended = gpu.launch(&kernel, &launch, &buffer.to_le_bytes(), &mut sanitizer.launch());
    }
    sanitizer.host_read(buffer, 4096);
    (sanitizer.findings(), ended)
}

fn one(findings: Vec<Finding>) -> Finding {
    let [finding] = <[Finding; 1]>::try_from(findings).unwrap_or_else(|all| panic!("{all:#?}"));
    finding
}

#[test]
fn an_update_by_several_threads_needs_an_atomic() {
    let add = "ld.global.u32 %r4, [%rd1]; add.u32 %r4, %r4, 1; st.global.u32 [%rd1], %r4;";
    // The loop around the line is unrolled four times.
    let body = format!(".loc 1 7 3\n{}", add.repeat(4));
    for launch in [Launch::new(1, 32), Launch::new(1, 128), Launch::new(4, 1), Launch::new(4, 128)] {
        let finding = one(found(&body, launch));
        assert!(
            finding.help().contains("atomicAdd") && finding.severity() == Severity::Error,
            "{finding:#?}"
        );
        assert!(finding.count > 1, "{finding:#?}");
        let [later, earlier] = &finding.sites[..] else { panic!("{finding:#?}") };
        assert_ne!((later.block, later.thread), (earlier.block, earlier.thread));
    }
}

/// `s[t] += s[t + 1]` updates, but what races with the store is the load of another element.
#[test]
fn a_missing_barrier_needs_a_barrier_of_all_that_race() {
    let body = ".loc 1 9 3\n\
                ld.shared.u32 %r4, [%r2+4]; ld.shared.u32 %r5, [%r2]; add.u32 %r4, %r4, %r5; st.shared.u32 [%r2], %r4;";
    let initial = "st.shared.u32 [%r2], %r1; bar.sync 0;\n";
    let finding = one(found(&format!("{initial}{body}"), Launch::new(1, 64)));
    assert!(finding.help().contains("sync_threads") && finding.count > 60, "{finding:#?}");
    // One warp alone needs less.
    let finding = one(found(&format!("{initial}{body}"), Launch::new(1, 32)));
    assert!(finding.help().contains("sync_warp"), "{finding:#?}");
}

/// Each thread updates its element, and then its neighbour's: a barrier between the two is as likely to be missing as atomics.
#[test]
fn two_lines_that_update_one_place_may_need_a_barrier_or_atomics() {
    let initial = "st.shared.u32 [%r2], %r1; bar.sync 0;\n";
    let body = ".loc 1 9 3\nld.shared.u32 %r4, [%r2]; add.u32 %r4, %r4, 1; st.shared.u32 [%r2], %r4;\n\
                .loc 1 10 3\nld.shared.u32 %r4, [%r2+4]; add.u32 %r4, %r4, 1; st.shared.u32 [%r2+4], %r4;";
    let findings = found(&format!("{initial}{body}"), Launch::new(1, 32));
    let between: Vec<_> = findings
        .iter()
        .filter(|finding| finding.sites.iter().map(|site| site.frames[0].line).sum::<u32>() == 19)
        .collect();
    let [finding] = &between[..] else { panic!("{findings:#?}") };
    assert!(
        finding.help().contains("meet between the two") && finding.help().contains("atomic"),
        "{finding:#?}"
    );
}

/// Bytes before a buffer are its own, however far the next object below is.
#[test]
fn an_access_before_a_buffer_names_it() {
    let body = ".loc 1 7 3\nld.global.u32 %r4, [%rd1+-4];";
    let text = sanitizer::render(&run(90, body, Launch::new(1, 1), 1).0, sanitizer::Format::Text);
    assert!(text.contains("at byte -4 of 4096 of global memory, element -1 of 4 bytes each"), "{text}");
}

#[test]
fn a_volatile_store_is_called_so() {
    let body = ".loc 1 7 3\nst.volatile.global.u32 [%rd1], %r1;\n.loc 1 8 3\nld.global.u32 %r4, [%rd1];";
    let findings = found(body, Launch::new(2, 1));
    let what: Vec<Action> =
        findings.iter().flat_map(|finding| &finding.sites).map(|site| site.what).collect();
    assert!(what.contains(&Action::VolatileWrite) && !what.contains(&Action::AtomicWrite), "{findings:#?}");
}

#[test]
fn the_user_s_line_comes_first() {
    for (file, name) in
        [(2, "/opt/crates/cuda_std/src/ptr.rs"), (3, "/cuda/bin/../include/cuda_pipeline_helpers.h")]
    {
        let body = format!(
            ".loc {file} 30 3, function_name $L__info0, inlined_at 1 7 3\nst.global.u32 [%rd1], %r1;"
        );
        let body = format!("{body}\n.loc 1 9 1");
        let finding = one(found(&body, Launch::new(1, 64)));
        let text = sanitizer::render(&[finding], sanitizer::Format::Text);
        assert!(text.contains("--> my/kernel.cu:7:3"), "{text}");
        assert!(text.contains(&format!("in {name}:30:3")), "{text}");
    }
}

#[test]
fn what_comes_back_undefined_names_who_left_it() {
    let body = ".loc 1 7 3\nld.shared.u32 %r4, [%r2];\n.loc 1 8 3\nst.global.u32 [%rd2], %r4;";
    let finding = one(found(body, Launch::new(1, 32)));
    assert_eq!(finding.kernel, "k");
    let [site] = &finding.sites[..] else { panic!("{finding:#?}") };
    assert_eq!((site.frames[0].line, site.what), (8, Action::UndefinedWrite));
}

#[test]
fn a_race_of_many_launches_is_told_once() {
    let body = ".loc 1 7 3\nst.global.u32 [%rd1], %r1;";
    let once = one(found(body, Launch::new(1, 64)));
    let often = one(found_for(90, body, Launch::new(1, 64), 5));
    assert_eq!(often.count, 5 * once.count);
}

#[test]
fn a_barrier_that_a_part_of_a_warp_does_not_see_tells_the_rule_of_its_target() {
    let body = ".loc 1 7 3\nsetp.ge.u32 %p1, %r1, 48; @%p1 bra end; st.global.u32 [%rd2], %r1;\n\
                .loc 1 8 3\nbar.sync 0;\nend:";
    for (target, rule) in [(90, "since compute capability 7.0"), (61, "before compute capability 7.0")] {
        let finding = one(found_for(target, body, Launch::new(1, 64), 1));
        assert_eq!(finding.severity(), Severity::Warning);
        assert!(finding.help().starts_with(rule), "{finding:#?}");
        // The whole warp ends, or the barrier names its threads.
        let whole = body.replace("48", "32");
        assert_eq!(found_for(target, &whole, Launch::new(1, 64), 1), []);
    }
}

#[test]
fn a_race_on_one_instruction_is_not_cured_by_a_barrier() {
    let store = ".loc 1 7 3\nst.global.u32 [%rd1], %r1;";
    let each_block = "mov.u32 %r1, %ctaid.x; st.global.u32 [%rd1], %r1;";
    for (body, launch) in
        [(store, Launch::new(1, 32)), (store, Launch::new(1, 128)), (each_block, Launch::new(4, 1))]
    {
        let finding = one(found(body, launch));
        assert!(
            finding.help().contains("its own element") && !finding.help().contains("sync_threads"),
            "{finding:#?}"
        );
    }
}

/// Threads store to their own element, one further in each round of the loop: a barrier between the rounds is what is missing.
#[test]
fn a_race_between_rounds_of_a_loop_may_need_a_barrier() {
    let rounds = |work: &str| {
        format!(
            "st.shared.u32 [%r2], %r1; st.shared.u32 [%r2+256], %r1; bar.sync 0; mov.u32 %r7, 0;\nagain: .loc 1 7 3\n{work}\n\
             .loc 1 8 3\nadd.u32 %r2, %r2, 4; add.u32 %r7, %r7, 1; setp.lt.u32 %p1, %r7, 3; @%p1 bra again;"
        )
    };
    let finding = one(found(&rounds("st.shared.u32 [%r2], %r1;"), Launch::new(1, 64)));
    assert!(
        finding.help().contains("its own element") && finding.help().contains("sync_threads"),
        "{finding:#?}"
    );
    let update = "ld.shared.u32 %r4, [%r2]; add.u32 %r4, %r4, 1; st.shared.u32 [%r2], %r4;";
    let finding = one(found(&rounds(update), Launch::new(1, 64)));
    assert!(finding.help().contains("atomicAdd") && finding.help().contains("sync_threads"), "{finding:#?}");
}

#[test]
fn an_atomic_of_too_narrow_a_scope_is_told_its_scope() {
    let body = ".loc 1 7 3\nred.relaxed.cta.global.add.u32 [%rd1], 1;";
    let finding = one(found(body, Launch::new(4, 1)));
    assert!(finding.help().contains("block scope (`.cta`)"), "{finding:#?}");
}

/// Line 0 is the compiler's for what it moved: the nearest line of the same function counts, and not the kernel's before.
#[test]
fn an_instruction_of_line_0_has_the_line_of_its_neighbours() {
    let store = "st.global.u32 [%rd1], 7;";
    let of = |body: &str| {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.file 1 \"my/kernel.cu\"\n\
             .visible .entry before()\n{{ .loc 1 3 3\nret; }}\n\
             .visible .entry k()\n{{ .reg .b64 %rd<2>; .reg .b32 %r<2>; {body}\nret; }}\n"
        );
        let sanitizer = Sanitizer::new(Checks::ALL);
        let gpu = Gpu::with_options(&H200, Options { threads: 1, ..Options::default() });
        let kernel = gpu.load(&text).unwrap().kernel("k").unwrap();
        gpu.launch(&kernel, &Launch::new(1, 1), &[], &mut sanitizer.launch()).unwrap_err();
        one(sanitizer.findings()).sites[0].place().map(|frame| frame.line)
    };
    assert_eq!(of(&format!(".loc 1 0 0\nmov.u64 %rd1, 64;\n{store}\n.loc 1 7 3\nmov.u32 %r1, 1;")), Some(7));
    assert_eq!(of(&format!(".loc 1 8 3\nmov.u64 %rd1, 64;\n.loc 1 0 0\n{store}\n.loc 1 9 3")), Some(8));
    assert_eq!(of(&format!(".loc 1 0 0\nmov.u64 %rd1, 64;\n{store}")), None);
}

#[test]
fn an_access_to_freed_memory_names_it() {
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{ .reg .b64 %rd<2>;\n\
                ld.param.u64 %rd1, [p]; st.global.u32 [%rd1+8], 7; ret; }\n";
    let sanitizer = Sanitizer::new(Checks::ALL);
    let gpu = Gpu::with_options(&H200, Options { threads: 1, ..Options::default() });
    let [freed, neighbour] = [4096, 64].map(|bytes| {
        let address = gpu.memory().alloc(bytes).unwrap();
        sanitizer.host_allocated(address, bytes, None);
        address
    });
    assert_ne!(freed, neighbour);
    gpu.memory().free(freed).unwrap();
    sanitizer.host_freed(freed);
    let kernel = gpu.load(text).unwrap().kernel("k").unwrap();
    gpu.launch(&kernel, &Launch::new(1, 1), &freed.to_le_bytes(), &mut sanitizer.launch()).unwrap_err();
    let found =
        sanitizer.findings().into_iter().find(|finding| finding.message().contains("illegal address"));
    let finding = found.unwrap();
    assert!(
        finding.message().contains("8 bytes into an allocation of 4096 bytes that was freed"),
        "{finding:#?}"
    );
    assert!(finding.help().contains("free the memory when"), "{finding:#?}");
}

#[test]
fn an_undefined_value_names_the_read_that_brought_it_once_for_all_its_uses() {
    let body = ".loc 1 7 3\nld.shared.u32 %r4, [%r2];\n.loc 1 8 3\nadd.u32 %r5, %r4, 1;\n\
                .loc 1 9 3\nsetp.ne.u32 %p1, %r5, 0;\n@%p1 bra next;\nnext:\n\
                .loc 1 10 3\nsetp.ne.u32 %p2, %r4, 3;\n@%p2 bra end;\nend:";
    let finding = one(found(body, Launch::new(1, 32)));
    let [_, read] = &finding.sites[..] else { panic!("{finding:#?}") };
    assert_eq!((read.what, read.frames[0].line), (Action::UnwrittenRead, 7));
    assert_eq!(finding.object.as_ref().and_then(|object| object.name.as_deref()), Some("s"));
    assert_eq!(finding.also.len(), 1, "{finding:#?}");
    assert!(finding.help().contains("write the memory first"), "{finding:#?}");
}

#[test]
fn an_undefined_value_keeps_its_origin_in_memory() {
    let stored = [
        "st.shared.u32 [%r2+4], %r5;\n.loc 1 9 3\nld.shared.u32 %r6, [%r2+4];",
        "st.global.u32 [%rd1+4], %r5;\n.loc 1 9 3\nld.global.u32 %r6, [%rd1+4];",
    ];
    for way in stored {
        let body = format!(
            ".loc 1 7 3\nadd.u32 %r5, %r7, 1;\n.loc 1 8 3\n{way}\n.loc 1 10 3\nsetp.ne.u32 %p1, %r6, 0;\n@%p1 bra end;\nend:"
        );
        let findings = found(&body, Launch::new(1, 1));
        let finding = findings.iter().find(|finding| finding.sites.len() == 2);
        let origin = finding.map(|finding| (finding.sites[1].what, finding.sites[1].frames[0].line));
        assert_eq!(origin, Some((Action::UnsetRegister, 7)), "{findings:#?}");
    }
}

#[test]
fn a_variable_without_a_value_is_told_from_memory() {
    let body = ".loc 1 7 3\nadd.u32 %r5, %r7, 1;\n.loc 1 8 3\nsetp.ne.u32 %p1, %r5, 0;\n@%p1 bra end;\nend:";
    let finding = one(found(body, Launch::new(1, 32)));
    assert_eq!((finding.sites[1].what, finding.sites[1].frames[0].line), (Action::UnsetRegister, 7));
    assert!(finding.help().contains("give the variable a value"), "{finding:#?}");
}

#[test]
fn an_early_return_is_at_its_own_line() {
    let returned =
        [("@%p1 bra out;", 8), ("@%p1 ret;", 8), ("@!%p1 bra go;\n.loc 1 9 5\nbra.uni out;\ngo:", 9)];
    for (way, line) in returned {
        let body = format!(
            ".loc 1 7 3\nst.global.u32 [%rd2], %r1;\nsetp.gt.u32 %p1, %r1, 40;\n.loc 1 8 5\n{way}\n.loc 1 11 3\nbar.sync 0;\n\
             .loc 1 12 1\nout:"
        );
        let finding = one(found(&body, Launch::new(1, 64)));
        let site = &finding.sites[1];
        assert_eq!((site.what, site.frames[0].line), (Action::Return, line), "{way}");
    }
}

#[test]
fn a_fence_of_too_narrow_a_scope_is_named() {
    let body = |scope: &str| {
        format!(
            "mov.u32 %r5, %ctaid.x; setp.ne.u32 %p1, %r5, 0; @%p1 bra reader;\n.loc 1 7 3\nst.global.u32 [%rd1], 7;\n\
             fence.acq_rel.{scope};\nst.relaxed.gpu.global.u32 [%rd1+64], 1;\nbra done;\n\
             reader:\nld.relaxed.gpu.global.u32 %r6, [%rd1+64];\nfence.acq_rel.gpu;\n.loc 1 8 3\nld.global.u32 %r4, [%rd1];\ndone:"
        )
    };
    let finding = one(found(&body("cta"), Launch::new(2, 1)));
    assert!(finding.help().contains("a fence, release or acquire of block scope (`.cta`"), "{finding:#?}");
    assert_eq!(found(&body("gpu"), Launch::new(2, 1)), []);
}
