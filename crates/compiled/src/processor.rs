//! The processor for which code is generated.

/// Whether code can be generated for it.
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

/// Whether it has registers for a vector of 16 words.
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

/// Identifies it among processors that would need other code: its own identification, and whether the system lets
/// programs use its wide registers.
pub fn identity() -> Vec<u8> {
    let mut identity = vec![u8::from(is_known()), u8::from(is_wide())];
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::__cpuid_count;
        // Vendor; model and features, except `ebx`, which says which core this is; features.
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
