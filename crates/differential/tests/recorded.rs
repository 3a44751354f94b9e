//! The virtual GPU against the recorded answers of hardware.

use std::path::Path;

use differential::{compare, program, record::Record};
use gpu_model::chips::H200;
use virtual_gpu::{Gpu, Options};

/// Runs every program, and compares each form's results with what an H200 gave.
#[test]
#[ignore = "recorded/h200.ptxdiff is not recorded yet: see README.md"]
fn virtual_gpu_agrees_with_the_recorded_h200() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("recorded/h200.ptxdiff");
    let expected = Record::from_bytes(&std::fs::read(path).unwrap()).unwrap();
    let programs = program::all();
    let mut gpu = Gpu::with_options(&H200, Options::default());
    let (got, refused) = differential::record(&mut gpu, &programs, expected.seed);
    // What an out-of-bounds NaN is, no manual says: these are refused at load until hardware has told.
    let refused: Vec<_> = refused.iter().filter(|r| !r.form.contains(".oob")).map(|r| &r.form).collect();
    assert!(refused.is_empty(), "{refused:?}");
    let report = compare::compare(programs.iter().flat_map(|p| &p.forms), &expected, &got);
    assert!(report.cases > 100_000, "{report}");
    assert!(report.forms.is_empty(), "{report}");
}
