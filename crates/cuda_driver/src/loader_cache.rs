//! The dynamic loader's cache, `/etc/ld.so.cache`: which file it would open for a library's name.

use std::path::PathBuf;

const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
const HEADER: usize = 48;
const ENTRY: usize = 24;

pub fn find(name: &str) -> Vec<PathBuf> {
    std::fs::read("/etc/ld.so.cache").map(|cache| parse(&cache, name)).unwrap_or_default()
}

/// Reads the format of glibc 2.2 and later: a header with a count, entries with offsets of two strings.
fn parse(cache: &[u8], name: &str) -> Vec<PathBuf> {
    // A cache that also serves older loaders has their table first.
    let Some(start) = cache.windows(MAGIC.len()).position(|window| window == MAGIC) else {
        return Vec::new();
    };
    let cache = &cache[start..];
    let word =
        |at: usize| cache.get(at..at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize);
    let text = |at: usize| {
        let rest = cache.get(at..)?;
        let end = rest.iter().position(|&byte| byte == 0)?;
        std::str::from_utf8(&rest[..end]).ok()
    };
    let count = word(20).unwrap_or(0).min(cache.len() / ENTRY);
    (0..count)
        .filter_map(|index| {
            let entry = HEADER + index * ENTRY;
            (text(word(entry + 4)?)? == name).then_some(PathBuf::from(text(word(entry + 8)?)?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(entries: &[(&str, &str)]) -> Vec<u8> {
        let strings_at = HEADER + entries.len() * ENTRY;
        let mut strings = Vec::new();
        let mut table = MAGIC.to_vec();
        table.extend((entries.len() as u32).to_le_bytes());
        table.resize(HEADER, 0);
        for (name, path) in entries {
            let mut place = |text: &str| {
                let at = (strings_at + strings.len()) as u32;
                strings.extend(text.bytes().chain([0]));
                at
            };
            let (key, value) = (place(name), place(path));
            table.extend([0; 4]);
            table.extend(key.to_le_bytes());
            table.extend(value.to_le_bytes());
            table.resize(table.len() + 12, 0);
        }
        table.extend(strings);
        table
    }

    #[test]
    fn finds_every_file_of_a_name() {
        let bytes = cache(&[
            ("libc.so.6", "/lib/libc.so.6"),
            ("libcuda.so.1", "/a/libcuda.so.1"),
            ("libcuda.so.1", "/b/x"),
        ]);
        let found = parse(&bytes, "libcuda.so.1");
        assert_eq!(found, [PathBuf::from("/a/libcuda.so.1"), PathBuf::from("/b/x")]);
        assert!(parse(&bytes, "libnothing.so").is_empty());
    }

    #[test]
    fn a_cut_or_foreign_file_has_nothing() {
        let bytes = cache(&[("libcuda.so.1", "/a/libcuda.so.1")]);
        for length in 0..bytes.len() {
            assert!(parse(&bytes[..length], "libcuda.so.1").is_empty(), "{length}");
        }
    }
}
