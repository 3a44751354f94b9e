//! A virtual H200 for the tests of hand-written PTX: uploads, launches, downloads.

use gpu_model::chips::H200;
use virtual_gpu::{Error, Gpu, Launch, Module, Options};

pub struct Device {
    pub gpu: Gpu,
    pub module: Module,
}

impl Device {
    pub fn new(ptx: &str) -> Self {
        let options = Options { threads: 2, watchdog: Some(20_000_000), ..Options::default() };
        let gpu = Gpu::with_options(&H200, options);
        let module = gpu.load(ptx).unwrap_or_else(|error| panic!("{error}"));
        Self { gpu, module }
    }

    pub fn upload(&self, bytes: &[u8]) -> u64 {
        let address = self.gpu.memory().alloc(bytes.len() as u64).unwrap();
        self.gpu.memory().write(address, bytes).unwrap();
        address
    }

    pub fn download(&self, address: u64, bytes: usize) -> Vec<u8> {
        let mut read = vec![0; bytes];
        self.gpu.memory().read(address, &mut read).unwrap();
        read
    }

    pub fn words(&self, address: u64, count: usize) -> Vec<u32> {
        self.download(address, 4 * count).as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect()
    }

    pub fn launch(&self, kernel: &str, launch: Launch, params: &[u8]) -> Result<(), Error> {
        let kernel = self.module.kernel(kernel).unwrap();
        self.gpu.launch(&kernel, &launch, params, &mut ())
    }
}

/// Pointers as a block of parameters.
pub fn pointers(addresses: &[u64]) -> Vec<u8> {
    addresses.iter().flat_map(|address| address.to_le_bytes()).collect()
}
