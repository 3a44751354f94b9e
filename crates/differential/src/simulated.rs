//! Runs programs on the virtual GPU of this process.

use anyhow::Context;
use virtual_gpu::{Gpu, Launch};

use crate::Device;

impl Device for Gpu {
    fn run(&mut self, ptx: &str, shape: (u32, u32), input: &[u8], output: usize) -> anyhow::Result<Vec<u8>> {
        let module = self.load(ptx)?;
        let kernel = module.kernel("cases").context("the program has no kernel named cases")?;
        let memory = self.memory();
        let (inputs, outputs) = (memory.alloc(input.len() as u64)?, memory.alloc(output as u64)?);
        memory.write(inputs, input)?;
        let mut results = vec![0; output];
        memory.write(outputs, &results)?;
        let parameters = [inputs.to_le_bytes(), outputs.to_le_bytes()].concat();
        self.launch(&kernel, &Launch::new(shape.0, shape.1), &parameters, &mut ())?;
        memory.read(outputs, &mut results)?;
        memory.free(inputs)?;
        memory.free(outputs)?;
        Ok(results)
    }
}
