//! Wrong kernels: each must not compile, with the message that stands beside it. `TRYBUILD=overwrite` writes the messages anew.

#[test]
fn wrong_kernels_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/wrong/*.rs");
}
