//! The list of entry points against the functions that CUDA's own header declares.

use std::collections::BTreeSet;

use warpsmith_cuda::entry;

/// Functions that a header declares, `extern` being left out: `CUresult CUDAAPI cuInit(...)`.
fn declared(header: &str) -> BTreeSet<&str> {
    let names = header.split("CUDAAPI").skip(1).filter_map(|after| {
        let name = after.trim_start();
        let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
        name[end..].trim_start().starts_with('(').then_some(&name[..end])
    });
    names.filter(|name| name.starts_with("cu")).collect()
}

#[test]
fn declarations_are_found() {
    let header = "CUresult CUDAAPI cuInit(unsigned int Flags);\ntypedef void (CUDAAPI *CUhostFn)(void*);\n\
                  CUresult CUDAAPI\n    cuMemAlloc_v2 (int);";
    assert_eq!(declared(header), BTreeSet::from(["cuInit", "cuMemAlloc_v2"]));
}

#[test]
#[ignore = "needs CUDA's header: CUDA_HEADER=.../include/cuda.h"]
fn every_function_of_the_header_is_exported() {
    let path = std::env::var_os("CUDA_HEADER").expect("CUDA_HEADER names cuda.h");
    let header = std::fs::read_to_string(path).unwrap();
    let declared = declared(&header);
    assert!(declared.len() > 400, "{}", declared.len());
    let exported: BTreeSet<&str> = entry::all().map(|entry| entry.name).collect();
    let missing: Vec<_> = declared.difference(&exported).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
