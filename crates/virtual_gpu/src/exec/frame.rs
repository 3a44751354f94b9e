//! The registers of a new frame that depend on the launch, the block or the thread.

use super::block_state::BlockState;
use super::context::LaunchContext;
use super::warp::Warp;
use crate::form::program::{AddressForm, Init, LaneMask, SharedSize};
use crate::memory::window;

/// Sets them. Of a frame that is `prepared` only those that blocks are told apart by.
pub(super) fn initialise(
    warp: &mut Warp,
    launch: &LaunchContext<'_>,
    block: &BlockState,
    frame: u32,
    prepared: bool,
) {
    let function = &launch.code.functions[warp.frames[frame as usize].function as usize];
    let local_base = i64::from(warp.frames[frame as usize].local_base);
    let first_thread = warp.index * 32;
    let regs = warp.regs(frame);
    let [bx, by, _] = launch.launch.block;
    let cluster = launch.launch.cluster;
    let grid = launch.launch.grid;
    let threads = launch.launch.threads() as u32;
    for &(slot, init) in &function.inits {
        if prepared && !is_of_block(init) {
            continue;
        }
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
            Init::Ctaid(d) => all(block.index[d as usize]),
            Init::Nctaid(d) => all(grid[d as usize]),
            Init::LaneId => std::array::from_fn(|i| i as u32),
            Init::WarpId => all(warp.index),
            Init::NWarpId => all(threads.div_ceil(32)),
            Init::SmId => all((block.linear % u64::from(launch.gpu.chip().sms)) as u32),
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
            Init::ClusterId(d) => all(block.index[d as usize] / cluster[d as usize]),
            Init::NClusterId(d) => all(grid[d as usize] / cluster[d as usize]),
            Init::ClusterCtaid(d) => all(block.index[d as usize] % cluster[d as usize]),
            Init::ClusterNctaid(d) => all(cluster[d as usize]),
            Init::ClusterCtaRank => all(block.cluster_rank),
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

/// Whether a register may differ between warps of one number.
fn is_of_block(init: Init) -> bool {
    matches!(
        init,
        Init::Ctaid(_) | Init::SmId | Init::ClusterId(_) | Init::ClusterCtaid(_) | Init::ClusterCtaRank
    )
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

/// What `%reserved_smem_offset_end` less `%reserved_smem_offset_begin` is on an H200.
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
