//! The NVPTX target machine: passes and assembly.

use super::module::Module;
use super::{Ref, c, ffi, take_message};
use std::ffi::{CString, c_char};
use std::sync::Once;

/// The triple of 64-bit CUDA.
pub const TRIPLE: &str = "nvptx64-nvidia-cuda";
/// Its data layout in LLVM 22.
pub const DATA_LAYOUT: &str = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64";

/// A target machine for one processor and PTX version.
pub struct TargetMachine(Ref);

impl TargetMachine {
    /// `cpu` as `sm_90`, `features` as `+ptx78`.
    pub fn new(cpu: &str, features: &str, optimise: bool) -> Result<Self, String> {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            ffi!(InitializeNVPTXTargetInfo());
            ffi!(InitializeNVPTXTarget());
            ffi!(InitializeNVPTXTargetMC());
            ffi!(InitializeNVPTXAsmPrinter());
        });
        let (mut target, mut message) = (std::ptr::null_mut(), std::ptr::null_mut());
        if ffi!(GetTargetFromTriple(c(TRIPLE).as_ptr(), &mut target, &mut message)) != 0 {
            return Err(take_message(message));
        }
        let level = if optimise { 3 } else { 0 };
        let machine = ffi!(CreateTargetMachine(
            target,
            c(TRIPLE).as_ptr(),
            c(cpu).as_ptr(),
            c(features).as_ptr(),
            level,
            0, // default relocation model
            0, // default code model
        ));
        if machine.is_null() { Err(format!("no NVPTX target machine for {cpu}")) } else { Ok(Self(machine)) }
    }

    /// Runs a pipeline of passes.
    pub fn run_passes(&self, module: &Module<'_>, passes: &str) -> Result<(), String> {
        run(module, passes, self.0)
    }

    /// The module as PTX. The back end may change the module.
    pub fn emit(&self, module: &Module<'_>) -> Result<String, String> {
        let (mut message, mut buffer) = (std::ptr::null_mut(), std::ptr::null_mut());
        // File type 0 is assembly.
        if ffi!(TargetMachineEmitToMemoryBuffer(self.0, module.raw, 0, &mut message, &mut buffer)) != 0 {
            return Err(take_message(message));
        }
        let ptx = super::copied(ffi!(GetBufferStart(buffer)), ffi!(GetBufferSize(buffer)));
        ffi!(DisposeMemoryBuffer(buffer));
        Ok(String::from_utf8_lossy(&ptx).into_owned())
    }
}

impl Module<'_> {
    /// Runs a pipeline of passes that are to know nothing of the GPU.
    pub fn run_passes_of_no_target(&self, passes: &str) -> Result<(), String> {
        run(self, passes, std::ptr::null_mut())
    }
}

fn run(module: &Module<'_>, passes: &str, machine: Ref) -> Result<(), String> {
    let options = ffi!(CreatePassBuilderOptions());
    let error = ffi!(RunPasses(module.raw, c(passes).as_ptr(), machine, options));
    ffi!(DisposePassBuilderOptions(options));
    if error.is_null() {
        return Ok(());
    }
    let message = ffi!(GetErrorMessage(error));
    // SAFETY: LLVM's messages are NUL-terminated.
    let text = unsafe { std::ffi::CStr::from_ptr(message) }.to_string_lossy().into_owned();
    ffi!(DisposeErrorMessage(message));
    Err(text)
}

impl Drop for TargetMachine {
    fn drop(&mut self) {
        ffi!(DisposeTargetMachine(self.0));
    }
}

/// Sets LLVM's command-line options. They are global to the process, so the lowering that sets them runs in a process
/// of its own where it can.
pub fn set_options(options: &[&str]) {
    let owned: Vec<CString> = std::iter::once("cuda_builder").chain(options.iter().copied()).map(c).collect();
    let pointers: Vec<*const c_char> = owned.iter().map(|o| o.as_ptr()).collect();
    ffi!(ParseCommandLineOptions(pointers.len() as i32, pointers.as_ptr(), std::ptr::null()));
}
