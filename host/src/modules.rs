//! The kernels' PTX, one module for each feature level.

use std::collections::BTreeMap;

use warpsmith_launch::{Error, Level, Levels, Limits};

use crate::registry;

macro_rules! level {
    ($arch:literal) => {
        Level::new(include_str!(concat!(env!("OUT_DIR"), "/kernels_", $arch, ".ptx")))
    };
}

/// The modules, lowest first. All demos are in the first; a higher one holds only what its hardware adds.
pub static LEVELS: Levels = Levels::new(&[level!("compute_75"), level!("compute_80"), level!("compute_90a")]);

/// The kernels that a device cannot run, by the reason.
pub fn left_out(limits: &Limits) -> Result<BTreeMap<String, Vec<&'static str>>, Error> {
    let mut left_out: BTreeMap<String, Vec<&'static str>> = BTreeMap::new();
    for (_, kernel) in registry::kernels() {
        let reason = match LEVELS.of(kernel.name)? {
            Some(level) => level.refusal(limits.capability),
            None => Some("it is in no module".to_owned()),
        };
        if let Some(reason) = reason {
            left_out.entry(reason).or_default().push(kernel.name);
        }
    }
    Ok(left_out)
}
