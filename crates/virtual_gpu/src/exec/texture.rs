//! `tex`, `tld4`, `txq`, `suld`, `sust`, `sured`, `suq`: images reached through handles.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::access;
use super::context::{Raise, Step, raise};
use super::extension::{Execute, Machine};
use super::reach::outside;
use crate::alu::half;
use crate::fault::FaultKind;
use crate::form::op::ALL_BYTES;
use crate::form::registers::{NONE, Slot, lanes_of};
use crate::form::texture::{
    IsType, Level, Opaque, Outside, Query, Question, Result4, SurfaceAccess, SurfaceAction, SurfaceReduction,
    TextureFetch,
};
use crate::observer::{Access, AccessKind, At, MemorySpace, Named, Order, Register, Scope};
use crate::texture::{self, ChannelFormat, Fetch, Image, Texels, Texture};

/// An access to an image, for the observer.
struct Shown<'a> {
    kind: AccessKind,
    width: u32,
    elements: u32,
    data: &'a [Slot],
}

/// Shows the observer an access to an image.
fn show(machine: &mut Machine<'_>, at: At, shown: &Shown<'_>, addresses: &[u64; 32], read_only: bool) {
    let base = machine.warp.base_of(machine.regs);
    let access = Access {
        space: MemorySpace::Global,
        generic: false,
        kind: shown.kind,
        width: shown.width,
        elements: shown.elements,
        lanes: at.lanes,
        addresses,
        order: Order::Weak,
        scope: Scope::Block,
        non_coherent: read_only,
        used: ALL_BYTES,
        image: true,
        registers: Named::new(base, shown.width.max(4), shown.data),
        values: None,
        swap: None,
    };
    machine.observer.access(at, &access);
}

fn no_such(what: &str, handle: u64, why: &str, lane: usize) -> Box<Raise> {
    let nearby = format!(", {why}");
    raise(FaultKind::IllegalAddress { access: what.into(), address: handle, bytes: 0, nearby }, 1 << lane)
}

/// The texture that the last lane read, so that a warp looks a handle up once.
struct Found<'m> {
    handle: u64,
    texture: Arc<Texture>,
    levels: Vec<Texels<'m>>,
}

impl<'m> Found<'m> {
    fn new(
        machine: &Machine<'m>,
        handle: u64,
        what: &str,
        lane: usize,
    ) -> std::result::Result<Self, Box<Raise>> {
        let texture = machine.launch.gpu.textures().texture(handle);
        let texture = texture.ok_or_else(|| no_such(what, handle, "which is not a texture", lane))?;
        let follows = machine.observer.follows_accesses();
        let texels = |image: &Image| {
            let texels = Texels::new(machine.device, *image);
            if follows { texels.logged() } else { texels }
        };
        let levels = texture.levels.iter().map(texels).collect();
        Ok(Found { handle, texture, levels })
    }

    /// Shows the observer the elements that a lane has read, each as a load that takes them for read-only.
    fn show(&self, machine: &mut Machine<'_>, at: At, targets: &[Slot]) {
        let lane = at.lanes.trailing_zeros() as usize;
        for texels in &self.levels {
            let mut read = texels.take_read();
            read.sort_unstable();
            read.dedup();
            for address in read {
                let shown =
                    Shown { kind: AccessKind::Load, width: texels.image.element(), elements: 1, data: &[] };
                show(machine, at, &shown, &[address; 32], true);
                // The filter mixes the elements.
                let base = machine.warp.base_of(machine.regs);
                if let Some(undefined) = machine.observer.undefined()
                    && undefined.of_memory(MemorySpace::Global, address, texels.image.element()) != 0
                {
                    let mut bits = [0; 32];
                    bits[lane] = u64::from(u32::MAX);
                    for &target in targets.iter().filter(|target| **target != NONE) {
                        undefined.set_register(at, Register { slot: base + target, bytes: 4 }, &bits);
                    }
                }
            }
        }
    }

    /// A fault if an element was read that is not there.
    fn check(&self, machine: &Machine<'_>, what: &str, lane: usize) -> std::result::Result<(), Box<Raise>> {
        let missing = |texels: &Texels<'_>| texels.missing().map(|address| (address, texels.image.element()));
        match self.levels.iter().find_map(missing) {
            Some((address, bytes)) => {
                Err(outside(what, address, bytes, &machine.device.nearby(address), lane))
            }
            None => Ok(()),
        }
    }
}

impl TextureFetch {
    fn level_of(&self, machine: &Machine<'_>, image: &Image, lane: usize) -> f32 {
        // SAFETY: decoding gave levels and gradients 32-bit registers.
        let value = |slot: Slot| unsafe { machine.regs.get::<f32>(slot, lane) };
        match &self.level {
            Level::Base => 0.0,
            Level::Given(slot) => value(*slot),
            // SAFETY: as above.
            Level::GivenWhole(slot) => unsafe { machine.regs.get::<i32>(*slot, lane) as f32 },
            Level::Gradients(along_x, along_y) => {
                let sizes = [image.width, image.height.max(1), image.depth.max(1)];
                let length = |steps: &[Slot]| {
                    let squares =
                        steps.iter().zip(sizes).map(|(&slot, size)| (value(slot) * size as f32).powi(2));
                    squares.sum::<f32>().sqrt()
                };
                libm::log2f(length(along_x).max(length(along_y)))
            }
        }
    }
}

impl Execute for TextureFetch {
    fn execute(&self, machine: &mut Machine<'_>, at: At) -> std::result::Result<Step, Box<Raise>> {
        let what = if self.gather.is_some() { "texture gather" } else { "texture fetch" };
        let handles = access::addresses(machine.regs, self.handle);
        let mut found: Option<Found<'_>> = None;
        let all = at.lanes;
        let at = machine.with_meaning(at, self.handle);
        // Lanes that go on without what they would have fetched.
        let mut without = all & !at.lanes;
        for lane in lanes_of(at.lanes) {
            if found.as_ref().is_none_or(|found| found.handle != handles[lane]) {
                let new = Found::new(machine, handles[lane], what, lane);
                found = machine.or_without(at, self.handle, new)?;
            }
            let Some(fetched) = &found else {
                without |= 1 << lane;
                continue;
            };
            let level =
                fetched.texture.levels.first().map_or(0.0, |image| self.level_of(machine, image, lane));
            let regs = machine.regs;
            let mut float = [0.0f32; 3];
            let mut integer = [0i32; 3];
            for (i, &slot) in self.coordinates.iter().take(3).enumerate() {
                // SAFETY: decoding gave coordinates 32-bit registers.
                unsafe {
                    float[i] = regs.get(slot, lane);
                    integer[i] = regs.get(slot, lane);
                }
            }
            let mut offset = [0; 3];
            for (i, &slot) in self.offsets.iter().enumerate() {
                // SAFETY: decoding gave offsets 32-bit registers, and one a dimension at most.
                offset[i] = unsafe { regs.get::<i32>(slot, lane) };
                if !(-8..8).contains(&offset[i]) {
                    let why = format!("a texture's offset is between -8 and 7, not {}", offset[i]);
                    return Err(raise(FaultKind::IllegalInstruction(why), 1 << lane));
                }
            }
            let fetch = Fetch {
                offset,
                dimensions: self.geometry.dimensions,
                cube: self.geometry.cube,
                // SAFETY: decoding gave the layer a 32-bit register.
                layer: if self.layer == NONE { 0 } else { unsafe { regs.get::<u32>(self.layer, lane) } },
                level,
                gather: self.gather,
            };
            let place = if self.integer { texture::At::Integer(integer) } else { texture::At::Float(float) };
            let values = texture::fetch(&fetched.levels, &fetched.texture.sampler, fetch, place);
            let is_there = fetched.check(machine, what, lane);
            if machine.or_without(at, self.handle, is_there)?.is_none() {
                // What is missing is kept with it.
                found = None;
                without |= 1 << lane;
                continue;
            }
            if machine.observer.follows_accesses() {
                fetched.show(machine, At { lanes: 1 << lane, ..at }, &self.targets);
            }
            let half = |i: usize| half::from_f64::<half::F16>(f32::from_bits(values[i]).into());
            for (i, &target) in self.targets.iter().enumerate().filter(|(_, target)| **target != NONE) {
                // SAFETY: decoding gave the results registers of these widths.
                unsafe {
                    match self.result {
                        Result4::Words => regs.set(target, lane, values[i]),
                        Result4::Halves => regs.set(target, lane, half(i)),
                        Result4::HalfPairs => {
                            let pair = u32::from(half(2 * i + 1)) << 16 | u32::from(half(2 * i));
                            regs.set(target, lane, pair)
                        }
                    }
                }
            }
        }
        machine.leave_out(At { lanes: without, ..at }, &self.targets, 1);
        if self.resident != NONE {
            // SAFETY: decoding found a predicate.
            unsafe { machine.regs.set_predicate(self.resident, u32::MAX, all) }
        }
        Ok(Step::Next)
    }
}

impl Execute for IsType {
    fn execute(&self, machine: &mut Machine<'_>, at: At) -> std::result::Result<Step, Box<Raise>> {
        let textures = machine.launch.gpu.textures();
        let is = |handle: u64| match self.kind {
            Opaque::Texture => textures.texture(handle).is_some(),
            Opaque::Surface => textures.surface(handle).is_some(),
            Opaque::Sampler => false,
        };
        // SAFETY: decoding gave the handle a 64-bit register and the target a predicate.
        unsafe {
            let regs = machine.regs;
            let yes = lanes_of(at.lanes).filter(|&i| is(regs.get(self.handle, i))).fold(0, |m, i| m | 1 << i);
            regs.set_predicate(self.target, yes, at.lanes);
        }
        Ok(Step::Next)
    }
}

impl Execute for Query {
    fn execute(&self, machine: &mut Machine<'_>, at: At) -> std::result::Result<Step, Box<Raise>> {
        let handles = access::addresses(machine.regs, self.handle);
        let textures = machine.launch.gpu.textures();
        for lane in lanes_of(at.lanes) {
            let handle = handles[lane];
            let what = if self.surface { "surface query" } else { "texture query" };
            let level = match self.level {
                NONE => 0,
                // SAFETY: decoding gave the level a 32-bit register.
                slot => unsafe { machine.regs.get::<u32>(slot, lane) },
            };
            let (image, texture) = match self.surface {
                true => (textures.surface(handle).map(|image| *image), None),
                false => {
                    let texture = textures.texture(handle);
                    (texture.as_ref().and_then(|t| t.levels.get(level as usize).copied()), texture)
                }
            };
            let Some(image) = image else {
                return Err(no_such(what, handle, "which has no such image", lane));
            };
            let fraction = texture.as_ref().is_some_and(|t| !t.sampler.as_integer);
            let answer = match self.question {
                Question::Width => image.width,
                Question::Height => image.height,
                Question::Depth => image.depth,
                Question::DataType => data_type(image.format, fraction),
                // CL_R, CL_RG, CL_RGBA.
                Question::Order => [0x10b0, 0x10b0, 0x10b2, 0x10b5, 0x10b5][image.channels.min(4) as usize],
                Question::Normalized => texture.as_ref().is_some_and(|t| t.sampler.normalized).into(),
                Question::ArraySize => image.layers,
                Question::Levels => texture.as_ref().map_or(1, |t| t.levels.len() as u32),
                Question::Samples => 1,
                Question::Layout => 1,
            };
            // SAFETY: decoding gave the target a 32-bit register.
            unsafe { machine.regs.set(self.target, lane, answer) }
        }
        Ok(Step::Next)
    }
}

fn data_type(format: ChannelFormat, fraction: bool) -> u32 {
    use ChannelFormat::*;
    match (format, fraction) {
        (S8, true) => 0x10d0,
        (S16, true) => 0x10d1,
        (U8, true) => 0x10d2,
        (U16, true) => 0x10d3,
        (S8, false) => 0x10d7,
        (S16, false) => 0x10d8,
        (S32, _) => 0x10d9,
        (U8, false) => 0x10da,
        (U16, false) => 0x10db,
        (U32, _) => 0x10dc,
        (F16, _) => 0x10dd,
        (F32, _) => 0x10de,
    }
}

impl SurfaceAccess {
    /// The address and the host bytes that a lane reaches; `None` if it is outside and that is no fault.
    fn place(
        &self,
        machine: &mut Machine<'_>,
        image: &Image,
        lane: usize,
    ) -> std::result::Result<Option<(u64, *mut u8)>, Box<Raise>> {
        let what = match self.action {
            SurfaceAction::Load => "surface load",
            SurfaceAction::Store | SurfaceAction::StoreFormatted => "surface store",
            SurfaceAction::Reduce(_) => "surface reduction",
        };
        let regs = machine.regs;
        // SAFETY: decoding gave coordinates and the layer 32-bit registers.
        let value = |slot: Slot| i64::from(unsafe { regs.get::<i32>(slot, lane) });
        let bytes = match self.action {
            SurfaceAction::StoreFormatted => image.element(),
            _ => self.width * self.data.len() as u32,
        };
        let step = if self.by_element { i64::from(image.element()) } else { 1 };
        let slice = if self.layer != NONE {
            value(self.layer)
        } else {
            self.coordinates.get(2).map_or(0, |&slot| value(slot))
        };
        let x = value(self.coordinates[0]) * step;
        let y = self.coordinates.get(1).map_or(0, |&slot| value(slot));
        if x.rem_euclid(i64::from(bytes.max(1))) != 0 && self.outside != Outside::Clamp {
            let kind = FaultKind::MisalignedAddress { access: what.into(), address: x as u64, bytes };
            return Err(raise(kind, 1 << lane));
        }
        let (row, rows) =
            (i64::from(image.width) * i64::from(image.element()), i64::from(image.height.max(1)));
        let slices = i64::from(image.slices());
        let last = (row - i64::from(bytes)).max(0);
        let inside = (0..=last).contains(&x) && (0..rows).contains(&y) && (0..slices).contains(&slice);
        let (x, y, slice) = match self.outside {
            _ if inside => (x, y, slice),
            Outside::Zero => return Ok(None),
            Outside::Clamp => {
                // A negative layer is a large one, as an H200 has it.
                let slice = if self.layer != NONE && slice < 0 { slices - 1 } else { slice };
                (x.clamp(0, last), y.clamp(0, rows - 1), slice.clamp(0, slices - 1))
            }
            Outside::Trap => {
                let nearby = format!(
                    " ({x}, {y}, {slice}), outside the surface of {row} bytes by {rows} rows by {slices} slices"
                );
                let kind =
                    FaultKind::IllegalAddress { access: what.into(), address: x as u64, bytes, nearby };
                return Err(raise(kind, 1 << lane));
            }
        };
        let offset = ((slice * rows + y) as u64).wrapping_mul(image.row_pitch).wrapping_add(x as u64);
        let address = image.address.wrapping_add(offset);
        machine.global(address, bytes, what, lane).map(|place| Some((address, place)))
    }

    /// Shows the observer a lane's access.
    fn show(&self, machine: &mut Machine<'_>, image: &Image, at: At, address: u64) {
        let kind = match self.action {
            SurfaceAction::Load => AccessKind::Load,
            SurfaceAction::Store | SurfaceAction::StoreFormatted => AccessKind::Store,
            SurfaceAction::Reduce(_) => AccessKind::Reduction,
        };
        let shown = match self.action {
            SurfaceAction::StoreFormatted => Shown { kind, width: image.element(), elements: 1, data: &[] },
            _ => Shown { kind, width: self.width, elements: self.data.len() as u32, data: &self.data },
        };
        show(machine, at, &shown, &[address; 32], false);
    }

    /// A value of 32 bits a channel as the surface's format holds it.
    fn formatted(format: ChannelFormat, bits: u32) -> u32 {
        use ChannelFormat::*;
        match format {
            U32 | S32 | F32 => bits,
            F16 => half::from_f64::<half::F16>(f32::from_bits(bits).into()).into(),
            U8 => bits.min(0xff),
            U16 => bits.min(0xffff),
            S8 => (bits as i32).clamp(-128, 127) as u32,
            S16 => (bits as i32).clamp(-32768, 32767) as u32,
        }
    }

    fn reduce(&self, reduction: SurfaceReduction, place: *mut u8, value: u64) {
        use SurfaceReduction::*;
        let wide = self.width == 8;
        let apply = |old: u64| match (reduction, wide) {
            (Add, _) => old.wrapping_add(value),
            (And, _) => old & value,
            (Or, _) => old | value,
            (MinUnsigned, _) => old.min(value),
            (MaxUnsigned, _) => old.max(value),
            (MinSigned, true) => (old as i64).min(value as i64) as u64,
            (MaxSigned, true) => (old as i64).max(value as i64) as u64,
            (MinSigned, false) => (old as i32).min(value as i32) as u32 as u64,
            (MaxSigned, false) => (old as i32).max(value as i32) as u32 as u64,
        };
        // SAFETY: `place` gave as many bytes, aligned by the check of the coordinate and the image's own alignment.
        unsafe {
            if wide {
                let cell = AtomicU64::from_ptr(place.cast());
                let _ = cell.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |old| Some(apply(old)));
            } else {
                let cell = AtomicU32::from_ptr(place.cast());
                let _ = cell
                    .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |old| Some(apply(old.into()) as u32));
            }
        }
    }
}

impl Execute for SurfaceAccess {
    fn execute(&self, machine: &mut Machine<'_>, at: At) -> std::result::Result<Step, Box<Raise>> {
        let handles = access::addresses(machine.regs, self.handle);
        let mut found: Option<(u64, Arc<Image>)> = None;
        let all = at.lanes;
        let at = machine.with_meaning(at, self.handle);
        // Lanes that go on without their access.
        let mut without = all & !at.lanes;
        for lane in lanes_of(at.lanes) {
            if found.as_ref().is_none_or(|found| found.0 != handles[lane]) {
                let image = machine.launch.gpu.textures().surface(handles[lane]);
                let image = image
                    .ok_or_else(|| no_such("surface access", handles[lane], "which is not a surface", lane));
                found = machine.or_without(at, self.handle, image)?.map(|image| (handles[lane], image));
            }
            let place = match &found {
                None => None,
                Some((_, image)) => {
                    let image = **image;
                    let place = self.place(machine, &image, lane);
                    machine.or_without(at, self.handle, place)?.map(|place| (image, place))
                }
            };
            let Some((image, place)) = place else {
                without |= 1 << lane;
                continue;
            };
            if let Some((address, _)) = place
                && machine.observer.follows_accesses()
            {
                self.show(machine, &image, At { lanes: 1 << lane, ..at }, address);
            }
            let place = place.map(|(_, place)| place);
            let regs = machine.regs;
            for (i, &slot) in self.data.iter().enumerate().filter(|(_, slot)| **slot != NONE) {
                let at = place.map(|place| place.wrapping_add(i * self.width as usize));
                // SAFETY: `place` gave all bytes of the access; decoding gave the data registers of its width.
                unsafe {
                    let get = || match self.width {
                        8 => regs.get::<u64>(slot, lane),
                        2 | 1 => regs.get::<u16>(slot, lane).into(),
                        _ => regs.get::<u32>(slot, lane).into(),
                    };
                    match (self.action, at) {
                        (SurfaceAction::Load, at) => {
                            let mut value = [0u8; 8];
                            if let Some(at) = at {
                                at.copy_to(value.as_mut_ptr(), self.width as usize);
                            }
                            match self.width {
                                8 => regs.set(slot, lane, u64::from_le_bytes(value)),
                                2 | 1 => regs.set(slot, lane, u16::from_le_bytes([value[0], value[1]])),
                                _ => regs.set(slot, lane, u64::from_le_bytes(value) as u32),
                            }
                        }
                        (_, None) => {}
                        (SurfaceAction::Store, Some(at)) => {
                            at.copy_from(get().to_le_bytes().as_ptr(), self.width as usize);
                        }
                        (SurfaceAction::StoreFormatted, Some(_)) => {
                            let size = image.format.size() as usize;
                            if let Some(place) = place
                                && i < image.channels as usize
                            {
                                let bits = Self::formatted(image.format, get() as u32);
                                place.add(i * size).copy_from(bits.to_le_bytes().as_ptr(), size);
                            }
                        }
                        (SurfaceAction::Reduce(reduction), Some(at)) => self.reduce(reduction, at, get()),
                    }
                }
            }
        }
        if let SurfaceAction::Load = self.action {
            machine.leave_out(At { lanes: without, ..at }, &self.data, (self.width / 4).max(1));
        }
        machine.block.progress += u64::from(self.action != SurfaceAction::Load);
        Ok(Step::Next)
    }
}
