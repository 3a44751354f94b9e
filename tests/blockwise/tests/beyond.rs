//! What a kernel takes for granted cannot be changed from outside: here a module beside it has an `unchecked_add` of its own.

mod twins;

use gpu_model::chips::H200;
use virtual_gpu::{Gpu, Launch, Options};

#[test]
fn an_element_far_behind_the_end_is_not_read() {
    let gpu = Gpu::with_options(&H200, Options::default());
    let module = gpu.load(&twins::modules()[0]).unwrap();
    let kernel = module.kernel("safe_reads_beyond").unwrap();
    let memory = gpu.memory().alloc(4 * 40).unwrap();
    gpu.memory().write(memory, &[0; 4 * 40]).unwrap();
    let mut parameters = vec![0; kernel.param_bytes()];
    for (parameter, value) in kernel.params().iter().zip([8, memory, 40, memory, 40]) {
        let size = parameter.size as usize;
        parameters[parameter.offset as usize..][..size].copy_from_slice(&value.to_le_bytes()[..size]);
    }
    let ended = gpu.launch(&kernel, &Launch::new(2, 32), &parameters, &mut ());
    let said = ended.unwrap_err().to_string();
    assert!(said.contains("index out of bounds"), "{said}");
}
