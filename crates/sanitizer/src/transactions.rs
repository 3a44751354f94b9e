//! Bytes that come to an `mbarrier` beyond those that were announced to it: the next phase then ends too early, or never.

use std::collections::BTreeMap;

use virtual_gpu::observer::{AsyncEvent, At};

use crate::finding::{Action, Finding};
use crate::kind::Kind;
use crate::reached::lanes;
use crate::report::Reporter;
use crate::tool::Tool;
use crate::watched::Watched;

/// The bytes of one `mbarrier`.
#[derive(Debug, Clone, Copy, Default)]
struct Balance {
    /// Announced, less those that copies bring.
    bytes: i64,
    /// The latest copy.
    copy: Option<At>,
}

/// The `mbarrier`s of one block. In a cluster other blocks may announce what comes, so there nothing is said.
#[derive(Debug)]
pub(crate) struct Transactions {
    by_address: BTreeMap<u64, Balance>,
    alive: u32,
    in_cluster: bool,
}

impl Transactions {
    pub fn of(block: &Watched<'_>) -> Self {
        Transactions { by_address: BTreeMap::new(), alive: block.threads, in_cluster: block.member.is_some() }
    }

    fn settle(balance: Balance, reporter: &mut Reporter) {
        let Balance { bytes: ..0, copy: Some(at) } = balance else { return };
        let kind = Kind::UnexpectedBytes { surplus: balance.bytes.unsigned_abs() };
        reporter.note_at(at.pc, kind, |reporter, finding| Finding {
            sites: vec![reporter.here(Action::Copy, at)],
            ..finding
        });
    }
}

impl Tool for Transactions {
    fn asynchronous(&mut self, at: At, event: &AsyncEvent<'_>, reporter: &mut Reporter) {
        if self.in_cluster {
            return;
        }
        match *event {
            AsyncEvent::MbarrierMade { addresses } => {
                for lane in lanes(at.lanes) {
                    let before = self.by_address.insert(addresses[lane as usize], Balance::default());
                    Self::settle(before.unwrap_or_default(), reporter);
                }
            }
            AsyncEvent::MbarrierExpects { address, bytes } => {
                self.by_address.entry(address).or_default().bytes += bytes;
            }
            AsyncEvent::BulkStarted { barrier, bytes, .. } => {
                let balance = self.by_address.entry(barrier).or_default();
                balance.bytes -= i64::from(bytes);
                balance.copy = Some(at);
            }
            _ => {}
        }
    }

    fn exit(&mut self, at: At, reporter: &mut Reporter) {
        self.alive = self.alive.saturating_sub(at.lanes.count_ones());
        if self.alive == 0 {
            std::mem::take(&mut self.by_address)
                .into_values()
                .for_each(|balance| Self::settle(balance, reporter));
        }
    }
}
