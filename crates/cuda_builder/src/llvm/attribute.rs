//! Attributes of functions, parameters and calls.

use super::types::Type;
use super::value::Value;
use super::{Ref, ffi};

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

impl Value {
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

    /// Whether a function has a string attribute.
    pub fn has_string_attribute(self, name: &str) -> bool {
        !ffi!(GetStringAttributeAtIndex(
            self.0,
            At::Function.index(),
            name.as_ptr().cast(),
            name.len() as u32
        ))
        .is_null()
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
}

fn kind(name: &str) -> u32 {
    ffi!(GetEnumAttributeKindForName(name.as_ptr().cast(), name.len()))
}

fn enum_attribute(context: Ref, name: &str, value: u64) -> Ref {
    ffi!(CreateEnumAttribute(context, kind(name), value))
}
