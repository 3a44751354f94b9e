//! Why an image cannot be loaded.

use super::client::setting;
use crate::abi::CUresult;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error(
        "this module is machine code (a cubin) without its PTX, which the virtual GPU executes. {}",
        setting()
    )]
    Cubin,
    #[error("this fatbin holds machine code and no PTX, which the virtual GPU executes. {}", setting())]
    NoPtx,
    #[cfg(not(feature = "foreign"))]
    #[error(
        "this fatbin's PTX is compressed, which this build of cuda_driver cannot read: its feature `foreign` is off"
    )]
    Compressed,
    #[error("this file holds no fatbin: compile with `-rdc=true -gencode arch=compute_XX,code=compute_XX`")]
    NoFatbin,
    #[error("this fatbin holds PTX for compute_{lowest} and newer; the virtual GPU is sm_{device}")]
    TooNew {
        /// The oldest architecture for which it contains PTX.
        lowest: u32,
        device: u32,
    },
    #[error(
        "this module is NVVM intermediate code, not PTX: link it with nvJitLink or compile without `-dlto`"
    )]
    Nvvm,
    #[error("this is neither PTX text nor a fatbin")]
    Unknown,
    #[error("this fatbin is damaged: {0}")]
    Damaged(&'static str),
}

impl Refused {
    pub fn code(&self) -> CUresult {
        match self {
            #[cfg(not(feature = "foreign"))]
            Self::Compressed => CUresult::NOT_SUPPORTED,
            Self::Cubin | Self::NoPtx | Self::NoFatbin | Self::TooNew { .. } => CUresult::NO_BINARY_FOR_GPU,
            Self::Nvvm | Self::Unknown | Self::Damaged(_) => CUresult::INVALID_IMAGE,
        }
    }

    /// Tells the user what the error code alone does not.
    pub fn say(&self) {
        eprintln!("warpsmith: {self}");
    }
}
