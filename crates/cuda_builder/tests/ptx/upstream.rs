//! Kernel projects written for upstream compile unchanged but for where `cuda_std` comes from.

use crate::compile::{build, count, function, parameters};
use cuda_builder::NvvmArch::Compute75;

pub fn generation_a_compiles_unchanged() {
    let ptx = build("upstream", "../upstream/a", Compute75, |b| b).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(count(&ptx, "gemm_tiled", "bar.sync"), 2);
    assert_eq!(count(&ptx, "gemm_tiled", "ld.b"), 0, "shared tiles are read as shared memory");
    assert!(count(&ptx, "gemm_tiled", "ld.shared") > 0);
    assert_eq!(parameters(&ptx, "norms")[0], ".align 8 .b8[16]", "a struct goes by value");
    assert_eq!(count(&ptx, "reversed", "bar.sync"), 1);
    assert!(ptx.contains("vprintf"), "println! prints");
    assert_eq!(parameters(&ptx, "reflect")[2], ".align 4 .b8[12]");
    assert!(count(&ptx, "reflect", "sqrt.rn.f32") > 0, "vek's square root is the instruction");
    assert!(
        function(&ptx, "names").iter().any(|line| line.contains("prototype_")),
        "a call through a vtable"
    );
    assert_eq!(parameters(&ptx, "nearest").len(), 5, "a tuple and a borrowed list are one parameter each");
    assert_eq!((count(&ptx, "mirrored", "ld.shared"), count(&ptx, "mirrored", "bar.sync")), (1, 1));
    function(&ptx, "saxpy");
    assert!(
        count(&ptx, "tables", "ld.const") > 0,
        "a borrowed text lies in constant memory, its bytes do not"
    );
    assert!(ptx.contains("malloc"), "a text is put together on the device's heap");
}

pub fn generation_b_compiles_unchanged() {
    let ptx = build("upstream", "../upstream/b", Compute75, |b| b).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        count(&ptx, "histogram", "atom.relaxed.sys.shared.add.u32"),
        1,
        "{:#?}",
        function(&ptx, "histogram")
    );
    assert_eq!(count(&ptx, "sums", "shfl.sync.down"), 5);
    assert!(function(&ptx, "only_here").iter().any(|line| line.ends_with(", 75;")), "the gate holds");
    // What their paths for x86 need is not asked for.
    function(&ptx, "sha256_oneshot");
    function(&ptx, "blake3_oneshot");
    function(&ptx, "turned");
    let roots =
        ["sqrt.rn.f32", "sqrt.rn.f64", "fma.rn.f64"].map(|instruction| count(&ptx, "root", instruction));
    assert_eq!(roots, [1, 1, 1], "libm's are the instructions, although it has some of the host's own");
    function(&ptx, "wide");
    assert!(function(&ptx, "twice")[0].starts_with(".visible .func"));
    // Kernels of libraries that know `cuda_std` under another name, or through another crate.
    assert!(function(&ptx, "doubled").iter().any(|line| line.starts_with(".maxntid 64")));
    let picked = parameters(&ptx, "picked");
    assert_eq!(picked, [".u64 .ptr .align 1", ".u64", ".f64", ".align 4 .b8[8]", ".u64 .ptr .align 1"]);
}
