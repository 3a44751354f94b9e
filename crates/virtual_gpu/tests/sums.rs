//! Operands that are sums, elements of arrays, and variables without a named space.

mod harness;

use harness::{Arg, Device};
use virtual_gpu::Launch;

/// Runs a one-thread body that stores to `%out`, and returns the 32-bit words it stored. `%two` holds 2 and `%far`
/// 2^40.
fn run(body: &str, words: usize) -> Vec<u32> {
    let device = Device::new(&format!(
        ".version 8.5\n.target sm_90\n.address_size 64\n\
         .global .u32 words[4] = {{10, 11, 12, 13}}; .const .u64 longs[4] = {{20, 21, 22, 23}};\n\
         .global .u16 rows[2][3] = {{{{30, 31, 32}}, {{33, 34, 35}}}}; .shared .u32 before; .shared .u32 shared[4]; .shared .b64 gate;\n\
         .func (.reg .u32 sum) third(.param .u32 x[4], .reg .u32 i)\n\
         {{ .reg .u32 a, b; ld.param.u32 a, x[i]; ld.param.u32 b, x[3]; add.u32 sum, a, b; ret; }}\n\
         .visible .entry k(.param .u64 out, .param .u32 given[4], .param .u32 two) {{\n\
         .reg .b64 %out, %far, %rd<9>; .reg .b32 %r<9>, %two; .reg .s16 %less; .reg .u16 %h<4>; .reg .pred %p<4>;\n\
         .reg .u32 %u; .reg .s32 %s; .reg .s16 %i; .reg .u8 %c; .reg .s8 %sc; .reg .f32 %f;\n\
         .local .u32 locals[4];\n\
         ld.param.u64 %out, [out]; ld.param.u32 %two, [two]; mov.u64 %far, 1099511627776; mov.b16 %less, -1;\n\
         st.shared.u32 [shared], 40; st.shared.u32 [shared+4], 41; st.shared.u32 [shared+8], 42; st.shared.u32 [shared+12], 43;\n\
         {body}\nret; }}\n"
    ));
    let out = device.upload(&vec![0u32; words]);
    device.launch("k", Launch::new(1, 1), &[Arg::Pointer(out), Arg::Words([50, 51, 52, 53]), Arg::Int(2)]);
    device.download(out, words)
}

/// The first word that a body leaves in `%r1`.
fn word(body: &str) -> u32 {
    run(&format!("{body} st.global.u32 [%out], %r1;"), 1)[0]
}

#[test]
fn a_register_and_a_number() {
    for (body, expected) in [
        ("mov.u32 %r1, %two+5;", 7),
        ("mov.u32 %r1, %two+-3;", u32::MAX),
        ("mov.u32 %r1, %two+8-4;", 6),
        // In 32 bits.
        ("mov.u32 %r1, %two+4294967296;", 2),
        ("add.u32 %r1, %two+1, %two+10;", 15),
        ("mad.lo.u32 %r1, %two+1, %two, %two+4;", 12),
        ("sub.u32 %r1, %two, %two+7;", 7u32.wrapping_neg()),
        ("mov.u32 %r1, %two; mov.u32 %r1, %r1+1; mov.u32 %r1, %r1+1;", 4),
        // The same sum for another value.
        ("mov.u32 %r1, 5; add.u32 %r2, %r1+1, 0; mov.u32 %r1, 7; add.u32 %r1, %r1+1, %r2;", 14),
        ("setp.eq.u32 %p1, %two+1, 3; selp.u32 %r1, %two+7, %two+1, %p1;", 9),
        ("mov.u64 %rd1, %far+3; cvt.u32.u64 %r1, %rd1;", 3),
        ("mov.u64 %rd1, %far+-1; shr.u64 %rd1, %rd1, 32; cvt.u32.u64 %r1, %rd1;", 255),
        ("cvt.u32.u64 %r1, %far+9;", 9),
        ("mov.u16 %h1, 65535; mul.wide.u16 %r1, %h1+3, %h1;", 2 * 65535),
        ("mov.u32 %r1, %laneid+4;", 4),
        ("st.global.u32 [%out], %two+20; ld.global.u32 %r1, [%out];", 22),
        ("atom.global.add.u32 %r2, [%out], %two+3; ld.global.u32 %r1, [%out];", 5),
        (
            "mov.u64 %rd1, words; mov.u64 %rd2, 4; add.u64 %rd2, words+4, %rd2; sub.u64 %rd1, %rd2, %rd1; cvt.u32.u64 %r1, %rd1;",
            8,
        ),
        ("mov.u32 %r1, shared; add.u32 %r1, %r1, 12; sub.u32 %r1, shared+4, %r1;", 8u32.wrapping_neg()),
    ] {
        assert_eq!(word(body), expected, "{body}");
    }
}

/// An index counts elements, with 32 bits.
#[test]
fn elements_of_arrays() {
    for (body, expected) in [
        ("ld.global.u32 %r1, words[3];", 13),
        ("ld.global.u32 %r1, words[%two];", 12),
        ("ld.u32 %r1, words[%two+1];", 13),
        ("ld.global.u32 %r1, words[%two+-2];", 10),
        ("cvt.u64.u32 %rd1, %two; or.b64 %rd1, %rd1, %far; ld.global.u32 %r1, words[%rd1];", 12),
        ("mov.b16 %h1, 1; ld.global.u32 %r1, words[%h1];", 11),
        ("mov.b16 %h1, 65535; ld.global.u32 %r1, words[%h1+2];", 11),
        ("ld.global.u32 %r1, words[%laneid];", 10),
        ("ld.const.u64 %rd1, longs[%two]; cvt.u32.u64 %r1, %rd1;", 22),
        ("ld.const.u64 %rd1, longs[1]; cvt.u32.u64 %r1, %rd1;", 21),
        // Single values, whatever the number of rows.
        ("ld.global.u16 %h1, rows[%two]; cvt.u32.u16 %r1, %h1;", 32),
        ("ld.global.u16 %h1, rows[4]; cvt.u32.u16 %r1, %h1;", 34),
        ("ld.shared.u32 %r1, shared[%two];", 42),
        ("ld.shared.u32 %r1, shared[3];", 43),
        ("st.shared.u32 shared[%two], 7; ld.shared.u32 %r1, [shared+8];", 7),
        ("mov.u32 %r2, shared[%two]; ld.shared.u32 %r1, [%r2+4];", 43),
        ("mov.u32 %r2, shared[1]; ld.shared.u32 %r1, [%r2];", 41),
        ("cvta.shared.u64 %rd1, shared[%two]; ld.u32 %r1, [%rd1];", 42),
        ("cvta.shared.u64 %rd1, shared[1]; ld.u32 %r1, [%rd1];", 41),
        ("mov.u64 %rd1, words[%two]; ld.global.u32 %r1, [%rd1+4];", 13),
        ("st.local.u32 locals[%two+1], 9; ld.local.u32 %r1, [locals+12];", 9),
        ("ld.param.u32 %r1, given[%two];", 52),
        ("ld.param.u32 %r1, given[1];", 51),
        (
            "{ .param .u32 x[4]; st.param.u32 x[%two], 60; st.param.u32 x[3], 7; call (%r1), third, (x, %two); }",
            67,
        ),
    ] {
        assert_eq!(word(body), expected, "{body}");
    }
}

/// A signed 16-bit index goes backwards, by a 32-bit distance that is added as it is.
#[test]
fn an_index_with_a_sign() {
    let body = "mov.u64 %rd1, words; mov.u64 %rd2, words[%less]; sub.u64 %rd1, %rd2, %rd1; st.global.u64 [%out], %rd1;";
    assert_eq!(run(body, 2), [4u32.wrapping_neg(), 0]);
}

/// The 64 bits that a body leaves in `%rd1`.
fn long(body: &str) -> u64 {
    let words = run(&format!("{body} st.global.u64 [%out], %rd1;"), 2);
    u64::from(words[1]) << 32 | u64::from(words[0])
}

/// Of a register whose width is not the operand's: added in the register's type, then extended by its sign or cut off. The
/// values are of what ptxas 13.5 makes of each.
#[test]
fn a_register_of_another_width() {
    for (body, expected) in [
        // Extended, behind the overflow of the register's own type.
        ("mov.u32 %u, 0xfffffffd; mov.u64 %rd1, %u+5;", 2),
        ("mov.u32 %u, 0xfffffffd; mov.u64 %rd1, %u+1;", 0xffff_fffe),
        ("mov.s32 %s, -8; mov.u64 %rd1, %s+5;", -3_i64 as u64),
        ("mov.s32 %s, 0x7fffffff; mov.u64 %rd1, %s+1;", -0x8000_0000_i64 as u64),
        ("mov.b32 %r1, 0xfffffff0; mov.u64 %rd1, %r1+5;", 0xffff_fff5),
        ("mov.u16 %h1, 65533; mov.u64 %rd1, %h1+5;", 2),
        ("mov.u16 %h1, 65533; mov.u64 %rd1, %h1+65541;", 2),
        ("mov.s16 %i, -1; mov.u64 %rd1, %i+-5;", -6_i64 as u64),
        ("mov.s16 %i, 32767; mov.u64 %rd1, %i+1;", -32768_i64 as u64),
        ("cvt.u8.u32 %c, 253; mov.u64 %rd1, %c+5;", 2),
        ("cvt.s8.s32 %sc, -1; mov.u64 %rd1, %sc+-3;", -4_i64 as u64),
        ("cvt.s8.s32 %sc, 127; mov.u64 %rd1, %sc+1;", -128_i64 as u64),
        ("mov.u64 %rd1, %laneid+-1;", 0xffff_ffff),
        ("mov.s32 %s, -8; st.global.u64 [%out], %s+5; ld.global.u64 %rd1, [%out];", -3_i64 as u64),
        ("mov.u16 %h1, 65533; st.global.u64 [%out], %h1+5; ld.global.u64 %rd1, [%out];", 2),
        ("mov.s32 %s, -8; cvta.global.u64 %rd1, %s+5;", -3_i64 as u64),
        (
            "mov.s32 %s, -8; atom.global.add.u64 %rd2, [%out], %s+5; ld.global.u64 %rd1, [%out];",
            -3_i64 as u64,
        ),
        // A conversion's source has the type that the conversion names.
        ("mov.s32 %s, -8; cvt.u64.u32 %rd1, %s+5;", 0xffff_fffd),
        ("mov.u32 %u, 0xfffffff8; cvt.s64.s32 %rd1, %u+5;", -3_i64 as u64),
        ("mov.u32 %u, 0x1ffff; cvt.u64.u16 %rd1, %u+5;", 4),
        ("mov.u32 %u, 250; cvt.s64.s8 %rd1, %u+1;", -5_i64 as u64),
        ("mov.s16 %i, -1; cvt.u64.u8 %rd1, %i+-1;", 254),
        // Cut off.
        ("mov.u32 %r1, %far+9; cvt.u64.u32 %rd1, %r1;", 9),
        ("mov.u16 %h1, %far+65537; cvt.u64.u16 %rd1, %h1;", 1),
        ("mov.u16 %h1, %two+65536; cvt.u64.u16 %rd1, %h1;", 2),
        ("add.u32 %r1, %far+9, %two; cvt.u64.u32 %rd1, %r1;", 11),
        ("mul.wide.u16 %r1, %two+65536, %two+1; cvt.u64.u32 %rd1, %r1;", 6),
        ("st.global.u8 [%out], %far+513; ld.global.u64 %rd1, [%out];", 1),
        ("shfl.sync.idx.b32 %r1, %far+7, 0, 31, 1; cvt.u64.u32 %rd1, %r1;", 7),
        // Bits of floats.
        ("mov.f32 %f, %two+0x3f7ffffe; mov.b32 %r1, %f; cvt.u64.u32 %rd1, %r1;", 0x3f80_0000),
        (
            "mov.f32 %f, 0f3F800000; add.f32 %f, %far+0x40000000, %f; mov.b32 %r1, %f; cvt.u64.u32 %rd1, %r1;",
            0x4040_0000,
        ),
        // Whether an address is one of a space is asked of all of it.
        ("isspacep.global %p1, %far+8; selp.u64 %rd1, 1, 0, %p1;", 1),
        // Other sums of the same register, and the register itself, in one instruction.
        ("mov.u32 %r1, 7; mad.wide.u32 %rd1, %r1+1, %r1, %r1+2;", 8 * 7 + 9),
        ("mov.u64 %rd1, 3; @!%p1 mov.u64 %rd1, %two+1;", 3),
    ] {
        let body = format!("setp.ne.u32 %p1, %two, 0; {body}");
        assert_eq!(long(&body), expected, "{body}");
    }
}

/// A variable is where it was declared, also under an instruction that names no space.
#[test]
fn variables_of_a_space_that_is_not_named() {
    for (body, expected) in [
        ("atom.add.u32 %r2, [shared], 5; ld.shared.u32 %r1, [shared];", 45),
        ("red.add.u32 [shared+4], 7; ld.shared.u32 %r1, [shared+4];", 48),
        ("red.add.u32 [words+4], 7; ld.global.u32 %r1, [words+4];", 18),
        ("atom.cas.b32 %r1, [shared+8], 42, 1; ld.shared.u32 %r2, [shared+8]; add.u32 %r1, %r1, %r2;", 43),
        (
            "mbarrier.init.b64 [gate], 1; mbarrier.arrive.b64 %rd1, [gate]; mbarrier.test_wait.b64 %p1, [gate], %rd1; \
             selp.u32 %r1, 1, 0, %p1;",
            1,
        ),
    ] {
        assert_eq!(word(body), expected, "{body}");
    }
}
