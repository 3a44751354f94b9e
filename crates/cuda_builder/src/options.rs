//! Options of the lowering.

use crate::arch::NvvmArch;
use crate::bitcode::float_modes::FloatModes;
use crate::llvm::TargetMachine;

/// Options of the lowering.
#[derive(Debug, Clone)]
pub struct Options {
    /// The kernel crate, as in symbols.
    pub crate_name: String,
    pub arch: NvvmArch,
    pub optimise: bool,
    pub floats: FloatModes,
    pub override_libm: bool,
    pub constant_statics: bool,
    pub line_info: bool,
    /// Keep the module as LLVM's assembly language.
    pub keep_assembly: bool,
    /// Keep the functions as LLVM's assembly language.
    pub keep_functions: bool,
    /// Keep the module as bitcode.
    pub keep_bitcode: bool,
    /// The name of a pass that does not run.
    pub left_out: Option<&'static str>,
}

impl Options {
    pub fn keep_module(&self) -> bool {
        self.keep_assembly || self.keep_bitcode
    }

    pub fn machine(&self) -> Result<TargetMachine, String> {
        let features = format!("+ptx{}", self.arch.first_ptx_version());
        TargetMachine::new(&self.arch.processor(), &features, self.optimise)
    }
}
