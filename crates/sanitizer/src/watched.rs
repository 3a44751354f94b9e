//! The block that is watched: what its tools are made from.

use std::sync::{Arc, Mutex};

use crate::cluster::Member;
use crate::history::GlobalRaces;
use crate::launched::Launched;
use crate::written::Written;

/// The block that tools are made for.
pub(crate) struct Watched<'a> {
    pub linear: u32,
    pub threads: u32,
    /// Its place in its cluster, if it is in one.
    pub member: Option<Member>,
    pub launched: &'a Arc<Launched>,
    pub races: &'a Arc<Mutex<GlobalRaces>>,
    pub written: &'a Arc<Mutex<Written>>,
}
