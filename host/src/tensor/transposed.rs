//! Operands that the tensor cores take along K only, stored across it: they are transposed first.

use cust::memory::{DeviceBuffer, DevicePointer, DeviceSlice};
use warpsmith_launch::{Device, Doing};

use super::{Input, Layout, Operands, Order, Prepared, Problem};
use crate::error::Error;
use crate::transpose::{self, Choice, For, Variant};

/// An operand that lies across K.
pub(super) struct Across {
    name: &'static str,
    /// Lines (steps of K) and elements of a line.
    extents: (usize, usize),
    pitch: usize,
}

/// Those of a problem, A first.
pub(super) fn across(problem: &Problem) -> [Option<Across>; 2] {
    let Problem { m, n, k, layout, lda, ldb, .. } = *problem;
    let a = (layout.a() == Order::Columns).then_some(Across { name: "A", extents: (k, m), pitch: lda });
    let b = (layout.b() == Order::Rows).then_some(Across { name: "B", extents: (k, n), pitch: ldb });
    [a, b]
}

/// Why the operands cannot be transposed first.
pub(super) fn refusal(problem: &Problem) -> Option<String> {
    across(problem).into_iter().flatten().find_map(|operand| refusal_of(&operand, problem.input))
}

/// Why this one cannot.
pub(super) fn refusal_of(operand: &Across, input: Input) -> Option<String> {
    let Across { name, extents: (k, lines), pitch } = *operand;
    let first =
        format!("{} is multiplied along K, so {name} would be transposed first, which takes", input.name());
    if k > 1 && pitch != lines {
        return Some(format!("{first} lines without gaps, and its {lines} elements are {pitch} apart"));
    }
    (!transpose::takes(Variant::Vectorised, input.size(), (k, lines)))
        .then(|| format!("{first} a multiple of 16 bytes both ways, not {k} x {lines} elements"))
}

/// What is transposed first, in words.
pub(super) fn what(problem: &Problem) -> Option<String> {
    let names: Vec<_> = across(problem).into_iter().flatten().map(|operand| operand.name).collect();
    (!names.is_empty()).then(|| format!("{} transposed first", names.join(" and ")))
}

/// The product after the transposes: `product` makes it ready for operands along K.
pub(super) fn prepare<'d>(
    device: &'d Device,
    problem: &Problem,
    operands: &Operands,
    product: impl FnOnce(&Problem, &Operands) -> Result<Prepared<'d>, Error>,
) -> Result<Prepared<'d>, Error> {
    let (mut along, mut moved) = (*operands, Vec::new());
    for (operand, address) in across(problem).into_iter().zip([&mut along.a, &mut along.b]) {
        let Some(Across { extents, .. }) = operand else { continue };
        let bytes = extents.0 * extents.1 * problem.input.size();
        // SAFETY: every element is written by the transpose, before the product reads it.
        let to =
            unsafe { DeviceBuffer::<u8>::uninitialized(bytes) }.doing("allocate a transposed operand")?;
        let from = std::mem::replace(address, to.as_device_ptr().as_raw());
        let chips = For::device(device.limits());
        let choice = transpose::choose(chips, problem.input.size(), extents, (from, *address))?;
        moved.push((choice, extents, from, to));
    }
    let along_k = Problem {
        layout: Layout::Nt,
        lda: if problem.layout.a() == Order::Columns { problem.k } else { problem.lda },
        ldb: if problem.layout.b() == Order::Rows { problem.k } else { problem.ldb },
        ..*problem
    };
    let product = product(&along_k, &along)?;
    let input = problem.input;
    Ok(Prepared::new(product.kernel, move || {
        for (choice, extents, from, to) in &moved {
            let to = to.as_device_ptr().as_raw();
            // SAFETY: `tensor::prepare`'s caller promises the operand, which has no gaps; `to` is as long.
            unsafe {
                match input {
                    Input::S8 => turn::<i8>(device, choice, *extents, *from, to)?,
                    _ => turn::<f32>(device, choice, *extents, *from, to)?,
                }
            }
        }
        // SAFETY: the caller's promise.
        unsafe { product.launch() }
    }))
}

/// Transposes the matrix at `from` to `to`.
///
/// # Safety
/// Both hold as many elements as the matrix.
pub(super) unsafe fn turn<T: cust::memory::DeviceCopy>(
    device: &Device,
    choice: &Choice,
    extents: (usize, usize),
    from: u64,
    to: u64,
) -> Result<(), Error> {
    // SAFETY: the caller's promise.
    let slice = |address: u64| unsafe {
        DeviceSlice::<T>::from_raw_parts(DevicePointer::from_raw(address), extents.0 * extents.1)
    };
    transpose::launch(device, choice, extents, &slice(from), &mut slice(to))
}
