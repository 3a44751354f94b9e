//! The front end: cargo and stock rustc turn the kernel crate and its dependencies into one archive of LLVM bitcode.

use crate::arch::NvvmArch;
use crate::error::CudaBuilderError;
use crate::front_end::advice::Collected;
use crate::front_end::toolchain::Toolchain;
use crate::front_end::{levels, wrapper};
use crate::report::Report;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A request to the front end.
pub struct Request<'a> {
    pub crate_path: &'a Path,
    pub arch: NvvmArch,
    pub release: bool,
    pub optix: bool,
    pub build_args: &'a [String],
    pub target_folder: &'a Path,
}

/// Outputs of rustc.
pub struct Artifact {
    /// The static library: one bitcode member for each crate, and the archives of `core` and `alloc`.
    pub archive: PathBuf,
    /// The name of the crate, as in file names.
    pub crate_name: String,
}

/// rustc's flags for device crates. All are stable; the unstable ones are the wrapper's.
fn rustc_flags(request: &Request<'_>) -> Vec<String> {
    let mut flags: Vec<String> = [
        // Objects are then raw bitcode, and no linker is called.
        "-Clinker-plugin-lto",
        // Bitcode as it is before any pass: passes for the host would move barriers and make host vectors.
        "-Cno-prepopulate-passes",
        "-Ccodegen-units=1",
        "-Cpanic=abort",
        "-Crelocation-model=static",
        "-Csymbol-mangling-version=v0",
        // Lines are kept always, since refusals name them; the lowering drops them when the PTX is to have none.
        "-Cdebuginfo=line-directives-only",
        // Upstream's gates. rustc knows the value `cuda` of another target, hence the lint.
        "-Aexplicit_builtin_cfgs_in_flags",
        "--cfg=target_os=\"cuda\"",
        "--cfg=target_arch=\"nvptx64\"",
        // Its build script asks for this by the target's configuration; see also `wrapper::PORTABLE`.
        "--cfg=curve25519_dalek_backend=\"serial\"",
    ]
    .map(str::to_owned)
    .into();
    // Optimisation level 3 of rustc without passes means MIR inlining and the right attributes.
    flags.push(format!("-Copt-level={}", if request.release { 3 } else { 0 }));
    let known: Vec<String> = NvvmArch::ALL.iter().map(|arch| format!("\"{arch}\"")).collect();
    flags.push(format!("--check-cfg=cfg(target_feature, values({}))", known.join(", ")));
    flags.push("--check-cfg=cfg(optix)".to_owned());
    // What the wrapper adds is not in cargo's fingerprint: a change of it must rebuild.
    flags.push(format!("--cfg=cuda_builder=\"{:x}\"", wrapper::fingerprint()));
    if request.optix {
        flags.push("--cfg=optix".to_owned());
    }
    flags
}

/// The gates that are open on an architecture.
fn gates(arch: NvvmArch) -> Vec<String> {
    let features = arch.all_target_features();
    features.iter().map(|feature| format!("--cfg=target_feature=\"{feature}\"")).collect()
}

/// Variables of the build script's own build that would steer the device build: everything cargo sets for a build
/// script, and every variable by which a user configures builds. What concerns the network, registries and the
/// cargo home stays.
fn steers_the_build(variable: &str) -> bool {
    const KEPT: [&str; 6] =
        ["CARGO_HOME", "CARGO_NET_", "CARGO_HTTP_", "CARGO_REGISTR", "CARGO_TERM_", "CARGO_SOURCE_"];
    const OTHERS: [&str; 14] = [
        "RUSTC",
        "RUSTDOC",
        "RUSTFLAGS",
        "RUSTDOCFLAGS",
        "TARGET",
        "HOST",
        "OUT_DIR",
        "NUM_JOBS",
        "OPT_LEVEL",
        "PROFILE",
        "DEBUG",
        "MAKEFLAGS",
        "CLIPPY_ARGS",
        "CLIPPY_CONF_DIR",
    ];
    let of_cargo = variable.starts_with("CARGO") && !KEPT.iter().any(|kept| variable.starts_with(kept));
    of_cargo || variable.starts_with("RUSTC_") || OTHERS.contains(&variable) || variable.starts_with("DEP_")
}

/// Runs cargo; rustc's messages go to stderr as they come.
pub fn run(
    toolchain: &Toolchain,
    request: &Request<'_>,
    report: &mut Report,
) -> Result<Artifact, CudaBuilderError> {
    let program =
        wrapper::compile(&toolchain.rustc, &toolchain.version, &request.target_folder.join("wrapper"))?;
    let mut cargo = Command::new(&toolchain.cargo);
    for (variable, _) in std::env::vars_os() {
        if variable.to_str().is_some_and(steers_the_build) {
            cargo.env_remove(variable);
        }
    }
    let profile = if request.release { "RELEASE" } else { "DEV" };
    for (key, value) in [
        // Of no effect beside our flags, but cargo would tell dependencies apart by them.
        ("OPT_LEVEL", if request.release { "3" } else { "0" }),
        // What runs while the device build does, macros and build scripts, is compiled sooner without.
        ("DEBUG", "none"),
        ("LTO", "off"),
        ("PANIC", "abort"),
        ("CODEGEN_UNITS", "1"),
        ("STRIP", "none"),
    ] {
        cargo.env(format!("CARGO_PROFILE_{profile}_{key}"), value);
    }
    // rustc inlines less of what it compiles incrementally. Unlike a profile's setting, this holds against one for a package.
    cargo.env("CARGO_INCREMENTAL", "0");
    let mut flags = rustc_flags(request);
    cargo.env_remove(wrapper::GATES_VARIABLE);
    match levels::gated(request.crate_path, &request.target_folder.join("gated_packages")) {
        Some(packages) => {
            cargo.env(wrapper::GATES_VARIABLE, gates(request.arch).join("\x1f"));
            let number = levels::number(&gates(request.arch));
            let profile = profile.to_lowercase();
            for package in packages {
                let setting = format!("profile.{profile}.package.\"{package}\".codegen-units={number}");
                cargo.args(["--config", &setting]);
            }
        }
        None => flags.extend(gates(request.arch)),
    }
    cargo
        .current_dir(request.crate_path)
        .env("RUSTC", &program)
        .env(wrapper::RUSTC_VARIABLE, &toolchain.rustc)
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"))
        // Empty values switch off what a configuration file may have set.
        .env("RUSTC_WRAPPER", "")
        .env("RUSTC_WORKSPACE_WRAPPER", "")
        .env("CUDA_ARCH", format!("{}0", request.arch.capability_value()))
        .args([
            "rustc",
            "--lib",
            "--crate-type",
            "staticlib",
            "--message-format=json-diagnostic-rendered-ansi",
        ])
        .args(["--target", &toolchain.host])
        .arg("--target-dir")
        .arg(request.target_folder);
    if request.release {
        cargo.arg("--release");
    }
    cargo.args(request.build_args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut child = cargo
        .spawn()
        .map_err(|cause| CudaBuilderError::CannotRun { program: toolchain.cargo.clone(), cause })?;
    let mut artifact = None;
    let mut advice = Collected::default();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            artifact = read_message(&line, &mut advice, report).or(artifact);
        }
    }
    let status = child
        .wait()
        .map_err(|cause| CudaBuilderError::CannotRun { program: toolchain.cargo.clone(), cause })?;
    match artifact {
        Some(artifact) if status.success() => Ok(artifact),
        _ => Err(advice.text().map_or(CudaBuilderError::BuildFailed, CudaBuilderError::NotForTheDevice)),
    }
}

/// Prints a diagnostic, or recognises the library. The last library that cargo names is the kernel crate.
fn read_message(line: &str, advice: &mut Collected, report: &mut Report) -> Option<Artifact> {
    let message: serde_json::Value = serde_json::from_str(line).ok()?;
    match message["reason"].as_str()? {
        "compiler-message" => {
            report.note(&message);
            if advice.note(&message) {
                eprint!("{}", message["message"]["rendered"].as_str()?);
            }
            None
        }
        "compiler-artifact" => {
            let is_archive = |file: &&str| file.ends_with(".a") || file.ends_with(".lib");
            let archive =
                message["filenames"].as_array()?.iter().filter_map(|f| f.as_str()).find(is_archive)?;
            let crate_name = message["target"]["name"].as_str()?.replace('-', "_");
            Some(Artifact { archive: PathBuf::from(archive), crate_name })
        }
        _ => None,
    }
}
