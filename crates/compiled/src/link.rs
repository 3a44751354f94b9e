//! From an object file to code in memory.
//!
//! The pages are writable until the code and its constants are in them, and executable from then on: never both. LLVM's
//! code for a function refers only to its own constants, so few kinds of relocations are supported, and external names
//! are refused.

use std::ptr::null_mut;

/// The name of the one function of an object file.
pub const ENTRY: &str = "region";

/// Why an object file cannot be loaded into memory.
#[derive(Debug, thiserror::Error)]
pub enum Unlinked {
    #[error("the object file is not whole")]
    Broken,
    #[error("the code wants the symbol `{0}`, and has no others than its own")]
    Foreign(String),
    #[error("the code has a relocation of kind {0}, which is not known here")]
    Relocation(u32),
    #[error("the code has a section that it writes to")]
    Writable,
    #[error("the code takes {0} bytes of stack, and a thread may have few")]
    Stack(u32),
    #[error("no memory for {bytes} bytes of code: {cause}")]
    Memory { bytes: usize, cause: std::io::Error },
}

/// Code in memory, until it is dropped.
#[derive(Debug)]
pub struct Placed {
    pages: *mut u8,
    bytes: usize,
    entry: usize,
}

// SAFETY: no one writes to the pages once they exist.
unsafe impl Send for Placed {}
// SAFETY: as above.
unsafe impl Sync for Placed {}

impl Placed {
    /// The address of the function.
    pub fn entry(&self) -> usize {
        self.pages as usize + self.entry
    }
}

impl Drop for Placed {
    fn drop(&mut self) {
        // SAFETY: the pages belong to this value, which `CompiledRegion::code` keeps while their code runs.
        unsafe { libc::munmap(self.pages.cast(), self.bytes) };
    }
}

/// A section of the file.
#[derive(Clone, Copy)]
struct Section {
    kind: u32,
    flags: u64,
    start: usize,
    bytes: usize,
    link: u32,
    info: u32,
    align: usize,
}

/// Code that uses more stack than this is refused: the threads that run it have 2 MB, or what a program gave them.
const MOST_STACK: u32 = 64 << 10;

const PROGRAM: u32 = 1;
const SYMBOLS: u32 = 2;
const RELOCATIONS: u32 = 4;
const ZEROS: u32 = 8;
const WRITABLE: u64 = 1;
const LOADED: u64 = 2;

/// An object file, read with bounds checks.
struct Object<'b> {
    bytes: &'b [u8],
    sections: Vec<Section>,
}

impl<'b> Object<'b> {
    fn read(bytes: &'b [u8]) -> Option<Self> {
        let x86_64 = 62;
        if bytes.get(..6)? != b"\x7fELF\x02\x01" || number::<2>(bytes, 0x12)? != x86_64 {
            return None;
        }
        let first = usize::try_from(number::<8>(bytes, 0x28)?).ok()?;
        let count = number::<2>(bytes, 0x3c)? as usize;
        let section = |i: usize| {
            let header = bytes.get(first.checked_add(64 * i)?..)?.get(..64)?;
            let word = |at| number::<4>(header, at).map(|word| word as u32);
            let long = |at| number::<8>(header, at).and_then(|long| usize::try_from(long).ok());
            Some(Section {
                kind: word(4)?,
                flags: number::<8>(header, 8)?,
                start: long(0x18)?,
                bytes: long(0x20)?,
                link: word(0x28)?,
                info: word(0x2c)?,
                align: long(0x30)?.max(1),
            })
        };
        let sections = (0..count).map(section).collect::<Option<_>>()?;
        Some(Object { bytes, sections })
    }

    fn content(&self, section: &Section) -> Option<&'b [u8]> {
        self.bytes.get(section.start..section.start.checked_add(section.bytes)?)
    }

    fn text(&self, strings: &Section, at: usize) -> Option<&'b str> {
        let rest = self.content(strings)?.get(at..)?;
        let end = rest.iter().position(|&byte| byte == 0)?;
        std::str::from_utf8(&rest[..end]).ok()
    }
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let mut long = [0; 8];
    long[..N].copy_from_slice(bytes.get(at..at.checked_add(N)?)?);
    Some(u64::from_le_bytes(long))
}

/// A symbol: its name, and its offset in the pages, if it is in them.
struct Symbol<'b> {
    name: &'b str,
    place: Option<u64>,
}

/// Loads the code of an object file into memory.
pub fn place(file: &[u8]) -> Result<Placed, Unlinked> {
    let object = Object::read(file).ok_or(Unlinked::Broken)?;
    let (places, bytes) = layout(&object)?;
    let mut image = vec![0; bytes];
    for (section, place) in object.sections.iter().zip(&places) {
        if let Some(place) = place
            && section.kind == PROGRAM
        {
            let content = object.content(section).ok_or(Unlinked::Broken)?;
            image[*place..place + content.len()].copy_from_slice(content);
        }
    }
    let symbols = symbols(&object, &places).ok_or(Unlinked::Broken)?;
    for section in object.sections.iter().filter(|section| section.kind == RELOCATIONS) {
        if let Some(Some(target)) = places.get(section.info as usize) {
            let list = object.content(section).ok_or(Unlinked::Broken)?;
            for relocation in list.chunks_exact(24) {
                relocate(&mut image, *target, relocation, &symbols)?;
            }
        }
    }
    let entry = symbols.iter().find(|symbol| symbol.name == ENTRY).and_then(|symbol| symbol.place);
    let entry = entry.ok_or_else(|| Unlinked::Foreign(ENTRY.to_owned()))? as usize;
    let stack = stack(image.get(entry..).unwrap_or_default());
    if stack > MOST_STACK {
        return Err(Unlinked::Stack(stack));
    }
    into_pages(&image, entry)
}

/// The stack bytes a function uses, according to its first instructions: `sub rsp, …` or, if each page is touched in a
/// loop, `sub r11, …` or `lea r11, […]` for the end of it.
fn stack(code: &[u8]) -> u32 {
    let start = &code[..code.len().min(128)];
    let taken = (0..start.len()).filter_map(|at| {
        let bytes = match &start[at..] {
            [0x48, 0x81, 0xec, bytes @ ..] | [0x49, 0x81, 0xeb, bytes @ ..] => bytes,
            [0x4c, 0x8d, 0x9c, 0x24, bytes @ ..] => bytes,
            _ => return None,
        };
        Some(i32::from_le_bytes(*bytes.first_chunk()?).unsigned_abs())
    });
    taken.max().unwrap_or(0)
}

/// The offset of each section that is loaded, and the total size.
fn layout(object: &Object<'_>) -> Result<(Vec<Option<usize>>, usize), Unlinked> {
    let mut end = 0usize;
    let mut places = Vec::new();
    for section in &object.sections {
        // Unwinding tables have a kind of their own: nothing unwinds through the code.
        let loaded = section.flags & LOADED != 0 && matches!(section.kind, PROGRAM | ZEROS);
        if !loaded || section.bytes == 0 {
            places.push(None);
            continue;
        }
        if section.flags & WRITABLE != 0 {
            return Err(Unlinked::Writable);
        }
        // The first byte is aligned to a page.
        let start = end.checked_next_multiple_of(section.align).filter(|_| section.align <= 4096);
        let start = start.ok_or(Unlinked::Broken)?;
        end = start.checked_add(section.bytes).filter(|&end| end < 1 << 30).ok_or(Unlinked::Broken)?;
        places.push(Some(start));
    }
    Ok((places, end))
}

fn symbols<'b>(object: &Object<'b>, places: &[Option<usize>]) -> Option<Vec<Symbol<'b>>> {
    let table = object.sections.iter().find(|section| section.kind == SYMBOLS)?;
    let strings = object.sections.get(table.link as usize)?;
    let symbol = |entry: &[u8]| {
        let name = object.text(strings, number::<4>(entry, 0)? as usize)?;
        let section = places.get(number::<2>(entry, 6)? as usize).copied().flatten();
        let value = number::<8>(entry, 8)?;
        let place = section.and_then(|section| value.checked_add(section as u64));
        Some(Symbol { name, place })
    };
    object.content(table)?.chunks_exact(24).map(symbol).collect()
}

/// All are distances, so that the code can be anywhere.
fn relocate(
    image: &mut [u8],
    section: usize,
    relocation: &[u8],
    symbols: &[Symbol<'_>],
) -> Result<(), Unlinked> {
    let field = |at| number::<8>(relocation, at).ok_or(Unlinked::Broken);
    let (offset, info, addend) = (field(0)?, field(8)?, field(16)?);
    let symbol = symbols.get((info >> 32) as usize).ok_or(Unlinked::Broken)?;
    let target = symbol.place.ok_or_else(|| Unlinked::Foreign(symbol.name.to_owned()))?;
    let place = (section as u64).checked_add(offset).ok_or(Unlinked::Broken)?;
    let distance = target.wrapping_add(addend).wrapping_sub(place);
    // `R_X86_64_PC32`, `R_X86_64_PLT32`; `R_X86_64_PC64`
    let bytes = match info as u32 {
        2 | 4 if i32::try_from(distance as i64).is_ok() => 4,
        2 | 4 => return Err(Unlinked::Broken),
        24 => 8,
        other => return Err(Unlinked::Relocation(other)),
    };
    let at = usize::try_from(place).map_err(|_| Unlinked::Broken)?;
    let end = at.checked_add(bytes).ok_or(Unlinked::Broken)?;
    let to = image.get_mut(at..end).ok_or(Unlinked::Broken)?;
    to.copy_from_slice(&distance.to_le_bytes()[..bytes]);
    Ok(())
}

fn into_pages(image: &[u8], entry: usize) -> Result<Placed, Unlinked> {
    let failed = || Unlinked::Memory { bytes: image.len(), cause: std::io::Error::last_os_error() };
    // SAFETY: new pages, which no one else has.
    let pages = unsafe {
        libc::mmap(
            null_mut(),
            image.len(),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if pages == libc::MAP_FAILED {
        return Err(failed());
    }
    let placed = Placed { pages: pages.cast(), bytes: image.len(), entry };
    // SAFETY: the pages are as long as the image; from here on they are not written to.
    let executable = unsafe {
        std::ptr::copy_nonoverlapping(image.as_ptr(), placed.pages, image.len());
        libc::mprotect(pages, image.len(), libc::PROT_READ | libc::PROT_EXEC)
    };
    if executable == 0 { Ok(placed) } else { Err(failed()) }
}
