//! A module on the device: its kernels, and its variables in device memory.

use std::collections::HashMap;
use std::sync::Arc;

use crate::evaluate::Evaluations;
use crate::form::program::Param;
use crate::form::program::{Code, KernelCode};
use crate::jit::CodeTable;
use crate::memory::Memory;
use crate::texture::Textures;

/// A loaded module. Its variables live until the last clone and the last [`Kernel`] are dropped.
#[derive(Debug, Clone)]
pub struct Module(pub(crate) Arc<ModuleData>);

#[derive(Debug)]
pub(crate) struct ModuleData {
    pub code: Arc<Code>,
    pub evaluations: Evaluations,
    pub compiled: CodeTable,
    pub kernels: Vec<KernelCode>,
    pub globals: HashMap<String, Global>,
    /// Handles of texture and surface references, by name.
    pub references: HashMap<String, u64>,
    pub textures: Arc<Textures>,
    pub memory: Arc<Memory>,
    pub owned: Vec<u64>,
}

impl Drop for ModuleData {
    fn drop(&mut self) {
        for &handle in self.references.values() {
            self.textures.unbind(handle);
        }
        for &address in &self.owned {
            // Only a double free could fail, and no one else frees a module's variables.
            let _ = self.memory.free(address);
        }
    }
}

/// A variable of a module in global or constant memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Global {
    pub address: u64,
    pub size: u64,
    /// Whether kernels may write it.
    pub writable: bool,
}

impl Module {
    pub fn kernel(&self, name: &str) -> Option<Kernel> {
        let index = self.0.kernels.iter().position(|k| k.name == name)?;
        Some(Kernel { module: self.clone(), index })
    }

    /// All kernels, in the order of the text.
    pub fn kernels(&self) -> impl Iterator<Item = Kernel> + '_ {
        (0..self.0.kernels.len()).map(|index| Kernel { module: self.clone(), index })
    }

    /// The variable with this name in global or constant memory.
    pub fn global(&self, name: &str) -> Option<Global> {
        self.0.globals.get(name).copied()
    }

    /// The handle of the `.texref` or `.surfref` with this name, to bind an image to.
    pub fn reference(&self, name: &str) -> Option<u64> {
        self.0.references.get(name).copied()
    }

    /// Names of the variables in global and constant memory, sorted.
    pub fn globals(&self) -> Vec<&str> {
        let mut names: Vec<_> = self.0.globals.keys().map(String::as_str).collect();
        names.sort_unstable();
        names
    }

    /// The decoded program, for its mapping from program counters to lines.
    pub fn code(&self) -> &Arc<Code> {
        &self.0.code
    }

    /// The compute capability the module was compiled for; 90 for `sm_90`.
    pub fn target(&self) -> u32 {
        self.0.code.target
    }

    pub fn ptx_version(&self) -> (u32, u32) {
        self.0.code.version
    }
}

/// A shared array of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedArray {
    /// The variable's name in the PTX text.
    pub name: String,
    /// Bytes from the start of the block's shared memory.
    pub offset: u32,
    /// 0 for `.extern .shared`.
    pub size: u32,
}

/// A kernel of a loaded module.
#[derive(Debug, Clone)]
pub struct Kernel {
    pub(crate) module: Module,
    pub(crate) index: usize,
}

impl Kernel {
    pub(crate) fn code(&self) -> &KernelCode {
        &self.module.0.kernels[self.index]
    }

    /// The name in the PTX text.
    pub fn name(&self) -> &str {
        &self.code().name
    }

    pub fn module(&self) -> &Module {
        &self.module
    }

    pub fn params(&self) -> &[Param] {
        &self.code().params
    }

    /// Whether there is machine code for it, for launches with a profiler or no observer.
    pub fn is_compiled(&self) -> bool {
        self.module.0.compiled.has(self.code().function)
    }

    /// The size of the parameter block for [`crate::Gpu::launch`].
    pub fn param_bytes(&self) -> usize {
        self.code().param_bytes as usize
    }

    /// Bytes of shared memory in its own arrays.
    pub fn static_shared(&self) -> u32 {
        self.code().static_shared
    }

    /// Its shared arrays and their offsets in the block's shared memory, in ascending order. Arrays sized by the launch
    /// have size 0 and start where the static part ends.
    pub fn shared_arrays(&self) -> Vec<SharedArray> {
        let code = self.code();
        let dynamic = code.static_shared.next_multiple_of(code.dynamic_align.max(1));
        let variables = (0..).zip(&self.module.0.code.shared);
        let mut arrays: Vec<_> = variables
            .filter_map(|(variable, array)| {
                let offset = code.shared_offset(variable).or(array.dynamic.then_some(dynamic))?;
                Some(SharedArray { name: array.name.clone(), offset, size: array.size })
            })
            .collect();
        arrays.sort_by_key(|a| a.offset);
        arrays
    }

    /// Stack bytes per thread for the kernel's own frame.
    pub fn local_bytes(&self) -> u32 {
        self.code().local_bytes
    }

    /// Bytes of constants in the module.
    pub fn const_bytes(&self) -> u32 {
        self.code().const_bytes
    }

    /// 32-bit registers per thread, as an upper bound: the virtual registers live at the same time, not what a compiler
    /// would need. Capped at the chip's limit.
    pub fn registers(&self) -> u32 {
        self.code().registers
    }

    /// Maximum threads per block: `.maxntid` or `.reqntid`, if given.
    pub fn max_threads(&self) -> Option<u32> {
        self.code().max_threads
    }

    /// `.reqntid`, if given.
    pub fn required_block(&self) -> Option<[u32; 3]> {
        self.code().required_block
    }

    /// `.reqnctapercluster`, if given.
    pub fn required_cluster(&self) -> Option<[u32; 3]> {
        self.code().required_cluster
    }
}
