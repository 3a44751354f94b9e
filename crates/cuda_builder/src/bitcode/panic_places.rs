//! The place of a panic that is not told where it was called, such as that of an allocation that failed.
//!
//! `alloc` calls these from deep inside of its own functions. Once they are inlined the place of the call has the whole chain
//! of frames, and the innermost outside of the standard library is the line that the user wrote.

use crate::bitcode::packages::is_of_the_standard_library;
use crate::bitcode::panics;
use crate::llvm::{Context, Location, Module, Opcode, Value};

/// Gives each such panic its own place, as far as debug information knows it.
pub fn fill_in(context: &Context, module: &Module<'_>) {
    let Some(unknown) = module.global(panics::NO_LOCATION) else { return };
    for call in unknown.users() {
        if call.as_instruction().is_none() || call.opcode() != Opcode::Call {
            continue;
        }
        let place = written_at(call);
        let index = call.arguments().iter().position(|argument| *argument == unknown);
        if let (Some(place), Some(index)) = (place, index) {
            call.set_operand(
                index as u32,
                panics::location(context, module, &place.file_name(), place.line()),
            );
        }
    }
}

/// The line outside of the standard library that led to a call, through functions of one caller each; else the innermost
/// that is known.
fn written_at(call: Value) -> Option<Location> {
    let mut innermost = None;
    let mut next = Some(call);
    // Recursive functions call themselves.
    for _ in 0..32 {
        let Some(call) = next else { break };
        let frames = std::iter::successors(call.location(), |frame| frame.inlined_at());
        let mut frames = frames.filter(|frame| frame.line() > 0).peekable();
        innermost = innermost.or(frames.peek().copied());
        if let Some(own) = frames.find(|frame| !is_of_the_standard_library(&frame.file())) {
            return Some(own);
        }
        next = match call.function().users()[..] {
            [caller] if caller.as_instruction().is_some() => Some(caller),
            _ => None,
        };
    }
    innermost
}
