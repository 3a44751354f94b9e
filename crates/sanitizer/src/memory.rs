//! The memory check: accesses outside of the shared array, or of the allocation, that the address was made from, and the faults
//! that the virtual GPU itself ends a launch with.

use std::ops::Range;

use virtual_gpu::observer::{Access, AccessKind, AsyncEvent, At, MemorySpace};
use virtual_gpu::{Fault, FaultKind, SharedArray};

use crate::checks::Checks;
use crate::cluster::within;
use crate::finding::{Action, Finding, Key, Object, Site};
use crate::kind::{Cause, Invalid, InvalidAccess, Kind};
use crate::launched::Launched;
use crate::names::readable;
use crate::objects::Objects;
use crate::reached::{Reached, lanes};
use crate::report::Reporter;
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
        let bytes = u64::from(access.used_end());
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
            let what = action(access);
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
                let what = if write { Action::Write } else { Action::Read };
                let lane = at.lanes.trailing_zeros() as usize;
                beyond(address, bytes).then_some((what, address, bytes, lane))
            }
            AsyncEvent::CopyStarted { shared, bytes, .. } => (0..32)
                .find(|&lane| at.lanes >> lane & 1 != 0 && beyond(shared[lane], bytes))
                .map(|lane| (Action::Write, shared[lane], bytes, lane)),
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

fn action(access: &Access<'_>) -> Action {
    match access.kind {
        AccessKind::Load => Action::Read,
        AccessKind::Store => Action::Write,
        AccessKind::Atomic | AccessKind::Reduction => Action::Atomic,
    }
}

/// An address that was made from a parameter's pointer and lies in memory, yet not in the allocation of that pointer.
#[cold]
fn in_another_allocation(at: At, access: &Access<'_>, extent: &Range<u64>, reporter: &mut Reporter) {
    let bytes = u64::from(access.used_end());
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
    reporter.note_at(at.pc, Kind::OutsideAllocation { bytes: access.bytes() }, |reporter, finding| {
        let object = reporter.accessed(at.pc, MemorySpace::Global, extent.start);
        let offset = access.addresses[lane as usize].wrapping_sub(extent.start);
        Finding {
            object: Some(Object { offset, size: Some(extent.end - extent.start), ..object }),
            sites: vec![reporter.site(action(access), at.pc, reporter.block, at.warp, lane)],
            ..finding
        }
    });
}

/// All the shared memory that a block has asked for.
fn all(launched: &Launched) -> SharedArray {
    SharedArray { name: "shared memory".into(), offset: 0, size: launched.shared_bytes }
}

fn outside_array(
    at: At,
    (what, address, bytes): (Action, u64, u32),
    lane: u32,
    array: &SharedArray,
    reporter: &mut Reporter,
) {
    reporter.note_at(at.pc, Kind::OutsideArray { bytes }, |reporter, finding| Finding {
        object: Some(Object {
            space: "shared".into(),
            name: Some(readable(&array.name)),
            size: Some(array.size.into()),
            offset: address.wrapping_sub(array.offset.into()),
            element: None,
            allocated: None,
        }),
        sites: vec![reporter.site(what, at.pc, reporter.block, at.warp, lane)],
        ..finding
    });
}

impl Reporter {
    /// A lane goes on without its access.
    pub fn skipped(&mut self, at: At, fault: &dyn Fn() -> Fault) {
        let key = Key::of(&Kind::InvalidAccess(InvalidAccess::default()), [at.pc, at.pc]);
        self.note(key, |reporter| {
            let mut finding = described(&fault(), &reporter.objects)
                .unwrap_or_else(|| Finding::new(Kind::InvalidAccess(InvalidAccess::default())));
            if let Kind::InvalidAccess(access) = &mut finding.kind {
                access.skipped = true;
            }
            finding
        });
    }
}

/// The finding of a fault that ended a launch.
pub(crate) fn of_fault(fault: &Fault, checks: Checks, kernel: &str, objects: &Objects) -> Option<Finding> {
    let finding = described(fault, objects)?;
    checks.has(finding.check()).then(|| finding.in_kernel(kernel))
}

/// A fault's kind, and the thread's action; `None` if the program is not to blame.
fn described(fault: &Fault, objects: &Objects) -> Option<Finding> {
    let invalid = |why, access: &str, address: &u64, bytes: u32, nearby| {
        let (access, address) = (access.to_owned(), *address);
        Kind::InvalidAccess(InvalidAccess { why, access, address, bytes, nearby, ..InvalidAccess::default() })
    };
    let of = |cause| Kind::Fault { cause, said: fault.kind.to_string() };
    let (what, kind) = match &fault.kind {
        FaultKind::IllegalAddress { access, address, bytes, nearby } => {
            // It names the freed allocation that the address lies in instead of what is near it and alive.
            let freed = objects.freed_at(*address).filter(|_| is_global(access));
            let (why, nearby) = match freed {
                Some((start, size)) => (
                    Invalid::Freed,
                    format!(", {} bytes into an allocation of {size} bytes that was freed", *address - start),
                ),
                None => (Invalid::OutOfBounds, nearby.clone()),
            };
            (Action::Access, invalid(why, access, address, *bytes, nearby))
        }
        FaultKind::MisalignedAddress { access, address, bytes } => {
            (Action::Access, invalid(Invalid::Misaligned, access, address, *bytes, String::new()))
        }
        FaultKind::WriteToConstant { address } => {
            (Action::Write, invalid(Invalid::ReadOnly, "", address, 0, String::new()))
        }
        FaultKind::HeapMisuse { .. } => (Action::Free, of(Cause::Heap)),
        FaultKind::StackOverflow { .. } => (Action::Call, of(Cause::Stack)),
        FaultKind::InvalidPc(_) => (Action::Jump, of(Cause::Jump)),
        FaultKind::Assert(_) | FaultKind::Trap | FaultKind::Breakpoint => (Action::Trap, of(Cause::Trap)),
        FaultKind::IllegalInstruction(_) => (Action::Instruction, of(Cause::Instruction)),
        FaultKind::IllegalSync(_) => {
            (Action::Instruction, Kind::InvalidSync { said: fault.kind.to_string() })
        }
        FaultKind::Deadlock(_) | FaultKind::Timeout { .. } => {
            (Action::Wait, Kind::Stuck { said: fault.kind.to_string() })
        }
        _ => return None,
    };
    let object = match &fault.kind {
        FaultKind::IllegalAddress { access, address, bytes, .. }
        | FaultKind::MisalignedAddress { access, address, bytes }
            if is_global(access) =>
        {
            Some(Object { element: Some(*bytes), ..objects.nearest(*address) })
        }
        _ => None,
    };
    let object = object.filter(|object| object.size.is_some());
    let sites = vec![Site::new(what, fault.block, fault.thread, fault.location.clone())];
    Some(Finding { object, sites, ..Finding::new(kind) })
}

/// A fault's access begins with its space.
fn is_global(access: &str) -> bool {
    access.split(' ').next() == Some("global")
}
