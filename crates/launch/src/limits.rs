//! Limits of a device.

use cust::device::{Device as CudaDevice, DeviceAttribute};
use gpu_model::Chip;

use crate::extra;

/// The limits of a device, as its driver reports them.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Limits {
    /// Its name.
    pub name: String,
    /// Compute capability.
    pub capability: (u32, u32),
    /// Bytes of memory.
    pub memory: usize,
    /// Multiprocessors.
    pub sms: u32,
    /// Threads of a block.
    pub threads_per_block: u32,
    /// Extents of a block.
    pub block: [u32; 3],
    /// Extents of a grid.
    pub grid: [u32; 3],
    /// Bytes of shared memory of a block without asking.
    pub shared_per_block: u32,
    /// Bytes of shared memory of a block that opted in.
    pub shared_per_block_optin: u32,
    /// Threads that a multiprocessor holds.
    pub threads_per_sm: u32,
}

impl Limits {
    /// The limits of a chip that need not be here.
    pub fn of_chip(chip: &Chip) -> Self {
        Self {
            name: chip.name.into(),
            capability: (chip.sm.capability.major.into(), chip.sm.capability.minor.into()),
            memory: chip.memory_bytes as usize,
            sms: chip.sms,
            threads_per_block: chip.sm.threads_per_block,
            block: [1024, 1024, 64],
            grid: [0x7fff_ffff, 65_535, 65_535],
            shared_per_block: chip.sm.shared_per_block,
            shared_per_block_optin: chip.sm.shared_per_block_optin,
            threads_per_sm: chip.sm.threads,
        }
    }

    pub(crate) fn of(device: CudaDevice) -> cust::error::CudaResult<Self> {
        let get = |attribute| device.get_attribute(attribute).map(|value| value.max(0) as u32);
        use DeviceAttribute as A;
        Ok(Self {
            name: device.name()?,
            capability: (get(A::ComputeCapabilityMajor)?, get(A::ComputeCapabilityMinor)?),
            memory: device.total_memory()?,
            sms: get(A::MultiprocessorCount)?,
            threads_per_block: get(A::MaxThreadsPerBlock)?,
            block: [get(A::MaxBlockDimX)?, get(A::MaxBlockDimY)?, get(A::MaxBlockDimZ)?],
            grid: [get(A::MaxGridDimX)?, get(A::MaxGridDimY)?, get(A::MaxGridDimZ)?],
            shared_per_block: get(A::MaxSharedMemoryPerBlock)?,
            shared_per_block_optin: extra::shared_per_block_optin(device)?,
            threads_per_sm: get(A::MaxThreadsPerMultiprocessor)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Device, DevicePreference};

    #[test]
    fn a_chip_that_is_not_here_has_the_limits_that_its_driver_would_tell() {
        let device = Device::open(DevicePreference::Virtual).unwrap();
        let told = device.limits();
        let name = told.name.trim_end_matches(" (virtual)");
        let chip = gpu_model::chips::ALL.iter().find(|chip| chip.name == name).unwrap();
        let same = Limits { name: told.name.clone(), ..Limits::of_chip(chip) };
        assert_eq!(format!("{same:?}"), format!("{told:?}"));
    }
}
