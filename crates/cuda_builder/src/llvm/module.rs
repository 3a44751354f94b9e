//! Contexts and modules.

use super::location::Location;
use super::types::Type;
use super::value::{Linkage, Value};
use super::{Ref, c, ffi, take_message};
use std::cell::RefCell;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;

/// A context, and the messages that LLVM reported in it.
pub struct Context {
    pub(super) raw: Ref,
    diagnostics: Box<Diagnostics>,
}

/// LLVM's messages in a context.
#[derive(Default)]
struct Diagnostics {
    errors: RefCell<Vec<String>>,
    warnings: RefCell<Vec<String>>,
}

extern "C" fn on_diagnostic(info: Ref, diagnostics: *mut c_void) {
    // SAFETY: `Context::new` passed this box, which lives as long as the context.
    let diagnostics = unsafe { &*diagnostics.cast::<Diagnostics>() };
    let list = match ffi!(GetDiagInfoSeverity(info)) {
        0 => &diagnostics.errors,
        1 => &diagnostics.warnings,
        // Remarks (one for each function) and notes are of no use to a user.
        _ => return,
    };
    list.borrow_mut().push(take_message(ffi!(GetDiagInfoDescription(info))));
}

impl Context {
    pub fn new() -> Self {
        let raw = ffi!(ContextCreate());
        let diagnostics = Box::<Diagnostics>::default();
        let slot = (&raw const *diagnostics).cast_mut().cast();
        ffi!(ContextSetDiagnosticHandler(raw, on_diagnostic, slot));
        Self { raw, diagnostics }
    }

    /// The errors reported since the last call.
    pub fn take_errors(&self) -> Vec<String> {
        self.diagnostics.errors.take()
    }

    /// The warnings reported since the last call.
    pub fn take_warnings(&self) -> Vec<String> {
        self.diagnostics.warnings.take()
    }

    pub fn parse(&self, bitcode: &[u8], name: &str) -> Result<Module<'_>, String> {
        let buffer = ffi!(CreateMemoryBufferWithMemoryRangeCopy(
            bitcode.as_ptr().cast(),
            bitcode.len(),
            c(name).as_ptr()
        ));
        let mut module = std::ptr::null_mut();
        let failed = ffi!(ParseBitcodeInContext2(self.raw, buffer, &mut module)) != 0;
        ffi!(DisposeMemoryBuffer(buffer));
        if failed { Err(self.take_errors().join("\n")) } else { Ok(Module::new(module)) }
    }

    /// Reads what the module declares and defines; a function's body is read when the module is linked into another
    /// that needs it. The module reads from `bitcode` as long as it lives.
    pub fn parse_lazily<'c>(&'c self, bitcode: &'c [u8], name: &str) -> Result<Module<'c>, String> {
        let (start, len) = (bitcode.as_ptr().cast(), bitcode.len());
        let buffer = ffi!(CreateMemoryBufferWithMemoryRange(start, len, c(name).as_ptr(), 0));
        let mut module = std::ptr::null_mut();
        // The module owns the buffer, if there is one.
        let failed = ffi!(GetBitcodeModuleInContext2(self.raw, buffer, &mut module)) != 0;
        if failed { Err(self.take_errors().join("\n")) } else { Ok(Module::new(module)) }
    }

    /// Reads LLVM's assembly language.
    pub fn parse_assembly(&self, text: &str) -> Result<Module<'_>, String> {
        let text = c(text);
        let (mut module, mut message) = (std::ptr::null_mut(), std::ptr::null_mut());
        let len = text.as_bytes().len();
        let buffer = ffi!(CreateMemoryBufferWithMemoryRangeCopy(text.as_ptr(), len, c"assembly".as_ptr()));
        // `LLVMParseIRInContext` disposes of the buffer.
        if ffi!(ParseIRInContext(self.raw, buffer, &mut module, &mut message)) != 0 {
            return Err(take_message(message));
        }
        Ok(Module::new(module))
    }

    pub fn module(&self, name: &str) -> Module<'_> {
        Module::new(ffi!(ModuleCreateWithNameInContext(c(name).as_ptr(), self.raw)))
    }

    pub fn void(&self) -> Type {
        Type(ffi!(VoidTypeInContext(self.raw)))
    }

    pub fn int(&self, bits: u32) -> Type {
        Type(ffi!(IntTypeInContext(self.raw, bits)))
    }

    pub fn half(&self) -> Type {
        Type(ffi!(HalfTypeInContext(self.raw)))
    }

    pub fn float(&self) -> Type {
        Type(ffi!(FloatTypeInContext(self.raw)))
    }

    pub fn double(&self) -> Type {
        Type(ffi!(DoubleTypeInContext(self.raw)))
    }

    pub fn pointer(&self, address_space: u32) -> Type {
        Type(ffi!(PointerTypeInContext(self.raw, address_space)))
    }

    pub fn structure(&self, fields: &[Type]) -> Type {
        let mut raw: Vec<Ref> = fields.iter().map(|t| t.0).collect();
        Type(ffi!(StructTypeInContext(self.raw, raw.as_mut_ptr(), raw.len() as u32, 0)))
    }

    pub fn constant_structure(&self, fields: &[Value]) -> Value {
        let mut raw: Vec<Ref> = fields.iter().map(|v| v.0).collect();
        Value(ffi!(ConstStructInContext(self.raw, raw.as_mut_ptr(), raw.len() as u32, 0)))
    }

    pub fn vector(&self, element: Type, lanes: u32) -> Type {
        Type(ffi!(VectorType(element.0, lanes)))
    }

    /// A constant vector of equal lanes.
    pub fn splat(&self, lane: Value, lanes: u32) -> Value {
        let mut lanes = vec![lane.0; lanes as usize];
        Value(ffi!(ConstVector(lanes.as_mut_ptr(), lanes.len() as u32)))
    }

    /// A constant array of the text's bytes and a NUL.
    pub fn c_string(&self, text: impl AsRef<[u8]>) -> Value {
        let text = text.as_ref();
        Value(ffi!(ConstStringInContext2(self.raw, text.as_ptr().cast(), text.len(), 0)))
    }

    /// The number of a synchronisation scope; the empty name is that of the whole system.
    pub fn sync_scope(&self, name: &str) -> u32 {
        ffi!(GetSyncScopeID(self.raw, name.as_ptr().cast(), name.len()))
    }

    /// The function type of an intrinsic, or `None` if LLVM knows none of this name or it is overloaded.
    pub fn is_intrinsic(&self, name: &str) -> bool {
        ffi!(LookupIntrinsicID(name.as_ptr().cast(), name.len())) != 0
    }

    pub fn intrinsic_type(&self, name: &str) -> Option<Type> {
        let id = ffi!(LookupIntrinsicID(name.as_ptr().cast(), name.len()));
        (id != 0 && ffi!(IntrinsicIsOverloaded(id)) == 0)
            .then(|| Type(ffi!(IntrinsicGetType(self.raw, id, std::ptr::null_mut(), 0))))
    }

    pub fn metadata_kind(&self, name: &str) -> u32 {
        ffi!(GetMDKindIDInContext(self.raw, name.as_ptr().cast(), name.len() as u32))
    }

    /// A distinct loop identifier with these properties, for the latch of a loop (metadata kind `llvm.loop`). The place is
    /// where LLVM says that the loop is.
    pub fn loop_metadata(&self, place: Option<Location>, properties: &[(&str, Option<u32>)]) -> Value {
        let string = |text: &str| ffi!(MDStringInContext2(self.raw, text.as_ptr().cast(), text.len()));
        // The first operand of a loop identifier is itself; a node with a unique temporary becomes that.
        let mut operands: Vec<Ref> = vec![string("self")];
        operands.extend(place.map(|place| place.0));
        for (name, value) in properties {
            let mut property = vec![string(name)];
            if let Some(value) = value {
                property.push(ffi!(ValueAsMetadata(self.int(32).int(i64::from(*value)).0)));
            }
            operands.push(ffi!(MDNodeInContext2(self.raw, property.as_mut_ptr(), property.len())));
        }
        let node = ffi!(MDNodeInContext2(self.raw, operands.as_mut_ptr(), operands.len()));
        let value = ffi!(MetadataAsValue(self.raw, node));
        ffi!(ReplaceMDNodeOperandWith(value, 0, node));
        Value(value)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        ffi!(ContextDispose(self.raw));
    }
}

pub struct Module<'c> {
    pub(super) raw: Ref,
    context: PhantomData<&'c Context>,
}

impl<'c> Module<'c> {
    fn new(raw: Ref) -> Self {
        Self { raw, context: PhantomData }
    }

    /// Takes in all of another module.
    pub fn link(&self, other: Module<'c>) -> bool {
        // `LLVMLinkModules2` disposes of the source.
        let other = ManuallyDrop::new(other);
        ffi!(LinkModules2(self.raw, other.raw)) == 0
    }

    pub fn print(&self) -> String {
        take_message(ffi!(PrintModuleToString(self.raw)))
    }

    pub fn bitcode(&self) -> Vec<u8> {
        let buffer = ffi!(WriteBitcodeToMemoryBuffer(self.raw));
        let copy = super::copied(ffi!(GetBufferStart(buffer)), ffi!(GetBufferSize(buffer)));
        ffi!(DisposeMemoryBuffer(buffer));
        copy
    }

    /// The verifier's objection, if it has one.
    pub fn verify(&self) -> Result<(), String> {
        let mut message = std::ptr::null_mut();
        let broken = ffi!(VerifyModule(self.raw, 2, &mut message)) != 0;
        let message = take_message(message);
        if broken { Err(message) } else { Ok(()) }
    }

    pub fn set_target(&self, triple: &str, data_layout: &str) {
        ffi!(SetTarget(self.raw, c(triple).as_ptr()));
        ffi!(SetDataLayout(self.raw, c(data_layout).as_ptr()));
    }

    pub fn strip_debug_info(&self) {
        ffi!(StripModuleDebugInfo(self.raw));
    }

    pub fn clear_inline_assembly(&self) {
        ffi!(SetModuleInlineAsm2(self.raw, c"".as_ptr(), 0));
    }

    pub fn size_of(&self, ty: Type) -> u64 {
        let layout = ffi!(GetModuleDataLayout(self.raw));
        ffi!(ABISizeOfType(layout, ty.0))
    }

    /// All functions at this moment, declarations included.
    pub fn functions(&self) -> Vec<Value> {
        list(ffi!(GetFirstFunction(self.raw)), |f| ffi!(GetNextFunction(f)))
    }

    pub fn globals(&self) -> Vec<Value> {
        list(ffi!(GetFirstGlobal(self.raw)), |g| ffi!(GetNextGlobal(g)))
    }

    pub fn function(&self, name: &str) -> Option<Value> {
        let function = ffi!(GetNamedFunction(self.raw, c(name).as_ptr()));
        (!function.is_null()).then_some(Value(function))
    }

    pub fn global(&self, name: &str) -> Option<Value> {
        let global = ffi!(GetNamedGlobal(self.raw, c(name).as_ptr()));
        (!global.is_null()).then_some(Value(global))
    }

    pub fn add_function(&self, name: &str, ty: Type) -> Value {
        Value(ffi!(AddFunction(self.raw, c(name).as_ptr(), ty.0)))
    }

    /// The function of this name, declared if it is not there.
    pub fn declare(&self, name: &str, ty: Type) -> Value {
        self.function(name).unwrap_or_else(|| self.add_function(name, ty))
    }

    pub fn add_global(&self, name: &str, ty: Type, address_space: u32) -> Value {
        Value(ffi!(AddGlobalInAddressSpace(self.raw, ty.0, c(name).as_ptr(), address_space)))
    }

    /// An internal constant in global memory.
    pub fn add_constant(&self, name: &str, value: Value) -> Value {
        let global = self.add_global(name, value.ty(), 0);
        global.set_initializer(value);
        global.set_linkage(Linkage::Internal);
        global.set_global_constant(true);
        global.set_alignment(1);
        global
    }
}

fn list(first: Ref, next: impl Fn(Ref) -> Ref) -> Vec<Value> {
    let mut all = Vec::new();
    let mut current = first;
    while !current.is_null() {
        all.push(Value(current));
        current = next(current);
    }
    all
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        ffi!(DisposeModule(self.raw));
    }
}
