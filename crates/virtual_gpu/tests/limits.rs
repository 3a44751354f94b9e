//! PTX that asks for too much, or makes no sense: refused or faulted, never a panic, a hang or runaway memory.

mod harness;

use gpu_model::chips::{H200, T4};
use harness::Device;
use virtual_gpu::{Error, FaultKind, Gpu, Launch, Options};

/// A module with one kernel of that body.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n{body}\n}}\n"
    )
}

fn gpu() -> Gpu {
    Gpu::with_options(&H200, Options { threads: 2, watchdog: Some(5_000_000), ..Options::default() })
}

fn refusal(text: &str) -> Error {
    gpu().load(text).map(|_| ()).unwrap_err()
}

#[test]
fn what_is_not_known_is_refused_with_its_line() {
    for (body, part) in [
        (".reg .b32 %r<2>;\nfrobnicate.u32 %r0, %r1;", "frobnicate.u32 %r0, %r1"),
        (".reg .b32 %r<2>;\nadd.u32.strange %r0, %r1, 1;", "strange"),
        (".reg .b32 %r<2>;\nadd.u64 %r0, %r1, %r1;", "32 bits"),
        (".reg .b32 %r<2>;\nadd.u32 %r0, %r1, %r2;", "%r2"),
        (".reg .b32 %r<2>;\nadd.u32 %r0, %r1;", "operands"),
        (".reg .b32 %r<2>;\nmov.u32 %r0, nobody;", "nobody"),
        ("\nbra NOWHERE;", "NOWHERE"),
        ("\ncall nobody;", "nobody"),
        (".reg .pred %p;\n@%q bra L;\nL: ret;", "%q"),
        (".reg .b32 %r<2>;\nld.const.u32 %r0, [p];", "is in `.param`"),
        (".reg .b32 %r<2>;\nld.param.u32 %r0, [p+6];", "beyond"),
    ] {
        let error = refusal(&kernel(body));
        let text = error.to_string();
        assert!(text.contains(part), "{part:?} is not in {text:?}");
        assert!(matches!(error, Error::Unsupported { .. }), "{error:?}");
    }
    let Error::Unsupported { line, .. } = refusal(&kernel(".reg .b32 %r<2>;\nfrobnicate.u32 %r0, %r1;"))
    else {
        panic!("not refused");
    };
    assert_eq!(line, 7);
}

#[test]
fn too_many_registers_and_too_much_memory_are_refused() {
    let mut body = String::from(".reg .v2 .b64 %v<4000000000>;\n.reg .b64 %rd;\n");
    for i in 0..270_000u64 {
        body += &format!("mov.u64 %rd, %v{}.x;\n", i * 9_999 + 1);
    }
    assert!(refusal(&kernel(&body)).to_string().contains("registers"));
    for declaration in [
        ".local .b8 a[1000000000000];",
        ".local .b8 a<4000000000>[1];",
        ".shared .b8 a[18446744073709551615];",
        ".shared .b8 a[300000];\nmov.u32 %r0, a;",
        ".shared .b8 a[4294967295][4294967295][4294967295];",
        ".shared .align 3 .b8 a[4];",
    ] {
        refusal(&kernel(&format!(".reg .b32 %r<2>;\n{declaration}")));
    }
    for declaration in [
        ".global .b8 a[1000000000000000];",
        ".global .b8 a[4294967295][4294967295][4294967295];",
        ".global .b32 a[2] = {1, 2, 3};",
        ".global .b32 a = nobody;",
        ".global .align 0 .b32 a;",
        ".tex .u32 a = 1.5;",
    ] {
        refusal(&format!(".version 8.0\n.target sm_75\n.address_size 64\n{declaration}\n"));
    }
    // Untouched memory costs nothing.
    let text = ".version 8.0\n.target sm_75\n.address_size 64\n.global .b8 a[60000000000] = {1};\n";
    gpu().load(text).unwrap();
}

#[test]
fn a_module_for_a_later_chip_is_refused() {
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n";
    assert!(matches!(Gpu::new(&T4).load(text), Err(Error::Target { .. })));
    let error = refusal(".version 8.0\n.target sm_80a\n.address_size 64\n");
    assert_eq!(error.cuda_code(), 209);
}

#[test]
fn launches_beyond_the_limits_are_refused() {
    let device = Device::new(&kernel("ret;"));
    let kernel = device.module.kernel("k").unwrap();
    let launch = |launch: Launch, params: &[u8]| device.gpu.launch(&kernel, &launch, params, &mut ());
    for shape in [
        Launch::new(0, 1),
        Launch::new(1, 0),
        Launch::new(u32::MAX, 1),
        Launch::new((1, 65_536), 1),
        Launch::new(1, 1025),
        Launch::new(1, (64, 64)),
        Launch::new(1, (u32::MAX, u32::MAX, u32::MAX)),
        Launch::new(1, (1, 1, 65)),
        Launch::new(1, 1).dynamic_shared(u32::MAX),
        Launch::new(1_000_000, 1).cooperative(),
        Launch { cluster: [u32::MAX; 3], ..Launch::new(1, 1) },
    ] {
        let error = launch(shape, &[0; 8]).unwrap_err();
        assert!(matches!(error, Error::LaunchLimit { .. }), "{shape:?}: {error}");
    }
    assert!(matches!(launch(Launch::new(1, 1), &[0; 7]), Err(Error::Parameters { .. })));
    launch(Launch::new(1, 1), &[0; 8]).unwrap();
}

#[test]
fn endless_recursion_overflows_the_stack() {
    for locals in ["", ".local .align 8 .b8 depot[64];", ".local .align 8 .b8 depot[40000];"] {
        let text = format!(
            ".version 8.0\n.target sm_75\n.address_size 64\n.func f()\n{{\n.reg .b64 %rd<60>;\n{locals}\n\
             mov.u64 %rd1, 1;\ncall f;\nret;\n}}\n.visible .entry k(.param .u64 p)\n{{\ncall f;\nret;\n}}\n"
        );
        let device = Device::new(&text);
        let error = device.try_launch("k", Launch::new(2, 1024), &[harness::Arg::Long(0)]).unwrap_err();
        let Error::Fault(fault) = error else { panic!("{error}") };
        assert!(matches!(fault.kind, FaultKind::StackOverflow { .. }), "{fault}");
    }
}

/// Eight threads take eight paths through a large function that calls itself: each keeps thousands of values across the
/// calls, and a few kB of local memory, like arithmetic on elliptic curves. None of the warp's tables may be too small.
#[test]
fn ways_through_large_functions_have_room() {
    const VALUES: u32 = 6000;
    const CALLS: u32 = 6;
    let values = |line: &dyn Fn(u32) -> String| (0..VALUES).map(line).collect::<String>();
    let (made, added) = (
        values(&|i| format!("mul.lo.u32 %v{i}, x, {};\n", 2 * i + 1)),
        values(&|i| format!("add.u32 r, r, %v{i};\n")),
    );
    let ways: String = (0..8)
        .map(|way| format!("W{way}: mov.u32 %x, {};\ncall (%r), f, (%n, %x);\nbra.uni DONE;\n", 100 * way))
        .collect();
    let text = format!(
        ".version 8.0\n.target sm_75\n.address_size 64\n\
         .func (.reg .u32 r) f(.reg .u32 n, .reg .u32 x)\n{{\n.reg .u32 %v<{VALUES}>, m, y;\n.reg .pred %p;\n\
         .local .u32 kept[100];\n{made}st.local.u32 [kept+396], x;\nmov.u32 r, 0;\nsetp.eq.u32 %p, n, 0;\n@%p bra LAST;\n\
         sub.u32 m, n, 1;\nadd.u32 y, x, 1;\ncall (r), f, (m, y);\nLAST:\n{added}ld.local.u32 y, [kept+396];\n\
         add.u32 r, r, y;\nret;\n}}\n\
         .visible .entry k(.param .u64 p)\n{{\n.reg .u32 %t, %r, %n, %x;\n.reg .b64 %p, %a;\n\
         mov.u32 %t, %tid.x;\nmov.u32 %n, {CALLS};\nld.param.u64 %p, [p];\n\
         WAYS: .branchtargets W0, W1, W2, W3, W4, W5, W6, W7;\nbrx.idx %t, WAYS;\n{ways}DONE:\n\
         mul.wide.u32 %a, %t, 4;\nadd.u64 %p, %p, %a;\nst.global.u32 [%p], %r;\nret;\n}}\n"
    );
    let device = Device::with(&text, Options { stack_limit: 8 << 10, ..Options::default() });
    let out = device.upload(&[0u32; 8]);
    device.launch("k", Launch::new(1, 8), &[harness::Arg::Pointer(out)]);
    let expected: Vec<u32> = (0..8u32)
        .map(|way| {
            let of = |x: u32| (0..VALUES).fold(x, |sum, i| sum.wrapping_add(x.wrapping_mul(2 * i + 1)));
            (0..=CALLS).fold(0u32, |sum, depth| sum.wrapping_add(of(100 * way + depth)))
        })
        .collect();
    assert_eq!(device.download::<u32>(out, 8), expected);
}

/// Counts in the byte at `p` as compilers do it: with a compare-and-swap of the word around it.
const COUNT_IN_A_BYTE: &str = ".reg .b32 %r<9>;\n.reg .b64 %rd<4>;\n.reg .pred %q;\n\
    ld.param.u64 %rd0, [p];\nand.b64 %rd1, %rd0, -4;\ncvt.u32.u64 %r0, %rd0;\nand.b32 %r0, %r0, 3;\nshl.b32 %r0, %r0, 3;\n\
    mov.b32 %r1, 255;\nshl.b32 %r1, %r1, %r0;\nnot.b32 %r2, %r1;\nmov.b32 %r3, 1;\nshl.b32 %r3, %r3, %r0;\n\
    ld.global.b32 %r8, [%rd1];\nL:\nadd.s32 %r4, %r8, %r3;\nand.b32 %r4, %r4, %r1;\nand.b32 %r5, %r8, %r2;\nor.b32 %r5, %r5, %r4;\n\
    atom.relaxed.sys.global.cas.b32 %r6, [%rd1], %r8, %r5;\nsetp.ne.b32 %q, %r6, %r8;\nmov.b32 %r8, %r6;\n@%q bra L;\nret;";

#[test]
fn atomic_bytes_may_end_an_allocation() {
    let device = Device::new(&kernel(COUNT_IN_A_BYTE));
    for size in [1, 2, 5, 7] {
        let bytes = device.upload(&vec![9u8; size]);
        let last = bytes + size as u64 - 1;
        device.launch("k", Launch::new(3, 64), &[harness::Arg::Pointer(last)]);
        let after: Vec<u8> = device.download(bytes, size);
        assert_eq!(after[size - 1], 9 + 192);
        assert!(after[..size - 1].iter().all(|byte| *byte == 9));
    }
    // A word behind the granule is still an error.
    let bytes = device.upload(&[0u8; 5]);
    assert!(device.try_launch("k", Launch::new(1, 1), &[harness::Arg::Pointer(bytes + 512)]).is_err());
    let device = Device::new(&kernel(
        ".reg .b32 %r<2>;\n.reg .b64 %rd<2>;\nld.param.u64 %rd0, [p];\nld.global.b32 %r0, [%rd0];\nst.global.b32 [%rd0], %r0;",
    ));
    let bytes = device.upload(&[0u8; 5]);
    assert!(device.try_launch("k", Launch::new(1, 1), &[harness::Arg::Pointer(bytes + 512)]).is_err());
}

/// Runs a body with a 64-byte buffer as its parameter and returns the fault.
fn fault(body: &str) -> virtual_gpu::Fault {
    let device = Device::new(&kernel(body));
    let buffer = device.upload(&[0u64; 8]);
    match device.try_launch("k", Launch::new(1, 32), &[harness::Arg::Pointer(buffer)]) {
        Err(Error::Fault(fault)) => *fault,
        other => panic!("{other:?} from {body}"),
    }
}

#[test]
fn wild_addresses_fault() {
    let start = ".reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .pred %p; .shared .align 16 .b8 s[64]; .local .b8 l[16];\nld.param.u64 %rd1, [p];\n";
    for (body, code) in [
        ("ld.global.u32 %r1, [%rd1+512];", 700),
        ("ld.global.u32 %r1, [%rd1+-4];", 700),
        ("ld.global.v2.u64 {%rd2, %rd3}, [%rd1+56];", 716),
        ("ld.global.u32 %r1, [%rd1+2];", 716),
        ("mov.u64 %rd2, 0; ld.u32 %r1, [%rd2];", 700),
        ("mov.u64 %rd2, -4; st.u32 [%rd2], 1;", 700),
        ("mov.u64 %rd2, 0x7fffffffffff; st.global.u8 [%rd2], 1;", 700),
        ("ld.shared.u32 %r1, [s+128];", 700),
        ("mov.u32 %r2, 0xfffffffc; ld.shared.u32 %r1, [%r2];", 700),
        ("mov.u64 %rd2, 1000000; ld.local.u8 %r1, [%rd2];", 700),
        ("mov.u64 %rd2, -1; ld.local.u8 %r1, [%rd2];", 700),
        ("mov.u64 %rd2, -1; ld.shared.u8 %r1, [%rd2];", 700),
        ("mov.u64 %rd2, -2; ld.param.u16 %r1, [%rd2];", 700),
        ("atom.global.add.u32 %r1, [%rd1+512], 1;", 700),
        ("atom.global.add.u64 %rd2, [%rd1+4], 1;", 716),
        ("mov.u32 %r1, 16; bar.sync %r1;", 715),
        ("mov.u32 %r1, 33; bar.sync 0, %r1;", 715),
        ("trap;", 719),
        ("PROTO: .callprototype _ ();\ncall %rd1, PROTO;", 718),
        ("mov.u32 %r1, 5;\nT: .branchtargets A;\nbrx.idx %r1, T;\nA: ret;", 718),
    ] {
        let fault = fault(&format!("{start}{body}\nret;"));
        assert_eq!(fault.kind.cuda_code(), code, "{body}: {fault}");
        assert_eq!((fault.thread, fault.block), ([0, 0, 0], [0, 0, 0]), "{body}");
    }
}

#[test]
fn constants_are_not_written() {
    let text = ".version 8.0\n.target sm_75\n.address_size 64\n.const .b32 c[4] = {1, 2, 3, 4};\n\
                .visible .entry k(.param .u64 p)\n{\n.reg .b64 %rd<2>;\ncvta.const.u64 %rd1, c;\nst.u32 [%rd1], 7;\nret;\n}\n";
    let device = Device::new(text);
    let error = device.try_launch("k", Launch::new(1, 1), &[harness::Arg::Long(0)]).unwrap_err();
    let Error::Fault(fault) = error else { panic!("{error}") };
    assert!(matches!(fault.kind, FaultKind::WriteToConstant { .. }), "{fault}");
    let c = device.module.global("c").unwrap();
    assert_eq!(device.download::<u32>(c.address, 4), [1, 2, 3, 4]);
}

#[test]
fn endless_loops_meet_the_watchdog() {
    for body in [
        "L: bra L;",
        ".reg .pred %p; .reg .b32 %r<2>; mov.u32 %r1, %laneid; setp.lt.u32 %p, %r1, 16;\n@%p bra A;\nB: bra B;\nA: bra A;",
        "L: nanosleep.u32 100;\nbra L;",
        "L: bar.sync 0;\nbra L;",
        "L: bar.warp.sync -1;\nbra L;",
    ] {
        let device = Device::with(
            &kernel(body),
            Options { threads: 2, watchdog: Some(1_000_000), ..Options::default() },
        );
        let error = device.try_launch("k", Launch::new(3, 64), &[harness::Arg::Long(0)]).unwrap_err();
        let Error::Fault(fault) = error else { panic!("{error}") };
        assert!(matches!(fault.kind, FaultKind::Timeout { .. }), "{body}: {fault}");
    }
}

/// Too many blocks to count one by one: a fault in the first ends the launch, and so does the watchdog.
#[test]
fn the_largest_grid_ends_with_its_first_fault() {
    let grid = (2_147_483_647, 65_535, 65_535);
    for (body, timeout) in [("trap;", false), ("ret;", true)] {
        let gpu = gpu();
        let module = gpu.load(&kernel(body)).unwrap();
        let entry = module.kernel("k").unwrap();
        let fault = gpu.launch(&entry, &Launch::new(grid, 1024), &[0; 8], &mut ()).unwrap_err();
        let Error::Fault(fault) = fault else { panic!("{fault:?}") };
        assert_eq!(matches!(fault.kind, FaultKind::Timeout { .. }), timeout, "{fault:?}");
    }
}

/// ptxas allocates a block's shared memory in units of 128 bytes, which a tensor map fills: hardware does not notice an
/// access that leaves a smaller variable but stays in the unit.
#[test]
fn a_tensor_map_may_begin_in_a_smaller_variable() {
    let replace = |offset: u32| {
        let text = format!(
            ".version 8.3\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{{\n\
             .shared .align 128 .b8 small[4];\n\
             tensormap.replace.tile.rank.shared::cta.b1024.b32 [small+{offset}], 2;\nret;\n}}\n"
        );
        let gpu = gpu();
        let kernel = gpu.load(&text).unwrap().kernel("k").unwrap();
        gpu.launch(&kernel, &Launch::new(1, 1), &[], &mut ())
    };
    replace(0).unwrap();
    assert!(matches!(replace(64), Err(Error::Fault(_))));
    assert!(matches!(replace(128), Err(Error::Fault(_))));
}
