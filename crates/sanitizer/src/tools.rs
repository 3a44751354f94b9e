//! The list of tools.

use std::sync::{Arc, Mutex};

use crate::barrier::BlockBarriers;
use crate::checks::{Check, Checks};
use crate::cluster::Member;
use crate::init::BlockInit;
use crate::launched::Launched;
use crate::memory::ArrayBounds;
use crate::race::{BlockRaces, GlobalRaces};
use crate::tool::Tool;
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

macro_rules! tools {
    ($($field:ident: $tool:ident for $check:ident;)*) => {
        /// The tools beside one block: those that are on.
        #[derive(Debug)]
        pub(crate) struct Tools {
            $(pub $field: Option<$tool>,)*
        }

        impl Tools {
            pub fn of(block: &Watched<'_>, on: Checks) -> Self {
                Tools { $($field: on.has(Check::$check).then(|| $tool::of(block)),)* }
            }

            /// Shows an event to each. Inlined, so that a tool costs nothing where it has no answer.
            #[inline(always)]
            pub fn each(&mut self, mut show: impl FnMut(&mut dyn Tool)) {
                $(if let Some(tool) = &mut self.$field {
                    show(tool);
                })*
            }

            /// Whether one says yes.
            #[inline(always)]
            pub fn any(&self, says: impl Fn(&dyn Tool) -> bool) -> bool {
                false $(|| self.$field.as_ref().is_some_and(|tool| says(tool)))*
            }
        }
    };
}
tools! {
    arrays: ArrayBounds for Memory;
    barriers: BlockBarriers for Barrier;
    init: BlockInit for Init;
    races: BlockRaces for Race;
}
