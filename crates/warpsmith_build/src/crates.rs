//! The device crates of a package: written, compiled, and listed for the macros.

use crate::modules::{self, Device};
use crate::package::{Package, Root};
use cuda_builder::{CudaBuilder, NvvmArch, Report};
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Compiles all of them. An error is one of the surroundings; what is wrong with the modules is in the index.
pub fn build(levels: &[NvvmArch]) -> Result<(), String> {
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("`kernels` is called from a build script")?);
    let out = out.join("warpsmith");
    let package = Package::read()?;
    // Every file, since any may get a module.
    for watched in ["src", "examples", "tests", "benches", "build.rs", "Cargo.toml"] {
        if package.folder.join(watched).exists() {
            println!("cargo:rerun-if-changed={watched}");
        }
    }
    let roots = package.roots();
    let found: Vec<_> = roots.iter().map(|root| (root, modules::find(&root.source))).collect();
    // A root may stand elsewhere.
    for file in found.iter().flat_map(|(_, device)| &device.read) {
        println!("cargo:rerun-if-changed={}", file.display());
    }
    let crates: Vec<_> = found.into_iter().filter(|(_, device)| !device.files.is_empty()).collect();
    let compiled: Vec<Result<String, String>> = std::thread::scope(|scope| {
        let compile = |(root, device)| {
            let (package, out) = (&package, &out);
            scope.spawn(move || DeviceCrate { package, root, device, out }.compile(levels))
        };
        let started: Vec<_> = crates.iter().map(|(root, device)| compile((*root, device))).collect();
        started.into_iter().map(|one| one.join().expect("compiling does not panic")).collect()
    });
    let index = compiled.into_iter().collect::<Result<String, String>>()?;
    write(&out.join("index"), &index)
}

/// The device modules of a root as a crate.
struct DeviceCrate<'a> {
    package: &'a Package,
    root: &'a Root,
    device: &'a Device,
    out: &'a Path,
}

impl DeviceCrate<'_> {
    /// Its name in `OUT_DIR`: libraries and binaries may have the same.
    fn name(&self) -> String {
        format!("{}-{}", self.root.kind, self.root.name)
    }

    /// Compiles it, if anything has changed since; its lines of the index.
    fn compile(&self, levels: &[NvvmArch]) -> Result<String, String> {
        let folder = self.out.join(self.name());
        let content = self.write(&folder)?;
        let ptx: Vec<PathBuf> =
            levels.iter().map(|level| self.out.join(format!("{}_{level}.ptx", self.name()))).collect();
        let (stamp, errors) = (folder.join("stamp"), self.out.join(format!("{}.errors", self.name())));
        let known = fs::read_to_string(&stamp).ok().and_then(|text| Stamp::read(&text));
        let is_fresh =
            known.as_ref().is_some_and(|stamp| stamp.is_of(content) && ptx.iter().all(|file| file.is_file()));
        match known.filter(|_| is_fresh) {
            Some(stamp) => stamp.watch(),
            None => {
                let mut report = Report::default();
                let built = levels
                    .iter()
                    .zip(&ptx)
                    .map(|(level, ptx)| self.builder(&folder, *level, ptx).build_reported(&mut report));
                if let Err(error) = built.collect::<Result<Vec<_>, _>>() {
                    eprintln!("error: {error}");
                    let _ = fs::remove_file(&stamp);
                    write(&errors, &self.errors(&folder, &report, &error.to_string()))?;
                    return Ok(self.index(&[], Some(&errors)));
                }
                // The build script has the compiler in it.
                report.files.extend(env::current_exe().ok());
                write(&stamp, &Stamp::of(content, &report.files).text())?;
            }
        }
        Ok(self.index(&ptx, None))
    }

    fn builder(&self, folder: &Path, level: NvvmArch, ptx: &Path) -> CudaBuilder {
        let remap = format!("--remap-path-prefix={}={}", folder.display(), self.package.folder.display());
        CudaBuilder::new(folder).arch(level).copy_to(ptx).build_args(&["--offline", "--", &remap])
    }

    /// Writes its files; a number for what they contain.
    fn write(&self, folder: &Path) -> Result<u64, String> {
        let mut content = DefaultHasher::new();
        let mut put = |path: &Path, text: &str| {
            text.hash(&mut content);
            write(path, text)
        };
        for (file, text) in &self.device.files {
            let relative = file.strip_prefix(&self.package.folder).map_err(|_| {
                format!(
                    "{} has a device module, and lies outside of its package {}",
                    file.display(),
                    self.package.folder.display()
                )
            })?;
            put(&folder.join(relative), text)?;
        }
        put(&folder.join("Cargo.toml"), &self.package.manifest(self.root, &self.device.named))?;
        if let Some(lock) = &self.package.lock {
            // Cargo writes its own version, so it is compared with what was copied.
            let copied = folder.join("copied.lock");
            let is_new = fs::read_to_string(&copied).map_or(true, |known| known != *lock);
            put(&copied, lock)?;
            if is_new {
                write(&folder.join("Cargo.lock"), lock)?;
            }
        }
        Ok(content.finish())
    }

    /// For `cuda_std_macros`, which reads it when the host compiles the modules.
    fn index(&self, ptx: &[PathBuf], errors: Option<&Path>) -> String {
        let root = canonical(&self.root.source);
        let mut lines = format!("ptx\t{}", root.display());
        for file in ptx {
            let _ = write!(lines, "\t{}", file.display());
        }
        lines.push('\n');
        if let Some(errors) = errors.and_then(Path::file_name) {
            let _ = writeln!(lines, "errors\t{}\t{}", root.display(), errors.display());
        }
        for part in self.device.parts.iter().filter(|_| !ptx.is_empty()) {
            let (first, last) = part.lines;
            let file = canonical(&part.file);
            let _ = writeln!(
                lines,
                "part\t{}\t{}\t{first}\t{last}\t{}",
                root.display(),
                file.display(),
                part.ptx
            );
        }
        lines
    }

    /// A line for each error: file, line, column, text. Without one that has a place, what the builder says.
    fn errors(&self, folder: &Path, report: &Report, whole: &str) -> String {
        let mut lines = String::new();
        for error in &report.errors {
            let file = folder.join(&error.file);
            let own =
                file.strip_prefix(folder).map_or(file.clone(), |relative| self.package.folder.join(relative));
            let is_name = NAMES.contains(&error.code.as_str());
            let advice = error
                .advice
                .as_deref()
                .or(is_name.then_some(OUTSIDE))
                .map_or(String::new(), |advice| format!("\nhelp: {advice}"));
            let text = (error.text.clone() + &advice).replace('\n', "\r");
            let _ =
                writeln!(lines, "{}\t{}\t{}\t{text}", canonical(&own).display(), error.line, error.column);
        }
        if lines.is_empty() {
            lines = format!("\t0\t0\t{}\n", whole.replace('\n', "\r"));
        }
        lines
    }
}

/// rustc's errors about names that are not there.
const NAMES: [&str; 8] = ["E0405", "E0412", "E0422", "E0423", "E0425", "E0432", "E0433", "E0463"];
const OUTSIDE: &str = "on the GPU a device module is a crate by itself, and what stands outside of it is not there: move what it needs into \
                       the module, or name the crate that has it in the `[dependencies]` of Cargo.toml";

/// Inputs of the PTX: the crate's content, and each file with its time.
struct Stamp {
    content: u64,
    files: Vec<(PathBuf, u128)>,
}

impl Stamp {
    fn of(content: u64, files: &[PathBuf]) -> Self {
        Self { content, files: files.iter().map(|file| (file.clone(), time(file))).collect() }
    }

    fn read(text: &str) -> Option<Self> {
        let (content, files) = text.split_once('\n')?;
        let file = |line: &str| {
            line.split_once(' ').and_then(|(time, file)| Some((PathBuf::from(file), time.parse().ok()?)))
        };
        Some(Self { content: content.parse().ok()?, files: files.lines().map(file).collect::<Option<_>>()? })
    }

    fn text(&self) -> String {
        let lines = self.files.iter().map(|(file, time)| format!("{time} {}\n", file.display()));
        format!("{}\n{}", self.content, lines.collect::<String>())
    }

    fn is_of(&self, content: u64) -> bool {
        self.content == content && self.files.iter().all(|(file, known)| time(file) == *known)
    }

    /// Tells cargo of the files, as the builder does when it runs.
    fn watch(&self) {
        for (file, _) in &self.files {
            println!("cargo:rerun-if-changed={}", file.display());
        }
    }
}

fn time(file: &Path) -> u128 {
    let modified = fs::metadata(file).and_then(|metadata| metadata.modified());
    modified
        .ok()
        .and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok())
        .map_or(0, |time| time.as_nanos())
}

fn canonical(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Writes a file, unless it is there with this text: its time says when it changed.
fn write(path: &Path, text: &str) -> Result<(), String> {
    if fs::read_to_string(path).is_ok_and(|known| known == text) {
        return Ok(());
    }
    let parent = path.parent().unwrap_or(path);
    let written = fs::create_dir_all(parent).and_then(|()| fs::write(path, text));
    written.map_err(|error| format!("cannot write {}: {error}", path.display()))
}
