//! The fast f32 product, C = alpha · op(A) · op(B) + beta · C: which kernel a problem gets, and why.
//!
//! | tiles | block | what they are for |
//! | --- | --- | --- |
//! | large | 128 × 256 | as soon as C has enough of them, or K is long enough to be split |
//! | middle | 64 × 128 | nearly as fast, and a quarter as large: they fill the device with a smaller C |
//! | small | 64 × 64 | a C of few tiles |
//! | tall, wide | 128 × 32, 32 × 128 | a C of few columns, or rows |
//! | thin | 8 rows or columns | at most as many: limited by memory |
//! | portable | 64 × 64 | devices without asynchronous copies |
//!
//! Each comes for the four transpositions. Large ones are for operands aligned to 16 bytes, middle ones for those or any, the
//! others for any. Operands that are not aligned can also be packed first, which is a launch of its own, and then be multiplied
//! as if they were.
//! [`Plan::choose`] estimates the cycles of every candidate and takes the least; [`Plan::why`] says what it saw.

mod plan;
mod tiles;

use std::cell::RefCell;

use cust::memory::{DeviceBuffer, DevicePointer};
use kernels_gpu::matmul::product as kernels;
use kernels_gpu::matmul::product::pack::{self, product_pack};
use kernels_gpu::matmul::product::parts::{self, product_sum, product_sum_many};
use warpsmith_launch::{Device, Doing, Shape};

pub use plan::Plan;
pub use tiles::{Problem, Tiles};

use crate::error::Error;
use crate::modules::LEVELS;

/// A matrix that is read: row-major, as it is stored.
#[derive(Clone, Copy)]
pub struct Matrix<'a> {
    /// Where it lies.
    pub buffer: &'a DeviceBuffer<f32>,
    /// Its first element in the buffer.
    pub offset: usize,
    /// Elements from one of its rows to the next.
    pub ld: usize,
    /// Whether its transpose is meant.
    pub transposed: bool,
}

impl<'a> Matrix<'a> {
    /// A matrix of `cols` columns at the start of a buffer.
    pub fn dense(buffer: &'a DeviceBuffer<f32>, cols: usize) -> Self {
        Self { buffer, offset: 0, ld: cols.max(1), transposed: false }
    }

    fn address(&self) -> u64 {
        self.buffer.as_device_ptr().as_raw() + 4 * self.offset as u64
    }
}

/// The matrix that is written.
pub struct Target<'a> {
    /// Where it lies.
    pub buffer: &'a mut DeviceBuffer<f32>,
    /// Its first element in the buffer.
    pub offset: usize,
    /// Elements from one of its rows to the next.
    pub ld: usize,
}

impl<'a> Target<'a> {
    /// A matrix of `cols` columns at the start of a buffer.
    pub fn dense(buffer: &'a mut DeviceBuffer<f32>, cols: usize) -> Self {
        Self { buffer, offset: 0, ld: cols.max(1) }
    }

    fn address(&self) -> u64 {
        self.buffer.as_device_ptr().as_raw() + 4 * self.offset as u64
    }
}

/// Multiplies on a device, and keeps the scratch memory that split products need.
pub struct Products<'d> {
    device: &'d Device,
    scratch: RefCell<Option<DeviceBuffer<f32>>>,
}

/// alpha and beta.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factors {
    /// Factor of the product.
    pub alpha: f32,
    /// Factor of what C held before; C is not read if this is zero.
    pub beta: f32,
}

impl Factors {
    /// The product itself.
    pub const PRODUCT: Self = Self { alpha: 1.0, beta: 0.0 };
}

impl<'d> Products<'d> {
    /// On this device.
    pub fn new(device: &'d Device) -> Self {
        Self { device, scratch: RefCell::new(None) }
    }

    /// The problem that these matrices pose; an error if they do not fit their buffers.
    pub fn problem(
        &self,
        (m, n, k): (usize, usize, usize),
        a: &Matrix<'_>,
        b: &Matrix<'_>,
        c: &Target<'_>,
    ) -> Result<Problem, Error> {
        let stored = |transposed, rows, cols| if transposed { (cols, rows) } else { (rows, cols) };
        let (rows_a, cols_a) = stored(a.transposed, m, k);
        let (rows_b, cols_b) = stored(b.transposed, k, n);
        let mut aligned = true;
        for (name, rows, cols, ld, offset, len, address) in [
            ("A", rows_a, cols_a, a.ld, a.offset, a.buffer.len(), a.address()),
            ("B", rows_b, cols_b, b.ld, b.offset, b.buffer.len(), b.address()),
            ("C", m, n, c.ld, c.offset, c.buffer.len(), c.address()),
        ] {
            if ld < cols || u32::try_from(ld).is_err() || rows > i32::MAX as usize {
                return Err(Error::Size(format!(
                    "{name} has {rows} rows of {cols} elements, {ld} apart: at least {cols}, and less than 2³², please"
                )));
            }
            let needs = if rows == 0 || cols == 0 { Some(0) } else { (rows - 1).checked_mul(ld) };
            let needs = needs.and_then(|most| most.checked_add(cols)?.checked_add(offset));
            if needs.is_none_or(|needs| needs > len) && rows > 0 && cols > 0 {
                return Err(Error::Size(format!(
                    "{name} has {rows} rows of {cols} elements, {ld} apart, from element {offset} on; its buffer has {len}"
                )));
            }
            aligned &= address.is_multiple_of(16) && ld.is_multiple_of(4) && cols.is_multiple_of(4);
        }
        Ok(Problem { m, n, k, a_transposed: a.transposed, b_transposed: b.transposed, aligned })
    }

    /// C = alpha · op(A) · op(B) + beta · C, by the plan that is best for the problem, which is returned.
    pub fn multiply(
        &self,
        extents: (usize, usize, usize),
        factors: Factors,
        a: Matrix<'_>,
        b: Matrix<'_>,
        c: Target<'_>,
    ) -> Result<Plan, Error> {
        let plan = Plan::choose(self.problem(extents, &a, &b, &c)?, self.device.limits());
        self.launch(&plan, factors, a, b, c)?;
        Ok(plan)
    }

    /// The same by a plan of the caller's.
    pub fn launch(
        &self,
        plan: &Plan,
        factors: Factors,
        a: Matrix<'_>,
        b: Matrix<'_>,
        c: Target<'_>,
    ) -> Result<(), Error> {
        let problem = plan.problem;
        let (m, n, k) = (problem.m, problem.n, problem.k);
        if self.problem((m, n, k), &a, &b, &c)? != problem {
            return Err(Error::Size("the plan was made for other matrices: make one for these".into()));
        }
        if m == 0 || n == 0 {
            return Ok(());
        }
        let p = kernels::Product {
            m: m as u32,
            n: n as u32,
            k: k as u32,
            lda: a.ld as u32,
            ldb: b.ld as u32,
            ldc: c.ld as u32,
            alpha: factors.alpha,
            beta: factors.beta,
        };
        // SAFETY: the matrices were compared with their buffers.
        unsafe { self.enqueue(plan, p, [a.address(), b.address(), c.address()]) }
    }

    /// Launches a plan for matrices at these addresses.
    ///
    /// # Safety
    /// A, B and C lie there, as `p` describes them; they are the plan's problem.
    pub(crate) unsafe fn enqueue(
        &self,
        plan: &Plan,
        p: kernels::Product,
        [a, b, c]: [u64; 3],
    ) -> Result<(), Error> {
        let pointer = DevicePointer::from_raw;
        let (_, launch) = plan.entry();
        let shape = plan.shape()?;
        if !plan.sums() {
            return launch(plan, self.device, shape, p, pointer(a), pointer(b), pointer(c));
        }
        let mut scratch = self.scratch.borrow_mut();
        if scratch.as_ref().is_none_or(|buffer| buffer.len() < plan.scratch()) {
            // What was launched before may still write to the old one.
            self.device.synchronize()?;
            *scratch = None;
            // SAFETY: every element is written before it is read.
            let fresh = unsafe { DeviceBuffer::uninitialized(plan.scratch()) };
            *scratch = Some(fresh.doing("allocate memory for the parts of a product")?);
        }
        let Some(scratch) = scratch.as_ref() else { return Ok(()) };
        let from = scratch.as_device_ptr();
        let (m, n, k) = plan.extents();
        let row = parts::row_length(n as u32);
        let (mut q, mut operands) = (kernels::Product { ldc: row, beta: 0.0, ..p }, [pointer(a), pointer(b)]);
        if plan.packed {
            let [a, b] = plan.packings(&p);
            let to = from.wrapping_add(plan.scratch_of_parts());
            let blocks = plan.fours().unwrap_or(0) / pack::BLOCK;
            let shape = Shape { grid: [blocks, 2, 1], block: [pack::BLOCK, 1, 1], shared: 0 };
            // SAFETY: the operands are as `p` describes them, and the scratch buffer has room for both behind the parts.
            unsafe {
                let kernel = self.device.kernel::<product_pack>(&LEVELS)?;
                kernel.launch(shape, (a, b, operands[0], operands[1], to))?;
            }
            q = kernels::Product {
                m: m as u32,
                n: n as u32,
                k: k as u32,
                lda: a.to_cols,
                ldb: b.to_cols,
                ..q
            };
            operands = [to, to.wrapping_add(a.to_rows as usize * a.to_cols as usize)];
        }
        launch(plan, self.device, shape, q, operands[0], operands[1], from)?;
        let fours = p.m as usize * row as usize / 4;
        let arguments = (p, plan.parts, m as u32, from, pointer(c));
        // SAFETY: the scratch buffer is as long as the plan says, and was written by the launch before.
        unsafe {
            if plan.parts < parts::MANY {
                let shape = Shape::line(fours, parts::BLOCK);
                return Ok(self.device.kernel::<product_sum>(&LEVELS)?.launch(shape, arguments)?);
            }
            let shape = Shape {
                block: [parts::BLOCK, 1, 1],
                ..Shape::line(fours, parts::BLOCK / parts::GROUPS as u32)
            };
            Ok(self.device.kernel::<product_sum_many>(&LEVELS)?.launch(shape, arguments)?)
        }
    }
}
