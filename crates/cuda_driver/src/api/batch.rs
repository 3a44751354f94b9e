//! Batches: many copies, prefetches or discards in one call.

use crate::abi::{
    Answer, CUdeviceptr, CUmemLocation, CUmemcpyAttributes, CUmemcpySrcAccessOrder, CUresult, CUstream, In,
    Out,
};
use crate::api::copy::cuMemcpyAsync;
use crate::api::pointer::{check_managed, location};
use crate::objects::stream::{Target, target};
use crate::objects::transfer::{Copy, Memory};
use crate::objects::work::Nothing;

/// The legacy default stream does not accept batches.
fn stream_of_batches(stream: CUstream) -> Answer<Target> {
    let target = target(stream)?;
    if target.stream.is_some() { Ok(target) } else { Err(CUresult::INVALID_VALUE) }
}

/// How a batch's attributes are distributed: those of index `i` apply from `indices[i]` on.
fn check_indices(indices: In<usize>, attributes: usize, count: usize) -> Answer {
    let indices = indices.array(attributes)?;
    let rising = indices.windows(2).all(|pair| pair[0] < pair[1]);
    if indices.first() == Some(&0) && rising && indices.last().is_some_and(|&last| last < count) {
        Ok(())
    } else {
        Err(CUresult::INVALID_VALUE)
    }
}

/// When a copy may read its source.
fn check_order(attributes: &CUmemcpyAttributes) -> Answer {
    CUmemcpySrcAccessOrder::try_from(attributes.srcAccessOrder).map(|_| ())
}

pub fn cuMemcpyBatchAsync_v2(
    to: In<CUdeviceptr>,
    from: In<CUdeviceptr>,
    sizes: In<usize>,
    count: usize,
    attributes: In<CUmemcpyAttributes>,
    indices: In<usize>,
    attribute_count: usize,
    stream: CUstream,
) -> Answer {
    // SAFETY: null is an allowed value.
    let nowhere = unsafe { Out::new(std::ptr::null_mut()) };
    cuMemcpyBatchAsync(to, from, sizes, count, attributes, indices, attribute_count, nowhere, stream)
}

pub fn cuMemcpyBatchAsync(
    to: In<CUdeviceptr>,
    from: In<CUdeviceptr>,
    sizes: In<usize>,
    count: usize,
    attributes: In<CUmemcpyAttributes>,
    indices: In<usize>,
    attribute_count: usize,
    failed: Out<usize>,
    stream: CUstream,
) -> Answer {
    // An index beyond all copies reports an error of the batch as a whole.
    failed.set_if_given(usize::MAX);
    let target = stream_of_batches(stream)?;
    let (to, from, sizes) = (to.array(count)?, from.array(count)?, sizes.array(count)?);
    if count == 0 {
        return Err(CUresult::INVALID_VALUE);
    }
    check_indices(indices, attribute_count, count)?;
    attributes.array(attribute_count)?.iter().try_for_each(check_order)?;
    for (index, ((to, from), size)) in to.into_iter().zip(from).zip(sizes).enumerate() {
        let copy = Copy::linear(Memory::unified(to), Memory::unified(from), size);
        let copy = copy.accessible_to(target.context.device).and_then(|copy| copy.issue(&target));
        copy.inspect_err(|_| failed.set_if_given(index))?;
    }
    Ok(())
}

pub fn cuMemcpyWithAttributesAsync(
    to: CUdeviceptr,
    from: CUdeviceptr,
    size: usize,
    attributes: In<CUmemcpyAttributes>,
    stream: CUstream,
) -> Answer {
    check_order(&attributes.get()?)?;
    cuMemcpyAsync(to, from, size, stream)
}

/// A batch over managed ranges that moves nothing, because host and device share the bytes; it only takes its turn in
/// the stream. `check` checks the batch's other arguments.
fn over_ranges(
    addresses: In<CUdeviceptr>,
    sizes: In<usize>,
    count: usize,
    flags: u64,
    stream: CUstream,
    check: impl FnOnce() -> Answer,
) -> Answer {
    let target = stream_of_batches(stream)?;
    if flags != 0 || count == 0 {
        return Err(CUresult::INVALID_VALUE);
    }
    let ranges = addresses.array(count)?.into_iter().zip(sizes.array(count)?);
    ranges.into_iter().try_for_each(|(address, size)| check_managed(address, size))?;
    check()?;
    target.issue(Nothing)
}

pub fn cuMemPrefetchBatchAsync(
    addresses: In<CUdeviceptr>,
    sizes: In<usize>,
    count: usize,
    locations: In<CUmemLocation>,
    indices: In<usize>,
    location_count: usize,
    flags: u64,
    stream: CUstream,
) -> Answer {
    over_ranges(addresses, sizes, count, flags, stream, || {
        check_indices(indices, location_count, count)?;
        locations.array(location_count)?.into_iter().try_for_each(location)
    })
}

pub fn cuMemDiscardBatchAsync(
    addresses: In<CUdeviceptr>,
    sizes: In<usize>,
    count: usize,
    flags: u64,
    stream: CUstream,
) -> Answer {
    // Discarded bytes may have any value, including the old one.
    over_ranges(addresses, sizes, count, flags, stream, || Ok(()))
}
