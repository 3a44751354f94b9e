//! What usually mends a race.

use virtual_gpu::Code;
use virtual_gpu::observer::MemorySpace;

use super::Race;
use crate::shadow::Clash;

/// What mends a race. Of several at one pair of lines, the greatest mends them all: a barrier of the block also orders lanes
/// of a warp, and no barrier keeps an update whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Mend {
    /// Findings of other kinds say themselves what mends them.
    None,
    OneLane,
    OneThread,
    Acquire,
    OwnPlace,
    Order,
    Warp,
    Block,
    Cluster,
    Grid,
    Land,
    Read,
    Proxy,
    Atomic,
}

impl Mend {
    const ALL: [Mend; 14] = [
        Mend::None,
        Mend::OneLane,
        Mend::OneThread,
        Mend::Acquire,
        Mend::OwnPlace,
        Mend::Order,
        Mend::Warp,
        Mend::Block,
        Mend::Cluster,
        Mend::Grid,
        Mend::Land,
        Mend::Read,
        Mend::Proxy,
        Mend::Atomic,
    ];

    /// What a finding advises, which may come from another process.
    pub fn of_help(help: &str) -> Self {
        Self::ALL.into_iter().find(|mend| mend.help() == help).unwrap_or(Mend::None)
    }

    pub fn of(race: &Race, space: MemorySpace, code: &Code) -> Self {
        let Race { earlier, later, clash, .. } = race;
        let one_block = earlier.block == later.block;
        let one_warp = one_block && earlier.warp() == later.warp();
        match clash {
            Clash::NoProxyFence => Mend::Proxy,
            _ if earlier.is_asynchronous() => {
                if earlier.writes() {
                    Mend::Land
                } else {
                    Mend::Read
                }
            }
            Clash::NoAcquire => Mend::Acquire,
            _ if updates(race, code) => Mend::Atomic,
            Clash::Luck => Mend::Order,
            Clash::Equal if one_warp && earlier.pc == later.pc => Mend::OneLane,
            Clash::Equal => Mend::OneThread,
            _ if !one_block && space == MemorySpace::Shared => Mend::Cluster,
            _ if !one_block => Mend::Grid,
            _ if one_warp && earlier.pc == later.pc => Mend::OwnPlace,
            _ if one_warp => Mend::Warp,
            _ => Mend::Block,
        }
    }

    pub fn help(self) -> &'static str {
        match self {
            Mend::None => "",
            Mend::Proxy => {
                "put `fence.proxy.async` behind the stores, by the threads that make them, before the barrier that comes before \
                 the copy or product"
            }
            Mend::Read => {
                "what was issued may still read its source: wait for its group (`cp.async.bulk.wait_group.read`, \
                 `wgmma.wait_group`), and meet at a barrier if another thread writes, first"
            }
            Mend::Land => {
                "the copy may not have landed: wait for its group (and meet at a barrier, if another thread reads) first"
            }
            Mend::Acquire => {
                "put a fence between reading the flag and using what it stands for, or read the flag with `acquire`"
            }
            Mend::Order => {
                "order them: by a barrier, or by a fence before the flag is written and another after it was read; or make both \
                 atomic"
            }
            Mend::OneLane => "the outcome is defined; let one lane write to say so",
            Mend::OneThread => {
                "the outcome is the same, yet undefined: let one thread write, or use an atomic"
            }
            Mend::Cluster => {
                "let the blocks of the cluster meet between the two: `barrier.cluster`, and not only the block's own barrier"
            }
            Mend::Grid => {
                "nothing orders blocks of one launch: use an atomic, or a device fence and a flag, or a second launch"
            }
            Mend::OwnPlace => "several lanes store to one place: give each its own, or use an atomic",
            Mend::Warp => "lanes of a warp need not run together: put `warp::sync_warp` between the two",
            Mend::Block => "put `thread::sync_threads()` between the two",
            Mend::Atomic => {
                "several threads update one place, and no barrier keeps an update whole: make it an atomic (`fetch_add`, \
                 `atomicAdd`), or let one thread do it"
            }
        }
    }
}

/// Whether both sides belong to updates of the place (`x += y` without an atomic): two of their stores, or the load of one and
/// the store of the other.
fn updates(race: &Race, code: &Code) -> bool {
    let Race { earlier, later, .. } = race;
    match (earlier.writes(), later.writes()) {
        (true, true) => [earlier, later].iter().all(|store| !code.updates(store.pc).is_empty()),
        (true, false) => code.updates(earlier.pc).contains(&later.pc),
        (false, _) => code.updates(later.pc).contains(&earlier.pc),
    }
}
