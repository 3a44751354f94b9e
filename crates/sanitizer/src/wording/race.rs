//! Races in words.

use crate::finding::Finding;
use crate::kind::{Between, Conflict, StreamName, Work, WorkConflict, WorkRace, WorkSide};

impl Finding {
    /// Two accesses of a launch.
    pub(super) fn race(&self, how: Conflict) -> String {
        let space = self.object.as_ref().map_or("", |object| &object.space);
        let what = match how {
            Conflict::EqualInWarp => {
                return format!("lanes of one warp store the same value to one place of {space} memory");
            }
            Conflict::Unordered => format!("{}, and nothing orders the two", self.order()),
            Conflict::Equal => "writes of equal values, and nothing orders the two".to_owned(),
            Conflict::NoAcquire => "a flag was read, and no fence makes it count".to_owned(),
            Conflict::NoProxyFence => {
                "a bulk copy or `wgmma` reads what plain stores wrote, and no fence between the proxies is behind them".to_owned()
            }
            Conflict::Stale => {
                "a load that takes the data for read-only (`ld.global.nc`, a texture) reads what the kernel has written".to_owned()
            }
            Conflict::Volatile => {
                "PTX takes volatile accesses for strong ones, which do not race; in CUDA C++ they order nothing, and nothing \
                 else orders these two"
                    .to_owned()
            }
        };
        format!("race in {space} memory: {what}")
    }

    fn order(&self) -> &'static str {
        let mut writes = self.sites.iter().map(|site| site.what.writes());
        match (writes.next(), writes.next()) {
            (Some(true), Some(false)) => "write after read",
            (Some(false), _) => "read after write",
            _ => "write after write",
        }
    }
}

/// Two launches, copies or nodes.
pub(super) fn between_works(work: &WorkRace) -> String {
    let [later, earlier] = &work.sides;
    if work.between == Between::HostAndDevice {
        let what = format!("{} what {}", side(later), side(earlier));
        let wait = if work.why == WorkConflict::AwaitedByCall {
            "only this call waits"
        } else {
            "it has not waited"
        };
        return format!("race with the host: {what}, and {wait} for that");
    }
    format!(
        "race {}: {} what {}, {}",
        match work.between {
            Between::Nodes => "in a graph",
            Between::Devices => "between devices",
            _ => "across streams",
        },
        side(later),
        side(earlier),
        match work.why {
            WorkConflict::NarrowScope => "both atomically for their own device only",
            WorkConflict::NoSystemFence =>
                "and no fence for all devices is with the flags that order the two",
            WorkConflict::Equal => "the same value, and nothing orders the two",
            _ => "and nothing orders the two",
        },
    )
}

fn side(side: &WorkSide) -> String {
    let of_device = side.device.map_or_else(String::new, |device| format!(" of device {device}"));
    let place = match side.stream {
        _ if side.what == Work::HostCode => "without a call".to_owned(),
        StreamName::Node => "in one node of the graph".to_owned(),
        StreamName::Host => "in a call that waits".to_owned(),
        StreamName::Default => format!("on the default stream{of_device}"),
        StreamName::Stream(stream) => format!("on stream {stream:#x}{of_device}"),
    };
    let what = match &side.what {
        Work::Kernel(kernel) => format!("kernel `{kernel}`"),
        Work::Copy => "a copy".to_owned(),
        Work::CopyToHost => "a copy to the host".to_owned(),
        Work::Write => "a copy or fill".to_owned(),
        Work::Fill => "a fill".to_owned(),
        Work::Allocation => "the allocation".to_owned(),
        Work::Free => "the free".to_owned(),
        Work::HostCode => "the host's code".to_owned(),
    };
    format!("{what} {place} {}", if side.writes { "writes" } else { "reads" })
}

pub(super) fn help_between_works(work: &WorkRace) -> &'static str {
    match (work.why, work.between) {
        (WorkConflict::NarrowScope, _) => {
            "say that the accesses are for all devices: scope `.sys`, as atomicAdd_system, and fences of that scope"
        }
        (WorkConflict::NoSystemFence, _) => {
            "between devices a flag needs fences of the system's scope, before it is set and after it is seen: \
             fence.acq_rel.sys, __threadfence_system()"
        }
        (WorkConflict::AwaitedByCall, _) => {
            "wait for the stream before the memory is freed: that the call waits for it is not promised"
        }
        (_, Between::HostAndDevice) => {
            "wait on the host for the stream, or for an event behind the work, before the host uses the memory"
        }
        (_, Between::Nodes) => {
            "make the one node depend on the other: add an edge, or capture the two on one stream"
        }
        _ => {
            "record an event behind the first and let the other stream wait for it, or wait for the first stream on the host"
        }
    }
}
