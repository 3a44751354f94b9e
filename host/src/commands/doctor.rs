//! `warpsmith doctor`: what is installed, what each missing part costs, and how to get it.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::cli::{Context, Outcome, Output};
use crate::programs;
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

Exit code: 0 if all that is needed is there; what is optional may be missing.";

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
    /// Whether kernels cannot be built or run without it.
    needed: bool,
    /// Where it is and which version, or why it is not there.
    what: String,
    /// What its absence costs.
    costs: &'static str,
    /// How to get it.
    remedy: &'static str,
}

impl Doctor {
    /// Runs the command.
    pub fn run(&self, _context: &Context) -> anyhow::Result<Outcome> {
        let findings = vec![
            compiler(),
            llvm(),
            driver(),
            program(
                "ptxas",
                "registers and spills of a kernel, and SASS, are unknown",
                "pip install nvidia-cuda-nvcc",
            ),
            program(
                "cuobjdump",
                "`inspect --sass` has nothing to show",
                "pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm",
            ),
            program(
                "nvcc",
                "`bench --against nvcc` runs without the C++ twins",
                "the CUDA toolkit, or pip install nvidia-cuda-nvcc",
            ),
        ];
        let healthy = findings.iter().all(|finding| finding.present || !finding.needed);
        self.output.print(&Findings { healthy, findings }, text)?;
        Ok(if healthy { Outcome::Well } else { Outcome::NotWell })
    }
}

fn compiler() -> Finding {
    let version = programs::output(Path::new("rustc"), &["--version"]);
    Finding {
        part: "Rust compiler",
        present: version.is_some(),
        needed: true,
        what: version.map_or_else(|| "`rustc` does not run".into(), |version| version.trim().to_owned()),
        costs: "nothing can be built",
        remedy: "https://rustup.rs; rust-toolchain.toml picks the version",
    }
}

/// The LLVM inside the toolchain, which the device build opens.
fn llvm() -> Finding {
    let library = programs::output(Path::new("rustc"), &["--print", "sysroot"]).and_then(|sysroot| {
        let folder = PathBuf::from(sysroot.trim()).join("lib");
        let mut names = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.file_name());
        names.find(|name| name.to_str().is_some_and(|name| name.starts_with("libLLVM")))
    });
    Finding {
        part: "LLVM of the toolchain",
        present: library.is_some(),
        needed: true,
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

fn text(findings: &Findings) -> String {
    let mut out = String::new();
    for finding in &findings.findings {
        let mark = match (finding.present, finding.needed) {
            (true, _) => "✓",
            (false, true) => "✗",
            (false, false) => "–",
        };
        out.push_str(&format!("{mark} {}: {}\n", terminal::heading(finding.part), finding.what));
        if !finding.present {
            out.push_str(&format!("    without it: {}\n    to get it: {}\n", finding.costs, finding.remedy));
        }
    }
    out.push_str(match findings.healthy {
        true => "\nAll that is needed is here.\n",
        false => "\nSomething that is needed is missing (✗).\n",
    });
    out
}
