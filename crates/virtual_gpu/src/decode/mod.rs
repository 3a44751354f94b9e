//! From the parsed module to the flat program that runs.

use std::sync::Arc;

use gpu_model::Chip;

use crate::Error;
use crate::memory::Memory;
use crate::module::Module;

pub(crate) fn load(_text: &str, _chip: &Chip, _memory: &Arc<Memory>) -> Result<Module, Error> {
    Err(Error::Parse("modules cannot be loaded yet".into()))
}
