//! The device: memory, modules, launches.

use std::sync::Arc;

use gpu_model::Chip;

use crate::jit::Compiler;
use crate::job::{Job, Watch};
use crate::launch::Launch;
use crate::memory::Memory;
use crate::module::{Kernel, Module};
use crate::texture::Textures;
use crate::{Error, Quota, decode, exec};

/// `CU_LIMIT_PRINTF_FIFO_SIZE` of a new context.
const PRINTF_LIMIT: usize = 1 << 20;

/// How a device runs programs, apart from the chip it models.
#[derive(Debug, Clone)]
pub struct Options {
    /// Host threads that run blocks.
    pub threads: usize,
    /// Chooses another schedule of warps and blocks; `None` is the plain order.
    pub seed: Option<u64>,
    /// A launch times out after this many warp instructions; `None` for no limit.
    pub watchdog: Option<u64>,
    /// A launch counts as deadlocked after this many warp instructions without a write that another thread could be
    /// waiting for; `None` for no limit. This detects threads that spin for ever.
    pub spin_limit: Option<u64>,
    /// Bytes of stack a thread may use beyond its kernel's own frame (`CU_LIMIT_STACK_SIZE`).
    pub stack_limit: u32,
    /// Bytes that `malloc` in kernels of a new context may take (`CU_LIMIT_MALLOC_HEAP_SIZE`).
    pub heap_limit: u64,
    /// Compiles kernels that run long to machine code; without one all are interpreted.
    pub compiler: Option<Arc<dyn Compiler>>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            seed: None,
            watchdog: None,
            spin_limit: None,
            stack_limit: 64 << 10,
            heap_limit: 8 << 20,
            compiler: None,
        }
    }
}

impl Options {
    /// Options from the environment: `WARPSMITH_THREADS`, `WARPSMITH_SEED`, `WARPSMITH_WATCHDOG` (instructions). Values
    /// that are not numbers are ignored here; the driver has already rejected them.
    pub fn from_env() -> Self {
        fn number<T: std::str::FromStr>(name: &str) -> Option<T> {
            std::env::var(name).ok()?.trim().parse().ok()
        }
        let default = Options::default();
        Options {
            threads: number("WARPSMITH_THREADS").unwrap_or(default.threads).clamp(1, 1024),
            // 0 is the plain order.
            seed: number("WARPSMITH_SEED").filter(|&seed| seed != 0),
            watchdog: number("WARPSMITH_WATCHDOG"),
            ..default
        }
    }
}

/// A virtual GPU. Many host threads may use it; the caller ensures the order that a stream would.
#[derive(Debug)]
pub struct Gpu {
    chip: &'static Chip,
    memory: Arc<Memory>,
    textures: Arc<Textures>,
    options: Options,
    quota: Quota,
    pool: exec::Pool,
}

impl Gpu {
    /// A device that models `chip`, with options from the environment.
    pub fn new(chip: &'static Chip) -> Self {
        Gpu::with_options(chip, Options::from_env())
    }

    /// A device with the given options.
    pub fn with_options(chip: &'static Chip, options: Options) -> Self {
        Self::with_memory(chip, options, Memory::new(chip.memory_bytes), Arc::default())
    }

    /// Another device: its memory uses different addresses from this one's, and kernels can reach it where that is
    /// enabled ([`Memory::enable_peer`]).
    pub fn beside(&self, chip: &'static Chip, options: Options) -> Self {
        let memory = self.memory.beside(chip.memory_bytes);
        Self::with_memory(chip, options, memory, self.textures.clone())
    }

    fn with_memory(chip: &'static Chip, options: Options, memory: Memory, textures: Arc<Textures>) -> Self {
        let memory = Arc::new(memory);
        Gpu {
            chip,
            quota: Quota::new(memory.clone(), options.heap_limit, PRINTF_LIMIT),
            memory,
            textures,
            pool: exec::Pool::new(options.threads),
            options,
        }
    }

    /// The chip it models.
    pub fn chip(&self) -> &'static Chip {
        self.chip
    }

    /// How it runs programs.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Changes how later launches run. The number of threads stays the same.
    pub fn set_options(&mut self, options: Options) {
        self.quota.set_heap_limit(options.heap_limit);
        self.options = Options { threads: self.options.threads, ..options };
    }

    /// Device memory.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Textures and surfaces, by handle.
    pub fn textures(&self) -> &Textures {
        &self.textures
    }

    /// Parses, checks and decodes PTX text, and places its variables in device memory.
    pub fn load(&self, text: &str) -> Result<Module, Error> {
        self.load_within(&self.quota, text)
    }

    /// The same for a context of its own, which then owns the variables.
    pub fn load_within(&self, quota: &Quota, text: &str) -> Result<Module, Error> {
        decode::load(text, self.chip, quota.memory(), &self.textures)
    }

    /// Runs a kernel to its end. `params` is the parameter block, laid out as [`Kernel::params`] describes.
    ///
    /// The kernel's output goes to standard output, block by block.
    pub fn launch<O: Watch>(
        &self,
        kernel: &Kernel,
        launch: &Launch,
        params: &[u8],
        observer: &mut O,
    ) -> Result<(), Error> {
        self.launch_within(&self.quota, kernel, launch, params, observer)
    }

    /// The same for a kernel of a context with a quota of its own.
    pub fn launch_within<O: Watch>(
        &self,
        quota: &Quota,
        kernel: &Kernel,
        launch: &Launch,
        params: &[u8],
        observer: &mut O,
    ) -> Result<(), Error> {
        observer.run(Job { gpu: self, pool: &self.pool, quota, kernel, launch, params })
    }

    /// A new context's quota.
    pub fn new_quota(&self) -> Quota {
        Quota::new(Arc::new(self.memory.for_context()), self.options.heap_limit, PRINTF_LIMIT)
    }
}
