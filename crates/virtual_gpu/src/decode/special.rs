//! Special registers: those that stand for the life of a frame, and those that change.

use ptx::{Operand, ScalarType};

use super::Refusal;
use crate::form::op::DynamicSpecial;
use crate::form::program::{Init, LaneMask, SharedSize};

/// A special register that is set once: how, and its rows.
pub(super) fn fixed(name: &str, part: Option<&str>) -> Option<(Init, u32)> {
    let dimension = match part {
        Some("x") => Some(0),
        Some("y") => Some(1),
        Some("z") => Some(2),
        Some("w") => Some(3),
        Some(_) => return None,
        None => None,
    };
    let init = match (name, dimension) {
        // The vectors have four parts, of which the last is zero.
        (
            "%tid" | "%ntid" | "%ctaid" | "%nctaid" | "%clusterid" | "%nclusterid" | "%cluster_ctaid"
            | "%cluster_nctaid",
            Some(3),
        ) => Init::Zero,
        ("%tid", Some(d)) => Init::Tid(d),
        ("%ntid", Some(d)) => Init::Ntid(d),
        ("%ctaid", Some(d)) => Init::Ctaid(d),
        ("%nctaid", Some(d)) => Init::Nctaid(d),
        ("%clusterid", Some(d)) => Init::ClusterId(d),
        ("%nclusterid", Some(d)) => Init::NClusterId(d),
        ("%cluster_ctaid", Some(d)) => Init::ClusterCtaid(d),
        ("%cluster_nctaid", Some(d)) => Init::ClusterNctaid(d),
        (_, Some(_)) => return None,
        ("%laneid", _) => Init::LaneId,
        ("%warpid", _) => Init::WarpId,
        ("%nwarpid", _) => Init::NWarpId,
        ("%smid", _) => Init::SmId,
        ("%nsmid", _) => Init::NSmId,
        ("%gridid", _) => return Some((Init::GridId, 2)),
        ("%lanemask_eq", _) => Init::LaneMask(LaneMask::Eq),
        ("%lanemask_le", _) => Init::LaneMask(LaneMask::Le),
        ("%lanemask_lt", _) => Init::LaneMask(LaneMask::Lt),
        ("%lanemask_ge", _) => Init::LaneMask(LaneMask::Ge),
        ("%lanemask_gt", _) => Init::LaneMask(LaneMask::Gt),
        ("%dynamic_smem_size", _) => Init::DynamicSharedSize,
        ("%total_smem_size", _) => Init::SharedSize(SharedSize::Total),
        ("%aggr_smem_size", _) => Init::SharedSize(SharedSize::Aggregate),
        // Both of the regions in it start at its beginning, on an H200.
        ("%reserved_smem_offset_begin" | "%reserved_smem_offset_0" | "%reserved_smem_offset_1", _) => {
            Init::SharedSize(SharedSize::ReservedBegin)
        }
        ("%reserved_smem_offset_end", _) => Init::SharedSize(SharedSize::ReservedEnd),
        ("%reserved_smem_offset_cap", _) => Init::SharedSize(SharedSize::ReservedCapacity),
        ("%cluster_ctarank", _) => Init::ClusterCtaRank,
        ("%cluster_nctarank", _) => Init::ClusterNctaRank,
        ("%envreg1", _) => Init::Workspace { high: true },
        ("%envreg2", _) => Init::Workspace { high: false },
        ("%is_explicit_cluster", _) => return Some((Init::IsExplicitCluster, 0)),
        _ => return None,
    };
    Some((init, 1))
}

/// A fixed special register as a number of rows: `%gridid` had 32 bits once, and is still read so.
pub(super) fn fixed_as(name: &str, part: Option<&str>, rows: u32) -> Option<(Init, u32)> {
    match fixed(name, part)? {
        (Init::GridId, _) if rows == 1 => Some((Init::GridIdLow, 1)),
        whole => Some(whole),
    }
}

/// Refuses a type of `mov` that ptxas does not read a special register with: floats, and 16 bits of those that never had
/// them.
pub(super) fn suits(operand: &Operand, ty: ScalarType) -> Result<(), Refusal> {
    let (name, part) = match operand {
        Operand::Name(name) => (name, None),
        Operand::Component(name, part) => (name, Some(part.as_str())),
        _ => return Ok(()),
    };
    if fixed(name, part).is_none() && changing(name).is_none() {
        return Ok(());
    }
    let once_short = matches!(name.as_str(), "%tid" | "%ntid" | "%ctaid" | "%nctaid" | "%gridid");
    if ty.is_float() || ty.size() == 2 && !once_short {
        return Err(Refusal(format!("`{name}` is not read as `{ty}`")));
    }
    Ok(())
}

/// A special register that changes, and its rows.
pub(super) fn changing(name: &str) -> Option<(DynamicSpecial, u32)> {
    if fixed(name, None).is_some() {
        return None;
    }
    Some(match name {
        "%clock" => (DynamicSpecial::Clock32, 1),
        "%clock_hi" => (DynamicSpecial::ClockHigh, 1),
        "%clock64" => (DynamicSpecial::Clock64, 2),
        "%globaltimer" => (DynamicSpecial::GlobalTimer, 2),
        "%globaltimer_lo" => (DynamicSpecial::GlobalTimerLow, 1),
        "%globaltimer_hi" => (DynamicSpecial::GlobalTimerHigh, 1),
        "%current_graph_exec" => (DynamicSpecial::Zero64, 2),
        _ if name.strip_prefix("%envreg").and_then(|n| n.parse::<u32>().ok()).is_some_and(|n| n < 32) => {
            (DynamicSpecial::Zero32, 1)
        }
        _ => match name.strip_prefix("%pm").map(|n| n.strip_suffix("_64").map_or((n, 1), |n| (n, 2))) {
            Some((n, rows)) if n.parse::<u32>().is_ok_and(|n| n < 8) => match rows {
                1 => (DynamicSpecial::Zero32, 1),
                _ => (DynamicSpecial::Zero64, 2),
            },
            _ => return None,
        },
    })
}
