//! The functions that a device provides to kernels: `vprintf`, `__assertfail`, `malloc`, `free`.

use super::access::space_of;
use super::context::{Cx, Raise, raise};
use super::printf::{self, Output, Reply, Request};
use super::warp::Warp;
use crate::fault::FaultKind;
use crate::form::op::{SystemFunction, SystemOp};
use crate::form::registers::lanes_of;
use crate::memory::window;
use crate::observer::{At, BlockObserver, Carrier, MemorySpace};

/// Bytes that a system call reads or writes in the time of one operation: its time counts for the watchdog, and for the
/// block's turn.
const BYTES_A_STEP: usize = 16;
/// Longest text that is read from the device's memory.
const MAX_TEXT: usize = 1 << 16;

/// Calls the function for the lanes of `at`, whose arguments lie in `frame`'s local memory.
pub(super) fn call<O: BlockObserver>(
    warp: &mut Warp,
    cx: &mut Cx<'_, O>,
    op: &SystemOp,
    frame: u32,
    at: At,
) -> Result<(), Box<Raise>> {
    let base = warp.frames[frame as usize].local_base;
    for lane in lanes_of(at.lanes) {
        let argument = |warp: &mut Warp, i: usize, size: u32| -> u64 {
            let offset = base + op.arguments.get(i).copied().unwrap_or(0);
            let mut bytes = [0; 8];
            if let Some(from) = warp.local.get(lane, offset, size) {
                bytes[..size as usize].copy_from_slice(from);
            }
            u64::from_le_bytes(bytes)
        };
        let result = match op.function {
            SystemFunction::Printf => {
                let (format, values) = (argument(warp, 0, 8), argument(warp, 1, 8));
                let format = text(warp, cx, format, MAX_TEXT, lane)?;
                let (one, mut at) = (At { lanes: 1 << lane, ..at }, values);
                let mut bytes = std::mem::take(&mut cx.block.output);
                let before = bytes.len();
                let mut output = Output { bytes: &mut bytes, limit: cx.launch.quota.printf_limit() };
                let written =
                    printf::format::<Box<Raise>>(&format, &mut output, &mut |request| match request {
                        Request::Value(size) => {
                            at = at.next_multiple_of(size as u64);
                            let value = read(warp, cx, at, size, lane)?;
                            if O::REGISTERS {
                                let (space, start) = space_of(at);
                                cx.observer.printed(one, space, at - start, size as u32);
                            }
                            at = at.wrapping_add(size as u64);
                            Ok(Reply::Value(value))
                        }
                        Request::Text(address, most) => {
                            Ok(Reply::Text(text(warp, cx, address, most.min(MAX_TEXT), lane)?))
                        }
                    });
                warp.steps += ((format.len() + bytes.len() - before) / BYTES_A_STEP) as u64;
                cx.block.output = bytes;
                u64::from(written?)
            }
            SystemFunction::AssertFail => {
                let [message, file, function] = [0, 1, 3].map(|i| argument(warp, i, 8));
                let line = argument(warp, 2, 4) as u32;
                let message = text(warp, cx, message, MAX_TEXT, lane)?;
                let file = text(warp, cx, file, MAX_TEXT, lane)?;
                let function = text(warp, cx, function, MAX_TEXT, lane)?;
                let show = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                let message = format!("{} ({}:{line}, {})", show(&message), show(&file), show(&function));
                return Err(raise(FaultKind::Assert(message), 1 << lane));
            }
            SystemFunction::Malloc => {
                let bytes = argument(warp, 0, 8);
                let memory = cx.launch.gpu.memory();
                let address = memory.alloc_heap(cx.launch.quota.heap(), bytes).unwrap_or(0);
                if address != 0 && (O::SYNCHRONISATION || O::MEMORY) {
                    cx.observer.heap_allocated(At { lanes: 1 << lane, ..at }, address, bytes);
                }
                address
            }
            SystemFunction::Free => {
                let address = argument(warp, 0, 8);
                if address != 0 && !cx.launch.gpu.memory().free_heap(address) {
                    return Err(raise(FaultKind::HeapMisuse { address }, 1 << lane));
                }
                if address != 0 && (O::SYNCHRONISATION || O::MEMORY) {
                    cx.observer.heap_freed(At { lanes: 1 << lane, ..at }, address);
                }
                0
            }
        };
        if let Some(offset) = op.result {
            let size = if op.function == SystemFunction::Malloc { 8 } else { 4 };
            if let Some(bytes) = warp.local.get(lane, base + offset, size) {
                bytes.copy_from_slice(&result.to_le_bytes()[..size as usize]);
            }
            if O::SYNCHRONISATION || O::REGISTERS {
                let to = Carrier::Local(base + offset);
                cx.observer.passed(At { lanes: 1 << lane, ..at }, Carrier::Device, to, size);
            }
        }
    }
    Ok(())
}

/// Reads a value of up to 8 bytes at a generic address.
fn read<O>(
    warp: &mut Warp,
    cx: &mut Cx<'_, O>,
    address: u64,
    size: usize,
    lane: usize,
) -> Result<u64, Box<Raise>> {
    let mut bytes = [0; 8];
    for (i, byte) in bytes[..size].iter_mut().enumerate() {
        *byte = read_byte(warp, cx, address.wrapping_add(i as u64), lane)?;
    }
    Ok(u64::from_le_bytes(bytes))
}

fn read_byte<O>(warp: &mut Warp, cx: &mut Cx<'_, O>, address: u64, lane: usize) -> Result<u8, Box<Raise>> {
    let (space, start) = space_of(address);
    let offset = address - start;
    let found = match space {
        MemorySpace::Local => {
            u32::try_from(offset).ok().and_then(|o| warp.local.get(lane, o, 1)).map(|bytes| bytes[0])
        }
        MemorySpace::Shared => {
            let own = &cx.cluster[cx.block.cluster_rank as usize];
            let offset = offset & ((1 << window::SHARED_OFFSET_BITS) - 1);
            // SAFETY: inside the block's shared memory.
            (offset < u64::from(own.size)).then(|| unsafe { own.bytes.add(offset as usize).read() })
        }
        MemorySpace::Param => cx.launch.params.get(offset as usize).copied(),
        MemorySpace::Global | MemorySpace::Const => {
            // SAFETY: `find` gives the allocation that holds the address.
            cx.device
                .find(address)
                .map(|a| unsafe { a.as_ptr().add((address - a.address()) as usize).read_volatile() })
        }
    };
    found.ok_or_else(|| {
        let nearby = cx.device.nearby(address);
        let access = "read by a system call".into();
        raise(FaultKind::IllegalAddress { access, address, bytes: 1, nearby }, 1 << lane)
    })
}

/// Reads a NUL-terminated text at a generic address, up to a number of bytes.
fn text<O>(
    warp: &mut Warp,
    cx: &mut Cx<'_, O>,
    address: u64,
    most: usize,
    lane: usize,
) -> Result<Vec<u8>, Box<Raise>> {
    let mut bytes = Vec::new();
    if address == 0 {
        return Ok(b"(null)"[..most.min(6)].to_vec());
    }
    while bytes.len() < most {
        match read_byte(warp, cx, address.wrapping_add(bytes.len() as u64), lane)? {
            0 => break,
            byte => bytes.push(byte),
        }
    }
    Ok(bytes)
}
