//! The list of tools.

use crate::barrier::BlockBarriers;
use crate::checks::{Check, Checks};
use crate::init::BlockInit;
use crate::local_pointer::LocalPointers;
use crate::memory::ArrayBounds;
use crate::race::BlockRaces;
use crate::tool::Tool;
use crate::transactions::Transactions;
use crate::watched::Watched;

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
    local_pointers: LocalPointers for Memory;
    transactions: Transactions for Barrier;
    init: BlockInit for Init;
    races: BlockRaces for Race;
}
