//! Which of the means orders the two sides of a race.

use virtual_gpu::Code;
use virtual_gpu::observer::MemorySpace;

use crate::cure::Cure;
use crate::finding::user_frame;
use crate::launched::Launched;
use crate::shadow::{Clash, Race, Stamp};

/// The cure of a race.
pub fn cure(race: &Race, space: MemorySpace, launched: &Launched) -> Cure {
    let Race { earlier, later, clash, .. } = race;
    let code = &*launched.code;
    let both_write = earlier.writes() && later.writes();
    let strong = [earlier, later].into_iter().all(Stamp::is_strong);
    let narrow = strong && !(earlier.is_wide() && later.is_wide());
    // Copies of a line are of an unrolled loop.
    let in_rounds = || earlier.pc != later.pc || launched.repeats(later.pc);
    let one_block = earlier.block == later.block;
    let one_warp = one_block && earlier.warp() == later.warp();
    match clash {
        Clash::NoProxyFence => Cure::Proxy,
        Clash::Stale => Cure::Coherent,
        _ if earlier.is_asynchronous() => {
            if earlier.writes() {
                Cure::Land
            } else {
                Cure::Read
            }
        }
        _ if !one_block && narrow => Cure::Scope,
        Clash::NoAcquire | Clash::Unordered
            if !one_block && [earlier, later].into_iter().any(|access| launched.fences_narrowly(access)) =>
        {
            Cure::FenceScope
        }
        Clash::NoAcquire => Cure::Acquire,
        _ if updates(race, code) => match both_write && !is_one_line(race, code) {
            true => Cure::AtomicOrBarrier,
            false if one_block && launched.repeats(later.pc) => Cure::AtomicOrRounds,
            false => Cure::Atomic,
        },
        Clash::OrderDependent => Cure::Order,
        Clash::Equal if one_warp && earlier.pc == later.pc => Cure::OneLane,
        Clash::Equal => Cure::OneThread,
        _ if both_write && is_one_line(race, code) => match one_block && in_rounds() {
            true => Cure::OwnPlaceOrRounds,
            false => Cure::OwnPlace,
        },
        _ if !one_block && space == MemorySpace::Shared => Cure::Cluster,
        _ if !one_block => Cure::Grid,
        _ if one_warp => Cure::Warp,
        _ => Cure::Block,
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

/// Whether both sides are at one of the user's lines, as far as lines are known: the copies of an unrolled loop are.
fn is_one_line(race: &Race, code: &Code) -> bool {
    let [earlier, later] = [race.earlier.pc, race.later.pc];
    let line = |pc| user_frame(code.frames(pc)).map(|frame| (&frame.file, frame.line));
    earlier == later || line(earlier) == line(later)
}
