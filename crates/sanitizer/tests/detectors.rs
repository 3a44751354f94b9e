//! Mistakes in a few instructions each, and the same kernels without them: the mistake is named by the right tool, and nothing
//! is said of the other.

use gpu_model::chips::H200;
use sanitizer::{Check, Checks, Sanitizer, Severity};
use virtual_gpu::texture::{ChannelFormat, Image, Sampler, Texture};
use virtual_gpu::{Gpu, Launch, Options};

/// Words of each of the two buffers.
const WORDS: u64 = 64;

/// A parameter of a kernel.
#[derive(Clone, Copy)]
enum Param {
    /// The buffer that the host has written, of [`WORDS`] words of 1.
    Input,
    /// The buffer whose first words the host reads afterwards, and has not written.
    Output,
    /// A surface, and a texture, over the input: eight words in a row.
    Surface,
    Texture,
    /// Words from the input to the output.
    Distance,
}

/// Runs a kernel with this body on an H200 under one seed: what is told, by tool, severity and a part of the message.
fn found(body: &str, launch: Launch, params: &[Param], reads: u64) -> Vec<(Check, Severity, String)> {
    let list: Vec<String> = (0..params.len()).map(|i| format!(".param .u64 p{i}")).collect();
    let loads: Vec<String> =
        (0..params.len()).map(|i| format!("ld.param.u64 %rd{}, [p{i}];", i + 1)).collect();
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k({}) {{\n\
         .reg .pred %p<8>;\n.reg .b32 %r<32>;\n.reg .b64 %rd<32>;\n\
         .local .align 8 .b8 own[64];\n.shared .align 16 .b8 tile[256];\n.shared .align 8 .b64 bar[2];\n\
         {}\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n{body}\nend:\nret;\n}}\n",
        list.join(", "),
        loads.join("\n"),
    );
    let sanitizer = Sanitizer::new(Checks::ALL);
    let options = Options { threads: 1, watchdog: Some(1_000_000), ..Options::default() };
    let gpu = Gpu::with_options(&H200, options);
    let module = gpu.load(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let memory = gpu.memory();
    let [input, output] = [(); 2].map(|()| {
        let address = memory.alloc(4 * WORDS).unwrap();
        sanitizer.host_allocated(address, 4 * WORDS, None);
        address
    });
    let ones: Vec<u8> = (0..WORDS).flat_map(|_| 1u32.to_le_bytes()).collect();
    memory.write(input, &ones).unwrap();
    sanitizer.host_wrote(input, 4 * WORDS);
    let image = Image {
        address: input,
        format: ChannelFormat::U32,
        channels: 1,
        width: 8,
        height: 1,
        depth: 0,
        layers: 0,
        row_pitch: 32,
        linear: true,
    };
    let [surface, texture] = [(); 2].map(|()| gpu.textures().reserve());
    gpu.textures().bind_surface(surface, image);
    gpu.textures().bind(texture, Texture { levels: vec![image], sampler: Sampler::default() });
    let value = |param: &Param| match param {
        Param::Input => input,
        Param::Output => output,
        Param::Surface => surface,
        Param::Texture => texture,
        Param::Distance => (output - input) / 4,
    };
    let params: Vec<u8> = params.iter().flat_map(|param| value(param).to_le_bytes()).collect();
    let _ = gpu.launch(&module.kernel("k").unwrap(), &launch, &params, &mut sanitizer.launch());
    if reads > 0 {
        sanitizer.host_read(output, 4 * reads);
    }
    sanitizer.findings().into_iter().map(|found| (found.check(), found.severity(), found.message())).collect()
}

/// The body with `BUG` in the place of `#` is told of, and that with `RIGHT` is not.
#[track_caller]
fn twins(
    [body, bug, right]: [&str; 3],
    launch: impl Fn() -> Launch,
    params: &[Param],
    (check, severity, part): (Check, Severity, &str),
) {
    twins_read([body, bug, right], launch, params, 0, (check, severity, part));
}

#[track_caller]
fn twins_read(
    [body, bug, right]: [&str; 3],
    launch: impl Fn() -> Launch,
    params: &[Param],
    reads: u64,
    (check, severity, part): (Check, Severity, &str),
) {
    let wrong = found(&body.replace('#', bug), launch(), params, reads);
    let is_it =
        |found: &(Check, Severity, String)| (found.0, found.1) == (check, severity) && found.2.contains(part);
    assert!(wrong.iter().any(is_it), "not told: {wrong:#?}");
    let right = found(&body.replace('#', right), launch(), params, reads);
    assert!(right.is_empty(), "told of the right one: {right:#?}");
}

/// Block 0 writes data and then a flag, with a fence for the device; block 1 waits for the flag.
const MESSAGE: &str = "
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra end;
    setp.ne.u32 %p1, %r2, 0;
    @%p1 bra reader;
    st.global.u32 [%rd1], 7;
    fence.acq_rel.gpu;
    st.relaxed.gpu.global.u32 [%rd1+128], 9;
    bra end;
reader:
    ld.relaxed.gpu.global.u32 %r3, [%rd1+128];
    setp.ne.u32 %p1, %r3, 9;
    @%p1 bra reader;
    #
    ld.global.u32 %r4, [%rd1];";

#[test]
fn an_acquire_fence_of_the_block_counts_for_no_other_block() {
    twins(
        [MESSAGE, "fence.acq_rel.cta;", "fence.acq_rel.gpu;"],
        || Launch::new(2, 32),
        &[Param::Input],
        (Check::Race, Severity::Error, "a flag was read, and no fence makes it count"),
    );
}

#[test]
fn an_acquire_fence_of_the_block_counts_within_it() {
    let body = MESSAGE.replace("%p1, %r2, 0;\n    @%p1 bra reader", "%p1, %r1, 0;\n    @%p1 bra reader");
    let body = body.replacen(
        "setp.ne.u32 %p1, %r1, 0;\n    @%p1 bra end;",
        "and.b32 %r5, %r1, 31;\n setp.ne.u32 %p1, %r5, 0;\n @%p1 bra end;",
        1,
    );
    let right = found(&body.replace('#', "fence.acq_rel.cta;"), Launch::new(1, 64), &[Param::Input], 0);
    assert!(right.is_empty(), "{right:#?}");
}

#[test]
fn blind_volatile_stores_of_different_values_are_told() {
    let body = "mad.lo.u32 %r3, %r2, 100, %r1; mul.wide.u32 %rd2, %r3, #; add.u64 %rd2, %rd1, %rd2;
        setp.ge.u32 %p1, %r1, 2; @%p1 bra end; setp.ge.u32 %p1, %r3, 2; @%p1 bra end;
        st.volatile.global.u32 [%rd2], %r1;";
    let launch = || Launch::new(1, 64);
    twins([body, "0", "4"], launch, &[Param::Input], (Check::Race, Severity::Warning, "volatile"));
    let equal = found(&body.replace('#', "0").replace("], %r1;", "], 1;"), launch(), &[Param::Input], 0);
    assert!(equal.is_empty(), "a flag that all set to one value: {equal:#?}");
    let polled =
        format!("{body}\nld.volatile.global.u32 %r5, [%rd1]; setp.eq.u32 %p2, %r5, 3; @%p2 bra end;");
    let polled = found(&polled.replace('#', "0"), launch(), &[Param::Input], 0);
    assert!(polled.is_empty(), "a flag that threads poll: {polled:#?}");
}

/// Block 0 writes four volatile words and then a flag; block 1 waits for it, and adds the words up.
const SUM: &str = "
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra end;
    mov.u32 %r5, 0;
    mov.u32 %r6, 0;
    mov.u64 %rd3, %rd1;
    setp.ne.u32 %p1, %r2, 0;
    @%p1 bra reader;
writer:
    st.volatile.global.u32 [%rd3], %r5;
    add.u64 %rd3, %rd3, 4;
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p1, %r5, 4;
    @%p1 bra writer;
    #
    st.volatile.global.u32 [%rd1+128], 9;
    bra end;
reader:
    ld.volatile.global.u32 %r3, [%rd1+128];
    setp.ne.u32 %p1, %r3, 9;
    @%p1 bra reader;
    #
sum:
    ld.volatile.global.u32 %r4, [%rd3];
    add.u32 %r6, %r6, %r4;
    add.u64 %rd3, %rd3, 4;
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p1, %r5, 4;
    @%p1 bra sum;
    st.global.u32 [%rd1+132], %r6;";

#[test]
fn volatile_data_that_a_loop_reads_is_no_flag() {
    let launch = || Launch::new(2, 32);
    twins(
        [SUM, "", "fence.acq_rel.gpu;"],
        launch,
        &[Param::Input],
        (Check::Race, Severity::Warning, "volatile"),
    );
    // The same with a fence that is too narrow.
    twins(
        [SUM, "fence.acq_rel.cta;", "fence.acq_rel.gpu;"],
        launch,
        &[Param::Input],
        (Check::Race, Severity::Warning, "volatile"),
    );
}

#[test]
fn the_read_only_path_does_not_see_what_the_kernel_wrote() {
    twins(
        [
            "mad.wide.u32 %rd2, %r1, 4, %rd1; st.global.u32 [%rd2], %r1; bar.sync 0; xor.b32 %r3, %r1, 1;
             mad.wide.u32 %rd2, %r3, 4, %rd1; ld.global#.u32 %r4, [%rd2];",
            ".nc",
            "",
        ],
        || Launch::new(1, 64),
        &[Param::Input],
        (Check::Race, Severity::Error, "reads what the kernel has written"),
    );
    twins(
        [
            "mad.wide.u32 %rd2, %r1, 4, %rd2; # ld.global.nc.u32 %r4, [%rd1]; st.global.u32 [%rd2], %r4;",
            "st.global.u32 [%rd1], 1;",
            "",
        ],
        || Launch::new(1, 1),
        &[Param::Input, Param::Output],
        (Check::Race, Severity::Error, "reads what the kernel has written"),
    );
}

#[test]
fn an_access_that_lands_in_another_allocation_is_told() {
    for access in ["ld.global.u32 %r4, [%rd4];", "st.global.u32 [%rd4], 3;", "red.global.add.u32 [%rd4], 1;"]
    {
        let body =
            format!("cvt.u32.u64 %r3, %rd2; # mul.wide.s32 %rd3, %r3, 4; add.s64 %rd4, %rd1, %rd3; {access}");
        twins(
            [&body, "", "mov.u32 %r3, 5;"],
            || Launch::new(1, 1),
            &[Param::Input, Param::Distance],
            (Check::Memory, Severity::Error, "in another allocation"),
        );
    }
}

#[test]
fn the_local_array_of_another_thread_is_told() {
    twins(
        [
            "mov.u64 %rd2, own; cvta.local.u64 %rd2, %rd2; st.local.u32 [own], %r1; shl.b32 %r3, %r1, 3;
             mov.u32 %r4, tile; add.u32 %r3, %r4, %r3; st.shared.u64 [%r3], %rd2; bar.sync 0; #
             ld.shared.u64 %rd3, [%r3]; ld.u32 %r5, [%rd3];",
            "xor.b32 %r3, %r3, 8;",
            "",
        ],
        || Launch::new(1, 32),
        &[],
        (Check::Memory, Severity::Error, "another thread's local array"),
    );
}

#[test]
fn more_bytes_than_an_mbarrier_was_told_of_are_named() {
    twins(
        [
            "setp.ne.u32 %p1, %r1, 0; @%p1 bra end;
             mbarrier.init.shared::cta.b64 [bar], 1; fence.proxy.async.shared::cta;
             mbarrier.arrive.expect_tx.shared::cta.b64 %rd3, [bar], #;
             cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1], 64, [bar];
             cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile+64], [%rd1+64], 64, [bar];
             wait: mbarrier.test_wait.shared::cta.b64 %p2, [bar], %rd3; @!%p2 bra wait;",
            "64",
            "128",
        ],
        || Launch::new(1, 32),
        &[Param::Input],
        (Check::Barrier, Severity::Error, "64 bytes more than it was told to expect"),
    );
}

#[test]
fn surfaces_and_textures_race_and_know_what_was_written() {
    twins(
        [
            "shl.b32 %r3, %r1, 2; sust.b.1d.b32.trap [%rd1, {%r3}], %r1; # xor.b32 %r3, %r3, 4;
             suld.b.1d.b32.trap %r4, [%rd1, {%r3}];",
            "",
            "bar.warp.sync 0xff;",
        ],
        || Launch::new(1, 8),
        &[Param::Surface],
        (Check::Race, Severity::Error, "race in global memory"),
    );
    twins(
        [
            "# tex.1d.v4.s32.s32 {%r4, %r5, %r6, %r7}, [%rd1, {%r1}];",
            "mad.wide.u32 %rd3, %r1, 4, %rd2; st.global.u32 [%rd3], %r1;",
            "",
        ],
        || Launch::new(1, 8),
        &[Param::Texture, Param::Input],
        (Check::Race, Severity::Error, "reads what the kernel has written"),
    );
}

#[test]
fn a_shuffle_from_a_lane_that_has_ended_is_undefined() {
    twins_read(
        [
            "setp.ge.u32 %p1, %r1, 16; @%p1 bra end;
             shfl.sync.down.b32 %r4, %r1, #, 31, -1; setp.ne.u32 %p1, %r1, 15; @%p1 bra end; st.global.u32 [%rd1], %r4;",
            "1",
            "0",
        ],
        || Launch::new(1, 32),
        &[Param::Output],
        1,
        (Check::Init, Severity::Error, "never written"),
    );
}
