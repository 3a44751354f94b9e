//! Who touched a word, when and how, in sixteen bytes.

use crate::clock::Step;

/// How memory was touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Touch {
    /// Whether it was changed.
    pub write: bool,
    /// Whether the access is atomic, volatile or otherwise ordered, and so may meet its like.
    pub strong: bool,
    /// Whether a strong access reaches beyond the block.
    pub wide: bool,
    /// Whether a strong access reaches other devices.
    pub system: bool,
    /// Whether it is strong for being `volatile`.
    pub volatile: bool,
    /// Whether an asynchronous copy does it, at a time that is not known until it is awaited.
    pub asynchronous: bool,
    /// Whether a copy does it, and not a plain store.
    pub copies: bool,
    /// Whether it is a compare-and-swap that changes nothing, or what one started from. It may be the atomic of one byte of
    /// the word, so nothing is known to be wrong with a store to another.
    pub idle: bool,
    /// Whether it is volatile and right only if something else orders it: see [`virtual_gpu::Code::relies_on_order`].
    pub order_dependent: bool,
    /// Whether it is a load that promises that the kernel does not write the data: `.nc`, or of a texture.
    pub non_coherent: bool,
}

/// Lanes of one warp that touched a word at one step by one instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    pub block: u32,
    /// Step of the lanes; 0 marks an empty stamp.
    pub(crate) step: Step,
    /// The instruction.
    pub pc: u32,
    /// First lane, last lane, warp, bytes of the word, and how.
    pub(super) who: u32,
}

pub(super) const FIRST: u32 = 0;
pub(super) const LAST: u32 = 5;
pub(super) const WARP: u32 = 10;
pub(super) const BYTES: u32 = 16;
pub(super) const WRITE: u32 = 1 << 20;
pub(super) const STRONG: u32 = 1 << 21;
pub(super) const WIDE: u32 = 1 << 22;
pub(super) const VOLATILE: u32 = 1 << 23;
pub(super) const ASYNCHRONOUS: u32 = 1 << 24;
const COPIES: u32 = 1 << 25;
pub(super) const IDLE: u32 = 1 << 26;
pub(super) const ORDER_DEPENDENT: u32 = 1 << 27;
const SYSTEM: u32 = 1 << 28;
pub(super) const NON_COHERENT: u32 = 1 << 29;

impl Stamp {
    pub(super) const EMPTY: Stamp = Stamp { block: 0, step: 0, pc: 0, who: 0 };

    /// Of lanes `first` to `last` of a warp.
    #[inline]
    pub fn new(block: u32, step: Step, pc: u32, warp: u32, (first, last): (u32, u32), touch: Touch) -> Self {
        let flag = |set: bool, bit: u32| if set { bit } else { 0 };
        let who = first << FIRST
            | last << LAST
            | warp << WARP
            | flag(touch.write, WRITE)
            | flag(touch.strong, STRONG)
            | flag(touch.wide, WIDE)
            | flag(touch.system, SYSTEM)
            | flag(touch.volatile, VOLATILE)
            | flag(touch.asynchronous, ASYNCHRONOUS)
            | flag(touch.copies, COPIES)
            | flag(touch.idle, IDLE)
            | flag(touch.order_dependent, ORDER_DEPENDENT)
            | flag(touch.non_coherent, NON_COHERENT);
        Stamp { block, step, pc, who }
    }

    /// The same for these bytes of the word (a mask).
    #[inline]
    pub fn of_bytes(self, bytes: u8) -> Self {
        Stamp { who: self.who & !(0xF << BYTES) | u32::from(bytes) << BYTES, ..self }
    }

    /// The first lane.
    #[inline]
    pub fn first(&self) -> u32 {
        self.who >> FIRST & 31
    }

    /// Whether a lane is among them, as far as is known.
    pub fn has_lane(&self, lane: u32) -> bool {
        (self.first()..=self.last()).contains(&lane)
    }

    #[inline]
    pub(crate) fn last(&self) -> u32 {
        self.who >> LAST & 31
    }

    #[inline]
    pub fn warp(&self) -> u32 {
        self.who >> WARP & 31
    }

    #[inline]
    pub(crate) fn bytes(&self) -> u32 {
        self.who >> BYTES & 0xF
    }

    /// Whether memory was changed.
    pub fn writes(&self) -> bool {
        self.who & WRITE != 0
    }

    /// Whether the access is atomic or volatile.
    pub fn is_strong(&self) -> bool {
        self.who & STRONG != 0
    }

    /// Whether a strong access reaches other devices.
    pub fn reaches_devices(&self) -> bool {
        self.who & SYSTEM != 0
    }

    /// Whether its scope is wider than the block.
    pub fn is_wide(&self) -> bool {
        self.who & WIDE != 0
    }

    pub fn is_volatile(&self) -> bool {
        self.who & VOLATILE != 0
    }

    /// Whether it is the volatile store of an update (`*p = *p + 1`).
    pub fn is_update(&self) -> bool {
        self.who & (ORDER_DEPENDENT | WRITE) == ORDER_DEPENDENT | WRITE
    }

    /// Whether a copy did it.
    pub fn copies(&self) -> bool {
        self.who & COPIES != 0
    }

    /// Whether it is a compare-and-swap that changes nothing.
    pub fn is_idle(&self) -> bool {
        self.who & IDLE != 0
    }

    /// Whether it touches less than the word.
    pub fn is_narrow(&self) -> bool {
        self.bytes() != 0xF
    }

    /// Whether it is a copy under way.
    pub fn is_asynchronous(&self) -> bool {
        self.who & ASYNCHRONOUS != 0
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.step == 0
    }

    /// The same warp, step and instruction: the two can be one stamp.
    #[inline]
    pub(super) fn joins(&self, other: &Stamp) -> bool {
        const SPAN: u32 = 31 << FIRST | 31 << LAST;
        (self.block, self.step, self.pc, self.who & !SPAN)
            == (other.block, other.step, other.pc, other.who & !SPAN)
    }

    #[inline]
    pub(super) fn widen(&mut self, other: &Stamp) {
        let (first, last) = (self.first().min(other.first()), self.last().max(other.last()));
        self.who = self.who & !(31 << FIRST | 31 << LAST) | first << FIRST | last << LAST;
    }

    /// The same lanes of another warp did the same at the same step.
    #[inline]
    pub(super) fn joins_across(&self, other: &Stamp) -> bool {
        const SPAN: u32 = 31 << FIRST | 31 << LAST;
        (self.block, self.step, self.pc) == (other.block, other.step, other.pc)
            && (self.who ^ other.who) & !(SPAN | 31 << WARP) == 0
            && self.first() <= other.first()
            && other.last() <= self.last()
    }

    pub(super) fn of_warp(self, warp: u32) -> Self {
        Stamp { who: self.who & !(31 << WARP) | warp << WARP, ..self }
    }

    /// Whether who knows of the later stamp knows of this one, too: the same lanes did the same to the same bytes before.
    pub(super) fn is_relieved_by(&self, later: &Stamp) -> bool {
        (self.block, self.who) == (later.block, later.who) && self.step <= later.step
    }

    /// Whether all threads of the block, or the one that asks, know of it without looking further.
    #[inline]
    pub(super) fn is_old(&self, later: &Stamp, floor: Step) -> bool {
        let one = self.who & (31 << FIRST) == self.who >> LAST & 31;
        self.block == later.block
            && (self.step <= floor
                || one && (self.who ^ later.who) & (31 << WARP | 31 << FIRST | 31 << LAST) == 0)
    }
}
