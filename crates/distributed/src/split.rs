//! Each device has a part of K: each computes its part of every sum, and a reduce-scatter adds them.
//!
//! With n devices each computes 2 m N (K/n) operations, and sends (n-1)/n of a whole C in f32. That pays off if C is
//! small and K is long. Rows are computed in pieces: while one piece's sums are added, the next piece is multiplied.

use std::ops::Range;

use cust::memory::{DeviceBuffer, DeviceCopy};
use warpsmith_collectives::{Element, Reduction, together_async};
use warpsmith_kernels::gemm::{
    Gemm, Input, InputElement, Layout, Operands, Output, Plan, Prepared, Problem, Request,
};
use warpsmith_launch::{BufferSlice, BufferSliceMut, ErrorContext};

use crate::error::Error;
use crate::group::{DeviceGroup, shares, slice};

/// C = A · B in f32, with columns of A, rows of B and rows of C on each device.
pub struct SplitProduct<'t, 'd, I: InputElement + DeviceCopy> {
    group: &'t DeviceGroup<'d>,
    extents: (usize, usize, usize),
    /// Rows of C that a device receives from each piece.
    rows: usize,
    members: Vec<SplitRank<'d, I>>,
}

/// One device's part.
struct SplitRank<'d, I: DeviceCopy> {
    _a: DeviceBuffer<I>,
    _b: DeviceBuffer<I>,
    /// Its part of the sums: piece by piece, each with the rows of all ranks in order.
    partial: DeviceBuffer<f32>,
    /// Its rows of C, piece by piece.
    c: DeviceBuffer<f32>,
    /// The products of each piece.
    products: Vec<Vec<Prepared<'d>>>,
}

impl<'t, 'd, I: InputElement + Element> SplitProduct<'t, 'd, I> {
    /// Prepares a product in this many pieces: `a` returns columns of A, row by row, and `b` rows of B, column by
    /// column.
    pub fn new(
        group: &'t DeviceGroup<'d>,
        (m, n, k): (usize, usize, usize),
        input: Input,
        pieces: usize,
        a: impl Fn(Range<usize>) -> Vec<I>,
        b: impl Fn(Range<usize>) -> Vec<I>,
    ) -> Result<Self, Error> {
        let ranks = group.size();
        let pieces = pieces.clamp(1, m.max(1));
        let rows = m.div_ceil(ranks * pieces);
        let mut members = Vec::new();
        for rank in group.ranks() {
            let device = rank.device();
            device.enter()?;
            let part = shares(k, ranks, rank.rank());
            let upload = |what: &str, values: Vec<I>| {
                DeviceBuffer::from_slice(&values).context(format!("copy {what} to device {}", device.index()))
            };
            let zeros =
                |len, what: &str| DeviceBuffer::<f32>::zeroed(len).context(format!("allocate {what}"));
            let (a, b) = (upload("columns of A", a(part.clone()))?, upload("rows of B", b(part.clone()))?);
            let partial = zeros(pieces * ranks * rows * n, "a part of all sums")?;
            let c = zeros(pieces * rows * n, "rows of C")?;
            let gemm = Gemm::new(device);
            let product = |first: usize, count: usize, to: usize| {
                let count = count.min(m.saturating_sub(first));
                let size = size_of::<I>();
                let operands = Operands {
                    a: a.as_device_ptr().as_raw() + (first * part.len() * size) as u64,
                    b: b.as_device_ptr().as_raw(),
                    c: partial.as_device_ptr().as_raw() + (to * 4) as u64,
                };
                let problem = Problem::new((count, n, part.len()), input, Output::F32, Layout::Nt);
                let plan = Plan::choose(device.limits(), &problem, &operands, Request::default())?;
                // SAFETY: the buffers have the lengths of the problem, and are kept as long as the prepared product.
                unsafe { gemm.prepare(&plan, &operands) }
            };
            let mut products = Vec::new();
            for piece in 0..pieces {
                let of_piece = match pieces {
                    // All rows are laid out as in C.
                    1 => vec![product(0, m, 0)?],
                    _ => (0..ranks)
                        .map(|to| {
                            product((to * pieces + piece) * rows, rows, (piece * ranks + to) * rows * n)
                        })
                        .collect::<Result<_, _>>()?,
                };
                products.push(of_piece);
            }
            members.push(SplitRank { _a: a, _b: b, partial, c, products });
        }
        group.settle()?;
        Ok(Self { group, extents: (m, n, k), rows, members })
    }

    /// Enqueues the whole product on the devices' streams; [`results`](Self::results) waits for it.
    pub fn run(&self) -> Result<(), Error> {
        let (ranks, n) = (self.group.size(), self.extents.1);
        let pieces = self.members[0].products.len();
        for piece in 0..pieces {
            for (rank, member) in self.group.ranks().iter().zip(&self.members) {
                rank.device().enter()?;
                for product in &member.products[piece] {
                    // SAFETY: this value owns the matrices, and waits before it frees them.
                    unsafe { product.launch()? };
                }
            }
            for (side, event) in self.group.sides.iter().zip(self.group.events()?) {
                event.make_wait(side).context("let the addition wait for its products")?;
            }
            let part = self.rows * n;
            let mut buffers = Vec::new();
            for member in &self.members {
                let sums = slice(&member.partial, piece * ranks * part..(piece + 1) * ranks * part)?;
                buffers.push((sums, slice(&member.c, piece * part..(piece + 1) * part)?));
            }
            let ours = self.group.ranks().iter().zip(&self.group.sides).zip(&mut buffers);
            let calls = ours.map(|((rank, side), (sums, c))| {
                // SAFETY: this value owns both, waits before it frees them, and stream order keeps writers apart.
                let (sums, c) = unsafe {
                    let device = rank.device();
                    (BufferSlice::from_cust(device, sums), BufferSliceMut::from_cust(device, c))
                };
                Ok(rank.reduce_scatter(sums, c, Reduction::Sum)?.on(side))
            });
            let calls = calls.collect::<Result<Vec<_>, warpsmith_collectives::Error>>()?;
            // SAFETY: as above.
            unsafe { together_async(calls)? };
        }
        for (rank, event) in self.group.ranks().iter().zip(self.group.side_events()?) {
            event.make_wait(rank.device().stream()).context("let what is next wait for the sums")?;
        }
        Ok(())
    }

    /// The rows of C that a rank receives.
    pub fn rows_of(&self, rank: usize) -> Range<usize> {
        let each = self.rows * self.members[0].products.len();
        (rank * each).min(self.extents.0)..((rank + 1) * each).min(self.extents.0)
    }

    /// This process's rows of C, by rank, after everything has finished.
    pub fn results(&self) -> Result<Vec<Vec<f32>>, Error> {
        self.group.synchronize()?;
        let mut results = Vec::new();
        for (rank, member) in self.group.ranks().iter().zip(&self.members) {
            rank.device().enter()?;
            let mut c = member.c.as_host_vec().context("copy rows of C to the host")?;
            c.truncate(self.rows_of(rank.rank()).len() * self.extents.1);
            results.push(c);
        }
        Ok(results)
    }
}

impl<I: InputElement + DeviceCopy> Drop for SplitProduct<'_, '_, I> {
    fn drop(&mut self) {
        self.group.finish();
    }
}
