//! What a module can be loaded or linked from: PTX text, fatbins that hold some, and files with such fatbins in them.

use std::ffi::CStr;

use crate::abi::CUresult;
use crate::device::fatbin;

/// PTX that can be loaded: the best choice for a device first.
#[derive(Debug, PartialEq, Eq)]
pub struct Image {
    /// Texts of the same module, for different targets.
    pub ptx: Vec<String>,
}

/// Why an image cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Machine code of a real GPU.
    #[error(
        "this module is machine code (a cubin), and the virtual GPU executes PTX: compile with \
         `-gencode arch=compute_XX,code=compute_XX`, or load PTX text (nvJitLink makes nothing but machine code: \
         where it is not installed, Numba and cuda.core link PTX with the driver)"
    )]
    Cubin,
    /// No PTX in a fatbin.
    #[error(
        "this fatbin holds machine code and no PTX: compile with `-gencode arch=compute_XX,code=compute_XX`"
    )]
    NoPtx,
    /// No fatbin in an object file or a library.
    #[error("this file holds no fatbin: compile with `-rdc=true -gencode arch=compute_XX,code=compute_XX`")]
    NoFatbin,
    /// Only PTX for newer devices in a fatbin.
    #[error("this fatbin holds PTX for compute_{lowest} and newer; the virtual GPU is sm_{device}")]
    TooNew {
        /// The oldest architecture that it holds PTX for.
        lowest: u32,
        /// The device's.
        device: u32,
    },
    /// An intermediate language of another compiler stage.
    #[error(
        "this module is NVVM intermediate code, not PTX: link it with nvJitLink or compile without `-dlto`"
    )]
    Nvvm,
    /// Nothing that is known.
    #[error("this is neither PTX text nor a fatbin")]
    Unknown,
    /// A fatbin that is cut short or spoiled.
    #[error("this fatbin is damaged: {0}")]
    Damaged(&'static str),
}

impl Refused {
    /// The real driver's code for it.
    pub fn code(&self) -> CUresult {
        match self {
            Self::Cubin | Self::NoPtx | Self::NoFatbin | Self::TooNew { .. } => CUresult::NO_BINARY_FOR_GPU,
            Self::Nvvm | Self::Unknown | Self::Damaged(_) => CUresult::INVALID_IMAGE,
        }
    }

    /// Tells the user what the code alone does not.
    pub fn say(&self) {
        eprintln!("warpsmith: {self}");
    }
}

const ELF: [u8; 4] = *b"\x7fELF";
const BITCODE: [u8; 4] = *b"BC\xc0\xde";
const ARCHIVE: &[u8] = b"!<arch>\n";

/// `libcudadevrt.a` is machine code but for a device newer than all: its functions come from here.
const DEVICE_RUNTIME: &str = include_str!("device_runtime.ptx");
/// The only file in that library.
const DEVICE_RUNTIME_OBJECT: &[u8] = b"cuda_device_runtime.o";

/// The start of what the compiler embeds in programs: a version, then where the fatbin lies.
const WRAPPER: [u8; 4] = 0x4662_43b1_u32.to_le_bytes();

#[repr(C)]
#[derive(Clone, Copy)]
struct Wrapper {
    magic: u32,
    version: u32,
    fatbin: *const u8,
}

/// Reads an image in memory for a device of capability `device` (90 for 9.0).
///
/// # Safety
/// `image` points at PTX text that ends with NUL, or at a binary as long as its own header says.
pub unsafe fn read(image: *const u8, device: u32) -> Result<Image, Refused> {
    // Text may be shorter than a magic number: each byte is looked at only after the one before it has matched.
    // SAFETY: the first byte is there, and as long as a binary's magic number matches there is more.
    let starts_with = |magic: [u8; 4]| (0..4).all(|index| unsafe { image.add(index).read() } == magic[index]);
    if starts_with(WRAPPER) {
        // SAFETY: this is a wrapper, whose fatbin is complete by this function's contract.
        let wrapper = unsafe { image.cast::<Wrapper>().read_unaligned() };
        let _ = (wrapper.magic, wrapper.version);
        if wrapper.fatbin.is_null() {
            return Err(Refused::Damaged("its wrapper points nowhere"));
        }
        // SAFETY: as above.
        return unsafe { read(wrapper.fatbin, device) };
    }
    if starts_with(fatbin::MAGIC) {
        // SAFETY: the header is there, and tells how long the rest is.
        let header = unsafe { std::slice::from_raw_parts(image, fatbin::HEADER) };
        let length = fatbin::length(header).ok_or(Refused::Damaged("its size is not possible"))?;
        // SAFETY: as above.
        return fatbin::read(unsafe { std::slice::from_raw_parts(image, length) }, device);
    }
    if starts_with(ELF) {
        return Err(Refused::Cubin);
    }
    if starts_with(BITCODE) {
        return Err(Refused::Nvvm);
    }
    // SAFETY: no binary that is known, so it is text, which ends with NUL.
    text(unsafe { CStr::from_ptr(image.cast()) }.to_bytes())
}

/// Reads an image of known length, such as a file's.
pub fn read_bytes(bytes: &[u8], device: u32) -> Result<Image, Refused> {
    match bytes.first_chunk() {
        Some(&fatbin::MAGIC) => fatbin::read(bytes, device),
        Some(&ELF) => Err(Refused::Cubin),
        Some(&BITCODE) => Err(Refused::Nvvm),
        _ => text(bytes.split(|&byte| byte == 0).next().unwrap_or_default()),
    }
}

/// Reads what a linker is given: an image as above, or object files of the host, alone or in a library, each with a fatbin.
pub fn read_objects(bytes: &[u8], device: u32) -> Result<Vec<Image>, Refused> {
    let library = bytes.starts_with(ARCHIVE);
    if library && bytes.windows(DEVICE_RUNTIME_OBJECT.len()).any(|name| name == DEVICE_RUNTIME_OBJECT) {
        return Ok(vec![Image { ptx: vec![DEVICE_RUNTIME.to_owned()] }]);
    }
    if !library && !is_host_object(bytes) {
        return read_bytes(bytes, device).map(|image| vec![image]);
    }
    let mut images = Vec::new();
    let mut rest = bytes;
    while let Some(at) = rest.windows(4).position(|word| word == fatbin::MAGIC) {
        rest = &rest[at..];
        images.push(fatbin::read(rest, device)?);
        rest = &rest[fatbin::length(rest).unwrap_or(rest.len())..];
    }
    if images.is_empty() { Err(Refused::NoFatbin) } else { Ok(images) }
}

fn is_host_object(bytes: &[u8]) -> bool {
    const CUDA: [u8; 2] = 190_u16.to_le_bytes();
    bytes.starts_with(&ELF) && bytes.get(18..20).is_some_and(|machine| machine != CUDA)
}

fn text(bytes: &[u8]) -> Result<Image, Refused> {
    // Names in `.file` lines may be in another encoding; PTX itself is ASCII.
    let text = String::from_utf8_lossy(bytes);
    if text.trim().is_empty() {
        return Err(Refused::Unknown);
    }
    Ok(Image { ptx: vec![text.into_owned()] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_ends_at_its_nul() {
        let ptx = |bytes: &[u8]| read_bytes(bytes, 90).unwrap().ptx;
        assert_eq!(ptx(b".version 8.0\0junk"), [".version 8.0"]);
        // SAFETY: the text ends with NUL.
        assert_eq!(unsafe { read(c"P".as_ptr().cast(), 90) }.unwrap().ptx, ["P"]);
        assert_eq!(read_bytes(b" \n", 90), Err(Refused::Unknown));
        assert_eq!(read_bytes(b"", 90), Err(Refused::Unknown));
    }

    #[test]
    fn a_library_gives_the_text_of_each_of_its_fatbins() {
        const LZ4: &[u8] = include_bytes!("../../tests/fatbins/lz4.fatbin");
        const MIXED: &[u8] = include_bytes!("../../tests/fatbins/mixed.fatbin");
        let library = [ARCHIVE, b"host code", LZ4, b"more of it.", MIXED].concat();
        let images = read_objects(&library, 90).unwrap();
        let target = |image: &Image| image.ptx[0].split("sm_").nth(1).map(|rest| rest[..2].to_owned());
        assert_eq!(images.iter().filter_map(target).collect::<Vec<_>>(), ["75", "90"]);
        for end in ARCHIVE.len()..library.len() {
            let _ = read_objects(&library[..end], 90);
        }
        assert_eq!(read_objects(&library[..17], 90), Err(Refused::NoFatbin));
        let mut object = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x01\0\x3e\0".to_vec();
        assert_eq!(read_objects(&object, 90), Err(Refused::NoFatbin));
        object.extend(LZ4);
        assert_eq!(read_objects(&object, 90).unwrap()[0], fatbin::read(LZ4, 90).unwrap());
        object[18] = 190;
        assert_eq!(read_objects(&object, 90), Err(Refused::Cubin));
    }

    #[test]
    fn machine_code_is_refused_by_name() {
        let error = read_bytes(b"\x7fELF\x02\x01\x01\x33", 90).unwrap_err();
        assert_eq!(error.code(), CUresult::NO_BINARY_FOR_GPU);
        assert!(error.to_string().contains("cubin"));
        assert_eq!(read_bytes(b"BC\xc0\xde....", 90), Err(Refused::Nvvm));
    }
}
