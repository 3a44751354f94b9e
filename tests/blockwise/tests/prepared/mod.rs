//! Kernels with all that their launches need.

use virtual_gpu::{Gpu, Kernel, Launch, Module};

use crate::twins::pairs::{Parameter, Shape};

/// A kernel with all that its launch needs, and its memory: addresses and bytes.
pub fn prepare(
    gpu: &Gpu,
    ptx: &str,
    kernel: &str,
    (shape, made): (Shape, Vec<Parameter>),
) -> (Kernel, Launch, Vec<u8>, Vec<(u64, u64)>) {
    // Before the module, whose variables would move it: sectors of atomics depend on which lines share a part of the tags.
    let mut memory = Vec::new();
    let made: Vec<Vec<u8>> = made
        .into_iter()
        .map(|made| {
            made.made().unwrap_or_else(|content| {
                let address = gpu.memory().alloc(content.len() as u64).unwrap();
                gpu.memory().write(address, &content).unwrap();
                memory.push((address, content.len() as u64));
                address.to_le_bytes().to_vec()
            })
        })
        .collect();
    let module: Module = gpu.load(ptx).unwrap();
    let kernel = module.kernel(kernel).unwrap_or_else(|| panic!("{kernel} is not in the PTX"));
    assert_eq!(kernel.params().len(), made.len(), "{}", kernel.name());
    let mut parameters = vec![0; kernel.param_bytes()];
    for (parameter, value) in kernel.params().iter().zip(made) {
        assert_eq!(parameter.size as usize, value.len(), "{}", kernel.name());
        parameters[parameter.offset as usize..][..value.len()].copy_from_slice(&value);
    }
    let launch = Launch::new(shape.grid, shape.block).dynamic_shared(shape.shared);
    (kernel, launch, parameters, memory)
}
