//! A module on the device: its kernels, and its variables in device memory.

use std::collections::HashMap;
use std::sync::Arc;

use crate::evaluate::Evaluations;
use crate::form::program::Param;
use crate::form::program::{Code, KernelCode};
use crate::memory::Memory;
use crate::stretch::Compiled;
use crate::texture::Textures;

/// A loaded module. Its variables live until the last clone and the last [`Kernel`] of it are gone.
#[derive(Debug, Clone)]
pub struct Module(pub(crate) Arc<ModuleData>);

#[derive(Debug)]
pub(crate) struct ModuleData {
    pub code: Arc<Code>,
    pub evaluations: Evaluations,
    pub compiled: Arc<Compiled>,
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
            // Only a second free could fail, and nobody else frees a module's variables.
            let _ = self.memory.free(address);
        }
    }
}

/// A variable of a module in global or constant memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Global {
    /// Device address.
    pub address: u64,
    /// Bytes.
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

    /// The variable of that name in global or constant memory.
    pub fn global(&self, name: &str) -> Option<Global> {
        self.0.globals.get(name).copied()
    }

    /// The handle of the `.texref` or `.surfref` of that name, to bind an image to.
    pub fn reference(&self, name: &str) -> Option<u64> {
        self.0.references.get(name).copied()
    }

    /// Names of the variables in global and constant memory, sorted.
    pub fn globals(&self) -> Vec<&str> {
        let mut names: Vec<_> = self.0.globals.keys().map(String::as_str).collect();
        names.sort_unstable();
        names
    }

    /// The decoded program, for its map from program counters to lines.
    pub fn code(&self) -> &Arc<Code> {
        &self.0.code
    }

    /// Compute capability that the module was made for, as in `sm_90`: 90.
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
    /// Bytes; 0 for `.extern .shared`.
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

    /// The module that it belongs to.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// Its parameters, in order.
    pub fn params(&self) -> &[Param] {
        &self.code().params
    }

    /// Whether there is machine code of it, which launches run that nobody watches.
    pub fn is_compiled(&self) -> bool {
        self.module.0.compiled.of(self.code().function).is_some()
    }

    /// Bytes of the parameter block that [`crate::Gpu::launch`] wants.
    pub fn param_bytes(&self) -> usize {
        self.code().param_bytes as usize
    }

    /// Bytes of shared memory in its own arrays.
    pub fn static_shared(&self) -> u32 {
        self.code().static_shared
    }

    /// Its shared arrays and their places in the block's shared memory, by offset. Arrays whose size the launch gives
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

    /// Bytes of stack that a thread takes for the kernel's own frame.
    pub fn local_bytes(&self) -> u32 {
        self.code().local_bytes
    }

    /// Bytes of constants that the module defines.
    pub fn const_bytes(&self) -> u32 {
        self.code().const_bytes
    }

    /// 32-bit registers a thread, as an upper bound: the virtual registers that live at the same time are not counted
    /// as a compiler would. Capped at what the chip has.
    pub fn registers(&self) -> u32 {
        self.code().registers
    }

    /// Most threads a block may have: `.maxntid` or `.reqntid`, if given.
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
