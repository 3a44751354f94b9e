//! Accesses that are tested together, and the memory that they may reach.
//!
//! Accesses of a block that go by the same value of a register, as those of an unrolled loop do, are a [`Family`]: it is
//! tested once for all of them, from the first to the last byte that they reach.

use std::collections::HashMap;
use std::mem::offset_of;

use virtual_gpu::jit::{Guard, Kind, MemoryOp, Site, Slot, SpaceOperand};
use virtual_gpu::observer::{MemorySpace, Order};

use crate::scattered::Scattered;
use crate::writer::Writer;

/// Accesses that are tested together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Family {
    /// The first of them.
    pub first: u32,
    /// The lowest offset, and the distance to the highest.
    pub low: i64,
    pub span: u64,
    /// The slot that remembers an allocation; `None` for shared memory.
    pub site: Option<usize>,
}

/// The families of a block's accesses, by program counter.
pub type Families = HashMap<u32, Family>;

/// Where an access may go: the first address, how many bytes follow, and their host address.
pub struct Span {
    pub start: String,
    pub bytes: String,
    pub host: String,
}

/// The common part of a family's accesses: the register, whether they write, their bytes, their space, what is left of their
/// offsets by their bytes, and the guard.
type Alike = (Slot, bool, u32, SpaceOperand, i64, (Slot, u32));

/// Finds the families of the accesses from `start` to `end`.
pub fn families(w: &mut Writer<'_>, start: u32, end: u32) -> Families {
    let mut families = Families::new();
    // Accesses that have all of that in common, since the register was last written.
    let mut open: HashMap<Alike, Vec<(u32, i64)>> = HashMap::new();
    for pc in start..end {
        let step = w.function.step(pc);
        let access = match step.kind {
            Kind::Load(op) => Some((op, false)),
            Kind::Store(op) => Some((op, true)),
            _ => None,
        };
        if let Some((op, writes)) = access
            && is_reached(op)
        {
            let (bytes, offset) = (bytes(op), op.address.offset);
            let Guard { slot, invert } = step.guard;
            let rest = offset.rem_euclid(bytes.into());
            let key = (op.address.base, writes, bytes, op.space, rest, (slot, invert));
            let alike = open.entry(key).or_default();
            alike.push((pc, offset));
            let low = alike.iter().map(|access| access.1).min().unwrap_or(offset);
            let high = alike.iter().map(|access| access.1).max().unwrap_or(offset);
            let first = alike[0].0;
            let site = match (op.space, families.get(&first)) {
                (SpaceOperand::In(MemorySpace::Shared), _) => None,
                (_, Some(family)) => family.site,
                (_, None) => Some(w.new_site()),
            };
            let family = Family { first, low, span: high.wrapping_sub(low) as u64, site };
            families.extend(alike.iter().map(|&(pc, _)| (pc, family)));
        }
        open.retain(|key, _| step.writes.iter().all(|write| write.0 != key.0 && write.0 != key.5.0));
    }
    families
}

pub fn bytes(op: &MemoryOp) -> u32 {
    op.width * op.data.len() as u32
}

/// Whether an access has code. No other thread reaches a block's shared memory meanwhile, so volatile accesses to it are plain.
fn is_reached(op: &MemoryOp) -> bool {
    let is_plain = op.order == Order::Weak
        || op.order == Order::Volatile && op.space == SpaceOperand::In(MemorySpace::Shared);
    is_near(op.space) && is_plain && Scattered::access(op, false).is_some()
}

/// Whether a space is one whose memory the code can find.
pub fn is_near(space: SpaceOperand) -> bool {
    match space {
        SpaceOperand::Generic => true,
        SpaceOperand::In(space) => {
            matches!(space, MemorySpace::Shared | MemorySpace::Global | MemorySpace::Const)
        }
    }
}

pub fn span(w: &mut Writer<'_>, site: Option<usize>, writes: bool) -> Span {
    let Some(site) = site else {
        return Span { start: "0".into(), bytes: "%shared_bytes".into(), host: "%shared".into() };
    };
    let mut field = |offset: usize, ty: &str| {
        let offset = site * size_of::<Site>() + offset;
        let place = w.set(format_args!("getelementptr i8, ptr %sites, i64 {offset}"));
        w.set(format_args!("load {ty}, ptr {place}"))
    };
    let bytes = if writes { offset_of!(Site, writable) } else { offset_of!(Site, readable) };
    Span {
        start: field(offset_of!(Site, start), "i64"),
        bytes: field(bytes, "i64"),
        host: field(offset_of!(Site, host), "ptr"),
    }
}

impl Span {
    /// As arguments of a [`Scattered`] function.
    pub fn text(&self) -> String {
        format!("i64 {}, i64 {}, ptr {}", self.start, self.bytes, self.host)
    }
}
