//! Products whose matrices no tensor copy can reach: they are copied to lines that can be reached first, and the result back.
//!
//! What is wrong with a matrix: it begins at no multiple of 16 bytes, or its lines do, or C's rows end inside of 16 bytes; or
//! its type is multiplied along K only, and it lies across K in lines that the transposes do not take. A copy of n² elements costs
//! little beside n³ products: cuBLASLt, which multiplies where the matrices are, takes four times as long at 4095².

use cust::memory::{DeviceBuffer, DevicePointer};
use kernels_gpu::tensor::lines::{Lines, PIECE, THREADS, lines_1_byte, lines_2_bytes, lines_4_bytes};
use warpsmith_launch::{Device, Doing, Shape};

use super::hopper::{self, along_k_only};
use super::plan::Tiles;
use super::transposed::{self, across};
use super::{Automatic, Layout, Operands, Order, Prepared, Problem, Variant};
use crate::error::Error;
use crate::modules::LEVELS;
use crate::transpose::{self, For};

/// Below so many operations the general kernel is faster than the copies alone.
const WORTH_IT: f64 = 1e8;

/// The variant.
pub(super) const VARIANT: Variant = Variant {
    name: "hopper-copied",
    about: "the same after copies to lines at multiples of 16 bytes",
    automatic: Automatic::From(WORTH_IT),
    refusal: |limits, problem, _| hopper::not_for_it(limits, problem, &Tiles::ALL, None),
    plan: |limits, problem| hopper::dealt_out(limits, problem, &Tiles::ALL, None),
    prepare,
};

type Step<'d> = Box<dyn Fn() -> Result<(), Error> + 'd>;

/// Room for a matrix whose lines begin `pitch` elements apart, at multiples of 16 bytes.
struct Room {
    memory: DeviceBuffer<u8>,
    pitch: usize,
}

impl Room {
    fn new(lines: usize, len: usize, bytes: usize) -> Result<Self, Error> {
        let pitch = len.next_multiple_of(16 / bytes);
        // SAFETY: every element that is read is written before, by a copy, a transpose or the product.
        let memory = unsafe { DeviceBuffer::uninitialized(lines * pitch * bytes) };
        Ok(Self { memory: memory.doing("allocate a copy of a matrix")?, pitch })
    }

    fn address(&self) -> u64 {
        self.memory.as_device_ptr().as_raw()
    }
}

fn reachable(address: u64, lines: usize, pitch: usize, bytes: usize) -> bool {
    address.is_multiple_of(16) && (lines <= 1 || (pitch * bytes).is_multiple_of(16))
}

fn prepare<'d>(device: &'d Device, problem: &Problem, operands: &Operands) -> Result<Prepared<'d>, Error> {
    let mut moved = Moved { device, steps: Vec::new(), memory: Vec::new() };
    let (mut inner, mut at) = (*problem, *operands);
    let bytes = problem.input.size();
    let [a, b, _] = problem.matrices();
    let [a_across, b_across] = across(problem).map(|operand| operand.filter(|_| along_k_only(problem)));
    let mut orders = (problem.layout.a(), problem.layout.b());
    match a_across {
        Some(operand)
            if transposed::refusal_of(&operand, problem.input).is_some() || !at.a.is_multiple_of(16) =>
        {
            (at.a, inner.lda) = moved.turned(at.a, (a.1, a.2, a.3), bytes)?;
            orders.0 = Order::Rows;
        }
        _ => (at.a, inner.lda) = moved.within_reach(at.a, (a.1, a.2, a.3), bytes)?,
    }
    match b_across {
        Some(operand)
            if transposed::refusal_of(&operand, problem.input).is_some() || !at.b.is_multiple_of(16) =>
        {
            (at.b, inner.ldb) = moved.turned(at.b, (b.1, b.2, b.3), bytes)?;
            orders.1 = Order::Columns;
        }
        _ => (at.b, inner.ldb) = moved.within_reach(at.b, (b.1, b.2, b.3), bytes)?,
    }
    let stored = |layout: &Layout| (layout.a(), layout.b()) == orders;
    inner.layout = Layout::ALL.into_iter().find(stored).unwrap_or(problem.layout);

    // C: what lies between its rows must stay, so that rows which end inside of 16 bytes are written apart as well.
    let (m, n, size) = (problem.m, problem.n, problem.output.size());
    let mut back: Option<Step<'d>> = None;
    if !reachable(at.c, m, problem.ldc, size) || !(n * size).is_multiple_of(16) {
        let room = Room::new(m, n, size)?;
        let there = described((m, n, problem.ldc), (n, room.pitch));
        if problem.beta != 0.0 {
            moved.steps.push(copy(device, there, m, size, at.c, room.address())?);
        }
        let here = described((m, n, room.pitch), (n, problem.ldc));
        back = Some(copy(device, here, m, size, room.address(), at.c)?);
        (at.c, inner.ldc) = (room.address(), room.pitch);
        moved.memory.push(room.memory);
    }
    let product = hopper::prepare(device, &inner, &at, &Tiles::ALL, None)?;
    let Moved { steps, memory, .. } = moved;
    Ok(Prepared::new(product.kernel, move || {
        // Kept for as long as the launch may be repeated.
        let _ = &memory;
        steps.iter().try_for_each(|step| step())?;
        // SAFETY: the caller's promise; the copies are this launch's own.
        unsafe { product.launch()? };
        back.as_ref().map_or(Ok(()), |back| back())
    }))
}

/// Operands on their way to where tensor copies reach them.
struct Moved<'d> {
    device: &'d Device,
    steps: Vec<Step<'d>>,
    memory: Vec<DeviceBuffer<u8>>,
}

impl<'d> Moved<'d> {
    /// Address and pitch of the operand, copied if it must be.
    fn within_reach(
        &mut self,
        address: u64,
        (lines, len, pitch): (usize, usize, usize),
        bytes: usize,
    ) -> Result<(u64, usize), Error> {
        if reachable(address, lines, pitch, bytes) {
            return Ok((address, pitch));
        }
        let room = Room::new(lines, len, bytes)?;
        let copied = described((lines, len, pitch), (len, room.pitch));
        self.steps.push(copy(self.device, copied, lines, bytes, address, room.address())?);
        let moved = (room.address(), room.pitch);
        self.memory.push(room.memory);
        Ok(moved)
    }

    /// Address and pitch of the transposed operand. It is first copied into lines, and as many of them, as the
    /// transposes take: zeros beyond its end.
    fn turned(
        &mut self,
        address: u64,
        (lines, len, pitch): (usize, usize, usize),
        bytes: usize,
    ) -> Result<(u64, usize), Error> {
        let all_lines = lines.next_multiple_of(16 / bytes);
        let room = Room::new(all_lines, len, bytes)?;
        let extents = (all_lines, room.pitch);
        let copied = described((lines, len, pitch), (room.pitch, room.pitch));
        self.steps.push(copy(self.device, copied, all_lines, bytes, address, room.address())?);
        let turned = Room::new(room.pitch, all_lines, bytes)?;
        let (from, to) = (room.address(), turned.address());
        let choice = transpose::choose(For::device(self.device.limits()), bytes, extents, (from, to))?;
        let device = self.device;
        self.steps.push(Box::new(move || {
            // SAFETY: both rooms hold as many elements, and are kept beside this step.
            unsafe {
                match bytes {
                    1 => transposed::turn::<u8>(device, &choice, extents, from, to),
                    2 => transposed::turn::<u16>(device, &choice, extents, from, to),
                    _ => transposed::turn::<u32>(device, &choice, extents, from, to),
                }
            }
        }));
        let pitch = turned.pitch;
        self.memory.extend([room.memory, turned.memory]);
        Ok((to, pitch))
    }
}

/// Lines, elements of one and pitch of the source; elements of a line and pitch of the result.
fn described((lines, len, pitch): (usize, usize, usize), to: (usize, usize)) -> Lines {
    // `Problem::check` keeps all of them below 2²⁸.
    let [lines, len, pitch, to_len, to_pitch] = [lines, len, pitch, to.0, to.1].map(|x| x as u32);
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
) -> Result<Step<'d>, Error> {
    let blocks = count as u64 * u64::from(p.pieces);
    let blocks = u32::try_from(blocks).ok().filter(|&blocks| blocks < 1 << 31).ok_or_else(|| {
        Error::Product(format!("{count} lines of {} elements are too many to be copied first", p.to_len))
    })?;
    let shape = Shape { grid: [blocks, 1, 1], block: [THREADS, 1, 1], shared: 0 };
    macro_rules! step {
        ($kernel:ident, $t:ty) => {{
            let launcher = device.kernel::<$kernel>(&LEVELS)?;
            let (from, to) = (DevicePointer::<$t>::from_raw(from), DevicePointer::<$t>::from_raw(to));
            // SAFETY: `tensor::prepare`'s caller promises the matrix, the room is as `p` says, and the grid is the kernel's.
            Ok(Box::new(move || unsafe { Ok(launcher.launch(shape, (p, from, to))?) }))
        }};
    }
    match bytes {
        1 => step!(lines_1_byte, u8),
        2 => step!(lines_2_bytes, u16),
        _ => step!(lines_4_bytes, u32),
    }
}
