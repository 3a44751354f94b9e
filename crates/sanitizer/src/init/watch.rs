//! The initialisation check as a tool: which events tell it what, and what it says.

use virtual_gpu::observer::{Access, AsyncEvent, At, Carrier, Entered, MemorySpace, Operands, Register};

use super::{BlockInit, Decides};
use crate::carried::Part;
use crate::checks::Check;
use crate::finding::Severity;
use crate::race::lanes;
use crate::reached::Reached;
use crate::report::{Reporter, Told};
use crate::tool::Tool;

impl Reporter {
    /// An undefined value decides something for these lanes; `place` is what an access reaches.
    pub fn undefined(&mut self, at: At, place: Option<(MemorySpace, u64)>, decides: Decides, lanes: u32) {
        let kind = match decides {
            Decides::Address => "a value that was never written is used as an address",
            Decides::Guard => "a value that was never written decides a branch",
            Decides::Atomic => "an atomic operation meets a value that was never written",
            Decides::Print => "a value that was never written is printed",
        };
        self.note(Check::Init, kind, [at.pc, at.pc], |reporter| Told {
            severity: Severity::Error,
            message: kind.to_owned(),
            object: place.map(|(space, address)| reporter.accessed(at.pc, space, address)),
            sites: vec![reporter.here("use", At { lanes, ..at })],
            help: "write the memory first: from the host, by an earlier kernel, or before the barrier that comes before the read",
        });
    }
}

impl Tool for BlockInit {
    fn access(&mut self, at: At, access: &Access<'_>, reached: &Reached, reporter: &mut Reporter) {
        let first = access.addresses[(access.lanes.trailing_zeros() & 31) as usize];
        self.accessed(at, access, reached, |decides, lanes| {
            reporter.undefined(at, Some((access.space, first)), decides, lanes);
        });
    }

    fn asynchronous(&mut self, at: At, event: &AsyncEvent<'_>, reporter: &mut Reporter) {
        match *event {
            AsyncEvent::CopyStarted { shared, global, bytes, read } => {
                for lane in lanes(at.lanes) {
                    let lane = lane as usize;
                    self.copied(shared[lane], global[lane], bytes, read[lane]);
                }
            }
            AsyncEvent::Moved { space, write: false, address, bytes, within, swizzle, .. } => {
                self.bulk_read(at, space, &Part { address, bytes, within, swizzle });
            }
            // What comes into shared memory was told when it was issued.
            AsyncEvent::Moved {
                space: space @ MemorySpace::Global,
                write: true,
                address,
                bytes,
                within,
                swizzle,
                reduces,
            } => {
                self.written_by_copy(at, space, &Part { address, bytes, within, swizzle }, reduces, reporter);
            }
            AsyncEvent::BulkStarted { address, bytes, reduces, swizzle, .. } => {
                let part = Part { address, bytes, within: 0, swizzle };
                self.written_by_copy(at, MemorySpace::Shared, &part, reduces, reporter);
            }
            _ => {}
        }
    }

    #[inline]
    fn guard(&mut self, at: At, predicate: Register, reporter: &mut Reporter) {
        let undefined = self.undefined_lanes(at, predicate);
        if undefined != 0 {
            reporter.undefined(at, None, Decides::Guard, undefined);
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
            && let Some((decides, lanes)) = self.executed(at, reads, writes, operands)
        {
            reporter.undefined(at, None, decides, lanes);
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
            reporter.undefined(at, None, Decides::Print, at.lanes);
        }
    }

    fn bytes(&mut self) -> usize {
        self.shadow_bytes()
    }
}

impl BlockInit {
    fn written_by_copy(
        &mut self,
        at: At,
        space: MemorySpace,
        part: &Part,
        reduces: bool,
        reporter: &mut Reporter,
    ) {
        if self.bulk_written(at, space, part, reduces) {
            reporter.undefined(at, Some((space, part.address)), Decides::Atomic, at.lanes);
        }
    }
}
