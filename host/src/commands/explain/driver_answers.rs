//! The driver's answer to each preference: set it, read it back, ask how many blocks fit then.

use cust::context::{CacheConfig, CurrentContext, SharedMemoryConfig};
use cust::error::CudaResult;
use cust::function::{BlockSize, Function};
use cust::module::Module;
use cust::sys;
use serde::Serialize;
use warpsmith_launch::extra;

/// One wish to the driver and its answer.
#[derive(Serialize)]
pub(super) struct Answer {
    /// The preference, and its scope.
    pub wish: String,
    /// The value read back, or the driver's error.
    pub read_back: String,
    /// Blocks on a multiprocessor afterwards, as the driver's calculator says.
    pub blocks: Option<u32>,
}

/// A kernel that takes nothing but the shared memory it is launched with.
const EMPTY_KERNEL: &str =
    ".version 6.4\n.target sm_75\n.address_size 64\n.visible .entry empty()\n{\n ret;\n}\n";
const BLOCK_THREADS: u32 = 32;

/// Asks the driver. `shared` bytes of dynamic shared memory are opted in to.
pub(super) fn ask(shared: u32) -> anyhow::Result<Vec<Answer>> {
    warpsmith_cuda::taken()?;
    let _context = cust::quick_init()?;
    let module = Module::from_ptx(EMPTY_KERNEL, &[])?;
    let mut function = module.get_function("empty")?;
    extra::allow_dynamic_shared(&function, shared)?;

    let caches = [
        ("none", CacheConfig::PreferNone),
        ("shared", CacheConfig::PreferShared),
        ("l1", CacheConfig::PreferL1),
        ("equal", CacheConfig::PreferEqual),
    ];
    let mut answers = Vec::new();
    for (name, wish) in caches {
        let read = CurrentContext::set_cache_config(wish).and_then(|()| CurrentContext::get_cache_config());
        answers.push(answer(format!("cache {name}, whole device"), read, &function, shared));
    }
    CurrentContext::set_cache_config(CacheConfig::PreferNone)?;
    for (name, wish) in caches {
        let set = function.set_cache_config(wish);
        // The driver API has no way to read a kernel's own preference back.
        answers.push(answer(
            format!("cache {name}, this kernel"),
            set.map(|()| "accepted"),
            &function,
            shared,
        ));
    }
    function.set_cache_config(CacheConfig::PreferNone)?;
    for percent in [0, 50, 100] {
        let read = extra::prefer_shared_carveout(&function, percent).and_then(|()| carve_out(&function));
        answers.push(answer(format!("carve-out {percent} %, this kernel"), read, &function, shared));
    }
    for (name, wish) in
        [("4", SharedMemoryConfig::FourByteBankSize), ("8", SharedMemoryConfig::EightByteBankSize)]
    {
        let read = CurrentContext::set_shared_memory_config(wish)
            .and_then(|()| CurrentContext::get_shared_memory_config());
        answers.push(answer(format!("banks of {name} bytes, whole device"), read, &function, shared));
    }
    Ok(answers)
}

fn answer<T: std::fmt::Debug>(wish: String, read: CudaResult<T>, function: &Function, shared: u32) -> Answer {
    let read_back = match read {
        Ok(value) => format!("{value:?}").trim_matches('"').to_owned(),
        Err(error) => format!("refused: {error}"),
    };
    let blocks =
        function.max_active_blocks_per_multiprocessor(BlockSize::x(BLOCK_THREADS), shared as usize).ok();
    Answer { wish, read_back, blocks }
}

fn carve_out(function: &Function) -> CudaResult<i32> {
    let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
    let mut value = 0;
    // SAFETY: the handle belongs to a function of a module that outlives the call; `value` is a valid place.
    match unsafe { sys::cuFuncGetAttribute(&raw mut value, attribute, function.to_raw()) } {
        sys::CUresult::CUDA_SUCCESS => Ok(value),
        _ => Err(cust::error::CudaError::InvalidValue),
    }
}
