//! Loops that the compiler turns into vectors, compiled for the widest vectors that a processor may have.

/// Work in such loops. What `run` calls is inlined into it, or it is compiled for all processors.
pub(crate) trait Work {
    type Output;

    /// With `LANES` values of 64 bits in four vectors. `FUSES`: whether a product and a sum are one instruction.
    fn run<const LANES: usize, const FUSES: bool>(self) -> Self::Output;
}

/// The processor's vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Vectors {
    Any,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Vectors {
    /// The widest.
    #[inline]
    pub fn widest() -> Self {
        #[cfg(test)]
        if let Some(these) = tests::THESE.get() {
            return these;
        }
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
            {
                return Self::Avx512;
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                return Self::Avx2;
            }
        }
        Self::Any
    }
}

/// Does it with the widest vectors.
#[inline]
pub(crate) fn run<W: Work>(work: W) -> W::Output {
    match Vectors::widest() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the processor has what the function is compiled for.
        Vectors::Avx512 => unsafe { with_avx512(work) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Vectors::Avx2 => unsafe { with_avx2(work) },
        Vectors::Any => with_any(work),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn with_avx512<W: Work>(work: W) -> W::Output {
    work.run::<32, true>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn with_avx2<W: Work>(work: W) -> W::Output {
    work.run::<16, true>()
}

fn with_any<W: Work>(work: W) -> W::Output {
    // Without the instruction a fused product and sum is a slow function.
    work.run::<8, { cfg!(target_arch = "aarch64") }>()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        /// Vectors that this thread uses.
        pub static THESE: Cell<Option<Vectors>> = const { Cell::new(None) };
    }

    /// Does it with all vectors that the processor has.
    pub fn with_each(mut test: impl FnMut()) {
        let widest = Vectors::widest();
        let all = [
            Vectors::Any,
            #[cfg(target_arch = "x86_64")]
            Vectors::Avx2,
            #[cfg(target_arch = "x86_64")]
            Vectors::Avx512,
        ];
        for these in all.into_iter().take_while(|&these| these as u8 <= widest as u8) {
            THESE.set(Some(these));
            test();
        }
        THESE.set(None);
    }
}
