//! What counts as PTX, according to ptxas: each line of these files is marked as accepted or refused. The virtual GPU
//! must agree with the mark, and so must ptxas, if it is there (`WARPSMITH_PTXAS`, or on the path). Without it those
//! tests are reported as ignored, by name and reason; `WARPSMITH_REQUIRE=ptxas` makes them fail instead. The marks are
//! those of CUDA 13.5.

mod edges;
mod ptxas;
mod requirements;

use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> std::process::ExitCode {
    let mut trials = Vec::new();
    for (name, text) in [
        ("vectors", include_str!("vectors.txt")),
        ("calls", include_str!("calls.txt")),
        ("declarations", include_str!("declarations.txt")),
        ("desktop", include_str!("desktop.txt")),
        ("sums", include_str!("sums.txt")),
        ("elements", include_str!("elements.txt")),
        ("hints", include_str!("hints.txt")),
        ("order", include_str!("order.txt")),
        ("operands", include_str!("operands.txt")),
        ("spaces", include_str!("spaces.txt")),
        ("surfaces", include_str!("surfaces.txt")),
        ("widths", include_str!("widths.txt")),
    ] {
        trials.push(Trial::test(format!("{name}_as_marked"), move || edges::virtual_gpu(text)));
        trials.push(judged(format!("{name}_as_ptxas_takes_them"), move || edges::ptxas(text)));
    }
    trials.push(Trial::test("every_row_of_requirements_is_asked_about", requirements::every_row));
    trials.push(judged("what_targets_and_versions_have".into(), requirements::both));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// A test that needs ptxas.
fn judged(name: String, run: impl FnOnce() -> Result<(), Failed> + Send + 'static) -> Trial {
    let required =
        std::env::var("WARPSMITH_REQUIRE").is_ok_and(|list| list.split(',').any(|name| name == "ptxas"));
    match ptxas::find() {
        Some(_) => Trial::test(name, run),
        None if required => {
            Trial::test(name, || Err(format!("WARPSMITH_REQUIRE asks for ptxas: {}", ptxas::NONE).into()))
        }
        None => Trial::test(format!("{name}: {}", ptxas::NONE), || Ok(())).with_ignored_flag(true),
    }
}
