//! What the kernel is compiled for.

macro_rules! capabilities {
    ($($variant:ident = $arch:literal,)*) => {
        /// A compute capability that kernels can be compiled for, in ascending order.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum ComputeCapability {
            $(
                #[doc = concat!("`", stringify!($variant), "`, which `CUDA_ARCH` calls ", $arch, ".")]
                $variant,
            )*
        }

        impl ComputeCapability {
            /// Reads `CUDA_ARCH` (`"750"` is 7.5), the variable that `cuda_builder` sets for the device crate.
            const fn from_arch(arch: &str) -> Option<Self> {
                match arch.as_bytes() {
                    $(bytes if same(bytes, $arch.as_bytes()) => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }

        #[cfg(test)]
        const ALL: &[(ComputeCapability, &str)] = &[$((ComputeCapability::$variant, $arch)),*];
    };
}

capabilities! {
    Compute35 = "350",
    Compute37 = "370",
    Compute50 = "500",
    Compute52 = "520",
    Compute53 = "530",
    Compute60 = "600",
    Compute61 = "610",
    Compute62 = "620",
    Compute70 = "700",
    Compute72 = "720",
    Compute73 = "730",
    Compute75 = "750",
    Compute80 = "800",
    Compute86 = "860",
    Compute87 = "870",
    Compute88 = "880",
    Compute89 = "890",
    Compute90 = "900",
    Compute100 = "1000",
    Compute101 = "1010",
    Compute103 = "1030",
    Compute110 = "1100",
    Compute120 = "1200",
    Compute121 = "1210",
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

impl ComputeCapability {
    /// The capability that this device crate is compiled for: a constant, so the branch not taken costs nothing.
    ///
    /// # Panics
    ///
    /// Outside device code, where there is none.
    #[inline(always)]
    pub fn from_cuda_arch_env() -> Self {
        const CAPABILITY: Option<ComputeCapability> = match option_env!("CUDA_ARCH") {
            Some(arch) => ComputeCapability::from_arch(arch),
            None => None,
        };
        match CAPABILITY {
            Some(capability) => capability,
            None => panic!(
                "the compute capability is known only on the GPU (`CUDA_ARCH` names none that we know)"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_capability_is_read_back_and_ordered_as_its_number() {
        for (capability, arch) in ALL {
            assert_eq!(ComputeCapability::from_arch(arch), Some(*capability));
        }
        assert!(ALL.windows(2).all(|pair| {
            pair[0].0 < pair[1].0 && pair[0].1.parse::<u32>().unwrap() < pair[1].1.parse().unwrap()
        }));
    }

    #[test]
    fn unknown_capability_is_none() {
        assert_eq!(ComputeCapability::from_arch("75"), None);
        assert_eq!(ComputeCapability::from_arch("7500"), None);
        assert_eq!(ComputeCapability::from_arch(""), None);
    }
}
