//! A kernel without `unsafe`, or its twin, with what it is launched with.
#![allow(dead_code, reason = "each of the benches asks for a part")]

use std::ffi::c_void;

use anyhow::Context;
use cust::error::CudaResult;
use cust::function::Function;
use cust::memory::{CopyDestination, DeviceBuffer};
use warpsmith_launch::Device;

use crate::pairs::{Parameter, Shape};

/// A kernel with its parameters.
pub struct Ready<'d> {
    function: Function<'d>,
    shape: Shape,
    parameters: Vec<Vec<u8>>,
    memory: Vec<DeviceBuffer<u8>>,
}

impl<'d> Ready<'d> {
    pub fn new(function: Function<'d>, (shape, made): (Shape, Vec<Parameter>)) -> anyhow::Result<Self> {
        let (mut parameters, mut memory) = (Vec::new(), Vec::new());
        for parameter in made {
            parameters.push(match parameter.made() {
                Ok(value) => value,
                Err(content) => {
                    let buffer = DeviceBuffer::from_slice(&content).context("make the memory")?;
                    let address = buffer.as_device_ptr().as_raw().to_le_bytes().to_vec();
                    memory.push(buffer);
                    address
                }
            });
        }
        Ok(Self { function, shape, parameters, memory })
    }

    pub fn enqueue(&self, device: &Device) -> CudaResult<()> {
        let pointers: Vec<*mut c_void> =
            self.parameters.iter().map(|value| value.as_ptr().cast_mut().cast()).collect();
        let Shape { grid, block, shared } = self.shape;
        // SAFETY: whoever makes a launch gives it the parameters that this kernel has, and memory as long as it asks for.
        unsafe { device.stream().launch(&self.function, grid, block, shared, &pointers) }
    }

    /// What the memory holds.
    pub fn left(&self) -> CudaResult<Vec<Vec<u8>>> {
        let read = |buffer: &DeviceBuffer<u8>| {
            let mut content = vec![0; buffer.len()];
            buffer.copy_to(&mut content)?;
            Ok(content)
        };
        self.memory.iter().map(read).collect()
    }
}
