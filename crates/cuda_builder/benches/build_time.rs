//! How long the device build takes: `cargo bench -p cuda_builder`.
//!
//! Cold (nothing compiled yet, dependencies included), after edits of kernels, and again without an edit; for the three
//! modules that `host` loads, side by side as its build script makes them. The last is what a build script that runs
//! again costs; cargo does not run it at all when nothing changed.
//!
//! Edits are made in a copy of the sources. Each puts another statement into a kernel's body, so that the lines after it
//! move as well.

use cuda_builder::{CudaBuilder, NvvmArch};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const ROUNDS: usize = 5;

/// What is edited: a file, and the text before which a statement is put.
const EDITS: [(&str, &str, &str); 2] = [
    ("after an edit of a small kernel", "base/first.rs", "let i = thread::index_1d() as usize;"),
    (
        "after an edit of the fast products",
        "product/mod.rs",
        "unsafe { $tile::product::<A, B, $stages, $aligned",
    ),
];

fn build(crate_path: &Path, out: &Path) -> Duration {
    let start = Instant::now();
    std::thread::scope(|scope| {
        let levels = [
            (NvvmArch::Compute75, "base"),
            (NvvmArch::Compute80, "ampere"),
            (NvvmArch::Compute90a, "hopper"),
        ];
        for (arch, level) in levels {
            let ptx = out.join(format!("{arch}.ptx"));
            scope.spawn(move || {
                let builder = CudaBuilder::new(crate_path).arch(arch).copy_to(ptx);
                let only = ["--no-default-features", "--features", level];
                builder.build_args(&only).build().expect("the kernels compile")
            });
        }
    });
    start.elapsed()
}

/// Wall time, and the processor time of this process and its children beside it: on a machine that others use, the
/// second says more.
struct Measured {
    wall: Duration,
    processor: Duration,
}

fn measure(crate_path: &Path, out: &Path) -> Measured {
    let before = processor_time();
    let wall = build(crate_path, out);
    Measured { wall, processor: processor_time().saturating_sub(before) }
}

#[cfg(unix)]
fn processor_time() -> Duration {
    let of = |who| {
        // SAFETY: `rusage` is plain numbers, and the pointer is to one.
        let usage = unsafe {
            let mut usage = std::mem::zeroed::<libc::rusage>();
            libc::getrusage(who, &raw mut usage);
            usage
        };
        [usage.ru_utime, usage.ru_stime]
            .map(|t| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000))
            .into_iter()
            .sum::<Duration>()
    };
    of(libc::RUSAGE_SELF) + of(libc::RUSAGE_CHILDREN)
}

#[cfg(not(unix))]
fn processor_time() -> Duration {
    Duration::ZERO
}

fn report(what: &str, mut times: Vec<Measured>) {
    times.sort_by_key(|time| time.wall);
    let seconds = |time: Duration| time.as_secs_f64();
    let (first, middle, last) = (&times[0], &times[times.len() / 2], &times[times.len() - 1]);
    eprintln!(
        "{what:<34} {:6.2} s   ({:.2} to {:.2}, {} runs; {:.2} s of the processors)",
        seconds(middle.wall),
        seconds(first.wall),
        seconds(last.wall),
        times.len(),
        seconds(middle.processor)
    );
}

/// Copies a folder of sources.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("the sources").flatten() {
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            if entry.file_name() != "target" {
                copy(&path, &to);
            }
        } else {
            fs::copy(&path, &to).expect("a copy");
        }
    }
}

/// A copy of what the kernels are made from, as a workspace of its own.
fn workspace(folder: &Path) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for part in ["kernels-gpu", "crates"] {
        copy(&root.join(part), &folder.join(part));
    }
    let manifest = fs::read_to_string(root.join("Cargo.toml")).expect("the workspace's manifest");
    let is_list = |line: &&str| line.starts_with("members") || line.starts_with("default-members");
    let others: Vec<&str> = manifest.lines().filter(|line| !is_list(line)).collect();
    let members = r#"members = ["kernels-gpu", "crates/*"]"#;
    let manifest = others.join("\n").replacen("[workspace]", &format!("[workspace]\n{members}"), 1);
    fs::write(folder.join("Cargo.toml"), manifest).expect("a manifest");
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).expect("the lock file");
    folder.join("kernels-gpu")
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let kernels = workspace(&folder.path().join("workspace"));
    let out = folder.path().join("target/release/build/host/out");
    // SAFETY: no other thread runs yet.
    unsafe { std::env::set_var("OUT_DIR", &out) };
    let cold = measure(&kernels, folder.path());
    let mut edited = Vec::new();
    for (what, file, place) in EDITS {
        let source = kernels.join("src").join(file);
        let text = fs::read_to_string(&source).expect("a kernel's source");
        assert!(text.contains(place), "{file} has no `{place}` any more: choose another place to edit");
        let times = (0..ROUNDS).map(|round| {
            let statement = format!("if cuda_std::misc::clock() == {round} {{\n    return;\n}}\n{place}");
            fs::write(&source, text.replacen(place, &statement, 1)).expect("the edit is written");
            measure(&kernels, folder.path())
        });
        edited.push((what, times.collect()));
        fs::write(&source, text).expect("the edit is taken back");
        build(&kernels, folder.path());
    }
    let unchanged = (0..ROUNDS).map(|_| measure(&kernels, folder.path())).collect();
    eprintln!(
        "three modules of kernels-gpu on {} cores",
        std::thread::available_parallelism().map_or(0, usize::from)
    );
    report("cold", vec![cold]);
    for (what, times) in edited {
        report(what, times);
    }
    report("without an edit", unchanged);
}
