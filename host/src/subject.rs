//! A command's subject: kernels of this repository, a profile or PTX that is there already, or a program that is run
//! for it. The one place that tells them apart.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use gpu_model::profile::LaunchProfile;
use serde::{Deserialize, Serialize};
use warpsmith_launch::Description;

use crate::answer::Outcome;
use crate::merging::{self, Merge, merges};
use crate::profiling;
use crate::program::Program;
use crate::registry;
use crate::size::Size;

/// A command's subject on the command line.
#[derive(clap::Args, Debug, Clone, Default)]
pub struct Subject {
    /// A kernel or family of `warpsmith list`; a profile, FILE.json; PTX, FILE.ptx; each file with :KERNEL for one of its
    /// kernels. Before `-- PROGRAM`: kernels of the program, all of them when left out
    #[arg(value_name = "KERNEL|FILE")]
    pub names: Vec<String>,

    /// A program and its arguments, run on the virtual GPU, such as `-- cargo run`
    #[arg(last = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

/// One subject of a command.
#[derive(Debug)]
pub enum Named {
    /// A kernel of this repository.
    Kernel { family: &'static str, kernel: &'static Description },
    /// A profile that was written, and the one kernel of it that is meant, if not all are.
    Profile { file: PathBuf, kernel: Option<String> },
    /// PTX, and likewise.
    Ptx { file: PathBuf, kernel: Option<String> },
}

/// Tells a file's form by its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Profile,
    Ptx,
}

impl Named {
    /// Tells what a name means; a family means each of its kernels.
    fn of(name: &str) -> anyhow::Result<Vec<Self>> {
        if let Some((form, file, kernel)) = file(name) {
            let named = match form {
                Form::Profile => Self::Profile { file, kernel },
                Form::Ptx => Self::Ptx { file, kernel },
            };
            return Ok(vec![named]);
        }
        let kernel = |(family, kernel)| Self::Kernel { family, kernel };
        let of_family: Vec<Self> =
            registry::kernels().filter(|(family, _)| *family == name).map(kernel).collect();
        // A family and a kernel may share a name, as those that `new` writes do: the kernel is meant.
        match registry::find(name) {
            Ok(found) => Ok(vec![kernel(found)]),
            Err(_) if !of_family.is_empty() => Ok(of_family),
            Err(unknown) => Err(unknown),
        }
    }

    /// The launches: those of a profile, or of a demo, which runs for them.
    pub fn recording(&self, size: Option<Size>) -> anyhow::Result<Recording> {
        match self {
            Self::Profile { file, kernel } => {
                let file_name = file.display();
                anyhow::ensure!(size.is_none(), "--size says how to run a demo; {file_name} was recorded");
                let mut recording = Recording::read(file)?;
                recording.keep(kernel.as_deref().as_slice())?;
                Ok(recording)
            }
            Self::Ptx { file, .. } => anyhow::bail!(
                "{} is PTX, which launches nothing: name a program that does, after `--`",
                file.display()
            ),
            Self::Kernel { kernel, .. } => of_demo(kernel, size),
        }
    }
}

/// A file's form, its path, and the kernel that stands behind a colon, if the name is a file's.
fn file(name: &str) -> Option<(Form, PathBuf, Option<String>)> {
    let form = |path: &str| match Path::new(path).extension()?.to_str()? {
        "json" => Some(Form::Profile),
        "ptx" => Some(Form::Ptx),
        _ => None,
    };
    if let Some(form) = form(name) {
        return Some((form, PathBuf::from(name), None));
    }
    let (path, kernel) = name.rsplit_once(':')?;
    Some((form(path)?, PathBuf::from(path), Some(kernel.to_owned())))
}

/// One launch, and the process that made it, counted from 1.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Launched {
    #[serde(default = "first")]
    pub process: usize,
    #[serde(flatten)]
    pub profile: LaunchProfile,
}

fn first() -> usize {
    1
}

/// The launches that a command is about. The shape of `profile --json`, and of the file that `WARPSMITH_PROFILE` names.
#[derive(Debug, Serialize, Deserialize)]
pub struct Recording {
    pub version: u32,
    pub model: String,
    pub view: String,
    pub launches: Vec<Launched>,
    /// Loads that `ptxas` merges, which are counted here one by one.
    #[serde(default)]
    pub merges: Vec<Merge>,
    /// The PTX of the modules that a program has loaded.
    #[serde(skip)]
    pub modules: Vec<String>,
    /// How the program ended that was run for it.
    #[serde(skip)]
    pub outcome: Outcome,
}

/// A program gave nothing that a command can be about.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub struct NothingRecorded {
    why: String,
    /// The program's exit code, or 1 if it ended well.
    pub code: i32,
}

impl Recording {
    fn new(model: String) -> Self {
        let (launches, merges, modules, outcome) = Default::default();
        Self { version: 1, model, view: "ptx".to_owned(), launches, merges, modules, outcome }
    }

    /// Reads a profile that was written.
    fn read(file: &Path) -> anyhow::Result<Self> {
        let text =
            std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        serde_json::from_str(&text).with_context(|| format!("{} is no profile", file.display()))
    }

    /// Adds what others of other processes have recorded.
    fn add(&mut self, other: Self) {
        let before = self.launches.iter().map(|launch| launch.process).max().unwrap_or(0);
        if self.model.is_empty() {
            self.model = other.model;
        }
        let moved = |launch: Launched| Launched { process: launch.process + before, ..launch };
        self.launches.extend(other.launches.into_iter().map(moved));
        self.merges.extend(other.merges);
        self.modules.extend(other.modules);
    }

    /// Keeps the launches of some kernels; none of a name is an error that says which there are.
    fn keep(&mut self, kernels: &[&str]) -> anyhow::Result<()> {
        let names = || self.launches.iter().map(|launch| launch.profile.kernel.as_str());
        for &kernel in kernels {
            anyhow::ensure!(
                names().any(|name| name == kernel),
                "no launch is of a kernel `{kernel}`;{} launched were {}",
                ptx::meant(kernel, names()),
                self.kernels().join(", ")
            );
        }
        if !kernels.is_empty() {
            self.launches.retain(|launch| kernels.contains(&launch.profile.kernel.as_str()));
        }
        Ok(())
    }

    /// The kernels in the order in which they were first launched.
    pub fn kernels(&self) -> Vec<String> {
        let mut kernels: Vec<String> = Vec::new();
        for launch in &self.launches {
            if !kernels.contains(&launch.profile.kernel) {
                kernels.push(launch.profile.kernel.clone());
            }
        }
        kernels
    }

    /// The profiles of one kernel's launches.
    pub fn of<'a>(&'a self, kernel: &'a str) -> impl Iterator<Item = &'a Launched> + Clone {
        self.launches.iter().filter(move |launch| launch.profile.kernel == kernel)
    }

    /// How many processes have launched something.
    pub fn processes(&self) -> usize {
        let mut processes: Vec<usize> = self.launches.iter().map(|launch| launch.process).collect();
        processes.sort_unstable();
        processes.dedup();
        processes.len()
    }
}

impl Subject {
    /// Whether nothing is named.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.program.is_empty()
    }

    /// The named subjects, if there is no program.
    pub fn named(&self) -> anyhow::Result<Vec<Named>> {
        let named: Vec<Vec<Named>> =
            self.names.iter().map(|name| Named::of(name)).collect::<Result<_, _>>()?;
        Ok(named.into_iter().flatten().collect())
    }

    /// The program, run to its end, with what it has launched and loaded; `None` if none is named.
    pub fn run(&self) -> anyhow::Result<Option<Recording>> {
        if self.program.is_empty() {
            return Ok(None);
        }
        let folder = crate::program::folder("profile")?;
        let program = Program::new(&self.program)?;
        let mut command = program.command();
        command
            .env("WARPSMITH_PROFILE", folder.path().join("{pid}-{n}.json"))
            .env("WARPSMITH_MODULES", folder.path())
            .stdout(std::io::stderr());
        let status = command.status().with_context(|| format!("cannot run `{}`", program.name()))?;
        let mut all = Recording::new(String::new());
        for file in crate::program::left(folder.path(), "json")? {
            all.add(Recording::read(&file)?);
        }
        for file in crate::program::left(folder.path(), "ptx")? {
            all.modules.push(std::fs::read_to_string(file)?);
        }
        if !status.success() {
            eprintln!("warpsmith: `{}` failed ({status}); what it did until then follows", program.name());
        }
        all.outcome = Outcome::of(status);
        if all.modules.is_empty() && all.launches.is_empty() {
            let (failed, code) = match all.outcome {
                Outcome::Well => ("", 1),
                outcome => ("; it failed", outcome.code()),
            };
            let why = format!("{}, none that loads or launches a kernel{failed}", program.no_call());
            return Err(NothingRecorded { why, code }.into());
        }
        Ok(Some(all))
    }

    /// The launches: of the program, of profiles, and of demos, which run for them. PTX alone launches nothing.
    pub fn recording(&self, size: Option<Size>) -> anyhow::Result<Recording> {
        if let Some(mut all) = self.run()? {
            anyhow::ensure!(
                !all.launches.is_empty(),
                "the program loads kernels and launches none on the virtual GPU"
            );
            all.keep(&self.names.iter().map(String::as_str).collect::<Vec<_>>())?;
            for module in &all.modules {
                let module = ptx::parse(module)?;
                for kernel in all.kernels() {
                    let function = module.functions.iter().find(|function| function.name.as_str() == kernel);
                    let found = function.map(|function| merges(&module, function)).unwrap_or_default();
                    all.merges.extend(found);
                }
            }
            return Ok(all);
        }
        let mut all = Recording::new(String::new());
        for one in self.each(size)? {
            all.add(one);
        }
        Ok(all)
    }

    /// The launches of each thing that is named.
    pub fn each(&self, size: Option<Size>) -> anyhow::Result<Vec<Recording>> {
        self.named()?.iter().map(|named| named.recording(size)).collect()
    }
}

/// The launches of a kernel of this repository in its demo.
fn of_demo(kernel: &Description, size: Option<Size>) -> anyhow::Result<Recording> {
    let launches = profiling::profile(kernel.name, size)?;
    let model = match warpsmith_cuda::taken()? {
        warpsmith_cuda::Taken::Virtual(chips) => chips[0].key.to_owned(),
        warpsmith_cuda::Taken::Gpu(_) => String::new(),
    };
    let mut recording = Recording::new(model);
    recording.launches = launches.into_iter().map(|profile| Launched { process: 1, profile }).collect();
    recording.merges = merging::of_kernel(kernel.name)?;
    Ok(recording)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_kernel_a_family_or_a_file() {
        let [Named::Kernel { kernel, .. }] = &Named::of("matmul_naive").unwrap()[..] else { panic!() };
        assert_eq!(kernel.name, "matmul_naive");
        assert!(Named::of("transpose").unwrap().len() > 3);
        let [Named::Profile { file, kernel: None }] = &Named::of("out/p.json").unwrap()[..] else { panic!() };
        assert_eq!(file, Path::new("out/p.json"));
        let [Named::Ptx { kernel: Some(kernel), .. }] = &Named::of("k.ptx:add").unwrap()[..] else {
            panic!()
        };
        assert_eq!(kernel, "add");
        assert!(Named::of("matmul_nave").unwrap_err().to_string().contains("`matmul_naive`"));
    }

    fn recording(kernel: &str, launches: usize) -> Recording {
        let profile = LaunchProfile { kernel: kernel.to_owned(), ..LaunchProfile::default() };
        let mut recording = Recording::new("h200".to_owned());
        recording.launches = vec![Launched { process: 1, profile }; launches];
        recording
    }

    #[test]
    fn processes_are_merged_and_told_apart() {
        let mut all = Recording::new(String::new());
        for (kernel, launches) in [("add", 2), ("scale", 1), ("add", 3)] {
            all.add(recording(kernel, launches));
        }
        assert_eq!(
            (all.processes(), all.model.as_str(), all.kernels().join(" ")),
            (3, "h200", "add scale".into())
        );
        assert_eq!(all.of("add").map(|launch| launch.process).collect::<Vec<_>>(), [1, 1, 3, 3, 3]);
        assert!(all.keep(&["ad"]).unwrap_err().to_string().contains("add, scale"));
        all.keep(&["scale"]).unwrap();
        assert_eq!(all.launches.len(), 1);
        // As the driver writes it: without processes.
        let text = serde_json::to_string(&all).unwrap().replace("\"process\":2,", "");
        assert_eq!(serde_json::from_str::<Recording>(&text).unwrap().launches[0].process, 1);
    }
}
