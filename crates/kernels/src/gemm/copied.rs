//! Products whose matrices no tensor copy can reach: they are copied to lines that can be reached first, and the result back.
//!
//! Matrices that need a copy: one or one of its lines does not begin at a multiple of 16 bytes, or C's rows end inside
//! of 16 bytes; or its type is multiplied along K only, and it lies across K in lines that the transposes do not take. A
//! copy of n² elements costs little beside n³ products: cuBLASLt, which multiplies where the matrices are, takes four times
//! as long at 4095².

use cust::memory::{DeviceBuffer, DevicePointer};
use kernels_gpu::ampere::tensor::lines::{Lines, PIECE, THREADS, lines_1_byte, lines_2_bytes, lines_4_bytes};
use warpsmith_launch::{Device, ErrorContext, Shape};

use super::along_k::{self, across};
use super::hopper::{HopperSchedule, Tiles};
use super::variant::{Automatic, Schedule, Split, Variant};
use super::{Gemm, Layout, Operands, Order, Prepared, Problem, Stored};
use crate::Error;

/// The variant.
pub(super) const VARIANT: Variant = Variant {
    name: "hopper-copied",
    about: "the same after copies to lines at multiples of 16 bytes",
    automatic: Automatic::WhereCopiesPay,
    f32: false,
    schedule: |limits, problem, _, request| {
        Ok(Box::new(CopySchedule(HopperSchedule::new(limits, problem, request, &Tiles::ALL, None)?)))
    },
};

/// The schedule of Hopper's kernels for the copies.
#[derive(Debug)]
struct CopySchedule(HopperSchedule);

/// Memory for a matrix whose lines begin `pitch` elements apart, at multiples of 16 bytes.
struct Aligned {
    memory: DeviceBuffer<u8>,
    pitch: usize,
}

impl Aligned {
    fn new(lines: usize, len: usize, bytes: usize) -> Result<Self, Error> {
        let pitch = len.next_multiple_of(16 / bytes);
        // SAFETY: every element that is read is written before, by a copy, a transpose or the product.
        let memory = unsafe { DeviceBuffer::uninitialized(lines * pitch * bytes) };
        Ok(Self { memory: memory.context("allocate a copy of a matrix")?, pitch })
    }

    fn address(&self) -> u64 {
        self.memory.as_device_ptr().as_raw()
    }
}

fn reachable(address: u64, matrix: &Stored) -> bool {
    address.is_multiple_of(16) && (matrix.lines <= 1 || (matrix.pitch * matrix.size).is_multiple_of(16))
}

impl Schedule for CopySchedule {
    fn kernel(&self) -> &'static str {
        self.0.kernel()
    }

    fn words(&self) -> Option<String> {
        self.0.words()
    }

    fn split(&self) -> Split {
        self.0.split()
    }

    fn transposes(&self) -> bool {
        self.0.transposes()
    }

    fn prepare<'d>(
        &self,
        gemm: &Gemm<'d>,
        problem: &Problem,
        operands: &Operands,
    ) -> Result<Prepared<'d>, Error> {
        let device = gemm.device;
        let mut moved = StagedOperands { device, steps: Vec::new(), memory: Vec::new() };
        let (mut inner, mut at) = (*problem, *operands);
        let [a, b, c] = problem.matrices();
        let [a_across, b_across] = across(problem);
        // What only the transposes of vectors cannot reach; they come with the product for all others.
        let needs = |operand: Option<Stored>, address: u64| {
            problem.input.along_k_only()
                && operand.is_some_and(|operand| {
                    !address.is_multiple_of(16) || along_k::refusal_of(&operand, problem.input).is_some()
                })
        };
        let (mut a_order, mut b_order) = (problem.layout.a(), problem.layout.b());
        (at.a, inner.lda) = if needs(a_across, at.a) {
            a_order = Order::Rows;
            moved.transposed(at.a, &a)?
        } else {
            moved.within_reach(at.a, &a)?
        };
        (at.b, inner.ldb) = if needs(b_across, at.b) {
            b_order = Order::Columns;
            moved.transposed(at.b, &b)?
        } else {
            moved.within_reach(at.b, &b)?
        };
        inner.layout = Layout::of(a_order, b_order);

        // C: what lies between its rows must stay, so that rows which end inside of 16 bytes are written apart as well.
        let mut back = None;
        if !reachable(at.c, &c) || !(c.len * c.size).is_multiple_of(16) {
            let aligned = Aligned::new(c.lines, c.len, c.size)?;
            let there = described(&c, (c.len, aligned.pitch));
            if problem.beta != 0.0 {
                moved.steps.push(copy(device, there, c.lines, c.size, at.c, aligned.address())?);
            }
            let here = described(&Stored { pitch: aligned.pitch, ..c }, (c.len, problem.ldc));
            back = Some(copy(device, here, c.lines, c.size, aligned.address(), at.c)?);
            (at.c, inner.ldc) = (aligned.address(), aligned.pitch);
            moved.memory.push(aligned.memory);
        }
        let StagedOperands { mut steps, memory, .. } = moved;
        steps.push(self.0.prepare(gemm, &inner, &at)?);
        steps.extend(back);
        Ok(Prepared::sequence(steps, memory))
    }
}

/// Operands on their way to where tensor copies reach them.
struct StagedOperands<'d> {
    device: &'d Device,
    steps: Vec<Prepared<'d>>,
    memory: Vec<DeviceBuffer<u8>>,
}

impl<'d> StagedOperands<'d> {
    /// Address and pitch of the operand, copied if it must be.
    fn within_reach(&mut self, address: u64, matrix: &Stored) -> Result<(u64, usize), Error> {
        if reachable(address, matrix) {
            return Ok((address, matrix.pitch));
        }
        let &Stored { lines, len, size, .. } = matrix;
        let aligned = Aligned::new(lines, len, size)?;
        let copied = described(matrix, (len, aligned.pitch));
        self.steps.push(copy(self.device, copied, lines, size, address, aligned.address())?);
        let moved = (aligned.address(), aligned.pitch);
        self.memory.push(aligned.memory);
        Ok(moved)
    }

    /// Address and pitch of the transposed operand. It is first copied into lines, and as many of them, as the
    /// transposes take: zeros beyond its end.
    fn transposed(&mut self, address: u64, matrix: &Stored) -> Result<(u64, usize), Error> {
        let &Stored { lines, len, size, .. } = matrix;
        let all_lines = lines.next_multiple_of(16 / size);
        let aligned = Aligned::new(all_lines, len, size)?;
        let copied = described(matrix, (aligned.pitch, aligned.pitch));
        self.steps.push(copy(self.device, copied, all_lines, size, address, aligned.address())?);
        let transposed = Aligned::new(aligned.pitch, all_lines, size)?;
        let (device, from, to) = (self.device, aligned.address(), transposed.address());
        let extents = (all_lines, aligned.pitch);
        // SAFETY: both hold as many elements, and are kept beside this step.
        self.steps.push(unsafe { along_k::transposed(device, size, extents, (from, to))? });
        let pitch = transposed.pitch;
        self.memory.extend([aligned.memory, transposed.memory]);
        Ok((to, pitch))
    }
}

/// The source's lines; elements of a line and pitch of the result.
fn described(from: &Stored, to: (usize, usize)) -> Lines {
    // `Problem::check` keeps all of them below 2²⁸.
    let [lines, len, pitch, to_len, to_pitch] =
        [from.lines, from.len, from.pitch, to.0, to.1].map(|x| x as u32);
    Lines { lines, len, pitch, to_len, to_pitch, pieces: to_len.div_ceil(PIECE) }
}

/// A launch that copies to `count` lines.
fn copy<'d>(
    device: &'d Device,
    p: Lines,
    count: usize,
    bytes: usize,
    from: u64,
    to: u64,
) -> Result<Prepared<'d>, Error> {
    let blocks = count as u64 * u64::from(p.pieces);
    let blocks = u32::try_from(blocks).ok().filter(|&blocks| blocks < 1 << 31).ok_or_else(|| {
        Error::Gemm(format!("{count} lines of {} elements are too many to be copied first", p.to_len))
    })?;
    let shape = Shape { grid: [blocks, 1, 1], block: [THREADS, 1, 1], shared: 0 };
    macro_rules! of {
        ($kernel:ty, $t:ty) => {{
            let (from, to) = (DevicePointer::<$t>::from_raw(from), DevicePointer::<$t>::from_raw(to));
            // SAFETY: `Gemm::prepare`'s caller promises the matrix, the memory is as `p` says, and the grid is the kernel's.
            unsafe { Prepared::kernel::<$kernel, _>(device, shape, (p, from, to)) }
        }};
    }
    match bytes {
        1 => of!(lines_1_byte, u8),
        2 => of!(lines_2_bytes, u16),
        _ => of!(lines_4_bytes, u32),
    }
}
