//! Reads what rustc bundled: bitcode members of the device's crates, and the bitcode inside the shipped `core` and
//! `alloc`.

use crate::error::CudaBuilderError;
use object::read::archive::ArchiveFile;
use object::{Object, ObjectSection};
use std::path::Path;

/// One crate's (or one codegen unit's) bitcode.
pub struct Bitcode {
    /// The member's name in the archive, which begins with the crate's name.
    pub name: String,
    pub bytes: Vec<u8>,
}

/// The members of a static library.
#[derive(Default)]
pub struct Archive {
    /// The device's own crates: all of their code is linked.
    pub crates: Vec<Bitcode>,
    /// The standard library's crates: linked where something asks for them.
    pub on_demand: Vec<Bitcode>,
    /// Names of members that carry no bitcode: assembly or C code that a dependency compiled for the host.
    pub foreign: Vec<String>,
}

impl Archive {
    pub fn read(path: &Path) -> Result<Self, CudaBuilderError> {
        let bad = |cause: String| CudaBuilderError::BadArtifact { path: path.to_owned(), cause };
        let data = std::fs::read(path).map_err(|cause| CudaBuilderError::File {
            what: "cannot read",
            path: path.to_owned(),
            cause,
        })?;
        let file = ArchiveFile::parse(&*data).map_err(|e| bad(e.to_string()))?;
        let mut archive = Self::default();
        for member in file.members() {
            let member = member.map_err(|e| bad(e.to_string()))?;
            let name = String::from_utf8_lossy(member.name()).into_owned();
            let bytes = member.data(&*data).map_err(|e| bad(e.to_string()))?;
            if bytes.starts_with(b"BC\xC0\xDE") || bytes.starts_with(b"\xDE\xC0\x17\x0B") {
                archive.crates.push(Bitcode { name, bytes: bytes.to_vec() });
            } else if let Some(bytes) = embedded(bytes) {
                // compiler_builtins is built for the host's calling conventions and instructions; what of it the
                // device needs has its own code here.
                if !name.starts_with("compiler_builtins") {
                    archive.on_demand.push(Bitcode { name, bytes });
                }
            } else if !name.starts_with("lib.rmeta") {
                archive.foreign.push(name);
            }
        }
        Ok(archive)
    }
}

impl Archive {
    /// All of it, as the parts of a key.
    pub fn content(&self) -> Vec<&[u8]> {
        let mut content = Vec::new();
        for members in [&self.crates, &self.on_demand] {
            content.extend(members.iter().flat_map(|m| [m.name.as_bytes(), m.bytes.as_slice()]));
            // What ends a list is no name.
            content.push(b"\0");
        }
        content.extend(self.foreign.iter().map(String::as_bytes));
        content
    }
}

/// The section `.llvmbc` of an object file.
fn embedded(object: &[u8]) -> Option<Vec<u8>> {
    let file = object::File::parse(object).ok()?;
    let section = file.sections().find(|s| s.name().is_ok_and(|n| n == ".llvmbc" || n == "__bitcode"))?;
    let bytes = section.data().ok()?;
    bytes.starts_with(b"BC\xC0\xDE").then(|| bytes.to_vec())
}
