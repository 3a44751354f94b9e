//! Pipelines and bulk copies that are right give no findings, a forgotten wait gives one.

use gpu_model::chips::H200;
use sanitizer::{Check, Checks, Finding, Sanitizer, Severity};
use virtual_gpu::{Gpu, Launch, Options};

const NVCC: &str = include_str!("../../virtual_gpu/tests/hopper/nvcc.ptx");
const BY_HAND: &str = include_str!("../../virtual_gpu/tests/hopper/asynchronous.ptx");

/// What is found in a kernel that reads `words` words and writes as many.
fn findings(ptx: &str, kernel: &str, launch: Launch, words: u32, number: Option<u32>) -> Vec<Finding> {
    let sanitizer = Sanitizer::new(Checks::ALL);
    let gpu =
        Gpu::with_options(&H200, Options { threads: 1, watchdog: Some(20_000_000), ..Options::default() });
    let module = gpu.load(ptx).unwrap_or_else(|error| panic!("{error}"));
    let bytes: Vec<u8> = (0..words).flat_map(|i| (i % 64).to_le_bytes()).collect();
    let mut params = Vec::new();
    for _ in 0..2 {
        let address = gpu.memory().alloc(bytes.len() as u64).unwrap();
        sanitizer.host_allocated(address, bytes.len() as u64, None);
        gpu.memory().write(address, &bytes).unwrap();
        sanitizer.host_wrote(address, bytes.len() as u64);
        params.extend(address.to_le_bytes());
    }
    params.extend(number.iter().flat_map(|number| number.to_le_bytes()));
    let kernel = module.kernel(kernel).unwrap();
    gpu.launch(&kernel, &launch, &params, &mut sanitizer.launch()).unwrap_or_else(|error| panic!("{error}"));
    sanitizer.findings()
}

#[test]
fn pipelines_that_wait_are_clean() {
    for (ptx, kernel, launch, words, number) in [
        (NVCC, "staged", Launch::new(1, 64), 320, Some(5)),
        (NVCC, "roles", Launch::new(1, 128), 320, Some(5)),
        (NVCC, "together", Launch::new(1, 64).dynamic_shared(1600), 400, Some(100)),
        (BY_HAND, "producer_consumer", Launch::new(1, 64), 160, None),
        (BY_HAND, "bulk", Launch::new(1, 16), 32, None),
    ] {
        let found = findings(ptx, kernel, launch, words, number);
        assert!(found.is_empty(), "{kernel}: {found:#?}");
    }
}

#[test]
fn a_read_before_the_wait_is_a_race() {
    let found = findings(BY_HAND, "deferred", Launch::new(1, 32), 256, None);
    assert!(found.iter().any(|finding| finding.check() == Check::Race), "{found:#?}");
}

/// Threads fill shared memory, one copies it out, and all fill it again.
const OUT_OF_SHARED: &str = r"
.version 8.0
.target sm_90a
.address_size 64
.visible .entry again(.param .u64 in, .param .u64 out)
{
    .reg .pred %p;
    .reg .b32 %r<4>;
    .reg .b64 %rd<2>;
    .shared .align 16 .b8 tile[256];
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    setp.ne.u32 %p, %r1, 0;
    shl.b32 %r2, %r1, 2;
    mov.u32 %r3, tile;
    add.u32 %r3, %r3, %r2;
    st.shared.u32 [%r3], %r1;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    @%p bra meet;
    cp.async.bulk.global.shared::cta.bulk_group [%rd1], [tile], 256;
    cp.async.bulk.commit_group;
    WAIT
meet:
    BARRIER
    st.shared.u32 [%r3], %r2;
    ret;
}";

#[test]
fn the_source_of_a_bulk_copy_may_be_overwritten_when_it_was_awaited_and_not_before() {
    for (wait, barrier, races) in [
        ("cp.async.bulk.wait_group.read 0;", "bar.sync 0;", false),
        ("cp.async.bulk.wait_group 0;", "bar.sync 0;", false),
        ("cp.async.bulk.wait_group.read 1;", "bar.sync 0;", true),
        ("", "bar.sync 0;", true),
        ("cp.async.bulk.wait_group.read 0;", "", true),
    ] {
        let ptx = OUT_OF_SHARED.replace("WAIT", wait).replace("BARRIER", barrier);
        let found = findings(&ptx, "again", Launch::new(1, 64), 64, None);
        assert_eq!(
            found.iter().any(|finding| finding.check() == Check::Race),
            races,
            "{wait}{barrier} {found:#?}"
        );
    }
}

#[test]
fn reductions_of_bulk_copies_are_atomic() {
    let ptx = OUT_OF_SHARED
        .replace(
            "cp.async.bulk.global.shared::cta.bulk_group",
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32",
        )
        .replace("WAIT", "cp.async.bulk.wait_group 0;")
        .replace("BARRIER", "bar.sync 0;");
    let found = findings(&ptx, "again", Launch::new(4, 64), 64, None);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_warp_whose_lanes_all_store_one_tile_stores_the_same_bytes() {
    for (which, races) in [("and.b32 %r3, %r1, 0;", false), ("and.b32 %r3, %r1, 1;", true)] {
        let from = format!("{which} shl.b32 %r3, %r3, 6; mov.u32 %r2, tile; add.u32 %r3, %r3, %r2;");
        let ptx = OUT_OF_SHARED
            .replace("setp.ne.u32 %p, %r1, 0;", "setp.ge.u32 %p, %r1, 32;")
            .replace("@%p bra meet;", &format!("@%p bra meet; {from}"))
            .replace("[tile], 256;", "[%r3], 128;")
            .replace("WAIT", "cp.async.bulk.wait_group 0;")
            .replace("BARRIER", "bar.sync 0; ret;");
        let found = findings(&ptx, "again", Launch::new(1, 64), 64, None);
        assert_eq!(found.iter().any(|finding| finding.check() == Check::Race), races, "{which} {found:#?}");
    }
}

/// A warpgroup fills its operands, multiplies them, and fills them again.
const PRODUCT: &str = r"
.version 8.0
.target sm_90a
.address_size 64
.visible .entry product(.param .u64 in, .param .u64 out)
{
    .reg .pred %p;
    .reg .b32 %r<6>;
    .reg .f32 %f<5>;
    .reg .b64 %rd<6>;
    .shared .align 128 .b8 a[2048];
    .shared .align 128 .b8 b[256];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, a;
    mov.u32 %r3, b;
    shl.b32 %r4, %r1, 4;
    add.u32 %r4, %r4, %r2;
    shl.b32 %r5, %r1, 1;
    add.u32 %r5, %r5, %r3;
    mov.b64 %rd1, 0;
    st.shared.v2.u64 [%r4], {%rd1, %rd1};
    st.shared.u16 [%r5], 0;
    fence.proxy.async.shared::cta;
    BARRIER
    // Core matrices of 128 bytes: 1024 (A) and 128 (B) bytes apart along k, 128 along m.
    shr.u32 %r2, %r2, 4;
    cvt.u64.u32 %rd2, %r2;
    or.b64 %rd2, %rd2, 0x800400000;
    shr.u32 %r3, %r3, 4;
    cvt.u64.u32 %rd3, %r3;
    or.b64 %rd3, %rd3, 0x800080000;
    setp.ne.u32 %p, %r1, %r1;
    mov.f32 %f1, 0f00000000;
    mov.f32 %f2, %f1;
    mov.f32 %f3, %f1;
    mov.f32 %f4, %f1;
    wgmma.fence.sync.aligned;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd2, %rd3, %p, 1, 1, 0, 0;
    wgmma.commit_group.sync.aligned;
    WAIT
    st.shared.u16 [%r5], 1;
    ret;
}";

#[test]
fn the_operands_of_a_warpgroups_product_may_be_overwritten_when_it_was_awaited() {
    for (barrier, wait, races) in [
        ("bar.sync 0;", "wgmma.wait_group.sync.aligned 0;\nbar.sync 0;", false),
        ("bar.sync 0;", "bar.sync 0;", true),
        ("bar.sync 0;", "wgmma.wait_group.sync.aligned 1;\nbar.sync 0;", true),
        ("", "wgmma.wait_group.sync.aligned 0;\nbar.sync 0;", true),
    ] {
        let ptx = PRODUCT.replace("WAIT", wait).replace("BARRIER", barrier);
        let found = findings(&ptx, "product", Launch::new(1, 128), 64, None);
        assert_eq!(
            found.iter().any(|finding| finding.check() == Check::Race),
            races,
            "{barrier}{wait} {found:#?}"
        );
    }
}

#[test]
fn a_copy_sees_plain_stores_behind_a_fence_between_the_proxies() {
    const FENCE: &str = "    fence.proxy.async.shared::cta;\n";
    for (before, after, races) in [(FENCE, "", false), ("", FENCE, false), ("", "", true)] {
        let ptx = OUT_OF_SHARED
            .replace(&format!("{FENCE}    bar.sync 0;\n"), &format!("{before}    bar.sync 0;\n{after}"))
            .replace("WAIT", "cp.async.bulk.wait_group 0;")
            .replace("BARRIER", "bar.sync 0;");
        let found = findings(&ptx, "again", Launch::new(1, 64), 64, None);
        assert_eq!(!found.is_empty(), races, "{before}{after} {found:#?}");
        let product = PRODUCT
            .replace(FENCE, before)
            .replace("WAIT", "wgmma.wait_group.sync.aligned 0;\nbar.sync 0;")
            .replace("BARRIER", &format!("bar.sync 0;\n{after}"));
        let found = findings(&product, "product", Launch::new(1, 128), 64, None);
        assert_eq!(!found.is_empty(), races, "{before}{after} {found:#?}");
    }
}

#[test]
fn what_a_bulk_copy_writes_is_there_when_it_was_awaited_and_not_only_read() {
    for (wait, races) in [("cp.async.bulk.wait_group 0;", false), ("cp.async.bulk.wait_group.read 0;", true)]
    {
        let ptx =
            OUT_OF_SHARED.replace("WAIT", wait).replace("BARRIER", "bar.sync 0;\nld.global.u32 %r2, [%rd1];");
        let found = findings(&ptx, "again", Launch::new(1, 64), 64, None);
        assert_eq!(!found.is_empty(), races, "{wait} {found:#?}");
    }
}

#[test]
fn another_warpgroup_writes_an_operand_when_it_has_met_the_one_that_waited() {
    for (meet, races) in [("bar.sync 1, 256;", false), ("", true)] {
        let ptx = PRODUCT
            .replace("mov.u32 %r2, a;", "setp.gt.u32 %p, %r1, 127;\n@%p bra other;\nmov.u32 %r2, a;")
            .replace("BARRIER", "bar.sync 0;")
            .replace(
                "WAIT",
                &format!(
                    "wgmma.wait_group.sync.aligned 0;\n{meet}\nret;\n\
                     other:\nbar.sync 0;\n{meet}\nst.shared.u16 [b], 1;\nret;"
                ),
            );
        let found = findings(&ptx, "product", Launch::new(1, 256), 64, None);
        // Its lanes write the same, which is no error.
        let race =
            |finding: &Finding| (finding.check(), finding.severity()) == (Check::Race, Severity::Error);
        assert_eq!(found.iter().any(race), races, "{meet} {found:#?}");
    }
}

#[test]
fn the_result_of_a_product_is_used_when_it_was_awaited_and_only_moved_before() {
    for (before, after, races) in [
        ("", "add.f32 %f1, %f1, %f2;", false),
        ("mov.f32 %f2, %f1;", "add.f32 %f1, %f1, %f2;", false),
        ("add.f32 %f1, %f1, %f2;", "", true),
        ("mov.f32 %f2, %f1;\nadd.f32 %f1, %f2, %f2;", "", true),
    ] {
        let wait = format!("{before}\nwgmma.wait_group.sync.aligned 0;\n{after}\nbar.sync 0;");
        let ptx = PRODUCT.replace("WAIT", &wait).replace("BARRIER", "bar.sync 0;");
        let found = findings(&ptx, "product", Launch::new(1, 128), 64, None);
        assert_eq!(!found.is_empty(), races, "{before}{after} {found:#?}");
    }
}

/// A thread copies, and ends without a wait if there is none in place of `WAIT`.
const COPIES: &str = r"
.version 8.0
.target sm_80
.address_size 64
.visible .entry copies(.param .u64 in, .param .u64 out)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<3>;
    .shared .align 16 .b8 tile[256];
    ld.param.u64 %rd1, [in];
    mov.u32 %r1, %tid.x;
    shl.b32 %r2, %r1, 2;
    cvt.u64.u32 %rd2, %r2;
    add.s64 %rd1, %rd1, %rd2;
    mov.u32 %r3, tile;
    add.u32 %r3, %r3, %r2;
    cp.async.ca.shared.global [%r3], [%rd1], 4;
    cp.async.commit_group;
    WAIT
    ret;
}";

#[test]
fn copies_under_way_at_the_end_are_forgotten() {
    let found = |wait: &str| findings(&COPIES.replace("WAIT", wait), "copies", Launch::new(2, 64), 64, None);
    for waits in ["cp.async.wait_group 0;", "cp.async.wait_all;"] {
        assert_eq!(found(waits), []);
    }
    for forgets in ["", "cp.async.wait_group 1;"] {
        let found = found(forgets);
        assert_eq!(found.len(), 1, "{found:#?}");
        assert_eq!((found[0].check(), found[0].severity()), (Check::Race, Severity::Warning));
        assert!(found[0].message().contains("ends while its asynchronous copy"), "{found:#?}");
    }
}
