//! The target that the kernel is compiled for.

macro_rules! capabilities {
    ($($variant:ident = $arch:literal,)*) => {
        /// A compute capability that kernels can be compiled for, in ascending order.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum ComputeCapability {
            $(
                #[doc = concat!("`", stringify!($variant), "`, which the variable `CUDA_ARCH` of a device build calls `", $arch, "`.")]
                $variant,
            )*
        }

        impl ComputeCapability {
            /// The capability with this number: 750 is 7.5.
            #[cfg_attr(not(any(test, target_os = "cuda")), allow(dead_code))]
            #[inline(always)]
            const fn from_number(number: u32) -> Option<Self> {
                match number {
                    $($arch => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }

        #[cfg(test)]
        const ALL: &[(ComputeCapability, u32)] = &[$((ComputeCapability::$variant, $arch)),*];
    };
}

capabilities! {
    Compute35 = 350,
    Compute37 = 370,
    Compute50 = 500,
    Compute52 = 520,
    Compute53 = 530,
    Compute60 = 600,
    Compute61 = 610,
    Compute62 = 620,
    Compute70 = 700,
    Compute72 = 720,
    Compute73 = 730,
    Compute75 = 750,
    Compute80 = 800,
    Compute86 = 860,
    Compute87 = 870,
    Compute88 = 880,
    Compute89 = 890,
    Compute90 = 900,
    Compute100 = 1000,
    Compute101 = 1010,
    Compute103 = 1030,
    Compute110 = 1100,
    Compute120 = 1200,
    Compute121 = 1210,
}

/// The target's compute capability as a number: 750 is 7.5.
///
/// `cuda_builder` inserts the number during lowering, so this crate is compiled once for all architectures: a variable
/// or a `cfg` of the device build would make it a different crate for each.
#[cfg(target_os = "cuda")]
#[inline(always)]
pub(crate) fn number() -> u32 {
    unsafe extern "Rust" {
        #[link_name = "warpsmith:capability"]
        safe fn capability() -> u32;
    }
    capability()
}

impl ComputeCapability {
    /// The compute capability this device crate is compiled for. It is a constant, so the branch not taken costs
    /// nothing.
    ///
    /// # Panics
    ///
    /// On the host, which has none.
    #[inline(always)]
    pub fn from_cuda_arch_env() -> Self {
        #[cfg(target_os = "cuda")]
        {
            match Self::from_number(number()) {
                Some(capability) => capability,
                None => panic!("`cuda_std` knows no compute capability of this number"),
            }
        }
        #[cfg(not(target_os = "cuda"))]
        panic!("the compute capability is known only on the GPU")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_capability_is_read_back_and_ordered_as_its_number() {
        for (capability, number) in ALL {
            assert_eq!(ComputeCapability::from_number(*number), Some(*capability));
        }
        assert!(ALL.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1));
    }

    #[test]
    fn unknown_capability_is_none() {
        for number in [0, 75, 7500] {
            assert_eq!(ComputeCapability::from_number(number), None);
        }
    }
}
