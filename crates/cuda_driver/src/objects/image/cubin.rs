//! Cubins: machine code, as ELF files. The PTX that it was compiled from is with it where the compiler was asked for line
//! numbers (`-lineinfo`) or for debug information (`-G`): in the section `.nv_debug_ptx_txt`, its lines ended by NUL.

use super::refused::Refused;

/// The size of an ELF file's header.
pub const HEADER: usize = 64;
const SECTION: usize = 64;
const PTX: &[u8] = b".nv_debug_ptx_txt\0";
/// A section without bytes in the file.
const NOBITS: u32 = 8;
/// More than any cubin's size: a larger one means damage, not code.
const MOST: u64 = 1 << 32;

fn number<const N: usize>(bytes: &[u8], at: u64) -> Option<u64> {
    let at = usize::try_from(at).ok()?;
    let mut wide = [0; 8];
    wide[..N].copy_from_slice(bytes.get(at..at.checked_add(N)?)?);
    Some(u64::from_le_bytes(wide))
}

/// Where the table of sections begins, and how many there are.
fn sections(header: &[u8]) -> Option<(u64, u64)> {
    let (at, size, count) = (number::<8>(header, 40)?, number::<2>(header, 58)?, number::<2>(header, 60)?);
    (at < MOST && size == SECTION as u64).then_some((at, count))
}

/// The end of the table of sections, from the header.
pub fn end_of_table(header: &[u8]) -> Option<usize> {
    let (at, count) = sections(header)?;
    Some((at + count * SECTION as u64) as usize)
}

/// The file's length, from all up to the end of the table.
pub fn length(bytes: &[u8]) -> Option<usize> {
    let (table, count) = sections(bytes)?;
    let mut length = table + count * SECTION as u64;
    for section in (0..count).map(|index| table + index * SECTION as u64) {
        let (offset, size) = (number::<8>(bytes, section + 24)?, number::<8>(bytes, section + 32)?);
        if number::<4>(bytes, section + 4)? != u64::from(NOBITS) {
            length = length.max(offset.checked_add(size)?);
        }
    }
    (length < MOST).then_some(length as usize)
}

/// The PTX in a cubin.
pub fn read(bytes: &[u8]) -> Result<String, Refused> {
    let damaged = Refused::Damaged("its table of sections leads out of it");
    let text = text(bytes).ok_or(damaged)?.ok_or(Refused::Cubin)?;
    let lines = String::from_utf8_lossy(text).replace('\0', "\n");
    // Those of other compilers' formats begin otherwise.
    if lines.trim_start().starts_with(".version") { Ok(lines) } else { Err(Refused::Cubin) }
}

fn text(bytes: &[u8]) -> Option<Option<&[u8]>> {
    let (table, count) = sections(bytes)?;
    let part = |section: u64| {
        let (offset, size) = (number::<8>(bytes, section + 24)?, number::<8>(bytes, section + 32)?);
        bytes.get(usize::try_from(offset).ok()?..usize::try_from(offset.checked_add(size)?).ok()?)
    };
    let all = || (0..count).map(|index| table + index * SECTION as u64);
    let names = part(table + number::<2>(bytes, 62)? * SECTION as u64)?;
    for section in all() {
        let name = names.get(number::<4>(bytes, section)? as usize..)?;
        if name.starts_with(PTX) {
            return Some(Some(part(section)?));
        }
    }
    Some(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `add` for sm_90, made by CUDA 13's ptxas with and without `-lineinfo`.
    const LINES: &[u8] = include_bytes!("../../../tests/cubins/lineinfo.cubin");
    const PLAIN: &[u8] = include_bytes!("../../../tests/cubins/plain.cubin");

    #[test]
    fn machine_code_with_line_numbers_has_its_text() {
        let text = read(LINES).unwrap();
        assert!(text.starts_with(".version 8.0\n.target sm_90\n"), "{text}");
        assert!(text.contains(".visible .entry add(") && text.trim_end().ends_with('}'));
        assert_eq!(read(PLAIN), Err(Refused::Cubin));
    }

    #[test]
    fn the_header_tells_the_length() {
        for bytes in [LINES, PLAIN] {
            let table = end_of_table(&bytes[..HEADER]).unwrap();
            // The table of segments, which nothing here needs, may lie behind all of it.
            assert!(length(&bytes[..table]).is_some_and(|length| length <= bytes.len()));
        }
    }

    #[test]
    fn damage_is_an_error() {
        for length in HEADER..LINES.len() {
            let _ = read(&LINES[..length]);
        }
        for at in 0..LINES.len() {
            let mut spoiled = LINES.to_vec();
            spoiled[at] ^= 0x5a;
            // Some bytes have no meaning here; no byte may cause more than an error.
            let _ = (read(&spoiled), length(&spoiled));
        }
        assert_eq!(read(&LINES[..20]), Err(Refused::Damaged("its table of sections leads out of it")));
    }
}
