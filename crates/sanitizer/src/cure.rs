//! Which of the means orders the two sides of a race.

use serde::{Deserialize, Serialize};

/// The cure of a race. Of several at one pair of lines, the greatest mends them all: a barrier of the block also orders lanes
/// of a warp, and no barrier keeps an update whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cure {
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
    FenceScope,
    Land,
    Read,
    Proxy,
    Coherent,
    AtomicOrBarrier,
    AtomicOrRounds,
    Atomic,
}
