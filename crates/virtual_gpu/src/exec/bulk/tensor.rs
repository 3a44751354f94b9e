//! Tensor copies: boxes of a tensor map, into shared memory and out of it.

use super::{GLOBAL, SHARED, check_swizzle, refuse, word};
use crate::exec::access;
use crate::exec::context::Step;
use crate::exec::context::{Raise, raise};
use crate::exec::extension::{Execute, Machine};
use crate::fault::FaultKind;
use crate::form::access::AtomicFunction;
use crate::form::asynchronous::{Reduction, ReductionKind, TensorBox, TensorLoad, TensorStore};
use crate::form::registers::lanes_of;
use crate::memory::window;
use crate::observer::{AsyncEvent, At, MemorySpace};
use crate::tensor_map::{BYTES, BoxRow, Swizzle, TensorMap};

impl TensorBox {
    fn read(&self, machine: &mut Machine<'_>, lane: usize) -> Result<(TensorMap, [i32; 5]), Box<Raise>> {
        let address = access::addresses(machine.regs, self.map)[lane];
        let mut bytes = [0; BYTES];
        machine.read(self.space, address, &mut bytes, "read of a tensor map", lane)?;
        let Some(map) = TensorMap::from_bytes(&bytes) else {
            let why = format!("there is no tensor map at {address:#x} (cuTensorMapEncodeTiled makes them)");
            return Err(refuse(why, lane));
        };
        if map.rank as usize != self.coordinates.len() {
            let (rank, given) = (map.rank, self.coordinates.len());
            return Err(refuse(format!("the tensor map has {rank} dimensions, the copy {given}"), lane));
        }
        let mut coordinates = [0; 5];
        for (coordinate, &slot) in coordinates.iter_mut().zip(&self.coordinates) {
            *coordinate = word(machine.regs, slot, lane) as i32;
        }
        if map.im2col.is_some() != self.im2col.is_some() {
            let why = "the tensor map and the copy are not both for boxes or both for pixels (`.im2col`)";
            return Err(refuse(why.into(), lane));
        }
        // As an H200 does, which refuses other coordinates as an illegal instruction.
        let start = i64::from(coordinates[0]) * i64::from(map.data_type.size());
        if start % 16 != 0 {
            let why = format!(
                "the copy's first coordinate is {}, {start} bytes; it must start at a multiple of 16 bytes",
                coordinates[0]
            );
            return Err(refuse(why, lane));
        }
        Ok((map, coordinates))
    }

    /// The pieces of the tensor that a load takes.
    fn rows(
        &self,
        machine: &Machine<'_>,
        map: &TensorMap,
        coordinates: [i32; 5],
        lane: usize,
    ) -> Result<Vec<BoxRow>, Box<Raise>> {
        let (Some(slots), Some(im2col)) = (&self.im2col, map.im2col) else {
            return Ok(map.rows(coordinates).collect());
        };
        for (at, (lower, upper)) in coordinates[1..].iter().zip(map.bounds(&im2col)) {
            if !(lower..=upper).contains(&i64::from(*at)) {
                let why = format!("a pixel at {at} lies outside the bounding box from {lower} to {upper}");
                return Err(refuse(why, lane));
            }
        }
        let mut offsets = [0; 3];
        for (offset, &slot) in offsets.iter_mut().zip(slots) {
            *offset = word(machine.regs, slot, lane) as u16;
        }
        Ok(map.pixels(im2col, coordinates, offsets))
    }
}

impl Execute for TensorLoad {
    fn execute(&self, machine: &mut Machine<'_>, at: At) -> Result<Step, Box<Raise>> {
        for lane in lanes_of(at.lanes) {
            let (map, coordinates) = self.source.read(machine, lane)?;
            let target = access::addresses(machine.regs, self.landing.target)[lane];
            if !target.is_multiple_of(128) {
                let access = "shared store of a tensor copy".into();
                return Err(raise(
                    FaultKind::MisalignedAddress { access, address: target, bytes: 128 },
                    1 << lane,
                ));
            }
            // Nothing is made before its place is known to hold it.
            machine.reach(SHARED, target, map.box_bytes(), "shared store of a tensor copy", lane)?;
            let mut data = map.filled();
            let rows = self.source.rows(machine, &map, coordinates, lane)?;
            for row in rows.into_iter().filter(|row| row.bytes > 0) {
                let start = (row.shared + row.skip) as usize;
                let to = &mut data[start..start + row.bytes as usize];
                machine.read(GLOBAL, row.global, to, "global load of a tensor copy", lane)?;
                let space = MemorySpace::Global;
                let (write, reduces, address, bytes) = (false, false, row.global, row.bytes);
                let (within, swizzle) = (start as u32, Swizzle::None);
                let moved = AsyncEvent::Moved { space, write, reduces, address, bytes, within, swizzle };
                machine.observer.asynchronous(At { lanes: 1 << lane, ..at }, &moved);
            }
            self.landing.send(machine, At { lanes: 1 << lane, ..at }, data, map.swizzle, None)?;
        }
        Ok(Step::Next)
    }
}

impl ReductionKind {
    /// From its modifier.
    pub fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "add" => Self::Add,
            "min" => Self::Min,
            "max" => Self::Max,
            "inc" => Self::Increment,
            "dec" => Self::Decrement,
            "and" => Self::And,
            "or" => Self::Or,
            "xor" => Self::Xor,
            _ => return None,
        })
    }

    /// Of a type, by its name without the dot; `None` if there is no such reduction.
    pub fn of(self, ty: &str) -> Option<Reduction> {
        use AtomicFunction as F;
        let width = match ty {
            "f16" | "bf16" => 2,
            "u32" | "s32" | "b32" | "f32" => 4,
            "u64" | "s64" | "b64" | "f64" => 8,
            _ => return None,
        };
        let function = match (self, ty) {
            (Self::And, _) if width > 2 => F::And,
            (Self::Or, _) if width > 2 => F::Or,
            (Self::Xor, _) if width > 2 => F::Xor,
            (Self::Increment, "u32") => F::Increment,
            (Self::Decrement, "u32") => F::Decrement,
            (Self::Add, "f16") => F::AddF16,
            (Self::Add, "bf16") => F::AddBf16,
            (Self::Add, "f32") => F::AddF32,
            (Self::Add, "f64") => F::AddF64,
            (Self::Add, _) => F::Add,
            (Self::Min | Self::Max, "f16" | "bf16") => {
                F::MinMaxF16 { bf16: ty == "bf16", max: self == Self::Max, packed: false }
            }
            (Self::Min, "u32" | "u64") => F::MinUnsigned,
            (Self::Max, "u32" | "u64") => F::MaxUnsigned,
            (Self::Min, "s32" | "s64") => F::MinSigned,
            (Self::Max, "s32" | "s64") => F::MaxSigned,
            _ => return None,
        };
        Some(Reduction { function, width })
    }

    fn of_map(self, map: &TensorMap) -> Option<Reduction> {
        use crate::tensor_map::DataType::*;
        self.of(match map.data_type {
            U32 => "u32",
            S32 => "s32",
            U64 => "u64",
            S64 => "s64",
            F16 => "f16",
            Bf16 => "bf16",
            F32 | F32Ftz => "f32",
            F64 => "f64",
            U8 | U16 | Tf32 | Tf32Ftz => return None,
        })
    }
}

impl Execute for TensorStore {
    fn execute(&self, machine: &mut Machine<'_>, at: At) -> Result<Step, Box<Raise>> {
        const WHAT: &str = "shared load of a tensor copy";
        for lane in lanes_of(at.lanes) {
            let (map, coordinates) = self.target.read(machine, lane)?;
            if let Some(negative) = coordinates.iter().find(|&&at| at < 0) {
                let why = format!("a store starts at the coordinate {negative}; it must not be negative");
                return Err(refuse(why, lane));
            }
            let source = access::addresses(machine.regs, self.source)[lane];
            if !source.is_multiple_of(128) {
                let kind = FaultKind::MisalignedAddress { access: WHAT.into(), address: source, bytes: 128 };
                return Err(raise(kind, 1 << lane));
            }
            let reduction = match self.reduction {
                None => None,
                Some(kind) => match kind.of_map(&map) {
                    Some(reduction) => Some(reduction),
                    None => return Err(refuse(format!("no {kind:?} on {:?}", map.data_type), lane)),
                },
            };
            let length = map.box_bytes();
            let place = machine.reach(SHARED, source, length, WHAT, lane)?;
            let start = (source & ((1 << window::SHARED_OFFSET_BITS) - 1)) as u32;
            if let Some(span) = map.swizzle.span() {
                check_swizzle(machine, start, length, span, lane)?;
            }
            let memory = place.wrapping_sub(start as usize);
            let mut data = vec![0; length as usize];
            for (index, piece) in data.chunks_mut(16).enumerate() {
                let from = map.swizzle.place(start + 16 * index as u32);
                // SAFETY: inside the block's shared memory, as in `Delivery::land`.
                unsafe { piece.as_mut_ptr().copy_from(memory.add(from as usize), piece.len()) }
            }
            let one = At { lanes: 1 << lane, ..at };
            let space = MemorySpace::Shared;
            let (address, bytes) = (source, length);
            let (write, reduces) = (false, false);
            let (within, swizzle) = (0, map.swizzle);
            let moved = AsyncEvent::Moved { space, write, reduces, address, bytes, within, swizzle };
            machine.observer.asynchronous(one, &moved);
            machine.observer.asynchronous(one, &AsyncEvent::BulkTaken { address, bytes });
            let rows: Vec<BoxRow> = match map.im2col {
                Some(im2col) => map.pixels(im2col, coordinates, [0; 3]),
                None => map.rows(coordinates).collect(),
            };
            for mut row in rows.into_iter().filter(|row| row.bytes > 0) {
                // The edge of the tensor cuts off pieces of 16 bytes: of a piece that it goes through all is stored, as on
                // an H200, where there is memory.
                let whole = row.bytes.next_multiple_of(16);
                if machine.device.pieces(row.global, whole.into()).is_some() {
                    row.bytes = whole;
                }
                const WHAT: &str = "global store of a tensor copy";
                let from = (row.shared + row.skip) as usize;
                let bytes = &data[from..from + row.bytes as usize];
                match reduction {
                    Some(reduction) => {
                        let places = machine.pieces_to_write(GLOBAL, row.global, row.bytes, WHAT, lane)?;
                        reduction.apply_all(&places, bytes);
                    }
                    None => machine.write(GLOBAL, row.global, bytes, WHAT, lane)?,
                }
                let space = MemorySpace::Global;
                let (write, reduces, address, bytes) = (true, reduction.is_some(), row.global, row.bytes);
                let (within, swizzle) = (from as u32, Swizzle::None);
                let moved = AsyncEvent::Moved { space, write, reduces, address, bytes, within, swizzle };
                machine.observer.asynchronous(one, &moved);
            }
        }
        Ok(Step::Next)
    }
}
