//! The initial values of variables in device memory.

use std::sync::Arc;

use ptx::{Initializer, Variable};

use super::Loader;
use crate::Error;
use crate::decode::Refusal;
use crate::decode::function::{Decoder, Symbol};
use crate::form::program::code_address;
use crate::memory::Memory;

/// Most bytes of a variable that an initialiser may reach.
const MAX_INITIALISED: u64 = 1 << 30;

impl Loader<'_> {
    /// Writes the initial values of variables.
    pub(super) fn initialise(&mut self, memory: &Arc<Memory>) -> Result<(), Error> {
        for (address, variable) in std::mem::take(&mut self.pending) {
            let Some(initializer) = &variable.initializer else { continue };
            let element = variable.ty.size();
            let dims: Vec<u64> =
                variable.dims.iter().map(|d| d.unwrap_or_else(|| initializer.len())).collect();
            // What no value is given for is zero already: only the part up to the last value is made here.
            let size = variable.size().unwrap_or(0);
            let each = dims.iter().skip(1).product::<u64>().saturating_mul(variable.element_size());
            let given = size.min(initializer.len().saturating_mul(each));
            if given > MAX_INITIALISED {
                return Err(self.refuse_variable("its initial value takes more than 1 GiB", &variable));
            }
            let mut bytes = vec![0; given as usize];
            let filled = self.fill(&mut bytes, initializer, &variable, &dims, element, 0);
            filled.map_err(|r| {
                let text = format!("{} {} {}", variable.space, variable.ty, variable.name);
                self.refuse(r, text, variable.position.line, None)
            })?;
            memory.write(address, &bytes)?;
        }
        Ok(())
    }

    fn fill(
        &self,
        bytes: &mut [u8],
        initializer: &Initializer,
        variable: &Variable,
        dims: &[u64],
        element: u64,
        depth: u32,
    ) -> Result<(), Refusal> {
        let element = element as usize;
        match initializer {
            Initializer::List(items) => {
                let inner: u64 = dims.iter().skip(1).product();
                let step = if dims.is_empty() || depth > 8 {
                    element
                } else {
                    usize::try_from(inner * variable.element_size()).unwrap_or(usize::MAX)
                };
                for (i, item) in items.iter().enumerate() {
                    let start = i.saturating_mul(step);
                    let part = start
                        .checked_add(step)
                        .and_then(|end| bytes.get_mut(start..end))
                        .ok_or_else(|| Refusal::new("more values than the variable has elements"))?;
                    self.fill(part, item, variable, dims.get(1..).unwrap_or(&[]), element as u64, depth + 1)?;
                }
            }
            Initializer::Value(constant) => {
                let bits = Decoder::bits(*constant, variable.ty)?.to_le_bytes();
                let to = bytes.get_mut(..element).ok_or_else(|| Refusal::new("the variable is too small"))?;
                to.copy_from_slice(&bits[..element]);
            }
            Initializer::Address(address) => {
                let value = self.symbol_value(address)?.to_le_bytes();
                let length = element.min(8);
                let to = bytes.get_mut(..length).ok_or_else(|| Refusal::new("the variable is too small"))?;
                to.copy_from_slice(&value[..length]);
            }
            Initializer::Fields(_) => return Err(Refusal::new("textures and samplers are not supported")),
            Initializer::MaskedAddress { mask, address } => {
                let shift = mask.trailing_zeros().min(63);
                if let Some(byte) = bytes.first_mut() {
                    *byte = (self.symbol_value(address)? >> shift) as u8;
                }
            }
        }
        Ok(())
    }

    fn symbol_value(&self, address: &ptx::SymbolAddress) -> Result<u64, Refusal> {
        if let Some((index, _)) = self.names.functions.get(&address.name) {
            return Ok(code_address(*index));
        }
        match self.names.names.get(&address.name) {
            Some(Symbol::Global(at) | Symbol::Const(at) | Symbol::Image(at)) => {
                Ok(at.wrapping_add(address.offset as u64))
            }
            _ => Err(Refusal(format!(
                "`{}` has no address that is known when the module is loaded",
                address.name
            ))),
        }
    }
}
