//! How the virtual GPU runs programs: `WARPSMITH_EXECUTION`.

use std::fmt;
use std::sync::Arc;

use compiled::Kept;
use virtual_gpu::jit::Compiler;

use crate::choice::{ChoiceError, setting};

/// How programs run on the virtual GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Execution {
    /// A kernel that has run for a while is compiled for the processor; until then, and for what is not compiled, there is the
    /// interpreter.
    Compiled {
        /// Kernels are compiled before their first run.
        eager: bool,
    },
    /// Only by the interpreter, and why.
    Interpreted(String),
}

impl Execution {
    /// The mode requested by the environment, if this machine supports it.
    pub fn of_environment() -> Result<Self, ChoiceError> {
        let given = setting("WARPSMITH_EXECUTION");
        match (given.trim(), compiled::available()) {
            ("interpreted", _) => Ok(Execution::Interpreted("WARPSMITH_EXECUTION asks for it".into())),
            ("compiled", Err(why)) => Err(ChoiceError::NotCompiled { why: why.to_string() }),
            ("compiled", Ok(())) => Ok(Execution::Compiled { eager: true }),
            ("", Err(why)) => Ok(Execution::Interpreted(why.to_string())),
            ("", Ok(())) => Ok(Execution::Compiled { eager: false }),
            _ => Err(ChoiceError::UnknownExecution { given }),
        }
    }

    /// The compiler of programs.
    pub(crate) fn compiler() -> Option<Arc<dyn Compiler>> {
        // Unless it is requested, there is no need to look for LLVM before a kernel is worth compiling.
        match setting("WARPSMITH_EXECUTION").trim() {
            "interpreted" => None,
            given => Some(compiled::compiler(given == "compiled", Kept::AsUsual)),
        }
    }
}

impl fmt::Display for Execution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Execution::Compiled { eager: true } => f.write_str("compiled for the processor"),
            Execution::Compiled { eager: false } => {
                f.write_str("compiled for the processor when they run for long, else interpreted")
            }
            Execution::Interpreted(why) => write!(f, "interpreted: {why}"),
        }
    }
}
