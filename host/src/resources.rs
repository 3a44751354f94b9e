//! A kernel's resources on a multiprocessor: registers and static shared memory, with their source.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use cust::function::FunctionAttribute;
use gpu_model::Capability;
use gpu_model::profile::LaunchProfile;
use rayon::prelude::*;
use serde::Serialize;
use warpsmith_launch::{Description, Device, ErrorContext, alone};

use crate::modules::LEVELS;
use crate::programs;

/// Resources of a thread and of a block of a kernel.
#[derive(Clone, Debug, Serialize)]
pub struct Resources {
    /// Registers of a thread; `None` if nothing at hand can tell.
    pub registers: Option<u32>,
    /// Their source, or why there is none.
    pub registers_from: String,
    /// Bytes of static shared memory.
    pub static_shared: u32,
    /// Whether it uses dynamic shared memory besides, of which each launch says how much.
    pub uses_dynamic_shared: bool,
}

impl Resources {
    /// Of a kernel in PTX: its shared memory from the text, its registers from `ptxas` where there is one.
    pub fn of_ptx(kernel: &virtual_gpu::Kernel, ptx: &str, capability: Capability) -> Self {
        let (registers, registers_from) = match assembled(kernel.name(), ptx, capability) {
            Ok(registers) => (Some(registers), format!("ptxas for sm_{}", capability.number())),
            Err(reason) => (None, reason),
        };
        let uses_dynamic_shared = names_dynamic_shared(&alone(ptx, kernel.name()));
        Self { registers, registers_from, static_shared: kernel.static_shared(), uses_dynamic_shared }
    }

    /// Of a kernel that was launched: from the module that has it, if the program's modules are at hand.
    pub fn launched(
        kernel: &str,
        launch: &LaunchProfile,
        modules: &[String],
        capability: Capability,
    ) -> Self {
        let here = modules.iter().find_map(|text| {
            let module = virtual_gpu::Gpu::new(&gpu_model::chips::H200).load(text).ok()?;
            let found = module.kernels().find(|found| ptx::rust_name(found.name()) == kernel)?;
            Some(Self::of_ptx(&found, text, capability))
        });
        here.unwrap_or_else(|| Self {
            registers: None,
            registers_from: "a profile does not say".to_owned(),
            static_shared: launch.shared_bytes,
            uses_dynamic_shared: false,
        })
    }

    /// Asks the driver; on the virtual GPU, which has no register file, `ptxas` for `capability` where there is one.
    pub fn of(device: &Device, kernel: &Description, capability: Capability) -> anyhow::Result<Self> {
        let name = kernel.name;
        let function = device.module(&LEVELS, name)?.function(name)?;
        let attribute = |attribute| function.get_attribute(attribute).context(format!("ask about `{name}`"));
        let static_shared = u32::try_from(attribute(FunctionAttribute::SharedMemorySizeBytes)?).unwrap_or(0);
        let own = device.limits().capability == (capability.major.into(), capability.minor.into());
        let (registers, registers_from) = if own && !device.is_virtual() {
            let registers = u32::try_from(attribute(FunctionAttribute::NumRegisters)?).ok();
            (registers, "the driver".to_owned())
        } else {
            match ptxas_registers(name, capability) {
                Ok(registers) => (Some(registers), format!("ptxas for sm_{}", capability.number())),
                Err(reason) => (None, reason),
            }
        };
        let uses_dynamic_shared =
            LEVELS.of(name).is_some_and(|level| names_dynamic_shared(&level.alone(name)));
        Ok(Self { registers, registers_from, static_shared, uses_dynamic_shared })
    }
}

/// Whether a module's code names its dynamic shared memory: an array whose extent the module leaves open.
fn names_dynamic_shared(ptx: &str) -> bool {
    let open = |line: &&str| line.starts_with(".extern .shared") && line.trim_end().ends_with("[];");
    let arrays = ptx.lines().filter(open).filter_map(|line| line.split_whitespace().last());
    arrays.map(|array| array.trim_end_matches("[];")).any(|array| {
        let mut others = ptx.lines().filter(|line| !line.starts_with(".extern") && !line.starts_with("//"));
        others.any(|line| line.contains(array))
    })
}

/// Registers of a kernel as `ptxas` assigns them, or why it cannot be asked.
fn ptxas_registers(kernel: &str, capability: Capability) -> Result<u32, String> {
    let level = LEVELS.of(kernel).ok_or("the kernel is in no module")?;
    if let Some(reason) = level.refusal((capability.major.into(), capability.minor.into())) {
        return Err(reason);
    }
    assembled(kernel, &level.alone(kernel), capability)
}

/// The same of a kernel in a text.
fn assembled(kernel: &str, ptx: &str, capability: Capability) -> Result<u32, String> {
    /// Output of `ptxas`, by architecture, kernel and text.
    static PRINTED: Mutex<BTreeMap<String, Result<String, String>>> = Mutex::new(BTreeMap::new());
    let ptxas = programs::find("ptxas").ok_or("there is no ptxas; `warpsmith doctor` says how to get it")?;
    let target = ptx.lines().find_map(|line| line.trim().strip_prefix(".target sm_")).unwrap_or_default();
    let number = target.trim_start_matches(|c: char| c.is_ascii_digit());
    let suffix = if number.starts_with('a') { "a" } else { "" };
    let arch = format!("sm_{}{suffix}", capability.number());
    let key = format!("{arch} {kernel} {ptx}");
    let printed = || PRINTED.lock().unwrap_or_else(PoisonError::into_inner);
    let known = printed().get(&key).cloned();
    // Not under the lock: several kernels are assembled at a time.
    let text = known.unwrap_or_else(|| {
        let text = assemble(&ptxas, ptx, &arch, kernel);
        printed().insert(key, text.clone());
        text
    })?;
    registers_in(&text, kernel).ok_or_else(|| {
        let first = text.lines().find(|line| line.contains("fatal") || line.contains("error"));
        format!("ptxas does not say: {}", first.unwrap_or("its output names no such kernel"))
    })
}

/// Asks `ptxas` about all these kernels at a time, so that [`Resources::of`] need not wait for each: the larger modules take it
/// tens of seconds. What it cannot answer is said there.
pub fn ask_about(kernels: &[&Description], capability: Capability) {
    kernels.par_iter().for_each(|kernel| {
        let _ = ptxas_registers(kernel.name, capability);
    });
}

/// Output of `ptxas -v` for a module of one kernel.
fn assemble(ptxas: &Path, ptx: &str, arch: &str, kernel: &str) -> Result<String, String> {
    let input = std::env::temp_dir().join(format!("warpsmith-{}-{kernel}.ptx", std::process::id()));
    std::fs::write(&input, ptx).map_err(|error| format!("{}: {error}", input.display()))?;
    let output = Command::new(ptxas)
        .args(["-v", "-arch", arch, "-o"])
        .arg(if cfg!(windows) { "NUL" } else { "/dev/null" })
        .arg(&input)
        .output();
    // A file left in the temporary folder does no harm.
    let _ = std::fs::remove_file(&input);
    let output = output.map_err(|error| format!("{}: {error}", ptxas.display()))?;
    Ok(String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Finds `Used N registers` of the kernel in what `ptxas -v` prints.
fn registers_in(text: &str, kernel: &str) -> Option<u32> {
    let quoted = format!("'{kernel}'");
    let mut lines =
        text.lines().skip_while(|line| !(line.contains("Compiling entry") && line.contains(&quoted)));
    lines.next()?;
    let used =
        lines.take_while(|line| !line.contains("Compiling entry")).find(|line| line.contains("Used "))?;
    used.split("Used ").nth(1)?.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'first' for 'sm_90'
ptxas info    : Function properties for first
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 12 registers, used 0 barriers
ptxas info    : Compiling entry function 'second' for 'sm_90'
ptxas info    : Used 40 registers, used 1 barriers, 2048 bytes smem";

    #[test]
    fn dynamic_shared_memory_shows_in_the_code_that_names_it() {
        for (kernel, uses) in [("matmul_dynamic", true), ("matmul_tiled_16", false), ("vecadd", false)] {
            let level = LEVELS.of(kernel).unwrap();
            assert_eq!(names_dynamic_shared(&level.alone(kernel)), uses, "{kernel}");
        }
        let both = ".extern .shared .align 4 .b8 open[];\n.visible .entry plain()\n{\nret;\n}\n\
                    .visible .entry dynamic(.param .u64 a)\n{\n{\n}\nmov.u32 %r1, open;\n}\n";
        let of = |kernel| names_dynamic_shared(&alone(both, kernel));
        assert!(!of("plain") && of("dynamic"));
    }

    #[test]
    fn registers_are_those_of_the_kernel_asked_for() {
        assert_eq!(registers_in(PRINTED, "first"), Some(12));
        assert_eq!(registers_in(PRINTED, "second"), Some(40));
        assert_eq!(registers_in(PRINTED, "sec"), None);
        assert_eq!(registers_in("", "first"), None);
    }
}
