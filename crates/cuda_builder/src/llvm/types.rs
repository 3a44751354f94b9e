//! Types, and the constants that need nothing but a type.

use super::value::Value;
use super::{Ref, ffi, take_message};

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Type(pub(super) Ref);

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

    pub(super) fn byte_array_len(self) -> Option<usize> {
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

    /// The element type and the number of lanes of a vector.
    pub fn lanes(self) -> Option<(Type, u32)> {
        (self.kind() == TypeKind::Vector)
            .then(|| (Type(ffi!(GetElementType(self.0))), ffi!(GetVectorSize(self.0))))
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
