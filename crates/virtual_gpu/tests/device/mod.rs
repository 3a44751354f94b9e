//! A module under test: loads, launches, copies.

use gpu_model::chips;
use virtual_gpu::{Error, Gpu, Launch, Module, Options};

/// Plain values that can be copied to the device.
pub trait Plain: Copy + Default {
    fn bytes(self) -> Vec<u8>;
    fn from(bytes: &[u8]) -> Self;
}

macro_rules! plain {
    ($($t:ty)*) => {$(
        impl Plain for $t {
            fn bytes(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }
            fn from(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().unwrap())
            }
        }
    )*};
}
plain!(u8 u16 i16 u32 i32 u64 i64 f32 f64);

/// A device with one module.
pub struct Device {
    gpu: Gpu,
    module: Module,
}

/// An array on the device.
#[derive(Clone, Copy)]
pub struct Array {
    pub address: u64,
    bytes: usize,
}

impl Device {
    pub fn new(ptx: &str) -> Self {
        // No program here runs long: one that does not end is a failure.
        let options = Options { threads: 2, watchdog: Some(200_000_000), ..Options::default() };
        let gpu = Gpu::with_options(&chips::H200, options);
        let module = gpu.load(ptx).unwrap_or_else(|e| panic!("{e}"));
        Self { gpu, module }
    }

    pub fn upload<T: Plain>(&self, values: &[T]) -> Array {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.bytes()).collect();
        let address = self.gpu.memory().alloc(bytes.len() as u64).unwrap();
        self.gpu.memory().write(address, &bytes).unwrap();
        Array { address, bytes: bytes.len() }
    }

    pub fn zeros<T: Plain>(&self, n: usize) -> Array {
        self.upload(&vec![T::default(); n])
    }

    pub fn download<T: Plain>(&self, array: Array) -> Vec<T> {
        let mut bytes = vec![0; array.bytes];
        self.gpu.memory().read(array.address, &mut bytes).unwrap();
        bytes.chunks_exact(size_of::<T>()).map(T::from).collect()
    }

    /// Launches with each parameter given as bytes; they are laid out as the kernel expects.
    pub fn launch(&self, kernel: &str, launch: Launch, args: &[Vec<u8>]) {
        if let Err(e) = self.try_launch(kernel, launch, args) {
            panic!("{kernel}: {e}");
        }
    }

    /// The same, returning the error.
    pub fn try_launch(&self, kernel: &str, launch: Launch, args: &[Vec<u8>]) -> Result<(), Error> {
        let kernel = self.module.kernel(kernel).unwrap_or_else(|| panic!("no kernel {kernel}"));
        assert_eq!(kernel.params().len(), args.len());
        let mut block = vec![0; kernel.param_bytes()];
        for (param, arg) in kernel.params().iter().zip(args) {
            assert_eq!(param.size as usize, arg.len());
            block[param.offset as usize..][..arg.len()].copy_from_slice(arg);
        }
        self.gpu.launch(&kernel, &launch, &block, &mut ())
    }
}

impl Array {
    /// As a pointer parameter.
    pub fn arg(self) -> Vec<u8> {
        self.address.bytes()
    }
}
