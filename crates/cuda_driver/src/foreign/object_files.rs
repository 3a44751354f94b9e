//! The linker's other inputs: the host's object files and libraries, with fatbins in them.

use crate::objects::image::{ELF, Image, Refused, fatbin, read_bytes};

const ARCHIVE: &[u8] = b"!<arch>\n";

/// `libcudadevrt.a` is machine code but for a device newer than all: its functions come from here.
const DEVICE_RUNTIME: &str = include_str!("device_runtime.ptx");
/// The only file in that library.
const DEVICE_RUNTIME_OBJECT: &[u8] = b"cuda_device_runtime.o";

/// Reads a linker input: an image as above, or the host's object files, alone or in a library, each with a fatbin.
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
        images.push(Image { ptx: fatbin::read(rest, device)? });
        rest = &rest[fatbin::length(rest).unwrap_or(rest.len())..];
    }
    if images.is_empty() { Err(Refused::NoFatbin) } else { Ok(images) }
}

fn is_host_object(bytes: &[u8]) -> bool {
    const CUDA: [u8; 2] = 190_u16.to_le_bytes();
    bytes.starts_with(&ELF) && bytes.get(18..20).is_some_and(|machine| machine != CUDA)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(read_objects(&object, 90).unwrap()[0].ptx, fatbin::read(LZ4, 90).unwrap());
        object[18] = 190;
        assert!(
            matches!(read_objects(&object, 90), Err(Refused::Damaged(_))),
            "the header of a cubin is longer"
        );
    }
}
