//! Modules that are wrong in one way each: refused at load, with a message that says what is wrong, in bounded time and
//! memory. `hostile.rs` damages programs at random.

use gpu_model::chips;
use virtual_gpu::{Error, Gpu, Options};

fn load(text: &str) -> Result<(), Error> {
    let gpu = Gpu::with_options(&chips::H200, Options { threads: 1, ..Options::default() });
    gpu.load(text).map(|_| ())
}

/// A module with declarations and a kernel body.
fn module(outer: &str, body: &str) -> String {
    format!(
        ".version 8.5\n.target sm_90\n.address_size 64\n{outer}\n.visible .entry k(.param .u64 p) {{\n\
         .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<4>; .reg .f32 %f<4>;\n{body}\nret; }}\n"
    )
}

/// The loader's message for declarations and a body, which it must refuse.
fn refusal(outer: &str, body: &str) -> String {
    match load(&module(outer, body)) {
        Ok(()) => panic!("accepted: {outer} {body}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn sizes_and_alignments() {
    for (outer, body, part) in [
        (".shared .b8 x[4611686018427387904];", "", "larger than any shared memory"),
        (".shared .b8 x[4294967296][4294967296];", "", "too large"),
        (".global .b8 x[1125899906842624];", "", "out of device memory"),
        (".const .b8 x[65537];", "", "65536 bytes"),
        (".const .b8 x[40000]; .const .b8 y[40000];", "", "65536 bytes"),
        (".global .align 0 .b32 x;", "", "power of two"),
        (".shared .align 3 .b32 x;", "", "power of two"),
        (".global .align 4611686018427387904 .b32 x;", "", "power of two"),
        ("", ".local .b8 l[1152921504606846976];", "limited to 524288 bytes"),
        ("", ".local .align 0 .b8 l[4];", "power of two"),
        (".global .b32 x<4000000000>;", "", "more than 4096 variables"),
        (".global .b32 x[2] = {1, 2, 3};", "", "more values"),
        (".global .texref t = 5;", "", "bound by the host"),
    ] {
        let text = refusal(outer, body);
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
    let kernel =
        |head: &str| format!(".version 8.5\n.target sm_90\n.address_size 64\n.entry k({head} {{ ret; }}\n");
    for (head, part) in [
        (".param .b8 p[4294967296])", "limited to 32764 bytes"),
        (") .maxntid 0", "at least 1"),
        (") .maxntid 1099511627776", "32 bits"),
    ] {
        let text = load(&kernel(head)).unwrap_err().to_string();
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
    // Numbers that only look dangerous.
    load(&kernel(") .maxntid 4294967295, 4294967295, 4294967295")).unwrap();
    load(&module("", ".reg .b32 %z<4294967295>; mov.u32 %z4294967294, 1;")).unwrap();
}

#[test]
fn names() {
    for (outer, body, part) in [
        (".global .b32 x; .global .b64 x;", "", "defined twice"),
        (".func f() { ret; } .func f() { ret; }", "", "defined twice"),
        (".entry k() { ret; }", "", "defined twice"),
        (".global .b32 k;", "", "defined twice"),
        ("", ".reg .b32 a; .reg .b64 a;", "declared twice"),
        ("", ".local .b32 a; .reg .b64 a;", "declared twice"),
        ("", "L: add.u32 %r1, %r1, 1;\nL: ret;", "`L` is defined twice"),
        ("", "bra NOWHERE;", "`NOWHERE` is not defined"),
        ("", "{ IN: ret; } bra IN;", "`IN` is not defined"),
        (".func f() { M: ret; }", "bra M;", "`M` is not defined"),
        (".extern .global .b32 nowhere;", "mov.u64 %rd1, nowhere;", "not declared"),
        (".extern .func nowhere();", "call nowhere, ();", "defined nowhere"),
        (".alias a, b; .alias b, a;", "call a, ();", "is not declared before"),
    ] {
        let text = refusal(outer, body);
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
    // Compilers do write the same names in separate scopes, and a declaration before the definition.
    load(&module("", "{ .reg .b32 t; L: mov.u32 t, 1; } { .reg .b64 t; L: mov.u64 t, 1; }")).unwrap();
    load(&module(".extern .global .b32 x; .global .b32 x; .func f(); .func f() { ret; }", "call f, ();"))
        .unwrap();
}

#[test]
fn calls() {
    let takes = ".func f(.param .b32 a) { ret; }";
    for (outer, body, part) in [
        (takes, "call f, ();", "takes 1 arguments"),
        (takes, ".param .b64 q; call f, (q);", "8 bytes where the function has 4"),
        (".func (.param .b32 r) f() { ret; }", "call f, ();", "gives 1 results"),
        (".func f(.reg .b32 a) { ret; }", "call f, (%rd1);", "64 bits"),
        ("", "call k, (%rd1);", "defined nowhere"),
        (".global .b32 x;", "call x, ();", "defined nowhere"),
        ("", "L: call L, ();", "defined nowhere"),
        ("", "call %rd1, ();", "needs a prototype"),
        ("", "call %rd1, (), NOPE;", "no prototype"),
        (takes, "call %rd1, (), f;", "no prototype"),
    ] {
        let text = refusal(outer, body);
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
}

/// Each is refused by ptxas too.
#[test]
fn types_and_forms() {
    let registers = ".reg .b16 %h<4>; .reg .u32 %u<4>; .reg .f64 %d<4>;";
    for (body, part) in [
        ("add.u32 %r1, %f1, 1;", "`%f1` is `.f32`, the instruction takes `.u32`"),
        ("add.f32 %f1, %f2, %u1;", "`%u1` is `.u32`"),
        ("add.u32 %r1, %h1, 1;", "`%h1` is `.b16`"),
        ("add.u16 %r1, %h1, 1;", "`%r1` is `.b32`"),
        ("fma.rn.f32 %f1, %f2, 2, %f1;", "a whole number where `.f32`"),
        ("mov.f64 %d1, 0;", "a whole number where `.f64`"),
        ("ld.shared.u32 %r1, [%f1];", "cannot hold an address"),
        ("ld.global.u32 %r1, [%r2];", "64 bits"),
        ("atom.add.u32 %r1, [%r2], 1;", "64 bits"),
        ("shl.u32 %r1, %r2, 3;", "shl.{b16,b32,b64}"),
        ("setp.lt.b32 %p1, %r1, %r2;", "no such form"),
        ("cvt.f32.s32 %f1, %r1;", "needs"),
        ("st.relaxed.global.u32 [%rd1], %r1;", "it needs `.cta`"),
        ("atom.global.and.u32 %r1, [%rd1], 1;", "no such form"),
        ("setp.lt.f16 %p1|%p2, %h1, %h2;", "one predicate"),
        ("ld.global.L2::cache_hint.u32 %r1, [%rd1];", "policy as a last operand"),
        ("st.global.L2::cache_hint.u32 [%rd1], %r1;", "policy as a last operand"),
        ("atom.shared.add.L2::cache_hint.u32 %r1, [%r2], 1, %rd1;", "is for global memory"),
        ("ld.global.L2::evict_last.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];", "`.v8` of 32 bits"),
        ("ld.shared.v4.u64 {%rd1, %rd2, %rd3, %rd4}, [%r1];", "global memory only"),
        ("ld.param::func.u64 %rd1, [p];", "`.param::entry` is a kernel's"),
        ("max.xorsign.abs.f32 %f1, %f2, %f3, %f1;", "two values"),
        ("vmad.s32.s32.s32.po %r1, -%r2, %r3, %r4;", "`.po`"),
        ("wmma.load.a.sync.aligned.col.m8n8k32.global.s4 {%r1}, [%rd1], %r2;", "by rows in A"),
        (
            "wmma.mma.xor.popc.sync.aligned.row.row.m8n8k128.s32.b1.b1.s32 {%r1, %r2}, {%r3}, {%r4}, {%r1, %r2};",
            "no such combination",
        ),
        ("add.u32 %r1, %tid.x, 1;", "`%tid` is a special register"),
        ("cvt.rn.f32.u32 %f1, %laneid;", "which `mov` reads"),
        ("mov.f32 %f1, %clock;", "not read as `.f32`"),
        ("mov.u16 %h1, %laneid;", "not read as `.u16`"),
        ("mov.f64 %d1, %pm0_64;", "not read as `.f64`"),
        ("mov.u32 %r1, %envreg32;", "not declared"),
        ("mov.v2.u32 {%r1, %r2}, %tid;", "4 parts"),
    ] {
        let text = refusal("", &format!("{registers}\n{body}"));
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
}

/// Each is refused by `ptxas` 13.5, too; the module has PTX 8.5 and sm_90.
#[test]
fn what_registers_hold() {
    let registers = ".reg .b16 %h<4>; .reg .u16 %uh<4>; .reg .f16 %fh<4>; .reg .u32 %u<4>; .reg .u64 %ud<4>; \
                     .reg .f64 %d<4>; .reg .f16x2 %hh<4>; ";
    for (wrong, right) in [
        ("add.f16x2 %u0, %u1, %u2;", "add.f16x2 %r0, %hh1, %r2;"),
        ("add.bf16x2 %hh0, %r1, %r2;", "add.bf16x2 %r0, %r1, %r2;"),
        ("add.f32 %f0, %hh1, %f2;", "add.f32 %f0, %r1, %f2;"),
        ("fma.rn.bf16 %fh0, %h1, %h2, %h3;", "fma.rn.bf16 %h0, %h1, %h2, %h3;"),
        ("add.u16x2 %u0, %u1, %u2;", "add.u16x2 %r0, %hh1, %r2;"),
        ("red.global.add.noftz.f16x2 [%rd0], %u1;", "red.global.add.noftz.f16x2 [%rd0], %r1;"),
        ("dp4a.u32.u32 %u0, %f1, %u2, %u3;", "dp4a.u32.u32 %u0, %r1, %u2, %u3;"),
        ("cvt.rn.f32.s32 %f0, %f1;", "cvt.rn.f32.s32 %f0, %u1;"),
        ("cvt.rn.f32.s32 %u0, %r1;", "cvt.rn.f32.s32 %rd0, %rd1;"),
        ("cvt.u64.u32 %rd0, %h1;", "cvt.u64.u32 %rd0, %rd1;"),
        ("cvt.rn.bf16.f32 %r0, %f1;", "cvt.rn.bf16.f32 %h0, %f1;"),
        ("cvt.rna.tf32.f32 %f0, %f1;", "cvt.rna.tf32.f32 %r0, %f1;"),
        ("ld.global.f32 %u0, [%rd0];", "ld.global.f32 %rd1, [%rd0];"),
        ("st.global.f64 [%rd0], %ud1;", "st.global.f64 [%rd0], %d1;"),
        ("ld.global.u8 %fh0, [%rd0];", "ld.global.u8 %uh0, [%rd0];"),
        ("st.global.v2.f32 [%rd0], {%h0, %h1};", "st.global.v2.f32 [%rd0], {%u0, %u1};"),
        ("match.any.sync.b32 %f0, %r1, -1;", "match.any.sync.b32 %u0, %f1, -1;"),
    ] {
        let module = |line| module("", &format!("{registers}{line}"));
        assert!(load(&module(wrong)).is_err(), "accepted: {wrong}");
        load(&module(right)).unwrap_or_else(|error| panic!("{right}: {error}"));
    }
}

#[test]
fn what_is_newer_than_the_module() {
    for (body, parts) in [
        ("add.rn.f32x2 %rd1, %rd2, %rd3;", ["8.6` or later, the module has 8.5", "sm_100` or higher"]),
        ("max.f32 %f1, %f2, %f3, %f1;", ["8.8` or later", "the module has sm_90"]),
        ("setmaxnreg.inc.sync.aligned.u32 96;", ["`.target sm_90a` or", "the module has sm_90"]),
        ("shfl.up.b32 %r1, %r2, 1, 0;", ["line 7", "needs `.sync`"]),
    ] {
        let text = refusal("", body);
        for part in parts {
            assert!(text.contains(part), "{part:?} is not in {text:?}");
        }
    }
    let old = |head: &str| format!("{head}\n.address_size 64\n.entry k() .reqnctapercluster 2 {{ ret; }}\n");
    let clusters = load(&old(".version 7.8\n.target sm_80")).unwrap_err().to_string();
    assert!(clusters.contains("`.reqnctapercluster`") && clusters.contains("sm_90"), "{clusters}");
    let target = load(&old(".version 7.7\n.target sm_90")).unwrap_err().to_string();
    assert!(target.contains("line 2") && target.contains("`.version 7.8` or later"), "{target}");
    load(&old(".version 7.8\n.target sm_90")).unwrap();
}

/// Known instructions that are not executed are refused by name, with an alternative.
#[test]
fn what_is_not_executed() {
    for (outer, body, parts) in [
        (
            ".entry child() { ret; }",
            "mov.u64 %rd1, child;",
            ["`child` is a kernel", "launch it from the host"],
        ),
        (
            ".extern .func (.param .b32 r) __cudaCDP2LaunchDeviceV2(.param .b64 a, .param .b64 b);",
            ".param .b32 r; .param .b64 a; .param .b64 b; call (r), __cudaCDP2LaunchDeviceV2, (a, b);",
            ["`__cudaCDP2LaunchDeviceV2`", "dynamic parallelism"],
        ),
        (
            ".extern .func (.param .b32 r) __nv_sinf(.param .b32 a);",
            ".param .b32 r; .param .b32 a; call (r), __nv_sinf, (a);",
            ["`__nv_sinf`", "libdevice"],
        ),
        ("", "tcgen05.wait::ld.sync.aligned;", ["tcgen05", "tensor memory"]),
        (
            ".global .texref t;",
            "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f0}, [t, {%f1, %f2}], {%r1, %r2}, %f3;",
            ["depth textures only", "compare what is fetched"],
        ),
        ("", "st.bulk.weak.shared::cta [%rd1], %rd2, 0;", ["filling of shared memory", "with st"]),
        (
            "",
            "stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%rd1], {%r1};",
            ["`.b16` are executed", "Blackwell"],
        ),
        ("", "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p1, %rd1;", ["cancel", "atom.add"]),
    ] {
        let text = refusal(outer, body);
        for part in parts {
            assert!(text.contains(part), "{part:?} is not in {text:?}");
        }
    }
}

#[test]
fn depth_and_length() {
    let deep = |open: &str, inside: &str, close: &str| {
        format!("{}{inside}{}", open.repeat(100_000), close.repeat(100_000))
    };
    for (outer, body) in [
        (String::new(), deep("{", "", "}")),
        (format!(".global .b32 x = {};", deep("(", "1", ")")), String::new()),
        (format!(".global .b32 x = {};", deep("-", "1", "")), String::new()),
        (format!(".global .b32 x[2] = {};", deep("{", "1", "}")), String::new()),
    ] {
        let text = refusal(&outer, &body);
        assert!(text.contains("nested") && text.len() < 1000, "{}", &text[..200]);
    }
    let vector = format!("mov.b64 %rd1, {{{}%r1}};", "%r1, ".repeat(100_000));
    assert!(refusal("", &vector).contains("parts"));
    assert!(refusal("", "mov.b64 %rd1, {};").contains("no parts"));
    assert!(refusal("", &format!("mov.u32 %r1, {};", "9".repeat(10_000))).contains("64 bits"));
    assert!(refusal("", &format!("mov.u32 %{}, 1;", "a".repeat(1_000_000))).contains("not declared"));
    // Long is not wrong.
    load(&module("", &"add.u32 %r1, %r1, 1;\n".repeat(200_000))).unwrap();
}

/// Kernels that each reach many functions: this once took time cubic in the length of the text.
#[test]
fn many_kernels_and_many_functions() {
    let call = |i: u32| if i == 0 { String::new() } else { format!("call f{}, ();", i - 1) };
    let functions: String = (0..3000).map(|i| format!(".func f{i}() {{ {} ret; }}\n", call(i))).collect();
    let kernels: String = (0..1000).map(|i| format!(".entry q{i}() {{ call f2999, (); ret; }}\n")).collect();
    load(&module(&(functions + &kernels), "")).unwrap();
}

#[test]
fn headers() {
    for version in ["0.0", "99.9", "10.1"] {
        let text = format!(".version {version}\n.target sm_90\n.address_size 64\n");
        assert!(load(&text).unwrap_err().to_string().contains("no such version"), "{version}");
    }
    let narrow = "// made by hand\n.version 8.5\n.target sm_90\n.address_size 32\n";
    let refused = load(narrow).unwrap_err().to_string();
    assert!(refused.contains("line 4") && refused.contains("64 bits"), "{refused}");
    // ptxas takes a module without an address size for one of the host's size.
    load(".version 8.5\n.target sm_90\n.visible .entry k(.param .u64 p) { ret; }").unwrap();
    let text = ".version 8.5\n.target sm_9999999999\n.address_size 64\n";
    assert!(matches!(load(text), Err(Error::Target { .. })));
    for text in
        ["", "   \n", "\u{0}", "\u{1}\u{2}", "ret;", "\u{FFFD}", "/* never closed", ".file 1 \"never closed"]
    {
        assert!(matches!(load(text), Err(Error::Parse(_))), "{text:?}");
    }
}

/// What ptxas accepts but CUDA gives no meaning: the message says why, and what to do instead.
#[test]
fn textures_that_cuda_does_not_make() {
    for (body, part) in [
        ("tex.2dms.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%rd1, {%r1, %r2, %r3, %r3}];", "a layered texture"),
        ("tex.a2dms.v4.u32.s32 {%r4, %r5, %r6, %r7}, [%rd1, {%r1, %r2, %r3, %r4}];", "a layered texture"),
        ("txq.filter_mode.b32 %r1, [%rd1];", "pass them to the kernel"),
        ("txq.addr_mode_0.b32 %r1, [%rd1];", "pass them to the kernel"),
        ("txq.addr_mode_2.b32 %r1, [%rd1];", "pass them to the kernel"),
    ] {
        let text = refusal("", body);
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
}
