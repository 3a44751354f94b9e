//! The architectures that PTX can be made for.

use std::fmt;
use std::str::FromStr;

/// One row each: variant, capability, suffix, and the first PTX version (times ten) that knows the target.
macro_rules! architectures {
    ($($variant:ident = $capability:literal, $suffix:literal, $ptx:literal;)*) => {
        /// A virtual architecture, in CUDA's words `compute_XX`.
        ///
        /// Code for a base variant (`Compute90`) runs on that capability and every later one; for a family variant
        /// (`Compute100f`) on later ones of the same major version; for an architecture variant (`Compute90a`) on
        /// exactly that capability, whose own instructions it may use.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum NvvmArch {
            $(
                #[doc = concat!("`compute_", stringify!($capability), $suffix, "`")]
                $variant,
            )*
        }

        /// Compute 7.5, upstream's default: every GPU since 2018.
        impl Default for NvvmArch {
            fn default() -> Self {
                Self::Compute75
            }
        }

        impl NvvmArch {
            /// Every variant, in order of capability, the base variant first.
            pub const ALL: &'static [NvvmArch] = &[$(Self::$variant),*];

            const fn row(self) -> (u32, &'static str, u32, &'static str) {
                match self {
                    $(Self::$variant =>
                        ($capability, $suffix, $ptx, concat!("compute_", stringify!($capability), $suffix)),)*
                }
            }
        }
    };
}

architectures! {
    Compute35 = 35, "", 31;
    Compute37 = 37, "", 41;
    Compute50 = 50, "", 40;
    Compute52 = 52, "", 41;
    Compute53 = 53, "", 42;
    Compute60 = 60, "", 50;
    Compute61 = 61, "", 50;
    Compute62 = 62, "", 50;
    Compute70 = 70, "", 60;
    Compute72 = 72, "", 61;
    Compute73 = 73, "", 63;
    Compute75 = 75, "", 63;
    Compute80 = 80, "", 70;
    Compute86 = 86, "", 71;
    Compute87 = 87, "", 74;
    Compute88 = 88, "", 90;
    Compute89 = 89, "", 78;
    Compute90 = 90, "", 78;
    Compute90a = 90, "a", 80;
    Compute100 = 100, "", 86;
    Compute100f = 100, "f", 88;
    Compute100a = 100, "a", 86;
    Compute101 = 101, "", 86;
    Compute101f = 101, "f", 88;
    Compute101a = 101, "a", 86;
    Compute103 = 103, "", 88;
    Compute103f = 103, "f", 88;
    Compute103a = 103, "a", 88;
    Compute110 = 110, "", 90;
    Compute110f = 110, "f", 90;
    Compute110a = 110, "a", 90;
    Compute120 = 120, "", 87;
    Compute120f = 120, "f", 88;
    Compute120a = 120, "a", 87;
    Compute121 = 121, "", 88;
    Compute121f = 121, "f", 88;
    Compute121a = 121, "a", 88;
}

impl NvvmArch {
    /// The capability as a number: 90 for `Compute90a`.
    pub const fn capability_value(self) -> u32 {
        self.row().0
    }

    /// The major version: 9 for `Compute90a`, 12 for `Compute121`.
    pub const fn major_version(self) -> u32 {
        self.capability_value() / 10
    }

    /// The minor version: 0 for `Compute90a`, 1 for `Compute121`.
    pub const fn minor_version(self) -> u32 {
        self.capability_value() % 10
    }

    /// The name that kernels test with `cfg(target_feature = "compute_90a")`.
    pub const fn target_feature(self) -> &'static str {
        self.row().3
    }

    /// Every `target_feature` that holds when compiling for this architecture, by upstream's rules: all base variants
    /// up to this capability; for a family or architecture variant also the family variants of the same major
    /// version up to it; and itself.
    pub fn all_target_features(self) -> Vec<String> {
        let holds = |other: &NvvmArch| {
            let reached = other.capability_value() <= self.capability_value();
            match other.suffix() {
                "" => reached,
                "f" => !self.is_base_variant() && reached && other.major_version() == self.major_version(),
                _ => *other == self,
            }
        };
        Self::ALL.iter().filter(|other| holds(other)).map(|other| other.target_feature().to_owned()).collect()
    }

    /// The base variants from the oldest to this one's capability.
    pub fn iter_up_to(self) -> impl Iterator<Item = Self> {
        let limit = self.capability_value();
        Self::ALL.iter().copied().filter(move |a| a.is_base_variant() && a.capability_value() <= limit)
    }

    /// Whether code for it runs on every later capability.
    pub fn is_base_variant(self) -> bool {
        self.suffix().is_empty()
    }

    /// Whether it has the suffix `f`.
    pub fn is_family_variant(self) -> bool {
        self.suffix() == "f"
    }

    /// Whether it has the suffix `a`.
    pub fn is_architecture_variant(self) -> bool {
        self.suffix() == "a"
    }

    /// The variant of the same capability without a suffix.
    pub fn base_architecture(self) -> Self {
        *Self::ALL
            .iter()
            .find(|a| a.is_base_variant() && a.capability_value() == self.capability_value())
            .unwrap_or(&self)
    }

    /// All variants of the same capability, the base variant first.
    pub fn get_variants(self) -> Vec<Self> {
        Self::variants_for_capability(self.capability_value())
    }

    /// All variants of a capability such as 90; none if there is no such capability.
    pub fn variants_for_capability(capability: u32) -> Vec<Self> {
        Self::ALL.iter().copied().filter(|a| a.capability_value() == capability).collect()
    }

    fn suffix(self) -> &'static str {
        self.row().1
    }

    /// LLVM's name of the processor.
    pub(crate) fn processor(self) -> String {
        // Compute 7.3 was never a chip; its virtual architecture adds nothing to 7.2.
        let capability = if self == Self::Compute73 { 72 } else { self.capability_value() };
        format!("sm_{capability}{}", self.suffix())
    }

    /// The first PTX version that knows the target, times ten.
    pub(crate) const fn first_ptx_version(self) -> u32 {
        self.row().2
    }
}

impl fmt::Display for NvvmArch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.target_feature())
    }
}

/// The text names no architecture.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no architecture `{asked}`; the names are compute_50 to compute_121, some with the suffix `f` or `a`, such as compute_90a"
)]
pub struct UnknownArch {
    asked: String,
}

impl FromStr for NvvmArch {
    type Err = UnknownArch;

    /// Reads `compute_90a`, `sm_90a`, `90a` or `9.0a`.
    fn from_str(text: &str) -> Result<Self, UnknownArch> {
        let bare = text
            .strip_prefix("compute_")
            .or_else(|| text.strip_prefix("sm_"))
            .unwrap_or(text)
            .replace('.', "");
        Self::ALL
            .iter()
            .copied()
            .find(|a| a.target_feature()["compute_".len()..] == bare)
            .ok_or_else(|| UnknownArch { asked: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for &arch in NvvmArch::ALL {
            assert_eq!(arch.to_string().parse(), Ok(arch));
        }
        assert_eq!("9.0a".parse(), Ok(NvvmArch::Compute90a));
        assert!("compute_91".parse::<NvvmArch>().unwrap_err().to_string().contains("compute_91"));
    }

    #[test]
    fn gates_follow_the_newest_rules() {
        let features = |a: NvvmArch| a.all_target_features().join(" ");
        assert!(features(NvvmArch::Compute61).ends_with("compute_60 compute_61"));
        let hopper = features(NvvmArch::Compute90a);
        assert!(hopper.ends_with("compute_89 compute_90 compute_90a"), "{hopper}");
        let family = features(NvvmArch::Compute103f);
        assert!(
            family.ends_with("compute_100 compute_100f compute_101 compute_101f compute_103 compute_103f"),
            "{family}"
        );
        let other_major = features(NvvmArch::Compute120a);
        assert!(!other_major.contains("100f") && other_major.contains("compute_120f"), "{other_major}");
    }

    #[test]
    fn versions_split_at_the_last_digit() {
        let arch = NvvmArch::Compute121f;
        assert_eq!((arch.major_version(), arch.minor_version(), arch.capability_value()), (12, 1, 121));
        assert_eq!(arch.base_architecture(), NvvmArch::Compute121);
        assert_eq!(NvvmArch::variants_for_capability(90), [NvvmArch::Compute90, NvvmArch::Compute90a]);
        assert_eq!(NvvmArch::Compute52.iter_up_to().count(), 4);
    }
}
