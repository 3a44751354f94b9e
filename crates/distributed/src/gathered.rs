//! Each device has rows of A; it gathers B's columns device by device, and multiplies by those it already has.
//!
//! With n devices each computes m/n rows of C, 2 (m/n) N K operations, and receives (n-1)/n of B, about N K elements.
//! Both overlap, and the first product, by the device's own columns, waits for nothing. So communication is hidden as
//! long as one device's columns arrive before the multiplication by the previous ones ends: (N/n) K bytes ÷ link < 2
//! (m/n) (N/n) K ÷ rate, that is m/n > rate × bytes per element ÷ (2 × link). For bf16 at 700 TFLOP/s over 260 GB/s
//! (two H100s) that is 2,692 rows per device, for f32 at 50 TFLOP/s 385.

use std::ops::Range;

use cust::memory::{DeviceBuffer, DeviceCopy, DeviceSlice};
use warpsmith_collectives::{Element, together_async};
use warpsmith_kernels::gemm::{
    Gemm, Input, InputElement, Layout, Operands, Output, OutputElement, Plan, Prepared, Problem, Request,
};
use warpsmith_launch::extra::peer::StreamEvent;
use warpsmith_launch::{BufferSlice, BufferSliceMut, ErrorContext};

use crate::error::Error;
use crate::group::{DeviceGroup, Transport, room, shares, slice};

/// C = A · B, with rows of A and C and columns of B on each device.
pub struct GatheredProduct<'t, 'd, I: InputElement + DeviceCopy, O: OutputElement + DeviceCopy> {
    group: &'t DeviceGroup<'d>,
    extents: (usize, usize, usize),
    types: (Input, Output),
    members: Vec<GatherRank<'d, I, O>>,
}

/// One device's part.
struct GatherRank<'d, I: DeviceCopy, O: DeviceCopy> {
    gemm: Gemm<'d>,
    a: DeviceBuffer<I>,
    /// Its own columns of B, contiguous.
    b: DeviceBuffer<I>,
    c: DeviceBuffer<O>,
    /// Buffers that receive the others' columns, used in turn.
    panels: Vec<DeviceBuffer<I>>,
    /// The products by its own and by the others' columns, in the order in which they arrive.
    products: Vec<Prepared<'d>>,
    /// All of B and one product, for the form without overlap.
    whole: Option<(DeviceBuffer<I>, Prepared<'d>)>,
    how: String,
}

impl<'t, 'd, I, O> GatheredProduct<'t, 'd, I, O>
where
    I: InputElement + Element + Default,
    O: OutputElement + DeviceCopy + Default,
{
    /// Prepares a product: `a` returns a rank's rows of A, row by row, and `b` a rank's columns of B, column by column.
    pub fn new(
        group: &'t DeviceGroup<'d>,
        (m, n, k): (usize, usize, usize),
        (input, output): (Input, Output),
        a: impl Fn(Range<usize>) -> Vec<I>,
        b: impl Fn(Range<usize>) -> Vec<I>,
    ) -> Result<Self, Error> {
        let ranks = group.size();
        let longest = (0..ranks).map(|rank| shares(n, ranks, rank).len()).max().unwrap_or(0);
        let mut members = Vec::new();
        for rank in group.ranks() {
            let (device, own) = (rank.device(), rank.rank());
            device.enter()?;
            let rows = shares(m, ranks, own);
            let upload = |what: &str, values: Vec<I>| {
                DeviceBuffer::from_slice(&values).context(format!("copy {what} to device {}", device.index()))
            };
            let panel = if ranks > 1 { longest * k } else { 0 };
            let mut member = GatherRank {
                gemm: Gemm::new(device),
                a: upload("rows of A", a(rows.clone()))?,
                b: upload("columns of B", b(shares(n, ranks, own)))?,
                c: room(rows.len() * n, "rows of C")?,
                panels: [panel, if ranks > 2 { panel } else { 0 }]
                    .map(|len| room(len, "others' columns of B"))
                    .into_iter()
                    .collect::<Result<Vec<_>, _>>()?,
                products: Vec::new(),
                whole: None,
                how: String::new(),
            };
            for step in 0..ranks {
                let columns = shares(n, ranks, (own + step) % ranks);
                let b = if step == 0 { &member.b } else { &member.panels[(step + 1) % 2] };
                let problem = problem((rows.len(), columns.len(), k), n, (input, output));
                let (product, how) = member.prepare(&problem, b, columns.start)?;
                if step == 0 {
                    member.how = how;
                }
                member.products.push(product);
            }
            members.push(member);
        }
        group.settle()?;
        Ok(Self { group, extents: (m, n, k), types: (input, output), members })
    }

    /// Also prepares the form without overlap, which has all of B on each device.
    pub fn with_whole(mut self) -> Result<Self, Error> {
        let (_, n, k) = self.extents;
        for (rank, member) in self.group.ranks().iter().zip(&mut self.members) {
            rank.device().enter()?;
            let rows = shares(self.extents.0, self.group.size(), rank.rank()).len();
            let whole = room(n * k, "all of B")?;
            let (product, _) = member.prepare(&problem((rows, n, k), n, self.types), &whole, 0)?;
            member.whole = Some((whole, product));
        }
        Ok(self)
    }

    /// The kernel by which the first device multiplies by its own columns.
    pub fn how(&self) -> &str {
        &self.members[0].how
    }

    /// Enqueues the whole product on the devices' streams; [`results`](Self::results) waits for it.
    pub fn run(&self) -> Result<(), Error> {
        let ranks = self.group.size();
        // B is ready, and whatever read the panels before has finished.
        self.group.sides_after(&self.group.events()?)?;
        let mut used: Vec<Vec<StreamEvent>> = Vec::new();
        for step in 0..ranks {
            let mut come = Vec::new();
            if step + 1 < ranks {
                // Two panels: the next columns replace those before the previous ones.
                if step >= 2 {
                    for (side, event) in self.group.sides.iter().zip(&used[step - 1]) {
                        event.make_wait(side).context("let a copy wait for the product before")?;
                    }
                }
                self.fetch(step + 1)?;
                come = self.group.side_events()?;
            }
            for (rank, member) in self.group.ranks().iter().zip(&self.members) {
                rank.device().enter()?;
                // SAFETY: this value owns the matrices, and waits before it frees them.
                unsafe { member.products[step].launch()? };
            }
            used.push(self.group.events()?);
            for (rank, event) in self.group.ranks().iter().zip(&come) {
                event.make_wait(rank.device().stream()).context("let a product wait for its columns")?;
            }
        }
        // The next write of B waits until the others have read it.
        self.group.mains_after(&self.group.side_events()?)
    }

    /// Only gathers all of B on each device: the communication there is to hide.
    pub fn run_gather(&self) -> Result<(), Error> {
        self.group.sides_after(&self.group.events()?)?;
        for step in 0..self.group.size() {
            self.fetch_whole(step)?;
        }
        self.group.mains_after(&self.group.side_events()?)
    }

    /// Enqueues the product without overlap: gathers all of B, then multiplies once.
    pub fn run_plain(&self) -> Result<(), Error> {
        self.run_gather()?;
        for (rank, member) in self.group.ranks().iter().zip(&self.members) {
            rank.device().enter()?;
            if let Some((_, product)) = &member.whole {
                // SAFETY: as above.
                unsafe { product.launch()? };
            }
        }
        Ok(())
    }

    /// Only multiplies, by columns gathered before: the time with all communication hidden.
    pub fn run_products(&self) -> Result<(), Error> {
        for (rank, member) in self.group.ranks().iter().zip(&self.members) {
            rank.device().enter()?;
            for product in &member.products {
                // SAFETY: as above.
                unsafe { product.launch()? };
            }
        }
        Ok(())
    }

    /// Fetches the columns of the rank `step` places after this one, into the next panel.
    fn fetch(&self, step: usize) -> Result<(), Error> {
        let panel = (step + 1) % 2;
        self.carry(step, |member| {
            (member.panels[panel].as_device_ptr().as_raw(), member.panels[panel].index(..))
        })
    }

    fn fetch_whole(&self, step: usize) -> Result<(), Error> {
        let (ranks, (_, n, k)) = (self.group.size(), self.extents);
        let starts: Vec<usize> = self
            .group
            .ranks()
            .iter()
            .map(|rank| shares(n, ranks, (rank.rank() + step) % ranks).start * k)
            .collect();
        let mut starts = starts.into_iter();
        self.carry(step, |member| {
            let start = starts.next().unwrap_or(0);
            let whole = member.whole.as_ref().map(|(whole, _)| whole.index(start..));
            let whole = whole.unwrap_or_else(|| member.b.index(0..0));
            (whole.as_device_ptr().as_raw(), whole)
        })
    }

    /// Copies each rank's columns to the rank `step` places before it, to the address that `room` gives.
    fn carry(
        &self,
        step: usize,
        mut room: impl FnMut(&GatherRank<'d, I, O>) -> (u64, DeviceSlice<I>),
    ) -> Result<(), Error> {
        let (ranks, (_, n, k)) = (self.group.size(), self.extents);
        let elements = |rank: usize| shares(n, ranks, rank).len() * k;
        let rooms: Vec<(u64, DeviceSlice<I>)> = self.members.iter().map(&mut room).collect();
        if self.group.transport == Transport::CopyEngines || step == 0 {
            for (local, (rank, (address, _))) in self.group.ranks().iter().zip(&rooms).enumerate() {
                // With copy engines all ranks are local; a rank's own columns always are.
                let owner = if step == 0 { local } else { (local + step) % ranks };
                let from = (owner, self.members[owner].b.as_device_ptr().as_raw());
                let bytes = elements((rank.rank() + step) % ranks) * size_of::<I>();
                // SAFETY: the columns have this length, and their buffers at least; stream order keeps writers apart.
                unsafe { self.group.copy((local, *address, bytes), (from.0, from.1, bytes), (bytes, 1))? };
            }
            return Ok(());
        }
        let mut targets = Vec::new();
        for (rank, (_, room)) in self.group.ranks().iter().zip(&rooms) {
            targets.push(slice(room, 0..elements((rank.rank() + step) % ranks))?);
        }
        let mut calls = Vec::new();
        let ours =
            self.group.ranks().iter().zip(&self.group.sides).zip(self.members.iter().zip(&mut targets));
        for ((rank, side), (member, target)) in ours {
            let own = rank.rank();
            // SAFETY: this value owns both, waits before it frees them, and stream order keeps writers apart.
            let (sent, received) = unsafe {
                let device = rank.device();
                (BufferSlice::from_cust(device, &member.b), BufferSliceMut::from_cust(device, target))
            };
            calls.push(rank.send(sent, (own + ranks - step) % ranks)?.on(side));
            calls.push(rank.receive(received, (own + step) % ranks)?.on(side));
        }
        // SAFETY: as above.
        Ok(unsafe { together_async(calls) }?)
    }

    /// This process's rows of C, by rank, after everything has finished.
    pub fn results(&self) -> Result<Vec<Vec<O>>, Error> {
        self.group.synchronize()?;
        let read = |(rank, member): (&warpsmith_collectives::Communicator<'d>, &GatherRank<'d, I, O>)| {
            rank.device().enter()?;
            Ok(member.c.as_host_vec().context("copy rows of C to the host")?)
        };
        self.group.ranks().iter().zip(&self.members).map(read).collect()
    }

    /// Overwrites the results, so that whatever a run leaves out is noticed.
    pub fn wipe(&self) -> Result<(), Error> {
        self.group.synchronize()?;
        for (rank, member) in self.group.ranks().iter().zip(&self.members) {
            rank.device().enter()?;
            let c = member.c.as_device_ptr().cast::<u8>();
            // SAFETY: the buffer has these bytes, and any bits are numbers.
            let mut bytes = unsafe { DeviceSlice::from_raw_parts_mut(c, member.c.len() * size_of::<O>()) };
            bytes.set_8(0xff).context("fill C")?;
        }
        self.group.settle()
    }
}

impl<I: InputElement + DeviceCopy, O: OutputElement + DeviceCopy> Drop for GatheredProduct<'_, '_, I, O> {
    fn drop(&mut self) {
        self.group.finish();
    }
}

impl<'d, I, O> GatherRank<'d, I, O>
where
    I: InputElement + DeviceCopy,
    O: OutputElement + DeviceCopy,
{
    /// A product by columns of B that fills C's columns from `column` on, and the kernel it uses.
    fn prepare(
        &self,
        problem: &Problem,
        b: &DeviceBuffer<I>,
        column: usize,
    ) -> Result<(Prepared<'d>, String), Error> {
        let c = self.c.as_device_ptr().as_raw() + (column * size_of::<O>()) as u64;
        let operands = Operands { a: self.a.as_device_ptr().as_raw(), b: b.as_device_ptr().as_raw(), c };
        let limits = self.gemm.device().limits();
        let plan = Plan::choose(limits, problem, &operands, Request::default())?;
        // SAFETY: the buffers have the lengths of the problem, and are kept as long as the prepared product.
        Ok((unsafe { self.gemm.prepare(&plan, &operands)? }, plan.how()))
    }
}

/// The product of rows by contiguous columns, into columns of C.
fn problem(extents: (usize, usize, usize), ldc: usize, (input, output): (Input, Output)) -> Problem {
    Problem { ldc, ..Problem::new(extents, input, output, Layout::Nt) }
}
