//! PTX of the package's device modules from its build script: `warpsmith_build` writes an index to `OUT_DIR`, which says for
//! each root (a binary, a library, an example, a test) where its PTX is, and which lines belong to which module.

use crate::crate_path;
use proc_macro2::{Span, TokenStream};
use std::fs;
use std::path::{Path, PathBuf};

/// The static that embeds the PTX which has a kernel, if it stands in a device module.
pub fn of(kernel: Span) -> Option<TokenStream> {
    let kernel = kernel.unwrap();
    let file = fs::canonicalize(kernel.local_file()?).ok()?;
    Index::read()?.part(&file, kernel.line())?.parse().ok()
}

/// The part of the index that is about the crate being compiled.
pub struct Index {
    /// Words after the root's name, each line's first of which is its kind.
    lines: Vec<Vec<String>>,
    folder: PathBuf,
}

/// An error of the device build.
pub struct DeviceError {
    pub file: PathBuf,
    pub line: usize,
    pub column: usize,
    pub text: String,
}

impl Index {
    /// `None` without a build script that writes it, and where rustc's command line is not to be seen.
    pub fn read() -> Option<Self> {
        let folder = PathBuf::from(std::env::var_os("OUT_DIR")?).join("warpsmith");
        let root = fs::canonicalize(crate_path::root()?).ok()?;
        let text = fs::read_to_string(folder.join("index")).ok()?;
        let words = |line: &str| line.split('\t').map(str::to_owned).collect::<Vec<_>>();
        let lines =
            text.lines().map(words).filter(|line| line.get(1).is_some_and(|path| root == Path::new(path)));
        Some(Self { lines: lines.collect(), folder })
    }

    fn of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a [String]> {
        self.lines.iter().filter(move |line| line[0] == kind).map(|line| &line[2..])
    }

    /// The path of the static for a line of a file.
    fn part(&self, file: &Path, line: usize) -> Option<&str> {
        self.of("part").find_map(|part| {
            let [path, first, last, ptx] = part else { return None };
            let lines = first.parse().ok()?..=last.parse().ok()?;
            (file == Path::new(path) && lines.contains(&line)).then_some(ptx.as_str())
        })
    }

    /// The files with the PTX of the crate, lowest level first; none if it did not come about.
    pub fn ptx(&self) -> &[String] {
        self.of("ptx").next().unwrap_or_default()
    }

    /// Errors of rustc and the lowering in the crate.
    pub fn errors(&self) -> Vec<DeviceError> {
        let texts =
            self.of("errors").filter_map(|line| fs::read_to_string(self.folder.join(line.first()?)).ok());
        texts.flat_map(|text| text.lines().filter_map(error).collect::<Vec<_>>()).collect()
    }
}

fn error(line: &str) -> Option<DeviceError> {
    let mut words = line.splitn(4, '\t');
    let mut next = || words.next();
    Some(DeviceError {
        file: PathBuf::from(next()?),
        line: next()?.parse().ok()?,
        column: next()?.parse().ok()?,
        text: next()?.replace('\r', "\n"),
    })
}
