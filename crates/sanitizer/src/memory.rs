//! The memory check: accesses outside of the shared array, or of the allocation, that the address was made from, and the faults
//! that the virtual GPU itself ends a launch with.

use std::ops::Range;

use virtual_gpu::observer::{Access, AccessKind, AsyncEvent, At, MemorySpace};
use virtual_gpu::{Fault, FaultKind, SharedArray};

use crate::checks::{Check, Checks};
use crate::cluster::within;
use crate::finding::{Finding, Object, Severity, Site};
use crate::launched::Launched;
use crate::objects::Objects;
use crate::reached::{Reached, lanes};
use crate::report::{Reporter, Told, readable};
use crate::tool::Tool;
use crate::watched::Watched;

/// Compares accesses with the bounds of shared arrays.
#[derive(Debug)]
pub(crate) struct ArrayBounds;

impl ArrayBounds {
    pub fn of(_: &Watched<'_>) -> Self {
        ArrayBounds
    }
}

impl Tool for ArrayBounds {
    fn shared_access(&mut self, at: At, access: &Access<'_>, reached: &Reached, reporter: &mut Reporter) {
        let launched = &reporter.launched;
        let array = launched.code.shared_of(at.pc).and_then(|of| launched.shared[of].as_ref());
        // Of an address that was made from no array that is known: all that the block has asked for.
        let (start, end) = match array {
            Some(array) => (u64::from(array.offset), u64::from(array.offset) + u64::from(array.size)),
            None => (0, launched.shared_bytes.into()),
        };
        if start <= reached.low && reached.end <= end {
            return;
        }
        let bytes = u64::from(access.bytes());
        let address = |lane: usize| match array {
            Some(_) => access.addresses[lane],
            None => within(access.addresses[lane]),
        };
        let outside = |lane: usize| {
            let address = address(lane);
            access.lanes >> lane & 1 != 0 && (address < start || address.saturating_add(bytes) > end)
        };
        // Beyond the pieces in which the hardware gives shared memory the launch ends with a fault, which is reported as such.
        let in_block = |lane: &usize| address(*lane).saturating_add(bytes) <= u64::from(launched.shared_end);
        if let Some(lane) = (0..32).find(|&lane| outside(lane)).filter(in_block) {
            let array = array.cloned().unwrap_or_else(|| all(launched));
            let what = verb(access);
            let (address, bytes) = (access.addresses[lane], access.bytes());
            outside_array(at, (what, address, bytes), lane as u32, &array, reporter);
        }
    }

    #[inline]
    fn access(&mut self, at: At, access: &Access<'_>, reached: &Reached, reporter: &mut Reporter) {
        if access.space != MemorySpace::Global {
            return;
        }
        let extent = reporter.launched.extent(at.pc, &reporter.objects);
        if reached.low < extent.start || reached.end > extent.end {
            in_another_allocation(at, access, &extent, reporter);
        }
    }

    /// Copies know their addresses only when they are issued: here it is told whether they stay in what the block has asked for.
    fn asynchronous(&mut self, at: At, event: &AsyncEvent<'_>, reporter: &mut Reporter) {
        let launched = &reporter.launched;
        let end = u64::from(launched.shared_bytes);
        let beyond = |address: u64, bytes: u32| within(address) + u64::from(bytes) > end;
        let found = match *event {
            AsyncEvent::Moved { space: MemorySpace::Shared, write, address, bytes, .. } => {
                let what = if write { "write" } else { "read" };
                let lane = at.lanes.trailing_zeros() as usize;
                beyond(address, bytes).then_some((what, address, bytes, lane))
            }
            AsyncEvent::CopyStarted { shared, bytes, .. } => (0..32)
                .find(|&lane| at.lanes >> lane & 1 != 0 && beyond(shared[lane], bytes))
                .map(|lane| ("write", shared[lane], bytes, lane)),
            _ => None,
        };
        if let Some((what, address, bytes, lane)) = found
            && within(address) + u64::from(bytes) <= u64::from(launched.shared_end)
        {
            let all = all(launched);
            outside_array(at, (what, within(address), bytes), lane as u32, &all, reporter);
        }
    }
}

fn verb(access: &Access<'_>) -> &'static str {
    match access.kind {
        AccessKind::Load => "read",
        AccessKind::Store => "write",
        AccessKind::Atomic | AccessKind::Reduction => "atomic",
    }
}

/// An address that was made from a parameter's pointer and lies in memory, yet not in the allocation of that pointer.
#[cold]
fn in_another_allocation(at: At, access: &Access<'_>, extent: &Range<u64>, reporter: &mut Reporter) {
    let bytes = u64::from(access.bytes());
    let outside = |lane: &u32| {
        let address = access.addresses[*lane as usize];
        address < extent.start || address.saturating_add(bytes) > extent.end
    };
    // An address that no other allocation holds is a fault, or lies behind the last element.
    let Some(lane) = lanes(access.lanes)
        .filter(outside)
        .find(|&lane| reporter.objects.extent(access.addresses[lane as usize]).is_some())
    else {
        return;
    };
    reporter.note(Check::Memory, "another allocation", [at.pc, at.pc], |reporter| {
        let (what, address) = (verb(access), access.addresses[lane as usize]);
        let place = match address.checked_sub(extent.start) {
            Some(offset) => format!("{offset} bytes from its start"),
            None => format!("{} bytes before its start", extent.start - address),
        };
        Told {
            severity: Severity::Error,
            message: format!(
                "global {what} of {bytes} bytes outside the allocation of {} bytes that its pointer was given for: {place}, in \
                 another allocation",
                extent.end - extent.start
            ),
            object: Some(Object {
                offset: address.wrapping_sub(extent.start),
                ..reporter.accessed(at.pc, MemorySpace::Global, extent.start)
            }),
            sites: vec![reporter.site(what, at.pc, reporter.block, at.warp, lane)],
            help: "allocations lie elsewhere on a device, where this access faults: compare the index with the length, and do not \
                   go from one buffer to another by a difference of their addresses",
        }
    });
}

/// All the shared memory that a block has asked for.
fn all(launched: &Launched) -> SharedArray {
    SharedArray { name: "shared memory".into(), offset: 0, size: launched.shared_bytes }
}

fn outside_array(
    at: At,
    (what, address, bytes): (&'static str, u64, u32),
    lane: u32,
    array: &SharedArray,
    reporter: &mut Reporter,
) {
    reporter.note(Check::Memory, "outside a shared array", [at.pc, at.pc], |reporter| {
        let (start, size) = (u64::from(array.offset), u64::from(array.size));
        let name = readable(&array.name);
        let place = match address.checked_sub(start) {
            Some(offset) => format!("{offset} bytes from its start"),
            None => format!("{} bytes before its start", start - address),
        };
        Told {
            severity: Severity::Error,
            message: format!("shared {what} of {bytes} bytes outside `{name}` of {size} bytes: {place}"),
            object: Some(Object {
                space: "shared".into(),
                name: Some(name),
                size: Some(size),
                offset: address.wrapping_sub(start),
                element: None,
                allocated: None,
            }),
            sites: vec![reporter.site(what, at.pc, reporter.block, at.warp, lane)],
            help: "it lands in what lies beside it: compare the index with the array's length",
        }
    });
}

/// Behind the message of an access that the launch went on from.
pub(crate) const SKIPPED: &str = "; the access was skipped, and the launch went on";

impl Reporter {
    /// A lane goes on without its access.
    pub fn skipped(&mut self, at: At, fault: &dyn Fn() -> Fault) {
        self.note(Check::Memory, "skipped", [at.pc, at.pc], |reporter| {
            let mut fault = fault();
            fault.kind = with_freed(&fault.kind, &reporter.objects);
            let (_, what, help) =
                described(&fault.kind, &reporter.objects).unwrap_or((Check::Memory, "access", ""));
            Told {
                severity: Severity::Error,
                message: format!("{}{SKIPPED}", fault.kind),
                object: reached_by(&fault.kind, &reporter.objects),
                sites: vec![Site::new(what, fault.block, fault.thread, fault.location)],
                help,
            }
        });
    }
}

/// The finding of a fault that ended a launch.
pub(crate) fn of_fault(fault: &Fault, checks: Checks, kernel: &str, objects: &Objects) -> Option<Finding> {
    let (check, what, help) = described(&fault.kind, objects)?;
    checks.has(check).then(|| Finding {
        check,
        severity: Severity::Error,
        message: with_freed(&fault.kind, objects).to_string(),
        kernel: kernel.to_owned(),
        object: reached_by(&fault.kind, objects),
        sites: vec![Site::new(what, fault.block, fault.thread, fault.location.clone())],
        help: help.into(),
        count: 1,
        host: None,
        seed: None,
    })
}

/// The fault, which names the freed allocation that the address lies in instead of what is near it and alive.
fn with_freed(kind: &FaultKind, objects: &Objects) -> FaultKind {
    let mut kind = kind.clone();
    if let FaultKind::IllegalAddress { access, address, nearby, .. } = &mut kind
        && access.starts_with("global")
        && let Some((start, size)) = objects.freed_at(*address)
    {
        *nearby = format!(", {} bytes into an allocation of {size} bytes that was freed", *address - start);
    }
    kind
}

/// The buffer that the address lies in or behind.
fn reached_by(kind: &FaultKind, objects: &Objects) -> Option<Object> {
    match kind {
        FaultKind::IllegalAddress { access, address, bytes, .. }
        | FaultKind::MisalignedAddress { access, address, bytes }
            if access.starts_with("global") =>
        {
            let object = Object { element: Some(*bytes), ..objects.nearest(*address) };
            Some(object).filter(|object| object.size.is_some())
        }
        _ => None,
    }
}

/// The tool that a fault is for, what the thread did, and what mends it.
fn described(kind: &FaultKind, objects: &Objects) -> Option<(Check, &'static str, &'static str)> {
    Some(match kind {
        FaultKind::IllegalAddress { address, .. } if objects.freed_at(*address).is_some() => (
            Check::Memory,
            "access",
            "free the memory when the last launch that uses it has ended, and use no copy of its pointer after that",
        ),
        FaultKind::IllegalAddress { .. } => (
            Check::Memory,
            "access",
            "compare the index with the length before the access; in Rust, index a slice",
        ),
        FaultKind::MisalignedAddress { .. } => {
            (Check::Memory, "access", "an access of n bytes needs an address that is a multiple of n")
        }
        FaultKind::HeapMisuse { .. } => (
            Check::Memory,
            "free",
            "free once what `malloc` gave in a kernel; the host frees what it allocated",
        ),
        FaultKind::WriteToConstant { .. } => (Check::Memory, "write", "write to a global buffer instead"),
        FaultKind::StackOverflow { .. } => {
            (Check::Memory, "call", "bound the recursion, or raise the stack limit")
        }
        FaultKind::InvalidPc(_) => {
            (Check::Memory, "jump", "call through a pointer that holds a device function")
        }
        FaultKind::Assert(_) | FaultKind::Trap | FaultKind::Breakpoint => {
            (Check::Memory, "trap", "the kernel ended itself: its own check failed")
        }
        FaultKind::Deadlock(_) | FaultKind::Timeout { .. } => (
            Check::Barrier,
            "wait",
            "every thread that a barrier or mask names must come to it, or have ended; a flag that is waited for must \
             be set",
        ),
        FaultKind::IllegalInstruction(why) => {
            let meets = ["mask", "barrier"].iter().any(|word| why.contains(word));
            let check = if meets { Check::Barrier } else { Check::Memory };
            (check, "instruction", "give the instruction operands that it is defined for")
        }
        _ => return None,
    })
}
