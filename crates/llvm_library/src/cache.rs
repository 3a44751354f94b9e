//! A cache of LLVM's output, by its inputs.
//!
//! A key is a hash of everything the output depends on: the code, the options, and the LLVM that compiles it. An entry
//! carries its key and the hash of its content, so that a damaged file is not used. Deleting the folder costs only
//! time; when it grows too large, the least recently used entries are deleted.

use std::fmt;
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// A 128-bit hash. Two outputs get the same key by chance once in about 10^19 keys, a risk that rustc's own incremental
/// compilation takes, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Key(u64, u64);

impl Key {
    /// The key of these parts. Their lengths count, so that no two lists of parts are equal.
    pub fn of(parts: &[&[u8]]) -> Self {
        let (mut first, mut second) = (DefaultHasher::new(), DefaultHasher::new());
        second.write_u64(1);
        for part in parts {
            for hasher in [&mut first, &mut second] {
                hasher.write_usize(part.len());
                hasher.write(part);
            }
        }
        Self(first.finish(), second.finish())
    }

    /// The key of these parts in the context of this one.
    pub fn and(self, parts: &[&[u8]]) -> Self {
        let Self(first, second) = Self::of(parts);
        Self::of(&[&self.bytes(), &first.to_le_bytes(), &second.to_le_bytes()])
    }

    fn bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.0.to_le_bytes());
        bytes[8..].copy_from_slice(&self.1.to_le_bytes());
        bytes
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}{:016x}", self.0, self.1)
    }
}

/// A folder of cached outputs.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    /// The number of bytes that [`Cache::trim`] leaves.
    limit: u64,
}

impl Cache {
    /// In a folder, which need not exist yet, of at most this many bytes.
    pub fn new(folder: PathBuf, limit: u64) -> Self {
        Self { folder, limit }
    }

    fn path(&self, key: Key) -> PathBuf {
        self.folder.join(key.to_string())
    }

    /// The output for a key, if it is there and intact.
    pub fn get(&self, key: Key) -> Option<Vec<u8>> {
        let path = self.path(key);
        // Reading a pipe would wait for a writer.
        if !fs::metadata(&path).ok()?.is_file() {
            return None;
        }
        let mut entry = fs::read(&path).ok()?;
        if entry.len() < 32 {
            return None;
        }
        let content = entry.split_off(32);
        if entry[..16] != key.bytes() || entry[16..] != Key::of(&[&content]).bytes() {
            return None;
        }
        // The file's time says when it was last used. If it cannot be set, the entry is only deleted earlier.
        let _ = fs::File::options().append(true).open(&path).and_then(|f| f.set_modified(SystemTime::now()));
        Some(content)
    }

    /// Stores an output. If it cannot be written, it is computed again the next time.
    pub fn put(&self, key: Key, content: &[u8]) {
        let path = self.path(key);
        // Written under a unique name first: someone else may be reading or writing the same entry.
        static WRITTEN: AtomicU64 = AtomicU64::new(0);
        let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
        let fresh = path.with_extension(format!("{}-{number}", std::process::id()));
        let entry = [&key.bytes()[..], &Key::of(&[content]).bytes(), content].concat();
        let written = fs::create_dir_all(&self.folder)
            .and_then(|()| fs::write(&fresh, entry))
            .and_then(|()| fs::rename(&fresh, &path));
        if written.is_err() {
            let _ = fs::remove_file(&fresh);
        }
    }

    /// Deletes the least recently used entries until the folder is within its limit.
    pub fn trim(&self) {
        let entry = |entry: fs::DirEntry| {
            let about = entry.metadata().ok()?;
            Some((about.modified().ok()?, about.len(), entry.path()))
        };
        let mut entries: Vec<(SystemTime, u64, PathBuf)> =
            fs::read_dir(&self.folder).into_iter().flatten().flatten().filter_map(entry).collect();
        entries.sort();
        let mut held: u64 = entries.iter().map(|(_, bytes, _)| bytes).sum();
        for (_, bytes, path) in entries {
            if held <= self.limit {
                break;
            }
            if fs::remove_file(path).is_ok() {
                held -= bytes;
            }
        }
    }
}

/// Represents a file that is too large to read at each build: its path, length and time.
pub fn identity(path: &Path) -> Vec<u8> {
    let about = fs::metadata(path).ok();
    let time = about.as_ref().and_then(|a| a.modified().ok());
    format!("{} {:?} {time:?}", path.display(), about.map(|a| a.len())).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_comes_back_under_its_key_only() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().join("lowered"), 1 << 20);
        let key = Key::of(&[b"ab", b"c"]);
        assert_eq!(cache.get(key), None);
        cache.put(key, b"answer");
        assert_eq!(cache.get(key).as_deref(), Some(&b"answer"[..]));
        for other in [Key::of(&[b"a", b"bc"]), Key::of(&[b"abc"]), key.and(&[b"more"]), key.and(&[])] {
            assert_ne!(other, key);
            assert_eq!(cache.get(other), None);
        }
    }

    #[test]
    fn a_damaged_entry_is_no_answer() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().into(), 1 << 20);
        let (key, other) = (Key::of(&[b"k"]), Key::of(&[b"other"]));
        cache.put(key, b"answer");
        let whole = fs::read(cache.path(key)).unwrap();
        fs::write(cache.path(other), &whole).unwrap();
        assert_eq!(cache.get(other), None, "an entry under another's name");
        for damaged in [&whole[..whole.len() - 1], &whole[..20], &[&whole[..], b"!"].concat()] {
            fs::write(cache.path(key), damaged).unwrap();
            assert_eq!(cache.get(key), None);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_no_answer() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().into(), 1 << 20);
        let key = Key::of(&[b"k"]);
        assert!(std::process::Command::new("mkfifo").arg(cache.path(key)).status().unwrap().success());
        let (send, receive) = std::sync::mpsc::channel();
        std::thread::spawn(move || send.send(cache.get(key)));
        let answer = receive.recv_timeout(std::time::Duration::from_secs(60));
        assert_eq!(answer, Ok(None), "the pipe was read");
    }

    #[test]
    fn what_was_not_used_for_longest_goes_first() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().into(), 200);
        let keys: Vec<Key> = (0..4_u8).map(|i| Key::of(&[&[i]])).collect();
        for (age, key) in keys.iter().enumerate() {
            cache.put(*key, &[0; 68]);
            let time = SystemTime::now() - std::time::Duration::from_secs(1000 - age as u64);
            fs::File::options().append(true).open(cache.path(*key)).unwrap().set_modified(time).unwrap();
        }
        // The oldest is used now.
        assert!(cache.get(keys[0]).is_some());
        cache.trim();
        let left: Vec<bool> = keys.iter().map(|key| cache.get(*key).is_some()).collect();
        assert_eq!(left, [true, false, false, true]);
    }
}
