//! `warpsmith doctor`: what is installed, what each missing part costs, and how to get it.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::answer::{Context, Outcome, Output};
use crate::programs;
use crate::source;
use crate::terminal;

/// Arguments of `doctor`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Doctor {
    #[command(flatten)]
    output: Output,
}

const EXAMPLES: &str = "\
Examples:
  warpsmith doctor
  warpsmith doctor --json      {\"healthy\", \"findings\": [{\"part\", \"present\", \"needed\", …}]}

Exit code: 0 if nothing that is needed is missing; optional parts may be. The program carries its kernels, so \
without the repository it needs no compiler.";

#[derive(Serialize)]
struct Findings {
    /// Whether everything needed is present.
    healthy: bool,
    findings: Vec<Finding>,
}

#[derive(Serialize)]
struct Finding {
    part: &'static str,
    present: bool,
    /// Whether something fails without it that this machine is set up for: with the repository, building; else nothing,
    /// since this program holds its kernels and a virtual GPU.
    needed: bool,
    /// Where it is and which version, or why it is not there.
    what: String,
    /// The cost of its absence.
    costs: &'static str,
    /// How to get it.
    remedy: &'static str,
}

impl Doctor {
    /// Runs the command.
    pub fn run(&self, _context: &Context) -> anyhow::Result<Outcome> {
        let builds = source::workspace().is_some();
        let findings = findings(builds);
        let healthy = findings.iter().all(|finding| finding.present || !finding.needed);
        self.output.print(&Findings { healthy, findings }, |findings| text(findings, builds))?;
        Ok(if healthy { Outcome::Well } else { Outcome::NotWell })
    }
}

/// The installed parts; `builds` says whether kernels are built here.
fn findings(builds: bool) -> Vec<Finding> {
    let mut findings = vec![compiler(builds)];
    if cfg!(unix) {
        findings.push(linker(builds));
    }
    findings.extend([
        llvm(builds),
        driver(),
        machine_code(),
        nccl(),
        program(
            "ptxas",
            "registers and spills of a kernel, and SASS, are unknown",
            "pip install nvidia-cuda-nvcc",
        ),
        program(
            "nvdisasm",
            "`inspect --sass` has nothing to show, and `--lines` only PTX",
            "pip install nvidia-cuda-nvdisasm",
        ),
        program(
            "nvcc",
            "`bench --against nvcc` runs without the C++ twins",
            "the CUDA toolkit, or pip install nvidia-cuda-nvcc",
        ),
    ]);
    findings
}

fn compiler(needed: bool) -> Finding {
    let version = programs::output(Path::new("rustc"), &["--version"]);
    Finding {
        part: "Rust compiler",
        present: version.is_some(),
        needed,
        what: version.map_or_else(|| "`rustc` does not run".into(), |version| version.trim().to_owned()),
        costs: "no kernel and no program can be built; what is built already still runs",
        remedy: "https://rustup.rs; rust-toolchain.toml picks the version",
    }
}

/// The linker of the host's programs: `cc`, unless cargo is told of another one.
fn linker(needed: bool) -> Finding {
    let found = programs::find("cc");
    Finding {
        part: "C linker",
        present: found.is_some(),
        needed,
        what: found
            .map_or_else(|| "there is no `cc` on the search path".into(), |path| path.display().to_string()),
        costs: "no host program can be linked; what is built already still runs",
        remedy: "apt install gcc, or your system's package of it",
    }
}

/// The LLVM inside the toolchain, which the device build opens.
fn llvm(needed: bool) -> Finding {
    let library = programs::output(Path::new("rustc"), &["--print", "sysroot"]).and_then(|sysroot| {
        let folder = PathBuf::from(sysroot.trim()).join("lib");
        let mut names = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.file_name());
        names.find(|name| name.to_str().is_some_and(|name| name.starts_with("libLLVM")))
    });
    Finding {
        part: "LLVM of the toolchain",
        present: library.is_some(),
        needed,
        what: library.map_or_else(
            || "the toolchain's lib folder has no libLLVM".into(),
            |name| name.to_string_lossy().into_owned(),
        ),
        costs: "kernels cannot be compiled; what is built already still runs",
        remedy: "use a toolchain from rustup: distributions often link LLVM in statically",
    }
}

fn driver() -> Finding {
    let gpu = warpsmith_cuda::RealDriver::get().map_err(|error| error.to_string()).and_then(|driver| {
        let path = driver.path().display().to_string();
        match driver.devices() {
            Ok(0) => Err(format!("the driver ({path}) counts no device")),
            Ok(count) => {
                Ok(format!("{} through {path}", report::text::counted(count as u64, "device", "devices")))
            }
            Err((call, code)) => Err(format!("the driver ({path}) answers {call} with {code}")),
        }
    });
    Finding {
        part: "NVIDIA GPU and driver",
        present: gpu.is_ok(),
        needed: false,
        what: gpu.unwrap_or_else(|reason| reason),
        costs: "kernels run on the virtual GPU: right results and counters, no times",
        remedy: "a GPU of compute capability 7.5 or later and NVIDIA's driver",
    }
}

/// The compiler behind the virtual GPU's speed.
fn machine_code() -> Finding {
    use warpsmith_cuda::Execution;
    let execution = Execution::of_environment();
    Finding {
        part: "machine code for the virtual GPU",
        present: matches!(execution, Ok(Execution::Compiled { .. })),
        needed: false,
        what: match execution {
            Ok(execution) => format!("its programs are {execution}"),
            Err(error) => error.to_string(),
        },
        costs: "kernels on the virtual GPU are interpreted: the same results and counters, several times slower",
        remedy: "an x86-64 processor with AVX2, and the Rust toolchain that rust-toolchain.toml names, from rustup",
    }
}

/// The library by which ranks on real GPUs exchange data.
fn nccl() -> Finding {
    let nccl = warpsmith_collectives::Nccl::get();
    Finding {
        part: "NCCL",
        present: nccl.is_ok(),
        needed: false,
        what: match nccl {
            Ok(nccl) => format!("{}, {}", nccl.version(), nccl.path().display()),
            Err(missing) => missing.to_string(),
        },
        costs: "programs over several real GPUs do not start; virtual ones need no NCCL",
        remedy: "pip install nvidia-nccl-cu13; WARPSMITH_LIBNCCL names its libnccl.so.2 where it lies elsewhere",
    }
}

fn program(part: &'static str, costs: &'static str, remedy: &'static str) -> Finding {
    let found = programs::find(part);
    Finding {
        part,
        present: found.is_some(),
        needed: false,
        what: found.map_or_else(
            || "not on the search path, in a CUDA toolkit, or in a Python environment".into(),
            |path| path.display().to_string(),
        ),
        costs,
        remedy,
    }
}

fn text(findings: &Findings, builds: bool) -> String {
    let mut out = String::new();
    for finding in &findings.findings {
        let mark = match (finding.present, finding.needed) {
            (true, _) => "✓",
            (false, true) => "✗",
            (false, false) => "–",
        };
        let part = format!("{mark} {}: ", terminal::heading(finding.part));
        out.push_str(&terminal::wrapped(&part, &finding.what));
        if !finding.present {
            out.push_str(&terminal::wrapped("    without it: ", finding.costs));
            out.push_str(&terminal::wrapped("    to get it: ", finding.remedy));
        }
    }
    let sentence = match (findings.healthy, builds) {
        (false, _) => "Something that is needed is missing (✗).",
        (true, true) => "All that is needed is here.",
        (true, false) => {
            "All that this program needs is here: it carries its kernels and the virtual GPU. To change kernels, build it from \
             its repository."
        }
    };
    out.push('\n');
    out + &terminal::wrapped("", sentence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_was_carried_elsewhere_needs_nothing() {
        assert!(findings(true).iter().any(|finding| finding.needed));
        let alone = findings(false);
        assert!(alone.iter().all(|finding| !finding.needed));
        let text = text(&Findings { healthy: true, findings: alone }, false);
        assert!(!text.contains('✗') && text.contains("All that this program needs is here"), "{text}");
    }
}
