//! `tensormap.replace` and `tensormap.cp_fenceproxy`: tensor maps that kernels change.

use super::access;
use super::context::{Raise, Step, raise};
use super::extension::{Execute, Machine};
use crate::fault::FaultKind;
use crate::form::access::SpaceOperand;
use crate::form::asynchronous::{Field, Publish, Replace};
use crate::form::registers::lanes_of;
use crate::observer::{AccessKind, At, MemorySpace};
use crate::tensor_map::{BYTES, DataType, Swizzle, TensorMap};

impl Field {
    /// Whether the new value has 64 bits.
    pub fn is_wide(self) -> bool {
        matches!(self, Self::Address | Self::Stride(_))
    }

    fn set(self, map: &mut TensorMap, value: u64) -> Option<()> {
        match self {
            Self::Address => map.address = value,
            Self::Rank => map.rank = value as u32 + 1,
            Self::BoxDim(i) => *map.box_dims.get_mut(i)? = value as u32,
            Self::Dim(i) => *map.dims.get_mut(i)? = value,
            Self::Stride(i) => *map.strides.get_mut(i)? = value,
            Self::ElementStride(i) => *map.element_strides.get_mut(i)? = value as u32,
            Self::ElementType => map.data_type = element_type(value)?,
            Self::Interleave => return (value == 0).then_some(()),
            Self::Swizzle => map.swizzle = Swizzle::from_number(value as u32)?,
            Self::Fill => map.nan_fill = value != 0,
        }
        Some(())
    }
}

/// The numbers of `.elemtype`, which are not quite the driver's.
fn element_type(number: u64) -> Option<DataType> {
    use DataType::*;
    let types = [U8, U16, U32, S32, U64, S64, F16, F32, F32Ftz, F64, Bf16, Tf32, Tf32Ftz];
    types.get(usize::try_from(number).ok()?).copied()
}

impl Execute for Replace {
    fn execute(&self, machine: &mut Machine<'_>, at: At) -> Result<Step, Box<Raise>> {
        let addresses = access::addresses(machine.regs, self.map);
        for lane in lanes_of(at.lanes) {
            const WHAT: &str = "tensormap.replace";
            let mut bytes = [0; BYTES];
            machine.read(self.space, addresses[lane], &mut bytes, WHAT, lane)?;
            // SAFETY: decoding gave the value 64 or 32 bits.
            let value = unsafe {
                match self.field.is_wide() {
                    true => machine.regs.get::<u64>(self.value, lane),
                    false => machine.regs.get::<u32>(self.value, lane).into(),
                }
            };
            // The fields of a map are replaced one after the other: between, it need not be a map that can be. Bytes
            // that are none stay none, as on hardware; the copy that reads them faults.
            let Some(mut map) = TensorMap::from_bytes_unchecked(&bytes) else { continue };
            if self.field.set(&mut map, value).is_none() {
                let why = format!(
                    "{:?} of the tensor map at {:#x} cannot become {value}",
                    self.field, addresses[lane]
                );
                return Err(raise(FaultKind::IllegalInstruction(why), 1 << lane));
            }
            machine.write(self.space, addresses[lane], &map.to_bytes(), WHAT, lane)?;
        }
        Ok(Step::Next)
    }
}

impl Execute for Publish {
    fn execute(&self, machine: &mut Machine<'_>, at: At) -> Result<Step, Box<Raise>> {
        if !super::matrix::together(machine, at) {
            return Ok(Step::Retry);
        }
        const WHAT: &str = "tensormap.cp_fenceproxy";
        let lane = at.lanes.trailing_zeros() as usize;
        let source = access::addresses(machine.regs, self.source);
        let target = access::addresses(machine.regs, self.target);
        let (shared, global) = (SpaceOperand::In(MemorySpace::Shared), SpaceOperand::In(MemorySpace::Global));
        let mut bytes = [0; BYTES];
        machine.read(shared, source[lane], &mut bytes, WHAT, lane)?;
        machine.show_access(at, global, AccessKind::Store, 16, 1 << lane, &target);
        machine.write(global, target[lane], &bytes, WHAT, lane)?;
        Ok(Step::Next)
    }
}
