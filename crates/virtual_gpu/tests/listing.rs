//! A program as text.

use gpu_model::chips::H200;
use virtual_gpu::Gpu;

/// Each line of the program, and how it is printed: rows are numbered in order of first mention, what is read before
/// what is written, including constants, and two for 64 bits.
const LINES: &[(&str, &str)] = &[
    ("ld.param.u64 %p, [out];", "ld.param.u64 %rd0, [param+0]"),
    ("mov.u32 %a, %tid.x;", "mov.u32 %r3, Tid(0)"),
    ("add.u32 %b, %a, 7;", "add.u32 %r5, %r3, 7"),
    ("setp.lt.u32 %q, %b, 70000;", "setp.lt.u32 %p7, %r5, 0x11170"),
    ("@!%q bra END;", "@!%p7 bra @8"),
    ("mad.wide.u32 %p, %a, 4, %p;", "mad.wide.u32 %rd0, %r3, 4, %rd0"),
    ("st.global.v2.u32 [%p+8], {%a, %b};", "st.global.v2.u32 [%rd0+8], {%r3, %r5}"),
    ("atom.global.add.u32 %a, [%p], %b;", "atom.global.add.u32 %r3, [%rd0], %r5"),
    ("END: ret;", "ret"),
];

#[test]
fn operations_read_like_the_text() {
    let body: Vec<_> = LINES.iter().map(|(line, _)| *line).collect();
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out)\n{{\n\
         .reg .b64 %p;\n.reg .b32 %a, %b;\n.reg .pred %q;\n{}\n}}\n",
        body.join("\n")
    );
    let module = Gpu::new(&H200).load(&text).unwrap_or_else(|error| panic!("{error}"));
    let code = module.code();
    assert_eq!(code.len(), LINES.len());
    for (pc, (line, shown)) in (0..).zip(LINES) {
        assert_eq!(code.show(pc).to_string(), *shown, "{line}");
    }
}
