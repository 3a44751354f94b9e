//! Checks a launch, and gathers what its blocks are given.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::compiled;
use super::context::{Compiles, LaunchContext};
use super::frame::FrameReset;
use super::grid::Grid;
use super::limits::{check, cluster_blocks, with_clusters};
use super::resume::in_halves;
use crate::form::program::SharedVariable;
use crate::form::registers::Row;
use crate::job::Job;
use crate::launch::Launch;
use crate::memory::AllocationKind;
use crate::module::{Kernel, SharedArray};
use crate::observer::{BlockObserver, LaunchInfo, LaunchObserver};
use crate::{Error, Gpu};

/// Checks a launch and runs it.
pub(crate) fn launch<O: LaunchObserver>(job: Job<'_>, observer: &mut O) -> Result<(), Error> {
    static GRIDS: AtomicU64 = AtomicU64::new(1);
    let Job { gpu, pool, quota, kernel, launch, params } = job;
    let code = kernel.code();
    let launch = &with_clusters(code, launch)?;
    check(gpu, code, launch, params)?;
    let dynamic_offset = code.static_shared.next_multiple_of(code.dynamic_align.max(1));
    let user_shared =
        if launch.dynamic_shared > 0 { dynamic_offset + launch.dynamic_shared } else { code.static_shared };
    // Hardware puts its part first. Here it comes last, for kernels that ask where it is, so that a kernel's own
    // addresses stay what they are and accesses beyond its variables are found in all others.
    let reserved_offset = user_shared.next_multiple_of(128);
    let shared_bytes = match code.asks_reserved_shared {
        true => reserved_offset + gpu.chip().sm.shared_reserved_per_block,
        false => user_shared,
    };
    let params = AlignedParams::new(params);
    let workspace = match launch.cooperative {
        true => Some(Workspace::new(gpu)?),
        false => None,
    };
    let compiled = compiled::counted::<O::Block>().and_then(|counted| {
        let compiler = gpu.options().compiler.as_deref()?;
        let converged = in_halves(launch.block) && launch.threads() >= 32;
        Some(Compiles { compiler, module: &kernel.module().0, counted, converged })
    });
    let context = LaunchContext {
        gpu,
        code: kernel.module().code(),
        evaluations: &kernel.module().0.evaluations,
        compiled,
        kernel: code,
        launch: *launch,
        params: params.bytes(),
        shared_bytes,
        shared_end: shared_bytes.next_multiple_of(gpu.chip().sm.shared_granularity.max(128)),
        dynamic_offset,
        user_shared,
        reserved_offset,
        grid_id: GRIDS.fetch_add(1, Ordering::Relaxed),
        epoch: 1 << 20,
        quota,
        stack_limit: gpu.options().stack_limit,
        frame_reset: FrameReset::of(kernel.module().code(), code.function)
            .filter(|_| !<O::Block as BlockObserver>::REGISTERS),
        most_rows: most_rows(launch, pool.threads()),
        workspace: workspace.as_ref().map_or(0, |w| w.address),
    };
    let info = LaunchInfo {
        kernel: code.name.clone(),
        launch: *launch,
        shared_bytes,
        shared_end: context.shared_end,
        reserved: if code.asks_reserved_shared { reserved_offset..shared_bytes } else { 0..0 },
        code: kernel.module().code().clone(),
        function: code.function,
        memory: quota.memory().clone(),
        shared: shared_arrays(kernel, dynamic_offset, user_shared),
        params: params.bytes().to_vec(),
    };
    observer.begin(&info);
    let threads = if observer.serial() { 1 } else { pool.threads() };
    let grid = Grid::new(&context, observer, threads);
    context.count_for(true, 0);
    context.count_for(false, 0);
    pool.run(grid.threads(), || grid.work());
    let (fault, skipped) = grid.finish();
    observer.end(&info, fault.as_deref());
    match skipped.or(fault) {
        Some(fault) => Err(Error::Fault(fault)),
        None => Ok(()),
    }
}

/// Rows that a warp's registers may take, so that those of all warps that run at a time take half of the machine's memory.
/// Lanes that go different ways have frames of their own, so a warp may come to need 32 times what its threads have on a
/// device, 513 KiB each; it has no less than a warp that stays converged needs.
fn most_rows(launch: &Launch, threads: usize) -> usize {
    static MEMORY: OnceLock<usize> = OnceLock::new();
    let memory = *MEMORY.get_or_init(|| {
        // SAFETY: it asks for numbers.
        let (pages, bytes) =
            unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
        usize::try_from(pages).unwrap_or(0).saturating_mul(usize::try_from(bytes).unwrap_or(0))
    });
    let blocks = cluster_blocks(launch) as usize * threads;
    let warps = blocks * launch.threads().div_ceil(32) as usize;
    (memory / 2 / warps.max(1) / size_of::<Row>()).max(1 << 17)
}

/// The module's shared variables as the kernel places them; those whose size the launch gives take all of it.
fn shared_arrays(kernel: &Kernel, dynamic: u32, user_shared: u32) -> Vec<Option<SharedArray>> {
    let place = |(index, variable): (u32, &SharedVariable)| {
        let (offset, size) = match variable.dynamic {
            true => (dynamic, user_shared.saturating_sub(dynamic)),
            false => (kernel.code().shared_offset(index)?, variable.size),
        };
        Some(SharedArray { name: variable.name.clone(), offset, size })
    };
    (0..).zip(&kernel.module().code().shared).map(place).collect()
}

/// Device memory of a cooperative launch.
struct Workspace<'g> {
    gpu: &'g Gpu,
    address: u64,
}

impl<'g> Workspace<'g> {
    fn new(gpu: &'g Gpu) -> Result<Self, Error> {
        let address = gpu.memory().alloc_kind(1024, AllocationKind::Global, Some("cooperative launch"))?;
        Ok(Workspace { gpu, address })
    }
}

impl Drop for Workspace<'_> {
    fn drop(&mut self) {
        // It is ours alone, so this is its one release.
        let _ = self.gpu.memory().free(self.address);
    }
}

/// Kernel parameters where loads of any width may read them.
struct AlignedParams {
    words: Vec<u128>,
    length: usize,
}

impl AlignedParams {
    fn new(bytes: &[u8]) -> Self {
        let mut words = vec![0u128; bytes.len().div_ceil(16)];
        for (word, chunk) in words.iter_mut().zip(bytes.chunks(16)) {
            let mut whole = [0; 16];
            whole[..chunk.len()].copy_from_slice(chunk);
            *word = u128::from_ne_bytes(whole);
        }
        AlignedParams { words, length: bytes.len() }
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: `words` holds at least `length` bytes, all of them initialised.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.length) }
    }
}
