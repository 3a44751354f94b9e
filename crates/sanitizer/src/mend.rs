//! What usually mends a race.

/// What mends a race. Of several at one pair of lines, the greatest mends them all: a barrier of the block also orders lanes
/// of a warp, and no barrier keeps an update whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Mend {
    /// Findings of other kinds say themselves what mends them.
    None,
    OneLane,
    OneThread,
    Acquire,
    Order,
    Warp,
    Block,
    Cluster,
    Grid,
    OwnPlace,
    OwnPlaceOrRounds,
    Scope,
    Land,
    Read,
    Proxy,
    Coherent,
    AtomicOrBarrier,
    AtomicOrRounds,
    Atomic,
}

impl Mend {
    const ALL: [Mend; 19] = [
        Mend::None,
        Mend::OneLane,
        Mend::OneThread,
        Mend::Acquire,
        Mend::Order,
        Mend::Warp,
        Mend::Block,
        Mend::Cluster,
        Mend::Grid,
        Mend::OwnPlace,
        Mend::OwnPlaceOrRounds,
        Mend::Scope,
        Mend::Land,
        Mend::Read,
        Mend::Proxy,
        Mend::Coherent,
        Mend::AtomicOrBarrier,
        Mend::AtomicOrRounds,
        Mend::Atomic,
    ];

    /// What a finding advises, which may come from another process.
    pub fn of_help(help: &str) -> Self {
        Self::ALL.into_iter().find(|mend| mend.help() == help).unwrap_or(Mend::None)
    }

    pub fn help(self) -> &'static str {
        match self {
            Mend::None => "",
            Mend::Proxy => {
                "put `fence.proxy.async` behind the stores, by the threads that make them, before the barrier that comes before \
                 the copy or product"
            }
            Mend::Coherent => {
                "its cache does not see the kernel's own writes, whatever orders the two: drop `__ldg` and `const __restrict__`, \
                 read plainly, or read in a later launch"
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
            Mend::OwnPlace => {
                "one instruction of several threads stores to one place, which no barrier orders: give each thread its own element, \
                 or use an atomic or a reduction"
            }
            Mend::OwnPlaceOrRounds => {
                "one line of several threads stores to one place: give each thread its own element, or use an atomic or a \
                 reduction; if they store in different rounds of a loop, put `thread::sync_threads` (`__syncthreads`) between the \
                 rounds"
            }
            Mend::Scope => {
                "an atomic access of block scope (`.cta`) orders nothing for other blocks: give it the scope of the device (`.gpu`, \
                 `thread_scope_device`, `atomicAdd` without `_block`)"
            }
            Mend::Warp => {
                "lanes of a warp need not run together: put `warp::sync_warp` (`__syncwarp`) between the two"
            }
            Mend::Block => "put `thread::sync_threads` (`__syncthreads`) between the two",
            Mend::AtomicOrBarrier => {
                "two lines update one place: if one is to go on with what the other left, let the threads meet between the two \
                 (`sync_warp`, `sync_threads`); if they may come in any order, make both atomic"
            }
            Mend::AtomicOrRounds => {
                "several threads update one place: if in one round of a loop, make it an atomic (`fetch_add`, `atomicAdd` or their \
                 kin); if in different rounds, put `thread::sync_threads` (`__syncthreads`) between them"
            }
            Mend::Atomic => {
                "several threads update one place, and no barrier keeps an update whole: make it an atomic (`fetch_add`, \
                 `atomicAdd` or their kin), or let one thread do it"
            }
        }
    }
}
