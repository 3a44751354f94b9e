//! How long the device build takes: `cargo bench -p cuda_builder`.
//!
//! Cold (nothing compiled yet, dependencies included), after an edit of a kernel, and again without an edit; for the
//! three modules that `host` loads, side by side as its build script makes them. The last is what a build script that
//! runs again costs; cargo does not run it at all when nothing changed.

use cuda_builder::{CudaBuilder, NvvmArch};
use std::path::Path;
use std::time::{Duration, Instant};

const ROUNDS: usize = 5;

fn build(crate_path: &Path, out: &Path) -> Duration {
    let start = Instant::now();
    std::thread::scope(|scope| {
        for arch in [NvvmArch::Compute75, NvvmArch::Compute80, NvvmArch::Compute90a] {
            let ptx = out.join(format!("{arch}.ptx"));
            scope.spawn(move || {
                CudaBuilder::new(crate_path).arch(arch).copy_to(ptx).build().expect("the kernels compile")
            });
        }
    });
    start.elapsed()
}

fn report(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let seconds = |time: Duration| time.as_secs_f64();
    let (first, middle, last) = (times[0], times[times.len() / 2], times[times.len() - 1]);
    eprintln!(
        "{what:<24} {:7.2} s   ({:.2} to {:.2}, {} runs)",
        seconds(middle),
        seconds(first),
        seconds(last),
        times.len()
    );
}

fn main() {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels-gpu");
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("release/build/host/out");
    // SAFETY: no other thread runs yet.
    unsafe { std::env::set_var("OUT_DIR", &out) };
    let cold = build(&kernels, folder.path());
    let source = kernels.join("src/first.rs");
    let edited = (0..ROUNDS)
        .map(|_| {
            let now = std::time::SystemTime::now();
            let file = std::fs::File::options().append(true).open(&source).expect("a kernel's source");
            file.set_modified(now).expect("its time can be set");
            build(&kernels, folder.path())
        })
        .collect();
    let unchanged = (0..ROUNDS).map(|_| build(&kernels, folder.path())).collect();
    eprintln!(
        "three modules of kernels-gpu on {} cores",
        std::thread::available_parallelism().map_or(0, usize::from)
    );
    report("cold", vec![cold]);
    report("after an edit", edited);
    report("without an edit", unchanged);
}
