//! The counts of one or more blocks, by program counter.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use gpu_model::Halves;
use gpu_model::banks::shared_wavefronts;
use gpu_model::coalescing::{atomic_sectors, copied_sectors, sectors};
use gpu_model::profile::{BySpace, GlobalCounters, Strides};

use super::footprint::Footprint;
use super::line_of;
use super::site::{Asked, Count, Site};
use crate::counting::{Counter, LOG, Logged, Numbers, Tables};
use crate::form::op::OpKind;
use crate::form::program::Code;
use crate::form::registers::NONE;
use crate::memory::Owners;
use crate::observer::{Access, AccessKind, AsyncEvent, At, MemorySpace};

/// The counter for instructions that reach this space.
fn reached(by: &mut BySpace, space: MemorySpace) -> &mut u64 {
    match space {
        MemorySpace::Param => &mut by.parameter,
        MemorySpace::Local => &mut by.local,
        MemorySpace::Shared => &mut by.shared,
        MemorySpace::Global => &mut by.global,
        MemorySpace::Const => &mut by.constant,
    }
}

/// Counts of one or more blocks, by program counter.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// How often each instruction was executed, and by how many lanes: side by side, since both are counted at once.
    pub executed: Vec<[u64; 2]>,
    pub memory_instructions: BySpace,
    /// Accesses to local memory, by program counter.
    pub local_accesses: Vec<u64>,
    /// Index into `sites`, plus one; 0 is none.
    site_of: Vec<u32>,
    pub sites: Vec<Site>,
    /// Other sites of instructions that may reach more than one space, by whether that is another block's memory.
    aside: HashMap<(u32, MemorySpace, bool), u32>,
    /// Reads of `cp.async`.
    pub copies: HashMap<u32, GlobalCounters>,
    /// Bulk copies from and (`true`) to global memory.
    pub bulk: HashMap<(u32, bool), GlobalCounters>,
    pub others: BTreeMap<&'static str, u64>,
    /// By instruction, the number of its line, plus one; 0 is not yet known.
    line_of: Vec<u32>,
    /// The number of each line.
    lines: HashMap<(String, u32), u32>,
    /// Bytes of global memory that lines read.
    pub reads: Footprint,
    /// The number of the block, counted from 1 for the first for which this was used.
    block: u64,
    /// By whether the code is for warps whose lanes are together.
    coded: [Option<Coded>; 2],
}

/// Counts of machine code.
#[derive(Debug)]
struct Coded {
    counters: Arc<[Counter]>,
    numbers: Box<[Numbers]>,
    log: Box<[Cell<Logged>]>,
}

/// Where the lanes of an access go.
enum Lanes<'a> {
    Halves(Halves),
    Any(u32, &'a [u64; 32]),
}

impl Tally {
    pub fn new(code: &Code) -> Self {
        Tally {
            executed: vec![[0; 2]; code.len()],
            local_accesses: vec![0; code.len()],
            site_of: vec![0; code.len()],
            line_of: vec![0; code.len()],
            ..Self::default()
        }
    }

    /// From here on another block is counted.
    pub fn begin_block(&mut self) {
        self.block += 1;
    }

    /// The number of a line, if it reads something.
    pub fn line(&self, file: &str, line: u32) -> Option<u32> {
        self.lines.get(&(file.to_owned(), line)).copied()
    }

    /// The line of an instruction reads something.
    #[inline]
    fn read(&mut self, code: &Code, pc: u32, lanes: &Lanes<'_>, bytes: u32) {
        let line = self.line_at(code, pc);
        let Self { reads, block, .. } = self;
        match lanes {
            Lanes::Halves(halves) => {
                for range in halves.ranges(bytes) {
                    reads.add(line, *block, range.start, range.end - range.start);
                }
            }
            Lanes::Any(lanes, addresses) => {
                // Neighbours most often read the same, or what lies side by side.
                let (mut first, mut length) = (0u64, 0u64);
                let bytes = u64::from(bytes);
                for lane in gpu_model::active_lanes(*lanes) {
                    let within = addresses[lane].wrapping_sub(first);
                    if within == length {
                        length += bytes;
                    } else if within > length || within + bytes > length {
                        reads.add(line, *block, first, length);
                        (first, length) = (addresses[lane], bytes);
                    }
                }
                reads.add(line, *block, first, length);
            }
        }
    }

    #[inline]
    fn line_at(&mut self, code: &Code, pc: u32) -> u32 {
        if self.line_of[pc as usize] == 0 {
            let (file, line) = line_of(code, pc);
            let next = self.lines.len() as u32;
            self.line_of[pc as usize] = *self.lines.entry((file.to_owned(), line)).or_insert(next) + 1;
        }
        self.line_of[pc as usize] - 1
    }

    /// The site of an access.
    #[inline]
    fn site(&mut self, code: &Code, pc: u32, asked: &Asked) -> usize {
        let slot = match asked.is_aside() {
            true => self.aside.entry((pc, asked.space, asked.remote)).or_default(),
            false => &mut self.site_of[pc as usize],
        };
        if *slot == 0 {
            self.sites.push(Site::new(code, pc, asked));
            *slot = self.sites.len() as u32;
        }
        *slot as usize - 1
    }

    #[inline]
    pub fn access(&mut self, code: &Code, owners: &mut Option<Owners>, pc: u32, access: &Access<'_>) {
        // Their sectors have no measured rule.
        if access.image {
            return;
        }
        if matches!(access.space, MemorySpace::Const | MemorySpace::Local | MemorySpace::Param) {
            *reached(&mut self.memory_instructions, access.space) += 1;
            if access.space == MemorySpace::Local {
                self.local_accesses[pc as usize] += 1;
            }
            return;
        }
        let asked = Asked::of(access);
        let at = self.site(code, pc, &asked);
        let lanes = match access.space {
            // Atomics have a rule of their own.
            MemorySpace::Global if matches!(access.kind, AccessKind::Load | AccessKind::Store) => {
                Halves::of(access.bytes(), access.lanes, access.addresses).map(Lanes::Halves)
            }
            _ => None,
        };
        self.count(
            code,
            owners,
            at,
            lanes.unwrap_or(Lanes::Any(access.lanes, access.addresses)),
            asked.bytes,
            1,
        );
    }

    /// Counts an access that was made `times` times.
    #[inline]
    fn count(
        &mut self,
        code: &Code,
        owners: &mut Option<Owners>,
        at: usize,
        lanes: Lanes<'_>,
        bytes: u32,
        times: u64,
    ) {
        let site = &mut self.sites[at];
        let pc = site.pc;
        // One instruction, however many accesses: it was counted when it started its copies.
        if matches!(site.count, Count::Copies) {
            return;
        }
        *reached(&mut self.memory_instructions, site.space) += times;
        match &mut site.count {
            Count::Copies => {}
            Count::Shared(_, rule, counters) => {
                let (rule, strides) = (*rule, &mut site.strides);
                let cost = lanes.spelled(|lanes, addresses| {
                    let cost = shared_wavefronts(rule, bytes, lanes, addresses);
                    if cost.bank_conflicts() > 0 {
                        *strides += Strides::of(lanes, addresses) * times;
                    }
                    cost
                });
                counters.instructions += times;
                counters.wavefronts += times * u64::from(cost.wavefronts);
                counters.ideal_wavefronts += times * u64::from(cost.ideal);
                counters.bank_conflicts += times * u64::from(cost.bank_conflicts());
            }
            Count::Global(kind, counters) => {
                let kind = *kind;
                let is_atomic = matches!(kind, AccessKind::Atomic | AccessKind::Reduction);
                let rule = if is_atomic { atomic_sectors } else { sectors };
                let (touched, active) = match &lanes {
                    Lanes::Halves(halves) => (halves.sectors(bytes), 32),
                    Lanes::Any(lanes, addresses) => (rule(bytes, *lanes, addresses), lanes.count_ones()),
                };
                counters.requests += times;
                counters.sectors += times * u64::from(touched);
                counters.bytes += times * u64::from(active * bytes);
                if touched > (active * bytes).div_ceil(32) {
                    site.strides += lanes.strides(&mut site.known) * times;
                }
                if let Some(owners) = owners {
                    let (lanes, sectors) = lanes.spelled(|lanes, addresses| {
                        let lanes = owners.of_peers(lanes, addresses);
                        (lanes, if lanes == 0 { 0 } else { rule(bytes, lanes, addresses) })
                    });
                    counters.peer_sectors += times * u64::from(sectors);
                    counters.peer_bytes += times * u64::from(lanes.count_ones() * bytes);
                }
                if let Some(family) = site.beside {
                    *self.others.entry(family).or_default() += times;
                }
                if kind == AccessKind::Load {
                    self.read(code, pc, &lanes, bytes);
                }
            }
            Count::NotCounted(_, instructions) => *instructions += times,
        }
    }

    pub fn asynchronous(&mut self, code: &Code, owners: &mut Option<Owners>, at: At, event: &AsyncEvent<'_>) {
        match *event {
            AsyncEvent::CopyStarted { global, bytes, read, .. } => {
                *self.others.entry("what cp.async writes to shared memory").or_default() += 1;
                let reads = |lane: &usize| at.lanes >> lane & 1 != 0 && read[*lane] != 0;
                let reading = (0..32).filter(reads).fold(0u32, |mask, lane| mask | 1 << lane);
                // In whole pieces; those that bypass the first cache have a different rule.
                if reading != 0 {
                    *reached(&mut self.memory_instructions, MemorySpace::Global) += 1;
                    let counters = self.copies.entry(at.pc).or_default();
                    let past = code.opcode(at.pc).is_some_and(|opcode| opcode.has("cg"));
                    let rule = |lanes| match past {
                        true => copied_sectors(lanes, global),
                        false => sectors(bytes, lanes, global),
                    };
                    let of_peers = owners.as_mut().map_or(0, |owners| owners.of_peers(reading, global));
                    counters.requests += 1;
                    counters.sectors += u64::from(rule(reading));
                    counters.bytes += u64::from(reading.count_ones()) * u64::from(bytes);
                    if of_peers != 0 {
                        counters.peer_sectors += u64::from(rule(of_peers));
                        counters.peer_bytes += u64::from(of_peers.count_ones()) * u64::from(bytes);
                    }
                    self.read(code, at.pc, &Lanes::Any(reading, global), bytes);
                }
            }
            AsyncEvent::Moved { space: MemorySpace::Global, write, address, bytes, .. } => {
                let counters = self.bulk.entry((at.pc, write)).or_default();
                let sectors = (address + u64::from(bytes)).div_ceil(32) - address / 32;
                counters.requests += 1;
                counters.sectors += sectors;
                counters.bytes += u64::from(bytes);
                if owners.as_mut().is_some_and(|owners| owners.is_peers(address)) {
                    counters.peer_sectors += sectors;
                    counters.peer_bytes += u64::from(bytes);
                }
                if !write {
                    self.read(code, at.pc, &Lanes::Any(1, &[address; 32]), bytes);
                }
            }
            _ => {}
        }
    }

    /// Where machine code counts.
    pub fn tables(&mut self, together: bool, counters: &Arc<[Counter]>) -> Tables {
        let coded = self.coded[usize::from(together)].get_or_insert_with(|| Coded {
            counters: counters.clone(),
            numbers: counters.iter().map(|_| Numbers::default()).collect(),
            log: (0..LOG).map(|_| Cell::default()).collect(),
        });
        debug_assert!(Arc::ptr_eq(&coded.counters, counters));
        Tables { numbers: coded.numbers.as_ptr(), log: coded.log.as_ptr_range() }
    }

    /// Counts accesses that machine code has logged.
    pub fn logged(&mut self, code: &Code, owners: &mut Option<Owners>, together: bool, accesses: usize) {
        for i in 0..accesses {
            let Some(coded) = &self.coded[usize::from(together)] else { return };
            let Logged { pc, step, first } = coded.log[i].get();
            let Some(asked) = Asked::by(code, pc) else { continue };
            let at = self.site(code, pc, &asked);
            self.count(code, owners, at, Lanes::Halves(Halves { first, step }), asked.bytes, 1);
        }
    }

    /// The halves of accesses to shared memory are so far apart from here on.
    pub fn set_distance(&mut self, code: &Code, together: bool, number: u32, distance: u64) {
        self.account(code, together, Some(number));
        if let Some(coded) = &self.coded[usize::from(together)] {
            coded.numbers[number as usize].set([distance, 0]);
        }
    }

    /// Accounts for accesses to shared memory that machine code has counted: those of one distance, or of all.
    fn account(&mut self, code: &Code, together: bool, of: Option<u32>) {
        let Some(coded) = self.coded[usize::from(together)].take() else { return };
        for (counter, numbers) in coded.counters.iter().zip(&coded.numbers) {
            if let Counter::Halves { pc, step, distance } = *counter
                && of.is_none_or(|of| of == distance)
                && let [times, _] = numbers.take()
                && times > 0
                && let Some(asked) = Asked::by(code, pc)
            {
                let at = self.site(code, pc, &asked);
                let [distance, _] = coded.numbers[distance as usize].get();
                // Banks are told by where lanes are among each other. Far enough up that none is below zero.
                let first = 1 << 32;
                let halves = Halves { first: [first, first.wrapping_add(distance)], step };
                self.count(code, &mut None, at, Lanes::Halves(halves), asked.bytes, times);
            }
        }
        self.coded[usize::from(together)] = Some(coded);
    }

    /// Adds what machine code has counted to all else.
    pub fn settle(&mut self, code: &Code) {
        self.account(code, false, None);
        self.account(code, true, None);
        let coded = std::mem::take(&mut self.coded);
        let counted = coded.iter().flatten().flat_map(|coded| coded.counters.iter().zip(&coded.numbers));
        for (counter, numbers) in counted {
            let [times, lanes] = numbers.get();
            match counter {
                Counter::Run(run) => {
                    for pc in run.clone() {
                        let op = &code.ops[pc as usize];
                        let executed = &mut self.executed[pc as usize];
                        match op.kind {
                            OpKind::Jump { .. } => continue,
                            OpKind::Branch { .. } => executed[1] += lanes,
                            _ if op.guard.slot == NONE => executed[1] += lanes,
                            _ => {}
                        }
                        executed[0] += times;
                    }
                }
                Counter::Guarded(pc) => self.executed[*pc as usize][1] += lanes,
                Counter::Plain(space) => *reached(&mut self.memory_instructions, *space) += times,
                Counter::Distance | Counter::Halves { .. } => {}
            }
        }
    }
}

impl Lanes<'_> {
    /// Calls `f` with the lanes and the address of each.
    #[inline]
    fn spelled<T>(&self, f: impl FnOnce(u32, &[u64; 32]) -> T) -> T {
        match self {
            Lanes::Halves(halves) => f(u32::MAX, &halves.addresses()),
            Lanes::Any(lanes, addresses) => f(*lanes, addresses),
        }
    }

    /// The strides of the access; `known` are the last ones: they are the same where the halves are as far apart.
    fn strides(&self, known: &mut Option<(Halves, Strides)>) -> Strides {
        let halves = match self {
            Lanes::Any(lanes, addresses) => return Strides::of(*lanes, addresses),
            Lanes::Halves(halves) => *halves,
        };
        let apart = |halves: &Halves| (halves.first[1].wrapping_sub(halves.first[0]), halves.step);
        match known {
            Some((known, strides)) if apart(known) == apart(&halves) => *strides,
            known => {
                let strides = Strides::of(u32::MAX, &halves.addresses());
                *known = Some((halves, strides));
                strides
            }
        }
    }
}
