//! Instructions and the blocks that they stand in.

use super::value::Value;
use super::{Ref, ffi, text};

/// A basic block.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Block(pub(super) Ref);

/// `LLVMOpcode`, the ones that the lowering tells apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Opcode {
    Ret,
    Br,
    Switch,
    Invoke,
    Unreachable,
    Add,
    FAdd,
    FSub,
    FMul,
    FDiv,
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
    Xor,
    SExt,
    BitCast,
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

    pub fn inline_asm_constraints(self) -> String {
        text(|len| ffi!(GetInlineAsmConstraintString(self.0, len)))
    }

    pub fn inline_asm_has_side_effects(self) -> bool {
        ffi!(GetInlineAsmHasSideEffects(self.0)) != 0
    }

    pub fn opcode(self) -> Opcode {
        use Opcode::*;
        match ffi!(GetInstructionOpcode(self.0)) {
            1 => Ret,
            2 => Br,
            3 => Switch,
            5 => Invoke,
            7 => Unreachable,
            8 => Add,
            9 => FAdd,
            11 => FSub,
            13 => FMul,
            16 => FDiv,
            26 => Alloca,
            27 => Load,
            28 => Store,
            29 => GetElementPtr,
            33 => FpToUi,
            34 => FpToSi,
            35 => UiToFp,
            36 => SiToFp,
            40 => IntToPtr,
            41 => BitCast,
            60 => AddrSpaceCast,
            44 => Phi,
            45 => Call,
            46 => Select,
            19 => FRem,
            25 => Xor,
            32 => SExt,
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

    /// Whether a load or store is one.
    pub fn is_atomic(self) -> bool {
        ffi!(GetOrdering(self.0)) != 0
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

    /// Its fast-math flags; none if it cannot have any.
    pub fn fast_math(self) -> u32 {
        if self.may_be_fused() { ffi!(GetFastMathFlags(self.0)) } else { 0 }
    }

    /// Whether it is an operation of floats that may carry such flags.
    pub fn may_be_fused(self) -> bool {
        ffi!(CanValueUseFastMathFlags(self.0)) != 0
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
