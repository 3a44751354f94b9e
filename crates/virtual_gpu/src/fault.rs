//! Errors: one error for the host side, one fault for a launch that the device ended.

use std::fmt;

use thiserror::Error;

/// Why an operation on the virtual GPU failed.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is not PTX.
    #[error("PTX does not parse: {0}")]
    Parse(String),
    /// An instruction, type or directive that cannot be executed.
    #[error("line {line} of the PTX{}: `{instruction}`: {reason}", at_source(.source_line))]
    Unsupported {
        /// The instruction or directive as it stands in the text.
        instruction: String,
        /// The reason.
        reason: String,
        /// Line in the PTX text, from 1.
        line: u32,
        /// `file:line` of the Rust (or CUDA C++) source, when the PTX has `.loc` lines.
        source_line: Option<String>,
    },
    /// The module asks for a capability that the chip does not have.
    #[error("the module is for {target}, the virtual GPU is a {chip} ({capability})")]
    Target {
        /// `.target` of the module.
        target: String,
        /// Name of the chip.
        chip: String,
        /// `sm_90` and so on.
        capability: String,
    },
    /// A symbol that is declared `.extern` and defined nowhere.
    #[error("`{name}` is declared in line {line} of the PTX and defined nowhere")]
    Undefined {
        /// The symbol.
        name: String,
        /// Line in the PTX text.
        line: u32,
    },
    /// The launch asks for more than the chip or the kernel admits.
    #[error("launch of `{}`: {what} is {asked}, the limit is {limit}", ptx::rust_name(kernel))]
    LaunchLimit {
        kernel: String,
        /// The request, in words.
        what: &'static str,
        /// How much was asked for.
        asked: u64,
        /// How much is possible.
        limit: u64,
    },
    /// The parameter block is shorter or longer than the kernel's.
    #[error(
        "launch of `{}`: its parameters take {expected} bytes, {given} were given",
        ptx::rust_name(kernel)
    )]
    Parameters {
        kernel: String,
        /// Size of the kernel's parameter block.
        expected: usize,
        /// Size of the block that was given.
        given: usize,
    },
    /// Not enough memory for an allocation.
    #[error("out of device memory: {asked} bytes asked for, {free} of {total} are free")]
    OutOfMemory {
        /// Bytes asked for.
        asked: u64,
        /// Bytes not allocated.
        free: u64,
        /// Bytes of the device.
        total: u64,
    },
    /// A host-side copy, fill or free with an address that is no allocation's, or beyond its end.
    #[error("{bytes} bytes at {address:#x} are not inside one allocation")]
    BadAddress {
        /// First byte.
        address: u64,
        /// Length.
        bytes: u64,
    },
    /// The device ended the launch.
    #[error("{0}")]
    Fault(Box<Fault>),
}

fn at_source(source: &Option<String>) -> String {
    source.as_ref().map_or_else(String::new, |s| format!(" ({s})"))
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Error::Fault(Box::new(fault))
    }
}

impl Error {
    /// The `CUresult` that the CUDA driver gives for this error.
    pub fn cuda_code(&self) -> u32 {
        match self {
            Error::Parse(_) | Error::Undefined { .. } | Error::Unsupported { .. } => 218,
            Error::Target { .. } => 209,
            Error::LaunchLimit { .. } | Error::Parameters { .. } | Error::BadAddress { .. } => 1,
            Error::OutOfMemory { .. } => 2,
            Error::Fault(fault) => fault.kind.cuda_code(),
        }
    }
}

/// The kind of fault that ended a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// The device's `free` of what is not from its `malloc`, or of what was freed.
    HeapMisuse {
        /// The object that was to be freed.
        address: u64,
    },
    /// An access outside every allocation, shared array or stack.
    IllegalAddress {
        /// `global load`, `shared store` …
        access: String,
        /// The address of the first lane that went wrong.
        address: u64,
        /// Width of the access of one lane.
        bytes: u32,
        /// The surroundings of the address.
        nearby: String,
    },
    /// An address that is not a multiple of the access's width.
    MisalignedAddress {
        /// `global load`, `shared store` …
        access: String,
        /// The address of the first lane that went wrong.
        address: u64,
        /// Width of the access of one lane.
        bytes: u32,
    },
    /// A store to constants, kernel parameters or read-only memory.
    WriteToConstant {
        address: u64,
    },
    /// An instruction was given operands for which it means nothing.
    IllegalInstruction(String),
    /// The same of an instruction at which threads meet: a barrier, or one with a member mask.
    IllegalSync(String),
    /// A call or branch through a value that is no function or target.
    InvalidPc(u64),
    /// `__assertfail`: message, file, line and function.
    Assert(String),
    Trap,
    /// `brkpt`.
    Breakpoint,
    /// Recursion or local arrays beyond the stack.
    StackOverflow {
        /// Bytes a thread may use.
        limit: u64,
        /// Nested calls, if it is their return addresses that fill it.
        calls: Option<u32>,
    },
    /// More memory than the launch may take on this machine.
    OutOfResources(String),
    /// The machine that the virtual GPU runs on has no memory for what the kernel touches.
    OutOfMemory,
    /// No warp can ever run again: each waiting warp, and its place.
    Deadlock(String),
    /// The watchdog's limit on executed instructions.
    Timeout {
        /// Warp instructions that were executed.
        instructions: u64,
        /// The line that ran most, when known.
        hottest: String,
    },
}

impl FaultKind {
    /// Whether an access is what went wrong, so that a thread can go on without it.
    pub fn is_of_access(&self) -> bool {
        matches!(
            self,
            FaultKind::IllegalAddress { .. }
                | FaultKind::MisalignedAddress { .. }
                | FaultKind::WriteToConstant { .. }
        )
    }

    /// The `CUresult` that the CUDA driver gives for this fault.
    pub fn cuda_code(&self) -> u32 {
        match self {
            // Not 714: a stack that grows beyond local memory reads and writes where nothing is. Measured, as are 700, 710,
            // 715, 716, 718 and 719, on an H200 with the driver 580.
            FaultKind::IllegalAddress { .. }
            | FaultKind::WriteToConstant { .. }
            | FaultKind::StackOverflow { .. } => 700,
            FaultKind::OutOfMemory => 2,
            FaultKind::OutOfResources(_) => 701,
            FaultKind::Deadlock(_) | FaultKind::Timeout { .. } => 702,
            FaultKind::Assert(_) => 710,
            FaultKind::IllegalInstruction(_) | FaultKind::IllegalSync(_) => 715,
            FaultKind::MisalignedAddress { .. } => 716,
            FaultKind::InvalidPc(_) => 718,
            FaultKind::Trap | FaultKind::Breakpoint | FaultKind::HeapMisuse { .. } => 719,
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FaultKind::IllegalAddress { access, address, bytes, nearby } => {
                write!(f, "illegal address: {access} of {bytes} bytes at {address:#x}{nearby}")
            }
            FaultKind::HeapMisuse { address } => {
                write!(f, "free of {address:#x}, which `malloc` did not give or which was freed")
            }
            FaultKind::MisalignedAddress { access, address, bytes } => {
                write!(f, "misaligned address: {access} of {bytes} bytes at {address:#x}")
            }
            FaultKind::WriteToConstant { address } => {
                write!(f, "write to read-only memory at {address:#x}")
            }
            FaultKind::IllegalInstruction(why) | FaultKind::IllegalSync(why) => {
                write!(f, "illegal instruction: {why}")
            }
            FaultKind::InvalidPc(value) => {
                write!(f, "jump or call to {value:#x}, which is no code")
            }
            FaultKind::Assert(message) => write!(f, "assertion failed: {message}"),
            FaultKind::Trap => write!(f, "trap"),
            FaultKind::Breakpoint => write!(f, "breakpoint"),
            FaultKind::StackOverflow { limit, calls: None } => {
                write!(f, "stack overflow: a thread may use {limit} bytes")
            }
            FaultKind::StackOverflow { limit, calls: Some(calls) } => {
                write!(
                    f,
                    "stack overflow: a thread may use {limit} bytes, which {calls} nested calls fill with the addresses that \
                     they return to"
                )
            }
            FaultKind::OutOfResources(what) => write!(f, "out of resources: {what}"),
            FaultKind::OutOfMemory => {
                write!(f, "out of memory: this machine has no more for what the kernel writes")
            }
            FaultKind::Deadlock(who) => write!(f, "deadlock: no thread can ever go on\n{who}"),
            FaultKind::Timeout { instructions, hottest } => {
                write!(f, "launch timed out after {instructions} warp instructions{hottest}")
            }
        }
    }
}

/// A place in the PTX text and in the source it was made from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Location {
    /// The function of the PTX text.
    pub function: String,
    /// Line in the PTX text, from 1; 0 when not known.
    pub ptx_line: u32,
    /// Source frames from `.loc`, innermost first; empty when the text has none.
    pub frames: Vec<SourceFrame>,
}

/// One source line; more than one where a function was inlined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFrame {
    /// File as named by `.file`.
    pub file: String,
    pub line: u32,
    pub column: u32,
    /// The inlined function, when the text names it.
    pub function: Option<String>,
}

/// Whether a file belongs to the standard libraries, to the building blocks, or to a package of the registry.
pub fn is_library(file: &str) -> bool {
    [
        "/library/core/",
        "/library/alloc/",
        "/library/std/",
        "/cuda_std/",
        "/crates/tile/",
        "/crates/blockwise/",
        "/registry/src/",
    ]
    .iter()
    .any(|library| file.contains(library))
}

impl From<ptx::Frame> for SourceFrame {
    fn from(frame: ptx::Frame) -> Self {
        SourceFrame {
            file: frame.file.to_string(),
            line: frame.line,
            column: frame.column,
            function: frame.function.map(|f| f.to_string()),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the PTX", self.ptx_line)?;
        for (i, frame) in self.frames.iter().enumerate() {
            let word = if i == 0 { " at" } else { ", inlined at" };
            write!(f, "{word} {}:{}:{}", frame.file, frame.line, frame.column)?;
        }
        Ok(())
    }
}

/// A launch that the device ended, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The event.
    pub kind: FaultKind,
    pub kernel: String,
    /// Block index.
    pub block: [u32; 3],
    /// Thread index in the block: of the first lane concerned.
    pub thread: [u32; 3],
    /// Where in the program.
    pub location: Location,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([bx, by, bz], [tx, ty, tz]) = (self.block, self.thread);
        let (kind, kernel) = (&self.kind, ptx::rust_name(&self.kernel));
        write!(f, "{kind} in kernel `{kernel}`, block ({bx}, {by}, {bz}), thread ({tx}, {ty}, {tz})")?;
        match kind {
            // It has its own file and line; the call of `__assertfail` is in the code that reports panics.
            FaultKind::Assert(_) => Ok(()),
            _ => write!(f, ", {}", self.location),
        }
    }
}

impl std::error::Error for Fault {}
