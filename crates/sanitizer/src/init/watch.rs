//! The initialisation check as a tool: which events tell it what, and what it says.

use virtual_gpu::observer::{Access, AsyncEvent, At, Carrier, Entered, MemorySpace, Operands, Register};

use super::{BlockInit, Origin, Unwritten};
use crate::finding::{Action, Finding, Key};
use crate::kind::{Decides, Kind};
use crate::reached::Reached;
use crate::report::Reporter;
use crate::tool::Tool;

/// The origin of an undefined value, or its place.
pub enum Whence {
    Read(Origin),
    Memory(MemorySpace, u64),
}

impl Reporter {
    /// An undefined value decides something for these lanes.
    pub fn undefined(&mut self, at: At, whence: Whence, decides: Decides, lanes: u32) {
        let kind = Kind::Undefined { decides };
        let origin = match &whence {
            Whence::Read(origin) => origin.pc,
            Whence::Memory(..) => at.pc,
        };
        self.note(Key::of(&kind, [at.pc, origin]), |reporter| {
            let mut sites = vec![reporter.here(Action::Use, At { lanes, ..at })];
            let (pc, memory) = match whence {
                Whence::Memory(space, address) => (at.pc, Some((space, address))),
                Whence::Read(origin) => {
                    let (what, memory) = match origin.what {
                        Unwritten::Memory(space, address) => (Action::UnwrittenRead, Some((space, address))),
                        Unwritten::Register => (Action::UnsetRegister, None),
                        Unwritten::Lane => (Action::AbsentLane, None),
                    };
                    sites.push(reporter.site(what, origin.pc, origin.block, origin.warp, origin.lane));
                    (origin.pc, memory)
                }
            };
            let object = memory.map(|(space, address)| reporter.accessed(pc, space, address));
            Finding { object, sites, ..Finding::new(kind) }
        });
    }
}

impl Tool for BlockInit {
    fn access(&mut self, at: At, access: &Access<'_>, reached: &Reached, reporter: &mut Reporter) {
        let first = access.addresses[(access.lanes.trailing_zeros() & 31) as usize];
        self.accessed(at, access, reached, |decides, lanes, origin| {
            let whence = origin.map_or(Whence::Memory(access.space, first), Whence::Read);
            reporter.undefined(at, whence, decides, lanes);
        });
    }

    fn asynchronous(&mut self, at: At, event: &AsyncEvent<'_>, reporter: &mut Reporter) {
        if let Some((space, address)) = self.moved(at, event) {
            reporter.undefined(at, Whence::Memory(space, address), Decides::Atomic, at.lanes);
        }
    }

    #[inline]
    fn guard(&mut self, at: At, predicate: Register, reporter: &mut Reporter) {
        let undefined = self.undefined_lanes(at, predicate);
        if undefined != 0 {
            reporter.undefined(at, Whence::Read(self.origin(at, predicate)), Decides::Guard, undefined);
        }
    }

    #[inline]
    fn follows(&self, warp: u32) -> bool {
        self.is_tainted(warp)
    }

    #[inline]
    fn registers(
        &mut self,
        at: At,
        reads: &[Register],
        writes: &[Register],
        operands: &Operands<'_>,
        reporter: &mut Reporter,
    ) {
        if self.is_tainted(at.warp)
            && let Some((decides, lanes, origin)) = self.executed(at, reads, writes, operands)
        {
            reporter.undefined(at, Whence::Read(origin), decides, lanes);
        }
    }

    fn shuffled(&mut self, at: At, target: Register, value: Option<Register>, sources: &[u8; 32]) {
        self.exchanged(at, target, value, sources);
    }

    fn enter(&mut self, at: At, frame: &Entered) {
        self.entered(at, frame);
    }

    fn passed(&mut self, at: At, from: Carrier, to: Carrier, bytes: u32) {
        self.carried_over(at, from, to, bytes);
    }

    fn heap_allocated(&mut self, address: u64, bytes: u64) {
        self.forget_global(address, bytes);
    }

    fn printed(&mut self, at: At, space: MemorySpace, address: u64, bytes: u32, reporter: &mut Reporter) {
        if self.prints(at, space, address, bytes) {
            reporter.undefined(at, Whence::Memory(space, address), Decides::Print, at.lanes);
        }
    }

    fn bytes(&mut self) -> usize {
        self.shadow_bytes()
    }
}
