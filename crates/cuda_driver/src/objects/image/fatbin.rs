//! Fatbins: one module compiled for several architectures, as machine code and as PTX, plain or compressed.
//!
//! The format is not published. The layout as observed in the output of CUDA 13's `fatbinary`, all little-endian:
//!
//! ```text
//! header  0 u32 magic   4 u16 version   6 u16 size of the header   8 u64 bytes that follow
//! entry   0 u16 kind (1 PTX, 2 cubin)   4 u32 size of this header   8 u64 bytes of payload
//!        16 u32 bytes of payload without padding, if compressed    28 u32 architecture (90)
//!        40 u64 flags (0x2000 LZ4, 0x8000 zstd)    56 u64 bytes when decompressed
//! ```

use super::cubin;
use super::refused::Refused;

pub const MAGIC: [u8; 4] = 0xba55_ed50_u32.to_le_bytes();
pub const HEADER: usize = 16;

const ENTRY: usize = 64;
const PTX: u16 = 1;
const CUBIN: u16 = 2;
const LZ4: u64 = 0x2000;
const ZSTD: u64 = 0x8000;
/// More than any module's text: a larger size means damage, not code.
const MOST_TEXT: u64 = 1 << 30;
const MOST_FATBIN: u64 = 1 << 40;

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2)?.try_into().ok().map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes)
}

pub fn length(header: &[u8]) -> Option<usize> {
    let (size, rest) = (u16_at(header, 6)?, u64_at(header, 8)?);
    (usize::from(size) >= HEADER && rest < MOST_FATBIN).then(|| usize::from(size) + rest as usize)
}

/// The PTX in a fatbin that a device supports, newest first.
pub fn read(bytes: &[u8], device: u32) -> Result<Vec<String>, Refused> {
    let end = length(bytes).ok_or(Refused::Damaged("its header is cut short"))?;
    let bytes = bytes.get(..end).ok_or(Refused::Damaged("it is shorter than its header says"))?;
    let mut at = u16_at(bytes, 6).map_or(HEADER, usize::from);
    let (mut texts, mut of_machine_code) = (Vec::new(), Vec::new());
    while bytes.len() - at >= ENTRY {
        let entry = &bytes[at..];
        let (payload, next) = payload(entry).ok_or(Refused::Damaged("an entry is longer than the whole"))?;
        if u16_at(entry, 0) == Some(PTX) {
            texts.push((u32_at(entry, 28).unwrap_or(0), text(entry, payload)?));
        } else if u16_at(entry, 0) == Some(CUBIN)
            && let Ok(text) = plain(entry, payload).and_then(|bytes| cubin::read(&bytes))
        {
            of_machine_code.push((u32_at(entry, 28).unwrap_or(0), text));
        }
        at += next;
    }
    if texts.is_empty() {
        texts = of_machine_code;
    }
    let lowest = texts.iter().map(|&(architecture, _)| architecture).min().ok_or(Refused::NoPtx)?;
    texts.retain(|&(architecture, _)| architecture <= device);
    if texts.is_empty() {
        return Err(Refused::TooNew { lowest, device });
    }
    texts.sort_by_key(|&(architecture, _)| std::cmp::Reverse(architecture));
    Ok(texts.into_iter().map(|(_, text)| text).collect())
}

/// An entry's payload, and where the next entry begins.
fn payload(entry: &[u8]) -> Option<(&[u8], usize)> {
    let header = u32_at(entry, 4)? as usize;
    let end = header.checked_add(usize::try_from(u64_at(entry, 8)?).ok()?)?;
    (header >= ENTRY).then_some(())?;
    Some((entry.get(header..end)?, end))
}

/// An entry's payload, decompressed.
fn plain(entry: &[u8], payload: &[u8]) -> Result<Vec<u8>, Refused> {
    let field = |at| u64_at(entry, at).unwrap_or(0);
    let (flags, plain_size) = (field(40), field(56));
    let packed = payload.get(..u32_at(entry, 16).unwrap_or(0) as usize).unwrap_or(payload);
    match flags & (LZ4 | ZSTD) {
        0 => Ok(payload.to_vec()),
        _ if plain_size > MOST_TEXT => Err(Refused::Damaged("its PTX is impossibly long")),
        compression => decompressed(compression, packed, plain_size),
    }
}

fn text(entry: &[u8], payload: &[u8]) -> Result<String, Refused> {
    let bytes = plain(entry, payload)?;
    // Plain text is padded with line ends or NULs on either side.
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.trim_matches(['\0', '\n']).to_owned())
}

#[cfg(feature = "foreign")]
fn decompressed(compression: u64, packed: &[u8], plain_size: u64) -> Result<Vec<u8>, Refused> {
    use std::io::Read;
    let spoiled = Refused::Damaged("its compressed PTX does not decompress");
    match compression {
        LZ4 => lz4_flex::block::decompress(packed, plain_size as usize).map_err(|_| spoiled),
        ZSTD => {
            let mut plain = Vec::new();
            let decoder = ruzstd::decoding::StreamingDecoder::new(packed).map_err(|_| spoiled.clone())?;
            decoder.take(plain_size).read_to_end(&mut plain).map_err(|_| spoiled)?;
            Ok(plain)
        }
        _ => Err(Refused::Damaged("its PTX is compressed in two ways at once")),
    }
}

#[cfg(not(feature = "foreign"))]
fn decompressed(_compression: u64, _packed: &[u8], _plain_size: u64) -> Result<Vec<u8>, Refused> {
    Err(Refused::Compressed)
}

#[cfg(all(test, feature = "foreign"))]
mod tests {
    use super::*;

    /// `scale<float>` for compute_75, made by CUDA 13's nvcc with `--compress-mode`.
    const SAMPLES: [(&str, &[u8]); 3] = [
        ("none", include_bytes!("../../../tests/fatbins/none.fatbin")),
        ("speed", include_bytes!("../../../tests/fatbins/lz4.fatbin")),
        ("default", include_bytes!("../../../tests/fatbins/zstd.fatbin")),
    ];

    #[test]
    fn every_compression_holds_the_same_text() {
        let texts = SAMPLES.map(|(_, bytes)| read(bytes, 75).unwrap());
        assert!(texts[0][0].starts_with(".version 9.5\n.target sm_75"), "{}", texts[0][0]);
        assert!(texts[0][0].contains(".visible .entry scale("));
        assert_eq!(texts[0], texts[1]);
        assert_eq!(texts[0], texts[2]);
    }

    #[test]
    fn the_newest_that_the_device_admits_comes_first() {
        let bytes = include_bytes!("../../../tests/fatbins/mixed.fatbin");
        let targets = |device| {
            read(bytes, device).map(|texts| {
                let target = |text: &String| text.split("sm_").nth(1).unwrap()[..2].to_owned();
                texts.iter().map(target).collect::<Vec<_>>()
            })
        };
        assert_eq!(targets(90).unwrap(), ["90", "75"]);
        assert_eq!(targets(89).unwrap(), ["75"]);
        assert_eq!(targets(70), Err(Refused::TooNew { lowest: 75, device: 70 }));
    }

    #[test]
    fn machine_code_alone_is_refused_unless_it_carries_its_text() {
        let bytes = include_bytes!("../../../tests/fatbins/cubin.fatbin");
        assert_eq!(read(bytes, 90), Err(Refused::NoPtx));
        let with_lines = include_bytes!("../../../tests/fatbins/lineinfo.fatbin");
        assert!(read(with_lines, 90).unwrap()[0].contains(".visible .entry add("));
    }

    #[test]
    fn damage_is_an_error() {
        for (name, bytes) in SAMPLES {
            for length in 0..bytes.len() {
                assert!(read(&bytes[..length], 90).is_err(), "{name} cut at {length}");
            }
            for at in 0..bytes.len() {
                let mut spoiled = bytes.to_vec();
                spoiled[at] ^= 0x5a;
                // Some bytes have no known meaning; no byte may cause more than an error.
                let _ = read(&spoiled, 90);
            }
        }
    }
}
