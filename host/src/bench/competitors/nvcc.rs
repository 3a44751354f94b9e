//! The nvcc-compiled C++ twins of our kernels, when nvcc is there.

use std::path::{Path, PathBuf};
use std::process::Command;

use cust::module::Module;
use warpsmith_launch::ErrorContext;

use super::super::competitor::{Candidate, Competitor, Kind, Task};
use super::super::measure::Bench;
use super::super::pairs::Enqueue;
use crate::error::Error;

pub const CANDIDATE: Candidate = Candidate {
    word: Some(("nvcc", "The same algorithm in CUDA C++, compiled by nvcc -O3")),
    does: Kind::Kernel,
    open,
};

/// The twins' sources: the same kernels, names and parameters as ours, one file a family.
const TWINS: &[(&str, &str)] = &[
    ("matmul", include_str!("../../../../benches/twins/matmul.cu")),
    ("transpose", include_str!("../../../../benches/twins/transpose.cu")),
    ("coalescing", include_str!("../../../../benches/twins/coalescing.cu")),
];

/// The twins that nvcc compiled, by family.
struct Twins(Vec<(&'static str, Module)>);

fn open(bench: &Bench<'_>) -> Result<Option<Box<dyn Competitor>>, Error> {
    let (major, minor) = bench.device.limits().capability;
    let mut twins = Vec::new();
    for (family, source) in TWINS {
        match compile(family, source, &format!("sm_{major}{minor}")) {
            Ok(cubin) => {
                let module = Module::from_cubin(cubin, &[]).context(format!("load the twins of {family}"))?;
                twins.push((*family, module));
            }
            Err(error) => {
                bench.leave_out(error.to_string());
                if matches!(error, NvccError::Missing) {
                    break;
                }
            }
        }
    }
    Ok((!twins.is_empty()).then(|| Box::new(Twins(twins)) as Box<dyn Competitor>))
}

impl Competitor for Twins {
    fn name(&self) -> &'static str {
        "nvcc"
    }

    fn does(&self) -> Kind {
        Kind::Kernel
    }

    fn launches<'a>(&'a self, bench: &'a Bench<'_>, task: &Task<'a>) -> Result<Option<Enqueue<'a>>, Error> {
        let &Task::Kernel { family, call } = task else { return Ok(None) };
        let Some((_, module)) = self.0.iter().find(|(name, _)| *name == family) else { return Ok(None) };
        // A twin has the same parameters as our own kernel.
        let function =
            module.get_function(call.kernel).context(format!("find the twin of `{}`", call.kernel))?;
        bench.launches_of(function, call).map(Some)
    }
}

/// Why there are no twins to compare with.
#[derive(Debug, thiserror::Error)]
enum NvccError {
    /// nvcc was not found.
    #[error(
        "nvcc not found (looked at WARPSMITH_NVCC, PATH, CUDA_HOME and /usr/local/cuda): \
         the C++ twins are left out; install the CUDA toolkit to compare with them"
    )]
    Missing,
    /// nvcc could not be run, or its output not be read.
    #[error("{path} could not be run: {source}")]
    Run {
        /// The compiler.
        path: PathBuf,
        /// The system's message.
        source: std::io::Error,
    },
    /// nvcc refused a twin.
    #[error("nvcc refused the twin `{family}`:\n{message}")]
    Refused {
        /// The family of kernels.
        family: &'static str,
        /// nvcc's own words.
        message: String,
    },
}

/// Finds nvcc: `WARPSMITH_NVCC`, the path, `CUDA_HOME`, the usual place.
pub(super) fn find() -> Option<PathBuf> {
    let named = std::env::var_os("WARPSMITH_NVCC").map(PathBuf::from);
    let on_path = std::env::var_os("PATH")
        .into_iter()
        .flat_map(|path| std::env::split_paths(&path).map(|dir| dir.join("nvcc")).collect::<Vec<_>>());
    let home = std::env::var_os("CUDA_HOME").map(|home| Path::new(&home).join("bin/nvcc"));
    named
        .into_iter()
        .chain(on_path)
        .chain(home)
        .chain([PathBuf::from("/usr/local/cuda/bin/nvcc")])
        .find(|p| p.is_file())
}

/// Compiles one family with `-O3` for `arch` (such as `sm_90`) and returns the cubin.
fn compile(family: &'static str, source: &str, arch: &str) -> Result<Vec<u8>, NvccError> {
    let nvcc = find().ok_or(NvccError::Missing)?;
    let run = |error| NvccError::Run { path: nvcc.clone(), source: error };
    let dir = std::env::temp_dir().join(format!("warpsmith-twins-{}", std::process::id()));
    std::fs::create_dir_all(&dir).map_err(run)?;
    let (input, output) = (dir.join(format!("{family}.cu")), dir.join(format!("{family}.cubin")));
    let result = (|| {
        std::fs::write(&input, source).map_err(run)?;
        let made = Command::new(&nvcc)
            .args(["-O3", "-cubin", "-arch", arch, "-o"])
            .arg(&output)
            .arg(&input)
            .output()
            .map_err(run)?;
        if !made.status.success() {
            return Err(NvccError::Refused {
                family,
                message: String::from_utf8_lossy(&made.stderr).into_owned(),
            });
        }
        std::fs::read(&output).map_err(run)
    })();
    // A folder left in the temporary directory is no reason to fail a measurement.
    let _ = std::fs::remove_dir_all(&dir);
    result
}
