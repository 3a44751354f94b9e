//! The registers of a new frame that depend on the launch, the block or the thread.

use super::block_state::BlockState;
use super::context::LaunchContext;
use super::resume::Resume;
use super::warp::Warp;
use crate::form::op::{CollectiveKind, OpKind};
use crate::form::program::{AddressForm, Code, Init, LaneMask, SharedSize};
use crate::form::registers::{Row, Slot};
use crate::memory::window;

/// The registers of a kernel's frame that each block sets anew. All others may stay as another block's warp of the same index left
/// them: no lane reads one that it has not written.
#[derive(Debug)]
pub(crate) struct FrameReset {
    /// Rows that one lane may read in place of another that has not written them.
    shuffled: Box<[Slot]>,
    /// Registers that differ between blocks.
    of_block: Box<[(Slot, Init)]>,
}

impl FrameReset {
    /// `None` if all must be set anew.
    pub fn of(code: &Code, function: u32) -> Option<Self> {
        let function = &code.functions[function as usize];
        if !function.unset.is_empty() {
            return None;
        }
        let mut shuffled = Vec::new();
        for op in &code.ops[function.start as usize..function.end as usize] {
            match &op.kind {
                OpKind::Collective(op) if matches!(op.kind, CollectiveKind::Shuffle(_)) => {
                    shuffled.push(op.a)
                }
                // Matrices lie in the registers of all lanes.
                OpKind::Extension(_) => return None,
                _ => {}
            }
        }
        shuffled.sort_unstable();
        shuffled.dedup();
        // Registers that are set when a frame is made are never written.
        shuffled.retain(|slot| function.inits.iter().all(|init| init.0 != *slot));
        let differs = |init: &&(Slot, Init)| {
            use Init::*;
            matches!(init.1, Ctaid(_) | SmId | ClusterId(_) | ClusterCtaid(_) | ClusterCtaRank)
        };
        let of_block = function.inits.iter().filter(differs).copied().collect();
        Some(FrameReset { shuffled: shuffled.into(), of_block })
    }

    /// Makes of the first frames of a block's warps, used by another block before, those of warps that begin.
    ///
    /// # Safety
    /// The warps stand at `resumes`, in frames of the kernel's function.
    pub(super) unsafe fn reset(&self, resumes: &[Resume], launch: &LaunchContext<'_>, block: &BlockState) {
        let set = |slot: Slot, row: Row| {
            for resume in resumes {
                // SAFETY: a frame has all rows of its function; the caller promises the rest.
                unsafe { *resume.rows.add(slot as usize) = row };
            }
        };
        let function = &launch.code.functions[launch.kernel.function as usize];
        self.shuffled.iter().for_each(|&slot| set(slot, function.image[slot as usize]));
        for &(slot, init) in &self.of_block {
            if let Some(value) = of_block(init, launch, block) {
                set(slot, Row([value; 32]));
            }
        }
    }
}

/// Sets them.
pub(super) fn initialise(warp: &mut Warp, launch: &LaunchContext<'_>, block: &BlockState, frame: u32) {
    let function = &launch.code.functions[warp.frames[frame as usize].function as usize];
    let local_base = i64::from(warp.frames[frame as usize].local_base);
    let first_thread = warp.index * 32;
    let regs = warp.regs(frame);
    let [bx, by, _] = launch.launch.block;
    let cluster = launch.launch.cluster;
    let grid = launch.launch.grid;
    let threads = launch.launch.threads() as u32;
    for &(slot, init) in &function.inits {
        let all = |value: u32| [value; 32];
        let narrow = match init {
            Init::Shared { variable, offset, form } => {
                let start = launch.kernel.shared_offset(variable);
                let address = i64::from(start.unwrap_or(launch.dynamic_offset)) + offset;
                set_address(warp, frame, slot, address as u64, form, window::SHARED);
                continue;
            }
            Init::Local { offset, form } => {
                set_address(warp, frame, slot, (local_base + offset) as u64, form, window::LOCAL);
                continue;
            }
            Init::GridId => {
                // SAFETY: decoding gave the register 64 bits.
                unsafe { regs.store(slot, &[launch.grid_id; 32], u32::MAX) };
                continue;
            }
            Init::GridIdLow => all(launch.grid_id as u32),
            Init::Zero => all(0),
            Init::Tid(d) => std::array::from_fn(|i| {
                let thread = first_thread + i as u32;
                match d {
                    0 => thread % bx,
                    1 => thread / bx % by,
                    _ => thread / bx / by,
                }
            }),
            Init::Ntid(d) => all(launch.launch.block[d as usize]),
            Init::Ctaid(_)
            | Init::SmId
            | Init::ClusterId(_)
            | Init::ClusterCtaid(_)
            | Init::ClusterCtaRank => all(of_block(init, launch, block).unwrap_or_default()),
            Init::Nctaid(d) => all(grid[d as usize]),
            Init::LaneId => std::array::from_fn(|i| i as u32),
            Init::WarpId => all(warp.index),
            Init::NWarpId => all(threads.div_ceil(32)),
            Init::NSmId => all(launch.gpu.chip().sms),
            Init::LaneMask(which) => std::array::from_fn(|i| {
                let own = 1u32 << i;
                match which {
                    LaneMask::Eq => own,
                    LaneMask::Lt => own - 1,
                    LaneMask::Le => own | (own - 1),
                    LaneMask::Gt => !(own | (own - 1)),
                    LaneMask::Ge => !(own - 1),
                }
            }),
            Init::DynamicSharedSize => all(launch.launch.dynamic_shared),
            Init::SharedSize(which) => all(shared_size(launch, which)),
            Init::NClusterId(d) => all(grid[d as usize] / cluster[d as usize]),
            Init::ClusterNctaid(d) => all(cluster[d as usize]),
            Init::ClusterNctaRank => all(cluster.iter().product()),
            Init::Workspace { high } => {
                all((if high { launch.workspace >> 32 } else { launch.workspace }) as u32)
            }
            Init::IsExplicitCluster => {
                let explicit = cluster.iter().product::<u32>() > 1;
                // SAFETY: decoding made the register a predicate.
                unsafe { regs.set_predicate(slot, if explicit { u32::MAX } else { 0 }, u32::MAX) };
                continue;
            }
        };
        // SAFETY: decoding gave these registers 32 bits.
        unsafe { regs.store(slot, &narrow, u32::MAX) };
    }
}

/// The value of a register that differs between blocks; `None` of any other.
fn of_block(init: Init, launch: &LaunchContext<'_>, block: &BlockState) -> Option<u32> {
    let cluster = launch.launch.cluster;
    Some(match init {
        Init::Ctaid(d) => block.index[d as usize],
        Init::SmId => (block.linear % u64::from(launch.gpu.chip().sms)) as u32,
        Init::ClusterId(d) => block.index[d as usize] / cluster[d as usize],
        Init::ClusterCtaid(d) => block.index[d as usize] % cluster[d as usize],
        Init::ClusterCtaRank => block.cluster_rank,
        _ => return None,
    })
}

fn shared_size(launch: &LaunchContext<'_>, which: SharedSize) -> u32 {
    let sm = &launch.gpu.chip().sm;
    let reserved = sm.shared_reserved_per_block;
    match which {
        SharedSize::Total => launch.user_shared.next_multiple_of(sm.shared_granularity),
        SharedSize::Aggregate => launch.user_shared + reserved,
        SharedSize::ReservedBegin => launch.reserved_offset,
        SharedSize::ReservedEnd => launch.reserved_offset + RESERVED_IN_USE,
        SharedSize::ReservedCapacity => reserved,
    }
}

/// `%reserved_smem_offset_end` less `%reserved_smem_offset_begin` on an H200.
const RESERVED_IN_USE: u32 = 288;

fn set_address(warp: &mut Warp, frame: u32, slot: u32, offset: u64, form: AddressForm, start: u64) {
    let regs = warp.regs(frame);
    // SAFETY: decoding gave the register the width of its form.
    unsafe {
        match form {
            AddressForm::Narrow => regs.store(slot, &[offset as u32; 32], u32::MAX),
            AddressForm::Wide => regs.store(slot, &[offset; 32], u32::MAX),
            AddressForm::Generic => regs.store(slot, &[start.wrapping_add(offset); 32], u32::MAX),
        }
    }
}
