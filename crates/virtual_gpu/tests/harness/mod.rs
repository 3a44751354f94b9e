//! A device with one module, for tests: uploads and downloads buffers as slices.

use bytemuck::Pod;
use gpu_model::chips::H200;
use virtual_gpu::{Error, Gpu, Launch, Module, Options};

pub struct Device {
    pub gpu: Gpu,
    pub module: Module,
}

/// A kernel argument.
#[derive(Clone, Copy)]
#[allow(dead_code, reason = "not every test uses every kind")]
pub enum Arg {
    Pointer(u64),
    Int(i32),
    Long(i64),
    Words([u32; 4]),
}

#[allow(dead_code, reason = "not every test uses every method")]
impl Device {
    pub fn new(ptx: &str) -> Self {
        Device::with(ptx, Options { threads: 2, ..Options::default() })
    }

    /// Every test has a watchdog: a hang is a failure.
    pub fn with(ptx: &str, options: Options) -> Self {
        let watchdog = options.watchdog.or(Some(50_000_000));
        let gpu = Gpu::with_options(&H200, Options { watchdog, ..options });
        let module = gpu.load(ptx).unwrap_or_else(|e| panic!("{e}"));
        Device { gpu, module }
    }

    pub fn upload<T: Pod>(&self, values: &[T]) -> u64 {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        let address = self.gpu.memory().alloc(bytes.len() as u64).unwrap();
        self.gpu.memory().write(address, bytes).unwrap();
        address
    }

    pub fn download<T: Pod>(&self, address: u64, count: usize) -> Vec<T> {
        let mut values = vec![T::zeroed(); count];
        self.gpu.memory().read(address, bytemuck::cast_slice_mut(&mut values)).unwrap();
        values
    }

    pub fn try_launch(&self, name: &str, launch: Launch, args: &[Arg]) -> Result<(), Error> {
        let kernel = self.module.kernel(name).unwrap_or_else(|| panic!("no kernel `{name}`"));
        let mut block = Vec::new();
        for (arg, param) in args.iter().zip(kernel.params()) {
            block.resize(param.offset as usize, 0);
            match *arg {
                Arg::Pointer(p) => block.extend(p.to_le_bytes()),
                Arg::Int(n) => block.extend(n.to_le_bytes()),
                Arg::Long(n) => block.extend(n.to_le_bytes()),
                Arg::Words(words) => words.iter().for_each(|word| block.extend(word.to_le_bytes())),
            }
        }
        assert_eq!(block.len(), kernel.param_bytes(), "parameters of `{name}`");
        self.gpu.launch(&kernel, &launch, &block, &mut ())
    }

    pub fn launch(&self, name: &str, launch: Launch, args: &[Arg]) {
        self.try_launch(name, launch, args).unwrap_or_else(|e| panic!("{e}"));
    }
}
