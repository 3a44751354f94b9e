//! Vector registers stay intact wherever they go: between functions, between registers, to and from memory.

mod harness;

use harness::{Arg, Device};
use virtual_gpu::Launch;

/// Runs a one-thread body that stores to `%out`, and returns the 32-bit words it stored.
fn run(functions: &str, body: &str, words: usize) -> Vec<u32> {
    let device = Device::new(&format!(
        ".version 8.5\n.target sm_90\n.address_size 64\n{functions}\n.visible .entry k(.param .u64 out) {{\n\
         .reg .b64 %out; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .b16 %h<9>; .reg .f32 %f<9>; .reg .pred %p<3>;\n\
         .reg .v2 .u32 v2, w2; .reg .v4 .u32 v4, w4; .reg .v2 .b16 h2; .reg .v4 .b16 h4; .reg .v2 .b64 l2;\n\
         .reg .v2 .f32 f2; .reg .b128 q;\n\
         ld.param.u64 %out, [out];\n{body}\nret; }}\n"
    ));
    let out = device.upload(&vec![0u32; words]);
    device.launch("k", Launch::new(1, 1), &[Arg::Pointer(out)]);
    device.download(out, words)
}

#[test]
fn a_function_sums_a_vector() {
    let sum = ".func (.reg .u32 o) sum(.reg .v2 .u32 i) { add.u32 o, i.x, i.y; ret; }";
    let body = "mov.u32 v2.x, 1; mov.u32 v2.y, 2; call (%r1), sum, (v2); st.global.u32 [%out], %r1;";
    assert_eq!(run(sum, body, 1), [3]);
}

/// Each type that a value of up to 16 bytes may have on either side of a call, in a register or in memory: its bytes
/// leave the function as they entered it.
#[test]
fn functions_give_back_what_they_take() {
    // The type, a store of it to `.param` memory, a load from there.
    let shapes: [(&str, &str, u32); 9] = [
        (".v2 .u32", "v2", 8),
        (".v2 .f32", "v2", 8),
        (".v4 .b16", "v4", 8),
        (".b64", "scalar", 8),
        (".v4 .u32", "v4", 16),
        (".v2 .b64", "v2", 16),
        (".b128", "scalar", 16),
        (".v2 .b16", "v2", 4),
        (".b32", "scalar", 4),
    ];
    let given: Vec<u32> = (0..4).map(|i| 0x0302_0100 + 0x0404_0404 * i).collect();
    for (formal, _, size) in shapes {
        for (own, vector, own_size) in shapes {
            if own_size != size {
                continue;
            }
            let moves = |to: &str, from: &str, ty: &str| match ty.split_once(' ') {
                Some((vector, element)) => format!("mov{vector}{element} {to}, {from};"),
                None => format!("mov{ty} {to}, {from};"),
            };
            let element = own.rsplit(' ').next().unwrap();
            let access = if vector == "scalar" { element.into() } else { format!(".{vector}{element}") };
            let body = format!(
                ".reg {own} a; .reg {own} b; .local .align 16 .b32 m[4];\n\
                 st.local.v4.b32 [m], {{{}, {}, {}, {}}}; ld.local{access} a, [m];\n\
                 call (b), f, (a); st.local{access} [m], b; ld.local.v4.b32 {{%r1, %r2, %r3, %r4}}, [m];\n\
                 st.global.v4.b32 [%out], {{%r1, %r2, %r3, %r4}};",
                given[0], given[1], given[2], given[3]
            );
            let in_register =
                format!(".func (.reg {formal} o) f(.reg {formal} i) {{ {} ret; }}", moves("o", "i", formal));
            assert_eq!(run(&in_register, &body, 4), given, "{own} as {formal}");
            if !formal.starts_with(".v") {
                let in_memory = format!(
                    ".func (.param {formal} o) f(.param {formal} i) {{ .reg {formal} t; ld.param{formal} t, [i]; \
                     st.param{formal} [o], t; ret; }}"
                );
                assert_eq!(run(&in_memory, &body, 4), given, "{own} as {formal} in memory");
            }
        }
    }
}

#[test]
fn through_a_prototype() {
    let swap = ".func (.reg .v2 .u32 o) swap(.reg .v2 .u32 i) { mov.v2.u32 o, {i.y, i.x}; ret; }";
    let body = "mov.u64 %rd1, swap; mov.b64 v2, 0x700000005;\n\
                P: .callprototype (.reg .v2 .u32 _) _ (.reg .v2 .u32 _);\n\
                call (w2), %rd1, (v2), P; st.global.v2.u32 [%out], w2;\n\
                call (v2), %rd1, (w2), P; st.global.v2.u32 [%out+8], v2;\n\
                call (_), %rd1, (w2), P;";
    assert_eq!(run(swap, body, 4), [7, 5, 5, 7]);
}

#[test]
fn as_operands_of_their_size() {
    let body = "mov.b32 h2, 0x00020001; mov.b32 %r1, h2; st.global.b32 [%out], %r1;\n\
                mov.b64 v2, 0x0000000400000003; mov.b64 %rd1, v2; st.global.b64 [%out+8], %rd1;";
    assert_eq!(run("", body, 4), [0x0002_0001, 0, 3, 4]);
    let body = "mov.v4.u32 v4, {1, 2, 3, 4}; mov.b128 q, v4; mov.b128 l2, q; st.global.b64 [%out], l2.x;\n\
                st.global.b64 [%out+8], l2.y; mov.b64 h4, 0x0004000300020001; mov.b64 %rd1, h4;\n\
                st.global.b64 [%out+16], %rd1; cvt.u32.u16 %r1, h4.z; st.global.u32 [%out+24], %r1;";
    assert_eq!(run("", body, 7), [1, 2, 3, 4, 0x0002_0001, 0x0004_0003, 3]);
}

#[test]
fn moves_are_of_all_components_or_none() {
    let body = "mov.v2.u32 v2, {1, 2}; mov.v2.u32 w2, {3, 4}; setp.ne.u32 %p1, 1, 0;\n\
                @!%p1 mov.v2.u32 v2, w2; st.global.v2.u32 [%out], v2;\n\
                @%p1 mov.v2.u32 v2, w2; st.global.v2.u32 [%out+8], v2;\n\
                mov.v2.u32 v2, {v2.y, v2.x}; st.global.v2.u32 [%out+16], v2;\n\
                @%p1 ld.global.v2.u32 w2, [%out]; st.global.v2.u32 [%out+24], w2;";
    assert_eq!(run("", body, 8), [1, 2, 3, 4, 4, 3, 1, 2]);
    let body = "mov.v2.f32 f2, {0f3f800000, 0f40000000}; st.global.v2.f32 [%out], {0f40400000, 0f40800000};\n\
                red.global.add.v2.f32 [%out], f2;";
    assert_eq!(run("", body, 2), [4.0f32.to_bits(), 6.0f32.to_bits()]);
}
