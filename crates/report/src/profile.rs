//! The profile that the virtual GPU writes (`WARPSMITH_PROFILE`), read back.

pub use gpu_model::profile::{Counters, GlobalCounters, LaunchProfile};
use serde::{Deserialize, Serialize};

/// Launches of a program's run, with their counters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Version of this shape; 1.
    pub version: u32,
    /// The chip that the virtual GPU stood for.
    #[serde(default)]
    pub model: String,
    /// Kind of instruction: `ptx`.
    #[serde(default)]
    pub view: String,
    /// Kernel launches, in order.
    #[serde(default)]
    pub launches: Vec<LaunchProfile>,
}

/// A profile that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// Not JSON, or not of this shape.
    #[error("the profile is not readable: {0}")]
    Json(#[from] serde_json::Error),
    /// From another time.
    #[error("the profile has version {0}; this program reads version 1")]
    Version(u32),
}

impl Profile {
    /// Reads a profile from its JSON.
    pub fn parse(json: &str) -> Result<Self, ProfileError> {
        let profile: Self = serde_json::from_str(json)?;
        if profile.version != 1 {
            return Err(ProfileError::Version(profile.version));
        }
        Ok(profile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpu_model::profile::{Advice, Rates, rank};

    const SAMPLE: &str = r#"{"version":1,"model":"h200","view":"ptx","launches":[{
        "kernel":"transpose_tile","grid":[32,32,1],"block":[32,8,1],"shared_bytes":4096,"warp_instructions":900000,
        "counters":{
            "shared_load":{"instructions":32768,"wavefronts":1048576,"ideal_wavefronts":32768,"bank_conflicts":1015808},
            "shared_store":{"instructions":32768,"wavefronts":32768,"ideal_wavefronts":32768,"bank_conflicts":0},
            "global_load":{"requests":32768,"sectors":131072,"bytes":4194304},
            "global_store":{"requests":32768,"sectors":131072,"bytes":4194304}},
        "lines":[
            {"file":"transpose.rs","line":10,"global_load":{"requests":32768,"sectors":131072,"bytes":4194304}},
            {"file":"transpose.rs","line":14,
             "shared_load":{"instructions":32768,"wavefronts":1048576,"ideal_wavefronts":32768,"bank_conflicts":1015808}}],
        "not_counted":[{"family":"ldmatrix","instructions":8}]}]}"#;

    #[test]
    fn the_documented_shape_is_read() {
        let profile = Profile::parse(SAMPLE).unwrap();
        let launch = &profile.launches[0];
        assert_eq!(launch.counters.shared().bank_conflicts, 1_015_808);
        assert_eq!(launch.counters.global().sectors, 262_144);
        assert_eq!(launch.counters.global_load.efficiency(), Some(1.0));
        let rates = Rates::of(&gpu_model::chips::H200);
        let ranked = rank(&launch.lines, &rates);
        assert_eq!(ranked[0].line.line, 14);
        assert!(matches!(ranked[0].advice(&rates)[..], [Advice::BankConflicts { degree: 32.0, .. }]));
        assert!(!ranked[1].wastes(&rates));
        assert_eq!(launch.not_counted[0].instructions, 8);
    }

    #[test]
    fn another_version_is_refused() {
        assert!(matches!(Profile::parse(r#"{"version":2}"#), Err(ProfileError::Version(2))));
        assert!(matches!(Profile::parse("[]"), Err(ProfileError::Json(_))));
    }
}
