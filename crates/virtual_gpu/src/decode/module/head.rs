//! A module's head: version, size of addresses, target.

use gpu_model::{Capability, Chip};

use crate::Error;
use crate::decode::Refusal;
use crate::decode::requirements::Requirements;

/// Refuses a head that the chip cannot run. Gives the capability that the module was made for, and what it may use.
pub(super) fn check(module: &ptx::Module, text: &str, chip: &Chip) -> Result<(u32, Requirements), Error> {
    check_version(module, text)?;
    check_address_size(module, text)?;
    Ok((check_target(module, chip)?, check_requirements(module, text)?))
}

/// The line of a directive of the module's head.
fn line_of(text: &str, directive: &str) -> u32 {
    text.lines().position(|line| line.trim_start().starts_with(directive)).map_or(1, |at| at as u32 + 1)
}

/// Refuses a version of PTX that does not exist.
fn check_version(module: &ptx::Module, text: &str) -> Result<(), Error> {
    let (major, minor) = module.version;
    if (1..=9).contains(&major) && minor <= 9 {
        return Ok(());
    }
    let reason = "there is no such version of PTX; 1.0 to 9.9 are read".to_owned();
    let instruction = format!(".version {major}.{minor}");
    Err(Error::Unsupported { instruction, reason, line: line_of(text, ".version"), source_line: None })
}

/// Refuses addresses of 32 bits, which drivers of 64-bit machines and all chips since Hopper do.
fn check_address_size(module: &ptx::Module, text: &str) -> Result<(), Error> {
    if module.address_size == 64 {
        return Ok(());
    }
    let instruction = format!(".address_size {}", module.address_size);
    let reason = "device addresses have 64 bits; compile for a 64-bit machine (nvcc -m64)".to_owned();
    Err(Error::Unsupported { instruction, reason, line: line_of(text, ".address_size"), source_line: None })
}

fn check_target(module: &ptx::Module, chip: &Chip) -> Result<u32, Error> {
    let name = module.targets.first().map_or("", |t| t.as_str());
    let own = chip.capability();
    let refuse = || Error::Target {
        target: name.to_owned(),
        chip: chip.name.to_owned(),
        capability: format!("sm_{}", own.number()),
    };
    let wanted: Capability = name.parse().map_err(|_| refuse())?;
    // `a` features are for exactly that capability, `f` for its family; plain targets run on all later chips.
    let fits = match name.as_bytes().last() {
        Some(b'a') => wanted == own,
        Some(b'f') => wanted.major == own.major && wanted <= own,
        _ => wanted <= own,
    };
    if !fits {
        return Err(refuse());
    }
    Ok(wanted.number())
}

/// The features that a module may use, and whether its version knows its target.
fn check_requirements(module: &ptx::Module, text: &str) -> Result<Requirements, Error> {
    let target = module.targets.first().map_or("", |t| t.as_str());
    let requirements = Requirements::new(module.version, target);
    match requirements.check_words(".target", &[target]) {
        Ok(()) => Ok(requirements),
        Err(Refusal(reason)) => {
            let (instruction, line) = (format!(".target {target}"), line_of(text, ".target"));
            Err(Error::Unsupported { instruction, reason, line, source_line: None })
        }
    }
}
