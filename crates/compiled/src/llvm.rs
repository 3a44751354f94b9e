//! The toolchain's LLVM: from IR as text to an object file, for this processor.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::sync::OnceLock;

use llvm_library::{Library, LlvmError};

use crate::Unavailable;

type Ref = *mut c_void;

macro_rules! functions {
    ($(fn $name:ident($($ty:ty),* $(,)?) $(-> $ret:ty)?;)*) => {
        /// The functions of LLVM's C API that are used, without the prefix `LLVM`.
        #[allow(non_snake_case)]
        struct Api {
            $($name: unsafe extern "C" fn($($ty),*) $(-> $ret)?,)*
            _library: Library,
        }

        impl Api {
            fn of(library: Library) -> Result<Self, llvm_library::Error> {
                Ok(Self {
                    // SAFETY: the signature is that of the C header of LLVM 22; the symbol lives as long as the library,
                    // which the table keeps open.
                    $($name: *unsafe { library.get(concat!("LLVM", stringify!($name), "\0").as_bytes())? },)*
                    _library: library,
                })
            }
        }
    };
}

functions! {
    fn ContextCreate() -> Ref;
    fn ContextDispose(Ref);
    fn DisposeMessage(*mut c_char);
    fn CreateMemoryBufferWithMemoryRangeCopy(*const c_char, usize, *const c_char) -> Ref;
    fn DisposeMemoryBuffer(Ref);
    fn GetBufferStart(Ref) -> *const u8;
    fn GetBufferSize(Ref) -> usize;
    fn ParseIRInContext(Ref, Ref, *mut Ref, *mut *mut c_char) -> c_int;
    fn DisposeModule(Ref);
    fn SetTarget(Ref, *const c_char);
    fn SetModuleDataLayout(Ref, Ref);
    fn CreatePassBuilderOptions() -> Ref;
    fn DisposePassBuilderOptions(Ref);
    fn RunPasses(Ref, *const c_char, Ref, Ref) -> Ref;
    fn GetErrorMessage(Ref) -> *mut c_char;
    fn DisposeErrorMessage(*mut c_char);
    fn ParseCommandLineOptions(c_int, *const *const c_char, *const c_char);
    fn InitializeX86TargetInfo();
    fn InitializeX86Target();
    fn InitializeX86TargetMC();
    fn InitializeX86AsmPrinter();
    fn GetHostCPUName() -> *mut c_char;
    fn GetHostCPUFeatures() -> *mut c_char;
    fn GetTargetFromTriple(*const c_char, *mut Ref, *mut *mut c_char) -> c_int;
    fn CreateTargetMachine(Ref, *const c_char, *const c_char, *const c_char, c_uint, c_uint, c_uint) -> Ref;
    fn CreateTargetDataLayout(Ref) -> Ref;
    fn DisposeTargetData(Ref);
    fn DisposeTargetMachine(Ref);
    fn TargetMachineEmitToMemoryBuffer(Ref, Ref, c_uint, *mut *mut c_char, *mut Ref) -> c_int;
}

/// `LLVMCodeGenLevelDefault`, `LLVMCodeGenLevelLess`, `LLVMRelocPIC`, `LLVMCodeModelDefault`, `LLVMObjectFile`
const CODE_GENERATION: c_uint = 2;
const QUICK_CODE_GENERATION: c_uint = 1;
const POSITION_INDEPENDENT: c_uint = 2;
const CODE_MODEL: c_uint = 0;
const OBJECT_FILE: c_uint = 1;

/// The target of object files: ELF, on any system, since `link` reads them.
const TRIPLE: &CStr = c"x86_64-unknown-linux-gnu";

/// Optimisations: registers become values, and repeated computations are shared. Vectorising and hoisting out of loops
/// would not help here and take long.
const PASSES: &CStr =
    c"function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,gvn,simplifycfg)";
/// For long functions, of which these make no larger code.
const QUICK_PASSES: &CStr = c"function(sroa,early-cse,simplifycfg,instcombine<no-verify-fixpoint>)";

/// Behind a name for the program: how long the register allocator looks for the best places to split a value that lives in
/// many blocks. Code of functions up to 300 operations does not change with it; longer ones take up to a third less time.
const OPTIONS: [&CStr; 2] = [c"warpsmith", c"-grow-region-complexity-budget=1000"];

/// LLVM, opened once per process.
pub struct Llvm {
    api: Api,
    processor: CString,
    features: CString,
    target: Ref,
}

// SAFETY: the target is constant; everything else is created per compilation.
unsafe impl Send for Llvm {}
// SAFETY: as above.
unsafe impl Sync for Llvm {}

/// Why a text could not be compiled. It is a bug in this crate.
#[derive(Debug, thiserror::Error)]
#[error("LLVM refused the code: {0}")]
pub struct Refused(String);

/// The path of the library, which is not opened for this.
pub fn library() -> Result<&'static Path, &'static LlvmError> {
    static LIBRARY: OnceLock<Result<PathBuf, LlvmError>> = OnceLock::new();
    LIBRARY.get_or_init(llvm_library::installed).as_ref().map(PathBuf::as_path)
}

/// How much LLVM does for a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    Usual,
    /// For long functions.
    Quick,
}

impl Effort {
    /// The optimisations, and the code generator's level.
    fn means(self) -> (&'static CStr, c_uint) {
        match self {
            Effort::Usual => (PASSES, CODE_GENERATION),
            Effort::Quick => (QUICK_PASSES, QUICK_CODE_GENERATION),
        }
    }
}

/// Inputs of the code besides its text: the optimisations, and the library.
pub fn conditions(library: &Path, effort: Effort) -> Vec<u8> {
    let said = format!("{TRIPLE:?} {:?} {OPTIONS:?} {POSITION_INDEPENDENT} {CODE_MODEL} ", effort.means());
    [said.into_bytes(), llvm_library::cache::identity(library)].concat()
}

impl Llvm {
    /// The process's instance.
    pub fn get() -> Result<&'static Self, &'static Unavailable> {
        static LLVM: OnceLock<Result<Llvm, Unavailable>> = OnceLock::new();
        LLVM.get_or_init(|| Self::open(library().map_err(|why| Unavailable::Library(why.to_string()))?))
            .as_ref()
    }

    fn open(path: &Path) -> Result<Self, Unavailable> {
        let api = llvm_library::open(path, Api::of).map_err(|why| Unavailable::Library(why.to_string()))?;
        // SAFETY: the calls follow the C header; LLVM's strings are copied and freed.
        unsafe {
            (api.InitializeX86TargetInfo)();
            (api.InitializeX86Target)();
            (api.InitializeX86TargetMC)();
            (api.InitializeX86AsmPrinter)();
            let options = OPTIONS.map(CStr::as_ptr);
            (api.ParseCommandLineOptions)(options.len() as c_int, options.as_ptr(), c"".as_ptr());
            let owned = |text: *mut c_char| {
                let copy = CStr::from_ptr(text).to_owned();
                (api.DisposeMessage)(text);
                copy
            };
            let (processor, features) = (owned((api.GetHostCPUName)()), owned((api.GetHostCPUFeatures)()));
            let (mut target, mut message) = (null_mut(), null_mut());
            if (api.GetTargetFromTriple)(TRIPLE.as_ptr(), &mut target, &mut message) != 0 {
                return Err(Unavailable::Llvm(owned(message).to_string_lossy().into_owned()));
            }
            Ok(Llvm { api, processor, features, target })
        }
    }

    /// The message of an error, which is consumed.
    fn message(&self, error: Ref) -> Option<String> {
        if error.is_null() {
            return None;
        }
        // SAFETY: an error is asked for its message once, and the message is an LLVM string.
        unsafe {
            let message = (self.api.GetErrorMessage)(error);
            let text = CStr::from_ptr(message).to_string_lossy().into_owned();
            (self.api.DisposeErrorMessage)(message);
            Some(text)
        }
    }

    /// Compiles a text to an object file.
    pub fn object(&self, text: &str, effort: Effort) -> Result<Vec<u8>, Refused> {
        let api = &self.api;
        // SAFETY: the calls follow the C header; everything created here is disposed of in reverse order.
        unsafe {
            let context = (api.ContextCreate)();
            let buffer =
                (api.CreateMemoryBufferWithMemoryRangeCopy)(text.as_ptr().cast(), text.len(), c"".as_ptr());
            let (mut module, mut message) = (null_mut(), null_mut());
            // Consumes the buffer.
            let done = if (api.ParseIRInContext)(context, buffer, &mut module, &mut message) != 0 {
                Err(Refused(self.taken(message)))
            } else {
                let done = self.emitted(module, effort.means()).map_err(Refused);
                (api.DisposeModule)(module);
                done
            };
            (api.ContextDispose)(context);
            done
        }
    }

    /// # Safety
    /// `module` must be live.
    unsafe fn emitted(&self, module: Ref, (passes, level): (&CStr, c_uint)) -> Result<Vec<u8>, String> {
        let api = &self.api;
        // SAFETY: as in `object`.
        unsafe {
            let machine = (api.CreateTargetMachine)(
                self.target,
                TRIPLE.as_ptr(),
                self.processor.as_ptr(),
                self.features.as_ptr(),
                level,
                POSITION_INDEPENDENT,
                CODE_MODEL,
            );
            let layout = (api.CreateTargetDataLayout)(machine);
            (api.SetTarget)(module, TRIPLE.as_ptr());
            (api.SetModuleDataLayout)(module, layout);
            (api.DisposeTargetData)(layout);
            let options = (api.CreatePassBuilderOptions)();
            let error = (api.RunPasses)(module, passes.as_ptr(), machine, options);
            (api.DisposePassBuilderOptions)(options);
            let mut done = self.message(error).map_or(Ok(Vec::new()), Err);
            if done.is_ok() {
                let (mut message, mut object) = (null_mut(), null_mut());
                let failed = (api.TargetMachineEmitToMemoryBuffer)(
                    machine,
                    module,
                    OBJECT_FILE,
                    &mut message,
                    &mut object,
                );
                done = if failed != 0 {
                    Err(self.taken(message))
                } else {
                    let bytes =
                        std::slice::from_raw_parts((api.GetBufferStart)(object), (api.GetBufferSize)(object));
                    let bytes = bytes.to_vec();
                    (api.DisposeMemoryBuffer)(object);
                    Ok(bytes)
                };
            }
            (api.DisposeTargetMachine)(machine);
            done
        }
    }

    /// # Safety
    /// `message` must be null or an LLVM string, which is consumed.
    unsafe fn taken(&self, message: *mut c_char) -> String {
        if message.is_null() {
            return String::new();
        }
        // SAFETY: this function's contract.
        unsafe {
            let text = CStr::from_ptr(message).to_string_lossy().into_owned();
            (self.api.DisposeMessage)(message);
            text
        }
    }
}
