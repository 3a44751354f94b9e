//! Values, types and basic blocks.

use super::{Ref, bytes, c, ffi, take_message, text};

/// A value: global, function, argument, instruction, constant or inline assembly.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub(super) Ref);

/// A type.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Type(pub(super) Ref);

/// A basic block.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Block(pub(super) Ref);

/// Where an attribute sits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum At {
    Parameter(u32),
    Function,
}

impl At {
    pub(super) fn index(self) -> u32 {
        match self {
            Self::Parameter(index) => index + 1,
            Self::Function => u32::MAX,
        }
    }
}

/// `LLVMLinkage`, the ones in use.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Linkage {
    External = 0,
    /// One of several equal definitions; dropped where nothing uses it.
    LinkOnceOdr = 3,
    Internal = 8,
}

/// `LLVMTypeKind`, the ones that the lowering tells apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TypeKind {
    Void,
    Half,
    Float,
    Double,
    Fp128,
    Integer,
    Function,
    Struct,
    Array,
    Pointer,
    Vector,
    Other,
}

/// `LLVMOpcode`, the ones that the lowering tells apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Opcode {
    Ret,
    Br,
    Invoke,
    Unreachable,
    Add,
    Alloca,
    Load,
    Store,
    GetElementPtr,
    Call,
    Phi,
    Select,
    Fence,
    CmpXchg,
    AtomicRmw,
    FRem,
    Resume,
    LandingPad,
    IntToPtr,
    AddrSpaceCast,
    FpToUi,
    FpToSi,
    UiToFp,
    SiToFp,
    Other(u32),
}

/// `LLVMAtomicOrdering`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Ordering {
    Relaxed = 2,
    Acquire = 4,
    Release = 5,
    AcqRel = 6,
    SeqCst = 7,
}

impl Value {
    fn some(raw: Ref) -> Option<Self> {
        (!raw.is_null()).then_some(Self(raw))
    }

    pub fn name(self) -> String {
        text(|len| ffi!(GetValueName2(self.0, len)))
    }

    pub fn set_name(self, name: &str) {
        ffi!(SetValueName2(self.0, name.as_ptr().cast(), name.len()));
    }

    pub fn ty(self) -> Type {
        Type(ffi!(TypeOf(self.0)))
    }

    // --- globals and functions ---

    pub fn is_declaration(self) -> bool {
        ffi!(IsDeclaration(self.0)) != 0
    }

    pub fn section(self) -> String {
        let section = ffi!(GetSection(self.0));
        if section.is_null() {
            return String::new();
        }
        // SAFETY: LLVM keeps sections as NUL-terminated text.
        unsafe { std::ffi::CStr::from_ptr(section) }.to_string_lossy().into_owned()
    }

    pub fn clear_section(self) {
        ffi!(SetSection(self.0, c"".as_ptr()));
    }

    pub fn is_internal(self) -> bool {
        // Internal and private.
        matches!(ffi!(GetLinkage(self.0)), 8 | 9)
    }

    /// Sets the linkage, with default visibility and no comdat.
    pub fn set_linkage(self, linkage: Linkage) {
        ffi!(SetVisibility(self.0, 0));
        ffi!(SetLinkage(self.0, linkage as u32));
        ffi!(SetComdat(self.0, std::ptr::null_mut()));
    }

    /// A global variable's content type, or a function's type.
    pub fn value_type(self) -> Type {
        Type(ffi!(GlobalGetValueType(self.0)))
    }

    pub fn initializer(self) -> Option<Value> {
        Self::some(ffi!(GetInitializer(self.0)))
    }

    pub fn set_initializer(self, value: Value) {
        ffi!(SetInitializer(self.0, value.0));
    }

    pub fn set_externally_initialized(self) {
        ffi!(SetExternallyInitialized(self.0, 1));
    }

    pub fn is_externally_initialized(self) -> bool {
        ffi!(IsExternallyInitialized(self.0)) != 0
    }

    pub fn is_global_constant(self) -> bool {
        ffi!(IsGlobalConstant(self.0)) != 0
    }

    pub fn set_global_constant(self, constant: bool) {
        ffi!(SetGlobalConstant(self.0, i32::from(constant)));
    }

    pub fn is_thread_local(self) -> bool {
        ffi!(IsThreadLocal(self.0)) != 0
    }

    pub fn alignment(self) -> u32 {
        ffi!(GetAlignment(self.0))
    }

    pub fn set_alignment(self, bytes: u32) {
        ffi!(SetAlignment(self.0, bytes));
    }

    pub fn delete_global(self) {
        ffi!(DeleteGlobal(self.0));
    }

    pub fn delete_function(self) {
        ffi!(DeleteFunction(self.0));
    }

    pub fn parameter_count(self) -> u32 {
        ffi!(CountParams(self.0))
    }

    pub fn parameter(self, index: u32) -> Value {
        Value(ffi!(GetParam(self.0, index)))
    }

    pub fn set_calling_convention(self, convention: u32) {
        ffi!(SetFunctionCallConv(self.0, convention));
    }

    pub fn calling_convention(self) -> u32 {
        ffi!(GetFunctionCallConv(self.0))
    }

    pub fn drop_personality(self) {
        if ffi!(HasPersonalityFn(self.0)) != 0 {
            ffi!(SetPersonalityFn(self.0, std::ptr::null_mut()));
        }
    }

    pub fn is_intrinsic(self) -> bool {
        ffi!(GetIntrinsicID(self.0)) != 0
    }

    // --- debug information ---

    /// A function's file, that file's directory, and its line.
    pub fn source(self) -> Option<(String, String, u32)> {
        let subprogram = ffi!(GetSubprogram(self.0));
        if subprogram.is_null() {
            return None;
        }
        let (file, directory) = file_of(subprogram);
        Some((file, directory, ffi!(DISubprogramGetLine(subprogram))))
    }

    /// Moves the subprogram of another function here; one belongs to one function only.
    pub fn take_subprogram(self, from: Value) {
        let subprogram = ffi!(GetSubprogram(from.0));
        for instruction in from.instructions() {
            ffi!(InstructionSetDebugLoc(instruction.0, std::ptr::null_mut()));
        }
        ffi!(SetSubprogram(from.0, std::ptr::null_mut()));
        ffi!(SetSubprogram(self.0, subprogram));
    }

    pub fn copy_debug_location(self, from: Value) {
        let location = ffi!(InstructionGetDebugLoc(from.0));
        ffi!(InstructionSetDebugLoc(self.0, location));
    }

    // --- attributes ---

    pub fn add_enum_attribute(self, at: At, name: &str, value: u64) {
        let attribute = enum_attribute(self.context(), name, value);
        ffi!(AddAttributeAtIndex(self.0, at.index(), attribute));
    }

    pub fn add_string_attribute(self, at: At, name: &str, value: &str) {
        let (key_len, value_len) = (name.len() as u32, value.len() as u32);
        let attribute = ffi!(CreateStringAttribute(
            self.context(),
            name.as_ptr().cast(),
            key_len,
            value.as_ptr().cast(),
            value_len
        ));
        ffi!(AddAttributeAtIndex(self.0, at.index(), attribute));
    }

    pub fn add_type_attribute(self, at: At, name: &str, ty: Type) {
        let attribute = ffi!(CreateTypeAttribute(self.context(), kind(name), ty.0));
        ffi!(AddAttributeAtIndex(self.0, at.index(), attribute));
    }

    pub fn remove_enum_attribute(self, at: At, name: &str) {
        ffi!(RemoveEnumAttributeAtIndex(self.0, at.index(), kind(name)));
    }

    pub fn remove_string_attribute(self, name: &str) {
        ffi!(RemoveStringAttributeAtIndex(
            self.0,
            At::Function.index(),
            name.as_ptr().cast(),
            name.len() as u32
        ));
    }

    pub fn has_enum_attribute(self, at: At, name: &str) -> bool {
        !ffi!(GetEnumAttributeAtIndex(self.0, at.index(), kind(name))).is_null()
    }

    /// The value of an attribute such as `align` or `dereferenceable`.
    pub fn enum_attribute(self, at: At, name: &str) -> Option<u64> {
        let attribute = ffi!(GetEnumAttributeAtIndex(self.0, at.index(), kind(name)));
        (!attribute.is_null()).then(|| ffi!(GetEnumAttributeValue(attribute)))
    }

    /// Copies all attributes of one parameter to a parameter of another function.
    pub fn copy_parameter_attributes(self, from: u32, to_function: Value, to: u32) {
        let count = ffi!(GetAttributeCountAtIndex(self.0, At::Parameter(from).index())) as usize;
        let mut attributes = vec![std::ptr::null_mut(); count];
        ffi!(GetAttributesAtIndex(self.0, At::Parameter(from).index(), attributes.as_mut_ptr()));
        for attribute in attributes {
            ffi!(AddAttributeAtIndex(to_function.0, At::Parameter(to).index(), attribute));
        }
    }

    pub fn add_call_attribute(self, name: &str) {
        let attribute = enum_attribute(self.context(), name, 0);
        ffi!(AddCallSiteAttribute(self.0, At::Function.index(), attribute));
    }

    /// A string attribute without a value on the call itself.
    pub fn add_call_string_attribute(self, name: &str) {
        let attribute = ffi!(CreateStringAttribute(
            self.context(),
            name.as_ptr().cast(),
            name.len() as u32,
            name.as_ptr().cast(),
            0
        ));
        ffi!(AddCallSiteAttribute(self.0, At::Function.index(), attribute));
    }

    pub fn has_call_string_attribute(self, name: &str) -> bool {
        !ffi!(GetCallSiteStringAttribute(
            self.0,
            At::Function.index(),
            name.as_ptr().cast(),
            name.len() as u32
        ))
        .is_null()
    }

    /// The value of an attribute such as `align` at a call.
    pub fn call_enum_attribute(self, at: At, name: &str) -> Option<u64> {
        let attribute = ffi!(GetCallSiteEnumAttribute(self.0, at.index(), kind(name)));
        (!attribute.is_null()).then(|| ffi!(GetEnumAttributeValue(attribute)))
    }

    pub(super) fn context(self) -> Ref {
        // A handle to the context of the value: every type knows it, and an attribute needs it.
        let ty = ffi!(TypeOf(self.0));
        ffi!(GetTypeContext(ty))
    }

    // --- uses ---

    /// All users at this moment.
    pub fn users(self) -> Vec<Value> {
        let mut users = Vec::new();
        let mut next = ffi!(GetFirstUse(self.0));
        while !next.is_null() {
            users.push(Value(ffi!(GetUser(next))));
            next = ffi!(GetNextUse(next));
        }
        users
    }

    pub fn is_used(self) -> bool {
        !ffi!(GetFirstUse(self.0)).is_null()
    }

    pub fn replace_all_uses(self, with: Value) {
        ffi!(ReplaceAllUsesWith(self.0, with.0));
    }

    // --- instructions ---

    pub fn as_instruction(self) -> Option<Value> {
        Self::some(ffi!(IsAInstruction(self.0)))
    }

    pub fn as_function(self) -> Option<Value> {
        Self::some(ffi!(IsAFunction(self.0)))
    }

    pub fn as_global_variable(self) -> Option<Value> {
        Self::some(ffi!(IsAGlobalVariable(self.0)))
    }

    pub fn is_alloca(self) -> bool {
        !ffi!(IsAAllocaInst(self.0)).is_null()
    }

    pub fn is_inline_asm(self) -> bool {
        !ffi!(IsAInlineAsm(self.0)).is_null()
    }

    pub fn inline_asm_text(self) -> String {
        text(|len| ffi!(GetInlineAsmAsmString(self.0, len)))
    }

    pub fn opcode(self) -> Opcode {
        use Opcode::*;
        match ffi!(GetInstructionOpcode(self.0)) {
            1 => Ret,
            2 => Br,
            5 => Invoke,
            7 => Unreachable,
            8 => Add,
            26 => Alloca,
            27 => Load,
            28 => Store,
            29 => GetElementPtr,
            33 => FpToUi,
            34 => FpToSi,
            35 => UiToFp,
            36 => SiToFp,
            40 => IntToPtr,
            60 => AddrSpaceCast,
            44 => Phi,
            45 => Call,
            46 => Select,
            19 => FRem,
            55 => Fence,
            56 => CmpXchg,
            57 => AtomicRmw,
            58 => Resume,
            59 => LandingPad,
            other => Other(other),
        }
    }

    pub fn operand_count(self) -> u32 {
        ffi!(GetNumOperands(self.0)) as u32
    }

    pub fn operand(self, index: u32) -> Value {
        Value(ffi!(GetOperand(self.0, index)))
    }

    pub fn operands(self) -> impl Iterator<Item = Value> {
        (0..self.operand_count()).map(move |index| self.operand(index)).filter(|v| !v.0.is_null())
    }

    pub fn set_operand(self, index: u32, value: Value) {
        ffi!(SetOperand(self.0, index, value.0));
    }

    /// The byte offset of an address that is a constant number of elements after another.
    pub fn constant_offset(self) -> Option<u64> {
        let [_, index] = self.operands().collect::<Vec<_>>()[..] else { return None };
        let element = ffi!(GetGEPSourceElementType(self.0));
        let module = ffi!(GetGlobalParent(self.function().0));
        let layout = ffi!(GetModuleDataLayout(module));
        let size = ffi!(ABISizeOfType(layout, element));
        Some(u64::try_from(index.as_int()?).ok()? * size)
    }

    /// Where a terminator may go.
    pub fn successors(self) -> Vec<Block> {
        (0..ffi!(GetNumSuccessors(self.0))).map(|index| Block(ffi!(GetSuccessor(self.0, index)))).collect()
    }

    pub fn set_metadata(self, kind: u32, metadata: Value) {
        ffi!(SetMetadata(self.0, kind, metadata.0));
    }

    pub fn block(self) -> Block {
        Block(ffi!(GetInstructionParent(self.0)))
    }

    /// The function around an instruction.
    pub fn function(self) -> Value {
        self.block().function()
    }

    pub fn next_instruction(self) -> Option<Value> {
        Self::some(ffi!(GetNextInstruction(self.0)))
    }

    pub fn erase(self) {
        ffi!(InstructionEraseFromParent(self.0));
    }

    /// The called value of a call or invoke; `None` for other instructions.
    pub fn called(self) -> Option<Value> {
        matches!(self.opcode(), Opcode::Call | Opcode::Invoke).then(|| Value(ffi!(GetCalledValue(self.0))))
    }

    pub fn arguments(self) -> Vec<Value> {
        (0..ffi!(GetNumArgOperands(self.0))).map(|index| self.operand(index)).collect()
    }

    pub fn set_call_convention(self, convention: u32) {
        ffi!(SetInstructionCallConv(self.0, convention));
    }

    pub fn ordering(self) -> Option<Ordering> {
        match ffi!(GetOrdering(self.0)) {
            2 => Some(Ordering::Relaxed),
            4 => Some(Ordering::Acquire),
            5 => Some(Ordering::Release),
            6 => Some(Ordering::AcqRel),
            7 => Some(Ordering::SeqCst),
            _ => None,
        }
    }

    pub fn set_ordering(self, ordering: Ordering) {
        ffi!(SetOrdering(self.0, ordering as u32));
    }

    pub fn sync_scope(self) -> u32 {
        ffi!(GetAtomicSyncScopeID(self.0))
    }

    pub fn set_sync_scope(self, scope: u32) {
        ffi!(SetAtomicSyncScopeID(self.0, scope));
    }

    /// `LLVMAtomicRMWBinOp`.
    pub fn atomic_operation(self) -> u32 {
        ffi!(GetAtomicRMWBinOp(self.0))
    }

    /// Allows fusing of this operation with another, if it is one on floats.
    pub fn add_fast_math(self, flags: u32) {
        if ffi!(CanValueUseFastMathFlags(self.0)) != 0 {
            let flags = flags | ffi!(GetFastMathFlags(self.0));
            ffi!(SetFastMathFlags(self.0, flags));
        }
    }

    /// Whether it is an operation of floats that may carry such flags.
    pub fn may_be_fused(self) -> bool {
        ffi!(CanValueUseFastMathFlags(self.0)) != 0
    }

    // --- constants ---

    pub fn is_constant_expression(self) -> bool {
        !ffi!(IsAConstantExpr(self.0)).is_null()
    }

    /// The value of an integer constant, sign-extended.
    pub fn as_int(self) -> Option<i64> {
        (!ffi!(IsAConstantInt(self.0)).is_null()).then(|| ffi!(ConstIntGetSExtValue(self.0)))
    }

    /// The bytes of a constant array of `i8`, through the one-field struct that rustc wraps it in.
    pub fn as_bytes(self) -> Option<Vec<u8>> {
        if !ffi!(IsAConstantDataArray(self.0)).is_null() && ffi!(IsConstantString(self.0)) != 0 {
            return Some(bytes(|len| ffi!(GetAsString(self.0, len))));
        }
        match self.ty().kind() {
            TypeKind::Struct if self.ty().fields().len() == 1 => self.element(0)?.as_bytes(),
            TypeKind::Array | TypeKind::Struct if !ffi!(IsAConstantAggregateZero(self.0)).is_null() => {
                Some(vec![0; self.ty().byte_array_len()?])
            }
            _ => None,
        }
    }

    /// A field or element of a constant.
    pub fn element(self, index: u32) -> Option<Value> {
        Self::some(ffi!(GetAggregateElement(self.0, index)))
    }

    pub fn addrspace_cast(self, to: Type) -> Value {
        Value(ffi!(ConstAddrSpaceCast(self.0, to.0)))
    }

    // --- functions' bodies ---

    pub fn blocks(self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut next = ffi!(GetFirstBasicBlock(self.0));
        while !next.is_null() {
            blocks.push(Block(next));
            next = ffi!(GetNextBasicBlock(next));
        }
        blocks
    }

    /// Every instruction of a function, in order, as of this moment.
    pub fn instructions(self) -> Vec<Value> {
        self.blocks().into_iter().flat_map(Block::instructions).collect()
    }

    pub fn append_block(self, name: &str) -> Block {
        Block(ffi!(AppendBasicBlockInContext(self.context(), self.0, c(name).as_ptr())))
    }
}

impl Block {
    pub fn function(self) -> Value {
        Value(ffi!(GetBasicBlockParent(self.0)))
    }

    pub fn instructions(self) -> Vec<Value> {
        let mut all = Vec::new();
        let mut next = ffi!(GetFirstInstruction(self.0));
        while !next.is_null() {
            all.push(Value(next));
            next = ffi!(GetNextInstruction(next));
        }
        all
    }

    pub fn terminator(self) -> Option<Value> {
        Value::some(ffi!(GetBasicBlockTerminator(self.0)))
    }

    pub fn move_before(self, other: Block) {
        ffi!(MoveBasicBlockBefore(self.0, other.0));
    }
}

impl Type {
    pub fn kind(self) -> TypeKind {
        match ffi!(GetTypeKind(self.0)) {
            0 => TypeKind::Void,
            1 => TypeKind::Half,
            2 => TypeKind::Float,
            3 => TypeKind::Double,
            5 => TypeKind::Fp128,
            8 => TypeKind::Integer,
            9 => TypeKind::Function,
            10 => TypeKind::Struct,
            11 => TypeKind::Array,
            12 => TypeKind::Pointer,
            13 => TypeKind::Vector,
            _ => TypeKind::Other,
        }
    }

    pub fn int_width(self) -> u32 {
        if self.kind() == TypeKind::Integer { ffi!(GetIntTypeWidth(self.0)) } else { 0 }
    }

    /// The address space of a pointer.
    pub fn address_space(self) -> u32 {
        if self.kind() == TypeKind::Pointer { ffi!(GetPointerAddressSpace(self.0)) } else { 0 }
    }

    pub fn return_type(self) -> Type {
        Type(ffi!(GetReturnType(self.0)))
    }

    pub fn fields(self) -> Vec<Type> {
        if self.kind() != TypeKind::Struct {
            return Vec::new();
        }
        (0..ffi!(CountStructElementTypes(self.0)))
            .map(|index| Type(ffi!(StructGetTypeAtIndex(self.0, index))))
            .collect()
    }

    pub fn array_len(self) -> u64 {
        if self.kind() == TypeKind::Array { ffi!(GetArrayLength2(self.0)) } else { 0 }
    }

    fn byte_array_len(self) -> Option<usize> {
        let array = match self.fields()[..] {
            [only] => only,
            _ => self,
        };
        (array.kind() == TypeKind::Array && Type(ffi!(GetElementType(array.0))).int_width() == 8)
            .then(|| array.array_len() as usize)
    }

    pub fn zero(self) -> Value {
        Value(ffi!(ConstNull(self.0)))
    }

    pub fn undef(self) -> Value {
        Value(ffi!(GetUndef(self.0)))
    }

    pub fn int(self, value: i64) -> Value {
        Value(ffi!(ConstInt(self.0, value as u64, 1)))
    }

    /// A constant of more than 64 bits.
    pub fn int128(self, value: u128) -> Value {
        let words = [value as u64, (value >> 64) as u64];
        Value(ffi!(ConstIntOfArbitraryPrecision(self.0, 2, words.as_ptr())))
    }

    pub fn array(self, len: u64) -> Type {
        Type(ffi!(ArrayType2(self.0, len)))
    }

    /// The function type with this result.
    pub fn function(self, parameters: &[Type]) -> Type {
        let mut raw: Vec<Ref> = parameters.iter().map(|t| t.0).collect();
        Type(ffi!(FunctionType(self.0, raw.as_mut_ptr(), raw.len() as u32, 0)))
    }

    pub fn print(self) -> String {
        take_message(ffi!(PrintTypeToString(self.0)))
    }
}

/// The name and directory of the file of a scope.
pub(super) fn file_of(scope: Ref) -> (String, String) {
    let file = ffi!(DIScopeGetFile(scope));
    if file.is_null() {
        return Default::default();
    }
    let read = |get: &dyn Fn(*mut u32) -> *const std::ffi::c_char| {
        let mut len = 0;
        let start = get(&mut len);
        String::from_utf8_lossy(&super::copied(start, len as usize)).into_owned()
    };
    (read(&|len| ffi!(DIFileGetFilename(file, len))), read(&|len| ffi!(DIFileGetDirectory(file, len))))
}

fn kind(name: &str) -> u32 {
    ffi!(GetEnumAttributeKindForName(name.as_ptr().cast(), name.len()))
}

fn enum_attribute(context: Ref, name: &str, value: u64) -> Ref {
    ffi!(CreateEnumAttribute(context, kind(name), value))
}
