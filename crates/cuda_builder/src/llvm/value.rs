//! Values: what they are, who uses them, and what a global or a constant holds.

use super::instruction::Block;
use super::types::{Type, TypeKind};
use super::{Ref, bytes, c, ffi, text};

/// A value: global, function, argument, instruction, constant or inline assembly.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub(super) Ref);

/// `LLVMLinkage`, the ones in use.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Linkage {
    External = 0,
    /// One of several equal definitions; dropped where nothing uses it.
    LinkOnceOdr = 3,
    Internal = 8,
}

impl Value {
    pub(super) fn some(raw: Ref) -> Option<Self> {
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

    pub(super) fn context(self) -> Ref {
        // A handle to the context of the value: every type knows it, and an attribute needs it.
        let ty = ffi!(TypeOf(self.0));
        ffi!(GetTypeContext(ty))
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

    /// The function whose parameter it is.
    pub fn parameter_of(self) -> Option<Value> {
        (!ffi!(IsAArgument(self.0)).is_null()).then(|| Value(ffi!(GetParamParent(self.0))))
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

    // --- constants ---

    /// Whether it is a constant of any kind: also a function or static, which stands for its address.
    pub fn is_constant(self) -> bool {
        ffi!(IsConstant(self.0)) != 0
    }

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
