//! The processor that code is made for.

/// Whether there is code for it here.
pub fn is_known() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

/// Whether a vector of 16 words is one register of it.
pub fn is_wide() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vl")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

/// What tells it from others for which other code would be made: what it says of itself, and whether the system lets
/// programs use its wide registers.
pub fn identity() -> Vec<u8> {
    let mut identity = vec![u8::from(is_known()), u8::from(is_wide())];
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::__cpuid_count;
        // Vendor; model and features, but for `ebx`, which says on which core this runs; features.
        for (leaf, part) in [(0, 0), (1, 0), (7, 0), (7, 1), (0x8000_0001, 0)] {
            let said = __cpuid_count(leaf, part);
            let ebx = if leaf == 1 { 0 } else { said.ebx };
            for word in [said.eax, ebx, said.ecx, said.edx] {
                identity.extend(word.to_le_bytes());
            }
        }
    }
    identity
}
