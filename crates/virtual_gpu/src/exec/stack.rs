//! Local memory that a function takes while it runs: `alloca`, `stacksave`, `stackrestore`.
//!
//! A frame's variables end where its dynamic memory begins. The lanes of a frame take together: each gets as much as the
//! one that asks for most, so that the frame has one end. What was taken is given back when the frame is left, or by
//! `stackrestore` if all the frame's lanes come to it together; lanes that come alone leave it to the end of the call.

use super::context::{Raise, Step, raise};
use super::extension::{Execute, Machine};
use crate::fault::FaultKind;
use crate::form::extension::Stack;
use crate::form::registers::{Slot, lanes_of};
use crate::observer::At;

impl Execute for Stack {
    fn execute(&self, machine: &mut Machine<'_>, at: At) -> Result<Step, Box<Raise>> {
        let regs = machine.regs;
        let read = |slot: Slot, wide: bool, lane: usize| -> u64 {
            // SAFETY: decoding gave the register one row, or two if it is wide.
            unsafe { if wide { regs.get::<u64>(slot, lane) } else { regs.get::<u32>(slot, lane).into() } }
        };
        let limit = machine.warp.local.limit();
        let frame = &mut machine.warp.frames[machine.frame as usize];
        let end = frame.local_base + frame.local_size;
        let (target, wide, value) = match *self {
            Stack::Take { target, bytes, align, wide } => {
                let most = lanes_of(at.lanes).map(|lane| read(bytes, wide, lane)).max().unwrap_or(0);
                let start = u64::from(end).next_multiple_of(align.into());
                let new_end = start.saturating_add(most);
                let overflow =
                    || raise(FaultKind::StackOverflow { limit: limit.into(), calls: None }, at.lanes);
                let new_end = u32::try_from(new_end).map_err(|_| overflow())?;
                frame.local_size = new_end - frame.local_base;
                if !machine.warp.local.reserve(new_end) {
                    return Err(overflow());
                }
                (target, wide, start)
            }
            Stack::Save { target, wide } => (target, wide, end.into()),
            Stack::Restore { source, wide } => {
                let most = lanes_of(at.lanes).map(|lane| read(source, wide, lane)).max().unwrap_or(0);
                let inside = most >= u64::from(frame.local_base) && most <= u64::from(end);
                if inside && frame.live & !at.lanes == 0 {
                    frame.local_size = most as u32 - frame.local_base;
                }
                return Ok(Step::Next);
            }
        };
        // SAFETY: as above.
        unsafe {
            if wide {
                regs.store(target, &[value; 32], at.lanes);
            } else {
                regs.store(target, &[value as u32; 32], at.lanes);
            }
        }
        Ok(Step::Next)
    }
}
