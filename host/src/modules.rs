//! Which kernels a device can run.

use std::collections::BTreeMap;

pub use warpsmith_kernels::LEVELS;
use warpsmith_launch::Limits;

use crate::registry;

/// The kernels that a device cannot run, by the reason.
pub fn left_out(limits: &Limits) -> BTreeMap<String, Vec<&'static str>> {
    let mut left_out: BTreeMap<String, Vec<&'static str>> = BTreeMap::new();
    for (_, kernel) in registry::kernels() {
        let reason = match LEVELS.of(kernel.name) {
            Some(level) => level.refusal(limits.capability),
            None => Some("it is in no module".to_owned()),
        };
        if let Some(reason) = reason {
            left_out.entry(reason).or_default().push(kernel.name);
        }
    }
    left_out
}
