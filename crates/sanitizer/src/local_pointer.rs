//! Accesses through the address of another thread's local array.
//!
//! A local address names the memory of the thread that uses it. A thread that takes one from another, through shared or global
//! memory, reads or writes its own stack.

use std::collections::HashMap;

use virtual_gpu::memory::window;
use virtual_gpu::observer::{Access, AccessKind, At, MemorySpace};

use crate::finding::{Action, Finding, Key};
use crate::kind::Kind;
use crate::reached::{Reached, lanes};
use crate::report::Reporter;
use crate::tool::Tool;
use crate::watched::Watched;

/// A store of a local address by a thread of the block.
#[derive(Debug, Clone, Copy)]
struct Stored {
    thread: u32,
    pc: u32,
    /// The offset in local memory.
    offset: u64,
}

/// More addresses than these are not followed.
const MOST: usize = 1 << 14;

/// The local addresses that the threads of a block have stored, and those that others have loaded.
#[derive(Debug, Default)]
pub(crate) struct LocalPointers {
    /// By space and address.
    stored: HashMap<(MemorySpace, u64), Stored>,
    /// By the thread that has loaded them.
    taken: HashMap<u32, Vec<Stored>>,
}

impl LocalPointers {
    pub fn of(_: &Watched<'_>) -> Self {
        LocalPointers::default()
    }

    fn store(&mut self, at: At, access: &Access<'_>) {
        let Some(values) = access.values else { return };
        for lane in lanes(access.lanes) {
            for element in 0..access.elements {
                let [low, high] =
                    [8 * element, 8 * element + 4].map(|byte| u64::from(values.word(lane, byte)));
                let value = high << 32 | low;
                let place =
                    (access.space, access.addresses[lane as usize].wrapping_add(8 * u64::from(element)));
                if !window::holds(window::LOCAL, value) {
                    if !self.stored.is_empty() {
                        self.stored.remove(&place);
                    }
                } else if self.stored.len() < MOST {
                    let stored =
                        Stored { thread: at.warp * 32 + lane, pc: at.pc, offset: value - window::LOCAL };
                    self.stored.insert(place, stored);
                }
            }
        }
    }

    fn load(&mut self, at: At, access: &Access<'_>) {
        for lane in lanes(access.lanes) {
            let thread = at.warp * 32 + lane;
            for element in 0..access.elements {
                let address = access.addresses[lane as usize].wrapping_add(8 * u64::from(element));
                if let Some(stored) = self.stored.get(&(access.space, address))
                    && stored.thread != thread
                {
                    let taken = self.taken.entry(thread).or_default();
                    if taken.iter().all(|known| known.offset != stored.offset) {
                        taken.push(*stored);
                    }
                }
            }
        }
    }

    /// The lane that goes through a foreign address, and that address.
    fn followed(&self, at: At, access: &Access<'_>) -> Option<(u32, Stored)> {
        lanes(access.lanes).find_map(|lane| {
            let address = access.addresses[lane as usize];
            let offset = address.checked_sub(window::LOCAL).unwrap_or(address);
            // Of several arrays the nearest below.
            let taken = self.taken.get(&(at.warp * 32 + lane))?.iter();
            let nearest =
                taken.filter(|stored| stored.offset <= offset).max_by_key(|stored| stored.offset)?;
            Some((lane, *nearest))
        })
    }
}

impl Tool for LocalPointers {
    #[inline]
    fn access(&mut self, at: At, access: &Access<'_>, _: &Reached, reporter: &mut Reporter) {
        match (access.space, access.kind) {
            (MemorySpace::Shared | MemorySpace::Global, AccessKind::Store) if access.width == 8 => {
                self.store(at, access);
            }
            (MemorySpace::Shared | MemorySpace::Global, AccessKind::Load)
                if access.width == 8 && !self.stored.is_empty() =>
            {
                self.load(at, access);
            }
            (MemorySpace::Local, _) if access.generic && !self.taken.is_empty() => {
                let Some((lane, stored)) = self.followed(at, access) else { return };
                let (kind, pcs) = (Kind::ForeignLocalArray, [at.pc, stored.pc]);
                reporter.note(Key::of(&kind, pcs), |reporter| {
                    let (warp, of) = (stored.thread / 32, stored.thread % 32);
                    let store = reporter.site(Action::StoreOfAddress, stored.pc, reporter.block, warp, of);
                    let access = reporter.site(Action::Access, at.pc, reporter.block, at.warp, lane);
                    Finding { sites: vec![access, store], ..Finding::new(kind) }
                });
            }
            _ => {}
        }
    }
}
