//! Arguments that take the name of a kernel beside words of their own.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::registry;

/// Takes one of these words, or a kernel's name. The words are listed in the help; the kernels are too many for that.
#[derive(Clone)]
pub struct OrKernel(pub fn() -> PossibleValuesParser);

impl TypedValueParser for OrKernel {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        match value.to_str() {
            Some(name) if registry::kernels().any(|(_, kernel)| kernel.name == name) => Ok(name.to_owned()),
            _ => (self.0)().parse_ref(command, argument, value),
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let values: Vec<PossibleValue> = (self.0)().possible_values()?.collect();
        Some(Box::new(values.into_iter()))
    }
}
