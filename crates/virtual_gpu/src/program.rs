//! A decoded program: the flat list of operations of all functions of a module, and where each came from.

use crate::fault::{Location, SourceFrame};
use crate::module::Param;

/// The decoded program of a module. Program counters index its operations.
#[derive(Debug, Default)]
pub struct Code {
    pub(crate) target: u32,
    pub(crate) version: (u32, u32),
    pub(crate) functions: Vec<FunctionCode>,
    pub(crate) sites: Vec<CodeSite>,
    pub(crate) frames: Vec<Vec<SourceFrame>>,
}

/// Where one operation came from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CodeSite {
    pub ptx_line: u32,
    /// Index into `Code::frames`; `u32::MAX` is none.
    pub frames: u32,
}

/// One function.
#[derive(Debug)]
pub(crate) struct FunctionCode {
    pub name: String,
    pub start: u32,
    pub end: u32,
}

/// What a launch must know of a kernel.
#[derive(Debug, Default)]
pub(crate) struct KernelCode {
    pub name: String,
    pub params: Vec<Param>,
    pub param_bytes: u32,
    pub static_shared: u32,
    pub local_bytes: u32,
    pub const_bytes: u32,
    pub registers: u32,
    pub max_threads: Option<u32>,
    pub required_block: Option<[u32; 3]>,
    pub required_cluster: Option<[u32; 3]>,
}

impl Code {
    /// Number of operations.
    pub fn len(&self) -> usize {
        self.sites.len()
    }

    /// Whether there is no operation at all.
    pub fn is_empty(&self) -> bool {
        self.sites.is_empty()
    }

    /// Line of the PTX text that an operation came from; 0 if the program counter is none.
    pub fn ptx_line(&self, pc: u32) -> u32 {
        self.sites.get(pc as usize).map_or(0, |s| s.ptx_line)
    }

    /// Source frames of an operation, innermost first.
    pub fn frames(&self, pc: u32) -> &[SourceFrame] {
        self.sites
            .get(pc as usize)
            .and_then(|s| self.frames.get(s.frames as usize))
            .map_or(&[], Vec::as_slice)
    }

    /// Name of the function that holds an operation.
    pub fn function(&self, pc: u32) -> Option<&str> {
        let i = self.functions.partition_point(|f| f.end <= pc);
        self.functions.get(i).filter(|f| f.start <= pc).map(|f| f.name.as_str())
    }

    /// All of the above.
    pub fn location(&self, pc: u32) -> Location {
        Location {
            function: self.function(pc).unwrap_or_default().to_owned(),
            ptx_line: self.ptx_line(pc),
            frames: self.frames(pc).to_vec(),
        }
    }
}
