//! What a module can be loaded from: PTX text, or a fatbin that holds some.

use std::ffi::CStr;

use crate::abi::CUresult;

/// What can be executed.
#[derive(Debug, PartialEq, Eq)]
pub enum Image {
    /// PTX text.
    Ptx(String),
}

/// Why an image cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Machine code of a real GPU.
    #[error(
        "this module is machine code (a cubin); the virtual GPU executes PTX: compile with `-arch=compute_XX` or load PTX"
    )]
    Cubin,
    /// No PTX in a fatbin.
    #[error(
        "this fatbin holds machine code and no PTX; compile with `-gencode arch=compute_XX,code=compute_XX`"
    )]
    NoPtx,
    /// Nothing that is known.
    #[error("this is neither PTX text nor a fatbin")]
    Unknown,
    /// A fatbin that is cut short or spoiled.
    #[error("this fatbin is damaged: {0}")]
    Damaged(String),
}

impl Refused {
    /// The real driver's code for it.
    pub fn code(&self) -> CUresult {
        match self {
            Self::Cubin | Self::NoPtx => CUresult::NO_BINARY_FOR_GPU,
            Self::Unknown | Self::Damaged(_) => CUresult::INVALID_IMAGE,
        }
    }

    /// Tells the user what the code alone does not.
    pub fn say(&self) {
        eprintln!("warpsmith: {self}");
    }
}

/// Reads an image in memory.
///
/// # Safety
/// `image` points at PTX text that ends with NUL, or at a binary as long as its own header says.
pub unsafe fn read(image: *const u8) -> Result<Image, Refused> {
    // SAFETY: text has at least its NUL; a binary's header is longer than this.
    let first = unsafe { std::slice::from_raw_parts(image, 1) };
    match first[0] {
        // SAFETY: not a binary's first byte, so it is text, which ends with NUL.
        byte if byte != ELF[0] && byte < 0x80 => text(unsafe { CStr::from_ptr(image.cast()) }.to_bytes()),
        _ => Err(Refused::Cubin),
    }
}

const ELF: &[u8] = b"\x7fELF";

/// Reads an image of known length; text ends with NUL.
pub fn read_bytes(bytes: &[u8]) -> Result<Image, Refused> {
    match bytes {
        [0x7f, b'E', b'L', b'F', ..] => Err(Refused::Cubin),
        [byte, ..] if *byte < 0x80 => text(bytes.split(|&byte| byte == 0).next().unwrap_or_default()),
        _ => Err(Refused::Unknown),
    }
}

fn text(bytes: &[u8]) -> Result<Image, Refused> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.trim().is_empty() => Ok(Image::Ptx(text.to_owned())),
        // Names in `.file` lines may be in another encoding; PTX itself is ASCII.
        Err(_) => Ok(Image::Ptx(String::from_utf8_lossy(bytes).into_owned())),
        Ok(_) => Err(Refused::Unknown),
    }
}
