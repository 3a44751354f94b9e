//! Which setting of a program asks for PTX: told by the libraries that its process has loaded.

/// A part of a library's path, and what to set in the program that it is of. The first that is loaded counts.
const CLIENTS: [(&str, &str); 6] = [
    (
        "/numba",
        "Numba: `@cuda.jit(lineinfo=True)`, whose machine code carries its PTX, or `pip uninstall nvidia-nvjitlink`, after which \
         it links PTX with the driver",
    ),
    (
        "/cuda/core/",
        "cuda.core: `Program(…).compile(\"ptx\")`, or `ProgramOptions(lineinfo=True)` and `LinkerOptions(lineinfo=True)`, \
         whose machine code carries its PTX",
    ),
    ("/cupy", "CuPy: set CUPY_COMPILE_WITH_PTX=1"),
    (
        "/pycuda",
        "PyCUDA: `compile(…, target=\"ptx\")` and `module_from_buffer`, or `options=[\"-lineinfo\"]`",
    ),
    (
        "libnvJitLink",
        "nvJitLink: add `-lineinfo`, so that the machine code carries its PTX; of LTO code it makes PTX with `-lto -ptx` and \
         nvJitLinkGetLinkedPtx",
    ),
    (
        "libnvrtc",
        "NVRTC: `--gpu-architecture=compute_XX` and nvrtcGetPTX instead of nvrtcGetCUBIN, or `-lineinfo`, whose machine code \
         carries its PTX",
    ),
];

const COMPILER: &str = "Compile with `-gencode arch=compute_XX,code=compute_XX`, or with `-lineinfo`, whose machine code carries its PTX";

/// The client's setting that asks for PTX instead of machine code.
pub fn setting() -> &'static str {
    // Lists every file that the process has loaded. Elsewhere than on Linux there is none.
    chosen(&std::fs::read_to_string("/proc/self/maps").unwrap_or_default())
}

fn chosen(loaded: &str) -> &'static str {
    let known = CLIENTS.iter().find(|(part, _)| loaded.lines().any(|line| line.contains(part)));
    known.map_or(COMPILER, |(_, setting)| setting)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_is_that_of_the_program() {
        let line = |file: &str| format!("7f00-7f01 r-xp 00000000 08:01 5 {file}\n");
        let nvjitlink = line("/p/site-packages/nvidia/cu13/lib/libnvJitLink.so.13");
        let core = line("/p/site-packages/cuda/core/cu13/_linker.so");
        let numba = line("/p/site-packages/numba_cuda/numba/cuda/cext/mviewbuf.so");
        assert!(chosen(&[nvjitlink.clone(), core.clone(), numba].concat()).contains("Numba"));
        assert!(chosen(&[nvjitlink.clone(), core].concat()).contains("cuda.core"));
        assert!(chosen(&nvjitlink).contains("-lto -ptx"));
        assert!(chosen(&line("/usr/lib/libnvrtc.so.13")).contains("nvrtcGetPTX"));
        assert!(chosen(&line("/usr/lib/libc.so.6")).contains("-gencode"));
    }
}
