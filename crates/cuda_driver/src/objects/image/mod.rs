//! Images of modules: PTX text, or fatbins and machine code that contain some.

mod client;
mod cubin;
pub mod fatbin;
mod refused;

use std::ffi::CStr;

pub use refused::Refused;

/// Loadable PTX: the best choice for a device first.
#[derive(Debug, PartialEq, Eq)]
pub struct Image {
    /// Texts of the same module, for different targets.
    pub ptx: Vec<String>,
}

/// The start of an ELF file: of the host's, or machine code.
pub const ELF: [u8; 4] = *b"\x7fELF";
const BITCODE: [u8; 4] = *b"BC\xc0\xde";

/// The start of the wrapper that the compiler embeds in programs: a version, then the fatbin's address.
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
/// `image` points to PTX text that ends with NUL, or to a binary as long as its own header says.
pub unsafe fn read(image: *const u8, device: u32) -> Result<Image, Refused> {
    // Text may be shorter than a magic number: each byte is read only after the previous one has matched.
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
        let fatbin = unsafe { std::slice::from_raw_parts(image, length) };
        return fatbin::read(fatbin, device).map(|ptx| Image { ptx });
    }
    if starts_with(ELF) {
        let damaged = Refused::Damaged("its size is not possible");
        // SAFETY: the header is there, and tells where the table of sections ends, and that how long the whole is.
        let bytes = |length| unsafe { std::slice::from_raw_parts(image, length) };
        let table = cubin::end_of_table(bytes(cubin::HEADER)).ok_or(damaged.clone())?;
        let length = cubin::length(bytes(table)).ok_or(damaged)?;
        return cubin::read(bytes(length)).map(|text| Image { ptx: vec![text] });
    }
    if starts_with(BITCODE) {
        return Err(Refused::Nvvm);
    }
    // SAFETY: not a known binary, so it is text, which ends with NUL.
    text(unsafe { CStr::from_ptr(image.cast()) }.to_bytes())
}

pub fn read_bytes(bytes: &[u8], device: u32) -> Result<Image, Refused> {
    match bytes.first_chunk() {
        Some(&fatbin::MAGIC) => fatbin::read(bytes, device).map(|ptx| Image { ptx }),
        Some(&ELF) => cubin::read(bytes).map(|text| Image { ptx: vec![text] }),
        Some(&BITCODE) => Err(Refused::Nvvm),
        _ => text(bytes.split(|&byte| byte == 0).next().unwrap_or_default()),
    }
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
    use crate::abi::CUresult;

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
    fn machine_code_is_refused_by_name() {
        let error = read_bytes(include_bytes!("../../../tests/cubins/plain.cubin"), 90).unwrap_err();
        assert_eq!(error.code(), CUresult::NO_BINARY_FOR_GPU);
        assert!(error.to_string().contains("cubin"));
        let lines = include_bytes!("../../../tests/cubins/lineinfo.cubin");
        let text = read_bytes(lines, 90).unwrap();
        // SAFETY: the file is whole.
        assert_eq!(unsafe { read(lines.as_ptr(), 90) }.unwrap(), text);
        assert_eq!(read_bytes(b"BC\xc0\xde....", 90), Err(Refused::Nvvm));
    }
}
