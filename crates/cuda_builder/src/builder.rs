//! The build-script interface, upstream's.

use crate::arch::NvvmArch;
use crate::bitcode::float_modes::FloatModes;
use crate::error::CudaBuilderError;
use crate::front_end::archive::Archive;
use crate::front_end::cargo::{self, Request};
use crate::front_end::project;
use crate::front_end::toolchain::{self, Toolchain};
use crate::lower::isolate;
use crate::options::Options;
use crate::report::Report;
use crate::{llvm, lower};
use llvm_library::cache::{self, Cache, Key};
use std::fs;
use std::path::{Path, PathBuf};

/// How much the PTX tells of its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum DebugInfo {
    /// The setting of [`CudaBuilder::generate_line_info`].
    #[default]
    None,
    /// Lines, whatever `generate_line_info` says.
    LineTables,
}

/// Further files beside the PTX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmitOption {
    /// LLVM's assembly language, as `.ll`.
    LlvmIr,
    /// LLVM's bitcode, as `.bc`.
    Bitcode,
}

/// Compiles a crate of kernels to PTX.
///
/// Made by [`new`](Self::new), told what to do by the methods, and run by [`build`](Self::build), from a build script. Each
/// field is what the method of its name sets; the defaults are upstream's.
///
/// - *What is compiled.* The library of the crate at the path, with any `crate-type`, and its dependencies, for
///   `target_os = "cuda"` and the gates of [`arch`](Self::arch) (`#[cfg(target_feature = "compute_80")]`). None needs
///   `#![no_std]`; all have `core` and `alloc`. Flags, wrappers and settings of the build around it do not reach it.
/// - *What it needs.* The toolchain that runs the build script, from rustup. Nothing else: no CUDA, no LLVM.
/// - *Where it works.* In `cuda-builder` of the target folder, in a build script and outside of one. What an edit did not reach is not compiled again, and the
///   build script is not even run when no file that the PTX was made from changed: `build` prints `cargo:rerun-if-changed` for
///   each.
/// - *What it says.* rustc's messages go to stderr as they come, and cargo shows what a build script wrote only when it
///   fails; until then cargo's progress names the package of the build script with `(build)`. What cannot be PTX is an error
///   that names the construct, the function and its caller, and reads the same from `unwrap()` as from a `main` that returns it.
#[derive(Debug, Clone)]
pub struct CudaBuilder {
    path_to_crate: PathBuf,
    /// Compile with optimisation, which kernels need to be of any use. On by default.
    pub release: bool,
    /// Where to copy the PTX.
    pub ptx_file_copy_path: Option<PathBuf>,
    /// Keep source lines (`.loc`), which costs the kernel nothing. On by default.
    pub generate_line_info: bool,
    /// Run LLVM's optimisation. On by default.
    pub nvvm_opts: bool,
    /// The architecture to compile for. [`NvvmArch::Compute75`] by default.
    pub arch: NvvmArch,
    /// Flush denormal `f32` to zero.
    pub ftz: bool,
    /// Approximate `f32` square roots.
    pub fast_sqrt: bool,
    /// Approximate `f32` division.
    pub fast_div: bool,
    /// Fuse a multiplication and an addition into one rounding. On by default, as in nvcc.
    pub fma_contraction: bool,
    /// Further files.
    pub emit: Option<EmitOption>,
    /// Compile for OptiX: sets `cfg(optix)`.
    pub optix: bool,
    /// Use `cuda_std`'s mathematics where dependencies call the crate `libm`. On by default.
    pub override_libm: bool,
    /// Place immutable statics in constant memory, those of up to 64 KiB.
    pub use_constant_memory_space: bool,
    /// Debug information.
    pub debug: DebugInfo,
    /// Further arguments for cargo, such as `--features`.
    pub build_args: Vec<String>,
    /// Where to write the whole module as LLVM sees it before the back end.
    pub final_module_path: Option<PathBuf>,
    /// Where to write the functions of that module.
    pub llvm_functions_path: Option<PathBuf>,
    /// The name of a pass of the lowering that does not run: for tests that must fail without it.
    #[doc(hidden)]
    pub left_out: Option<&'static str>,
}

impl CudaBuilder {
    /// A builder for the crate in this folder, relative to the build script's package.
    pub fn new(path_to_crate: impl AsRef<Path>) -> Self {
        Self {
            path_to_crate: path_to_crate.as_ref().to_owned(),
            release: true,
            ptx_file_copy_path: None,
            generate_line_info: true,
            nvvm_opts: true,
            arch: NvvmArch::default(),
            ftz: false,
            fast_sqrt: false,
            fast_div: false,
            fma_contraction: true,
            emit: None,
            optix: false,
            override_libm: true,
            use_constant_memory_space: false,
            debug: DebugInfo::None,
            build_args: Vec::new(),
            final_module_path: None,
            llvm_functions_path: None,
            left_out: None,
        }
    }

    /// Adds arguments for cargo, such as `&["--features", "fast"]`.
    pub fn build_args(mut self, args: &[impl AsRef<str>]) -> Self {
        self.build_args.extend(args.iter().map(|a| a.as_ref().to_owned()));
        self
    }

    /// Compiles with or without optimisation; sets [`Self::nvvm_opts`] too.
    pub fn release(mut self, release: bool) -> Self {
        self.release = release;
        self.nvvm_opts = release;
        self
    }

    /// Keeps or drops source lines.
    pub fn generate_line_info(mut self, generate: bool) -> Self {
        self.generate_line_info = generate;
        self
    }

    /// Switches LLVM's optimisation on or off.
    pub fn nvvm_opts(mut self, optimise: bool) -> Self {
        self.nvvm_opts = optimise;
        self
    }

    /// Chooses the architecture.
    pub fn arch(mut self, arch: NvvmArch) -> Self {
        self.arch = arch;
        self
    }

    /// Flushes denormal `f32` values to zero, in operands and results; not in kernels without `unsafe`, where a value that all
    /// threads of a block have could then differ.
    pub fn ftz(mut self, ftz: bool) -> Self {
        self.ftz = ftz;
        self
    }

    /// Uses `sqrt.approx.f32` in place of the correctly rounded square root.
    pub fn fast_sqrt(mut self, fast: bool) -> Self {
        self.fast_sqrt = fast;
        self
    }

    /// Uses `div.approx.f32` (2 ulp) in place of the correctly rounded division.
    pub fn fast_div(mut self, fast: bool) -> Self {
        self.fast_div = fast;
        self
    }

    /// Allows or forbids fused multiply-add where the source has two operations.
    pub fn fma_contraction(mut self, contract: bool) -> Self {
        self.fma_contraction = contract;
        self
    }

    /// Writes LLVM's assembly language beside the PTX.
    pub fn emit_llvm_ir(mut self, emit: bool) -> Self {
        self.emit = emit.then_some(EmitOption::LlvmIr);
        self
    }

    /// Writes LLVM's bitcode beside the PTX.
    pub fn emit_llvm_bitcode(mut self, emit: bool) -> Self {
        self.emit = emit.then_some(EmitOption::Bitcode);
        self
    }

    /// Sets `cfg(optix)`.
    pub fn optix(mut self, optix: bool) -> Self {
        self.optix = optix;
        self
    }

    /// Uses `cuda_std`'s mathematics where dependencies call the crate `libm`, or keeps `libm`'s own.
    pub fn override_libm(mut self, override_libm: bool) -> Self {
        self.override_libm = override_libm;
        self
    }

    /// Places immutable statics in constant memory: those of up to 64 KiB that no one can write. More than 64 KiB of them in
    /// all is an error, whichever of them the optimiser would do without.
    pub fn use_constant_memory_space(mut self, constant: bool) -> Self {
        self.use_constant_memory_space = constant;
        self
    }

    /// Chooses the debug information.
    pub fn debug(mut self, debug: DebugInfo) -> Self {
        self.debug = debug;
        self
    }

    /// Copies the PTX to this file.
    pub fn copy_to(mut self, path: impl AsRef<Path>) -> Self {
        self.ptx_file_copy_path = Some(path.as_ref().to_owned());
        self
    }

    /// Writes the final module, as text if the name ends in `.ll`, else as bitcode.
    pub fn final_module_path(mut self, path: impl AsRef<Path>) -> Self {
        self.final_module_path = Some(path.as_ref().to_owned());
        self
    }

    /// Writes the functions of the final module in LLVM's assembly language, for people: without declarations, attribute
    /// lists and source lines. Costs less than [`Self::final_module_path`], since what an edit leaves as it was need not be
    /// read again.
    pub fn llvm_functions_path(mut self, path: impl AsRef<Path>) -> Self {
        self.llvm_functions_path = Some(path.as_ref().to_owned());
        self
    }

    /// Compiles, and returns the path of the PTX: the copy's if [`Self::copy_to`] was called.
    pub fn build(self) -> Result<PathBuf, CudaBuilderError> {
        self.build_reported(&mut Report::default())
    }

    /// The same, and what `warpsmith_build` is told beside the path.
    #[doc(hidden)]
    pub fn build_reported(self, report: &mut Report) -> Result<PathBuf, CudaBuilderError> {
        let result = self.compile(report);
        if result.is_err() {
            // A build script may go on after an error. A file that is not there makes cargo run it again the next time,
            // whichever file is mended until then.
            println!("cargo:rerun-if-changed=the-device-build-failed");
        }
        result
    }

    fn compile(self, report: &mut Report) -> Result<PathBuf, CudaBuilderError> {
        let crate_path = fs::canonicalize(&self.path_to_crate)
            .ok()
            .filter(|path| path.join("Cargo.toml").is_file())
            .ok_or_else(|| CudaBuilderError::CratePathDoesntExist(self.path_to_crate.clone()))?;
        project::check_header(&crate_path)?;
        // Before all else: without these edits, another build script may fail first.
        if is_build_script()
            && let Some(package) = std::env::var_os("CARGO_MANIFEST_DIR")
        {
            for missing in project::missing_edits(Path::new(&package)) {
                println!("cargo:warning={missing}");
            }
        }
        let toolchain = Toolchain::find()?;
        let target_folder = toolchain::target_folder(toolchain, &crate_path, |name| std::env::var_os(name))
            .join("cuda-builder");
        let request = Request {
            crate_path: &crate_path,
            arch: self.arch,
            release: self.release,
            optix: self.optix,
            build_args: &self.build_args,
            target_folder: &target_folder,
        };
        // Builds for several architectures leave their library under one name: no other build may run until it is read.
        let lock = lock(&target_folder)?;
        let artifact = cargo::run(toolchain, &request, report).map_err(|error| match error {
            // rustc's messages about upstream's own `cuda_std` would mislead.
            CudaBuilderError::BuildFailed | CudaBuilderError::NotForTheDevice(_) => {
                project::foreign_cuda_std(toolchain, &crate_path).unwrap_or(error)
            }
            error => error,
        })?;
        let dependencies = project::dependencies_of(&artifact.archive, &crate_path);
        let archive = Archive::read(&artifact.archive)?;
        drop(lock);
        let library = llvm_library::find(&toolchain.sysroot, &toolchain.version)?;
        let is_text = |path: &PathBuf| path.extension().is_some_and(|e| e == "ll");
        let final_module_is_text = self.final_module_path.as_ref().map(is_text);
        let options = Options {
            crate_name: artifact.crate_name.clone(),
            arch: self.arch,
            optimise: self.nvvm_opts,
            floats: FloatModes {
                contract: self.fma_contraction,
                fast_sqrt: self.fast_sqrt,
                fast_div: self.fast_div,
                ftz: self.ftz,
            },
            override_libm: self.override_libm,
            constant_statics: self.use_constant_memory_space,
            line_info: self.generate_line_info || self.debug == DebugInfo::LineTables,
            keep_assembly: self.emit == Some(EmitOption::LlvmIr) || final_module_is_text == Some(true),
            keep_functions: self.llvm_functions_path.is_some(),
            keep_bitcode: self.emit == Some(EmitOption::Bitcode) || final_module_is_text == Some(false),
            left_out: self.left_out,
        };
        let cache = Cache::new(target_folder.join("lowered"), LIMIT);
        let conditions = conditions(toolchain, &library, &options);
        let key = conditions.and(&archive.content());
        let earlier = cache.get(key).and_then(|entry| lower::Output::decode(&entry));
        let output = match earlier {
            Some(output) => output,
            None => {
                llvm::load(&library)?;
                let output = isolate::run(|| lower::lower(&archive, &options, (&cache, conditions)))
                    .map_err(|error| error.with_version(&toolchain.version))?;
                cache.put(key, &output.encode());
                cache.trim();
                output
            }
        };
        for warning in output.warnings.lines() {
            println!("cargo:warning={warning}");
        }
        let path = self.ptx_file_copy_path.unwrap_or_else(|| {
            target_folder.join("ptx").join(self.arch.to_string()).join(format!("{}.ptx", artifact.crate_name))
        });
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(CudaBuilderError::FailedToCopyPtxFile)?;
        }
        fs::write(&path, &output.ptx).map_err(CudaBuilderError::FailedToCopyPtxFile)?;
        let write = |path: PathBuf, content: &[u8]| {
            fs::write(&path, content).map_err(|cause| CudaBuilderError::File {
                what: "cannot write",
                path,
                cause,
            })
        };
        match self.emit {
            Some(EmitOption::LlvmIr) => write(path.with_extension("ll"), output.assembly.as_bytes())?,
            Some(EmitOption::Bitcode) => write(path.with_extension("bc"), &output.bitcode)?,
            None => {}
        }
        if let Some(module) = self.final_module_path {
            let is_text = final_module_is_text == Some(true);
            write(module, if is_text { output.assembly.as_bytes() } else { &output.bitcode })?;
        }
        if let Some(path) = self.llvm_functions_path {
            write(path, output.functions.as_bytes())?;
        }
        // A file that this build script wrote is newer than its start: cargo would run the script again for it.
        let out = std::env::var_os("OUT_DIR").and_then(|out| fs::canonicalize(out).ok());
        let watched = |file: &PathBuf| out.as_ref().is_none_or(|out| !file.starts_with(out));
        // At the very end: cargo shows all that a failed build script printed, and these would stand above the error.
        for file in dependencies.into_iter().filter(watched) {
            if is_build_script() {
                println!("cargo:rerun-if-changed={}", file.display());
            }
            report.files.push(file);
        }
        Ok(path)
    }
}

/// Whether cargo reads what is printed.
fn is_build_script() -> bool {
    std::env::var_os("OUT_DIR").is_some()
}

/// Limit of the cache of lowered modules in bytes: some dozens of builds of a large crate of kernels.
const LIMIT: u64 = 512 << 20;

/// All that the lowering depends on but the bitcode. This crate's own sources stand for the program: build scripts of other
/// profiles, and of other packages, lower as this one does and find what it kept.
fn conditions(toolchain: &Toolchain, library: &Path, options: &Options) -> Key {
    let options = format!("{options:?}");
    Key::of(&[
        env!("CUDA_BUILDER_SOURCES").as_bytes(),
        toolchain.version.as_bytes(),
        &cache::identity(library),
        options.as_bytes(),
    ])
}

/// The folder of device builds, held for this process until this is dropped.
struct Held(fs::File);

impl Drop for Held {
    fn drop(&mut self) {
        // Closing is not enough: a lowering that was forked meanwhile has the file open, too, and would hold it to its end.
        // Should this fail, it is only late that others may build.
        let _ = self.0.unlock();
    }
}

fn lock(folder: &Path) -> Result<Held, CudaBuilderError> {
    let path = folder.join("cuda_builder.lock");
    let locked = fs::create_dir_all(folder).and_then(|()| fs::File::create(&path)).and_then(|file| {
        file.lock()?;
        Ok(Held(file))
    });
    locked.map_err(|cause| CudaBuilderError::File { what: "cannot lock", path, cause })
}
