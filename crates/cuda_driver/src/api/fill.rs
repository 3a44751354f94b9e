//! Fills of memory.

use crate::abi::{Answer, CUdeviceptr, CUstream};
use crate::objects::allocation::owner_of;
use crate::objects::stream::{default_target, target};
use crate::objects::transfer::{Fill, allocation};

/// Fills in the order of the default stream. Like the real driver's, the call may return before it is done, unless the
/// host can see the memory.
fn fill_now(fill: Fill) -> Answer {
    let owner = allocation(fill.address).ok().and_then(|allocation| owner_of(allocation.address()));
    self::fill(0, fill)?;
    if owner.is_some_and(|(_, origin)| origin.on_host()) { default_target()?.synchronize() } else { Ok(()) }
}

/// Fills in stream order.
fn fill(stream: CUstream, fill: Fill) -> Answer {
    let target = target(stream)?;
    fill.check(target.context.device)?;
    target.issue(fill)
}

fn rows<const N: usize>(
    address: CUdeviceptr,
    pitch: usize,
    value: [u8; N],
    width: usize,
    height: usize,
) -> Fill {
    let mut bytes = [0; 4];
    bytes[..N].copy_from_slice(&value);
    Fill { address, pitch, value: bytes, element: N, width, height }
}

/// For each element type: one row and several, synchronous and in a stream.
macro_rules! memsets {
    ($($type:ty: $now:ident, $in_stream:ident, $rows_now:ident, $rows_in_stream:ident;)*) => {$(
        pub fn $now(dst: CUdeviceptr, value: $type, count: usize) -> Answer {
            fill_now(rows(dst, 0, value.to_le_bytes(), count, 1))
        }

        pub fn $in_stream(dst: CUdeviceptr, value: $type, count: usize, stream: CUstream) -> Answer {
            fill(stream, rows(dst, 0, value.to_le_bytes(), count, 1))
        }

        pub fn $rows_now(dst: CUdeviceptr, pitch: usize, value: $type, width: usize, height: usize) -> Answer {
            fill_now(rows(dst, pitch, value.to_le_bytes(), width, height))
        }

        pub fn $rows_in_stream(
            dst: CUdeviceptr,
            pitch: usize,
            value: $type,
            width: usize,
            height: usize,
            stream: CUstream,
        ) -> Answer {
            fill(stream, rows(dst, pitch, value.to_le_bytes(), width, height))
        }
    )*};
}

memsets! {
    u8: cuMemsetD8_v2, cuMemsetD8Async, cuMemsetD2D8_v2, cuMemsetD2D8Async;
    u16: cuMemsetD16_v2, cuMemsetD16Async, cuMemsetD2D16_v2, cuMemsetD2D16Async;
    u32: cuMemsetD32_v2, cuMemsetD32Async, cuMemsetD2D32_v2, cuMemsetD2D32Async;
}
