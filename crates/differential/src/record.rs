//! Recorded results, one file a device.

use std::collections::BTreeMap;
use std::io::{Read, Write};

use anyhow::{Context, ensure};
use flate2::{Compression, read::DeflateDecoder, write::DeflateEncoder};

use crate::THREADS;
use crate::form::Form;

const MAGIC: &[u8; 8] = b"ptxdiff1";

/// The results of all forms on one device. Keyed by the form's text, so that adding forms leaves a recording valid.
pub struct Record {
    /// The seed of the operands.
    pub seed: u64,
    results: BTreeMap<u64, Vec<u8>>,
}

impl Record {
    /// An empty recording.
    pub fn new(seed: u64) -> Self {
        Self { seed, results: BTreeMap::new() }
    }

    /// Adds the results of a form: each result's values over all threads, packed to their width.
    pub fn insert(&mut self, form: &Form, results: Vec<u8>) {
        self.results.insert(form.hash(), results);
    }

    /// The results of a form, if it was recorded.
    pub fn results(&self, form: &Form) -> Option<&[u8]> {
        self.results.get(&form.hash()).map(Vec::as_slice)
    }

    /// Forms recorded.
    pub fn len(&self) -> usize {
        self.results.len()
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.results.is_empty()
    }

    /// The file's bytes.
    pub fn to_bytes(&self) -> anyhow::Result<Vec<u8>> {
        let mut file = MAGIC.to_vec();
        file.extend(self.seed.to_le_bytes());
        file.extend((THREADS as u32).to_le_bytes());
        let mut packed = DeflateEncoder::new(file, Compression::best());
        packed.write_all(&(self.results.len() as u32).to_le_bytes())?;
        for (hash, results) in &self.results {
            packed.write_all(&hash.to_le_bytes())?;
            packed.write_all(&(results.len() as u32).to_le_bytes())?;
        }
        for results in self.results.values() {
            packed.write_all(results)?;
        }
        Ok(packed.finish()?)
    }

    /// Reads a file's bytes.
    pub fn from_bytes(file: &[u8]) -> anyhow::Result<Self> {
        let (header, packed) = file.split_at_checked(20).context("the recording is cut short")?;
        ensure!(header.starts_with(MAGIC), "not a recording of this kind");
        let seed = u64::from_le_bytes(header[8..16].try_into()?);
        let threads = u32::from_le_bytes(header[16..20].try_into()?);
        ensure!(threads as usize == THREADS, "recorded with {threads} threads, not {THREADS}");
        let mut bytes = Vec::new();
        DeflateDecoder::new(packed).read_to_end(&mut bytes)?;
        let mut rest = bytes.as_slice();
        let count = u32::from_le_bytes(take(&mut rest, 4)?.try_into()?);
        let mut sizes = Vec::new();
        for _ in 0..count {
            let hash = u64::from_le_bytes(take(&mut rest, 8)?.try_into()?);
            sizes.push((hash, u32::from_le_bytes(take(&mut rest, 4)?.try_into()?)));
        }
        let mut results = BTreeMap::new();
        for (hash, size) in sizes {
            results.insert(hash, take(&mut rest, size as usize)?.to_vec());
        }
        Ok(Self { seed, results })
    }
}

fn take<'a>(rest: &mut &'a [u8], n: usize) -> anyhow::Result<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(n).context("the recording is cut short")?;
    *rest = after;
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_survives_its_file() {
        let forms = crate::form::parse("add.(u32|s32) <d:u32>, <a:u32>, <b:u32>");
        let mut record = Record::new(9);
        record.insert(&forms[0], vec![1, 2, 3, 4]);
        record.insert(&forms[1], vec![5; 300]);
        let bytes = record.to_bytes().unwrap();
        let read = Record::from_bytes(&bytes).unwrap();
        assert_eq!(read.seed, 9);
        assert_eq!(read.results(&forms[0]).unwrap(), [1, 2, 3, 4]);
        assert_eq!(read.results(&forms[1]).unwrap(), [5; 300]);
        assert!(Record::from_bytes(&bytes[..30]).is_err());
    }
}
