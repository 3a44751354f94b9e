//! The functions of LLVM's C API that the lowering calls, resolved in the library that ships inside the toolchain.

use llvm_library::{Library, LlvmError};
use std::ffi::{c_char, c_int, c_longlong, c_uint, c_ulonglong, c_void};
use std::path::Path;
use std::sync::OnceLock;

/// Any of LLVM's opaque pointers. The typed handles of this module's siblings keep them apart.
pub type Ref = *mut c_void;
/// The callback of `LLVMContextSetDiagnosticHandler`.
pub type DiagnosticHandler = extern "C" fn(Ref, *mut c_void);

macro_rules! functions {
    ($(fn $name:ident($($ty:ty),* $(,)?) $(-> $ret:ty)?;)*) => {
        /// The table, one field for each function, without the prefix `LLVM`.
        #[allow(non_snake_case)]
        pub struct Api {
            $(pub $name: unsafe extern "C" fn($($ty),*) $(-> $ret)?,)*
            _library: Library,
        }

        impl Api {
            fn of(library: Library) -> Result<Self, llvm_library::Error> {
                Ok(Self {
                    // SAFETY: the signature is that of the C header of LLVM 22; the symbol lives as long as the
                    // library, which the table keeps open.
                    $($name: *unsafe { library.get(concat!("LLVM", stringify!($name), "\0").as_bytes())? },)*
                    _library: library,
                })
            }
        }
    };
}

static API: OnceLock<Api> = OnceLock::new();

/// Opens the library, once for the process.
pub fn load(path: &Path) -> Result<(), LlvmError> {
    if API.get().is_none() {
        let api = llvm_library::open(path, Api::of)?;
        let _ = API.set(api);
    }
    Ok(())
}

/// The table. A `Context` cannot exist before [`load`] succeeded, and every handle comes from one.
pub fn api() -> &'static Api {
    API.get().expect("LLVM is loaded before the first context is made")
}

functions! {
    fn ContextCreate() -> Ref;
    fn ContextDispose(Ref);
    fn GetTypeContext(Ref) -> Ref;
    fn GetGlobalParent(Ref) -> Ref;
    fn ContextSetDiagnosticHandler(Ref, DiagnosticHandler, *mut c_void);
    fn GetDiagInfoDescription(Ref) -> *mut c_char;
    fn GetDiagInfoSeverity(Ref) -> c_uint;
    fn DisposeMessage(*mut c_char);
    fn GetSyncScopeID(Ref, *const c_char, usize) -> c_uint;
    fn GetEnumAttributeKindForName(*const c_char, usize) -> c_uint;
    fn CreateEnumAttribute(Ref, c_uint, u64) -> Ref;
    fn CreateTypeAttribute(Ref, c_uint, Ref) -> Ref;
    fn CreateStringAttribute(Ref, *const c_char, c_uint, *const c_char, c_uint) -> Ref;
    fn GetEnumAttributeValue(Ref) -> u64;

    fn CreateMemoryBufferWithMemoryRangeCopy(*const c_char, usize, *const c_char) -> Ref;
    fn DisposeMemoryBuffer(Ref);
    fn GetBufferStart(Ref) -> *const c_char;
    fn GetBufferSize(Ref) -> usize;
    fn CreateMemoryBufferWithMemoryRange(*const c_char, usize, *const c_char, c_int) -> Ref;
    fn GetBitcodeModuleInContext2(Ref, Ref, *mut Ref) -> c_int;
    fn ParseBitcodeInContext2(Ref, Ref, *mut Ref) -> c_int;
    fn WriteBitcodeToMemoryBuffer(Ref) -> Ref;
    fn ModuleCreateWithNameInContext(*const c_char, Ref) -> Ref;
    fn DisposeModule(Ref);
    fn StripModuleDebugInfo(Ref) -> c_int;
    fn ParseIRInContext(Ref, Ref, *mut Ref, *mut *mut c_char) -> c_int;
    fn LinkModules2(Ref, Ref) -> c_int;
    fn PrintModuleToString(Ref) -> *mut c_char;
    fn VerifyModule(Ref, c_uint, *mut *mut c_char) -> c_int;
    fn GetNamedMetadataNumOperands(Ref, *const c_char) -> c_uint;
    fn GetNamedMetadataOperands(Ref, *const c_char, *mut Ref);
    fn SetTarget(Ref, *const c_char);
    fn SetDataLayout(Ref, *const c_char);
    fn SetModuleInlineAsm2(Ref, *const c_char, usize);

    fn GetFirstFunction(Ref) -> Ref;
    fn GetNextFunction(Ref) -> Ref;
    fn GetNamedFunction(Ref, *const c_char) -> Ref;
    fn AddFunction(Ref, *const c_char, Ref) -> Ref;
    fn DeleteFunction(Ref);
    fn GetFirstGlobal(Ref) -> Ref;
    fn GetNextGlobal(Ref) -> Ref;
    fn GetNamedGlobal(Ref, *const c_char) -> Ref;
    fn AddGlobalInAddressSpace(Ref, Ref, *const c_char, c_uint) -> Ref;
    fn DeleteGlobal(Ref);

    fn GetValueName2(Ref, *mut usize) -> *const c_char;
    fn SetValueName2(Ref, *const c_char, usize);
    fn GetSection(Ref) -> *const c_char;
    fn SetSection(Ref, *const c_char);
    fn GetLinkage(Ref) -> c_uint;
    fn SetLinkage(Ref, c_uint);
    fn SetVisibility(Ref, c_uint);
    fn SetComdat(Ref, Ref);
    fn IsDeclaration(Ref) -> c_int;
    fn GetInitializer(Ref) -> Ref;
    fn SetInitializer(Ref, Ref);
    fn SetExternallyInitialized(Ref, c_int);
    fn SetGlobalConstant(Ref, c_int);
    fn IsGlobalConstant(Ref) -> c_int;
    fn IsExternallyInitialized(Ref) -> c_int;
    fn IsThreadLocal(Ref) -> c_int;
    fn GetAlignment(Ref) -> c_uint;
    fn SetAlignment(Ref, c_uint);
    fn GlobalGetValueType(Ref) -> Ref;

    fn TypeOf(Ref) -> Ref;
    fn GetTypeKind(Ref) -> c_uint;
    fn GetIntTypeWidth(Ref) -> c_uint;
    fn GetPointerAddressSpace(Ref) -> c_uint;
    fn GetReturnType(Ref) -> Ref;
    fn CountStructElementTypes(Ref) -> c_uint;
    fn StructGetTypeAtIndex(Ref, c_uint) -> Ref;
    fn GetElementType(Ref) -> Ref;
    fn GetArrayLength2(Ref) -> u64;
    fn PrintTypeToString(Ref) -> *mut c_char;
    fn VoidTypeInContext(Ref) -> Ref;
    fn IntTypeInContext(Ref, c_uint) -> Ref;
    fn HalfTypeInContext(Ref) -> Ref;
    fn FloatTypeInContext(Ref) -> Ref;
    fn DoubleTypeInContext(Ref) -> Ref;
    fn PointerTypeInContext(Ref, c_uint) -> Ref;
    fn StructTypeInContext(Ref, *mut Ref, c_uint, c_int) -> Ref;
    fn ArrayType2(Ref, u64) -> Ref;
    fn VectorType(Ref, c_uint) -> Ref;
    fn GetVectorSize(Ref) -> c_uint;
    fn ConstVector(*mut Ref, c_uint) -> Ref;
    fn FunctionType(Ref, *mut Ref, c_uint, c_int) -> Ref;
    fn ABISizeOfType(Ref, Ref) -> c_ulonglong;
    fn GetModuleDataLayout(Ref) -> Ref;

    fn ConstInt(Ref, c_ulonglong, c_int) -> Ref;
    fn ConstIntOfArbitraryPrecision(Ref, c_uint, *const u64) -> Ref;
    fn ConstStructInContext(Ref, *mut Ref, c_uint, c_int) -> Ref;
    fn ConstNull(Ref) -> Ref;
    fn GetUndef(Ref) -> Ref;
    fn ConstStringInContext2(Ref, *const c_char, usize, c_int) -> Ref;
    fn ConstAddrSpaceCast(Ref, Ref) -> Ref;
    fn ConstIntGetSExtValue(Ref) -> c_longlong;
    fn IsAConstantInt(Ref) -> Ref;
    fn IsAConstantExpr(Ref) -> Ref;
    fn IsAConstantAggregateZero(Ref) -> Ref;
    fn IsAConstantDataArray(Ref) -> Ref;
    fn IsAGlobalVariable(Ref) -> Ref;
    fn IsAFunction(Ref) -> Ref;
    fn IsAInstruction(Ref) -> Ref;
    fn IsAInlineAsm(Ref) -> Ref;
    fn IsAAllocaInst(Ref) -> Ref;
    fn IsAArgument(Ref) -> Ref;
    fn IsConstant(Ref) -> c_int;
    fn IsConstantString(Ref) -> c_int;
    fn GetAsString(Ref, *mut usize) -> *const c_char;
    fn GetAggregateElement(Ref, c_uint) -> Ref;
    fn GetInlineAsmAsmString(Ref, *mut usize) -> *const c_char;
    fn GetInlineAsmConstraintString(Ref, *mut usize) -> *const c_char;
    fn GetInlineAsmHasSideEffects(Ref) -> c_int;

    fn CountParams(Ref) -> c_uint;
    fn GetParam(Ref, c_uint) -> Ref;
    fn GetParamParent(Ref) -> Ref;
    fn SetFunctionCallConv(Ref, c_uint);
    fn GetFunctionCallConv(Ref) -> c_uint;
    fn HasPersonalityFn(Ref) -> c_int;
    fn SetPersonalityFn(Ref, Ref);
    fn AddAttributeAtIndex(Ref, c_uint, Ref);
    fn GetAttributeCountAtIndex(Ref, c_uint) -> c_uint;
    fn GetAttributesAtIndex(Ref, c_uint, *mut Ref);
    fn GetStringAttributeAtIndex(Ref, c_uint, *const c_char, c_uint) -> Ref;
    fn GetEnumAttributeAtIndex(Ref, c_uint, c_uint) -> Ref;
    fn RemoveEnumAttributeAtIndex(Ref, c_uint, c_uint);
    fn RemoveStringAttributeAtIndex(Ref, c_uint, *const c_char, c_uint);
    fn AddCallSiteAttribute(Ref, c_uint, Ref);
    fn GetCallSiteEnumAttribute(Ref, c_uint, c_uint) -> Ref;
    fn GetCallSiteStringAttribute(Ref, c_uint, *const c_char, c_uint) -> Ref;
    fn GetSubprogram(Ref) -> Ref;
    fn SetSubprogram(Ref, Ref);

    fn GetFirstBasicBlock(Ref) -> Ref;
    fn GetNextBasicBlock(Ref) -> Ref;
    fn AppendBasicBlockInContext(Ref, Ref, *const c_char) -> Ref;
    fn MoveBasicBlockBefore(Ref, Ref);
    fn GetBasicBlockParent(Ref) -> Ref;
    fn GetInstructionParent(Ref) -> Ref;
    fn GetBasicBlockTerminator(Ref) -> Ref;
    fn GetNumSuccessors(Ref) -> c_uint;
    fn GetSuccessor(Ref, c_uint) -> Ref;
    fn SetMetadata(Ref, c_uint, Ref);
    fn GetMDKindIDInContext(Ref, *const c_char, c_uint) -> c_uint;
    fn GetFirstInstruction(Ref) -> Ref;
    fn GetNextInstruction(Ref) -> Ref;
    fn GetInstructionOpcode(Ref) -> c_uint;
    fn InstructionEraseFromParent(Ref);
    fn GetGEPSourceElementType(Ref) -> Ref;
    fn GetNumOperands(Ref) -> c_int;
    fn GetOperand(Ref, c_uint) -> Ref;
    fn SetOperand(Ref, c_uint, Ref);
    fn GetFirstUse(Ref) -> Ref;
    fn GetNextUse(Ref) -> Ref;
    fn GetUser(Ref) -> Ref;
    fn ReplaceAllUsesWith(Ref, Ref);
    fn GetCalledValue(Ref) -> Ref;
    fn GetNumArgOperands(Ref) -> c_uint;
    fn SetInstructionCallConv(Ref, c_uint);
    fn GetOrdering(Ref) -> c_uint;
    fn SetOrdering(Ref, c_uint);
    fn GetAtomicRMWBinOp(Ref) -> c_uint;
    fn GetAtomicSyncScopeID(Ref) -> c_uint;
    fn SetAtomicSyncScopeID(Ref, c_uint);
    fn GetIntrinsicID(Ref) -> c_uint;
    fn LookupIntrinsicID(*const c_char, usize) -> c_uint;
    fn IntrinsicIsOverloaded(c_uint) -> c_int;
    fn IntrinsicGetType(Ref, c_uint, *mut Ref, usize) -> Ref;
    fn CanValueUseFastMathFlags(Ref) -> c_int;
    fn GetFastMathFlags(Ref) -> c_uint;
    fn SetFastMathFlags(Ref, c_uint);
    fn InstructionGetDebugLoc(Ref) -> Ref;
    fn InstructionSetDebugLoc(Ref, Ref);
    fn DILocationGetLine(Ref) -> c_uint;
    fn DILocationGetColumn(Ref) -> c_uint;
    fn DILocationGetScope(Ref) -> Ref;
    fn DILocationGetInlinedAt(Ref) -> Ref;
    fn DIScopeGetFile(Ref) -> Ref;
    fn DIFileGetFilename(Ref, *mut c_uint) -> *const c_char;
    fn DIFileGetDirectory(Ref, *mut c_uint) -> *const c_char;
    fn DISubprogramGetLine(Ref) -> c_uint;
    fn MDStringInContext2(Ref, *const c_char, usize) -> Ref;
    fn MDNodeInContext2(Ref, *mut Ref, usize) -> Ref;
    fn ReplaceMDNodeOperandWith(Ref, c_uint, Ref);
    fn MetadataAsValue(Ref, Ref) -> Ref;
    fn ValueAsMetadata(Ref) -> Ref;
    fn GetMetadataKind(Ref) -> c_uint;
    fn GetMDNodeNumOperands(Ref) -> c_uint;
    fn GetMDNodeOperands(Ref, *mut Ref);
    fn GetMDString(Ref, *mut c_uint) -> *const c_char;
    fn DIBuilderCreateDebugLocation(Ref, c_uint, c_uint, Ref, Ref) -> Ref;

    fn CreateBuilderInContext(Ref) -> Ref;
    fn DisposeBuilder(Ref);
    fn PositionBuilderBefore(Ref, Ref);
    fn PositionBuilderAtEnd(Ref, Ref);
    fn SetCurrentDebugLocation2(Ref, Ref);
    fn BuildRetVoid(Ref) -> Ref;
    fn BuildRet(Ref, Ref) -> Ref;
    fn BuildBr(Ref, Ref) -> Ref;
    fn BuildCondBr(Ref, Ref, Ref, Ref) -> Ref;
    fn BuildUnreachable(Ref) -> Ref;
    fn BuildCall2(Ref, Ref, Ref, *mut Ref, c_uint, *const c_char) -> Ref;
    fn BuildAlloca(Ref, Ref, *const c_char) -> Ref;
    fn BuildLoad2(Ref, Ref, Ref, *const c_char) -> Ref;
    fn BuildStore(Ref, Ref, Ref) -> Ref;
    fn BuildGEP2(Ref, Ref, Ref, *mut Ref, c_uint, *const c_char) -> Ref;
    fn BuildExtractValue(Ref, Ref, c_uint, *const c_char) -> Ref;
    fn BuildInsertValue(Ref, Ref, Ref, c_uint, *const c_char) -> Ref;
    fn BuildSelect(Ref, Ref, Ref, Ref, *const c_char) -> Ref;
    fn BuildFence(Ref, c_uint, c_int, *const c_char) -> Ref;
    fn BuildBinOp(Ref, c_uint, Ref, Ref, *const c_char) -> Ref;
    fn BuildCast(Ref, c_uint, Ref, Ref, *const c_char) -> Ref;
    fn BuildICmp(Ref, c_uint, Ref, Ref, *const c_char) -> Ref;
    fn BuildFCmp(Ref, c_uint, Ref, Ref, *const c_char) -> Ref;
    fn BuildFNeg(Ref, Ref, *const c_char) -> Ref;
    fn BuildPhi(Ref, Ref, *const c_char) -> Ref;
    fn AddIncoming(Ref, *mut Ref, *mut Ref, c_uint);
    fn GetInlineAsm(Ref, *const c_char, usize, *const c_char, usize, c_int, c_int, c_uint, c_int) -> Ref;

    fn CreatePassBuilderOptions() -> Ref;
    fn DisposePassBuilderOptions(Ref);
    fn RunPasses(Ref, *const c_char, Ref, Ref) -> Ref;
    fn GetErrorMessage(Ref) -> *mut c_char;
    fn DisposeErrorMessage(*mut c_char);
    fn ParseCommandLineOptions(c_int, *const *const c_char, *const c_char);

    fn InitializeNVPTXTargetInfo();
    fn InitializeNVPTXTarget();
    fn InitializeNVPTXTargetMC();
    fn InitializeNVPTXAsmPrinter();
    fn GetTargetFromTriple(*const c_char, *mut Ref, *mut *mut c_char) -> c_int;
    fn CreateTargetMachine(Ref, *const c_char, *const c_char, *const c_char, c_uint, c_uint, c_uint) -> Ref;
    fn DisposeTargetMachine(Ref);
    fn TargetMachineEmitToMemoryBuffer(Ref, Ref, c_uint, *mut *mut c_char, *mut Ref) -> c_int;
}
