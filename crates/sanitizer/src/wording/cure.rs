//! The cures of races in words.

use crate::cure::Cure;

pub(super) fn help(cure: Cure) -> &'static str {
    match cure {
        Cure::Proxy => {
            "put `fence.proxy.async` behind the stores, by the threads that make them, before the barrier that comes before \
             the copy or product"
        }
        Cure::Coherent => {
            "its cache does not see the kernel's own writes, whatever orders the two: drop `__ldg` and `const __restrict__`, \
             read plainly, or read in a later launch"
        }
        Cure::Read => {
            "what was issued may still read its source: wait for its group (`cp.async.bulk.wait_group.read`, \
             `wgmma.wait_group`), and meet at a barrier if another thread writes, first"
        }
        Cure::Land => {
            "the copy may not have landed: wait for its group (and meet at a barrier, if another thread reads) first"
        }
        Cure::Acquire => {
            "put a fence between reading the flag and using what it stands for, or read the flag with `acquire`"
        }
        Cure::Order => {
            "order them: by a barrier, or by a fence before the flag is written and another after it was read; or make both \
             atomic"
        }
        Cure::OneLane => "the outcome is defined; let one lane write to say so",
        Cure::OneThread => "the outcome is the same, yet undefined: let one thread write, or use an atomic",
        Cure::Cluster => {
            "let the blocks of the cluster meet between the two: `barrier.cluster`, and not only the block's own barrier"
        }
        Cure::Grid => {
            "nothing orders blocks of one launch: use an atomic, or a device fence and a flag, or a second launch"
        }
        Cure::OwnPlace => {
            "one instruction of several threads stores to one place, which no barrier orders: give each thread its own element, \
             or use an atomic or a reduction"
        }
        Cure::OwnPlaceOrRounds => {
            "one line of several threads stores to one place: give each thread its own element, or use an atomic or a \
             reduction; if they store in different rounds of a loop, put `thread::sync_threads` (`__syncthreads`) between the \
             rounds"
        }
        Cure::Scope => {
            "an atomic access of block scope (`.cta`) orders nothing for other blocks: give it the scope of the device (`.gpu`, \
             `thread_scope_device`, `atomicAdd` without `_block`)"
        }
        Cure::FenceScope => {
            "a fence, release or acquire of block scope (`.cta`, `__threadfence_block`, `thread_scope_block`) orders nothing for \
             other blocks: give it the scope of the device (`.gpu`, `__threadfence`, `thread_scope_device`)"
        }
        Cure::Warp => {
            "lanes of a warp need not run together: put `warp::sync_warp` (`__syncwarp`) between the two"
        }
        Cure::Block => "put `thread::sync_threads` (`__syncthreads`) between the two",
        Cure::AtomicOrBarrier => {
            "two lines update one place: if one is to go on with what the other left, let the threads meet between the two \
             (`sync_warp`, `sync_threads`); if they may come in any order, make both atomic"
        }
        Cure::AtomicOrRounds => {
            "several threads update one place: if in one round of a loop, make it an atomic (`fetch_add`, `atomicAdd` or their \
             kin); if in different rounds, put `thread::sync_threads` (`__syncthreads`) between them"
        }
        Cure::Atomic => {
            "several threads update one place, and no barrier keeps an update whole: make it an atomic (`fetch_add`, \
             `atomicAdd` or their kin), or let one thread do it"
        }
    }
}
