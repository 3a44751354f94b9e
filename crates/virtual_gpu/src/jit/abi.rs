//! The binary interface of compiled code: its entries, the state that it reads and writes, and the functions that it calls.

use std::any::Any;
use std::cell::Cell;
use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

use crate::counting::{Counter, Logged, Numbers};
use crate::form::registers::{Regs, Row, Slot};
use crate::memory::Site;

/// The machine code of a function.
pub struct CompiledRegion {
    /// Enters the code at the entry of that number, and gives the program counter at which the interpreter goes on.
    pub run: unsafe extern "C" fn(*mut State, u32) -> u32,
    /// The function's first program counter.
    pub start: u32,
    /// By program counter, from `start` on: operations that the slice must have room for at an entry there, 0 where there is no entry. The number of an entry is its distance from `start`. Without that room the code leaves at once.
    pub blocks: Box<[u32]>,
    /// Where blocks start, in ascending order: operations that are counted when all of them have run.
    pub starts: Box<[u32]>,
    /// Registers that the code leaves in the frame by some of their lanes only.
    pub compact: Box<[Compact]>,
    /// Those of them that may still be read, by program counters in ascending order.
    pub compact_at: Box<[(u32, Box<[Compact]>)]>,
    /// Number of [`Site`]s that the code uses.
    pub sites: usize,
    /// Counters of the code, if [`Function::is_counted`](super::Function::is_counted); else nothing.
    pub counters: Arc<[Counter]>,
    /// Keeps the code in memory.
    pub code: Box<dyn Any + Send + Sync>,
}

/// A register of which the frame holds the first lane alone, or the first of each half; the others follow from it.
#[derive(Debug, Clone, Copy)]
pub struct Compact {
    pub slot: Slot,
    /// It has 64 bits.
    pub is_long: bool,
    /// The first lane of each half is stored.
    pub halves: bool,
    /// Difference of a lane from the one before in its half.
    pub stride: i64,
}

impl Compact {
    /// Writes all of its lanes.
    ///
    /// # Safety
    /// The registers are those of the function for which the code was made.
    unsafe fn expand(self, regs: Regs) {
        let Compact { slot, is_long, halves, stride } = self;
        let first = |lane: usize| if halves { lane / 16 * 16 } else { 0 };
        let distance = |lane: usize| stride.wrapping_mul(lane as i64 % 16);
        // SAFETY: the register has 64 bits or 32 of the function, as `is_long` says.
        unsafe {
            if is_long {
                let of = [regs.get::<u64>(slot, 0), regs.get(slot, first(16))];
                let all: [u64; 32] =
                    std::array::from_fn(|lane| of[lane / 16].wrapping_add_signed(distance(lane)));
                regs.store(slot, &all, u32::MAX);
            } else {
                let of = [regs.get::<u32>(slot, 0), regs.get(slot, first(16))];
                let all: [u32; 32] =
                    std::array::from_fn(|lane| of[lane / 16].wrapping_add(distance(lane) as u32));
                regs.store(slot, &all, u32::MAX);
            }
        }
    }
}

impl fmt::Debug for CompiledRegion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompiledRegion").field("start", &self.start).finish_non_exhaustive()
    }
}

impl CompiledRegion {
    /// Writes all lanes of the registers of which the code has left some in the frame, if it was left at `pc`.
    ///
    /// # Safety
    /// As [`Compact::expand`].
    pub(crate) unsafe fn expand(&self, regs: Regs, pc: u32) {
        let compact = match self.compact_at.binary_search_by_key(&pc, |compact| compact.0) {
            Ok(at) => &self.compact_at[at].1,
            Err(_) => &self.compact,
        };
        // SAFETY: the caller's.
        compact.iter().for_each(|compact| unsafe { compact.expand(regs) });
    }

    /// Operations for which there must be room to enter at `pc`; 0 if there is no entry.
    #[inline]
    pub(crate) fn block(&self, pc: u32) -> u32 {
        self.blocks.get(pc.wrapping_sub(self.start) as usize).copied().unwrap_or(0)
    }
}

/// The state that compiled code reads and writes. It runs for a group of lanes of one warp.
#[derive(Debug)]
#[repr(C)]
pub struct State {
    /// The frame's rows. Only those of the group's lanes may change.
    pub rows: *mut Row,
    /// The group's lanes.
    pub lanes: u32,
    /// The warp's lanes that have not exited.
    pub live: u32,
    /// Where the group may reconverge with another: no operation at this program counter or behind it is run. `u32::MAX`: nowhere.
    pub reconverge: u32,
    /// Backward branches that the group may take before another runs; the code counts down.
    pub spin_limit: u32,
    /// Not 0 where [`Variant::converged`](super::Variant::converged) is true. The code sets it to 0 if a register is not what it should be then.
    pub converged: u32,
    /// Backward branches that the warp has taken while groups waited for each other; the code counts on, below
    /// [`MOST_BACKWARD`](super::MOST_BACKWARD).
    pub backward: u32,
    /// Lanes that go on where the code was left, if others wait `behind`; the code has written all lanes of all registers then.
    pub diverged: u32,
    pub behind: u32,
    /// Not 0 if, of groups into which this one diverges, the one at the lowest program counter would run first.
    pub may_diverge: u32,
    /// The kernel's parameters; decoding and the launch have checked their size.
    pub params: *const u8,
    /// Operations that the warp has executed; the code counts on.
    pub steps: u64,
    /// The code stops before `steps` passes this.
    pub end: u64,
    /// The block's shared memory.
    pub shared: *mut u8,
    pub shared_bytes: u64,
    /// Stores that others could see; the code counts on.
    pub progress: u64,
    /// By number: where an access found its bytes the last time.
    pub sites: *mut Site,
    /// Has the interpreter do the operation at a program counter, in these lanes, on the frame's rows. Fills the site of
    /// that number, if it is one. Gives 0, or 1 if the operation faulted: the code then returns at once.
    pub perform: unsafe extern "C" fn(*mut State, u32, u32, u32) -> u32,
    /// Writes all lanes of the registers in [`CompiledRegion::compact`].
    pub expand: unsafe extern "C" fn(*mut State),
    /// From here on the state of code that counts ([`Function::is_counted`](super::Function::is_counted)). By number: its counters.
    pub numbers: *const Numbers,
    /// Where the next access is logged, and the end of the log.
    pub log: *const Cell<Logged>,
    pub log_end: *const Cell<Logged>,
    /// Empties the log.
    pub full: unsafe extern "C" fn(*mut State),
    /// Sets a [`Counter::Distance`], by its number.
    pub set_distance: unsafe extern "C" fn(*mut State, u32, u64),
    /// Shows an access, which was done: its program counter, its lanes, and the address of each lane.
    pub accessed: unsafe extern "C" fn(*mut State, u32, u32, *const [u64; 32]),
    /// The interpreter's own.
    pub back: *mut c_void,
}
