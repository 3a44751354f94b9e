//! Builds instructions.

use super::instruction::{Block, Ordering};
use super::types::Type;
use super::value::Value;
use super::{Ref, ffi};

/// An instruction builder with a position.
pub struct Builder(Ref);

/// `LLVMOpcode` of the casts in use.
#[derive(Clone, Copy)]
pub enum Cast {
    Trunc = 30,
    ZExt = 31,
    SExt = 32,
    FpTrunc = 37,
    FpExt = 38,
    PtrToInt = 39,
    IntToPtr = 40,
    Bits = 41,
    AddrSpace = 60,
}

/// `LLVMOpcode` of the binary operations in use.
#[derive(Clone, Copy)]
pub enum Binary {
    Add = 8,
    FAdd = 9,
    Sub = 10,
    FSub = 11,
    Mul = 12,
    FMul = 13,
    UDiv = 14,
    FDiv = 16,
    Shl = 20,
    LShr = 21,
    And = 23,
    Or = 24,
    Xor = 25,
}

const UNNAMED: *const std::ffi::c_char = c"".as_ptr();

impl Builder {
    /// A builder that inserts before an instruction, with that instruction's place in the source.
    pub fn before(instruction: Value) -> Self {
        let context = instruction.context();
        let builder = Self(ffi!(CreateBuilderInContext(context)));
        ffi!(PositionBuilderBefore(builder.0, instruction.0));
        let location = ffi!(InstructionGetDebugLoc(instruction.0));
        ffi!(SetCurrentDebugLocation2(builder.0, location));
        builder
    }

    /// A builder that appends to a block.
    pub fn at_end(block: Block) -> Self {
        let context = block.function().context();
        let builder = Self(ffi!(CreateBuilderInContext(context)));
        ffi!(PositionBuilderAtEnd(builder.0, block.0));
        builder
    }

    pub fn call(&self, ty: Type, callee: Value, arguments: &[Value]) -> Value {
        let mut raw: Vec<Ref> = arguments.iter().map(|v| v.0).collect();
        Value(ffi!(BuildCall2(self.0, ty.0, callee.0, raw.as_mut_ptr(), raw.len() as u32, UNNAMED)))
    }

    /// Calls inline assembly.
    pub fn inline_asm(
        &self,
        ty: Type,
        text: &str,
        constraints: &str,
        side_effects: bool,
        arguments: &[Value],
    ) -> Value {
        let asm = Value(ffi!(GetInlineAsm(
            ty.0,
            text.as_ptr().cast(),
            text.len(),
            constraints.as_ptr().cast(),
            constraints.len(),
            i32::from(side_effects),
            0,
            0,
            0
        )));
        self.call(ty, asm, arguments)
    }

    pub fn return_void(&self) {
        ffi!(BuildRetVoid(self.0));
    }

    pub fn return_value(&self, value: Value) {
        ffi!(BuildRet(self.0, value.0));
    }

    pub fn unreachable(&self) {
        ffi!(BuildUnreachable(self.0));
    }

    pub fn branch(&self, to: Block) {
        ffi!(BuildBr(self.0, to.0));
    }

    pub fn branch_if(&self, condition: Value, then: Block, otherwise: Block) {
        ffi!(BuildCondBr(self.0, condition.0, then.0, otherwise.0));
    }

    pub fn alloca(&self, ty: Type, align: u32) -> Value {
        let place = Value(ffi!(BuildAlloca(self.0, ty.0, UNNAMED)));
        place.set_alignment(align);
        place
    }

    pub fn load(&self, ty: Type, from: Value, align: u32) -> Value {
        let value = Value(ffi!(BuildLoad2(self.0, ty.0, from.0, UNNAMED)));
        value.set_alignment(align);
        value
    }

    pub fn store(&self, value: Value, to: Value, align: u32) -> Value {
        let store = Value(ffi!(BuildStore(self.0, value.0, to.0)));
        store.set_alignment(align);
        store
    }

    /// The address `index` elements of `ty` after `base`.
    pub fn offset(&self, ty: Type, base: Value, index: Value) -> Value {
        Value(ffi!(BuildGEP2(self.0, ty.0, base.0, &mut { index.0 }, 1, UNNAMED)))
    }

    pub fn extract(&self, aggregate: Value, index: u32) -> Value {
        Value(ffi!(BuildExtractValue(self.0, aggregate.0, index, UNNAMED)))
    }

    pub fn insert(&self, aggregate: Value, value: Value, index: u32) -> Value {
        Value(ffi!(BuildInsertValue(self.0, aggregate.0, value.0, index, UNNAMED)))
    }

    pub fn select(&self, condition: Value, then: Value, otherwise: Value) -> Value {
        Value(ffi!(BuildSelect(self.0, condition.0, then.0, otherwise.0, UNNAMED)))
    }

    pub fn fence(&self, ordering: Ordering, scope: u32) -> Value {
        let fence = Value(ffi!(BuildFence(self.0, ordering as u32, 0, UNNAMED)));
        fence.set_sync_scope(scope);
        fence
    }

    pub fn cast(&self, cast: Cast, value: Value, to: Type) -> Value {
        Value(ffi!(BuildCast(self.0, cast as u32, value.0, to.0, UNNAMED)))
    }

    pub fn binary(&self, operation: Binary, a: Value, b: Value) -> Value {
        Value(ffi!(BuildBinOp(self.0, operation as u32, a.0, b.0, UNNAMED)))
    }

    /// Integer comparison; the predicate is `LLVMIntPredicate` (32 `eq`, 33 `ne`, 36 `ult`).
    pub fn compare(&self, predicate: u32, a: Value, b: Value) -> Value {
        Value(ffi!(BuildICmp(self.0, predicate, a.0, b.0, UNNAMED)))
    }

    /// Comparison of floats: whether one of them is NaN.
    pub fn unordered(&self, a: Value, b: Value) -> Value {
        // `LLVMRealPredicate`.
        const UNO: u32 = 8;
        Value(ffi!(BuildFCmp(self.0, UNO, a.0, b.0, UNNAMED)))
    }

    pub fn negate_float(&self, value: Value) -> Value {
        Value(ffi!(BuildFNeg(self.0, value.0, UNNAMED)))
    }

    pub fn phi(&self, ty: Type) -> Value {
        Value(ffi!(BuildPhi(self.0, ty.0, UNNAMED)))
    }

    pub fn add_incoming(&self, phi: Value, value: Value, from: Block) {
        ffi!(AddIncoming(phi.0, &mut { value.0 }, &mut { from.0 }, 1));
    }
}

impl Drop for Builder {
    fn drop(&mut self) {
        ffi!(DisposeBuilder(self.0));
    }
}
