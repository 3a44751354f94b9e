//! Every message: line, column, what was found, what was expected, and the line with a caret.

/// Puts a header before `text` and, if it is a body, a kernel around it.
fn message(text: &str, in_body: bool) -> String {
    let header = ".version 8.6\n.target sm_90\n";
    let whole = match in_body {
        true => format!("{header}.entry k()\n{{\n{text}\n}}\n"),
        false => format!("{header}{text}\n"),
    };
    ptx::parse(&whole).expect_err(text).to_string()
}

#[test]
fn messages() {
    let bodies = [
        "add.s32 %r1, ;",
        "add.s32 %r1, %r2 %r3;",
        "ret",
        ".reg .q32 %r;",
        ".reg .b32 %r<x>;",
        ".reg .b32 %r<-1>;",
        "ld.u32 %r1, [%rd1+%rd2];",
        "ld.u32 %r1, [%rd1;",
        "ld.u32 %r1, [%rd1,];",
        "mov.u32 %r1, 0x;",
        "mov.u32 %r1, 0xG;",
        "mov.u32 %r1, 089;",
        "mov.u32 %r1, 99999999999999999999;",
        "mov.f32 %f1, 0f3F8;",
        "mov.f64 %f1, 0d3FF00000000000000;",
        "mov.f64 %f1, 1.5e;",
        "mov.u32 %r1, 1 / 0;",
        "mov.u32 %r1, 1 % (2 - 2);",
        "mov.u32 %r1, 1 + 1.5;",
        "mov.f32 %f1, 1.0 + 0f3F800000;",
        "mov.u32 %r1, ~1.5;",
        "mov.u32 %r1, (.u32)5;",
        "@ add.s32 %r1, %r2, %r3;",
        ".shared .align 3 .b8 x[4];",
        ".shared .b8 x[-4];",
        ".shared .b8 x[1.5];",
        ".frobnicate;",
        "table: .branchtargets ;",
        "p: .callprototype (.param .b32 _);",
        ".loc 1 2;",
        ".loc 1 2 3, function_name $x, 1 2 3",
        "mov.u32 %r1, `;",
        "mov.u32 %r1, é;",
        "/* é */ é",
        "/* open",
        ".pragma \"open;",
        "5;",
    ];
    let modules = [
        "ret;",
        ".entry ();",
        ".entry k(.global .u32 x) {}",
        ".entry k() .maxntid 0 {}",
        ".entry k() .maxntid 1, 2, 3, 4 {}",
        ".entry k() .maxntid 4294967296 {}",
        ".entry k() {",
        ".entry k() ret;",
        ".visible .reg .b32 x;",
        ".global .u32 x = ;",
        ".global .u8 x = 0xFFF(y);",
        ".address_size 16",
        ".section .debug_str { .b8 $label }",
        ".section .debug_str { .f32 1 }",
        ".alias a b;",
        ".version 8.6",
    ];
    let mut shown = String::new();
    for (text, in_body) in
        bodies.map(|text| (text, true)).into_iter().chain(modules.map(|text| (text, false)))
    {
        shown += &format!("{}\n\n", message(text, in_body));
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn the_header_is_demanded() {
    for (text, missing) in
        [("", ".version"), (".target sm_90", ".version"), (".version 8.6\n.entry k() {}", ".target")]
    {
        let message = ptx::parse(text).unwrap_err().to_string();
        assert!(message.contains(&format!("`{missing}` is missing")), "{message}");
    }
    assert!(ptx::parse(".version eight .target sm_90").is_err());
    assert!(ptx::parse(".version 10.25 .target sm_90").is_ok());
}

#[test]
fn long_lines_are_shortened() {
    let text = format!(".version 8.6 .target sm_90 .entry k() {{ {} ; }}", "a".repeat(1 << 20) + " ]");
    assert!(ptx::parse(&text).unwrap_err().to_string().len() < 1000);
}
