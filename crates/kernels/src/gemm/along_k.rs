//! Operands that Hopper's tensor cores take along K only, stored across it: they are transposed first.

use cust::memory::{DeviceBuffer, DevicePointer, DeviceSlice};
use warpsmith_launch::{Device, ErrorContext};

use super::{Input, Layout, Operands, Order, Prepared, Problem, Stored};
use crate::Error;
use crate::transpose::{self, Variant};

/// A and B, where their lines lie across K: steps of K, each of as many elements as there are rows or columns.
pub(super) fn across(problem: &Problem) -> [Option<Stored>; 2] {
    let [a, b, _] = problem.matrices();
    [(problem.layout.a() == Order::Columns).then_some(a), (problem.layout.b() == Order::Rows).then_some(b)]
}

/// Why the operands cannot be transposed first.
pub(super) fn refusal(problem: &Problem) -> Option<String> {
    across(problem).into_iter().flatten().find_map(|operand| refusal_of(&operand, problem.input))
}

/// Why this one cannot.
pub(super) fn refusal_of(operand: &Stored, input: Input) -> Option<String> {
    let Stored { name, lines, len, pitch, size } = *operand;
    let first =
        format!("{} is multiplied along K, so {name} would be transposed first, which takes", input.name());
    if lines > 1 && pitch != len {
        return Some(format!("{first} lines without gaps, and its {len} elements are {pitch} apart"));
    }
    (!transpose::takes(Variant::Vectorised, size, (lines, len)))
        .then(|| format!("{first} a multiple of 16 bytes both ways, not {lines} x {len} elements"))
}

/// The operands that are transposed first.
pub(super) fn names(problem: &Problem) -> Option<String> {
    let names: Vec<_> = across(problem).into_iter().flatten().map(|operand| operand.name).collect();
    (!names.is_empty()).then(|| names.join(" and "))
}

/// The product after the transposes: `product` makes it ready for operands along K.
pub(super) fn prepare<'d>(
    device: &'d Device,
    problem: &Problem,
    operands: &Operands,
    product: impl FnOnce(&Problem, &Operands) -> Result<Prepared<'d>, Error>,
) -> Result<Prepared<'d>, Error> {
    let (mut along, mut steps, mut memory) = (*operands, Vec::new(), Vec::new());
    for (operand, address) in across(problem).into_iter().zip([&mut along.a, &mut along.b]) {
        let Some(Stored { lines, len, size, .. }) = operand else { continue };
        // SAFETY: every element is written by the transpose, before the product reads it.
        let to = unsafe { DeviceBuffer::<u8>::uninitialized(lines * len * size) };
        let to = to.context("allocate a transposed operand")?;
        let from = std::mem::replace(address, to.as_device_ptr().as_raw());
        // SAFETY: `Gemm::prepare`'s caller promises the operand, which has no gaps; `to` is as long.
        steps.push(unsafe { transposed(device, size, (lines, len), (from, *address))? });
        memory.push(to);
    }
    let along_k = Problem {
        layout: Layout::Nt,
        lda: if problem.layout.a() == Order::Columns { problem.k } else { problem.lda },
        ldb: if problem.layout.b() == Order::Rows { problem.k } else { problem.ldb },
        ..*problem
    };
    steps.push(product(&along_k, &along)?);
    Ok(Prepared::sequence(steps, memory))
}

/// Transposes a matrix of elements of `bytes` bytes.
///
/// # Safety
/// Both addresses have room for it, for as long as the launch is used.
pub(super) unsafe fn transposed(
    device: &Device,
    bytes: usize,
    extents: (usize, usize),
    (from, to): (u64, u64),
) -> Result<Prepared<'_>, Error> {
    let plan = transpose::Plan::choose(device.limits(), bytes, extents, (from, to))?;
    macro_rules! of {
        ($bits:ty) => {{
            let elements = extents.0 * extents.1;
            // SAFETY: the caller's promise.
            let slice = move |address| unsafe {
                DeviceSlice::<$bits>::from_raw_parts(DevicePointer::from_raw(address), elements)
            };
            // SAFETY: as above.
            Prepared::new(move || unsafe { transpose::launch(device, &plan, &slice(from), &mut slice(to)) })
        }};
    }
    Ok(match bytes {
        1 => of!(u8),
        2 => of!(u16),
        _ => of!(u32),
    })
}
