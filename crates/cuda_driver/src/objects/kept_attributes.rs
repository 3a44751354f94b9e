//! Attributes of launches and streams that have no effect here: stored as they are set.

use crate::abi::CUlaunchAttributeID;

/// `CUlaunchAttributeValue`: a union of 64 bytes.
pub type Value = [u64; 8];

#[derive(Clone, Default)]
pub struct KeptAttributes(Vec<(CUlaunchAttributeID, Value)>);

impl KeptAttributes {
    pub fn get(&self, id: CUlaunchAttributeID) -> Option<Value> {
        self.0.iter().find(|(known, _)| *known == id).map(|&(_, value)| value)
    }

    pub fn set(&mut self, id: CUlaunchAttributeID, value: Value) {
        self.0.retain(|(known, _)| *known != id);
        self.0.push((id, value));
    }
}
